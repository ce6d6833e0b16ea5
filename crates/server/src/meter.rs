//! How far the files of a run are read, all of them together.

use std::path::Path;

use stepscope_model::RunReading;

/// Adds up what is read file by file.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    shown: RunReading,
    /// Bytes of the files that are done.
    finished_bytes: u64,
    /// Bytes of the file that is being read: what is no trace is left before its end.
    file_bytes: u64,
}

impl Meter {
    pub(crate) fn shown(&self) -> &RunReading {
        &self.shown
    }

    pub(crate) fn plan(&mut self, files: u64, bytes: u64) {
        self.shown.total_files += files;
        self.shown.total_bytes += bytes;
    }

    pub(crate) fn update(&mut self, path: &str, bytes_done: u64, bytes_total: Option<u64>) {
        let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path);
        if self.shown.file.as_deref() != Some(name) {
            self.shown.file = Some(name.to_owned());
        }
        self.file_bytes = bytes_total.unwrap_or(bytes_done);
        self.shown.done_bytes = self.finished_bytes + bytes_done;
    }

    pub(crate) fn finish_file(&mut self) {
        self.finished_bytes += std::mem::take(&mut self.file_bytes);
        self.shown.done_bytes = self.finished_bytes;
        self.shown.done_files += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_add_up() {
        let mut meter = Meter::default();
        meter.plan(2, 300);
        meter.update("/runs/a/rank0.json", 60, Some(100));
        meter.finish_file();
        meter.update("/runs/a/rank1.json", 50, Some(200));
        let want = RunReading {
            done_bytes: 150,
            total_bytes: 300,
            done_files: 1,
            total_files: 2,
            file: Some("rank1.json".to_owned()),
        };
        assert_eq!(*meter.shown(), want);
    }
}
