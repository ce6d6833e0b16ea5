//! Files and folders as runs, ranks and windows.

use std::fs;
use std::path::Path;

use stepscope_analysis::{AnalysisError, Settings, Workspace};
use stepscope_model::Exit;

use crate::harness::{Silent, answer, open, rows, write};

fn trace(rank: Option<u32>, ts: u32) -> String {
    let info =
        rank.map(|rank| format!(r#""distributedInfo": {{"rank": {rank}, "world_size": 4}}, "#)).unwrap_or_default();
    format!(r#"{{{info}"traceEvents": [{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":{ts},"dur":1}}]}}"#)
}

fn ingest(path: &Path, store: &Path, separate_runs: bool) -> Result<String, AnalysisError> {
    let settings = Settings { store: Some(store.to_owned()), separate_runs, ..Settings::default() };
    let report = Workspace::ingest(&[path.to_owned()], &settings, &Silent)?;
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(' ').collect();
        let name = Path::new(cells[0]).file_name().unwrap().to_string_lossy().into_owned();
        format!("{name} {}", cells[2..6].join(" "))
    };
    Ok(rows(&report).lines().map(line).collect::<Vec<_>>().join("\n"))
}

#[test]
fn ranks_come_from_header_name_or_order() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("job");
    write(&run, "a.json", &trace(Some(3), 0));
    write(&run, "b_rank-2.json", &trace(None, 0));
    write(&run, "c.1.json", &trace(None, 1));
    write(&run, "c.2.json", &trace(None, 10));
    write(&run, "d.json", &trace(None, 2));
    write(&run, "notes.txt", "not a trace");
    let report = ingest(&run, &folder.path().join("store"), false).unwrap();
    let want = "a.json job 3 header 0\nb_rank-2.json job 2 file_name 0\nc.1.json job 0 order 0\nc.2.json job 0 order 1\nd.json job 1 order 0";
    assert_eq!(report, want);
}

#[test]
fn one_rank_twice_at_one_time_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("job");
    write(&run, "a.json", &trace(Some(0), 0));
    write(&run, "b.json", &trace(Some(0), 1));
    let error = ingest(&run, &folder.path().join("store"), false).unwrap_err();
    assert_eq!(error.exit(), Exit::Unreadable);
    assert!(error.to_string().contains("a.json") && error.location().unwrap().ends_with("b.json"), "{error}");
    let report = ingest(&run, &folder.path().join("store2"), true).unwrap();
    assert_eq!(report, "a.json job.a 0 header 0\nb.json job.b 0 header 0");
}

#[test]
fn the_same_content_counts_once_and_a_changed_file_replaces_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (run, store) = (folder.path().join("job"), folder.path().join("store"));
    write(&run, "a.json", &trace(Some(0), 0));
    write(&run, "b.json", &trace(Some(0), 0));
    assert_eq!(ingest(&run, &store, false).unwrap(), "a.json job 0 header 0\na.json job 0 header 0");
    fs::remove_file(run.join("b.json")).unwrap();
    write(&run, "a.json", &trace(Some(0), 5));
    assert_eq!(ingest(&run, &store, false).unwrap(), "a.json job 0 header 0");
    let workspace = Workspace::open(&[store], &Settings::default(), &Silent).unwrap();
    assert_eq!(answer(&workspace, "SELECT rank, \"window\", start_ns FROM spans"), "0 0 5000");
}

#[test]
fn a_log_folder_holds_several_runs() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    write(&logs, "first/a.json", &trace(Some(0), 0));
    write(&logs, "second/a.json", &trace(Some(0), 1));
    let store = folder.path().join("store");
    assert_eq!(ingest(&logs, &store, false).unwrap(), "a.json logs.first 0 header 0\na.json logs.second 0 header 0");
    let error = Workspace::open(std::slice::from_ref(&store), &Settings::default(), &Silent).err().unwrap();
    assert_eq!(error.exit(), Exit::Usage);
    let one = Workspace::open(&[store.join("runs/logs.second")], &Settings::default(), &Silent).unwrap();
    assert_eq!(answer(&one, "SELECT start_ns FROM spans"), "1000");
}

#[test]
fn what_cannot_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("empty.json", ""), ("text.txt", "hello"), ("object.json", "{\"a\": 1}"), ("numbers.json", "[[1]]")]
    {
        let error = open(&[write(folder.path(), name, text)]).err().unwrap();
        assert_eq!(error.exit(), Exit::Unreadable, "{name}: {error}");
        assert!(error.location().unwrap().ends_with(name), "{error}");
    }
    let error = open(&[folder.path().join("missing.json")]).err().unwrap();
    assert!(error.to_string().contains("no such file"), "{error}");
}

#[test]
fn strict_refuses_what_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "cut.json",
        r#"{"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},{"ph":"#,
    );
    assert_eq!(answer(&open(std::slice::from_ref(&path)).unwrap(), "SELECT name FROM spans"), "a");
    let settings = Settings { no_cache: true, strict: true, ..Settings::default() };
    assert_eq!(Workspace::open(&[path], &settings, &Silent).err().unwrap().exit(), Exit::Unreadable);
}
