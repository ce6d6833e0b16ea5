//! Functions of a profile, written by hand in the oldest form of marshal that is read.

use std::fs;
use std::path::{Path, PathBuf};

use stepscope_model::{Cell, Hint};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{ANALYSES, Question, RunError, Workspace};

use super::{ask, between, by, cells, in_step, objects, reason, sentence, table};
use crate::harness::{answer, lines, open, open_text, rows, write};

/// File, line and name.
type Name = (&'static str, i32, &'static str);
/// Calls, primitive calls, own and cumulative time in milliseconds.
type Figures = (i32, i32, f64, f64);

const MAIN: Name = ("a.py", 1, "main");
const WALK: Name = ("a.py", 9, "walk");
const SUM: Name = ("~", 0, "<built-in method sum>");

/// `walk` calls itself twice; `sum` and `walk` take the same cumulative time.
fn profile() -> Vec<u8> {
    marshal(&[
        (SUM, (4, 4, 6.0, 6.0), &[(WALK, Some((3, 3, 5.0, 5.0))), (MAIN, Some((1, 1, 1.0, 1.0)))]),
        (WALK, (3, 1, 1.0, 6.0), &[(MAIN, Some((1, 1, 0.5, 6.0))), (WALK, Some((2, 1, 0.5, 4.0)))]),
        (MAIN, (1, 1, 3.0, 10.0), &[]),
    ])
}

type Callers = &'static [(Name, Option<Figures>)];

fn marshal(functions: &[(Name, Figures, Callers)]) -> Vec<u8> {
    let mut bytes = vec![b'{'];
    for (name, (calls, primitive, own, cumulative), callers) in functions {
        put_name(&mut bytes, name);
        bytes.extend([b')', 5]);
        put_figures(&mut bytes, *primitive, *calls, *own, *cumulative);
        bytes.push(b'{');
        for (caller, figures) in *callers {
            put_name(&mut bytes, caller);
            match figures {
                Some((calls, primitive, own, cumulative)) => {
                    bytes.extend([b')', 4]);
                    put_figures(&mut bytes, *calls, *primitive, *own, *cumulative);
                }
                None => put_int(&mut bytes, 7),
            }
        }
        bytes.push(b'0');
    }
    bytes.push(b'0');
    bytes
}

fn put_name(bytes: &mut Vec<u8>, (file, line, name): &Name) {
    let put_text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend([b'z', text.len() as u8]);
        bytes.extend(text.as_bytes());
    };
    bytes.extend([b')', 3]);
    put_text(bytes, file);
    put_int(bytes, *line);
    put_text(bytes, name);
}

fn put_int(bytes: &mut Vec<u8>, value: i32) {
    bytes.push(b'i');
    bytes.extend(value.to_le_bytes());
}

fn put_figures(bytes: &mut Vec<u8>, first: i32, second: i32, own_ms: f64, cumulative_ms: f64) {
    put_int(bytes, first);
    put_int(bytes, second);
    for ms in [own_ms, cumulative_ms] {
        bytes.push(b'g');
        bytes.extend((ms / 1e3).to_le_bytes());
    }
}

fn save(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn open_bytes(bytes: &[u8]) -> Workspace {
    let folder = tempfile::tempdir().unwrap();
    open(&[save(folder.path(), "train.prof", bytes)]).unwrap()
}

#[track_caller]
fn check(bytes: &[u8], groupings: &[&str], columns: &str, want: &str) {
    let report = ask(&open_bytes(bytes), "functions", &by(groupings));
    assert_eq!(cells(table(&report, "rows"), columns), lines(want), "{columns} by {groupings:?}");
}

#[test]
fn functions_have_the_figures_of_pstats() {
    check(
        &profile(),
        &[],
        "stdname ncalls tottime_ns tottime_per_call_ns cumtime_ns cumtime_per_call_ns position",
        "a.py:1(main) 1 3000000 3000000 10000000 10000000 2
         {built-in method sum} 4 6000000 1500000 6000000 1500000 0
         a.py:9(walk) 3/1 1000000 333333.3333333333 6000000 6000000 1",
    );
    let report = ask(&open_bytes(&profile()), "functions", &Question::default());
    assert_eq!(sentence(&report), "8 function calls (6 primitive) in 10.00 ms.");
    assert!(report.missing.is_empty(), "{:?}", report.missing);
}

#[test]
fn callers_and_callees_are_in_the_order_of_their_names() {
    check(
        &profile(),
        &["caller"],
        "name other other_line ncalls tottime_ns cumtime_ns",
        "main - - - - -
         <built-in method sum> main 1 1 1000000 1000000
         <built-in method sum> walk 9 3 5000000 5000000
         walk main 1 1 500000 6000000
         walk walk 9 2/1 500000 4000000",
    );
    check(
        &profile(),
        &["callee"],
        "name other ncalls cumtime_ns",
        "main walk 1 6000000
         main <built-in method sum> 1 1000000
         <built-in method sum> - - -
         walk walk 2/1 4000000
         walk <built-in method sum> 3 5000000",
    );
    let report = ask(&open_bytes(&profile()), "functions", &by(&["caller"]));
    assert_eq!(reason(&report, "rows[].other"), Some("no call recorded"));
    assert_eq!(reason(&report, "rows[].tottime_ns"), Some("no call recorded"));
    let position = objects(table(&report, "rows")).iter().map(|row| row["position"].as_i64()).collect::<Vec<_>>();
    assert_eq!(position, [5, 1, 2, 3, 4].map(Some));
}

#[test]
fn callers_that_were_only_counted_have_no_times() {
    let counted = marshal(&[(SUM, (7, 7, 1.0, 1.0), &[(MAIN, None)]), (MAIN, (0, 0, 0.0, 0.0), &[])]);
    check(&counted, &["caller"], "name other ncalls tottime_ns", "<built-in method sum> main 7 -\nmain - - -");
    check(&counted, &[], "name ncalls cumtime_per_call_ns", "<built-in method sum> 7 142857.14285714287\nmain 0 -");
    let report = ask(&open_bytes(&counted), "functions", &Question::default());
    assert_eq!(reason(&report, "rows[].cumtime_per_call_ns"), Some("never called"));
    let report = ask(&open_bytes(&counted), "functions", &by(&["caller"]));
    assert_eq!(reason(&report, "rows[].tottime_ns"), Some("argument not recorded: times of callers"));
    let sums = table(&report, "rows").total.clone().unwrap();
    assert!(sums.contains(&Cell::Null) && !sums.contains(&Cell::Int(0)), "{sums:?}");
}

#[test]
fn profiles_of_one_folder_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let other = marshal(&[(("b.py", 2, "other"), (1, 1, 2.0, 2.0), &[]), (WALK, (2, 2, 1.0, 30.0), &[])]);
    let paths = [save(folder.path(), "a.prof", &profile()), save(folder.path(), "b.prof", &other)];
    let workspace = open(&paths).unwrap();
    let report = ask(&workspace, "functions", &Question::default());
    assert_eq!(
        cells(table(&report, "rows"), "name ncalls cumtime_ns position"),
        lines(
            "walk 5/3 36000000 1
             main 1 10000000 2
             <built-in method sum> 4 6000000 0
             other 1 2000000 3"
        )
    );
    let second = Question { window: Some(1), ..by(&["rank"]) };
    assert_eq!(cells(table(&ask(&workspace, "functions", &second), "rows"), "rank name"), "0 walk\n0 other");
}

#[test]
fn a_profile_beside_a_trace_is_another_recording_of_its_rank() {
    let folder = tempfile::tempdir().unwrap();
    let trace = TraceBuilder::new().annotation("ProfilerStep#1", 1, "0", "40").finish();
    let paths = [save(folder.path(), "a.prof", &profile()), write(folder.path(), "trace.json", &trace)];
    let workspace = open(&paths).unwrap();
    let sources = "SELECT rank, \"window\", count(*) FROM health GROUP BY ALL HAVING count(*) > 0 ORDER BY \"window\"";
    let found: Vec<String> = answer(&workspace, sources).lines().map(|line| line[..3].to_owned()).collect();
    assert_eq!(found, ["0 0", "0 1"]);
    assert_eq!(cells(table(&ask(&workspace, "steps", &Question::default()), "rows"), "step"), "0");
    assert!(!workspace.is_profile());
}

#[test]
fn every_other_question_is_answered_in_words() {
    let workspace = open_bytes(&profile());
    for analysis in ANALYSES {
        let report = ask(&workspace, analysis.name, &Question::default());
        let words = match analysis.name {
            "functions" => "8 function calls",
            "summary" => "train\ncProfile profile · 3 functions",
            _ => "This is a cProfile profile, which has nothing for",
        };
        assert!(sentence(&report).starts_with(words), "{}: {}", analysis.name, sentence(&report));
    }
    let health = workspace.health(None, None).unwrap();
    assert_eq!(sentence(&health), "Rank 0, window 0: health is good. 3 functions, none lost.");
    assert!(sentence(&workspace.tracks().unwrap()).contains("no tracks"));
    assert!(workspace.metrics(None, None).is_ok());
    let empty = ask(&open_bytes(b"\xfb0"), "summary", &Question::default());
    assert_eq!(cells(table(&empty, "functions"), "name"), "");
}

#[test]
fn a_trace_has_no_functions_and_a_profile_no_times() {
    let report = ask(&open_text(&TraceBuilder::new().finish()), "functions", &Question::default());
    assert_eq!((rows(&report), reason(&report, "rows")), (String::new(), Some("unsupported event kind")));
    let functions = ANALYSES.iter().find(|analysis| analysis.name == "functions").unwrap();
    let refused = |question: &Question| open_bytes(&profile()).analyze(functions, question).unwrap_err();
    assert!(matches!(refused(&between(0, 1)), RunError::NoTimes));
    assert_eq!(
        refused(&in_step(0)).hint().as_deref(),
        Some("the trace has no steps; call `prof.step()` after each iteration")
    );
    let both = refused(&by(&["caller", "callee"]));
    assert_eq!(both.to_string(), "functions cannot be grouped by caller and callee at once");
}

#[test]
fn what_is_complete_of_a_cut_profile_is_kept_and_the_rest_counted() {
    let whole = profile();
    let workspace = open_bytes(&whole[..whole.len() - 20]);
    let report = ask(&workspace, "functions", &Question::default());
    assert_eq!(cells(table(&report, "rows"), "name"), "<built-in method sum>\nwalk");
    let health = workspace.health(None, None).unwrap();
    assert_eq!(sentence(&health), "Rank 0, window 0: health is poor. 3 functions, 1 lost.");
    let lost = "SELECT code, position, is_loss FROM ingest_warnings";
    assert_eq!(answer(&workspace, lost), "cut_event 2 true");
}
