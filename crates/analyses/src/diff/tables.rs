//! The tables of a comparison.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_figures::statistics::Comparison;
use stepscope_model::null_reason::{COLLECTIVE_METADATA_NOT_RECORDED, NO_MEMORY_EVENTS, NOT_APPLICABLE};
use stepscope_model::{Cell, Holds, LeftOut, Look, ReportColumn, ReportTable, TableOf, Unit};
use stepscope_replay::PathClass;

use super::kernels::{Renamed, renamed};
use super::noise::{Noise, judge};
use super::rows::{Steps, Sums};
use super::side::{Collective, Kernel, Module, Operator, PerStep, Side};
use super::{TOO_FEW_STEPS, compared, in_words};
use crate::critical::class_meaning;

/// A row of any table: sums of both sides, and whether they differ by more than noise.
struct Row<Key> {
    key: Key,
    sums: Sums,
    noise: Noise,
}

/// Both sides of every key with what noise says, the largest difference first.
fn rows_of<'a, Key: Ord + Copy>(
    sides: (&'a Side, &'a Side),
    keyed: Vec<(Key, [Option<&'a PerStep>; 2])>,
) -> Vec<Row<Key>> {
    let (a, b) = sides;
    let steps = Steps::of(a, b);
    let mean_ns = a.steps_ns.iter().sum::<i64>() as f64 / a.steps_ns.len().max(1) as f64;
    let values: Vec<[Option<&PerStep>; 2]> = keyed.iter().map(|(_, row)| *row).collect();
    let noise = judge(&values, (a.steps_ns.len(), b.steps_ns.len()), mean_ns);
    let mut rows: Vec<Row<Key>> = keyed
        .into_iter()
        .zip(noise)
        .map(|((key, [a, b]), noise)| {
            let total = |side: Option<&PerStep>| side.map_or(0, |row| row.total);
            Row { key, sums: Sums { a: total(a), b: total(b) }, noise }
        })
        .collect();
    rows.sort_by_key(|row| (-steps.numerator(row.sums).abs(), row.key));
    rows
}

/// Adds the columns of both sides, which every table has.
fn with_sides<Key>(table: TableOf<Row<Key>>, steps: Steps) -> TableOf<Row<Key>> {
    let per_step = |name: &str| ReportColumn::named(name).holds(Holds::Numbers);
    let hidden = |name: &str| ReportColumn::named(name).look(Look::Hidden);
    table
        .column(per_step("a_per_step_ns").label("A per step"), |row| row.sums.a as f64 / steps.a as f64)
        .column(per_step("b_per_step_ns").label("B per step"), |row| row.sums.b as f64 / steps.b as f64)
        .column(per_step("difference_per_step_ns").label("B − A"), |row| steps.difference(row.sums))
        .column(ReportColumn::named("noise").holds(Holds::Texts).from_width(80), |row| row.noise.as_text())
        .column(hidden("a_ns"), |row| row.sums.a)
        .column(hidden("b_ns"), |row| row.sums.b)
        .column(hidden("numerator").holds(Holds::Integers), |row| steps.numerator(row.sums))
}

/// The classes of the critical path.
pub(super) fn classes(a: &Side, b: &Side) -> ReportTable {
    let sides = [a, b].map(Side::classes);
    let keyed =
        PathClass::ALL.into_iter().map(|class| (class, sides.each_ref().map(|side| side.get(&class)))).collect();
    let mut rows = rows_of((a, b), keyed);
    rows.retain(|row| row.sums != Sums::default());
    let named = ReportColumn::named;
    let class = named("class").holds(Holds::Texts).look(Look::Class);
    let table = ReportTable::of("class_rows", rows).column(class, |row| row.key.as_text());
    let mut table = with_sides(table, Steps::of(a, b))
        .column(named("meaning").holds(Holds::Texts).from_width(110), |row| class_meaning(row.key))
        .table();
    table.title = Some("CLASS".to_owned());
    table.total = Some(total(&table, a, b));
    table
}

/// Time on the critical path by class and name: what adds up to the difference.
pub(super) fn path(a: &Side, b: &Side) -> ReportTable {
    let keyed = keyed(&a.path, &b.path, |row| row);
    let named = ReportColumn::named;
    let known = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    let table = ReportTable::of("rows", rows_of((a, b), keyed))
        .column(named("class").holds(Holds::Texts).look(Look::Class), |row| row.key.0.as_text())
        .column(named("name").look(Look::Operator).null(NOT_APPLICABLE), |row| known(&row.key.1));
    let mut table = with_sides(table, Steps::of(a, b)).table();
    table.title = Some("ON THE CRITICAL PATH".to_owned());
    table.total = Some(total(&table, a, b));
    table
}

/// Operators by what their device work, and they themselves, take.
pub(super) fn operators(a: &Side, b: &Side) -> ReportTable {
    let steps = Steps::of(a, b);
    let rows = rows_of((a, b), keyed(&a.operators, &b.operators, |operator| &operator.device_self_ns));
    let of = |side: &Side, name: &str, value: fn(&Operator) -> &PerStep, steps: i64| {
        side.operators.get(name).map_or(0.0, |operator| value(operator).total as f64 / steps as f64)
    };
    let named = ReportColumn::named;
    let number = |name: &str| named(name).holds(Holds::Numbers);
    let host: fn(&Operator) -> &PerStep = |operator| &operator.host_self_ns;
    let table = ReportTable::of("operator_rows", rows)
        .column(named("name").label("operator").look(Look::Operator), |row| row.key.as_str());
    let mut table = with_sides(table, steps)
        .column(number("host_a_per_step_ns").label("host A").from_width(110), |row| of(a, row.key, host, steps.a))
        .column(number("host_b_per_step_ns").label("host B").from_width(110), |row| of(b, row.key, host, steps.b))
        .column(number("spans_a_per_step").label("calls A").from_width(130), |row| {
            of(a, row.key, |operator| &operator.spans, steps.a)
        })
        .column(number("spans_b_per_step").label("calls B").from_width(130), |row| {
            of(b, row.key, |operator| &operator.spans, steps.b)
        })
        .table();
    table.title = Some("OPERATOR, ON DEVICES".to_owned());
    table
}

/// Kernels by operator and name; those with another name on the other side are one row.
pub(super) fn kernels(a: &Side, b: &Side) -> ReportTable {
    let pairs = renamed(a, b);
    let is_renamed = |operator: &str, name: &str| {
        pairs.iter().any(|pair| pair.operator == operator && (pair.a.0 == name || pair.b.0 == name))
    };
    let alone = keyed(&a.kernels, &b.kernels, |kernel: &Kernel| &kernel.total_ns);
    let alone = alone.into_iter().filter(|((operator, name), _)| !is_renamed(operator, name));
    let alone = alone.map(|((operator, name), row)| ((operator.as_str(), name.as_str(), None), row));
    let paired = pairs.iter().map(|pair: &Renamed<'_>| {
        let values = [Some(&pair.a.1.total_ns), Some(&pair.b.1.total_ns)];
        ((pair.operator, pair.a.0, Some(pair.b.0)), values)
    });
    let rows = rows_of((a, b), alone.chain(paired).collect());
    let named = ReportColumn::named;
    let table = ReportTable::of("kernel_rows", rows)
        .column(named("name").label("kernel").look(Look::Kernel), |row| row.key.1)
        .column(named("name_in_b").label("in B").look(Look::Kernel).null(NOT_APPLICABLE).from_width(130), |row| {
            row.key.2
        })
        .column(named("operator").holds(Holds::Texts).look(Look::Operator).from_width(110), |row| row.key.0);
    let mut table = with_sides(table, Steps::of(a, b)).table();
    table.title = Some("KERNEL".to_owned());
    table
}

/// Modules by their path from the root, with what is inside them.
pub(super) fn modules(a: &Side, b: &Side) -> ReportTable {
    let has_device = [a, b].iter().any(|side| side.modules.values().any(|module| module.device_ns.total > 0));
    let time: fn(&Module) -> &PerStep = if has_device { |module| &module.device_ns } else { |module| &module.host_ns };
    let rows = rows_of((a, b), keyed(&a.modules, &b.modules, time));
    let name = ReportColumn::named("path").label("module").holds(Holds::Texts).look(Look::Operator);
    let steps = Steps::of(a, b);
    let host = |side: &Side, path: &str, steps: i64| {
        side.modules.get(path).map_or(0.0, |module| module.host_ns.total as f64 / steps as f64)
    };
    let host_look = if has_device { Look::Value } else { Look::Hidden };
    let number = |name: &str| ReportColumn::named(name).holds(Holds::Numbers).look(host_look).from_width(110);
    let table = ReportTable::of("module_rows", rows).column(name, |row| row.key.as_str());
    let mut table = with_sides(table, steps)
        .column(number("host_a_per_step_ns").label("host A"), |row| host(a, row.key, steps.a))
        .column(number("host_b_per_step_ns").label("host B"), |row| host(b, row.key, steps.b))
        .table();
    table.title = Some(if has_device { "MODULE, ON DEVICES" } else { "MODULE, ON THE HOST" }.to_owned());
    table
}

/// Collectives by process group and size.
pub(super) fn collectives(a: &Side, b: &Side) -> ReportTable {
    let steps = Steps::of(a, b);
    let rows = rows_of((a, b), keyed(&a.collectives, &b.collectives, |kernel: &Kernel| &kernel.total_ns));
    let count = |side: &Side, key: &Collective, steps: i64| {
        side.collectives.get(key).map_or(0.0, |kernel| kernel.count.total as f64 / steps as f64)
    };
    let named = ReportColumn::named;
    let number = |name: &str| named(name).holds(Holds::Numbers);
    let recorded = |name: &str| named(name).null(COLLECTIVE_METADATA_NOT_RECORDED);
    let table = ReportTable::of("communication_rows", rows)
        .column(named("collective").holds(Holds::Texts), |row| row.key.0.as_str())
        .column(recorded("process_group").holds(Holds::Texts).from_width(100), |row| row.key.1.clone())
        .column(recorded("message_bytes").label("bytes").holds(Holds::Integers), |row| row.key.2);
    let mut table = with_sides(table, steps)
        .column(number("count_a_per_step").label("count A").from_width(110), |row| count(a, row.key, steps.a))
        .column(number("count_b_per_step").label("count B").from_width(110), |row| count(b, row.key, steps.b))
        .table();
    table.title = Some("COMMUNICATION".to_owned());
    table
}

/// Peak memory by device.
pub(super) fn memory(a: &Side, b: &Side) -> ReportTable {
    let devices: BTreeSet<&String> = a.memory.keys().chain(b.memory.keys()).collect();
    let devices: Vec<&String> = devices.into_iter().collect();
    let peak = |side: &Side, device: &str| side.memory.get(device).map(|(peak_bytes, _)| *peak_bytes);
    // What was in use and how much it grew are not the same figure.
    let is_alike = |device: &str| match (a.memory.get(device), b.memory.get(device)) {
        (Some((_, is_total_a)), Some((_, is_total_b))) => is_total_a == is_total_b,
        _ => false,
    };
    let is_total = a.memory.values().chain(b.memory.values()).any(|(_, is_absolute)| *is_absolute);
    let named = ReportColumn::named;
    let difference = named("difference_bytes").holds(Holds::Integers).label("change").null(NO_MEMORY_EVENTS);
    let mut table = ReportTable::of("memory_rows", devices)
        .column(named("device").holds(Holds::Texts), |device| device.as_str())
        .column(named("peak_a_bytes").holds(Holds::Integers).label("in A").null(NO_MEMORY_EVENTS), |device| {
            peak(a, device)
        })
        .column(named("peak_b_bytes").holds(Holds::Integers).label("in B").null(NO_MEMORY_EVENTS), |device| {
            peak(b, device)
        })
        .column(difference, |device| {
            let (a, b) = (peak(a, device)?, peak(b, device)?);
            is_alike(device).then_some(b - a)
        })
        .table();
    table.title = Some(if is_total { "PEAK MEMORY" } else { "LARGEST GROWTH OF MEMORY" }.to_owned());
    table
}

/// Operators whose device work takes as long as before, on another stream, or with another part of it on the critical
/// path.
pub(super) fn moved(a: &Side, b: &Side) -> ReportTable {
    let steps = Steps::of(a, b);
    let changed = |time: fn(&Operator) -> &PerStep| -> BTreeMap<&String, Noise> {
        let rows = rows_of((a, b), keyed(&a.operators, &b.operators, time));
        rows.into_iter().map(|row| (row.key, row.noise)).collect()
    };
    let (work, on_path) = (changed(|operator| &operator.device_self_ns), changed(|operator| &operator.on_path_ns));
    let both = |name: &&String| a.operators.contains_key(*name) && b.operators.contains_key(*name);
    let is_moved = |name: &&String| {
        let streams = [a, b].map(|side| side.operators[*name].stream());
        let has_work = [a, b].iter().all(|side| side.operators[*name].device_self_ns.total > 0);
        let is_elsewhere = streams[0] != streams[1] || on_path[*name] == Noise::Changed;
        has_work && work[*name] == Noise::Within && is_elsewhere
    };
    let operators: Vec<&String> = work.keys().copied().filter(both).filter(is_moved).collect();
    let path = |side: &Side, name: &str, steps: i64| side.operators[name].on_path_ns.total as f64 / steps as f64;
    let named = ReportColumn::named;
    let stream = |name: &str| named(name).holds(Holds::Integers).unit(Unit::Id).null(NOT_APPLICABLE);
    let on_path = |name: &str| named(name).holds(Holds::Numbers);
    let mut table = ReportTable::of("moved", operators)
        .column(named("name").label("operator").holds(Holds::Texts).look(Look::Operator), |name| name.as_str())
        .column(stream("stream_a").label("stream A"), |name| a.operators[*name].stream())
        .column(stream("stream_b").label("stream B"), |name| b.operators[*name].stream())
        .column(on_path("on_path_a_per_step_ns").label("on the path A"), |name| path(a, name, steps.a))
        .column(on_path("on_path_b_per_step_ns").label("on the path B"), |name| path(b, name, steps.b))
        .table();
    table.title = Some("MOVED, EQUALLY LONG".to_owned());
    table
}

/// Tables that people read as a sentence, or in a picture.
pub(super) const FOR_PROGRAMS: [&str; 2] = ["verdict", "step_rows"];

/// What the test of the steps says.
pub(super) fn verdict(a: &Side, b: &Side) -> ReportTable {
    let found = compared(a, b);
    let known = |value: fn(&Comparison) -> Option<f64>| move |found: &Option<Comparison>| value(found.as_ref()?);
    let tested = |name: &str| ReportColumn::named(name).holds(Holds::Numbers).null(TOO_FEW_STEPS);
    ReportTable::of("verdict", [found])
        .column(ReportColumn::named("verdict").holds(Holds::Texts), |found| in_words(found.as_ref()))
        .column(tested("p"), known(|found| Some(found.p)))
        .column(tested("shift_ratio"), known(|found| found.ratio(found.shift)))
        .column(tested("low_ratio"), known(|found| found.ratio(found.interval?.0)))
        .column(tested("high_ratio"), known(|found| found.ratio(found.interval?.1)))
        .table()
}

/// The steps of both runs.
pub(super) fn steps(a: &Side, b: &Side) -> ReportTable {
    let of = |run: &'static str, side: &Side| -> Vec<(&'static str, String, i64, i64)> {
        let named = side.steps.iter().map(|step| (run, step.name.clone(), step.start_ns, step.dur_ns));
        named.collect()
    };
    let rows = [of("A", a), of("B", b)].concat();
    let named = ReportColumn::named;
    ReportTable::of("step_rows", rows)
        .column(named("run").holds(Holds::Texts), |row| row.0)
        .column(named("name").holds(Holds::Texts), |row| row.1.clone())
        .column(named("start_ns").holds(Holds::Integers), |row| row.2)
        .column(named("dur_ns").holds(Holds::Integers), |row| row.3)
        .table()
}

/// What the rows of the tables are that add up, for people.
pub(super) const NOUNS: [(&str, &str); 4] = [
    ("operator_rows", "operators"),
    ("kernel_rows", "kernels"),
    ("module_rows", "modules"),
    ("communication_rows", "communication"),
];

/// Keeps the first rows of a table, none with a smaller difference; one row has the rest. Whether any row is left.
pub(super) fn shorten(table: &mut ReportTable, limit: usize, least_ns: f64) -> bool {
    let difference = table.columns.iter().position(|column| column.name == "difference_per_step_ns");
    let is_large = |row: &Vec<Cell>| match difference.map(|place| &row[place]) {
        Some(Cell::Float(difference_ns)) => difference_ns.abs() >= least_ns,
        _ => true,
    };
    let shown = table.rows.iter().take_while(|row| is_large(row)).count();
    let limit = limit.min(shown);
    if table.rows.len() <= limit + 1 {
        return shown > 0;
    }
    let rest = table.rows.split_off(limit);
    let place_of = |name: &str| table.columns.iter().position(|column| column.name == name);
    if place_of("numerator").is_none() {
        table.left_out = LeftOut::Rows(rest.len() as u64);
        return true;
    }
    let sum = |place: usize| {
        rest.iter().map(|row| &row[place]).fold(Cell::Null, |sum, cell| match (sum, cell) {
            (Cell::Null, Cell::Int(value)) => Cell::Int(*value),
            (Cell::Null, Cell::Float(value)) => Cell::Float(*value),
            (Cell::Int(sum), Cell::Int(value)) => Cell::Int(sum + value),
            (Cell::Float(sum), Cell::Float(value)) => Cell::Float(sum + value),
            (sum, _) => sum,
        })
    };
    let cell = |(place, column): (usize, &ReportColumn)| match column.name.as_str() {
        _ if place == 0 => Cell::Text(format!("{} more rows", rest.len())),
        name if name.ends_with("_per_step_ns") || name.ends_with("_per_step") => sum(place),
        "a_ns" | "b_ns" | "numerator" => sum(place),
        _ => Cell::Text(String::new()),
    };
    let row = table.columns.iter().enumerate().map(cell).collect();
    table.rows.push(row);
    limit > 0
}

/// Every key of either side with the values of both.
fn keyed<'a, Key: Ord, Value>(
    a: &'a BTreeMap<Key, Value>,
    b: &'a BTreeMap<Key, Value>,
    values: impl Fn(&'a Value) -> &'a PerStep,
) -> Vec<(&'a Key, [Option<&'a PerStep>; 2])> {
    let keys: BTreeSet<&Key> = a.keys().chain(b.keys()).collect();
    keys.into_iter().map(|key| (key, [a, b].map(|side| side.get(key).map(&values)))).collect()
}

/// The steps, below the columns that add up to them.
fn total(table: &ReportTable, a: &Side, b: &Side) -> Vec<Cell> {
    let (steps, sums) = (Steps::of(a, b), Sums { a: a.steps_ns.iter().sum(), b: b.steps_ns.iter().sum() });
    let cell = |(place, column): (usize, &ReportColumn)| match column.name.as_str() {
        _ if place == 0 => Cell::Text("step".to_owned()),
        "a_per_step_ns" => Cell::Float(sums.a as f64 / steps.a as f64),
        "b_per_step_ns" => Cell::Float(sums.b as f64 / steps.b as f64),
        "difference_per_step_ns" => Cell::Float(steps.difference(sums)),
        "a_ns" => Cell::Int(sums.a),
        "b_ns" => Cell::Int(sums.b),
        "numerator" => Cell::Int(steps.numerator(sums)),
        _ => Cell::Text(String::new()),
    };
    table.columns.iter().enumerate().map(cell).collect()
}
