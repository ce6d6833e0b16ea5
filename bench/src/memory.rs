//! How much memory: long traces and many distinct strings under a limit, beside the default, with the same answers.

use anyhow::Result;

use crate::child;
use crate::distinct;
use crate::expected::{Expected, differences};
use crate::fingerprint::Fingerprint;
use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::scratch::{CONTROL, Made, Scratch, warm};
use crate::series::{Run, Series};
use crate::speed::ingest_run;

/// What the whole process may hold when ingest is told 512 MiB.
const PEAK_MIB: f64 = 768.0;

/// Measures the rows about memory; gives them and every single time.
pub(crate) fn memory(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let (mut rows, mut series) = long(plan, scratch)?;
    let (more_rows, more_series) = strings(plan, scratch)?;
    rows.extend(more_rows);
    series.extend(more_series);
    Ok((rows, series))
}

/// One trace with the limit and without, all answers compared with each other.
struct Pair<'a> {
    scratch: &'a Scratch,
    trace: &'a Made,
    limit: u64,
    /// What is wrong with the answers by themselves.
    problems: &'a dyn Fn(&Fingerprint) -> Vec<String>,
    /// The first answers with a hash of every column.
    first: Option<Fingerprint>,
}

impl Pair<'_> {
    fn run(&mut self, with_limit: bool, with_hashes: bool) -> Result<Run> {
        let report = child::ingest(self.scratch, &self.trace.path, with_limit.then_some(self.limit), with_hashes)?;
        let mut problems = (self.problems)(&report.fingerprint);
        if with_hashes {
            match &self.first {
                Some(first) => problems.extend(differences(first, &report.fingerprint)),
                None => self.first = Some(report.fingerprint.clone()),
            }
        }
        Ok(ingest_run(&report, problems))
    }
}

fn long(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let expected = Expected::load()?;
    let (copies, few) = (plan.long_copies, plan.control_copies);
    let trace = scratch.amplified(CONTROL, copies)?;
    let short = scratch.amplified(CONTROL, few)?;
    warm(&short.path)?;
    let problems = |found: &Fingerprint| expected.problems(CONTROL.name, copies, found);
    let limit = plan.memory_limit_bytes;
    let mut pair = Pair { scratch, trace: &trace, limit, problems: &problems, first: None };
    let name = format!("control × {copies}");
    let mut limited = Series::new(&format!("{name}: limited"));
    let mut default = Series::new(&format!("{name}: default"));
    let mut shorter = Series::new(&format!("control × {few}: default"));
    for repetition in 0..plan.memory_repetitions {
        eprintln!("{name}: repetition {} of {}", repetition + 1, plan.memory_repetitions);
        warm(&trace.path)?;
        // Hashing every column takes longer than the ingest: once is enough.
        limited.repeat(|| pair.run(true, repetition == 0));
        default.repeat(|| pair.run(false, repetition == 0));
        shorter.repeat(|| {
            let report = child::ingest(scratch, &short.path, None, false)?;
            Ok(ingest_run(&report, expected.problems(CONTROL.name, few, &report.fingerprint)))
        });
    }
    let limit_text = format!("{} MiB", limit >> 20);
    let per_event = Row::of_series(format!("{name} ÷ × {few}: time per event"), &[&default, &shorter], || {
        let figure = default.shortest()? / shorter.shortest()? * f64::from(few) / f64::from(copies);
        Some((figure, "", format!("{} runs", default.seconds.len())))
    });
    let rows = vec![
        Row::memory(format!("{name}, limit {limit_text}: peak RSS"), &limited)
            .with_bar(plan.bar(Bar::AtMost(PEAK_MIB))),
        Row::ratio(format!("{name}: limit {limit_text} ÷ default"), &limited, &default)
            .with_bar(plan.bar(Bar::AtMost(1.6))),
        Row::memory(format!("{name}, default limit: peak RSS"), &default),
        per_event.with_bar(plan.bar(Bar::AtMost(1.25))),
    ];
    Ok((rows, vec![limited, default, shorter]))
}

fn strings(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let units = distinct::units_for(plan.distinct_bytes);
    let trace = scratch.distinct(units)?;
    warm(&trace.path)?;
    let problems = |found: &Fingerprint| distinct::problems(units, found);
    let limit = plan.memory_limit_bytes;
    let mut pair = Pair { scratch, trace: &trace, limit, problems: &problems, first: None };
    let name = format!("distinct strings, {} MB", trace.bytes / 1_000_000);
    eprintln!("{name}");
    let mut limited = Series::new("distinct: limited");
    let mut default = Series::new("distinct: default");
    limited.repeat(|| pair.run(true, true));
    default.repeat(|| pair.run(false, true));
    let rows = vec![
        Row::memory(format!("{name}, limit {} MiB: peak RSS", limit >> 20), &limited)
            .with_bar(plan.bar(Bar::AtMost(PEAK_MIB))),
        Row::ratio(format!("{name}: limit ÷ default"), &limited, &default),
    ];
    Ok((rows, vec![limited, default]))
}
