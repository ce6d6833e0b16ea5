//! The cache as people see it: a list, a check, and a broom.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};
use stepscope_model::{Cell, Part, Report, ReportColumn, ReportTable, TableOf};
use stepscope_store::{Store, StoreError};

use super::entry::{Entry, is_key};
use super::{Cache, moment};
use crate::error::RunError;

/// How short a key may be written.
const SHORTEST_KEY: usize = 6;

/// Which stores to clear away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clear {
    /// All of them.
    All,
    /// Those of a trace or folder, or the one with a key or the beginning of one.
    Named(String),
}

impl Cache {
    /// One row per store, the last used first.
    pub fn list(&self) -> Result<Report, RunError> {
        self.sweep();
        let paths = self.paths();
        let mut keys = self.keys();
        keys.sort_by_key(|key| std::cmp::Reverse(self.last_used(key)));
        let rows = keys.into_iter().map(|key| (Entry::read(&self.store_dir(&key)), key));
        let table = ReportTable::of("rows", rows)
            .column(named("key"), |(_, key)| key.clone())
            .column(named("events_in"), |(entry, _)| entry.as_ref().map(|entry| entry.events_in as i64))
            .column(named("size_bytes"), |(entry, _)| entry.as_ref().map(|entry| entry.size_bytes as i64))
            .column(named("last_used"), |(_, key)| moment::text(self.last_used(key)))
            .column(named("paths"), |(_, key)| listed(paths.get(key)));
        Ok(report(table))
    }

    /// One row per store, and whether all of them are whole. Stores of another version of Stepscope are not judged.
    pub fn verify(&self) -> Result<(Report, bool), RunError> {
        self.sweep();
        let mut is_whole = true;
        let mut rows = Vec::new();
        for key in self.keys() {
            let problems = self.problems(&key);
            let state = match &problems {
                None => "another version",
                Some(problems) if problems.is_empty() => "whole",
                Some(_) => "broken",
            };
            is_whole &= state != "broken";
            let problems = problems.unwrap_or_default();
            rows.push((key, state, problems));
        }
        let table = ReportTable::of("rows", rows)
            .column(named("key"), |(key, ..)| key.clone())
            .column(named("state"), |(_, state, _)| *state)
            .column(named("problems"), |(.., problems)| Cell::Json(json!(problems)));
        Ok((report(table), is_whole))
    }

    /// Removes stores; one row each. A store that a process has open stays.
    pub fn clear(&self, what: &Clear) -> Result<Report, RunError> {
        self.sweep();
        let keys = match what {
            Clear::All => self.keys(),
            Clear::Named(name) => self.named(name)?,
        };
        let paths = self.paths();
        let removed = self.remove(&keys).map_err(self.fail())?;
        let table = ReportTable::of("rows", keys)
            .column(named("key"), String::clone)
            .column(named("state"), |key| if removed.contains(key) { "removed" } else { "in use, kept" })
            .column(named("paths"), |key| listed(paths.get(key)));
        Ok(report(table))
    }

    /// The member `cache` of JSON documents.
    #[must_use]
    pub fn info(&self) -> Json {
        let size_bytes: u64 = self.entries().iter().map(|(_, entry)| entry.size_bytes).sum();
        let path = self.root.display().to_string();
        json!({ "path": path, "size_bytes": size_bytes, "limit_bytes": self.limit_bytes })
    }

    fn keys(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| is_key(name)).collect()
    }

    /// What is wrong with a store; `None` if another version wrote it.
    fn problems(&self, key: &str) -> Option<Vec<String>> {
        let root = self.store_dir(key);
        match Store::open(&root).and_then(|store| store.problems()) {
            Err(StoreError::WrongVersion { .. }) => return None,
            Err(error) => return Some(vec![error.to_string()]),
            Ok(problems) if !problems.is_empty() => return Some(problems),
            Ok(_) => {}
        }
        let lost = || vec![format!("the entry cannot be read: {}", Entry::path(&root).display())];
        Some(if Entry::read(&root).is_some() { Vec::new() } else { lost() })
    }

    /// The paths that lead to each store.
    fn paths(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for known in self.index().into_iter().filter_map(|(_, known)| known) {
            paths.entry(known.store).or_default().extend(known.roots);
        }
        for (key, entry) in self.entries() {
            // What a store was made from is worth knowing only where nothing leads to it any more.
            paths.entry(key).or_insert_with(|| entry.roots.into_iter().collect());
        }
        paths
    }

    fn named(&self, name: &str) -> Result<Vec<String>, RunError> {
        let by_key: Vec<String> = if name.len() < SHORTEST_KEY {
            Vec::new()
        } else {
            self.keys().into_iter().filter(|key| key.starts_with(name)).collect()
        };
        if let [_] = by_key[..] {
            return Ok(by_key);
        }
        // A trace that is gone can still be named.
        let path = fs::canonicalize(name).or_else(|_| std::path::absolute(Path::new(name)));
        let path = path.map_or_else(|_| name.to_owned(), |path| path.display().to_string());
        let paths = self.paths();
        let found = |key: &String| paths.get(key).is_some_and(|paths| paths.contains(&path));
        let keys: Vec<String> = self.keys().into_iter().filter(found).collect();
        if keys.is_empty() { Err(RunError::NotCached { what: name.to_owned() }) } else { Ok(keys) }
    }
}

fn named(name: &str) -> ReportColumn {
    ReportColumn::named(name)
}

fn listed(paths: Option<&BTreeSet<String>>) -> Cell {
    Cell::Json(paths.map_or_else(|| json!([]), |paths| json!(paths)))
}

fn report<R>(table: TableOf<R>) -> Report {
    Report::new("cache", vec![Part::Table(table.table())])
}
