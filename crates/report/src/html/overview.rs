//! The beginning of a page: the sentence, trace health, six figures, where steps go, what to change.

use std::fmt::Write as _;

use stepscope_model::{
    Cell, Grade, Look, Missing, Part, Piece, Report, ReportColumn, ReportTable, Role, Sentence, Severity, Status, Text,
    Unit,
};

use super::chart::{bars_of, meter, sparks, stacked};
use super::escape::{escaped, shortened};
use super::section::{paragraph, reasons};
use super::table::{Rows, null, swatch, table};
use super::words::{figure, figure_text, sentence_case, unbroken};
use crate::number::{NumberStyle, number};
use crate::sentence;

const LONGEST_TEXT: usize = 2_000;
/// Devices that stand in a table of their own.
const DEVICE_ROWS: Rows = Rows { open: 8, most: 64 };

/// What is at the top: the sentence, facts, and how far the trace can be trusted.
pub(super) fn lede(summary: &Report) -> String {
    let headline = text_for(summary, Role::Headline).and_then(|text| text.lines.first());
    let headline = headline.map_or_else(|| "No complete step in this trace.".to_owned(), unbroken);
    let mut markup = format!("<h1>{}</h1>\n", shortened(&headline, LONGEST_TEXT));
    let head = text_for(summary, Role::Head);
    let facts = head.and_then(|text| text.lines.get(1)).map(facts).unwrap_or_default();
    let _ = writeln!(markup, "<p class=\"sub\">{facts}</p>");
    markup.push_str(&health(summary, head.and_then(|text| text.right).unwrap_or(Status::Health(None))));
    markup.extend(summary.texts().filter(|text| text.role == Role::Plain).map(paragraph));
    markup
}

/// The name of the run, as its summary has it.
pub(super) fn run_name(summary: &Report) -> Option<String> {
    text_for(summary, Role::Head).and_then(|text| text.lines.first()).map(sentence::written)
}

fn text_for(report: &Report, role: Role) -> Option<&Text> {
    report.texts().find(|text| text.role == role)
}

/// Facts with a sign between them.
fn facts(facts: &Sentence) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Separator(()) => "<i>·</i>".to_owned(),
        other => shortened(&sentence::piece(other), LONGEST_TEXT),
    };
    facts.0.iter().map(piece).collect()
}

pub(super) fn table_named<'a>(report: &'a Report, name: &str) -> Option<&'a ReportTable> {
    report.parts.iter().find_map(|part| match part {
        Part::Table(table) if table.name == name => Some(table),
        _ => None,
    })
}

fn cell<'a>(table: &'a ReportTable, row: usize, name: &str) -> &'a Cell {
    let place = table.columns.iter().position(|column| column.name == name);
    place.and_then(|place| table.rows.get(row)?.get(place)).unwrap_or(&Cell::Null)
}

fn text<'a>(table: &'a ReportTable, row: usize, name: &str) -> &'a str {
    if let Cell::Text(text) = cell(table, row, name) { text } else { "" }
}

/// The grade with a sign and a word, and the figures behind it.
fn health(summary: &Report, status: Status) -> String {
    let (tone, icon) = match status {
        Status::Health(Some(Grade::Good)) => ("good", CHECK),
        Status::Good { good, all } if good == all => ("good", CHECK),
        Status::Health(Some(Grade::Poor)) => ("bad", OCTAGON),
        _ => ("warn", TRIANGLE),
    };
    let told = text_for(summary, Role::Health).map_or(&[][..], |text| &text.lines);
    let told = told.iter().map(sentence::written).collect::<Vec<_>>().join("\n");
    format!(
        "<p class=\"health {tone}\"><b>{} {}</b> <span>{}</span></p>\n",
        icon_markup(icon),
        shortened(&sentence_case(&sentence::status_text(status)), 200),
        shortened(&sentence_case(&told), LONGEST_TEXT).replace('\n', "<br>")
    )
}

const CHECK: &str = "M3.5 8.5l3 3 6-7";
const TRIANGLE: &str = "M8 2.8L14 13H2zM8 6.8v3M8 11.3v.2";
const OCTAGON: &str = "M8 2.3a5.7 5.7 0 100 11.4A5.7 5.7 0 008 2.3zM8 5v3.8M8 10.9v.2";
const INFO: &str = "M8 2.3a5.7 5.7 0 100 11.4A5.7 5.7 0 008 2.3zM8 7.4V11M8 5v.2";

fn icon_markup(path: &str) -> String {
    format!(
        "<svg class=\"icon\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"{path}\"/></svg>"
    )
}

/// Whether it tells of functions, which have neither steps nor devices.
pub(super) fn is_profile(summary: &Report) -> bool {
    table_named(summary, "functions").is_some()
}

/// Six figures: step time, and how well the device is used; without exactly one device, how steps spread.
pub(super) fn strip(summary: &Report) -> String {
    if is_profile(summary) {
        return String::new();
    }
    let nothing = ReportTable::default();
    let times = table_named(summary, "step_time").unwrap_or(&nothing);
    let time = |name: &str| cell(times, 0, name);
    let digits = |name: &str| figure(time(name), Unit::Nanoseconds).0;
    let mut stats = Vec::new();
    let device = table_named(summary, "devices").filter(|devices| devices.rows.len() == 1);
    let no_step = "no complete step";
    let spread = if times.rows.is_empty() || device.is_none() {
        String::new()
    } else {
        format!(
            "p90 {} · p99 {} · mean {}",
            digits("p90_ns"),
            digits("p99_ns"),
            figure_text(time("mean_ns"), Unit::Nanoseconds)
        )
    };
    let each = match time("each") {
        Cell::Numbers(values) if values.len() > 1 && has_column(times, "each") => sparks(values),
        _ => String::new(),
    };
    stats.push(Stat { extra: each, ..Stat::of("Step time, p50", time("p50_ns"), Unit::Nanoseconds, no_step, &spread) });
    if let Some(devices) = device {
        stats.extend(device_stats(devices, &summary.missing));
    } else {
        for name in ["mean_ns", "min_ns", "p90_ns", "p99_ns", "max_ns"] {
            let label = format!("Step time, {}", name.trim_end_matches("_ns"));
            stats.push(Stat::of(&label, time(name), Unit::Nanoseconds, no_step, ""));
        }
    }
    if times.columns.iter().any(|column| column.name == "samples_per_s") {
        stats.push(Stat::of("Samples per second", time("samples_per_s"), Unit::Plain, no_step, ""));
    }
    let mut markup = String::from("<div class=\"strip\">\n");
    markup.extend(stats.iter().map(Stat::markup));
    markup.push_str("</div>\n");
    markup.extend(summary.texts().filter(|text| text.role == Role::Compute).map(paragraph));
    markup.push_str(&reasons(&summary.missing, None));
    markup
}

/// Devices side by side, if there are several.
pub(super) fn devices(summary: &Report) -> Option<String> {
    let devices = table_named(summary, "devices").filter(|devices| devices.rows.len() > 1)?;
    let of_devices = summary.missing.iter().filter(|missing| missing.path.starts_with("devices"));
    let why = reasons(&of_devices.cloned().collect::<Vec<_>>(), Some(devices));
    Some(format!("{}{why}", table(devices, &summary.missing, DEVICE_ROWS)))
}

fn has_column(table: &ReportTable, name: &str) -> bool {
    table.columns.iter().any(|column| column.name == name && column.look != Look::Hidden)
}

fn device_stats(devices: &ReportTable, missing: &[Missing]) -> Vec<Stat> {
    let of = |name: &str| cell(devices, 0, name);
    let reason = |name: &str| {
        let told = missing.iter().find(|missing| missing.path.ends_with(name));
        told.map_or_else(|| "not recorded".to_owned(), |missing| sentence::written(&missing.reason))
    };
    let ratio = |label: &str, name: &str, note: &str| Stat::of(label, of(name), Unit::Ratio, &reason(name), note);
    let with_copies = format!("busy with copies {}", figure_text(of("gpu_busy_ratio"), Unit::Ratio));
    let tensor = "tensor_core_lower_bound_ratio";
    let from_names = if number(of(tensor)) == Some(0.0) { "no kernel name matches" } else { "from kernel names" };
    let (growth, peak) = (of("memory_growth_bytes"), of("memory_peak_bytes"));
    let memory = if *peak == Cell::Null {
        let note = format!("total –: {}", reason("memory_peak_bytes"));
        let note = if *growth == Cell::Null { "" } else { note.as_str() };
        Stat::of("Memory growth, peak", growth, Unit::Bytes, &reason("memory_growth_bytes"), note)
    } else {
        let note = format!("growth {}", figure_text(growth, Unit::Bytes));
        Stat::of("Memory, peak", peak, Unit::Bytes, "", &note)
    };
    vec![
        ratio("GPU utilization", "gpu_utilization_ratio", &with_copies),
        ratio("Est. SM efficiency", "est_sm_efficiency_ratio", "from blocks and SMs"),
        ratio("Est. occupancy", "est_achieved_occupancy_ratio", "mean by kernel time"),
        Stat { before: "≥ ", ..ratio("Tensor cores", tensor, from_names) },
        memory,
    ]
}

/// One figure with its label and a note.
struct Stat {
    label: String,
    value: Cell,
    unit: Unit,
    before: &'static str,
    reason: String,
    note: String,
    /// A small picture below the figure.
    extra: String,
}

impl Stat {
    fn of(label: &str, value: &Cell, unit: Unit, reason: &str, note: &str) -> Self {
        let share = number(value).filter(|_| unit == Unit::Ratio);
        let extra = share.map(|share| meter(share, None)).unwrap_or_default();
        let [label, reason, note] = [label, reason, note].map(str::to_owned);
        Self { label, value: value.clone(), unit, before: "", reason, note, extra }
    }

    fn markup(&self) -> String {
        let (value, note) = if self.value == Cell::Null {
            (null(&self.reason), self.reason.as_str())
        } else {
            let (digits, unit) = figure(&self.value, self.unit);
            (format!("{}{}<u>{}</u>", self.before, escaped(&digits), escaped(&unit)), self.note.as_str())
        };
        format!(
            "<div class=\"stat\"><div class=\"l\">{}</div><div class=\"v\">{value}</div>{}<div class=\"s\">{}</div></div>\n",
            escaped(&self.label),
            self.extra,
            shortened(note, 200)
        )
    }
}

/// Where each step goes: a bar each, and a legend with values. Nothing without steps.
pub(super) fn where_steps_go(summary: &Report, steps: &Report) -> Option<String> {
    let bars = bars_of(table_named(steps, "rows")?);
    let breakdown = table_named(summary, "breakdown")?;
    if bars.iter().all(|bar| bar.shares.is_empty()) {
        return None;
    }
    let unit = breakdown.columns.iter().find(|column| column.name == "mean_ns").map(ReportColumn::header);
    let format = unit.as_deref().and_then(|unit| NumberStyle::of_header(Unit::Nanoseconds, unit, false));
    let mut markup = stacked(&bars);
    let unit = unit.unwrap_or_default();
    let _ = writeln!(markup, "<div class=\"legend\" aria-label=\"{}\">", escaped(&unit));
    for row in 0..breakdown.rows.len() {
        let mean = cell(breakdown, row, "mean_ns");
        let value = format.map_or_else(|| figure_text(mean, Unit::Nanoseconds), |format| format.show(mean));
        let zero = if number(mean) == Some(0.0) { " class=\"zero\"" } else { "" };
        let _ = writeln!(
            markup,
            "<div{zero}>{}<b>{}</b><em>{}</em></div>",
            swatch(text(breakdown, row, "class")),
            escaped(&value),
            escaped(&figure_text(cell(breakdown, row, "share_ratio"), Unit::Ratio))
        );
    }
    markup.push_str("</div>\n");
    let rows = table_named(steps, "rows")?;
    let over_ranks = has_column(rows, "steps").then(|| "a bar is the mean over traces".to_owned());
    let note = over_ranks.into_iter().chain(rows.notes.iter().map(sentence::written)).collect::<Vec<_>>().join(" · ");
    let _ = writeln!(
        markup,
        "<p class=\"note\">{}, mean of complete steps · {}</p>",
        escaped(&unit),
        shortened(&note, 400)
    );
    Some(markup)
}

/// What to change: findings with evidence, the code, and when it is a false alarm.
pub(super) fn findings(report: &Report) -> String {
    let Some(rows) = table_named(report, "rows").filter(|rows| !rows.rows.is_empty()) else {
        let words =
            if report.missing.is_empty() { "<p class=\"plain\">No rule found anything to change.</p>\n" } else { "" };
        return format!("{words}{}", reasons(&report.missing, None));
    };
    let about = "<p class=\"about\">Savings are predicted by a replay of the steps. Time at stake is measured.</p>\n"
        .to_owned();
    std::iter::once(about).chain((0..rows.rows.len()).map(|row| finding(rows, row))).collect()
}

/// What the fix saves at least and at most, or why that is not known; nothing where no replay shows what it does.
fn saving(rows: &ReportTable, row: usize) -> String {
    let [low, high] = ["saving_low_ns", "saving_high_ns"].map(|name| cell(rows, row, name));
    let words = match (text(rows, row, "change"), low, high) {
        ("", ..) => return String::new(),
        (_, Cell::Null, _) | (_, _, Cell::Null) => format!("Saving not known: {}.", text(rows, row, "saving_null")),
        (change, low, high) => format!(
            "Saving {} to {} per step: {}, confidence {}, by {change}.",
            figure_text(low, Unit::Nanoseconds),
            figure_text(high, Unit::Nanoseconds),
            text(rows, row, "bound"),
            text(rows, row, "confidence")
        ),
    };
    format!("<p>{}</p>", shortened(&words, LONGEST_TEXT))
}

fn finding(rows: &ReportTable, row: usize) -> String {
    let (tone, icon) = match Severity::of_text(text(rows, row, "severity")) {
        Some(Severity::High) => ("bad", OCTAGON),
        Some(Severity::Medium) => ("warn", TRIANGLE),
        Some(Severity::Low) | None => ("low", INFO),
    };
    let per_step =
        |words: &str, ns: &Cell| format!("{}<small>{words}</small>", escaped(&figure_text(ns, Unit::Nanoseconds)));
    let cost = match (cell(rows, row, "saving_ns"), cell(rows, row, "at_stake_ns")) {
        (Cell::Null, Cell::Null) => String::new(),
        (Cell::Null, stake) => per_step("at stake per step", stake),
        (saving, _) => per_step("saved per step", saving),
    };
    let evidence = match cell(rows, row, "evidence") {
        Cell::Sentences(lines) => {
            lines.iter().map(|line| sentence_case(&unbroken(line))).collect::<Vec<_>>().join(". ")
        }
        _ => String::new(),
    };
    let title =
        if let Cell::Sentence(title) = cell(rows, row, "title") { sentence::written(title) } else { String::new() };
    format!(
        "<article class=\"finding\"><span class=\"{tone}\" title=\"{}\">{}</span><div><h3>{}</h3><p>{}.</p>{}<p class=\"about\">{} {}</p>\
         <pre>{}</pre><p class=\"note\">False alarm {}.</p></div><div class=\"cost\">{cost}</div></article>\n",
        escaped(text(rows, row, "severity")),
        icon_markup(icon),
        shortened(&title, LONGEST_TEXT),
        shortened(&evidence, LONGEST_TEXT),
        saving(rows, row),
        shortened(text(rows, row, "what"), LONGEST_TEXT),
        shortened(text(rows, row, "why"), LONGEST_TEXT),
        shortened(text(rows, row, "fix"), LONGEST_TEXT),
        shortened(text(rows, row, "not_this"), LONGEST_TEXT)
    )
}
