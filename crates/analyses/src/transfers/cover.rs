//! How much of the time of copies and fills kernels of the same device run.

use std::collections::HashMap;

use stepscope_model::{Sentence, say};
use stepscope_runs::RunError;

use super::{Group, groups};
use crate::Asking;

/// Rank, window and device.
type Place = (i64, i64, Option<i64>);

/// From start to end.
type Interval = (i64, i64);

/// Time that some copies take together, and how much of it kernels of the same device run meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cover {
    pub copy_ns: i64,
    pub hidden_ns: i64,
}

/// The covers of a question.
#[derive(Debug, Default)]
pub(super) struct Covers {
    pub by_group: HashMap<Group, Cover>,
    /// Of all copies and fills together.
    pub all: Cover,
    /// Of those from or to pageable memory.
    pub pageable: Cover,
}

impl Covers {
    /// Any kernel of a device can hide a copy, whichever step it belongs to. `keys` are what rows are grouped by.
    pub(super) fn read(asking: &Asking<'_>, keys: &str) -> Result<Self, RunError> {
        let copies = read_copies(asking, keys)?;
        let mut covers = Self::default();
        if copies.is_empty() {
            return Ok(covers);
        }
        let mut kernels = read_kernels(asking)?;
        for (place, by_group) in copies {
            let kernels = joined(kernels.remove(&place).unwrap_or_default());
            let of_groups = |is_asked: fn(&Group) -> bool| {
                let asked = by_group.iter().filter(|(group, _)| is_asked(group));
                cover(asked.flat_map(|(_, intervals)| intervals.iter().copied()).collect(), &kernels)
            };
            covers.all.add(of_groups(|_| true));
            covers.pageable.add(of_groups(|(name, _)| name.as_ref().is_some_and(|name| name.contains("Pageable"))));
            for (group, intervals) in by_group {
                covers.by_group.entry(group).or_default().add(cover(intervals, &kernels));
            }
        }
        Ok(covers)
    }
}

impl Cover {
    pub(super) fn hidden_ratio(self) -> Option<f64> {
        (self.copy_ns > 0).then(|| self.hidden_ns as f64 / self.copy_ns as f64)
    }

    pub(super) fn in_words(self) -> Sentence {
        match self.hidden_ratio() {
            None => "they take no time".into(),
            Some(0.0) => "none of it is hidden by kernels".into(),
            Some(_) if self.hidden_ns == self.copy_ns => "all of it is hidden by kernels".into(),
            Some(ratio) => say!("{} of its time is hidden by kernels", say::ratio(ratio)),
        }
    }

    fn add(&mut self, other: Self) {
        self.copy_ns += other.copy_ns;
        self.hidden_ns += other.hidden_ns;
    }
}

/// Copies and fills by where they run and what they are grouped by.
type Copies = HashMap<Place, HashMap<Group, Vec<Interval>>>;

fn read_copies(asking: &Asking<'_>, keys: &str) -> Result<Copies, RunError> {
    let statement = format!(
        "SELECT name, {keys}, rank AS on_rank, \"window\" AS on_window, device_id AS on_device, start_ns, end_ns
         FROM device_events WHERE {{events}} AND kind IN ('memcpy', 'memset')"
    );
    let mut copies = Copies::new();
    asking.walk(&statement, |frame| {
        let (ranks, windows) = (frame.required_i64("on_rank")?, frame.required_i64("on_window")?);
        let (devices, starts, ends) =
            (frame.i64("on_device")?, frame.required_i64("start_ns")?, frame.required_i64("end_ns")?);
        for (row, group) in groups(frame)?.into_iter().enumerate() {
            let of_place = copies.entry((ranks[row], windows[row], devices[row])).or_default();
            of_place.entry(group).or_default().push((starts[row], ends[row]));
        }
        Ok(())
    })?;
    Ok(copies)
}

fn read_kernels(asking: &Asking<'_>) -> Result<HashMap<Place, Vec<Interval>>, RunError> {
    let statement = "SELECT rank, \"window\", device_id, start_ns, end_ns FROM device_events
                     WHERE {source} AND kind = 'kernel'";
    let mut kernels: HashMap<Place, Vec<Interval>> = HashMap::new();
    asking.walk(statement, |frame| {
        let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
        let (devices, starts, ends) =
            (frame.i64("device_id")?, frame.required_i64("start_ns")?, frame.required_i64("end_ns")?);
        for row in 0..frame.rows() {
            kernels.entry((ranks[row], windows[row], devices[row])).or_default().push((starts[row], ends[row]));
        }
        Ok(())
    })?;
    Ok(kernels)
}

/// In order, and those that touch as one.
fn joined(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_unstable();
    let mut joined: Vec<Interval> = Vec::new();
    for (start, end) in intervals {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// `kernels` are in order and apart.
fn cover(copies: Vec<Interval>, kernels: &[Interval]) -> Cover {
    let mut cover = Cover::default();
    for (start, end) in joined(copies) {
        cover.copy_ns += end - start;
        let first = kernels.partition_point(|kernel| kernel.1 <= start);
        let meanwhile = kernels[first..].iter().take_while(|kernel| kernel.0 < end);
        cover.hidden_ns += meanwhile.map(|kernel| kernel.1.min(end) - kernel.0.max(start)).sum::<i64>();
    }
    cover
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_once_however_many_run() {
        let kernels = joined(vec![(0, 10), (5, 20), (20, 30), (50, 60)]);
        assert_eq!(kernels, [(0, 30), (50, 60)]);
        // From 25 to 55, by two copies that overlap: kernels run for 5 at each end.
        assert_eq!(cover(vec![(25, 40), (35, 55)], &kernels), Cover { copy_ns: 30, hidden_ns: 10 });
        // What only touches is not hidden.
        assert_eq!(cover(vec![(30, 50)], &kernels), Cover { copy_ns: 20, hidden_ns: 0 });
        assert_eq!(cover(vec![(7, 7)], &kernels), Cover::default());
    }
}
