//! Which collectives of the ranks are the same one (metrics, section 14).

use std::collections::BTreeMap;

use crate::reason;
use crate::recording::{Collective, Recording};

/// The collectives of a job, matched.
#[derive(Debug, Default)]
pub(crate) struct Matched {
    pub groups: Vec<MatchedGroup>,
    /// Process groups whose ranks did not do the same, and in what they differ.
    pub unmatched: Vec<(i64, &'static str)>,
}

/// The collectives of a process group whose ranks did the same.
#[derive(Debug)]
pub(crate) struct MatchedGroup {
    /// Places of its ranks, two or more.
    pub ranks: Vec<usize>,
    /// For one collective after the other its place on each of the ranks.
    places: Vec<u32>,
}

impl MatchedGroup {
    /// Places of each collective, in the order of the ranks.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.places.chunks_exact(self.ranks.len())
    }
}

/// What tells collectives of a group apart: the sequence number, with a count where several share it, else the position.
type Key = (i64, i64);

/// A rank's part in a group: its place, how many it launched, and the places of those that were taken, in order.
struct Member {
    rank: usize,
    launched: u64,
    places: Vec<u32>,
}

/// Matches the collectives of every group that several ranks are in.
pub(crate) fn match_ranks(recordings: &[Recording]) -> Matched {
    let mut matched = Matched::default();
    for (group_id, members) in members_by_group(recordings) {
        if members.len() < 2 {
            continue;
        }
        match match_group(recordings, &members) {
            Ok(group) => matched.groups.push(group),
            Err(reason) => matched.unmatched.push((group_id, reason)),
        }
    }
    matched
}

fn members_by_group(recordings: &[Recording]) -> BTreeMap<i64, Vec<Member>> {
    let mut groups: BTreeMap<i64, Vec<Member>> = BTreeMap::new();
    for (rank, recording) in recordings.iter().enumerate() {
        let mut by_group = vec![Vec::new(); recording.groups.len()];
        for (place, collective) in recording.collectives.iter().enumerate() {
            by_group[collective.group as usize].push(place as u32);
        }
        for (group, mut places) in recording.groups.iter().zip(by_group) {
            places.sort_by_key(|&place| recording.collectives[place as usize].ordinal);
            let member = Member { rank, launched: group.launched, places };
            groups.entry(group.group_id).or_default().push(member);
        }
    }
    groups
}

fn match_group(recordings: &[Recording], members: &[Member]) -> Result<MatchedGroup, &'static str> {
    let launched = members[0].launched;
    if members.iter().any(|member| member.launched != launched) {
        return Err(reason::COUNTS_DIFFER);
    }
    let is_numbered = members.iter().all(|member| {
        let collectives = &recordings[member.rank].collectives;
        member.places.iter().all(|&place| collectives[place as usize].sequence.is_some())
    });
    let keyed: Vec<Vec<(Key, u32)>> =
        members.iter().map(|member| keys(&recordings[member.rank].collectives, &member.places, is_numbered)).collect();
    let mut group = MatchedGroup { ranks: members.iter().map(|member| member.rank).collect(), places: Vec::new() };
    let mut row = Vec::with_capacity(members.len());
    let mut rows = 0;
    // All lists are in the order of the keys, so each is passed once.
    let mut at = vec![0; members.len()];
    for &(key, _) in &keyed[0] {
        row.clear();
        for (list, at) in keyed.iter().zip(&mut at) {
            *at += list[*at..].iter().take_while(|(other, _)| *other < key).count();
            row.extend(list.get(*at).filter(|(other, _)| *other == key).map(|(_, place)| *place));
        }
        if row.len() < members.len() {
            continue;
        }
        if !is_one_kind(recordings, members, &row) {
            return Err(reason::NAMES_DIFFER);
        }
        group.places.extend(&row);
        rows += 1;
    }
    // Where memory holds only those of the window, ends of the windows may differ.
    let are_all_taken = members.iter().all(|member| member.places.len() as u64 == launched);
    if are_all_taken && rows != launched { Err(reason::SEQUENCES_DIFFER) } else { Ok(group) }
}

fn is_one_kind(recordings: &[Recording], members: &[Member], row: &[u32]) -> bool {
    let name = |(member, place): (&Member, &u32)| {
        let recording = &recordings[member.rank];
        recording.names.text(recording.collectives[*place as usize].name)
    };
    let mut names = members.iter().zip(row).map(name);
    let first = names.next();
    names.all(|name| Some(name) == first)
}

/// The key of each collective of a rank, in order.
fn keys(collectives: &[Collective], places: &[u32], is_numbered: bool) -> Vec<(Key, u32)> {
    let key = |&place: &u32| {
        let collective = &collectives[place as usize];
        let number = collective.sequence.filter(|_| is_numbered).unwrap_or(collective.ordinal);
        ((number, 0), place)
    };
    let mut keyed: Vec<(Key, u32)> = places.iter().map(key).collect();
    // Stable: collectives with one number stay in the order of their launches, and are counted.
    keyed.sort_by_key(|(key, _)| *key);
    for place in 1..keyed.len() {
        let before = keyed[place - 1].0;
        if before.0 == keyed[place].0.0 {
            keyed[place].0.1 = before.1 + 1;
        }
    }
    keyed
}
