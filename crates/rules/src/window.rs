//! What the replayed steps show, step by step: what is on the critical path, and what held each point in time.

/// The steps that were replayed, of all ranks looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Their steps, rank by rank.
    pub steps: Vec<WindowStep>,
}

/// A step. Times are on the critical path unless a comment says where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowStep {
    /// Its rank.
    pub rank: u32,
    /// Its length, which is that of its path.
    pub dur_ns: i64,
    /// Waiting for the data loader.
    pub loader_ns: i64,
    /// The same, anywhere.
    pub loader_wait_ns: i64,
    /// Communication.
    pub communication_ns: i64,
    /// The host: operators, runtime calls, Python, and delays of launches.
    pub host_ns: i64,
    /// The host inside a step of the optimizer.
    pub optimizer_ns: i64,
    /// Copies on the device, and casts.
    pub redundant_ns: i64,
    /// Collectives of few bytes.
    pub small_collective_ns: i64,
    /// Kernels with less than one block per multiprocessor.
    pub low_occupancy_ns: i64,
    /// Calls that waited for the device.
    pub waits: usize,
    /// Those of them that read a value on the host.
    pub scalar_reads: usize,
    /// Time of these calls, anywhere.
    pub scalar_read_ns: i64,
    /// Calls that waited for a copy from pinned memory to the device.
    pub blocking_copies: usize,
    /// Time of these calls, anywhere.
    pub blocking_copy_ns: i64,
    /// Kernels, copies and fills.
    pub device_starts: usize,
    /// Those that began when their launch let them, not when something before them ended.
    pub starts_by_launch: usize,
    /// Launches inside a step of the optimizer.
    pub optimizer_launches: usize,
    /// Copies on the device, and casts.
    pub redundant: usize,
    /// Collectives of few bytes.
    pub small_collectives: usize,
    /// Kernels.
    pub kernels: usize,
    /// A number for the sequence of their names: different for most other sequences.
    pub sequence: u64,
    /// Time of kernels that tensor cores could do, where the types of their inputs are known.
    pub eligible_ns: i64,
    /// The part of that with fp32 inputs.
    pub float_ns: i64,
    /// Whether two steps of its recording came before it.
    pub is_warm: bool,
    /// Calls that take memory from the runtime or give it back.
    pub allocator_calls: usize,
    /// Their time, anywhere.
    pub allocator_ns: i64,
    /// Times that code was compiled or loaded.
    pub compiles: usize,
    /// How long that took, anywhere.
    pub compile_ns: i64,
    /// Whether an epoch begins with it, as far as step numbers show that.
    pub begins_epoch: bool,
    /// Times that the script did nothing for long, on the path.
    pub pauses: usize,
    /// How long that took beyond the usual time at its place.
    pub pause_ns: i64,
    /// Host time that no operator explains, on the path.
    pub other_ns: i64,
    /// What the profiler took for itself, anywhere.
    pub overhead_ns: i64,
    /// Time of kernels that compute, anywhere.
    pub kernel_ns: i64,
    /// Elementwise kernels and reductions that follow each other.
    pub fusible: usize,
    /// Their time, anywhere.
    pub fusible_ns: i64,
    /// Their time on the path.
    pub fusible_path_ns: i64,
}

impl Window {
    /// The time of all steps.
    #[must_use]
    pub fn step_ns(&self) -> i64 {
        self.sum(|step| step.dur_ns)
    }

    /// A figure of all steps.
    #[must_use]
    pub fn sum(&self, of: impl Fn(&WindowStep) -> i64) -> i64 {
        self.steps.iter().map(of).sum()
    }

    /// The share of the path.
    #[must_use]
    pub fn share(&self, of: impl Fn(&WindowStep) -> i64) -> f64 {
        self.sum(of) as f64 / self.step_ns().max(1) as f64
    }

    /// The mean over the steps.
    #[must_use]
    pub fn per_step(&self, of: impl Fn(&WindowStep) -> i64) -> f64 {
        self.sum(of) as f64 / self.steps.len().max(1) as f64
    }

    /// The steps of the rank with most of something.
    #[must_use]
    pub fn rank_with_most(&self, of: impl Fn(&WindowStep) -> i64) -> Self {
        let most = self.by_rank().max_by_key(|steps| steps.iter().map(&of).sum::<i64>());
        Self { steps: most.unwrap_or_default().to_vec() }
    }

    /// The steps of each rank.
    pub fn by_rank(&self) -> impl Iterator<Item = &[WindowStep]> {
        self.steps.chunk_by(|one, next| one.rank == next.rank)
    }

    /// The steps after the second of their recording.
    #[must_use]
    pub fn after_warm_up(&self) -> Self {
        let steps = self.steps.iter().filter(|step| step.is_warm).cloned().collect();
        Self { steps }
    }

    /// Whether that share of the steps, or more, is so.
    #[must_use]
    pub fn is_in(&self, share: f64, is_so: impl Fn(&WindowStep) -> bool) -> bool {
        let found = self.steps.iter().filter(|step| is_so(step)).count();
        found > 0 && found as f64 >= share * self.steps.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_path_and_steps_are_counted() {
        let step = |dur_ns, loader_ns| WindowStep { dur_ns, loader_ns, ..WindowStep::default() };
        let window = Window { steps: vec![step(100, 50), step(300, 0), step(100, 0), step(300, 0)] };
        assert_eq!((window.share(|step| step.loader_ns), window.per_step(|step| step.loader_ns)), (0.0625, 12.5));
        assert!(window.is_in(0.25, |step| step.loader_ns > 0) && !window.is_in(0.26, |step| step.loader_ns > 0));
        // Nowhere is never enough.
        assert!(!window.is_in(0.0, |step| step.waits > 0));
        let nothing = Window::default();
        assert_eq!((nothing.share(|step| step.loader_ns), nothing.per_step(|step| step.loader_ns)), (0.0, 0.0));
    }
}
