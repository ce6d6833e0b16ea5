//! Fusing and removing on graphs where they meet waits, nesting, several streams and graph launches. The answers are
//! worked out by hand, in microseconds.

use stepscope_model::Kind;
use stepscope_replay::{Change, Selection, StepModel};

use crate::by_hand::ByHand;

fn named(model: &StepModel, names: &[&str]) -> Vec<u32> {
    let recording = model.recording();
    let is_named = |place: &u32| names.contains(&recording.names.text(recording.events[*place as usize].name));
    (0..recording.events.len() as u32).filter(is_named).collect()
}

#[track_caller]
fn check_fused(model: &StepModel, names: &[&str], want_us: i64) {
    assert!(model.is_identity_exact());
    assert_eq!(model.replay(&[Change::Fuse(vec![named(model, names)])]).anchored_ns, [want_us * 1000], "{names:?}");
}

#[track_caller]
fn check_removed(model: &StepModel, names: &[&str], want_us: i64) {
    assert!(model.is_identity_exact());
    let recording = model.recording();
    let is_named = |name| names.contains(&recording.names.text(name));
    let events = Selection::of_events(recording, |event| is_named(event.name));
    let set = events.or(&Selection::of_spans(recording, |span| is_named(span.name)));
    assert_eq!(model.replay(&[Change::Remove(set)]).anchored_ns, [want_us * 1000], "{names:?}");
}

/// `b` on stream 7 waits for `x` on stream 20, and `c` runs 1 behind it; the mark ends at 60:
///
/// - call 2–3 launches `x` 10–50; `aten::a` 8–14 with a call 10–12 launches `a` 18–28, 8 later, as `x`;
/// - a wait call 16–17; `aten::b` 19–25 with a call 20–22 launches `b` 52–62, 2 behind `x`;
/// - a call 30–32 launches `c` 63–73.
fn two_streams() -> StepModel {
    ByHand::new()
        .step(0, 60)
        .launch((2, 1), "x", 20, (10, 40))
        .op("aten::a", 8, 6)
        .launch((10, 2), "a", 7, (18, 10))
        .call("cudaStreamWaitEvent", 16, 1)
        .op("aten::b", 19, 6)
        .launch((20, 2), "b", 7, (52, 10))
        .launch((30, 2), "c", 7, (63, 10))
        .model()
}

#[test]
fn fused_events_wait_for_other_streams_as_before() {
    let model = two_streams();
    assert_eq!(model.notes.count("cross_stream_inferred"), 1);
    // b is part of a but waits for x, 2 behind its end at 50: it ends at 62, and c 11 later.
    check_fused(&model, &["a", "b"], 73);
    // c begins with the end of b.
    check_fused(&model, &["b", "c"], 72);
    // Events of another stream are not between those of this one, and x has nothing before it.
    check_fused(&model, &["x", "a", "b", "c"], 72);
    check_fused(&model, &["x", "a"], 73);
    check_fused(&model, &["a", "c"], 73);
}

#[test]
fn what_follows_a_removed_event_still_waits_for_what_that_waited_for() {
    let model = two_streams();
    // b is at 50, with the end of x; c follows 1 later, 51–61.
    check_removed(&model, &["b"], 61);
    // Without the call of x everything on the host is 1 earlier. b follows a by the usual gap of 1, 28–38, then c 39–49;
    // the mark ends last.
    check_removed(&model, &["x"], 59);
}

/// `aten::b` launches `b` and waits for it; the mark ends at 100:
///
/// - `aten::a` 5–15 with a call 8–10 launches `a` 12–32;
/// - `aten::b` 20–60 with a call 22–24 launches `b` 34–50, 2 behind `a`, and waits 26–52, until 2 after it.
fn waiting_operator() -> StepModel {
    ByHand::new()
        .step(0, 100)
        .op("aten::a", 5, 10)
        .launch((8, 2), "a", 7, (12, 20))
        .op("aten::b", 20, 40)
        .launch((22, 2), "b", 7, (34, 16))
        .call("cudaStreamSynchronize", 26, 26)
        .model()
}

#[test]
fn a_wait_inside_a_fused_operator_stays() {
    let model = waiting_operator();
    assert_eq!(model.edge_count(stepscope_replay::EdgeKind::Sync), 1);
    // b runs 32–48 and is awaited until 50. The other 8 of aten::b are gone, and 40 of the mark are left.
    check_fused(&model, &["a", "b"], 90);
}

#[test]
fn a_wait_inside_a_removed_operator_goes() {
    let model = waiting_operator();
    // aten::b takes nothing from 20 on, so the mark ends at 60. b is launched at 20, and still runs 34–50.
    check_removed(&model, &["aten::b"], 60);
    // Without b the wait is over 2 after a, which b ends with: 34. Then 8 and 40.
    check_removed(&model, &["b"], 82);
}

#[test]
fn the_operator_around_a_fused_one_stays() {
    // aten::outer 5–45 launches a itself and b by aten::inner 20–30; both are 1 long, 6 after their calls.
    let model = ByHand::new()
        .step(0, 50)
        .op("aten::outer", 5, 40)
        .launch((10, 2), "a", 7, (16, 1))
        .op("aten::inner", 20, 10)
        .launch((22, 2), "b", 7, (28, 1))
        .model();
    check_fused(&model, &["a", "b"], 40);
    // Removed, b takes only its call with it.
    check_removed(&model, &["b"], 48);
    check_removed(&model, &["aten::inner"], 40);
    // Both calls are at 5: a runs 11–12, and b after the usual gap of 1. The mark ends at 10.
    check_removed(&model, &["aten::outer"], 14);
    // Nested spans are not counted twice.
    check_removed(&model, &["aten::outer", "aten::inner"], 14);
}

/// A call 10–15 launches `a` 16–26 and `b` 28–38, and a call 20–22 launches `c` 40–50; the mark ends at 30.
fn graph_launch() -> StepModel {
    let by_hand = ByHand::new().step(0, 30).call("cudaGraphLaunch", 10, 5);
    by_hand
        .event(Kind::Kernel, "a", 7, (16, 10), Some(1))
        .event(Kind::Kernel, "b", 7, (28, 10), Some(1))
        .launch((20, 2), "c", 7, (40, 10))
        .model()
}

#[test]
fn a_launch_of_several_events_goes_with_the_last_of_them() {
    let model = graph_launch();
    // Gaps of 2 are gone, one for each event that is part of the one before.
    check_fused(&model, &["a", "b"], 48);
    check_fused(&model, &["b", "c"], 48);
    check_fused(&model, &["a", "b", "c"], 46);
    // b is at 26, with the end of a; c 28–38.
    check_removed(&model, &["b"], 38);
    // The call takes nothing, so that of c is at 15: c begins 6 later and ends at 31. The mark ends at 25.
    check_removed(&model, &["a", "b"], 31);
    check_removed(&model, &["a", "b", "c"], 23);
}

#[test]
fn a_removed_copy_takes_the_wait_of_its_call_with_it() {
    // A pageable copy 20–40, staged for 10; its call 10–45 returns 5 after it, in aten::copy_ 5–50.
    let model = ByHand::new()
        .step(0, 60)
        .op("aten::copy_", 5, 45)
        .launch((10, 35), "Memcpy HtoD (Pageable -> Device)", 7, (20, 20))
        .model();
    // 5 of Python, 5 before the call and 5 behind it, 10 of Python.
    check_removed(&model, &["Memcpy HtoD (Pageable -> Device)"], 25);
    // Without the operator the copy is launched at 5: it runs 15–35.
    check_removed(&model, &["aten::copy_"], 35);
}
