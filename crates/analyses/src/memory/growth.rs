//! What grew between two memory snapshots: the bytes and blocks that each stack holds, later minus earlier (metrics, section
//! 31).

use std::collections::BTreeMap;

use stepscope_model::null_reason::{NO_SNAPSHOT_STATE, STACKS_NOT_RECORDED};
use stepscope_model::{Cell, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Text, Unit, say};
use stepscope_runs::{OpenRun, RunError};

use super::snapshot::stacks::Stacks;
use crate::asking::sum_of;
use crate::{Asking, Question};

/// What a stack holds, and the line that it belongs to.
#[derive(Clone, Debug, Default)]
struct Held {
    owner: String,
    bytes: i64,
    blocks: i64,
}

/// A stack that holds more or less than before.
struct Growth {
    owner: String,
    frames: Option<String>,
    before_bytes: i64,
    after_bytes: i64,
    more_blocks: i64,
}

/// Compares what the snapshots of two runs hold, by the content of stacks.
pub fn memory_growth(later: &OpenRun, earlier: &OpenRun, question: &Question) -> Result<Report, RunError> {
    let (before, after) = (held(earlier, question)?, held(later, question)?);
    let has_state = before.is_some() && after.is_some();
    let (before, after) = before.zip(after).unwrap_or_default();
    let stacks: Vec<&Option<String>> =
        before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))).collect();
    let growth = |frames: &Option<String>| {
        let (old, new) = (before.get(frames), after.get(frames));
        let of = |held: Option<&Held>| held.map_or((0, 0), |held| (held.bytes, held.blocks));
        let ((before_bytes, before_blocks), (after_bytes, after_blocks)) = (of(old), of(new));
        let owner = new.or(old).map(|held| held.owner.clone()).unwrap_or_default();
        let more_blocks = after_blocks - before_blocks;
        let row = Growth { owner, frames: frames.clone(), before_bytes, after_bytes, more_blocks };
        (before_bytes != after_bytes || more_blocks != 0).then_some(row)
    };
    let mut rows: Vec<Growth> = stacks.into_iter().filter_map(growth).collect();
    rows.sort_by(|a, b| (b.bytes(), &a.owner, &a.frames).cmp(&(a.bytes(), &b.owner, &b.frames)));
    let mut table = table(rows);
    table.sorted_by = Some("-growth_bytes".to_owned());
    let total = sum_of(&table, "growth_bytes");
    let sentence = match total {
        _ if !has_state => Text::headline("One of the two has no state of an allocator to compare."),
        0.. => Text::headline(say!("{} more is held than before.", say::memory(total as f64))),
        _ => Text::headline(say!("{} less is held than before.", say::memory(-total as f64))),
    };
    let mut report = Report::new("memory", vec![Part::Text(sentence), Part::Table(table)]);
    report.data.push(("growth_bytes", if has_state { Cell::Int(total) } else { Cell::Null }));
    if !has_state {
        let (path, label) = ("growth_bytes".to_owned(), "growth".to_owned());
        report.missing.push(Missing { path, label, reason: NO_SNAPSHOT_STATE.into() });
    }
    Ok(report)
}

impl Growth {
    fn bytes(&self) -> i64 {
        self.after_bytes - self.before_bytes
    }
}

/// What is held at the end, by the frames of the stack; `None` if no state is recorded.
fn held(run: &OpenRun, question: &Question) -> Result<Option<BTreeMap<Option<String>, Held>>, RunError> {
    let asking = Asking::of(run, question)?;
    if !asking.sources().iter().any(|source| source.has_allocator_state()) {
        return Ok(None);
    }
    let mut all: BTreeMap<Option<String>, Held> = BTreeMap::new();
    for source in asking.sources() {
        let (rank, window) = (source.id.rank, source.id.window);
        let stacks = Stacks::read(&asking, rank, window)?;
        let statement = format!(
            "SELECT stack_id, sum(coalesce(requested_bytes, size_bytes)) AS bytes, count(*) AS blocks FROM memory_blocks
             WHERE rank = {rank} AND \"window\" = {window} AND state = 'allocated' GROUP BY stack_id"
        );
        let frame = asking.query(&statement)?;
        let (ids, bytes, blocks) =
            (frame.i64("stack_id")?, frame.required_i64("bytes")?, frame.required_i64("blocks")?);
        for (row, id) in ids.into_iter().enumerate() {
            let held = all.entry(stacks.shown(id)).or_default();
            held.owner = stacks.owner(id);
            held.bytes += bytes[row];
            held.blocks += blocks[row];
        }
    }
    Ok(Some(all))
}

fn table(rows: Vec<Growth>) -> ReportTable {
    let named = ReportColumn::named;
    let frames = named("frames").holds(Holds::Texts).look(Look::Hidden).null(STACKS_NOT_RECORDED);
    ReportTable::of("rows", rows)
        .column(named("owner").holds(Holds::Texts).look(Look::Operator), |growth| growth.owner.clone())
        .column(named("growth_bytes").label("growth").unit(Unit::Bytes), Growth::bytes)
        .column(named("growth_blocks").label("blocks"), |growth| growth.more_blocks)
        .column(named("before_bytes").label("before").unit(Unit::Bytes), |growth| growth.before_bytes)
        .column(named("after_bytes").label("after").unit(Unit::Bytes), |growth| growth.after_bytes)
        .column(frames, |growth| growth.frames.clone())
        .table()
}
