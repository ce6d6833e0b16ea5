//! The path by class.

use std::cmp::Reverse;

use stepscope_model::{Cell, Holds, Look, ReportColumn, ReportTable};
use stepscope_replay::{PathClass, StepPath};

use crate::step_model::ModeledSteps;

/// Time by class.
type Classes = [i64; PathClass::ALL.len()];

/// The classes that paths have, the longest first.
pub(super) fn by_time(paths: &[StepPath]) -> Vec<(PathClass, i64)> {
    sorted(&of(paths))
}

fn of(paths: &[StepPath]) -> Vec<&Classes> {
    paths.iter().map(|path| &path.classes_ns).collect()
}

fn sorted(paths: &[&Classes]) -> Vec<(PathClass, i64)> {
    let time_ns = |class: PathClass| paths.iter().map(|classes_ns| classes_ns[class as usize]).sum::<i64>();
    let mut classes: Vec<(PathClass, i64)> = PathClass::ALL.map(|class| (class, time_ns(class))).into();
    classes.retain(|(_, time_ns)| *time_ns > 0);
    classes.sort_by_key(|(class, time_ns)| (Reverse(*time_ns), *class));
    classes
}

pub(super) fn table(steps: &ModeledSteps, paths: &[StepPath]) -> ReportTable {
    let total = steps.steps().iter().map(|step| step.dur_ns).sum();
    table_of(&of(paths), total)
}

/// The same of paths of any kind, which take so much time together.
pub(super) fn table_of(paths: &[&Classes], total: i64) -> ReportTable {
    let count = paths.len().max(1) as f64;
    let named = ReportColumn::named;
    let per_step = named("path_per_step_ns").holds(Holds::Numbers).label("per step").look(Look::Bar(None));
    let mut table = ReportTable::of("classes", sorted(paths))
        .column(named("class").label("critical path").holds(Holds::Texts).look(Look::Class), |(class, _)| {
            class.as_text()
        })
        .column(named("path_ns").look(Look::Hidden), |(_, time_ns)| *time_ns)
        .column(per_step, |(_, time_ns)| *time_ns as f64 / count)
        .column(named("share_ratio").label("share"), |(_, time_ns)| *time_ns as f64 / total.max(1) as f64)
        .column(named("meaning").holds(Holds::Texts).from_width(80), |(class, _)| meaning(*class))
        .table();
    table.title = Some("CLASS".to_owned());
    let nothing = || Cell::Text(String::new());
    let all = Cell::Float(total as f64 / count);
    table.total = Some(vec![Cell::Text("step".to_owned()), Cell::Int(total), all, Cell::Float(1.0), nothing()]);
    table.sorted_by = Some("-path_per_step_ns".to_owned());
    table
}

/// What people call a class.
pub(crate) fn in_words(class: PathClass) -> &'static str {
    match class {
        PathClass::Kernel => "kernels",
        PathClass::Memcpy => "copies",
        PathClass::Memset => "fills",
        PathClass::Communication => "communication",
        PathClass::Runtime => "runtime calls",
        PathClass::Dataloader => "data loading",
        PathClass::CpuExec => "operators on the host",
        PathClass::Other => "host time outside operators",
        PathClass::LaunchDelay => "launch delay",
        PathClass::DeviceGap => "gaps between kernels",
        PathClass::SyncDelay => "return from waits",
        PathClass::Handoff => "handoff between threads",
        PathClass::Contention => "contention on the device",
        PathClass::Unexplained => "unexplained",
        PathClass::RankSkew => "rank skew",
    }
}

pub(crate) fn meaning(class: PathClass) -> &'static str {
    match class {
        PathClass::Kernel => "kernels that compute",
        PathClass::Memcpy => "copies",
        PathClass::Memset => "fills",
        PathClass::Communication => "collectives, with waiting for other ranks",
        PathClass::Runtime => "calls into the runtime of the device",
        PathClass::Dataloader => "the script waits for the data loader",
        PathClass::CpuExec => "operators on the host",
        PathClass::Other => "host time outside operators, mostly Python",
        PathClass::LaunchDelay => "from a launch call to the start on the device",
        PathClass::DeviceGap => "between two events of a device",
        PathClass::SyncDelay => "from the end of awaited work to the return of the call",
        PathClass::Handoff => "from one thread of the host to another",
        PathClass::Contention => "longer than usual while other streams are busy",
        PathClass::Unexplained => "no cause in the trace",
        PathClass::RankSkew => "ranks begin at different times",
    }
}
