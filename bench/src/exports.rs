//! How much memory an export of all spans takes, in every format, under a limit that is smaller than the answer.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::options::Plan;
use crate::rows::{Bar, Row};
use crate::scratch::{CONTROL, Scratch};
use crate::series::{Run, Series};
use crate::views;

const FORMATS: [&str; 6] = ["json", "csv", "md", "arrow", "parquet", "table"];
const LIMIT: &str = "512MiB";
/// The limit, and 256 MiB for everything beside it.
const MOST_MIB: f64 = 768.0;

pub(crate) fn exports(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let copies = plan.control_copies;
    let what = |format: &str| format!("control × {copies}: export as {format} at {LIMIT}");
    let Some(program) = &plan.stepscope else {
        let absent = Series::absent("exports", "no stepscope command: build it, or give --stepscope");
        return Ok((vec![Row::of_series("exports", &[&absent], || None)], vec![absent]));
    };
    let trace = scratch.amplified(CONTROL, copies)?;
    let folder = tempfile::TempDir::with_prefix_in("exports-", scratch.folder())?;
    let (store, out) = (folder.path().join("store"), folder.path().join("out"));
    let made = Command::new(program).arg("ingest").arg(&trace.path).arg("--store").arg(&store).arg("-q").output()?;
    ensure!(made.status.success(), "ingest failed: {}", String::from_utf8_lossy(&made.stderr));
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for format in FORMATS {
        let mut series = Series::new(&what(format));
        let [sql, statement, limit] = ["sql", "SELECT * FROM spans", "--memory-limit"].map(OsStr::new);
        let (size, form) = (OsStr::new(LIMIT), OsStr::new(format));
        let arguments =
            [sql, store.as_os_str(), statement, OsStr::new("-f"), form, OsStr::new("-o"), out.as_os_str(), limit, size];
        series.repeat(|| {
            let run = views::run(program, &arguments)?;
            let bytes = out.metadata().map_or(0, |file| file.len());
            let problems = if bytes < 1 << 20 { vec![format!("the file has {bytes} bytes")] } else { Vec::new() };
            Ok(Run { problems, ..run })
        });
        rows.push(Row::memory(what(format), &series).with_bar(plan.bar(Bar::AtMost(MOST_MIB))));
        all.push(series);
    }
    Ok((rows, all))
}
