//! Several ranks: they add up unless they are told apart, and can be asked for one by one.

use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{Question, Workspace};

use super::{ask, by, cells, in_step, table};
use crate::harness::{lines, open, write};

/// A rank whose clock starts at `start` µs and whose work takes `dur` µs.
fn rank(rank: u32, start: i64, dur: i64) -> String {
    let at = |offset: i64| (start + offset).to_string();
    let dur = dur.to_string();
    TraceBuilder::new()
        .header("distributedInfo", &format!("{{\"rank\": {rank}}}"))
        .annotation("ProfilerStep#1", 1, &at(0), "100")
        .annotation("forward", 1, &at(5), "40")
        .complete("python_function", "nn.Module: Net_0", TraceBuilder::HOST_PROCESS, 1, &at(6), "30")
        .arg("Python module id", "0")
        .op("f", 1, &at(10), "20")
        .memory(1, &at(11), 64, 64)
        .arg("Addr", "16")
        .arg("Device Type", "1")
        .arg("Device Id", "0")
        .runtime("cudaMemcpyAsync", 1, &at(12), "2", 1)
        .memcpy("Memcpy HtoD (Pinned -> Device)", 0, 7, &at(20), &dur, 1)
        .runtime("cudaLaunchKernel", 1, &at(15), "2", 2)
        .kernel("k", 0, 8, &at(20), &dur, 2)
        .finish()
}

/// Ranks 0 and 1 with the same span numbers and very different clocks.
fn two_ranks() -> Workspace {
    let folder = tempfile::tempdir().unwrap();
    let paths = [(0, 0, 10), (1, 1_000_000, 30)]
        .map(|(number, start, dur)| write(folder.path(), &format!("rank{number}.json"), &rank(number, start, dur)));
    open(&paths).unwrap()
}

#[track_caller]
fn check(workspace: &Workspace, analysis: &str, columns: &str, want: [&str; 2]) {
    let rows = |question: &Question| cells(table(&ask(workspace, analysis, question), "rows"), columns);
    let (together, apart) = (want[0], lines(want[1]));
    assert_eq!(rows(&Question::default()), together, "{analysis}");
    assert_eq!(rows(&by(&["rank"])), apart, "{analysis} by rank");
    let second = Question { ranks: vec![1], ..by(&["rank"]) };
    let of_second: Vec<&str> = apart.lines().filter(|line| line.starts_with("1 ")).collect();
    assert_eq!(rows(&second), of_second.join("\n"), "{analysis} of rank 1");
    // A stretch of time is counted from the first event of each rank.
    let whole = Question { from_ns: Some(0), to_ns: Some(100_000), ..Question::default() };
    assert_eq!(rows(&whole), together, "{analysis} of a stretch of time");
    assert_eq!(rows(&in_step(1)), together, "{analysis} of a step");
}

#[test]
fn ranks_add_up_unless_they_are_told_apart() {
    let workspace = two_ranks();
    check(&workspace, "ops", "rank calls device_total_ns", ["- 2 80000", "1 1 60000\n0 1 20000"]);
    check(&workspace, "kernels", "rank count total_ns", ["- 2 40000", "1 1 30000\n0 1 10000"]);
    check(
        &workspace,
        "transfers",
        "rank count union_ns hidden_ns",
        ["- 2 40000 40000", "1 1 30000 30000\n0 1 10000 10000"],
    );
    check(
        &workspace,
        "regions",
        "rank count host_total_ns share_ratio device_total_ns",
        ["- 2 80000 0.4 80000", "0 1 40000 0.4 20000\n1 1 40000 0.4 60000"],
    );
    check(&workspace, "modules", "rank occurrences device_total_ns", ["- 2 80000", "1 1 60000\n0 1 20000"]);
    check(
        &workspace,
        "launches",
        "rank name count total_ns",
        [
            "- cudaLaunchKernel 2 4000\n- cudaMemcpyAsync 2 4000",
            "0 cudaLaunchKernel 1 2000\n1 cudaLaunchKernel 1 2000\n0 cudaMemcpyAsync 1 2000\n1 cudaMemcpyAsync 1 2000",
        ],
    );
    check(&workspace, "memory", "rank name self_increase_bytes", ["- f 128", "0 f 64\n1 f 64"]);
}

#[test]
fn peaks_and_queues_are_those_of_each_rank() {
    let workspace = two_ranks();
    let memory = ask(&workspace, "memory", &Question::default());
    let columns = "rank device peak_allocated_bytes peak_allocated_from_start_ns";
    assert_eq!(cells(table(&memory, "devices"), columns), "0 gpu0 64 11000\n1 gpu0 64 11000");
    // Two launches that wait at the same time of two ranks are not a queue of two.
    let launches = ask(&workspace, "launches", &Question::default());
    assert_eq!(cells(table(&launches, "queue_lengths"), "rank stream_id max time_weighted_mean"), "- 7 1 1\n- 8 1 1");
}
