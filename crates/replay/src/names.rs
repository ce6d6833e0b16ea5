//! Names of spans, each kept once, with what a name alone says about a span.

use std::collections::HashMap;

use stepscope_model::{Class, Kind};

use crate::class::PathClass;

/// Number of a name in its [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(u32);

/// Distinct names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    list: Vec<Box<str>>,
    facts: Vec<NameFacts>,
    ids: HashMap<Box<str>, NameId>,
}

/// Some of the names.
#[derive(Clone, Debug)]
pub struct NameSet(Vec<bool>);

impl NameSet {
    /// Whether a name is one of them.
    #[must_use]
    pub fn has(&self, id: NameId) -> bool {
        self.0.get(id.0 as usize).copied().unwrap_or(false)
    }
}

/// What a runtime call is there for, as far as waiting is concerned (A4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallRole {
    /// Waits for every stream.
    DeviceSync,
    /// Waits for one stream.
    StreamSync,
    /// Waits for a recorded event.
    EventSync,
    /// Makes a stream wait for another one.
    StreamWait,
    /// Anything else.
    Plain,
}

/// What a name says.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a text")]
pub(crate) struct NameFacts {
    /// The class of an annotation of that name; `None` for a label and for the mark of a step.
    annotation: Option<Class>,
    pub role: CallRole,
    pub is_profiler_step: bool,
    pub is_serving_step: bool,
    pub is_optimizer_step: bool,
    pub is_backward: bool,
    /// A call that returns before its copy is done, as far as its name says.
    pub is_async: bool,
    pub is_pageable: bool,
    /// A copy that the host has to stage.
    pub is_from_pageable: bool,
    pub is_to_device: bool,
}

impl Names {
    /// The number of a name.
    pub fn intern(&mut self, name: &str) -> NameId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = NameId(self.list.len() as u32);
        self.list.push(name.into());
        self.facts.push(NameFacts::of(name));
        self.ids.insert(name.into(), id);
        id
    }

    /// The name with that number.
    #[must_use]
    pub fn text(&self, id: NameId) -> &str {
        &self.list[id.0 as usize]
    }

    /// The names that fit; each is looked at once, however many spans have it.
    #[must_use]
    pub fn that(&self, fits: impl Fn(&str) -> bool) -> NameSet {
        NameSet(self.list.iter().map(|name| fits(name)).collect())
    }

    pub(crate) fn facts(&self, id: NameId) -> &NameFacts {
        &self.facts[id.0 as usize]
    }
}

impl NameFacts {
    pub(crate) fn of(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        Self {
            annotation: class_of(name),
            role: CallRole::of(name),
            is_profiler_step: name.strip_prefix("ProfilerStep#").is_some_and(is_digits),
            is_serving_step: is_serving_step(name),
            is_optimizer_step: name.starts_with("Optimizer.step"),
            is_backward: is_backward(name),
            is_async: lower.contains("async"),
            is_pageable: lower.contains("pageable"),
            is_from_pageable: lower.contains("pageable ->"),
            is_to_device: name.contains("HtoD"),
        }
    }

    /// The class that a host span of this name gives to the time under it (A2).
    pub(crate) fn host_class(&self, kind: Kind) -> PathClass {
        match (kind, self.annotation) {
            (Kind::Runtime, _) => PathClass::Runtime,
            (_, Some(Class::Dataloader)) => PathClass::Dataloader,
            (_, Some(Class::Communication)) => PathClass::Communication,
            (Kind::Op, _) | (_, Some(_)) => PathClass::CpuExec,
            (_, None) => PathClass::Other,
        }
    }
}

/// The class that a name alone tells: annotations of torch, and waits for the input pipeline of TensorFlow.
fn class_of(name: &str) -> Option<Class> {
    if name.starts_with("IteratorGetNext") { Some(Class::Dataloader) } else { Class::of_annotation(name) }
}

impl CallRole {
    fn of(name: &str) -> Self {
        let Some(call) = ["cuda", "hip", "cu"].iter().find_map(|prefix| name.strip_prefix(prefix)) else {
            return Self::Plain;
        };
        let starts = |word: &str| call.starts_with(word);
        let is_driver = !name.starts_with("cuda") && !name.starts_with("hip");
        if starts("CtxSynchronize") || (starts("DeviceSynchronize") && !is_driver) {
            Self::DeviceSync
        } else if starts("StreamSynchronize") {
            Self::StreamSync
        } else if starts("EventSynchronize") {
            Self::EventSync
        } else if starts("StreamWaitEvent") {
            Self::StreamWait
        } else {
            Self::Plain
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `execute_…context_…generation_…`, as serving engines mark a step.
fn is_serving_step(name: &str) -> bool {
    let rest = name.strip_prefix("execute_");
    rest.and_then(|rest| rest.split_once("context_")).is_some_and(|(_, rest)| rest.contains("generation_"))
}

/// Whether autograd runs an operator of this name.
fn is_backward(name: &str) -> bool {
    name.starts_with("autograd::engine::evaluate_function")
        || name.ends_with("AccumulateGrad")
        || name.trim_end_matches(|letter: char| letter.is_ascii_digit()).ends_with("Backward")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_wait_are_known_by_name() {
        for (name, want) in [
            ("cudaDeviceSynchronize", CallRole::DeviceSync),
            ("hipDeviceSynchronize", CallRole::DeviceSync),
            ("cuCtxSynchronize", CallRole::DeviceSync),
            ("cudaStreamSynchronize", CallRole::StreamSync),
            ("cuStreamSynchronize", CallRole::StreamSync),
            ("hipEventSynchronize", CallRole::EventSync),
            ("cudaStreamWaitEvent", CallRole::StreamWait),
            // It only asks.
            ("cudaEventQuery", CallRole::Plain),
            ("cudaLaunchKernel", CallRole::Plain),
            ("aten::cudaStreamSynchronize", CallRole::Plain),
        ] {
            assert_eq!(CallRole::of(name), want, "{name}");
        }
    }

    #[test]
    fn backward_operators_are_known_by_name() {
        for name in ["autograd::engine::evaluate_function: X", "MmBackward0", "AddmmBackward", "torch::AccumulateGrad"]
        {
            assert!(is_backward(name), "{name}");
        }
        for name in ["aten::mm", "Backward hook", "MmBackward0x"] {
            assert!(!is_backward(name), "{name}");
        }
    }

    #[test]
    fn marks_of_steps_are_known_by_name() {
        assert!(NameFacts::of("ProfilerStep#12").is_profiler_step && !NameFacts::of("ProfilerStep#").is_profiler_step);
        assert!(is_serving_step("execute_context_1(8)_generation_0(0)") && !is_serving_step("execute_generation_"));
    }

    #[test]
    fn the_class_of_host_time_follows_the_rules_in_their_order() {
        let class = |kind, name: &str| NameFacts::of(name).host_class(kind);
        assert_eq!(class(Kind::Runtime, "cudaMalloc"), PathClass::Runtime);
        assert_eq!(class(Kind::Annotation, "enumerate(DataPipe)#x"), PathClass::Dataloader);
        assert_eq!(class(Kind::Annotation, "gloo:all_reduce"), PathClass::Communication);
        assert_eq!(class(Kind::Op, "aten::mm"), PathClass::CpuExec);
        assert_eq!(class(Kind::Annotation, "Optimizer.step#SGD.step"), PathClass::CpuExec);
        assert_eq!(class(Kind::Annotation, "forward"), PathClass::Other);
        assert_eq!(class(Kind::Annotation, "ProfilerStep#1"), PathClass::Other);
    }
}
