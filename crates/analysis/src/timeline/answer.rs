//! Rows of a track as the columns of one batch.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, StringArray, UInt32Array};
use arrow::compute::{cast, concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use stepscope_engine::QueryResult;
use stepscope_model::{Kind, SpanClass};

use super::shape::{Shape, kind_of};
use crate::error::AnalysisError;
use crate::frame::Frame;

/// Rows of a track.
#[derive(Debug)]
pub(super) struct Answer(RecordBatch);

/// Places of columns.
const DEPTH: usize = 0;
const START: usize = 1;
const COUNT: usize = 4;
const SPAN_ID: usize = 7;

impl Answer {
    pub(super) fn new(result: &QueryResult) -> Result<Self, AnalysisError> {
        let batch = concat_batches(&result.schema, &result.batches).map_err(|error| shape(&error))?;
        Self::of_columns(&|name| batch.column_by_name(name).cloned())
    }

    /// Few different texts repeat, so they are written once.
    fn of_columns(found: &dyn Fn(&str) -> Option<ArrayRef>) -> Result<Self, AnalysisError> {
        let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let types = [
            ("depth", DataType::Int32),
            ("start_ns", DataType::Int64),
            ("dur_ns", DataType::Int64),
            ("busy_ns", DataType::Int64),
            ("count", DataType::Int64),
            ("class", text.clone()),
            ("name", text),
            ("span_id", DataType::Int64),
        ];
        let column = |(name, data_type): &(&str, DataType)| -> Result<ArrayRef, AnalysisError> {
            let column = found(name).ok_or_else(|| AnalysisError::Shape(format!("no column {name}")))?;
            cast(&column, data_type).map_err(|error| shape(&error))
        };
        let arrays = types.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let fields: Vec<Field> =
            types.into_iter().map(|(name, data_type)| Field::new(name, data_type, false)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| shape(&error)).map(Self)
    }

    /// The same from rows of `spans`, whose lanes and classes follow from their kinds and names. In SQL the same takes
    /// longer to plan than to do.
    pub(super) fn of_spans(result: &QueryResult, drawn: &Shape) -> Result<Self, AnalysisError> {
        let frame = Frame::new(result.clone());
        let (kinds, names, depths) = (frame.text("kind")?, frame.text("name")?, frame.required_i64("depth")?);
        let communicates = frame.bool("is_communication")?;
        let kinds: Vec<Kind> = kinds.iter().map(|kind| kind_of(kind.as_deref())).collect();
        let lanes: Int64Array = kinds.iter().zip(&depths).map(|(kind, depth)| drawn.lane(*kind, *depth)).collect();
        let class = |row: usize| {
            let name = || names[row].as_deref().unwrap_or_default();
            SpanClass::new(kinds[row], communicates[row].unwrap_or(false), name).as_text()
        };
        let classes: StringArray = (0..kinds.len()).map(|row| Some(class(row))).collect();
        let batch = concat_batches(&result.schema, &result.batches).map_err(|error| shape(&error))?;
        Self::of_columns(&|name| match name {
            "depth" => Some(Arc::new(lanes.clone())),
            "class" => Some(Arc::new(classes.clone())),
            name => batch.column_by_name(name).cloned(),
        })
    }

    pub(super) fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// How many spans the rows stand for.
    pub(super) fn spans(&self) -> i64 {
        self.integers(COUNT).iter().sum()
    }

    /// The rows that start before a time.
    pub(super) fn starting_before(&self, time: i64) -> Result<Self, AnalysisError> {
        let kept: BooleanArray = self.integers(START).iter().map(|start| Some(*start < time)).collect();
        filter_record_batch(&self.0, &kept).map_err(|error| shape(&error)).map(Self)
    }

    /// These rows, then those.
    pub(super) fn followed_by(&self, then: &Self) -> Result<Self, AnalysisError> {
        concat_batches(&self.0.schema(), [&self.0, &then.0]).map_err(|error| shape(&error)).map(Self)
    }

    /// The rows lane by lane, those of a lane by start.
    pub(super) fn by_lane(&self) -> Result<RecordBatch, AnalysisError> {
        let (starts, ids) = (self.integers(START), self.integers(SPAN_ID));
        let lanes = self.0.column(DEPTH).as_primitive::<Int32Type>().values();
        let mut order: Vec<u32> = (0..self.rows() as u32).collect();
        order.sort_by_key(|row| {
            let row = *row as usize;
            (lanes[row], starts[row], ids[row])
        });
        take_record_batch(&self.0, &UInt32Array::from(order)).map_err(|error| shape(&error))
    }

    fn integers(&self, column: usize) -> &[i64] {
        self.0.column(column).as_primitive::<Int64Type>().values()
    }
}

fn shape(error: &ArrowError) -> AnalysisError {
    AnalysisError::Shape(error.to_string())
}
