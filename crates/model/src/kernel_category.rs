//! What the work of a device is, for the question where device time goes.

/// The categories, in the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KernelCategory {
    /// Products of matrices.
    Gemm,
    /// Convolutions, with what their library launches for them.
    Convolution,
    /// Attention in one kernel, or what its library launches for it.
    Attention,
    /// One output for each input, or few.
    Elementwise,
    /// Many inputs for an output: sums, norms, softmax, pooling.
    Reduction,
    /// Data that moves on a device or to it, without arithmetic.
    Copy,
    /// Transfers between devices of several ranks (metrics, section 9).
    Communication,
    /// Everything else: sorting, sampling, embedding tables, and names that say nothing.
    Other,
}

impl KernelCategory {
    /// Every category, in order.
    pub const ALL: [Self; 8] = [
        Self::Gemm,
        Self::Convolution,
        Self::Attention,
        Self::Elementwise,
        Self::Reduction,
        Self::Copy,
        Self::Communication,
        Self::Other,
    ];

    /// The name in JSON and in tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Gemm => "gemm",
            Self::Convolution => "convolution",
            Self::Attention => "attention",
            Self::Elementwise => "elementwise",
            Self::Reduction => "reduction",
            Self::Copy => "copy",
            Self::Communication => "communication",
            Self::Other => "other",
        }
    }

    /// The name in a sentence.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Gemm => "GEMM",
            Self::Elementwise => "elementwise work",
            Self::Other => "other work",
            Self::Copy => "copying",
            other => other.as_text(),
        }
    }

    /// The category of that name.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_text() == text)
    }
}
