//! The cache: what it finds again, what it reads anew, and what it leaves behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use stepscope_model::{Cell, Exit, Hint, Part, Report};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{Cache, Clear, Progress, RunError, Settings, Workspace};

use crate::harness::{answer, op, write};

const LIMIT_BYTES: u64 = 1_000_000_000;

/// A folder for traces and a cache.
struct Place {
    folder: tempfile::TempDir,
    cache: Cache,
}

/// Hears what is read and said, and may meddle with the files meanwhile.
#[derive(Default)]
struct Witness {
    reads: Mutex<Vec<String>>,
    notices: Mutex<Vec<String>>,
    meddle: Option<PathBuf>,
}

impl Progress for Witness {
    fn update(&self, file: &str, _bytes_done: u64, _bytes_total: Option<u64>) {
        self.reads.lock().unwrap().push(file.to_owned());
        if let Some(path) = &self.meddle {
            let text = fs::read_to_string(path).unwrap();
            fs::write(path, format!("{text} ")).unwrap();
        }
    }

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, message: &str) {
        self.notices.lock().unwrap().push(message.to_owned());
    }
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("cache"), LIMIT_BYTES);
        Self { folder, cache }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        write(&self.folder.path().join("traces"), name, text)
    }

    fn open(&self, path: &Path) -> Workspace {
        self.try_open(path, &Settings::default(), &Witness::default()).unwrap()
    }

    fn try_open(&self, path: &Path, settings: &Settings, witness: &Witness) -> Result<Workspace, RunError> {
        Workspace::open_with(&[path.to_owned()], settings, &self.cache, witness)
    }

    fn stores(&self) -> Vec<String> {
        names(&self.cache.root().join("stores"))
    }

    fn store(&self, key: &str) -> PathBuf {
        self.cache.root().join("stores").join(key)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The only file below a folder whose path ends so.
fn find(folder: &Path, end: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(end) || path.to_string_lossy().contains(end) {
                return path;
            }
        }
    }
    panic!("no {end} below {}", folder.display());
}

fn trace(name: &str) -> String {
    op(TraceBuilder::new(), name, "1", "2").finish()
}

/// A file that looks like one that somebody has touched.
fn touch(path: &Path) {
    let earlier = SystemTime::now() - Duration::from_secs(5_000);
    File::options().write(true).open(path).unwrap().set_modified(earlier).unwrap();
}

fn column(report: &Report, name: &str) -> Vec<String> {
    let Some(Part::Table(table)) = report.parts.first() else { return Vec::new() };
    let place = table.columns.iter().position(|column| column.name == name).unwrap();
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        Cell::Json(json) => json.to_string(),
        other => format!("{other:?}"),
    };
    table.rows.iter().map(|row| text(&row[place])).collect()
}

const NAMES: &str = "SELECT name FROM spans ORDER BY name";

#[test]
fn opening_again_reads_nothing() {
    let place = Place::new();
    let path = place.write("a.json", &trace("first"));
    place.open(&path);
    let witness = Witness::default();
    let again = place.try_open(&path, &Settings::default(), &witness).unwrap();
    assert_eq!(answer(&again, NAMES), "first");
    assert!(witness.reads.lock().unwrap().is_empty(), "{:?}", witness.reads);
    assert_eq!(place.stores().len(), 1, "{:?}", place.stores());
}

#[test]
fn touched_and_copied_files_are_known_by_their_content() {
    let place = Place::new();
    let path = place.write("a.json", &trace("first"));
    place.open(&path);
    touch(&path);
    assert_eq!(answer(&place.open(&path), NAMES), "first");
    let copy = place.write("elsewhere/a.json", &trace("first"));
    let opened = place.open(&copy);
    assert_eq!(opened.run_info()["sources"][0]["path"], copy.display().to_string(), "it has the name of today");
    assert_eq!(place.stores().len(), 1, "{:?}", place.stores());
    // The second time the copy is known at a glance.
    let witness = Witness::default();
    place.try_open(&copy, &Settings::default(), &witness).unwrap();
    assert!(witness.reads.lock().unwrap().is_empty(), "{:?}", witness.reads);
}

#[test]
fn another_name_is_another_question() {
    // Runs are named after files and ranks may come from names, so the answer differs.
    let place = Place::new();
    place.open(&place.write("rank1.json", &trace("first")));
    let other = place.open(&place.write("rank2.json", &trace("first")));
    assert_eq!(answer(&other, "SELECT rank FROM spans"), "2");
    assert_eq!(place.stores().len(), 2);
}

#[test]
fn a_changed_file_is_read_again() {
    let place = Place::new();
    let path = place.write("a.json", &trace("first"));
    place.open(&path);
    // The same size, and what is more, the same time.
    let changed = fs::metadata(&path).unwrap().modified().unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, trace("other")).unwrap();
    assert_eq!(answer(&place.open(&path), NAMES), "other");
    fs::write(&path, trace("third")).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(changed + Duration::from_nanos(1)).unwrap();
    assert_eq!(answer(&place.open(&path), NAMES), "third");
}

#[test]
fn a_folder_is_read_again_when_a_file_comes_or_goes() {
    let place = Place::new();
    let first = place.write("job/rank0.json", &trace("first"));
    let folder = first.parent().unwrap();
    assert_eq!(answer(&place.open(folder), NAMES), "first");
    let second = place.write("job/rank1.json", &trace("second"));
    assert_eq!(answer(&place.open(folder), NAMES), "first\nsecond");
    place.write("job/.hidden.json", &trace("hidden"));
    let witness = Witness::default();
    place.try_open(folder, &Settings::default(), &witness).unwrap();
    assert!(witness.reads.lock().unwrap().is_empty(), "a hidden file does not count: {:?}", witness.reads);
    fs::remove_file(second).unwrap();
    assert_eq!(answer(&place.open(folder), NAMES), "first");
    assert_eq!(place.stores().len(), 2, "the first store was found by its content");
}

#[test]
fn options_that_change_the_result_are_part_of_the_question() {
    let place = Place::new();
    let path = place.write("a.json", &trace("first"));
    place.open(&path);
    let separate = Settings { separate_runs: true, ..Settings::default() };
    place.try_open(&path, &separate, &Witness::default()).unwrap();
    assert_eq!(place.stores().len(), 2);
}

#[test]
fn a_strict_user_is_refused_from_the_cache_too() {
    let place = Place::new();
    let whole = place.write("a.json", &trace("first"));
    let cut = place.write("cut.json", trace("first").trim_end().trim_end_matches(['}', ']', '\n', ' ']));
    place.open(&whole);
    place.open(&cut);
    let strict = Settings { strict: true, ..Settings::default() };
    let witness = Witness::default();
    place.try_open(&whole, &strict, &witness).unwrap();
    assert!(witness.reads.lock().unwrap().is_empty(), "what is whole needs no second look");
    assert_eq!(place.try_open(&cut, &strict, &witness).err().unwrap().exit(), Exit::Unreadable);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_not_kept() {
    let place = Place::new();
    let path = place.write("a.json", &trace("first"));
    let witness = Witness { meddle: Some(path.clone()), ..Witness::default() };
    let opened = place.try_open(&path, &Settings::default(), &witness).unwrap();
    assert_eq!(answer(&opened, NAMES), "first");
    let notices = witness.notices.lock().unwrap().join("\n");
    assert!(notices.contains("a.json: the file changed while it was read"), "{notices}");
    drop(opened);
    assert_eq!(place.stores(), [""; 0], "nothing is left");

    let strict = Settings { strict: true, ..Settings::default() };
    let error = place.try_open(&path, &strict, &witness).err().unwrap();
    assert_eq!((error.exit(), error.location()), (Exit::Unreadable, Some(path.display().to_string())));
    assert!(error.hint().unwrap().contains("wait until"), "{error}");
    assert_eq!(place.stores(), [""; 0], "nothing is left");
    assert_eq!(answer(&place.open(&path), NAMES), "first");
}

#[test]
fn what_was_used_longest_ago_goes_first() {
    let mut place = Place::new();
    let paths: Vec<PathBuf> =
        ["a", "b", "c"].iter().map(|name| place.write(&format!("{name}.json"), &trace(name))).collect();
    let size = |place: &Place| place.cache.info()["size_bytes"].as_u64().unwrap();
    let mut keys = Vec::new();
    for (age, path) in [3_000, 2_000].into_iter().zip(&paths) {
        place.open(path);
        let key = place.stores().into_iter().find(|key| !keys.contains(key)).unwrap();
        let lock = File::options().write(true).open(place.store(&key).join("lock")).unwrap();
        lock.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        keys.push(key);
    }
    // The first is the older one, but it is open.
    place.cache = Cache::at(place.cache.root(), size(&place) + 10);
    let open = place.open(&paths[0]);
    File::options()
        .write(true)
        .open(place.store(&keys[0]).join("lock"))
        .unwrap()
        .set_modified(SystemTime::now() - Duration::from_mins(150))
        .unwrap();
    place.open(&paths[2]);
    let stores = place.stores();
    assert!(stores.contains(&keys[0]) && !stores.contains(&keys[1]), "{stores:?}, {keys:?}");
    assert_eq!(stores.len(), 2);
    assert_eq!(answer(&open, NAMES), "a");
    drop(open);
    place.cache = Cache::at(place.cache.root(), 0);
    place.open(&paths[1]);
    assert_eq!(place.stores().len(), 1, "the store that is open stays even if it is too large");
    assert_eq!(names(&place.cache.root().join("index")).len(), 1, "the index forgets what is gone");
}

#[test]
fn a_start_sweeps_what_the_dead_left_and_nothing_else() {
    let place = Place::new();
    let stores = place.cache.root().join("stores");
    for name in [".filling-dead", ".filling-lockless", ".trash-1"] {
        fs::create_dir_all(stores.join(name).join("runs")).unwrap();
    }
    fs::write(stores.join(".filling-dead/lock"), "").unwrap();
    fs::write(stores.join(".tmp-index"), "{").unwrap();
    fs::create_dir_all(stores.join(".filling-live")).unwrap();
    let live = File::create(stores.join(".filling-live/lock")).unwrap();
    live.lock_shared().unwrap();
    place.open(&place.write("a.json", &trace("first")));
    let left: Vec<String> = place.stores().into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(left, [".filling-live"]);
    drop(live);
    place.cache.list().unwrap();
    assert_eq!(place.stores().len(), 1);
}

#[test]
fn a_damaged_store_is_found_and_healed() {
    let place = Place::new();
    let path = place.write("a.json", &trace("first"));
    place.open(&path);
    let (report, is_whole) = place.cache.verify().unwrap();
    assert!(is_whole && column(&report, "state") == ["whole"], "{report:?}");

    // Cut: found by the check, as nobody reads a footer before a query.
    let key = place.stores().remove(0);
    let spans = find(&place.store(&key), "spans/bucket=0/0.0.parquet");
    let bytes = fs::read(&spans).unwrap();
    fs::write(&spans, &bytes[..bytes.len() / 2]).unwrap();
    let (report, is_whole) = place.cache.verify().unwrap();
    assert!(!is_whole && column(&report, "problems")[0].contains("spans"), "{report:?}");

    // Lost: noticed when it is opened, and read again.
    fs::remove_file(&spans).unwrap();
    assert!(!place.cache.verify().unwrap().1);
    let witness = Witness::default();
    let opened = place.try_open(&path, &Settings::default(), &witness).unwrap();
    assert_eq!(answer(&opened, NAMES), "first");
    assert!(witness.notices.lock().unwrap()[0].contains("damaged"), "{:?}", witness.notices);
    assert!(place.cache.verify().unwrap().1);
    assert_eq!(place.stores().len(), 1);

    // An entry or an index that cannot be read counts as missing.
    drop(opened);
    fs::write(find(&place.store(&place.stores()[0]), "entry.json"), "{").unwrap();
    assert_eq!(answer(&place.open(&path), NAMES), "first");
    fs::write(find(&place.cache.root().join("index"), ".json"), "[1").unwrap();
    assert_eq!(answer(&place.open(&path), NAMES), "first");
    assert!(place.cache.verify().unwrap().1);
    assert_eq!(place.stores().len(), 1);
}

#[test]
fn clearing_takes_what_is_named_and_leaves_what_is_open() {
    let place = Place::new();
    let paths: Vec<PathBuf> =
        ["a", "b", "c"].iter().map(|name| place.write(&format!("{name}.json"), &trace(name))).collect();
    let mut open: Vec<Workspace> = paths.iter().map(|path| place.open(path)).collect();
    let named = |path: &Path| Clear::Named(path.display().to_string());
    assert_eq!(column(&place.cache.clear(&named(&paths[0])).unwrap(), "state"), ["in use, kept"]);
    open.clear();
    let report = place.cache.clear(&named(&paths[0])).unwrap();
    assert_eq!(column(&report, "state"), ["removed"]);
    assert!(column(&report, "paths")[0].contains("a.json"), "{report:?}");
    let error = place.cache.clear(&named(&paths[0])).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    let key = place.stores().remove(0);
    assert_eq!(column(&place.cache.clear(&Clear::Named(key[..8].to_owned())).unwrap(), "key"), [key]);
    assert_eq!(column(&place.cache.clear(&Clear::All).unwrap(), "state"), ["removed"]);
    assert_eq!(place.stores(), [""; 0]);
    assert_eq!(names(&place.cache.root().join("index")), [""; 0]);
}

#[test]
fn a_cache_that_cannot_be_made_is_a_notice_and_a_temporary_store() {
    let place = Place::new();
    let path = place.write("a.json", &trace("first"));
    let blocked = place.write("file", "");
    let cache = Cache::at(&blocked.join("cache"), LIMIT_BYTES);
    let witness = Witness::default();
    let workspace = Workspace::open_with(&[path], &Settings::default(), &cache, &witness).unwrap();
    assert_eq!(answer(&workspace, NAMES), "first");
    let notices = witness.notices.lock().unwrap();
    assert!(
        matches!(&notices[..], [only] if only.contains("temporary store") && only.contains("file/cache")),
        "{notices:?}"
    );
}
