//! Writes a simulated job straight into a store, without traces between: for questions across many ranks.
//!
//! Only what is asked across ranks is written: `steps`, `step_breakdown` and `collectives`, as ingesting the traces of the
//! job would give them. There are no events, so there is nothing to look at inside of a rank.

mod record;
mod rows;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use stepscope_model::tables::{COLLECTIVES, STEP_BREAKDOWN, STEPS};
use stepscope_model::{Class, SourceId};
use stepscope_store::{SourceWriter, Store, layout};

use crate::collective::{self, Collective, PROCESS_GROUP};
use crate::device;
use crate::error::SimulateError;
use crate::job::Job;
use crate::run::{BASE_TIME_NS, Run};
use crate::step::{Place, Step};
use crate::sweep::Shares;
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
    let mut breakdown = Rows::new(&STEP_BREAKDOWN, source.table(&STEP_BREAKDOWN)?, id);
    let partition = layout::collectives_partition(PROCESS_GROUP);
    let mut collectives = Rows::new(&COLLECTIVES, source.partition(&COLLECTIVES, partition)?, id);
    let group_ranks = collective::group_ranks(run.job());
    let mut whole: Option<Whole> = None;
    for step in run.rank(rank) {
        write_step(&mut steps, &step)?;
        let shares = step.shares();
        write_shares(&mut breakdown, Value::Int(step.number.into()), &shares)?;
        for collective in &step.collectives {
            write_collective(&mut collectives, run.job(), rank, &step, collective, &group_ranks)?;
        }
        whole.get_or_insert_with(|| Whole::starting(step.start_ns)).add(&step, &shares);
    }
    if let Some(whole) = &whole {
        write_shares(&mut breakdown, Value::Null, &whole.shares)?;
    }
    for rows in [steps, breakdown, collectives] {
        rows.finish()?;
    }
    source.commit(record::record(run.job(), rank, whole.map(|whole| (whole.start_ns, whole.end_ns))))?;
    Ok(())
}

/// All steps of a rank, and what lies between them.
struct Whole {
    start_ns: i64,
    end_ns: i64,
    shares: Shares,
}

impl Whole {
    fn starting(start_ns: i64) -> Self {
        Self { start_ns, end_ns: start_ns, shares: Shares::default() }
    }

    fn add(&mut self, step: &Step, shares: &Shares) {
        self.shares.add(shares);
        self.shares.class_ns[Class::Other as usize] += step.start_ns - self.end_ns;
        self.end_ns = step.end_ns;
    }
}

fn write_step(rows: &mut Rows, step: &Step) -> Result<(), SimulateError> {
    // The mark lies around the device work of its step, so there is nothing to be added to it.
    let (start_ns, end_ns) = (BASE_TIME_NS + step.start_ns, BASE_TIME_NS + step.end_ns);
    rows.push(&[
        Value::Int(step.number.into()),
        Value::Text(&step.name()),
        Value::Text("profiler_step"),
        Value::Int(start_ns),
        Value::Int(end_ns),
        Value::Int(step.dur_ns()),
        Value::Int(start_ns),
        Value::Int(step.dur_ns()),
        Value::Int(step.device_events() as i64),
        Value::Bool(true),
        Value::Null,
    ])
}

fn write_shares(rows: &mut Rows, step: Value<'_>, shares: &Shares) -> Result<(), SimulateError> {
    let sums =
        [shares.all_communication_ns, shares.overlap_ns, shares.kernel_busy_ns, shares.device_busy_ns].map(Value::Int);
    rows.push(&[&[step][..], &shares.class_ns.map(Value::Int), &sums].concat())
}

fn write_collective(
    rows: &mut Rows,
    job: &Job,
    rank: u32,
    step: &Step,
    collective: &Collective,
    group_ranks: &str,
) -> Result<(), SimulateError> {
    let ordinal = Value::Int(collective.ordinal as i64);
    rows.push(&[
        Value::Text(PROCESS_GROUP),
        Value::Int(layout::process_group_id(Some(PROCESS_GROUP), Some(group_ranks), false)),
        ordinal,
        ordinal,
        Value::Int(step.number.into()),
        Value::Text("all_reduce"),
        Value::Int(BASE_TIME_NS + collective.start_ns),
        Value::Int(collective.dur_ns),
        Value::Int(BASE_TIME_NS + collective.launch_ns),
        // There is no span and no file to point at.
        ordinal,
        ordinal,
        Value::Int(device::of_rank(rank)),
        Place::CommunicationStream.stream_id().map_or(Value::Null, Value::Int),
        Value::Text(collective::KERNEL_NAME),
        Value::Text(group_ranks),
        Value::Int(job.ranks.into()),
        Value::Text("Float"),
        Value::Int(collective.size_bytes()),
        Value::Text("metadata"),
        Value::Null,
        Value::Text("kernel"),
        Value::Bool(false),
    ])
}
