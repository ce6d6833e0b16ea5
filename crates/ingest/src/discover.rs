//! Which files belong to which run.

use std::path::{Path, PathBuf};

use crate::error::IngestError;
use crate::run::Options;

/// A run that is to be ingested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPlan {
    /// Its name.
    pub name: String,
    /// The folder that its files were found in; `None` when they were named one by one.
    pub folder: Option<PathBuf>,
    /// Its files, sorted.
    pub files: Vec<PathFound>,
}

/// A file, and whether the user named it: a file that was only found in a folder may turn out to be no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFound {
    /// Where it is.
    pub path: PathBuf,
    /// Whether the user named it.
    pub is_named: bool,
}

/// The runs behind what the user named. Files named together are one run; each folder that holds files is one run.
/// `Options` say whether each file is one, and whether the folders in a folder count.
pub fn plan(paths: &[PathBuf], options: &Options) -> Result<Vec<RunPlan>, IngestError> {
    let mut runs = Vec::new();
    let mut named = Vec::new();
    for path in paths {
        if path.is_dir() {
            folder_runs(path, &folder_name(path), options.flat_folders, &mut runs)?;
        } else {
            named.push(PathFound { path: path.clone(), is_named: true });
        }
    }
    if let Some(first) = named.first() {
        let name = match (named.len(), first.path.parent()) {
            (2.., Some(parent)) if !options.separate_runs => folder_name(parent),
            _ => file_run_name(&first.path),
        };
        runs.insert(0, RunPlan { name, folder: None, files: named });
    }
    if options.separate_runs {
        runs = runs.iter().flat_map(one_run_a_file).collect();
    }
    Ok(runs)
}

/// The rank that a file name gives: `rank-34.…`, `trace_rank_0.json`, `worker0.1623143089861.pt.trace.json`.
pub(crate) fn rank_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    ["rank", "worker"].into_iter().find_map(|word| {
        name.match_indices(word).find_map(|(at, _)| {
            let starts_a_word = !name[..at].ends_with(|c: char| c.is_ascii_alphabetic());
            let rest = name[at + word.len()..].trim_start_matches(['-', '_']);
            let digits = &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
            if starts_a_word { digits.parse().ok().filter(|&rank: &u32| i32::try_from(rank).is_ok()) } else { None }
        })
    })
}

/// What the files of one worker have in common: the name up to the first dot.
pub(crate) fn worker_in_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn folder_runs(folder: &Path, name: &str, is_flat: bool, runs: &mut Vec<RunPlan>) -> Result<(), IngestError> {
    let open = |source| IngestError::Open { path: folder.to_owned(), source };
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(open)? {
        let path = entry.map_err(open)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden {
            continue;
        }
        if path.is_dir() { folders.push(path) } else { files.push(path) }
    }
    files.sort();
    folders.sort();
    if !files.is_empty() {
        let files = files.into_iter().map(|path| PathFound { path, is_named: false }).collect();
        runs.push(RunPlan { name: name.to_owned(), folder: Some(folder.to_owned()), files });
    }
    for folder in folders.into_iter().filter(|_| !is_flat) {
        let name = format!("{name}.{}", folder_name(&folder));
        folder_runs(&folder, &name, is_flat, runs)?;
    }
    Ok(())
}

fn one_run_a_file(run: &RunPlan) -> Vec<RunPlan> {
    let several = run.files.len() > 1;
    let name = |file: &PathFound| {
        let own = file_run_name(&file.path);
        if several && !file.is_named { format!("{}.{own}", run.name) } else { own }
    };
    run.files.iter().map(|file| RunPlan { name: name(file), folder: None, files: vec![file.clone()] }).collect()
}

/// The name of a folder, also of `.` and `..`.
fn folder_name(folder: &Path) -> String {
    let absolute = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    absolute.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn file_run_name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut stem = name.as_str();
    for suffix in [".gz", ".json", ".trace", ".pt", ".stepscope", ".prof", ".pstats"] {
        stem = stem.strip_suffix(suffix).unwrap_or(stem);
    }
    if stem.is_empty() { name } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_names() {
        for (name, want) in [
            ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", Some(34)),
            ("profile_trace_rank_0.json.gz", Some(0)),
            ("rank0.json.gz", Some(0)),
            ("bs_32_rank7.json", Some(7)),
            ("worker12.1623143089861.pt.trace.json.gz", Some(12)),
            ("frank3.json", None),
            ("rank_not_found.json.gz", None),
            ("megatron_kineto_0.json.gz", None),
        ] {
            assert_eq!(rank_in_name(Path::new(name)), want, "{name}");
        }
    }

    #[test]
    fn run_names_lose_the_endings_of_traces() {
        for (name, want) in [
            ("a/host_12.17.pt.trace.json.gz", "host_12.17"),
            ("trace.json", "trace"),
            ("train.prof", "train"),
            ("-", "stdin"),
            (".json", ".json"),
        ] {
            assert_eq!(file_run_name(Path::new(name)), want, "{name}");
        }
    }
}
