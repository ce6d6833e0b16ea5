//! What is kept of a block until its segment is finished.

use stepscope_model::BlockState;

/// A block whose segment is still open: where it is, and on which device, may be said behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: Option<u64>,
    pub(super) size_bytes: i64,
    /// As recorded.
    pub(super) requested_size: Option<i64>,
    /// As recorded, else from an old history, else all of it.
    pub(super) requested_bytes: i64,
    pub(super) state: Option<BlockState>,
    pub(super) stack: Option<u32>,
}
