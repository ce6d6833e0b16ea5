//! What the name of an event says about it: the tables of names that the rules of the metrics use.

use regex::{Regex, RegexSet, RegexSetBuilder};
use stepscope_model::KernelCategory;

use super::categories::{Categories, KERNEL_CATEGORIES};
use crate::error::IngestError;
use crate::spill::row::Field;
use crate::spill::strings::TextId;

/// The names of communication kernels that come with Stepscope (metrics, section 9).
pub const COMMUNICATION_NAMES: &str = include_str!("communication.txt");

/// Libraries that transfer on the host. Their calls are annotated as `gloo:all_reduce`.
const HOST_BACKENDS: [&str; 3] = ["gloo:", "mpi:", "ucc:"];

/// Collective operations of XLA.
const HLO_COLLECTIVES: [&str; 9] = [
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
    "send",
    "recv",
];

/// Spans that run a function or a graph of TensorFlow.
const FUNCTION_RUNS: [&str; 5] = ["FunctionRun", "SessionRun", "RunGraph", "TfrtModelRun", "ServingModelRun"];

/// What a name says: one bit for the answer of each rule, then the category of a kernel with this name, and of the kernels
/// that an operator with this name launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameFacts(u32);

impl NameFacts {
    /// An operator with this name is an annotation.
    pub(crate) const PSEUDO_OP: Self = Self(1);
    /// `ProfilerStep#N`.
    pub(crate) const PROFILER_STEP: Self = Self(1 << 1);
    /// A step of `vLLM` or `SGLang`.
    pub(crate) const SERVING_STEP: Self = Self(1 << 2);
    /// `Optimizer.step…`.
    pub(crate) const OPTIMIZER_STEP: Self = Self(1 << 3);
    /// A call that can launch device work.
    pub(crate) const LAUNCH: Self = Self(1 << 4);
    /// A call that launches a CUDA or HIP graph.
    pub(crate) const GRAPH_LAUNCH: Self = Self(1 << 5);
    /// A span that issues collectives.
    pub(crate) const COMMUNICATION_OWNER: Self = Self(1 << 6);
    /// A kernel that moves data between devices.
    pub(crate) const COMMUNICATION_KERNEL: Self = Self(1 << 7);
    /// A collective that the host does itself: `gloo:…`, `mpi:…`, `ucc:…`.
    pub(crate) const HOST_COLLECTIVE: Self = Self(1 << 8);
    /// The call that asks for a collective: `c10d::…`.
    pub(crate) const COLLECTIVE_CALL: Self = Self(1 << 9);
    /// A collective operation of XLA.
    pub(crate) const HLO_COLLECTIVE: Self = Self(1 << 10);
    /// A run of a function or a graph of TensorFlow.
    pub(crate) const FUNCTION_RUN: Self = Self(1 << 11);
    /// A function that an input pipeline runs.
    pub(crate) const CAPTURED_FUNCTION: Self = Self(1 << 12);
    /// By its category: a wait for the input pipeline.
    pub(crate) const INPUT_WAIT: Self = Self(1 << 13);
    /// By its category: a program is compiled.
    pub(crate) const COMPILE: Self = Self(1 << 14);
    /// By its category: a numbered step.
    pub(crate) const NUMBERED_STEP: Self = Self(1 << 15);

    /// Whether it says `fact`.
    pub(crate) fn has(self, fact: Self) -> bool {
        self.0 & fact.0 != 0
    }

    /// It and what another says.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// It without `fact`.
    pub(crate) fn but(self, fact: Self) -> Self {
        Self(self.0 & !fact.0)
    }

    /// What the category of an event says, in formats whose readers give the kind.
    pub(crate) fn of_category(category: &str) -> Self {
        match category {
            "input_wait" => Self::INPUT_WAIT,
            "compile" => Self::COMPILE,
            "step" => Self::NUMBERED_STEP,
            _ => Self::default(),
        }
    }

    /// The category of a kernel with this name.
    pub(crate) fn kernel_category(self) -> Option<KernelCategory> {
        category((self.0 >> 16) & 0xf)
    }

    /// The category of what an operator with this name launches.
    pub(crate) fn operator_category(self) -> Option<KernelCategory> {
        category(self.0 >> 20)
    }
}

/// A category is stored as its place, from 1; 0 is none.
fn category(stored: u32) -> Option<KernelCategory> {
    KernelCategory::ALL.get((stored as usize).checked_sub(1)?).copied()
}

fn stored(category: Option<KernelCategory>) -> u32 {
    category.map_or(0, |category| category as u32 + 1)
}

impl Field for NameFacts {
    const BYTES: usize = u32::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        Self(u32::take(bytes))
    }
}

/// Looks at each name once.
#[derive(Debug)]
pub(crate) struct Names {
    pseudo_op: Regex,
    profiler_step: Regex,
    serving_step: Regex,
    communication: RegexSet,
    not_communication: RegexSet,
    categories: Categories,
    /// By the number of the text.
    seen: Vec<Option<NameFacts>>,
    /// The least N of the names `ProfilerStep#N` so far.
    first_step: Option<u64>,
}

impl Names {
    /// `communication_names` is a table in the form of `communication.txt`.
    pub(crate) fn new(communication_names: &str) -> Result<Self, IngestError> {
        let lines =
            || communication_names.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(Self {
            pseudo_op: Regex::new(
                r"^(ProfilerStep#\d+|enumerate\(Data(Loader|Pipe)\)#.*|Optimizer\..*|(Distributed)?DataParallel\.forward|(nccl|gloo|mpi|ucc|xccl|hccl):.*)$",
            )?,
            profiler_step: Regex::new(r"^ProfilerStep#\d+$")?,
            serving_step: Regex::new(r"^execute_.*context_.*generation_")?,
            communication: any_case(lines().filter(|line| !line.starts_with('!')))?,
            not_communication: any_case(lines().filter_map(|line| line.strip_prefix('!')))?,
            categories: Categories::new(KERNEL_CATEGORIES)?,
            seen: Vec::new(),
            first_step: None,
        })
    }

    /// What `text`, the name with the number `id` if it has one, says.
    #[inline]
    pub(crate) fn facts(&mut self, id: Option<TextId>, text: &str) -> NameFacts {
        let Some(index) = id.map(TextId::index) else { return self.take_note(text) };
        if let Some(Some(facts)) = self.seen.get(index) {
            return *facts;
        }
        if self.seen.len() <= index {
            self.seen.resize(index + 1, None);
        }
        let facts = self.take_note(text);
        self.seen[index] = Some(facts);
        facts
    }

    fn take_note(&mut self, text: &str) -> NameFacts {
        let facts = self.look_at(text);
        if facts.has(NameFacts::PROFILER_STEP) {
            let number = text.rsplit_once('#').and_then(|(_, number)| number.parse().ok());
            self.first_step = self.first_step.into_iter().chain(number).min();
        }
        facts
    }

    /// The least number of a `ProfilerStep#N` among the names that were looked at.
    pub(crate) fn first_profiler_step(&self) -> Option<u64> {
        self.first_step
    }

    fn look_at(&self, name: &str) -> NameFacts {
        let lower = name.to_ascii_lowercase();
        let issues_collectives =
            name == "record_param_comms" || ["nccl:", "xccl:", "hccl:"].iter().any(|prefix| name.starts_with(prefix));
        let answers = [
            (NameFacts::PSEUDO_OP, self.pseudo_op.is_match(name)),
            (NameFacts::PROFILER_STEP, self.profiler_step.is_match(name)),
            (NameFacts::SERVING_STEP, self.serving_step.is_match(name)),
            (NameFacts::OPTIMIZER_STEP, name.starts_with("Optimizer.step")),
            (NameFacts::LAUNCH, ["launch", "memcpy", "memset"].iter().any(|word| lower.contains(word))),
            (NameFacts::GRAPH_LAUNCH, lower.contains("graphlaunch")),
            (NameFacts::COMMUNICATION_OWNER, issues_collectives),
            (
                NameFacts::COMMUNICATION_KERNEL,
                self.communication.is_match(name) && !self.not_communication.is_match(name),
            ),
            (NameFacts::HOST_COLLECTIVE, HOST_BACKENDS.iter().any(|backend| name.starts_with(backend))),
            (NameFacts::COLLECTIVE_CALL, name.starts_with("c10d::")),
            (NameFacts::HLO_COLLECTIVE, is_hlo_collective(name)),
            (NameFacts::FUNCTION_RUN, FUNCTION_RUNS.contains(&name)),
            (NameFacts::CAPTURED_FUNCTION, name.starts_with("InstantiatedCapturedFunction::")),
        ];
        let bits = answers.iter().filter(|(_, is_so)| *is_so).map(|(fact, _)| fact.0);
        let as_kernel = stored(self.categories.of_kernel(name)) << 16;
        let as_operator = stored(self.categories.of_operator(name)) << 20;
        NameFacts(bits.fold(as_kernel | as_operator, |all, bit| all | bit))
    }
}

/// Whether an operation or a category of XLA is a collective: `all-reduce-start.1` is one.
fn is_hlo_collective(name: &str) -> bool {
    let base = match name.rsplit_once('.') {
        Some((base, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    };
    let base = base.trim_start_matches('%');
    let base = base.strip_suffix("-start").or_else(|| base.strip_suffix("-done")).unwrap_or(base);
    HLO_COLLECTIVES.contains(&base)
}

fn any_case<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns).case_insensitive(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn says(name: &str, fact: NameFacts) -> bool {
        Names::new(COMMUNICATION_NAMES).unwrap().facts(None, name).has(fact)
    }

    #[test]
    fn pseudo_ops() {
        for name in [
            "ProfilerStep#12",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            "enumerate(DataPipe)#x",
            "Optimizer.step#SGD.step",
            "Optimizer.zero_grad#SGD.zero_grad",
            "DataParallel.forward",
            "DistributedDataParallel.forward",
            "nccl:all_reduce",
            "gloo:broadcast",
        ] {
            assert!(says(name, NameFacts::PSEUDO_OP), "{name}");
        }
        for name in
            ["ProfilerStep#", "ProfilerStep#1x", "aten::add", "OptimizerX", "MyDataParallel.forward", "nccl_all_reduce"]
        {
            assert!(!says(name, NameFacts::PSEUDO_OP), "{name}");
        }
    }

    #[test]
    fn every_family_of_communication_kernels() {
        for name in [
            "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
            "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "void ncclSymkDevKernel_AllReduce",
            "rcclGenericKernel",
            "mscclKernel_Sum_half",
            "hcclAllReduce",
            "oneccl_kernel",
            "void multimem_all_reduce_kernel<c10::BFloat16, 16>",
            "multimem_one_shot_reduce",
            "void two_shot_all_reduce_kernel<float>",
            "void tensorrt_llm::oneShotAllReduceKernel",
            "allreduce_fusion_kernel_oneshot",
            "void aiter::cross_device_reduce_1stage",
            "nvshmemi_transfer",
            "void userbuffers_fp16_sum",
            "void deep_ep::intranode::dispatch<8>",
            "internode_ll::combine",
            "mori::EpDispatchIntraNode",
            "pplx_kernels::all_to_all",
        ] {
            assert!(says(name, NameFacts::COMMUNICATION_KERNEL), "{name}");
        }
        for name in ["void deep_ep::layout::get_dispatch_layout", "volta_sgemm_128x64_nn", "dispatch_kernel", "xnccl"] {
            assert!(!says(name, NameFacts::COMMUNICATION_KERNEL), "{name}");
        }
    }

    #[test]
    fn the_first_step_is_the_one_with_the_least_number() {
        let mut names = Names::new(COMMUNICATION_NAMES).unwrap();
        assert_eq!(names.first_profiler_step(), None);
        for name in ["aten::add#1", "ProfilerStep#12", "ProfilerStep#9", "ProfilerStep#10"] {
            names.facts(None, name);
        }
        assert_eq!(names.first_profiler_step(), Some(9));
    }

    #[test]
    fn categories_are_kept_apart_from_other_facts() {
        let facts = |name: &str| Names::new(COMMUNICATION_NAMES).unwrap().facts(None, name);
        assert_eq!(facts("volta_sgemm_64x64_nt").kernel_category(), Some(KernelCategory::Gemm));
        assert_eq!(facts("aten::miopen_convolution").operator_category(), Some(KernelCategory::Convolution));
        let nccl = facts("ncclDevKernel_AllReduce_Sum_f16_RING_LL");
        assert!(nccl.has(NameFacts::COMMUNICATION_KERNEL) && !nccl.has(NameFacts::LAUNCH));
        let mut bytes = Vec::new();
        facts("aten::addmm").put(&mut bytes);
        assert_eq!(NameFacts::take(&mut &bytes[..]), facts("aten::addmm"));
        assert_eq!(facts("").kernel_category().or(facts("").operator_category()), None);
    }

    #[test]
    fn collectives_of_xla() {
        for name in ["all-reduce", "all-reduce.12", "%all-gather-start.3", "collective-permute-done", "send"] {
            assert!(says(name, NameFacts::HLO_COLLECTIVE), "{name}");
        }
        for name in ["all-reduce-scatter", "fusion.1", "all-reduce.x", ""] {
            assert!(!says(name, NameFacts::HLO_COLLECTIVE), "{name}");
        }
        assert!(says("FunctionRun", NameFacts::FUNCTION_RUN) && !says("FunctionRun2", NameFacts::FUNCTION_RUN));
    }

    #[test]
    fn owners_launches_and_marks() {
        assert!(says("record_param_comms", NameFacts::COMMUNICATION_OWNER));
        assert!(
            says("nccl:all_reduce", NameFacts::COMMUNICATION_OWNER)
                && !says("gloo:all_reduce", NameFacts::COMMUNICATION_OWNER)
        );
        assert!(
            says("cudaLaunchKernel", NameFacts::LAUNCH)
                && says("hipMemcpyAsync", NameFacts::LAUNCH)
                && !says("cudaStreamSynchronize", NameFacts::LAUNCH)
        );
        assert!(says("hipGraphLaunch", NameFacts::GRAPH_LAUNCH) && !says("cudaLaunchKernel", NameFacts::GRAPH_LAUNCH));
        assert!(says("execute_context_0(0)_generation_4(4)", NameFacts::SERVING_STEP));
    }
}
