//! `stepscope metrics PATH`: every figure of one source.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use serde_json::Value;
use stepscope_model::{Cell, Exit, Part, Report, ReportColumn, ReportTable};
use stepscope_workspace::Workspace;

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::figures;
use crate::interrupt;
use crate::options::{InputOptions, OutputOptions, SourceOptions};
use crate::output::{self, Answer, Target};
use crate::progress::TerminalProgress;

pub(super) static COMMAND: Command = Command {
    name: "metrics",
    options: |command| {
        Options::augment_args(command).about("Show every metric of one trace").after_help(
            "\
If a run has several ranks or windows, select one with --rank and --window.
Lists of more than ten entries are shown as their length; -f json and -f csv have every entry.

Examples:
  stepscope metrics trace.json.gz
  stepscope metrics trace.json.gz -f json -o metrics.json
  stepscope metrics runs/ --rank 3 --window 0",
        )
    },
    run,
};

/// Entries of a list that people see one by one; of a longer one they see how long it is.
const LONGEST_LIST: usize = 10;

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, a store, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    input: InputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let target = Target::of(options.output.output.as_deref(), &options.input.inputs(&options.paths))?;
    let workspace = Workspace::open(
        &options.paths,
        &options.input.settings().of_window(options.source.window),
        &TerminalProgress::new(context),
    )?;
    let metrics = workspace.metrics_with(options.source.rank, options.source.window, interrupt::flag())?;
    let report = |longest_list| Report::new("metrics", vec![Part::Table(flat(&metrics, longest_list))]);
    let for_people = Some(figures::for_people(&report(LONGEST_LIST)));
    let figures = report(usize::MAX);
    // JSON has the figures as the member `metrics`; CSV and text have them one per row.
    let is_json = options.output.format == crate::options::OutputFormat::Json;
    let figures = if is_json { Report { parts: Vec::new(), ..figures } } else { figures };
    let answer = Answer {
        for_people,
        before: output::about(&workspace, &options.output),
        after: vec![("metrics", metrics)],
        ..Answer::new(figures)
    };
    output::write(answer, &target, &options.output, context)?;
    Ok(Exit::Done)
}

/// One row per metric: member, the rest of its path, value, and why it is missing.
fn flat(metrics: &Value, longest_list: usize) -> ReportTable {
    let mut rows = Vec::new();
    let nulls = metrics.get("nulls").and_then(Value::as_object);
    for (member, value) in metrics.as_object().into_iter().flatten().filter(|(member, _)| *member != "nulls") {
        let mut figures = Vec::new();
        collect(value, String::new(), longest_list, &mut figures);
        for (path, value) in figures {
            let divider = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            let full = format!("{member}{divider}{path}");
            let reason = nulls.and_then(|nulls| reason(nulls, &full)).filter(|_| value == Cell::Null);
            rows.push(vec![Cell::Text(member.clone()), Cell::Text(path), value, reason.map_or(Cell::Null, Cell::Text)]);
        }
    }
    let columns = ["member", "figure", "value", "reason"].map(ReportColumn::named).to_vec();
    ReportTable::rows(columns, rows)
}

/// The reason for a path, or for the nearest thing that holds it.
fn reason(nulls: &serde_json::Map<String, Value>, path: &str) -> Option<String> {
    let mut path = path;
    loop {
        if let Some(reason) = nulls.get(path).and_then(Value::as_str) {
            return Some(reason.to_owned());
        }
        path = &path[..path.rfind(['.', '['])?];
    }
}

fn collect(value: &Value, path: String, longest_list: usize, figures: &mut Vec<(String, Cell)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, path, longest_list, figures);
            }
        }
        Value::Array(elements) if elements.len() > longest_list => {
            figures.push((path, Cell::Text(format!("{} entries", elements.len()))));
        }
        Value::Array(elements) if elements.iter().any(|element| element.is_object() || element.is_array()) => {
            for (index, element) in elements.iter().enumerate() {
                collect(element, format!("{path}[{index}]"), longest_list, figures);
            }
        }
        Value::Null => figures.push((path, Cell::Null)),
        Value::Bool(value) => figures.push((path, Cell::Bool(*value))),
        Value::Number(number) => {
            let cell = number.as_i64().map(Cell::Int).or_else(|| number.as_f64().map(Cell::Float));
            figures.push((path, cell.unwrap_or(Cell::Null)));
        }
        Value::String(text) => figures.push((path, Cell::Text(text.clone()))),
        other => figures.push((path, Cell::Json(other.clone()))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stepscope_report::{TextOptions, text};

    use super::*;

    #[test]
    fn figures_are_flattened_with_their_units_and_reasons() {
        let metrics = json!({
            "format": {"notes": [], "raw_events": 75, "rank": null},
            "steps": [{"name": "ProfilerStep#1", "duration_ns": 177_592_000, "complete": true}],
            "gpu": {"0": {"gpu_utilization_ratio": 0.5551, "est_sm_efficiency_ratio": null}},
            "operators": {"rows": vec![json!({"name": "aten::mm"}); 37]},
            "nulls": {"gpu.0": "argument not recorded: blocks per SM"},
        });
        assert_eq!(flat(&metrics, usize::MAX).rows.len(), 8 + 37);
        let report = Report::new("metrics", vec![Part::Table(flat(&metrics, LONGEST_LIST))]);
        insta::assert_snapshot!(text::render(&figures::for_people(&report), TextOptions { width: 80, ..TextOptions::default() }), @r"
        member     figure                 value           reason
        format     notes                  []
        format     raw_events             75
        format     rank                   –
        steps      [0].name               ProfilerStep#1
        steps      [0].duration_ns        177.59 ms
        steps      [0].complete           yes
        gpu        0.gpu_util…tion_ratio  55.5 %
        gpu        0.est_sm_e…ency_ratio  –               argument not recorded: blocks
                                                          per SM
        operators  rows                   37 entries
        ");
        assert_eq!(flat(&metrics, LONGEST_LIST).rows[4][2], Cell::Int(177_592_000));
    }
}
