//! What an instant of a step goes to (metrics, section 6).

use serde::Serialize;

/// The classes by priority: an instant belongs to the first that is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Kernels that compute.
    Kernel,
    /// Copies.
    Memcpy,
    /// Fills.
    Memset,
    /// Kernels that communicate, and transfers that the host does itself.
    Communication,
    /// Calls into the device's runtime.
    Runtime,
    /// Waiting for the data loader.
    Dataloader,
    /// Operators on the host.
    CpuExec,
    /// What no other class covers.
    Other,
}

impl Class {
    /// Every class, by priority.
    pub const ALL: [Self; 8] = [
        Self::Kernel,
        Self::Memcpy,
        Self::Memset,
        Self::Communication,
        Self::Runtime,
        Self::Dataloader,
        Self::CpuExec,
        Self::Other,
    ];

    /// The name in JSON and in tables.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::Communication => "communication",
            Self::Runtime => "runtime",
            Self::Dataloader => "dataloader",
            Self::CpuExec => "cpu_exec",
            Self::Other => "other",
        }
    }

    /// The class of that name.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_text() == text)
    }
}
