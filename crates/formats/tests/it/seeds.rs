//! The seeds of the fuzz targets, and what they once found, keep the promises of the reader.

use std::path::Path;

use crate::invariants::{check_reader, check_seam};

#[test]
fn seeds_keep_the_promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut count = 0;
    for entry in folder.read_dir().expect("fuzz/seeds is there") {
        let path = entry.expect("fuzz/seeds can be listed").path();
        eprintln!("{}", path.display());
        let bytes = std::fs::read(&path).expect("the seed can be read");
        check_reader(&bytes);
        // Cut, too.
        for length in (0..bytes.len()).step_by(17) {
            check_reader(&bytes[..length]);
        }
        count += 1;
    }
    assert!(count > 10, "only {count} seeds");
}

/// What is lost and repaired around the longest event that is allowed does not depend on where a block ends.
#[test]
fn blocks_may_end_anywhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for name in ["limits.json", "long_events.json"] {
        let bytes = std::fs::read(folder.join(name)).expect("the seed can be read");
        for seam in 0..=bytes.len() {
            check_seam(&bytes, seam);
        }
    }
}
