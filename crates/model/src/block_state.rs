//! What a block of an allocator is used for.

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlockState {
    /// The program holds it.
    Allocated,
    /// The program freed it, and a stream may still use it.
    Pending,
    /// Nobody uses it.
    Inactive,
}

impl BlockState {
    /// Every state, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Allocated, Self::Pending, Self::Inactive];

    /// The state for the word of PyTorch's allocator.
    #[must_use]
    pub fn from_torch(word: &str) -> Option<Self> {
        Some(match word {
            "active_allocated" => Self::Allocated,
            "active_pending_free" | "active_awaiting_free" => Self::Pending,
            "inactive" => Self::Inactive,
            _ => return None,
        })
    }

    /// The word in tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Allocated => "allocated",
            Self::Pending => "pending",
            Self::Inactive => "inactive",
        }
    }
}
