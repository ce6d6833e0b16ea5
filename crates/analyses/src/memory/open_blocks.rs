//! Blocks that are allocated in the recording and not freed in it.

use stepscope_model::null_reason::{NOT_APPLICABLE, argument_not_recorded};
use stepscope_model::{Cell, LeftOut, Look, ReportColumn, ReportTable};
use stepscope_runs::RunError;

use crate::Asking;
use crate::asking::cell;
use crate::stacks::Stacks;

/// Blocks that are listed, the largest first.
const LISTED: usize = 20;

/// The largest, and what all of them are together.
pub(super) struct OpenBlocks {
    pub table: ReportTable,
    pub count: i64,
    pub bytes: i64,
}

impl OpenBlocks {
    pub(super) fn read(asking: &Asking<'_>, moments: &str) -> Result<Self, RunError> {
        let condition = format!("{moments} AND size_bytes > 0 AND address IS NOT NULL AND size_after_bytes IS NULL");
        let all = asking.query(&format!(
            "SELECT count(*) AS blocks, coalesce(sum(size_bytes), 0) AS bytes FROM memory_curve WHERE {condition}"
        ))?;
        let first = |name: &str| all.required_i64(name).map(|values| values.first().copied().unwrap_or(0));
        let (count, bytes) = (first("blocks")?, first("bytes")?);
        let frame = asking.query(&format!(
            "SELECT block.rank, block.\"window\", device, size_bytes, ts_ns, position, name, call_stack, python_parent_id
             FROM (
               SELECT * FROM memory_curve WHERE {condition} ORDER BY size_bytes DESC, rank, \"window\", ts_ns, position
               LIMIT {LISTED}
             ) AS block
             LEFT JOIN (
               SELECT rank, \"window\", span_id, name, call_stack, python_parent_id FROM spans
               WHERE {{source}} AND kind = 'op'
             ) AS op
               ON op.rank = block.rank AND op.\"window\" = block.\"window\" AND op.span_id = block.operator_id
             ORDER BY size_bytes DESC, block.rank, block.\"window\", ts_ns, position"
        ))?;
        let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
        let (sizes, times) = (frame.required_i64("size_bytes")?, frame.required_i64("ts_ns")?);
        let (devices, names) = (frame.text("device")?, frame.text("name")?);
        let (recorded, frames) = (frame.text("call_stack")?, frame.i64("python_parent_id")?);
        let has_frames = frames.iter().any(Option::is_some);
        let stacks = if has_frames { Some(Stacks::read(asking)?) } else { None };
        let row = |row: usize| {
            let frames = || stacks.as_ref()?.of((ranks[row], windows[row]), frames[row]?);
            let stack = recorded[row].clone().or_else(frames);
            let text = |text: &Option<String>| cell(text.clone(), Cell::Text);
            vec![
                Cell::Int(sizes[row]),
                text(&devices[row]),
                Cell::Int(ranks[row]),
                Cell::Int(windows[row]),
                Cell::Int(asking.since_start(ranks[row], windows[row], times[row])),
                Cell::Int(times[row]),
                text(&names[row]),
                cell(stack, Cell::Text),
            ]
        };
        let left_out = u64::try_from(count).unwrap_or(0).saturating_sub(frame.rows() as u64);
        let table = ReportTable {
            title: Some("NEVER FREED".to_owned()),
            sorted_by: Some("-size_bytes".to_owned()),
            left_out: if left_out == 0 { LeftOut::Nothing } else { LeftOut::Rows(left_out) },
            ..ReportTable::named("open_allocations", columns(asking), (0..frame.rows()).map(row).collect())
        };
        Ok(Self { table, count, bytes })
    }
}

fn columns(asking: &Asking<'_>) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    let is_one = asking.sources.len() == 1;
    let only_if_several = if is_one { Look::Hidden } else { Look::Value };
    vec![
        named("size_bytes").label("size"),
        named("device").unit(stepscope_model::Unit::Plain),
        named("rank").look(only_if_several),
        named("window").look(only_if_several),
        named("from_start_ns").label("at"),
        named("ts_ns").look(Look::Hidden),
        named("operator").look(Look::Operator).null(NOT_APPLICABLE),
        named("stack").look(Look::Detail).null(argument_not_recorded("Call stack")),
    ]
}
