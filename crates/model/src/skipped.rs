//! Files of a folder that are no part of its runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A file that lies beside traces and was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SkippedFile {
    /// The file, as found.
    pub path: String,
    /// What it is, or why it cannot be read: `a Python pickle`, `Permission denied`.
    pub what: String,
    /// Whether it may be a trace and cannot be read; otherwise its format is not one that Stepscope reads.
    pub is_unreadable: bool,
}

impl SkippedFile {
    /// Its name without folders.
    #[must_use]
    pub fn file_name(&self) -> String {
        let name = Path::new(&self.path).file_name();
        name.map_or_else(|| self.path.clone(), |name| name.to_string_lossy().into_owned())
    }
}

/// What to say about them: at most one sentence for those that cannot be read, and one for the others.
#[must_use]
pub fn skipped_sentences(files: &[SkippedFile]) -> Vec<String> {
    let (unreadable, others): (Vec<&SkippedFile>, Vec<&SkippedFile>) =
        files.iter().partition(|file| file.is_unreadable);
    let mut sentences = Vec::new();
    if !unreadable.is_empty() {
        let what = if unreadable.len() == 1 { "1 file" } else { &format!("{} files", unreadable.len()) };
        sentences.push(format!("{what} cannot be read (--strict refuses): {}", by_kind(&unreadable)));
    }
    match others.len() {
        0 => {}
        1 => sentences.push(format!("1 file is not a trace that Stepscope reads: {}", by_kind(&others))),
        count => sentences.push(format!("{count} files are not traces that Stepscope reads: {}", by_kind(&others))),
    }
    sentences
}

/// Names by what the files are, the most frequent first, each list short.
fn by_kind(files: &[&SkippedFile]) -> String {
    const NAMES: usize = 3;
    const KINDS: usize = 6;
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files {
        kinds.entry(&file.what).or_default().push(file.file_name());
    }
    let mut kinds: Vec<(&str, Vec<String>)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(what, names)| (std::cmp::Reverse(names.len()), *what));
    let more: usize = kinds.iter().skip(KINDS).map(|(_, names)| names.len()).sum();
    let mut words: Vec<String> = kinds
        .iter()
        .take(KINDS)
        .map(|(what, names)| {
            let shown = names[..names.len().min(NAMES)].join(", ");
            let rest = if names.len() > NAMES { format!(", … {} in all", names.len()) } else { String::new() };
            format!("{shown}{rest} ({what})")
        })
        .collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, what: &str, is_unreadable: bool) -> SkippedFile {
        SkippedFile { path: path.to_owned(), what: what.to_owned(), is_unreadable }
    }

    #[test]
    fn files_are_grouped_by_what_they_are() {
        assert!(skipped_sentences(&[]).is_empty());
        let mut files = vec![file("run/a.pickle", "a Python pickle", false)];
        assert_eq!(
            skipped_sentences(&files),
            ["1 file is not a trace that Stepscope reads: a.pickle (a Python pickle)"]
        );
        files.extend((0..5).map(|number| file(&format!("run/{number}.txt"), "text", false)));
        files.push(file("run/rank3.json", "empty", true));
        assert_eq!(
            skipped_sentences(&files),
            [
                "1 file cannot be read (--strict refuses): rank3.json (empty)",
                "6 files are not traces that Stepscope reads: 0.txt, 1.txt, 2.txt, … 5 in all (text), \
                 a.pickle (a Python pickle)"
            ]
        );
    }
}
