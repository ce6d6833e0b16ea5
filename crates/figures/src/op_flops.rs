//! What one call of an operator computes, from its recorded shapes (metrics, section 15).

mod formulas;
mod inputs;

use self::formulas::FORMULAS;
use self::inputs::Inputs;

/// FLOPs of a call; `None` where they are not known. Shapes and values come as the JSON lists of the recording.
#[must_use]
pub fn op_flops(operator: &str, input_dims: &str, concrete_inputs: Option<&str>) -> Option<i64> {
    let formula = formulas::formula(operator)?;
    formula(&Inputs::read(input_dims, concrete_inputs)?)
}

/// What is certain of the FLOPs of a call, where they are known: a lower bound. Attention that is causal, or may be,
/// counts the scores on and below the diagonal.
#[must_use]
pub fn op_least_flops(operator: &str, input_dims: &str, concrete_inputs: Option<&str>) -> Option<i64> {
    let inputs = Inputs::read(input_dims, concrete_inputs)?;
    formulas::least(operator, &inputs, formulas::formula(operator)?(&inputs)?)
}

/// The operators whose FLOPs follow from the shapes of their inputs.
pub fn operators() -> impl Iterator<Item = &'static str> {
    FORMULAS.iter().map(|(operator, _)| *operator)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The FLOPs of a call, and what is certain of them.
    #[track_caller]
    fn check(operator: &str, input_dims: &str, concrete_inputs: Option<&str>, want: Option<(i64, i64)>) {
        let flops = op_flops(operator, input_dims, concrete_inputs);
        let least = op_least_flops(operator, input_dims, concrete_inputs);
        assert_eq!((flops, least), want.unzip(), "{operator} {input_dims} {concrete_inputs:?}");
    }

    #[test]
    fn flops_follow_from_recorded_shapes_alone() {
        let (matrices, images) = ("[[2,3],[3,5]]", "[[1,2,8],[4,2,3]]");
        check("aten::mm", matrices, None, Some((60, 60)));
        // Six heads, 4 by 4 scores, 12 for each: 10 of the 16 lie on or below the diagonal.
        let heads = "[[2,3,4,8],[2,3,4,8],[2,3,4,4]]";
        check("aten::scaled_dot_product_attention", heads, None, Some((2304, 1440)));
        // Values that cannot be read are not recorded: no matter to a product, but a convolution needs them.
        check("aten::mm", matrices, Some("stride 1"), Some((60, 60)));
        check("aten::convolution", images, Some("stride 1"), None);
        check("aten::convolution", images, None, None);
        // Six outputs of 4 channels, filters of 2 · 3.
        let values = r#"["","","","[1]","[0]","[1]","False","[0]","1"]"#;
        check("aten::convolution", images, Some(values), Some((288, 288)));
        // Shapes that are not there, and operators whose FLOPs nobody counts.
        check("aten::mm", "", None, None);
        check("aten::mm", "[]", None, None);
        check("aten::add", matrices, None, None);
        check("mm", matrices, None, None);
    }

    #[test]
    fn every_operator_is_named_once() {
        let names: BTreeSet<&str> = operators().collect();
        assert_eq!((names.len(), operators().count()), (20, 20));
        assert!(names.contains("aten::linear") && names.contains("aten::convolution_backward"));
    }
}
