use crate::command::Place;

const COMMANDS: [&str; 8] = ["ingest", "sql", "metrics", "health", "tracks", "schema", "cache", "completions"];

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(Place::new().stdout(&["--help"]), @r"
    Shows why a training or inference step takes the time it takes.

    PATH is a trace file, a folder of them, a store, or - for standard input.

    Usage: stepscope [OPTIONS] <COMMAND>

    Commands:
      ingest       Read traces into a store, once, to ask often
      sql          Ask with SQL: one statement, or a shell without one
      metrics      Every figure of one source
      health       What could be read, what could not, and what was linked
      tracks       The threads, streams and lanes of a trace
      schema       The tables, views and columns that SQL knows
      cache        List, check and clear what is kept of traces
      completions  Print a completion script for a shell

    Options:
          --color <WHEN>  Use colour: auto, always or never [default: auto]
      -q, --quiet         No progress and no notes
      -h, --help          Print help
      -V, --version       Print version

    Examples:
      stepscope health trace.json.gz                       what could be read, and what could not
      stepscope metrics trace.json.gz -f json              every figure
      stepscope sql trace.json.gz 'SELECT count(*) FROM spans'
      stepscope ingest runs/ --store runs.stepscope        once, to ask often

    Exit codes: 0 done, 2 wrong usage, 3 unreadable input, 70 a bug in Stepscope, 130 interrupted.
    ");
}

#[test]
fn one_command() {
    insta::assert_snapshot!(Place::new().stdout(&["tracks", "--help"]), @r"
    The threads, streams and lanes of a trace

    Usage: stepscope tracks [OPTIONS] <PATH>...

    Arguments:
      <PATH>...  A trace file, a folder of them, a store, or - for standard input

    Options:
          --color <WHEN>  Use colour: auto, always or never [default: auto]
      -q, --quiet         No progress and no notes
      -h, --help          Print help

    Output:
      -f, --format <FORMAT>    How to write the data [default: table] [possible values: table, json,
                               csv]
      -o, --output <FILE>      Write to FILE instead of standard output
          --sort <COLUMN>      Sort by a column; a leading - reverses
          --limit <N>          Show at most N rows; 0 shows all
          --columns <COLUMNS>  Show these columns, in this order, separated by commas

    Input:
          --rank <N>             Only this rank
          --window <N>           Only this window: which of a rank's recordings, from 0
          --store <DIR>          Keep what is read from a trace in DIR instead of the cache
          --no-cache             Read again, and keep nothing in the cache
          --separate-runs        Make every file a run of its own
          --strict               Refuse a trace that is only partly readable (exit code 3)
          --threads <N>          Threads that a query may use
          --memory-limit <SIZE>  Memory to use for reading and for a query, for example 512MiB or 2GiB
          --time-limit <TIME>    Time that one query may take, for example 30s or 5m

    Examples:
      stepscope tracks trace.json.gz
      stepscope tracks runs/ --rank 0 --limit 0
      stepscope tracks trace.json.gz -f csv -o tracks.csv
    ");
}

#[test]
fn every_command_explains_itself_with_examples() {
    let place = Place::new();
    for command in COMMANDS {
        let help = place.stdout(&[command, "--help"]);
        assert!(help.contains("Examples:\n") && help.contains(&format!("stepscope {command}")), "{command}: {help}");
        assert!(help.lines().all(|line| line.chars().count() <= 120), "{command}: {help}");
    }
}

#[test]
fn version() {
    assert_eq!(Place::new().stdout(&["--version"]), format!("stepscope {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.stdout(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
}
