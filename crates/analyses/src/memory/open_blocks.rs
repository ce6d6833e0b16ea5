//! Blocks that are allocated in the recording and not freed in it.

use stepscope_model::null_reason::{NOT_APPLICABLE, argument_not_recorded};
use stepscope_model::{LeftOut, Look, ReportColumn, ReportTable};
use stepscope_runs::RunError;

use crate::Asking;
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
        let (devices, operators) = (frame.text("device")?, frame.text("name")?);
        let (recorded, frames) = (frame.text("call_stack")?, frame.i64("python_parent_id")?);
        let has_frames = frames.iter().any(Option::is_some);
        let stacks = if has_frames { Some(Stacks::read(asking)?) } else { None };
        let stack = |row: usize| {
            let frames = || stacks.as_ref()?.of((ranks[row], windows[row]), frames[row]?);
            recorded[row].clone().or_else(frames)
        };
        let at = |row: usize| asking.since_start(ranks[row], windows[row], times[row]);
        let named = ReportColumn::named;
        let several = if asking.sources.len() == 1 { Look::Hidden } else { Look::Value };
        let stack_column = named("stack").look(Look::Detail).null(argument_not_recorded("Call stack"));
        let table = ReportTable::of("open_allocations", 0..frame.rows())
            .column(named("size_bytes").label("size"), |row| sizes[*row])
            .column(named("device").unit(stepscope_model::Unit::Plain), |row| devices[*row].clone())
            .column(named("rank").look(several), |row| ranks[*row])
            .column(named("window").look(several), |row| windows[*row])
            .column(named("from_start_ns").label("at"), |row| at(*row))
            .column(named("ts_ns").look(Look::Hidden), |row| times[*row])
            .column(named("operator").look(Look::Operator).null(NOT_APPLICABLE), |row| operators[*row].clone())
            .column(stack_column, |row| stack(*row))
            .table();
        let left_out = u64::try_from(count).unwrap_or(0).saturating_sub(frame.rows() as u64);
        let table = ReportTable {
            title: Some("NEVER FREED".to_owned()),
            sorted_by: Some("-size_bytes".to_owned()),
            left_out: if left_out == 0 { LeftOut::Nothing } else { LeftOut::Rows(left_out) },
            ..table
        };
        Ok(Self { table, count, bytes })
    }
}
