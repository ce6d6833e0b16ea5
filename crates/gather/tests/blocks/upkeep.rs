//! Expiry, verification, rebuilding and export.

use std::ops::ControlFlow;
use std::time::Duration;

use stepscope_gather::{
    CompactError, CompactOptions, ExpireOptions, QUIET, expire, export, pinned_key, rebuild, verify,
};
use stepscope_model::{Hint, SourceId, tables};
use stepscope_objects::{UNWATCHED, Watch};
use stepscope_store::pack::Depth;
use stepscope_store::{Store, block, manifest};
use stepscope_testkit::TinySource;

use crate::fleet::{Fleet, HOUR_NS, NOW_NS, RUN, at_once, on_both, tiny};

const DAY_NS: i64 = 24 * HOUR_NS;

fn expire_at(now_ns: i64, yes: bool) -> ExpireOptions {
    ExpireOptions { yes, now_ns: Some(now_ns), ..ExpireOptions::default() }
}

/// The clock of a folder is the real one, which orphans and uploads go by.
fn real_ns() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64
}

#[test]
fn retired_blocks_are_deleted_after_a_day_and_not_before() {
    on_both(|fleet| {
        fleet.upload_window(40, 0..2, 3);
        fleet.compact(&at_once());
        let old = fleet.manifest().blocks[0].id;
        fleet.upload(&tiny(1, 40, 3), Depth::Full);
        fleet.compact(&at_once());
        let is_there = || fleet.bucket.head(&block::descriptor_key(RUN, old)).unwrap().is_some();
        let n = fleet.manifest().n;

        let found = expire(&fleet.bucket, RUN, &expire_at(NOW_NS + DAY_NS - 1, true), UNWATCHED).unwrap();
        assert!(found.deleted.is_empty() && is_there());
        let dry = expire(&fleet.bucket, RUN, &expire_at(NOW_NS + DAY_NS, false), UNWATCHED).unwrap();
        assert!(dry.deleted[&old].objects > 8 && dry.deleted[&old].bytes > 1000 && is_there());
        assert_eq!(fleet.manifest().n, n, "a dry run writes nothing");
        let done = expire(&fleet.bucket, RUN, &expire_at(NOW_NS + DAY_NS, true), UNWATCHED).unwrap();
        assert_eq!(done.deleted, dry.deleted);
        assert!(!is_there() && fleet.manifest().retired.is_empty());
        assert!(!fleet.objects_of_blocks().keys().any(|key| key.contains(&old.to_string())));
        fleet.check();
        assert_eq!(expire(&fleet.bucket, RUN, &expire_at(NOW_NS + DAY_NS, true), UNWATCHED).unwrap().deleted.len(), 0);
    });
}

#[test]
fn a_retired_block_comes_back_unless_it_is_about_to_be_deleted() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 3);
    fleet.compact(&at_once());
    let first = fleet.manifest().blocks[0].clone();
    let full = fleet.upload(&tiny(1, 40, 3), Depth::Full);
    fleet.compact(&at_once());
    let second = fleet.manifest().blocks[0].clone();
    fleet.bucket.delete(&full.object_key(RUN)).unwrap();
    // Somebody takes the second block away: the packs that are left make the first one again.
    let forget = |now_ns: i64| {
        let mut manifest = fleet.manifest();
        manifest.blocks.clear();
        manifest.retired = vec![manifest::RetiredBlock { id: first.id, delete_after_ns: NOW_NS + DAY_NS }];
        manifest.n += 1;
        fleet.bucket.put_new(&manifest::key(RUN, manifest.n), serde_json::to_vec(&manifest).unwrap()).unwrap();
        fleet.compact(&CompactOptions { now_ns: Some(now_ns), all: true, ..at_once() })
    };
    assert_ne!(first.id, second.id);
    let late = forget(NOW_NS + DAY_NS - HOUR_NS / 2);
    assert_eq!((late.added, late.pending), (0, 2));
    let early = forget(NOW_NS);
    assert_eq!((early.added, early.pending), (1, 0));
    assert_eq!(fleet.manifest().blocks, [first]);
    assert!(fleet.manifest().retired.is_empty());
    fleet.check();
}

#[test]
fn what_killed_compactors_left_goes_in_two_steps() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 2);
    fleet.compact(&at_once());
    let orphan = "0123456789abcdef".repeat(2);
    let key = format!("runs/{RUN}/blocks/{orphan}/steps/0.parquet");
    fleet.bucket.put_new(&key, "rows").unwrap();
    let is_there = || fleet.bucket.head(&key).unwrap().is_some();
    let now_ns = real_ns();
    // Recordings have a fixed time, so by the real clock they grow old.
    let kept = Duration::from_hours(24 * 36_500);
    let expire_in = |days: i64| {
        let options = ExpireOptions { events: kept, sums: kept, ..expire_at(now_ns + days * DAY_NS, true) };
        expire(&fleet.bucket, RUN, &options, UNWATCHED).unwrap()
    };
    assert!(expire_in(0).orphans.is_empty(), "it may be on its way");
    let found = expire_in(2);
    assert_eq!((found.orphans.len(), found.orphans[0].to_string(), is_there()), (1, orphan, true));
    let found = expire_in(4);
    assert_eq!((found.deleted.len(), is_there()), (1, false));
    fleet.check();
}

#[test]
fn old_packs_go_when_a_block_has_their_sums_and_pinned_runs_never() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..3, 3);
    fleet.upload(&TinySource { seed: 5, ..tiny(2, 40, 3) }, Depth::Sums);
    fleet.compact(&at_once());
    fleet.upload_window(41, 0..1, 3);
    let rows = fleet.rows_of_blocks();
    let late_ns = NOW_NS + 8 * DAY_NS;
    let dry = expire(&fleet.bucket, RUN, &expire_at(late_ns, false), UNWATCHED).unwrap();
    assert_eq!(dry.packs.values().map(|amount| amount.objects).sum::<u64>(), 2);
    assert_eq!(dry.unmerged, 3, "two contradict each other, one is in no block");
    assert!(expire(&fleet.bucket, RUN, &expire_at(NOW_NS + 6 * DAY_NS, false), UNWATCHED).unwrap().packs.is_empty());

    fleet.bucket.put(&pinned_key(RUN), "").unwrap();
    assert!(expire(&fleet.bucket, RUN, &expire_at(late_ns, true), UNWATCHED).unwrap().is_pinned);
    fleet.bucket.delete(&pinned_key(RUN)).unwrap();
    assert_eq!(expire(&fleet.bucket, RUN, &expire_at(late_ns, true), UNWATCHED).unwrap(), dry);
    assert_eq!(fleet.rows_of_blocks(), rows, "sums stay");
    let found = verify(&fleet.bucket, RUN, UNWATCHED).unwrap();
    assert_eq!((found.problems.len(), found.packs, found.without_pack, found.unmerged), (0, 3, 2, 1));

    // A late pack cannot be merged with a block whose packs are gone, and that is said.
    fleet.upload(&tiny(0, 40, 3), Depth::Full);
    let round = fleet.compact(&CompactOptions { all: true, ..at_once() });
    assert_eq!((round.added, round.refused.len()), (1, 1));
    assert!(round.refused[0].reason.contains("packs of it are deleted"), "{:?}", round.refused);

    let old_ns = NOW_NS + 91 * DAY_NS;
    let done = expire(&fleet.bucket, RUN, &expire_at(old_ns, true), UNWATCHED).unwrap();
    assert_eq!((done.retired.len(), done.unmerged), (2, 0));
    assert!(fleet.manifest().blocks.is_empty());
    assert!(fleet.rows_of_packs().is_empty());
}

#[test]
fn upkeep_ends_when_asked() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..3, 3);
    fleet.compact(&at_once());
    let stop: Watch<'_> = &|_| ControlFlow::Break(());
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let expired = expire(&fleet.bucket, RUN, &expire_at(NOW_NS + 8 * DAY_NS, true), stop);
    assert!(matches!(expired, Err(CompactError::Canceled)), "{expired:?}");
    assert!(matches!(verify(&fleet.bucket, RUN, stop), Err(CompactError::Canceled)));
    assert!(matches!(export(&fleet.bucket, RUN, &store, stop), Err(CompactError::Canceled)));
    assert_eq!(store.runs().unwrap(), Vec::<String>::new());
    assert_eq!(verify(&fleet.bucket, RUN, UNWATCHED).unwrap().packs, 3);
}

#[test]
fn what_is_broken_is_named() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 2);
    fleet.upload_window(41, 0..2, 2);
    fleet.compact(&at_once());
    assert_eq!(verify(&fleet.bucket, RUN, UNWATCHED).unwrap().problems, Vec::<String>::new());
    let entry = fleet.manifest().blocks[0].clone();
    let file = |path: &str| block::file_key(RUN, entry.id, path);
    let said = |want: &str| {
        let problems = verify(&fleet.bucket, RUN, UNWATCHED).unwrap().problems;
        assert!(problems.iter().any(|problem| problem.contains(want)), "{want}: {problems:?}");
    };
    fleet.bucket.delete(&file("steps/0.parquet")).unwrap();
    said("found no file, expected");
    let other = fleet.bucket.get(&file("op_rollup/0.parquet"), UNWATCHED).unwrap();
    fleet.bucket.put(&file("kernel_rollup/0.parquet"), other.slice(1..)).unwrap();
    said("kernel_rollup/0.parquet");
    let pack = fleet.sources()[3].pack.name.object_key(RUN);
    let mut bytes = fleet.bucket.get(&pack, UNWATCHED).unwrap().to_vec();
    bytes[200] ^= 1;
    fleet.bucket.put(&pack, bytes).unwrap();
    said(&pack);
    fleet.bucket.delete(&manifest::key(RUN, 1)).unwrap();
    said("a manifest is missing: runs/job/manifest/1.json");
}

#[test]
fn rebuilding_gives_what_compaction_had() {
    on_both(|fleet| {
        fleet.upload_window(40, 0..3, 3);
        fleet.upload_window(41, 0..2, 3);
        fleet.upload(&tiny(1, 41, 3), Depth::Full);
        fleet.compact(&at_once());
        let (blocks, objects) = (fleet.manifest().blocks, fleet.objects_of_blocks());
        let n = fleet.manifest().n;
        // A manifest that nobody can read, a file that is gone, and one with another byte.
        fleet.bucket.put(&manifest::key(RUN, n), "{").unwrap();
        let file = |path: &str| block::file_key(RUN, blocks[0].id, path);
        fleet.bucket.delete(&file("steps/0.parquet")).unwrap();
        let mut bytes = fleet.bucket.get(&file("op_rollup/0.parquet"), UNWATCHED).unwrap().to_vec();
        bytes[50] ^= 1;
        fleet.bucket.put(&file("op_rollup/0.parquet"), bytes).unwrap();
        let error = stepscope_gather::compact(&fleet.bucket, RUN, &at_once(), QUIET).unwrap_err();
        assert!(error.hint().unwrap().contains("stepscope store rebuild"), "{error}");

        let done = rebuild(&fleet.bucket, RUN, &at_once(), QUIET).unwrap();
        assert_eq!((done.manifest, done.merged, done.retired), (n + 1, 5, 0));
        assert_eq!(fleet.manifest().blocks, blocks);
        assert_eq!(fleet.objects_of_blocks(), objects);

        // From packs alone.
        for entry in fleet.bucket.list(&format!("runs/{RUN}"), UNWATCHED).unwrap() {
            if !entry.key.contains("/in/") {
                fleet.bucket.delete(&entry.key).unwrap();
            }
        }
        assert_eq!(rebuild(&fleet.bucket, RUN, &at_once(), QUIET).unwrap().manifest, 1);
        assert_eq!((fleet.manifest().blocks, fleet.objects_of_blocks()), (blocks, objects));
        fleet.check();
    });
}

#[test]
fn rebuilding_keeps_blocks_whose_packs_are_gone() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 2);
    fleet.upload_window(41, 0..2, 2);
    fleet.compact(&at_once());
    let before = (fleet.manifest().blocks, fleet.rows_of_blocks());
    let gone = fleet.sources()[0].pack.name.object_key(RUN);
    fleet.bucket.delete(&gone).unwrap();
    let done = rebuild(&fleet.bucket, RUN, &at_once(), QUIET).unwrap();
    assert_eq!((done.added, done.retired), (1, 0));
    assert_eq!((fleet.manifest().blocks, fleet.rows_of_blocks()), before);
}

#[test]
fn packs_are_exported_as_the_folder_form() {
    on_both(|fleet| {
        let sources = [tiny(0, 40, 3), tiny(1, 40, 3), tiny(2, 40, 3)];
        for (source, depth) in sources.iter().zip([Depth::Full, Depth::Sums, Depth::Full]) {
            fleet.upload(source, depth);
        }
        fleet.upload(&sources[0], Depth::Sums);
        fleet.upload(&TinySource { seed: 9, ..tiny(2, 40, 3) }, Depth::Sums);
        let (direct, exported) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (direct, store) = (Store::create(direct.path()).unwrap(), Store::create(exported.path()).unwrap());
        let done = export(&fleet.bucket, RUN, &store, UNWATCHED).unwrap();
        assert_eq!((done.sources, done.sums_only, done.refused.len()), (2, 1, 2));
        assert!(done.refused[0].reason.contains("another pack claims rank 2, window 40"));
        let opened = Store::open(exported.path()).unwrap();
        assert_eq!(opened.problems().unwrap(), Vec::<String>::new());
        let record = sources[0].commit(&direct, RUN).unwrap();
        assert_eq!(opened.source(RUN, record.id).unwrap().unwrap(), record);
        for table in tables::TABLES {
            let read = |store: &Store| -> Vec<Vec<u8>> {
                let sources = [store.source(RUN, record.id).unwrap().unwrap()];
                store.files_of(RUN, &sources, table).unwrap().iter().map(|path| std::fs::read(path).unwrap()).collect()
            };
            assert_eq!(read(&opened), read(&direct), "{}", table.name);
        }
        let sums = opened.source(RUN, SourceId { rank: 1, window: 40 }).unwrap().unwrap();
        assert_eq!((sums.rows.of(&tables::COUNTERS), sums.rows.of(&tables::STEPS)), (0, 3));
    });
}

#[test]
fn a_store_that_ignores_conditions_is_refused_by_name() {
    let fleet = Fleet::folder();
    fleet.upload_window(40, 0..2, 2);
    fleet.bucket.put("stepscope.json", r#"{"format":1,"conditional":false}"#).unwrap();
    let error = stepscope_gather::compact(&fleet.bucket, RUN, &at_once(), QUIET).unwrap_err();
    let place = fleet.path().display();
    assert_eq!(
        error.to_string(),
        format!("the object store ignores conditions, expected one that keeps to them: {place}")
    );
    assert!(error.hint().unwrap().contains("--single-writer"));
    let alone = CompactOptions { single_writer: true, ..at_once() };
    assert_eq!(fleet.compact(&alone).added, 1);
    fleet.check();
    assert_eq!(ExpireOptions::default().events, Duration::from_hours(7 * 24));
}
