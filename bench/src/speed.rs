//! How fast: ingest beside the bare limits and the peers, all of them once in each repetition.

use anyhow::Result;

use crate::child;
use crate::expected::Expected;
use crate::once::{IngestReport, Limit};
use crate::options::Plan;
use crate::peers::Peer;
use crate::rows::{Bar, Row};
use crate::scratch::{CONTROL, KINETO_LEVEL, Made, Scratch, Source, XDIT, warm};
use crate::series::{Run, Series};

/// Everyone who runs on one trace.
pub(crate) struct Field {
    trace: String,
    gzip: Series,
    inflate: Series,
    plain: Series,
    tape: Series,
    quotes: Series,
    hta: Series,
    perfetto: Series,
}

/// Measures both traces; gives the rows and every single time.
pub(crate) fn speed(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let expected = Expected::load()?;
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (source, copies) in [(CONTROL, plan.control_copies), (XDIT, plan.xdit_copies)] {
        let field = measure(plan, scratch, &expected, source, copies)?;
        rows.extend(field.rows(plan));
        series.extend(field.into_series());
    }
    Ok((rows, series))
}

fn measure(plan: &Plan, scratch: &Scratch, expected: &Expected, source: Source, copies: u32) -> Result<Field> {
    let unpacked = scratch.amplified(source, copies)?;
    let gzip = scratch.gzip(&unpacked, KINETO_LEVEL)?;
    warm(&unpacked.path)?;
    warm(&gzip.path)?;
    let check = |report: IngestReport| ingest_run(&report, expected.problems(source.name, copies, &report.fingerprint));
    let mut field = Field::new(plan, format!("{} × {copies}", source.name));
    let (mut nodes, mut quotes, mut hta_rows, mut slices) = (None, None, None, None);
    for repetition in 0..plan.repetitions {
        eprintln!("{}: repetition {} of {}", field.trace, repetition + 1, plan.repetitions);
        field.gzip.repeat(|| Ok(check(child::ingest(scratch, &gzip.path, None, false)?)));
        field.inflate.repeat(|| limit_run(Limit::Inflate, &gzip, &mut Some(unpacked.bytes)));
        field.plain.repeat(|| Ok(check(child::ingest(scratch, &unpacked.path, None, false)?)));
        field.tape.repeat(|| limit_run(Limit::Tape, &unpacked, &mut nodes));
        field.quotes.repeat(|| limit_run(Limit::Quotes, &unpacked, &mut quotes));
        if repetition < plan.peer_repetitions {
            if let Some(peer) = &plan.hta {
                field.hta.repeat(|| peer_run(peer, scratch, &unpacked, &mut hta_rows));
            }
            if let Some(peer) = &plan.perfetto {
                field.perfetto.repeat(|| peer_run(peer, scratch, &unpacked, &mut slices));
            }
        }
    }
    Ok(field)
}

/// An ingest as a run.
pub(crate) fn ingest_run(report: &IngestReport, problems: Vec<String>) -> Run {
    Run {
        seconds: report.wall_s,
        cpu_seconds: Some(report.cpu_s),
        peak_rss_bytes: Some(report.peak_rss_bytes),
        problems,
    }
}

fn limit_run(limit: Limit, file: &Made, expected: &mut Option<u64>) -> Result<Run> {
    let report = child::limit(limit, &file.path)?;
    let problems = same(expected, report.count);
    Ok(Run { seconds: report.wall_s, cpu_seconds: None, peak_rss_bytes: None, problems })
}

fn peer_run(peer: &Peer, scratch: &Scratch, trace: &Made, expected: &mut Option<u64>) -> Result<Run> {
    let report = peer.load(scratch, trace)?;
    let problems = same(expected, report.events);
    Ok(Run { seconds: report.load_s, cpu_seconds: None, peak_rss_bytes: Some(report.peak_rss_bytes), problems })
}

/// What is wrong with a count that must be the same in every run.
fn same(expected: &mut Option<u64>, found: u64) -> Vec<String> {
    let expected = *expected.get_or_insert(found);
    if found == expected { Vec::new() } else { vec![format!("counted {found} instead of {expected}")] }
}

impl Field {
    fn new(plan: &Plan, trace: String) -> Self {
        let peer = |name: &str, is_there: bool| {
            let name = format!("{trace}: {name}");
            if is_there { Series::new(&name) } else { Series::absent(&name, "not installed") }
        };
        let named = |name: &str| Series::new(&format!("{trace}: {name}"));
        Self {
            gzip: named("ingest gzip"),
            inflate: named("inflate"),
            plain: named("ingest plain"),
            tape: named("simd-json"),
            quotes: named("memchr"),
            hta: peer("HTA", plan.hta.is_some()),
            perfetto: peer("Perfetto", plan.perfetto.is_some()),
            trace,
        }
    }

    fn rows(&self, plan: &Plan) -> Vec<Row> {
        let name = |what: &str| format!("{}: {what}", self.trace);
        let memory = self.plain.most_memory().map_or(0, |bytes| bytes >> 20);
        vec![
            Row::ratio(name("gzip ingest ÷ inflate"), &self.gzip, &self.inflate).with_bar(plan.bar(Bar::AtMost(5.0))),
            Row::ratio(name("HTA ÷ plain ingest"), &self.hta, &self.plain).with_bar(plan.bar(Bar::AtLeast(35.0))),
            Row::ratio(name("Perfetto ÷ plain ingest"), &self.perfetto, &self.plain)
                .with_bar(plan.bar(Bar::AtLeast(6.0))),
            Row::ratio(name("plain ingest ÷ simd-json tape"), &self.plain, &self.tape)
                .with_note(&format!("our peak {memory} MiB")),
            Row::ratio(name("plain ingest ÷ memchr"), &self.plain, &self.quotes),
        ]
    }

    fn into_series(self) -> Vec<Series> {
        vec![self.gzip, self.inflate, self.plain, self.tape, self.quotes, self.hta, self.perfetto]
    }
}
