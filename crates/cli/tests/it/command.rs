//! Runs the built binary in a folder of its own, away from the user's cache and settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A trace with one step, an operator, its launch and its kernel, and one event that cannot be read.
pub(crate) const TRACE: &str = r#"{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "Test GPU"}],
  "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 0, "args": {"name": "python"}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 7, "tid": 7, "ts": 0, "dur": 100},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10, "dur": 50, "args": {"External id": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 20, "dur": 5, "args": {"External id": 1, "correlation": 9}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 40, "dur": 30, "args": {"External id": 1, "correlation": 9, "device": 0, "stream": 7}},
    {"ph": "X", "cat": "cpu_op", "name": "broken", "pid": 7, "tid": 7, "ts": "soon", "dur": 5}
  ]
}
"#;

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// A folder with the trace `trace.json` and room for a cache.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("trace.json"), TRACE).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stepscope"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
            command.env(name, self.folder.path());
        }
        for name in ["NO_COLOR", "COLUMNS", "STEPSCOPE_CACHE", "STEPSCOPE_CACHE_LIMIT", "STEPSCOPE_SPOOL"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed and gives its standard output.
    #[track_caller]
    pub(crate) fn stdout(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    /// Runs a command that must succeed with `-f json` and gives its document.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let text = self.stdout(&[arguments, &["-f", "json"]].concat());
        serde_json::from_str(&text).unwrap()
    }
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

/// The names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
