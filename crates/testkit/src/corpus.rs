//! Real traces for tests, in a folder that `STEPSCOPE_CORPUS` names: `traces/` and `oracles/`.

#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test that cannot read its corpus has failed")]

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

/// A folder with real traces and what is known about them.
#[derive(Clone, Debug)]
pub struct Corpus {
    root: PathBuf,
    /// Where archives are unpacked; gone with the last copy of the corpus.
    unpacked: Arc<TempDir>,
}

/// Folders of `traces/` with Chrome traces, and with files that could be taken for one.
const CHROME_LIKE: [&str; 9] = [
    "kineto",
    "hta",
    "tracelens",
    "astra-sim",
    "aorta",
    "particle_transformer",
    "malformed",
    "speedscope/trace-event",
    "param",
];

/// The archive with the eight ranks of one run.
const DLRM: &str = "param/dlrm_kineto.tar.gz";

/// The corpus. A test that needs it is `#[ignore = "needs the corpus"]`, so that runners count it as skipped where there
/// is none; `--run-ignored all` runs it.
#[must_use]
pub fn corpus() -> Corpus {
    let root = env::var_os("STEPSCOPE_CORPUS").expect("STEPSCOPE_CORPUS names the folder with traces/ and oracles/");
    let unpacked = TempDir::with_prefix("stepscope-corpus-").expect("a temporary folder can be made");
    Corpus { root: root.into(), unpacked: Arc::new(unpacked) }
}

impl Corpus {
    /// The trace at `rel_path` below `traces/`.
    #[must_use]
    pub fn trace(&self, rel_path: &str) -> PathBuf {
        self.root.join("traces").join(rel_path)
    }

    /// Every Chrome trace, and every file that could be taken for one, sorted.
    #[must_use]
    pub fn chrome_like(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for folder in CHROME_LIKE {
            collect_files(&self.trace(folder), &mut found);
        }
        found.retain(|path| path.extension().is_none_or(|extension| extension != "tar") && !path.ends_with(DLRM));
        found.sort();
        found
    }

    /// Unpacks the traces of the eight ranks of one run into `into`; gives them sorted.
    #[must_use]
    pub fn unpack_dlrm(&self, into: &Path) -> Vec<PathBuf> {
        let bytes = plain_bytes(&self.trace(DLRM));
        let mut unpacked = Vec::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().expect("the archive can be read") {
            let mut entry = entry.expect("the entry can be read");
            let path = entry.path().expect("the entry has a path").into_owned();
            let Some(name) = path.file_name().filter(|_| entry.header().entry_type().is_file()) else { continue };
            let target = into.join(name);
            let mut file = File::create(&target).expect("the folder can be written");
            std::io::copy(&mut entry, &mut file).expect("the entry can be unpacked");
            unpacked.push(target);
        }
        unpacked.sort();
        unpacked
    }

    /// Traces with known values, and the files that hold the values, sorted by the latter. Members of an archive are
    /// unpacked, and stay as long as the corpus.
    #[must_use]
    pub fn oracles(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut traces = BTreeMap::new();
        for path in self.chrome_like() {
            traces.insert(mangled(self.rel_path(&path)), path);
        }
        for path in self.unpack_dlrm(self.unpacked.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            traces.insert(mangled(format!("{DLRM}::dlrm_kineto/{name}")), path.clone());
        }
        let mut values = Vec::new();
        collect_files(&self.root.join("oracles/values"), &mut values);
        values.sort();
        let pair = |oracle: PathBuf| {
            let name = oracle.file_name()?.to_str()?.to_owned();
            (!name.starts_with("ranks__")).then(|| {
                let trace = traces.get(&name);
                (trace.unwrap_or_else(|| panic!("no trace for {name}")).clone(), oracle)
            })
        };
        values.into_iter().filter_map(pair).collect()
    }

    /// Values of answers of a kind, each with its traces, by the index of the answers.
    #[must_use]
    pub fn answers(&self, kind: &str) -> Vec<(PathBuf, Vec<PathBuf>)> {
        let answers = self.answer("");
        let unpacked = self.unpack_dlrm(self.unpacked.path());
        let trace = |name: &str| match name.split_once("::") {
            None => self.trace(name),
            Some((_, member)) => {
                let name = Path::new(member).file_name();
                unpacked.iter().find(|path| path.file_name() == name).expect("the member is in the archive").clone()
            }
        };
        let index = fs::read_to_string(answers.join("INDEX.tsv")).expect("the answers have an index");
        let rows = index.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix('\t')?.split_once('\t'));
        rows.map(|(values, names)| (answers.join(values), names.split('\t').map(&trace).collect())).collect()
    }

    /// A file of the answers.
    #[must_use]
    pub fn answer(&self, rel_path: &str) -> PathBuf {
        self.root.join("oracles/answers").join(rel_path)
    }

    fn rel_path(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.root.join("traces")).expect("the path is below the corpus");
        below.to_string_lossy().into_owned()
    }
}

/// The bytes of a file, inflated if it is compressed with gzip.
#[must_use]
pub fn plain_bytes(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).expect("the file can be inflated");
    plain
}

/// The name of the file with the values of a trace.
fn mangled(rel_path: impl Into<String>) -> String {
    format!("{}.json", rel_path.into().replace("::", "__").replace('/', "__"))
}

fn collect_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            collect_files(&path, found);
        } else {
            found.push(path);
        }
    }
}
