//! Any report as a part of a page: sentences, figures, tables and curves by their kind.

use std::fmt::Write as _;

use stepscope_model::{Cell, Metric, Missing, Part, Report, ReportTable, Role, Text, Tone};

use super::chart::curve;
use super::escape::{escaped, shortened};
use super::table::{Rows, null, table};
use super::words::{figure, sentence_case, title_of, unbroken};
use crate::number::number;
use crate::sentence;
use crate::text::{self, TextOptions};

/// What names questions: whoever gets a page may not have the trace.
const QUESTIONS: [Role; 2] = [Role::Next, Role::Show];
/// Bytes of markup of a text.
const LONGEST_TEXT: usize = 4_000;

/// Whether there is nothing in a report but words.
pub(super) fn is_empty(report: &Report) -> bool {
    let is_figure = |cell: &Cell| number(cell).is_some_and(|value| value != 0.0);
    !report.parts.iter().any(|part| match part {
        Part::Table(table) => !table.rows.is_empty(),
        Part::Series(series) => !series.points.is_empty(),
        Part::Metric(metric) => is_figure(&metric.value),
        Part::Text(_) => false,
    })
}

/// Why there is nothing, in one line.
pub(super) fn why_empty(report: &Report) -> String {
    let sentence = report.texts().find(|text| text.role.label().is_none());
    let mut reasons: Vec<String> = report.missing.iter().map(|missing| sentence::written(&missing.reason)).collect();
    reasons.dedup();
    match sentence {
        Some(text) => shortened(&sentence::lines(text).join("\n"), LONGEST_TEXT),
        None if reasons.is_empty() => "None recorded.".to_owned(),
        None => format!("{}.", shortened(&sentence_case(&reasons.join(", ")), LONGEST_TEXT)),
    }
}

/// The parts of a report, and why something in it is missing.
pub(super) fn body(report: &Report, rows: Rows) -> String {
    let parts = text::with_reasons(report);
    let mut markup = String::new();
    let mut metrics: Vec<&Metric> = Vec::new();
    for part in &parts {
        if let Part::Metric(metric) = part {
            metrics.push(metric);
            continue;
        }
        markup.push_str(&figures(&std::mem::take(&mut metrics)));
        match part {
            Part::Text(text) => markup.push_str(&paragraph(text)),
            Part::Table(shown) if !shown.rows.is_empty() => {
                if let Some(title) = title_of(shown) {
                    let _ = writeln!(markup, "<h3>{}</h3>", escaped(&title));
                }
                markup.push_str(&table(shown, &report.missing, rows));
            }
            Part::Series(series) => markup.push_str(&curve(series)),
            Part::Table(_) | Part::Metric(_) => {}
        }
    }
    markup.push_str(&figures(&metrics));
    markup
}

/// Why values are missing, as lines: whole parts of an answer, and columns of the table if there is one.
pub(super) fn reasons(missing: &[Missing], table: Option<&ReportTable>) -> String {
    let parts = table.map(|table| Part::Table(table.clone())).into_iter().collect();
    let report = Report { parts, missing: missing.to_vec(), ..Report::default() };
    let told = text::with_reasons(&report);
    let lines = told.iter().filter_map(|part| if let Part::Text(text) = part { Some(paragraph(text)) } else { None });
    lines.collect::<Vec<_>>().concat()
}

/// A sentence, a line with a word before it, or code.
pub(super) fn paragraph(text: &Text) -> String {
    if QUESTIONS.contains(&text.role) {
        return String::new();
    }
    if text.is_code {
        return format!("<pre>{}</pre>\n", shortened(&sentence::lines(text).join("\n"), LONGEST_TEXT));
    }
    let grade = text.explains.map(|grade| format!("{}: ", grade.as_text())).unwrap_or_default();
    let words = grade + &text.lines.iter().map(unbroken).collect::<Vec<_>>().join("\n");
    let words = shortened(&words, LONGEST_TEXT).replace('\n', "<br>");
    let right = text.right.map(|right| format!(" · {}", escaped(&sentence::status_text(right)))).unwrap_or_default();
    match (text.role.label(), text.tone) {
        // The lines that say why something is missing need no word: the sign is in them.
        _ if text.role == Role::Null => format!("<p class=\"note\">{words}</p>\n"),
        (Some(label), _) => format!("<p class=\"note\"><b>{}</b> {words}</p>\n", escaped(&sentence_case(label))),
        (None, Tone::Strong) => format!("<p class=\"lead\">{words}{right}</p>\n"),
        (None, _) => format!("<p class=\"plain\">{words}{right}</p>\n"),
    }
}

/// Figures with their names, side by side.
fn figures(metrics: &[&Metric]) -> String {
    let mut markup = String::new();
    for metric in metrics.iter().filter(|metric| !metric.is_for_programs) {
        let name = text::header(&metric.name, metric.unit, TextOptions::default());
        let value = match &metric.value {
            Cell::Null => null(&metric.reason.as_ref().map_or_else(|| "not recorded".to_owned(), sentence::written)),
            cell => {
                let (digits, unit) = figure(cell, metric.unit);
                format!("{}<u>{}</u>", escaped(&digits), escaped(&unit))
            }
        };
        let _ = write!(markup, "<div><dt>{}</dt><dd>{value}</dd></div>", escaped(&sentence_case(&name)));
    }
    if markup.is_empty() { markup } else { format!("<dl class=\"facts\">{markup}</dl>\n") }
}
