//! Exit codes: a contract with scripts and CI gates.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; a broken but partly readable trace counts as done, with its health shown.
    Done = 0,
    /// A gate failed, or a finding that the user asked to fail on was there.
    Failed = 1,
    /// The command line was wrong.
    Usage = 2,
    /// The input cannot be read at all, or `--strict` refused it.
    Unreadable = 3,
    /// A gate could not tell.
    Inconclusive = 4,
    /// The output could not be written: a full disk, a closed or failing standard output, a folder without permission.
    Unwritable = 5,
    /// The memory limit does not suffice.
    OutOfMemory = 6,
    /// A bug in Stepscope.
    Bug = 70,
    /// Stopped by Ctrl-C, as shells report it.
    Interrupted = 130,
}
