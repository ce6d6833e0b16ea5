//! Writes the source of a pack in the folder form.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use stepscope_model::{RowCounts, SourceRecord};

use super::Pack;
use crate::disk;
use crate::error::StoreError;
use crate::layout;
use crate::owned::OwnedFolder;
use crate::store::Store;
use crate::writer;

/// Makes the source of a pack exist in a store, in place of one with the same rank and window. Members become the files
/// that they were, and the record comes last. Of a pack of sums the record counts no rows of events, as there are none.
pub fn unpack<B: AsRef<[u8]>, E: From<StoreError>>(
    store: &Store,
    run: &str,
    pack: &Pack,
    mut read: impl FnMut(Range<u64>) -> Result<B, E>,
) -> Result<SourceRecord, E> {
    let runs_dir = layout::runs_dir(store.root());
    disk::create_folders(&runs_dir)?;
    let temporary_dir = OwnedFolder::create(&runs_dir, layout::TEMPORARY_PREFIX)
        .map_err(StoreError::io("create a temporary folder", &runs_dir))?;
    let mut record = pack.record.clone();
    record.run = layout::run_folder_name(run);
    record.rows = RowCounts::default();
    record.partitions.clear();
    record.bytes_out = 0;
    let mut written: Vec<(Arc<PathBuf>, PathBuf)> = Vec::new();
    for (index, member) in pack.members.iter().enumerate() {
        let bytes = read(member.range())?;
        pack.check(member, bytes.as_ref())?;
        record.rows.add(member.table, member.rows);
        record.bytes_out += member.length;
        let place = match member.partition {
            Some(partition) => {
                record.partitions.entry(member.table.name.to_owned()).or_default().push(partition);
                layout::partition_file(store.root(), &record.run, member.table, partition, record.id)
            }
            None => layout::table_file(store.root(), &record.run, member.table, record.id),
        };
        let path = temporary_dir.path().join(format!("{index}.parquet"));
        let mut file = File::create(&path).map_err(StoreError::io("create a file", &path))?;
        file.write_all(bytes.as_ref()).map_err(StoreError::io("write a table", &path))?;
        file.sync_all().map_err(StoreError::io("write a table to disk", &path))?;
        written.push((Arc::new(path), place));
    }
    writer::put_in_place(store.root(), temporary_dir.path(), &record, &written)?;
    Ok(record)
}
