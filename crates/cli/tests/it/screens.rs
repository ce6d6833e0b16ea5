//! What people see of five runs, at several widths and in a pipe. The runs are made by the project itself.

use std::path::{Path, PathBuf};

use stepscope_report::text::ColorMode;
use stepscope_report::{Shape, TextOptions, shape, text};
use stepscope_simulate::{Job, write_traces};
use stepscope_workspace::{ANALYSES, Progress, Question, Settings, Workspace};
use unicode_width::UnicodeWidthStr;

struct Silent;

impl Progress for Silent {
    fn update(&self, _file: &str, _bytes_done: u64, _bytes_total: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, _message: &str) {}
}

pub(crate) fn open(paths: &[PathBuf]) -> Workspace {
    let settings = Settings { no_cache: true, ..Settings::default() };
    Workspace::open(paths, &settings, &Silent).unwrap()
}

/// Every screen of a run, below one another.
#[track_caller]
fn check(name: &str, workspace: &Workspace) {
    for command in ["summary", "ops", "kernels", "comms"] {
        let analysis = ANALYSES.iter().find(|analysis| analysis.name == command).unwrap();
        let mut screens = String::new();
        for width in [80, 120, 200] {
            let options = TextOptions::screen(width, ColorMode::None);
            screens.push_str(&screen(workspace, analysis.usual_rows, command, options, &format!("{width} columns")));
        }
        screens.push_str(&screen(workspace, analysis.usual_rows, command, TextOptions::default(), "a pipe"));
        insta::assert_snapshot!(format!("{name}_{command}"), screens);
    }
}

fn screen(workspace: &Workspace, limit: Option<usize>, command: &str, options: TextOptions, place: &str) -> String {
    let analysis = ANALYSES.iter().find(|analysis| analysis.name == command).unwrap();
    let mut report = workspace.analyze(analysis, &Question::default()).unwrap();
    report.spell(&|target| stepscope_cli::command::of_paths(target, &[]));
    shape::apply(&mut report, &Shape { limit, ..Shape::default() }).unwrap();
    let text = text::render(&report, options);
    for line in text.lines() {
        assert!(line.width() <= options.width, "{command} at {place}: {line}");
    }
    format!("== {place}\n{text}\n")
}

fn demo(folder: &Path) -> Vec<PathBuf> {
    write_traces(&Job::demo(), &folder.join("demo-run")).unwrap()
}

#[test]
fn two_ranks() {
    let folder = tempfile::tempdir().unwrap();
    check("two_ranks", &open(&demo(folder.path())));
}

#[test]
fn one_rank() {
    let folder = tempfile::tempdir().unwrap();
    check("one_rank", &open(&demo(folder.path())[..1]));
}

#[test]
fn broken() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(&demo(folder.path())[0]).unwrap();
    let path = folder.path().join("broken.pt.trace.json.gz");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    check("broken", &open(&[path]));
}

#[test]
fn processor_only() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/torch_cpu/trace.json.gz");
    check("processor_only", &open(&[path]));
}

#[test]
fn nothing_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.json");
    std::fs::write(&path, r#"{"traceEvents": []}"#).unwrap();
    check("nothing_at_all", &open(&[path]));
}
