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
