//! Trace health: a sentence about each recording, then one row a figure.

use std::collections::BTreeMap;

use stepscope_engine::{Engine, QueryOptions};
use stepscope_model::health::{HEALTH_FIGURES, UNANALYZED, meaning};
use stepscope_model::null_reason::NOT_APPLICABLE;
use stepscope_model::{
    Cell, Figure, Grade, Holds, Note, Part, Report, ReportColumn, ReportTable, Sentence, SourceId, SourceRecord, Text,
    say, skipped_sentences,
};
use stepscope_runs::{Frame, OpenRun, RunError};

use crate::before_recording;

const SQL: &str =
    "SELECT rank, \"window\", name, value, ratio, text, reason FROM health ORDER BY rank, \"window\", name";

/// Recordings that get a sentence of their own; more are counted by grade.
const SENTENCES: usize = 4;

/// The figures of one recording, by name.
type Figures = BTreeMap<String, (Cell, Option<String>)>;

/// What an overview tells of the health of a recording.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// None where the table does not have it.
    pub grade: Option<Grade>,
    pub device_events: i64,
    pub unlinked_device_events: i64,
    /// Share of device time that belongs to no operator and no graph.
    pub unexplained_ratio: Option<f64>,
    /// Work of a device that no analysis reads, in words.
    pub unanalyzed: Option<Sentence>,
}

/// Trace health of the recordings of a rank, a window or both, and what lies beside the traces and was not read.
pub fn report(run: &OpenRun, rank: Option<u32>, window: Option<u32>) -> Result<Report, RunError> {
    let mut report = about(run.engine_of_what_is_there()?, &run.sources_of(rank.as_slice(), window)?)?;
    let sentences = skipped_sentences(run.skipped_files()).into_iter();
    report.parts.splice(1..1, sentences.map(|sentence| Part::Text(format!("{sentence}.").into())));
    Ok(report)
}

fn about(engine: &Engine, sources: &[&SourceRecord]) -> Result<Report, RunError> {
    let mut by_source = read(engine)?;
    by_source.retain(|id, _| sources.iter().any(|source| source.id == *id));
    for source in sources {
        if let Some(figures) = by_source.get_mut(&source.id) {
            count_unanalyzed(source, figures);
        }
    }
    for source in sources.iter().filter(|source| source.is_profile()) {
        if let Some(figures) = by_source.get_mut(&source.id) {
            figures.retain(|name, _| is_of_profile(name));
        }
    }
    let texts = |name: &str| ReportColumn::named(name).holds(Holds::Texts);
    let table = ReportTable::of("rows", by_source.iter().flat_map(|(id, figures)| rows(*id, figures)))
        .column(ReportColumn::named("rank"), |row| i64::from(row.id.rank))
        .column(ReportColumn::named("window"), |row| i64::from(row.id.window))
        .column(texts("figure"), |row| row.name)
        // Counts, shares and words.
        .column(texts("value").null("given in the column `reason`"), |row| row.value.clone())
        .column(texts("reason").null(NOT_APPLICABLE), |row| row.reason)
        .column(texts("meaning").null(NOT_APPLICABLE), |row| meaning(row.name).as_deref().map(Cell::from))
        .table();
    let mut parts = vec![Part::Text(Text { lines: summary(&by_source, sources), ..Text::default() })];
    parts.extend(begun_busy(engine, sources)?.map(|text| Part::Text(text.into())));
    parts.push(Part::Table(table));
    Ok(Report::new("health", parts))
}

/// Which recordings begin while the device works on what was launched before.
fn begun_busy(engine: &Engine, sources: &[&SourceRecord]) -> Result<Option<Sentence>, RunError> {
    let busy = before_recording::find(engine, sources)?;
    let length = |(id, until): (&SourceId, &i64)| {
        let first = sources.iter().find(|source| source.id == *id)?.first_event_ns?;
        Some((*id, say::ns((until - first) as f64)))
    };
    let lengths: Vec<(SourceId, Figure)> = busy.iter().filter_map(length).collect();
    Ok(match &lengths[..] {
        [] => None,
        [(id, length)] if sources.len() == 1 => Some(say!(
            "Rank {}, window {}: for the first {} the device was busy with work from before the trace began.",
            id.rank.to_string(),
            id.window.to_string(),
            *length
        )),
        several => Some(say!(
            "{} of {} begin while the device is busy with work from before the trace began.",
            say::count(several.len() as i64),
            say::counted(sources.len(), "recording")
        )),
    })
}

/// Whether a figure means something for a profile of functions, which has no devices, steps or times of day.
fn is_of_profile(name: &str) -> bool {
    ["grade", "lost_events", "dropped_bad_time"].contains(&name)
        || ["lost.", "warnings."].iter().any(|group| name.starts_with(group))
}

/// Device work that no analysis reads makes a trace partly understood at best. The table `health` grades what was read
/// of the others, as the definition of the figures has it.
fn count_unanalyzed(source: &SourceRecord, figures: &mut Figures) {
    let (count, _) = source.unanalyzed_device_events();
    if count == 0 {
        return;
    }
    figures.insert(UNANALYZED.to_owned(), (Cell::Int(count as i64), None));
    if grade_of(figures) == Some(Grade::Good) {
        figures.insert("grade".to_owned(), (Cell::Text(Grade::Partial.as_text().to_owned()), None));
    }
}

/// What to say about device work that no analysis reads.
pub(crate) fn unanalyzed_words(source: &SourceRecord) -> Option<Sentence> {
    let (count, categories) = source.unanalyzed_device_events();
    let events = say::counted(count as usize, "event");
    (count > 0).then(|| say!("{} of a device that Stepscope does not analyze: {}", events, categories.join(", ")))
}

/// The grade of each recording, and the figures that a line shows.
pub(crate) fn grades<'a>(
    engine: &Engine,
    sources: impl IntoIterator<Item = &'a SourceRecord>,
) -> Result<BTreeMap<SourceId, Standing>, RunError> {
    let mut by_source = read(engine)?;
    let mut unanalyzed = BTreeMap::new();
    for source in sources {
        if let Some(figures) = by_source.get_mut(&source.id) {
            count_unanalyzed(source, figures);
        }
        unanalyzed.insert(source.id, unanalyzed_words(source));
    }
    let count = |figures: &Figures, name: &str| match figures.get(name) {
        Some((Cell::Int(count), _)) => *count,
        _ => 0,
    };
    let grade = |(id, figures): (SourceId, Figures)| {
        let device_ns = count(&figures, "device_time_ns");
        let explained_ns = count(&figures, "device_time_with_operator_ns") + count(&figures, "graph_device_time_ns");
        let unexplained_ns = (device_ns - explained_ns).max(0);
        let grade = Standing {
            grade: grade_of(&figures),
            device_events: count(&figures, "device_events"),
            unlinked_device_events: count(&figures, "unlinked_device_events"),
            unexplained_ratio: (device_ns > 0).then(|| unexplained_ns as f64 / device_ns as f64),
            unanalyzed: unanalyzed.get(&id).cloned().flatten(),
        };
        (id, grade)
    };
    Ok(by_source.into_iter().map(grade).collect())
}

fn read(engine: &Engine) -> Result<BTreeMap<SourceId, Figures>, RunError> {
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

/// A figure of a recording.
struct Row<'a> {
    id: SourceId,
    name: &'a str,
    value: &'a Cell,
    reason: Option<&'a str>,
}

/// The rows of one recording: what matters most first, groups behind.
fn rows(id: SourceId, figures: &Figures) -> Vec<Row<'_>> {
    let place = |name: &str| HEALTH_FIGURES.iter().position(|(known, _)| *known == name).unwrap_or(usize::MAX);
    let rows = figures.iter().map(|(name, (value, reason))| Row { id, name, value, reason: reason.as_deref() });
    let mut rows: Vec<Row<'_>> = rows.collect();
    rows.sort_by_key(|row| (place(row.name), row.name));
    rows
}

fn summary(by_source: &BTreeMap<SourceId, Figures>, sources: &[&SourceRecord]) -> Vec<Sentence> {
    if sources.len() > SENTENCES {
        let mut grades: BTreeMap<&str, usize> = BTreeMap::new();
        for figures in by_source.values() {
            *grades.entry(word(figures, "grade")).or_default() += 1;
        }
        let grades = grades.iter().map(|(grade, count)| say!("{} {}", say::count(*count as i64), *grade));
        let grades = Sentence::joined(grades, ", ");
        return vec![say!("{}: {}.", say::counted(sources.len(), "recording"), grades)];
    }
    let sentence = |source: &&SourceRecord| by_source.get(&source.id).map(|figures| sentence(source, figures));
    sources.iter().filter_map(sentence).collect()
}

fn sentence(source: &SourceRecord, figures: &Figures) -> Sentence {
    let count = |name: &str| match figures.get(name) {
        Some((Cell::Int(count), _)) => *count,
        _ => 0,
    };
    let lost = match count("lost_events") {
        0 if source.notes.contains(&Note::NotRecorded) => {
            "none lost; some regions were not recorded: buffer full, or ended on another thread".into()
        }
        0 => "none lost".into(),
        lost => say!("{} lost", say::count(lost)),
    };
    let (device, unlinked) = (count("device_events"), count("unlinked_device_events"));
    let linked = if source.is_profile() {
        Sentence::default()
    } else if let (0, Some(words)) = (device, unanalyzed_words(source)) {
        say!("; {}", words)
    } else if device == 0 {
        "; no device events".into()
    } else {
        let (device, linked) = (say::count(device), say::count(device - unlinked));
        say!("; {} of {} device events have their launch", linked, device)
    };
    let grade = word(figures, "grade");
    let (id, elements) = (source.id, say::counted(source.events_in as usize, source.element()));
    say!(
        "Rank {}, window {}: health is {}. {}, {}{}.",
        id.rank.to_string(),
        id.window.to_string(),
        grade,
        elements,
        lost,
        linked
    )
}

fn grade_of(figures: &Figures) -> Option<Grade> {
    Grade::of_text(word(figures, "grade"))
}

fn word<'a>(figures: &'a Figures, name: &str) -> &'a str {
    match figures.get(name) {
        Some((Cell::Text(word), _)) => word,
        _ => "unknown",
    }
}
