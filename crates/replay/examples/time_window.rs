//! Times how long it takes to read a window from a store, to build its graph and to replay it:
//! `cargo run --release -p stepscope-replay --example time_window -- STORE [STEPS]`, in a target folder of its own.
//! A trace or a folder of traces instead of a store is ingested first, into a folder beside it. Several ranks are
//! answered together.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use stepscope_ingest::{Options, Progress, ingest};
use stepscope_model::SourceRecord;
use stepscope_replay::read::{Settings, read, read_job};
use stepscope_replay::recording::Recording;
use stepscope_replay::{Change, JobModel, Saving, Selection, StepModel};
use stepscope_store::{Catalog, Store};

struct Silent;

impl Progress for Silent {
    fn update(&self, _: &str, _: u64, _: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, _: &str) {}
}

fn main() {
    let path = PathBuf::from(env::args().nth(1).unwrap());
    let steps = env::args().nth(2).map_or(32, |steps| steps.parse().unwrap());
    let store = if Store::is_store(&path) {
        Store::open(&path).unwrap()
    } else {
        let store = Store::create(&path.with_extension("store")).unwrap();
        ingest(&[path], &store, &Options::default(), &Silent).unwrap();
        store
    };
    let run = store.runs().unwrap().remove(0);
    let catalog = store.catalog(&run).unwrap();
    let sources = store.require_sources(&run).unwrap();
    let settings = Settings { steps, ..Settings::default() };
    for _ in 0..3 {
        if sources.len() == 1 {
            time_rank(&catalog, &sources[0], &settings);
        } else {
            time_job(&catalog, &sources, &settings);
        }
    }
    // Where the system says so.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("most memory: {line}");
    }
}

fn time_rank(catalog: &Catalog, source: &SourceRecord, settings: &Settings) {
    let mut clock = Clock::start();
    let taken = read(catalog, source, settings).unwrap();
    let was_read = clock.lap();
    let (spans, events) = (taken.recording.spans.len(), taken.recording.events.len());
    let model = StepModel::build(taken.recording).unwrap();
    let was_built = clock.lap();
    let paths = model.paths();
    let was_walked = clock.lap();
    println!(
        "{} steps ({} left out), {spans} spans, {events} events, {} nodes: read {was_read:.2?}, built {was_built:.2?}, \
         walked {was_walked:.2?}",
        paths.len(),
        taken.steps_left_out,
        model.node_count(),
    );
    let saving = model.saving(&changes(model.recording()));
    print_saving("two changes", &saving, clock.lap());
}

fn time_job(catalog: &Catalog, sources: &[SourceRecord], settings: &Settings) {
    let mut clock = Clock::start();
    let taken = read_job(catalog, sources, settings).unwrap();
    let was_read = clock.lap();
    let spans: usize = taken.recordings.iter().map(|recording| recording.spans.len()).sum();
    let events: usize = taken.recordings.iter().map(|recording| recording.events.len()).sum();
    let model = JobModel::build(taken.recordings).unwrap();
    let was_built = clock.lap();
    let paths = model.paths();
    let was_walked = clock.lap();
    println!(
        "{} ranks, {} steps ({} left out), {spans} spans, {events} events, {} of {} collectives joined: read \
         {was_read:.2?}, built {was_built:.2?}, walked {was_walked:.2?}",
        sources.len(),
        paths.len(),
        taken.steps_left_out,
        model.join_count(),
        model.collective_count(),
    );
    let saving = model.saving(changes);
    print_saving("two changes", &saving, clock.lap());
    let saving = model.saving(|_| vec![Change::EqualRanks]);
    print_saving("equal ranks", &saving, clock.lap());
}

fn changes(recording: &Recording) -> Vec<Change> {
    let kernels = Selection::of_events(recording, |event| !event.is_communication);
    vec![Change::Scale { of: kernels, numerator: 1, denominator: 2 }, Change::NoSync]
}

fn print_saving(what: &str, saving: &Saving, took: Duration) {
    println!("  both replays, {what}: {took:.2?}, saving {:.0} ns", saving.saving_ns);
}

/// Times one thing after the other.
struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn lap(&mut self) -> Duration {
        let took = self.0.elapsed();
        self.0 = Instant::now();
        took
    }
}
