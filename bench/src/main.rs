//! Measures ingest beside the bare limits of the machine and beside other tools, and checks every answer on the way.
//!
//! `bench/README.md` says how to run it and what each row means. Figures are ratios of times that were taken in one run,
//! as times alone say more about the machine than about the program.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints what it measures")]

mod amplify;
mod browser;
mod child;
mod columns;
mod compaction;
mod decimal;
mod distinct;
mod expected;
mod exports;
mod fingerprint;
mod fleet;
mod formats;
mod gate;
mod json_text;
mod judge;
mod memory;
mod once;
mod options;
mod peers;
mod reads;
mod reopen;
mod rows;
mod scratch;
mod series;
mod size;
mod speed;
mod sums;
mod uploads;
mod views;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::json;
use stepscope_ingest::Extras;

use crate::amplify::Amplifier;
use crate::options::{Command, Plan, Task};
use crate::rows::{Row, Status};
use crate::scratch::{CONTROL, Made, Scratch, XDIT};
use crate::series::Series;

fn main() -> ExitCode {
    let command = Command::parse();
    let plan = Plan::new(&command.settings);
    match run(command.task.unwrap_or(Task::All), &plan, command.settings.json.as_deref()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task, plan: &Plan, json_path: Option<&Path>) -> Result<ExitCode> {
    let scratch = || Scratch::new(&plan.scratch, &plan.corpus()?);
    let result = match task {
        Task::Speed => speed::speed(plan, &scratch()?)?,
        Task::Memory => memory::memory(plan, &scratch()?)?,
        Task::Sums => (sums::sums(plan, &scratch()?)?, Vec::new()),
        Task::Size => (size::size(plan, &scratch()?)?, Vec::new()),
        Task::Reopen => reopen::reopen(plan, &scratch()?)?,
        Task::Formats => formats::formats(plan, &scratch()?)?,
        Task::Views => views::views(plan, &scratch()?)?,
        Task::Exports => exports::exports(plan, &scratch()?)?,
        Task::Browser => browser::browser(plan, &scratch()?)?,
        Task::Judge { first_seed, every } => judge::judge(plan, judge::Jobs { first_seed, every })?,
        Task::Gate => gate::gate(plan)?,
        Task::Uploads { sources, kills, processes, seed } => {
            uploads::uploads(plan, uploads::Wanted { sources, kills, processes, seed })?
        }
        Task::Compaction { packs, kills, processes, seed } => {
            compaction::compaction(plan, compaction::Wanted { packs, kills, processes, seed })?
        }
        Task::Reads => reads::reads(plan, &scratch()?)?,
        Task::Fleet { ranks, workers } => fleet::fleet(plan, ranks, workers.as_deref())?,
        Task::All => all(plan, &scratch()?)?,
        Task::Amplify { source, copies, gzip, out } => {
            let made = amplify(&scratch()?, &source, copies, gzip, out)?;
            println!("{}", made.path.display());
            return Ok(ExitCode::SUCCESS);
        }
        Task::Ranks { ranks, store } => {
            views::write_ranks(ranks, &store)?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Columns { store, table } => {
            print!("{}", size::columns(&store, &table)?);
            return Ok(ExitCode::SUCCESS);
        }
        Task::Fingerprint { store, hashes } => {
            println!("{}", serde_json::to_string_pretty(&fingerprint::read(&store, hashes)?.fingerprint)?);
            return Ok(ExitCode::SUCCESS);
        }
        Task::IngestOnce { trace, store, memory_limit, hashes, with_rollups, with_tiles } => {
            let extras = Extras { rollups: with_rollups, tiles: with_tiles };
            let report = once::ingest_once(&trace, &store, memory_limit, hashes, extras)?;
            println!("{}", serde_json::to_string(&report)?);
            return Ok(ExitCode::SUCCESS);
        }
        Task::ScanBlocks { run, statement } => {
            print!("{}", fleet::answer(&run, &statement)?);
            return Ok(ExitCode::SUCCESS);
        }
        Task::UploadShare { store, spool, acknowledged, place, first, stride, end } => {
            uploads::work(&uploads::Share { store, spool, acknowledged, place, first, stride, end })?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::CompactLoop { place, stop, scratch } => {
            compaction::work(&compaction::CompactLoop { place, stop, scratch })?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::LimitOnce { which, path } => {
            println!("{}", serde_json::to_string(&once::limit_once(which, &path)?)?);
            return Ok(ExitCode::SUCCESS);
        }
    };
    show(plan, &result, json_path)
}

fn all(plan: &Plan, scratch: &Scratch) -> Result<(Vec<Row>, Vec<Series>)> {
    let (mut rows, mut series) = speed::speed(plan, scratch)?;
    for (more_rows, more_series) in [
        reopen::reopen(plan, scratch)?,
        views::views(plan, scratch)?,
        exports::exports(plan, scratch)?,
        memory::memory(plan, scratch)?,
        formats::formats(plan, scratch)?,
    ] {
        rows.extend(more_rows);
        series.extend(more_series);
    }
    rows.extend(size::size(plan, scratch)?);
    Ok((rows, series))
}

fn show(plan: &Plan, (rows, series): &(Vec<Row>, Vec<Series>), json_path: Option<&Path>) -> Result<ExitCode> {
    if plan.is_quick {
        println!("a quick run: the figures mean nothing");
    }
    print!("{}", rows::table(rows));
    if let Some(path) = json_path {
        let document = json!({ "schema": "stepscope.bench/1", "quick": plan.is_quick, "rows": rows, "series": series });
        let text = serde_json::to_string_pretty(&document)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    let has_failed = rows.iter().any(|row| row.status == Status::Failed);
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn amplify(scratch: &Scratch, source: &str, copies: u32, gzip: Option<u32>, out: Option<PathBuf>) -> Result<Made> {
    let mut made = match source {
        "control" => scratch.amplified(CONTROL, copies)?,
        "xdit" => scratch.amplified(XDIT, copies)?,
        "distinct" => scratch.distinct(distinct::units_for(u64::from(copies) * 1_000_000))?,
        path => {
            let path = Path::new(path);
            let target = out.clone().context("a trace of your own needs --out")?;
            let mut file = BufWriter::new(File::create(&target)?);
            Amplifier::new(&scratch::plain_text(path)?)?.write(copies, &mut file)?;
            file.flush()?;
            let bytes = target.metadata()?.len();
            return Ok(Made { path: target, bytes });
        }
    };
    if let Some(level) = gzip {
        made = scratch.gzip(&made, level)?;
    }
    if let Some(target) = out {
        std::fs::copy(&made.path, &target)?;
        made.path = target;
    }
    Ok(made)
}
