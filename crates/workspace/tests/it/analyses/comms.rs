//! Collectives of several ranks: transfer, waiting, and who is late.

use serde_json::Value as Json;
use stepscope_model::Report;
use stepscope_testkit::{TraceBuilder, corpus};
use stepscope_workspace::Question;

use super::{ask, cells, metrics, sentence, table};
use crate::harness::{open, write};

/// A collective of a rank: process group, name, start, length.
type Collective = (&'static str, &'static str, i64, i64);

fn rank(number: u32, collectives: &[Collective]) -> String {
    let mut trace = TraceBuilder::new().header("distributedInfo", &format!("{{\"rank\": {number}}}"));
    for (place, (group, name, start, dur)) in collectives.iter().enumerate() {
        let id = place as i64 + 1;
        trace = trace
            .runtime("cudaLaunchKernel", 1, &(id * 10).to_string(), "1", id)
            .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, &start.to_string(), &dur.to_string(), id)
            .arg("Collective name", &format!("\"{name}\""))
            .arg("Process Group Name", &format!("\"{group}\""))
            .arg("dtype", "\"Float\"")
            .arg("In msg nelems", "1000")
            .arg("Group size", "2");
    }
    trace.finish()
}

fn ranks(collectives: &[&[Collective]]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let file = |(number, list): (usize, &&[Collective])| {
        write(folder.path(), &format!("rank{number}.json"), &rank(number as u32, list))
    };
    let paths: Vec<_> = collectives.iter().enumerate().map(file).collect();
    ask(&open(&paths).unwrap(), "comms", &Question::default())
}

fn groups(report: &Report) -> Json {
    metrics(report)["groups"].clone()
}

#[test]
fn the_last_to_arrive_makes_the_others_wait() {
    // Rank 1 comes late to the first, rank 0 a little to the second.
    let first: &[Collective] = &[("0", "allreduce", 1000, 50), ("0", "allreduce", 2000, 10)];
    let second: &[Collective] = &[("0", "allreduce", 1040, 10), ("0", "allreduce", 1995, 15)];
    let report = ranks(&[first, second]);
    let rows = cells(
        table(&report, "rows"),
        "rank communication_ns wait_ns last_arrivals wait_caused_to_others_ns clock_offset_estimate_ns",
    );
    assert_eq!(rows, "1 25000 5000 1 40000 0\n0 60000 40000 1 5000 0");
    // 4,000 bytes per collective on each rank, moved in 10 µs each.
    let kinds =
        cells(table(&report, "collectives"), "collective count bytes transfer_ns algbw_gb_per_s busbw_gb_per_s");
    assert_eq!(kinds, "all_reduce 2 8000 20000 0.4 0.4");
}

#[test]
fn a_rank_has_its_row_where_all_was_launched_before_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = TraceBuilder::new().kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, "3010", "30", 7);
    let trace = write(folder.path(), "trace.json", &kernel.finish());
    let report = ask(&open(&[trace]).unwrap(), "comms", &Question::default());
    assert_eq!(cells(table(&report, "rows"), "rank communication_ns collectives"), "0 30000 1");
}

#[test]
fn ranks_that_did_different_things_are_not_matched() {
    let two: &[Collective] = &[("0", "allreduce", 1000, 50), ("0", "allreduce", 2000, 10)];
    let one: &[Collective] = &[("0", "allreduce", 1000, 50)];
    let other: &[Collective] = &[("0", "allreduce", 1000, 50), ("0", "broadcast", 2000, 10)];
    let reason = |report: &Report| groups(report)["0"]["reason"].as_str().unwrap().to_owned();
    let uneven = ranks(&[two, one]);
    assert_eq!(reason(&uneven), "ranks do not match: they have between 1 and 2 collectives");
    assert!(table(&uneven, "collectives").rows.len() == 1, "what is known is shown all the same");
    assert_eq!(reason(&ranks(&[two, other])), "ranks do not match: 1 positions hold different collectives");
    assert_eq!(reason(&ranks(&[two])), "ranks do not match: only one rank available");
}

#[test]
fn groups_are_matched_apart() {
    let first: &[Collective] = &[("dp", "allreduce", 1000, 50), ("tp", "allgather", 2000, 10)];
    let second: &[Collective] = &[("tp", "allgather", 1990, 20), ("dp", "allreduce", 1040, 10)];
    let groups = groups(&ranks(&[first, second]));
    assert_eq!(
        (&groups["dp"]["transfer_ns"], &groups["tp"]["transfer_ns"]),
        (&Json::from(10_000), &Json::from(10_000))
    );
    assert_eq!(groups["tp"]["per_rank"]["0"]["last_arrivals"], 1);
    assert_eq!(groups["dp"]["per_rank"]["1"]["wait_caused_to_others_ns"], 40_000);
}

#[test]
fn communication_of_the_host_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let trace = TraceBuilder::new()
        .annotation("gloo:all_reduce", 1, "0", "30")
        .annotation("gloo:all_reduce", 1, "50", "10")
        .annotation("gloo:broadcast", 1, "70", "5")
        .annotation("forward", 1, "80", "5");
    let path = write(folder.path(), "trace.json", &trace.finish());
    let report = ask(&open(&[path]).unwrap(), "comms", &Question::default());
    assert_eq!(sentence(&report), "No kernel communicates; gloo communicates on the host: 3 calls, 45.00 µs in all.");
    let calls = cells(table(&report, "host_collectives"), "name count total_ns mean_ns");
    assert_eq!(calls, "gloo:all_reduce 2 40000 20000\ngloo:broadcast 1 5000 5000");
}

#[test]
fn without_communication_there_is_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "trace.json", &TraceBuilder::new().op("f", 1, "0", "10").finish());
    let report = ask(&open(&[path]).unwrap(), "comms", &Question::default());
    assert_eq!(report.missing[0].reason, "no communication".into());
}

/// Eight ranks whose values were worked out by other means.
#[test]
#[ignore = "needs the corpus"]
fn eight_ranks_of_tensor_parallel_training() {
    let corpus = corpus();
    let report = ask(&open(&[corpus.trace("astra-sim/megatron-tp8")]).unwrap(), "comms", &Question::default());
    let group = &groups(&report)["None"];
    assert_eq!((&group["matched"], &group["transfer_ns"]), (&Json::from(84), &Json::from(50_099_000)));
    let first = cells(table(&report, "rows"), "rank wait_caused_to_others_ns");
    assert!(first.starts_with("0 1533538000\n6 1219278000\n"), "{first}");
}

/// A collective of group `dp`: sequence number, name, length in µs.
type Numbered = (Option<i64>, &'static str, i64);

fn numbered(lists: &[&[Numbered]]) -> Json {
    let folder = tempfile::tempdir().unwrap();
    let file = |(number, list): (usize, &&[Numbered])| {
        let mut trace = TraceBuilder::new().header("distributedInfo", &format!("{{\"rank\": {number}}}"));
        for (place, (seq, name, dur)) in list.iter().enumerate() {
            let (id, ts) = (place as i64 + 1, place * 100);
            trace = trace
                .runtime("cudaLaunchKernel", 1, &ts.to_string(), "1", id)
                .kernel("ncclDevKernel", 0, 7, &(ts + 2).to_string(), &dur.to_string(), id)
                .arg("Collective name", &format!("\"{name}\""))
                .arg("Process Group Name", "\"dp\"");
            trace = seq.map_or(trace.clone(), |seq| trace.arg("Seq", &seq.to_string()));
        }
        write(folder.path(), &format!("rank{number}.json"), &trace.finish())
    };
    let paths: Vec<_> = lists.iter().enumerate().map(file).collect();
    groups(&ask(&open(&paths).unwrap(), "comms", &Question::default()))["dp"].clone()
}

#[test]
fn sequence_numbers_tell_which_collectives_belong_together() {
    // Rank 1 launches them the other way round: the all-reduce takes 10 and 40 µs, the broadcast 20 and 30 µs.
    let first: &[Numbered] = &[(Some(5), "allreduce", 10), (Some(6), "broadcast", 20)];
    let second: &[Numbered] = &[(Some(6), "broadcast", 30), (Some(5), "allreduce", 40)];
    let group = numbered(&[first, second]);
    assert_eq!((&group["matched"], &group["transfer_ns"]), (&2.into(), &30_000.into()), "{group}");
    let wait = |rank: &str| group["per_rank"][rank]["wait_ns"].as_i64().unwrap();
    assert_eq!((wait("0"), wait("1")), (0, 40_000));
    // Ends of number 5 are 130 µs apart, of number 6 −90 µs; the lower of the two is the median.
    assert_eq!(group["per_rank"]["1"]["clock_offset_estimate_ns"], -90_000);
    // The same without a number on one of them: by their order they do not match.
    let unnumbered: &[Numbered] = &[(Some(6), "broadcast", 30), (None, "allreduce", 40)];
    let reason = |lists: &[&[Numbered]]| numbered(lists)["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason(&[first, unnumbered]), "ranks do not match: 2 positions hold different collectives");
    // Equal names in equal places, but the numbers say that they are not the same collectives.
    let early: &[Numbered] = &[(Some(1), "allreduce", 10), (Some(2), "allreduce", 10)];
    let late: &[Numbered] = &[(Some(2), "allreduce", 10), (Some(3), "allreduce", 10)];
    assert_eq!(reason(&[early, late]), "ranks do not match: 2 sequence numbers are not on all ranks");
    // Collectives that were launched as one share a number and stay in their order.
    let joint: &[Numbered] = &[(Some(1), "allgather", 10), (Some(1), "allgather", 30), (Some(2), "allreduce", 5)];
    let group =
        numbered(&[joint, &[(Some(2), "allreduce", 5), (Some(1), "allgather", 20), (Some(1), "allgather", 20)]]);
    assert_eq!((&group["matched"], &group["transfer_ns"]), (&3.into(), &35_000.into()), "{group}");
}
