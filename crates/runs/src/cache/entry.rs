//! The two kinds of small files of the cache. A file that cannot be understood counts as missing: the cache can always
//! be filled again.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::inputs::{InputFile, Inputs, Setup, Stamp};

/// `entry.json` in a store: what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) setup: String,
    pub(super) stepscope: String,
    /// What the user named when it was made.
    pub(super) roots: Vec<String>,
    pub(super) files: Vec<KnownFile>,
    pub(super) events_in: u64,
    pub(super) size_bytes: u64,
}

/// One file that a store was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    /// The path as the source records have it.
    pub(super) shown: String,
    pub(super) name: String,
    pub(super) size_bytes: u64,
    /// Digest of what it holds.
    pub(super) content: String,
}

/// A file of the index: the question, what its files looked like, and the store that answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) store: String,
    pub(super) roots: Vec<String>,
    pub(super) stamps: Vec<Stamp>,
}

impl Entry {
    pub(super) fn path(store: &Path) -> PathBuf {
        store.join("entry.json")
    }

    pub(super) fn read(store: &Path) -> Option<Self> {
        let json = read(&Self::path(store))?;
        let file = |json: &Json| {
            Some(KnownFile {
                shown: text(json, "shown")?,
                name: text(json, "name")?,
                size_bytes: json["size_bytes"].as_u64()?,
                content: text(json, "content")?,
            })
        };
        Some(Self {
            setup: text(&json, "setup")?,
            stepscope: text(&json, "stepscope")?,
            roots: texts(&json["roots"])?,
            files: json["files"].as_array()?.iter().map(file).collect::<Option<_>>()?,
            events_in: json["events_in"].as_u64()?,
            size_bytes: json["size_bytes"].as_u64()?,
        })
    }

    pub(super) fn to_json(&self) -> Json {
        let file = |file: &KnownFile| json!({ "shown": file.shown, "name": file.name, "size_bytes": file.size_bytes, "content": file.content });
        json!({
            "setup": self.setup,
            "stepscope": self.stepscope,
            "roots": self.roots,
            "events_in": self.events_in,
            "size_bytes": self.size_bytes,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
        })
    }

    /// Whether it could be of the same files: names and sizes agree. Names matter, as runs and ranks come from them.
    pub(super) fn resembles(&self, inputs: &Inputs, setup: &Setup) -> bool {
        let alike = |(known, file): (&KnownFile, &InputFile)| {
            known.name == file.name && known.size_bytes == file.stamp.size_bytes
        };
        self.setup == setup.as_text()
            && self.files.len() == inputs.files.len()
            && self.files.iter().zip(&inputs.files).all(alike)
    }
}

impl Known {
    pub(super) fn read(path: &Path) -> Option<Self> {
        let json = read(path)?;
        let stamp = |json: &Json| {
            let number = |place: usize| json.get(place)?.as_u64();
            Some(Stamp { size_bytes: number(0)?, changed_ns: number(1)?, inode: number(2)? })
        };
        Some(Self {
            store: text(&json, "store").filter(|store| is_key(store))?,
            roots: texts(&json["roots"])?,
            stamps: json["stamps"].as_array()?.iter().map(stamp).collect::<Option<_>>()?,
        })
    }

    pub(super) fn of(inputs: &Inputs, store: &str) -> Self {
        let stamps = inputs.files.iter().map(|file| file.stamp).collect();
        Self { store: store.to_owned(), roots: roots(inputs), stamps }
    }

    pub(super) fn to_json(&self) -> Json {
        let stamps: Vec<_> =
            self.stamps.iter().map(|stamp| [stamp.size_bytes, stamp.changed_ns, stamp.inode]).collect();
        json!({ "store": self.store, "roots": self.roots, "stamps": stamps })
    }

    pub(super) fn is_current(&self, inputs: &Inputs) -> bool {
        self.stamps.iter().eq(inputs.files.iter().map(|file| &file.stamp))
    }
}

/// Whether a name is one that a store can have; whoever writes into the cache must not lead out of it.
pub(super) fn is_key(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// What the user named, as text.
pub(super) fn roots(inputs: &Inputs) -> Vec<String> {
    inputs.roots.iter().map(|root| root.display().to_string()).collect()
}

fn read(path: &Path) -> Option<Json> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn text(json: &Json, name: &str) -> Option<String> {
    json[name].as_str().map(str::to_owned)
}

fn texts(json: &Json) -> Option<Vec<String>> {
    json.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}
