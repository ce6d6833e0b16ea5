//! The path by operator, by kernel, and by class and name.

use std::collections::BTreeMap;

use stepscope_model::{Cell, Holds, Look, ReportColumn, ReportTable, say};
use stepscope_replay::{PathClass, PieceSubject, StepPath};

use crate::asking::NO_OPERATOR;
use crate::step_model::ModeledSteps;

/// Kernels that are listed beside the operators.
const TOP_KERNELS: usize = 10;

/// Time of the path that belongs together.
#[derive(Clone, Copy, Default)]
struct Time {
    pieces: i64,
    device_ns: i64,
    host_ns: i64,
    delay_ns: i64,
}

impl Time {
    fn add(&mut self, class: PathClass, dur_ns: i64) {
        self.pieces += 1;
        match class {
            class if is_work(class) => self.device_ns += dur_ns,
            PathClass::Runtime | PathClass::Dataloader | PathClass::CpuExec | PathClass::Other => {
                self.host_ns += dur_ns;
            }
            _ => self.delay_ns += dur_ns,
        }
    }

    fn total_ns(self) -> i64 {
        self.device_ns + self.host_ns + self.delay_ns
    }
}

/// A row for each operator, with the device work that it launched.
pub(super) fn by_operator(steps: &ModeledSteps, paths: &[StepPath]) -> ReportTable {
    let model = steps.model();
    let names = &model.recording().names;
    let mut times: BTreeMap<&str, Time> = BTreeMap::new();
    for piece in paths.iter().flat_map(|path| &path.pieces) {
        let operator = model.operator_of(piece).map_or(NO_OPERATOR, |span| names.text(span.name));
        times.entry(operator).or_default().add(piece.class, piece.dur_ns());
    }
    let operators = times.keys().filter(|name| **name != NO_OPERATOR).count();
    let mut table = operator_table(longest_first(times), scale(steps));
    let sum = |name: &str| {
        let place = table.columns.iter().position(|column| column.name == name).unwrap_or(0);
        let value = |row: &Vec<Cell>| if let Cell::Float(value) = row[place] { value } else { 0.0 };
        Cell::Float(table.rows.iter().map(value).sum())
    };
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => Cell::Sentence(say::counted(operators, "operator")),
        "path_ns" => Cell::Int(steps.steps().iter().map(|step| step.dur_ns).sum()),
        "pieces" => Cell::Text(String::new()),
        name => sum(name),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table
}

/// The table by operator without a row.
pub(super) fn empty() -> ReportTable {
    operator_table(Vec::<(&str, Time)>::new(), (0, 0.0))
}

fn operator_table(rows: Vec<(&str, Time)>, (total_ns, count): (i64, f64)) -> ReportTable {
    let named = ReportColumn::named;
    let per_step = |name: &str| named(name).holds(Holds::Numbers);
    let mean = move |time_ns: i64| time_ns as f64 / count;
    let mut table = ReportTable::of("rows", rows)
        .column(named("name").label("operator").look(Look::Operator), |(name, _)| *name)
        .column(named("path_ns").look(Look::Hidden), |(_, time)| time.total_ns())
        .column(per_step("path_per_step_ns").label("per step").look(Look::Bar(None)), |(_, time)| mean(time.total_ns()))
        .column(named("share_ratio").label("share"), |(_, time)| time.total_ns() as f64 / total_ns.max(1) as f64)
        .column(per_step("device_per_step_ns").label("device"), |(_, time)| mean(time.device_ns))
        .column(per_step("host_per_step_ns").label("host"), |(_, time)| mean(time.host_ns))
        .column(per_step("delay_per_step_ns").label("delays").from_width(80), |(_, time)| mean(time.delay_ns))
        .column(named("pieces").holds(Holds::Integers).look(Look::Hidden), |(_, time)| time.pieces)
        .table();
    table.sorted_by = Some("-path_per_step_ns".to_owned());
    table
}

/// The longest kernels, copies and fills of the path; none if it has none.
pub(super) fn kernels(steps: &ModeledSteps, paths: &[StepPath]) -> Option<ReportTable> {
    let recording = steps.model().recording();
    let mut times: BTreeMap<(&str, &str), Time> = BTreeMap::new();
    for piece in paths.iter().flat_map(|path| &path.pieces) {
        if is_work(piece.class) && matches!(piece.subject, PieceSubject::Event(_)) {
            let key = (piece.row_name(recording), piece.class.as_text());
            times.entry(key).or_default().add(piece.class, piece.dur_ns());
        }
    }
    let mut rows = longest_first(times);
    let all = rows.len();
    rows.truncate(TOP_KERNELS);
    let (total_ns, count) = scale(steps);
    let named = ReportColumn::named;
    let per_step = named("path_per_step_ns").holds(Holds::Numbers).label("per step").look(Look::Bar(None));
    let mut table = ReportTable::of("kernels", rows)
        .column(named("name").label("kernel").look(Look::Kernel), |((name, _), _)| *name)
        .column(named("class").holds(Holds::Texts).look(Look::Class).from_width(100), |((_, class), _)| *class)
        .column(named("path_ns").look(Look::Hidden), |(_, time)| time.total_ns())
        .column(per_step, |(_, time)| time.total_ns() as f64 / count)
        .column(named("share_ratio").label("share"), |(_, time)| time.total_ns() as f64 / total_ns.max(1) as f64)
        .column(named("pieces").holds(Holds::Integers).from_width(80), |(_, time)| time.pieces)
        .table();
    table.sorted_by = Some("-path_per_step_ns".to_owned());
    if all > TOP_KERNELS {
        let (top, all) = (say::count(TOP_KERNELS as i64), say::count(all as i64));
        table.notes.push(say!("{} of {} kernels; `--group-by name` lists all", top, all));
    }
    (all > 0).then_some(table)
}

/// A row for each class and name, as comparisons have them.
pub(super) fn by_name(steps: &ModeledSteps, paths: &[StepPath]) -> ReportTable {
    let recording = steps.model().recording();
    let mut times: BTreeMap<(&str, &str), Time> = BTreeMap::new();
    for piece in paths.iter().flat_map(|path| &path.pieces) {
        times.entry((piece.class.as_text(), piece.row_name(recording))).or_default().add(piece.class, piece.dur_ns());
    }
    let (total_ns, count) = scale(steps);
    let named = ReportColumn::named;
    let per_step = named("path_per_step_ns").holds(Holds::Numbers).label("per step").look(Look::Bar(None));
    let name = named("name").look(Look::Operator).null(stepscope_model::null_reason::NOT_APPLICABLE);
    let mut table = ReportTable::of("rows", longest_first(times))
        .column(named("class").holds(Holds::Texts).look(Look::Class), |((class, _), _)| *class)
        .column(name, |((_, name), _)| Some(*name).filter(|name| !name.is_empty()))
        .column(named("path_ns").look(Look::Hidden), |(_, time)| time.total_ns())
        .column(per_step, |(_, time)| time.total_ns() as f64 / count)
        .column(named("share_ratio").label("share"), |(_, time)| time.total_ns() as f64 / total_ns.max(1) as f64)
        .column(named("pieces").holds(Holds::Integers).from_width(80), |(_, time)| time.pieces)
        .table();
    table.sorted_by = Some("-path_per_step_ns".to_owned());
    table
}

/// Whether it is work of a device, or communication that the host does itself.
fn is_work(class: PathClass) -> bool {
    matches!(class, PathClass::Kernel | PathClass::Memcpy | PathClass::Memset | PathClass::Communication)
}

fn longest_first<K: Ord>(times: BTreeMap<K, Time>) -> Vec<(K, Time)> {
    let mut rows: Vec<(K, Time)> = times.into_iter().collect();
    // Stable: equal times stay in the order of their names.
    rows.sort_by_key(|(_, time)| std::cmp::Reverse(time.total_ns()));
    rows
}

/// The time of all steps, and how many there are.
fn scale(steps: &ModeledSteps) -> (i64, f64) {
    (steps.steps().iter().map(|step| step.dur_ns).sum(), steps.steps().len().max(1) as f64)
}
