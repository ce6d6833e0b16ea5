//! `stepscope cache`: the stores of traces that were opened directly; lists, checks and clears them.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Subcommand};
use stepscope_model::{Cell, Exit, Part, Report, Unit};
use stepscope_workspace::{Cache, Clear};

use super::{Command, parsed};
use crate::Context;
use crate::failure::Failure;
use crate::options::OutputOptions;
use crate::output::{self, Answer, Target};

pub(super) static COMMAND: Command = Command {
    name: "cache",
    options: |command| {
        Options::augment_args(command).about("List, verify and clear cached traces").after_help(
            "\
Stepscope reads a trace once and keeps the result while the name and content of the trace stay the same.
The cache is in $STEPSCOPE_CACHE, else in $XDG_CACHE_HOME/stepscope, else in ~/.cache/stepscope.
It holds up to 20 GB and evicts the least recently used entries. Set $STEPSCOPE_CACHE_LIMIT to change
the limit, for example to 5GB (a GB is 10^9 bytes, a GiB is 2^30).

Examples:
  stepscope cache
  stepscope cache verify                       exit code 3 if a store is broken
  stepscope cache clear trace.json.gz
  stepscope cache clear --all",
        )
    },
    run,
};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Subcommand)]
enum Action {
    /// List the stores, most recently used first (the default)
    List(Plain),
    /// Check that every store is complete
    Verify(Plain),
    /// Remove stores that no stepscope process has open
    Clear(ClearOptions),
}

#[derive(Args)]
struct Plain {
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Args)]
struct ClearOptions {
    /// A trace or folder whose stores to remove, or a store's key or a prefix of it
    #[arg(value_name = "PATH|KEY", required_unless_present = "all")]
    named: Option<String>,
    /// Remove every store
    #[arg(long, conflicts_with = "named")]
    all: bool,
    #[command(flatten)]
    output: OutputOptions,
}

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let options: Options = parsed(matches)?;
    let cache = Cache::from_environment()?;
    cache.check_owner()?;
    let target = |output: &OutputOptions, named: Option<&String>| {
        // The stores, and the trace whose stores go.
        let inputs = named.map(PathBuf::from).into_iter().chain([cache.root().to_owned()]);
        Target::of(output.output.as_deref(), &inputs.collect::<Vec<_>>())
    };
    match options.action {
        None => list(&cache, &target(&options.output, None)?, &options.output, context),
        Some(Action::List(plain)) => list(&cache, &target(&plain.output, None)?, &plain.output, context),
        Some(Action::Verify(plain)) => {
            let target = target(&plain.output, None)?;
            let (report, is_whole) = cache.verify()?;
            let sentence = if is_whole { "Every store is complete." } else { "Some stores are broken." };
            let hint = "Remove one with `stepscope cache clear KEY`; its trace is read again when you next open it.";
            let sentences = if is_whole { sentence.to_owned() } else { format!("{sentence} {hint}") };
            write(&cache, report, sentences, &target, &plain.output, context)?;
            Ok(if is_whole { Exit::Done } else { Exit::Unreadable })
        }
        Some(Action::Clear(ClearOptions { named, output, .. })) => {
            let target = target(&output, named.as_ref())?;
            let report = cache.clear(&named.map_or(Clear::All, Clear::Named))?;
            let states = output::rows(&report).map(|table| table.rows.iter().filter_map(|row| row.get(1)));
            let removed = states.map_or(0, |states| states.filter(|state| **state == removed_state()).count());
            let sentence = match removed {
                1 => "Removed 1 store.".to_owned(),
                count => format!("Removed {count} stores."),
            };
            write(&cache, report, sentence, &target, &output, context)?;
            Ok(Exit::Done)
        }
    }
}

fn removed_state() -> Cell {
    Cell::Text("removed".to_owned())
}

fn list(cache: &Cache, target: &Target, output: &OutputOptions, context: Context) -> Result<Exit, Failure> {
    let report = cache.list()?;
    let count = output::rows(&report).map_or(0, |table| table.rows.len());
    let info = cache.info();
    let bytes = |name: &str| {
        let size = Cell::Int(info[name].as_i64().unwrap_or(i64::MAX));
        stepscope_report::text::value(&size, Unit::Bytes)
    };
    let stores = if count == 1 { "1 store".to_owned() } else { format!("{count} stores") };
    let path = cache.root().display();
    let sentence = format!("{stores}, {} of at most {}, in {path}.", bytes("size_bytes"), bytes("limit_bytes"));
    write(cache, report, sentence, target, output, context)?;
    Ok(Exit::Done)
}

/// A sentence for people above the rows; a list of strings inside a row reads better without brackets.
fn write(
    cache: &Cache,
    report: Report,
    sentence: String,
    target: &Target,
    output: &OutputOptions,
    context: Context,
) -> Result<(), Failure> {
    let mut for_people = report.clone();
    for part in &mut for_people.parts {
        let Part::Table(table) = part else { continue };
        for cell in table.rows.iter_mut().flatten() {
            let Cell::Json(list) = cell else { continue };
            let texts = list.as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
            *cell = Cell::Text(texts.collect::<Vec<_>>().join(", "));
        }
    }
    for_people.parts.insert(0, Part::Text(sentence.into()));
    let before = vec![("cache", cache.info())];
    output::write(Answer { for_people: Some(for_people), before, ..Answer::new(report) }, target, output, context)
}
