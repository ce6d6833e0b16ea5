//! Draws a job from its seed: what is trained, on which ranks, and how strong each fault is.

use crate::noise::noise;

use super::fault::Fault;
use super::network::{Network, Precision};
use super::parameters::{LINK_BYTES_PER_US, PAGEABLE_BYTES_PER_US, PINNED_BYTES_PER_US};

/// Steps that are recorded.
pub(crate) const RECORDED_STEPS: u32 = 12;
/// Steps before them: the loader fills up, and the allocator takes what it needs.
pub(crate) const WARMUP_STEPS: u32 = 3;

/// Everything about a job that its program and its machine need to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub seed: u64,
    pub ranks: u32,
    pub network: Network,
    /// Factor on all times of the host.
    pub host_scale: f64,
    /// Steps that the script may be ahead of the device.
    pub steps_ahead: u32,
    pub loader: Loader,
    pub input_bytes: i64,
    pub is_pageable: bool,
    /// Numbers that the script reads from the device after each layer.
    pub items_per_layer: u32,
    /// Operators on small tensors in each layer.
    pub small_ops_per_layer: u32,
    pub is_overlapped: bool,
    /// Rank with the slower device, and the factor on its kernels.
    pub slow_rank: Option<(u32, f64)>,
    pub groups: Vec<Group>,
    /// Memory that each step keeps.
    pub leak_bytes: i64,
    /// Memory that was used once, before the recording, and that what each step keeps fits into.
    pub slack_bytes: i64,
    /// Blocks of growing sizes that were used once, before the recording.
    pub stale_blocks: u32,
    /// The model runs as a compiled region.
    pub is_compiled: bool,
    /// It is compiled again.
    pub recompilation: Option<Now>,
    /// The script does nothing.
    pub pause: Option<Now>,
}

/// The loader of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Loader {
    pub workers: usize,
    /// Reading a batch, one worker at a time.
    pub read_ns: i64,
    /// Turning it into tensors, all workers at once.
    pub decode_ns: i64,
}

/// A process group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub name: &'static str,
    pub ranks: Vec<u32>,
    pub bytes_per_us: i64,
}

/// Something that happens in some steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Now {
    /// In each step whose number, divided by `every`, leaves `from`.
    every: u32,
    from: u32,
    pub dur_ns: i64,
}

impl Now {
    /// Never in the first two recorded steps, in which compiling and pausing would be warming up.
    pub(crate) fn happens_in(self, step: u32) -> bool {
        step >= WARMUP_STEPS + 2 && step % self.every == self.from
    }
}

impl Setup {
    /// The job of a seed that was made for `faults`, with those that are `on`. Whatever does not belong to a fault depends
    /// on the seed and on `faults` alone, not on what is on.
    pub(crate) fn draw(seed: u64, faults: &[Fault], on: &[Fault]) -> Self {
        let draw = Draw { seed };
        let is_made_for = |fault| faults.contains(&fault);
        let is_on = |fault| on.contains(&fault);

        let healthy = healthy_network(draw, is_made_for(Fault::SmallBatch));
        let small_rows = 128 * draw.between(3, 5, "small batch");
        let network = Network {
            rows: if is_on(Fault::SmallBatch) { small_rows } else { healthy.rows },
            precision: if is_on(Fault::NoMixedPrecision) { Precision::Float } else { Precision::Bfloat16 },
            ..healthy
        };
        let step_ns = healthy.step_ns();
        let steps_ahead = draw.between(1, 2, "ahead") as u32;
        // What the host is ahead of the device hides as much of a stop.
        let exposed =
            |low, high, name| (step_ns as f64 * (f64::from(steps_ahead) + draw.range(low, high, name))) as i64;
        // Healthy jobs are of all sizes, so that findings about ranks can be false alarms too.
        let size = if faults.is_empty() { draw.range(0.0, 1.0, "size") } else { 0.0 };
        let is_square = is_made_for(Fault::SlowLink) || size > 0.85;
        let has_ranks = faults.iter().any(|fault| fault.needs_ranks()) || size > 0.6;
        let ranks = match (is_square, has_ranks) {
            (true, _) => 4,
            (false, true) => draw.between(2, 4, "ranks") as u32,
            (false, false) => 1,
        };
        let slow_group = is_on(Fault::SlowLink).then(|| draw.between(0, 3, "slow group") as usize);
        let slow_link = draw.range(3.5, 6.0, "slow link");
        Self {
            seed,
            ranks,
            network,
            host_scale: draw.range(0.75, 1.1, "host"),
            steps_ahead,
            loader: loader(draw, step_ns, is_on(Fault::SlowInput), is_on(Fault::TooFewWorkers)),
            input_bytes: draw.between(2_000_000, 7_000_000, "input"),
            is_pageable: is_on(Fault::PageableCopies),
            items_per_layer: if is_on(Fault::ItemInEveryStep) { draw.between(2, 4, "items") as u32 } else { 0 },
            small_ops_per_layer: if is_on(Fault::TinyKernels) { draw.between(16, 32, "tiny") as u32 } else { 1 },
            is_overlapped: !is_on(Fault::NoOverlap),
            slow_rank: is_on(Fault::SlowRank).then(|| {
                let rank = (draw.range(0.0, 1.0, "which rank") * f64::from(ranks)) as u32;
                (rank, draw.range(1.12, 1.35, "slow rank"))
            }),
            groups: groups(draw, &healthy, ranks, is_square, slow_group.map(|group| (group, slow_link))),
            leak_bytes: if is_on(Fault::Leak) { draw.between(2_000_000, 9_000_000, "leak") } else { 0 },
            slack_bytes: if is_made_for(Fault::Leak) { 160 << 20 } else { 0 },
            stale_blocks: if is_on(Fault::Fragmentation) { draw.between(22, 34, "stale") as u32 } else { 0 },
            is_compiled: is_made_for(Fault::Recompilation),
            recompilation: is_on(Fault::Recompilation).then(|| Now {
                every: 3,
                from: draw.between(0, 2, "when compiled") as u32,
                dur_ns: exposed(1.0, 2.2, "compiling"),
            }),
            pause: is_on(Fault::HostPauses).then(|| Now {
                every: 4,
                from: draw.between(0, 3, "when paused") as u32,
                dur_ns: exposed(1.2, 3.0, "pause"),
            }),
        }
    }

    /// How long the batch of a step is copied to the device.
    pub(crate) fn input_ns(&self) -> i64 {
        let bytes_per_us = if self.is_pageable { PAGEABLE_BYTES_PER_US } else { PINNED_BYTES_PER_US };
        self.input_bytes * 1_000 / bytes_per_us
    }

    /// The groups of a rank, by their places in the list of all.
    pub(crate) fn groups_of(&self, rank: u32) -> Vec<usize> {
        (0..self.groups.len()).filter(|&group| self.groups[group].ranks.contains(&rank)).collect()
    }
}

/// A network that keeps the device busier than the host. If the job is about a batch that is too small, the healthy batch
/// just fills the device once, so that a smaller one leaves some of it idle.
fn healthy_network(draw: Draw, fills_device_once: bool) -> Network {
    let (width, rows) = if fills_device_once { (2048, 768) } else { (768, 128 * draw.between(19, 50, "rows")) };
    let efficiency = draw.range(0.10, 0.17, "efficiency");
    let layers = draw.between(4, 8, "layers") as u32;
    Network { layers, width, rows, precision: Precision::Bfloat16, efficiency }
}

/// Storage and workers of a healthy job are idle for a third of the time or more.
fn loader(draw: Draw, step_ns: i64, is_slow: bool, has_too_few: bool) -> Loader {
    let of_step = |share: f64| (step_ns as f64 * share) as i64;
    let too_few = draw.between(2, 3, "workers");
    let decode_share = too_few as f64 * draw.range(1.25, 1.7, "decode");
    let read_share = if is_slow { draw.range(1.25, 1.8, "slow read") } else { 0.2 };
    let workers = if has_too_few { too_few as usize } else { 8 };
    Loader { workers, read_ns: of_step(read_share), decode_ns: of_step(decode_share) }
}

/// One group of all ranks, or four ranks as a square whose rows and columns are groups.
fn groups(draw: Draw, network: &Network, ranks: u32, is_square: bool, slow: Option<(usize, f64)>) -> Vec<Group> {
    // The gradients of a layer take this share of the time in which the layer's backward pass is computed.
    let share = if is_square { 0.24 } else { 0.5 } * draw.range(0.8, 1.2, "link");
    let size = if is_square { 2 } else { ranks };
    let bytes = network.parameters_per_layer() * 4 * 2 * i64::from(size - 1) / i64::from(size.max(1));
    let transfer_ns = network.backward_layer_ns() as f64 * share;
    let bytes_per_us = ((bytes * 1_000) as f64 / transfer_ns) as i64;
    let bytes_per_us = bytes_per_us.clamp(LINK_BYTES_PER_US[0], LINK_BYTES_PER_US[1]);
    let members: Vec<(&'static str, Vec<u32>)> = match (is_square, ranks) {
        (true, _) => vec![("1", vec![0, 1]), ("2", vec![2, 3]), ("3", vec![0, 2]), ("4", vec![1, 3])],
        (false, 1) => Vec::new(),
        (false, _) => vec![("0", (0..ranks).collect())],
    };
    let group = |(place, (name, ranks)): (usize, (&'static str, Vec<u32>))| {
        let slower = slow.filter(|slow| slow.0 == place).map_or(1.0, |slow| slow.1);
        Group { name, ranks, bytes_per_us: (bytes_per_us as f64 / slower) as i64 }
    };
    members.into_iter().enumerate().map(group).collect()
}

/// Draws numbers by name, so that one more does not change the others.
#[derive(Clone, Copy)]
struct Draw {
    seed: u64,
}

impl Draw {
    fn range(self, low: f64, high: f64, name: &str) -> f64 {
        let letters = name.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(257).wrapping_add(u64::from(byte)));
        low + (high - low) * noise(self.seed, [u64::MAX, letters, 1])
    }

    /// A whole number, both ends included.
    fn between(self, low: i64, high: i64, name: &str) -> i64 {
        (self.range(low as f64, high as f64 + 1.0, name) as i64).min(high)
    }
}
