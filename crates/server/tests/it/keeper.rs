//! Runs that are read in the background, and runs that appear while the server is up.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_model::{RunState, Session};
use stepscope_server::{App, Keeper};
use stepscope_workspace::CancelFlag;

use crate::harness::{settings, small_trace};

/// Waits until the session is as it should be.
fn wait(app: &App, is_so: impl Fn(&Session) -> bool) -> Session {
    let begin = Instant::now();
    loop {
        let session = app.session();
        if is_so(&session) {
            return session;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "{session:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn names(session: &Session) -> Vec<&str> {
    session.runs.iter().map(|run| run.run.as_str()).collect()
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn runs_of_a_log_folder_appear_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    write(&logs.join("notes.txt"), "no trace");
    write(&logs.join("first/rank0.json"), &small_trace());
    let (app, stop) = (Arc::new(App::default()), CancelFlag::default());
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let keeper = Keeper {
        app: Arc::clone(&app),
        paths: vec![logs.clone()],
        settings: settings(),
        stop: stop.clone(),
        tell: Box::new(move |words| hears.lock().unwrap().push(words.to_owned())),
    };
    let keeping = std::thread::spawn(move || keeper.run());
    let is_ready = |session: &Session| session.runs.iter().all(|run| run.state == RunState::Ready);
    let session = wait(&app, |session| session.runs.len() == 1 && is_ready(session));
    assert_eq!(names(&session), ["logs.first"]);
    assert_eq!((session.runs[0].sources.len(), session.runs[0].revision), (1, 1));

    write(&logs.join("second/rank0.json"), &small_trace());
    write(&logs.join("first/rank1.json"), &small_trace().replace("1000", "2000"));
    let has_all = |session: &Session| session.runs.len() == 2 && session.runs[0].sources.len() == 2;
    let session = wait(&app, |session| has_all(session) && is_ready(session));
    assert_eq!(names(&session), ["logs.first", "logs.second"]);
    assert!(session.runs[0].revision > 1, "{session:?}");
    assert_ne!(session.runs[0].revision, session.runs[1].revision);

    write(&logs.join("third/rank0.json"), "{\"traceEvents\": [");
    write(&logs.join("third/broken.json.gz"), "\u{1f}nothing");
    let session = wait(&app, |session| session.runs.len() == 3 && session.runs[2].progress.is_none());
    assert_ne!(session.runs[2].state, RunState::Reading);
    stop.cancel();
    keeping.join().unwrap();
}

#[test]
fn jobs_in_one_folder_are_separate_runs() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let of_device = |name: &str| small_trace().replace("Test GPU", name);
    write(&logs.join("mixed/a.json"), &of_device("A100"));
    write(&logs.join("mixed/b.json"), &of_device("MI300X"));
    write(&logs.join("mixed/notes.txt"), "no trace");
    write(&logs.join("other/notes.txt"), "no trace either");
    let (app, stop) = (Arc::new(App::default()), CancelFlag::default());
    let keeper = Keeper {
        app: Arc::clone(&app),
        paths: vec![logs.clone()],
        settings: settings(),
        stop: stop.clone(),
        tell: Box::new(|words| panic!("{words}")),
    };
    let keeping = std::thread::spawn(move || keeper.run());
    let is_done = |session: &Session| session.runs.len() == 2 && session.skipped_files.len() == 2;
    let session = wait(&app, is_done);
    assert_eq!(names(&session), ["logs.mixed.a", "logs.mixed.b"]);
    let reasons: Vec<_> = session.runs.iter().map(|run| run.apart_because.as_deref()).collect();
    assert_eq!(reasons, [None, Some("device MI300X, not A100 as in a.json")]);

    // Once there is one of them, it is called after its folder again.
    std::fs::remove_file(logs.join("mixed/b.json")).unwrap();
    let session = wait(&app, |session| session.runs.len() == 1);
    assert_eq!(names(&session), ["logs.mixed"]);
    stop.cancel();
    keeping.join().unwrap();
}

#[test]
fn a_trace_that_cannot_be_read_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    write(&path, "no trace at all");
    let (app, stop) = (Arc::new(App::default()), CancelFlag::default());
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let keeper = Keeper {
        app: Arc::clone(&app),
        paths: vec![path],
        settings: settings(),
        stop: stop.clone(),
        tell: Box::new(move |words| hears.lock().unwrap().push(words.to_owned())),
    };
    let keeping = std::thread::spawn(move || keeper.run());
    let session = wait(&app, |session| session.runs.first().is_some_and(|run| run.state == RunState::Failed));
    stop.cancel();
    keeping.join().unwrap();
    let error = session.runs[0].error.clone().unwrap();
    assert!(error.location.as_deref().unwrap().contains("trace.json"), "{error}");
    assert_eq!(*told.lock().unwrap(), [error.to_string()]);
}
