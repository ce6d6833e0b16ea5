//! The layout is frozen: other versions and other hosts rely on each path.

use std::path::Path;

use stepscope_model::{
    SourceId,
    tables::{ALL_COLLECTIVES, SPANS},
};
use stepscope_store::layout;

const ID: SourceId = SourceId { rank: 300, window: 2 };

#[test]
fn paths() {
    let root = Path::new("/s");
    let check = |path: std::path::PathBuf, want: &str| assert_eq!(path, Path::new(want));
    check(layout::source_file(root, "r", ID), "/s/runs/r/sources/300.2.json");
    check(layout::summary_file(root, "r"), "/s/runs/r/run.json");
    check(layout::table_file(root, "r", &SPANS, ID), "/s/runs/r/spans/bucket=2/300.2.parquet");
    let last_of_bucket = SourceId { rank: 127, window: 0 };
    check(layout::table_file(root, "r", &SPANS, last_of_bucket), "/s/runs/r/spans/bucket=0/127.0.parquet");
    // The hash is part of the layout: these numbers must never change.
    assert_eq!(["", "0", "dp_cp"].map(layout::collectives_partition), [37, 47, 9]);
    check(
        layout::partition_file(root, "r", &ALL_COLLECTIVES, 9, ID),
        "/s/runs/r/all_collectives/group=9/300.2.parquet",
    );
}

#[test]
fn run_names_become_folder_names() {
    #[track_caller]
    fn check(run: &str, want: &str) {
        assert_eq!(layout::run_folder_name(run), want);
        assert_eq!(layout::run_folder_name(want), want, "a folder name stays as it is");
    }
    check("run-1_b.2", "run-1_b.2");
    check("a b/c\\d:e", "a_b_c_d_e");
    check("", "_");
    check(".", "_");
    check("..", "_.");
    check("../../etc", "_._.._etc");
    check(".tmp-x", "_tmp-x");
    check("läuft", "l_uft");
    check("nul\0byte", "nul_byte");
}

#[test]
fn long_run_names_stay_apart() {
    let (a, b) = (format!("{}a", "x".repeat(300)), format!("{}b", "x".repeat(300)));
    let (a, b) = (layout::run_folder_name(&a), layout::run_folder_name(&b));
    assert_eq!((a.len(), b.len()), (200, 200));
    assert_ne!(a, b);
}

#[test]
fn file_names_name_their_source() {
    #[track_caller]
    fn check(name: &str, want: Option<(u32, u32)>) {
        let id = layout::source_id_of(name, "json");
        assert_eq!(id.map(|id| (id.rank, id.window)), want, "{name}");
    }
    check("300.2.json", Some((300, 2)));
    check("0.0.json", Some((0, 0)));
    check("00.0.json", None);
    check("+1.0.json", None);
    check("1.json", None);
    check("1.2.3.json", None);
    check("1.2.parquet", None);
    check(".1.2.json", None);
    check("5000000000.0.json", None);
}
