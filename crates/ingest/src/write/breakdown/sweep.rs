//! Goes through time once, from one change of what is active to the next, and shares it out to windows.

use stepscope_model::Class;

use super::Activity;
use crate::write::windows::Windows;

const ACTIVITIES: usize = Activity::ALL.len();

/// How a stretch of time is shared between the classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shares {
    by_class: [i64; Class::ALL.len()],
    /// Time in which anything communicates, whether or not a kernel runs.
    pub(super) communication_ns: i64,
    /// The part of it in which a kernel computes.
    pub(super) overlap_ns: i64,
    /// Time in which a kernel of any kind runs.
    pub(super) kernel_busy_ns: i64,
    /// Time in which a device does anything.
    pub(super) device_busy_ns: i64,
}

impl Shares {
    /// The time that goes to a class.
    pub(super) fn of(&self, class: Class) -> i64 {
        self.by_class[class as usize]
    }

    fn add(&mut self, is_active: [bool; ACTIVITIES], length_ns: i64) {
        let active =
            || Activity::ALL.iter().zip(is_active).filter(|(_, is_active)| *is_active).map(|(active, _)| *active);
        let class = active().next().map_or(Class::Other, |active| active.class);
        self.by_class[class as usize] += length_ns;
        let computes = active().any(|active| active.class == Class::Kernel);
        if active().any(|active| active.class == Class::Communication) {
            self.communication_ns += length_ns;
            self.overlap_ns += if computes { length_ns } else { 0 };
        }
        let is_kernel = |active: Activity| matches!(active.class, Class::Kernel | Class::Communication);
        if active().any(|active| active.is_device && is_kernel(active)) {
            self.kernel_busy_ns += length_ns;
        }
        if active().any(|active| active.is_device) {
            self.device_busy_ns += length_ns;
        }
    }
}

/// Intervals come in the order of their starts, so for each activity only the latest end must be known.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Everything before is shared out; none before the first interval.
    now_ns: Option<i64>,
    /// End of the latest interval, of whatever kind.
    last_end_ns: i64,
    /// Until when each activity goes on; not before `now_ns` if it does.
    active_until_ns: [i64; ACTIVITIES],
    whole: Shares,
    windows: Windows<Shares>,
}

impl Sweep {
    /// `windows` must come in the order of their starts.
    pub(super) fn new(windows: impl Iterator<Item = (i64, i64)>) -> Self {
        Self {
            now_ns: None,
            last_end_ns: i64::MIN,
            active_until_ns: [i64::MIN; ACTIVITIES],
            whole: Shares::default(),
            windows: Windows::new(windows),
        }
    }

    /// Takes the next interval. One without an activity is no work, but still part of the trace.
    pub(super) fn take(&mut self, start_ns: i64, end_ns: i64, activity: Option<Activity>) {
        self.advance(start_ns);
        self.last_end_ns = self.last_end_ns.max(end_ns);
        if let Some(index) = activity.and_then(Activity::index) {
            self.active_until_ns[index] = self.active_until_ns[index].max(end_ns);
        }
    }

    /// What every window got, in the order they came in, and the whole if there was anything.
    pub(super) fn finish(mut self) -> (Vec<Shares>, Option<Shares>) {
        self.advance(self.last_end_ns);
        let whole = self.now_ns.map(|_| self.whole);
        (self.windows.finish().into_iter().map(|window| window.got).collect(), whole)
    }

    fn advance(&mut self, to_ns: i64) {
        let Some(mut now_ns) = self.now_ns else {
            // Without any interval there is nothing to share out; `to_ns` is then before all time.
            self.now_ns = (to_ns > i64::MIN).then_some(to_ns);
            return;
        };
        while now_ns < to_ns {
            let is_active = self.active_until_ns.map(|until| until > now_ns);
            let change = self.active_until_ns.into_iter().filter(|until| *until > now_ns).min();
            let until_ns = change.unwrap_or(to_ns).min(to_ns);
            self.share_out(now_ns, until_ns, is_active);
            now_ns = until_ns;
        }
        self.now_ns = Some(now_ns);
    }

    fn share_out(&mut self, start_ns: i64, end_ns: i64, is_active: [bool; ACTIVITIES]) {
        self.whole.add(is_active, end_ns - start_ns);
        self.windows.share_out(start_ns, end_ns, |shares, length_ns| shares.add(is_active, length_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of the classes, in their order, in each window.
    #[track_caller]
    fn check(windows: &[(i64, i64)], spans: &[(i64, i64, usize)], want: &[[i64; 8]]) {
        let mut sweep = Sweep::new(windows.iter().copied());
        for (start, end, activity) in spans {
            sweep.take(*start, *end, Activity::ALL.get(*activity).copied());
        }
        let (steps, _) = sweep.finish();
        assert_eq!(steps.iter().map(|shares| shares.by_class).collect::<Vec<_>>(), want);
        for (shares, (start, end)) in steps.iter().zip(windows) {
            assert_eq!(shares.by_class.iter().sum::<i64>(), end - start, "the classes fill the window");
        }
    }

    #[test]
    fn an_instant_belongs_to_the_first_active_class() {
        // A step that kernels cover: nothing is left for the others.
        let spans = [(0, 100, 0), (0, 5, 5), (0, 90, 7), (20, 40, 1)];
        check(&[(0, 100)], &spans, &[[100, 0, 0, 0, 0, 0, 0, 0]]);
        // Each class ends ten later than the one before.
        let ladder = [(0, 10, 0), (0, 20, 1), (0, 30, 2), (0, 40, 3), (0, 50, 5), (0, 60, 6), (0, 70, 7), (0, 80, 8)];
        check(&[(0, 80)], &ladder, &[[10; 8]]);
        // A shorter span of the same class takes nothing back.
        check(&[(0, 30)], &[(0, 30, 7), (5, 10, 7), (10, 20, 5)], &[[0, 0, 0, 0, 10, 0, 20, 0]]);
    }

    #[test]
    fn windows_are_cut_apart() {
        let spans = [(0, 100, 0), (100, 120, 8)];
        check(
            &[(0, 10), (10, 10), (10, 60), (90, 120)],
            &spans,
            &[[10, 0, 0, 0, 0, 0, 0, 0], [0; 8], [50, 0, 0, 0, 0, 0, 0, 0], [10, 0, 0, 0, 0, 0, 0, 20]],
        );
        // Marks that overlap each count all of their time.
        check(
            &[(0, 60), (40, 100), (50, 55)],
            &spans,
            &[[60, 0, 0, 0, 0, 0, 0, 0], [60, 0, 0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 0]],
        );
    }

    #[test]
    fn the_whole_reaches_from_the_first_start_to_the_last_end() {
        let mut sweep = Sweep::new([].into_iter());
        let spans = [(-50, -40, None), (0, 10, Some(0)), (5, 30, Some(3)), (40, 40, None)];
        for (start, end, activity) in spans {
            sweep.take(start, end, activity.map(|index: usize| Activity::ALL[index]));
        }
        let whole = sweep.finish().1.unwrap();
        assert_eq!(whole.by_class, [10, 0, 0, 20, 0, 0, 0, 60]);
        assert_eq!((whole.communication_ns, whole.overlap_ns), (25, 5));
        assert!(Sweep::new([].into_iter()).finish().1.is_none());
    }

    #[test]
    fn devices_are_busy_when_they_work() {
        let mut sweep = Sweep::new([(0, 100)].into_iter());
        // A kernel, a copy behind it, a collective on the device, one on the host.
        for (start, end, activity) in [(0, 10, 0), (5, 20, 1), (30, 40, 3), (50, 70, 4)] {
            sweep.take(start, end, Some(Activity::ALL[activity]));
        }
        sweep.take(100, 100, None);
        let shares = &sweep.finish().0[0];
        assert_eq!((shares.kernel_busy_ns, shares.device_busy_ns, shares.communication_ns), (20, 30, 30));
    }
}
