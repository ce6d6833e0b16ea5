//! The table `sources` of a block: which sources it holds, one row each.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use stepscope_model::tables::SOURCE_COLUMNS;
use stepscope_model::{
    Column,
    ColumnType::{Bool, I64, Text},
    Device, SourceId, SourceRecord, Table,
};
use stepscope_objects::{Bucket, UNWATCHED, parallel};

use super::{BlockFile, BlockId, Descriptor, file_key};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::schema::arrow_schema;
use crate::table_rows::TableRows;

/// Records that one thread reads: to read them is most of the time that a run of many ranks takes to open.
const ROWS_AT_ONCE: usize = 1024;

/// The sources of a block.
pub static SOURCES: Table = Table {
    name: "sources",
    doc: "One row per source of a block: its pack, and its record.",
    groups: &[&SOURCE_COLUMNS, &COLUMNS],
};

static COLUMNS: [Column; 8] = [
    Column::required("depth", Text, "How much of the source its pack has: full or sums."),
    Column::required("pack", Text, "Object of the pack, below the root of the store."),
    Column::required("pack_bytes", I64, "Size of the pack."),
    Column::required(
        "is_conflict",
        Bool,
        "True when another source claims the same rank and window; its rows are in no other table of the block.",
    ),
    Column::optional("first_ns", I64, "Start of the first event."),
    Column::optional("last_ns", I64, "End of the last event."),
    Column::optional("devices", Text, "Devices that its trace describes, as JSON: the same for most sources of a job."),
    Column::required("record", Text, "The record of the source without its devices, as JSON."),
];

/// A pack whose source a block holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPack {
    /// Its name, with rank, window and depth.
    pub name: PackName,
    /// Its size.
    pub size_bytes: u64,
    /// Whether another source claims the same rank and window. The block has no rows of either.
    pub is_conflict: bool,
}

/// A source of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSource {
    /// Its pack.
    pub pack: BlockPack,
    /// Its record. A pack of sums keeps the counts of all rows. It is large, and moved often while a run is opened.
    pub record: Box<SourceRecord>,
}

/// The sources of a block with these ranks and windows, sorted by window and rank: one request per file that can have
/// them, usually one.
pub fn sources(
    bucket: &Bucket,
    run: &str,
    block: (BlockId, &Descriptor),
    ranks: &RangeInclusive<u32>,
    windows: &RangeInclusive<u32>,
) -> Result<Vec<BlockSource>, StoreError> {
    let (id, descriptor) = block;
    let mut found = Vec::new();
    for file in descriptor.files(SOURCES.name, ranks, windows) {
        let key = file_key(run, id, &file.path);
        let keys = vec![("rank", wide(ranks)), ("window", wide(windows))];
        for batch in rows(bucket, file, &key, None, keys)? {
            let batch = batch?;
            let corrupt = |reason| StoreError::CorruptObject { what: "block", reason, key: key.clone() };
            let pieces: Vec<RecordBatch> = (0..batch.num_rows())
                .step_by(ROWS_AT_ONCE)
                .map(|from| batch.slice(from, ROWS_AT_ONCE.min(batch.num_rows() - from)))
                .collect();
            let read = parallel::each(&pieces, |piece| {
                let mut devices = Devices::default();
                let sources = (0..piece.num_rows()).map(|row| source(piece, row, &mut devices));
                sources.collect::<Result<Vec<_>, _>>().map_err(corrupt)
            })?;
            found.extend(read.into_iter().flatten());
        }
    }
    Ok(found)
}

/// The rows of some sources, in their order.
pub fn source_rows(run: &str, sources: &[BlockSource]) -> Result<RecordBatch, StoreError> {
    let ids = || sources.iter().map(|source| source.pack.name.id);
    let texts = |text: &dyn Fn(&BlockSource) -> Result<Option<String>, serde_json::Error>| {
        let texts: Vec<Option<String>> = sources.iter().map(text).collect::<Result<_, _>>()?;
        let array: DictionaryArray<Int32Type> = texts.iter().map(Option::as_deref).collect();
        Ok::<_, serde_json::Error>(Arc::new(array) as ArrayRef)
    };
    let misfit = |reason: String| StoreError::WrongColumns { table: SOURCES.name, reason };
    let json = |error: serde_json::Error| misfit(error.to_string());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ids().map(|id| id.rank.cast_signed()).collect::<Int32Array>()),
        Arc::new(ids().map(|id| id.window.cast_signed()).collect::<Int32Array>()),
        texts(&|source| Ok(Some(source.pack.name.depth.as_text().to_owned()))).map_err(json)?,
        texts(&|source| Ok(Some(source.pack.name.object_key(run)))).map_err(json)?,
        Arc::new(sources.iter().map(|source| source.pack.size_bytes.cast_signed()).collect::<Int64Array>()),
        Arc::new(sources.iter().map(|source| Some(source.pack.is_conflict)).collect::<BooleanArray>()),
        Arc::new(sources.iter().map(|source| source.record.first_event_ns).collect::<Int64Array>()),
        Arc::new(sources.iter().map(|source| source.record.last_event_ns).collect::<Int64Array>()),
        texts(&|source| source.record.devices.as_ref().map(serde_json::to_string).transpose()).map_err(json)?,
        texts(&|source| serde_json::to_string(&without_devices(&source.record)).map(Some)).map_err(json)?,
    ];
    RecordBatch::try_new(arrow_schema(&SOURCES), columns).map_err(|error| misfit(error.to_string()))
}

/// The packs of a block, without their records.
pub fn packs(bucket: &Bucket, run: &str, block: (BlockId, &Descriptor)) -> Result<Vec<BlockPack>, StoreError> {
    let (id, descriptor) = block;
    let mut found = Vec::new();
    for file in descriptor.tables.get(SOURCES.name).into_iter().flatten() {
        let key = file_key(run, id, &file.path);
        for batch in rows(bucket, file, &key, Some(&["pack", "pack_bytes", "is_conflict"]), Vec::new())? {
            let batch = batch?;
            let corrupt = |reason| StoreError::CorruptObject { what: "block", reason, key: key.clone() };
            for row in 0..batch.num_rows() {
                found.push(pack(&batch, row).map_err(corrupt)?);
            }
        }
    }
    Ok(found)
}

fn rows(
    bucket: &Bucket,
    file: &BlockFile,
    key: &str,
    columns: Option<&[&'static str]>,
    keys: Vec<(&'static str, RangeInclusive<i64>)>,
) -> Result<TableRows, StoreError> {
    let bytes = bucket.get(key, UNWATCHED)?;
    if bytes.len() as u64 != file.bytes {
        let reason = format!("it has {} bytes, expected {}", bytes.len(), file.bytes);
        return Err(StoreError::CorruptObject { what: "block", reason, key: key.to_owned() });
    }
    TableRows::read(&SOURCES, bytes, key, columns, keys)
}

fn without_devices(record: &SourceRecord) -> SourceRecord {
    SourceRecord { devices: None, ..record.clone() }
}

/// Devices of one source after another. Most have those of the source before, which need not be read again.
#[derive(Default)]
struct Devices<'b> {
    latest: Option<(&'b str, Vec<Device>)>,
}

impl<'b> Devices<'b> {
    fn read(&mut self, json: &'b str) -> Result<Vec<Device>, String> {
        if let Some((text, devices)) = &self.latest
            && *text == json
        {
            return Ok(devices.clone());
        }
        let devices: Vec<Device> = serde_json::from_str(json).map_err(|error| format!("devices: {error}"))?;
        self.latest = Some((json, devices.clone()));
        Ok(devices)
    }
}

fn source<'b>(batch: &'b RecordBatch, row: usize, devices: &mut Devices<'b>) -> Result<BlockSource, String> {
    let number = |name: &str| {
        let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int32Type>());
        column.map(|column| column.value(row).cast_unsigned()).ok_or_else(|| format!("it has no {name}"))
    };
    let id = SourceId { rank: number("rank")?, window: number("window")? };
    let pack = pack(batch, row)?;
    let mut record: Box<SourceRecord> =
        serde_json::from_str(required_text(batch, "record", row)?).map_err(|error| format!("a record: {error}"))?;
    if pack.name.id != id || record.id != id {
        return Err(format!("the record of rank {}, window {} is another one's", id.rank, id.window));
    }
    record.devices = text(batch, "devices", row)?.map(|json| devices.read(json)).transpose()?;
    Ok(BlockSource { pack, record })
}

fn pack(batch: &RecordBatch, row: usize) -> Result<BlockPack, String> {
    let bytes = batch.column_by_name("pack_bytes").and_then(|column| column.as_primitive_opt::<Int64Type>());
    let conflict = batch.column_by_name("is_conflict").and_then(|column| column.as_boolean_opt());
    let (Some(bytes), Some(conflict)) = (bytes, conflict) else { return Err("it lacks columns".to_owned()) };
    let key = required_text(batch, "pack", row)?;
    let Some((_, name)) = PackName::parse(key) else {
        return Err(format!("found {key:?}, expected the name of a pack"));
    };
    Ok(BlockPack { name, size_bytes: bytes.value(row).cast_unsigned(), is_conflict: conflict.value(row) })
}

fn required_text<'b>(batch: &'b RecordBatch, name: &str, row: usize) -> Result<&'b str, String> {
    text(batch, name, row)?.ok_or_else(|| format!("it has no {name}"))
}

/// A text, or `None` for null.
fn text<'b>(batch: &'b RecordBatch, name: &str, row: usize) -> Result<Option<&'b str>, String> {
    let column = batch.column_by_name(name).and_then(|column| column.as_string_view_opt());
    let column = column.ok_or_else(|| format!("it has no {name}"))?;
    Ok(column.is_valid(row).then(|| column.value(row)))
}

fn wide(range: &RangeInclusive<u32>) -> RangeInclusive<i64> {
    // Numbers are kept as 32 bits with a sign.
    i64::from(*range.start())..=i64::from(*range.end()).min(i64::from(i32::MAX))
}
