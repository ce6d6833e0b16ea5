use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::command::{Place, TRACE, ended, names};

#[test]
fn every_document_says_what_it_is() {
    let place = Place::new();
    for command in ["tracks", "health", "metrics"] {
        let document = place.json(&[command, "trace.json"]);
        assert_eq!(document["schema"], format!("stepscope.{command}/1"));
        assert_eq!(document["stepscope"], env!("CARGO_PKG_VERSION"));
        assert!(document["run"].is_object() && document["health"].is_object() && document["rows"].is_array());
    }
    assert_eq!(place.json(&["schema"])["schema"], "stepscope.schema/1");
    let rules = place.json(&["rules"]);
    assert_eq!((&rules["schema"], &rules["rows"][0]["rule"]), (&"stepscope.rules/1".into(), &"data_loading".into()));
    assert_eq!(rules["thresholds"][0]["rule"], "findings");
    assert_eq!(place.json(&["sql", "trace.json", "SELECT 1 AS one"])["rows"][0]["one"], 1);
}

#[test]
fn metrics_has_its_members() {
    let metrics = Place::new().json(&["metrics", "trace.json"])["metrics"].clone();
    for member in ["format", "health", "nesting", "steps", "gpu", "temporal"] {
        assert!(!metrics[member].is_null(), "{member}: {metrics}");
    }
    assert_eq!(metrics["format"]["raw_events"], 6);
    let table = Place::new().stdout(&["metrics", "trace.json"]);
    assert!(table.starts_with("member"), "{table}");
}

#[test]
fn ingest_accounts_for_every_event() {
    let place = Place::new();
    let document = place.json(&["ingest", "trace.json", "--store", "a.stepscope"]);
    assert_eq!(document["schema"], "stepscope.ingest/1");
    let row = &document["rows"][0];
    let members = [
        "path",
        "format",
        "run",
        "rank",
        "rank_from",
        "window",
        "bytes_in",
        "bytes_plain",
        "events_in",
        "rows",
        "dropped",
        "bytes_out",
        "wall_s",
        "peak_rss_bytes",
    ];
    for member in members {
        assert!(row.get(member).is_some(), "{member}: {row}");
    }
    let dropped: i64 = row["dropped"].as_object().unwrap().values().map(|count| count.as_i64().unwrap()).sum();
    assert_eq!(row["events_in"], 6);
    assert_eq!(row["rows"].as_i64().unwrap() + dropped, 6);

    let text = place.stdout(&["ingest", "trace.json", "--store", "b.stepscope"]);
    assert!(text.starts_with("Ingested 1 file: 6 events, 1 lost.\n"), "{text}");
    assert!(text.contains("LOST\n") && text.contains("bad_time"), "{text}");
    assert_eq!(place.json(&["sql", "a.stepscope", "SELECT count(*) AS spans FROM spans"])["rows"][0]["spans"], 4);
}

#[test]
fn sql_gives_raw_values_as_csv_and_table() {
    let place = Place::new();
    let statement = "SELECT name, dur_ns FROM spans WHERE kind IN ('op', 'kernel') ORDER BY dur_ns DESC";
    assert_eq!(
        place.stdout(&["sql", "trace.json", statement, "-f", "csv"]),
        "name,dur_ns\naten::mm,50000\ngemm,30000\n"
    );
    let table =
        place.stdout(&["sql", "trace.json", statement, "--sort", "dur", "--columns", "dur,name", "--limit", "1"]);
    assert_eq!(table, "dur_ns  name\n 30000  gemm\n1 of 2 rows shown (--limit 0 shows all)\n");
}

#[test]
fn a_statement_from_a_file_or_a_pipe() {
    let place = Place::new();
    std::fs::write(place.path("query.sql"), "SELECT 2 AS two;\n").unwrap();
    assert_eq!(place.stdout(&["sql", "trace.json", "--file", "query.sql", "-f", "csv"]), "two\n2\n");
    let mut child = place
        .command(&["sql", "trace.json", "-f", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"SELECT 3 AS three;\n").unwrap();
    assert_eq!(ended(child.wait_with_output().unwrap()).stdout, "three\n3\n");
}

#[test]
fn a_trace_from_standard_input() {
    let place = Place::new();
    let trace = std::fs::File::open(place.path("trace.json")).unwrap();
    let command = place.command(&["sql", "-", "SELECT count(*) AS n FROM spans", "-f", "csv"]).stdin(trace).output();
    let ended = ended(command.unwrap());
    assert_eq!((ended.stdout.as_str(), ended.code), ("n\n4\n", 0), "{}", ended.stderr);
}

#[test]
fn output_to_a_file_leaves_standard_output_empty() {
    let place = Place::new();
    assert_eq!(place.stdout(&["sql", "trace.json", "SELECT 1 AS one", "-f", "csv", "-o", "out.csv"]), "");
    assert_eq!(std::fs::read_to_string(place.path("out.csv")).unwrap(), "one\n1\n");
    let ended = place.run(&["sql", "trace.json", "SELECT 1 AS one", "-o", "no/such/folder.csv"]);
    assert_eq!(ended.code, 5, "{}", ended.stderr);
}

#[test]
fn unreadable_input_is_refused_with_a_reason() {
    let place = Place::new();
    std::fs::write(place.path("text.json"), "this is no trace\n").unwrap();
    std::fs::write(place.path("empty.json"), "").unwrap();
    for path in ["nope.json", "text.json", "empty.json"] {
        let ended = place.run(&["health", path]);
        assert_eq!(ended.code, 3, "{path}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(path), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn strict_refuses_what_is_partly_readable() {
    let place = Place::new();
    assert_eq!(place.run(&["health", "trace.json"]).code, 0);
    assert_eq!(place.run(&["health", "trace.json", "--strict"]).code, 3);
}

#[test]
fn wrong_sql_and_writing_sql_are_usage_errors() {
    let place = Place::new();
    for statement in
        ["SELEC 1", "SELECT nope FROM spans", "SELECT * FROM nope", "DROP TABLE spans", "CREATE TABLE a AS SELECT 1"]
    {
        let ended = place.run(&["sql", "trace.json", statement, "--quiet"]);
        assert_eq!(ended.code, 2, "{statement}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    }
}

#[test]
fn an_unknown_column_is_a_usage_error() {
    let ended = Place::new().run(&["tracks", "trace.json", "--sort", "nam"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("no column named nam in tracks") && ended.stderr.contains("--> --sort nam"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    let statement = "SELECT a.value FROM generate_series(1, 200000) AS a";
    let mut child = place
        .command(&["sql", "trace.json", statement, "-f", "csv", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!((line.as_str(), ended.code, ended.stderr.as_str()), ("value\n", 0, ""));
}

#[test]
fn no_cache_leaves_nothing_behind() {
    let place = Place::new();
    place.stdout(&["health", "trace.json", "--no-cache"]);
    assert_eq!(names(&place.path("")), ["trace.json"]);
}

#[test]
fn the_same_question_gives_the_same_bytes() {
    let place = Place::new();
    for arguments in
        [&["tracks", "trace.json"][..], &["metrics", "trace.json", "-f", "json"], &["health", "trace.json"]]
    {
        assert_eq!(place.stdout(arguments), place.stdout(arguments), "{arguments:?}");
    }
}

#[test]
fn one_of_several_runs_is_chosen_by_name_and_commands_to_paste_keep_the_choice() {
    let place = Place::new();
    let of_device = |name: &str| TRACE.replace("Test GPU", name).replace(r#""soon""#, "70");
    std::fs::create_dir(place.path("jobs")).unwrap();
    std::fs::write(place.path("jobs/a.json"), of_device("A100")).unwrap();
    std::fs::write(place.path("jobs/b.json"), of_device("MI300X")).unwrap();
    std::fs::write(place.path("jobs/notes.txt"), "hello").unwrap();
    let refused = place.run(&["summary", "jobs"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("found 2 runs, expected one: jobs.a, jobs.b"), "{}", refused.stderr);
    assert!(refused.stderr.contains("b.json: device MI300X, not A100 as in a.json; choose one with `--run NAME`"));
    let chosen = place.run(&["summary", "jobs", "--run", "b"]);
    assert_eq!(chosen.code, 0, "{}", chosen.stderr);
    assert!(chosen.stdout.starts_with("jobs.b ") && chosen.stdout.contains("MI300X"), "{}", chosen.stdout);
    assert!(chosen.stdout.contains("stepscope ops jobs --run b\n"), "{}", chosen.stdout);
    assert!(
        chosen.stderr.contains("1 file is not a trace that Stepscope reads: notes.txt (text)"),
        "{}",
        chosen.stderr
    );

    let ingested = place.run(&["ingest", "jobs", "--store", "kept", "-f", "json"]);
    let document: serde_json::Value = serde_json::from_str(&ingested.stdout).unwrap();
    assert_eq!(document["rows"][1]["run"], "jobs.b");
    assert_eq!(document["skipped_files"][0]["what"], "text");
    assert!(
        ingested.stderr.contains("b.json is a separate run: device MI300X, not A100 as in a.json"),
        "{}",
        ingested.stderr
    );
    for path in ["kept", "jobs"] {
        let separate = place.run(&["steps", path, "--separate-runs", "--run", "jobs.a"]);
        assert_eq!(separate.code, 0, "{}", separate.stderr);
    }
}

#[test]
fn steps_that_are_not_there_are_said() {
    let place = Place::new();
    let note = "step 0 and steps 2 to 99 are not in the trace: it has step 1";
    let said = place.run(&["ops", "trace.json", "--step", "0-99"]);
    assert!(said.stderr.contains(&format!("note: {note}\n")), "{}", said.stderr);
    assert!(said.stdout.contains(note), "{}", said.stdout);
    let document = place.json(&["ops", "trace.json", "--step", "0-99"]);
    assert_eq!(document["notes"], serde_json::json!([note]));
    let said = place.run(&["ops", "trace.json", "--step", "0-1", "--quiet"]);
    assert!(said.stderr.is_empty() && said.stdout.contains("step 0 is not in the trace: it has step 1"), "{said:?}");
    let said = place.run(&["ops", "trace.json", "--step", "1"]);
    assert!(!said.stderr.contains("not in the trace") && !said.stdout.contains("not in the trace"), "{said:?}");
}
