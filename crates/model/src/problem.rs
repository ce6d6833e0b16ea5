//! What is in the way, in parts.

use serde::Serialize;

/// What happened, where, and what to do next: parts, so that nobody takes a message apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Problem {
    /// What happened.
    pub message: String,
    /// The file, and the place in it.
    pub location: Option<String>,
    /// What to do next.
    pub hint: Option<String>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.location {
            Some(location) => write!(f, "{}: {location}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
