use crate::command::Place;

const COMMANDS: [&str; 10] =
    ["open", "report", "ingest", "sql", "metrics", "health", "tracks", "schema", "cache", "completions"];

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(Place::new().stdout(&["--help"]), @r"
    Show why a training or inference step takes as long as it does.

    PATH is a trace file, a folder of traces, a store, or - for standard input.
    Each of them may be in a bucket: s3://bucket/prefix, gs:// or az://.

    Usage: stepscope [OPTIONS] <COMMAND>

    Commands:
      summary      Summarize on one screen: steps, devices, operators, kernels, findings, health
      diagnose     List findings: what is slow, why, and the code to change
      critical     Show the critical path: what bounds a step, and what would shorten it
      ops          List operators: calls, time on the host and on devices, memory, FLOPs
      kernels      List kernels: counts, durations, and how well they fill the device
      hlo          List operations of XLA programs: time, FLOPs, bytes, share of the peak
      modules      List modules of the model: calls, time on the host and on devices, with backward
      input        Show the input pipeline: how long steps wait, and which stages take the time
      transfers    List copies and fills: bytes, bandwidth, and how much of it kernels hide
      comms        Show communication: collectives, bandwidth, and which rank delays the others
      memory       Show memory: peaks, allocations per operator, blocks that are never freed
      steps        List steps: how long each takes, and where its time goes
      launches     Show launches: time in runtime calls, waits for the device, queues, idle streams
      regions      List regions marked with record_function: time on the host, and the work they launch
      functions    List functions of a cProfile profile: calls, own and cumulative time, callers
      whatif       Predict what changes would save: replay the steps with them
      diff         Compare two runs: what got faster or slower, and by how much
      check        Check a run against a baseline: did a metric get worse, by more than noise?
      baseline     Save runs as the baseline of a check
      open         Open traces in the web UI: pages, tables and a timeline
      report       Write one HTML file to share: overview, findings, timeline, tables
      ingest       Convert traces to a Parquet store
      store        Keep a store in a bucket: upload, compact, expire, verify
      trim         Write a smaller trace by step, time or rank, for Perfetto and chrome://tracing
      run          Record an unmodified Python script (needs the Python package)
      sql          Query with SQL: run one statement, or start a shell
      metrics      Show every metric of one trace
      health       Show what was read, what was not, and what was linked
      tracks       List the threads, streams and lanes of a trace
      schema       List the tables, views and columns for SQL
      rules        List the rules of findings and their thresholds
      demo         Write simulated traces of a job with known faults; needs no GPU
      doctor       Check this machine for what Stepscope needs
      cache        List, verify and clear cached traces
      completions  Print a completion script for a shell

    Options:
          --color <WHEN>  Use color: auto, always or never [default: auto]
      -q, --quiet         Hide progress and notes
      -h, --help          Print help
      -V, --version       Print version

    Examples:
      stepscope trace.json.gz                              the summary on one screen
      stepscope diagnose trace.json.gz                     what is slow, and the code to change
      stepscope comms runs/                                which rank delays the others
      stepscope sql trace.json.gz 'SELECT count(*) FROM spans'
      stepscope demo && stepscope demo-run                 without a trace

    Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 unreadable input,
    4 a check is inconclusive, 5 unwritable output, 6 memory limit too small,
    70 a bug in Stepscope, 130 interrupted.
    ");
}

#[test]
fn one_command() {
    insta::assert_snapshot!(Place::new().stdout(&["tracks", "--help"]), @r"
    List the threads, streams and lanes of a trace

    Usage: stepscope tracks [OPTIONS] <PATH>...

    Arguments:
      <PATH>...  A trace file, a folder of traces, a store, or - for standard input

    Options:
          --color <WHEN>  Use color: auto, always or never [default: auto]
      -q, --quiet         Hide progress and notes
      -h, --help          Print help

    Output:
      -f, --format <FORMAT>    Choose the format: table, json, csv, md, arrow or parquet [default:
                               table]
      -o, --output <FILE>      Write to FILE instead of standard output
          --sort <COLUMN>      Sort by a column; a leading - reverses
          --limit <N>          Show at most N rows; 0 shows all
          --columns <COLUMNS>  Show these columns, in this order, separated by commas

    Input:
          --rank <N>             Select a rank
          --window <N>           Select a window: one capture cycle of a rank, from 0
          --store <DIR>          Keep the store in DIR or in a bucket instead of the cache
          --run <NAME>           Select a run by its name or a part of it
          --no-fresh             Leave out recordings of a bucket that are not compacted yet
          --no-cache             Read the trace again, and keep nothing in the cache
          --separate-runs        Treat every file as a separate run
          --strict               Refuse a trace that is only partly readable (exit code 3)
          --threads <N>          Limit the threads of a query
          --memory-limit <SIZE>  Limit the memory of reading and of a query, such as 512MiB or 2GB (a GB
                                 is 10^9 bytes, a GiB is 2^30)
          --time-limit <TIME>    Limit the time of a query, such as 30s or 5m

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
