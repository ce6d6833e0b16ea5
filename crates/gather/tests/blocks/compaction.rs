//! What rounds of compaction do with packs.

use std::time::Duration;

use stepscope_gather::{CompactOptions, Compactor, QUIET};
use stepscope_model::Hint;
use stepscope_model::tables::COUNTERS;
use stepscope_objects::UNWATCHED;
use stepscope_store::block;
use stepscope_store::manifest;
use stepscope_store::pack::Depth;
use stepscope_testkit::TinySource;

use crate::fleet::{Fleet, HOUR_NS, NOW_NS, RUN, at_once, on_both, tiny};

#[test]
fn sums_of_packs_become_blocks_with_the_same_rows() {
    on_both(|fleet| {
        fleet.upload_window(40, 0..5, 5);
        fleet.upload_window(41, [0, 3], 5);
        fleet.upload(&tiny(9, 41, 5), Depth::Full);
        let done = fleet.compact(&at_once());
        assert_eq!((done.listed, done.merged, done.added, done.pending), (8, 8, 2, 0));
        assert_eq!(fleet.blocks(), [(40, 5), (41, 3)]);
        fleet.check();
        let entry = fleet.manifest().blocks[1].clone();
        assert_eq!((entry.windows, entry.ranks, entry.last_ns), ((41, 41), (0, 9), Some(NOW_NS - HOUR_NS)));
        let descriptor = block::read(&fleet.bucket, RUN, entry.id).unwrap();
        assert_eq!((descriptor.packs.count, descriptor.packs.hours), (3, vec!["2026-11-16T04".to_owned()]));
        let rows: u64 = descriptor.tables["steps"].iter().map(|file| file.rows).sum();
        assert_eq!((rows, descriptor.tables["all_collectives"].len()), (9, 2));
        let size: u64 = descriptor.tables.values().flatten().map(|file| file.bytes).sum();
        assert_eq!(entry.bytes, size);

        let sources = fleet.sources_of(entry.id);
        let depths: Vec<_> = sources.iter().map(|source| (source.pack.name.id.rank, source.pack.name.depth)).collect();
        assert_eq!(depths, [(0, Depth::Sums), (3, Depth::Sums), (9, Depth::Full)]);
        for source in sources {
            let key = source.pack.name.object_key(RUN);
            assert_eq!(fleet.bucket.head(&key).unwrap().unwrap().size_bytes, source.pack.size_bytes);
            assert_eq!((source.record.id, source.record.rows.of(&COUNTERS)), (source.pack.name.id, 3));
        }
        let one = block::sources(
            &fleet.bucket,
            RUN,
            (entry.id, &block::read(&fleet.bucket, RUN, entry.id).unwrap()),
            &(1..=8),
            &(41..=41),
        );
        assert_eq!(one.unwrap().iter().map(|source| source.record.id.rank).collect::<Vec<_>>(), [3]);

        let again = fleet.compact(&at_once());
        assert_eq!((again.added, again.built, again.manifest), (0, 0, done.manifest));
    });
}

#[test]
fn a_window_waits_for_its_ranks_or_for_a_while() {
    let fleet = Fleet::folder();
    let now_ns = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    let upload = |window, ranks: std::ops::Range<u32>| {
        for rank in ranks {
            fleet.upload(&TinySource::new(rank, window, 4, now_ns), Depth::Sums);
        }
    };
    let patient = |now_ns| CompactOptions { now_ns: Some(now_ns), ..CompactOptions::default() };
    upload(40, 0..3);
    let mut compactor = Compactor::new(&fleet.bucket, RUN, &patient(now_ns)).unwrap();
    let done = compactor.round(QUIET).unwrap();
    assert_eq!((done.pending, done.added, done.manifest), (3, 0, 0));
    upload(40, 3..4);
    let done = compactor.round(QUIET).unwrap();
    assert_eq!((done.pending, done.added), (0, 1), "all ranks are there");

    upload(41, 0..3);
    assert_eq!(fleet.compact(&patient(now_ns)).pending, 3);
    let later_ns = now_ns + 16 * 60 * 1_000_000_000;
    assert_eq!(fleet.compact(&patient(later_ns)).added, 1, "nobody came for a quarter of an hour");
    fleet.check();
}

#[test]
fn two_compactors_write_the_same_bytes_whatever_their_memory() {
    let fleets = [Fleet::folder(), Fleet::server(), Fleet::folder()];
    for (fleet, limit) in fleets.iter().zip([1 << 30, 1 << 30, 1 << 20]) {
        for rank in [2, 0, 1] {
            let source = TinySource { partitions: vec![0, 3, 17, 40, 63], rows: 500, ..tiny(rank, 40, 3) };
            fleet.upload(&source, Depth::Sums);
        }
        fleet.compact(&CompactOptions { memory_limit_bytes: limit, ..at_once() });
        fleet.check();
    }
    let [first, second, third] = fleets.map(|fleet| fleet.objects_of_blocks());
    assert!(first.len() > 10);
    assert_eq!(first, second);
    assert_eq!(first, third);
}

#[test]
fn late_packs_make_small_blocks_and_eight_become_one() {
    on_both(|fleet| {
        let mut all = Vec::new();
        for rank in 0..8 {
            fleet.upload_window(40, [rank], 100);
            let done = fleet.compact(&at_once());
            all.push(done.manifest);
            let blocks = fleet.blocks();
            let want: Vec<(u32, u64)> = if rank < 7 { vec![(40, 1); rank as usize + 1] } else { vec![(40, 8)] };
            assert_eq!(blocks, want);
            assert_eq!(done.retired, if rank < 7 { 0 } else { 7 });
            fleet.check();
        }
        let manifest = fleet.manifest();
        assert_eq!((manifest.n, manifest.retired.len()), (*all.last().unwrap(), 7));
        assert!(manifest.retired.iter().all(|block| block.delete_after_ns == NOW_NS + 24 * HOUR_NS));
        // Readers that hold the manifest before still find its blocks.
        let before = manifest::read(&fleet.bucket, RUN, manifest.n - 1).unwrap().unwrap();
        assert_eq!(before.blocks.iter().map(|block| fleet.sources_of(block.id).len()).sum::<usize>(), 7);
    });
}

#[test]
fn of_one_recording_in_two_depths_the_full_one_counts() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..3, 3);
    fleet.upload(&tiny(1, 40, 3), Depth::Full);
    fleet.compact(&at_once());
    let depth = |rank: usize| fleet.sources()[rank].pack.name.depth;
    assert_eq!((fleet.sources().len(), depth(0), depth(1)), (3, Depth::Sums, Depth::Full));
    fleet.check();

    fleet.upload(&tiny(2, 40, 3), Depth::Full);
    let done = fleet.compact(&at_once());
    assert_eq!((done.added, done.retired), (1, 1), "its block is made again");
    assert_eq!((fleet.sources().len(), depth(2)), (3, Depth::Full));
    fleet.check();
    assert_eq!(fleet.compact(&at_once()).added, 0);
}

#[test]
fn sources_that_contradict_each_other_are_named_and_have_no_rows() {
    on_both(|fleet| {
        fleet.upload_window(40, 0..3, 3);
        fleet.upload(&TinySource { seed: 7, ..tiny(1, 40, 3) }, Depth::Sums);
        fleet.compact(&at_once());
        let conflicts = || -> Vec<_> {
            fleet.sources().iter().map(|source| (source.record.id.rank, source.pack.is_conflict)).collect()
        };
        assert_eq!(conflicts(), [(0, false), (1, true), (1, true), (2, false)]);
        fleet.check();
        assert!(!fleet.rows_of_blocks()["steps"].iter().any(|row| row.contains("rank: 1,")));

        // One that comes late takes the rows of the other one away.
        fleet.upload(&TinySource { seed: 8, ..tiny(2, 40, 3) }, Depth::Full);
        let done = fleet.compact(&at_once());
        assert_eq!((done.added, done.retired), (1, 1));
        assert_eq!(conflicts(), [(0, false), (1, true), (1, true), (2, true), (2, true)]);
        fleet.check();
    });
}

#[test]
fn packs_of_another_version_and_broken_ones_are_refused_by_name() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 4);
    let (schema, derivation) = tiny(0, 0, 1).versions;
    let old = fleet.upload(&TinySource { versions: (schema - 1, derivation), ..tiny(2, 40, 4) }, Depth::Sums);
    let broken = fleet.upload(&tiny(3, 40, 4), Depth::Sums);
    let key = broken.object_key(RUN);
    let mut bytes = fleet.bucket.get(&key, UNWATCHED).unwrap().to_vec();
    bytes[100] ^= 1;
    fleet.bucket.put(&key, bytes).unwrap();
    let done = fleet.compact(&at_once());
    assert_eq!((done.merged, done.refused.len()), (2, 2));
    let said: Vec<String> = done.refused.iter().map(|pack| format!("{} {}", pack.key, pack.reason)).collect();
    assert!(
        said.iter().any(|said| said.contains(&old.object_key(RUN)) && said.contains("written by schema")),
        "{said:?}"
    );
    assert!(said.iter().any(|said| said.contains(&key) && said.contains("checksum")), "{said:?}");
    assert_eq!(fleet.blocks(), [(40, 2)]);
    assert_eq!(fleet.compact(&at_once()).added, 0);
}

#[test]
fn blocks_of_another_version_are_made_again() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 2);
    fleet.upload_window(41, 0..2, 2);
    fleet.compact(&at_once());
    let (blocks, objects) = (fleet.manifest().blocks, fleet.objects_of_blocks());
    let key = block::descriptor_key(RUN, blocks[0].id);
    let text = String::from_utf8(objects[&key].clone()).unwrap();
    let schema = tiny(0, 0, 1).versions.0;
    let other = text.replace(&format!("\"schema_version\":{schema}"), "\"schema_version\":1");
    fleet.bucket.put(&key, other).unwrap();
    let error = block::read(&fleet.bucket, RUN, blocks[0].id).unwrap_err();
    assert_eq!(error.to_string(), format!("written by block schema 1, this Stepscope reads {schema}: {key}"));
    assert!(error.hint().unwrap().contains("stepscope store compact --all"));
    let done = fleet.compact(&CompactOptions { all: true, ..at_once() });
    assert_eq!((done.added, done.merged), (1, 2));
    assert_eq!((fleet.manifest().blocks, fleet.objects_of_blocks()), (blocks, objects));
    fleet.check();

    // One whose packs are gone is retired: nobody can read it.
    let gone: Vec<String> =
        fleet.sources_of(fleet.manifest().blocks[0].id).iter().map(|source| source.pack.name.object_key(RUN)).collect();
    for key in gone {
        fleet.bucket.delete(&key).unwrap();
    }
    let text = String::from_utf8(fleet.bucket.get(&key, UNWATCHED).unwrap().to_vec()).unwrap();
    fleet.bucket.put(&key, text.replace(&format!("\"schema_version\":{schema}"), "\"schema_version\":1")).unwrap();
    let done = fleet.compact(&CompactOptions { all: true, ..at_once() });
    assert_eq!((done.added, done.retired), (0, 1));
    fleet.check();
}

#[test]
fn hours_are_sealed_and_looked_at_again_with_all() {
    let fleet = Fleet::folder();
    let at = |hours: i64| CompactOptions { now_ns: Some(NOW_NS + hours * HOUR_NS), ..at_once() };
    fleet.upload_window(40, 0..2, 4);
    fleet.compact(&at(0));
    assert_eq!(fleet.manifest().sealed_before_hour, "2026-11-14T05");
    fleet.upload(&TinySource::new(0, 41, 4, NOW_NS - 60 * HOUR_NS), Depth::Sums);
    let done = fleet.compact(&at(0));
    assert_eq!((done.listed, done.added), (2, 0), "its hour is sealed");
    assert_eq!(fleet.compact(&CompactOptions { all: true, ..at(0) }).added, 1);
    fleet.check();

    // Nobody compacted for a week: nothing is lost by that.
    fleet.upload_window(42, 0..2, 4);
    let done = fleet.compact(&at(7 * 24));
    assert_eq!(done.added, 1);
    assert_eq!(fleet.manifest().sealed_before_hour, "2026-11-21T05");
    fleet.check();
}

#[test]
fn a_compactor_looks_at_the_newest_hours_and_at_all_once_an_hour() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 4);
    let mut compactor = Compactor::new(&fleet.bucket, RUN, &at_once()).unwrap();
    assert_eq!(compactor.round(QUIET).unwrap().listed, 2);
    fleet.upload(&TinySource::new(0, 41, 4, NOW_NS - 10 * HOUR_NS), Depth::Sums);
    fleet.upload(&TinySource::new(0, 42, 4, 1), Depth::Sums);
    fleet.upload(&TinySource::new(0, 43, 4, NOW_NS + HOUR_NS / 2), Depth::Sums);
    let done = compactor.round(QUIET).unwrap();
    assert_eq!((done.listed, done.added), (3, 1), "an old hour is not listed");
    let mut other = Compactor::new(&fleet.bucket, RUN, &at_once()).unwrap();
    assert_eq!(other.round(QUIET).unwrap().added, 1, "the first round of a compactor lists all that are not sealed");
    assert_eq!(fleet.compact(&CompactOptions { all: true, ..at_once() }).added, 1);
    fleet.check();
}

#[test]
fn progress_is_told_and_can_end_a_round() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..3, 3);
    let seen = std::cell::RefCell::new(Vec::new());
    let stop = |at: &stepscope_gather::Progress| {
        seen.borrow_mut().push(at.clone());
        if seen.borrow().len() == 3 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let error = stepscope_gather::compact(&fleet.bucket, RUN, &at_once(), &stop).unwrap_err();
    assert_eq!(error.to_string(), "canceled");
    assert_eq!(seen.borrow().len(), 3);
    assert_eq!(manifest::read_newest(&fleet.bucket, RUN).unwrap(), None);
    assert_eq!(fleet.compact(&at_once()).added, 1);
    assert_eq!(Duration::from_mins(15), CompactOptions::default().settle);
    assert!(fleet.path().is_dir());
}
