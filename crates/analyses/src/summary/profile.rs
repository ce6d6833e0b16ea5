//! The summary of a profile of functions: it has no steps and no devices.

use stepscope_model::{LeftOut, Part, Report, ReportTable, Sentence, Target, Text, say};
use stepscope_runs::RunError;

use super::{head_text, health, next};
use crate::listings;
use crate::{Asking, functions};

/// Functions that are shown.
const TOP: usize = 20;

pub(super) fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let grades = listings::health::grades(asking.engine, asking.sources.iter().copied())?;
    let (name, title) = ("functions".to_owned(), Some("FUNCTIONS".to_owned()));
    let mut table = ReportTable { name, title, ..functions::table(asking)? };
    let facts = Sentence::facts(["cProfile profile".into(), say::counted(table.rows.len(), "function")]);
    let mut parts = vec![Part::Text(head_text(asking, &grades, facts))];
    parts.push(Part::Text(Text::headline(functions::sentence(asking)?)));
    if table.rows.len() > TOP {
        table.left_out = LeftOut::Rows((table.rows.len() - TOP) as u64);
        table.rows.truncate(TOP);
    }
    parts.push(Part::Table(table));
    parts.push(health(asking, &grades, counts(asking)));
    let functions = Target::of("functions");
    parts.push(next(&[functions, functions.sorted_by("tottime"), functions.grouped_by("caller")]));
    Ok(Report::new("summary", parts))
}

fn counts(asking: &Asking<'_>) -> Sentence {
    let functions: u64 = asking.sources.iter().map(|source| source.events_in).sum();
    let lost: u64 = asking.sources.iter().map(|source| source.lost_events()).sum();
    say!("{}, {} lost", say::counted(functions as usize, "function"), say::count(lost as i64))
}
