//! Snapshots that are made to do harm: every row of the table of hostile inputs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use stepscope_formats::FormatError;
use stepscope_formats::LooksLike;
use stepscope_testkit::corpus;

use crate::snapshot::{read, read_as_snapshot};

/// What a word of the table is called in the refusal.
fn phrase(word: &str) -> &str {
    match word {
        "too_deep" => "nests more than 64 levels deep",
        "too_many_values" => "more than 16777216 values",
        "unknown_protocol" => "of pickle protocol ",
        other => other,
    }
}

/// A folder that is gone at the end of the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
#[ignore = "needs the corpus"]
fn every_row_of_the_table() {
    let folder = Folder(std::env::temp_dir().join(format!("stepscope-hostile-{}", std::process::id())));
    let script = corpus().trace("../oracles/formats/hostile/make.py");
    let made = Command::new("python3").arg(script).arg(&folder.0).status().expect("python3 is there");
    assert!(made.success());
    let table = fs::read_to_string(folder.0.join("EXPECTED.tsv")).expect("there is a table");
    let mut rows = 0;
    for row in table.lines() {
        let [name, reader, outcome, _] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        if reader != "snapshot" && name != "torch_save_zip.pickle" {
            continue;
        }
        rows += 1;
        let bytes = fs::read(folder.0.join(name)).expect("the file is there");
        let begin = Instant::now();
        check(name, outcome, &bytes);
        let took = begin.elapsed();
        eprintln!("{took:9.2?} {name}");
        assert!(took < Duration::from_secs(5), "{name} took {took:?}");
    }
    assert!(rows > 60, "{rows}");
}

fn check(name: &str, outcome: &str, bytes: &[u8]) {
    let (mut seen, mut found) = read(bytes);
    // A class of `line_profiler` makes a pickle that of another reader.
    if matches!(found, Err(FormatError::Unrecognized(LooksLike::LineProfile))) {
        (seen, found) = read_as_snapshot(bytes);
    }
    match (outcome.split_once(':'), found) {
        (Some(("refused", word)), Err(error)) => {
            let error = error.to_string();
            assert!(error.starts_with("refused: a Python pickle ") && error.contains(phrase(word)), "{name}: {error}");
        }
        (Some(("partial", code)), Ok(notes)) => {
            assert!(notes.contains(code) || seen.warnings.contains_key(code), "{name}: {notes:?} {:?}", seen.warnings);
        }
        (None, Ok(notes)) if outcome == "read" => {
            assert!(notes.is_empty() && seen.warnings.keys().all(|&code| code == "wrong_types"), "{name}: {notes:?}");
        }
        (None, Err(error)) if outcome == "unrecognised" => {
            assert!(error.to_string().contains("a zip archive"), "{name}: {error}");
        }
        (_, found) => panic!("{name}: expected {outcome}, found {found:?}"),
    }
}
