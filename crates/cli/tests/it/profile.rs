//! Profiles of functions: every command has an answer or a clear word for them.

use std::path::Path;

use crate::command::Place;

/// Puts a profile that the project recorded beside the trace, as `small.prof`.
pub(crate) fn copy_profile(place: &Place) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cprofile/small.prof");
    std::fs::copy(fixture, place.path("small.prof")).unwrap();
}

fn place() -> Place {
    let place = Place::new();
    copy_profile(&place);
    place
}

#[test]
fn a_bare_profile_is_a_table_of_functions() {
    let said = place().stdout(&["small.prof"]);
    assert!(said.contains("214 function calls (38 primitive)") && said.contains("177/1"), "{said}");
    assert!(said.contains("next    stepscope functions small.prof"), "{said}");
    for word in ["GPU", "step ", "kernel", "device", "launch"] {
        assert!(!said.contains(word), "{word} in {said}");
    }
}

#[test]
fn orders_have_the_names_of_pstats() {
    let place = place();
    let column = |arguments: &[&str], name: &str| {
        let document = place.json(&[&["functions", "small.prof"], arguments].concat());
        let rows = document["rows"].as_array().unwrap().clone();
        rows.into_iter().map(|row| row[name].clone()).collect::<Vec<_>>()
    };
    let calls: Vec<i64> = column(&["--sort", "ncalls"], "calls").iter().map(|calls| calls.as_i64().unwrap()).collect();
    assert!(calls.is_sorted_by(|a, b| a >= b) && calls[0] == 177, "{calls:?}");
    let names = column(&["--sort", "nfl"], "name");
    assert!(names.is_sorted_by_key(|name| name.as_str().unwrap().to_owned()), "{names:?}");
    assert_eq!(column(&[], "name"), column(&["--sort", "cumulative"], "name"));
    let ended = place.run(&["functions", "small.prof", "--sort", "tottimes"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("orders: ncalls, calls, pcalls"), "{}", ended.stderr);
}

#[test]
fn every_command_has_a_word_for_a_profile() {
    let place = place();
    let check = |arguments: &[&str], want: &str| {
        let said = place.stdout(arguments);
        assert!(said.contains(want), "{arguments:?}: {said}");
    };
    check(&["functions", "small.prof", "--group-by", "caller"], "fibonacci");
    check(&["health", "small.prof"], "health is good. 14 functions, none lost.");
    check(&["tracks", "small.prof"], "no tracks");
    check(&["steps", "small.prof"], "`stepscope functions small.prof`");
    check(&["diagnose", "small.prof"], "`stepscope functions small.prof`");
    check(&["sql", "small.prof", "SELECT count(*) FROM functions"], "14");
    check(&["metrics", "small.prof", "-f", "json"], "\"nulls\"");
    place.stdout(&["report", "small.prof", "-o", "report.html"]);
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    assert!(page.contains("fibonacci") && !page.contains("Step time"), "{page}");
    let ended = place.run(&["trim", "small.prof", "-o", "part.json"]);
    assert!(ended.code == 2 && ended.stderr.contains("a cProfile profile has no steps"), "{}", ended.stderr);
    check(&["functions", "trace.json"], "No cProfile profile");
}
