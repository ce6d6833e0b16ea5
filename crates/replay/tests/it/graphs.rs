//! Graphs whose paths, typical lags and replayed steps were worked out by hand.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_ingest::Options;
use stepscope_replay::document::documented_changes;

use crate::stores::{ManyRanks, OneTrace};

fn nanoseconds(value: &Value) -> i64 {
    value.as_i64().unwrap() * 1000
}

#[test]
#[ignore = "needs the corpus"]
fn graphs_made_by_hand_have_the_answers_worked_out_by_hand() {
    let root = PathBuf::from(env::var_os("STEPSCOPE_CORPUS").expect("STEPSCOPE_CORPUS is set"));
    let mut files: Vec<PathBuf> =
        fs::read_dir(root.join("oracles/answers/graphs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".expected.json"));
    files.sort();
    let mut compared = 0;
    for file in files {
        let want: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        if want.get("ranks").is_some() {
            check_ranks(&file, &want);
            compared += 1;
            continue;
        }
        let trace = PathBuf::from(file.to_string_lossy().replace(".expected.json", ".json"));
        let model = OneTrace::of_file(&trace, &Options::default()).model();
        let shown = trace.display();
        assert!(model.is_identity_exact(), "{shown}");
        let steps = model.steps().iter().zip(model.paths());
        let got: Vec<Vec<(i64, i64, &str)>> = steps
            .map(|(step, path)| {
                let piece = |piece: &stepscope_replay::Piece| {
                    (piece.start_ns - step.start_ns, piece.end_ns - step.start_ns, piece.class.as_text())
                };
                path.pieces.iter().map(piece).collect()
            })
            .collect();
        let paths = want["paths_us"].as_array().unwrap();
        let want_paths: Vec<Vec<_>> = paths.iter().map(wanted_path).collect();
        let got_paths: Vec<Vec<_>> = got
            .iter()
            .map(|path| path.iter().map(|(start, end, class)| (*start, *end, (*class).to_owned())).collect())
            .collect();
        assert_eq!(got_paths, want_paths, "{shown}");
        let lags = model.typical;
        for (name, lag) in
            [("launch", lags.launch_ns), ("gap", lags.gap_ns), ("return", lags.return_ns), ("own", lags.own_ns)]
        {
            if let Some(want) = want["typical_us"].get(name) {
                assert_eq!(lag, nanoseconds(want), "{shown} {name}");
            }
        }
        let changes = documented_changes(model.recording());
        for (name, want) in want["whatif_step_us"].as_object().into_iter().flatten().filter(|(_, want)| !want.is_null())
        {
            let want: Vec<i64> = match want {
                Value::Array(list) => list.iter().map(nanoseconds).collect(),
                one => vec![nanoseconds(one)],
            };
            let (_, change) = changes.iter().find(|(known, _)| known == name).unwrap();
            assert_eq!(model.replay(std::slice::from_ref(change)).anchored_ns, want, "{shown} {name}");
        }
        compared += 1;
    }
    assert_eq!(compared, 16);
}

fn wanted_path(path: &Value) -> Vec<(i64, i64, String)> {
    let pieces = path.as_array().unwrap().iter();
    pieces
        .map(|piece| (nanoseconds(&piece[0]), nanoseconds(&piece[1]), piece[2].as_str().unwrap().to_owned()))
        .collect()
}

/// A graph of several ranks.
fn check_ranks(file: &Path, want: &Value) {
    let names = want["ranks"].as_array().unwrap().iter();
    let files: Vec<PathBuf> = names.map(|name| file.with_file_name(name.as_str().unwrap())).collect();
    let model = ManyRanks::of_files(&files, &Options::default()).model();
    assert!(model.is_identity_exact());
    assert_eq!(model.join_count() as u64, want["joined"].as_u64().unwrap());
    let offsets: Vec<Option<i64>> =
        want["clock_offset_us"].as_array().unwrap().iter().map(|us| Some(nanoseconds(us))).collect();
    assert_eq!(model.clock_offsets_ns(), offsets);
    let paths = model.steps().into_iter().zip(model.paths()).map(|(step, path)| {
        let pieces = path.pieces.iter().map(|of| {
            let piece = &of.piece;
            (piece.start_ns - step.start_ns, piece.end_ns - step.start_ns, piece.class.as_text().to_owned())
        });
        pieces.collect::<Vec<_>>()
    });
    let want_paths: Vec<Vec<_>> = want["paths_us"].as_array().unwrap().iter().map(wanted_path).collect();
    assert_eq!(paths.collect::<Vec<_>>(), want_paths);
    let equal = model.equal_ranks().unwrap();
    let median = model.recordings().nth(equal.median).unwrap().rank;
    assert_eq!(u64::from(median), want["equal_ranks"]["median_rank"].as_u64().unwrap());
    let steps: Vec<i64> = want["equal_ranks"]["step_us"].as_array().unwrap().iter().map(nanoseconds).collect();
    assert_eq!(equal.step_ns, steps);
}
