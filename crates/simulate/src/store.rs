//! Writes a simulated job straight into a store, without traces between: for questions across many ranks.
//!
//! Only what is asked across ranks is written, and it is what ingesting the traces of the job would give. There are no
//! events, so there is nothing to look at inside of a rank.

mod record;
mod rows;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use stepscope_model::SourceId;
use stepscope_model::tables::STEPS;
use stepscope_store::{SourceWriter, Store};

use crate::error::SimulateError;
use crate::job::Job;
use crate::run::{BASE_TIME_NS, Run};
use crate::step::Step;
use rows::{Rows, Value};

/// Writes every rank of the job as a source of the run `run_name`.
pub fn write_store(job: &Job, store: &Store, run_name: &str) -> Result<(), SimulateError> {
    let run = job.run();
    let next = AtomicU32::new(0);
    let write_ranks = || {
        loop {
            let rank = next.fetch_add(1, Ordering::Relaxed);
            if rank >= job.ranks {
                return Ok(());
            }
            write_rank(&run, rank, store, run_name)?;
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..threads).map(|_| scope.spawn(write_ranks)).collect();
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn write_rank(run: &Run<'_>, rank: u32, store: &Store, run_name: &str) -> Result<(), SimulateError> {
    let id = SourceId { rank, window: 0 };
    let mut source = SourceWriter::begin(store, run_name, id)?;
    let mut steps = Rows::new(&STEPS, source.table(&STEPS)?, id);
    let mut ends = None;
    for step in run.rank(rank) {
        write_step(&mut steps, &step)?;
        let (first_ns, _) = ends.unwrap_or((step.start_ns, step.end_ns));
        ends = Some((first_ns, step.end_ns));
    }
    steps.finish()?;
    source.commit(record::record(run.job(), rank, ends))?;
    Ok(())
}

fn write_step(rows: &mut Rows, step: &Step) -> Result<(), SimulateError> {
    // The mark lies around the device work of its step, so there is nothing to be added to it.
    let (start_ns, end_ns) = (BASE_TIME_NS + step.start_ns, BASE_TIME_NS + step.end_ns);
    rows.push(&[
        Value::Int(i64::from(step.number)),
        Value::Text(&step.name()),
        Value::Text("profiler_step"),
        Value::Int(start_ns),
        Value::Int(end_ns),
        Value::Int(step.dur_ns()),
        Value::Int(start_ns),
        Value::Int(step.dur_ns()),
        Value::Int(step.device_events() as i64),
        Value::Bool(true),
    ])
}
