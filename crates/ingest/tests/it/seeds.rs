//! The seeds of the fuzz targets, and what they once found, keep the promises of the ingest.

use std::path::Path;

use crate::invariants::check_ingest;

#[test]
fn seeds_keep_the_promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut count = 0;
    for entry in folder.read_dir().expect("fuzz/seeds is there") {
        let path = entry.expect("fuzz/seeds can be listed").path();
        eprintln!("{}", path.display());
        check_ingest(&std::fs::read(&path).expect("the seed can be read"));
        count += 1;
    }
    assert!(count > 10, "only {count} seeds");
}
