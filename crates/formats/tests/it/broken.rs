//! Real traces, cut and with flipped bytes: what is whole is kept.

use std::env;

use stepscope_formats::{Event, FormatError, Limits, ReadSummary, TraceSink, Value, Warning, read_trace};
use stepscope_testkit::{Corpus, Random, corpus, plain_bytes};

/// Traces of different generations and devices, none of them large.
const TRACES: [&str; 10] = [
    "aorta/mi350_200691.1758927066581847260.pt.trace.json",
    "hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
    "hta/triton_example/triton_example.json.gz",
    "kineto/misc/gpu_metrics_input.json",
    "kineto/misc/after_fix_trace.json",
    "particle_transformer/cpu_tensorboard_logs/4025559.1732704788383329918.pt.trace.json",
    "speedscope/trace-event/simple.json",
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
];

/// Where each event stands, and a mark of what it says.
#[derive(Default)]
struct Marks {
    events: Vec<(u64, u64)>,
    elements: u64,
}

impl TraceSink for Marks {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        self.elements += 1;
        let Event { name, start, dur, thread, args, .. } = event;
        let said = format!("{name:?} {:?} {:?} {thread:?} {args:?}", start.recorded, dur.recorded);
        // FNV-1a: the same in every run.
        let mark = said
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |mark: u64, byte| (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        self.events.push((event.offset_bytes, mark));
    }

    fn warning(&mut self, warning: &Warning<'_>) {
        if warning.code.is_loss {
            assert_eq!(warning.position, Some(self.elements));
            self.elements += 1;
        }
    }

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

fn read(bytes: &[u8]) -> (Marks, Result<ReadSummary, FormatError>) {
    let mut marks = Marks::default();
    let outcome = read_trace(bytes, &Limits::default(), &mut marks);
    (marks, outcome)
}

/// Cases for each trace.
fn cases() -> usize {
    let total = env::var("STEPSCOPE_CASES_BROKEN").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    usize::div_ceil(total, TRACES.len())
}

/// The plain bytes of each trace, what is in it, and where its list of events is.
fn traces(corpus: &Corpus) -> impl Iterator<Item = (&'static str, Vec<u8>, Marks, std::ops::Range<usize>)> {
    TRACES.into_iter().map(|name| {
        let plain = plain_bytes(&corpus.trace(name));
        let (whole, outcome) = read(&plain);
        outcome.expect("the trace is whole");
        let first = whole.events.first().expect("there are events").0 as usize;
        let last = whole.events.last().expect("there are events").0 as usize;
        let end = last + plain[last..].iter().position(|&byte| byte == b']').unwrap_or(plain.len() - last - 1);
        (name, plain, whole, first..end)
    })
}

#[test]
#[ignore = "needs the corpus"]
fn cuts_keep_every_complete_event() {
    let corpus = corpus();
    let mut random = Random::new(11);
    for (name, plain, whole, list) in traces(&corpus) {
        for _ in 0..cases() {
            let cut = list.start + random.below(plain.len() - list.start);
            let (marks, outcome) = read(&plain[..cut]);
            outcome.unwrap_or_else(|error| panic!("{name} cut at {cut}: {error}"));
            // An event is whole when the next one begins before the cut, or at least its own brace is there.
            let begun = whole.events.iter().take_while(|event| event.0 < cut as u64).count();
            assert!(marks.events.len() + 1 >= begun, "{name} cut at {cut}: {} of {begun}", marks.events.len());
            assert_eq!(marks.events[..], whole.events[..marks.events.len()], "{name} cut at {cut}");
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn flips_lose_two_events_at_most() {
    let corpus = corpus();
    let mut random = Random::new(12);
    let mut losses = [0_usize; 4];
    for (name, plain, whole, list) in traces(&corpus) {
        for _ in 0..cases() {
            let at = list.start + random.below(list.len());
            let mut flipped = plain.clone();
            // Half of the flips hit structure, as most bytes are but digits and letters of texts.
            let at = if random.below(2) == 0 { at } else { next_structural(&plain, at, list.end) };
            flipped[at] = flip(&mut random, plain[at]);
            let (marks, outcome) = read(&flipped);
            let what = format!("{name}: byte {at} {:?} became {:?}", char::from(plain[at]), char::from(flipped[at]));
            outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
            let lost = count_lost(&whole.events, &marks.events);
            losses[lost.min(3)] += 1;
            assert!(marks.elements >= whole.elements, "{what}: a loss was not counted");
            assert!(lost <= 2, "{what}: {lost} lost near {}", plain[at.saturating_sub(60)..at + 60].escape_ascii());
        }
    }
    eprintln!("flips that lose 0, 1, 2, more events: {losses:?}");
}

/// Another byte: one bit flipped, a random byte, or one that means something in JSON.
fn flip(random: &mut Random, byte: u8) -> u8 {
    let flipped = match random.below(3) {
        0 => byte ^ (1 << random.below(8)),
        1 => random.below(256) as u8,
        _ => b"{}[],:\"\\ 0"[random.below(10)],
    };
    if flipped == byte { byte ^ 1 } else { flipped }
}

fn next_structural(plain: &[u8], from: usize, end: usize) -> usize {
    plain[from..end].iter().position(|byte| b"{}[],:\"".contains(byte)).map_or(from, |at| from + at)
}

/// Events of the whole trace that are neither there unchanged nor, changed, at the same place.
fn count_lost(whole: &[(u64, u64)], seen: &[(u64, u64)]) -> usize {
    let is_seen = |event: &&(u64, u64)| seen.binary_search_by_key(&event.0, |other| other.0).is_ok();
    let marks: std::collections::HashSet<u64> = seen.iter().map(|event| event.1).collect();
    whole.iter().filter(|event| !is_seen(event) && !marks.contains(&event.1)).count()
}
