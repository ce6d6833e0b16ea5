//! Every endpoint on a small trace whose answers are known.

use axum::http::Method;
use serde_json::{Value, json};
use stepscope_model::{Cell, Look, Part, Report, ReportColumn, ReportTable, Role, Text, say};
use stepscope_server::Response;
use stepscope_workspace::ANALYSES;

use crate::harness::{Inside, Outside, app, open_text, set, small_trace};

fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

#[test]
fn the_session_tells_what_is_open() {
    let session = Inside::new(&small_trace()).json("/api/session");
    assert_eq!(session["version"], env!("CARGO_PKG_VERSION"));
    let run = &session["runs"][0];
    assert_eq!((&run["run"], &run["state"]), (&json!("job"), &json!("ready")));
    assert_eq!((&run["progress"], &run["error"]), (&Value::Null, &Value::Null));
    let source = &run["sources"][0];
    assert_eq!((&source["rank"], &source["window"], &source["events"]), (&json!(0), &json!(0), &json!(7)));
    assert_eq!((&source["first_ns"], &source["last_ns"]), (&json!(1_000_000), &json!(1_100_000)));
    assert_eq!((&source["devices"], &source["complete_steps"]), (&json!(["Test GPU"]), &json!(1)));
    assert_eq!(source["rows"]["spans"], json!(6));
}

#[test]
fn every_answer_says_which_state_of_its_run_it_is_from() {
    let inside = Inside::new(&small_trace());
    let targets = [
        "/api/runs/job/analyses/summary",
        "/api/runs/job/whatif?no_sync",
        "/api/runs/job/diff/job",
        "/api/runs/job/metrics",
        "/api/runs/job/memory/picture",
        "/api/runs/job/timeline",
        "/api/runs/job/timeline/counters?from=0&to=1000&width=10",
        "/api/runs/job/timeline/tracks/0?from=0&to=1000&width=10",
        "/api/runs/job/search?q=mm",
        "/api/runs/job/spans/0.0.0",
    ];
    let stated = |target: &str| {
        let response = inside.get(target);
        assert_eq!(response.status, 200, "{target}: {}", String::from_utf8_lossy(&response.body));
        response.headers.into_iter().find(|(name, _)| *name == "stepscope-revision").map(|(_, value)| value)
    };
    for revision in [1, 2] {
        assert_eq!(inside.json("/api/session")["runs"][0]["revision"], json!(revision));
        for target in targets {
            assert_eq!(stated(target), Some(revision.to_string()), "{target}");
        }
        inside.app.add("job", crate::harness::open_text(&small_trace())).unwrap();
    }
    assert_eq!(stated("/api/session"), None);
}

#[test]
fn changes_are_asked_for_by_name() {
    let inside = Inside::new(&small_trace());
    let report = inside.json("/api/runs/job/whatif?host_half&scale=kernel:gem*%3D1/2");
    let rows = report["parts"].as_array().unwrap().iter().find(|part| part["name"] == "rows").unwrap();
    let changes: Vec<&Value> = rows["rows"].as_array().unwrap().iter().map(|row| &row[0]).collect();
    assert_eq!(changes, ["scale kernel:gem*=1/2", "host-half", "together"]);
    for (target, said) in [("", "no change given"), ("?remove=gemm", "remove: expected KIND:PATTERN")] {
        let response = inside.get(&format!("/api/runs/job/whatif{target}"));
        assert_eq!(response.status, 400, "{target}");
        assert!(body(&response).to_string().contains(said), "{target}");
    }
}

#[test]
fn every_analysis_answers_with_a_report() {
    let inside = Inside::new(&small_trace());
    let others = ["tracks", "health", "schema"];
    for name in ANALYSES.iter().map(|analysis| analysis.name).chain(others) {
        let report = inside.json(&format!("/api/runs/job/analyses/{name}"));
        assert_eq!(report["name"], name);
        assert!(report["parts"].as_array().is_some_and(|parts| !parts.is_empty()), "{name}");
        assert!(report["missing"].is_array(), "{name}");
    }
}

#[test]
fn a_report_is_written_as_the_page_reads_it() {
    let columns = vec![
        ReportColumn::named("device_self_ns")
            .label("device self")
            .look(Look::Bar(Some(stepscope_model::Class::CpuExec))),
        ReportColumn::named("id").from_width(100),
        ReportColumn::named("drawn").look(Look::Spark),
    ];
    let rows = vec![vec![Cell::Int(1 << 60), Cell::Null, Cell::Numbers(vec![0.5, f64::NAN])]];
    let table = ReportTable { sorted_by: Some("-device_self_ns".to_owned()), ..ReportTable::rows(columns, rows) };
    let report = Report::new(
        "ops",
        vec![Part::Text(Text::labeled(Role::Health, vec![say!("{} lost", say::count(2))])), Part::Table(table)],
    );
    let want = json!({
        "name": "ops",
        "parts": [
            {
                "kind": "text", "role": "health", "explains": null, "right": null, "tone": "secondary", "is_code": false,
                "lines": [[{ "figure": { "value": 2.0, "unit": "plain", "rounding": "usual" } }, { "words": " lost" }]],
            },
            {
                "kind": "table", "name": "rows", "title": null, "sorted_by": "-device_self_ns", "is_beside": false,
                "left_out": 0, "notes": [], "total": null,
                "columns": [
                    { "name": "device_self_ns", "label": "device self", "unit": "ns", "look": "bar", "class": "cpu_exec", "from_width": 0 },
                    { "name": "id", "label": null, "unit": "id", "look": "value", "class": null, "from_width": 100 },
                    { "name": "drawn", "label": null, "unit": "plain", "look": "spark", "class": null, "from_width": 0 },
                ],
                // A JavaScript number cannot hold the first one.
                "rows": [["1152921504606846976", null, [0.5, null]]],
            },
        ],
        "missing": [],
    });
    assert_eq!(serde_json::to_value(&report).unwrap(), want);
}

#[test]
fn rows_are_filtered_sorted_and_cut_as_asked() {
    let inside = Inside::new(&small_trace());
    let rows = |query: &str| {
        let report = inside.json(&format!("/api/runs/job/analyses/tracks?{query}"));
        let table = report["parts"].as_array().unwrap().iter().find(|part| part["kind"] == "table").unwrap().clone();
        (table["rows"].as_array().unwrap().len(), table["left_out"].clone(), table["sorted_by"].clone())
    };
    let (all, left_out, _) = rows("");
    assert_eq!(left_out, json!(0));
    assert_eq!(rows("limit=1&sort=-spans"), (1, json!(all - 1), json!("-spans")));
    assert_eq!(rows("rank=0&window=0").0, all);
    assert_eq!(rows("rank=1").0, 0);
}

#[test]
fn figures_equal_those_of_the_metrics() {
    let inside = Inside::new(&small_trace());
    let document = inside.json("/api/runs/job/metrics?rank=0&window=0");
    assert_eq!(document["schema"], "stepscope.metrics/1");
    assert_eq!(document["metrics"], open_text(&small_trace()).metrics(None, None).unwrap());
}

#[test]
fn sql_is_downloaded_whole_in_pieces() {
    let outside = Outside::new(app(&small_trace()));
    let ask = |body: &str| outside.post("/api/runs/job/sql", body);
    let many = "SELECT value, value * 2 AS twice FROM generate_series(1, 300000) ORDER BY value";
    let csv = ask(&format!("{{\"statement\": \"{many}\", \"format\": \"csv\"}}"));
    assert!(csv.head.contains("transfer-encoding: chunked"), "{}", csv.head);
    assert!(csv.body.starts_with(b"value,twice\n1,2\n") && csv.body.ends_with(b"300000,600000\n"));
    let json = ask(&format!("{{\"statement\": \"{many}\", \"format\": \"json\"}}"));
    let document: serde_json::Value = serde_json::from_slice(&json.body).unwrap();
    assert_eq!(document["schema"], "stepscope.sql/1");
    assert_eq!(document["rows"].as_array().unwrap().len(), 300_000);
    let arrow = ask(&format!("{{\"statement\": \"{many}\", \"format\": \"arrow\"}}"));
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(arrow.body), None).unwrap();
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 300_000);
    // The page gets its report as ever, however long it is.
    let page = ask(&format!("{{\"statement\": \"{many}\", \"limit\": 90000}}"));
    let report: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
    let table = &report["parts"][0];
    assert_eq!(table["rows"].as_array().unwrap().len(), 90_000, "{}", page.head);
    assert!(table["left_out"].is_null());
    let wrong = ask("{\"statement\": \"SELECT nope FROM spans\", \"format\": \"csv\"}");
    assert!(wrong.head.starts_with("HTTP/1.1 400"), "{}", wrong.head);
}

#[test]
fn sql_is_answered_within_its_limit() {
    let inside = Inside::new(&small_trace());
    let ask = |body: &str, content_type: &str| {
        let mut request = inside.request(Method::POST, "/api/runs/job/sql");
        set(&mut request, "content-type", content_type);
        request.body = body.as_bytes().to_vec();
        inside.door.answer(&inside.app, &request)
    };
    let json_type = "application/json; charset=utf-8";
    let answer = ask(r#"{"statement": "SELECT name FROM spans ORDER BY start_ns", "limit": 2}"#, json_type);
    let table = &body(&answer)["parts"][0];
    assert_eq!(table["rows"], json!([["ProfilerStep#1"], ["train.py(3): step"]]));
    assert_eq!(table["left_out"], Value::Null);
    let check = |body_text: &str, content_type: &str, want: u16, words: &str| {
        let answer = ask(body_text, content_type);
        assert_eq!(answer.status, want, "{body_text}");
        let message = body(&answer)["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(words), "{message}");
    };
    check(r#"{"statement": "DROP TABLE spans"}"#, json_type, 400, "found DROP TABLE, expected a query");
    check(r#"{"statement": "SELEC 1"}"#, json_type, 400, "cannot read the query");
    check(r#"{"statement": 1}"#, json_type, 400, "cannot read the body");
    check(r#"{"statement": "SELECT 1", "file": "x"}"#, json_type, 400, "unknown field");
    check("", json_type, 400, "cannot read the body");
    check(r#"{"statement": "SELECT 1"}"#, "text/plain", 415, "application/json");
}

#[test]
fn a_timeline_has_steps_tracks_and_lanes() {
    let timeline = Inside::new(&small_trace()).json("/api/runs/job/timeline?rank=0&window=0");
    assert_eq!((&timeline["start_ns"], &timeline["end_ns"]), (&json!(0), &json!(100_000)));
    assert_eq!(timeline["zero_ns"], timeline["steps"][0]["start_ns"]);
    assert_eq!(timeline["steps"][0]["name"], "ProfilerStep#1");
    let tracks = timeline["tracks"].as_array().unwrap();
    let track = |kind: &str| tracks.iter().find(|track| track["kind"] == kind).unwrap();
    let thread = track("thread");
    assert_eq!((&thread["process"], &thread["spans"]), (&json!("python (1000)"), &json!(4)));
    // One lane of Python above three of step, operator and call.
    assert_eq!(thread["depth"], 4);
    let stream = track("stream");
    assert_eq!((&stream["device"], &stream["stream"], &stream["depth"]), (&json!(0), &json!(7), &json!(1)));
    assert_eq!((&stream["first_ns"], &stream["last_ns"]), (&json!(40_000), &json!(90_000)));
}

#[test]
fn a_span_comes_with_what_is_around_it() {
    let inside = Inside::new(&small_trace());
    let found = inside.json("/api/runs/job/search/step?q=GEMM&rank=0&window=0");
    assert_eq!((&found["count"], &found["found"]["start_ns"]), (&json!(1), &json!(40_000)));
    let id = found["found"]["span_id"].as_i64().unwrap();
    let details = inside.json(&format!("/api/runs/job/spans/0.0.{id}"));
    assert_eq!((&details["span"]["name"], &details["span"]["start_ns"]), (&json!("gemm"), &json!(40_000)));
    assert_eq!(details["launch"]["name"], "cudaLaunchKernel");
    assert_eq!(details["operator"]["name"], "aten::mm");
    assert_eq!(details["stack"], json!(["train.py(3): step"]));
    assert_eq!(details["same_name"], json!({"count": 1, "total_ns": 30_000, "min_ns": 30_000, "max_ns": 30_000}));
    assert!(details["span"].as_object().unwrap().values().all(|value| !value.is_null()));
    let operator = details["operator"]["span_id"].as_i64().unwrap();
    let details = inside.json(&format!("/api/runs/job/spans/0.0.{operator}"));
    assert_eq!(details["kernels"][0]["name"], "gemm");
}

#[test]
fn a_search_takes_its_text_as_text() {
    let inside = Inside::new(&small_trace());
    let check = |text: &str, want: i64| {
        assert_eq!(inside.json(&format!("/api/runs/job/search?q={text}"))["count"], want, "{text}");
    };
    check("aten%3A%3AMM", 1);
    // No wildcards, and no way out of the quotes.
    check("%25", 0);
    check("_", 0);
    check("x%27%20OR%20%27%27%3D%27", 0);
    check("%5C%27", 0);
    check("e", 6);
}

#[test]
fn a_search_walks_through_all_matches_and_marks_them() {
    let inside = Inside::new(&small_trace());
    let count = inside.json("/api/runs/job/search?q=e&width=10");
    assert_eq!((count["count"].as_i64(), count["density"].as_array().map(Vec::len)), (Some(6), Some(10)));
    let total: i64 = count["density"].as_array().unwrap().iter().filter_map(serde_json::Value::as_i64).sum();
    assert_eq!(total, 6);
    let mut from = "from=-1".to_owned();
    let mut starts = Vec::new();
    for place in 1..=6 {
        let step = inside.json(&format!("/api/runs/job/search/step?q=e&{from}"));
        assert_eq!((&step["place"], &step["count"]), (&json!(place), &json!(6)));
        let start = step["found"]["start_ns"].as_i64().unwrap();
        starts.push(start);
        from = format!("from={start}&span={}", step["found"]["span_id"]);
    }
    assert!(starts.is_sorted(), "{starts:?}");
    // Behind the last is the first; before the first is the last.
    assert_eq!(inside.json(&format!("/api/runs/job/search/step?q=e&{from}"))["place"], 1);
    assert_eq!(inside.json("/api/runs/job/search/step?q=e&from=-1&by=-1")["place"], 6);
    assert_eq!(inside.json("/api/runs/job/search/step?q=nothing")["found"], json!(null));
    // Only the very name, and only of the kind.
    assert_eq!(inside.json("/api/runs/job/search?name=gemm&kind=kernel")["count"], 1);
    assert_eq!(inside.json("/api/runs/job/search?name=gem&kind=kernel")["count"], 0);
    assert_eq!(inside.json("/api/runs/job/search?name=gemm&kind=op")["count"], 0);
    let marks = inside.json("/api/runs/job/search/marks?q=gemm&from=0&to=100000&width=100");
    assert_eq!(marks["lanes"][0]["ranges"], json!([[40_000, 70_000]]));
    let marks = inside.json("/api/runs/job/search/marks?q=gemm&from=80000&to=100000&width=100");
    assert_eq!(marks["lanes"], json!([]));
}

#[test]
fn names_come_in_groups_with_the_number_of_all() {
    let inside = Inside::new(&small_trace());
    let found = inside.json("/api/runs/job/names?q=M&limit=1");
    let groups = found["groups"].as_array().unwrap();
    let named: Vec<_> = groups.iter().map(|group| (group["group"].as_str().unwrap(), &group["count"])).collect();
    assert!(named.contains(&("kernels", &json!(1))), "{found}");
    assert!(groups.iter().all(|group| group["names"].as_array().unwrap().len() == 1), "{found}");
    let kernel = groups.iter().find(|group| group["group"] == "kernels").unwrap();
    assert_eq!((&kernel["names"][0]["name"], &kernel["names"][0]["total_ns"]), (&json!("gemm"), &json!(30_000)));
    let id = kernel["names"][0]["longest_span_id"].as_i64().unwrap();
    assert_eq!(inside.json(&format!("/api/runs/job/spans/0.0.{id}"))["span"]["name"], "gemm");
}

#[test]
fn what_is_not_there_is_said_so() {
    let inside = Inside::new(&small_trace());
    let check = |target: &str, want: u16, words: &str| {
        let response = inside.get(target);
        let text = String::from_utf8_lossy(&response.body).into_owned();
        assert_eq!(response.status, want, "{target}: {text}");
        assert!(text.contains(words), "{target}: {text}");
    };
    check("/api/runs/other/analyses/ops", 404, "found no run: other");
    check("/api/runs/job/analyses/nonsense", 404, "found no analysis: nonsense");
    check("/api/runs/job/analyses/ops?rank=7", 404, "found no trace of rank 7");
    check("/api/runs/job/analyses/ops?step=9", 404, "found no step 9");
    check("/api/runs/job/analyses/ops?group=color", 400, "cannot be grouped by color");
    check("/api/runs/job/analyses/ops?sort=color", 400, "no column named color");
    check("/api/runs/job/analyses/ops?rank=x", 400, "rank: expected ranks such as 0 or 0,2-4, found x");
    check("/api/runs/job/analyses/ops?from=soon", 400, "from is not a valid number");
    check("/api/runs/job/analyses/ops?limit=-1", 400, "limit is not a valid number");
    check("/api/runs/job/timeline?rank=3", 404, "found no trace of rank 3");
    check("/api/runs/job/timeline/tracks/x", 400, "track is not a number");
    check("/api/runs/job/timeline/tracks/0?from=5&to=1", 400, "ends before it begins");
    check("/api/runs/job/spans/0.0", 400, "not the name of a span");
    check("/api/runs/job/spans/0.0.999", 404, "found no span");
    check("/api/runs/job/search", 400, "missing parameter: q");
    check("/api/runs/job/sql", 405, "use POST");
    check("/api/nonsense", 404, "found nothing at");
    check("/nonsense.js", 404, "found no page at this address");
}
