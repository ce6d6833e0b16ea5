//! What a round of compaction did.

use stepscope_store::pack::PackName;

/// What a round did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Number of the newest manifest; 0 if there is none.
    pub manifest: u64,
    /// Packs that were listed.
    pub listed: u64,
    /// Packs that wait: for other ranks of their window, or for a block of the same name to be deleted.
    pub pending: u64,
    /// Sources of the blocks that were added.
    pub merged: u64,
    /// Blocks that were made. Another compactor may have added some of them.
    pub built: u64,
    /// Blocks that were added to the manifest.
    pub added: u64,
    /// Blocks that were retired: their sources are in blocks that were added, or of another version.
    pub retired: u64,
    /// Manifests that another writer was first with.
    pub lost: u64,
    /// Packs that are in no block, because they cannot be read or are of another version.
    pub refused: Vec<RefusedPack>,
}

/// A pack that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPack {
    /// Its object.
    pub key: String,
    /// Why.
    pub reason: String,
}

impl RefusedPack {
    pub(crate) fn new(run: &str, name: &PackName, reason: &str) -> Self {
        Self { key: name.object_key(run), reason: reason.to_owned() }
    }
}
