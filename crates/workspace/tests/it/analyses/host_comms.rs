//! Collectives of the host (gloo): matched as those of devices, apart from them, and left out of `metrics`.

use serde_json::json;
use stepscope_model::Report;
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{CancelFlag, Question};

use super::{ask, cells, metrics, table};
use crate::harness::{open, write};

const ONE_GROUP: &str = r#"[{"pg_name": "0", "backend_config": "cpu:gloo", "ranks": [0, 1]}]"#;
const TWO_GROUPS: &str = r#"[{"pg_name": "0", "backend_config": "cpu:gloo", "ranks": [0, 1]},
    {"pg_name": "1", "backend_config": "cpu:gloo", "ranks": [0]}]"#;

/// A collective: its name, when it is called, when the library begins with it on which of its threads, and its length.
type Collective = (&'static str, i64, i64, i64, i64);

fn rank(number: u32, groups: &str, collectives: &[Collective]) -> TraceBuilder {
    let header = format!("{{\"rank\": {number}, \"world_size\": 2, \"pg_config\": {groups}}}");
    let mut trace = TraceBuilder::new().header("distributedInfo", &header);
    for (name, call, start, thread, dur) in collectives {
        trace = trace
            .op(&format!("c10d::{name}_"), 1, &call.to_string(), "5")
            .annotation(&format!("gloo:{name}"), *thread, &start.to_string(), &dur.to_string())
            .arg("Input Dims", "[[1000]]")
            .arg("Input type", "[\"float\"]");
    }
    trace
}

fn of_ranks(groups: &str, collectives: &[&[Collective]]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let file = |(number, list): (usize, &&[Collective])| {
        write(folder.path(), &format!("rank{number}.json"), &rank(number as u32, groups, list).finish())
    };
    let paths: Vec<_> = collectives.iter().enumerate().map(file).collect();
    ask(&open(&paths).unwrap(), "comms", &Question::default())
}

/// The lines with that label.
fn said(report: &Report, label: Option<&str>) -> String {
    let texts = report.texts().filter(|text| text.role.label() == label).flat_map(|text| &text.lines);
    texts.map(super::said).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_last_to_arrive_is_named_and_metrics_leave_it_out() {
    let first: &[Collective] = &[("all_reduce", 1000, 1010, 2, 50), ("all_reduce", 2000, 2010, 3, 10)];
    let second: &[Collective] = &[("all_reduce", 1040, 1050, 3, 10), ("all_reduce", 1995, 2005, 2, 15)];
    let report = of_ranks(ONE_GROUP, &[first, second]);
    let rows = cells(table(&report, "rows"), "rank communication_ns wait_ns last_arrivals wait_caused_to_others_ns");
    assert_eq!(rows, "1 25000 5000 1 40000\n0 60000 40000 1 5000");
    assert!(said(&report, None).contains("2 ranks wait 45.00 µs for each other; rank 1 causes 88.9 % of it."));
    let calls = cells(table(&report, "host_collectives"), "name count total_ns bytes transfer_ns mean_wait_ns");
    assert_eq!(calls, "gloo:all_reduce 4 85000 8000 20000 22500");
    assert_eq!(metrics(&report), &json!({ "ranks": [0, 1], "groups": {} }));
}

#[test]
fn threads_that_begin_in_another_order_do_not_matter() {
    // Both were called before either began; on rank 1 the second thread was faster.
    let first: &[Collective] = &[("all_reduce", 1000, 1010, 2, 50), ("broadcast", 1005, 1012, 3, 60)];
    let second: &[Collective] = &[("all_reduce", 1000, 1012, 2, 20), ("broadcast", 1005, 1010, 3, 30)];
    let report = of_ranks(ONE_GROUP, &[first, second]);
    let calls = cells(table(&report, "host_collectives"), "name transfer_ns mean_wait_ns");
    assert_eq!(calls, "gloo:broadcast 30000 15000\ngloo:all_reduce 20000 15000");
}

#[test]
fn what_cannot_be_compared_is_not() {
    let list: &[Collective] = &[("all_reduce", 1000, 1010, 2, 50)];
    let report = of_ranks(TWO_GROUPS, &[list, list]);
    assert!(table(&report, "rows").rows.is_empty());
    let reason = "2 collectives on the host not matched: several process groups, and the trace does not record which";
    assert_eq!(said(&report, Some("ranks")), reason);
    // Messages between two ranks are not in the same order on all.
    let sends: &[Collective] = &[("send", 900, 905, 2, 5), ("all_reduce", 1000, 1010, 2, 50)];
    let receives: &[Collective] = &[("all_reduce", 1000, 1010, 2, 10), ("recv", 1100, 1105, 2, 5)];
    let report = of_ranks(ONE_GROUP, &[sends, receives]);
    assert_eq!(cells(table(&report, "rows"), "rank wait_ns"), "1 0\n0 40000");
    assert_eq!(said(&report, Some("ranks")), "");
}

#[test]
fn groups_of_devices_and_of_the_host_are_apart() {
    let with_kernel = |number: u32, dur: &str, list: &[Collective]| {
        rank(number, &ONE_GROUP.replace("cpu:gloo", "cpu:gloo,cuda:nccl"), list)
            .runtime("cudaLaunchKernel", 1, "3000", "1", 7)
            .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, "3010", dur, 7)
            .arg("Collective name", "\"allreduce\"")
            .arg("Process Group Name", "\"0\"")
            .arg("Process Group Ranks", "\"[0, 1]\"")
            .finish()
    };
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), "rank0.json", &with_kernel(0, "30", &[("all_reduce", 1000, 1010, 2, 50)]));
    let second = write(folder.path(), "rank1.json", &with_kernel(1, "10", &[("all_reduce", 1000, 1010, 2, 60)]));
    let workspace = open(&[first, second]).unwrap();
    let counts = "SELECT (SELECT count(*) FROM collectives) AS on_device, count(*) AS everywhere FROM all_collectives";
    let counts = workspace.sql(counts, None, &CancelFlag::default()).unwrap();
    assert_eq!(cells(table(&counts, "rows"), "on_device everywhere"), "2 4", "SQL counts what `metrics` counts");
    let report = ask(&workspace, "comms", &Question::default());
    assert_eq!(
        cells(table(&report, "collectives"), "collective count transfer_ns mean_wait_ns"),
        "all_reduce 1 10000 10000"
    );
    assert_eq!(
        cells(table(&report, "host_collectives"), "name transfer_ns mean_wait_ns"),
        "gloo:all_reduce 50000 5000"
    );
    assert_eq!(cells(table(&report, "rows"), "rank wait_ns wait_caused_to_others_ns"), "1 10000 20000\n0 20000 10000");
    assert_eq!(metrics(&report)["groups"]["0"]["transfer_ns"], 10_000);
}
