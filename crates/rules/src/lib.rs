//! The rules: one file each, and the list of them. A rule is a pure function of facts; it cannot ask anything (metrics,
//! section 22).
//!
//! Every rule is documented in four parts: what it sees, why that costs time, what to change, and when it is a false
//! alarm. `stepscope diagnose` and the documentation print them.

mod advice;
mod communication;
mod data_loading;
mod data_parallel;
#[cfg(test)]
mod evidence;
mod facts;
mod frequent_synchronization;
mod hardware;
mod instances;
mod low_utilization;
mod many_small_kernels;
mod memory_pressure;
mod non_nccl;
mod pageable_copies;
mod straggler;
mod tensor_cores_idle;
#[cfg(test)]
mod thresholds;
mod unfused_elementwise;

use std::cmp::Ordering;

use stepscope_model::{Finding, Sentence, Severity, Target};

pub use self::advice::{Fix, Framework, Need};
pub use self::data_loading::is_loading_region;
pub use self::facts::{Bound, Copies, Facts, Unfused, Waits};
pub use self::hardware::{Hardware, NumberFormat, Vendor};
pub use self::instances::{Instances, Meant};
pub use self::tensor_cores_idle::is_found as is_work_without_tensor_cores;
pub use self::unfused_elementwise::are_many as are_elementwise_kernels_many;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Name in JSON, and of its file.
    pub name: &'static str,
    /// What it is about, in a few words. The title of a finding has the figures.
    pub label: &'static str,
    /// What it sees.
    pub what: &'static str,
    /// Why that costs time.
    pub why: &'static str,
    /// The code to change, each with its condition.
    pub fixes: &'static [Fix],
    /// When it is a false alarm.
    pub not_this: &'static str,
    /// What shows more.
    pub show: &'static [Target],
    /// Where it is on the timeline.
    pub instances: Instances,
    pub(crate) find: fn(&Facts) -> Option<Found>,
}

impl Rule {
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
    pub severity: Severity,
    /// Time of a step at stake, in nanoseconds.
    pub at_stake_ns: Option<f64>,
    /// What was measured, the shortest first.
    pub evidence: Vec<Sentence>,
    /// The figures of title and evidence, by name: what is said can be checked.
    pub figures: Vec<(&'static str, f64)>,
}

/// Every rule.
pub static RULES: [&Rule; 12] = [
    &data_loading::RULE,
    &communication::RULE,
    &straggler::RULE,
    &low_utilization::RULE,
    &tensor_cores_idle::RULE,
    &many_small_kernels::RULE,
    &unfused_elementwise::RULE,
    &frequent_synchronization::RULE,
    &pageable_copies::RULE,
    &data_parallel::RULE,
    &non_nccl::RULE,
    &memory_pressure::RULE,
];

/// What the rules find, the worst first.
#[must_use]
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let finding = |rule: &&Rule| {
        let Found { title, severity, at_stake_ns, evidence, figures } = (rule.find)(facts)?;
        Some(Finding {
            rule: rule.name,
            what: rule.what,
            why: rule.why,
            title,
            severity,
            at_stake_ns,
            evidence,
            figures,
            fix: rule.advice(facts),
            not_this: rule.not_this,
            show: rule.show,
        })
    };
    let mut findings: Vec<Finding> = RULES.iter().filter_map(finding).collect();
    findings.sort_by(|a, b| {
        let stake = |finding: &Finding| finding.at_stake_ns.unwrap_or(0.0);
        a.severity.cmp(&b.severity).then(stake(b).partial_cmp(&stake(a)).unwrap_or(Ordering::Equal))
    });
    findings
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
        let rule = &communication::RULE;
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
        // Where ranks wait for each other, buckets are not what to change.
        let mut waiting = of("all_reduce", &[Framework::Ddp]);
        waiting.by_class[Class::Communication as usize] = 400;
        waiting.waits = Some(Waits { wait_ns: 300, exposed_ns: 300, ..Waits::default() });
        let late = "# most of it is waiting: first find out why ranks arrive late, see straggler";
        check(rule, &waiting, &[late]);
        waiting.waits = Some(Waits { wait_ns: 300, exposed_ns: 200, ..Waits::default() });
        check(rule, &waiting, &[buckets, accumulate]);
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
        let rule = &unfused_elementwise::RULE;
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
    fn the_worst_finding_comes_first() {
        let facts = Facts {
            memory: Some((950, 1_000)),
            pageable: Copies { count: 1, size_bytes: 1, sum_ns: 500_000, time_ns: 500_000, hidden_ns: 0 },
            synchronizations: 50,
            synchronization_ns: 900_000,
            devices_of_a_rank: 2,
            data_parallel_ns: 3_000_000,
            frameworks: [Framework::Ddp].into(),
            host_backends: ["gloo".to_owned()].into(),
            host_communication_ns: 1_000_000,
            ..thresholds::with_class(Class::Dataloader, 2_000_000)
        };
        let findings = findings(&facts);
        let order = findings.iter().map(|finding| (finding.rule, finding.severity.as_text(), finding.at_stake_ns));
        assert_eq!(
            order.collect::<Vec<_>>(),
            [
                ("data_loading", "high", Some(200_000.0)),
                ("non_nccl", "high", Some(100_000.0)),
                ("data_parallel", "medium", Some(300_000.0)),
                ("frequent_synchronization", "medium", Some(90_000.0)),
                ("memory_pressure", "medium", None),
                ("pageable_copies", "low", Some(50_000.0)),
            ]
        );
        // Each with what its rule says, and the advice that applies.
        for finding in findings {
            let rule = RULES.iter().find(|rule| rule.name == finding.rule).unwrap();
            let said = (finding.what, finding.why, finding.not_this, finding.show);
            assert_eq!(said, (rule.what, rule.why, rule.not_this, rule.show));
            assert_eq!(finding.fix, rule.advice(&facts), "{}", rule.name);
        }
        assert!(super::findings(&thresholds::facts()).is_empty());
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
                    let can_fire =
                        |rule: &&&Rule| rule.name != "tensor_cores_idle" || facts.hardware.computes(NumberFormat::Fp16);
                    for rule in RULES.iter().filter(can_fire) {
                        assert!(!rule.advice(&facts).is_empty(), "{}: {facts:?}", rule.name);
                    }
                }
            }
        }
    }
}
