//! What of a run is looked at: a fleet has more recordings than one answer needs.

use crate::manifest::{BlockEntry, Manifest};

/// Recordings from which on only the newest window is looked at, unless one is asked for.
const MANY_SOURCES: u64 = 100_000;

/// What of a run to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// One window; else all of them, or the newest one of a run with very many recordings.
    pub window: Option<u32>,
    /// Looks for recordings that no block has yet, which takes listings.
    pub fresh: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self { window: None, fresh: true }
    }
}

/// Windows of a run that are not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The window that is looked at.
    pub open: u32,
    /// The others, sorted.
    pub windows: Vec<u32>,
}

/// The blocks of a manifest that are looked at, and the window if it is only one.
pub(super) fn choose(manifest: &Manifest, scope: Scope) -> (Vec<&BlockEntry>, Option<LeftOut>) {
    let newest =
        || manifest.blocks.iter().max_by_key(|block| (block.last_ns, block.windows)).map(|block| block.windows.1);
    let window = scope.window.or_else(|| (manifest.sources() > MANY_SOURCES).then(newest).flatten());
    let Some(open) = window else { return (manifest.blocks.iter().collect(), None) };
    let (chosen, others): (Vec<&BlockEntry>, Vec<_>) =
        manifest.blocks.iter().partition(|block| (block.windows.0..=block.windows.1).contains(&open));
    let mut windows: Vec<u32> = others.iter().flat_map(|block| block.windows.0..=block.windows.1).collect();
    windows.sort_unstable();
    windows.dedup();
    (chosen, Some(LeftOut { open, windows }))
}
