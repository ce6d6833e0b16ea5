//! Which host spans and device events a change is about.

use crate::recording::{DeviceEvent, HostSpan, Recording};

/// A set of host spans and device events of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    spans: Vec<bool>,
    events: Vec<bool>,
}

impl Selection {
    /// Nothing.
    #[must_use]
    pub fn none(recording: &Recording) -> Self {
        Self { spans: vec![false; recording.spans.len()], events: vec![false; recording.events.len()] }
    }

    /// Device events that fit.
    #[must_use]
    pub fn of_events(recording: &Recording, fits: impl Fn(&DeviceEvent) -> bool) -> Self {
        Self { events: recording.events.iter().map(fits).collect(), ..Self::none(recording) }
    }

    /// Host spans that fit.
    #[must_use]
    pub fn of_spans(recording: &Recording, fits: impl Fn(&HostSpan) -> bool) -> Self {
        Self { spans: recording.spans.iter().map(fits).collect(), ..Self::none(recording) }
    }

    /// Host spans and device events by their places.
    #[must_use]
    pub fn of_places(recording: &Recording, spans: &[u32], events: &[u32]) -> Self {
        let mut selection = Self::none(recording);
        for &place in spans {
            selection.add_span(place);
        }
        for &place in events {
            selection.add_event(place);
        }
        selection
    }

    /// What either has.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        let add = |own: &mut Vec<bool>, other: &[bool]| {
            own.iter_mut().zip(other).for_each(|(own, other)| *own |= other);
        };
        add(&mut self.spans, &other.spans);
        add(&mut self.events, &other.events);
        self
    }

    /// What both have.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        let keep = |own: &mut Vec<bool>, other: &[bool]| {
            own.iter_mut().zip(other).for_each(|(own, other)| *own &= other);
        };
        keep(&mut self.spans, &other.spans);
        keep(&mut self.events, &other.events);
        self
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.spans.contains(&true) && !self.events.contains(&true)
    }

    pub(crate) fn has_span(&self, place: u32) -> bool {
        self.spans.get(place as usize).copied().unwrap_or(false)
    }

    pub(crate) fn has_event(&self, place: u32) -> bool {
        self.events.get(place as usize).copied().unwrap_or(false)
    }

    pub(crate) fn has_spans(&self) -> bool {
        self.spans.contains(&true)
    }

    pub(crate) fn add_span(&mut self, place: u32) {
        self.spans[place as usize] = true;
    }

    pub(crate) fn add_event(&mut self, place: u32) {
        self.events[place as usize] = true;
    }
}
