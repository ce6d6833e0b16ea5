//! `stepscope report`: one page that is small, asks for nothing, and shows whatever a trace holds as text.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use stepscope_model::{Cell, Unit};
use stepscope_report::text;
use stepscope_simulate::{Job, write_traces};
use stepscope_testkit::corpus;

use crate::command::{Place, ended};

/// What fits a mail.
const MOST_BYTES: usize = 2_000_000;

/// Elements that load, run or send something, or take a page elsewhere.
const UNWANTED: [&str; 16] = [
    "applet",
    "audio",
    "base",
    "embed",
    "form",
    "frame",
    "iframe",
    "image",
    "img",
    "input",
    "link",
    "object",
    "script",
    "use",
    "video",
    "foreignObject",
];

/// Writes the report of a path and checks what must hold for every page.
#[track_caller]
fn report(place: &Place, path: &str) -> String {
    let ended = place.run(&["report", path, "-o", "report.html"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{path}: {}", ended.stderr);
    assert!(ended.stderr.contains("report.html: "), "{}", ended.stderr);
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    assert!(page.len() < MOST_BYTES, "{path}: {} bytes", page.len());
    assert!(page.contains("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "), "{path}");
    let tags = tags(&page);
    for tag in &tags {
        let name = tag.split([' ', '/']).next().unwrap();
        assert!(!UNWANTED.contains(&name), "{path}: <{tag}>");
        let is_style = name == "i" || name == "table" || name == "col";
        for attribute in attributes(tag) {
            let is_known = !attribute.starts_with("on") && attribute != "src" && (attribute != "style" || is_style);
            assert!(is_known, "{path}: <{tag}>");
        }
        // Links stay inside of the page.
        assert!(!tag.contains("href=") || tag.starts_with("a href=\"#"), "{path}: <{tag}>");
    }
    let style = &page[page.find("<style>").unwrap()..page.find("</style>").unwrap()];
    assert!(!style.contains("@import") && style.matches("url(").count() == style.matches("url(#hatch)").count());
    page
}

/// What stands between `<` and `>`; every element must be closed in order.
#[track_caller]
fn tags(page: &str) -> BTreeSet<&str> {
    const NEVER_CLOSED: [&str; 4] = ["!doctype", "meta", "br", "col"];
    let mut tags = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for piece in page.split('<').skip(1) {
        let tag = piece.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
        } else if !tag.ends_with('/') && !NEVER_CLOSED.contains(&name) {
            open.push(name);
        }
        tags.insert(tag);
    }
    assert!(open.is_empty(), "{open:?}");
    tags
}

/// The names of the attributes of a tag.
fn attributes(tag: &str) -> Vec<String> {
    // Every second piece between quotes is a value.
    let outside = tag.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    outside.split([' ', '=']).skip(1).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn demo(place: &Place) {
    write_traces(&Job::demo(), &place.path("demo-run")).unwrap();
}

fn copy_recording(place: &Place) {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/torch_cpu/trace.json.gz");
    std::fs::copy(recording, place.path("cpu.json.gz")).unwrap();
}

#[test]
fn a_page_has_the_figures_of_the_summary() {
    let place = Place::new();
    demo(&place);
    copy_recording(&place);
    for (path, options) in [("demo-run", &[][..]), ("demo-run", &["--rank", "1"]), ("cpu.json.gz", &[])] {
        let summary = place.json(&[&["summary", path], options].concat());
        let ended = place.run(&[&["report", path, "-o", "report.html"], options].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let page = std::fs::read_to_string(place.path("report.html")).unwrap();
        let has = |name: &str, cell: Cell, unit: Unit| {
            let figure = text::figure(&cell, unit);
            let (digits, unit) = figure.rsplit_once(' ').unwrap();
            assert!(page.contains(&format!("{digits}<u>{unit}</u>")), "{path} {options:?}: {name} is {figure}");
        };
        let times = &summary["step_time"][0];
        has("p50", Cell::Int(times["p50_ns"].as_i64().unwrap()), Unit::Nanoseconds);
        for device in summary["devices"].as_array().into_iter().flatten() {
            for name in ["gpu_utilization_ratio", "est_sm_efficiency_ratio", "est_achieved_occupancy_ratio"] {
                has(name, Cell::Float(device[name].as_f64().unwrap()), Unit::Ratio);
            }
        }
        for class in summary["breakdown"].as_array().unwrap() {
            let share = text::figure(&Cell::Float(class["share_ratio"].as_f64().unwrap()), Unit::Ratio);
            assert!(page.contains(&format!("<em>{}</em>", share.replace('<', "&lt;"))), "{path}: {class}");
        }
    }
}

#[test]
fn tables_of_a_page_have_the_figures_of_the_terminal() {
    let place = Place::new();
    demo(&place);
    let page = report(&place, "demo-run");
    for command in ["ops", "kernels", "comms", "transfers"] {
        let screen = place.stdout(&[command, "demo-run"]);
        // Columns are divided by two spaces, so that a value keeps its unit. The page leaves out what is very wide.
        let figures = screen.lines().flat_map(|line| line.split("  ")).map(str::trim).filter(|cell| {
            let is_value = cell.starts_with(|letter: char| letter.is_ascii_digit()) && cell.split(' ').count() == 2;
            is_value && ["ms", "µs", "%", "MB", "GB/s"].iter().any(|unit| cell.ends_with(&format!(" {unit}")))
        });
        let figures: Vec<&str> = figures.collect();
        assert!(figures.len() > 4, "{screen}");
        for figure in figures {
            let (digits, unit) = figure.rsplit_once(' ').unwrap();
            assert!(page.contains(&format!("{digits}<u>{unit}</u>")), "{command}: {figure}\n{screen}");
        }
    }
}

#[test]
fn ranks_stand_side_by_side_and_the_timeline_is_of_the_first() {
    let place = Place::new();
    demo(&place);
    let page = report(&place, "demo-run");
    for words in ["Ranks side by side", "rank 1", "the first of 2 traces", "Trace health: good in 2 of 2"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.contains("<svg class=\"timeline\"") && page.contains("GPU 0 stream"), "no timeline");
    let one = place.run(&["report", "demo-run", "--rank", "1", "--step", "2", "-o", "one.html"]);
    assert_eq!(one.code, 0, "{}", one.stderr);
    let one = std::fs::read_to_string(place.path("one.html")).unwrap();
    assert!(!one.contains("Ranks side by side") && one.matches("<svg class=\"timeline\"").count() == 1);
}

#[test]
fn what_is_missing_says_why() {
    let place = Place::new();
    std::fs::write(place.path("empty.json"), r#"{"traceEvents": []}"#).unwrap();
    let page = report(&place, "empty.json");
    for words in ["No complete step in this trace.", ">no complete step<", "Not in this trace", "No communication."] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("<svg class=\"timeline\""));
    // One event cannot be read, and the health of the trace says so before anything else.
    let page = report(&place, "trace.json");
    assert!(page.find("1 event is lost").unwrap() < page.find("class=\"strip\"").unwrap(), "{page}");
}

#[test]
fn every_text_of_a_trace_stays_text() {
    const PAYLOAD: &str = r#"<script>alert(1)</script>"><img src=x onerror=alert(2)>' onload='alert(3)' &lt;b&gt;"#;
    let place = Place::new();
    let payload = serde_json::Value::from(PAYLOAD).to_string();
    let hostile = crate::command::TRACE
        .replace("\"python\"", &payload)
        .replace("\"Test GPU\"", &payload)
        .replace("\"aten::mm\"", &payload)
        .replace("\"gemm\"", &payload)
        .replace("\"cudaLaunchKernel\"", &payload)
        .replace("\"ProfilerStep#1\"", &serde_json::Value::from(format!("ProfilerStep#1{PAYLOAD}")).to_string());
    let folder = "<b>run<script>alert(4)<";
    std::fs::create_dir(place.path(folder)).unwrap();
    std::fs::write(place.path(folder).join("trace.json"), hostile).unwrap();
    let page = report(&place, folder);
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("&amp;lt;b&amp;gt;"), "it is shown as text");
}

#[test]
fn long_names_and_many_of_them_still_fit_a_mail() {
    let place = Place::new();
    let mut events = String::new();
    for number in 0..3_000 {
        let (start, name) = (number * 20, format!("{number}{}", "<&\"'".repeat(2_000)));
        let name = serde_json::Value::from(name);
        write!(
            events,
            r#"{{"ph": "X", "cat": "cpu_op", "name": {name}, "pid": {}, "tid": 1, "ts": {start}, "dur": 19}},"#,
            number % 40
        )
        .unwrap();
        write!(events, r#"{{"ph": "X", "cat": "kernel", "name": {name}, "pid": 0, "tid": 7, "ts": {start}, "dur": 19, "args": {{"device": 0, "stream": {}}}}},"#, number % 9)
            .unwrap();
    }
    let events = events.trim_end_matches(',');
    std::fs::write(place.path("long.json"), format!("{{\"traceEvents\": [{events}]}}")).unwrap();
    report(&place, "long.json");
}

#[test]
fn a_page_goes_to_standard_output_or_a_file_and_is_always_the_same() {
    let place = Place::new();
    let page = place.stdout(&["report", "trace.json"]);
    assert_eq!(page, report(&place, "trace.json"));
    let place_of = |name: &str| place.path(name);
    let trace = std::fs::File::open(place_of("trace.json")).unwrap();
    let piped = ended(place.command(&["report", "-", "-q"]).stdin(trace).output().unwrap());
    assert_eq!((piped.code, piped.stdout.starts_with("<!doctype html>")), (0, true), "{}", piped.stderr);
    let markdown = place.stdout(&["report", "trace.json", "-f", "md"]);
    assert!(markdown.starts_with("## Summary\n") && markdown.contains("## Operators\n"), "{markdown}");
}

#[test]
fn what_goes_wrong_is_said() {
    let place = Place::new();
    let check = |arguments: &[&str], code: i32, words: &str| {
        let ended = place.run(&[&["report"], arguments].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{arguments:?}: {}", ended.stderr);
    };
    check(&["nope.json", "-o", "report.html"], 3, "nope.json");
    check(&["trace.json", "-o", "no/such/folder.html"], 5, "no/such/folder.html");
    check(&["trace.json", "--step", "9", "-o", "report.html"], 2, "9");
    check(&["trace.json", "--strict", "-o", "report.html"], 3, "trace.json");
    check(&["trace.json", "-f", "csv", "-o", "report.html"], 2, "html");
    assert!(!place.path("report.html").exists());
}

#[test]
#[ignore = "needs the corpus"]
fn reports_of_real_traces_fit_a_mail() {
    let corpus = corpus();
    let traces = [
        "kineto/resnet50_num_workers_0",
        "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "astra-sim/megatron-tp8",
        "tracelens/inference/xdit_sd_3.5",
        "hta/mtia_trace_single_rank",
    ];
    for trace in traces {
        report(&Place::new(), &corpus.trace(trace).to_string_lossy());
    }
}
