//! What the tests of this crate need to know about the repository: its files and what cargo says about its crates.

pub mod imports;
pub mod prose;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Folders that hold nothing of ours.
const NOT_OURS: [&str; 5] = ["target", ".git", "node_modules", ".venv", "__pycache__"];

/// The folder that holds the workspace, or a changed copy of it that the checks must find fault with.
#[must_use]
pub fn root() -> PathBuf {
    if let Some(copy) = std::env::var_os("STEPSCOPE_TIDY_ROOT") {
        return copy.into();
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// A file as text; empty when it cannot be read, which the check that needs it will notice.
#[must_use]
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// A file of the repository, by its path from the root.
#[must_use]
pub fn file(path: &str) -> String {
    text(&root().join(path))
}

/// Every file below a folder of the repository, sorted, as a path from the root.
#[must_use]
pub fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join(folder), &mut found);
    let root = root();
    let mut found: Vec<PathBuf> =
        found.iter().filter_map(|path| path.strip_prefix(&root).ok()).map(Path::to_path_buf).collect();
    found.sort();
    found
}

/// The name of a file without its ending.
#[must_use]
pub fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            let name = entry.file_name();
            if !NOT_OURS.iter().any(|skipped| name == *skipped) {
                collect(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

/// One crate of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name of its folder: `stepscope-model` is in `model`.
    pub folder: String,
    /// Its folder of sources, as a path from the root.
    pub source_folder: String,
    /// Names of what it needs to build: not what its tests need, and not what a feature adds.
    pub dependencies: Vec<String>,
    /// The same with what its tests and features need.
    pub all_dependencies: Vec<String>,
}

/// The crates of the workspace, as cargo sees them; none when cargo fails.
#[must_use]
pub fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]).current_dir(root());
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    let metadata: Value = serde_json::from_slice(&output).unwrap_or_default();
    let mut packages: Vec<Package> =
        metadata["packages"].as_array().into_iter().flatten().filter_map(package).collect();
    packages.sort_by(|a, b| a.folder.cmp(&b.folder));
    packages
}

fn package(value: &Value) -> Option<Package> {
    let home = Path::new(value["manifest_path"].as_str()?).parent()?;
    let folder = home.file_name()?.to_string_lossy().into_owned();
    let source_folder = home.strip_prefix(root()).ok()?.join("src").to_string_lossy().into_owned();
    let names = |wants_all: bool| -> Option<Vec<String>> {
        let all = value["dependencies"].as_array()?.iter();
        let is_needed = |dependency: &Value| dependency["kind"] != "dev" && dependency["optional"] != true;
        let wanted = all.filter(|dependency| wants_all || is_needed(dependency));
        Some(wanted.filter_map(|dependency| dependency["name"].as_str()).map(str::to_owned).collect())
    };
    Some(Package { folder, source_folder, dependencies: names(false)?, all_dependencies: names(true)? })
}
