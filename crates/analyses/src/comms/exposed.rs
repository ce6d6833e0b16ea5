//! How much of the waiting in collectives is exposed: nothing else runs on the device of the rank that waits.

use std::collections::HashMap;

use stepscope_model::SourceId;
use stepscope_runs::RunError;

use super::matching::{Group, Outcome};
use crate::Asking;
use crate::layers::{StepRanges, time_by_layer};

/// Exposed waiting in complete steps that the stragglers cause to the other ranks, and the rest of it, added up over
/// ranks.
///
/// A rank waits from the start of its collective; the end of it is the transfer, which takes as long as the collective
/// of the rank that arrived last.
pub(super) fn waiting(
    asking: &Asking<'_>,
    steps: &StepRanges,
    groups: &[Group],
    stragglers: &[(i64, i64)],
) -> Result<(i64, i64), RunError> {
    let late: Vec<String> = stragglers.iter().map(|(rank, _)| rank.to_string()).collect();
    let late = late.join(", ");
    let caused =
        if late.is_empty() { "false".to_owned() } else { format!("last IN ({late}) AND rank NOT IN ({late})") };
    let intervals = format!(
        "WITH {}
         SELECT rank, \"window\", start_ns, end_ns, 0 AS layer FROM device_events
         WHERE {{source}} AND class <> 'communication'
         UNION ALL SELECT rank, \"window\", end_ns - transfer_ns, end_ns, 1 FROM each_rank
         UNION ALL SELECT rank, \"window\", start_ns, end_ns - transfer_ns, CASE WHEN {caused} THEN 2 ELSE 3 END
         FROM each_rank",
        each_rank(groups)
    );
    let [_, _, caused_ns, other_ns] = time_by_layer(asking, steps, &intervals)?;
    Ok((caused_ns, other_ns))
}

/// How long the transfer of each collective of a recording takes, by the number of its span. Empty if no ranks match.
pub(super) fn transfers(asking: &Asking<'_>, groups: &[Group], of: SourceId) -> Result<HashMap<i64, i64>, RunError> {
    if !groups.iter().any(|group| matches!(group.outcome, Outcome::Matched(_))) {
        return Ok(HashMap::new());
    }
    let rows = asking.query(&format!(
        "WITH {} SELECT span_id, transfer_ns FROM each_rank WHERE rank = {} AND \"window\" = {}",
        each_rank(groups),
        of.rank,
        of.window
    ))?;
    Ok(rows.required_i64("span_id")?.into_iter().zip(rows.required_i64("transfer_ns")?).collect())
}

/// Tables of a statement, of which `each_rank` has a row for each collective of each rank in groups that match: when it
/// ran, how long its transfer takes, and which rank arrived last.
fn each_rank(groups: &[Group]) -> String {
    let matched = groups.iter().filter(|group| matches!(group.outcome, Outcome::Matched(_)));
    let matched: Vec<String> = matched.map(|group| group.id.to_string()).collect();
    format!(
        "counted AS (
           SELECT rank, \"window\", group_id, ordinal, seq, start_ns, dur_ns, span_id,
             count(*) OVER (PARTITION BY group_id) = count(seq) OVER (PARTITION BY group_id) AS has_sequence
           FROM all_collectives WHERE {{events}} AND ordinal IS NOT NULL AND group_id IN ({matched})),
         launched AS (
           SELECT rank, \"window\", group_id, start_ns, dur_ns, span_id,
             CASE WHEN has_sequence THEN seq ELSE ordinal END AS number,
             CASE WHEN has_sequence THEN row_number() OVER (PARTITION BY group_id, \"window\", rank, seq ORDER BY ordinal)
               ELSE 1 END AS place
           FROM counted),
         together AS (
           SELECT group_id, \"window\", number, place, min(dur_ns) AS transfer_ns,
             min(least(dur_ns, 8000000000000) * 1048576 + rank) % 1048576 AS last
           FROM launched GROUP BY group_id, \"window\", number, place),
         each_rank AS (
           SELECT launched.rank, launched.\"window\", start_ns, start_ns + dur_ns AS end_ns, span_id, transfer_ns, last
           FROM launched JOIN together
             ON together.group_id = launched.group_id AND together.\"window\" = launched.\"window\"
             AND together.number = launched.number AND together.place = launched.place)",
        matched = matched.join(", ")
    )
}
