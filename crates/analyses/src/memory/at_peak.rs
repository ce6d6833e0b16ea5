//! What was alive when the memory of a device was highest.

use std::collections::BTreeMap;

use stepscope_model::null_reason::NOT_APPLICABLE;
use stepscope_model::{LeftOut, Look, ReportColumn, ReportTable, Sentence, say};
use stepscope_runs::RunError;

use super::Device;
use crate::Asking;
use crate::asking::NO_OPERATOR;

/// Operators that are listed, those that hold most first.
const LISTED: usize = 20;

/// Blocks and bytes.
#[derive(Clone, Copy, Default)]
struct Held {
    blocks: i64,
    bytes: i64,
}

impl Held {
    fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
    }
}

/// An operator, and the outermost one that it is called from.
type Group = (String, Option<String>);

/// The blocks by what allocated them; nothing if their addresses were not recorded.
pub(super) fn table(asking: &Asking<'_>, moments: &str, highest: &Device) -> Result<Option<ReportTable>, RunError> {
    let Device { rank, window, ref name, is_absolute, .. } = *highest;
    let of_device = format!("rank = {rank} AND \"window\" = {window} AND device = '{name}'");
    let level = if is_absolute { "total_allocated_bytes" } else { "level_bytes" };
    let peak = asking.query(&format!(
        "SELECT ts_ns, event_index, position, {level} AS level_bytes FROM memory_curve WHERE {of_device} AND {moments}
         ORDER BY {level} DESC NULLS LAST, ts_ns, event_index, position LIMIT 1"
    ))?;
    let first = |name: &str| peak.required_i64(name).map(|values| values.first().copied());
    let (Some(time), Some(index)) = (first("ts_ns")?, first("event_index")?) else { return Ok(None) };
    let (Some(position), Some(level_bytes)) = (first("position")?, first("level_bytes")?) else { return Ok(None) };
    // A block is alive if the last that happened at its address is an allocation; it may be older than what is asked.
    let last = |column: &str| {
        format!("first_value({column} ORDER BY ts_ns DESC, event_index DESC, position DESC) AS {column}")
    };
    let blocks = asking.query(&format!(
        "SELECT operator_id, count(*) AS blocks, sum(size_bytes) AS bytes FROM (
           SELECT address, {}, {} FROM memory_curve
           WHERE {of_device} AND size_bytes <> 0 AND address IS NOT NULL AND (ts_ns < {time} OR ts_ns = {time} AND
             (event_index < {index} OR event_index = {index} AND position <= {position}))
           GROUP BY address
         ) WHERE size_bytes > 0 GROUP BY operator_id",
        last("size_bytes"),
        last("operator_id"),
    ))?;
    let (operators, counts) = (blocks.i64("operator_id")?, blocks.required_i64("blocks")?);
    let bytes = blocks.required_i64("bytes")?;
    let held = |row: usize| (operators[row], Held { blocks: counts[row], bytes: bytes[row] });
    let by_operator: BTreeMap<Option<i64>, Held> = (0..blocks.rows()).map(held).collect();
    if by_operator.is_empty() {
        return Ok(None);
    }
    let mut all = Held::default();
    for held in by_operator.values() {
        all.add(*held);
    }
    let mut groups: Vec<(Group, Held)> = grouped(asking, highest, by_operator)?.into_iter().collect();
    groups.sort_by(|(a_group, a), (b_group, b)| (b.bytes, a_group).cmp(&(a.bytes, b_group)));
    let left_out = groups.len().saturating_sub(LISTED) as u64;
    let named = ReportColumn::named;
    let outermost = named("outermost_operator").label("under").look(Look::Operator).from_width(100);
    let table = ReportTable::of("at_peak", groups.iter().take(LISTED))
        .column(named("operator").look(Look::Operator), |((operator, _), _)| operator.clone())
        .column(outermost.null(NOT_APPLICABLE), |((_, outermost), _)| outermost.clone())
        .column(named("allocations"), |(_, held)| held.blocks)
        .column(named("size_bytes").label("size").look(Look::Bar(None)), |(_, held)| held.bytes)
        .table();
    Ok(Some(ReportTable {
        title: Some("ALIVE AT THE PEAK".to_owned()),
        sorted_by: Some("-size_bytes".to_owned()),
        left_out: if left_out == 0 { LeftOut::Nothing } else { LeftOut::Rows(left_out) },
        notes: vec![note(all, level_bytes, is_absolute)],
        ..table
    }))
}

/// How much of the peak the blocks explain.
fn note(all: Held, level_bytes: i64, is_absolute: bool) -> Sentence {
    let known = say!(
        "{}, {}",
        say::counted(usize::try_from(all.blocks).unwrap_or(0), "allocation"),
        say::memory(all.bytes as f64)
    );
    match level_bytes - all.bytes {
        _ if !is_absolute => say!("{}; what is older than the trace is not known", known),
        older if older > 0 => say!("{}; {} is older than the trace", known, say::memory(older as f64)),
        _ => known,
    }
}

/// Blocks by the names of their operators, in one walk over all operators: those that enclose others come before them.
fn grouped(
    asking: &Asking<'_>,
    highest: &Device,
    mut by_operator: BTreeMap<Option<i64>, Held>,
) -> Result<BTreeMap<Group, Held>, RunError> {
    let mut groups: BTreeMap<Group, Held> = BTreeMap::new();
    let mut open: Vec<(i64, String)> = Vec::new();
    let statement = format!(
        "SELECT span_id, parent_op_id, name FROM spans
         WHERE rank = {} AND \"window\" = {} AND kind = 'op' AND phase = 'X' ORDER BY span_id",
        highest.rank, highest.window
    );
    asking.walk(&statement, |frame| {
        let (ids, parents) = (frame.required_i64("span_id")?, frame.i64("parent_op_id")?);
        for (row, name) in frame.text("name")?.into_iter().enumerate() {
            while open.last().is_some_and(|(id, _)| Some(*id) != parents[row]) {
                open.pop();
            }
            let name = name.unwrap_or_default();
            if let Some(held) = by_operator.remove(&Some(ids[row])) {
                let outermost = open.first().map(|(_, name)| name.clone());
                groups.entry((name.clone(), outermost)).or_default().add(held);
            }
            open.push((ids[row], name));
        }
        Ok(())
    })?;
    for held in by_operator.into_values() {
        groups.entry((NO_OPERATOR.to_owned(), None)).or_default().add(held);
    }
    Ok(groups)
}
