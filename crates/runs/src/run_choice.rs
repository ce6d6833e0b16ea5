//! Which of the runs behind some paths is meant.

use stepscope_store::AnyStore;

use crate::error::RunError;
use crate::names::shortened;

/// Which of several runs to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunChoice {
    /// The only one; several are refused by name.
    #[default]
    Only,
    /// The one of that name.
    Named(String),
    /// All of them.
    All,
}

impl RunChoice {
    /// The choice that `--run` makes.
    #[must_use]
    pub fn named(name: Option<String>) -> Self {
        name.map_or(Self::Only, Self::Named)
    }

    /// The runs that are meant, of those that a store has.
    pub(crate) fn of(&self, mut runs: Vec<String>, store: &AnyStore) -> Result<Vec<String>, RunError> {
        if runs.is_empty() {
            return Err(RunError::EmptyStore { path: store.place().to_string().into() });
        }
        match self {
            Self::Named(name) => match find(name, &runs) {
                Some(run) => Ok(vec![run.to_owned()]),
                None => Err(RunError::NoSuchRun { name: name.clone(), names: shortened(&runs) }),
            },
            Self::Only if runs.len() > 1 => {
                runs.sort();
                let reason = why_apart(store, &runs)?;
                Err(RunError::SeveralRuns { count: runs.len(), names: shortened(&runs), reason })
            }
            Self::Only | Self::All => Ok(runs),
        }
    }
}

/// The run of a name: spelled out, or the end or a part of it that no other run has.
fn find<'a>(name: &str, runs: &'a [String]) -> Option<&'a str> {
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut found = runs.iter().map(String::as_str).filter(|run| fits(run));
        found.next().filter(|_| found.next().is_none())
    };
    only(&|run| run == name)
        .or_else(|| only(&|run| run.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))))
        .or_else(|| only(&|run| !name.is_empty() && run.contains(name)))
}

/// Why files of one folder are several runs, in words; `None` if they lie in several folders.
fn why_apart(store: &AnyStore, runs: &[String]) -> Result<Option<String>, RunError> {
    // Packs come from many hosts, which know nothing of each other.
    let Some(store) = store.folder() else { return Ok(None) };
    for run in runs {
        for source in store.sources(run)? {
            if let Some(reason) = source.apart_because {
                let path = std::path::Path::new(&source.path);
                let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                return Ok(Some(format!("{file}: {reason}")));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_part_of_a_name_is_enough_when_no_other_run_has_it() {
        let runs = ["h100.bert", "h100.bert-small", "h100.qwen.1"].map(str::to_owned);
        for (name, want) in [
            ("h100.bert", Some("h100.bert")),
            ("bert", Some("h100.bert")),
            ("small", Some("h100.bert-small")),
            ("qwen", Some("h100.qwen.1")),
            ("h100", None),
            ("llama", None),
            ("", None),
        ] {
            assert_eq!(find(name, &runs), want, "{name}");
        }
    }
}
