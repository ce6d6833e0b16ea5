//! A source as one object: what is packed is what is read, and what is not as written is refused by name.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use stepscope_model::{Hint, SourceRecord, Table, tables};
use stepscope_store::pack::{Depth, Pack, is_sums, write_pack, write_pack_file};
use stepscope_store::{Store, StoreError};

use crate::synthetic::{self, RUN};

const NAME: &str = "x.pack";

/// A store with one source that has rows in every table.
fn source() -> (tempfile::TempDir, Store, SourceRecord) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let record = synthetic::commit(&store, 3, 1, &tables::TABLES, 100);
    (folder, store, record)
}

fn pack(depth: Depth) -> Vec<u8> {
    let (_folder, store, record) = source();
    let mut bytes = Vec::new();
    let packed = write_pack(&store, &record, depth, &mut bytes, Path::new(NAME)).unwrap();
    assert_eq!(packed.size_bytes, bytes.len() as u64);
    bytes
}

fn read(bytes: &[u8]) -> Result<Pack, StoreError> {
    Pack::read(Path::new(NAME), bytes.len() as u64, |range| {
        Ok::<_, StoreError>(bytes[range.start as usize..range.end as usize].to_vec())
    })
}

#[test]
fn members_are_the_files_of_the_tables() {
    let (folder, store, record) = source();
    let path = folder.path().join("spool/x.pack");
    fs::create_dir(folder.path().join("spool")).unwrap();
    let packed = write_pack_file(&store, &record, Depth::Full, &folder.path().join("spool/.tmp"), &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(packed.size_bytes, bytes.len() as u64);
    assert_eq!((&bytes[..8], &bytes[bytes.len() - 8..]), (&b"SSPK0001"[..], &b"SSPK0001"[..]));
    let pack = Pack::verify(&path).unwrap();
    assert_eq!((&pack.record, pack.depth()), (&record, Depth::Full));
    assert_eq!(pack.members.len(), tables::TABLES.len());
    let mut seen_sums = false;
    for member in &pack.members {
        let range = member.range();
        let content = &bytes[range.start as usize..range.end as usize];
        assert_eq!(content, fs::read(&store.table_files(RUN, member.table).unwrap()[0]).unwrap());
        assert_eq!((member.rows, member.offset % 8), (100, 0));
        pack.check(member, content).unwrap();
        // Events first, then sums in one stretch.
        assert!(is_sums(member.table) || !seen_sums, "{}", member.table.name);
        seen_sums |= is_sums(member.table);
        let sums = &bytes[pack.sums.start as usize..pack.sums.end as usize];
        assert_eq!(pack.sum_bytes(member, sums).is_ok(), is_sums(member.table));
    }
    let steps: Vec<u64> = pack.members_of(&tables::STEPS).map(|member| member.rows).collect();
    assert_eq!(steps, [100]);
    assert!(!folder.path().join("spool/.tmp").exists());
}

#[test]
fn sums_alone_are_a_pack_too() {
    let bytes = pack(Depth::Sums);
    let pack = read(&bytes).unwrap();
    assert_eq!(pack.depth(), Depth::Sums);
    assert_eq!(pack.sums.start, 8);
    assert!(pack.members.iter().all(|member| is_sums(member.table)));
    assert_eq!(pack.members.len(), tables::TABLES.into_iter().filter(|table| is_sums(table)).count());
    assert!(bytes.len() < self::pack(Depth::Full).len());
    assert_eq!(
        [Depth::Sums, Depth::Full].map(|depth| Depth::from_text(depth.as_text())),
        [Some(Depth::Sums), Some(Depth::Full)]
    );
}

#[test]
fn partitions_and_sources_without_rows_are_packed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let none: [&'static Table; 0] = [];
    let record = synthetic::commit(&store, 0, 0, &none, 0);
    let mut bytes = Vec::new();
    write_pack(&store, &record, Depth::Full, &mut bytes, Path::new(NAME)).unwrap();
    let pack = read(&bytes).unwrap();
    assert_eq!((pack.members.len(), pack.sums), (0, 8..8));

    let id = stepscope_model::SourceId { rank: 0, window: 1 };
    let mut writer = stepscope_store::SourceWriter::begin(&store, RUN, id).unwrap();
    for (partition, rows) in [(3, 10), (40, 20)] {
        let mut table = writer.partition(&tables::ALL_COLLECTIVES, partition).unwrap();
        table.write(&synthetic::rows(&tables::ALL_COLLECTIVES, id, 0, rows)).unwrap();
    }
    let record = writer.commit(synthetic::record()).unwrap();
    let mut bytes = Vec::new();
    write_pack(&store, &record, Depth::Sums, &mut bytes, Path::new(NAME)).unwrap();
    let found: Vec<_> = read(&bytes).unwrap().members.iter().map(|member| (member.partition, member.rows)).collect();
    assert_eq!(found, [(Some(3), 10), (Some(40), 20)]);
}

#[test]
fn one_read_of_the_end_gives_record_and_directory() {
    let bytes = pack(Depth::Full);
    let ranges = RefCell::new(Vec::new());
    let size = bytes.len() as u64;
    Pack::read(Path::new(NAME), size, |range| {
        ranges.borrow_mut().push(range.clone());
        Ok::<_, StoreError>(bytes[range.start as usize..range.end as usize].to_vec())
    })
    .unwrap();
    let first = size.saturating_sub(64 << 10)..size;
    assert_eq!(*ranges.borrow(), std::slice::from_ref(&first));
}

#[test]
fn a_cut_pack_is_refused_at_every_length() {
    let bytes = pack(Depth::Sums);
    let lengths = (0..bytes.len()).filter(|length| length % 97 == 0 || bytes.len() - length < 200);
    for length in lengths {
        let error = read(&bytes[..length]).unwrap_err();
        assert!(matches!(error, StoreError::CorruptPack { .. }), "{length}: {error}");
        assert!(error.to_string().starts_with("corrupt pack: it "), "{error}");
        assert_eq!(error.hint().unwrap(), "ingest the trace again");
    }
}

#[test]
fn a_flipped_byte_is_refused_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let mut bytes = pack(Depth::Sums);
    let places: Vec<usize> =
        (0..bytes.len()).filter(|place| place % 211 == 0 || bytes.len() - place <= 60 || *place < 16).collect();
    for place in places {
        bytes[place] ^= 0x20;
        fs::write(&path, &bytes).unwrap();
        let error = Pack::verify(&path).unwrap_err();
        let is_named = matches!(error, StoreError::CorruptPack { .. } | StoreError::WrongVersion { .. });
        assert!(is_named, "{place}: {error}");
        bytes[place] ^= 0x20;
    }
    fs::write(&path, &bytes).unwrap();
    Pack::verify(&path).unwrap();
}

#[test]
fn another_version_is_refused_by_name() {
    let mut bytes = pack(Depth::Sums);
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(b"0002");
    let error = read(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "written by pack format 2, this Stepscope reads 1: x.pack");
    assert!(error.hint().unwrap().contains("newer"));
}

#[test]
fn a_table_whose_file_is_gone_makes_no_pack() {
    let (folder, store, record) = source();
    fs::remove_file(&store.table_files(RUN, &tables::STEPS).unwrap()[0]).unwrap();
    let (temporary, path) = (folder.path().join(".tmp"), folder.path().join(NAME));
    let error = write_pack_file(&store, &record, Depth::Sums, &temporary, &path).unwrap_err();
    assert!(matches!(error, StoreError::MissingFile { table: "steps", .. }), "{error}");
    assert!(!temporary.exists() && !path.exists());
}
