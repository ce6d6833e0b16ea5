//! What operators allocate and free, themselves and with the operators below them.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_model::tables::MEMORY_EVENTS;
use stepscope_model::{Cell, Holds, Look, ReportColumn, ReportTable, Unit};
use stepscope_runs::RunError;

use crate::Asking;
use crate::asking::NO_OPERATOR;

/// Operator, device, and rank and window if rows are grouped by them.
type Group = (String, String, [Option<i64>; 2]);

/// What happened to memory.
#[derive(Clone, Copy, Default)]
struct Changes {
    increase_bytes: i64,
    allocations: i64,
    allocated_bytes: i64,
}

impl Changes {
    fn add(&mut self, other: Self) {
        self.increase_bytes += other.increase_bytes;
        self.allocations += other.allocations;
        self.allocated_bytes += other.allocated_bytes;
    }
}

/// An operator whose children may still come.
struct Open {
    key: (i64, i64, i64),
    name: String,
    source: [Option<i64>; 2],
    /// By device, with the operators below that have ended.
    changes: BTreeMap<String, Changes>,
}

/// Own changes, and those of the spans that lie in no other of the name with all that is below.
type Rows = BTreeMap<Group, [Changes; 2]>;
type Row = (Group, [Changes; 2]);

pub(super) fn table(asking: &Asking<'_>, moments: &str) -> Result<ReportTable, RunError> {
    let mut walk = Walk::default();
    if asking.has_rows(&MEMORY_EVENTS) {
        walk.follow(asking, moments)?;
    }
    let mut rows: Vec<Row> = walk.rows.into_iter().collect();
    rows.sort_by(|(a_group, [a, _]), (b_group, [b, _])| {
        let order = |changes: &Changes| (changes.increase_bytes, changes.allocated_bytes);
        (order(b), a_group).cmp(&(order(a), b_group))
    });
    let devices: BTreeSet<&String> = rows.iter().map(|((_, device, _), _)| device).collect();
    let count = rows.iter().filter(|((name, ..), _)| name != NO_OPERATOR).count();
    let named = ReportColumn::named;
    let key = |name: &str| asking.key_column(name, name, Look::Value);
    let device_look = if devices.len() > 1 { Look::Value } else { Look::Hidden };
    let mut table = ReportTable::of("rows", &rows)
        .column(named("name").label("operator").look(Look::Operator), |((name, ..), _)| name.clone())
        .column(named("device").unit(Unit::Plain).holds(Holds::Texts).look(device_look), |((_, device, _), _)| {
            device.clone()
        })
        .column(key("rank"), |((.., [rank, _]), _)| *rank)
        .column(key("window"), |((.., [_, window]), _)| *window)
        .column(named("self_increase_bytes").label("growth, self").look(Look::Bar(None)), |(_, [own, _])| {
            own.increase_bytes
        })
        .column(named("total_increase_bytes").label("growth, total"), |(_, [_, all])| all.increase_bytes)
        .column(named("self_allocations").label("allocations"), |(_, [own, _])| own.allocations)
        .column(named("self_allocated_bytes").label("allocated, self").from_width(100), |(_, [own, _])| {
            own.allocated_bytes
        })
        .column(named("total_allocations").look(Look::Hidden), |(_, [_, all])| all.allocations)
        .column(named("total_allocated_bytes").label("allocated, total").from_width(120), |(_, [_, all])| {
            all.allocated_bytes
        })
        .table();
    let sum = |figure: fn(&Changes) -> i64| Cell::Int(rows.iter().map(|(_, [own, _])| figure(own)).sum());
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(count, "operator"),
        "self_increase_bytes" => sum(|own| own.increase_bytes),
        "self_allocations" => sum(|own| own.allocations),
        "self_allocated_bytes" => sum(|own| own.allocated_bytes),
        _ => Cell::Text(String::new()),
    };
    // Bytes of the host and of a device make no sum.
    table.total = (devices.len() <= 1).then(|| table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-self_increase_bytes".to_owned());
    table.notes = vec![asking.scope()];
    Ok(table)
}

#[derive(Default)]
struct Walk {
    rows: Rows,
    open: Vec<Open>,
}

impl Walk {
    fn follow(&mut self, asking: &Asking<'_>, moments: &str) -> Result<(), RunError> {
        let by_operator = format!(
            "SELECT rank, \"window\", operator_id, device, sum(size_bytes) AS increase_bytes,
               count(*) FILTER (WHERE size_bytes > 0) AS allocations,
               coalesce(sum(size_bytes) FILTER (WHERE size_bytes > 0), 0) AS allocated_bytes
             FROM memory_curve WHERE {moments} GROUP BY rank, \"window\", operator_id, device"
        );
        // Operators without events of their own are there for what is below them.
        let statement = format!(
            "SELECT op.rank, op.\"window\", span_id, parent_op_id, name, device, increase_bytes, allocations, allocated_bytes
             FROM (SELECT * FROM spans WHERE {{source}} AND kind = 'op' AND phase = 'X') AS op
             LEFT JOIN ({by_operator}) AS event
               ON event.rank = op.rank AND event.\"window\" = op.\"window\" AND event.operator_id = op.span_id
             ORDER BY op.rank, op.\"window\", span_id, device"
        );
        asking.walk(&statement, |frame| {
            let required = |name: &str| frame.required_i64(name);
            let (ranks, windows, ids) = (required("rank")?, required("window")?, required("span_id")?);
            let (parents, devices) = (frame.i64("parent_op_id")?, frame.text("device")?);
            let (increases, counts) = (frame.i64("increase_bytes")?, frame.i64("allocations")?);
            let sizes = frame.i64("allocated_bytes")?;
            for (row, name) in frame.text("name")?.into_iter().enumerate() {
                let key = |id: i64| (ranks[row], windows[row], id);
                // An operator with events on several devices has several rows.
                if self.open.last().is_none_or(|open| open.key != key(ids[row])) {
                    self.end_all_but(parents[row].map(key));
                    let source = group_of(asking, ranks[row], windows[row]);
                    let name = name.unwrap_or_default();
                    self.open.push(Open { key: key(ids[row]), name, source, changes: BTreeMap::new() });
                }
                let changes = Changes {
                    increase_bytes: increases[row].unwrap_or(0),
                    allocations: counts[row].unwrap_or(0),
                    allocated_bytes: sizes[row].unwrap_or(0),
                };
                if let (Some(device), Some(open)) = (&devices[row], self.open.last_mut()) {
                    open.changes.entry(device.clone()).or_default().add(changes);
                    self.rows.entry((open.name.clone(), device.clone(), open.source)).or_default()[0].add(changes);
                }
            }
            Ok(())
        })?;
        self.end_all_but(None);
        let rest = asking.query(&format!("SELECT * FROM ({by_operator}) WHERE operator_id IS NULL"))?;
        let (ranks, windows) = (rest.required_i64("rank")?, rest.required_i64("window")?);
        let increases = rest.required_i64("increase_bytes")?;
        let (counts, sizes) = (rest.required_i64("allocations")?, rest.required_i64("allocated_bytes")?);
        for (row, device) in rest.text("device")?.into_iter().flatten().enumerate() {
            let source = group_of(asking, ranks[row], windows[row]);
            let changes =
                Changes { increase_bytes: increases[row], allocations: counts[row], allocated_bytes: sizes[row] };
            let [own, all] = self.rows.entry((NO_OPERATOR.to_owned(), device, source)).or_default();
            own.add(changes);
            all.add(changes);
        }
        Ok(())
    }

    /// Ends the operators that do not enclose what comes next.
    fn end_all_but(&mut self, parent: Option<(i64, i64, i64)>) {
        while self.open.last().is_some_and(|open| Some(open.key) != parent) {
            let Some(ended) = self.open.pop() else { break };
            let is_outermost = !self.open.iter().any(|open| open.name == ended.name);
            for (device, changes) in ended.changes {
                if is_outermost {
                    self.rows.entry((ended.name.clone(), device.clone(), ended.source)).or_default()[1].add(changes);
                }
                if let Some(parent) = self.open.last_mut() {
                    parent.changes.entry(device).or_default().add(changes);
                }
            }
        }
    }
}

fn group_of(asking: &Asking<'_>, rank: i64, window: i64) -> [Option<i64>; 2] {
    [asking.groups_by("rank").then_some(rank), asking.groups_by("window").then_some(window)]
}
