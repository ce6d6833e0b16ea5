//! Tensors and kernels of the network that is trained, and how long a kernel takes on an A100.

use crate::job::Job;

/// Multiply-adds of single precision without tensor cores, 70 % of the peak: 13.6 TFLOP/s.
const FLOPS_PER_NS: i64 = 13_600;
/// Memory bandwidth that a kernel reaches: 1.2 TB/s.
const MEMORY_BYTES_PER_NS: i64 = 1_200;
/// The shortest kernel.
const KERNEL_MIN_NS: i64 = 1_600;
/// Rows and columns of a tiny tensor.
const SMALL_SIDE: i64 = 64;

/// A tensor, by its part in the network. All are of single precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensor {
    /// Rows of a batch by the columns of a layer.
    Batch,
    /// The same, transposed.
    BatchTransposed,
    /// Weight of a layer.
    Weight,
    /// Bias of a layer.
    Bias,
    /// A tiny matrix.
    Small,
    /// A single number.
    Scalar,
}

impl Tensor {
    /// Lengths of its dimensions.
    #[must_use]
    pub fn dims(self, job: &Job) -> Vec<i64> {
        match self {
            Self::Batch => vec![job.batch, job.width],
            Self::BatchTransposed => vec![job.width, job.batch],
            Self::Weight => vec![job.width, job.width],
            Self::Bias => vec![job.width],
            Self::Small => vec![SMALL_SIDE, SMALL_SIDE],
            Self::Scalar => Vec::new(),
        }
    }

    /// Number of elements.
    #[must_use]
    pub fn elements(self, job: &Job) -> i64 {
        match self {
            Self::Batch | Self::BatchTransposed => job.batch * job.width,
            Self::Weight => job.width * job.width,
            Self::Bias => job.width,
            Self::Small => SMALL_SIDE * SMALL_SIDE,
            Self::Scalar => 1,
        }
    }

    /// Size in memory.
    #[must_use]
    pub fn size_bytes(self, job: &Job) -> i64 {
        self.elements(job) * 4
    }
}

/// A kernel that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// A product of a batch and a weight, or of two batches.
    MatMul,
    /// Something done to every element of a tensor.
    Elementwise(Tensor),
}

impl Kernel {
    /// The name that a profiler records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            // A kernel for single precision: one for tensor cores would be named after s16816 or tf32.
            Self::MatMul => "ampere_sgemm_128x64_tn",
            Self::Elementwise(_) => {
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
            }
        }
    }

    /// How long it takes at least.
    #[must_use]
    pub fn least_ns(self, job: &Job) -> i64 {
        let work_ns = match self {
            Self::MatMul => 2 * job.batch * Tensor::Weight.elements(job) / FLOPS_PER_NS,
            // Two tensors are read and one is written.
            Self::Elementwise(tensor) => 3 * tensor.size_bytes(job) / MEMORY_BYTES_PER_NS,
        };
        KERNEL_MIN_NS + work_ns
    }

    /// Blocks of its grid, and threads of a block.
    #[must_use]
    pub fn grid_and_block(self, job: &Job) -> (i64, i64) {
        match self {
            Self::MatMul => ((job.batch / 128).max(1) * (job.width / 64).max(1), 128),
            Self::Elementwise(tensor) => (tensor.elements(job).div_euclid(512).max(1), 128),
        }
    }
}
