//! The formats beside Chrome traces: a large file of each, read alone and into a store under a memory limit.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use stepscope_ingest::Extras;

use crate::child;
use crate::expected::Expected;
use crate::once::{IngestReport, Limit};
use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::scratch::{CONTROL, Made, Scratch, Source, warm};
use crate::series::{Run, Series};
use crate::speed::ingest_run;

/// What the whole process may hold at a limit of 512 MiB.
const PEAK_MIB: f64 = 768.0;

/// As users ingest.
const WHOLE: Extras = Extras { rollups: true, tiles: true };

/// A format, and its bars.
struct Format {
    name: &'static str,
    source: Source,
    /// What repeats a file.
    script: &'static str,
    /// Share of the file that it repeats.
    repeated: f64,
    /// Ending of the file.
    ending: &'static str,
    /// Plain bytes per second of the reader alone, in millions.
    mb_per_s: f64,
    /// Processor time per event over that of a Chrome trace.
    per_event: f64,
}

const FORMATS: [Format; 2] = [
    Format {
        name: "XPlane",
        source: Source { name: "xplane", path: "xplane/xprof_demo_GPU-multi-worker.xplane.pb" },
        script: "amplify_xplane.py",
        repeated: 0.62,
        ending: "xplane.pb",
        mb_per_s: 150.0,
        per_event: 1.0,
    },
    Format {
        name: "snapshot",
        source: Source { name: "snapshot", path: "memory_snapshots/wedsonlin_medium_512_training.pickle" },
        script: "amplify_snapshot.py",
        repeated: 0.98,
        ending: "pickle",
        mb_per_s: 60.0,
        per_event: 1.5,
    },
];

/// Measures the rows; gives them and every single time.
pub(crate) fn formats(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let control = scratch.amplified(CONTROL, plan.control_copies)?;
    let expected = Expected::load()?;
    let mut chrome = Measured::new(&format!("control × {}", plan.control_copies));
    let made: Vec<Made> = FORMATS.iter().map(|format| made(plan, scratch, format)).collect::<Result<_>>()?;
    let mut measured: Vec<Measured> = FORMATS.iter().map(|format| Measured::new(format.name)).collect();
    for repetition in 0..plan.memory_repetitions {
        eprintln!("formats: repetition {} of {}", repetition + 1, plan.memory_repetitions);
        warm(&control.path)?;
        chrome.ingested.repeat(|| {
            let report = child::ingest_with(scratch, &control.path, None, false, WHOLE)?;
            chrome.events = report.fingerprint.events_in;
            Ok(ingest_run(&report, expected.problems(CONTROL.name, plan.control_copies, &report.fingerprint)))
        });
        for (file, of) in made.iter().zip(&mut measured) {
            warm(&file.path)?;
            of.repeat(plan, scratch, file);
        }
    }
    let mut rows = Vec::new();
    for ((format, file), of) in FORMATS.iter().zip(&made).zip(&measured) {
        let name = format!("{} of {} MB", format.name, file.bytes / 1_000_000);
        let alone = Row::of_series(format!("{name}, reader alone"), &[&of.read], || {
            let speed = file.bytes as f64 / 1e6 / of.read.shortest()?;
            Some((speed, "MB/s", format!("{} runs", of.read.seconds.len())))
        });
        let per_event = Row::of_series(
            format!("{name} ÷ control: processor time per event"),
            &[&of.ingested, &chrome.ingested],
            || {
                let (own, other) = (of.cpu_per_event()?, chrome.cpu_per_event()?);
                Some((own / other, "", format!("{:.2} µs and {:.2} µs", own * 1e6, other * 1e6)))
            },
        );
        rows.push(alone.with_bar(plan.bar(Bar::AtLeast(format.mb_per_s))));
        let limit = plan.memory_limit_bytes >> 20;
        rows.push(
            Row::memory(format!("{name}, limit {limit} MiB: peak RSS"), &of.limited)
                .with_bar(plan.bar(Bar::AtMost(PEAK_MIB))),
        );
        rows.push(per_event.with_bar(plan.bar(Bar::AtMost(format.per_event))));
    }
    let series = measured.into_iter().flat_map(|of| [of.read, of.limited, of.ingested]).chain([chrome.ingested]);
    Ok((rows, series.collect()))
}

/// What was measured of one file.
struct Measured {
    read: Series,
    limited: Series,
    ingested: Series,
    events: u64,
}

impl Measured {
    fn new(name: &str) -> Self {
        let series = |what: &str| Series::new(&format!("{name}: {what}"));
        Self { read: series("reader alone"), limited: series("limited"), ingested: series("default"), events: 0 }
    }

    fn repeat(&mut self, plan: &Plan, scratch: &Scratch, file: &Made) {
        self.read.repeat(|| {
            let report = child::limit(Limit::Read, &file.path)?;
            let problems = if report.count > 0 { Vec::new() } else { vec!["no events".to_owned()] };
            Ok(Run { seconds: report.wall_s, cpu_seconds: None, peak_rss_bytes: None, problems })
        });
        let mut ingest = |series: &mut Series, limit: Option<u64>| {
            series.repeat(|| {
                let report = child::ingest_with(scratch, &file.path, limit, false, WHOLE)?;
                self.events = report.fingerprint.events_in;
                let problems = lost(&report);
                Ok(ingest_run(&report, problems))
            });
        };
        ingest(&mut self.limited, Some(plan.memory_limit_bytes));
        ingest(&mut self.ingested, None);
    }

    fn cpu_per_event(&self) -> Option<f64> {
        let least = self.ingested.cpu_seconds.iter().copied().min_by(f64::total_cmp)?;
        (self.events > 0).then(|| least / self.events as f64)
    }
}

/// What is wrong if not every event has a row.
fn lost(report: &IngestReport) -> Vec<String> {
    let found = &report.fingerprint;
    let rows: u64 = ["spans", "memory_events"].iter().filter_map(|table| found.rows.get(*table)).sum();
    let dropped: u64 = found.dropped.values().sum();
    // Annotations of a snapshot are spans that are no events of its list.
    let is_whole = rows + dropped >= found.events_in && found.events_in > 0;
    if is_whole { Vec::new() } else { vec![format!("{} events, {rows} rows and {dropped} dropped", found.events_in)] }
}

/// The file of a format, made by its script, which anybody can run.
fn made(plan: &Plan, scratch: &Scratch, format: &Format) -> Result<Made> {
    let from = scratch.corpus_trace(format.source.path)?;
    let bytes = from.metadata()?.len();
    let copies = (plan.format_bytes as f64 / (bytes as f64 * format.repeated)).ceil().max(2.0) as u64;
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format.script);
    scratch.make(&format!("{}-x{copies}.{}", format.source.name, format.ending), bytes, &mut |out| {
        let mut python = Command::new("python3");
        python.arg(&script).arg(&from).arg(copies.to_string()).arg("/dev/stdout").stdout(Stdio::piped());
        let mut python = python.spawn().context("cannot start python3")?;
        io::copy(&mut python.stdout.take().context("no output")?, out)?;
        let status = python.wait()?;
        anyhow::ensure!(status.success(), "{} ended with {status}", script.display());
        Ok(())
    })
}
