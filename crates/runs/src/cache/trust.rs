//! Whose the cache is. A store is believed without looking at the trace again, so nobody else may have put it there.

use std::fs;
use std::io;
use std::path::Path;

use super::Cache;
use crate::error::RunError;

impl Cache {
    /// Refuses a cache that somebody else can have changed. One that is not there yet is nobody's.
    pub fn check_owner(&self) -> Result<(), RunError> {
        for folder in [self.root().to_owned(), self.stores_dir(), self.index_dir()] {
            if let Some(why) = distrust(&folder) {
                return Err(RunError::UntrustedCache { path: folder, why });
            }
        }
        Ok(())
    }

    /// Makes the folders of the cache, for this user alone.
    pub fn make_folders(&self) -> io::Result<()> {
        for folder in [self.stores_dir(), self.index_dir()] {
            private().recursive(true).create(folder)?;
        }
        Ok(())
    }
}

/// Whether a file or folder of the cache is the user's own.
pub(super) fn is_own(path: &Path) -> bool {
    distrust(path).is_none()
}

#[cfg(unix)]
pub(super) fn private() -> fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
pub(super) fn private() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

/// Why something that is there is not to be believed.
#[cfg(unix)]
fn distrust(path: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let there = fs::metadata(path).ok()?;
    if own_id().is_none_or(|id| there.uid() != id) {
        return Some("another user owns it");
    }
    (there.mode() & WRITABLE_BY_OTHERS != 0).then_some("other users can write to it")
}

#[cfg(not(unix))]
fn distrust(_path: &Path) -> Option<&'static str> {
    None
}

/// The user that files of this process belong to.
#[cfg(unix)]
fn own_id() -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    use std::sync::LazyLock;
    static ID: LazyLock<Option<u32>> = LazyLock::new(|| {
        let made = tempfile::tempfile().and_then(|file| file.metadata());
        made.or_else(|_| fs::metadata("/proc/self")).ok().map(|file| file.uid())
    });
    *ID
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_cache_is_trusted_if_nobody_else_can_write_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("cache"), 0);
        cache.check_owner().unwrap();
        cache.make_folders().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(cache.root()), mode(&cache.stores_dir())), (0o700, 0o700));
        cache.check_owner().unwrap();
        for loose in [0o770, 0o702, 0o777] {
            fs::set_permissions(cache.stores_dir(), fs::Permissions::from_mode(loose)).unwrap();
            let error = cache.check_owner().unwrap_err();
            assert!(matches!(error, RunError::UntrustedCache { .. }), "{loose:o}: {error:?}");
        }
        fs::set_permissions(cache.stores_dir(), fs::Permissions::from_mode(0o755)).unwrap();
        cache.check_owner().unwrap();
    }
}
