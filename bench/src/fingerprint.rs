//! The answers of a store in a form that can be compared: counts, sums, and if asked for a hash of every column.
//!
//! It is read from the Parquet files themselves, so that nothing but the files has to be right.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde::{Deserialize, Serialize};
use stepscope_model::SourceRecord;
use stepscope_model::tables::{OP_ROLLUP, SPANS, TABLES};
use stepscope_store::Store;
use twox_hash::XxHash3_128;

use crate::columns::{self, Column, Values};

/// Columns of `spans` whose values are counted: the links between spans.
const LINKS: [&str; 6] = ["parent_id", "launch_id", "owner_id", "operator_id", "forward_id", "step"];

/// What a store says about its one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// Elements of the event lists.
    pub(crate) events_in: u64,
    /// Rows by table, by the source records; the tables are counted too and must agree.
    pub(crate) rows: BTreeMap<String, u64>,
    /// Elements without a row, by reason.
    pub(crate) dropped: BTreeMap<String, u64>,
    /// Spans by kind.
    pub(crate) spans_by_kind: BTreeMap<String, u64>,
    /// Sum of the lengths of all spans.
    pub(crate) dur_ns: i64,
    /// Sum of their self times.
    pub(crate) self_ns: i64,
    /// Sum of the lengths of device events, by how their owner was found.
    pub(crate) device_dur_ns_by_link: BTreeMap<String, i64>,
    /// Spans that have a value, by column.
    pub(crate) spans_with: BTreeMap<String, u64>,
    /// Hash of the values of each column, row by row; empty unless asked for.
    #[serde(default)]
    pub(crate) hashes: BTreeMap<String, String>,
}

/// Bytes and answers of a store that holds one run.
pub(crate) struct Reading {
    /// The answers.
    pub(crate) fingerprint: Fingerprint,
    /// Bytes of the run's folder.
    pub(crate) run_bytes: u64,
}

/// Reads a store that holds one run.
pub(crate) fn read(root: &Path, with_hashes: bool) -> Result<Reading> {
    let store = Store::open(root)?;
    let runs = store.runs()?;
    let [run] = runs.as_slice() else { anyhow::bail!("{} runs instead of one in {}", runs.len(), root.display()) };
    let sources = store.require_sources(run)?;
    let mut fingerprint = Fingerprint::default();
    for source in &sources {
        fingerprint.add_record(source);
    }
    for path in store.files_of(run, &sources, &SPANS)? {
        fingerprint.add_spans(&columns::open(&path)?).with_context(|| format!("in {}", path.display()))?;
    }
    for table in TABLES {
        let mut rows = 0;
        for path in store.files_of(run, &sources, table)? {
            let reader = columns::open(&path)?;
            rows += u64::try_from(reader.metadata().file_metadata().num_rows())?;
            if with_hashes {
                fingerprint.add_hashes(table.name, &reader)?;
            }
        }
        let recorded = fingerprint.rows.get(table.name).copied().unwrap_or(0);
        if rows != recorded {
            anyhow::bail!("{} has {rows} rows, its record says {recorded}", table.name);
        }
    }
    let run_bytes = folder_bytes(&stepscope_store::layout::run_dir(root, run))?;
    Ok(Reading { fingerprint, run_bytes })
}

impl Fingerprint {
    fn add_record(&mut self, record: &SourceRecord) {
        self.events_in += record.events_in;
        for (table, rows) in record.rows.iter() {
            *self.rows.entry(table.name.to_owned()).or_default() += rows;
        }
        for (reason, count) in &record.dropped {
            *self.dropped.entry(reason.clone()).or_default() += count;
        }
    }

    fn add_spans(&mut self, reader: &SerializedFileReader<File>) -> Result<()> {
        let [dur, own, kind, link] = ["dur_ns", "self_ns", "kind", "link"].map(|name| columns::index_of(reader, name));
        let (dur, own, kind, link) = (dur?, own?, kind?, link?);
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number)?;
            let group = group.as_ref();
            let lengths = columns::read(group, dur)?;
            let lengths = lengths.integers()?;
            self.dur_ns += lengths.iter().sum::<i64>();
            self.self_ns += columns::read(group, own)?.integers()?.iter().sum::<i64>();
            count_texts(&columns::read(group, kind)?, lengths, &mut |text, count, _| {
                *self.spans_by_kind.entry(text).or_default() += count;
            })?;
            count_texts(&columns::read(group, link)?, lengths, &mut |text, _, sum| {
                *self.device_dur_ns_by_link.entry(text).or_default() += sum;
            })?;
            for name in LINKS {
                let column = columns::read(group, columns::index_of(reader, name)?)?;
                *self.spans_with.entry(name.to_owned()).or_default() += column.count() as u64;
            }
        }
        Ok(())
    }

    fn add_hashes(&mut self, table: &str, reader: &SerializedFileReader<File>) -> Result<()> {
        let described = reader.metadata().file_metadata().schema_descr();
        for index in 0..described.num_columns() {
            let mut hasher = XxHash3_128::new();
            let mut bytes = Vec::new();
            for number in 0..reader.num_row_groups() {
                let group = reader.get_row_group(number)?;
                bytes.clear();
                push_rows(&columns::read(group.as_ref(), index)?, &mut bytes);
                hasher.write(&bytes);
            }
            let name = format!("{table}.{}", described.column(index).name());
            let hash = format!("{:032x}", hasher.finish_128());
            // A second source of the same table continues the list of hashes.
            self.hashes.entry(name).or_default().push_str(&hash);
        }
        Ok(())
    }
}

/// Tells each text with its rows and the sum of their lengths; rows without a text are left out.
fn count_texts(column: &Column, lengths: &[i64], tell: &mut dyn FnMut(String, u64, i64)) -> Result<()> {
    // There are a handful of different texts: a short list is faster than a map.
    let mut found: Vec<(&[u8], u64, i64)> = Vec::new();
    let texts = column.texts()?;
    for (text, length) in texts.into_iter().zip(lengths) {
        let Some(text) = text else { continue };
        let place = found.iter().position(|(known, _, _)| *known == text).unwrap_or_else(|| {
            found.push((text, 0, 0));
            found.len() - 1
        });
        found[place].1 += 1;
        found[place].2 += length;
    }
    for (text, count, sum) in found {
        tell(String::from_utf8_lossy(text).into_owned(), count, sum);
    }
    Ok(())
}

/// Each row as bytes that depend on the values alone, not on how the file is cut into row groups.
fn push_rows(column: &Column, out: &mut Vec<u8>) {
    match &column.values {
        Values::Integers(values) => push_values(column, values, out, |value, out| out.extend(value.to_le_bytes())),
        Values::Floats(values) => {
            push_values(column, values, out, |value, out| out.extend(value.to_bits().to_le_bytes()));
        }
        Values::Booleans(values) => push_values(column, values, out, |value, out| out.push(u8::from(*value))),
        Values::Texts(values) => push_values(column, values, out, |value, out| {
            out.extend((value.len() as u64).to_le_bytes());
            out.extend_from_slice(value.data());
        }),
    }
}

fn push_values<T>(column: &Column, values: &[T], out: &mut Vec<u8>, push: impl Fn(&T, &mut Vec<u8>)) {
    let mut values = values.iter();
    match &column.present {
        None => values.for_each(|value| push(value, out)),
        Some(present) => {
            for is_there in present {
                out.push(u8::from(*is_there));
                if let Some(value) = is_there.then(|| values.next()).flatten() {
                    push(value, out);
                }
            }
        }
    }
}

/// Bytes of a run without the sums that can be made anew from the rest.
fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == OP_ROLLUP.name {
            continue;
        }
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { folder_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
