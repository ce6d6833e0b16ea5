//! Looks whether a store still is what its records say.

use std::fs::File;
use std::path::Path;

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
            let rows = source.rows.get(table.name).copied().unwrap_or(0);
            if rows == 0 {
                continue;
            }
            let path = layout::table_file(self.root(), run, table, source.id);
            match check_table(table, &path, rows) {
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

/// Size of a table's file if its footer can be read and promises as many rows as the record.
fn check_table(table: &'static Table, path: &Path, rows: u64) -> Result<u64, String> {
    let missing = |_| StoreError::MissingFile { table: table.name, path: path.to_owned() }.to_string();
    let file = File::open(path).map_err(missing)?;
    let size = file.metadata().map_err(missing)?.len();
    let unreadable = |error| format!("cannot read the table {}: {error}: {}", table.name, path.display());
    let found = SerializedFileReader::new(file).map_err(unreadable)?.metadata().file_metadata().num_rows();
    if u64::try_from(found) != Ok(rows) {
        return Err(format!("the table {} has {found} rows instead of {rows}: {}", table.name, path.display()));
    }
    Ok(size)
}
