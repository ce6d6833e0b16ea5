//! Where ranks wait for each other: a collective ends when the last of them has arrived and the transfer is done (A9).

use super::matching::MatchedGroup;
use crate::class::{EdgeKind, PathClass};
use crate::device::Device;
use crate::draft::{Draft, Edge, NONE, Node, Point, Subject};
use crate::path::Join;
use crate::rank::Rank;

/// The collectives of the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined {
    /// Those at which the ranks meet.
    pub joins: Vec<Join>,
    /// For each rank its part in those that were matched.
    pub parts: Vec<Vec<Part>>,
}

/// What one rank does in a matched collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The end of its kernel.
    pub end: Node,
    /// How long the rank that waited least took.
    pub transfer_ns: i64,
    /// How much longer this one took.
    pub wait_ns: i64,
}

/// A kernel of a collective, in the window of its rank.
struct Kernel {
    start: Node,
    event: u32,
    rank: usize,
}

/// Adds the joins of matched collectives that are in the window of every rank.
pub(crate) fn add_joins(ranks: &[Rank], devices: &[Device], groups: &[MatchedGroup], draft: &mut Draft) -> Joined {
    let mut joined = Joined { joins: Vec::new(), parts: vec![Vec::new(); ranks.len()] };
    for group in groups {
        for row in group.rows() {
            let collectives = group.ranks.iter().zip(row);
            let collectives =
                collectives.map(|(&rank, &place)| (rank, &ranks[rank].recording.collectives[place as usize]));
            let transfer_ns = collectives.clone().map(|(_, collective)| collective.dur_ns).min().unwrap_or(0);
            let mut kernels = Vec::with_capacity(row.len());
            for (rank, collective) in collectives {
                let Some(event) = collective.event else { continue };
                let Some(start) = devices[rank].inside_start(event) else { continue };
                let wait_ns = collective.dur_ns - transfer_ns;
                joined.parts[rank].push(Part { end: start + 1, transfer_ns, wait_ns });
                kernels.push(Kernel { start, event, rank });
            }
            if kernels.len() == row.len() {
                let number = joined.joins.len() as u32;
                joined.joins.extend(add_join(&kernels, transfer_ns, number, draft));
            }
        }
    }
    joined
}

/// Makes the ends of the kernels wait for the start of the last; `None` if one had ended before.
fn add_join(kernels: &[Kernel], transfer_ns: i64, number: u32, draft: &mut Draft) -> Option<Join> {
    let latest_ns = kernels.iter().map(|kernel| draft.time(kernel.start)).max()?;
    let earliest_end_ns = kernels.iter().map(|kernel| draft.time(kernel.start + 1)).min()?;
    let time_ns = (latest_ns + transfer_ns).min(earliest_end_ns);
    if time_ns < latest_ns {
        return None;
    }
    let point = Point {
        subject: Subject::Join(number),
        is_start: false,
        class: PathClass::Communication,
        owner: NONE,
        is_bare: false,
        is_history: false,
    };
    let join = draft.add_node(time_ns, point);
    let arrive =
        |kernel: &Kernel| Edge { source: kernel.start, kind: EdgeKind::Arrive, typical_ns: time_ns - latest_ns };
    draft.replace_edges(join, kernels.iter().map(arrive));
    for kernel in kernels {
        let all = Edge { source: join, kind: EdgeKind::Join, typical_ns: 0 };
        let own = Edge { source: kernel.start, kind: EdgeKind::Idle, typical_ns: 0 };
        draft.replace_edges(kernel.start + 1, [all, own]);
    }
    kernels.first().map(|kernel| Join { rank: kernel.rank, event: kernel.event })
}
