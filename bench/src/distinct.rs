//! A trace of mostly distinct strings: names, stacks and arguments that hardly ever come twice.
//!
//! It is what a string table likes least. All of it follows from the number of a unit, so that what the answers must be
//! is known without reading it. A unit is a Python frame, an operator, the call that launched its kernel, and the kernel.

use std::io::Write;

use anyhow::Result;

use crate::fingerprint::Fingerprint;

/// Microseconds from unit to unit.
const UNIT_US: u64 = 100;

/// Large enough that all times and ids have the same number of digits, so that each unit takes the same room.
const FIRST_US: u64 = 1_000_000_000_000;
const FIRST_ID: u64 = 1_000_000_000;

const STACK_FRAMES: u64 = 4;
const OPENING: &str = "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"Bench GPU\"}], \"traceEvents\": [\n\
    {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 7, \"tid\": 0, \"ts\": 0, \"args\": {\"name\": \"python\"}}";
const CLOSING: &str = "\n], \"displayTimeUnit\": \"ms\"}\n";

/// How many units make a trace of about that many bytes.
pub(crate) fn units_for(bytes: u64) -> u64 {
    let unit: usize = EVENTS.iter().map(|event| event(0).len()).sum();
    (bytes / unit as u64).max(1)
}

/// Writes a trace of that many units, laid out as Kineto does: all events of a kind behind each other.
pub(crate) fn write(units: u64, out: &mut dyn Write) -> Result<()> {
    out.write_all(OPENING.as_bytes())?;
    for event in EVENTS {
        for unit in 0..units {
            out.write_all(event(unit).as_bytes())?;
        }
    }
    Ok(out.write_all(CLOSING.as_bytes())?)
}

/// What is wrong with the answers about such a trace; nothing when all is as it must be.
pub(crate) fn problems(units: u64, found: &Fingerprint) -> Vec<String> {
    let count = |kind: &str| found.spans_by_kind.get(kind).copied().unwrap_or(0);
    let units_signed = units as i64;
    let linked: i64 = found.device_dur_ns_by_link.values().sum();
    let checks = [
        ("events_in", found.events_in as i64, 4 * units_signed + 1),
        ("spans of kind py", count("py") as i64, units_signed),
        ("spans of kind op", count("op") as i64, units_signed),
        ("spans of kind rt", count("rt") as i64, units_signed),
        ("spans of kind kernel", count("kernel") as i64, units_signed),
        ("sum of dur_ns", found.dur_ns, 185_000 * units_signed),
        // Frame 90 − 60 (operators take time from the frame around them), operator 60 − 5, call 5, kernel 30 µs.
        ("sum of self_ns", found.self_ns, 120_000 * units_signed),
        ("device time of all links", linked, 30_000 * units_signed),
    ];
    let wrong = checks.into_iter().filter(|(_, found, expected)| found != expected);
    wrong.map(|(what, found, expected)| format!("{what}: {found} instead of {expected}")).collect()
}

const EVENTS: [fn(u64) -> String; 4] = [operator, frame, launch, kernel];

fn operator(unit: u64) -> String {
    let (start, id) = (FIRST_US + unit * UNIT_US + 5, FIRST_ID + unit);
    let (name, note, stack) = (word(unit, 1), word(unit, 2), stack(unit));
    format!(
        ",\n{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"custom::op_{name}\", \"pid\": 7, \"tid\": 7, \"ts\": {start}, \"dur\": 60, \
         \"args\": {{\"External id\": {id}, \"Call stack\": \"{stack}\", \"Concrete Inputs\": [\"{note}\"]}}}}"
    )
}

fn frame(unit: u64) -> String {
    let (start, id) = (FIRST_US + unit * UNIT_US, FIRST_ID + unit);
    let (file, function) = (word(unit, 3), word(unit, 4));
    format!(
        ",\n{{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"generated/{file}.py(17): call_{function}\", \"pid\": 7, \"tid\": 7, \
         \"ts\": {start}, \"dur\": 90, \"args\": {{\"Python id\": {id}, \"Python parent id\": null}}}}"
    )
}

fn launch(unit: u64) -> String {
    let (start, id) = (FIRST_US + unit * UNIT_US + 10, FIRST_ID + unit);
    let note = word(unit, 5);
    format!(
        ",\n{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7, \"tid\": 7, \"ts\": {start}, \"dur\": 5, \
         \"args\": {{\"External id\": {id}, \"correlation\": {id}, \"note\": \"{note}\"}}}}"
    )
}

fn kernel(unit: u64) -> String {
    let (start, id) = (FIRST_US + unit * UNIT_US + 20, FIRST_ID + unit);
    let (name, template, note) = (word(unit, 6), word(unit, 7), word(unit, 8));
    format!(
        ",\n{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void fused_{name}<Tile_{template}>(Params)\", \"pid\": 0, \"tid\": 7, \
         \"ts\": {start}, \"dur\": 30, \"args\": {{\"External id\": {id}, \"correlation\": {id}, \"device\": 0, \"stream\": 7, \
         \"note\": \"{note}\"}}}}"
    )
}

fn stack(unit: u64) -> String {
    let frame =
        |number| format!("packages/{}/layer.py(41): forward_{}", word(unit, 10 + number), word(unit, 20 + number));
    (0..STACK_FRAMES).map(frame).collect::<Vec<_>>().join(";")
}

/// Sixteen hexadecimal digits that look like chance (`SplitMix64`).
fn word(unit: u64, salt: u64) -> String {
    let mut mixed = ((unit << 8) | salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", mixed ^ (mixed >> 31))
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, units_for, write};

    #[test]
    fn a_trace_is_json_of_the_size_asked_for() {
        let units = units_for(100_000);
        let mut out = Vec::new();
        write(units, &mut out).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["traceEvents"].as_array().unwrap().len() as u64, 4 * units + 1);
        assert!((98_000..102_000).contains(&out.len()), "{}", out.len());
        assert_eq!(EVENTS[0](0).len(), EVENTS[0](1_234_567).len());
    }
}
