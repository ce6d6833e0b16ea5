//! The rules of the repository. Each failure says what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use stepscope_tidy::{file, files, packages, stem, text};

const ALLOWED_LENGTH: usize = 800;
/// Files that may be longer. Starts empty and should stay so: split the file instead.
const LONG_FILES: [&str; 0] = [];

/// External names and the only crates that may depend on them. A name that ends in `*` stands for all that begin so.
const FENCES: [(&str, &[&str]); 13] = [
    (
        "arrow*",
        &[
            "store",
            "gather",
            "replay",
            "engine",
            "runs",
            "analyses",
            "timeline",
            "workspace",
            "report",
            "cluster",
            "server",
            "python",
            "fuzz",
        ],
    ),
    ("parquet", &["store", "gather", "engine", "report", "bench", "fuzz"]),
    ("datafusion*", &["engine", "cluster", "bench"]),
    ("object_store", &["objects", "engine", "cluster"]),
    ("tokio", &["engine", "objects", "server", "cluster", "testkit", "bench"]),
    ("futures", &["engine", "objects", "server", "cluster"]),
    ("axum", &["server"]),
    ("matchit", &["server"]),
    ("clap*", &["cli", "cluster", "bench"]),
    ("rustyline", &["cli"]),
    ("tikv-jemallocator", &["cli", "cluster"]),
    ("indicatif", &["cli"]),
    ("pyo3*", &["python"]),
];

/// Crates that only tests may use.
const DEV_ONLY: [&str; 4] = ["bench", "fuzz", "testkit", "tidy"];

/// Crates of ours that each crate may use, by the table in ARCHITECTURE.md.
fn crate_table() -> BTreeMap<String, BTreeSet<String>> {
    let document = file("ARCHITECTURE.md");
    let lines = document.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let allowed = cells[2].split(',').map(|name| name.trim().trim_matches('`').to_owned());
        (cells[0].trim_matches('`').to_owned(), allowed.filter(|name| name != "–").collect())
    });
    rows.collect()
}

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn architecture_lists_every_crate() {
    let listed: BTreeSet<String> = crate_table().into_keys().collect();
    let there: BTreeSet<String> = packages().into_iter().map(|package| package.folder).collect();
    assert!(!there.is_empty(), "cargo metadata gave no packages");
    assert_eq!(
        listed, there,
        "the crate table of ARCHITECTURE.md (left) and the crates of the workspace (right) differ"
    );
}

#[test]
fn crates_use_only_what_architecture_allows() {
    let table = crate_table();
    let mut problems = Vec::new();
    for package in packages() {
        let allowed = table.get(&package.folder).cloned().unwrap_or_default();
        let ours = package.dependencies.iter().filter_map(|name| name.strip_prefix("stepscope-"));
        for used in ours {
            let is_dev_only = DEV_ONLY.contains(&used) && !DEV_ONLY.contains(&package.folder.as_str());
            if !allowed.contains(used) || is_dev_only {
                problems.push(format!(
                    "{} depends on {used}: move the code, or change the table in ARCHITECTURE.md and say why in docs/adr",
                    package.folder
                ));
            }
        }
    }
    report(&problems);
}

#[test]
fn external_crates_stay_behind_their_fences() {
    let mut problems = Vec::new();
    for package in packages() {
        for dependency in &package.dependencies {
            let fence = FENCES.iter().find(|(name, _)| {
                name.strip_suffix('*').map_or(dependency == name, |start| dependency.starts_with(start))
            });
            if let Some((name, allowed)) = fence
                && !allowed.contains(&package.folder.as_str())
            {
                problems.push(format!(
                    "{} depends on {dependency}; {name} belongs to {}",
                    package.folder,
                    allowed.join(", ")
                ));
            }
        }
    }
    report(&problems);
}

#[test]
fn files_are_short() {
    let mut problems = Vec::new();
    for path in files("") {
        let is_code =
            path.extension().is_some_and(|end| ["rs", "py", "ts", "tsx", "sql"].iter().any(|known| end == *known));
        let name = path.to_string_lossy().into_owned();
        if !is_code || LONG_FILES.contains(&name.as_str()) {
            continue;
        }
        let lines = file(&name).lines().count();
        if lines >= ALLOWED_LENGTH {
            problems.push(format!(
                "{name} has {lines} lines; split it by idea (aim for 400, the limit is {ALLOWED_LENGTH})"
            ));
        }
    }
    report(&problems);
}

#[test]
fn one_arrow_is_in_the_lock_file() {
    let lock = file("Cargo.lock");
    for name in ["arrow", "parquet", "datafusion", "object_store"] {
        let line = format!("name = \"{name}\"");
        let count = lock.lines().filter(|found| *found == line).count();
        assert!(
            count <= 1,
            "{count} versions of {name} are in Cargo.lock; they do not fit together, so align the versions"
        );
        assert!(count == 1 || name == "object_store", "{name} is not in Cargo.lock");
    }
}

#[test]
fn every_decision_is_in_the_index() {
    let index = file("docs/adr/README.md");
    let decisions = files("docs/adr").into_iter().filter(|path| stem(path) != "README");
    let problems = decisions.filter_map(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        (!index.contains(&format!("({name})")))
            .then(|| format!("{name} is not in docs/adr/README.md; add a line with a link"))
    });
    report(&problems.collect::<Vec<_>>());
}

#[test]
fn nothing_names_a_machine_or_a_registry() {
    // Put together from parts, so that this file does not hold them.
    let unwanted = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["/ho", "me/"],
        ["/Use", "rs/"],
        ["index.crates", ".io"],
        ["static.crates", ".io"],
        ["files.python", "hosted.org"],
        ["registry.npm", "js.org"],
    ]
    .map(|parts| parts.concat());
    let mut problems = Vec::new();
    // Cargo itself writes the name of the default registry into the lock file, and traces say where they were made.
    // In a worktree, `.git` is a file that says where the repository is.
    let skipped = |path: &Path| path.starts_with("fixtures") || ["Cargo.lock", ".git"].map(Path::new).contains(&path);
    for path in files("").into_iter().filter(|path| !skipped(path)) {
        for (number, line) in text(&stepscope_tidy::root().join(&path)).lines().enumerate() {
            if let Some(word) = unwanted.iter().find(|word| line.contains(word.as_str())) {
                problems.push(format!(
                    "{}:{}: {word} is the name of one machine or registry; leave it out",
                    path.display(),
                    number + 1
                ));
            }
        }
    }
    report(&problems);
}
