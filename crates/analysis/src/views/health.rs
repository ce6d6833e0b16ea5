//! Trace health: a sentence about each recording, then one row a figure.

use std::collections::BTreeMap;

use stepscope_engine::{Engine, QueryOptions};
use stepscope_model::health::{HEALTH_FIGURES, meaning};
use stepscope_model::{Cell, Part, Report, ReportColumn, ReportTable, SourceId, SourceRecord};

use crate::error::AnalysisError;
use crate::frame::Frame;

const SQL: &str =
    "SELECT rank, \"window\", name, value, ratio, text, reason FROM health ORDER BY rank, \"window\", name";

/// Recordings that get a sentence of their own; more are counted by grade.
const SENTENCES: usize = 4;

/// The figures of one recording, by name.
type Figures = BTreeMap<String, (Cell, Option<String>)>;

pub(crate) fn report(engine: &Engine, sources: &[SourceRecord]) -> Result<Report, AnalysisError> {
    let by_source = read(engine)?;
    let columns = ["rank", "window", "figure", "value", "reason", "meaning"].map(ReportColumn::named).to_vec();
    let rows = by_source.iter().flat_map(|(id, figures)| rows(*id, figures)).collect();
    let table = ReportTable::rows(columns, rows);
    Ok(Report::new("health", vec![Part::Text(summary(&by_source, sources).into()), Part::Table(table)]))
}

/// The grade of each recording, and a count of the figures that a line shows.
pub(crate) fn grades(engine: &Engine) -> Result<BTreeMap<SourceId, (String, i64, i64)>, AnalysisError> {
    let count = |figures: &Figures, name: &str| match figures.get(name) {
        Some((Cell::Int(count), _)) => *count,
        _ => 0,
    };
    let grade = |(id, figures): (SourceId, Figures)| {
        let unlinked = count(&figures, "unlinked_device_events");
        (id, (word(&figures, "grade").to_owned(), count(&figures, "device_events"), unlinked))
    };
    Ok(read(engine)?.into_iter().map(grade).collect())
}

fn read(engine: &Engine) -> Result<BTreeMap<SourceId, Figures>, AnalysisError> {
    let frame = Frame::new(engine.query(SQL, &QueryOptions::default())?);
    let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
    let (names, reasons) = (frame.text("name")?, frame.text("reason")?);
    let (values, ratios, words) = (frame.i64("value")?, frame.f64("ratio")?, frame.text("text")?);
    let mut by_source: BTreeMap<SourceId, Figures> = BTreeMap::new();
    for row in 0..frame.rows() {
        let id = SourceId { rank: ranks[row] as u32, window: windows[row] as u32 };
        let number = values[row].map(Cell::Int).or_else(|| ratios[row].map(Cell::Float));
        let value = number.or_else(|| words[row].clone().map(Cell::Text)).unwrap_or(Cell::Null);
        let name = names[row].clone().unwrap_or_default();
        by_source.entry(id).or_default().insert(name, (value, reasons[row].clone()));
    }
    Ok(by_source)
}

/// The rows of one recording: what matters most first, groups behind.
fn rows(id: SourceId, figures: &Figures) -> Vec<Vec<Cell>> {
    let place = |name: &str| HEALTH_FIGURES.iter().position(|(known, _)| *known == name).unwrap_or(usize::MAX);
    let mut sorted: Vec<(&String, &(Cell, Option<String>))> = figures.iter().collect();
    sorted.sort_by_key(|(name, _)| (place(name), name.as_str()));
    let text = |text: Option<&str>| text.map_or(Cell::Null, |text| Cell::Text(text.to_owned()));
    let row = |(name, (value, reason)): (&String, &(Cell, Option<String>))| {
        vec![
            Cell::Int(id.rank.into()),
            Cell::Int(id.window.into()),
            Cell::Text(name.clone()),
            value.clone(),
            text(reason.as_deref()),
            text(meaning(name).as_deref()),
        ]
    };
    sorted.into_iter().map(row).collect()
}

fn summary(by_source: &BTreeMap<SourceId, Figures>, sources: &[SourceRecord]) -> String {
    if sources.len() > SENTENCES {
        let mut grades: BTreeMap<&str, usize> = BTreeMap::new();
        for figures in by_source.values() {
            *grades.entry(word(figures, "grade")).or_default() += 1;
        }
        let grades: Vec<String> = grades.iter().map(|(grade, count)| format!("{count} {grade}")).collect();
        return format!("{} recordings: {}.", sources.len(), grades.join(", "));
    }
    let sentence = |source: &SourceRecord| by_source.get(&source.id).map(|figures| sentence(source, figures));
    sources.iter().filter_map(sentence).collect::<Vec<_>>().join("\n")
}

fn sentence(source: &SourceRecord, figures: &Figures) -> String {
    let count = |name: &str| match figures.get(name) {
        Some((Cell::Int(count), _)) => *count,
        _ => 0,
    };
    let lost = match count("lost_events") {
        0 => "none lost".to_owned(),
        lost => format!("{lost} lost"),
    };
    let (device, unlinked) = (count("device_events"), count("unlinked_device_events"));
    let linked = if device == 0 {
        "no device events".to_owned()
    } else {
        format!("{} of {device} device events have their launch", device - unlinked)
    };
    let grade = word(figures, "grade");
    let (id, events) = (source.id, source.events_in);
    format!("Rank {}, window {}: health is {grade}. {events} events, {lost}; {linked}.", id.rank, id.window)
}

fn word<'a>(figures: &'a Figures, name: &str) -> &'a str {
    match figures.get(name) {
        Some((Cell::Text(word), _)) => word,
        _ => "unknown",
    }
}
