//! What a kernel does, by its name and by the operator that launched it: the table `kernel_categories.txt` (metrics,
//! section 19).

use regex::{RegexSet, RegexSetBuilder};
use stepscope_model::KernelCategory;

use crate::error::IngestError;

/// The names of kernels and operators that come with Stepscope.
pub const KERNEL_CATEGORIES: &str = include_str!("kernel_categories.txt");

/// The lines of the table by what they are matched against. Of the lines that match, the first one counts.
#[derive(Debug)]
pub(crate) struct Categories {
    heads: Lines,
    wholes: Lines,
    operators: Lines,
}

/// Some lines: the pattern of each in the set, with its place in the table and its category.
#[derive(Debug)]
struct Lines {
    patterns: RegexSet,
    places: Vec<(usize, KernelCategory)>,
}

impl Categories {
    /// `table` has the form of `kernel_categories.txt`.
    pub(crate) fn new(table: &str) -> Result<Self, IngestError> {
        let (mut heads, mut wholes, mut operators) = (Vec::new(), Vec::new(), Vec::new());
        for (place, line) in table.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let operator = line.strip_prefix("operator ").map(str::trim);
            let broken = || regex::Error::Syntax(format!("kernel_categories.txt, line {}: {line}", place + 1));
            let (category, pattern) = operator.unwrap_or(line).split_once(' ').ok_or_else(broken)?;
            let category = KernelCategory::of_text(category).ok_or_else(broken)?;
            let pattern = pattern.trim();
            match (operator, pattern.strip_prefix('<')) {
                (Some(_), _) => operators.push((place, category, pattern)),
                (None, Some(pattern)) => wholes.push((place, category, pattern)),
                (None, None) => heads.push((place, category, pattern)),
            }
        }
        Ok(Self { heads: Lines::new(&heads)?, wholes: Lines::new(&wholes)?, operators: Lines::new(&operators)? })
    }

    /// What the name of a kernel says.
    pub(crate) fn of_kernel(&self, name: &str) -> Option<KernelCategory> {
        let name = name.replace("(anonymous namespace)::", "");
        let name = name.strip_prefix("void ").unwrap_or(&name);
        // The type of what a template returns stands before its name.
        let name = match name.split_once("::type ") {
            Some((before, rest)) if before.starts_with("std::enable_if") => rest,
            _ => name,
        };
        let head = name.split(['<', '(']).next().unwrap_or(name);
        let found = [self.heads.first(head), self.wholes.first(name)];
        found.into_iter().flatten().min().map(|(_, category)| category)
    }

    /// What the name of an operator says of the kernels that it launches.
    pub(crate) fn of_operator(&self, name: &str) -> Option<KernelCategory> {
        self.operators.first(name).map(|(_, category)| category)
    }
}

impl Lines {
    fn new(lines: &[(usize, KernelCategory, &str)]) -> Result<Self, IngestError> {
        let patterns = lines.iter().map(|(_, _, pattern)| pattern);
        let patterns = RegexSetBuilder::new(patterns).case_insensitive(true).build()?;
        Ok(Self { patterns, places: lines.iter().map(|(place, category, _)| (*place, *category)).collect() })
    }

    fn first(&self, text: &str) -> Option<(usize, KernelCategory)> {
        self.patterns.matches(text).iter().next().map(|line| self.places[line])
    }
}

/// The category of device work: by what its name and the operator that launched it say.
pub(crate) fn category_of(
    is_kernel: bool,
    is_communication: bool,
    by_name: Option<KernelCategory>,
    by_operator: Option<KernelCategory>,
) -> KernelCategory {
    use KernelCategory::{Attention, Communication, Convolution, Copy, Gemm, Other};
    match (by_name, by_operator) {
        _ if !is_kernel => Copy,
        _ if is_communication => Communication,
        // Libraries make convolutions and attention of products and copies.
        (None | Some(Gemm | Copy), Some(operator @ (Convolution | Attention))) => operator,
        (Some(name), _) => name,
        (None, operator) => operator.unwrap_or(Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kernel: &str, operator: &str, want: &str) {
        let categories = Categories::new(KERNEL_CATEGORIES).unwrap();
        let category = category_of(true, false, categories.of_kernel(kernel), categories.of_operator(operator));
        assert_eq!(category.as_text(), want, "{kernel}, launched by {operator}");
    }

    #[test]
    fn families_of_kernels() {
        for (kernel, want) in [
            ("volta_sgemm_64x64_nt", "gemm"),
            ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1", "gemm"),
            ("nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", "gemm"),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_kernel", "gemm"),
            ("void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128>(Params)", "gemm"),
            ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(T)", "gemm"),
            ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(T)", "gemm"),
            ("_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", "gemm"),
            ("triton_tem_fused_mm_3", "gemm"),
            ("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)", "convolution"),
            ("cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", "convolution"),
            ("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized>(T)", "convolution"),
            ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw", "convolution"),
            ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32", "convolution"),
            ("triton_tem_fused_convolution_0", "convolution"),
            ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>(T)", "attention"),
            ("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128", "attention"),
            ("_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS", "attention"),
            ("void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>(T)", "attention"),
            ("kernel_unified_attention_2d", "attention"),
            ("attn_fwd", "attention"),
            ("triton_tem_fused_flex_attention_1", "attention"),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
                "elementwise",
            ),
            ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<T>(T)", "elementwise"),
            ("triton_poi_fused__scaled_dot_product_flash_attention_cat_10", "elementwise"),
            ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(T)", "elementwise"),
            ("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float>>(T)", "reduction"),
            ("triton_per_fused__unsafe_view_add_clone_convolution_native_layer_norm_5", "reduction"),
            ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>(T)", "reduction"),
            ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)", "reduction"),
            (
                "std::enable_if<(((8)>(0)))&&vllm::exists, void>::type vllm::fused_add_rms_norm_kernel<T>(T)",
                "reduction",
            ),
            ("void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(T)", "reduction"),
            ("void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(T)>(int)", "copy"),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)", "copy"),
            ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>(T)", "copy"),
            ("void at::native::index_elementwise_kernel<128, 4, T>(T)", "copy"),
            // The library of embedding tables is named after products, which these are not.
            ("void fbgemm_gpu::permute_2D_data_kernel<false, int>(int)", "copy"),
            ("void split_embedding_codegen_forward_unweighted_kernel<T>(fbgemm_gpu::T)", "other"),
            ("void cub::DeviceRadixSortOnesweepKernel<T>(T)", "other"),
            ("triton__0d1d2d3d4de", "other"),
            ("", "other"),
        ] {
            check(kernel, "", want);
        }
    }

    #[test]
    fn operators_say_what_names_do_not() {
        // Made of products and copies by their library; what only looks like one stays what it is.
        check("volta_sgemm_64x64_nt", "aten::cudnn_convolution_backward_weight", "convolution");
        check("batched_transpose_32x32_half", "aten::miopen_convolution", "convolution");
        check("void cudnn::ops::scalePackedTensor_kernel<float>(T)", "aten::convolution_backward", "elementwise");
        check("attn_fwd", "aten::_flash_attention_forward", "attention");
        check("mystery", "aten::_flash_attention_forward", "attention");
        check("mystery", "aten::addmm", "gemm");
        check("mystery", "aten::native_layer_norm_backward", "reduction");
        check("mystery", "aten::add_", "elementwise");
        check("mystery", "aten::copy_", "copy");
        check("triton_", "triton_poi_fused_add_cos_sin_0", "elementwise");
        check("mystery", "my::op", "other");
        // A product stays one below an operator that is something else.
        check("ampere_sgemm_128x64_nn", "aten::add", "gemm");
    }

    #[test]
    fn communication_and_copies_need_no_name() {
        let gemm = Some(KernelCategory::Gemm);
        assert_eq!(category_of(true, true, gemm, gemm), KernelCategory::Communication);
        assert_eq!(category_of(false, false, None, Some(KernelCategory::Convolution)), KernelCategory::Copy);
    }

    #[test]
    fn a_broken_table_is_refused() {
        for table in ["gemm", "gem x", "operator gemm", "gemm ("] {
            assert!(Categories::new(table).is_err(), "{table}");
        }
    }
}
