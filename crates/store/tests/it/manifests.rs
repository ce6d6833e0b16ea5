//! The newest manifest is found whatever `latest` says, and what is not a manifest is refused by name.

use stepscope_model::Hint;
use stepscope_objects::{Bucket, Place};
use stepscope_store::block::{self, BlockId};
use stepscope_store::manifest::{self, BlockEntry, Manifest, RetiredBlock};

const RUN: &str = "my run";

fn bucket() -> (tempfile::TempDir, Bucket) {
    let folder = tempfile::tempdir().unwrap();
    let bucket = Bucket::open(&Place::Folder(folder.path().to_owned())).unwrap();
    (folder, bucket)
}

fn id(digit: char) -> BlockId {
    digit.to_string().repeat(32).parse().unwrap()
}

fn manifest(n: u64) -> Manifest {
    let entry = BlockEntry {
        id: id('a'),
        windows: (40, 40),
        ranks: (0, 16_383),
        sources: 16_384,
        first_ns: Some(1_763_269_200_000_000_000),
        last_ns: Some(1_763_269_400_000_000_000),
        bytes: 11_500_000_000,
    };
    Manifest {
        format: 1,
        run: "my_run".to_owned(),
        n,
        writer: "0123456789abcdef".to_owned(),
        created_ns: 1,
        sealed_before_hour: "2026-11-16T04".to_owned(),
        expired_before_hour: None,
        blocks: vec![entry],
        retired: vec![RetiredBlock { id: id('b'), delete_after_ns: 7 }],
    }
}

fn write(bucket: &Bucket, numbers: impl IntoIterator<Item = u64>) {
    for n in numbers {
        bucket.put_new(&manifest::key(RUN, n), serde_json::to_vec(&manifest(n)).unwrap()).unwrap();
    }
}

fn newest(bucket: &Bucket) -> Option<u64> {
    manifest::read_newest(bucket, RUN).unwrap().map(|manifest| manifest.n)
}

#[test]
fn the_newest_is_found_whatever_the_hint_says() {
    let (_folder, bucket) = bucket();
    assert_eq!(newest(&bucket), None);
    write(&bucket, 1..=3);
    assert_eq!(newest(&bucket), Some(3), "missing");
    for hint in ["3", "1", " 2\n", "4", "0", "99999999999999999999", "nothing", "", "\u{e4}"] {
        bucket.put(&manifest::latest_key(RUN), hint.to_owned()).unwrap();
        assert_eq!(newest(&bucket), Some(3), "{hint:?}");
    }
    write(&bucket, 4..=60);
    bucket.put(&manifest::latest_key(RUN), "2").unwrap();
    assert_eq!(newest(&bucket), Some(60), "long ago");
    bucket.put(&format!("{}/x.json", manifest::folder(RUN)), "{}").unwrap();
    bucket.put(&format!("{}/061.json", manifest::folder(RUN)), "{}").unwrap();
    assert_eq!(newest(&bucket), Some(60), "other objects");
    let text = serde_json::to_string(&manifest(17)).unwrap();
    assert!(text.len() < 256 + 256, "{text}");
    assert!(text.contains(r#""windows":[40,40],"ranks":[0,16383],"sources":16384"#), "{text}");
    assert_eq!(manifest::read(&bucket, RUN, 17).unwrap().unwrap(), manifest(17));
}

#[test]
fn manifests_of_others_are_refused_by_name() {
    let (_folder, bucket) = bucket();
    let key = manifest::key(RUN, 1);
    let check = |change: &dyn Fn(String) -> String, want: &str, hint: &str| {
        bucket.put(&key, change(serde_json::to_string(&manifest(1)).unwrap())).unwrap();
        let error = manifest::read_newest(&bucket, RUN).unwrap_err();
        assert_eq!(error.to_string(), format!("{want}: {key}"));
        assert!(error.hint().unwrap_or_default().contains(hint), "{:?}", error.hint());
    };
    let swap = |from: &'static str, to: &'static str| move |text: String| text.replace(from, to);
    let rebuild = "stepscope store rebuild";
    check(&|_| "{}".to_owned(), "corrupt manifest: it has no format", rebuild);
    check(&swap("\"n\":1", "\"n\":2"), "corrupt manifest: it has the number 2, expected 1", rebuild);
    check(&swap("my_run", "other"), "corrupt manifest: it is for the run \"other\", expected \"my_run\"", rebuild);
    let twice = |text: String| text.replace(&"b".repeat(32), &"a".repeat(32));
    check(&twice, "corrupt manifest: it names a block twice", rebuild);
    check(&swap("\"format\":1", "\"format\":2"), "written by manifest format 2, this Stepscope reads 1", "update");
}

#[test]
fn names_of_blocks_have_one_spelling() {
    let text = "0123456789abcdef".repeat(2);
    let id: BlockId = text.parse().unwrap();
    assert_eq!(id.to_string(), text);
    for wrong in ["", "1", &text.to_uppercase(), &text[1..], &format!("{text}0"), &format!("+{}", &text[1..])] {
        assert!(wrong.parse::<BlockId>().is_err(), "{wrong:?}");
    }
    let folder = format!("runs/my_run/blocks/{text}");
    assert_eq!(block::descriptor_key(RUN, id), format!("{folder}.json"));
    let key = block::file_key(RUN, id, &block::file_path(&stepscope_model::tables::ALL_COLLECTIVES, Some(5), 2));
    assert_eq!(key, format!("{folder}/all_collectives/group=5/2.parquet"));
    assert_eq!(block::id_of(RUN, &key), Some(id));
    assert_eq!(block::id_of(RUN, &format!("{folder}.json")), Some(id));
    assert_eq!(block::id_of("other", &key), None);
    assert_eq!(block::id_of(RUN, "runs/my_run/blocks/x/steps/0.parquet"), None);
}
