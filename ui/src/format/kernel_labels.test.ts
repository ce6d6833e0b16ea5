import { expect, test } from "vitest";
import { kernelLabels } from "./kernel_labels";

// `kernel_label.rs` of the terminal has the same cases.
const CASES: [string[], string[]][] = [
  [["gemm_128", "gemm_64"], ["gemm_128", "gemm_64"]],
  [
    [
      "void at::native::reduce_kernel<128, 4, at::native::MeanOps<float, float> >(at::native::MeanOps<float, float>)",
      "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float, float> >(at::native::MeanOps<float, float>)",
    ],
    ["MeanOps<float, float> (reduce) [128, 4]", "MeanOps<float, float> (reduce) [512, 1]"],
  ],
  [
    [
      "void at::native::vectorized_elementwise_kernel<4, at::native::masked_fill_kernel(at::TensorIterator&)::{lambda()#7}::operator()() const::{lambda(float, bool)#1}>(int)",
      "void at::native::vectorized_elementwise_kernel<4, at::native::masked_fill_kernel(at::TensorIterator&)::{lambda()#12}::operator()() const::{lambda(c10::BFloat16, bool)#1}>(int)",
    ],
    [
      "masked_fill_kernel (vectorized_elementwise) [float]",
      "masked_fill_kernel (vectorized_elementwise) [BFloat16]",
    ],
  ],
  // Only the numbers of lambdas differ.
  [
    [
      "void at::native::elementwise_kernel<128, 4, at::native::copy(at::Tensor&)::{lambda()#2}::operator()() const>(int)",
      "void at::native::elementwise_kernel<128, 4, at::native::copy(at::Tensor&)::{lambda()#3}::operator()() const>(int)",
    ],
    ["copy (elementwise) [#2]", "copy (elementwise) [#3]"],
  ],
  // One has all that the other has.
  [
    [
      "void at::native::elementwise_kernel<128, at::native::Add<float>, at::Load>(int)",
      "void at::native::elementwise_kernel<128, at::native::Add<float>, at::Load, at::Cast>(int)",
    ],
    ["Add<float> (elementwise)", "Add<float> (elementwise) [Cast]"],
  ],
  // The same words in another order.
  [
    ["void a::f<float, half, 2>(x)", "void a::f<half, float, 2>(x)"],
    ["f<2> [float, half]", "f<2> [half, float]"],
  ],
  // No word differs.
  [
    ["void a::f<float*, 2>(x)", "void a::f<float, 2>(x)"],
    ["void a::f<float*, 2>(x)", "void a::f<float, 2>(x)"],
  ],
  [["void f<int, 1>(a)", "void f<int, 1>(a)"], ["f<1>", "f<1>"]],
];

test.each(CASES)("%s", (names, want) => {
  const labels = kernelLabels(names);
  expect(names.map((name) => labels.get(name))).toEqual(want);
});
