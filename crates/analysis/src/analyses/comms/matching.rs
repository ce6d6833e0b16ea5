//! Matches the collectives of several ranks by process group and ordinal.

use std::collections::BTreeMap;

use super::RankWait;
use crate::analyses::Asking;
use crate::error::AnalysisError;

/// The collectives of a process group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub name: Option<String>,
    /// Ranks as recorded, where several groups have the same name.
    members: Option<String>,
    /// How many collectives its ranks have at most.
    pub collectives: i64,
    pub outcome: Outcome,
}

impl Group {
    /// The name in JSON.
    pub(super) fn key(&self) -> String {
        let name = self.name.as_deref().unwrap_or("None");
        self.members.as_ref().map_or_else(|| name.to_owned(), |members| format!("{name} {members}"))
    }
}

/// Whether the ranks of a group did the same.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Matched(Matched),
    /// Why not.
    Unmatched(String),
    /// There is nobody to compare with.
    OneRank,
}

/// Transfer and waiting of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Matched {
    pub collectives: i64,
    pub transfer_ns: i64,
    /// By kind of collective: transfer and count.
    pub transfer_by_kind: BTreeMap<String, (i64, i64)>,
    /// By rank.
    pub ranks: Vec<RankWait>,
}

/// A group while it is read.
#[derive(Debug, Default)]
struct Found {
    by_rank: BTreeMap<i64, RankWait>,
    /// Windows whose ranks differ in their counts, or positions that hold different collectives.
    uneven: bool,
    different: i64,
    matched: Matched,
    group_size: Option<i64>,
}

/// What makes a group: windows of a rank are recordings of their own, but of the same group.
type Key = (Option<String>, Option<String>);

const LAUNCHED: &str = "
    SELECT process_group, process_group_ranks, rank, \"window\", ordinal, collective, dur_ns, start_ns, group_size
    FROM collectives WHERE {events} AND launch_ns IS NOT NULL";

/// Matches every group. Collectives that were launched before the recording are left out.
pub(super) fn match_ranks(asking: &Asking<'_>) -> Result<Vec<Group>, AnalysisError> {
    let mut found: BTreeMap<Key, Found> = BTreeMap::new();
    read_ranks(asking, &mut found)?;
    read_collectives(asking, &mut found)?;
    read_clock_offsets(asking, &mut found)?;
    let names: Vec<Option<String>> = found.keys().map(|(name, _)| name.clone()).collect();
    let is_shared = |name: &Option<String>| names.iter().filter(|other| *other == name).count() > 1;
    Ok(found
        .into_iter()
        .map(|((name, members), found)| Group {
            members: members.filter(|_| is_shared(&name)),
            name,
            collectives: found.by_rank.values().map(|rank| rank.collectives).max().unwrap_or(0),
            outcome: found.outcome(),
        })
        .collect())
}

/// How many collectives each rank has, and how long they take.
fn read_ranks(asking: &Asking<'_>, found: &mut BTreeMap<Key, Found>) -> Result<(), AnalysisError> {
    let rows = asking.query(&format!(
        "SELECT process_group, process_group_ranks, rank, \"window\", count(*) AS collectives, sum(dur_ns) AS dur_ns,
           max(group_size) AS group_size
         FROM ({LAUNCHED}) GROUP BY ALL"
    ))?;
    let keys = keys(&rows)?;
    let (ranks, windows) = (rows.required_i64("rank")?, rows.required_i64("window")?);
    let (counts, durations) = (rows.required_i64("collectives")?, rows.required_i64("dur_ns")?);
    let sizes = rows.i64("group_size")?;
    let mut by_window: BTreeMap<(Key, i64), (i64, i64)> = BTreeMap::new();
    for (row, key) in keys.into_iter().enumerate() {
        let range = by_window.entry((key.clone(), windows[row])).or_insert((counts[row], counts[row]));
        *range = (range.0.min(counts[row]), range.1.max(counts[row]));
        let group = found.entry(key).or_default();
        group.group_size = group.group_size.max(sizes[row]);
        let rank = group.by_rank.entry(ranks[row]).or_default();
        rank.rank = ranks[row];
        rank.collectives += counts[row];
        rank.communication_ns += durations[row];
    }
    for ((key, _), (least, most)) in by_window {
        if let Some(group) = found.get_mut(&key) {
            group.uneven |= least != most;
        }
    }
    for group in found.values_mut() {
        let mut counts = group.by_rank.values().map(|rank| rank.collectives);
        let first = counts.next();
        group.uneven |= counts.any(|count| Some(count) != first);
    }
    Ok(())
}

/// One row a collective: the shortest time is the transfer, and whoever has it arrived last.
fn read_collectives(asking: &Asking<'_>, found: &mut BTreeMap<Key, Found>) -> Result<(), AnalysisError> {
    if found.values().all(|group| group.by_rank.len() < 2) {
        return Ok(());
    }
    let statement = format!(
        "SELECT process_group, process_group_ranks, min(collective) AS collective, max(collective) AS other,
           count(*) AS ranks, sum(dur_ns) AS dur_ns, min(dur_ns) AS transfer_ns,
           first_value(rank ORDER BY dur_ns, rank) AS last_rank
         FROM ({LAUNCHED}) GROUP BY process_group, process_group_ranks, \"window\", ordinal"
    );
    asking.walk(&statement, |rows| {
        let names = rows.text("collective")?.into_iter().zip(rows.text("other")?);
        let (ranks, durations) = (rows.required_i64("ranks")?, rows.required_i64("dur_ns")?);
        let (transfers, last) = (rows.required_i64("transfer_ns")?, rows.required_i64("last_rank")?);
        for (row, (key, (name, other))) in keys(rows)?.into_iter().zip(names).enumerate() {
            let Some(group) = found.get_mut(&key) else { continue };
            group.different += i64::from(name != other);
            let matched = &mut group.matched;
            matched.collectives += 1;
            matched.transfer_ns += transfers[row];
            let kind = matched.transfer_by_kind.entry(name.unwrap_or_default()).or_default();
            *kind = (kind.0 + transfers[row], kind.1 + 1);
            if let Some(rank) = group.by_rank.get_mut(&last[row]) {
                rank.last_arrivals += 1;
                rank.caused_ns += durations[row] - ranks[row] * transfers[row];
            }
        }
        Ok(())
    })
}

/// How far the clock of each rank is from that of the first: collectives end together.
fn read_clock_offsets(asking: &Asking<'_>, found: &mut BTreeMap<Key, Found>) -> Result<(), AnalysisError> {
    if found.values().all(|group| group.by_rank.len() < 2) {
        return Ok(());
    }
    let rows = asking.query(&format!(
        "WITH launched AS ({LAUNCHED}),
           first_ranks AS (
             SELECT process_group AS first_group, process_group_ranks AS first_members, min(rank) AS first_rank
             FROM launched GROUP BY ALL
           ),
           firsts AS (
             SELECT first_group, first_members, \"window\" AS first_window, ordinal AS first_ordinal,
               start_ns + dur_ns AS first_end_ns
             FROM launched JOIN first_ranks
               ON coalesce(process_group, '') = coalesce(first_group, '')
               AND coalesce(process_group_ranks, '') = coalesce(first_members, '') AND rank = first_rank
           )
         SELECT process_group, process_group_ranks, rank, nearest_rank(start_ns + dur_ns - first_end_ns, 50) AS offset_ns
         FROM launched JOIN firsts
           ON coalesce(process_group, '') = coalesce(first_group, '')
           AND coalesce(process_group_ranks, '') = coalesce(first_members, '')
           AND \"window\" = first_window AND ordinal = first_ordinal
         GROUP BY process_group, process_group_ranks, rank"
    ))?;
    let (ranks, offsets) = (rows.required_i64("rank")?, rows.i64("offset_ns")?);
    for (row, key) in keys(&rows)?.into_iter().enumerate() {
        if let Some(rank) = found.get_mut(&key).and_then(|group| group.by_rank.get_mut(&ranks[row])) {
            rank.clock_offset_ns = offsets[row];
        }
    }
    Ok(())
}

fn keys(rows: &crate::frame::Frame) -> Result<Vec<Key>, AnalysisError> {
    Ok(rows.text("process_group")?.into_iter().zip(rows.text("process_group_ranks")?).collect())
}

impl Found {
    fn outcome(self) -> Outcome {
        let at_hand = self.by_rank.len();
        if at_hand < 2 {
            return Outcome::OneRank;
        }
        if self.uneven {
            let counts = || self.by_rank.values().map(|rank| rank.collectives);
            let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
            return Outcome::Unmatched(format!("ranks do not match: they have between {least} and {most} collectives"));
        }
        if self.different > 0 {
            let places = self.different;
            return Outcome::Unmatched(format!("ranks do not match: {places} positions hold different collectives"));
        }
        let mut matched = self.matched;
        matched.ranks = self.by_rank.into_values().collect();
        for rank in &mut matched.ranks {
            rank.wait_ns = rank.communication_ns - matched.transfer_ns;
        }
        Outcome::Matched(matched)
    }
}
