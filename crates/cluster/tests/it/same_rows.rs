//! Every table, view and analysis: the answer of three workers is the local one, order included.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use stepscope_engine::{Engine, EngineOptions, Local, Order, Pick, QueryOptions, QueryResult, Runner, views};
use stepscope_model::tables::TABLES;
use stepscope_simulate::{Job, write_traces};
use stepscope_store::Store;

use crate::cluster::Cluster;

/// Runs queries here or on workers, as a test says.
#[derive(Debug)]
struct Switch {
    here: AtomicBool,
    there: OnceLock<Arc<Cluster>>,
}

#[async_trait]
impl Runner for Switch {
    async fn run(
        &self,
        plan: LogicalPlan,
        state: SessionState,
        store: &str,
        limits: &QueryOptions,
    ) -> Result<SendableRecordBatchStream, DataFusionError> {
        match self.there.get() {
            Some(cluster) if !self.here.load(Ordering::SeqCst) => cluster.run(plan, state, store, limits).await,
            _ => Local.run(plan, state, store, limits).await,
        }
    }
}

/// A store of a simulated job of four ranks, by way of its traces.
fn simulated(folder: &Path) -> PathBuf {
    let job = Job { ranks: 4, steps: 6, layers: 4, collectives_per_step: 6, ..Job::demo() };
    let (traces, store) = (folder.join("traces"), folder.join("store"));
    fs::create_dir(&traces).unwrap();
    write_traces(&job, &traces).unwrap();
    cli(&["ingest", &shown(&traces), "--store", &shown(&store), "--quiet", "-o", &shown(&folder.join("ingested"))]);
    store
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a command in this process.
fn cli(arguments: &[&str]) -> u8 {
    let arguments = std::iter::once("stepscope").chain(arguments.iter().copied()).map(OsString::from);
    stepscope_cli::run(arguments, false) as u8
}

fn text(result: &QueryResult) -> String {
    let batches = arrow::compute::concat_batches(&result.schema, &result.batches).unwrap();
    let mut lines = vec![format!("{:?}", result.schema.fields())];
    let options = arrow::util::display::FormatOptions::new().with_null("null");
    let columns: Vec<_> = batches
        .columns()
        .iter()
        .map(|column| arrow::util::display::ArrayFormatter::try_new(column, &options).unwrap())
        .collect();
    for row in 0..batches.num_rows() {
        lines.push(columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|"));
    }
    lines.join("\n")
}

/// A text with the fractions in it rounded to 12 digits: a sum of fractions depends on the order of its parts in the
/// last of its 16 digits, and workers add in another order. Everything else is compared as it is.
fn rounded(text: &str) -> String {
    let is_number = |letter: char| letter.is_ascii_digit() || ['.', '-', '+', 'e'].contains(&letter);
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_number(letter)).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        match number.parse::<f64>() {
            Ok(value) if number.contains('.') => out += format!("{value:.11e}").as_str(),
            _ => out.push_str(number),
        }
        let next = tail.find(is_number).unwrap_or(tail.len());
        out.push_str(&tail[..next]);
        rest = &tail[next..];
    }
    out
}

#[test]
fn only_fractions_are_rounded() {
    assert_eq!(rounded("a1 0.07,12345678901234567"), rounded("a1 0.06999999999999999,12345678901234567"));
    assert_ne!(rounded("0.07"), rounded("0.0700000001"));
    assert_ne!(rounded("12345678901234567"), rounded("12345678901234568"));
    assert_eq!(rounded("no-number e.g. this"), "no-number e.g. this");
}

/// The first line in which two answers differ.
#[track_caller]
fn assert_same(here: &str, there: &str, what: &str) {
    let (here, there) = (&rounded(here), &rounded(there));
    if here == there {
        return;
    }
    let difference = here.lines().zip(there.lines()).enumerate().find(|(_, (here, there))| here != there);
    let (here_lines, there_lines) = (here.lines().count(), there.lines().count());
    panic!("{what}: {here_lines} lines here, {there_lines} there; first difference: {difference:?}");
}

/// Tables and views that have enough rows to hand out.
const LARGE: [&str; 6] = ["spans", "steps", "device_events", "host_ops", "collectives", "ops_by_name"];

#[test]
fn tables_and_views() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&simulated(folder.path())).unwrap();
    let run = store.runs().unwrap().remove(0);
    let options = EngineOptions { memory_limit_bytes: 512 << 20, threads: 2, spill_dir: None };
    let catalog = store.catalog(&run).unwrap();
    let local = Engine::open_with(&catalog, &options, Arc::new(Local)).unwrap();
    let cluster = Arc::new(Cluster::of_three(&shown(store.root())));
    let runner: Arc<dyn Runner> = Arc::<Cluster>::clone(&cluster);
    let distributed = Engine::open_with(&catalog, &options, runner).unwrap();
    let sorted = QueryOptions {
        pick: Pick { order: Some(Order { column: 0, is_descending: false }), columns: Vec::new() },
        ..QueryOptions::default()
    };
    let names = TABLES.iter().map(|table| table.name).chain(views().iter().map(|view| view.name));
    let mut here_only = Vec::new();
    for name in names {
        let sql = format!("SELECT * FROM {name}");
        let before = cluster.runner.answered_by_workers();
        let (here, there) = (local.query(&sql, &sorted).unwrap(), distributed.query(&sql, &sorted).unwrap());
        assert_same(&text(&here), &text(&there), name);
        // A sort that keeps few rows is another plan.
        let first = QueryOptions { max_rows: Some(7), ..sorted.clone() };
        let before_first = cluster.runner.answered_by_workers();
        let (here, there) = (local.query(&sql, &first).unwrap(), distributed.query(&sql, &first).unwrap());
        assert_same(&text(&here), &text(&there), &format!("{name}, first rows"));
        let on_workers = cluster.runner.answered_by_workers() - before_first;
        assert!(on_workers == 1 || !LARGE.contains(&name), "{name}, first rows");
        let count = |engine: &Engine| engine.count_rows(&sql, &QueryOptions::default()).unwrap();
        assert_eq!(count(&local), count(&distributed), "{name}");
        if cluster.runner.answered_by_workers() < before + 2 {
            here_only.push((name, here.num_rows()));
        }
    }
    eprintln!("not on workers: {here_only:?}");
    // Nothing to hand out: no rows, or so few that they are one part.
    assert!(here_only.iter().all(|(_, rows)| *rows <= 7), "{here_only:?}");
    assert!(here_only.iter().all(|(name, _)| !LARGE.contains(name)), "{here_only:?}");
    assert_eq!(cluster.notes.lock().unwrap().as_slice(), [] as [String; 0]);
}

/// Every command that asks a run, and options that change its queries.
const COMMANDS: [&[&str]; 31] = [
    &["summary"],
    &["steps"],
    &["steps", "--rank", "1"],
    &["ops"],
    &["ops", "--sort", "-calls"],
    &["ops", "--step", "1-2"],
    &["kernels"],
    &["kernels", "--rank", "0"],
    &["comms"],
    &["memory"],
    &["launches"],
    &["transfers"],
    &["input"],
    &["regions"],
    &["modules"],
    &["functions"],
    &["tracks"],
    &["health"],
    &["metrics", "--rank", "0"],
    &["diagnose"],
    &["critical"],
    &["critical", "--rank", "0"],
    &["whatif", "--no-sync"],
    &["hlo"],
    &[
        "sql",
        "SELECT class, count(*), sum(dur_ns), union_length(start_ns, end_ns) FROM device_events GROUP BY class ORDER BY class",
    ],
    &[
        "sql",
        "SELECT rank, step, max(dur_ns) - min(dur_ns) AS spread FROM steps JOIN tracks USING (rank) GROUP BY rank, step ORDER BY rank, step",
    ],
    &["sql", "SELECT name, nearest_rank(dur_ns, 50), nearest_rank(dur_ns, 99) FROM spans GROUP BY name ORDER BY name"],
    &[
        "sql",
        "SELECT rank, start_ns, sum(dur_ns) OVER (PARTITION BY rank ORDER BY start_ns, span_id) AS so_far FROM spans ORDER BY rank, start_ns, so_far LIMIT 500",
    ],
    &[
        "sql",
        "SELECT s.rank, s.name FROM spans s WHERE s.dur_ns = (SELECT max(dur_ns) FROM spans) ORDER BY s.rank, s.name",
    ],
    &[
        "sql",
        "SELECT rank, name FROM spans WHERE kind = 'kernel' AND name NOT IN (SELECT name FROM spans WHERE rank = 0 AND name LIKE 'nccl%') ORDER BY rank, start_ns, name LIMIT 300",
    ],
    &[
        "sql",
        "SELECT kind, count(DISTINCT name) AS names FROM spans GROUP BY kind UNION ALL SELECT type, count(*) FROM tracks GROUP BY type ORDER BY 1, 2",
    ],
];

#[test]
fn analyses() {
    let folder = tempfile::tempdir().unwrap();
    let store = simulated(folder.path());
    let switch = Arc::new(Switch { here: AtomicBool::new(true), there: OnceLock::new() });
    let runner: Arc<dyn Runner> = Arc::<Switch>::clone(&switch);
    assert!(stepscope_engine::use_runner(runner), "another test of this process has chosen a runner");
    let cluster = Arc::new(Cluster::of_three(&shown(&store)));
    switch.there.set(Arc::clone(&cluster)).unwrap();
    let (mut on_workers, mut here_only) = (0, Vec::new());
    for command in COMMANDS {
        let answer = |is_here: bool| {
            switch.here.store(is_here, Ordering::SeqCst);
            let file = folder.path().join(if is_here { "here" } else { "there" });
            let _ = fs::remove_file(&file);
            let mut arguments = vec![command[0], store.to_str().unwrap()];
            arguments.extend(&command[1..]);
            arguments.extend(["-f", "json", "--quiet", "-o", file.to_str().unwrap()]);
            let code = cli(&arguments);
            (code, fs::read_to_string(&file).unwrap_or_default())
        };
        let (local_code, here) = answer(true);
        let before = cluster.runner.answered_by_workers();
        let (code, there) = answer(false);
        let answered = cluster.runner.answered_by_workers() - before;
        assert_eq!((local_code, here.is_empty()), (code, there.is_empty()), "{command:?}");
        assert_eq!(local_code, 0, "{command:?}");
        assert_same(&here, &there, &format!("{command:?}"));
        eprintln!("{command:?}: exit code {code}, {} bytes, {answered} queries on workers", here.len());
        on_workers += answered;
        if answered == 0 {
            here_only.push(command);
        }
    }
    eprintln!("{on_workers} queries on workers; none of: {here_only:?}");
    assert!(on_workers > 60, "{on_workers}");
    // Known: a window over a column that a filter makes constant. Decoded, the plan does not know that it is constant.
    let notes = cluster.notes.lock().unwrap();
    eprintln!("{} queries that workers could not run", cluster.runner.not_run_by_workers());
    // A scalar subquery becomes a join, or its query runs here and says so. A window over a constant always runs here.
    let known = [
        "Expects PARTITION BY expression to be ordered",
        "workers do not run: ScalarSubqueryExec; the query runs here",
    ];
    assert!(notes.iter().all(|note| known.iter().any(|known| note.contains(known))), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains(known[0])), "{notes:?}");
    let has_subquery = |command: &&[&str]| command.iter().any(|word| word.contains("(SELECT max("));
    let is_here = here_only.iter().any(|command| has_subquery(&&command[..]));
    assert_eq!(is_here, notes.iter().any(|note| note.contains(known[1])), "{notes:?}");
    assert!(cluster.runner.not_run_by_workers() * 10 < on_workers, "{on_workers}");
}
