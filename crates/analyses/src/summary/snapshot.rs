//! The summary of memory snapshots: how much memory, what for, and what is wrong with it.

use stepscope_model::tables::{MEMORY_BLOCKS, MEMORY_EVENTS, MEMORY_SEGMENTS};
use stepscope_model::{Missing, Part, Report, Sentence, Table, Target, say};
use stepscope_runs::RunError;

use super::{head_text, health, health_line, next};
use crate::gather::measure;
use crate::{Asking, diagnose, listings, memory};

/// Tables of `memory` that a screen has room for.
const TABLES: [&str; 3] = ["devices", "history", "lines"];
/// Lines of the program that are shown.
const TOP: usize = 10;

pub(super) fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let grades = listings::health::grades(asking.engine, asking.sources.iter().copied())?;
    let sum = |table: &Table| asking.sources.iter().map(|source| source.rows.of(table)).sum::<u64>() as usize;
    let facts = [
        "memory snapshot".into(),
        say::counted(sum(&MEMORY_SEGMENTS), "segment"),
        say::counted(sum(&MEMORY_BLOCKS), "block"),
        say!("{} events", say::count(sum(&MEMORY_EVENTS) as i64)),
    ];
    let mut parts = vec![Part::Text(head_text(asking, &grades, Sentence::facts(facts)))];
    let snapshot = memory::of_snapshots(asking)?;
    for part in snapshot.parts {
        match part {
            Part::Text(text) => parts.push(Part::Text(text)),
            Part::Table(mut table) if TABLES.contains(&table.name.as_str()) && !table.rows.is_empty() => {
                table.rows.truncate(TOP);
                table.name = in_summary(&table.name);
                parts.push(Part::Table(table));
            }
            _ => {}
        }
    }
    let (verdict, no_findings) = diagnose::found(asking, &measure(asking)?)?;
    if !verdict.findings.is_empty() {
        parts.push(Part::Table(diagnose::table(&verdict.findings)));
    }
    parts.push(health(asking, &grades, health_line(asking, &grades)));
    parts.push(next(&["memory", "diagnose", "open"].map(Target::of)));
    let is_shown = |path: &str| TABLES.iter().any(|table| path.starts_with(table));
    let missing = snapshot.missing.into_iter().filter(|missing| is_shown(&missing.path));
    let missing = missing.map(|missing| Missing { path: in_summary(&missing.path), ..missing }).chain(no_findings);
    Ok(Report { missing: missing.collect(), ..Report::new("summary", parts) })
}

/// The name of a table in a summary, where `devices` is another one.
fn in_summary(name: &str) -> String {
    format!("memory_{name}")
}
