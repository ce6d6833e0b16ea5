//! How large: bytes of a run's folder per event, and bytes per column.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use stepscope_model::tables;
use stepscope_store::Store;

use crate::child;
use crate::columns::bytes_by_column;
use crate::options::Plan;
use crate::rows::{Bar, Row, Status};
use crate::scratch::Scratch;

/// Traces of different makers and shapes.
const TRACES: [&str; 6] = [
    "hta/trace_diff/control/control.json.gz",
    "hta/df_index_resolver/df_index_resolver.json.gz",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",
    "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
];

/// Bytes per event of each trace.
pub(crate) fn size(plan: &Plan, scratch: &Scratch) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for trace in TRACES {
        let name = trace.rsplit_once('/').map_or(trace, |(folder, _)| folder);
        let what = format!("{name}: bytes per event");
        let report = child::ingest(scratch, &scratch.corpus_trace(trace)?, None, false);
        let row = match report {
            Ok(report) if report.fingerprint.events_in > 0 => {
                let figure = report.run_bytes as f64 / report.fingerprint.events_in as f64;
                Row::figure(what, figure, "B").with_note(&format!("{} events", report.fingerprint.events_in))
            }
            Ok(_) => Row::without(what, Status::Failed, "no events were read"),
            Err(error) => Row::without(what, Status::Failed, format!("{error:#}")),
        };
        // The traces are the same whether the run is quick or not, so the bar always applies.
        rows.push(row.with_bar(Some(Bar::AtMost(plan.bytes_an_event))));
    }
    Ok(rows)
}

/// The columns of a table, the largest first, as text.
pub(crate) fn columns(root: &Path, table: &str) -> Result<String> {
    let table = tables::table(table).with_context(|| format!("there is no table {table}"))?;
    let store = Store::open(root)?;
    let mut text = String::new();
    for run in store.runs()? {
        let sources = store.require_sources(&run)?;
        let events: u64 = sources.iter().map(|source| source.events_in).sum();
        ensure!(events > 0, "the run {run} has no events");
        let (columns, rest) = bytes_by_column(&store.files_of(&run, &sources, table)?)?;
        let mut columns: Vec<(String, u64)> = columns.into_iter().collect();
        columns.push(("(footer and indexes)".to_owned(), rest));
        columns.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let total: u64 = columns.iter().map(|(_, bytes)| bytes).sum();
        columns.push(("(all)".to_owned(), total));
        writeln!(text, "{run}: {}, {events} events", table.name)?;
        writeln!(text, "{:<28} {:>14} {:>10}", "column", "bytes", "an event")?;
        for (name, bytes) in columns {
            writeln!(text, "{name:<28} {bytes:>14} {:>10.3}", bytes as f64 / events as f64)?;
        }
    }
    Ok(text)
}
