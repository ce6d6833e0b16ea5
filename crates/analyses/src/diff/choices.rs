//! More than two runs: which choice of batch size, parameters or architecture is best.

use std::collections::BTreeSet;

use stepscope_figures::statistics::{Comparison, holm};
use stepscope_model::null_reason::{NO_MEMORY_EVENTS, NOT_APPLICABLE};
use stepscope_model::{Cell, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Sentence, Text, Unit, say};
use stepscope_replay::PathClass;

use super::side::Side;
use super::{DiffSide, STEP_SOURCES_DIFFER, compared, in_words};

/// One of the runs to choose from.
pub struct Choice {
    /// Its name.
    pub name: String,
    /// The run.
    pub side: DiffSide,
    /// Samples that one of its steps works on.
    pub samples_per_step: Option<f64>,
}

/// A choice and what it gives.
struct Row {
    letter: char,
    name: String,
    side: Result<Side, &'static str>,
    samples_per_step: Option<f64>,
    /// Against the first run.
    comparison: Option<Comparison>,
}

impl Row {
    /// Samples per second, else steps per second.
    fn throughput(&self) -> Option<f64> {
        let side = self.side.as_ref().ok()?;
        Some(self.samples_per_step.unwrap_or(1.0) * 1e9 / side.mean_ns())
    }

    fn mean_ns(&self) -> Option<f64> {
        self.side.as_ref().ok().map(Side::mean_ns)
    }

    /// What its steps are against those of the first run.
    fn verdict(&self) -> Option<&'static str> {
        self.side.as_ref().ok().filter(|_| self.letter != 'A')?;
        Some(in_words(self.comparison.as_ref()))
    }
}

/// Compares runs with the first of them.
#[must_use]
pub fn choices(runs: Vec<Choice>) -> Report {
    let mut rows: Vec<Row> = Vec::with_capacity(runs.len());
    for (letter, choice) in ('A'..='Z').zip(runs) {
        let Choice { name, side: DiffSide(mut side), samples_per_step } = choice;
        let first = rows.first().and_then(|row| row.side.as_ref().ok());
        if let (Some(first), Ok(own)) = (first, &side)
            && first.step_source != own.step_source
        {
            side = Err(STEP_SOURCES_DIFFER);
        }
        let comparison = first.zip(side.as_ref().ok()).and_then(|(first, side)| compared(first, side));
        rows.push(Row { letter, name, side, samples_per_step, comparison });
    }
    // Every run is one more chance to be wrong.
    let chances: Vec<f64> = rows.iter().filter_map(|row| Some(row.comparison?.p)).collect();
    for (row, p) in rows.iter_mut().filter_map(|row| row.comparison.as_mut()).zip(holm(&chances)) {
        row.p = p;
    }
    let parts =
        vec![Part::Text(Text::headline(headline(&rows))), Part::Table(table(&rows)), Part::Table(classes(&rows))];
    let mut report = Report::new("diff", parts);
    report.missing = missing(&rows);
    report
}

/// The best of them.
fn headline(rows: &[Row]) -> Sentence {
    let by_throughput = |row: &&Row| row.throughput().map(f64::to_bits);
    let best = rows.iter().filter(|row| row.side.is_ok()).max_by_key(by_throughput);
    let (Some(best), Some(first)) = (best, rows.first().and_then(Row::throughput)) else {
        return "No comparison: the first run has no complete steps.".into();
    };
    let throughput = best.throughput().unwrap_or(0.0);
    let letter = best.letter.to_string();
    let rate = say!("{} {} per second", rate_in_words(throughput), unit_of(rows));
    if best.letter == 'A' {
        return say!("{} is best: {}.", letter, rate);
    }
    let more = say::ratio(throughput / first - 1.0);
    say!("{} is best: {}, {} more than A.", letter, rate, more)
}

fn rate_in_words(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.2}") } else { format!("{rate:.0}") }
}

fn unit_of(rows: &[Row]) -> &'static str {
    if rows.iter().any(|row| row.samples_per_step.is_some()) { "samples" } else { "steps" }
}

fn table(rows: &[Row]) -> ReportTable {
    let named = ReportColumn::named;
    let best = rows.iter().filter_map(Row::throughput).fold(0.0, f64::max);
    let number = |name: &str| named(name).holds(Holds::Numbers);
    let relative = |name: &str| number(name).null(NOT_APPLICABLE);
    let ratio = |row: &Row, value: fn(&Comparison) -> Option<f64>| {
        let comparison = row.comparison.as_ref()?;
        value(comparison).and_then(|value| comparison.ratio(value))
    };
    let peak = |row: &Row| {
        let memory = &row.side.as_ref().ok()?.memory;
        let on_devices = memory.iter().filter(|(device, _)| *device != "cpu").map(|(_, (bytes, _))| *bytes).max();
        on_devices.or_else(|| memory.values().map(|(bytes, _)| *bytes).max())
    };
    let throughput_look = Look::Bar(None);
    let label = format!("{} per second", unit_of(rows));
    ReportTable::of("rows", rows)
        .column(named("run").holds(Holds::Texts).label("").unit(Unit::Plain), |row| row.letter.to_string())
        .column(named("name").holds(Holds::Texts).look(Look::Operator), |row| row.name.clone())
        .column(named("steps").holds(Holds::Integers), |row| {
            row.side.as_ref().ok().map(|side| side.steps_ns.len() as i64)
        })
        .column(number("step_mean_ns").label("step, mean"), |row| row.mean_ns())
        .column(number("samples_per_step").look(Look::Hidden).null(NOT_APPLICABLE), |row| row.samples_per_step)
        .column(number("throughput_per_s").label(&label).look(throughput_look), |row| row.throughput())
        .column(relative("shift_ratio").label("step against A"), |row| ratio(row, |found| Some(found.shift)))
        .column(relative("low_ratio").label("from").from_width(110), |row| {
            ratio(row, |found| found.interval.map(|(low, _)| low))
        })
        .column(relative("high_ratio").label("to").from_width(110), |row| {
            ratio(row, |found| found.interval.map(|(_, high)| high))
        })
        .column(named("verdict").holds(Holds::Texts).null(NOT_APPLICABLE), |row| row.verdict())
        .column(named("peak_bytes").holds(Holds::Integers).label("peak memory").null(NO_MEMORY_EVENTS), |row| peak(row))
        .column(named("is_best").look(Look::Hidden), |row| row.throughput().is_some_and(|own| own >= best))
        .table()
}

/// Time on the critical path by class: one column per run.
fn classes(rows: &[Row]) -> ReportTable {
    let of: Vec<Option<_>> =
        rows.iter().map(|row| row.side.as_ref().ok().map(|side| (side.classes(), side.steps_ns.len()))).collect();
    let present: BTreeSet<PathClass> = of.iter().flatten().flat_map(|(classes, _)| classes.keys().copied()).collect();
    let per_step = |place: usize, class: PathClass| -> Option<f64> {
        let (classes, steps) = of[place].as_ref()?;
        Some(classes.get(&class).map_or(0.0, |row| row.total as f64 / *steps as f64))
    };
    let mut order: Vec<PathClass> = present.into_iter().collect();
    let largest = |class: PathClass| (0..rows.len()).filter_map(|place| per_step(place, class)).fold(0.0, f64::max);
    order.sort_by(|a, b| largest(*b).total_cmp(&largest(*a)));
    let class = ReportColumn::named("class").holds(Holds::Texts).look(Look::Class);
    let mut table = ReportTable::of("class_rows", order).column(class, |class| class.as_text());
    for (place, row) in rows.iter().enumerate() {
        let name = format!("{}_per_step_ns", row.letter.to_ascii_lowercase());
        let column = ReportColumn::named(&name).holds(Holds::Numbers).label(&row.letter.to_string());
        table = table.column(column, move |class| per_step(place, *class));
    }
    let mut table = table.table();
    table.title = Some("CLASS, PER STEP".to_owned());
    let totals = rows.iter().map(|row| row.mean_ns().map_or(Cell::Null, Cell::Float));
    table.total = Some(std::iter::once(Cell::Text("step".to_owned())).chain(totals).collect());
    table
}

/// Runs that could not be compared.
fn missing(rows: &[Row]) -> Vec<Missing> {
    let missing = |(place, row): (usize, &Row)| {
        let reason = row.side.as_ref().err()?;
        let label = format!("run {}", row.letter);
        Some(Missing { path: format!("rows[{place}].step_mean_ns"), label, reason: (*reason).into() })
    };
    rows.iter().enumerate().filter_map(missing).collect()
}
