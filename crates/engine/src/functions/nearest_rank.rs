//! `nearest_rank(value, percent)`: percentiles that are always one of the values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Builder, ListBuilder, RecordBatch};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Signature, Volatility};
use datafusion::scalar::ScalarValue;

use super::FunctionDoc;
use super::value_counts::ValueCounts;

pub(super) const DOC: FunctionDoc = FunctionDoc {
    call: "nearest_rank(value, percent)",
    doc: "Percentile by nearest rank: value number ⌈percent · n / 100⌉ of the n values in ascending order; percent is a whole number from 0 to 100; nulls do not count; null over no rows.",
};

pub(super) fn function() -> AggregateUDF {
    let signature = Signature::exact(vec![DataType::Int64, DataType::Int64], Volatility::Immutable);
    AggregateUDF::from(NearestRank { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NearestRank {
    signature: Signature,
}

impl AggregateUDFImpl for NearestRank {
    fn name(&self) -> &'static str {
        "nearest_rank"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Int64, true)));
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "counts"), list, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(NearestRankAccumulator {
            percent: percent("nearest_rank", &args)?,
            counts: ValueCounts::default(),
        }))
    }
}

/// The percent that a function is asked for, which must not change from row to row.
pub(super) fn percent(function: &str, args: &AccumulatorArgs) -> Result<u8> {
    let nothing = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let percent = args.exprs.get(1).and_then(|percent| percent.evaluate(&nothing).ok());
    let number = match percent {
        Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(number)))) => u8::try_from(number).ok(),
        _ => None,
    };
    let wrong = || DataFusionError::Plan(format!("percent of {function} must be a whole number from 0 to 100"));
    number.filter(|percent| *percent <= 100).ok_or_else(wrong)
}

/// One group. A state is one list of numbers: value and count in turn.
#[derive(Debug)]
struct NearestRankAccumulator {
    percent: u8,
    counts: ValueCounts,
}

impl Accumulator for NearestRankAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let broken = || DataFusionError::Internal("the values of nearest_rank must be int64".to_owned());
        let values = values.first().and_then(|values| values.as_primitive_opt::<Int64Type>()).ok_or_else(broken)?;
        values.iter().flatten().for_each(|value| self.counts.add(value, 1));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(self.counts.nearest_rank(self.percent)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.heap_bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut list = ListBuilder::new(Int64Builder::new());
        for (value, count) in self.counts.sorted() {
            list.values().append_slice(&[*value, *count]);
        }
        list.append(true);
        Ok(vec![ScalarValue::List(Arc::new(list.finish()))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let broken = || DataFusionError::Internal("a state of nearest_rank must be a list of int64".to_owned());
        let lists = states.first().and_then(|states| states.as_list_opt::<i32>()).ok_or_else(broken)?;
        for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
            let numbers = lists.value(row);
            let numbers = numbers.as_primitive_opt::<Int64Type>().ok_or_else(broken)?.values();
            numbers.chunks_exact(2).for_each(|pair| self.counts.add(pair[0], pair[1]));
        }
        Ok(())
    }
}
