//! The rules: one file each, and the list of them. A rule is a pure function of facts; it cannot ask anything (metrics,
//! section 22).
//!
//! Every rule is documented in four parts: what it sees, why that costs time, what to change, and when it is a false
//! alarm. `stepscope diagnose` and the documentation print them. What the change would save is not for a rule to say: it
//! names a [`Remedy`], which whoever has the events replays, and [`judge`] weighs the outcome.

mod advice;
mod allocation_rounding;
mod allocator_in_loop;
mod blocking_transfers;
mod cache_churn;
mod data_loading;
mod data_parallel;
#[cfg(test)]
mod evidence;
mod exposed_communication;
mod facts;
mod fragmentation;
mod frequent_synchronization;
mod graph_candidate;
mod hardware;
mod host_memory_growth;
mod host_pause;
mod instances;
mod launch_bound;
mod limits;
mod low_occupancy;
mod low_utilization;
mod many_small_kernels;
mod memory_leak;
mod memory_pressure;
mod missed_fusion;
mod non_nccl;
mod optimizer_on_host;
mod out_of_memory;
mod pageable_copies;
mod precision;
mod profiler_overhead;
mod rank_imbalance;
mod recompilation;
mod redundant_copies;
mod remedy;
mod scalar_read;
mod slow_first_batch;
mod slow_link;
mod small_collectives;
mod straggler;
mod tensor_cores_idle;
#[cfg(test)]
mod thresholds;
mod too_few_workers;
mod trend;
mod uneven_steps;
mod verdict;
mod window;

use stepscope_model::{Sentence, Severity, Target};

pub use self::advice::{Fix, Framework, Need};
pub use self::data_loading::is_loading_region;
pub use self::facts::{Allocator, AllocatorState, Bound, Copies, Facts, SlowLink, StepTimes, Waits};
pub use self::hardware::{Hardware, NumberFormat, Vendor};
pub use self::instances::{Instances, Meant};
use self::limits::Limits;
pub use self::limits::{ALL_RULES, COMMON, Refused, Threshold, Thresholds};
pub use self::missed_fusion::LEAST_RUN;
pub use self::remedy::{Kernels, Part, Remedy, WaitingCalls, Work};
pub use self::slow_link::{IS_SLOW, LEAST_BYTES};
pub use self::small_collectives::SMALL_COLLECTIVE_BYTES;
pub use self::tensor_cores_idle::is_found as is_work_without_tensor_cores;
pub use self::verdict::{Fired, LeftOut, Verdict, judge};
pub use self::window::{Window, WindowStep};

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Name in JSON, and of its file.
    pub name: &'static str,
    /// What it is about, in a few words. The title of a finding has the figures.
    pub label: &'static str,
    /// What it sees; `{name}` stands for the value of a threshold.
    what: &'static str,
    /// Why that costs time.
    pub why: &'static str,
    /// From where on it speaks.
    pub thresholds: &'static [Threshold],
    /// What says how bad it is.
    pub weight: Weight,
    /// Which other findings may be its cause, so that it steps back where these explain it.
    pub explained_by: Causes,
    /// The code to change, each with its condition.
    pub fixes: &'static [Fix],
    /// When it is a false alarm.
    pub not_this: &'static str,
    /// What shows more.
    pub show: &'static [Target],
    /// Where it is on the timeline.
    pub instances: Instances,
    find: fn(&Facts, &Limits<'_>) -> Option<Found>,
}

/// Findings that may be the cause of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causes {
    /// None: it is a cause itself.
    None,
    /// Some, by the names of their rules.
    These(&'static [&'static str]),
    /// Any other.
    Any,
}

impl Causes {
    /// Whether a rule is among them.
    #[must_use]
    pub fn has(self, rule: &str) -> bool {
        match self {
            Self::None => false,
            Self::These(names) => names.contains(&rule),
            Self::Any => true,
        }
    }
}

/// What says how bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// What this change saves.
    Saving(Remedy),
    /// No replay shows what the fix does, so the rule says it.
    Fixed(Severity),
}

impl Rule {
    /// What it sees, with its thresholds.
    #[must_use]
    pub fn what(&self, thresholds: &Thresholds) -> String {
        thresholds.of(self).fill(self.what, self.thresholds)
    }

    /// The fixes that apply, one below the other.
    fn advice(&self, facts: &Facts) -> String {
        let codes: Vec<&str> = self.fixes.iter().filter(|fix| fix.applies(facts)).map(|fix| fix.code).collect();
        codes.join("\n")
    }
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// What is wrong, with its figure.
    pub title: Sentence,
    /// Time of a step at stake, in nanoseconds.
    pub at_stake_ns: Option<f64>,
    /// What was measured, the shortest first.
    pub evidence: Vec<Sentence>,
    /// The figures of title and evidence, by name: what is said can be checked.
    pub figures: Vec<(&'static str, f64)>,
}

/// Every rule.
pub static RULES: [&Rule; 36] = [
    &data_loading::RULE,
    &too_few_workers::RULE,
    &slow_first_batch::RULE,
    &pageable_copies::RULE,
    &blocking_transfers::RULE,
    &frequent_synchronization::RULE,
    &scalar_read::RULE,
    &launch_bound::RULE,
    &many_small_kernels::RULE,
    &missed_fusion::RULE,
    &graph_candidate::RULE,
    &low_occupancy::RULE,
    &tensor_cores_idle::RULE,
    &precision::RULE,
    &exposed_communication::RULE,
    &straggler::RULE,
    &rank_imbalance::RULE,
    &slow_link::RULE,
    &small_collectives::RULE,
    &non_nccl::RULE,
    &data_parallel::RULE,
    &allocator_in_loop::RULE,
    &out_of_memory::RULE,
    &memory_pressure::RULE,
    &fragmentation::RULE,
    &allocation_rounding::RULE,
    &cache_churn::RULE,
    &memory_leak::RULE,
    &host_memory_growth::RULE,
    &recompilation::RULE,
    &optimizer_on_host::RULE,
    &host_pause::RULE,
    &redundant_copies::RULE,
    &profiler_overhead::RULE,
    &uneven_steps::RULE,
    &low_utilization::RULE,
];

/// The rules that find something, in their order. What their changes save is still to be filled in.
#[must_use]
pub fn fired(facts: &Facts, thresholds: &Thresholds) -> Vec<Fired> {
    let fired = |rule: &&'static Rule| {
        let mut found = (rule.find)(facts, &thresholds.of(rule))?;
        // What to change is known for some rules only, where the program is not one of torch.
        if facts.frameworks.contains(&Framework::Xla) && rule.advice(facts).is_empty() {
            return None;
        }
        // Replayed steps may be longer than the mean of all, and calls of several threads add up.
        let step_ns = facts.per_step(facts.step_ns);
        found.at_stake_ns = found.at_stake_ns.map(|at_stake_ns| at_stake_ns.min(step_ns));
        Some(Fired { rule, saving: None, found })
    };
    RULES.iter().filter_map(fired).collect()
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Class, Device};

    use super::*;

    /// Facts with one step on such a device; an empty name is no device at all.
    fn facts(device: &str, compute_major: i64, frameworks: &[Framework]) -> Facts {
        let device = Device { name: Some(device.to_owned()), compute_major: Some(compute_major), ..Device::default() };
        let has_device = device.name.as_deref() != Some("");
        Facts {
            steps: 1,
            step_ns: 1000,
            device_events: i64::from(has_device),
            hardware: if has_device { Hardware::of(&[&device], None) } else { Hardware::default() },
            frameworks: frameworks.iter().copied().collect(),
            ..Facts::default()
        }
    }

    #[track_caller]
    fn check(rule: &Rule, facts: &Facts, want: &[&str]) {
        let advice = rule.advice(facts);
        let lines: Vec<&str> = advice.lines().map(|line| line.split("   #").next().unwrap_or(line)).collect();
        assert_eq!(lines, want, "{}", rule.name);
    }

    const BF16: &str = "with torch.autocast(\"cuda\", dtype=torch.bfloat16): …";
    const FP16: &str = "with torch.autocast(\"cuda\", dtype=torch.float16): …";
    const TF32: &str = "torch.backends.cuda.matmul.allow_tf32 = True";

    #[test]
    fn number_formats_are_those_of_the_device() {
        let rule = &tensor_cores_idle::RULE;
        check(rule, &facts("NVIDIA A100-SXM4-80GB", 8, &[]), &[BF16, TF32]);
        check(rule, &facts("Tesla V100-SXM2-32GB", 7, &[]), &[FP16]);
        check(rule, &facts("AMD Instinct MI300X", 9, &[]), &[BF16]);
        check(rule, &facts("Quadro GP100", 6, &[]), &[]);
        let rule = &memory_pressure::RULE;
        let batch = "# a smaller batch";
        let checkpoint = "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)";
        let expandable = "# or PYTORCH_ALLOC_CONF=expandable_segments:True";
        let trains = &[Framework::Optimizer];
        check(rule, &facts("NVIDIA H100", 9, trains), &[batch, checkpoint, "# or bf16", expandable]);
        check(rule, &facts("Tesla V100-SXM2-32GB", 7, &[]), &[batch, "# or fp16", expandable]);
        check(rule, &facts("AMD Radeon Graphics", 9, &[]), &[batch]);
    }

    #[test]
    fn communication_is_advised_by_its_kind_and_framework() {
        let of = |collective: &str, frameworks: &[Framework]| Facts {
            largest_collective: Some(collective.to_owned()),
            ..facts("NVIDIA A100", 8, frameworks)
        };
        let rule = &exposed_communication::RULE;
        let buckets = "DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)";
        let accumulate = "# accumulate gradients over several batches: with model.no_sync(): …";
        check(rule, &of("all_reduce", &[Framework::Ddp]), &[buckets, accumulate]);
        check(rule, &of("all_reduce", &[]), &["work = torch.distributed.all_reduce(tensor, async_op=True)"]);
        let to_all = "work = torch.distributed.all_to_all_single(output, input, async_op=True)";
        check(rule, &of("all_to_all", &[Framework::Ddp]), &[to_all, "# or send less: a smaller dtype, fewer rows"]);
        let prefetch =
            "FullyShardedDataParallel(model, backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True)";
        check(rule, &of("all_gather", &[Framework::Fsdp]), &[prefetch]);
        check(rule, &of("reduce_scatter", &[]), &["# start it earlier with async_op=True, compute, then wait for it"]);
        let other = "# start communication earlier and compute meanwhile what does not need its result";
        check(rule, &of("broadcast", &[Framework::Ddp]), &[other]);
        check(rule, &facts("NVIDIA A100", 8, &[]), &[other]);
    }

    #[test]
    fn advice_is_about_what_the_program_uses() {
        let (a100, mi300, host) = (("NVIDIA A100", 8), ("AMD Instinct MI300X", 9), ("", 0));
        let of = |(name, major): (&str, i64), frameworks: &[Framework]| facts(name, major, frameworks);
        let loader = [
            "DataLoader(dataset, batch_size=…, num_workers=4,",
            "           pin_memory=True, persistent_workers=True)",
        ];
        let (compile, fused) = ("torch.compile(model)", "torch.optim.AdamW(…, fused=True)");
        let rule = &missed_fusion::RULE;
        check(rule, &of(a100, &[]), &[compile]);
        check(rule, &of(mi300, &[Framework::Optimizer]), &[compile, fused]);
        let breaks = "# TORCH_LOGS=graph_breaks shows what torch.compile leaves out";
        check(rule, &of(a100, &[Framework::Compile, Framework::Optimizer]), &[breaks, fused]);
        check(rule, &of(a100, &[Framework::Serving]), &["# enable the engine's compiled or fused kernels"]);
        check(&data_loading::RULE, &of(a100, &[Framework::LoaderInProcess]), &loader);
        let on_host = "DataLoader(dataset, batch_size=…, num_workers=4, persistent_workers=True)";
        check(&data_loading::RULE, &of(host, &[Framework::LoaderInProcess]), &[on_host]);
        let own = "# load the next batch while this one computes: a thread, or a DataLoader with num_workers=4";
        check(&data_loading::RULE, &of(host, &[]), &[own]);
        let more = "# more workers, or less work in each: DataLoader(…, num_workers=…, prefetch_factor=4)";
        check(&data_loading::RULE, &of(a100, &[Framework::LoaderWithWorkers]), &[more]);

        let rule = &many_small_kernels::RULE;
        let (compile, batch) = ("torch.compile(model)", "# more work per kernel: a larger batch");
        let cuda = "# CUDA graphs: torch.cuda.make_graphed_callables(…)";
        let hip = "# HIP graphs: torch.cuda.make_graphed_callables(…)";
        let optimizer = "torch.optim.SGD(…, foreach=True)";
        check(rule, &of(a100, &[Framework::Optimizer]), &[optimizer, compile, cuda, batch]);
        check(rule, &of(mi300, &[]), &[compile, hip, batch]);
        check(rule, &of(mi300, &[Framework::Compile, Framework::Graphs]), &[batch]);

        let rule = &pageable_copies::RULE;
        let copy = "batch = batch.to(device, non_blocking=True)";
        check(rule, &of(a100, &[Framework::LoaderInProcess]), &["DataLoader(…, pin_memory=True)", copy]);
        check(rule, &of(a100, &[]), &["batch = batch.pin_memory()", copy]);

        let nccl = "torch.distributed.init_process_group(backend=\"nccl\")";
        check(&non_nccl::RULE, &of(mi300, &[]), &[nccl]);
        check(&non_nccl::RULE, &of(a100, &[]), &[nccl]);
        let own = "# pass the backend of your device to torch.distributed.init_process_group";
        check(&non_nccl::RULE, &of(("ARTEMIS", 0), &[]), &[own]);

        check(&straggler::RULE, &of(host, &[]), &["# compare that rank with the others: its input, its host"]);
        let gpu = "# compare that rank with the others: its input, its GPU clocks, its host";
        check(&straggler::RULE, &of(a100, &[]), &[gpu]);

        let batch = "# more work at a time: a larger batch";
        check(&low_utilization::RULE, &of(a100, &[]), &[batch, "torch.compile(model)"]);
        check(&low_utilization::RULE, &of(a100, &[Framework::Compile]), &[batch]);
        let serve = "# more work at a time: serve more requests per batch";
        check(&low_utilization::RULE, &of(mi300, &[Framework::Serving]), &[serve]);
    }

    #[test]
    fn a_finding_has_what_its_rule_says_and_the_advice_that_applies() {
        let facts = Facts {
            memory: Some((950, 1_000)),
            devices_of_a_rank: 2,
            data_parallel_ns: 3_000_000,
            frameworks: [Framework::Ddp].into(),
            host_backends: ["gloo".to_owned()].into(),
            host_communication_ns: 1_000_000,
            ..thresholds::with_class(Class::Dataloader, 2_000_000)
        };
        let mut thresholds = Thresholds::default();
        let names =
            |thresholds: &Thresholds| fired(&facts, thresholds).iter().map(|fired| fired.rule.name).collect::<Vec<_>>();
        assert_eq!(names(&thresholds), ["data_loading", "non_nccl", "data_parallel", "memory_pressure"]);
        let verdict = judge(fired(&facts, &thresholds), 1e6, (&facts, &thresholds), |_| None);
        assert_eq!(verdict.findings.len(), 4);
        for finding in verdict.findings {
            let rule = RULES.iter().find(|rule| rule.name == finding.rule).unwrap();
            let said = (finding.what, finding.why, finding.not_this, finding.show);
            assert_eq!(said, (rule.what(&thresholds), rule.why, rule.not_this, rule.show));
            assert_eq!(finding.fix, rule.advice(&facts), "{}", rule.name);
        }
        // A threshold of the user decides, and is said.
        thresholds.set("data_loading", "share_ratio", 0.25).unwrap();
        assert_eq!(names(&thresholds), ["non_nccl", "data_parallel", "memory_pressure"]);
        assert!(data_loading::RULE.what(&thresholds).starts_with("More than 25 % of"));
        assert!(fired(&thresholds::facts(), &thresholds).is_empty());
    }

    #[test]
    fn texts_name_only_thresholds_that_exist() {
        for rule in RULES {
            let what = rule.what(&Thresholds::default());
            assert!(!what.contains(['{', '}']), "{}: {what}", rule.name);
        }
    }

    #[test]
    fn a_finding_never_comes_without_advice() {
        let devices = [("NVIDIA A100", 8), ("Tesla V100", 7), ("AMD Instinct MI300X", 9), ("ARTEMIS", 0), ("", 0)];
        let collectives = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "unknown"];
        let frameworks = [
            Framework::Ddp,
            Framework::Fsdp,
            Framework::LoaderInProcess,
            Framework::LoaderWithWorkers,
            Framework::Optimizer,
            Framework::Compile,
            Framework::Graphs,
            Framework::Serving,
        ];
        for (name, major) in devices {
            for collective in collectives {
                for used in 0..1_u32 << frameworks.len() {
                    let used: Vec<Framework> = (0..frameworks.len())
                        .filter(|place| used >> place & 1 == 1)
                        .map(|place| frameworks[place])
                        .collect();
                    let facts = Facts { largest_collective: Some(collective.to_owned()), ..facts(name, major, &used) };
                    let needs_cores = |rule: &Rule| ["tensor_cores_idle", "precision"].contains(&rule.name);
                    let can_fire = |rule: &&&Rule| !needs_cores(rule) || facts.hardware.computes(NumberFormat::Fp16);
                    for rule in RULES.iter().filter(can_fire) {
                        assert!(!rule.advice(&facts).is_empty(), "{}: {facts:?}", rule.name);
                    }
                }
            }
        }
    }
}
