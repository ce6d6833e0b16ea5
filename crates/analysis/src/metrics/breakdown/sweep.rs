//! Goes through time once, from one change of the active classes to the next, and shares it out to windows.

use super::{ACTIVE_CLASSES, Breakdown, Shares};

/// A window that time is shared out to.
struct Window {
    start_ns: i64,
    end_ns: i64,
    shares: Shares,
}

/// Spans come in the order of their starts, so for each class only the latest end must be known.
pub(super) struct Sweep {
    /// Everything before is shared out; none before the first span.
    now_ns: Option<i64>,
    /// End of the latest span, of whatever class.
    last_end_ns: i64,
    /// Until when each class is active; not before `now_ns` if it is.
    active_until_ns: [i64; ACTIVE_CLASSES],
    whole: Shares,
    /// By start; they may overlap.
    windows: Vec<Window>,
    /// Windows that began before `now_ns` and go on.
    open: Vec<usize>,
    /// First window that has not begun.
    next: usize,
}

impl Sweep {
    /// `windows` must come in the order of their starts.
    pub(super) fn new(windows: impl Iterator<Item = (i64, i64)>) -> Self {
        let windows = windows.map(|(start_ns, end_ns)| Window { start_ns, end_ns, shares: Shares::default() });
        Self {
            now_ns: None,
            last_end_ns: i64::MIN,
            active_until_ns: [i64::MIN; ACTIVE_CLASSES],
            whole: Shares::default(),
            windows: windows.collect(),
            open: Vec::new(),
            next: 0,
        }
    }

    /// Takes the next span. A class behind the active ones is no work, but its span still is part of the trace.
    pub(super) fn take(&mut self, start_ns: i64, end_ns: i64, class: usize) {
        self.advance(start_ns);
        self.last_end_ns = self.last_end_ns.max(end_ns);
        if let Some(until) = self.active_until_ns.get_mut(class) {
            *until = (*until).max(end_ns);
        }
    }

    /// What every window got, in the order they came in.
    pub(super) fn finish(mut self) -> Breakdown {
        self.advance(self.last_end_ns);
        let whole_trace = self.now_ns.map(|_| self.whole);
        Breakdown { steps: self.windows.into_iter().map(|window| window.shares).collect(), whole_trace }
    }

    fn advance(&mut self, to_ns: i64) {
        let Some(mut now_ns) = self.now_ns else {
            // Without any span there is nothing to share out; `to_ns` is then before all time.
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

    fn share_out(&mut self, start_ns: i64, end_ns: i64, is_active: [bool; ACTIVE_CLASSES]) {
        self.whole.add(is_active, end_ns - start_ns);
        while self.windows.get(self.next).is_some_and(|window| window.start_ns < end_ns) {
            self.open.push(self.next);
            self.next += 1;
        }
        for &index in &self.open {
            let window = &mut self.windows[index];
            let (start_ns, end_ns) = (start_ns.max(window.start_ns), end_ns.min(window.end_ns));
            window.shares.add(is_active, (end_ns - start_ns).max(0));
        }
        self.open.retain(|index| self.windows[*index].end_ns > end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of the classes, in their order, in each window.
    #[track_caller]
    fn check(windows: &[(i64, i64)], spans: &[(i64, i64, usize)], want: &[[i64; 8]]) {
        let mut sweep = Sweep::new(windows.iter().copied());
        for (start, end, class) in spans {
            sweep.take(*start, *end, *class);
        }
        let steps = sweep.finish().steps;
        assert_eq!(steps.iter().map(|shares| shares.by_class).collect::<Vec<_>>(), want);
        for (shares, (start, end)) in steps.iter().zip(windows) {
            assert_eq!(shares.total_ns(), end - start, "the classes fill the window");
        }
    }

    #[test]
    fn an_instant_belongs_to_the_first_active_class() {
        // A step that kernels cover: nothing is left for the others.
        let spans = [(0, 100, 0), (0, 5, 4), (0, 90, 6), (20, 40, 1)];
        check(&[(0, 100)], &spans, &[[100, 0, 0, 0, 0, 0, 0, 0]]);
        // Each class ends ten later than the one before.
        let ladder = [(0, 10, 0), (0, 20, 1), (0, 30, 2), (0, 40, 3), (0, 50, 4), (0, 60, 5), (0, 70, 6), (0, 80, 7)];
        check(&[(0, 80)], &ladder, &[[10; 8]]);
        // A shorter span of the same class takes nothing back.
        check(&[(0, 30)], &[(0, 30, 6), (5, 10, 6), (10, 20, 4)], &[[0, 0, 0, 0, 10, 0, 20, 0]]);
    }

    #[test]
    fn windows_are_cut_apart() {
        let spans = [(0, 100, 0), (100, 120, 7)];
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
        for (start, end, class) in [(-50, -40, 7), (0, 10, 0), (5, 30, 3), (40, 40, 7)] {
            sweep.take(start, end, class);
        }
        let whole = sweep.finish().whole_trace.unwrap();
        assert_eq!(whole.by_class, [10, 0, 0, 20, 0, 0, 0, 60]);
        assert_eq!((whole.communication_ns, whole.overlap_ns), (25, 5));
        assert!(Sweep::new([].into_iter()).finish().whole_trace.is_none());
    }
}
