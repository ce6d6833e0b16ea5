//! The runs behind what the user named, each ready to be opened.

use std::path::{Path, PathBuf};

use stepscope_store::{AnyStore, layout};

use crate::cache::Inputs;
use crate::error::RunError;
use crate::settings::Settings;
use crate::stored::{find_store, is_missing};

/// A run that can be opened. Two are equal as long as nothing about their files has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInput {
    /// A name that no other run beside it has.
    pub name: String,
    pub(crate) paths: Vec<PathBuf>,
    /// What its files look like; `None` where that cannot be told, as for a pipe.
    files: Option<Inputs>,
}

impl RunInput {
    /// The name of one of the runs that its files turned out to be.
    #[must_use]
    pub fn name_of(&self, run_name: &str, is_only_one: bool) -> String {
        let folder = self.paths.first().filter(|path| path.is_dir()).and_then(|path| path.canonicalize().ok());
        let folder =
            folder.as_deref().and_then(Path::file_name).map(|name| layout::run_folder_name(&name.to_string_lossy()));
        let rest = folder.and_then(|folder| run_name.strip_prefix(&folder));
        match rest {
            _ if is_only_one => self.name.clone(),
            Some(rest) => format!("{}{rest}", self.name),
            None => run_name.to_owned(),
        }
    }
}

/// Looks for runs: the ones of a store, the files that are named together, each folder that holds files.
pub fn find_runs(paths: &[PathBuf], settings: &Settings) -> Result<Vec<RunInput>, RunError> {
    let mut runs = Vec::new();
    let mut traces = Vec::new();
    for path in paths {
        if is_missing(path) {
            return Err(RunError::NotFound { path: path.clone() });
        }
        match find_store(path)? {
            Some((store, run)) => runs.extend(stored_runs(&store, run)?),
            None => traces.push(path.clone()),
        }
    }
    for run in stepscope_ingest::plan(&traces, &settings.for_ingest())? {
        let paths = run.folder.map_or_else(|| run.files.into_iter().map(|file| file.path).collect(), |it| vec![it]);
        let files = Inputs::look(&paths, true).ok().flatten();
        runs.push(RunInput { name: run.name, paths, files });
    }
    tell_apart(&mut runs);
    Ok(runs)
}

fn stored_runs(store: &AnyStore, run: Option<String>) -> Result<Vec<RunInput>, RunError> {
    let names = run.map_or_else(|| store.runs(), |run| Ok(vec![run]))?;
    let input = |name: String| {
        let Some(root) = store.place().folder() else {
            let path = PathBuf::from(format!("{}/runs/{name}", store.place()));
            return RunInput { paths: vec![path], name, files: None };
        };
        let files = Inputs::look(&[layout::sources_dir(root, &name)], true).ok().flatten();
        RunInput { paths: vec![layout::run_dir(root, &name)], name, files }
    };
    Ok(names.into_iter().map(input).collect())
}

/// Folders in different places can have the same name.
fn tell_apart(runs: &mut [RunInput]) {
    for place in 1..runs.len() {
        let (before, rest) = runs.split_at_mut(place);
        let is_taken = |name: &str| before.iter().any(|run| run.name == name);
        let own = rest[0].name.clone();
        let mut number = 2;
        while is_taken(&rest[0].name) {
            rest[0].name = format!("{own}-{number}");
            number += 1;
        }
    }
}
