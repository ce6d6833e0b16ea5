//! What stands around tables: sentences, labeled lines, figures, and why values are missing.

use stepscope_model::{Cell, Grade, Look, Metric, Part, Report, Role, Sentence, Series, Status, Text, Tone, say};
use unicode_width::UnicodeWidthStr;

use super::TextOptions;
use super::column::header;
use super::line::{Line, Style};
use super::name::wrap;
use super::picture::spark;
use crate::number::{NULL, NumberStyle, grouped};
use crate::{safe_text, sentence};

/// A sentence, or several lines; what belongs to the right end stands there if it fits.
pub(super) fn lines(text: &Text, options: TextOptions) -> Vec<Line> {
    let style = style_of(text.tone);
    let spelled = options.spell(&safe_text::lines(&sentence::lines(text).join("\n")));
    let wrapped = spelled.split('\n').flat_map(|line| wrap(line, options.width));
    let mut lines: Vec<Line> = wrapped.map(|line| Line::new(line, style)).collect();
    if let (Some(right), Some(first)) = (text.right, lines.first_mut()) {
        let right = status(right, options);
        if first.width() + 2 + right.width() <= options.width {
            first.pad_to(options.width - right.width());
            first.append(&right);
        } else {
            lines.insert(1, right);
        }
    }
    lines
}

/// Lines with a word before each, all below one another.
pub(super) fn labeled(texts: &[Text], options: TextOptions) -> Vec<Line> {
    let label_of = |text: &Text| text.role.label().unwrap_or_default();
    let indent = texts.iter().map(|text| label_of(text).width()).max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for text in texts {
        let mut label = label_of(text);
        let spelled = options.spell(&safe_text::lines(&sentence::lines(text).join("\n")));
        let room = if text.is_code { usize::MAX } else { options.width.saturating_sub(indent) };
        for part in spelled.split('\n').flat_map(|line| wrap(line, room)) {
            let mut line = Line::default();
            line.push(std::mem::take(&mut label), Style::Secondary);
            line.pad_to(indent);
            line.push(&part, style_of(text.tone));
            lines.push(line);
        }
    }
    lines
}

fn style_of(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::Plain,
        Tone::Strong => Style::Bold,
        Tone::Secondary => Style::Secondary,
    }
}

/// The word that says how good something is has a color: `trace health: good`.
fn status(of: Status, options: TextOptions) -> Line {
    let style = match of {
        Status::Health(Some(Grade::Good)) | Status::Good { .. } => Style::Good,
        Status::Health(Some(Grade::Partial)) => Style::Medium,
        Status::Health(Some(Grade::Poor)) => Style::High,
        Status::Health(None) | Status::AtStake(_) | Status::Saving(_) => Style::Plain,
    };
    let (before, word, behind) = sentence::status(of);
    let mut line = Line::plain(before);
    line.push(word, style);
    line.push(&options.spell(&behind), Style::Plain);
    line
}

/// One figure a line: name, value, and why it is missing.
pub(super) fn metrics(metrics: &[&Metric], options: TextOptions) -> Vec<Line> {
    let names = || metrics.iter().map(|metric| options.spell(&header(&metric.name, metric.unit, options)));
    let width = names().map(|name| name.width()).max().unwrap_or(0);
    let lines = metrics.iter().zip(names()).map(|(metric, name)| {
        let format =
            if options.raw { NumberStyle::Raw } else { NumberStyle::of_figures(metric.unit, &[&metric.value]) };
        let mut line = Line::plain(name);
        line.pad_to(width + 2);
        line.push(&options.spell(&format.show(&metric.value)), Style::Plain);
        if let Some(reason) = &metric.reason {
            line.push(&format!("  {}", safe_text::one_line(&sentence::written(reason))), Style::Plain);
        }
        line
    });
    lines.collect()
}

/// A curve: from where to where, how many points, and its picture where one can be drawn.
pub(super) fn series(series: &Series, options: TextOptions) -> Vec<Line> {
    let mut lines: Vec<Line> = wrap(&range(series, options), options.width).into_iter().map(Line::plain).collect();
    if options.pictures {
        let values: Vec<f64> = series.points.iter().map(|(_, value)| *value).collect();
        lines.push(Line::plain(format!("  {}", spark(&values, options.width - 4, options.ascii))));
    }
    lines
}

fn range(series: &Series, options: TextOptions) -> String {
    let values = || series.points.iter().map(|(_, value)| *value);
    let ends = [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)].map(Cell::Float);
    let format = NumberStyle::of(series.unit, &ends.iter().collect::<Vec<_>>());
    let count = grouped(series.points.len() as i128, 0);
    let name = header(&series.name, series.unit, TextOptions::default());
    options.spell(&format!("{name}: {count} points, {} to {}", format.show(&ends[0]), format.show(&ends[1])))
}

/// The parts with a line for each reason why something that is shown is missing: at the end, before what to do next.
pub(crate) fn with_reasons(report: &Report) -> Vec<Part> {
    let mut reasons: Vec<(&Sentence, Vec<&str>)> = Vec::new();
    for missing in report.missing.iter().filter(|missing| is_shown(report, &missing.path)) {
        let place = reasons.iter().position(|(reason, _)| **reason == missing.reason).unwrap_or_else(|| {
            reasons.push((&missing.reason, Vec::new()));
            reasons.len() - 1
        });
        if !reasons[place].1.contains(&missing.label.as_str()) {
            reasons[place].1.push(&missing.label);
        }
    }
    let mut parts: Vec<Part> = report.parts.iter().map(sentence::part).collect();
    let is_last = matches!(parts.last(), Some(Part::Text(text)) if text.role == Role::Next);
    let place = if is_last { parts.len() - 1 } else { parts.len() };
    let lines = reasons.into_iter().map(|(reason, labels)| {
        let line = say!("{} {}: {}", labels.join(", "), NULL, reason.clone());
        Part::Text(Text::labeled(Role::Null, vec![line]))
    });
    parts.splice(place..place, lines);
    parts
}

/// Whether a column or figure of that name is for people to see. A column that only this screen is too narrow
/// for counts too. A figure that gives its reason itself does not.
fn is_shown(report: &Report, path: &str) -> bool {
    // A whole part of the answer is missing.
    if !path.contains('.') {
        return true;
    }
    let name = path.rsplit('.').next().unwrap_or(path);
    report.parts.iter().any(|part| match part {
        Part::Metric(metric) => metric.name == name && metric.reason.is_none(),
        Part::Table(table) => table.columns.iter().any(|column| column.look != Look::Hidden && column.name == name),
        Part::Series(series) => series.name == name,
        Part::Text(_) => false,
    })
}
