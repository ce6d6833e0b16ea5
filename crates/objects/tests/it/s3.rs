//! What is particular to a bucket.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use stepscope_objects::{Put, UNWATCHED};
use stepscope_testkit::{Fault, FaultPlan, FaultProxy, S3Server};

use crate::server::{bucket_of, open, settings};

#[test]
fn listings_have_all_pages() {
    let server = S3Server::start().unwrap();
    let name = |number: usize| format!("in/{number:04}");
    // Faster than with requests.
    std::fs::create_dir_all(server.folder().join("p/in")).unwrap();
    (0..2_500).for_each(|number| std::fs::write(server.folder().join("p").join(name(number)), "x").unwrap());
    let proxy = FaultProxy::start(server.address(), FaultPlan::none()).unwrap();
    let bucket = open("s3://traces/p", &settings(proxy.address()));
    let found: Vec<String> = bucket.list("in", UNWATCHED).unwrap().into_iter().map(|entry| entry.key).collect();
    assert_eq!(found, (0..2_500).map(name).collect::<Vec<_>>());
    assert_eq!(proxy.requests()["LIST"], 3);
    let rest = bucket.list_offset("in", "in/2399", UNWATCHED).unwrap();
    assert_eq!((rest.len(), rest[0].key.as_str()), (100, "in/2400"));
    assert_eq!(proxy.requests()["LIST"], 4);
}

#[test]
fn large_files_are_uploaded_in_parts() {
    let server = S3Server::start().unwrap();
    let proxy = FaultProxy::start(server.address(), FaultPlan::none()).unwrap();
    let bucket = open("s3://traces", &settings(proxy.address()));
    let file = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = (0..(70_u32 << 20)).map(|number| (number % 253) as u8).collect();
    std::fs::write(file.path(), &bytes).unwrap();
    let seen = Cell::new(0);
    let watch = |done: u64| {
        seen.set(done);
        ControlFlow::Continue(())
    };
    assert_eq!(bucket.put_parts("large.pack", file.path(), &watch).unwrap(), Put::Created);
    assert_eq!(seen.get(), bytes.len() as u64);
    // Five parts; one request before and one after them.
    assert_eq!((proxy.requests()["PUT"], proxy.requests()["POST"]), (5, 2));
    assert_eq!(bucket.put_parts("large.pack", file.path(), &watch).unwrap(), Put::Found);
    assert_eq!((proxy.requests()["PUT"], proxy.requests()["POST"]), (5, 2));
    assert_eq!(bucket.head("large.pack").unwrap().unwrap().size_bytes, bytes.len() as u64);
    let range = (16 << 20) - 3..(16 << 20) + 3;
    assert_eq!(
        bucket.get_range("large.pack", range.clone()).unwrap(),
        &bytes[range.start as usize..range.end as usize]
    );

    let stop = |_| ControlFlow::Break(());
    let error = bucket.put_parts("other.pack", file.path(), &stop).unwrap_err();
    assert_eq!(error.to_string(), "canceled: s3://traces/other.pack");
    assert_eq!(bucket.head("other.pack").unwrap(), None);
}

#[test]
fn calls_work_inside_of_another_runtime() {
    let server = S3Server::start().unwrap();
    let bucket = bucket_of(&server, "p");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let put = runtime.block_on(async move {
        let put = bucket.put_new("x", "1").unwrap();
        drop(bucket);
        put
    });
    assert_eq!(put, Put::Created);
}

#[test]
fn small_uploads_are_canceled_too() {
    let server = S3Server::start().unwrap();
    let proxy = FaultProxy::start(server.address(), FaultPlan::always(Fault::Silence)).unwrap();
    let bucket = open("s3://traces", &settings(proxy.address()));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "small").unwrap();
    let begin = Instant::now();
    let error = bucket.put_parts("small.pack", file.path(), &|_| ControlFlow::Break(())).unwrap_err();
    assert_eq!(error.to_string(), "canceled: s3://traces/small.pack");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}
