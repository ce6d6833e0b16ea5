//! Matches the collectives of several ranks by process group and sequence number, or by their order where that was not
//! recorded.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_runs::RunError;

use super::RankWait;
use crate::Asking;

/// The collectives of a process group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub id: i64,
    pub name: Option<String>,
    /// Ranks as recorded, where several groups have the same name.
    members: Option<String>,
    /// Whether the host transfers, as with gloo.
    pub is_host: bool,
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
    /// By kind of collective, or by the name of the span on the host: transfer and count.
    pub transfer_by_kind: BTreeMap<String, (i64, i64)>,
    /// By rank.
    pub ranks: Vec<RankWait>,
}

/// A group while it is read.
#[derive(Debug, Default)]
struct Found {
    by_rank: BTreeMap<i64, RankWait>,
    /// Every collective of every rank has its sequence number.
    has_sequence: bool,
    /// Windows whose ranks differ in their counts, or positions that hold different collectives.
    uneven: bool,
    different: i64,
    /// Sequence numbers that some rank does not have.
    incomplete: i64,
    matched: Matched,
}

/// Collectives of all ranks that clock offsets are worked out from, about; of more, every n-th is taken: a median of
/// hundreds is as good as one of thousands.
const CLOCK_ROWS: i64 = 1_000_000;

const LAUNCHED: &str = "
    SELECT group_id, rank, \"window\", ordinal, seq, dur_ns, start_ns
    FROM all_collectives WHERE {events} AND ordinal IS NOT NULL";

/// One row for each collective: the shortest time is the transfer, and whoever has it arrived last. The rank of the
/// shortest time is in one number with it: ranks are below 2^20, and no collective takes two hours.
const COLLECTIVE: &str = "
    SELECT group_id, count(*) AS ranks, min(CASE WHEN is_host THEN kernel ELSE collective END) AS collective,
      max(CASE WHEN is_host THEN kernel ELSE collective END) AS other,
      sum(dur_ns) AS dur_ns, min(dur_ns) AS transfer_ns, min(least(dur_ns, 8000000000000) * 1048576 + rank) AS last";

/// Some collectives of a rank may share a number; their order tells them apart.
const SEQUENCE: &str = "
    SELECT *, row_number() OVER (PARTITION BY group_id, \"window\", rank, seq ORDER BY ordinal) AS place
    FROM all_collectives WHERE {events} AND ordinal IS NOT NULL AND group_id IN ({groups})";

/// Matches every group. Collectives without an ordinal are left out, as those launched before the recording.
pub(super) fn match_ranks(asking: &Asking<'_>) -> Result<Vec<Group>, RunError> {
    let mut found: BTreeMap<i64, Found> = BTreeMap::new();
    read_ranks(asking, &mut found)?;
    if found.values().any(|group| group.by_rank.len() > 1) {
        read_collectives(asking, &mut found)?;
    }
    let names = read_names(asking)?;
    let name_of = |id: &i64| names.get(id).cloned().unwrap_or_default();
    let is_shared = |name: &Option<String>, is_host: bool| {
        names.values().filter(|other| (&other.text, other.is_host) == (name, is_host)).count() > 1
    };
    let mut groups: Vec<Group> = found
        .into_iter()
        .map(|(id, found)| {
            let Name { text, ranks, is_host } = name_of(&id);
            Group {
                id,
                members: ranks.filter(|_| is_shared(&text, is_host)),
                name: text,
                is_host,
                collectives: found.by_rank.values().map(|rank| rank.collectives).max().unwrap_or(0),
                outcome: found.outcome(),
            }
        })
        .collect();
    groups.sort_by(|a, b| (a.is_host, &a.name, &a.members).cmp(&(b.is_host, &b.name, &b.members)));
    Ok(groups)
}

/// What a group is called.
#[derive(Clone, Default)]
struct Name {
    text: Option<String>,
    /// As recorded.
    ranks: Option<String>,
    is_host: bool,
}

/// The name and the ranks of each group. Asked of one rank's rows of each: lists of ranks are long.
fn read_names(asking: &Asking<'_>) -> Result<BTreeMap<i64, Name>, RunError> {
    let rows = asking.query(
        "SELECT group_id, min(process_group) AS name, min(process_group_ranks) AS ranks, bool_or(is_host) AS is_host
         FROM all_collectives WHERE {source} AND ordinal = 0 GROUP BY group_id",
    )?;
    let named = rows.text("name")?.into_iter().zip(rows.text("ranks")?).zip(rows.bool("is_host")?);
    let name = |((text, ranks), is_host): ((_, _), Option<bool>)| Name { text, ranks, is_host: is_host == Some(true) };
    Ok(rows.required_i64("group_id")?.into_iter().zip(named.map(name)).collect())
}

/// What a rank launched in one window of a group.
#[derive(Debug, Default)]
struct Launched {
    collectives: i64,
    dur_ns: i64,
    /// Ordinals and ends, for the clock.
    ends: Vec<(i64, i64)>,
    /// The same by sequence number, as far as there are any.
    ends_by_number: Vec<(i64, i64)>,
    without_number: i64,
}

impl Launched {
    /// Ends by what tells collectives apart: their sequence number or their place.
    fn ends(&self, has_sequence: bool) -> &[(i64, i64)] {
        if has_sequence { &self.ends_by_number } else { &self.ends }
    }
}

/// How many collectives each rank has, how long they take, and how far its clock is from that of the first.
fn read_ranks(asking: &Asking<'_>, found: &mut BTreeMap<i64, Found>) -> Result<(), RunError> {
    let all: u64 = asking.sources.iter().map(|source| source.rows.of(&ALL_COLLECTIVES)).sum();
    let every = all as i64 / CLOCK_ROWS + 1;
    let mut launched: HashMap<(i64, i64, i64), Launched> = HashMap::new();
    asking.walk(LAUNCHED, |rows| {
        let column = |name: &str| rows.required_i64(name);
        let (groups, windows, ranks) = (column("group_id")?, column("window")?, column("rank")?);
        let (ordinals, durations, starts) = (column("ordinal")?, column("dur_ns")?, column("start_ns")?);
        let numbers = rows.i64("seq")?;
        for row in 0..rows.rows() {
            let of_rank = launched.entry((groups[row], windows[row], ranks[row])).or_default();
            of_rank.collectives += 1;
            of_rank.dur_ns += durations[row];
            let end = starts[row] + durations[row];
            if ordinals[row] % every == 0 {
                of_rank.ends.push((ordinals[row], end));
            }
            of_rank.without_number += i64::from(numbers[row].is_none());
            if let Some(number) = numbers[row].filter(|number| number % every == 0) {
                of_rank.ends_by_number.push((number, end));
            }
        }
        Ok(())
    })?;
    let mut by_window: BTreeMap<(i64, i64), (i64, i64)> = BTreeMap::new();
    let is_without = |launched: &Launched| launched.without_number > 0;
    let without: BTreeSet<i64> =
        launched.iter().filter(|(_, it)| is_without(it)).map(|((group, ..), _)| *group).collect();
    for ((group, window, rank), launched) in &launched {
        let count = launched.collectives;
        let range = by_window.entry((*group, *window)).or_insert((count, count));
        *range = (range.0.min(count), range.1.max(count));
        let of_group = found.entry(*group).or_default();
        of_group.has_sequence = !without.contains(group);
        let of_rank = of_group.by_rank.entry(*rank).or_default();
        of_rank.rank = *rank;
        of_rank.collectives += count;
        of_rank.communication_ns += launched.dur_ns;
    }
    for ((group, _), (least, most)) in by_window {
        if let Some(group) = found.get_mut(&group) {
            group.uneven |= least != most;
        }
    }
    for group in found.values_mut() {
        let mut counts = group.by_rank.values().map(|rank| rank.collectives);
        let first = counts.next();
        group.uneven |= counts.any(|count| Some(count) != first);
    }
    add_clock_offsets(&launched, found);
    Ok(())
}

/// How far the clock of each rank is from that of the first: collectives end together.
fn add_clock_offsets(launched: &HashMap<(i64, i64, i64), Launched>, found: &mut BTreeMap<i64, Found>) {
    let first_of = |found: &Found| found.by_rank.keys().next().copied();
    let firsts: HashMap<i64, i64> = found.iter().filter_map(|(id, found)| Some((*id, first_of(found)?))).collect();
    let mut offsets: HashMap<(i64, i64), Vec<i64>> = HashMap::new();
    for ((group, window, rank), of_rank) in launched {
        let first = firsts.get(group).and_then(|first| launched.get(&(*group, *window, *first)));
        let Some(first) = first else { continue };
        let has_sequence = found.get(group).is_some_and(|group| group.has_sequence);
        let first_ends: HashMap<i64, i64> = first.ends(has_sequence).iter().copied().collect();
        let ends = of_rank.ends(has_sequence).iter();
        let apart = ends.filter_map(|(key, end)| Some(end - first_ends.get(key)?));
        offsets.entry((*group, *rank)).or_default().extend(apart);
    }
    for ((group, rank), mut offsets) in offsets {
        offsets.sort_unstable();
        let median = offsets.len().div_ceil(2).checked_sub(1).map(|middle| offsets[middle]);
        if let Some(rank) = found.get_mut(&group).and_then(|group| group.by_rank.get_mut(&rank)) {
            rank.clock_offset_ns = median;
        }
    }
}

/// Reads the collectives of the groups with sequence numbers by those, and of the others by their order.
fn read_collectives(asking: &Asking<'_>, found: &mut BTreeMap<i64, Found>) -> Result<(), RunError> {
    let numbered = found.iter().filter(|(_, group)| group.has_sequence).map(|(id, _)| id.to_string());
    let numbered = numbered.collect::<Vec<_>>().join(", ");
    if numbered.is_empty() {
        let from = "FROM all_collectives WHERE {events} AND ordinal IS NOT NULL GROUP BY group_id, \"window\", ordinal";
        return read_by_key(asking, &format!("{COLLECTIVE} {from}"), found);
    }
    let of_numbered = SEQUENCE.replace("{groups}", &numbered);
    let by_number = format!("{COLLECTIVE} FROM ({of_numbered}) GROUP BY group_id, \"window\", seq, place");
    read_by_key(asking, &by_number, found)?;
    let by_order = format!(
        "{COLLECTIVE} FROM all_collectives WHERE {{events}} AND ordinal IS NOT NULL AND group_id NOT IN ({numbered})
         GROUP BY group_id, \"window\", ordinal"
    );
    read_by_key(asking, &by_order, found)
}

fn read_by_key(asking: &Asking<'_>, statement: &str, found: &mut BTreeMap<i64, Found>) -> Result<(), RunError> {
    asking.walk(statement, |rows| {
        let names = rows.text("collective")?.into_iter().zip(rows.text("other")?);
        let (ranks, durations) = (rows.required_i64("ranks")?, rows.required_i64("dur_ns")?);
        let (transfers, last) = (rows.required_i64("transfer_ns")?, rows.required_i64("last")?);
        for (row, (group, (name, other))) in rows.required_i64("group_id")?.into_iter().zip(names).enumerate() {
            let Some(group) = found.get_mut(&group) else { continue };
            group.different += i64::from(name != other);
            group.incomplete += i64::from(group.has_sequence && ranks[row] != group.by_rank.len() as i64);
            let matched = &mut group.matched;
            matched.collectives += 1;
            matched.transfer_ns += transfers[row];
            let kind = matched.transfer_by_kind.entry(name.unwrap_or_default()).or_default();
            *kind = (kind.0 + transfers[row], kind.1 + 1);
            if let Some(rank) = group.by_rank.get_mut(&(last[row] % 1_048_576)) {
                rank.last_arrivals += 1;
                rank.caused_ns += durations[row] - ranks[row] * transfers[row];
            }
        }
        Ok(())
    })
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
        if self.incomplete > 0 {
            let numbers = self.incomplete;
            return Outcome::Unmatched(format!("ranks do not match: {numbers} sequence numbers are not on all ranks"));
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
