//! Advice with its condition: a fix is shown where the trace and its devices meet everything that it needs.

use super::Facts;
use super::hardware::{NumberFormat, Vendor};

/// The code to change, and what must hold for it to be right.
#[derive(Debug)]
pub struct Fix {
    /// The code, or a comment that names it.
    pub code: &'static str,
    /// All of these must hold.
    pub when: &'static [Need],
}

/// One condition of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Work ran on a device.
    Device,
    /// All work ran on the host.
    HostOnly,
    /// The devices are of that vendor.
    Of(Vendor),
    /// The vendor of the devices is not known.
    OfUnknown,
    /// The devices compute matrix products in that format.
    Computes(NumberFormat),
    /// They do not, or it is not known.
    Lacks(NumberFormat),
    /// The collective that takes most of the communication time is one of these.
    Collective(&'static [&'static str]),
    /// It is none of these.
    OtherCollective(&'static [&'static str]),
    /// The trace shows that it is used.
    Uses(Framework),
    /// The trace does not show it.
    Without(Framework),
}

/// What a program is made with, as far as advice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Framework {
    /// `DistributedDataParallel`.
    Ddp,
    /// `FullyShardedDataParallel`, or `fully_shard`.
    Fsdp,
    /// A `DataLoader` that loads in the process of the loop.
    LoaderInProcess,
    /// A `DataLoader` with workers.
    LoaderWithWorkers,
    /// An optimizer of torch.
    Optimizer,
    /// `torch.compile`.
    Compile,
    /// CUDA or HIP graphs.
    Graphs,
    /// A server of a language model, such as vLLM.
    Serving,
    /// TensorFlow or JAX: the other fixes are for torch.
    Xla,
}

/// Fixes that several rules advise.
impl Fix {
    pub(crate) const BF16_AUTOCAST: Self = Self {
        code: "with torch.autocast(\"cuda\", dtype=torch.bfloat16): …",
        when: &[Need::Computes(NumberFormat::Bf16)],
    };
    pub(crate) const FP16_AUTOCAST: Self = Self {
        code: "with torch.autocast(\"cuda\", dtype=torch.float16): …   # and torch.amp.GradScaler() to train",
        when: &[Need::Computes(NumberFormat::Fp16), Need::Lacks(NumberFormat::Bf16)],
    };
    pub(crate) const CUDA_GRAPHS: Self = Self {
        code: "# CUDA graphs: torch.cuda.make_graphed_callables(…)",
        when: &[Need::Of(Vendor::Nvidia), Need::Without(Framework::Graphs)],
    };
    pub(crate) const HIP_GRAPHS: Self = Self {
        code: "# HIP graphs: torch.cuda.make_graphed_callables(…)",
        when: &[Need::Of(Vendor::Amd), Need::Without(Framework::Graphs)],
    };
    pub(crate) const COMPILE_THE_STEP: Self = Self {
        code: "# compile the whole step: jax.jit, or tf.function(jit_compile=True)",
        when: &[Need::Uses(Framework::Xla)],
    };
    pub(crate) const LARGER_BATCH: Self = Self { code: "# more work per kernel: a larger batch", when: &[] };
}

impl Fix {
    /// Whether it is right for what was measured.
    pub(crate) fn applies(&self, facts: &Facts) -> bool {
        let is_for_xla = self.when.contains(&Need::Uses(Framework::Xla));
        is_for_xla == facts.frameworks.contains(&Framework::Xla) && self.when.iter().all(|need| need.is_met(facts))
    }

    /// Its condition in words; none where it always applies.
    #[must_use]
    pub fn condition(&self) -> Option<String> {
        let needs: Vec<String> = self.when.iter().map(|need| need.in_words()).collect();
        (!needs.is_empty()).then(|| needs.join(", "))
    }
}

impl Need {
    fn is_met(self, facts: &Facts) -> bool {
        let is_collective =
            |kinds: &[&str]| facts.largest_collective.as_deref().is_some_and(|kind| kinds.contains(&kind));
        match self {
            Self::Device => facts.device_events > 0,
            Self::HostOnly => facts.device_events == 0,
            Self::Of(vendor) => facts.hardware.vendor == Some(vendor),
            Self::OfUnknown => facts.hardware.vendor.is_none(),
            Self::Computes(format) => facts.hardware.computes(format),
            Self::Lacks(format) => !facts.hardware.computes(format),
            Self::Collective(kinds) => is_collective(kinds),
            Self::OtherCollective(kinds) => !is_collective(kinds),
            Self::Uses(framework) => facts.frameworks.contains(&framework),
            Self::Without(framework) => !facts.frameworks.contains(&framework),
        }
    }

    fn in_words(self) -> String {
        match self {
            Self::Device => "with a device".to_owned(),
            Self::HostOnly => "without a device".to_owned(),
            Self::Of(vendor) => vendor.as_text().to_owned(),
            Self::OfUnknown => "other vendor".to_owned(),
            Self::Computes(format) => format!("{} on the device", format.as_text()),
            Self::Lacks(format) => format!("no {} on the device", format.as_text()),
            Self::Collective(kinds) => format!("mainly {}", kinds.join(" or ")),
            Self::OtherCollective(kinds) => format!("mainly neither {}", kinds.join(" nor ")),
            Self::Uses(framework) => format!("with {}", framework.as_text()),
            Self::Without(framework) => format!("without {}", framework.as_text()),
        }
    }
}

impl Framework {
    fn as_text(self) -> &'static str {
        match self {
            Self::Ddp => "DistributedDataParallel",
            Self::Fsdp => "FSDP",
            Self::LoaderInProcess => "`num_workers=0`",
            Self::LoaderWithWorkers => "DataLoader workers",
            Self::Optimizer => "an optimizer",
            Self::Compile => "`torch.compile`",
            Self::Graphs => "CUDA or HIP graphs",
            Self::Serving => "a serving engine",
            Self::Xla => "TensorFlow or JAX",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_told_in_words() {
        #[track_caller]
        fn check(when: &'static [Need], want: Option<&str>) {
            assert_eq!(Fix { code: "", when }.condition().as_deref(), want);
        }
        check(&[], None);
        check(&[Need::Device, Need::Uses(Framework::LoaderInProcess)], Some("with a device, with `num_workers=0`"));
        check(&[Need::HostOnly], Some("without a device"));
        check(
            &[Need::Of(Vendor::Nvidia), Need::Without(Framework::Graphs)],
            Some("NVIDIA, without CUDA or HIP graphs"),
        );
        check(&[Need::Of(Vendor::Amd)], Some("AMD"));
        check(&[Need::OfUnknown], Some("other vendor"));
        let formats = "fp16 on the device, no bf16 on the device, TF32 on the device";
        check(
            &[Need::Computes(NumberFormat::Fp16), Need::Lacks(NumberFormat::Bf16), Need::Computes(NumberFormat::Tf32)],
            Some(formats),
        );
        check(&[Need::Collective(&["all_gather", "reduce_scatter"])], Some("mainly all_gather or reduce_scatter"));
        check(
            &[Need::OtherCollective(&["all_gather", "all_reduce"])],
            Some("mainly neither all_gather nor all_reduce"),
        );
    }

    #[test]
    fn a_framework_is_called_by_its_name() {
        for (framework, name) in [
            (Framework::Ddp, "DistributedDataParallel"),
            (Framework::Fsdp, "FSDP"),
            (Framework::LoaderInProcess, "`num_workers=0`"),
            (Framework::LoaderWithWorkers, "DataLoader workers"),
            (Framework::Optimizer, "an optimizer"),
            (Framework::Compile, "`torch.compile`"),
            (Framework::Graphs, "CUDA or HIP graphs"),
            (Framework::Serving, "a serving engine"),
        ] {
            assert_eq!(Need::Uses(framework).in_words(), format!("with {name}"));
        }
    }
}
