//! `baseline save` and `check` as commands: verdicts, exit codes, files.

use std::fs;

use serde_json::Value;
use stepscope_testkit::{Random, TraceBuilder};

use crate::command::Place;

/// What a trace is recorded with.
#[derive(Clone, Copy)]
struct Recorded {
    device: &'static str,
    shape: &'static str,
    type_of_inputs: &'static str,
    flags: &'static [(&'static str, &'static str)],
}

const USUAL: Recorded =
    Recorded { device: "Test GPU", shape: "[[8, 4], [4, 2]]", type_of_inputs: "float", flags: &[("with_stack", "0")] };

/// Steps of so many microseconds; the operator of each takes `share` of it.
fn trace(steps_us: &[f64], recorded: Recorded) -> String {
    let device = format!("[{{\"id\": 0, \"name\": \"{}\", \"computeMajor\": 8}}]", recorded.device);
    let mut trace = TraceBuilder::new().header("deviceProperties", &device);
    for (key, value) in recorded.flags {
        trace = trace.header(key, value);
    }
    let mut start_us = 1000.0;
    for (step, step_us) in (1..).zip(steps_us) {
        let at = |offset: f64| format!("{:.3}", start_us + offset);
        trace = trace
            .annotation(&format!("ProfilerStep#{step}"), 1, &at(0.0), &format!("{step_us:.3}"))
            .op("aten::mm", 1, &at(1.0), &format!("{:.3}", step_us - 20.0))
            .arg("Input Dims", recorded.shape)
            .arg("Input type", &format!("[\"{0}\", \"{0}\"]", recorded.type_of_inputs))
            .memory(1, &at(2.0), 1024, 1 << 20)
            .runtime("cudaLaunchKernel", 1, &at(3.0), "2", step)
            .kernel("gemm", 0, 7, &at(6.0), "5", step);
        start_us += step_us + 10.0;
    }
    trace.finish()
}

/// Steps around a mean, with noise of 2 %; the mean of the run itself is off by up to 1 %.
fn noisy(seed: u64, mean_us: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mean_us = mean_us * (1.0 + 0.004 * random.normal());
    (0..20).map(|_| mean_us * (1.0 + 0.02 * random.normal())).collect()
}

fn write(place: &Place, name: &str, steps_us: &[f64], recorded: Recorded) {
    fs::write(place.path(name), trace(steps_us, recorded)).unwrap();
}

/// A place with five baseline runs, saved, and an equal and a slower run.
fn prepared() -> Place {
    let place = Place::new();
    for run in 0..5 {
        write(&place, &format!("old{run}.json"), &noisy(10 + run, 500.0), USUAL);
    }
    write(&place, "same.json", &noisy(90, 500.0), USUAL);
    write(&place, "slow.json", &noisy(91, 600.0), USUAL);
    let olds: Vec<String> = (0..5).map(|run| format!("old{run}.json")).collect();
    let mut arguments = vec!["baseline", "save", "-o", "base.json"];
    arguments.extend(olds.iter().map(String::as_str));
    assert_eq!(place.stdout(&arguments).lines().next(), Some("Saved 5 runs to base.json: 5 runs in all."));
    place
}

fn checked(place: &Place, arguments: &[&str]) -> (u8, Value) {
    let ended = place.run(&[&["check"], arguments, &["-f", "json"]].concat());
    let answer = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.stderr));
    (u8::try_from(ended.code).unwrap(), answer)
}

#[test]
fn a_slower_run_fails_and_an_equal_one_passes() {
    let place = prepared();
    let (code, answer) = checked(&place, &["same.json", "--baseline", "base.json"]);
    assert_eq!((code, &answer["verdict"], &answer["rows"][0]["verdict"]), (0, &"pass".into(), &"pass".into()));
    let (code, answer) = checked(&place, &["slow.json", "--baseline", "base.json"]);
    assert_eq!((code, &answer["verdict"], &answer["exit_code"]), (1, &"regression".into(), &1.into()));
    let row = &answer["rows"][0];
    let shift = row["shift_ratio"].as_f64().unwrap();
    assert!((shift - 0.2).abs() < 0.03 && row["baseline_values"] == 100 && row["candidate_values"] == 20, "{row}");
    // What explains it stands first, and adds up.
    let first = &answer["path_rows"][0];
    assert_eq!(
        (&first["class"], &first["name"], &first["noise"]),
        (&"cpu_exec".into(), &"aten::mm".into(), &"changed".into())
    );
    let (code, answer) = checked(&place, &["old0.json", "--against", "slow.json", "slow.json", "slow.json"]);
    assert_eq!((code, &answer["rows"][0]["verdict"]), (0, &"improvement".into()));
    let (code, _) =
        checked(&place, &["slow.json", "--against", "old0.json", "old1.json", "old2.json", "--metric", "throughput"]);
    assert_eq!(code, 1);
}

#[test]
fn a_baseline_of_one_or_two_runs_decides_nothing() {
    let place = prepared();
    for (olds, words) in [(&["old0.json"][..], "baseline of one run"), (&["old0.json", "old1.json"], "of two runs")] {
        for run in ["same.json", "slow.json"] {
            let arguments = [&["check", run, "--against"], olds].concat();
            let ended = place.run(&arguments);
            assert_eq!(ended.code, 4, "{}", ended.stdout);
            assert!(ended.stdout.contains(words), "{}", ended.stdout);
            let ended = place.run(&[&arguments[..], &["--single-run"]].concat());
            assert_eq!(ended.code, i32::from(run == "slow.json"), "{}", ended.stdout);
        }
    }
}

#[test]
fn runs_of_different_kinds_are_not_compared() {
    let place = prepared();
    let others = [
        ("devices", Recorded { device: "Other GPU", ..USUAL }),
        ("input_shapes", Recorded { shape: "[[16, 4], [4, 2]]", ..USUAL }),
        ("precision", Recorded { type_of_inputs: "c10::BFloat16", ..USUAL }),
        ("with_stack", Recorded { flags: &[("with_stack", "1")], ..USUAL }),
    ];
    for (field, recorded) in others {
        write(&place, "other.json", &noisy(91, 600.0), recorded);
        let (code, answer) = checked(&place, &["other.json", "--baseline", "base.json"]);
        let reason = answer["rows"][0]["reason"].as_str().unwrap().to_owned();
        assert_eq!(code, 4, "{field}");
        assert!(reason.starts_with(&format!("the runs differ in {field};")), "{field}: {reason}");
        let (code, _) = checked(&place, &["other.json", "--baseline", "base.json", "--ignore-fingerprint"]);
        assert_eq!(code, 1, "{field}");
    }
    // What one of them does not say is reported, not compared; so is what may differ.
    let unknown = Recorded { flags: &[("host_name", "\"b\"")], ..USUAL };
    write(&place, "other.json", &noisy(91, 600.0), unknown);
    let (code, answer) = checked(&place, &["other.json", "--baseline", "base.json"]);
    assert_eq!(code, 1);
    let fields = answer["fingerprint"].as_array().unwrap();
    let of = |name: &str| fields.iter().find(|field| field["field"] == name).unwrap()["agreement"].clone();
    assert_eq!(
        (of("with_stack"), of("host_name"), of("devices")),
        ("not compared".into(), "not compared".into(), "equal".into())
    );
}

#[test]
fn verdicts_are_written_for_ci() {
    let place = prepared();
    let metrics = r#"{"step_time": {}, "peak_memory": {}, "mm": {"analysis": "ops", "column": "host_self_ns", "row": "aten::mm"},
        "gone": {"analysis": "ops", "column": "host_self_ns", "row": "aten::gone"}}"#;
    fs::write(place.path("metrics.json"), metrics).unwrap();
    let olds = ["old0.json", "old1.json", "old2.json"];
    let arguments = ["check", "slow.json", "--metrics", "metrics.json", "--junit", "check.xml", "--md", "check.md"];
    let ended = place.run(&[&arguments[..], &["--against"], &olds].concat());
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    let junit = fs::read_to_string(place.path("check.xml")).unwrap();
    assert!(junit.contains("tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"1\""), "{junit}");
    assert!(junit.contains("<skipped message=\"gone: ops has no value of host_self_ns of aten::gone\"/>"), "{junit}");
    let markdown = fs::read_to_string(place.path("check.md")).unwrap();
    assert!(
        markdown.starts_with("**Failed. step_time got worse: +") && markdown.contains("| step_time | regression |"),
        "{markdown}"
    );
}

#[test]
fn a_file_grows_by_runs_and_stays_small() {
    let place = prepared();
    assert!(place.stdout(&["baseline", "save", "same.json", "-o", "base.json", "--append"]).contains("6 runs in all"));
    let size = fs::metadata(place.path("base.json")).unwrap().len();
    assert!(size < 40_000, "{size}");
    let file: Value = serde_json::from_str(&fs::read_to_string(place.path("base.json")).unwrap()).unwrap();
    assert_eq!((&file["schema"], &file["runs"][5]["name"]), (&"stepscope.baseline/1".into(), &"same.json".into()));
    let other = fs::read_to_string(place.path("base.json")).unwrap().replace("baseline/1", "baseline/2");
    fs::write(place.path("later.json"), other).unwrap();
    let ended = place.run(&["check", "slow.json", "--baseline", "later.json"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("expected stepscope.baseline/1, found: stepscope.baseline/2"), "{}", ended.stderr);
    let ended = place.run(&["check", "slow.json", "--baseline", "same.json"]);
    assert!(ended.stderr.contains("expected stepscope.baseline/1, found: no schema"), "{}", ended.stderr);
    let ended = place.run(&["check", "slow.json"]);
    assert_eq!(ended.code, 2);
    for arguments in [
        &["check", "slow.json", "--baseline", "none.json"][..],
        &["check", "slow.json", "--baseline", "base.json", "--metrics", "none.json"],
        &["baseline", "save", "slow.json", "-o", "none.json", "--append"],
    ] {
        let ended = place.run(arguments);
        assert!(ended.code == 3 && ended.stderr.contains("hint: `stepscope"), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn a_history_says_where_it_changed() {
    let place = Place::new();
    fs::create_dir(place.path("history")).unwrap();
    for run in 0..10 {
        let name = format!("run{run}.json");
        write(&place, &name, &noisy(200 + run, if run < 6 { 500.0 } else { 600.0 }), USUAL);
        place.stdout(&["baseline", "save", &name, "-o", &format!("history/{run}.json")]);
    }
    write(&place, "now.json", &noisy(300, 600.0), USUAL);
    let (code, answer) = checked(&place, &["now.json", "--history", "history"]);
    // The newest file is the baseline, and has one run.
    assert_eq!(code, 4);
    let changes = answer["history"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0]["run"]), (1, &"run6.json".into()), "{changes:?}");
    assert!((changes[0]["change_ratio"].as_f64().unwrap() - 0.2).abs() < 0.03);
    let ended = place.run(&["check", "now.json", "--history", "history"]);
    assert!(ended.stdout.contains("History of 11 runs: 1 change."), "{}", ended.stdout);
}
