//! Imports go one way, and every dependency is used.

use std::collections::BTreeSet;

use stepscope_tidy::imports::circles;
use stepscope_tidy::{file, packages};

/// Circles that ARCHITECTURE.md names: the crate, and its files.
fn named_circles() -> Vec<(String, BTreeSet<String>)> {
    let document = file("ARCHITECTURE.md");
    let lines = document.lines().skip_while(|line| !line.starts_with("| circle in |")).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let files = cells[1].split(',').map(|name| name.trim().trim_matches('`').to_owned());
        (cells[0].trim_matches('`').to_owned(), files.collect())
    });
    rows.collect()
}

#[test]
fn files_of_a_crate_import_in_one_direction() {
    let named = named_circles();
    assert!(!named.is_empty(), "ARCHITECTURE.md has no table of circles");
    let mut problems = Vec::new();
    for package in packages() {
        for circle in circles(&package.source_folder) {
            if !named.iter().any(|(folder, files)| *folder == package.folder && circle.is_subset(files)) {
                let files: Vec<&str> = circle.iter().map(String::as_str).collect();
                problems.push(format!(
                    "files of {} import each other: {}; move what both need to a file of its own, or name the circle and its \
                     reason in ARCHITECTURE.md",
                    package.folder,
                    files.join(", ")
                ));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn every_dependency_of_the_workspace_is_used() {
    let manifest = file("Cargo.toml");
    let lines = manifest.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    let declared = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once(" = "));
    let declared: BTreeSet<&str> =
        declared.map(|(name, _)| name).filter(|name| !name.starts_with(char::is_whitespace)).collect();
    assert!(declared.contains("serde"), "Cargo.toml declares no dependencies");
    let used: BTreeSet<String> = packages().into_iter().flat_map(|package| package.all_dependencies).collect();
    let unused: Vec<&str> = declared.into_iter().filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "no crate uses {}: remove it from Cargo.toml", unused.join(", "));
}
