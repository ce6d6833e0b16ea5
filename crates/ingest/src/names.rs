//! What the name of an event says about it: the tables of names that the rules of the metrics use.

use regex::{Regex, RegexSet, RegexSetBuilder};

use crate::error::IngestError;
use crate::strings::{Strings, TextId};

/// The names of communication kernels that come with Stepscope (metrics, section 9).
pub const COMMUNICATION_NAMES: &str = include_str!("communication.txt");

/// What a name says.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is the answer of one rule")]
pub(crate) struct NameFacts {
    /// An operator with this name is an annotation.
    pub pseudo_op: bool,
    /// `ProfilerStep#N`.
    pub profiler_step: bool,
    /// A step of `vLLM` or `SGLang`.
    pub serving_step: bool,
    /// `Optimizer.step…`.
    pub optimizer_step: bool,
    /// A call that can launch device work.
    pub launch: bool,
    /// A call that launches a CUDA or HIP graph.
    pub graph_launch: bool,
    /// A span that issues collectives.
    pub communication_owner: bool,
    /// A kernel that moves data between devices.
    pub communication_kernel: bool,
}

/// Looks at each name once.
#[derive(Debug)]
pub(crate) struct Names {
    pseudo_op: Regex,
    profiler_step: Regex,
    serving_step: Regex,
    communication: RegexSet,
    not_communication: RegexSet,
    seen: Vec<Option<NameFacts>>,
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
            seen: Vec::new(),
        })
    }

    /// What the name says; nothing for an event without one.
    pub(crate) fn facts(&mut self, name: Option<TextId>, strings: &Strings) -> NameFacts {
        let Some(name) = name else { return NameFacts::default() };
        if self.seen.len() <= name.index() {
            self.seen.resize(name.index() + 1, None);
        }
        if let Some(facts) = self.seen[name.index()] {
            return facts;
        }
        let facts = self.look_at(strings.text(name));
        self.seen[name.index()] = Some(facts);
        facts
    }

    fn look_at(&self, name: &str) -> NameFacts {
        let lower = name.to_ascii_lowercase();
        NameFacts {
            pseudo_op: self.pseudo_op.is_match(name),
            profiler_step: self.profiler_step.is_match(name),
            serving_step: self.serving_step.is_match(name),
            optimizer_step: name.starts_with("Optimizer.step"),
            launch: ["launch", "memcpy", "memset"].iter().any(|word| lower.contains(word)),
            graph_launch: lower.contains("graphlaunch"),
            communication_owner: name == "record_param_comms"
                || ["nccl:", "xccl:", "hccl:"].iter().any(|prefix| name.starts_with(prefix)),
            communication_kernel: self.communication.is_match(name) && !self.not_communication.is_match(name),
        }
    }
}

fn any_case<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns).case_insensitive(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str) -> NameFacts {
        let mut strings = Strings::default();
        let id = strings.intern(name);
        Names::new(COMMUNICATION_NAMES).unwrap().facts(Some(id), &strings)
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
            assert!(facts(name).pseudo_op, "{name}");
        }
        for name in
            ["ProfilerStep#", "ProfilerStep#1x", "aten::add", "OptimizerX", "MyDataParallel.forward", "nccl_all_reduce"]
        {
            assert!(!facts(name).pseudo_op, "{name}");
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
            assert!(facts(name).communication_kernel, "{name}");
        }
        for name in ["void deep_ep::layout::get_dispatch_layout", "volta_sgemm_128x64_nn", "dispatch_kernel", "xnccl"] {
            assert!(!facts(name).communication_kernel, "{name}");
        }
    }

    #[test]
    fn owners_launches_and_marks() {
        assert!(facts("record_param_comms").communication_owner);
        assert!(facts("nccl:all_reduce").communication_owner && !facts("gloo:all_reduce").communication_owner);
        assert!(
            facts("cudaLaunchKernel").launch
                && facts("hipMemcpyAsync").launch
                && !facts("cudaStreamSynchronize").launch
        );
        assert!(facts("hipGraphLaunch").graph_launch && !facts("cudaLaunchKernel").graph_launch);
        assert!(facts("execute_context_0(0)_generation_4(4)").serving_step);
    }
}
