//! `union_length(start_ns, end_ns)`: how long at least one of the intervals was active.

use std::slice;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use datafusion::scalar::ScalarValue;

use super::FunctionDoc;
use super::interval_aggregate::{self, IntervalAccumulator, IntervalGroups, IntervalSets};
use super::interval_set::{self, IntervalSet};

pub(super) const DOC: FunctionDoc = FunctionDoc {
    call: "union_length(start_ns, end_ns)",
    doc: "Length of the union of the intervals [start_ns, end_ns): empty and null ones add nothing; 0 over no rows.",
};

pub(super) fn function() -> AggregateUDF {
    let signature = Signature::exact(vec![DataType::Int64, DataType::Int64], Volatility::Immutable);
    AggregateUDF::from(UnionLength { signature })
}

#[derive(Clone, Debug, Default)]
struct Union(IntervalSet);

impl IntervalSets for Union {
    const NAMES: &'static [&'static str] = &["union"];

    fn sets(&self) -> &[IntervalSet] {
        slice::from_ref(&self.0)
    }

    fn sets_mut(&mut self) -> &mut [IntervalSet] {
        slice::from_mut(&mut self.0)
    }

    fn set_of_row(_values: &[ArrayRef], _row: usize) -> Option<usize> {
        Some(0)
    }

    fn result(&mut self) -> i128 {
        interval_set::length(self.0.merged())
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UnionLength {
    signature: Signature,
}

impl AggregateUDFImpl for UnionLength {
    fn name(&self) -> &'static str {
        "union_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn default_value(&self, _data_type: &DataType) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(Some(0)))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(interval_aggregate::state_fields::<Union>(&args))
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(IntervalAccumulator::<Union>::default()))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(IntervalGroups::<Union>::default()))
    }
}
