//! Things that were not right with an input: what each code means and whether it costs an event.

use crate::Note;

/// A code that a reader or the ingest may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarningCode {
    /// The code in tables and JSON. A code that ends in `:` is followed by what it is about.
    pub code: &'static str,
    /// Whether an element of the input is lost by it.
    pub is_loss: bool,
    /// What it means, in one sentence.
    pub doc: &'static str,
}

macro_rules! warning_codes {
    ($($name:ident, $code:literal, $is_loss:literal, $doc:literal;)+) => {
        $(
            #[doc = $doc]
            pub const $name: WarningCode = WarningCode { code: $code, is_loss: $is_loss, doc: $doc };
        )+

        /// Every code.
        pub static WARNING_CODES: &[WarningCode] = &[$($name),+];
    };
}

warning_codes! {
    BROKEN_EVENT, "broken_event", true, "The event is not valid; in JSON, reading continues at the next one.";
    CUT_EVENT, "cut_event", true, "The file ends inside the event.";
    EVENT_TOO_LONG, "event_too_long", true, "The event, or a string in it, is longer than the limit.";
    EVENT_TOO_DEEP, "event_too_deep", true, "The event nests deeper than the limit.";
    NOT_AN_OBJECT, "not_an_object", true, "An element of the event list is not an object.";
    BAD_TIME, "bad_time", true, "Time or duration is missing, not a number, or out of range.";
    NEGATIVE_DURATION, "negative_duration", true, "The duration is negative.";
    UNMATCHED_END, "unmatched_end", true, "The end of a span whose start was not recorded.";
    UNSUPPORTED_PHASE, "unsupported_phase:", true, "A phase that Stepscope does not read.";
    BROKEN_PLANE, "broken_plane", true, "A plane of the protobuf is not valid from some byte on; what came before it was read.";
    BROKEN_LINE, "broken_line", true, "A line of the file, or of a plane, is not valid; what came before it was read.";
    AGGREGATED_EVENT, "aggregated_event", true, "The event counts several and has no time.";
    REPEATED_CONTAINER, "repeated_container", true, "The file refers to an element that it already had.";
    METADATA, "metadata", false, "Names of processes and threads: absorbed into the table tracks.";
    PAIRED_END, "paired_end", false, "The end of a span: absorbed into the row of its start.";
    REPAIRED_QUOTES, "repaired_quotes", false, "A string holds unescaped quotes; it was read to its likely end.";
    BAD_VALUE, "bad_value", false, "A value is empty, NaN or infinite; it was read as null.";
    GARBAGE, "garbage", false, "Bytes between events that belong to none.";
    HEADER_BROKEN, "header_broken", false, "A part of the header could not be read.";
    DUPLICATE_FLOW_START, "duplicate_flow_start", false, "Two flows start with the same id.";
    MISSING_METADATA, "missing_metadata", false, "The name of the event is not in the file.";
    WRONG_TYPES, "wrong_types", false, "A value is of another type than it should be; it was read as null.";
    BROKEN_FIELD, "broken_field", false, "A detail of an element is not valid and was left out.";
    PROFILER_MESSAGE, "profiler_message", false, "The profiler itself reported a problem with its recording.";
    NOT_RECORDED, "not_recorded", false, "These regions are not in the file: the recorder's buffer was full, or they ended on another thread.";
    OPEN_END, "open_end", false, "The end of the span was not recorded; it is drawn to the last event of its track.";
}

/// What is broken about a trace, in words: by its notes and the number of events it lost, or of what its elements are
/// called. `None` when it is whole.
#[must_use]
pub fn damage(notes: &[Note], lost_events: u64, element: &str) -> Option<String> {
    let mut words: Vec<String> = notes.iter().filter_map(|note| note.damage()).map(str::to_owned).collect();
    match lost_events {
        0 => {}
        1 => words.push(format!("1 {element} is lost")),
        lost => words.push(format!("{lost} {element}s are lost")),
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// Whether `code`, as it stands in a table, costs an event.
#[must_use]
pub fn is_loss(code: &str) -> bool {
    let plain = code.find(':').map_or(code, |colon| &code[..=colon]);
    let known = WARNING_CODES.iter().find(|known| known.code == plain || known.code == plain.trim_end_matches(':'));
    known.is_none_or(|known| known.is_loss)
}
