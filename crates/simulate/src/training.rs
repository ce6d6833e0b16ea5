//! One training step, in the order that the host goes through it.

use crate::kernel::{Kernel, Tensor};
use crate::player::Player;
use crate::step::{Copy, Frame, What};

/// From the mark of a step to what comes first in it, and from the last to its end.
const MARK_NS: i64 = 9_000;
/// Operators that do something to every element, for the tiny ones.
const SMALL_OPS: [&str; 4] = ["aten::mul", "aten::add", "aten::sub", "aten::tanh"];

/// Plays a step. Stops behind the backward pass while it is not known when the collectives end.
pub(crate) fn train(player: &mut Player<'_>) {
    player.within(What::StepMark, |player| {
        player.spend(MARK_NS);
        player.wait_for_data();
        player.frame(Frame::TrainStep, |player| {
            prepare(player);
            forward(player);
            player.on_backward_thread(backward);
            if player.knows_ends() {
                player.wait_for_collectives();
                optimize(player);
                read_loss(player);
            }
        });
        player.spend(MARK_NS);
    });
}

fn prepare(player: &mut Player<'_>) {
    for _ in 0..player.job.copies_per_step {
        player.op("aten::to", &[Tensor::Batch], |player| {
            player.op("aten::_to_copy", &[Tensor::Batch], |player| {
                player.allocate(Tensor::Batch);
                player.op("aten::copy_", &[Tensor::Batch, Tensor::Batch], |player| {
                    player.copy(Copy::ToDevice(Tensor::Batch));
                });
            });
        });
    }
    for number in 0..player.job.small_ops_per_step {
        let name = SMALL_OPS[number as usize % SMALL_OPS.len()];
        player.op(name, &[Tensor::Small, Tensor::Small], |player| player.launch(Kernel::Elementwise(Tensor::Small)));
    }
}

fn forward(player: &mut Player<'_>) {
    player.frame(Frame::Network, |player| {
        for layer in 0..player.job.layers {
            player.frame(Frame::Layer(layer), |player| forward_layer(player, layer));
        }
    });
}

fn forward_layer(player: &mut Player<'_>, layer: u32) {
    player.op("aten::linear", &[Tensor::Batch, Tensor::Weight, Tensor::Bias], |player| {
        let inputs = &[Tensor::Bias, Tensor::Batch, Tensor::Weight];
        player.op_in_sequence("aten::addmm", inputs, Some(2 * layer), |player| {
            player.allocate(Tensor::Batch);
            player.launch(Kernel::MatMul);
        });
    });
    player.op_in_sequence("aten::relu", &[Tensor::Batch], Some(2 * layer + 1), |player| {
        player.allocate(Tensor::Batch);
        player.launch(Kernel::Elementwise(Tensor::Batch));
    });
}

fn backward(player: &mut Player<'_>) {
    let (layers, collectives) = (player.job.layers, player.job.collectives_per_step);
    let due = |layers_done: u32| u64::from(layers_done) * u64::from(collectives) / u64::from(layers);
    for layer in (0..layers).rev() {
        backward_layer(player, layer);
        let layers_done = layers - layer;
        for _ in due(layers_done - 1)..due(layers_done) {
            player.collective();
        }
    }
}

fn backward_layer(player: &mut Player<'_>, layer: u32) {
    let sequence = Some(2 * layer + 1);
    player.op_in_sequence("autograd::engine::evaluate_function: ReluBackward0", &[Tensor::Batch], sequence, |player| {
        player.op_in_sequence("ReluBackward0", &[Tensor::Batch], sequence, |player| {
            player.op("aten::threshold_backward", &[Tensor::Batch, Tensor::Batch], |player| {
                player.launch(Kernel::Elementwise(Tensor::Batch));
            });
        });
        player.free();
    });
    let sequence = Some(2 * layer);
    player.op_in_sequence(
        "autograd::engine::evaluate_function: AddmmBackward0",
        &[Tensor::Batch],
        sequence,
        |player| {
            player.op_in_sequence("AddmmBackward0", &[Tensor::Batch], sequence, |player| {
                let products: [&'static [Tensor]; 2] =
                    [&[Tensor::Batch, Tensor::Weight], &[Tensor::BatchTransposed, Tensor::Batch]];
                for inputs in products {
                    player.op("aten::mm", inputs, |player| player.launch(Kernel::MatMul));
                }
            });
            player.free();
        },
    );
}

fn optimize(player: &mut Player<'_>) {
    player.within(What::Annotation("Optimizer.step#SGD.step"), |player| {
        for _ in 0..player.job.layers {
            player.op("aten::add_", &[Tensor::Weight, Tensor::Weight], |player| {
                player.launch(Kernel::Elementwise(Tensor::Weight));
            });
            player.op("aten::add_", &[Tensor::Bias, Tensor::Bias], |player| {
                player.launch(Kernel::Elementwise(Tensor::Bias));
            });
        }
    });
}

/// The host reads the loss, and so waits for everything that the step launched.
fn read_loss(player: &mut Player<'_>) {
    player.op("aten::item", &[Tensor::Scalar], |player| {
        player.op("aten::_local_scalar_dense", &[Tensor::Scalar], |player| {
            player.copy(Copy::FromDevice(Tensor::Scalar));
        });
    });
    for _ in 0..player.job.copies_per_step {
        player.free();
    }
}
