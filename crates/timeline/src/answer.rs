//! Rows of a track as the columns of one batch.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, Int32Array, Int64Array, StringArray, UInt32Array,
};
use arrow::compute::{cast, concat_batches, filter_record_batch, take, take_record_batch};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use stepscope_engine::QueryResult;
use stepscope_model::{Kind, SpanClass};
use stepscope_runs::RunError;

use super::shape::{Shape, kind_of};

/// Rows of a track.
#[derive(Debug)]
pub(super) struct Answer(RecordBatch);

/// A piece of a critical path, or several that no screen can tell apart.
#[derive(Clone, Debug)]
pub(super) struct LanePiece {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) busy_ns: i64,
    pub(super) count: i64,
    pub(super) class: &'static str,
    pub(super) name: String,
    pub(super) span_id: i64,
}

impl LanePiece {
    pub(super) fn dur_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

/// Places of columns.
const DEPTH: usize = 0;
const START: usize = 1;
const DUR: usize = 2;
const COUNT: usize = 4;
const SPAN_ID: usize = 7;

/// A text that few rows repeat, written once.
fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

impl Answer {
    /// Columns that [`Self::of_tiles`] needs.
    pub(super) const TILES: [&str; 8] = ["lane", "start_ns", "end_ns", "busy_ns", "count", "class", "name", "span_id"];
    /// Columns that [`Self::of_spans`] needs.
    pub(super) const SPANS: [&str; 7] = ["kind", "comm_rule", "depth", "start_ns", "dur_ns", "name", "span_id"];

    /// No rows.
    pub(super) fn none() -> Result<Self, RunError> {
        Self::of_columns(&|_| Ok(Arc::new(Int64Array::from(Vec::<i64>::new()))))
    }

    /// The answer of a query that has the columns.
    pub(super) fn of_query(result: &QueryResult) -> Result<Self, RunError> {
        let batch = concat_batches(&result.schema, &result.batches).map_err(|error| shape(&error))?;
        Self::of_columns(&|name| column(&batch, name))
    }

    fn of_columns(found: &dyn Fn(&str) -> Result<ArrayRef, RunError>) -> Result<Self, RunError> {
        let types = [
            ("depth", DataType::Int32),
            ("start_ns", DataType::Int64),
            ("dur_ns", DataType::Int64),
            ("busy_ns", DataType::Int64),
            ("count", DataType::Int64),
            ("class", text_type()),
            ("name", text_type()),
            ("span_id", DataType::Int64),
        ];
        let array = |(name, data_type): &(&str, DataType)| -> Result<ArrayRef, RunError> {
            cast(&found(name)?, data_type).map_err(|error| shape(&error))
        };
        let arrays = types.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        let fields: Vec<Field> =
            types.into_iter().map(|(name, data_type)| Field::new(name, data_type, false)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| shape(&error)).map(Self)
    }

    /// Rows of `tiles`; times count from `zero`.
    pub(super) fn of_tiles(batch: &RecordBatch, zero: i64) -> Result<Self, RunError> {
        let (starts, ends) = (integers(batch, "start_ns")?, integers(batch, "end_ns")?);
        Self::of_columns(&|name| match name {
            "depth" => column(batch, "lane"),
            "start_ns" => Ok(Arc::new(starts.unary::<_, Int64Type>(|start| start - zero))),
            "dur_ns" => {
                let lengths = ends.values().iter().zip(starts.values()).map(|(end, start)| end - start);
                Ok(Arc::new(lengths.collect::<Int64Array>()))
            }
            "name" => named(batch),
            name => column(batch, name),
        })
    }

    /// Rows of `spans`, whose lanes and classes follow from their kinds and names.
    pub(super) fn of_spans(batch: &RecordBatch, drawn: &Shape, zero: i64) -> Result<Self, RunError> {
        let (starts, depths) = (integers(batch, "start_ns")?, integers(batch, "depth")?);
        let (kinds, rules, names) = (column(batch, "kind")?, column(batch, "comm_rule")?, named(batch)?);
        let kinds: Vec<Kind> = texts(&kinds)?.map(kind_of).collect();
        let lanes: Int64Array =
            kinds.iter().zip(depths.values()).map(|(kind, depth)| drawn.lane(*kind, *depth)).collect();
        let classes = kinds.iter().zip(texts(&names)?).enumerate().map(|(row, (kind, name))| {
            SpanClass::new(*kind, rules.is_valid(row), || name.unwrap_or_default()).as_text()
        });
        let classes: DictionaryArray<Int32Type> = classes.collect();
        Self::of_columns(&|name| match name {
            "depth" => Ok(Arc::new(lanes.clone())),
            "class" => Ok(Arc::new(classes.clone())),
            "start_ns" => Ok(Arc::new(starts.unary::<_, Int64Type>(|start| start - zero))),
            "busy_ns" => column(batch, "dur_ns"),
            "count" => Ok(Arc::new(Int64Array::from(vec![1; batch.num_rows()]))),
            "name" => named(batch),
            name => column(batch, name),
        })
    }

    /// Pieces of a path, all on one lane.
    pub(super) fn of_pieces(pieces: &[LanePiece]) -> Result<Self, RunError> {
        let numbers =
            |of: fn(&LanePiece) -> i64| Ok(Arc::new(pieces.iter().map(of).collect::<Int64Array>()) as ArrayRef);
        Self::of_columns(&|name| match name {
            "depth" => numbers(|_| 0),
            "start_ns" => numbers(|piece| piece.start_ns),
            "dur_ns" => numbers(LanePiece::dur_ns),
            "busy_ns" => numbers(|piece| piece.busy_ns),
            "count" => numbers(|piece| piece.count),
            "class" => Ok(Arc::new(pieces.iter().map(|piece| piece.class).collect::<DictionaryArray<Int32Type>>())),
            "name" => {
                Ok(Arc::new(pieces.iter().map(|piece| piece.name.as_str()).collect::<DictionaryArray<Int32Type>>()))
            }
            _ => numbers(|piece| piece.span_id),
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
    pub(super) fn starting_before(&self, time: i64) -> Result<Self, RunError> {
        let kept: BooleanArray = self.integers(START).iter().map(|start| Some(*start < time)).collect();
        filter_record_batch(&self.0, &kept).map_err(|error| shape(&error)).map(Self)
    }

    /// These rows, then those.
    pub(super) fn followed_by(&self, then: &Self) -> Result<Self, RunError> {
        concat_batches(&self.0.schema(), [&self.0, &then.0]).map_err(|error| shape(&error)).map(Self)
    }

    /// The rows that end at a time or later.
    pub(super) fn ending_from(&self, time: i64) -> Result<Self, RunError> {
        let ends = self.integers(START).iter().zip(self.integers(DUR)).map(|(start, dur)| start.saturating_add(*dur));
        let kept: BooleanArray = ends.map(|end| Some(end >= time)).collect();
        filter_record_batch(&self.0, &kept).map_err(|error| shape(&error)).map(Self)
    }

    /// The rows lane by lane, those of a lane by start.
    pub(super) fn by_lane(&self) -> Result<RecordBatch, RunError> {
        let (starts, ids) = (self.integers(START), self.integers(SPAN_ID));
        let lanes = self.0.column(DEPTH).as_primitive::<Int32Type>().values();
        let mut order: Vec<u32> = (0..self.rows() as u32).collect();
        order.sort_by_key(|row| {
            let row = *row as usize;
            (lanes[row], starts[row], ids[row])
        });
        let sorted = take_record_batch(&self.0, &UInt32Array::from(order)).map_err(|error| shape(&error))?;
        // A table has more names than a screen; only those that are seen travel.
        let columns = sorted.columns().iter().map(|column| match column.as_dictionary_opt::<Int32Type>() {
            Some(texts) => used_only(texts),
            None => Ok(Arc::clone(column)),
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|error| shape(&error))?;
        RecordBatch::try_new(sorted.schema(), columns).map_err(|error| shape(&error))
    }

    fn integers(&self, column: usize) -> &[i64] {
        self.0.column(column).as_primitive::<Int64Type>().values()
    }
}

fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef, RunError> {
    batch.column_by_name(name).cloned().ok_or_else(|| RunError::Shape(format!("no column {name}")))
}

fn integers(batch: &RecordBatch, name: &str) -> Result<Int64Array, RunError> {
    let column = cast(&column(batch, name)?, &DataType::Int64).map_err(|error| shape(&error))?;
    Ok(column.as_primitive::<Int64Type>().clone())
}

/// The names, with an empty one where there is none.
fn named(batch: &RecordBatch) -> Result<ArrayRef, RunError> {
    let names = column(batch, "name")?;
    if names.null_count() == 0 {
        return Ok(names);
    }
    let names: DictionaryArray<Int32Type> = texts(&names)?.map(Option::unwrap_or_default).collect();
    Ok(Arc::new(names))
}

/// The same texts, without those that no row has.
fn used_only(texts: &DictionaryArray<Int32Type>) -> Result<ArrayRef, ArrowError> {
    let mut places = vec![None; texts.values().len()];
    let mut used: Vec<u32> = Vec::new();
    let mut place_of = |key: i32| {
        *places[key as usize].get_or_insert_with(|| {
            used.push(key as u32);
            used.len() as i32 - 1
        })
    };
    let keys: Int32Array = texts.keys().iter().map(|key| key.map(&mut place_of)).collect();
    let values = take(texts.values(), &UInt32Array::from(used), None)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, values)?))
}

/// The text of each row.
fn texts(column: &ArrayRef) -> Result<impl Iterator<Item = Option<&str>>, RunError> {
    let known = column.as_dictionary_opt::<Int32Type>().and_then(DictionaryArray::downcast_dict::<StringArray>);
    let known = known.ok_or_else(|| RunError::Shape(format!("strings are {}", column.data_type())))?;
    Ok(known.into_iter())
}

fn shape(error: &ArrowError) -> RunError {
    RunError::Shape(error.to_string())
}
