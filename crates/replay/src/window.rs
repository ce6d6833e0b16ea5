//! The steps of a recording, which of them are looked at, and which moments belong to them (A1).

use std::ops::Range;

use stepscope_model::StepSource;

/// Steps of a window at most, unless a setting says otherwise.
pub const WINDOW_STEPS: usize = 32;

/// A step (metrics, section 5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the mark.
    pub name: String,
    /// Start, after the work of the step before.
    pub start_ns: i64,
    /// Length.
    pub dur_ns: i64,
    /// Start of the mark on the host.
    pub host_start_ns: i64,
    /// Length of the mark.
    pub host_dur_ns: i64,
    /// Whether its device work was recorded to the end.
    pub is_complete: bool,
}

/// Consecutive complete steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Places of the steps among all of the recording.
    pub steps: Range<usize>,
    /// Start of the first on the host.
    pub start_ns: i64,
    /// End of the last on the host; one more if the whole trace is the step, so that its end is inside.
    pub end_ns: i64,
}

impl Step {
    /// End of the mark on the host.
    #[must_use]
    pub fn host_end_ns(&self) -> i64 {
        self.host_start_ns + self.host_dur_ns
    }

    /// End.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.dur_ns
    }
}

impl Window {
    /// The longest run of complete steps, of equally long ones the last; at most its last `most` steps. `None` if no
    /// step is complete.
    #[must_use]
    pub fn of(steps: &[Step], source: StepSource, most: usize) -> Option<Self> {
        let mut best = 0..0;
        let mut run = 0..0;
        for (place, step) in steps.iter().enumerate() {
            if !step.is_complete {
                run = place + 1..place + 1;
                continue;
            }
            run.end = place + 1;
            if run.len() >= best.len() {
                best = run.clone();
            }
        }
        Self::at_end(steps, source, best, most)
    }

    /// The complete steps up to one, at most `most` of them. `None` if that step is not complete.
    #[must_use]
    pub fn ending_with(steps: &[Step], source: StepSource, last: usize, most: usize) -> Option<Self> {
        let before = steps.get(..=last)?;
        let complete = before.iter().rev().take_while(|step| step.is_complete).count();
        Self::at_end(steps, source, before.len() - complete..before.len(), most)
    }

    /// The last steps of a run of complete ones; `None` if there are none.
    fn at_end(steps: &[Step], source: StepSource, run: Range<usize>, most: usize) -> Option<Self> {
        let taken = run.end - run.len().min(most.max(1))..run.end;
        let (first, last) = (steps.get(taken.clone())?.first()?, steps.get(taken.clone())?.last()?);
        let end_ns = last.host_end_ns() + i64::from(source == StepSource::WholeTrace);
        Some(Self { start_ns: first.host_start_ns, end_ns, steps: taken })
    }

    /// Whether a point of a host span is in the window.
    pub(crate) fn has_point(&self, time_ns: i64) -> bool {
        (self.start_ns..=self.end_ns).contains(&time_ns)
    }

    /// Whether what begins then begins in the window.
    pub(crate) fn has_start(&self, time_ns: i64) -> bool {
        (self.start_ns..self.end_ns).contains(&time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of 10 ns, complete where `pattern` has a `c`.
    fn steps(pattern: &str) -> Vec<Step> {
        let step = |(place, letter): (usize, char)| Step {
            name: format!("ProfilerStep#{place}"),
            start_ns: place as i64 * 10,
            dur_ns: 10,
            host_start_ns: place as i64 * 10,
            host_dur_ns: 10,
            is_complete: letter == 'c',
        };
        pattern.chars().enumerate().map(step).collect()
    }

    #[track_caller]
    fn check(pattern: &str, most: usize, want: Option<&Range<usize>>) {
        let got = Window::of(&steps(pattern), StepSource::ProfilerStep, most);
        assert_eq!(got.as_ref().map(|window| &window.steps), want, "{pattern}");
        if let Some(window) = got {
            let times = (window.start_ns, window.end_ns);
            assert_eq!(times, (window.steps.start as i64 * 10, window.steps.end as i64 * 10));
        }
    }

    #[test]
    fn the_window_is_the_longest_run_of_complete_steps() {
        check("", 32, None);
        check("xx", 32, None);
        check("ccx", 32, Some(&(0..2)));
        check("xccxc", 32, Some(&(1..3)));
        // Of equally long ones the last.
        check("ccxcc", 32, Some(&(3..5)));
        // The end of a run that is too long.
        check("cccccx", 3, Some(&(2..5)));
        check("cx", 0, Some(&(0..1)));
    }

    #[test]
    fn a_window_may_end_with_a_step_that_is_asked_for() {
        for (pattern, last, most, want) in [
            ("ccccxc", 1, 32, Some(0..2)),
            ("cxcccc", 4, 2, Some(3..5)),
            // Not complete, and not there.
            ("ccx", 2, 32, None),
            ("cc", 2, 32, None),
        ] {
            let got = Window::ending_with(&steps(pattern), StepSource::ProfilerStep, last, most);
            assert_eq!(got.map(|window| window.steps), want, "{pattern} {last}");
        }
    }

    #[test]
    fn the_end_of_a_whole_trace_is_inside() {
        let step = Step {
            name: "whole trace".into(),
            start_ns: 5,
            dur_ns: 10,
            host_start_ns: 5,
            host_dur_ns: 10,
            is_complete: true,
        };
        let window = Window::of(&[step], StepSource::WholeTrace, 32).unwrap();
        assert!(window.has_start(15) && !window.has_start(16));
    }
}
