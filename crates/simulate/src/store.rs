//! Writes a simulated job straight into a store, without traces between: for questions across many ranks.
//!
//! Only what is asked across ranks is written: `steps`, `step_breakdown` and `all_collectives`, as ingesting the traces of the
//! job would give them. There are no events, so there is nothing to look at inside of a rank.

mod record;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use stepscope_model::tables::{ALL_COLLECTIVES, STEP_BREAKDOWN, STEPS};
use stepscope_model::{Class, SourceId, StepSource};
use stepscope_store::{RowWriter, SourceWriter, Store, StoreError, layout};

use crate::collective::{self, Collective, PROCESS_GROUP};
use crate::device;
use crate::error::SimulateError;
use crate::job::Job;
use crate::run::{BASE_TIME_NS, Run};
use crate::step::{Place, Step};
use crate::sweep::Shares;

type Rows = RowWriter<()>;

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
    let mut steps = source.rows(&STEPS, ())?;
    let mut breakdown = source.rows(&STEP_BREAKDOWN, ())?;
    let partition = layout::collectives_partition(PROCESS_GROUP);
    let mut collectives = source.partition_rows(&ALL_COLLECTIVES, partition, ())?;
    let group_ranks = collective::group_ranks(run.job());
    let mut whole: Option<Whole> = None;
    for step in run.rank(rank) {
        write_step(&mut steps, &step)?;
        let shares = step.shares();
        write_shares(&mut breakdown, Some(step.number), &shares)?;
        for collective in &step.collectives {
            write_collective(&mut collectives, run.job(), rank, &step, collective, &group_ranks)?;
        }
        whole.get_or_insert_with(|| Whole::starting(step.start_ns)).add(&step, &shares);
    }
    if let Some(whole) = &whole {
        write_shares(&mut breakdown, None, &whole.shares)?;
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

fn write_step(rows: &mut Rows, step: &Step) -> Result<(), StoreError> {
    // The mark lies around the device work of its step, so there is nothing to be added to it.
    let (start_ns, end_ns) = (BASE_TIME_NS + step.start_ns, BASE_TIME_NS + step.end_ns);
    rows.i32(step.number as i32)
        .text(step.name().as_str())
        .word(StepSource::ProfilerStep.as_text())
        .i64(start_ns)
        .i64(end_ns)
        .i64(step.dur_ns())
        .i64(start_ns)
        .i64(step.dur_ns())
        .i64(step.device_events() as i64)
        .bool(true)
        .null()
        .end_row()
}

fn write_shares(rows: &mut Rows, step: Option<u32>, shares: &Shares) -> Result<(), StoreError> {
    rows.i32(step.map(|step| step as i32));
    for time_ns in shares.class_ns {
        rows.i64(time_ns);
    }
    rows.i64(shares.all_communication_ns)
        .i64(shares.overlap_ns)
        .i64(shares.kernel_busy_ns)
        .i64(shares.device_busy_ns)
        .end_row()
}

fn write_collective(
    rows: &mut Rows,
    job: &Job,
    rank: u32,
    step: &Step,
    collective: &Collective,
    group_ranks: &str,
) -> Result<(), StoreError> {
    let ordinal = collective.ordinal as i64;
    rows.word(PROCESS_GROUP)
        .i64(layout::process_group_id(Some(PROCESS_GROUP), Some(group_ranks), false))
        .i64(ordinal)
        .i64(ordinal)
        .i32(step.number as i32)
        .word("all_reduce")
        .i64(BASE_TIME_NS + collective.start_ns)
        .i64(collective.dur_ns)
        .i64(BASE_TIME_NS + collective.launch_ns)
        // There is no span and no file to point at.
        .i64(ordinal)
        .i64(ordinal)
        .i64(device::of_rank(rank))
        .i64(Place::CommunicationStream.stream_id())
        .word(collective::KERNEL_NAME)
        // One group, so one text.
        .numbered_text(0, || group_ranks)
        .i64(i64::from(job.ranks))
        .word("Float")
        .i64(collective.size_bytes())
        .word("metadata")
        .null()
        .word("kernel")
        .bool(false)
        .end_row()
}
