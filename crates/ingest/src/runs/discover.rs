//! Which files may belong to which run; what they hold decides.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use stepscope_model::SkippedFile;
use stepscope_objects::Place;
use stepscope_store::Store;

use super::Options;
use crate::error::{IngestError, io_words};
use crate::trace_file::{self, Found};

/// A run that is to be ingested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPlan {
    /// Its name.
    pub name: String,
    /// The folder that its files were found in; `None` when they were named one by one.
    pub folder: Option<PathBuf>,
    /// Its files, sorted.
    pub files: Vec<PathFound>,
    /// What lies beside them and is never read.
    pub skipped: Vec<SkippedFile>,
}

/// What a folder holds, as far as traces may be in it. Hidden files and folders count as not there.
#[derive(Clone, Debug, Default)]
pub struct FolderEntries {
    /// Files, sorted; also links that lead nowhere.
    pub files: Vec<PathBuf>,
    /// Folders that may hold runs, sorted.
    pub folders: Vec<PathBuf>,
    /// Pipes, stores and links back to a folder above.
    pub skipped: Vec<SkippedFile>,
}

impl FolderEntries {
    /// Looks into a folder. `above` are the folders that led here, without links; links back to them lead nowhere new.
    pub fn look(folder: &Path, above: &[PathBuf]) -> io::Result<Self> {
        let mut entries = Self::default();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
                continue;
            }
            let skipped = |what: &str| SkippedFile {
                path: path.display().to_string(),
                what: what.to_owned(),
                is_unreadable: false,
            };
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() && is_one_of(&path, above) => {
                    entries.skipped.push(skipped("a link to a parent folder"));
                }
                Ok(found) if found.is_dir() && Store::is_store(&path) => entries.skipped.push(skipped("a store")),
                Ok(found) if found.is_dir() => entries.folders.push(path),
                Ok(found) if !found.is_file() => entries.skipped.push(skipped("a pipe or a device")),
                // What cannot even be looked at is a file that cannot be read.
                Ok(_) | Err(_) => entries.files.push(path),
            }
        }
        entries.files.sort();
        entries.folders.sort();
        entries.skipped.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(entries)
    }
}

fn is_one_of(path: &Path, above: &[PathBuf]) -> bool {
    fs::canonicalize(path).is_ok_and(|path| above.contains(&path))
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
        if Place::is_address(path) {
            match trace_file::look(path)? {
                Found::Object => named.push(PathFound { path: path.clone(), is_named: true }),
                Found::Folder(objects) => {
                    let mut skipped = Vec::new();
                    let files = once_each(&objects, &mut skipped).into_iter();
                    let files = files.map(|path| PathFound { path, is_named: false }).collect();
                    runs.push(RunPlan { name: folder_name(path), folder: Some(path.clone()), files, skipped });
                }
            }
        } else if path.is_dir() {
            let entries = FolderEntries::look(path, &[real(path)])
                .map_err(|source| IngestError::Open { path: path.clone(), source })?;
            folder_runs(path, entries, &folder_name(path), &mut vec![real(path)], options, &mut runs)?;
        } else {
            named.push(PathFound { path: path.clone(), is_named: true });
        }
    }
    if let Some(first) = named.first() {
        let name = match (named.len(), first.path.parent()) {
            (2.., Some(parent)) if !options.separate_runs => folder_name(parent),
            _ => file_run_name(&first.path),
        };
        runs.insert(0, RunPlan { name, folder: None, files: named, skipped: Vec::new() });
    }
    if let Some(name) = &options.run {
        for run in &mut runs {
            run.name.clone_from(name);
        }
    }
    if options.separate_runs {
        runs = runs.iter().flat_map(one_run_a_file).collect();
    }
    tell_apart(&mut runs);
    Ok(runs)
}

/// The name of a run that a file of a plan is in when the others are in another.
pub(crate) fn own_run_name(plan: &RunPlan, file: &PathFound) -> String {
    let own = file_run_name(&file.path);
    if file.is_named { own } else { format!("{}.{own}", plan.name) }
}

/// Folders in different places can have the same name, and so can a file and its compressed copy.
fn tell_apart(runs: &mut [RunPlan]) {
    for place in 1..runs.len() {
        let (before, rest) = runs.split_at_mut(place);
        rest[0].name = free_name(&rest[0].name, |name| before.iter().any(|run| run.name == name));
    }
}

/// The name, with a number behind it if it is taken.
pub(crate) fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
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

fn folder_runs(
    folder: &Path,
    entries: FolderEntries,
    name: &str,
    above: &mut Vec<PathBuf>,
    options: &Options,
    runs: &mut Vec<RunPlan>,
) -> Result<(), IngestError> {
    let FolderEntries { files, folders, mut skipped } = entries;
    let mut below = Vec::new();
    for folder in folders.into_iter().filter(|_| !options.flat_folders) {
        above.push(real(&folder));
        match FolderEntries::look(&folder, above) {
            Ok(entries) => {
                let name = if is_of_tensorboard(&folder) {
                    name.to_owned()
                } else {
                    format!("{name}.{}", folder_name(&folder))
                };
                folder_runs(&folder, entries, &name, above, options, &mut below)?;
            }
            Err(source) if options.strict => return Err(IngestError::Open { path: folder, source }),
            Err(source) => skipped.push(SkippedFile {
                path: folder.display().to_string(),
                what: io_words(&source),
                is_unreadable: true,
            }),
        }
        above.pop();
    }
    if !files.is_empty() || !skipped.is_empty() {
        let files = once_each(&files, &mut skipped);
        let files = files.into_iter().map(|path| PathFound { path, is_named: false }).collect();
        runs.push(RunPlan { name: name.to_owned(), folder: Some(folder.to_owned()), files, skipped });
    }
    runs.append(&mut below);
    Ok(())
}

/// Whether a folder is one of those that TensorFlow and JAX put between a log folder and its profiles.
fn is_of_tensorboard(folder: &Path) -> bool {
    let is = |folder: Option<&Path>, name: &str| folder.and_then(Path::file_name).is_some_and(|found| found == name);
    is(Some(folder), "plugins") || (is(Some(folder), "profile") && is(folder.parent(), "plugins"))
}

/// JAX writes a recording twice: as `host.xplane.pb`, and for other viewers as `host.trace.json.gz`, which has less.
fn once_each(files: &[PathBuf], skipped: &mut Vec<SkippedFile>) -> Vec<PathBuf> {
    let twin = |file: &Path| {
        let stem = file.file_name()?.to_str()?.strip_suffix(".trace.json.gz")?;
        Some(file.with_file_name(format!("{stem}.xplane.pb")))
    };
    let is_twin = |file: &PathBuf| twin(file).is_some_and(|twin| files.contains(&twin));
    let (twice, once): (Vec<PathBuf>, Vec<PathBuf>) = files.iter().cloned().partition(is_twin);
    skipped.extend(twice.iter().map(|file| SkippedFile {
        path: file.display().to_string(),
        what: "the same recording as the `.xplane.pb` beside it".to_owned(),
        is_unreadable: false,
    }));
    once
}

fn one_run_a_file(run: &RunPlan) -> Vec<RunPlan> {
    let several = run.files.len() > 1;
    let plan = |(place, file): (usize, &PathFound)| RunPlan {
        name: if several { own_run_name(run, file) } else { file_run_name(&file.path) },
        folder: None,
        files: vec![file.clone()],
        skipped: if place == 0 { run.skipped.clone() } else { Vec::new() },
    };
    run.files.iter().enumerate().map(plan).collect()
}

/// The path without links.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The name of a folder, also of `.` and `..`. A job may keep its traces in `<run>/<uuid>/profiler_traces`, the same for
/// every run: the first folder above it that says more gives the name.
fn folder_name(folder: &Path) -> String {
    let absolute = real(folder);
    let name_of = |folder: &Path| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let telling = absolute.ancestors().filter_map(name_of).find(|name| name != "profiler_traces" && !is_uuid(name));
    telling.or_else(|| name_of(&absolute)).unwrap_or_else(|| "run".to_owned())
}

fn is_uuid(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.chars().all(|c| c.is_ascii_hexdigit()))
}

fn file_run_name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut stem = name.as_str();
    for suffix in [".gz", ".json", ".trace", ".pt", ".stepscope", ".prof", ".pstats", ".pb", ".xplane"] {
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
    fn a_folder_that_says_nothing_leaves_the_name_to_the_one_above() {
        let root = tempfile::tempdir().unwrap();
        for (folder, want) in [
            ("train_2026-11-16_abc123/9a8ef2d4-0000-4000-8000-0123456789ab/profiler_traces", "train_2026-11-16_abc123"),
            ("latent/profiler_traces", "latent"),
            ("runs/profiler", "profiler"),
            ("12345678-1234-1234-1234", "12345678-1234-1234-1234"),
        ] {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            assert_eq!(folder_name(&folder), want);
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
