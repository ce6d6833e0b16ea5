//! Looks whether a store still is what its records say.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use stepscope_model::{SourceRecord, Table, tables::TABLES};

use crate::error::StoreError;
use crate::layout;
use crate::store::Store;

impl Store {
    /// What is broken, one sentence each: records that cannot be read, files that are missing, cut or have other rows
    /// than promised. Footers are read, pages are not.
    pub fn problems(&self) -> Result<Vec<String>, StoreError> {
        let mut problems = Vec::new();
        for run in self.runs()? {
            match self.sources(&run) {
                Ok(sources) => {
                    for source in &sources {
                        self.check_source(&run, source, &mut problems);
                    }
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        Ok(problems)
    }

    fn check_source(&self, run: &str, source: &SourceRecord, problems: &mut Vec<String>) {
        let mut bytes = 0;
        let before = problems.len();
        for table in TABLES {
            let rows = source.rows.of(table);
            if rows == 0 {
                continue;
            }
            match check_table(table, &self.files_of_source(run, source, table), rows) {
                Ok(size) => bytes += size,
                Err(problem) => problems.push(problem),
            }
        }
        if problems.len() == before && bytes != source.bytes_out {
            let path = layout::source_file(self.root(), run, source.id);
            problems.push(format!("tables have {bytes} bytes instead of {}: {}", source.bytes_out, path.display()));
        }
    }
}

/// Size of a table's files if their footers can be read and promise as many rows as the record.
fn check_table(table: &'static Table, paths: &[PathBuf], rows: u64) -> Result<u64, String> {
    let (mut found, mut size) = (0, 0);
    for path in paths {
        let (rows, bytes) = rows_and_bytes(table, path)?;
        found += rows;
        size += bytes;
    }
    if u64::try_from(found) != Ok(rows) {
        let path = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        return Err(format!("the table {} has {found} rows instead of {rows}: {path}", table.name));
    }
    Ok(size)
}

fn rows_and_bytes(table: &'static Table, path: &Path) -> Result<(i64, u64), String> {
    let missing = |_| StoreError::MissingFile { table: table.name, path: path.to_owned() }.to_string();
    let file = File::open(path).map_err(missing)?;
    let size = file.metadata().map_err(missing)?.len();
    let unreadable = |error| format!("cannot read the table {}: {error}: {}", table.name, path.display());
    Ok((SerializedFileReader::new(file).map_err(unreadable)?.metadata().file_metadata().num_rows(), size))
}
