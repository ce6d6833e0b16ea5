//! What an instant of a step goes to (metrics, section 6).

use serde::Serialize;

use crate::kind::Kind;

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
    pub fn as_text(self) -> &'static str {
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

    /// What an annotation stands for whose name makes it an operator; `None` for a mere label and for the mark of a step.
    #[must_use]
    pub fn of_annotation(name: &str) -> Option<Self> {
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let is_loader = name.starts_with("enumerate(DataLoader)#");
        if starts(&["enumerate(DataPipe)#"]) || (is_loader && name.ends_with(".__next__")) {
            Some(Self::Dataloader)
        } else if starts(&["gloo:", "mpi:", "ucc:"]) {
            // With these the host itself does the transfer; spans such as nccl:all_reduce only enqueue it.
            Some(Self::Communication)
        } else if is_loader
            || starts(&["Optimizer.", "nccl:", "xccl:", "hccl:"])
            || matches!(name, "DataParallel.forward" | "DistributedDataParallel.forward")
        {
            Some(Self::CpuExec)
        } else {
            None
        }
    }
}

/// What a span is on a timeline: a class of a step's time, or a label. The view `timeline_spans` has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanClass {
    /// Work, waiting, or anything else.
    Time(Class),
    /// A Python frame.
    Python,
    /// A label around work.
    Annotation,
}

impl SpanClass {
    /// Every class.
    pub const ALL: [Self; 10] = [
        Self::Time(Class::Kernel),
        Self::Time(Class::Memcpy),
        Self::Time(Class::Memset),
        Self::Time(Class::Communication),
        Self::Time(Class::Runtime),
        Self::Time(Class::Dataloader),
        Self::Time(Class::CpuExec),
        Self::Time(Class::Other),
        Self::Python,
        Self::Annotation,
    ];

    /// The class of a span; only annotations are told apart by their name.
    #[must_use]
    pub fn new<'a>(kind: Kind, is_communication: bool, name: impl FnOnce() -> &'a str) -> Self {
        match kind {
            Kind::Kernel if is_communication => Self::Time(Class::Communication),
            Kind::Kernel => Self::Time(Class::Kernel),
            Kind::Memcpy => Self::Time(Class::Memcpy),
            Kind::Memset => Self::Time(Class::Memset),
            Kind::Runtime | Kind::Sync => Self::Time(Class::Runtime),
            Kind::Op => Self::Time(Class::CpuExec),
            Kind::Annotation => Class::of_annotation(name()).map_or(Self::Annotation, Self::Time),
            Kind::GpuAnnotation => Self::Annotation,
            Kind::Python => Self::Python,
            Kind::Overhead | Kind::Window | Kind::Mtia | Kind::Range | Kind::Other => Self::Time(Class::Other),
        }
    }

    /// The name in tables.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Time(class) => class.as_text(),
            Self::Python => "python",
            Self::Annotation => "annotation",
        }
    }

    /// Its place in the list.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Time(class) => class as usize,
            Self::Python => Class::ALL.len(),
            Self::Annotation => Class::ALL.len() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_a_span_is_where_it_says() {
        for (place, class) in SpanClass::ALL.into_iter().enumerate() {
            assert_eq!(class.index(), place);
        }
    }
}
