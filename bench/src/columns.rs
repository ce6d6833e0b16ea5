//! Columns of a Parquet file: their values, and the bytes they take.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

/// One column of one row group.
pub(crate) struct Column {
    /// Whether each row has a value; `None` when every row has one.
    pub(crate) present: Option<Vec<bool>>,
    /// The values that are there.
    pub(crate) values: Values,
}

/// Values without the rows that have none.
pub(crate) enum Values {
    /// Integers of any width.
    Integers(Vec<i64>),
    /// Floats.
    Floats(Vec<f64>),
    /// Truth values.
    Booleans(Vec<bool>),
    /// Texts.
    Texts(Vec<ByteArray>),
}

impl Column {
    /// How many rows have a value.
    pub(crate) fn count(&self) -> usize {
        match &self.values {
            Values::Integers(values) => values.len(),
            Values::Floats(values) => values.len(),
            Values::Booleans(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }

    /// The integers of a column that has one in every row.
    pub(crate) fn integers(&self) -> Result<&[i64]> {
        match &self.values {
            Values::Integers(values) if self.present.is_none() => Ok(values),
            _ => bail!("the column has rows without an integer"),
        }
    }

    /// The texts row by row, `None` where there is none.
    pub(crate) fn texts(&self) -> Result<Vec<Option<&[u8]>>> {
        let Values::Texts(values) = &self.values else { bail!("the column holds no texts") };
        let mut values = values.iter().map(ByteArray::data);
        Ok(match &self.present {
            None => values.map(Some).collect(),
            Some(present) => present.iter().map(|is_there| is_there.then(|| values.next()).flatten()).collect(),
        })
    }
}

/// Opens a Parquet file.
pub(crate) fn open(path: &Path) -> Result<SerializedFileReader<File>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    SerializedFileReader::new(file).with_context(|| format!("cannot read {}", path.display()))
}

/// Where a column of that name stands.
pub(crate) fn index_of(reader: &SerializedFileReader<File>, name: &str) -> Result<usize> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    columns.iter().position(|column| column.name() == name).with_context(|| format!("there is no column {name}"))
}

/// Reads one column of a row group.
pub(crate) fn read(group: &dyn RowGroupReader, index: usize) -> Result<Column> {
    let rows = usize::try_from(group.metadata().num_rows())?;
    let is_optional = group.metadata().column(index).column_descr().max_def_level() > 0;
    Ok(match group.get_column_reader(index)? {
        ColumnReader::Int32ColumnReader(reader) => {
            let (present, values) = drain(reader, rows, is_optional)?;
            Column { present, values: Values::Integers(values.into_iter().map(i64::from).collect()) }
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let (present, values) = drain(reader, rows, is_optional)?;
            Column { present, values: Values::Integers(values) }
        }
        ColumnReader::DoubleColumnReader(reader) => {
            let (present, values) = drain(reader, rows, is_optional)?;
            Column { present, values: Values::Floats(values) }
        }
        ColumnReader::BoolColumnReader(reader) => {
            let (present, values) = drain(reader, rows, is_optional)?;
            Column { present, values: Values::Booleans(values) }
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let (present, values) = drain(reader, rows, is_optional)?;
            Column { present, values: Values::Texts(values) }
        }
        _ => bail!("column {index} has a type that no table has"),
    })
}

type Drained<T> = (Option<Vec<bool>>, Vec<T>);

fn drain<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize, is_optional: bool) -> Result<Drained<T::T>> {
    let mut levels = Vec::new();
    let mut values = Vec::with_capacity(rows);
    let mut read = 0;
    while read < rows {
        let (records, _, _) =
            reader.read_records(rows - read, is_optional.then_some(&mut levels), None, &mut values)?;
        if records == 0 {
            bail!("the column ends after {read} of {rows} rows");
        }
        read += records;
    }
    let present = is_optional.then(|| levels.into_iter().map(|level| level > 0).collect());
    Ok((present, values))
}

/// Compressed bytes by column over all row groups, and what is left of the file: footer and indexes.
pub(crate) fn bytes_by_column(paths: &[std::path::PathBuf]) -> Result<(BTreeMap<String, u64>, u64)> {
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    let mut total = 0;
    for path in paths {
        total += path.metadata()?.len();
        for group in open(path)?.metadata().row_groups() {
            for column in group.columns() {
                let size = u64::try_from(column.compressed_size())?;
                *bytes.entry(column.column_path().string()).or_default() += size;
            }
        }
    }
    let rest = total - bytes.values().sum::<u64>();
    Ok((bytes, rest))
}
