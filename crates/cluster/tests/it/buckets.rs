//! A store in a bucket: workers read parts of its objects, as whoever asks does.

use std::path::Path;
use std::process::Command;

use stepscope_simulate::{Job, write_traces};
use stepscope_testkit::S3Server;

use crate::processes::Process;

const STORE: &str = "s3://traces/team";

const COMMANDS: [&[&str]; 4] = [
    &["summary"],
    &["ops"],
    &["comms"],
    &["sql", "SELECT rank, kind, count(*), sum(dur_ns) FROM spans GROUP BY rank, kind ORDER BY rank, kind"],
];

#[test]
fn answers_from_a_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let server = S3Server::start().unwrap();
    let environment: Vec<(String, String)> = S3Server::environment(server.address()).into_iter().collect();
    let traces = folder.path().join("traces");
    std::fs::create_dir(&traces).unwrap();
    write_traces(&Job { ranks: 3, steps: 4, layers: 2, collectives_per_step: 3, ..Job::demo() }, &traces).unwrap();
    let traces = traces.display().to_string();
    let run = |arguments: &[&str]| ran(folder.path(), &environment, arguments);
    run(&["ingest", &traces, "--store", STORE, "--run", "mine"]);
    let mut workers: Vec<Process> = (0..3).map(|_| Process::start_with(STORE, &[], &environment)).collect();
    let cluster: Vec<String> = workers.iter().map(|worker| worker.address.to_string()).collect();
    let there = ["--cluster", &cluster.join(","), "--cluster-part-bytes", "1KiB"];
    for command in COMMANDS {
        let place = [STORE, "/runs/mine"].concat();
        let here = [&command[..1], &[&place, "-f", "json"], &command[1..]].concat();
        let (answer, said) = run(&[&here[..], &there].concat());
        assert_eq!(run(&here).0, answer, "{command:?}");
        assert!(!said.contains("expected at least"), "{said}");
    }
    for worker in &mut workers {
        worker.signal(libc::SIGTERM);
        let (code, said) = worker.wait();
        assert_eq!(code, Some(0), "{said:?}");
        // All of them took part.
        assert!(!said.concat().contains("after 0 queries"), "{said:?}");
    }
}

/// Runs a command; returns standard output and standard error.
#[track_caller]
fn ran(folder: &Path, environment: &[(String, String)], arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_stepscope-cluster"))
        .args(arguments)
        .envs(environment.iter().cloned())
        .env("STEPSCOPE_CACHE", folder.join("cache"))
        .env("STEPSCOPE_SPOOL", folder.join("spool"))
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, answer) = (text(&output.stderr), text(&output.stdout));
    assert!(output.status.success(), "{arguments:?}: {said}");
    (answer, said)
}
