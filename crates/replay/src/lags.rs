//! How long launches and gaps usually take on a device (A3).

use crate::recording::Recording;
use crate::streams::Streams;

/// A gap that is taken where nothing was ever queued.
const GAP_AT_MOST_NS: i64 = 1_000;

/// Typical lags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypicalLags {
    /// From the start of a call to the start of what it launched on an idle stream.
    pub launch_ns: i64,
    /// Between two events of a stream, both queued.
    pub gap_ns: i64,
    /// From the end of what was awaited to the return of the call.
    pub return_ns: i64,
    /// Of a waiting call that has nothing to wait for.
    pub own_ns: i64,
}

/// The lags of launches and gaps, over all events.
pub(crate) fn device_lags(recording: &Recording, streams: &Streams) -> TypicalLags {
    let (mut idle, mut queued, mut seen_gap) = (Vec::new(), Vec::new(), None::<i64>);
    for list in &streams.by_start {
        for pair in list.windows(2) {
            let [before, event] = [pair[0], pair[1]].map(|place| &recording.events[place as usize]);
            let is_same_launch = event.launch.is_some() && before.launch == event.launch;
            if is_same_launch {
                continue;
            }
            let gap = event.start_ns - before.end_ns();
            if gap >= 0 {
                seen_gap = Some(seen_gap.map_or(gap, |least| least.min(gap)));
            }
            let Some(call) = recording.launch_of(event) else { continue };
            if before.end_ns() <= call.start_ns {
                idle.push(event.start_ns - call.start_ns);
            } else if call.end_ns() <= before.start_ns && gap >= 0 {
                queued.push(gap);
            }
        }
    }
    let launch_ns = median(&mut idle).unwrap_or_else(|| {
        let all = recording.events.iter().filter_map(|event| {
            recording.launch_of(event).map(|call| event.start_ns - call.start_ns).filter(|lag| *lag >= 0)
        });
        all.min().unwrap_or(0)
    });
    let gap_ns = median(&mut queued).unwrap_or_else(|| seen_gap.map_or(0, |gap| gap.min(GAP_AT_MOST_NS)));
    TypicalLags { launch_ns, gap_ns, ..TypicalLags::default() }
}

/// The middle value, by nearest rank: of an even count the lower one.
pub(crate) fn median(values: &mut [i64]) -> Option<i64> {
    let middle = values.len().div_ceil(2).checked_sub(1)?;
    Some(*values.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_nearest_rank() {
        for (values, want) in
            [(&mut [][..], None), (&mut [3][..], Some(3)), (&mut [4, 1][..], Some(1)), (&mut [9, 1, 5][..], Some(5))]
        {
            assert_eq!(median(values), want);
        }
    }
}
