//! FLOPs of one call, by operator family (metrics, section 15).
//!
//! A multiply and an add are two. Attention is not halved for causal masks. What is not recorded or does not fit
//! together has no value, and neither has a value beyond 64 bits.

use super::inputs::Inputs;

/// FLOPs of a call, from its inputs.
pub(super) type Formula = fn(&Inputs) -> Option<i64>;

/// The operators whose FLOPs follow from the shapes of their inputs. The view `ops_with_flops` has the same names.
pub(super) const FORMULAS: [(&str, Formula); 20] = [
    ("aten::mm", |inputs| matrix_product(inputs, 0)),
    ("aten::addmm", |inputs| matrix_product(inputs, 1)),
    ("aten::bmm", |inputs| batched_product(inputs, 0)),
    ("aten::baddbmm", |inputs| batched_product(inputs, 1)),
    ("aten::linear", linear),
    ("aten::convolution", convolution),
    ("aten::_convolution", convolution),
    ("aten::convolution_overrideable", convolution),
    ("aten::convolution_backward", convolution_backward),
    ("aten::scaled_dot_product_attention", attention),
    ("aten::_scaled_dot_product_flash_attention", attention),
    ("aten::_scaled_dot_product_efficient_attention", attention),
    ("aten::_scaled_dot_product_cudnn_attention", attention),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", attention),
    ("aten::_scaled_dot_product_fused_attention_overrideable", attention),
    ("aten::_scaled_dot_product_flash_attention_backward", attention_backward),
    ("aten::_scaled_dot_product_efficient_attention_backward", attention_backward),
    ("aten::_scaled_dot_product_cudnn_attention_backward", attention_backward),
    ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward),
    ("aten::_scaled_dot_product_fused_attention_overrideable_backward", attention_backward),
];

/// Where the calls of an attention say over which scores they go.
struct Masked {
    operator: &'static str,
    /// The input with the queries; that with the keys comes next.
    queries: usize,
    /// The value of `is_causal`.
    is_causal: usize,
}

const MASKED: [Masked; 11] = [
    masked("aten::scaled_dot_product_attention", 0, 5),
    masked("aten::_scaled_dot_product_flash_attention", 0, 4),
    masked("aten::_scaled_dot_product_efficient_attention", 0, 6),
    masked("aten::_scaled_dot_product_cudnn_attention", 0, 6),
    masked("aten::_scaled_dot_product_flash_attention_backward", 1, 11),
    masked("aten::_scaled_dot_product_efficient_attention_backward", 1, 11),
    masked("aten::_scaled_dot_product_cudnn_attention_backward", 1, 14),
    masked("aten::_scaled_dot_product_flash_attention_for_cpu", 0, 4),
    masked("aten::_scaled_dot_product_flash_attention_for_cpu_backward", 1, 7),
    masked("aten::_scaled_dot_product_fused_attention_overrideable", 0, 5),
    masked("aten::_scaled_dot_product_fused_attention_overrideable_backward", 1, 13),
];

const fn masked(operator: &'static str, queries: usize, is_causal: usize) -> Masked {
    Masked { operator, queries, is_causal }
}

/// What is certain of the FLOPs of a call: kernels skip the scores above the diagonal where attention is causal, and it
/// may be where the recording does not say.
///
/// The diagonal begins at the first key or ends at the last one, by version and kernel. Of the two, the smaller triangle
/// counts: that of a square as large as the shorter side.
pub(super) fn least(operator: &str, inputs: &Inputs, flops: i64) -> Option<i64> {
    let Some(masked) = MASKED.iter().find(|known| known.operator == operator) else { return Some(flops) };
    if inputs.flag(masked.is_causal) == Some(false) {
        return Some(flops);
    }
    let [_, _, queries, _] = inputs.shape_of(masked.queries)?;
    let [_, _, keys, _] = inputs.shape_of(masked.queries + 1)?;
    let side = i128::from(queries.min(keys));
    let (all, below) = (i128::from(queries) * i128::from(keys), side * (side + 1) / 2);
    if all <= 0 {
        return Some(flops);
    }
    i64::try_from(i128::from(flops) / all * below).ok()
}

/// The formula of an operator.
pub(super) fn formula(operator: &str) -> Option<Formula> {
    FORMULAS.iter().find(|(name, _)| *name == operator).map(|(_, formula)| *formula)
}

/// (m, k) by (k, n).
fn matrix_product(inputs: &Inputs, first: usize) -> Option<i64> {
    let [m, k] = inputs.shape_of(first)?;
    let [_, n] = inputs.shape_of(first + 1)?;
    product([2, m, k, n])
}

/// (b, m, k) by (b, k, n).
fn batched_product(inputs: &Inputs, first: usize) -> Option<i64> {
    let [b, m, k] = inputs.shape_of(first)?;
    let [_, _, n] = inputs.shape_of(first + 1)?;
    product([2, b, m, k, n])
}

/// x (…, k) by the transpose of w (n, k).
fn linear(inputs: &Inputs) -> Option<i64> {
    let [n, _] = inputs.shape_of(1)?;
    product(inputs.shape(0)?.into_iter().chain([2, n]))
}

/// (input, weight, bias, stride, padding, dilation, transposed, output padding, groups): every element of the output,
/// or of the input of a transposed one, meets one filter. `weight[1]` counts the channels of a group already.
fn convolution(inputs: &Inputs) -> Option<i64> {
    let (input, weight) = (inputs.shape(0)?, inputs.shape(1)?);
    if input.len() != weight.len() || inputs.values() < 9 {
        return None;
    }
    let dimensions = input.len().saturating_sub(2);
    let (strides, paddings) = (inputs.list_of(3, dimensions)?, inputs.list_of(4, dimensions)?);
    let dilations = inputs.list_of(5, dimensions)?;
    let filter = product(weight[1..].iter().copied())?;
    if inputs.flag(6)? {
        return product(input.into_iter().chain([2, filter]));
    }
    let mut output = product([input[0], weight[0]])?;
    for dimension in 0..dimensions {
        let (length, kernel) = (input[dimension + 2], weight[dimension + 2]);
        let length = output_length(length, kernel, strides[dimension], paddings[dimension], dilations[dimension])?;
        output = output.checked_mul(length)?;
    }
    product([2, output, filter])
}

/// How often a filter fits along one dimension.
fn output_length(input: i64, kernel: i64, stride: i64, padding: i64, dilation: i64) -> Option<i64> {
    if stride <= 0 {
        return None;
    }
    let reach = i128::from(dilation) * (i128::from(kernel) - 1) + 1;
    let room = i128::from(input) + 2 * i128::from(padding) - reach;
    i64::try_from(room.div_euclid(i128::from(stride)) + 1).ok()
}

/// (gradient of the output, input, weight, bias sizes, …, transposed, output padding, groups, mask): as much as the
/// convolution for each of the gradients of input and weight that the mask asks for.
fn convolution_backward(inputs: &Inputs) -> Option<i64> {
    let (gradient, input, weight) = (inputs.shape(0)?, inputs.shape(1)?, inputs.shape(2)?);
    let [of_input, of_weight, _] = inputs.mask(10)?;
    let outer = if inputs.flag(7) == Some(true) { input } else { gradient };
    let each = product(outer.into_iter().chain(weight.into_iter().skip(1)))?;
    product([2, each, i64::from(of_input) + i64::from(of_weight)])
}

/// Queries (b, h, q, d), keys (…, k, d) and values (…, k, v): scores, then their product with the values.
fn attention(inputs: &Inputs) -> Option<i64> {
    let [b, h, queries, depth] = inputs.shape_of(0)?;
    let [_, _, keys, _] = inputs.shape_of(1)?;
    let [_, _, _, value_depth] = inputs.shape_of(2)?;
    product([2, b, h, queries, keys, depth.checked_add(value_depth)?])
}

/// Behind the gradient of the output, queries, keys and values: five products, one of them the scores once more.
fn attention_backward(inputs: &Inputs) -> Option<i64> {
    let [b, h, queries, depth] = inputs.shape_of(1)?;
    let [_, _, keys, _] = inputs.shape_of(2)?;
    let [_, _, _, value_depth] = inputs.shape_of(3)?;
    let depths = depth.checked_mul(3)?.checked_add(value_depth.checked_mul(2)?)?;
    product([2, b, h, queries, keys, depths])
}

fn product(factors: impl IntoIterator<Item = i64>) -> Option<i64> {
    factors.into_iter().try_fold(1_i64, i64::checked_mul)
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Inputs;
    use super::{FORMULAS, MASKED, formula, least};

    #[track_caller]
    fn check(operator: &str, dims: &str, values: &str, want: Option<i64>) {
        let inputs = Inputs::read(dims, Some(values)).unwrap();
        assert_eq!(formula(operator).unwrap()(&inputs), want, "{operator} {dims} {values}");
    }

    #[test]
    fn products_of_matrices() {
        check("aten::mm", "[[2,3],[3,5]]", "[]", Some(60));
        check("aten::addmm", "[[5],[2,3],[3,5],[],[]]", "[]", Some(60));
        check("aten::bmm", "[[7,2,3],[7,3,5]]", "[]", Some(420));
        check("aten::baddbmm", "[[7,2,5],[7,2,3],[7,3,5],[],[]]", "[]", Some(420));
        // Two batches of three rows of four, and five outputs.
        check("aten::linear", "[[2,3,4],[5,4],[5]]", "[]", Some(240));
        check("aten::linear", "[[4],[5,4]]", "[]", Some(40));
        // An empty batch costs nothing, which is known.
        check("aten::mm", "[[0,3],[3,5]]", "[]", Some(0));
    }

    #[test]
    fn shapes_that_do_not_fit_have_no_value() {
        check("aten::mm", "[[2,3]]", "[]", None);
        check("aten::mm", "[[2,3,4],[3,5]]", "[]", None);
        check("aten::mm", "[[],[3,5]]", "[]", None);
        check("aten::mm", "[[2,\"s0\"],[3,5]]", "[]", None);
        check("aten::mm", "[[[2,3]],[3,5]]", "[]", None);
        check("aten::mm", "[[4294967296,4294967296],[4294967296,1]]", "[]", None);
    }

    #[test]
    fn convolutions() {
        let dims = "[[1,2,8,8],[4,2,3,3],[4],[],[],[],[],[],[]]";
        let values = |stride: &str, padding: &str, dilation: &str, transposed: &str| {
            format!(r#"["","","","{stride}","{padding}","{dilation}","{transposed}","[0, 0]","1"]"#)
        };
        let convolution = |values: &str, want| check("aten::convolution", dims, values, want);
        // 8 × 8 outputs, 4 channels, filters of 2 · 3 · 3.
        convolution(&values("[1, 1]", "[1, 1]", "[1, 1]", "False"), Some(2 * 64 * 4 * 18));
        // Strides round down: (8 + 2 − 3) / 2 + 1 = 4 along each side.
        convolution(&values("[2, 2]", "[1, 1]", "[1, 1]", "False"), Some(2 * 16 * 4 * 18));
        // Dilation 2 reaches over 5: 4 × 4 outputs. One number stands for both sides.
        convolution(&values("[1]", "[0]", "[2]", "False"), Some(2 * 16 * 4 * 18));
        // Transposed: 128 inputs, each with weight[1:].
        convolution(&values("[1, 1]", "[1, 1]", "[1, 1]", "True"), Some(2 * 128 * 18));
        // Two groups: weight[1] is 1 of 2 channels.
        check(
            "aten::_convolution",
            "[[1,2,8,8],[4,1,3,3]]",
            &values("[1]", "[1]", "[1]", "false"),
            Some(2 * 64 * 4 * 9),
        );
        // One dimension.
        check(
            "aten::convolution",
            "[[2,3,10],[6,3,4]]",
            &values("[1]", "[0]", "[1]", "False"),
            Some(2 * 2 * 6 * 7 * 12),
        );
        // Dilation 3 reaches over 7, padding makes 12 of 8: (12 − 7) / 3 + 1 = 2 along each side.
        convolution(&values("[3, 3]", "[2, 2]", "[3, 3]", "False"), Some(2 * 4 * 4 * 18));
        // Values that are not text, and those of `_convolution`, which has four more.
        convolution("[null,null,null,[1,1],[1,1],[1,1],false,[0,0],1]", Some(2 * 64 * 4 * 18));
        let more = r#"["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","False","False","True","True"]"#;
        check("aten::_convolution", dims, more, Some(2 * 64 * 4 * 18));
        // Without its groups it was not recorded as a whole.
        convolution(r#"["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]"]"#, None);
        // A filter has as many dimensions as what it goes over.
        let one_number = values("[1]", "[0]", "[1]", "False");
        check("aten::convolution", "[[1,2,8],[4,2,3,3]]", &one_number, None);
        check("aten::convolution", "[[1,2,8,8],[4,2,3]]", &one_number, None);
        convolution(&values("[0]", "[0]", "[1]", "False"), None);
        convolution(&values("", "[0]", "[1]", "False"), None);
        convolution(&values("[1]", "[0]", "[1]", ""), None);
        convolution(&values("[1, 1]", "[1, 1, 1]", "[]", "False"), None);
        convolution("[]", None);
    }

    #[test]
    fn gradients_of_convolutions() {
        let dims = "[[1,4,8,8],[1,2,8,8],[4,2,3,3],[],[],[],[],[],[],[],[]]";
        let backward = |transposed: &str, mask: &str, want| {
            let values = format!(r#"["","","","[4]","[1, 1]","[1, 1]","[1, 1]","{transposed}","[0, 0]","1","{mask}"]"#);
            check("aten::convolution_backward", dims, &values, want);
        };
        backward("False", "[True, True, False]", Some(2 * 2 * 256 * 18));
        // The first layer needs no gradient of its input.
        backward("False", "[False, True, True]", Some(2 * 256 * 18));
        backward("False", "[False, False, True]", Some(0));
        backward("True", "[True, True, True]", Some(2 * 2 * 128 * 18));
        backward("False", "[True]", None);
        check("aten::convolution_backward", dims, "[]", None);
    }

    #[test]
    fn attentions() {
        let forward = "[[2,3,5,8],[2,3,7,8],[2,3,7,4]]";
        // 2 · 3 heads, 5 · 7 scores: 8 for each score, 4 for each product with the values.
        for operator in [
            "aten::scaled_dot_product_attention",
            "aten::_scaled_dot_product_flash_attention",
            "aten::_scaled_dot_product_flash_attention_for_cpu",
        ] {
            check(operator, forward, "[]", Some(2 * 6 * 35 * 12));
        }
        let backward = "[[2,3,5,4],[2,3,5,8],[2,3,7,8],[2,3,7,4]]";
        for operator in [
            "aten::_scaled_dot_product_efficient_attention_backward",
            "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        ] {
            check(operator, backward, "[]", Some(2 * 6 * 35 * 32));
        }
        check("aten::scaled_dot_product_attention", "[[3,5,8],[3,7,8],[3,7,4]]", "[]", None);
    }

    #[test]
    fn attention_that_may_be_causal_is_certain_of_the_scores_below_the_diagonal() {
        #[track_caller]
        fn check_least(operator: &str, dims: &str, values: &str, want: i64) {
            let inputs = Inputs::read(dims, Some(values)).unwrap();
            let flops = formula(operator).unwrap()(&inputs).unwrap();
            assert_eq!(least(operator, &inputs, flops), Some(want), "{operator} {dims} {values}");
        }
        let any = "aten::scaled_dot_product_attention";
        let values = |is_causal: &str| format!(r#"["","","","","0.","{is_causal}","","False"]"#);
        // 6 heads, 4 by 4 scores, 12 for each: 10 of the 16 lie on or below the diagonal.
        let square = "[[2,3,4,8],[2,3,4,8],[2,3,4,4]]";
        check_least(any, square, &values("False"), 2 * 6 * 16 * 12);
        check_least(any, square, &values("True"), 2 * 6 * 10 * 12);
        check_least(any, square, &values(""), 2 * 6 * 10 * 12);
        check_least(any, square, "[]", 2 * 6 * 10 * 12);
        // One query and seven keys: the first key alone, if the diagonal begins there.
        let long = "[[2,3,1,8],[2,3,7,8],[2,3,7,4]]";
        check_least(any, long, &values("True"), 2 * 6 * 12);
        check_least(any, long, &values("False"), 2 * 6 * 7 * 12);
        // Five queries and two keys: three scores, if the diagonal ends at the last ones.
        check_least(any, "[[1,1,5,8],[1,1,2,8],[1,1,2,4]]", &values("True"), 2 * 3 * 12);
        check_least(any, "[[1,1,0,8],[1,1,2,8],[1,1,2,4]]", &values("True"), 0);
        let flash = "aten::_scaled_dot_product_flash_attention";
        check_least(flash, square, r#"["","","","0.","True","False",""]"#, 2 * 6 * 10 * 12);
        check_least(flash, square, r#"["","","","0.","False","True",""]"#, 2 * 6 * 16 * 12);
        let backward = "[[2,3,4,4],[2,3,4,8],[2,3,4,8],[2,3,4,4]]";
        let values = |is_causal: &str| format!(r#"["","","","","","","","","4","4","0.","{is_causal}","","",""]"#);
        let flash = "aten::_scaled_dot_product_flash_attention_backward";
        check_least(flash, backward, &values("True"), 2 * 6 * 10 * 32);
        check_least(flash, backward, &values("False"), 2 * 6 * 16 * 32);
        // Nothing else has a diagonal.
        check_least("aten::mm", "[[2,3],[3,5]]", "[]", 60);
    }

    #[test]
    fn every_attention_says_where_its_mask_is() {
        for (operator, _) in FORMULAS {
            let is_known = MASKED.iter().any(|known| known.operator == operator);
            assert_eq!(is_known, operator.contains("attention"), "{operator}");
        }
    }
}
