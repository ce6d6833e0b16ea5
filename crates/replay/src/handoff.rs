//! Work that the thread of the script hands to backward threads, and waits for (A2).

use stepscope_model::Kind;

use crate::class::EdgeKind;
use crate::draft::{Draft, Edge, NONE, Node, Subject};
use crate::host::Host;
use crate::recording::Recording;

/// A piece of a backward thread that lies in a gap of the script.
struct Burst {
    first: Node,
    last: Node,
    thread: u32,
}

/// Adds the handoffs of the window; gives their number.
pub(crate) fn add_handoffs(recording: &Recording, host: &Host, draft: &mut Draft) -> u64 {
    let Some(script) = host.script else { return 0 };
    let in_backward = backward_spans(recording, host);
    let backward = backward_threads(recording, script);
    if backward.is_empty() {
        return 0;
    }
    let mut handoffs = 0;
    let mut before: Option<Node> = None;
    for node in host.chains[script as usize].clone() {
        if in_backward[span_of(draft, node) as usize] {
            continue;
        }
        let Some(from) = before.replace(node) else { continue };
        // Only a gap without an operator or a call can be a wait.
        if !draft.point(node).is_bare || draft.time(from) == draft.time(node) {
            continue;
        }
        let bursts: Vec<Burst> = backward
            .iter()
            .filter_map(|&thread| burst(recording, host, draft, thread, (draft.time(from), draft.time(node))))
            .collect();
        if !bursts.is_empty() {
            hand_over(host, draft, &bursts, (from, node), &in_backward);
            handoffs += 1;
        }
    }
    handoffs
}

/// Makes the bursts follow `from`, and `to` follow the last of them.
fn hand_over(host: &Host, draft: &mut Draft, bursts: &[Burst], (from, to): (Node, Node), in_backward: &[bool]) {
    for burst in bursts {
        let before: Vec<Node> = draft.edges_into(burst.first).map(|edge| edge.source).collect();
        draft.clear_edges(burst.first);
        for source in before {
            draft.add_edge(burst.first, Edge { source, kind: EdgeKind::Idle, typical_ns: 0 });
        }
        add_handoff(draft, from, burst.first);
    }
    // Backward operators on the thread of the script itself follow the bursts so far.
    for node in from + 1..to {
        let parent = host.parents[span_of(draft, node) as usize];
        let is_top = parent == NONE || !in_backward[parent as usize];
        if !draft.point(node).is_start || !is_top {
            continue;
        }
        let latest = bursts.iter().filter_map(|burst| latest_point(host, draft, burst.thread, draft.time(node)));
        let source = latest.max_by_key(|&point| (draft.time(point), std::cmp::Reverse(point)));
        if let Some(source) = source.filter(|&source| draft.time(source) >= draft.time(from)) {
            follow(draft, source, node);
        }
    }
    let last = bursts.iter().map(|burst| burst.last).max_by_key(|&last| (draft.time(last), std::cmp::Reverse(last)));
    if let Some(last) = last {
        follow(draft, last, to);
    }
}

/// Makes a node follow one of another thread, and what was before it on its own idle.
fn follow(draft: &mut Draft, source: Node, node: Node) {
    let before = draft.first_edge(node);
    draft.clear_edges(node);
    if let Some(before) = before {
        draft.add_edge(node, Edge { source: before.source, kind: EdgeKind::Idle, typical_ns: 0 });
    }
    add_handoff(draft, source, node);
}

fn add_handoff(draft: &mut Draft, source: Node, target: Node) {
    let typical_ns = draft.time(target) - draft.time(source);
    draft.add_edge(target, Edge { source, kind: EdgeKind::Handoff, typical_ns });
}

/// What a backward thread does between two times, if it begins an operator and ends everything that it begins.
fn burst(recording: &Recording, host: &Host, draft: &Draft, thread: u32, (from, to): (i64, i64)) -> Option<Burst> {
    let chain = host.chains[thread as usize].clone();
    let times = &draft.times[chain.start as usize..chain.end as usize];
    let mut start = chain.start + times.partition_point(|time| *time < from) as Node;
    let mut end = chain.start + times.partition_point(|time| *time <= to) as Node;
    // Ends of what began before, and starts of what runs on, are not of it.
    while start < end && !draft.point(start).is_start {
        start += 1;
    }
    while start < end && draft.point(end - 1).is_start {
        end -= 1;
    }
    let is_inside = |node: Node| node != NONE && (start..end).contains(&node);
    let mut has_operator = false;
    for node in start..end {
        let span = span_of(draft, node) as usize;
        let other = if draft.point(node).is_start { host.ends[span] } else { host.starts[span] };
        if !is_inside(other) {
            return None;
        }
        has_operator |= recording.spans[span].kind == Kind::Op;
    }
    has_operator.then(|| Burst { first: start, last: end - 1, thread })
}

/// The last point of a thread at or before a time.
fn latest_point(host: &Host, draft: &Draft, thread: u32, time_ns: i64) -> Option<Node> {
    let chain = host.chains[thread as usize].clone();
    let times = &draft.times[chain.start as usize..chain.end as usize];
    let count = times.partition_point(|time| *time <= time_ns) as Node;
    (count > 0).then(|| chain.start + count - 1)
}

fn is_backward(recording: &Recording, place: usize) -> bool {
    let span = &recording.spans[place];
    span.kind == Kind::Op && recording.names.facts(span.name).is_backward
}

/// For each span whether it is, or lies in, an operator of autograd.
fn backward_spans(recording: &Recording, host: &Host) -> Vec<bool> {
    let mut found = vec![false; recording.spans.len()];
    for place in 0..found.len() {
        let parent = host.parents[place];
        found[place] = is_backward(recording, place) || (parent != NONE && found[parent as usize]);
    }
    found
}

/// Threads other than the script's with an operator of autograd, by text.
fn backward_threads(recording: &Recording, script: u32) -> Vec<u32> {
    let mut has = vec![false; recording.threads.len()];
    for (place, span) in recording.spans.iter().enumerate() {
        has[span.thread as usize] = has[span.thread as usize] || is_backward(recording, place);
    }
    recording.threads_by_text().into_iter().filter(|&thread| thread != script && has[thread as usize]).collect()
}

fn span_of(draft: &Draft, node: Node) -> u32 {
    match draft.point(node).subject {
        Subject::Span(place) | Subject::Event(place) | Subject::Join(place) => place,
    }
}
