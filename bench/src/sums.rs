//! How large the sums of a source are: what a rank of a fleet keeps and sends if it leaves its events out.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use stepscope_ingest::{Extras, Options, ingest};
use stepscope_model::tables::{LAUNCHES, ROLLUPS, STEPS, TABLES};
use stepscope_simulate::{Job, write_store};
use stepscope_store::Store;

use crate::once::Silent;
use crate::options::Plan;
use crate::rows::Row;
use crate::scratch::{CONTROL, Scratch, XDIT};

/// Steps of a window of a fleet.
const STEPS_OF_A_WINDOW: f64 = 20.0;
/// Traces of eight ranks.
const MEGATRON: &str = "astra-sim/megatron-tp8";
/// Simulated ranks; all have as many rows.
const SIMULATED_RANKS: u32 = 16;

/// Bytes of sums per source, for a window of 20 steps.
pub(crate) fn sums(plan: &Plan, scratch: &Scratch) -> Result<Vec<Row>> {
    let control = scratch.amplified(CONTROL, plan.control_copies)?.path;
    let xdit = scratch.amplified(XDIT, plan.xdit_copies)?.path;
    let megatron = scratch.corpus_folder(MEGATRON)?;
    let mut rows = Vec::new();
    for (name, trace) in [
        (format!("control × {}", plan.control_copies), control),
        (format!("xdit × {}", plan.xdit_copies), xdit),
        (MEGATRON.to_owned(), megatron),
    ] {
        let folder = scratch.store()?;
        let root = folder.path().join("store");
        let options = Options { extras: Extras { rollups: true, tiles: true }, ..Options::default() };
        ingest(&[trace], &Store::create(&root)?, &options, &Silent)?;
        rows.extend(of_store(&name, &root)?);
    }
    let folder = scratch.store()?;
    let root = folder.path().join("store");
    let job = Job { ranks: SIMULATED_RANKS, slow_rank: Some(3), ..Job::scale() };
    write_store(&job, &Store::create(&root)?, "simulated").context("cannot simulate the job")?;
    rows.extend(of_store(&format!("simulated, {} collectives per step", job.collectives_per_step), &root)?);
    Ok(rows)
}

fn of_store(name: &str, root: &Path) -> Result<Vec<Row>> {
    let store = Store::open(root)?;
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut steps, mut count) = (0, 0);
    for run in store.runs()? {
        let sources = store.require_sources(&run)?;
        count += sources.len();
        steps += sources.iter().map(|source| source.rows.of(&STEPS)).sum::<u64>();
        for table in TABLES {
            for file in store.files_of(&run, &sources, table)? {
                *bytes.entry(table.name).or_default() += file.metadata()?.len();
            }
        }
    }
    anyhow::ensure!(steps > 0, "{name} has no steps");
    // `launches` has a row for each call: it grows with the events.
    let is_rollup = |table: &str| table != LAUNCHES.name && ROLLUPS.iter().any(|known| known.name == table);
    let is_sum = |table: &str| table == STEPS.name || table == "health" || is_rollup(table);
    let per_window = |bytes: u64| bytes as f64 / steps as f64 * STEPS_OF_A_WINDOW / 1e6;
    let of = |is: &dyn Fn(&str) -> bool| {
        per_window(bytes.iter().filter(|(table, _)| is(table)).map(|(_, bytes)| bytes).sum())
    };
    let mut tables: Vec<(&str, u64)> =
        bytes.iter().filter(|(table, _)| is_sum(table)).map(|(table, bytes)| (*table, *bytes)).collect();
    tables.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let note: Vec<String> =
        tables.iter().take(4).map(|(table, bytes)| format!("{table} {:.2}", per_window(*bytes))).collect();
    let sources = format!("{count} sources, {steps} steps; ");
    Ok(vec![
        Row::figure(format!("{name}: sums per source and 20 steps"), of(&is_sum), "MB")
            .with_note(&(sources + &note.join(", "))),
        Row::figure(format!("{name}: events per source and 20 steps"), of(&|table| !is_sum(table)), "MB"),
    ])
}
