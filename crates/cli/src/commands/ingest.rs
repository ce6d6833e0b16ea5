//! `stepscope ingest PATH… --store DIR`: reads traces once, to ask often. A store is a folder or lies in a bucket.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use serde_json::Value;
use stepscope_model::warning::is_loss;
use stepscope_model::{Cell, Exit, Part, Report, ReportColumn, ReportTable};
use stepscope_workspace::{Depth, Extras, Workspace, is_address};

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::{OutputOptions, ReadingOptions};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;

pub(super) static COMMAND: Command = Command {
    name: "ingest",
    options: |command| {
        Options::augment_args(command).about("Convert traces to a Parquet store").after_help(
            "\
Events without a separate row are absorbed by design, such as thread names and span ends, or lost.
Both are counted.

A store in a bucket (s3://, gs://, az://) gets one object per trace. Every rank can ingest its own trace
on its own host, with the same `--run`. The object waits in a spool on local disk until the bucket has it:
$STEPSCOPE_SPOOL, else $XDG_STATE_HOME/stepscope/spool, else ~/.local/state/stepscope/spool.

Examples:
  stepscope ingest trace.json.gz --store trace.stepscope
  stepscope ingest runs/ --store runs.stepscope -f json
  zcat trace.json.gz | stepscope ingest - --store trace.stepscope
  stepscope ingest rank7.json.gz --store s3://bucket/team --run llama-7b
  stepscope ingest rank7.json.gz --store s3://bucket/team --run llama-7b --depth sums
  stepscope ingest s3://bucket/traces/ --store runs.stepscope",
        )
    },
    run,
};

const USUAL_LIMIT: usize = 50;

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, either of them in a bucket, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Write to this store, a folder or `s3://bucket/prefix`; created if missing
    #[arg(long, value_name = "DIR", required = true)]
    store: PathBuf,
    /// Name the run, instead of after the file or folder
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Upload every event, or only sums by step: about 0.5 MB per trace
    #[arg(long, value_name = "DEPTH", default_value = "full")]
    depth: DepthChoice,
    /// Run beside a training job: one ingest at a time per host, and retry the upload for 24 hours
    #[arg(long)]
    background: bool,
    /// Leave out what can be derived again, to measure its cost
    #[arg(long, hide = true, value_name = "WHAT", value_delimiter = ',')]
    without: Vec<Without>,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    reading: ReadingOptions,
}

/// How much of a trace goes into a bucket.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DepthChoice {
    /// Every event.
    Full,
    /// Sums by step, without events.
    Sums,
}

/// What can be left out.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Without {
    Rollups,
    Tiles,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let inputs: Vec<PathBuf> = options.paths.iter().chain([&options.store]).cloned().collect();
    let target = Target::of(options.output.output.as_deref(), &inputs)?;
    let of_bucket = [
        (
            options.depth == DepthChoice::Sums,
            "--depth sums",
            "a store in a folder has every event; leave out `--depth`",
        ),
        (options.background, "--background", "a folder needs no upload; leave out `--background`"),
    ];
    let misplaced = of_bucket.into_iter().find(|(is_given, ..)| *is_given && !is_address(&options.store));
    if let Some((_, option, hint)) = misplaced {
        return Err(Failure::usage(format!("found `{option}` for a folder, expected a bucket")).with_hint(hint));
    }
    let mut settings = options.reading.settings(Some(options.store));
    settings.run_name = options.run;
    settings.depth = if options.depth == DepthChoice::Sums { Depth::Sums } else { Depth::Full };
    settings.background = options.background;
    settings.extras = Extras {
        rollups: !options.without.contains(&Without::Rollups),
        tiles: !options.without.contains(&Without::Tiles),
    };
    let report = Workspace::ingest(&options.paths, &settings, &TerminalProgress::new(context))?;
    let answer =
        Answer { for_people: Some(for_people(&report)), usual_limit: Some(USUAL_LIMIT), ..Answer::new(report) };
    output::write(answer, &target, &options.output, context)?;
    Ok(Exit::Done)
}

/// One row per file with what was absorbed apart from what was lost, then the reasons of the losses.
fn for_people(report: &Report) -> Report {
    let Some(table) = output::rows(report) else { return report.clone() };
    let kept = ["rank", "window", "rank_from", "format", "events_in", "rows"];
    let cell = |row: &[Cell], name: &str| {
        let place = table.columns.iter().position(|column| column.name == name);
        place.and_then(|place| row.get(place)).cloned().unwrap_or(Cell::Null)
    };
    let has_several_runs = table.rows.iter().any(|row| cell(row, "run") != cell(&table.rows[0], "run"));
    let behind = ["absorbed", "lost", "bytes_out", "path", "run"];
    let behind = if has_several_runs { &behind[..] } else { &behind[..4] };
    let mut rows = Vec::new();
    let mut losses = Vec::new();
    for row in &table.rows {
        let (lost, absorbed): (Vec<_>, Vec<_>) =
            reasons(&cell(row, "dropped")).into_iter().partition(|(code, _)| is_loss(code));
        let sum = |reasons: &[(String, i64)]| Cell::Int(reasons.iter().map(|(_, count)| count).sum());
        let mut shown: Vec<Cell> = kept.iter().map(|name| cell(row, name)).collect();
        shown.extend([sum(&absorbed), sum(&lost), cell(row, "bytes_out"), cell(row, "path")]);
        shown.extend(has_several_runs.then(|| cell(row, "run")));
        rows.push(shown);
        losses
            .extend(lost.into_iter().map(|(code, count)| vec![Cell::Text(code), Cell::Int(count), cell(row, "path")]));
    }
    let mut parts =
        vec![Part::Text(sentence(&rows).into()), Part::Table(named("rows", &[&kept[..], behind].concat(), rows))];
    if !losses.is_empty() {
        parts.push(Part::Table(named("lost", &["cause", "events", "path"], losses)));
    }
    // Sentences that the analysis had to say stay.
    parts.extend(report.parts.iter().filter(|part| matches!(part, Part::Text(_))).cloned());
    Report::new(&report.name, parts)
}

fn sentence(rows: &[Vec<Cell>]) -> String {
    let total = |place: usize| {
        rows.iter().filter_map(|row| if let Cell::Int(count) = row[place] { Some(count) } else { None }).sum::<i64>()
    };
    let files = if rows.len() == 1 { "1 file".to_owned() } else { format!("{} files", rows.len()) };
    let lost = match total(7) {
        0 => "none lost".to_owned(),
        lost => format!("{} lost", stepscope_report::text::value(&Cell::Int(lost), stepscope_model::Unit::Plain)),
    };
    let events = stepscope_report::text::value(&Cell::Int(total(4)), stepscope_model::Unit::Plain);
    format!("Ingested {files}: {events} events, {lost}.")
}

fn named(name: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> ReportTable {
    let columns = columns.iter().map(|name| ReportColumn::named(name)).collect();
    ReportTable::named(name, columns, rows)
}

/// Reason and count of events without a separate row.
fn reasons(dropped: &Cell) -> Vec<(String, i64)> {
    let value = match dropped {
        Cell::Json(value) => value.clone(),
        Cell::Text(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        _ => Value::Null,
    };
    let pairs = value.as_object().into_iter().flatten();
    pairs.filter_map(|(code, count)| Some((code.clone(), count.as_i64()?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stepscope_report::{TextOptions, text};

    use super::*;

    #[test]
    fn losses_stand_apart_from_what_was_absorbed() {
        let row = |path: &str, dropped: Value| {
            let lost: i64 = dropped.as_object().unwrap().values().filter_map(Value::as_i64).sum();
            vec![
                Cell::Text(path.into()),
                Cell::Text("kineto".into()),
                Cell::Int(0),
                Cell::Int(0),
                Cell::Text("header".into()),
                Cell::Int(14_245),
                Cell::Int(14_245 - lost),
                Cell::Json(dropped),
                Cell::Int(123_456),
            ]
        };
        let columns = ["path", "format", "rank", "window", "rank_from", "events_in", "rows", "dropped", "bytes_out"];
        let rows =
            vec![row("rank0.json", json!({"metadata": 36})), row("rank1.json", json!({"metadata": 4, "bad_time": 2}))];
        let report = Report::new("ingest", vec![Part::Table(named("rows", &columns, rows))]);
        insta::assert_snapshot!(text::render(&for_people(&report), TextOptions::default()), @r"
        Ingested 2 files: 28,490 events, 2 lost.

        rank  window  rank from  format  events in    rows  absorbed  lost   bytes out  path
        0          0  header     kineto     14,245  14,209        36     0  120.56 KiB  rank0.json
        0          0  header     kineto     14,245  14,239         4     2  120.56 KiB  rank1.json

        LOST
        cause     events  path
        bad_time       2  rank1.json
        ");
    }
}
