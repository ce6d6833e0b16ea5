//! The functions, by hand; those over intervals also against a count of every nanosecond.

use std::fmt::Write as _;

use stepscope_engine::{Engine, functions::FUNCTIONS};
use stepscope_model::tables::SPANS;
use stepscope_store::Store;

use crate::fixture::{Row, Value, ask, check, commit, open, small_engine};

#[test]
fn union_length_by_hand() {
    let (_folder, engine) = small_engine();
    // Device: [40,70) [60,80) [70,120) [300,300) [310,314).
    let sql = "SELECT union_length(start_ns, end_ns) FROM device_events";
    check(&engine, &format!("{sql} WHERE rank = 0 AND window = 0"), &["84"]);
    check(&engine, sql, &["252"]);
    check(&engine, &format!("{sql} WHERE rank = 99"), &["0"]);
    check(
        &engine,
        "SELECT class, union_length(start_ns, end_ns) FROM device_events GROUP BY class ORDER BY class",
        &["communication|150", "compute|102", "memcpy|60"],
    );
    check(
        &engine,
        "SELECT rank, union_length(start_ns, end_ns) FILTER (WHERE class = 'compute'),
                union_length(start_ns, end_ns) FILTER (WHERE class = 'none')
         FROM device_events GROUP BY rank ORDER BY rank",
        &["0|68|0", "5|34|0"],
    );
    check(
        &engine,
        "SELECT step, (SELECT union_length(d.start_ns, d.end_ns) FROM device_events d WHERE d.step = s.step)
         FROM (VALUES (0), (1)) AS s(step) ORDER BY step",
        &["0|0", "1|0"],
    );
}

#[test]
fn union_length_of_odd_intervals() {
    let (_folder, engine) = small_engine();
    let union = |rows: &str| format!("SELECT union_length(a, b) FROM (VALUES {rows}) AS v(a, b)");
    check(&engine, &union("(0, 10), (5, 15), (15, 20)"), &["20"]);
    check(&engine, &union("(5, 5), (7, 3), (NULL, 4), (4, NULL)"), &["0"]);
    check(&engine, &union("(0, 9223372036854775807), (1, 2)"), &["9223372036854775807"]);
    let error = ask(&engine, &union("(-9223372036854775807, 9223372036854775807)")).unwrap_err();
    assert!(error.to_string().contains("does not fit 64 bits"), "{error}");
    // Narrower integers are widened, other types refused.
    check(&engine, "SELECT union_length(CAST(a AS INT), b) FROM (VALUES (1, 3)) AS v(a, b)", &["2"]);
    assert!(ask(&engine, "SELECT union_length(name, name) FROM spans").is_err());
    check(
        &engine,
        "SELECT union_length(a, b) OVER (ORDER BY a) FROM (VALUES (0, 10), (5, 15), (20, 21)) AS v(a, b)",
        &["10", "15", "16"],
    );
}

#[test]
fn overlap_length_by_hand() {
    let (_folder, engine) = small_engine();
    // Communication [70,120) against the rest [40,80) [310,314).
    check(
        &engine,
        "SELECT rank, window, overlap_length(start_ns, end_ns, class = 'communication')
         FROM device_events GROUP BY rank, window ORDER BY rank, window",
        &["0|0|10", "0|1|10", "5|0|10"],
    );
    let overlap = |rows: &str| format!("SELECT overlap_length(a, b, c) FROM (VALUES {rows}) AS v(a, b, c)");
    check(&engine, &overlap("(0, 10, true), (20, 30, true), (5, 25, false)"), &["10"]);
    check(&engine, &overlap("(0, 10, true), (0, 10, NULL)"), &["0"]);
    check(&engine, &overlap("(0, 10, true), (10, 20, false)"), &["0"]);
    check(&engine, "SELECT overlap_length(start_ns, end_ns, true) FROM device_events WHERE rank = 99", &["0"]);
}

#[test]
fn op_flops_of_rows_and_of_nothing() {
    let (_folder, engine) = small_engine();
    let rows = "('aten::mm', '[[2,3],[3,5]]', NULL), ('aten::mm', NULL, NULL), ('aten::add', '[[2,3],[3,5]]', '[]'),
                ('aten::mm', 'not a list', '[]'), (NULL, '[[2,3],[3,5]]', '[]'), ('aten::mm', '[[2,3],[3,5]]', '[1')";
    check(
        &engine,
        &format!("SELECT op_flops(a, b, c) FROM (VALUES {rows}) AS v(a, b, c)"),
        &["60", "null", "null", "null", "null", "60"],
    );
    check(&engine, "SELECT op_flops('aten::bmm', '[[7,2,3],[7,3,5]]', NULL)", &["420"]);
    // The operators of this store have no shapes.
    check(&engine, "SELECT count(*) FROM ops_with_flops", &["0"]);
}

#[test]
fn nearest_rank_by_hand() {
    let (_folder, engine) = small_engine();
    // Device events of each source last 30, 20, 50, 0 and 4.
    let ranks = "nearest_rank(dur_ns, 0), nearest_rank(dur_ns, 50), nearest_rank(dur_ns, 80), nearest_rank(dur_ns, 81)";
    let sql = format!("SELECT rank, window, {ranks} FROM device_events GROUP BY rank, window ORDER BY rank, window");
    check(&engine, &sql, &["0|0|0|20|30|50", "0|1|0|20|30|50", "5|0|0|20|30|50"]);
    check(&engine, &format!("SELECT {ranks} FROM device_events"), &["0|20|30|50"]);
    check(&engine, &format!("SELECT {ranks} FROM device_events WHERE rank = 99"), &["null|null|null|null"]);
    check(
        &engine,
        "SELECT nearest_rank(v, 50), nearest_rank(v, 50) FILTER (WHERE v > 1) FROM (VALUES (1), (NULL), (3), (2)) AS t(v)",
        &["2|2"],
    );
    for percent in ["101", "-1", "v", "NULL"] {
        let error = ask(&engine, &format!("SELECT nearest_rank(v, {percent}) FROM (VALUES (1)) AS t(v)")).unwrap_err();
        assert!(error.to_string().contains("a whole number from 0 to 100"), "{error}");
    }
}

#[test]
fn sketches_of_several_rows_are_one() {
    let (_folder, engine) = small_engine();
    let ask_percentiles = "SELECT sketch_percentile(s, 0), sketch_percentile(s, 50), sketch_percentile(s, 100)";
    // Of 1025 and 1026 the middle of the bucket is 1031; the range of the sketch is known.
    check(&engine, &format!("{ask_percentiles} FROM (VALUES ('1025..1026 320:2')) AS t(s)"), &["1026|1026|1026"]);
    // 5, 100 twice and 7 are exact: small buckets hold one value.
    check(&engine, &format!("{ask_percentiles} FROM (VALUES ('5:1 100:2'), (NULL), ('7:1')) AS t(s)"), &["5|7|100"]);
    check(&engine, &format!("{ask_percentiles} FROM (VALUES ('5:1')) AS t(s) WHERE s = ''"), &["null|null|null"]);
    let error = ask(&engine, "SELECT sketch_percentile(s, 50) FROM (VALUES ('five')) AS t(s)").unwrap_err();
    assert!(error.to_string().contains("takes sketches"), "{error}");
}

#[test]
fn functions_are_documented() {
    for function in FUNCTIONS {
        let name = function.call.split('(').next().unwrap();
        let known =
            ["nearest_rank", "op_flops", "op_least_flops", "union_length", "overlap_length", "sketch_percentile"];
        assert!(known.contains(&name));
        assert!(function.doc.ends_with('.'));
    }
}

/// xorshift64*: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// Marks every nanosecond of [0, 2000).
fn marks<'a>(intervals: impl Iterator<Item = &'a (i64, i64, i64)>) -> Vec<bool> {
    let mut marks = vec![false; 2_000];
    for (start, end, _) in intervals {
        (*start..*end).for_each(|at| marks[at as usize] = true);
    }
    marks
}

fn both(engine: &Engine, group: &str) -> Vec<String> {
    let sql = format!(
        "SELECT {group}, union_length(start_ns, start_ns + dur_ns),
                overlap_length(start_ns, start_ns + dur_ns, step = 1),
                union_length(start_ns, start_ns + dur_ns) FILTER (WHERE step = 2)
         FROM spans GROUP BY {group} ORDER BY {group}"
    );
    ask(engine, &sql).unwrap()
}

#[test]
fn random_intervals_agree_with_a_count() {
    let mut random = Random(42);
    for round in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        let mut all = Vec::new();
        for rank in 0..5_u32 {
            let count = 1 + random.below(if round == 3 { 4_000 } else { 60 });
            let rows = (0..count).map(|_| {
                let start = random.below(1_900) as i64;
                (start, start + random.below(if round == 3 { 3 } else { 40 }) as i64, random.below(3) as i64)
            });
            all.push((rank, rows.collect::<Vec<_>>()));
        }
        for (rank, intervals) in &all {
            let rows = intervals.iter().map(|(start, end, step)| {
                let (start, dur, step) = (Value::I(*start), Value::I(end - start), Value::I(*step));
                // Step 0 is left null: such a row is neither kind for overlap_length.
                let mut row = Row::from([("start_ns", start), ("dur_ns", dur), ("step", step)]);
                if matches!(step, Value::I(0)) {
                    row.remove("step");
                }
                row
            });
            commit(&store, *rank, 0, &[(&SPANS, rows.collect())]);
        }
        let engine = open(&store);

        let answer = |intervals: &[(i64, i64, i64)]| {
            let of = |step: i64| marks(intervals.iter().filter(move |row| row.2 == step));
            let (any, one, two) = (marks(intervals.iter()), of(1), of(2));
            let count = |marks: &[bool]| marks.iter().filter(|mark| **mark).count();
            let overlap = one.iter().zip(&two).filter(|(a, b)| **a && **b).count();
            format!("{}|{overlap}|{}", count(&any), count(&two))
        };
        let mut want = Vec::new();
        for (rank, intervals) in &all {
            let mut line = String::new();
            write!(line, "{rank}|{}", answer(intervals)).unwrap();
            want.push(line);
        }
        assert_eq!(both(&engine, "rank"), want, "round {round}");
        let together: Vec<_> = all.into_iter().flat_map(|(_, intervals)| intervals).collect();
        assert_eq!(both(&engine, "window"), [format!("0|{}", answer(&together))], "round {round}");
        let one_group = ask(
            &engine,
            "SELECT union_length(start_ns, start_ns + dur_ns), overlap_length(start_ns, start_ns + dur_ns, step = 1),
                    union_length(start_ns, start_ns + dur_ns) FILTER (WHERE step = 2) FROM spans",
        );
        assert_eq!(one_group.unwrap(), [answer(&together)], "round {round}");
    }
}
