//! Traces that take long to make, kept in a folder and used again.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::amplify::Amplifier;
use crate::distinct;

/// Goes up when a maker writes other bytes than before.
const MAKER_VERSION: u32 = 1;

/// The level that Kineto compresses with.
pub(crate) const KINETO_LEVEL: u32 = 6;

const BUFFER_BYTES: usize = 1024 * 1024;

/// A real trace that is amplified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Short name.
    pub(crate) name: &'static str,
    /// Path below `traces/` of the corpus.
    pub(crate) path: &'static str,
}

/// No Python frames.
pub(crate) const CONTROL: Source = Source { name: "control", path: "hta/trace_diff/control/control.json.gz" };

/// Python frames and shapes.
pub(crate) const XDIT: Source =
    Source { name: "xdit", path: "tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz" };

/// Where made traces and stores go.
pub(crate) struct Scratch {
    folder: PathBuf,
    corpus: PathBuf,
}

/// A file that is ready.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its size.
    pub(crate) bytes: u64,
}

/// What stands beside a made file: it is used again as long as all of this still holds.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    maker: u32,
    source_bytes: u64,
    bytes: u64,
}

impl Scratch {
    /// Uses a folder, which is made if need be.
    pub(crate) fn new(folder: &Path, corpus: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), corpus: corpus.to_owned() })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A trace of the corpus.
    pub(crate) fn corpus_trace(&self, path: &str) -> Result<PathBuf> {
        let full = self.corpus.join("traces").join(path);
        anyhow::ensure!(full.is_file(), "no trace at {}; set STEPSCOPE_CORPUS or --corpus", full.display());
        Ok(full)
    }

    /// A folder of traces of the corpus.
    pub(crate) fn corpus_folder(&self, path: &str) -> Result<PathBuf> {
        let full = self.corpus.join("traces").join(path);
        anyhow::ensure!(full.is_dir(), "no folder at {}; set STEPSCOPE_CORPUS or --corpus", full.display());
        Ok(full)
    }

    /// A source with that many copies, not compressed.
    pub(crate) fn amplified(&self, source: Source, copies: u32) -> Result<Made> {
        let from = self.corpus_trace(source.path)?;
        self.make(&format!("{}-x{copies}.json", source.name), from.metadata()?.len(), &mut |out| {
            Amplifier::new(&plain_text(&from)?)?.write(copies, out)
        })
    }

    /// The same as gzip, one member.
    pub(crate) fn gzip(&self, plain: &Made, level: u32) -> Result<Made> {
        let name = plain.path.file_name().unwrap_or_default().to_string_lossy();
        let end = if level == KINETO_LEVEL { "gz".to_owned() } else { format!("level{level}.gz") };
        self.make(&format!("{name}.{end}"), plain.bytes, &mut |out| {
            let mut encoder = GzEncoder::new(out, Compression::new(level));
            io::copy(&mut BufReader::with_capacity(BUFFER_BYTES, File::open(&plain.path)?), &mut encoder)?;
            encoder.finish()?;
            Ok(())
        })
    }

    /// A trace of mostly distinct strings.
    pub(crate) fn distinct(&self, units: u64) -> Result<Made> {
        self.make(&format!("distinct-{units}.json"), units, &mut |out| distinct::write(units, out))
    }

    /// A fresh folder for a store, gone with what is given back.
    pub(crate) fn store(&self) -> Result<tempfile::TempDir> {
        Ok(tempfile::TempDir::with_prefix_in("store-", &self.folder)?)
    }

    /// A file of that name, made unless it is there.
    pub(crate) fn make(
        &self,
        name: &str,
        source_bytes: u64,
        write: &mut dyn FnMut(&mut dyn Write) -> Result<()>,
    ) -> Result<Made> {
        let path = self.folder.join(name);
        let note_path = self.folder.join(format!("{name}.made"));
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        let note = fs::read(&note_path).ok().and_then(|text| serde_json::from_slice::<Note>(&text).ok());
        if bytes > 0 && note == Some(Note { maker: MAKER_VERSION, source_bytes, bytes }) {
            return Ok(Made { path, bytes });
        }
        eprintln!("making {}", path.display());
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file.as_file_mut());
        write(&mut out).with_context(|| format!("cannot make {}", path.display()))?;
        out.flush()?;
        drop(out);
        let bytes = file.as_file().metadata()?.len();
        file.persist(&path)?;
        fs::write(&note_path, serde_json::to_vec(&Note { maker: MAKER_VERSION, source_bytes, bytes })?)?;
        Ok(Made { path, bytes })
    }
}

/// A file as text, inflated if it is gzip.
pub(crate) fn plain_text(path: &Path) -> Result<String> {
    let mut bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
        bytes = plain;
    }
    Ok(String::from_utf8(bytes)?)
}

/// Reads a file once, so that every contender finds it in the page cache.
pub(crate) fn warm(path: &Path) -> Result<()> {
    io::copy(&mut File::open(path)?, &mut io::sink())?;
    Ok(())
}
