use crate::command::Place;

const COMMANDS: [&str; 10] =
    ["open", "report", "ingest", "sql", "metrics", "health", "tracks", "schema", "cache", "completions"];

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(Place::new().stdout(&["--help"]), @r"
    Shows why a training or inference step takes the time it takes.

    PATH is a trace file, a folder of them, a store, or - for standard input.

    Usage: stepscope [OPTIONS] <COMMAND>

    Commands:
      summary      The answer on one screen: steps, devices, operators, kernels, findings, health
      diagnose     Findings: what is slow, why, and the code to change
      ops          Operators: calls, time on the host and on devices, memory, FLOPs
      kernels      Kernels: how many, how long, how full they keep the device
      modules      Modules of the model: calls, time on the host and on devices, backward too
      transfers    Copies and fills: how much, how fast, how much of it kernels hide
      comms        Communication: collectives, bandwidth, and who makes the others wait
      memory       Memory: peaks, what operators allocate, what is never freed
      steps        Steps: how long each takes, and what its time goes to
      launches     Launches: time in runtime calls, waits for the device, queues, idle streams
      regions      Regions marked with record_function: time on the host, work they launch
      functions    Functions of a Python profile: calls, own and cumulative time, callers
      open         Shows traces in the browser: pages, tables and a timeline
      report       Writes one HTML file to send to somebody: overview, findings, timeline, tables
      ingest       Read traces into a store, once, to ask often
      trim         Cuts a smaller trace by step, time or rank, that chrome://tracing and Perfetto open
      run          Records a Python script as it is (in the Python package: pip install stepscope)
      sql          Ask with SQL: one statement, or a shell without one
      metrics      Every figure of one source
      health       What could be read, what could not, and what was linked
      tracks       The threads, streams and lanes of a trace
      schema       The tables, views and columns that SQL knows
      demo         Writes the traces of a small job with known faults, to try everything without a GPU
      doctor       Checks what this machine has, as far as it matters to Stepscope
      cache        List, check and clear what is kept of traces
      completions  Print a completion script for a shell

    Options:
          --color <WHEN>  Use color: auto, always or never [default: auto]
      -q, --quiet         No progress and no notes
      -h, --help          Print help
      -V, --version       Print version

    Examples:
      stepscope trace.json.gz                              the answer on one screen
      stepscope diagnose trace.json.gz                     what is slow, and the code to change
      stepscope comms runs/                                who makes the other ranks wait
      stepscope sql trace.json.gz 'SELECT count(*) FROM spans'
      stepscope demo && stepscope demo-run                 no trace at hand

    Exit codes: 0 done, 2 wrong usage, 3 unreadable input, 5 unwritable output,
    6 memory limit too small, 70 a bug in Stepscope, 130 interrupted.
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
          --color <WHEN>  Use color: auto, always or never [default: auto]
      -q, --quiet         No progress and no notes
      -h, --help          Print help

    Output:
      -f, --format <FORMAT>    How to write the data: table, json, csv, md, arrow or parquet [default:
                               table]
      -o, --output <FILE>      Write to FILE instead of standard output
          --sort <COLUMN>      Sort by a column; a leading - reverses
          --limit <N>          Show at most N rows; 0 shows all
          --columns <COLUMNS>  Show these columns, in this order, separated by commas

    Input:
          --rank <N>             Only this rank
          --window <N>           Only this window: which of a rank's recordings, from 0
          --store <DIR>          Keep what is read from a trace in DIR instead of the cache
          --run <NAME>           Which run, where there are several: its name or a part of it
          --no-cache             Read again, and keep nothing in the cache
          --separate-runs        Make every file a run of its own
          --strict               Refuse a trace that is only partly readable (exit code 3)
          --threads <N>          Threads that a query may use
          --memory-limit <SIZE>  Memory to use for reading and for a query, such as 512MiB or 2GB (a GB
                                 is 10^9 bytes, a GiB is 2^30)
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
