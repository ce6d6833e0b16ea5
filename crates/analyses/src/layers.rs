//! Time in steps by layers of intervals: an instant belongs to the lowest layer that is active, and counts once.
//!
//! Sums of durations count an instant as often as threads and streams do something in it, so they can be longer than the
//! step. What a finding puts at stake is worked out here instead.

use std::collections::BTreeMap;

use stepscope_model::SourceId;
use stepscope_runs::RunError;

use super::Asking;
use super::step_times::StepTime;

/// Steps as (start, end, time in steps before it), without overlaps, by start.
type Ranges = Vec<(i64, i64, i64)>;

/// Complete steps of each rank and window.
#[derive(Debug, Default)]
pub(super) struct StepRanges {
    by_source: BTreeMap<(i64, i64), Ranges>,
}

impl StepRanges {
    pub(super) fn of(steps: &[StepTime]) -> Self {
        let mut complete: Vec<&StepTime> = steps.iter().filter(|step| step.is_complete).collect();
        complete.sort_by_key(|step| step.start_ns);
        let mut by_source: BTreeMap<(i64, i64), Ranges> = BTreeMap::new();
        for step in complete {
            let ranges = by_source.entry((step.rank, step.window)).or_default();
            let (last_end, before) = ranges.last().map_or((i64::MIN, 0), |(from, to, sum)| (*to, sum + to - from));
            let (start, end) = (step.start_ns.max(last_end), step.start_ns + step.dur_ns);
            if start < end {
                ranges.push((start, end, before));
            }
        }
        Self { by_source }
    }

    /// The parts that lie before a time of their source; nothing of sources that have none.
    pub(super) fn until(&self, times: &BTreeMap<SourceId, i64>) -> Self {
        let id = |(rank, window): &(i64, i64)| SourceId { rank: *rank as u32, window: *window as u32 };
        let clipped = |(source, ranges): (&(i64, i64), &Ranges)| {
            let until = *times.get(&id(source))?;
            let before = ranges.iter().filter(|(start, _, _)| *start < until);
            Some((*source, before.map(|(start, end, sum)| (*start, *end.min(&until), *sum)).collect()))
        };
        Self { by_source: self.by_source.iter().filter_map(clipped).collect() }
    }

    /// How many steps some ranks have.
    pub(super) fn count(&self, is_counted: impl Fn(i64) -> bool) -> usize {
        self.by_source.iter().filter(|((rank, _), _)| is_counted(*rank)).map(|(_, ranges)| ranges.len()).sum()
    }

    /// Those of a rank together.
    pub(super) fn of_rank_ns(&self, rank: i64) -> i64 {
        let of_rank = self.by_source.iter().filter(|((known, _), _)| *known == rank);
        of_rank.flat_map(|(_, ranges)| ranges).map(|(start, end, _)| end - start).sum()
    }

    /// All of them together.
    pub(super) fn total_ns(&self) -> i64 {
        self.by_source.values().flatten().map(|(start, end, _)| end - start).sum()
    }

    /// Time in steps before `time`.
    fn before(ranges: &[(i64, i64, i64)], time: i64) -> i64 {
        let next = ranges.partition_point(|(start, _, _)| *start < time);
        let Some((start, end, before)) = next.checked_sub(1).map(|place| ranges[place]) else { return 0 };
        before + time.min(end) - start
    }
}

/// A walk over the intervals of one source, by their starts.
struct Sweep<'a, const LAYERS: usize> {
    steps: &'a [(i64, i64, i64)],
    now: i64,
    /// When what is active in each layer ends.
    until: [i64; LAYERS],
    sums: [i64; LAYERS],
}

impl<'a, const LAYERS: usize> Sweep<'a, LAYERS> {
    fn new(steps: &'a [(i64, i64, i64)]) -> Self {
        Self { steps, now: i64::MIN, until: [i64::MIN; LAYERS], sums: [0; LAYERS] }
    }

    fn advance(&mut self, to: i64) {
        while self.now < to {
            let Some(layer) = self.until.iter().position(|until| *until > self.now) else { break };
            let next = self.until[layer].min(to);
            self.sums[layer] += StepRanges::before(self.steps, next) - StepRanges::before(self.steps, self.now);
            self.now = next;
        }
        self.now = to;
    }

    fn take(&mut self, start: i64, end: i64, layer: usize) {
        self.advance(start);
        self.until[layer] = self.until[layer].max(end);
    }
}

/// How long each layer is the lowest that is active, in complete steps, added up over sources. `intervals` is a
/// statement that gives `rank`, `window`, `start_ns`, `end_ns` and `layer`, which is below `LAYERS`.
pub(super) fn time_by_layer<const LAYERS: usize>(
    asking: &Asking<'_>,
    steps: &StepRanges,
    intervals: &str,
) -> Result<[i64; LAYERS], RunError> {
    let mut sums = [0; LAYERS];
    let mut current: Option<((i64, i64), Sweep<'_, LAYERS>)> = None;
    let mut close = |open: Option<((i64, i64), Sweep<'_, LAYERS>)>| {
        if let Some((_, mut sweep)) = open {
            sweep.advance(i64::MAX);
            sums.iter_mut().zip(sweep.sums).for_each(|(sum, ns)| *sum += ns);
        }
    };
    let statement = format!(
        "SELECT rank, \"window\", start_ns, end_ns, CAST(layer AS BIGINT) AS layer FROM ({intervals})
         ORDER BY rank, \"window\", start_ns"
    );
    asking.walk(&statement, |rows| {
        let column = |name: &str| rows.required_i64(name);
        let (ranks, windows, layers) = (column("rank")?, column("window")?, column("layer")?);
        let (starts, ends) = (column("start_ns")?, column("end_ns")?);
        for row in 0..rows.rows() {
            let source = (ranks[row], windows[row]);
            if current.as_ref().is_none_or(|(open, _)| *open != source) {
                let ranges = steps.by_source.get(&source).map_or(&[][..], Vec::as_slice);
                close(current.replace((source, Sweep::new(ranges))));
            }
            if let Some((_, sweep)) = &mut current {
                sweep.take(starts[row], ends[row], layers[row] as usize);
            }
        }
        Ok(())
    })?;
    close(current);
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_counts_once_and_only_in_steps() {
        // Steps from 0 to 100 and from 110 to 200.
        let steps = [(0, 100, 0), (110, 200, 100)];
        let check = |intervals: &[(i64, i64, usize)], want: [i64; 3]| {
            let mut sweep = Sweep::<3>::new(&steps);
            for (start, end, layer) in intervals {
                sweep.take(*start, *end, *layer);
            }
            sweep.advance(i64::MAX);
            assert_eq!(sweep.sums, want, "{intervals:?}");
        };
        check(&[], [0, 0, 0]);
        // Two threads at once.
        check(&[(10, 30, 0), (20, 40, 0)], [30, 0, 0]);
        // What a lower layer hides, on both of its sides.
        check(&[(0, 50, 1), (10, 30, 0), (20, 60, 2)], [20, 30, 10]);
        // Before, between and behind the steps.
        check(&[(-20, 10, 0), (90, 120, 1), (190, 300, 2)], [10, 20, 10]);
        // One inside another does not end it.
        check(&[(0, 90, 0), (10, 20, 0), (30, 100, 1)], [90, 10, 0]);
    }

    #[test]
    fn steps_that_overlap_are_not_counted_twice() {
        let step = |start_ns, dur_ns| StepTime {
            rank: 0,
            window: 0,
            step: 0,
            number: 0,
            name: String::new(),
            start_ns,
            dur_ns,
            host_dur_ns: dur_ns,
            device_events: 0,
            is_complete: true,
            samples: None,
            shares: None,
        };
        let ranges = StepRanges::of(&[step(0, 100), step(50, 100), step(60, 10)]);
        assert_eq!(ranges.by_source[&(0, 0)], [(0, 100, 0), (100, 150, 100)]);
    }
}
