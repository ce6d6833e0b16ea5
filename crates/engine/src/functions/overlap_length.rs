//! `overlap_length(start_ns, end_ns, is_a)`: how long an interval of each of two kinds was active at the same time.

use arrow::array::{Array, ArrayRef, AsArray};
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
    call: "overlap_length(start_ns, end_ns, is_a)",
    doc: "Length of the time that is in the union of the intervals with is_a and also in the union of those without; rows with a null add nothing; 0 over no rows.",
};

pub(super) fn function() -> AggregateUDF {
    let signature = Signature::exact(vec![DataType::Int64, DataType::Int64, DataType::Boolean], Volatility::Immutable);
    AggregateUDF::from(OverlapLength { signature })
}

/// The union of the intervals without `is_a`, then that of those with it.
#[derive(Clone, Debug, Default)]
struct Overlap([IntervalSet; 2]);

impl IntervalSets for Overlap {
    const NAMES: &'static [&'static str] = &["union_b", "union_a"];

    fn sets(&self) -> &[IntervalSet] {
        &self.0
    }

    fn sets_mut(&mut self) -> &mut [IntervalSet] {
        &mut self.0
    }

    fn set_of_row(values: &[ArrayRef], row: usize) -> Option<usize> {
        let is_a = values.get(2)?.as_boolean_opt()?;
        is_a.is_valid(row).then(|| usize::from(is_a.value(row)))
    }

    fn result(&mut self) -> i128 {
        let [b, a] = &mut self.0;
        interval_set::overlap(a.merged(), b.merged())
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OverlapLength {
    signature: Signature,
}

impl AggregateUDFImpl for OverlapLength {
    fn name(&self) -> &'static str {
        "overlap_length"
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
        Ok(interval_aggregate::state_fields::<Overlap>(&args))
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(IntervalAccumulator::<Overlap>::default()))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(IntervalGroups::<Overlap>::default()))
    }
}
