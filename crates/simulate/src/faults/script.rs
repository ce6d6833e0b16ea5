//! What a rank does: a training loop, from the mark of a step to its end, written as a program.

use crate::noise::noise;

use super::network::{Network, SMALL_SIDE};
use super::parameters::{KERNEL_MIN_NS, OP_ALONE_NS, OP_ENTRY_NS, OP_EXIT_NS, PYTHON_NS, READ_NUMBER_NS};
use super::program::{Action, Collective, Cost, Kernel, Label, Op, Program, Stream, Thread, Work};
use super::setup::{Now, RECORDED_STEPS, Setup, WARMUP_STEPS};

/// Clearing the gradients on the host.
const ZERO_GRAD_NS: i64 = 60_000;
/// Sizes of blocks that were used once: the first, and what each next one is larger.
const STALE_BLOCK_BYTES: [i64; 2] = [40 << 20, 10 << 20];
/// Operators that do something to every element of a small tensor.
const SMALL_OPS: [(&str, &str); 4] = [
    (
        "aten::mul",
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul>)",
    ),
    (
        "aten::add",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    ),
    (
        "aten::sigmoid",
        "void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
    ),
    (
        "aten::tanh",
        "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
    ),
];
const LAYER_NORM: &str = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*, float const*, float const*, float*, float*, float*)";
const LAYER_NORM_INPUT: &str = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float>(float const*, float const*, float const*, float const*, float const*, float*, int)";
const LAYER_NORM_WEIGHT: &str = "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 64u, 1u, 32u, true, true, false>(long, long, float const*, float const*, float const*, float const*, float*, float*)";
const GELU: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul>)";
const GELU_BACKWARD: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 3ul> >(int, at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, std::array<char*, 3ul>)";
const SUM: &str = "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4>)";
const MSE_BACKWARD: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::mse_backward_cuda_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda(float, float, float)#1}, std::array<char*, 4ul> >(int, at::native::mse_backward_cuda_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda(float, float, float)#1}, std::array<char*, 4ul>)";
const ADAMW: &str = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float*, float*>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float*, float*)";

/// The program of a rank.
pub(crate) fn program(setup: &Setup, rank: u32) -> Program {
    let mut program = Program::new();
    let groups = setup.groups_of(rank).len();
    let script = Script { setup, network: setup.network, groups, step: 0 };
    script.before_the_loop(&mut program);
    let mut state = LoopState::default();
    for step in 0..WARMUP_STEPS + RECORDED_STEPS {
        if step == WARMUP_STEPS {
            program.within("start of the recording", 0, |program| {
                let slack = program.allocate(setup.slack_bytes);
                program.free(slack);
                program.push(Action::SynchronizeDevice);
            });
        }
        let script = Script { step, ..script };
        program.within("step", step, |program| script.step(program, &mut state));
    }
    program.within("end of the recording", 0, |program| program.push(Action::SynchronizeDevice));
    program
}

/// What goes from step to step.
#[derive(Default)]
struct LoopState {
    gradients: Vec<u32>,
    step_ends: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Script<'s> {
    setup: &'s Setup,
    network: Network,
    /// Process groups of the rank.
    groups: usize,
    step: u32,
}

impl Script<'_> {
    fn before_the_loop(&self, program: &mut Program) {
        let weights_bytes = self.network.parameters_per_layer() * 4;
        for _ in 0..self.network.layers {
            // A layer's weights and two moments of each.
            program.allocate(weights_bytes);
            program.allocate(2 * weights_bytes);
        }
        for number in 0..self.setup.stale_blocks {
            let stale = program.allocate(STALE_BLOCK_BYTES[0] + i64::from(number) * STALE_BLOCK_BYTES[1]);
            program.free(stale);
        }
    }

    fn step(&self, program: &mut Program, state: &mut LoopState) {
        program.span(Label::Step(self.step), |program| {
            program.work(&PYTHON_NS);
            // The loop keeps the host from running further ahead.
            if let Some(place) = self.step.checked_sub(1 + self.setup.steps_ahead) {
                program.push(Action::SynchronizeEvent(state.step_ends[place as usize]));
            }
            program.within("input", 0, |program| self.input(program));
            program.work(&PYTHON_NS);
            program.span(Label::Annotation("Optimizer.zero_grad#AdamW.zero_grad"), |program| {
                program.push(Action::Work(Cost::About(ZERO_GRAD_NS)));
                state.gradients.drain(..).for_each(|tensor| program.free(tensor));
            });
            program.within("compilation", 0, |program| self.compile(program));
            let mut kept = Vec::new();
            self.forward(program, &mut kept);
            program.work(&PYTHON_NS);
            program.push(Action::HandOff(Thread::Backward));
            let mut summed = Vec::new();
            self.backward(program, &mut kept, &mut state.gradients, &mut summed);
            program.within("await the sums", 0, |program| {
                for event in summed {
                    program.push(Action::AwaitEvent { event, stream: Stream::Compute });
                }
            });
            program.push(Action::HandOff(Thread::Script));
            if !self.setup.is_overlapped {
                program.within("sums after the backward pass", 0, |program| self.sum_all(program));
            }
            program.work(&PYTHON_NS);
            self.optimize(program);
            state.step_ends.push(program.record_event(Stream::Compute));
            program.work(&PYTHON_NS);
        });
    }

    /// The next batch, and its copy to the device.
    fn input(&self, program: &mut Program) {
        let loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
        program.span(Label::Annotation(loader), |program| {
            program.work(&OP_ENTRY_NS);
            program.push(Action::AwaitBatch);
            program.work(&OP_ENTRY_NS);
        });
        program.work(&PYTHON_NS);
        let dims = vec![self.setup.input_bytes / 4];
        op_of(program, ("aten::to", None), (&[&dims], "float"), |program| {
            op_of(program, ("aten::_to_copy", None), (&[&dims], "float"), |program| {
                let batch = program.allocate(self.setup.input_bytes);
                let both = (&[&dims, &dims][..], "float");
                op_of(program, ("aten::copy_", None), both, |program| self.copy_input(program));
                program.free(batch);
            });
        });
    }

    fn copy_input(&self, program: &mut Program) {
        let (bytes, dur_ns, stream) = (self.setup.input_bytes, self.setup.input_ns(), Stream::Compute);
        if self.setup.is_pageable {
            let work = Work::Copy { name: "Memcpy HtoD (Pageable -> Device)", bytes, dur_ns };
            program.push(Action::CopyPageable { stream, work });
            program.within("wait for the copy", 0, |program| program.push(Action::SynchronizeStream(stream)));
        } else {
            let work = Work::Copy { name: "Memcpy HtoD (Pinned -> Device)", bytes, dur_ns };
            program.push(Action::Launch { call: "cudaMemcpyAsync", stream, work });
        }
    }

    /// The compiler looks for code that fits, and compiles if there is none.
    fn compile(&self, program: &mut Program) {
        if !self.setup.is_compiled {
            return;
        }
        self.op(program, ("TorchDynamo Cache Lookup", None), &[], |_| {});
        let Some(dur_ns) = self.now(self.setup.recompilation) else { return };
        let work = |program: &mut Program, percent: i64| {
            program.push(Action::Work(Cost::About(dur_ns * percent / 100)));
        };
        program.span(Label::Annotation("_compile.compile_inner (dynamo_timed)"), |program| {
            work(program, 20);
            program.span(Label::Annotation("compile_fx_inner (dynamo_timed)"), |program| {
                work(program, 45);
                program.span(Label::Annotation("async_compile.wait (dynamo_timed)"), |program| work(program, 30));
            });
            work(program, 5);
        });
    }

    /// The script pauses before one of the layers, another one each time.
    fn pause(&self, program: &mut Program, layer: u32) {
        let paused = noise(self.setup.seed, [u64::MAX - 1, u64::from(self.step), 3]) * f64::from(self.network.layers);
        if let Some(dur_ns) = self.now(self.setup.pause)
            && paused as u32 == layer
        {
            program.push(Action::Work(Cost::About(dur_ns)));
        }
    }

    fn now(&self, now: Option<Now>) -> Option<i64> {
        now.filter(|now| now.happens_in(self.step)).map(|now| now.dur_ns)
    }

    fn forward(&self, program: &mut Program, kept: &mut Vec<u32>) {
        let mut layers = |program: &mut Program| {
            for layer in 0..self.network.layers {
                program.within("pause", layer, |program| self.pause(program, layer));
                program.within("forward", layer, |program| self.forward_layer(program, layer, kept));
            }
        };
        if self.setup.is_compiled {
            self.op(program, ("Torch-Compiled Region: 0/0", None), &[], layers);
        } else {
            layers(program);
        }
        program.within("loss", 0, |program| {
            program.work(&PYTHON_NS);
            let batch = self.network.batch();
            kept.push(program.allocate(self.network.batch_bytes()));
            let op = ("aten::mse_loss", Some(self.sequence(4 * self.network.layers)));
            self.leaf(program, op, &[&batch, &batch], self.network.sum(SUM));
            if self.setup.leak_bytes > 0 {
                // Whatever holds the loss holds this.
                program.allocate(self.setup.leak_bytes);
            }
        });
    }

    fn forward_layer(&self, program: &mut Program, layer: u32, kept: &mut Vec<u32>) {
        let (batch, weight) = (&self.network.batch(), &self.network.weight());
        let bias = &vec![self.network.width];
        let first = 4 * layer;
        let mut keep = |program: &mut Program| kept.push(program.allocate(self.network.batch_bytes()));
        program.within("small tensors", 0, |program| self.small_ops(program));

        program.work(&PYTHON_NS);
        self.op(program, ("aten::layer_norm", None), &[batch, bias, bias], |program| {
            keep(program);
            let op = ("aten::native_layer_norm", Some(self.sequence(first)));
            self.leaf(program, op, &[batch, bias, bias], self.network.elementwise(LAYER_NORM));
        });
        self.read_number(program, 0);
        for product in [1, 3] {
            program.work(&PYTHON_NS);
            self.op(program, ("aten::linear", None), &[batch, weight, bias], |program| {
                keep(program);
                let op = ("aten::addmm", Some(self.sequence(first + product)));
                self.leaf(program, op, &[bias, batch, weight], self.network.product());
            });
            self.read_number(program, product);
            if product == 1 {
                program.work(&PYTHON_NS);
                keep(program);
                let op = ("aten::gelu", Some(self.sequence(first + 2)));
                self.leaf(program, op, &[batch], self.network.elementwise(GELU));
                self.read_number(program, 2);
            }
        }
        program.work(&PYTHON_NS);
        keep(program);
        self.leaf(program, ("aten::add", None), &[batch, batch], self.network.elementwise(SMALL_OPS[1].1));
    }

    /// What a layer does to small tensors: one operator, or the many that it could be fused from.
    fn small_ops(&self, program: &mut Program) {
        let small = vec![SMALL_SIDE, SMALL_SIDE];
        for number in 0..self.setup.small_ops_per_layer {
            let (name, kernel) = SMALL_OPS[number as usize % SMALL_OPS.len()];
            program.work(&PYTHON_NS);
            let result = program.allocate(SMALL_SIDE * SMALL_SIDE * 4);
            leaf_of(program, (name, None), (&[&small, &small], "float"), Network::small(kernel));
            program.free(result);
        }
    }

    /// The script reads a number, if it reads that many in a layer.
    fn read_number(&self, program: &mut Program, place: u32) {
        if place >= self.setup.items_per_layer {
            return;
        }
        program.within("item", place, |program| {
            program.work(&PYTHON_NS);
            self.op(program, ("aten::item", None), &[&vec![]], |program| {
                self.op(program, ("aten::_local_scalar_dense", None), &[&vec![]], |program| {
                    let (call, stream) = ("cudaMemcpyAsync", Stream::Compute);
                    let name = "Memcpy DtoH (Device -> Pinned)";
                    let work = Work::Copy { name, bytes: 4, dur_ns: READ_NUMBER_NS };
                    program.push(Action::Launch { call, stream, work });
                    program.push(Action::SynchronizeStream(stream));
                });
            });
        });
    }

    /// The backward pass; gives what the sums over the ranks are done at.
    fn backward(&self, program: &mut Program, kept: &mut Vec<u32>, gradients: &mut Vec<u32>, summed: &mut Vec<u32>) {
        let batch = self.network.batch();
        program.within("loss backward", 0, |program| {
            let sequence = self.sequence(4 * self.network.layers);
            self.node(program, "autograd::engine::evaluate_function: MseLossBackward0", sequence, |program| {
                self.op(program, ("MseLossBackward0", Some(sequence)), &[&vec![]], |program| {
                    let kernel = self.network.elementwise(MSE_BACKWARD);
                    self.leaf(program, ("aten::mse_loss_backward", None), &[&batch, &batch], kernel);
                });
            });
            free_last(program, kept, 1);
        });
        for layer in (0..self.network.layers).rev() {
            program.within("backward", layer, |program| {
                self.backward_layer(program, layer, kept, gradients);
                self.node_without_sequence(program, |program| {
                    if self.setup.is_overlapped {
                        program.within("sum", 0, |program| summed.extend(self.sum_layer(program, layer)));
                    }
                });
            });
        }
    }

    fn backward_layer(&self, program: &mut Program, layer: u32, kept: &mut Vec<u32>, gradients: &mut Vec<u32>) {
        let (batch, weight) = (&self.network.batch(), &self.network.weight());
        let first = 4 * layer;
        let mut products = |program: &mut Program, sequence: i64| {
            self.node(program, "autograd::engine::evaluate_function: AddmmBackward0", sequence, |program| {
                self.op(program, ("AddmmBackward0", Some(sequence)), &[batch], |program| {
                    self.leaf(program, ("aten::mm", None), &[batch, weight], self.network.product());
                    gradients.push(program.allocate(self.network.width * self.network.width * 4));
                    self.leaf(program, ("aten::mm", None), &[batch, batch], self.network.product());
                });
                self.leaf(program, ("aten::sum", None), &[batch], self.network.sum(SUM));
            });
        };
        products(program, self.sequence(first + 3));
        free_last(program, kept, 2);
        let sequence = self.sequence(first + 2);
        self.node(program, "autograd::engine::evaluate_function: GeluBackward0", sequence, |program| {
            self.op(program, ("GeluBackward0", Some(sequence)), &[batch], |program| {
                let kernel = self.network.elementwise(GELU_BACKWARD);
                self.leaf(program, ("aten::gelu_backward", None), &[batch, batch], kernel);
            });
        });
        free_last(program, kept, 1);
        products(program, self.sequence(first + 1));
        free_last(program, kept, 1);
        let sequence = self.sequence(first);
        self.node(program, "autograd::engine::evaluate_function: NativeLayerNormBackward0", sequence, |program| {
            self.op(program, ("NativeLayerNormBackward0", Some(sequence)), &[batch], |program| {
                self.op(program, ("aten::native_layer_norm_backward", None), &[batch, batch], |program| {
                    launch(program, self.network.elementwise(LAYER_NORM_INPUT));
                    launch(program, self.network.elementwise(LAYER_NORM_WEIGHT));
                });
            });
        });
        free_last(program, kept, 1);
    }

    /// Sums the gradients of all layers, one after the other; the stream of the network waits for each.
    fn sum_all(&self, program: &mut Program) {
        for layer in (0..self.network.layers).rev() {
            program.within("layer", layer, |program| {
                program.work(&PYTHON_NS);
                if let Some(done) = self.sum_layer(program, layer) {
                    program.push(Action::AwaitEvent { event: done, stream: Stream::Compute });
                }
            });
        }
    }

    /// Sums the gradients of a layer over the ranks of each group, one group after the other; gives when that is done.
    fn sum_layer(&self, program: &mut Program, layer: u32) -> Option<u32> {
        let elements = self.network.parameters_per_layer();
        let layers = self.network.layers;
        let ordinal = u64::from(self.step) * u64::from(layers) + u64::from(layers - 1 - layer);
        let mut source = Stream::Compute;
        let mut done = None;
        for group in 0..self.groups {
            let stream = Stream::Communication(group);
            let collective = Collective { group, ordinal, elements };
            self.op(program, ("c10d::allreduce_", None), &[&vec![elements]], |program| {
                program.span(Label::Collective(collective), |program| {
                    program.work(&OP_ALONE_NS);
                    let event = program.record_event(source);
                    program.push(Action::AwaitEvent { event, stream });
                    program.span(Label::Annotation("nccl:all_reduce"), |program| {
                        program.work(&OP_ENTRY_NS);
                        let work = Work::Collective(collective);
                        program.push(Action::Launch { call: "cudaLaunchKernelExC", stream, work });
                        done = Some(program.record_event(stream));
                    });
                    program.work(&OP_EXIT_NS);
                });
            });
            source = stream;
        }
        done
    }

    fn optimize(&self, program: &mut Program) {
        program.span(Label::Annotation("Optimizer.step#AdamW.step"), |program| {
            program.work(&PYTHON_NS);
            let parameters = vec![i64::from(self.network.layers) * self.network.parameters_per_layer()];
            let kernel = self.network.update(ADAMW);
            leaf_of(program, ("aten::_fused_adamw_", None), (&[&parameters], "float"), kernel);
        });
    }

    /// An operator around what `body` does.
    fn op(
        &self,
        program: &mut Program,
        op: (&'static str, Option<i64>),
        dims: &[&Vec<i64>],
        body: impl FnOnce(&mut Program),
    ) {
        op_of(program, op, (dims, self.network.precision.dtype()), body);
    }

    /// An operator with one kernel.
    fn leaf(&self, program: &mut Program, op: (&'static str, Option<i64>), dims: &[&Vec<i64>], kernel: Kernel) {
        leaf_of(program, op, (dims, self.network.precision.dtype()), kernel);
    }

    /// A node of the backward pass.
    fn node(&self, program: &mut Program, name: &'static str, sequence: i64, body: impl FnOnce(&mut Program)) {
        program.work(&OP_ALONE_NS);
        self.op(program, (name, Some(sequence)), &[], body);
    }

    fn node_without_sequence(&self, program: &mut Program, body: impl FnOnce(&mut Program)) {
        program.work(&OP_ALONE_NS);
        let name = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
        self.op(program, (name, None), &[], |program| {
            self.op(program, ("torch::autograd::AccumulateGrad", None), &[&self.network.weight()], |_| {});
            body(program);
        });
    }

    /// The number that a forward operator of this step shares with its backward operators.
    fn sequence(&self, place: u32) -> i64 {
        i64::from(self.step * (4 * self.network.layers + 1) + place + 1)
    }
}

/// An operator of tensors of a type, around what `body` does.
fn op_of(
    program: &mut Program,
    (name, sequence): (&'static str, Option<i64>),
    (dims, dtype): (&[&Vec<i64>], &'static str),
    body: impl FnOnce(&mut Program),
) {
    let dims = dims.iter().map(|&dims| dims.clone()).collect();
    program.span(Label::Op(Op { name, dims, dtype, sequence }), |program| {
        program.work(&OP_ALONE_NS);
        body(program);
        program.work(&OP_EXIT_NS);
    });
}

/// An operator of tensors of a type, with one kernel.
fn leaf_of(
    program: &mut Program,
    op: (&'static str, Option<i64>),
    (dims, dtype): (&[&Vec<i64>], &'static str),
    kernel: Kernel,
) {
    let (name, sequence) = op;
    let dims = dims.iter().map(|&dims| dims.clone()).collect();
    program.span(Label::Op(Op { name, dims, dtype, sequence }), |program| {
        program.work(&OP_ENTRY_NS);
        launch(program, kernel);
        program.work(&OP_EXIT_NS);
    });
}

fn launch(program: &mut Program, kernel: Kernel) {
    let work = Work::Kernel(Kernel { dur_ns: kernel.dur_ns.max(KERNEL_MIN_NS), ..kernel });
    program.push(Action::Launch { call: "cudaLaunchKernel", stream: Stream::Compute, work });
}

/// Frees what was kept last.
fn free_last(program: &mut Program, kept: &mut Vec<u32>, count: usize) {
    for tensor in kept.drain(kept.len().saturating_sub(count)..) {
        program.free(tensor);
    }
}
