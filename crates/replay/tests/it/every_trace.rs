//! What must hold for every real trace, with or without values of its own.

use std::path::Path;

use stepscope_ingest::Options;
use stepscope_replay::StepModel;
use stepscope_replay::read::{ReadError, Settings};
use stepscope_testkit::corpus;

use crate::stores::OneTrace;

/// What is known of a trace with device events.
struct Explained {
    name: String,
    error_ratio: f64,
    savings_null: Option<&'static str>,
}

fn explained(trace: &Path) -> Option<Explained> {
    let name = trace.to_string_lossy().into_owned();
    let store = OneTrace::if_trace(trace, &Options::default())?;
    let recording = match store.read(&Settings::default()) {
        Ok(taken) => taken.recording,
        Err(ReadError::Null(_)) => return None,
        Err(error) => panic!("{name}: {error}"),
    };
    let model = StepModel::build(recording).unwrap_or_else(|reason| panic!("{name}: {reason}"));
    assert!(model.is_identity_exact(), "{name}");
    for (step, path) in model.steps().iter().zip(model.paths()) {
        assert_eq!(path.classes_ns.iter().sum::<i64>(), step.dur_ns, "{name}: {}", step.name);
    }
    let error_ratio = model.strict_error_ratio().unwrap_or(0.0).abs();
    (!model.recording().events.is_empty()).then(|| Explained { name, error_ratio, savings_null: model.savings_null() })
}

#[test]
#[ignore = "needs the corpus"]
fn classes_add_up_and_typical_lags_explain_the_steps() {
    let folder = tempfile::tempdir().unwrap();
    let mut traces = corpus().chrome_like();
    traces.extend(corpus().unpack_dlrm(folder.path()));
    let mut all: Vec<Explained> = traces.iter().filter_map(|trace| explained(trace)).collect();
    all.sort_by(|a, b| a.error_ratio.total_cmp(&b.error_ratio));
    let percentile = |percent: usize| all[(all.len() * percent).div_ceil(100) - 1].error_ratio;
    let without: Vec<String> =
        all.iter().filter_map(|trace| Some(format!("{}: {}", trace.name, trace.savings_null?))).collect();
    eprintln!(
        "{} traces with device events; error p50 {:.5} %, p90 {:.3} %; without savings:\n{}",
        all.len(),
        percentile(50) * 100.0,
        percentile(90) * 100.0,
        without.join("\n")
    );
    assert!(percentile(50) <= 0.0001 && percentile(90) <= 0.003);
    assert!(all.len() >= 79 && without.len() <= 6);
}
