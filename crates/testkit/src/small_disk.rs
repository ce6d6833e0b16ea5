//! A disk that is soon full.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// A disk of 8 MB that is gone with this.
#[derive(Debug)]
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where nothing can be mounted, which is said.
    pub fn mounted() -> io::Result<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(folder.path()).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Ok(Some(Self { folder }));
        }
        writeln!(io::stderr(), "SKIPPED: a disk of 8 MB cannot be mounted here, which takes root")?;
        Ok(None)
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves so many bytes of it free.
    pub fn fill(&self, free: usize) -> io::Result<()> {
        let filler = self.path().join("filler");
        // It does not fit: what is there of it is as much as the disk takes.
        let _ = fs::write(&filler, vec![0; 16 << 20]);
        let size = fs::metadata(&filler)?.len();
        fs::OpenOptions::new().write(true).open(&filler)?.set_len(size - free as u64)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).output();
    }
}
