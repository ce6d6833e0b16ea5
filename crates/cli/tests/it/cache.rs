//! The cache with real processes: several at once, killed ones, and a full disk.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_testkit::Random;

use crate::command::{Ended, Place, ended, names};

const COUNT: [&str; 5] = ["sql", "big.json", "SELECT count(*) AS n FROM spans", "-f", "csv"];

/// A trace that takes a while: every event on its own line.
fn big_trace(events: usize) -> String {
    let mut text = String::from("{\"traceEvents\": [\n");
    for number in 0..events {
        let comma = if number == 0 { "" } else { ",\n" };
        write!(
            text,
            "{comma}{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{}\", \"pid\": 7, \"tid\": {}, \"ts\": {}, \
             \"dur\": 3, \"args\": {{\"External id\": {number}, \"Sequence number\": {number}}}}}",
            number % 97,
            number % 5,
            number * 4
        )
        .unwrap();
    }
    text.push_str("\n]}\n");
    text
}

fn with_big_trace(events: usize) -> Place {
    let place = Place::new();
    std::fs::write(place.path("big.json"), big_trace(events)).unwrap();
    place
}

fn spawn(place: &Place, arguments: &[&str]) -> Child {
    place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn is_empty_folder(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn hidden_below(folder: &Path) -> Vec<PathBuf> {
    let mut hidden = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with('.') {
                hidden.push(entry.path());
            }
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    hidden
}

/// How long one undisturbed run takes, so that kills fall into all of it.
fn duration_of(place: &Place, arguments: &[&str]) -> Duration {
    let begin = Instant::now();
    place.stdout(arguments);
    begin.elapsed()
}

/// `STEPSCOPE_TEST_KILLS` asks for more than CI has time for.
fn kills() -> usize {
    std::env::var("STEPSCOPE_TEST_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(10)
}

#[test]
fn killed_processes_leave_nothing_that_the_next_start_does_not_sweep() {
    const EVENTS: usize = 60_000;
    let place = with_big_trace(EVENTS);
    let cache = place.path("stepscope");
    let full = duration_of(&place, &COUNT);
    let mut random = Random::new(full.as_nanos() as u64);
    for kill in 0..kills() {
        std::fs::remove_dir_all(&cache).unwrap();
        let mut child = spawn(&place, &COUNT);
        std::thread::sleep(Duration::from_micros(random.below(full.as_micros() as usize) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = place.run(&COUNT);
        assert_eq!((ended.code, ended.stdout), (0, format!("n\n{EVENTS}\n")), "kill {kill}: {}", ended.stderr);
        assert!(hidden_below(&cache).is_empty(), "kill {kill}: {:?}", hidden_below(&cache));
        assert_eq!(names(&cache.join("stores")).len(), 1, "kill {kill}");
        place.stdout(&["cache", "verify"]);
    }
}

#[test]
fn killed_ingests_leave_a_store_whole() {
    const EVENTS: usize = 60_000;
    let place = with_big_trace(EVENTS);
    let ingest = ["ingest", "big.json", "--store", "a.stepscope"];
    let full = duration_of(&place, &ingest);
    let mut random = Random::new(full.as_nanos() as u64);
    let table = "SELECT count(*) AS n FROM spans";
    for kill in 0..kills() {
        if kill % 2 == 0 {
            // Every other time the source is replaced, not made.
            std::fs::remove_dir_all(place.path("a.stepscope")).unwrap();
        }
        std::fs::write(place.path("big.json"), big_trace(EVENTS + kill + 1)).unwrap();
        let mut child = spawn(&place, &ingest);
        std::thread::sleep(Duration::from_micros(random.below(full.as_micros() as usize) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        // Either there is no store yet, or it answers with what it had before or with everything.
        let asked = place.run(&["sql", "a.stepscope", table, "-f", "csv"]);
        let whole = [EVENTS, EVENTS + kill, EVENTS + kill + 1].map(|count| format!("n\n{count}\n"));
        assert!(asked.code != 0 || whole.contains(&asked.stdout), "kill {kill}: {asked:?}");
        assert!([0, 3].contains(&asked.code), "kill {kill}: {asked:?}");
        place.stdout(&ingest);
        let store = place.path("a.stepscope");
        // A folder whose owner was killed before it locked it stays for some seconds: it might be about to be locked.
        let left: Vec<_> = hidden_below(&store).into_iter().filter(|path| !is_empty_folder(path)).collect();
        assert!(left.is_empty(), "kill {kill}: {left:?}");
        assert_eq!(place.stdout(&["sql", "a.stepscope", table, "-f", "csv"]), whole[2], "kill {kill}");
    }
}

#[test]
fn a_temporary_store_of_a_killed_process_is_swept() {
    let place = with_big_trace(60_000);
    std::fs::create_dir(place.path("tmp")).unwrap();
    let arguments = [&COUNT[..], &["--no-cache"]].concat();
    let mut child = place.command(&arguments).env("TMPDIR", place.path("tmp")).spawn().unwrap();
    let begin = Instant::now();
    while names(&place.path("tmp")).is_empty() && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(&place.path("tmp")).len(), 1, "the kill came too late for this test");
    let ended = ended(place.command(&arguments).env("TMPDIR", place.path("tmp")).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(names(&place.path("tmp")).is_empty(), "{:?}", names(&place.path("tmp")));
}

#[test]
fn processes_that_open_one_trace_at_once_share_one_store() {
    let place = with_big_trace(60_000);
    let children: Vec<Child> = (0..4).map(|_| spawn(&place, &COUNT)).collect();
    let answers: Vec<Ended> = children.into_iter().map(|child| ended(child.wait_with_output().unwrap())).collect();
    for answer in &answers {
        assert_eq!((answer.code, answer.stdout.as_str()), (0, "n\n60000\n"), "{}", answer.stderr);
    }
    assert_eq!(names(&place.path("stepscope/stores")).len(), 1);
    assert!(hidden_below(&place.path("stepscope")).is_empty());
}

#[test]
fn a_waiting_process_says_so_and_takes_over_from_a_dead_one() {
    let place = Place::new();
    // What a process that is alive looks like: it holds the lock of the folder it fills.
    place.stdout(&["health", "trace.json"]);
    let stores = place.path("stepscope/stores");
    let key = names(&stores).remove(0);
    std::fs::rename(stores.join(&key), stores.join(format!(".filling-{key}"))).unwrap();
    let live = std::fs::File::open(stores.join(format!(".filling-{key}/lock"))).unwrap();
    live.lock_shared().unwrap();
    let child = spawn(&place, &["health", "trace.json"]);
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(names(&stores), [format!(".filling-{key}")], "a living process is left alone");
    drop(live);
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("another stepscope process is reading this trace; waiting"), "{}", ended.stderr);
    assert_eq!(names(&stores), [key]);
}

#[test]
fn a_full_disk_is_named_and_nothing_is_left() {
    let place = with_big_trace(60_000);
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    // So small that it is full at the first file, in a table, or at one of the last.
    for size in ["size=8k", "size=24k", "size=48k"] {
        let mounted = on_disk(&disk, &["mount", "-t", "tmpfs", "-o", size, "tmpfs"]);
        if !mounted.as_ref().is_ok_and(|output| output.status.success()) {
            println!("skipped: a small disk cannot be mounted here: {mounted:?}");
            return;
        }
        // Nothing may panic while the disk is mounted, or it stays.
        let cached = place.command(&COUNT).env("STEPSCOPE_CACHE", disk.join("cache")).output();
        let left_by_cache = std::fs::read_dir(disk.join("cache/stores")).map(Iterator::count);
        let stored = place.command(&[&COUNT[..], &["--store", "disk/a.stepscope"]].concat()).output();
        let left_in_store = hidden_below(&disk.join("a.stepscope"));
        let again = place.command(&["sql", "disk/a.stepscope", "SELECT 1 AS one"]).output();
        let temporary = place.command(&[&COUNT[..], &["--no-cache"]].concat()).env("TMPDIR", &disk).output();
        let left: Vec<String> = std::fs::read_dir(&disk)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        on_disk(&disk, &["umount"]).unwrap();

        let cached = ended(cached.unwrap());
        assert_eq!((cached.code, cached.stdout.as_str()), (0, "n\n60000\n"), "{size}: {}", cached.stderr);
        assert!(only_note(&cached).contains("the disk is full"), "{size}: {}", cached.stderr);
        for (output, words) in [(stored, "--store"), (temporary, "TMPDIR")] {
            let ended = ended(output.unwrap());
            assert_eq!(ended.code, 5, "{size}: {ended:?}");
            assert!(ended.stderr.starts_with("error: the disk is full\n  --> "), "{size}: {}", ended.stderr);
            assert!(ended.stderr.contains(words), "{size}: {}", ended.stderr);
        }
        assert_eq!(left_by_cache.unwrap(), 0, "{size}");
        assert!(left_in_store.is_empty(), "{size}: {left_in_store:?}");
        assert!(!left.iter().any(|name| name.starts_with("stepscope-")), "{size}: {left:?}");
        assert_eq!(ended(again.unwrap()).code, 3, "{size}: a store without a source is none");
    }
}

fn on_disk(disk: &Path, command: &[&str]) -> std::io::Result<Output> {
    Command::new(command[0]).args(&command[1..]).arg(disk).output()
}

#[test]
fn the_command_lists_verifies_and_clears() {
    let place = Place::new();
    let empty = place.stdout(&["cache"]);
    assert!(empty.starts_with("0 stores, 0 B of at most "), "{empty}");
    place.stdout(&["health", "trace.json"]);
    let document = place.json(&["cache"]);
    assert_eq!(document["schema"], "stepscope.cache/1");
    assert_eq!(document["cache"]["limit_bytes"], 20_000_000_000_u64);
    let row = &document["rows"][0];
    assert_eq!(row["events_in"], 6);
    assert!(row["paths"][0].as_str().unwrap().ends_with("/trace.json"), "{row}");
    assert!(row["size_bytes"].as_u64().unwrap() > 1_000, "{row}");
    assert!(row["last_used"].as_str().unwrap().ends_with('Z'), "{row}");
    let table = place.stdout(&["cache", "list"]);
    assert!(table.starts_with("1 store, ") && table.contains("/trace.json"), "{table}");

    assert_eq!(place.json(&["cache", "verify"])["rows"][0]["state"], "whole");
    let key = row["key"].as_str().unwrap();
    let record = place.path(&format!("stepscope/stores/{key}/runs/trace/sources/0.0.json"));
    std::fs::write(record, "{").unwrap();
    let broken = place.run(&["cache", "verify"]);
    assert_eq!(broken.code, 3, "{broken:?}");
    assert!(broken.stdout.contains("broken") && broken.stdout.contains("corrupt source record"), "{}", broken.stdout);

    assert_eq!(place.run(&["cache", "clear"]).code, 2);
    let unknown = place.run(&["cache", "clear", "nope.json"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(unknown.stderr.contains("found no cached trace with this path or key"), "{}", unknown.stderr);
    assert!(place.stdout(&["cache", "clear", "trace.json"]).starts_with("Removed 1 store.\n"));
    assert!(place.stdout(&["cache", "clear", "--all"]).starts_with("Removed 0 stores."));
}

#[test]
fn the_environment_says_where_and_how_large() {
    let place = Place::new();
    let run = |name: &str, value: &str, arguments: &[&str]| {
        ended(place.command(arguments).env(name, value).output().unwrap())
    };
    let elsewhere = place.path("elsewhere");
    assert_eq!(run("STEPSCOPE_CACHE", elsewhere.to_str().unwrap(), &["health", "trace.json"]).code, 0);
    assert_eq!(names(&elsewhere), ["index", "lock", "stores"]);
    let cases: Value = serde_json::from_str(include_str!("../../../model/tests/arguments.json")).unwrap();
    for case in cases["sizes"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let limited = run("STEPSCOPE_CACHE_LIMIT", text, &["cache", "-f", "json"]);
        if let Some(error) = case["error"].as_str() {
            assert_eq!(limited.code, 2, "{limited:?}");
            let said = format!("STEPSCOPE_CACHE_LIMIT: {error}, found {text}");
            assert!(limited.stderr.contains(&said), "{limited:?}");
            assert!(limited.stderr.contains("for example STEPSCOPE_CACHE_LIMIT=5GB"), "{limited:?}");
        } else {
            assert!(limited.stdout.contains(&format!("\"limit_bytes\": {}", case["is"])), "{limited:?}");
        }
    }
}

/// The one note that says that nothing is kept.
#[track_caller]
fn only_note(ended: &Ended) -> &str {
    let notes: Vec<&str> =
        ended.stderr.lines().filter(|line| line.starts_with("note: using a temporary store")).collect();
    let [note] = notes[..] else { panic!("{}", ended.stderr) };
    note
}

const NAMES: [&str; 5] = ["sql", "trace.json", "SELECT name FROM spans WHERE kind = 'kernel'", "-f", "csv"];

#[test]
fn a_cache_that_cannot_be_written_is_a_note_and_a_temporary_store() {
    let place = Place::new();
    std::fs::write(place.path("file"), "").unwrap();
    for (cache, why) in
        [("file", "Not a directory"), ("file/below", "Not a directory"), ("/proc/cache", "No such file")]
    {
        let cached = ended(place.command(&NAMES).env("STEPSCOPE_CACHE", cache).output().unwrap());
        assert_eq!((cached.code, cached.stdout.as_str()), (0, "name\ngemm\n"), "{cache}: {}", cached.stderr);
        assert!(only_note(&cached).contains(why), "{cache}: {}", cached.stderr);
    }
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    if !on_disk(&disk, &["mount", "-t", "tmpfs", "-o", "ro", "tmpfs"]).is_ok_and(|output| output.status.success()) {
        println!("skipped: a read-only disk cannot be mounted here");
        return;
    }
    let read_only = place.command(&NAMES).env("STEPSCOPE_CACHE", disk.join("cache")).output();
    on_disk(&disk, &["umount"]).unwrap();
    let read_only = ended(read_only.unwrap());
    assert_eq!((read_only.code, read_only.stdout.as_str()), (0, "name\ngemm\n"), "{}", read_only.stderr);
    assert!(only_note(&read_only).contains("Read-only file system"), "{}", read_only.stderr);
}

#[test]
fn without_a_home_no_shared_folder_is_used() {
    let place = Place::new();
    let shared = place.path("shared");
    std::fs::create_dir(&shared).unwrap();
    let homeless = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env("TMPDIR", &shared);
        ended(command.output().unwrap())
    };
    let asked = homeless(&NAMES);
    assert_eq!((asked.code, asked.stdout.as_str()), (0, "name\ngemm\n"), "{}", asked.stderr);
    assert!(only_note(&asked).contains("HOME"), "{}", asked.stderr);
    assert!(names(&shared).is_empty(), "{:?}", names(&shared));
    let listed = homeless(&["cache"]);
    assert!(listed.code == 2 && listed.stderr.contains("STEPSCOPE_CACHE"), "{}", listed.stderr);
    // Nothing is said where nothing would be kept.
    assert_eq!(
        homeless(&[&NAMES[..], &["--no-cache"]].concat()).stderr.lines().count(),
        asked.stderr.lines().count() - 1
    );
}

/// Gives a folder with all that is in it to somebody else.
fn give_away(path: &Path) -> std::io::Result<()> {
    const NOBODY: u32 = 65_534;
    if path.is_dir() {
        for entry in std::fs::read_dir(path)?.flatten() {
            give_away(&entry.path())?;
        }
    }
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY))
}

#[test]
fn a_store_that_somebody_else_could_have_put_there_is_not_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let cache = place.path("stepscope");
    assert_eq!(place.stdout(&NAMES), "name\ngemm\n");
    let stores = names(&cache.join("stores"));
    // What it holds is not what the trace holds, so that it shows who was asked.
    let entry = cache.join("stores").join(&stores[0]).join("entry.json");
    let untouched = |cached: &Ended, why: &str| {
        assert_eq!((cached.code, cached.stdout.as_str()), (0, "name\ngemm\n"), "{}", cached.stderr);
        assert!(only_note(cached).contains(why), "{}", cached.stderr);
        assert_eq!(names(&cache.join("stores")), stores);
    };
    for folder in [cache.clone(), cache.join("stores")] {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        untouched(&place.run(&NAMES), "other users can write to it");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert!(!place.run(&NAMES).stderr.contains("temporary store"));
    if give_away(&entry).is_err() {
        println!("skipped: nothing can be given to another user here, which takes root");
        return;
    }
    // An entry of somebody else counts as missing, and is replaced by our own.
    let replaced = place.run(&NAMES);
    assert_eq!((replaced.code, replaced.stdout.as_str()), (0, "name\ngemm\n"), "{}", replaced.stderr);
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&entry).unwrap()), 0);
    give_away(&cache).unwrap();
    untouched(&place.run(&NAMES), "another user owns it");
    let named = ended(place.command(&NAMES).env("STEPSCOPE_CACHE", &cache).output().unwrap());
    untouched(&named, "another user owns it");
    let listed = place.run(&["cache"]);
    assert!(listed.code == 3 && listed.stderr.contains("another user owns it"), "{}", listed.stderr);
}
