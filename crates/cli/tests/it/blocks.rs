//! Runs whose sums were merged into blocks: the same answers, with fewer requests.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cloud::Cloud;
use crate::command::TRACE;

const RUN: &str = "s3://traces/team/runs/mine";

/// A run of two ranks with two windows each, of which rank 1 has sums alone.
fn fleet() -> Cloud {
    let cloud = Cloud::new();
    for rank in [0, 1] {
        for step in [1, 5] {
            let name = format!("rank{rank}.json");
            let rank_info = format!("\"distributedInfo\": {{\"rank\": {rank}, \"world_size\": 2}}, \"traceEvents\"");
            let trace = TRACE.replace("ProfilerStep#1", &format!("ProfilerStep#{step}"));
            let rank_info = format!("\"baseTimeNanoseconds\": 1700000000000000000, {rank_info}");
            let trace = trace.replace("\"traceEvents\"", &rank_info).replace("50", &format!("5{rank}"));
            std::fs::write(cloud.place.path(&name), trace).unwrap();
            let depth = if rank == 1 { "sums" } else { "full" };
            cloud.stdout(&["ingest", &name, "--store", "s3://traces/team", "--run", "mine", "--depth", depth]);
        }
    }
    cloud
}

const QUESTIONS: [&[&str]; 6] = [
    &["summary", RUN],
    &["steps", RUN],
    &["health", RUN],
    &["sql", RUN, "SELECT * FROM op_rollup ORDER BY rank, \"window\", name"],
    &["sql", RUN, "SELECT * FROM kernel_rollup ORDER BY rank, \"window\", name"],
    &["sql", RUN, "SELECT * FROM spans WHERE rank = 0 ORDER BY \"window\", start_ns, name"],
];

#[test]
fn compacted_runs_answer_as_before() {
    let cloud = fleet();
    let before = QUESTIONS.map(|question| cloud.stdout(question));
    let done = cloud.stdout(&["store", "compact", "s3://traces/team", "-f", "csv", "--columns", "run,merged,blocks"]);
    assert_eq!(done, "run,merged,blocks\nmine,4,2\n");
    for (question, before) in QUESTIONS.iter().zip(&before) {
        assert_eq!(cloud.stdout(question), *before, "{question:?}");
        assert_eq!(cloud.stdout(&[question, &["--no-fresh"][..]].concat()), *before, "{question:?}");
    }
    // What comes later is found by listings, until it is merged too.
    let count = ["sql", RUN, "SELECT count(*) AS n FROM steps", "-f", "csv"];
    let trace = TRACE.replace("ProfilerStep#1", "ProfilerStep#9");
    std::fs::write(cloud.place.path("trace.json"), trace).unwrap();
    cloud.stdout(&["ingest", "trace.json", "--store", "s3://traces/team", "--run", "mine"]);
    assert_eq!(cloud.stdout(&count), "n\n5\n");
    assert_eq!(cloud.stdout(&[&count[..], &["--no-fresh"]].concat()), "n\n4\n");
    let waits = cloud.stdout(&["store", "compact", RUN]);
    assert!(waits.contains("`--now` merges them"), "{waits}");
    cloud.stdout(&["store", "compact", RUN, "--now"]);
    assert_eq!(cloud.stdout(&[&count[..], &["--no-fresh"]].concat()), "n\n5\n");
    let sound = cloud.stdout(&["store", "verify", RUN, "-f", "csv", "--columns", "packs,blocks,recordings,problems"]);
    assert_eq!(sound, "packs,blocks,recordings,problems\n5,3,5,0\n");
}

#[test]
fn compaction_that_repeats_finds_runs_that_come_later() {
    let cloud = fleet();
    let mut compacting = cloud.command(&["store", "compact", "s3://traces/team", "--every", "1s"]).spawn().unwrap();
    let wait_for = |run: &str| {
        let manifest = cloud.server.folder().join(format!("team/runs/{run}/manifest/1.json"));
        let begun = Instant::now();
        while !manifest.exists() {
            assert!(begun.elapsed() < Duration::from_mins(1), "no manifest of {run}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait_for("mine");
    for rank in ["rank0.json", "rank1.json"] {
        cloud.stdout(&["ingest", rank, "--store", "s3://traces/team", "--run", "later"]);
    }
    wait_for("later");
    // Ctrl-C.
    let asked = Command::new("kill").args(["-INT", &compacting.id().to_string()]).status().unwrap();
    assert!(asked.success());
    assert_eq!(compacting.wait().unwrap().code(), Some(130));
}

#[test]
fn events_that_come_after_sums_count() {
    let cloud = fleet();
    cloud.stdout(&["store", "compact", RUN]);
    let ask = ["sql", RUN, "SELECT count(*) AS n FROM spans WHERE \"window\" = 5", "-f", "csv"];
    let refused = cloud.run(&ask);
    assert!(refused.stderr.contains("rank 1, window 5: the store has only sums"), "{}", refused.stderr);
    cloud.stdout(&["ingest", "rank1.json", "--store", "s3://traces/team", "--run", "mine"]);
    assert_eq!(cloud.stdout(&ask), "n\n8\n");
    cloud.stdout(&["store", "compact", RUN, "--now"]);
    assert_eq!(cloud.stdout(&[&ask[..], &["--no-fresh"]].concat()), "n\n8\n");
}

#[test]
fn one_window_is_opened_alone() {
    let cloud = fleet();
    cloud.stdout(&["store", "compact", RUN]);
    let steps = ["sql", RUN, "SELECT count(*) AS n FROM steps", "-f", "csv", "--window", "5"];
    assert_eq!(cloud.stdout(&steps), "n\n2\n");
    let check = |arguments: &[&str], want: &str, hint: &str| {
        let refused = cloud.run(arguments);
        assert_ne!(refused.code, 0);
        assert!(refused.stderr.contains(want) && refused.stderr.contains(hint), "{}", refused.stderr);
    };
    let other = ["sql", RUN, "SELECT count(*) FROM steps WHERE \"window\" < 5", "--window", "5"];
    check(&other, "window 1 is not open: of 2 windows, 5 is", "open it with `--window 1`");
    check(&["steps", RUN, "--window", "7"], "found no window 7", "the run has 2 windows, from 1 to 5");
}

#[test]
fn events_expire_and_sums_stay() {
    let cloud = fleet();
    let steps = ["steps", RUN, "-f", "csv"];
    let before = cloud.stdout(&steps);
    cloud.stdout(&["store", "compact", RUN]);
    let columns = ["-f", "csv", "--columns", "packs,unmerged_packs"];
    let planned = cloud.stdout(&[&["store", "expire", RUN, "--sums-days", "100000"][..], &columns].concat());
    let done = cloud.stdout(&[&["store", "expire", RUN, "--sums-days", "100000", "--yes"][..], &columns].concat());
    assert_eq!((planned, done), ("packs,unmerged_packs\n4,0\n".to_owned(), "packs,unmerged_packs\n4,0\n".to_owned()));
    assert_eq!(cloud.stdout(&steps), before);
    let refused = cloud.run(&["sql", RUN, "SELECT * FROM spans"]);
    assert_eq!(refused.code, 3);
    assert!(
        refused.stderr.contains("4 recordings, such as rank 0, window 1: the store has only sums"),
        "{}",
        refused.stderr
    );
    let summary = cloud.stdout(&["summary", RUN]);
    assert!(summary.contains("The store has only sums of 4 of 4 traces."), "{summary}");
    let sound = cloud.stdout(&["store", "verify", RUN, "-f", "csv", "--columns", "packs,without_pack,problems"]);
    assert_eq!(sound, "packs,without_pack,problems\n0,4,0\n");
}

#[test]
fn a_run_that_is_not_there_is_refused() {
    let cloud = fleet();
    for command in ["compact", "expire", "verify", "rebuild"] {
        let refused = cloud.run(&["store", command, "s3://traces/team/runs/nope"]);
        assert_eq!(refused.code, 3, "{command}: {}", refused.stderr);
        assert!(refused.stderr.contains("found no packs: nope"), "{command}: {}", refused.stderr);
    }
}

#[test]
fn a_run_is_exported_and_rebuilt() {
    let cloud = fleet();
    let ask = |store: &str| cloud.stdout(&["sql", store, "SELECT * FROM steps ORDER BY rank, \"window\"", "-f", "csv"]);
    let before = ask(RUN);
    cloud.stdout(&["store", "compact", RUN]);
    let exported = cloud.stdout(&["store", "export", RUN, "local", "-f", "csv"]);
    assert_eq!(exported, "run,recordings,sums_only,refused\nmine,4,2,0\n");
    assert_eq!(ask("local"), before);
    std::fs::remove_dir_all(cloud.server.folder().join("team/runs/mine/manifest")).unwrap();
    let made = cloud.stdout(&["store", "rebuild", RUN, "-f", "csv", "--columns", "manifest,merged,blocks"]);
    assert_eq!(made, "manifest,merged,blocks\n1,4,2\n");
    assert_eq!(ask(RUN), before);
}

#[test]
fn requests_on_blocks_are_few() {
    let cloud = fleet();
    cloud.stdout(&["store", "compact", RUN]);
    let ask = ["sql", RUN, "SELECT rank, sum(dur_ns) FROM steps GROUP BY rank", "--window", "5", "--no-fresh"];
    // To open: the marker, the hint, the manifest and that it is the last. Then the block, its recordings, the table.
    assert_eq!(cloud.requests(&ask), BTreeMap::from([("GET".to_owned(), 7)]));
    let whole = ["steps", RUN, "--window", "5", "--no-fresh"];
    let requests = cloud.requests(&whole);
    assert!(requests.len() == 1 && requests["GET"] <= 15, "{requests:?}");
}

#[test]
fn a_slow_network_costs_six_rounds() {
    let cloud = fleet();
    cloud.stdout(&["store", "compact", RUN]);
    let ask = ["sql", RUN, "SELECT rank, sum(dur_ns) FROM steps GROUP BY rank", "--window", "5", "--no-fresh"];
    let (rounds, took) = cloud.rounds(&ask);
    // Three to open the run, and three for the question: the block, its recordings, the table.
    assert_eq!(rounds, 6);
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}
