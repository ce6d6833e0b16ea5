//! How far the clocks of ranks are apart: a collective ends on all of them together (metrics, section 14).

use std::collections::{BTreeMap, VecDeque};

use super::matching::MatchedGroup;
use crate::lags::median;
use crate::recording::Recording;

/// By how much the clock of each rank is ahead of that of the first. A rank that shares no process group with the first
/// is compared with one that does, and so on; `None` if no chain of groups leads to it.
pub(crate) fn clock_offsets(recordings: &[Recording], groups: &[MatchedGroup]) -> Vec<Option<i64>> {
    let mut offsets = vec![None; recordings.len()];
    let mut known = VecDeque::new();
    if let Some(first) = offsets.first_mut() {
        *first = Some(0);
        known.push_back((0, 0));
    }
    let end = |rank: usize, place: u32| recordings[rank].collectives[place as usize].end_ns();
    while let Some((from, offset_ns)) = known.pop_front() {
        let mut apart: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        for group in groups {
            let Some(own) = group.ranks.iter().position(|rank| *rank == from) else { continue };
            let unknown: Vec<usize> =
                (0..group.ranks.len()).filter(|&nth| offsets[group.ranks[nth]].is_none()).collect();
            if unknown.is_empty() {
                continue;
            }
            for row in group.rows() {
                for &nth in &unknown {
                    let rank = group.ranks[nth];
                    apart.entry(rank).or_default().push(end(rank, row[nth]) - end(from, row[own]));
                }
            }
        }
        for (rank, mut apart) in apart {
            if let Some(median_ns) = median(&mut apart) {
                offsets[rank] = Some(offset_ns + median_ns);
                known.push_back((rank, offset_ns + median_ns));
            }
        }
    }
    offsets
}
