//! Modules: what each part of a model takes on the host and on devices, forward and backward (metrics, section 10).

mod backward;
mod frames;
mod hierarchy;
mod scopes;

use std::collections::HashMap;

use stepscope_model::null_reason::{NO_DEVICE_EVENTS, argument_not_recorded};
use stepscope_model::{Cell, Class, Look, Missing, Part, Report, ReportColumn, ReportTable, Text};
use stepscope_runs::RunError;

use super::asking::all_missing_in;
use super::{Analysis, Asking, Content, EmptyPage, Frames, Page};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "modules",
    title: "Modules",
    about: "List modules of the model: calls, time on the host and on devices, with backward",
    examples: &[
        ("stepscope modules trace.json.gz", "most device time first"),
        ("stepscope modules trace.json.gz --group-by class", "all Linear together, all LayerNorm, …"),
        ("stepscope modules trace.json.gz --group-by path", "each module with the modules around it"),
        ("stepscope modules trace.json.gz --sort -host_self", "most host time first"),
    ],
    groupings: &["class", "path", "rank", "window", "step"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "modules",
        key: Some('m'),
        noun: "modules",
        rows_by: "tree",
        groups: &[("flat", "flat"), ("class", "by class")],
        frames: Some(Frames::Modules),
        is_by_operator: true,
        empty: EmptyPage {
            title: "No modules in this trace",
            why: "Modules need Python frames, and this trace has none.",
            code: Some("profile(..., with_stack=True, with_modules=True)"),
        },
        statement: "SELECT * FROM spans\nWHERE python_module_id IS NOT NULL\nLIMIT 100",
        ..Page::BY_NAME
    }),
    answer,
};

/// What rows are grouped by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Group {
    pub name: String,
    rank: Option<i64>,
    window: Option<i64>,
    pub step: Option<i64>,
}

impl Group {
    fn new(asking: &Asking<'_>, name: &str, (rank, window): (i64, i64), step: Option<i64>) -> Self {
        let name = if asking.groups_by("class") { class_of(name) } else { name };
        let step = step.filter(|_| asking.groups_by("step"));
        let rank = asking.groups_by("rank").then_some(rank);
        let window = asking.groups_by("window").then_some(window);
        Self { name: name.to_owned(), rank, window, step }
    }
}

/// `Linear` of `Linear_12`; of a path, the type of its last module.
fn class_of(name: &str) -> &str {
    if let Some(class) = name.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')')) {
        return class.0;
    }
    match name.rsplit_once('_') {
        Some((class, number)) if number.chars().all(|character| character.is_ascii_digit()) => class,
        _ => name,
    }
}

/// Sums of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// Unknown when only operators say which module they are in.
    occurrences: Option<i64>,
    operators: i64,
    pub host_total_ns: i64,
    host_self_ns: i64,
    device_events: i64,
    pub device_total_ns: i64,
    device_self_ns: i64,
    backward_device_ns: i64,
}

pub(super) type Modules = HashMap<Group, Sums>;

/// The modules of a question, and what was recorded about them.
pub(super) struct Recorded {
    pub modules: Modules,
    has_any: bool,
    has_device: bool,
    has_backward: bool,
}

pub(super) fn read(asking: &Asking<'_>) -> Result<Recorded, RunError> {
    let recorded = asking.query(
        "SELECT count(python_module_id) AS frames, count(nullif(module_hierarchy, '')) AS hierarchies,
           count(forward_id) AS backward, count(framework_op) AS scopes
         FROM spans WHERE {source} AND kind IN ('py', 'op', 'kernel') AND phase = 'X'",
    )?;
    let has = |name: &str| recorded.required_i64(name).map(|counts| counts.first().is_some_and(|count| *count > 0));
    let (has_frames, has_hierarchies, has_backward) = (has("frames")?, has("hierarchies")?, has("backward")?);
    let has_scopes = has("scopes")?;
    let has_any = has_frames || has_hierarchies || has_scopes;
    let has_device = asking.has_device_events()?;
    let backward = if has_any && has_backward && has_device { backward::times(asking)? } else { HashMap::new() };
    let modules = match (has_frames, has_hierarchies) {
        (true, _) => frames::read(asking, &backward)?,
        (false, true) => hierarchy::read(asking, &backward)?,
        (false, false) if has_scopes => scopes::read(asking)?,
        (false, false) => HashMap::new(),
    };
    Ok(Recorded { modules, has_any, has_device, has_backward })
}

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let Recorded { modules, has_any, has_device, has_backward } = read(asking)?;
    let table = table(asking, modules, has_device, has_backward && has_device);
    if !has_any {
        let is_xplane = asking.sources.iter().all(|source| source.is_xplane());
        let text = Text::from(if is_xplane {
            "No modules: no operator says which name scope it is in."
        } else {
            "No modules. Record them with with_stack=True or with_modules=True."
        });
        let mut report = Report::new("modules", vec![Part::Text(text), Part::Table(table)]);
        let argument = if is_xplane { "name scope" } else { "Python module id" };
        let (path, label, reason) = ("rows".to_owned(), "modules".to_owned(), argument_not_recorded(argument));
        report.missing.push(Missing { path, label, reason: reason.into() });
        return Ok(report);
    }
    let call = if asking.sources.iter().all(|source| source.is_xplane()) { "call" } else { "Python module id" };
    let mut missing = all_missing_in(&table, &["occurrences"], &argument_not_recorded(call));
    if has_device {
        missing.extend(all_missing_in(&table, &["backward_device_ns"], &argument_not_recorded("Sequence number")));
    } else {
        let columns = ["device_total_ns", "device_self_ns", "backward_device_ns", "device_events"];
        missing.extend(all_missing_in(&table, &columns, NO_DEVICE_EVENTS));
    }
    Ok(Report { missing, ..Report::new("modules", vec![Part::Table(table)]) })
}

fn table(asking: &Asking<'_>, modules: Modules, has_device: bool, has_backward: bool) -> ReportTable {
    let mut rows: Vec<(Group, Sums)> = modules.into_iter().collect();
    rows.sort_by(|(a_group, a), (b_group, b)| {
        (b.device_total_ns, b.host_total_ns, a_group).cmp(&(a.device_total_ns, a.host_total_ns, b_group))
    });
    let of_device = |value: i64| has_device.then_some(value);
    let named = ReportColumn::named;
    let key = |name: &str| asking.key_column(name, name, Look::Value);
    let only_if = |is_shown: bool, look: Look| if is_shown { look } else { Look::Hidden };
    let host_look = if has_device { Look::Value } else { Look::Bar(Some(Class::CpuExec)) };
    let device_look = only_if(has_device, Look::Bar(Some(Class::Kernel)));
    let backward = named("backward_device_ns").label("backward").look(only_if(has_backward, Look::Value));
    let host_self = named("host_self_ns").from_width(if has_device { 100 } else { 0 });
    let mut table = ReportTable::of("rows", &rows)
        .column(named("name").label("module").look(Look::Operator), |(group, _)| group.name.clone())
        .column(key("rank"), |(group, _)| group.rank)
        .column(key("window"), |(group, _)| group.window)
        .column(key("step"), |(group, _)| group.step)
        .column(named("occurrences").label("calls"), |(_, sums)| sums.occurrences)
        .column(named("operators").from_width(100), |(_, sums)| sums.operators)
        .column(named("device_total_ns").look(device_look), |(_, sums)| of_device(sums.device_total_ns))
        .column(named("device_self_ns").look(only_if(has_device, Look::Value)), |(_, sums)| {
            of_device(sums.device_self_ns)
        })
        .column(backward, |(_, sums)| has_backward.then_some(sums.backward_device_ns))
        .column(named("host_total_ns").look(host_look), |(_, sums)| sums.host_total_ns)
        .column(host_self, |(_, sums)| sums.host_self_ns)
        .column(named("device_events").look(Look::Hidden), |(_, sums)| of_device(sums.device_events))
        .table();
    let sum = |figure: fn(&Sums) -> i64| rows.iter().map(|(_, sums)| figure(sums)).sum::<i64>();
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(rows.len(), "module"),
        "operators" => Cell::Int(sum(|sums| sums.operators)),
        "device_self_ns" => of_device(sum(|sums| sums.device_self_ns)).into(),
        "host_self_ns" => Cell::Int(sum(|sums| sums.host_self_ns)),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some(if has_device { "-device_total_ns" } else { "-host_total_ns" }.to_owned());
    table.notes = vec![asking.scope()];
    table
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn classes_are_names_without_their_number() {
        for (name, class) in [
            ("Linear_12", "Linear"),
            ("My_Block", "My_Block"),
            ("Top", "Top"),
            ("top(Net)::forward.fc(Linear)::forward", "Linear"),
        ] {
            assert_eq!(class_of(name), class);
        }
    }
}
