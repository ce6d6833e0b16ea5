//! Why an input is not read at all.

use std::borrow::Cow;

use stepscope_model::Hint;

use crate::looks_like::LooksLike;

/// Why an input is not read at all. What is broken inside a readable trace is a warning instead.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// There is nothing in it.
    #[error("found an empty file, expected a trace")]
    Empty,
    /// No format knows it.
    #[error("not a trace that Stepscope reads: it looks like {0}")]
    Unrecognized(LooksLike),
    /// It may have been a trace, but there is no list of events in it.
    #[error("not a trace: it is JSON without a list `traceEvents`{}", looks_like.map(|it| format!("; it looks like {it}")).unwrap_or_default())]
    NoEvents {
        /// What it is instead, when that is known.
        looks_like: Option<LooksLike>,
    },
    /// It is of a format that Stepscope reads, and something in it is refused.
    #[error("refused: {reason}")]
    Refused {
        /// What it is, what is wrong with it, and at which byte.
        reason: String,
        /// What to do instead: one sentence, lowercase, without a final period.
        hint: &'static str,
    },
    /// Reading the bytes failed.
    #[error("cannot read: {0}")]
    Io(#[from] std::io::Error),
    /// The sink asked to stop.
    #[error("stopped")]
    Stopped,
}

impl Hint for FormatError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Empty => Some("the job was probably killed before the profiler wrote anything; record again".into()),
            Self::Unrecognized(looks_like) | Self::NoEvents { looks_like: Some(looks_like) } => {
                Some(looks_like.hint().into())
            }
            Self::NoEvents { looks_like: None } => Some(
                "a trace has its events in `traceEvents`; record again if the profiler was stopped before it wrote them"
                    .into(),
            ),
            Self::Refused { hint, .. } => Some((*hint).into()),
            Self::Io(_) | Self::Stopped => None,
        }
    }
}
