//! The network that is trained, and its kernels: layers with two products each, in bfloat16 or in single precision.

use crate::device::MULTIPROCESSORS;

use super::parameters::{
    BFLOAT16_FLOPS_PER_NS, FLOAT_EFFICIENCY, FLOAT_FLOPS_PER_NS, KERNEL_MIN_NS, MEMORY_BYTES_PER_NS,
};
use super::program::Kernel;

/// Rows and columns of a result that one block of a product computes.
const TILE: i64 = 128;
/// Rows and columns of a small tensor.
pub(crate) const SMALL_SIDE: i64 = 64;

/// The type of the numbers that layers compute with. Weights and their gradients are of single precision either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Bfloat16,
    Float,
}

impl Precision {
    pub(crate) fn dtype(self) -> &'static str {
        match self {
            Self::Bfloat16 => "c10::BFloat16",
            Self::Float => "float",
        }
    }

    fn bytes(self) -> i64 {
        match self {
            Self::Bfloat16 => 2,
            Self::Float => 4,
        }
    }
}

/// A network with a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Network {
    pub layers: u32,
    /// Columns of a batch, and both sides of a weight.
    pub width: i64,
    /// Rows of a batch.
    pub rows: i64,
    pub precision: Precision,
    /// Share of the peak in bfloat16 that products reach.
    pub efficiency: f64,
}

impl Network {
    /// Shape of what goes from layer to layer.
    pub(crate) fn batch(&self) -> Vec<i64> {
        vec![self.rows, self.width]
    }

    pub(crate) fn weight(&self) -> Vec<i64> {
        vec![self.width, self.width]
    }

    /// Memory that what goes from layer to layer takes.
    pub(crate) fn batch_bytes(&self) -> i64 {
        self.rows * self.width * self.precision.bytes()
    }

    /// Weights of a layer.
    pub(crate) fn parameters_per_layer(&self) -> i64 {
        2 * self.width * self.width
    }

    /// A product of a batch with a weight, or of two batches, which is cut so that it has as many blocks.
    pub(crate) fn product(&self) -> Kernel {
        let grid = ((self.rows + TILE - 1) / TILE) * (self.width / TILE);
        let waves = (grid + MULTIPROCESSORS - 1) / MULTIPROCESSORS;
        let tile_flops = (2 * TILE * TILE * self.width) as f64;
        let (name, flops_per_ns) = match self.precision {
            Precision::Bfloat16 => {
                ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", BFLOAT16_FLOPS_PER_NS * self.efficiency)
            }
            Precision::Float => ("ampere_sgemm_128x128_tn", FLOAT_FLOPS_PER_NS * FLOAT_EFFICIENCY),
        };
        Kernel { name, dur_ns: waves * (tile_flops / flops_per_ns) as i64, grid, block: 256 }
    }

    /// Something done to every element of a batch: two are read, one is written.
    pub(crate) fn elementwise(&self, name: &'static str) -> Kernel {
        self.over_batches(name, 3)
    }

    /// The sum of a batch over its rows.
    pub(crate) fn sum(&self, name: &'static str) -> Kernel {
        self.over_batches(name, 1)
    }

    fn over_batches(&self, name: &'static str, batches: i64) -> Kernel {
        let dur_ns = KERNEL_MIN_NS + batches * self.batch_bytes() / MEMORY_BYTES_PER_NS;
        Kernel { name, dur_ns, grid: (self.rows * self.width / 1024).max(1), block: 128 }
    }

    /// Something done to a small tensor.
    pub(crate) fn small(name: &'static str) -> Kernel {
        Kernel { name, dur_ns: KERNEL_MIN_NS, grid: SMALL_SIDE * SMALL_SIDE / 1024, block: 128 }
    }

    /// The update of all weights: they, their gradients and two moments are read, three are written.
    pub(crate) fn update(&self, name: &'static str) -> Kernel {
        let parameters = i64::from(self.layers) * self.parameters_per_layer();
        Kernel { name, dur_ns: 7 * 4 * parameters / MEMORY_BYTES_PER_NS, grid: parameters / 65_536, block: 512 }
    }

    /// Time of a layer's backward pass on the device.
    pub(crate) fn backward_layer_ns(&self) -> i64 {
        4 * self.product().dur_ns + 3 * self.elementwise("").dur_ns + 2 * self.sum("").dur_ns
    }

    /// Time of a step on a device that never waits.
    pub(crate) fn step_ns(&self) -> i64 {
        let forward_ns = 2 * self.product().dur_ns + 3 * self.elementwise("").dur_ns + Self::small("").dur_ns;
        i64::from(self.layers) * (forward_ns + self.backward_layer_ns()) + self.update("").dur_ns
    }
}
