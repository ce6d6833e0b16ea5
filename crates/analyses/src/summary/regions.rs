//! The summary of a recording that has regions and nothing below them, as Stepscope's own recorder makes it.

use stepscope_model::{Cell, Look, Part, Report, ReportColumn, ReportTable, Rounding, Sentence, Target, Text, say};
use stepscope_runs::RunError;

use super::{Asking, head_text, health, health_line, next};
use crate::listings;

/// Rows of regions.
const TOP: usize = 10;

/// The regions with the most time of their own.
pub(super) fn top(asking: &Asking<'_>) -> Result<ReportTable, RunError> {
    let statement = format!(
        "SELECT *, CASE WHEN whole_ns > 0 THEN self_ns / CAST(whole_ns AS DOUBLE) END AS share_ratio FROM (
           SELECT name, count(*) AS count, sum(self_ns) AS self_ns, sum(dur_ns) AS total_ns,
             CAST(avg(dur_ns) AS BIGINT) AS mean_ns, max(dur_ns) AS max_ns, sum(sum(self_ns)) OVER () AS whole_ns
           FROM spans WHERE {{events}} AND kind = 'ann' AND phase = 'X' GROUP BY name)
         WHERE name IS NOT NULL ORDER BY self_ns DESC, name LIMIT {TOP}"
    );
    let columns = vec![
        ReportColumn::named("name").label("region").look(Look::Operator),
        ReportColumn::named("count"),
        ReportColumn::named("self_ns"),
        ReportColumn::named("share_ratio").label("share"),
        ReportColumn::named("total_ns"),
        ReportColumn::named("mean_ns"),
        ReportColumn::named("max_ns"),
    ];
    let table = asking.table(&statement, columns)?;
    let title = Some("TOP REGIONS".to_owned());
    Ok(ReportTable { name: "regions".to_owned(), title, ..table })
}

pub(super) fn answer(asking: &Asking<'_>, regions: ReportTable) -> Result<Report, RunError> {
    let grades = listings::health::grades(asking.engine, asking.sources.iter().copied())?;
    let events: u64 = asking.sources.iter().map(|source| source.events_in).sum();
    let length = asking.sources.iter().filter_map(|source| Some(source.last_event_ns? - source.first_event_ns?)).max();
    let facts = [say::ns(length.unwrap_or(0) as f64).into(), say!("{} events", say::count(events as i64))];
    let parts = vec![
        Part::Text(head_text(asking, &grades, Sentence::facts(facts))),
        Part::Text(Text::headline(sentence(&regions))),
        Part::Table(regions),
        health(asking, &grades, health_line(asking, &grades)),
        next(&["regions", "open", "tracks"].map(Target::of)),
    ];
    Ok(Report::new("summary", parts))
}

/// The region that takes most, in words.
fn sentence(regions: &ReportTable) -> Sentence {
    match &regions.rows[0][..] {
        [Cell::Text(name), _, Cell::Int(self_ns), Cell::Float(share), ..] => {
            let share = say::ratio(*share).rounded(Rounding::Whole);
            say!("{} takes {} of the time in regions, {}.", name, share, say::ns(*self_ns as f64))
        }
        _ => "The regions took no time.".into(),
    }
}
