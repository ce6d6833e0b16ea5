//! What a trace is made of.

use serde::{Deserialize, Serialize};

/// What a format yields, and so what a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Events, each with its time.
    Events,
    /// Functions with their calls added up, without times of day.
    FunctionTotals,
}

impl Content {
    /// What an element is called.
    #[must_use]
    pub fn element(self) -> &'static str {
        match self {
            Self::Events => "event",
            Self::FunctionTotals => "function",
        }
    }
}
