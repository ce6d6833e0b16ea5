//! The repetitions of one contender.

use anyhow::Result;
use serde::Serialize;

/// What a contender did, run after run.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Series {
    /// Who.
    pub(crate) name: String,
    /// Times of the runs whose answers were right.
    pub(crate) seconds: Vec<f64>,
    /// Processor times of the same runs, where known.
    pub(crate) cpu_seconds: Vec<f64>,
    /// Most memory of each run, where known.
    pub(crate) peak_rss_bytes: Vec<u64>,
    /// What was wrong with answers, or why a run failed.
    pub(crate) problems: Vec<String>,
    /// Why it did not run at all.
    pub(crate) absent: Option<String>,
}

/// One run of a contender.
pub(crate) struct Run {
    /// Time.
    pub(crate) seconds: f64,
    /// Processor time, where known.
    pub(crate) cpu_seconds: Option<f64>,
    /// Most memory, where known.
    pub(crate) peak_rss_bytes: Option<u64>,
    /// What is wrong with its answers.
    pub(crate) problems: Vec<String>,
}

impl Series {
    /// A contender that has not run yet.
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// A contender that cannot run.
    pub(crate) fn absent(name: &str, reason: &str) -> Self {
        Self { absent: Some(reason.to_owned()), ..Self::new(name) }
    }

    /// Runs it once more, unless it is absent.
    pub(crate) fn repeat(&mut self, run: impl FnOnce() -> Result<Run>) {
        if self.absent.is_some() {
            return;
        }
        match run() {
            Ok(run) if run.problems.is_empty() => {
                eprintln!("  {:<28} {:>9.3} s", self.name, run.seconds);
                self.seconds.push(run.seconds);
                self.cpu_seconds.extend(run.cpu_seconds);
                self.peak_rss_bytes.extend(run.peak_rss_bytes);
            }
            Ok(run) => self.fail(run.problems.join("; ")),
            Err(error) => self.fail(format!("{error:#}")),
        }
    }

    fn fail(&mut self, problem: String) {
        eprintln!("  {:<28} FAILED: {problem}", self.name);
        self.problems.push(problem);
    }

    /// The shortest time.
    pub(crate) fn shortest(&self) -> Option<f64> {
        shortest(&self.seconds)
    }

    /// The most memory of any run.
    pub(crate) fn most_memory(&self) -> Option<u64> {
        self.peak_rss_bytes.iter().copied().max()
    }
}

/// Shortest time of one over the shortest of the other, and the median of the ratios of single repetitions. Only the
/// repetitions that both ran count: more tries would favor one of them.
pub(crate) fn ratios(above: &Series, below: &Series) -> Option<(f64, f64, usize)> {
    let pairs: Vec<(f64, f64)> = above.seconds.iter().copied().zip(below.seconds.iter().copied()).collect();
    let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let mut ratios: Vec<f64> = pairs.iter().map(|(above, below)| above / below).collect();
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios.get((ratios.len().max(1) - 1) / 2)?, ratios.get(ratios.len() / 2)?);
    Some((shortest(&first)? / shortest(&second)?, f64::midpoint(*low, *high), pairs.len()))
}

fn shortest(seconds: &[f64]) -> Option<f64> {
    seconds.iter().copied().min_by(f64::total_cmp)
}
