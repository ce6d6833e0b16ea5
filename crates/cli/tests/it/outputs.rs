//! What is written: never onto an input, and whole or not at all, whatever happens to the disk and to standard output.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::command::{Ended, Place, TRACE, ended, names};

/// Every command that `--help` lists.
fn commands(place: &Place) -> Vec<String> {
    let help = place.stdout(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<String> =
        list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(commands.len() > 20 && commands.iter().any(|name| name == "sql"), "{commands:?}");
    commands
}

/// How a command is called; one that is not named here is taken for an analysis of a trace.
fn call(command: &str) -> Vec<&str> {
    match command {
        "open" => vec!["open", "trace.json", "--no-open"],
        "ingest" => vec!["ingest", "trace.json", "--store", "kept.stepscope"],
        "sql" => vec!["sql", "trace.json", "SELECT * FROM spans"],
        "schema" | "rules" | "doctor" | "cache" | "demo" => vec![command],
        "store" => vec!["store", "spool"],
        "whatif" => vec!["whatif", "trace.json", "--no-sync"],
        "diff" => vec!["diff", "trace.json", "trace.json"],
        "check" => vec!["check", "trace.json", "--against", "trace.json"],
        "baseline" => vec!["baseline", "save", "trace.json"],
        "completions" => vec!["completions", "bash"],
        analysis => vec![analysis, "trace.json"],
    }
}

/// Whether a command has `-o`.
fn has_output(place: &Place, command: &str) -> bool {
    place.stdout(&[command, "--help"]).contains("--output")
}

#[track_caller]
fn refused(place: &Place, arguments: &[&str]) {
    let ended = place.run(arguments);
    assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
    assert!(ended.stderr.contains("the output is an input"), "{arguments:?}: {}", ended.stderr);
}

#[test]
fn no_command_writes_onto_its_input() {
    let place = Place::new();
    let at = |name: &str| place.path(name);
    fs::create_dir(at("folder")).unwrap();
    fs::hard_link(at("trace.json"), at("hard.json")).unwrap();
    symlink("trace.json", at("link.json")).unwrap();
    symlink(at("link.json"), at("folder/link.json")).unwrap();
    let mut checked = 0;
    for command in commands(&place).iter().filter(|command| has_output(&place, command)) {
        let call = call(command);
        if !call.contains(&"trace.json") {
            continue;
        }
        checked += 1;
        for name in ["trace.json", "./folder/../trace.json", "link.json", "folder/link.json", "hard.json"] {
            refused(&place, &[&call[..], &["-o", name]].concat());
        }
        assert_eq!(fs::read_to_string(at("trace.json")).unwrap(), TRACE, "{command}");
    }
    assert!(checked >= 18, "{checked}");
}

#[test]
fn folders_stores_statements_and_standard_input_are_inputs_too() {
    let place = Place::new();
    let at = |name: &str| place.path(name);
    fs::create_dir(at("runs")).unwrap();
    for rank in 0..2 {
        let head = format!("{{\"distributedInfo\": {{\"rank\": {rank}}},");
        fs::write(at(&format!("runs/rank{rank}.json")), TRACE.replacen('{', &head, 1)).unwrap();
    }
    fs::hard_link(at("runs/rank1.json"), at("hard.json")).unwrap();
    fs::write(at("query.sql"), "SELECT 1").unwrap();
    place.stdout(&["ingest", "runs", "--store", "kept.stepscope"]);
    let tables = names(&at("kept.stepscope/runs/runs"));
    refused(&place, &["ops", "runs", "-o", "runs/rank0.json"]);
    refused(&place, &["ops", "runs", "-o", "hard.json"]);
    refused(&place, &["report", "runs", "-o", "runs/rank0.json"]);
    refused(&place, &["trim", "runs", "-o", "runs"]);
    refused(&place, &["trim", "runs", "-o", "runs/parts/"]);
    refused(&place, &["trim", "kept.stepscope", "--rank", "0", "-o", "kept.stepscope/runs/runs/run.json"]);
    refused(&place, &["ops", "kept.stepscope/runs/runs", "-o", "kept.stepscope/runs/runs/run.json"]);
    refused(&place, &["ops", "kept.stepscope", "-o", "kept.stepscope/new.json"]);
    refused(&place, &["ingest", "runs", "--store", "runs"]);
    refused(&place, &["ingest", "runs", "--store", "runs/kept"]);
    refused(&place, &["ops", "trace.json", "--store", "trace.json"]);
    refused(&place, &["sql", "trace.json", "--file", "query.sql", "-o", "query.sql"]);
    refused(&place, &["cache", "clear", "trace.json", "-o", "trace.json"]);
    let trace = File::open(at("trace.json")).unwrap();
    let piped = ended(place.command(&["ops", "-", "-o", "trace.json"]).stdin(trace).output().unwrap());
    assert!(piped.code == 2 && piped.stderr.contains("the output is an input"), "{}", piped.stderr);
    assert_eq!(fs::read_to_string(at("trace.json")).unwrap(), TRACE);
    assert_eq!(fs::read_to_string(at("query.sql")).unwrap(), "SELECT 1");
    assert_eq!(names(&at("runs")), ["rank0.json", "rank1.json"]);
    assert_eq!(names(&at("kept.stepscope/runs/runs")), tables);
    // What is not there yet destroys nothing, and two of them are one run side by side.
    place.stdout(&["report", "runs", "-o", "runs/report.html"]);
    place.stdout(&["trim", "runs", "-o", "parts/"]);
    assert_eq!(names(&at("parts")).len(), 2);
}

/// A disk of 8 MB that is gone with this.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where nothing can be mounted, which is said.
    fn mounted() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(folder.path()).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self { folder });
        }
        let mut terminal = std::io::stderr();
        writeln!(terminal, "SKIPPED: a disk of 8 MB cannot be mounted here, which takes root").unwrap();
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Fills what is left.
    fn fill(&self) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.path("filler")).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).output();
    }
}

#[track_caller]
fn unwritable(ended: &Ended, arguments: &[&str]) {
    assert_eq!(ended.code, 5, "{arguments:?}: {}", ended.stderr);
    assert!(ended.stderr.contains("error: "), "{arguments:?}: {}", ended.stderr);
    assert!(!ended.stderr.contains("os error 28"), "{arguments:?}: {}", ended.stderr);
}

#[test]
fn a_full_disk_has_one_exit_code_and_leaves_the_old_file() {
    let Some(disk) = SmallDisk::mounted() else { return };
    let place = Place::new();
    let out = disk.path("out");
    fs::write(&out, "old").unwrap();
    disk.fill();
    let shown = out.to_str().unwrap();
    for command in commands(&place) {
        if has_output(&place, &command) {
            let arguments = [&call(&command)[..], &["-o", shown]].concat();
            unwritable(&place.run(&arguments), &arguments);
        }
        if writes_to_standard_output(&command) {
            let arguments = call(&command);
            let _ = fs::remove_dir_all(place.path("demo-run"));
            let redirected = OpenOptions::new().append(true).open(disk.path("filler")).unwrap();
            unwritable(&ended(place.command(&arguments).stdout(redirected).output().unwrap()), &arguments);
        }
        assert_eq!(
            (fs::read_to_string(&out).unwrap().as_str(), names(disk.folder.path())),
            ("old", left()),
            "{command}"
        );
    }
    for format in ["json", "csv", "md", "arrow", "parquet", "table"] {
        let arguments = ["sql", "trace.json", "SELECT * FROM spans", "-f", format, "-o", shown];
        unwritable(&place.run(&arguments), &arguments);
        assert_eq!(
            (fs::read_to_string(&out).unwrap().as_str(), names(disk.folder.path())),
            ("old", left()),
            "{format}"
        );
    }
    let demo = disk.path("demo-run");
    let demo = ["demo", demo.to_str().unwrap()];
    unwritable(&place.run(&demo), &demo);
    let store = disk.path("kept.stepscope");
    let ingest = ["ingest", "trace.json", "--store", store.to_str().unwrap()];
    unwritable(&place.run(&ingest), &ingest);
    let temporary = ["ops", "trace.json", "--no-cache"];
    unwritable(&ended(place.command(&temporary).env("TMPDIR", disk.folder.path()).output().unwrap()), &temporary);
    let _ = fs::remove_dir_all(store);
    assert_eq!(names(disk.folder.path()), left());
}

fn left() -> Vec<String> {
    vec!["filler".to_owned(), "out".to_owned()]
}

/// `run` is of the Python package, and `trim` writes files alone.
fn writes_to_standard_output(command: &str) -> bool {
    command != "run" && command != "trim"
}

#[test]
fn a_failing_or_closed_standard_output_has_the_same_exit_code() {
    let place = Place::new();
    let shell = |redirect: &str, arguments: &[&str]| {
        let mut command = Command::new("sh");
        let own = place.command(arguments);
        command.arg("-c").arg(format!("\"$0\" \"$@\" {redirect}")).arg(own.get_program()).args(own.get_args());
        command
            .current_dir(own.get_current_dir().unwrap())
            .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        ended(command.stdin(Stdio::null()).output().unwrap())
    };
    for command in commands(&place).iter().filter(|command| writes_to_standard_output(command)) {
        for redirect in [">/dev/full", ">&-"] {
            let _ = fs::remove_dir_all(place.path("demo-run"));
            unwritable(&shell(redirect, &call(command)), &call(command));
        }
    }
    for arguments in [&["--help"][..], &["--version"], &["ops", "--help"]] {
        for redirect in [">/dev/full", ">&-"] {
            unwritable(&shell(redirect, arguments), arguments);
        }
    }
    for format in ["json", "csv", "md", "arrow", "parquet", "table"] {
        let arguments = ["sql", "trace.json", "SELECT * FROM spans", "-f", format];
        unwritable(&shell(">/dev/full", &arguments), &arguments);
        unwritable(&shell(">&-", &arguments), &arguments);
    }
    // Nobody reads these, which is not the same as a failure; neither is a reader that goes away.
    for redirect in [">/dev/null", "1<>/dev/null", "| true"] {
        assert_eq!(shell(redirect, &["ops", "trace.json"]).code, 0, "{redirect}");
    }
    // Nothing goes to standard output here.
    assert_eq!(shell(">&-", &["ops", "trace.json", "-o", "out"]).code, 0);
    assert_eq!(shell(">&-", &["trim", "trace.json", "-o", "out.json"]).code, 0);
}

#[test]
fn a_folder_that_cannot_be_written_has_the_same_exit_code() {
    let place = Place::new();
    for command in commands(&place).iter().filter(|command| has_output(&place, command)) {
        let arguments = [&call(command)[..], &["-o", "none/out"]].concat();
        unwritable(&place.run(&arguments), &arguments);
    }
    fs::write(place.path("file"), "").unwrap();
    for store in ["file/kept", "/proc/kept"] {
        let arguments = ["ingest", "trace.json", "--store", store];
        unwritable(&place.run(&arguments), &arguments);
    }
}

#[test]
fn an_interrupted_command_leaves_the_old_file_and_nothing_else() {
    let place = Place::new();
    fs::create_dir(place.path("outputs")).unwrap();
    fs::write(place.path("outputs/out.csv"), "old").unwrap();
    let endless = "SELECT value FROM generate_series(1, 4000000000)";
    for presses in [1, 2] {
        let child = place
            .command(&["sql", "trace.json", endless, "-f", "csv", "-o", "outputs/out.csv"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until(|| names(&place.path("outputs")).len() == 2);
        for _ in 0..presses {
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        }
        assert_eq!(ended(child.wait_with_output().unwrap()).code, 130);
        assert_eq!(names(&place.path("outputs")), ["out.csv"], "{presses} presses");
        assert_eq!(fs::read_to_string(place.path("outputs/out.csv")).unwrap(), "old");
    }
}

#[track_caller]
fn wait_until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it never became so");
}

#[test]
fn a_pipe_and_a_device_are_written_as_they_are() {
    let place = Place::new();
    let statement = ["sql", "trace.json", "SELECT 1 AS one", "-f", "csv", "-o"];
    assert_eq!(place.stdout(&[&statement[..], &["/dev/stdout"]].concat()), "one\n1\n");
    assert_eq!(place.stdout(&[&statement[..], &["/dev/null"]].concat()), "");
    assert!(!Path::new("/dev/null").is_file());
    let made = Command::new("mkfifo").arg(place.path("pipe")).status().unwrap();
    assert!(made.success());
    let reader = Command::new("cat").arg(place.path("pipe")).stdout(Stdio::piped()).spawn().unwrap();
    place.stdout(&[&statement[..], &["pipe"]].concat());
    assert_eq!(reader.wait_with_output().unwrap().stdout, b"one\n1\n");
    // A shell that appends keeps what it wrote before.
    let log = File::create(place.path("log")).unwrap();
    let mut before = log.try_clone().unwrap();
    before.write_all(b"before\n").unwrap();
    assert!(place.command(&[&statement[..], &["/dev/stdout"]].concat()).stdout(log).status().unwrap().success());
    assert_eq!(fs::read_to_string(place.path("log")).unwrap(), "before\none\n1\n");
}
