//! `diff` as a command: the stories that real pairs of recordings tell, and what it refuses.

use stepscope_testkit::corpus;

use crate::command::Place;

/// What a comparison of two traces says must hold all of these.
#[track_caller]
fn tells(place: &Place, a: &str, b: &str, expected: &[&str]) {
    let corpus = corpus();
    let [a, b] = [a, b].map(|path| corpus.trace(path).to_str().unwrap().to_owned());
    let said = place.stdout(&["diff", &a, &b, "--no-cache", "--quiet"]);
    let words = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    for text in expected {
        assert!(words.contains(text), "{text}\n{said}");
    }
}

#[test]
#[ignore = "needs the corpus"]
fn compiled_code_moves_the_step_from_the_host_to_the_device() {
    let expected = [
        "B is 46.58 ms slower per step (60.1 %), 124.1 ms instead of 77.50 ms: kernels +82.55 ms, operators on the \
         host −34.74 ms, copies +15.42 ms.",
        "3 operators only in B: CompiledFunction, CompiledFunctionBackward, autograd::engine::evaluate_function: \
         CompiledFunctionBackward.",
        // As many as HTA deletes; it counts two runtime calls among those that it adds.
        "72 operators only in A:",
        "slower · 6 and 6 steps",
    ];
    tells(&Place::new(), "hta/trace_diff/control/control.json.gz", "hta/trace_diff/test/test.json.gz", &expected);
}

#[test]
#[ignore = "needs the corpus"]
fn workers_take_data_loading_off_the_path() {
    let [a, b] = ["0/worker0.1623143089861", "4/worker0.1623212756351"]
        .map(|worker| format!("kineto/resnet50_num_workers_{worker}.pt.trace.json.gz"));
    let expected = [
        "B is 36.52 ms faster per step (20.6 %, inconclusive)",
        "data loading −57.55 ms, operators on the host +24.69 ms, kernels −24.29 ms.",
        "58.73 ms 0 ms −58.73 ms changed",
    ];
    tells(&Place::new(), &a, &b, &expected);
}

#[test]
#[ignore = "needs the corpus"]
fn one_rank_waits_for_the_other() {
    let [a, b] = [0, 1].map(|rank| format!("astra-sim/megatron-tp8/megatron_kineto_{rank}.json.gz"));
    let expected = [
        "B is 20.08 ms slower per step (3.3 %, not tested), 623.3 ms instead of 603.2 ms: communication +81.42 ms",
        "not tested: 5 independent steps on each side are needed",
        "all_reduce – 64.00 MiB 227.41 ms 460.57 ms 233.16 ms",
    ];
    tells(&Place::new(), &a, &b, &expected);
}

#[test]
fn members_stand_beside_the_rows() {
    let place = Place::new();
    let answer = place.json(&["diff", "trace.json", "trace.json"]);
    assert_eq!(answer["schema"], "stepscope.diff/1");
    assert_eq!((&answer["difference_numerator"], &answer["steps_a"]), (&0.into(), &answer["steps_b"]));
    assert!(answer["rows"].is_array() && answer["runs"].as_array().is_some_and(|runs| runs.len() == 2));
}

#[test]
fn samples_are_for_all_runs_or_for_each() {
    let place = Place::new();
    let ended = place.run(&["diff", "trace.json", "trace.json", "trace.json", "--samples", "1,2"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("3 runs, but 2 numbers of samples"), "{}", ended.stderr);
    let answer = place.json(&["diff", "trace.json", "trace.json", "trace.json", "--samples", "1,2,4"]);
    let of = |row: usize, name: &str| answer["rows"][row][name].clone();
    assert_eq!((of(2, "run"), of(2, "is_best"), of(0, "is_best")), ("C".into(), true.into(), false.into()));
    let throughput = |row: usize| of(row, "throughput_per_s").as_f64().unwrap();
    assert!((throughput(2) / throughput(0) - 4.0).abs() < 1e-9);
}
