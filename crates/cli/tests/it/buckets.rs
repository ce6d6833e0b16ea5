//! Stores and traces in a bucket of a real server, behind a proxy that counts requests.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cloud::Cloud;
use crate::command::TRACE;

#[test]
fn a_bucket_is_used_like_a_folder() {
    let cloud = Cloud::new();
    let ingested = cloud.run(&["ingest", "trace.json", "--store", "s3://traces/team", "--run", "mine"]);
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    assert!(ingested.stderr.contains("uploaded 1 recording to s3://traces/team"), "{}", ingested.stderr);
    cloud.stdout(&["ingest", "trace.json", "--store", "store", "--run", "mine"]);
    for question in [&["summary"][..], &["steps"], &["health"], &["ops"], &["sql"]] {
        let ask = |store: &str| {
            let statement = ["SELECT rank, name, dur_ns FROM spans ORDER BY start_ns, name"];
            let statement = if question == ["sql"] { &statement[..] } else { &[] };
            // Commands to go on with name the store.
            cloud
                .stdout(&[question, &[store], statement].concat())
                .replace("window 1", "window 0")
                .replace(store, "STORE")
        };
        let want = ask("store");
        assert_eq!(ask("s3://traces/team"), want, "{question:?}");
        assert_eq!(ask("s3://traces/team/runs/mine"), want, "{question:?}");
    }
    // The same trace is there already.
    let again = cloud.run(&["ingest", "trace.json", "--store", "s3://traces/team", "--run", "mine"]);
    assert!(again.stderr.contains("1 recording already there"), "{}", again.stderr);
    assert_eq!(cloud.stdout(&["sql", "s3://traces/team", "SELECT count(*) AS n FROM steps", "-f", "csv"]), "n\n1\n");
}

#[test]
fn a_bare_address_is_summarized_and_a_trace_in_a_bucket_is_read() {
    let cloud = Cloud::new();
    let folder = cloud.server.folder();
    std::fs::create_dir_all(folder.join("raw")).unwrap();
    std::fs::write(folder.join("raw/rank0.json"), TRACE).unwrap();
    std::fs::write(folder.join("raw/rank1.json"), TRACE.replace("\"soon\"", "90")).unwrap();
    assert!(cloud.stdout(&["s3://traces/raw/rank0.json"]).starts_with("rank0"));
    let ranks =
        ["sql", "s3://traces/raw", "SELECT rank, count(*) AS n FROM spans GROUP BY rank ORDER BY rank", "-f", "csv"];
    assert_eq!(cloud.stdout(&ranks), "rank,n\n0,4\n1,5\n");
}

#[test]
fn sums_alone_answer_what_they_can_and_refuse_the_rest() {
    let cloud = Cloud::new();
    cloud.stdout(&["ingest", "trace.json", "--store", "s3://traces/team", "--run", "mine", "--depth", "sums"]);
    let summary = cloud.stdout(&["s3://traces/team"]);
    assert!(summary.contains("The store has only sums of 1 of 1 traces."), "{summary}");
    assert!(summary.contains("findings –: events not in the store"), "{summary}");
    for wrong in ["shapes not recorded", "no memory events", "saves per step"] {
        assert!(!summary.contains(wrong), "{summary}");
    }
    for question in [&["sql", "s3://traces/team", "SELECT * FROM spans"][..], &["metrics", "s3://traces/team"]] {
        let refused = cloud.run(question);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("of rank 0, window 1: the store has only sums"), "{}", refused.stderr);
        assert!(refused.stderr.contains("--depth full"), "{}", refused.stderr);
    }
    assert_eq!(cloud.stdout(&["sql", "s3://traces/team", "SELECT count(*) AS n FROM steps", "-f", "csv"]), "n\n1\n");
    // With the events of the same recording, these count.
    cloud.stdout(&["ingest", "trace.json", "--store", "s3://traces/team", "--run", "mine"]);
    assert_eq!(cloud.stdout(&["sql", "s3://traces/team", "SELECT count(*) AS n FROM spans", "-f", "csv"]), "n\n4\n");
}

#[test]
fn requests_are_few() {
    let cloud = Cloud::new();
    let ingested = cloud.requests(&["ingest", "trace.json", "--store", "s3://traces/team", "--run", "mine"]);
    // The pack, and three for the marker of a new store.
    assert_eq!(ingested["PUT"], 4, "{ingested:?}");
    std::fs::write(cloud.place.path("other.json"), TRACE.replace("\"soon\"", "90")).unwrap();
    let second = cloud.requests(&["ingest", "other.json", "--store", "s3://traces/team", "--run", "other"]);
    assert_eq!(second, BTreeMap::from([("PUT".to_owned(), 1), ("GET".to_owned(), 1)]));
    // The marker, the manifest that is not there, the end of the pack, and the table.
    let asked = cloud.requests(&["sql", "s3://traces/team/runs/mine", "SELECT count(*), sum(dur_ns) FROM steps"]);
    assert_eq!(asked, BTreeMap::from([("GET".to_owned(), 5), ("LIST".to_owned(), 2)]));
}

#[test]
fn a_slow_network_costs_a_few_rounds() {
    let cloud = Cloud::new();
    cloud.stdout(&["ingest", "trace.json", "--store", "s3://traces/team", "--run", "mine"]);
    let (rounds, took) =
        cloud.rounds(&["sql", "s3://traces/team/runs/mine", "SELECT count(*), sum(dur_ns) FROM steps"]);
    // The marker, the hint and the manifest that are not there, the packs, the end of one, and the table.
    assert_eq!(rounds, 6);
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}

#[test]
fn what_cannot_be_uploaded_waits_in_the_spool() {
    let cloud = Cloud::new();
    let failed = cloud.run(&["ingest", "trace.json", "--store", "s3://none/team", "--run", "mine"]);
    assert_eq!(failed.code, 5, "{}", failed.stderr);
    assert!(failed.stderr.contains("cannot upload 1 recording"), "{}", failed.stderr);
    assert!(failed.stderr.contains("`stepscope store upload` sends it"), "{}", failed.stderr);
    let spool = cloud.stdout(&["store", "spool", "-f", "csv", "--columns", "recordings,refused"]);
    assert_eq!(spool, "recordings,refused\n1,0\n");
}

#[test]
fn what_is_not_there_is_named() {
    let cloud = Cloud::new();
    let check = |arguments: &[&str], code: i32, want: &str| {
        let ended = cloud.run(arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(want), "{arguments:?}: {}", ended.stderr);
    };
    check(&["summary", "s3://traces/none"], 3, "found no object: s3://traces/none");
    check(&["summary", "s3://none/team"], 3, "NoSuchBucket");
    check(&["summary", "s3a://traces/team"], 3, "found the scheme \"s3a\", expected s3, gs or az");
    check(&["ingest", "trace.json", "--store", "kept", "--depth", "sums"], 2, "expected a bucket");
    check(&["store", "upload", "trace.json"], 2, "--store");
}
