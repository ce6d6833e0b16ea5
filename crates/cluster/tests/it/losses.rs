//! Workers that are killed or stopped in the middle of a query.
//!
//! `STEPSCOPE_KILLS=200` makes it the measurement of the design; 20 are enough to notice that something broke.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use stepscope_cluster::Distributed;
use stepscope_engine::{Engine, EngineError, EngineOptions, Local, QueryOptions, Runner};
use stepscope_simulate::{Job, write_store};
use stepscope_store::Store;

use crate::processes::{Process, runner};

/// Reads every row of the largest table twice, and has stages that send rows from worker to worker.
const QUERY: &str = "SELECT a.rank, a.step, count(*) AS n, sum(a.dur_ns) AS total_ns,
                            union_length(a.start_ns, a.start_ns + a.dur_ns) AS union_ns, max(b.longest_ns) AS longest_ns
                     FROM all_collectives a
                     JOIN (SELECT step, rank % 7 AS part, max(dur_ns) AS longest_ns FROM all_collectives GROUP BY 1, 2) b
                       ON a.step = b.step AND a.rank % 7 = b.part
                     GROUP BY a.rank, a.step ORDER BY a.rank, a.step";

/// How long a query may take that cannot be answered.
const ERROR_WITHIN: Duration = Duration::from_secs(15);

/// A store, three workers, the right answer and how long it takes them.
struct Scene {
    _folder: tempfile::TempDir,
    store: Store,
    workers: Vec<Process>,
    runner: Arc<Distributed>,
    notes: Arc<std::sync::Mutex<Vec<String>>>,
    right: Vec<String>,
    usual: Duration,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        let job = Job { ranks: 96, steps: 30, collectives_per_step: 150, ..Job::scale() };
        write_store(&job, &store, "run").unwrap();
        let workers: Vec<Process> = (0..3).map(|_| Process::start(folder.path(), &[])).collect();
        let (runner, notes) = runner(&workers);
        let right = ask(&engine(&store, Arc::new(Local))).unwrap();
        let mut scene = Self { _folder: folder, store, workers, runner, notes, right, usual: Duration::ZERO };
        for _ in 0..2 {
            let engine = scene.engine();
            let begun = Instant::now();
            assert_eq!(ask(&engine).unwrap(), scene.right);
            scene.usual = begun.elapsed();
        }
        assert_eq!(scene.runner.answered_by_workers(), 2);
        scene
    }

    /// Forgets which workers failed, as the next command would.
    fn renew(&mut self) {
        (self.runner, self.notes) = runner(&self.workers);
    }

    fn engine(&self) -> Engine {
        let runner: Arc<dyn Runner> = Arc::<Distributed>::clone(&self.runner);
        engine(&self.store, runner)
    }

    /// Asks, and does something to the workers after a while.
    fn ask_while(
        &mut self,
        after: Duration,
        act: impl FnOnce(&mut [Process]),
    ) -> (Result<Vec<String>, EngineError>, Duration) {
        let engine = self.engine();
        let begun = Instant::now();
        let asked = thread::spawn(move || (ask(&engine), begun.elapsed()));
        thread::sleep(after);
        act(&mut self.workers);
        asked.join().unwrap()
    }
}

fn engine(store: &Store, runner: Arc<dyn Runner>) -> Engine {
    let options = EngineOptions { memory_limit_bytes: 1 << 30, threads: 2, spill_dir: None };
    Engine::open_with(&store.catalog("run").unwrap(), &options, runner).unwrap()
}

fn ask(engine: &Engine) -> Result<Vec<String>, EngineError> {
    let result = engine.query(QUERY, &QueryOptions::default())?;
    let rows = result.batches.iter().flat_map(|batch| {
        (0..batch.num_rows()).map(|row| {
            let cell =
                |column: &arrow::array::ArrayRef| arrow::util::display::array_value_to_string(column, row).unwrap();
            batch.columns().iter().map(cell).collect::<Vec<_>>().join("|")
        })
    });
    Ok(rows.collect())
}

fn kills() -> usize {
    std::env::var("STEPSCOPE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn killed_in_mid_query() {
    let mut scene = Scene::new();
    let kills = kills();
    let (mut right_first, mut right_second, mut right_third, mut here, mut errors) = (0, 0, 0, 0, Vec::new());
    let mut slowest = Duration::ZERO;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for kill in 0..kills {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let after = scene.usual.mul_f64((seed >> 33) as f64 / f64::from(1_u32 << 31));
        scene.renew();
        let (attempts, notes) = (scene.runner.attempts(), scene.notes.lock().unwrap().len());
        let (answer, took) = scene.ask_while(after, |workers| workers[kill % 3].end());
        slowest = slowest.max(took);
        let attempts = scene.runner.attempts() - attempts;
        match answer {
            Ok(rows) => {
                assert_eq!(rows.len(), scene.right.len(), "kill {kill} after {after:?}: a short answer");
                assert_eq!(rows, scene.right, "kill {kill} after {after:?}: a wrong answer");
                match attempts {
                    _ if scene.notes.lock().unwrap().len() > notes => here += 1,
                    0 | 1 => right_first += 1,
                    2 => right_second += 1,
                    _ => right_third += 1,
                }
            }
            Err(error) => {
                assert!(matches!(&error, EngineError::Runner(failure) if failure.code == "worker_lost"), "{error}");
                assert!(took < ERROR_WITHIN, "{error} after {took:?}");
                errors.push(error.to_string());
            }
        }
        scene.workers[kill % 3].restart();
    }
    eprintln!(
        "{kills} kills, query of {:?}: right after 1 attempt {right_first}, 2 attempts {right_second}, \
         3 attempts {right_third}, here {here}; errors {}: {errors:?}; slowest {slowest:?}",
        scene.usual,
        errors.len()
    );
    let good = right_first + right_second + here;
    assert!(good * 100 >= kills * 99, "{good} of {kills}");
    assert!(right_second > 0, "no kill met a query");
}

#[test]
fn all_killed_and_one_stopped() {
    let mut scene = Scene::new();
    let mut met = 0;
    // Some answers are complete before their workers end.
    for place in 1..=6 {
        scene.renew();
        let after = scene.usual.mul_f64(f64::from(place) / 10.0);
        let (answer, took) = scene.ask_while(after, |workers| workers.iter_mut().for_each(Process::end));
        let said = std::mem::take(&mut *scene.notes.lock().unwrap()).join("; ");
        eprintln!("all killed after {after:?}: {:?} rows after {took:?}; {said}", answer.as_ref().map(Vec::len));
        match answer {
            Ok(rows) => assert_eq!(rows, scene.right),
            Err(error) => assert!(matches!(error, EngineError::Runner(_)) && took < ERROR_WITHIN, "{error}"),
        }
        met += usize::from(said.contains("found 0 workers, expected at least 1; the query runs here"));
        scene.workers.iter_mut().for_each(Process::restart);
    }
    assert!(met > 0, "no query met the end of its workers");
    assert_eq!(ask(&scene.engine()).unwrap(), scene.right);
    met = 0;
    for place in 1..=2 {
        scene.renew();
        let (attempts, after) = (scene.runner.attempts(), scene.usual.mul_f64(f64::from(place) / 8.0));
        let (answer, took) = scene.ask_while(after, |workers| workers[1].signal(libc::SIGSTOP));
        let attempts = scene.runner.attempts() - attempts;
        eprintln!(
            "one stopped after {after:?}: {:?} rows after {took:?}, {attempts} attempts",
            answer.as_ref().map(Vec::len)
        );
        assert_eq!(answer.unwrap(), scene.right);
        assert!(took < ERROR_WITHIN && attempts <= 2, "{took:?}");
        met += usize::from(attempts == 2);
        scene.workers[1].signal(libc::SIGCONT);
    }
    assert!(met > 0, "no query met a stopped worker");
}

#[test]
fn a_worker_that_is_asked_to_end_finishes_its_queries() {
    let mut scene = Scene::new();
    let attempts = scene.runner.attempts();
    let after = scene.usual / 3;
    let (answer, _) = scene.ask_while(after, |workers| workers[2].signal(libc::SIGTERM));
    assert_eq!(answer.unwrap(), scene.right);
    // A part of the query that had not reached the worker is refused; then the others run it again.
    assert!(scene.runner.attempts() - attempts <= 2);
    let (code, said) = scene.workers[2].wait();
    assert_eq!(code, Some(0));
    assert!(said.concat().ends_with("queries; 0 were cut off"), "{said:?}");
    // The others go on.
    assert_eq!(ask(&scene.engine()).unwrap(), scene.right);
}

#[test]
fn an_answer_that_is_left_is_worked_on_no_more() {
    let scene = Scene::new();
    let engine = scene.engine();
    let limits = QueryOptions { time_limit: Some(scene.usual / 3), ..QueryOptions::default() };
    let error = engine.query(QUERY, &limits).unwrap_err();
    assert!(matches!(error, EngineError::TimedOut { .. }), "{error}");
    thread::sleep(Duration::from_secs(1));
    let busy = |process: &Process| cpu_ticks(process);
    let before: Vec<u64> = scene.workers.iter().map(busy).collect();
    thread::sleep(Duration::from_millis(500));
    for (worker, before) in scene.workers.iter().zip(before) {
        // Pings cost next to nothing.
        assert!(cpu_ticks(worker) - before <= 5, "a worker goes on");
    }
}

/// Time on processors, in hundredths of a second.
fn cpu_ticks(process: &Process) -> u64 {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process.id().to_string()).join("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
