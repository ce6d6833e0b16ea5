//! How many launches wait for each stream: one more when a call starts, one less when its work does (metrics, section 13).

use std::collections::BTreeMap;

use stepscope_runs::{Frame, RunError};

/// A device cannot start what was not launched; such pairs tell of clocks that disagree.
pub(crate) const IN_ORDER: &str = "latency_ns >= 0";

/// The launches of a condition, for [`Queues::take`].
#[must_use]
pub fn statement(condition: &str) -> String {
    format!(
        "SELECT rank, \"window\", device_id, stream_id, start_ns, device_start_ns
         FROM launches WHERE {condition} AND {IN_ORDER}"
    )
}

/// A stream of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Rank of the recording.
    pub rank: i64,
    /// Window of the recording.
    pub window: i64,
    /// Its device.
    pub device: Option<i64>,
    /// Its number on the device.
    pub stream: Option<i64>,
}

/// What waited for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    pub longest: i64,
    /// Below the curve: launches times nanoseconds.
    pub area: i64,
    /// From the first change to the last.
    pub length_ns: i64,
}

/// Launches being gathered: when calls start, and when their work does.
#[derive(Debug, Default)]
pub struct Queues {
    streams: BTreeMap<Place, (Vec<i64>, Vec<i64>)>,
}

impl Queues {
    /// Takes some launches.
    pub fn take(&mut self, rows: &Frame) -> Result<(), RunError> {
        let (ranks, windows) = (rows.required_i64("rank")?, rows.required_i64("window")?);
        let (devices, streams) = (rows.i64("device_id")?, rows.i64("stream_id")?);
        let (calls, begins) = (rows.required_i64("start_ns")?, rows.required_i64("device_start_ns")?);
        for row in 0..rows.rows() {
            let (rank, window) = (ranks[row], windows[row]);
            let place = Place { rank, window, device: devices[row], stream: streams[row] };
            let (of_calls, of_work) = self.streams.entry(place).or_default();
            of_calls.push(calls[row]);
            of_work.push(begins[row]);
        }
        Ok(())
    }

    /// How every queue changes: times, and how many launches wait from then on.
    pub fn levels(self) -> impl Iterator<Item = (Place, Vec<(i64, i64)>)> {
        self.streams.into_iter().map(|(place, (calls, work))| (place, levels(calls, work)))
    }

    /// Follows every queue from its first change to its last.
    pub(crate) fn follow(self) -> impl Iterator<Item = (Place, Queue)> {
        self.streams.into_iter().map(|(place, (calls, work))| (place, follow(calls, work)))
    }
}

/// How many launches wait after each change. At equal times work begins before a call does.
fn levels(calls: Vec<i64>, work: Vec<i64>) -> Vec<(i64, i64)> {
    let mut changes: Vec<(i64, i64)> =
        work.into_iter().map(|begin| (begin, -1)).chain(calls.into_iter().map(|call| (call, 1))).collect();
    changes.sort_unstable();
    let mut waiting = 0;
    for (_, change) in &mut changes {
        waiting += *change;
        *change = waiting;
    }
    changes
}

/// At equal times work begins before a call does.
fn follow(mut calls: Vec<i64>, mut work: Vec<i64>) -> Queue {
    calls.sort_unstable();
    work.sort_unstable();
    let (mut waiting, mut longest, mut begun) = (0, 0, 0);
    for call in &calls {
        while work.get(begun).is_some_and(|begin| begin <= call) {
            waiting -= 1;
            begun += 1;
        }
        waiting += 1;
        longest = longest.max(waiting);
    }
    let first = calls.first().copied().unwrap_or(0).min(work.first().copied().unwrap_or(0));
    let last = calls.last().copied().unwrap_or(0).max(work.last().copied().unwrap_or(0));
    // Every launch waits from its call to its work, so the times of both give the area.
    let area = work.iter().zip(&calls).map(|(begin, call)| begin - call).sum();
    Queue { longest, area, length_ns: last - first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_begins_when_a_call_starts_no_longer_waits() {
        assert_eq!(follow(vec![0, 10, 20], vec![10, 30, 25]), Queue { longest: 2, area: 35, length_ns: 30 });
        assert_eq!(follow(vec![0, 0, 0], vec![5, 5, 5]), Queue { longest: 3, area: 15, length_ns: 5 });
        assert_eq!(levels(vec![0, 10, 20], vec![10, 30, 25]), [(0, 1), (10, 0), (10, 1), (20, 2), (25, 1), (30, 0)]);
        // Work that begins with its call: it is gone before it comes, and one waits for no time.
        assert_eq!(follow(vec![7], vec![7]), Queue { longest: 0, area: 0, length_ns: 0 });
    }
}
