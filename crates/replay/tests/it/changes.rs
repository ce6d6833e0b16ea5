//! Each change on a small recording whose answer is worked out by hand, in microseconds.

use stepscope_model::Kind;
use stepscope_replay::recording::HostSpan;
use stepscope_replay::{Change, EdgeKind, Hold, PieceSubject, Selection, StepModel, reason};

use crate::by_hand::ByHand;

/// Compares the steps after changes, replayed from recorded lags, and checks what holds for every change: it never makes
/// a window longer.
#[track_caller]
fn check(model: &StepModel, changes: &[Change], want_us: &[i64]) {
    assert!(model.is_identity_exact());
    let got = model.replay(changes).anchored_ns;
    let want: Vec<i64> = want_us.iter().map(|us| us * 1000).collect();
    assert_eq!(got, want, "{:?}", changes.iter().map(Change::name).collect::<Vec<_>>());
    assert!(got.iter().sum::<i64>() <= model.recorded_ns().iter().sum());
}

fn events(model: &StepModel, name: &str) -> Selection {
    Selection::of_events(model.recording(), |event| model.recording().names.text(event.name) == name)
}

fn spans(model: &StepModel, name: &str) -> Selection {
    Selection::of_spans(model.recording(), |span| model.recording().names.text(span.name) == name)
}

fn places(model: &StepModel, names: &[&str]) -> Vec<u32> {
    let events = model.recording().events.iter().enumerate();
    let is_named = |name| names.contains(&model.recording().names.text(name));
    events.filter(|(_, event)| is_named(event.name)).map(|(place, _)| place as u32).collect()
}

/// One thread and one stream, bound by the device:
///
/// - host: `aten::a` 5–15 with a call 10–12, `aten::b` 16–26 with a call 20–22, `aten::c` 27–37 with a call 30–32;
/// - stream 7: `a` 16–40, `b` 42–60, `c` 62–90, each 2 after the one before.
///
/// The launch takes 6, a gap 2. The step ends with `c`, at 90.
fn device_bound() -> StepModel {
    ByHand::new()
        .step(0, 40)
        .op("aten::a", 5, 10)
        .launch((10, 2), "a", 7, (16, 24))
        .op("aten::b", 16, 10)
        .launch((20, 2), "b", 7, (42, 18))
        .op("aten::c", 27, 10)
        .launch((30, 2), "c", 7, (62, 28))
        .model()
}

#[test]
fn scaled_events_move_what_follows_on_the_stream() {
    let model = device_bound();
    let scale = |of, numerator, denominator| Change::Scale { of, numerator, denominator };
    // b takes 9: everything behind it comes 9 earlier.
    check(&model, &[scale(events(&model, "b"), 1, 2)], &[81]);
    // b takes a third, 6.
    check(&model, &[scale(events(&model, "b"), 1, 3)], &[78]);
    // All are gone, but launches remain: c begins 6 after its call at 30, and the mark ends at 40.
    let all = events(&model, "a").or(&events(&model, "b")).or(&events(&model, "c"));
    check(&model, &[scale(all, 0, 1)], &[40]);
    check(&model, &[scale(Selection::none(model.recording()), 0, 1)], &[90]);
}

#[test]
fn scaled_host_spans_take_their_share_with_all_that_is_in_them() {
    let model = device_bound();
    // aten::a begins at 5 and its call at 10: half of these 5 is saved before the launch, and the device follows it.
    let half = Change::Scale { of: spans(&model, "aten::a"), numerator: 1, denominator: 2 };
    assert_eq!(model.replay(&[half]).anchored_ns, [87_500]);
}

#[test]
fn shortened_work_takes_no_more_than_it_is_given() {
    let model = device_bound();
    let place = |name: &str| places(&model, &[name])[0];
    let events = |events: &[(u32, i64)]| Change::Shorten { events: events.to_vec(), spans: Vec::new() };
    // b takes 10 instead of 18, c keeps its 28.
    check(&model, &[events(&[(place("b"), 10_000), (place("c"), 50_000)])], &[82]);
    check(&model, &[events(&[])], &[90]);
    // Of aten::a, 5–15, a fifth is left: its launch comes 4 earlier, and so does the device.
    let recording = model.recording();
    let is_a = |span: &HostSpan| recording.names.text(span.name) == "aten::a";
    let span = recording.spans.iter().position(is_a).unwrap() as u32;
    check(&model, &[Change::Shorten { events: Vec::new(), spans: vec![(span, 2_000)] }], &[86]);
    check(&model, &[Change::Shorten { events: Vec::new(), spans: vec![(span, 99_000)] }], &[90]);
}

#[test]
fn what_held_a_point_is_known() {
    let model = device_bound();
    let recording = model.recording();
    let starts = model.holds().filter(|hold| hold.is_start).filter_map(|hold| match hold.of {
        PieceSubject::Event(place) => Some((recording.names.text(recording.events[place as usize].name), hold.kind)),
        PieceSubject::Span(_) => None,
    });
    let mut starts: Vec<_> = starts.collect();
    starts.sort_unstable();
    assert_eq!(starts, [("a", EdgeKind::Launch), ("b", EdgeKind::Stream), ("c", EdgeKind::Stream)]);
    let waits = waiting();
    let is_wait = |hold: &Hold| hold.kind == EdgeKind::Sync && !hold.is_start;
    let held: Vec<Hold> = waits.holds().filter(is_wait).collect();
    let by = PieceSubject::Event(places(&waits, &["k"])[0]);
    assert_eq!(held.iter().map(|hold| hold.by).collect::<Vec<_>>(), [by]);
}

#[test]
fn removed_events_take_their_call_and_what_leads_to_them() {
    let model = device_bound();
    // b begins with the end of a, at 40, and takes nothing; c follows 2 later and takes 28.
    check(&model, &[Change::Remove(events(&model, "b"))], &[70]);
    // Without a, b begins 6 after its call, which is 2 earlier as the call of a is gone: 18 + 6 = 24, until 42; c at 44.
    check(&model, &[Change::Remove(events(&model, "a"))], &[72]);
    check(&model, &[Change::Remove(Selection::none(model.recording()))], &[90]);
}

#[test]
fn removed_host_spans_leave_no_time() {
    let model = device_bound();
    // The host is 10 earlier behind aten::a, and the launch in it comes at 5 instead of 10: all of the device, too.
    check(&model, &[Change::Remove(spans(&model, "aten::a"))], &[85]);
    // What binds nothing saves nothing.
    check(&model, &[Change::Remove(spans(&model, "aten::c"))], &[90]);
}

/// A host that waits: call 10–12 launches `k` 16–60, `cudaDeviceSynchronize` 20–62, then 8 of an op and 10 of Python.
fn waiting() -> StepModel {
    ByHand::new()
        .step(0, 80)
        .op("aten::item", 5, 65)
        .launch((10, 2), "k", 7, (16, 44))
        .call("cudaDeviceSynchronize", 20, 42)
        .model()
}

#[test]
fn a_removed_wait_does_not_wait() {
    let model = waiting();
    // The call at 20 returns at once: 8 + 10 later the mark ends, at 38; the kernel ends at 60.
    check(&model, &[Change::Remove(spans(&model, "cudaDeviceSynchronize"))], &[60]);
    check(&model, &[Change::NoSync], &[60]);
    check(&model, &[Change::NoSyncOf(spans(&model, "cudaDeviceSynchronize"))], &[60]);
    check(&model, &[Change::NoSyncOf(Selection::none(model.recording()))], &[80]);
    // Together with half of the kernel, which ends at 38, as the mark does.
    let half = Change::Scale { of: events(&model, "k"), numerator: 1, denominator: 2 };
    check(&model, &[Change::NoSync, half], &[38]);
}

#[test]
fn fused_events_are_launched_once() {
    let model = device_bound();
    // a, b and c become one: launched at 10, 16 to 16 + 24 + 18 + 28 = 86. The ops of b and c are gone, the host ends
    // at 20, and the device at 86.
    check(&model, &[Change::Fuse(vec![places(&model, &["a", "b", "c"])])], &[86]);
    // a and b: c stays 2 behind b, which ends at 58.
    check(&model, &[Change::Fuse(vec![places(&model, &["a", "b"])])], &[88]);
    // a and c do not follow each other.
    check(&model, &[Change::Fuse(vec![places(&model, &["a", "c"])])], &[90]);
    check(&model, &[Change::Fuse(Vec::new())], &[90]);
}

#[test]
fn fusing_saves_host_time_where_the_host_binds() {
    // Short kernels, each 6 after its call: a 16–17, b 26–27, c 36–37. The mark ends at 50: 10 of other after 40.
    let model = ByHand::new()
        .step(0, 50)
        .op("aten::a", 5, 8)
        .launch((10, 2), "a", 7, (16, 1))
        .op("aten::b", 15, 8)
        .launch((20, 2), "b", 7, (26, 1))
        .op("aten::c", 25, 8)
        .launch((30, 2), "c", 7, (36, 1))
        .model();
    // The ops of b and c take nothing: 16 less.
    check(&model, &[Change::Fuse(vec![places(&model, &["a", "b", "c"])])], &[34]);
}

#[test]
fn an_operator_with_other_launches_stays_when_one_of_its_events_is_fused() {
    // One operator, 5–40, launches a and b. Fused, only the call of b goes, 20–22.
    let model = ByHand::new()
        .step(0, 50)
        .op("aten::ab", 5, 35)
        .launch((10, 2), "a", 7, (16, 1))
        .launch((20, 2), "b", 7, (26, 1))
        .model();
    check(&model, &[Change::Fuse(vec![places(&model, &["a", "b"])])], &[48]);
}

/// A kernel on stream 7 that waits for a collective on stream 20, by a wait call:
///
/// - host: call 10–11 launches `nccl` 16–60 on 20, `cudaStreamWaitEvent` 14–15, call 20–21 launches `k` 62–82 on 7.
fn communicating() -> StepModel {
    ByHand::new()
        .step(0, 40)
        .launch((10, 1), "ncclDevKernel_AllReduce", 20, (16, 44))
        .call("cudaStreamWaitEvent", 14, 1)
        .launch((20, 1), "k", 7, (62, 20))
        .model()
}

#[test]
fn communication_may_take_nothing_or_be_overlapped() {
    let model = communicating();
    assert_eq!(model.notes.count("cross_stream_inferred"), 1);
    // It ends at 16; k is launched at 20, starts 6 later, and ends at 46.
    check(&model, &[Change::NoCommunication], &[46]);
    // k runs 26–46 beside it; it still ends at 60.
    check(&model, &[Change::CommunicationOverlapped], &[60]);
    check(&model, &[Change::CommunicationOverlapped, Change::NoCommunication], &[46]);
}

#[test]
fn copies_may_take_nothing_or_not_be_awaited() {
    // A pageable copy: the call 10–45 returns 5 after the copy 20–40, which is staged for 10.
    let model = ByHand::new()
        .step(0, 60)
        .op("aten::copy_", 5, 45)
        .launch((10, 35), "Memcpy HtoD (Pageable -> Device)", 7, (20, 20))
        .model();
    check(&model, &[Change::NoCopies], &[40]);
    // The call returns at once (nothing tells its own cost): 5 of the op and 10 of Python remain, at 25. The copy ends
    // at 40.
    check(&model, &[Change::AsyncCopiesToDevice], &[40]);
}

#[test]
fn the_host_may_be_faster() {
    let model = ByHand::new()
        .step(0, 100)
        .span(Kind::Annotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 5, 60)
        .op("aten::mm", 70, 20)
        .model();
    check(&model, &[Change::InputReady], &[40]);
    // Everything but the loader takes half: 5 + 5 + 20 + 10 = 40, so 20.
    check(&model, &[Change::HostHalf], &[80]);
    check(&model, &[Change::InputReady, Change::HostHalf], &[20]);
    // Without device events nothing can be said about the device.
    assert_eq!(model.change_null(&Change::NoSync), Some(reason::NO_DEVICE_EVENTS));
    assert_eq!(model.change_null(&Change::InputReady), None);
}

#[test]
fn a_graph_of_everything_leaves_the_device() {
    // 24 + 2 + 18 + 2 + 28, from the start on.
    check(&device_bound(), &[Change::CudaGraph], &[74]);
}

#[test]
fn a_saving_is_null_where_launches_are_unknown() {
    let model = ByHand::new().step(0, 40).event(Kind::Kernel, "k", 7, (10, 5), None).model();
    assert_eq!(model.savings_null(), Some(reason::LAUNCH_CALLS_NOT_RECORDED));
}

#[test]
fn a_recording_without_complete_steps_has_no_graph() {
    let mut recording = ByHand::new().step(0, 40).recording();
    recording.window = stepscope_replay::Window::default();
    assert_eq!(StepModel::build(recording).unwrap_err(), reason::NO_COMPLETE_STEP);
}
