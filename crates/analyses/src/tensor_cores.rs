//! Which kernels use tensor cores, by their names (metrics, section 7): a lower bound, as names change.

use regex::{Regex, RegexBuilder};
use stepscope_runs::RunError;

/// Parts of the names of kernels that use tensor cores, as the TensorBoard plugin listed them.
const TENSOR_CORE_PARTS: [&str; 18] = [
    "h884",
    "s884",
    "h1688",
    "s1688",
    "hmma",
    "i8816",
    "16816",
    "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel",
    "conv1x1",
    "conv2d_c1_k1",
    "direct_group",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm",
    "xmma_gemm",
    "xmma_sparse_gemm",
    "c1688",
];

/// Names of newer kernels that use tensor cores or matrix cores.
const TENSOR_CORE_PATTERN: &str = r"tensorop|tensor_op|gmma|\b[hi]mma|nvjet|tcgen05|(^|[^a-z])umma|flash_(fwd|bwd)|fmha|FlashAttn|^bmm_(E2m1|MxE4m3|E4m3|Bfloat16|Fp16)|deep_gemm|fp8_gemm|_MI\d+x\d+|_MFMA_|mfma";

/// Parts of the names of operators that tensor cores can do.
pub(crate) const ELIGIBLE: [&str; 10] = [
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "convolution",
    "aten::linear",
    "aten::matmul",
    "attention",
    "aten::_scaled_mm",
    "cudnn_rnn",
];

/// Whether tensor cores can do what an operator does.
pub(crate) fn is_eligible(operator: &str) -> bool {
    ELIGIBLE.iter().any(|part| operator.contains(part))
}

/// Tells the kernels that use tensor cores.
pub struct TensorCoreNames {
    pattern: Regex,
}

impl TensorCoreNames {
    /// Ready to tell.
    pub fn new() -> Result<Self, RunError> {
        let pattern = RegexBuilder::new(TENSOR_CORE_PATTERN).case_insensitive(true).build();
        Ok(Self { pattern: pattern.map_err(|error| RunError::Shape(error.to_string()))? })
    }

    /// By the older list alone.
    pub(crate) fn are_listed(kernel: &str) -> bool {
        TENSOR_CORE_PARTS.iter().any(|part| kernel.contains(part))
    }

    /// By either.
    #[must_use]
    pub fn are_used(&self, kernel: &str) -> bool {
        Self::are_listed(kernel) || self.pattern.is_match(kernel)
    }
}
