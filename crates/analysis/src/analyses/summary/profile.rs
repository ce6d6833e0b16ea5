//! The summary of a profile of functions: it has no steps and no devices.

use stepscope_model::{LeftOut, Part, Report, ReportTable, Text};

use super::{Grades, head_text, health_reason};
use crate::analyses::{Asking, functions};
use crate::error::AnalysisError;
use crate::{views, words};

/// Functions that are shown.
const TOP: usize = 20;

pub(super) fn answer(asking: &Asking<'_>) -> Result<Report, AnalysisError> {
    let grades = views::health::grades(asking.engine, asking.sources.iter().copied())?;
    let (name, title) = ("functions".to_owned(), Some("FUNCTIONS".to_owned()));
    let mut table = ReportTable { name, title, ..functions::table(asking)? };
    let facts = format!("profile of Python functions · {}", words::counted(table.rows.len(), "function"));
    let mut parts = vec![Part::Text(head_text(asking, &grades, &facts))];
    parts.push(Part::Text(Text::strong(functions::sentence(asking)?)));
    if table.rows.len() > TOP {
        table.left_out = LeftOut::Rows((table.rows.len() - TOP) as u64);
        table.rows.truncate(TOP);
    }
    parts.push(Part::Table(table));
    parts.push(Part::Text(Text::labelled("health", health(asking, &grades))));
    let next = ["stepscope functions", "stepscope functions --sort tottime", "stepscope functions --group-by caller"];
    let next = next.map(|command| asking.question.in_command(command));
    parts.push(Part::Text(Text::code("next", next.join("\n"))));
    Ok(Report::new("summary", parts))
}

fn health(asking: &Asking<'_>, grades: &Grades) -> String {
    let functions: u64 = asking.sources.iter().map(|source| source.events_in).sum();
    let lost: u64 = asking.sources.iter().map(|source| source.lost_events()).sum();
    let counts = format!("{}, {} lost", words::counted(functions as usize, "function"), words::count(lost as i64));
    health_reason(asking, grades).into_iter().chain([counts]).collect::<Vec<_>>().join("\n")
}
