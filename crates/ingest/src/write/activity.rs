//! What is active while a span goes on (metrics, section 6).

use stepscope_model::{Class, Kind, SpanClass};

use crate::collect::names::NameFacts;
use crate::derive::stream::Span;
use crate::spill::strings::Strings;

/// What is active in an interval: a class, and whether it is a device that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity {
    /// The class that its time may go to.
    pub class: Class,
    /// Whether a device does it; gloo and its like communicate on the host.
    pub is_device: bool,
}

impl Activity {
    /// Everything that can be active.
    pub(crate) const ALL: [Self; 8] = [
        Self::on_device(Class::Kernel),
        Self::on_device(Class::Memcpy),
        Self::on_device(Class::Memset),
        Self::on_device(Class::Communication),
        Self::on_host(Class::Communication),
        Self::on_host(Class::Runtime),
        Self::on_host(Class::Dataloader),
        Self::on_host(Class::CpuExec),
    ];

    const fn on_device(class: Class) -> Self {
        Self { class, is_device: true }
    }

    const fn on_host(class: Class) -> Self {
        Self { class, is_device: false }
    }

    /// Its place in the list.
    pub(crate) fn index(self) -> Option<usize> {
        Self::ALL.iter().position(|activity| *activity == self)
    }
}

/// Whether an operator waits for the input pipeline.
pub(crate) fn waits_for_input(span: &Span<'_>) -> bool {
    let head = &span.record.head;
    head.kind == Kind::Op && head.facts.has(NameFacts::INPUT_WAIT)
}

/// What a host span or a device event does; `None` for mere labels.
pub(crate) fn activity(span: &Span<'_>, is_communication: bool, strings: &Strings) -> Option<Activity> {
    let head = &span.record.head;
    if waits_for_input(span) {
        return Some(Activity::on_host(Class::Dataloader));
    }
    let name = || head.name.map_or("", |name| strings.resolve(name, span.record.texts));
    match SpanClass::new(head.kind, is_communication, name) {
        SpanClass::Time(class) => Some(Activity { class, is_device: head.kind.is_device() }),
        SpanClass::Python | SpanClass::Annotation => None,
    }
}
