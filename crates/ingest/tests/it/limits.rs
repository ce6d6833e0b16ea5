//! What a store holds does not depend on the memory that the ingest had.

use stepscope_testkit::{corpus, plain_bytes};

use crate::invariants::{contents, ingest_into};

/// Operators, calls, kernels, flows, frames, External ids, sequence numbers: larger than the memory by a factor of ten.
const TRACES: [&str; 3] = [
    "hta/trace_diff/control/control.json.gz",
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",
];

#[test]
#[ignore = "needs the corpus"]
fn little_memory_gives_the_same_store() {
    let corpus = corpus();
    for trace in TRACES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        std::fs::write(&path, plain_bytes(&corpus.trace(trace))).unwrap();
        let roots = [folder.path().join("much"), folder.path().join("little")];
        let much = ingest_into(&roots[0], &path, 2 << 30);
        let little = ingest_into(&roots[1], &path, 2 << 20);
        assert!(much.is_some() && much == little, "{trace}");
        let (much, little) = (contents(&roots[0]), contents(&roots[1]));
        assert!(much.keys().eq(little.keys()), "{trace}: files");
        for (file, bytes) in much {
            assert!(little[&file] == bytes, "{trace}: {}", file.display());
        }
    }
}
