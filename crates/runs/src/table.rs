//! The answer of any query as a table of a report.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use stepscope_engine::QueryResult;
use stepscope_model::{Cell, Holds, LeftOut, Part, Report, ReportColumn, ReportTable};

use crate::error::RunError;

/// The rows of an answer, under the name of a command.
pub fn report_of(name: &str, result: &QueryResult) -> Result<Report, RunError> {
    Ok(Report::new(name, vec![Part::Table(table_of(result)?)]))
}

/// The rows of an answer.
pub fn table_of(result: &QueryResult) -> Result<ReportTable, RunError> {
    let columns = result.schema.fields().iter();
    let columns =
        columns.map(|field| ReportColumn { holds: holds(field.data_type()), ..ReportColumn::named(field.name()) });
    let columns = columns.collect();
    let mut rows = Vec::new();
    for batch in &result.batches {
        let columns = batch.columns().iter().map(|column| cells(column)).collect::<Result<Vec<_>, _>>()?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        rows.extend((0..batch.num_rows()).map(|_| columns.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>()));
    }
    let left_out = match result.rows_left_out {
        Some(0) => LeftOut::Nothing,
        Some(rows) => LeftOut::Rows(rows),
        None => LeftOut::Uncounted,
    };
    Ok(ReportTable { left_out, ..ReportTable::rows(columns, rows) })
}

/// What the cells of a column are; large unsigned integers may become texts.
fn holds(data_type: &DataType) -> Option<Holds> {
    match data_type {
        DataType::Null | DataType::UInt64 => None,
        DataType::Boolean => Some(Holds::Flags),
        data_type if data_type.is_integer() => Some(Holds::Integers),
        data_type if data_type.is_floating() => Some(Holds::Numbers),
        _ => Some(Holds::Texts),
    }
}

fn cells(column: &dyn Array) -> Result<Vec<Cell>, RunError> {
    let convert = |to: &DataType| cast(column, to).map_err(|error| RunError::Shape(error.to_string()));
    Ok(match column.data_type() {
        DataType::Null => vec![Cell::Null; column.len()],
        DataType::Boolean => column.as_boolean().iter().map(|value| value.map_or(Cell::Null, Cell::Bool)).collect(),
        DataType::UInt64 if !fits_i64(column) => texts(&convert(&DataType::Utf8)?),
        data_type if data_type.is_integer() => {
            let integers = convert(&DataType::Int64)?;
            integers.as_primitive::<Int64Type>().iter().map(|value| value.map_or(Cell::Null, Cell::Int)).collect()
        }
        data_type if data_type.is_floating() => {
            let numbers = convert(&DataType::Float64)?;
            numbers.as_primitive::<Float64Type>().iter().map(|value| value.map_or(Cell::Null, Cell::Float)).collect()
        }
        _ => texts(&convert(&DataType::Utf8)?),
    })
}

/// Sums of unsigned columns can exceed 64 signed bits; they are shown digit by digit rather than wrongly.
fn fits_i64(column: &dyn Array) -> bool {
    let values = column.as_primitive::<arrow::datatypes::UInt64Type>();
    values.iter().flatten().all(|value| i64::try_from(value).is_ok())
}

fn texts(column: &dyn Array) -> Vec<Cell> {
    column.as_string::<i32>().iter().map(|value| value.map_or(Cell::Null, |text| Cell::Text(text.to_owned()))).collect()
}
