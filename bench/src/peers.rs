//! Other tools that load the same trace, where they are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::child;
use crate::scratch::{Made, Scratch};

const HTA_RUNNER: &str = include_str!("../peers/load_hta.py");
const PERFETTO_RUNNER: &str = include_str!("../peers/load_perfetto.mjs");

/// A tool beside us.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    /// Holistic Trace Analysis: the Python that has it.
    Hta(PathBuf),
    /// Perfetto's trace processor as wasm: the folder with `engine_bundle.js` and `trace_processor.wasm`.
    Perfetto(PathBuf),
}

/// One load.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PeerReport {
    /// Time to load, without starting Python or Node.
    pub(crate) load_s: f64,
    /// Rows or slices that it then holds: the same in every run, and not none.
    pub(crate) events: u64,
    /// Most memory that it held.
    pub(crate) peak_rss_bytes: u64,
}

impl Peer {
    /// Loads a plain trace.
    pub(crate) fn load(&self, scratch: &Scratch, trace: &Made) -> Result<PeerReport> {
        let folder = tempfile::TempDir::with_prefix_in("peer-", scratch.folder())?;
        let runner = |name: &str, text: &str| -> Result<PathBuf> {
            let path = folder.path().join(name);
            std::fs::write(&path, text)?;
            Ok(path)
        };
        let report: PeerReport = match self {
            Self::Hta(python) => {
                // It reads a folder with one trace per rank.
                let traces = folder.path().join("traces");
                std::fs::create_dir(&traces)?;
                link(&trace.path, &traces)?;
                child::run(Command::new(python).arg(runner("load_hta.py", HTA_RUNNER)?).arg(&traces))?
            }
            Self::Perfetto(engine) => {
                let script = runner("load_perfetto.mjs", PERFETTO_RUNNER)?;
                child::run(Command::new("node").arg(script).arg(engine).arg(&trace.path))?
            }
        };
        ensure!(report.events > 0, "it loaded nothing");
        Ok(report)
    }
}

fn link(file: &Path, folder: &Path) -> Result<()> {
    let name = file.file_name().context("the trace has no name")?;
    Ok(std::os::unix::fs::symlink(file.canonicalize()?, folder.join(name))?)
}
