//! The spool: packs on local disk that wait for their upload.
//!
//! ```text
//! <spool>/<hash of the place>/place           where the packs of this folder go, as text
//! <spool>/<hash of the place>/runs/…/*.pack   packs, under the keys of their objects
//! <spool>/refused                             its length is the number of recordings that were refused
//! <spool>/turn.<machine>                      locked by who does the heavy work of a machine
//! <spool>/uploader.<machine>                  locked by who uploads in the background
//! <spool>/.tmp-…/                             packs that are being written
//! ```
//! A pack is there as a whole or not at all, also after a crash. Any process finds out from the folder alone what is to
//! be sent where.

mod keep;
mod lock;
mod place_folder;
mod refused;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stepscope_model::arguments;
use stepscope_store::owned;

use crate::error::GatherError;

pub use keep::Spooled;
pub use lock::Turn;
pub(crate) use lock::try_lock;
pub(crate) use place_folder::{PendingPack, PlaceFolder};

/// What packs may take together unless `STEPSCOPE_SPOOL_LIMIT` says otherwise.
const USUAL_LIMIT_BYTES: u64 = 10_000_000_000;

/// How the names of packs begin that are being written.
const TEMPORARY: &str = ".tmp-";

/// A folder of packs that wait for their upload. Cheap to clone; holds no open files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spool {
    root: PathBuf,
    limit_bytes: u64,
}

/// What a spool holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoolState {
    /// Packs that wait.
    pub packs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long the oldest has waited; `None` if there is none.
    pub oldest: Option<Duration>,
    /// Recordings that it could not take, ever. A disk that cannot even count makes this too small.
    pub refused: u64,
}

impl Spool {
    /// The user's spool: `$STEPSCOPE_SPOOL`, else `$XDG_STATE_HOME/stepscope/spool`, else
    /// `~/.local/state/stepscope/spool`. It takes no pack beyond `$STEPSCOPE_SPOOL_LIMIT`, else 10 GB.
    pub fn from_environment() -> Result<Self, GatherError> {
        Self::from_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// A spool in a folder; it is made when something is first kept in it.
    #[must_use]
    pub fn at(root: &Path, limit_bytes: u64) -> Self {
        Self { root: root.to_owned(), limit_bytes }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Bytes that its packs may take together.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// What it holds.
    pub fn state(&self) -> Result<SpoolState, GatherError> {
        let mut state = SpoolState { refused: refused::count(&self.root)?, ..SpoolState::default() };
        for folder in PlaceFolder::all(&self.root)? {
            for pack in folder.packs()? {
                state.packs += 1;
                state.bytes += pack.size_bytes;
                state.oldest = state.oldest.max(Some(age(&pack)));
            }
        }
        Ok(state)
    }

    /// Waits until no other process of this machine does heavy work, such as reading a trace. The turn ends when it is
    /// dropped, or when the process ends. `watch` is asked several times per second whether to wait on.
    pub fn turn(&self, watch: &dyn Fn() -> ControlFlow<()>) -> Result<Turn, GatherError> {
        lock::turn(&self.root, watch)
    }

    /// Removes what killed processes left behind.
    pub(crate) fn sweep(&self) {
        owned::sweep(&self.root, TEMPORARY);
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, GatherError> {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || folder("HOME").map(|home| home.join(".local").join("state"));
        let own = || folder("XDG_STATE_HOME").or_else(home).map(|state| state.join("stepscope").join("spool"));
        let limit_bytes = match variable("STEPSCOPE_SPOOL_LIMIT").filter(|text| !text.trim().is_empty()) {
            Some(value) => {
                arguments::size_bytes(&value).map_err(|expected| GatherError::BadLimit { expected, value })?
            }
            None => USUAL_LIMIT_BYTES,
        };
        let root = folder("STEPSCOPE_SPOOL").or_else(own).ok_or(GatherError::NoSpoolFolder)?;
        Ok(Self::at(&root, limit_bytes))
    }
}

/// How long a pack has waited; nothing if the clock was set back.
pub(crate) fn age(pack: &PendingPack) -> Duration {
    let since = UNIX_EPOCH + Duration::from_nanos(u64::try_from(pack.modified_ns).unwrap_or(0));
    SystemTime::now().duration_since(since).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_say_where_it_is_and_how_large() {
        #[track_caller]
        fn check(variables: &[(&str, &str)], want: Result<(&str, u64), &str>) {
            let find =
                |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            let found = Spool::from_variables(find).map_err(|error| error.to_string());
            let want = want.map(|(root, limit)| Spool::at(Path::new(root), limit)).map_err(str::to_owned);
            assert_eq!(found, want);
        }
        check(&[("HOME", "/h")], Ok(("/h/.local/state/stepscope/spool", 10_000_000_000)));
        check(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], Ok(("/s/stepscope/spool", 10_000_000_000)));
        check(&[("HOME", "/h"), ("STEPSCOPE_SPOOL", "/x")], Ok(("/x", 10_000_000_000)));
        check(&[("STEPSCOPE_SPOOL", "/x"), ("STEPSCOPE_SPOOL_LIMIT", "2 GiB")], Ok(("/x", 2 << 30)));
        check(&[("STEPSCOPE_SPOOL", "/x"), ("STEPSCOPE_SPOOL_LIMIT", " ")], Ok(("/x", 10_000_000_000)));
        check(&[], Err("no spool folder: found neither STEPSCOPE_SPOOL nor XDG_STATE_HOME nor HOME"));
        check(
            &[("STEPSCOPE_SPOOL", "/x"), ("STEPSCOPE_SPOOL_LIMIT", "much")],
            Err("expected a size such as 512MiB or 2GB, found \"much\": STEPSCOPE_SPOOL_LIMIT"),
        );
    }
}
