//! The timeline in a real browser, on a short and on a long recording: what a look costs must follow the screen, not the
//! trace. `ui/e2e/bench.mjs` and `search_bench.mjs` measure; this makes the stores and judges.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::options::Plan;
use crate::rows::{Bar, Row, Status};
use crate::scratch::{CONTROL, Scratch};
use crate::series::Series;

/// Copies of the control trace: two million events and twenty.
const COPIES: [u32; 2] = [18, 180];

/// Figures of the long recording, with their units and bars.
const FIGURES: [(&str, &str, &str, Bar); 7] = [
    ("first_paint_ms", "first paint", "ms", Bar::AtMost(1500.0)),
    ("tile_p95_ms", "tile request, p95", "ms", Bar::AtMost(50.0)),
    ("most_rows", "rows of an answer", "", Bar::AtMost(20_000.0)),
    ("memory_mb", "memory of the page", "MB", Bar::AtMost(250.0)),
    ("current_frames_ratio", "frames that show the current range", "", Bar::AtLeast(0.95)),
    ("prompt_inputs_ratio", "inputs on screen within two frames", "", Bar::AtLeast(0.95)),
    ("script_p95_ms", "script a frame, p95", "ms", Bar::AtMost(8.0)),
];

/// Figures that may not grow with the recording, and by how much they may.
const STEADY: [&str; 3] = ["first_paint_ms", "tile_p95_ms", "memory_mb"];
const MOST_GROWTH: f64 = 1.5;

/// Copies of the control trace that are searched: the matches of `SEARCHED` are 17,472.
const SEARCHED_COPIES: u32 = 16;
const SEARCHED: &str = "aten::mm";

/// What the script found, by name.
type Figures = BTreeMap<String, f64>;

pub(crate) fn browser(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let Some(program) = &plan.stepscope else {
        let reason = "no stepscope command: build it, or give --stepscope";
        return Ok((vec![Row::without("timeline in the browser", Status::Absent, reason)], Vec::new()));
    };
    let copies = if plan.is_quick { [1, 2] } else { COPIES };
    let short = measure(program, scratch, copies[0])?;
    let long = measure(program, scratch, copies[1])?;
    let mut rows = Vec::new();
    for (name, what, unit, bar) in FIGURES {
        let what = format!("control × {}: {what}", copies[1]);
        rows.push(Row::figure(what, figure(&long, name)?, unit).with_bar(plan.bar(bar)));
    }
    for name in STEADY {
        let (_, what, ..) = FIGURES.iter().find(|(known, ..)| *known == name).context("a steady figure is a figure")?;
        let what = format!("{what}, × {} ÷ × {}", copies[1], copies[0]);
        let (above, below) = (figure(&long, name)?, figure(&short, name)?);
        let row = Row::figure(what, above / below, "").with_bar(plan.bar(Bar::AtMost(MOST_GROWTH)));
        rows.push(row.with_note(&format!("{above:.1} ÷ {below:.1}")));
    }
    rows.extend(search(plan, program, scratch)?);
    Ok((rows, Vec::new()))
}

/// Walks through the matches of a search.
fn search(plan: &Plan, program: &Path, scratch: &Scratch) -> Result<Vec<Row>> {
    let copies = if plan.is_quick { 1 } else { SEARCHED_COPIES };
    let found = run_script("e2e/search_bench.mjs", &["--text", SEARCHED], program, scratch, copies)?;
    let what = |what: &str| format!("control × {copies}: {what}");
    let (matches, reached) = (figure(&found, "matches")?, figure(&found, "matches_reached")?);
    ensure!(matches > 0.0, "the search for {SEARCHED} finds nothing in control × {copies}");
    Ok(vec![
        Row::figure(what("next match, p95"), figure(&found, "next_match_p95_ms")?, "ms")
            .with_bar(plan.bar(Bar::AtMost(100.0))),
        Row::figure(what("matches that a search reaches"), reached, "").with_bar(plan.bar(Bar::AtLeast(matches))),
    ])
}

fn measure(program: &Path, scratch: &Scratch, copies: u32) -> Result<Figures> {
    run_script("e2e/bench.mjs", &[], program, scratch, copies)
}

/// Makes a store of the trace and has a script of the pages look at it.
fn run_script(script: &str, options: &[&str], program: &Path, scratch: &Scratch, copies: u32) -> Result<Figures> {
    let trace = scratch.amplified(CONTROL, copies)?;
    let folder = tempfile::TempDir::with_prefix_in("browser-", scratch.folder())?;
    let (store, figures) = (folder.path().join("store"), folder.path().join("figures.json"));
    let made = Command::new(program).arg("ingest").arg(&trace.path).arg("--store").arg(&store).arg("-q").output()?;
    ensure!(made.status.success(), "ingest failed: {}", String::from_utf8_lossy(&made.stderr));
    let ui = PathBuf::from(env!("CARGO_MANIFEST_DIR")).with_file_name("ui");
    let looked = Command::new("node")
        .current_dir(&ui)
        .arg(script)
        .args(options)
        .arg("--stepscope")
        .arg(std::path::absolute(program)?)
        .arg("--trace")
        .arg(std::path::absolute(&store)?)
        .arg("-o")
        .arg(std::path::absolute(&figures)?)
        // Its own table is for those who run it alone.
        .stdout(Stdio::null())
        .status()
        .context("cannot start node; the pages' packages are needed too: npm install in ui/")?;
    ensure!(looked.success(), "ui/{script} ended with {looked}; are the pages' packages and chromium installed?");
    Ok(serde_json::from_slice(&std::fs::read(&figures)?)?)
}

fn figure(figures: &Figures, name: &str) -> Result<f64> {
    figures.get(name).copied().with_context(|| format!("the pages' bench gave no {name}"))
}
