//! Files and folders as runs, ranks and windows.

use std::fs;
use std::path::Path;

use stepscope_model::{Exit, Hint};
use stepscope_workspace::{RunChoice, RunError, Settings, Workspace};

use crate::harness::{Silent, answer, open, rows, write};

fn trace(rank: Option<u32>, ts: u32) -> String {
    let info =
        rank.map(|rank| format!(r#""distributedInfo": {{"rank": {rank}, "world_size": 4}}, "#)).unwrap_or_default();
    format!(r#"{{{info}"traceEvents": [{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":{ts},"dur":1}}]}}"#)
}

fn ingest(path: &Path, store: &Path, separate_runs: bool) -> Result<String, RunError> {
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
    write(&run, "notes.txt", "not a trace");
    let report = ingest(&run, &folder.path().join("store"), false).unwrap();
    assert_eq!(report, "a.json job 3 header 0\nb_rank-2.json job 2 file_name 0");

    let run = folder.path().join("nameless");
    write(&run, "c1.1.json", &trace(None, 1));
    write(&run, "c1.2.json", &trace(None, 10));
    write(&run, "c2.json", &trace(None, 2));
    let report = ingest(&run, &folder.path().join("store"), false).unwrap();
    assert_eq!(report, "c1.1.json nameless 0 order 0\nc1.2.json nameless 0 order 1\nc2.json nameless 1 order 0");
}

#[test]
fn one_rank_twice_at_one_time_is_two_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (run, store) = (folder.path().join("job"), folder.path().join("store"));
    write(&run, "a.json", &trace(Some(0), 0));
    write(&run, "b.json", &trace(Some(0), 1));
    let want = "a.json job.a 0 header 0\nb.json job.b 0 header 0";
    // The second time they are there already, under the names that they got.
    for _ in 0..2 {
        assert_eq!(ingest(&run, &store, false).unwrap(), want);
    }
    assert_eq!(ingest(&run, &folder.path().join("store2"), true).unwrap(), want);

    let error = open(std::slice::from_ref(&run)).err().unwrap();
    assert_eq!((error.exit(), error.to_string().as_str()), (Exit::Usage, "found 2 runs, expected one: job.a, job.b"));
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("b.json: rank 0 at the same time as a.json; choose one with `--run NAME`"), "{hint}");
    for name in ["job.b", "b"] {
        let settings = Settings { no_cache: true, run: RunChoice::Named(name.to_owned()), ..Settings::default() };
        let one = Workspace::open(std::slice::from_ref(&run), &settings, &Silent).unwrap();
        assert_eq!(answer(&one, "SELECT start_ns FROM spans"), "1000", "{name}");
        let separate = Settings { separate_runs: true, ..settings };
        let one = Workspace::open(std::slice::from_ref(&run), &separate, &Silent).unwrap();
        assert_eq!(answer(&one, "SELECT start_ns FROM spans"), "1000", "{name}");
    }
    let settings = Settings { no_cache: true, run: RunChoice::Named("c".to_owned()), ..Settings::default() };
    let error = Workspace::open(&[run], &settings, &Silent).err().unwrap();
    assert_eq!(error.to_string(), "found no run c, expected one of: job.a, job.b");
}

#[test]
fn a_run_that_a_store_had_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (run, store) = (folder.path().join("job"), folder.path().join("store"));
    write(&run, "a.json", &trace(Some(0), 0));
    assert_eq!(ingest(&run, &store, false).unwrap(), "a.json job 0 header 0");
    write(&run, "b.json", &trace(Some(0), 1));
    assert_eq!(ingest(&run, &store, false).unwrap(), "a.json job 0 header 0\nb.json job.b 0 header 0");
}

#[test]
fn packed_and_plain_are_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("job");
    let text = trace(Some(0), 0);
    write(&run, "a.json", &text);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    fs::write(run.join("a.json.gz"), packed.finish().unwrap()).unwrap();
    fs::hard_link(run.join("a.json"), run.join("again.json")).unwrap();
    let report = ingest(&run, &folder.path().join("store"), false).unwrap();
    assert_eq!(report, ["a.json job 0 header 0"; 3].join("\n"));
}

/// Which corpus files are one run, by folder: each run as its sources, `file rank.window`.
fn runs_of(paths: &[&str]) -> Vec<Vec<String>> {
    let corpus = stepscope_testkit::corpus();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("mixed");
    for path in paths {
        let (from, to) = (corpus.trace(path), run.join(path.replace('/', "_")));
        fs::create_dir_all(&run).unwrap();
        std::os::unix::fs::symlink(from, to).unwrap();
    }
    runs_in(&run)
}

fn runs_in(folder: &Path) -> Vec<Vec<String>> {
    let store = tempfile::tempdir().unwrap();
    let settings = Settings { store: Some(store.path().to_owned()), ..Settings::default() };
    let report = Workspace::ingest(&[folder.to_owned()], &settings, &Silent).unwrap();
    let mut runs: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    let Some(stepscope_model::Part::Table(table)) = report.parts.first() else { panic!("no table") };
    for row in &table.rows {
        let [path, run, rank, window] = [0, 2, 3, 5].map(|place| crate::harness::cell(&row[place]));
        let file = Path::new(&path).file_name().unwrap().to_string_lossy().into_owned();
        runs.entry(run).or_default().push(format!("{file} {rank}.{window}"));
    }
    runs.into_values().collect()
}

#[test]
#[ignore = "needs the corpus"]
fn jobs_of_the_corpus_are_told_apart() {
    let sizes = |runs: &[Vec<String>]| runs.iter().map(Vec::len).collect::<Vec<_>>();
    let (a100, v100) = ("hta/trace_diff/control/control.json.gz", "hta/trace_diff/test/test.json.gz");
    let mi300 = "tracelens/mi300/resnet_act_checkpoint.json.gz";
    assert_eq!(sizes(&runs_of(&[a100, v100])), [1, 1]);
    assert_eq!(sizes(&runs_of(&[a100, mi300])), [1, 1]);
    // Five models one after the other on one machine, none with a rank.
    let corpus = stepscope_testkit::corpus();
    assert_eq!(sizes(&runs_in(&corpus.trace("tracelens/h100"))), [1; 5]);
    assert_eq!(sizes(&runs_in(&corpus.trace("kineto/old"))), [1; 3]);
    // A script that was run twice.
    assert_eq!(sizes(&runs_in(&corpus.trace("particle_transformer/cpu_tensorboard_logs"))), [1; 2]);
    // Two versions of one recording.
    assert_eq!(sizes(&runs_in(&corpus.trace("hta/cpu_only"))), [1; 2]);
}

#[test]
#[ignore = "needs the corpus"]
fn jobs_of_the_corpus_stay_together() {
    let corpus = stepscope_testkit::corpus();
    let ranks = runs_in(&corpus.trace("astra-sim/megatron-tp8"));
    assert_eq!((ranks.len(), ranks[0].len()), (1, 8), "{ranks:?}");
    let windows = runs_in(&corpus.trace("kineto/resnet50_num_workers_0"));
    let want = ["worker0.1623143089861.pt.trace.json.gz 0.0", "worker0.1623143566756.pt.trace.json.gz 0.1"];
    assert_eq!(windows, [want]);
    let windows = runs_in(&corpus.trace("particle_transformer/batch_size_256"));
    assert_eq!((windows.len(), windows[0].len()), (1, 2), "{windows:?}");
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(corpus.unpack_dlrm(folder.path()).len(), 8);
    let ranks = runs_in(folder.path());
    assert_eq!((ranks.len(), ranks[0].len()), (1, 8), "{ranks:?}");
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

/// Hears notes.
#[derive(Default)]
struct Listening(std::sync::Mutex<Vec<String>>);

impl stepscope_workspace::Progress for Listening {
    fn update(&self, _file: &str, _bytes_done: u64, _bytes_total: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}

#[test]
#[cfg(unix)]
fn what_lies_beside_traces_is_listed_and_the_rest_is_read() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("job");
    write(&run, "rank0.json", &trace(Some(0), 0));
    write(&run, "rank1.json", "");
    write(&run, "notes.txt", "hello");
    fs::write(run.join("memory.pickle"), b"\x80\x04\x95}\x8c\x08segments").unwrap();
    fs::write(run.join("trace.pftrace"), b"\x0a\x0b\x50\x01\x68\x01\xda\x03\x04").unwrap();
    write(&run, "notes/deeper.txt", "hello");
    symlink(run.join("missing.json"), run.join("rank2.json")).unwrap();
    symlink(&run, run.join("notes/loop")).unwrap();
    ingest(&run.join("rank0.json"), &run.join("kept"), false).unwrap();
    std::process::Command::new("mkfifo").arg(run.join("pipe")).status().unwrap();

    let settings = Settings { no_cache: true, ..Settings::default() };
    let heard = Listening::default();
    let workspace = Workspace::open(std::slice::from_ref(&run), &settings, &heard).unwrap();
    assert_eq!(answer(&workspace, "SELECT rank FROM spans"), "0");
    let heard = heard.0.into_inner().unwrap();
    let want = [
        "2 files cannot be read (--strict refuses): rank2.json (No such file or directory), rank1.json (empty)",
        "5 files are not traces that Stepscope reads: trace.pftrace (a Perfetto protobuf), \
         memory.pickle (a Python pickle that is not a memory snapshot), pipe (a pipe or a device), kept (a store), notes.txt (text)",
    ];
    assert_eq!(heard, want);
    assert_eq!(workspace.health_info()["skipped_files"].as_array().unwrap().len(), 7);
    let health = workspace.health(None, None).unwrap();
    assert!(
        matches!(&health.parts[1], stepscope_model::Part::Text(text) if text.lines == [format!("{}.", want[0]).into()])
    );

    let strict = Settings { strict: true, ..settings };
    let error = Workspace::open(std::slice::from_ref(&run), &strict, &Silent).err().unwrap();
    assert_eq!(error.exit(), Exit::Unreadable);
    assert!(error.location().unwrap().ends_with("rank1.json"), "{error}");

    // A store that was kept does not make an unreadable file a good one.
    fs::remove_file(run.join("rank2.json")).unwrap();
    let cache = stepscope_workspace::Cache::at(&folder.path().join("cache"), u64::MAX);
    let kept = Settings::default();
    for _ in 0..2 {
        Workspace::open_with(std::slice::from_ref(&run), &kept, &cache, &Silent).unwrap();
    }
    let strict = Settings { strict: true, ..kept };
    let error = Workspace::open_with(&[run], &strict, &cache, &Silent).err().unwrap();
    assert_eq!(error.exit(), Exit::Unreadable);
}

#[test]
fn a_folder_without_traces_says_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let error = open(&[empty]).err().unwrap();
    assert_eq!((error.exit(), error.to_string().as_str()), (Exit::Unreadable, "no trace in this folder"));
    assert!(error.hint().unwrap().starts_with("the folder is empty"), "{error:?}");
    write(&folder.path().join("texts"), "notes.txt", "hello");
    let error = open(&[folder.path().join("texts")]).err().unwrap();
    assert_eq!(error.hint().unwrap(), "1 file is not a trace that Stepscope reads: notes.txt (text)");
}

#[test]
#[ignore = "needs the corpus"]
fn a_device_that_is_not_analyzed_lowers_the_health_that_is_shown() {
    let corpus = stepscope_testkit::corpus();
    let workspace = open(&[corpus.trace("hta/mtia_trace_single_rank/mtia_rank_0.json.gz")]).unwrap();
    let reason = "25,814 events of a device that Stepscope does not analyze: mtia_ccp_events";
    let texts = |report: &stepscope_model::Report| crate::analyses::texts(report).join("\n");
    let health = texts(&workspace.health(None, None).unwrap());
    assert!(health.contains("health is partial") && health.contains(reason), "{health}");
    assert!(!health.contains("no device events"), "{health}");
    let summary = stepscope_workspace::ANALYSES.iter().find(|analysis| analysis.name == "summary").unwrap();
    let summary = workspace.analyze(summary, &stepscope_workspace::Question::default()).unwrap();
    let partial = stepscope_model::Grade::Partial;
    assert!(summary.texts().any(|text| text.right == Some(stepscope_model::Status::Health(Some(partial)))));
    assert!(summary.texts().any(|text| text.explains == Some(partial)));
    let summary = texts(&summary);
    assert!(summary.contains(reason), "{summary}");
    assert!(summary.contains(&format!("{reason}. Device metrics leave them out.")), "{summary}");
    assert_eq!(workspace.source_summaries().unwrap()[0].health, Some(partial));
    // What the definition of the figures grades stays as it is.
    assert_eq!(workspace.metrics(None, None).unwrap()["health"]["grade"], "good");
}

#[test]
fn categories_of_devices_are_known_by_their_words() {
    use stepscope_model::Kind;
    for (category, want) in [
        ("mtia_ccp_events", true),
        ("mtia_runtime", false),
        ("hpu_op", true),
        ("privateuse1_kernel", true),
        ("privateuse1_runtime", false),
        ("cuda_profiler_range", true),
        ("xpu_driver", false),
        ("kernel", false),
        ("cpu_op", false),
        ("gpu_user_annotation", false),
        ("input", false),
        ("", false),
    ] {
        assert_eq!(Kind::is_unanalyzed_device(category), want, "{category}");
    }
}
