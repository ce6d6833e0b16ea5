//! `op_flops(name, input_dims, concrete_inputs)`: what one call of an operator computes; `op_least_flops`: what of it is
//! certain.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use stepscope_figures::op_flops::{op_flops, op_least_flops};

use super::FunctionDoc;

pub(super) const DOC: FunctionDoc = FunctionDoc {
    call: "op_flops(name, input_dims, concrete_inputs)",
    doc: "FLOPs of a matrix product, convolution or attention from its recorded shapes; null where they are not known.",
};

pub(super) const LEAST_DOC: FunctionDoc = FunctionDoc {
    call: "op_least_flops(name, input_dims, concrete_inputs)",
    doc: "Lower bound of `op_flops`: attention that is or may be causal counts the scores up to the diagonal only.",
};

pub(super) fn function() -> ScalarUDF {
    of_calls("op_flops", op_flops)
}

pub(super) fn least_function() -> ScalarUDF {
    of_calls("op_least_flops", op_least_flops)
}

fn of_calls(name: &'static str, count: Count) -> ScalarUDF {
    ScalarUDF::from(OpFlops {
        name,
        count,
        signature: Signature::exact(vec![DataType::Utf8; 3], Volatility::Immutable),
    })
}

/// FLOPs of a call: its name, shapes and values.
type Count = fn(&str, &str, Option<&str>) -> Option<i64>;

#[derive(Debug)]
struct OpFlops {
    name: &'static str,
    count: Count,
    signature: Signature,
}

/// The name says which function it is.
impl PartialEq for OpFlops {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OpFlops {}

impl Hash for OpFlops {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for OpFlops {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let [names, dims, values] = [0, 1, 2].map(|column| columns[column].as_string::<i32>());
        let text = |column: usize, row: usize| {
            let column = [names, dims, values][column];
            column.is_valid(row).then(|| column.value(row))
        };
        // A model calls the same operators with the same shapes over and over.
        let mut known = HashMap::new();
        let flops = (0..names.len()).map(|row| {
            let (name, dims, values) = (text(0, row)?, text(1, row)?, text(2, row));
            *known.entry((name, dims, values)).or_insert_with(|| (self.count)(name, dims, values))
        });
        Ok(ColumnarValue::Array(Arc::new(flops.collect::<Int64Array>())))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_view_selects_the_operators_that_have_a_formula() {
        let sql = include_str!("../sql/ops_with_flops.sql");
        for operator in stepscope_figures::op_flops::operators() {
            assert!(sql.contains(&format!("'{operator}'")), "{operator} is not in the view");
        }
        assert_eq!(sql.matches("'aten::").count(), stepscope_figures::op_flops::operators().count());
    }
}
