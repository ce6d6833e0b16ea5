//! `sketch_percentile(sketch, percent)`: percentiles of many rows from the sketches that were made of each.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;
use stepscope_figures::Sketch;

use super::FunctionDoc;
use super::nearest_rank::percent;

pub(super) const DOC: FunctionDoc = FunctionDoc {
    call: "sketch_percentile(sketch, percent)",
    doc: "Percentile across sketches, such as `kernel_rollup.durations`, within 1 % and never beyond the shortest or the longest; percent is a whole number from 0 to 100; null over no rows.",
};

pub(super) fn function() -> AggregateUDF {
    let signature = Signature::exact(vec![DataType::Utf8, DataType::Int64], Volatility::Immutable);
    AggregateUDF::from(SketchPercentile { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SketchPercentile {
    signature: Signature,
}

impl AggregateUDFImpl for SketchPercentile {
    fn name(&self) -> &'static str {
        "sketch_percentile"
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
        Ok(vec![Field::new(format_state_name(args.name, "sketch"), DataType::Utf8, true).into()])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Merged { percent: percent("sketch_percentile", &args)?, sketch: Sketch::default() }))
    }
}

/// The sketches of one group as one. A state is a sketch, too.
#[derive(Debug)]
struct Merged {
    percent: u8,
    sketch: Sketch,
}

impl Accumulator for Merged {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let broken = || {
            DataFusionError::Execution("sketch_percentile takes sketches such as kernel_rollup.durations".to_owned())
        };
        let sketches = values.first().and_then(|values| values.as_string_opt::<i32>()).ok_or_else(broken)?;
        for row in (0..sketches.len()).filter(|row| sketches.is_valid(*row)) {
            self.sketch.merge(&Sketch::parse(sketches.value(row)).ok_or_else(broken)?);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(self.sketch.percentile(self.percent)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.sketch.heap_bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Utf8(Some(self.sketch.to_string()))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
