//! The timeline's levels of detail: small, true to the spans, and exact close up.

use std::collections::BTreeSet;
use std::path::PathBuf;

use arrow::array::AsArray;
use arrow::datatypes::{Int32Type, Int64Type};
use stepscope_testkit::{Random, TraceBuilder, corpus};
use stepscope_workspace::{CancelFlag, Extras, Settings, TrackRange, Workspace};

use crate::harness::{Silent, answer, open, open_text, write};

/// Bursts of short operators with calls in them under a frame each, long pauses between, and one span over everything.
fn bursts() -> String {
    let mut trace = TraceBuilder::new().annotation("whole", 1, "0", "60000000");
    for burst in 0..60 {
        let begin = burst * 1_000_000;
        trace = trace.complete(
            "python_function",
            "train.py(7): step",
            TraceBuilder::HOST_PROCESS,
            1,
            &begin.to_string(),
            "40000",
        );
        for place in 0..400 {
            let start = begin + place * 100;
            trace = trace.op("aten::add", 1, &start.to_string(), "80");
            trace = trace.runtime("cudaLaunchKernel", 1, &(start + 10).to_string(), "7", burst * 400 + place);
            trace = trace.kernel("k", 0, 7, &(start + 30).to_string(), "50", burst * 400 + place);
        }
    }
    trace.kernel("alone", 0, 7, "70000000", "1", 999_999).finish()
}

/// A row of an answer: lane, start, end, spans, one of them.
type Shown = (i32, i64, i64, i64, i64);

fn shown(workspace: &Workspace, range: TrackRange) -> Vec<Shown> {
    let batch = workspace.track(None, None, range, &CancelFlag::default()).unwrap();
    let numbers = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec();
    let lanes = batch.column_by_name("depth").unwrap().as_primitive::<Int32Type>().values().to_vec();
    let (starts, lengths, counts, ids) = (numbers("start_ns"), numbers("dur_ns"), numbers("count"), numbers("span_id"));
    (0..batch.num_rows())
        .map(|row| (lanes[row], starts[row], starts[row] + lengths[row], counts[row], ids[row]))
        .collect()
}

/// Whatever holds for the tiles of any recording, as queries that find what breaks it.
fn check_tiles(workspace: &Workspace) {
    let none = |what: &str, sql: &str| assert_eq!(answer(workspace, sql), "0", "{what}");
    none(
        "every level has every span of its track",
        "SELECT count(*) FROM (SELECT track_id, level, sum(count) AS counted FROM tiles GROUP BY track_id, level) t
         JOIN tracks USING (track_id) WHERE counted <> spans",
    );
    none(
        "all levels together have at most an eighth of the rows",
        "SELECT count(*) FROM (SELECT track_id, count(*) AS tile_rows FROM tiles GROUP BY track_id) t
         JOIN tracks USING (track_id) WHERE tile_rows * 8 > spans",
    );
    none(
        "a row of the finest level stands for sixteen spans on average",
        "SELECT count(*) FROM (SELECT track_id, level, count(*) AS tile_rows FROM tiles GROUP BY track_id, level) t
         JOIN tracks USING (track_id) WHERE tile_rows * 16 > spans",
    );
    none(
        "the longest span is one of the lane, with its name",
        "SELECT count(*) FROM tiles JOIN timeline_spans s USING (rank, \"window\", span_id)
         JOIN tracks t ON t.track_id = s.track_id
         WHERE (tiles.name IS DISTINCT FROM s.name) OR s.start_ns < tiles.start_ns OR s.end_ns > tiles.end_ns
            OR tiles.lane <> s.depth + CASE s.lane_group
                 WHEN 0 THEN 0
                 WHEN 1 THEN lanes_python
                 WHEN 2 THEN lanes_python + lanes_mark
                 WHEN 3 THEN lanes_python + lanes_mark + lanes_work
                 ELSE lanes_python + lanes_mark + lanes_work + lanes_other END",
    );
    none(
        "a span alone is itself",
        "SELECT count(*) FROM tiles JOIN timeline_spans s USING (rank, \"window\", span_id)
         WHERE count = 1 AND (tiles.class <> s.class OR busy_ns <> dur_ns OR tiles.end_ns <> s.end_ns)",
    );
    none(
        "no more is busy than there is time",
        "SELECT count(*) FROM tiles WHERE busy_ns > end_ns - start_ns OR busy_ns < 0",
    );
}

/// Answers for any range show every span of it: close up as itself, from afar in a row that covers it.
fn check_ranges(workspace: &Workspace, track: i64, seed: u64) {
    let all = answer(
        workspace,
        &format!("SELECT span_id, start_ns, end_ns FROM timeline_spans WHERE track_id = {track} ORDER BY span_id"),
    );
    let numbers = |line: &str| line.split(' ').map(|cell| cell.parse().unwrap()).collect::<Vec<i64>>();
    let spans: Vec<Vec<i64>> = all.lines().map(numbers).collect();
    let timeline = workspace.timeline(None, None, &CancelFlag::default()).unwrap();
    let first: i64 = answer(workspace, "SELECT min(start_ns) FROM spans WHERE phase = 'X'").parse().unwrap();
    let mut random = Random::new(seed);
    let (mut exact, mut merged) = (0, 0);
    for _ in 0..40 {
        let length = (timeline.end_ns >> random.below(24)).max(1);
        let from_ns = (random.next_u64() % timeline.end_ns.unsigned_abs()).cast_signed() - length / 2;
        let range = TrackRange { track, from_ns, to_ns: from_ns + length, width: 1000 };
        let rows = shown(workspace, range);
        assert!(rows.len() <= 20_000, "{} rows", rows.len());
        let wanted: BTreeSet<i64> = spans
            .iter()
            .filter(|span| span[1] - first < range.to_ns && span[2] - first >= range.from_ns)
            .map(|span| span[0])
            .collect();
        if rows.iter().all(|row| row.3 == 1) {
            exact += 1;
            assert_eq!(rows.iter().map(|row| row.4).collect::<BTreeSet<_>>(), wanted, "{range:?}");
        } else {
            merged += 1;
            assert!(rows.iter().map(|row| row.3).sum::<i64>() >= wanted.len() as i64, "{range:?}");
            for id in wanted {
                let span = &spans[spans.partition_point(|span| span[0] < id)];
                let (start, end) = (span[1] - first, span[2] - first);
                assert!(rows.iter().any(|row| row.1 <= start && end <= row.2), "{range:?} {span:?}");
            }
        }
    }
    assert!(exact > 5 && merged > 5, "{exact} exact answers, {merged} from tiles");
}

/// Numbers of the tracks that have tiles.
fn tiled_tracks(workspace: &Workspace) -> Vec<i64> {
    let tracks = answer(workspace, "SELECT DISTINCT track_id FROM tiles ORDER BY track_id");
    tracks.lines().map(|track| track.parse().unwrap()).collect()
}

#[test]
fn bursts_and_a_span_alone_after_a_long_pause() {
    let workspace = open_text(&bursts());
    check_tiles(&workspace);
    let tracks = tiled_tracks(&workspace);
    assert_eq!(tracks.len(), 2);
    for track in tracks {
        check_ranges(&workspace, track, 7);
    }
    let alone = answer(&workspace, "SELECT count(*) FROM tiles WHERE name = 'alone' AND count = 1 AND busy_ns = 1000");
    let levels = answer(&workspace, "SELECT count(DISTINCT level) FROM tiles WHERE class = 'kernel'");
    assert_ne!(levels, "0");
    assert_eq!(alone, levels, "a kernel of 1 µs alone is a row of every level");
}

#[test]
#[ignore = "needs the corpus"]
fn recordings_of_the_corpus() {
    let corpus = corpus();
    for trace in [
        "hta/trace_diff/control/control.json.gz",
        "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    ] {
        let workspace = open(&[corpus.trace(trace)]).unwrap();
        check_tiles(&workspace);
        assert!(!tiled_tracks(&workspace).is_empty(), "{trace}");
    }
}

#[test]
fn without_tiles_the_answers_are_the_same_spans() {
    let folder = tempfile::tempdir().unwrap();
    let trace = write(folder.path(), "trace.json", &bursts());
    let store: PathBuf = folder.path().join("store");
    let extras = Extras { tiles: false, ..Extras::default() };
    let settings = Settings { store: Some(store.clone()), extras, ..Settings::default() };
    Workspace::ingest(&[trace], &settings, &Silent).unwrap();
    let bare = Workspace::open(&[store], &Settings::default(), &Silent).unwrap();
    assert_eq!(answer(&bare, "SELECT count(*) FROM tiles"), "0");
    let tiled = open_text(&bursts());
    let near = TrackRange { track: 0, from_ns: 30_000_000_000, to_ns: 30_010_000_000, width: 1000 };
    assert_eq!(shown(&bare, near), shown(&tiled, near));
    assert_eq!(shown(&bare, near).len(), 202);
}
