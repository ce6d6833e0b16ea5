//! Times how long it takes to read a window from a store, to build its graph and to replay it:
//! `cargo run --release -p stepscope-replay --example time_window -- STORE [STEPS]`, in a target folder of its own.
//! A trace instead of a store is ingested first, beside it.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::env;
use std::path::PathBuf;
use std::time::Instant;

use stepscope_ingest::{Options, Progress, ingest};
use stepscope_replay::read::{Settings, read};
use stepscope_replay::{Change, Selection, StepModel};
use stepscope_store::Store;

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
    let source = store.require_sources(&run).unwrap().remove(0);
    let settings = Settings { steps, ..Settings::default() };
    for _ in 0..3 {
        let start = Instant::now();
        let taken = read(&store, &run, &source, &settings).unwrap();
        let was_read = start.elapsed();
        let (spans, events) = (taken.recording.spans.len(), taken.recording.events.len());
        let model = StepModel::build(taken.recording).unwrap();
        let was_built = start.elapsed();
        let paths = model.paths();
        let was_walked = start.elapsed();
        println!(
            "{} steps ({} left out), {spans} spans, {events} events, {} nodes: read {:.2?}, built {:.2?}, walked {:.2?}",
            paths.len(),
            taken.steps_left_out,
            model.node_count(),
            was_read,
            was_built.saturating_sub(was_read),
            was_walked.saturating_sub(was_built)
        );
        let kernels = Selection::of_events(model.recording(), |event| !event.is_communication);
        let changes = [Change::Scale { of: kernels, numerator: 1, denominator: 2 }, Change::NoSync];
        let start = Instant::now();
        let saving = model.saving(&changes);
        println!("  both replays with two changes: {:.2?}, saving {:.0} ns", start.elapsed(), saving.saving_ns);
    }
}
