//! What is read from a store, and what is left out.

use stepscope_model::Kind;
use stepscope_replay::read::{ReadError, Settings};
use stepscope_replay::{EdgeKind, StepModel, reason};
use stepscope_testkit::TraceBuilder;

use crate::stores::OneTrace;

/// Steps of 100 µs, each with an op 10–50 around a call at 20, and a kernel 30–60. An annotation is open all along.
fn steps(count: i64) -> TraceBuilder {
    let all = TraceBuilder::new().annotation("training", 1, "0", &(count * 100).to_string());
    (0..count).fold(all, |trace, step| {
        let at = |offset: i64| (step * 100 + offset).to_string();
        trace
            .annotation(&format!("ProfilerStep#{step}"), 1, &at(0), "100")
            .op("aten::mm", 1, &at(10), "40")
            .runtime("cudaLaunchKernel", 1, &at(20), "5", step + 1)
            .kernel("gemm", 0, 7, &at(30), "30", step + 1)
    })
}

#[test]
fn only_the_window_is_read_and_what_is_open_at_its_start() {
    let store = OneTrace::of_text(&steps(10).finish());
    let taken = store.read(&Settings { steps: 3, ..Settings::default() }).unwrap();
    let recording = &taken.recording;
    assert_eq!(recording.window.steps, 7..10);
    assert_eq!((recording.window.start_ns, recording.window.end_ns), (700_000, 1_000_000));
    // Nine spans of the window, the annotation around all, and the mark that ends as the window begins.
    let names: Vec<&str> = recording.spans.iter().map(|span| recording.names.text(span.name)).collect();
    assert_eq!(names.iter().filter(|name| **name == "aten::mm").count(), 3);
    assert_eq!(names.iter().filter(|name| **name == "training").count(), 1);
    // Typical lags are of the whole recording.
    assert_eq!(recording.events.len(), 10);
    assert_eq!(recording.calls.iter().filter(|call| call.span.is_some()).count(), 3);
    let operators = recording.events.iter().filter_map(|event| event.operator);
    assert!(
        operators.clone().count() == 3
            && operators.into_iter().all(|place| recording.spans[place as usize].kind == Kind::Op)
    );
    let model = StepModel::build(taken.recording).unwrap();
    assert!(model.is_identity_exact());
    assert_eq!(model.typical.launch_ns, 10_000);
    // Two nodes for each event of the history count, though nothing refers to most of them.
    assert_eq!(model.node_count(), 18 + 2 + 6 + 14);
}

#[test]
fn what_is_open_is_found_far_before_the_window() {
    // A page of the table has more rows than are read at once, before the window and behind it: a tail of steps without
    // device work is not complete.
    let trace = (3000..6000).fold(steps(3000), |trace, step| {
        let at = |offset: i64| (step * 100 + offset).to_string();
        trace.annotation(&format!("ProfilerStep#{step}"), 1, &at(0), "100").op("aten::mm", 1, &at(10), "40")
    });
    let store = OneTrace::of_text(&trace.finish());
    let taken = store.read(&Settings { steps: 3, ..Settings::default() }).unwrap();
    let names = taken.recording.spans.iter().map(|span| taken.recording.names.text(span.name));
    assert_eq!(names.clone().filter(|name| *name == "training").count(), 1);
    // Those of the window, and those that end or begin where it begins and ends.
    assert_eq!(names.filter(|name| name.starts_with("ProfilerStep#")).count(), 5);
}

#[test]
fn a_window_is_the_same_whether_the_rest_is_there_or_not() {
    let long = OneTrace::of_text(&steps(10).finish());
    let window = long.read(&Settings { steps: 4, ..Settings::default() }).unwrap();
    let model = StepModel::build(window.recording).unwrap();
    let whole = long.model();
    assert_eq!(
        model.paths(),
        whole.paths()[6..].iter().map(|path| renumbered(path, &model, &whole)).collect::<Vec<_>>()
    );
    assert_eq!(model.strict_ns(), &whole.strict_ns()[6..]);
}

/// A path with the places that its spans and events have in another model.
fn renumbered(path: &stepscope_replay::StepPath, to: &StepModel, from: &StepModel) -> stepscope_replay::StepPath {
    let span = |place: u32| {
        let id = from.recording().spans[place as usize].span_id;
        to.recording().spans.iter().position(|span| span.span_id == id).unwrap() as u32
    };
    let mut path = path.clone();
    for piece in &mut path.pieces {
        piece.owner = piece.owner.map(span);
        if let stepscope_replay::PieceSubject::Span(place) = piece.subject {
            piece.subject = stepscope_replay::PieceSubject::Span(span(place));
        }
    }
    path
}

#[test]
fn fewer_steps_are_taken_when_memory_is_short() {
    let store = OneTrace::of_text(&steps(16).finish());
    // A step has three spans; 400 bytes for each of them, and half of the limit is for them.
    let taken = store.read(&Settings { memory_limit_bytes: 2 * 400 * 15, ..Settings::default() }).unwrap();
    assert_eq!((taken.recording.window.steps.clone(), taken.steps_left_out), (12..16, 12));
    assert!(StepModel::build(taken.recording).unwrap().is_identity_exact());
    // One step is taken whatever it needs, and device events of the window alone.
    let taken = store.read(&Settings { memory_limit_bytes: 0, ..Settings::default() }).unwrap();
    assert_eq!((taken.recording.window.steps.clone(), taken.steps_left_out), (15..16, 15));
    assert!(!taken.has_all_events && taken.recording.events.len() == 1);
}

#[test]
fn a_file_that_breaks_off_has_no_path() {
    let text = steps(3).finish();
    let store = OneTrace::of_text(&text[..text.len() - 20]);
    let error = store.read(&Settings::default()).unwrap_err();
    assert!(matches!(error, ReadError::Null(reason::FILE_TRUNCATED)), "{error}");
}

#[test]
fn a_trace_without_spans_has_no_step() {
    let store = OneTrace::of_text(&TraceBuilder::new().complete("python_function", "f", 1, 1, "0", "5").finish());
    let error = store.read(&Settings::default()).unwrap_err();
    assert!(matches!(error, ReadError::Null(reason::NO_COMPLETE_STEP)), "{error}");
}

#[test]
fn spans_that_cross_at_the_start_of_the_window_are_all_found() {
    // The op of step 0 runs 80–140 and crosses an annotation 60–120, so that it is not nested in it.
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#0", 1, "0", "100")
        .annotation("a", 1, "60", "60")
        .op("aten::x", 1, "80", "60")
        .annotation("ProfilerStep#1", 1, "100", "100");
    let store = OneTrace::of_text(&trace.finish());
    let taken = store.read(&Settings { steps: 1, ..Settings::default() }).unwrap();
    let names: Vec<&str> = taken.recording.spans.iter().map(|span| taken.recording.names.text(span.name)).collect();
    assert_eq!(names, ["ProfilerStep#0", "a", "aten::x", "ProfilerStep#1"]);
}

/// A kernel 42–60 on stream 7 that waits for one 15–40 on another, with the wait as the profiler recorded it.
#[track_caller]
fn check_recorded_wait(other_stream: i64, wait_on_stream: i64, record_correlation: i64, want: &str) {
    let trace = TraceBuilder::new()
        .annotation("ProfilerStep#0", 1, "0", "100")
        .runtime("cudaLaunchKernel", 1, "10", "2", 1)
        .kernel("first", 0, other_stream, "15", "25", 1)
        .runtime("cudaEventRecord", 1, "14", "1", 2)
        .runtime("cudaStreamWaitEvent", 1, "18", "1", 3)
        .runtime("cudaLaunchKernel", 1, "20", "2", 4)
        .kernel("second", 0, 7, "42", "18", 4)
        .complete("cuda_sync", "Stream Wait Event", 0, 7, "42", "0")
        .arg("device", "0")
        .arg("stream", "7")
        .arg("correlation", "3")
        .arg("wait_on_stream", &wait_on_stream.to_string())
        .arg("wait_on_cuda_event_record_corr_id", &record_correlation.to_string());
    let model = OneTrace::of_text(&trace.finish()).model();
    let cross: Vec<_> = model.notes.iter().filter(|(name, _)| name.starts_with("cross_stream")).collect();
    assert_eq!(cross, [(want, 1)], "{wait_on_stream} {record_correlation}");
    assert_eq!(model.edge_count(EdgeKind::Cross), 1);
}

#[test]
fn a_wait_whose_numbers_were_not_resolved_is_inferred() {
    check_recorded_wait(20, 20, 2, "cross_stream_recorded");
    check_recorded_wait(20, -1, -1, "cross_stream_inferred");
    // 0 is as little a number as -1, for either.
    check_recorded_wait(0, 0, 2, "cross_stream_inferred");
    check_recorded_wait(20, 20, 0, "cross_stream_inferred");
}
