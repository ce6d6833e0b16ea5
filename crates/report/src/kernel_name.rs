//! The part of a kernel's name that tells it apart.
//!
//! A C++ name loses its return type, namespaces, leading scalar template types and arguments. Kernels that only carry
//! a functor are called after the functor: `AddFunctor<float> (vectorized_elementwise)`. Names that are no C++
//! (`ampere_…`, `triton_…`, `Cijk_…`) stay as they are.

use std::borrow::Cow;

/// Kernels that apply a functor to elements; people look for the functor.
const WRAPPERS: [&str; 10] = [
    "elementwise_kernel",
    "elementwise_kernel_manual_unroll",
    "elementwise_kernel_with_index",
    "index_elementwise_kernel",
    "legacy_elementwise_kernel",
    "multi_tensor_apply_kernel",
    "reduce_kernel",
    "unrolled_elementwise_kernel",
    "vectorized_elementwise_kernel",
    "vectorized_templated_elementwise_kernel",
];

/// Templates around a functor that say nothing about it.
const TRANSPARENT: [&str; 13] = [
    "AUnaryFunctor",
    "BUnaryFunctor",
    "BinaryFunctor",
    "Kernel",
    "Kernel2",
    "ReduceOp",
    "apply",
    "device_kernel",
    "func_wrapper_t",
    "gpu_index_kernel",
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "opmath_gpu_kernel",
];

/// Names come from traces: whoever nests deeper than this gets the text as it is.
const DEEPEST: usize = 24;

/// The name without what most kernels share.
#[must_use]
pub fn short(name: &str) -> Cow<'_, str> {
    let text = name.strip_suffix(" [clone .kd]").unwrap_or(name).trim();
    let is_plain = !text.contains("::") && !text.contains('<') && !is_call(text);
    if is_plain || !is_balanced(text) {
        return Cow::Borrowed(text.strip_prefix("void ").unwrap_or(text));
    }
    let main = main_part(without_return_type(text));
    let (base, arguments) = split_template(main);
    if WRAPPERS.contains(&base)
        && let Some(functor) = arguments.and_then(|arguments| functor(arguments, 0))
    {
        return Cow::Owned(format!("{functor} ({})", base.replacen("_kernel", "", 1)));
    }
    let namespace = if base == "kernel" { namespace(text, main) } else { "" };
    Cow::Owned(format!("{namespace}{}", simple(main, 0)))
}

/// The last namespace before the name with the colons, for a name that says nothing alone: `gemvx::`.
fn namespace<'a>(text: &'a str, main: &str) -> &'a str {
    let before = &text[..text.find(main).unwrap_or(0)];
    let start = before.trim_end_matches(':').rfind([':', ' ', ')', '>']).map_or(0, |place| place + 1);
    &before[start..]
}

/// Whether the text is a name with arguments; `Memcpy DtoD (Device -> Device)` is not.
fn is_call(text: &str) -> bool {
    let before = text.find('(').and_then(|place| text[..place].chars().next_back());
    text.ends_with(')') && before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
}

/// A place at which a scan is outside of all brackets, with the byte that stands there.
fn outside(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let bytes = text.as_bytes();
    let mut depth = 0i32;
    bytes.iter().enumerate().filter_map(move |(place, byte)| {
        let was = depth;
        depth += change(bytes, place);
        (was.min(depth) == 0).then_some((place, *byte))
    })
}

/// What a byte does to the depth of brackets; the `>` of an arrow closes nothing.
fn change(bytes: &[u8], place: usize) -> i32 {
    match bytes[place] {
        b'<' | b'(' | b'{' | b'[' => 1,
        b'>' if place > 0 && bytes[place - 1] == b'-' => 0,
        b'>' | b')' | b'}' | b']' => -1,
        _ => 0,
    }
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0i32;
    let never_below = (0..text.len()).all(|place| {
        depth += change(text.as_bytes(), place);
        depth >= 0
    });
    never_below && depth == 0
}

/// The last space outside of brackets and before the arguments ends the return type.
fn without_return_type(text: &str) -> &str {
    let is_arguments = |place: usize| {
        let before = text[..place].chars().next_back();
        before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '>'))
    };
    let end = outside(text).find(|(place, byte)| *byte == b'(' && is_arguments(*place));
    let callee = end.map_or(text, |(place, _)| &text[..place]);
    let space = outside(callee).filter(|(_, byte)| *byte == b' ').last();
    space.map_or(text, |(place, _)| &text[place + 1..])
}

/// Of a path, the last part that has a name of its own: no lambda, no call operator.
fn main_part(text: &str) -> &str {
    let mut parts = Vec::new();
    let mut start = 0;
    for (place, byte) in outside(text) {
        if place >= start && byte == b':' && text.as_bytes().get(place + 1) == Some(&b':') {
            parts.push(&text[start..place]);
            start = place + 2;
        }
    }
    parts.push(&text[start..]);
    let is_named = |part: &&&str| !part.starts_with(['{', '(', '\'']) && !part.starts_with("operator()");
    parts.iter().rev().find(is_named).copied().unwrap_or(text).trim()
}

/// `name<a, b>(c)` → `name` and `a, b`.
fn split_template(part: &str) -> (&str, Option<&str>) {
    let end = outside(part).find(|(_, byte)| matches!(byte, b'<' | b'('));
    match end {
        Some((start, b'<')) => {
            let close = outside(part).find(|(place, byte)| *byte == b'>' && *place > start);
            (&part[..start], close.map(|(close, _)| part[start + 1..close].trim()))
        }
        Some((start, _)) => (&part[..start], None),
        None => (part, None),
    }
}

fn split_arguments(arguments: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (place, _) in outside(arguments).filter(|(_, byte)| *byte == b',') {
        parts.push(arguments[start..place].trim());
        start = place + 1;
    }
    parts.push(arguments[start..].trim());
    parts
}

/// The first template argument that does something.
fn functor(arguments: &str, depth: usize) -> Option<String> {
    let does_something = |argument: &&str| {
        let (base, _) = split_template(main_part(argument));
        !is_scalar(argument) && !is_value(argument) && !base.ends_with("Metadata") && !base.is_empty()
    };
    let argument = split_arguments(arguments).into_iter().find(does_something)?;
    Some(simple(main_part(argument), depth + 1))
}

/// A type or function without namespaces, arguments and leading scalar types.
fn simple(main: &str, depth: usize) -> String {
    if depth > DEEPEST {
        return main.to_owned();
    }
    let (base, arguments) = split_template(main);
    let Some(arguments) = arguments else { return base.to_owned() };
    if TRANSPARENT.contains(&base)
        && let Some(functor) = functor(arguments, depth)
    {
        return functor;
    }
    let arguments = split_arguments(arguments);
    let leading = arguments.iter().take_while(|argument| is_scalar(argument)).count();
    let kept = if leading == arguments.len() { 0 } else { leading };
    let shown: Vec<String> = arguments[kept..].iter().map(|argument| simple_argument(argument, depth + 1)).collect();
    format!("{base}<{}>", shown.join(", "))
}

fn simple_argument(argument: &str, depth: usize) -> String {
    if is_value(argument) {
        // An enumerator: `(cudnnKernelDataType_t)0`.
        return argument.rsplit(')').next().unwrap_or(argument).to_owned();
    }
    let pointer = argument.trim_end_matches(['*', '&']);
    format!("{}{}", simple(main_part(pointer), depth), &argument[pointer.len()..])
}

fn is_value(argument: &str) -> bool {
    let value = if argument.starts_with('(') { argument.rsplit(')').next().unwrap_or("") } else { argument };
    let first = value.strip_prefix('-').unwrap_or(value).chars().next();
    matches!(value, "true" | "false") || first.is_some_and(|letter| letter.is_ascii_digit())
}

fn is_scalar(argument: &str) -> bool {
    let mut words = argument.split([' ', '*', '&']).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(is_scalar_word)
}

fn is_scalar_word(word: &str) -> bool {
    let word = word.rsplit("::").next().unwrap_or(word).trim_start_matches('_');
    let base = word.strip_suffix("_t").unwrap_or(word).trim_end_matches(|letter: char| letter.is_ascii_digit());
    matches!(word, "BFloat16" | "nv_bfloat16" | "nv_bfloat162" | "bf16_t")
        || matches!(
            base,
            "void" | "bool" | "char" | "short" | "int" | "uint" | "long" | "unsigned" | "signed" | "const"
        )
        || matches!(base, "float" | "double" | "half" | "Half" | "hip_bfloat" | "size")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, want: &str) {
        assert_eq!(short(name), want);
    }

    #[test]
    fn names_that_are_no_cpp_stay() {
        let names = [
            "volta_sgemm_128x32_nt",
            "ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_tn",
            "triton__0d1d2d3de",
            "triton_red_fused_add_mean_mul_pow_rsqrt_0",
            "nvjet_tst_192x8_64x8_4x1_v_bz_TNT",
            "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
            "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_ASEM1_CLR1_CADS0",
            "Memcpy DtoD (Device -> Device)",
            "void",
            "",
        ];
        for name in names {
            check(name, name);
        }
    }

    #[test]
    fn library_kernels_lose_what_they_share() {
        check(
            "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
            "ncclDevKernel_AllReduce_Sum_f16_RING_LL",
        );
        check("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "ncclKernel_AllReduce_RING_LL_Sum_float");
        check(
            "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8>(cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8::Params)",
            "cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x5_tn_align8",
        );
        check(
            "void cutlass::Kernel<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_64x1_nn_align1>(cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_64x1_nn_align1::Params)",
            "cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_64x1_nn_align1",
        );
        check(
            "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, float, float, float, cudnnTensorStruct, float const*, cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float*, float*, float const*, float const*, float)",
            "bn_bw_1C11_kernel_new<512, true, 1>",
        );
        check(
            "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int, float const*, int, float const*, int, float*, kernel_grad_params, unsigned long long, int, unsigned long long, int, float, int, int, int)",
            "dgrad_engine<512, 6, 5, 3, 3, 3, false>",
        );
        check(
            "void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int, float const*, int, float*, float const*, kernel_grad_params, unsigned long long, int, float, int, int, int, int)",
            "wgrad_alg0_engine<128, 6, 7, 3, 3, 5, false, 512>",
        );
        check(
            "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int, int, int, float const*, int, float*, float const*, kernel_conv_params, unsigned long long, int, float, float, int, float const*, float const*, bool, int, int)",
            "implicit_convolve_sgemm<1024, 6, 7, 3, 3, 5, 1, false, true, true>",
        );
        check(
            "void cudnn::winograd_nonfused::winogradForwardFilter4x4<float, float>(cudnn::winograd_nonfused::WinogradFilterParams<float, float>)",
            "winogradForwardFilter4x4<float, float>",
        );
        check(
            "void nchwToNhwcKernel<float, float, float, true, false, (cudnnKernelDataType_t)0>(int, int, int, int, float const*, float*, float, float)",
            "nchwToNhwcKernel<true, false, 0>",
        );
        check("cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)", "computeOffsetsKernel");
        check(
            "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(float*, float const*, int, int, int)",
            "softmax_warp_forward<10, true>",
        );
        check(
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1>(at::native::(anonymous namespace)::OpaqueType<2u>*, at::native::(anonymous namespace)::CatArrInputTensorMetadata<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 128, 1>, at::native::(anonymous namespace)::TensorSizeStride<unsigned int, 4u>, int, unsigned int)",
            "CatArrayBatchedCopy_contig<OpaqueType<2u>, unsigned int, 3, 128, 1>",
        );
        check(
            "void cub::DeviceScanInitKernel<cub::ScanTileState<int, true> >(cub::ScanTileState<int, true>, int)",
            "DeviceScanInitKernel<ScanTileState<true>>",
        );
        check(
            "void cub::DeviceRadixSortExclusiveSumKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800, int>(int*)",
            "DeviceRadixSortExclusiveSumKernel<Policy800, int>",
        );
        check(
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, float, false, true, true, false, 7, cublasGemvParams<cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float>, float> >(cublasGemvParams<cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float>, float>)",
            "gemvx::kernel<false, true, true, false, 7, cublasGemvParams<cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float>, float>>",
        );
        check(
            "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
            "vectorized_gather_kernel<16, long>",
        );
    }

    #[test]
    fn wrappers_show_their_functor() {
        check(
            "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>, at::detail::Array<char*, 3>)",
            "AddFunctor<float> (vectorized_elementwise)",
        );
        check(
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>) [clone .kd]",
            "FillFunctor<float> (vectorized_elementwise)",
        );
        check(
            "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::(anonymous namespace)::threshold_kernel_impl<float>(at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}>, at::detail::Array<char*, 3> >(int, at::native::BinaryFunctor<float, float, float, at::native::(anonymous namespace)::threshold_kernel_impl<float>(at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}>, at::detail::Array<char*, 3>)",
            "threshold_kernel_impl<float> (vectorized_elementwise)",
        );
        check(
            "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#3}::operator()() const::{lambda(int)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#3}::operator()() const::{lambda(int)#1}, std::array<char*, 2ul>, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>)",
            "direct_copy_kernel_cuda (unrolled_elementwise)",
        );
        check(
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::Half> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::Half> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::Half> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::Half> const&)::{lambda(int)#1})",
            "CUDAFunctor_add<Half> (elementwise)",
        );
        check(
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4>)",
            "sum_functor<float, float, float> (reduce)",
        );
        check(
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int, float, 4>)",
            "MeanOps<float, float> (reduce)",
        );
        check(
            "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}>(int, at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}, function_traits<at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}>::result_type*)",
            "arange_cuda_out (elementwise_with_index)",
        );
        check(
            "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&)::{lambda(int)#1}>(long, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&)::{lambda(int)#1})",
            "index_kernel_impl<OpaqueType<4>> (index_elementwise)",
        );
        check(
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float)",
            "BinaryOpListAlphaFunctor<2, 2, 0> (multi_tensor_apply)",
        );
        check(
            "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::{lambda(float, bool)#1}, std::array<char*, 3ul> >(int, at::native::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::{lambda(float, bool)#1}, std::array<char*, 3ul>)",
            "masked_fill_kernel (vectorized_elementwise)",
        );
    }

    #[test]
    fn odd_names_end_well() {
        check("void broken<int(", "broken<int(");
        check("a::b<c->d>(e)", "b<c->d>");
        check(":::a(<)(><(>>>", ":a");
        check(":::a<b>", ":a<b>");
        let deep = format!("f{}{}()", "<g".repeat(500), ">".repeat(500));
        assert!(short(&deep).starts_with("f<g<g"));
    }
}
