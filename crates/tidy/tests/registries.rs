//! An extension is one file and one registry line. Each test here fails when the line of a file is missing, and when it
//! finds no file at all: a check that looks in the wrong place must not pass. `.ci/registries` proves that they can fail.

use std::path::Path;

use stepscope_tidy::{file, files, stem};

/// A list in the code, and the files whose names it must hold.
struct Registry {
    /// The file with the list.
    list: &'static str,
    /// What the list begins with.
    start: &'static str,
    /// Where the files are.
    folder: &'static str,
    /// The entries of a file, as they stand in the list; none if it only helps others.
    entries: fn(path: &Path, text: &str) -> Vec<String>,
}

impl Registry {
    #[track_caller]
    fn check(&self) {
        let code = file(self.list);
        let list = code.split_once(self.start).and_then(|(_, rest)| rest.split_once("];")).map_or("", |(list, _)| list);
        let listed = paths(list);
        let mut found = 0;
        let mut missing = Vec::new();
        for path in files(self.folder) {
            for entry in (self.entries)(&path, &file(&path.to_string_lossy())) {
                found += 1;
                if !listed.iter().any(|path| is_below(path, &entry)) {
                    missing.push(format!("{}: add `{entry}` to {}", path.display(), self.list));
                }
            }
        }
        assert!(found > 0, "nothing to register was found in {}", self.folder);
        assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
    }
}

/// The paths in a list: `&steps::ANALYSIS` is `steps::ANALYSIS`.
fn paths(list: &str) -> Vec<&str> {
    list.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':').collect()
}

/// Whether a path is the entry itself or something of it: `cpu::Cpu::open` is of `cpu::Cpu`.
fn is_below(path: &str, entry: &str) -> bool {
    path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Names that follow `before` and end before `after`, as in `static ROUTE: Route`.
fn names(text: &str, before: &str, after: &str) -> Vec<String> {
    let named = text.lines().filter_map(|line| line.split_once(before)?.1.split_once(after));
    named.map(|(name, _)| name.to_owned()).collect()
}

/// The names with the module in front: `timeline::TRACK_ROUTE`.
fn in_module(path: &Path, names: Vec<String>) -> Vec<String> {
    names.into_iter().map(|name| format!("{}::{name}", stem(path))).collect()
}

#[test]
fn every_format_is_registered() {
    let entries = |_: &Path, text: &str| names(text, "impl Format for ", " {");
    let list = "crates/formats/src/registry.rs";
    Registry { list, start: "FORMATS: &[&dyn Format] = ", folder: "crates/formats/src", entries }.check();
}

#[test]
fn every_table_is_registered() {
    let entries = |path: &Path, _: &str| vec![stem(path).to_uppercase()];
    let list = "crates/model/src/tables.rs";
    Registry { list, start: "static TABLES", folder: "crates/model/src/tables", entries }.check();
}

#[test]
fn every_derived_table_is_registered() {
    let entries = |path: &Path, _: &str| vec![stem(path).to_uppercase()];
    let list = "crates/model/src/derived_tables.rs";
    Registry { list, start: "static DERIVED_TABLES", folder: "crates/model/src/derived_tables", entries }.check();
}

#[test]
fn every_view_is_registered() {
    let entries = |path: &Path, _: &str| vec![stem(path)];
    let list = "crates/engine/src/views.rs";
    Registry { list, start: "const FILES", folder: "crates/engine/src/sql", entries }.check();
}

#[test]
fn every_analysis_is_registered() {
    let entries = |path: &Path, text: &str| in_module(path, names(text, "static ", ": Analysis = "));
    let list = "crates/analyses/src/lib.rs";
    Registry { list, start: "static ANALYSES", folder: "crates/analyses/src", entries }.check();
}

#[test]
fn every_rule_is_registered() {
    let entries = |path: &Path, text: &str| in_module(path, names(text, "static ", ": Rule = "));
    let list = "crates/rules/src/lib.rs";
    Registry { list, start: "static RULES", folder: "crates/rules/src", entries }.check();
}

#[test]
fn every_member_of_metrics_is_registered() {
    let entries = |path: &Path, text: &str| {
        let measuring = names(text, "pub(super) fn ", "(measuring: &mut Measuring").into_iter();
        in_module(path, measuring.filter(|name| name.starts_with("measure")).collect())
    };
    let list = "crates/analyses/src/metrics.rs";
    Registry { list, start: "const MEMBERS", folder: "crates/analyses/src/metrics", entries }.check();
}

#[test]
fn every_sensor_is_registered() {
    let entries = |path: &Path, text: &str| in_module(path, names(text, "impl Sensor for ", " {"));
    let list = "crates/record/src/sensors.rs";
    Registry { list, start: "static SENSORS", folder: "crates/record/src/sensors", entries }.check();
}

#[test]
fn every_command_is_registered() {
    let entries = |path: &Path, text: &str| in_module(path, names(text, "static ", ": Command = "));
    let list = "crates/cli/src/commands.rs";
    Registry { list, start: "static COMMANDS", folder: "crates/cli/src/commands", entries }.check();
}

#[test]
fn every_endpoint_is_registered() {
    let entries = |path: &Path, text: &str| in_module(path, names(text, "static ", ": Route ="));
    let list = "crates/server/src/routes.rs";
    Registry { list, start: "static ROUTES", folder: "crates/server/src/routes", entries }.check();
}
