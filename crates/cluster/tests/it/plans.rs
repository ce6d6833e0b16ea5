//! Plans that a worker must not run, sent to it by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::memory::DataSourceExec;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::prelude::SessionContext;
use datafusion_distributed::grpc::DefaultChannelResolver;
use datafusion_distributed::{ChannelResolver, MaybeEncoded, SetPlanRequest, TaskKey};
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use datafusion_proto::protobuf::{PhysicalExtensionNode, PhysicalPlanNode};
use futures::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue};
use prost::Message;
use stepscope_cluster::{Worker, WorkerOptions, identity};
use url::Url;

use crate::cluster::anywhere;
use crate::engine_fixture::small_store;

/// What a worker says about a plan; empty when it takes it.
fn said(worker: &Worker, plan: MaybeEncoded<Arc<dyn ExecutionPlan>>, headers: &[(&'static str, &str)]) -> String {
    // A worker takes one plan by each number.
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let url = Url::parse(&format!("http://{}", worker.address())).unwrap();
    let all: HeaderMap = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
        .collect();
    let task_number = NUMBER.fetch_add(1, Ordering::Relaxed);
    runtime.block_on(async move {
        let mut channel = DefaultChannelResolver::default().get_worker_client_for_url(&url).await.unwrap();
        let request = SetPlanRequest {
            task_key: TaskKey { query_id: uuid::Uuid::from_u128(7), stage_id: 1, task_number },
            task_count: 1,
            plan,
            work_unit_feed_declarations: Vec::new(),
            target_worker_url: url,
            query_start_time_ns: 0,
        };
        let context = SessionContext::new().task_ctx();
        let nothing = futures::stream::empty().boxed();
        let answered = channel
            .coordinator_channel(
                all,
                request,
                nothing,
                datafusion::physical_plan::metrics::ExecutionPlanMetricsSet::new(),
                &context,
            )
            .await;
        match answered {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    })
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("rank", DataType::Int32, false)]))
}

/// A plan that reads some files at an address.
fn scan(address: &str, paths: impl IntoIterator<Item = String>) -> MaybeEncoded<Arc<dyn ExecutionPlan>> {
    let files: Vec<_> = paths.into_iter().map(|path| PartitionedFile::new(path, 100)).collect();
    let url = ObjectStoreUrl::parse(address).unwrap();
    let config = FileScanConfigBuilder::new(url, Arc::new(ParquetSource::new(schema())))
        .with_file_group(FileGroup::new(files))
        .build();
    MaybeEncoded::Decoded(DataSourceExec::from_data_source(config))
}

#[track_caller]
fn check(said: &str, wanted: &[&str]) {
    assert!(wanted.iter().all(|wanted| said.contains(wanted)), "{said:?}, expected {wanted:?}");
}

#[test]
fn a_worker_refuses_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = small_store(folder.path());
    let place = std::fs::canonicalize(store.root()).unwrap().display().to_string();
    let worker = Worker::start(&WorkerOptions { threads: 1, ..WorkerOptions::new(anywhere(), place.clone()) }).unwrap();
    let version = identity();
    let ours = [("stepscope-version", version.as_str()), ("stepscope-store", place.as_str()), ("stepscope-query", "1")];
    let one = |path: &str| [path.to_owned()];

    // What it takes.
    let table = "runs/run/spans/bucket=0/0.0.parquet";
    assert_eq!(said(&worker, scan("stepscope://store/", one(table)), &ours), "");

    // Files that are none of its business.
    let secret = folder.path().join("secret.parquet");
    std::fs::write(&secret, "PAR1").unwrap();
    let outside = "plan_refused";
    let path = secret.display().to_string();
    check(&said(&worker, scan("file:///", one(&path)), &ours), &[outside, "outside of the store: file:///"]);
    check(&said(&worker, scan("s3://other/", one(table)), &ours), &[outside, "outside of the store: s3://other/"]);
    check(
        &said(&worker, scan("stepscope://store/", one("server/tokens.parquet")), &ours),
        &[outside, "not a table of a run: server/tokens.parquet"],
    );
    check(
        &said(&worker, scan("stepscope://store/", one("parts/server/tokens.json/0-10/a.parquet")), &ours),
        &[outside, "not a table of a run"],
    );

    // Nodes that it does not run, and what is no plan.
    let empty: Arc<dyn ExecutionPlan> = Arc::new(ExplainExec::new(schema(), Vec::new(), false));
    check(&said(&worker, MaybeEncoded::Decoded(empty), &ours), &[outside, "ExplainExec"]);
    let extension = PhysicalPlanNode {
        physical_plan_type: Some(PhysicalPlanType::Extension(PhysicalExtensionNode {
            node: b"something of somebody".to_vec(),
            inputs: Vec::new(),
        })),
    };
    let said_of_extension = said(&worker, MaybeEncoded::Encoded(extension.encode_to_vec()), &ours);
    assert!(!said_of_extension.is_empty());
    eprintln!("an unknown node: {said_of_extension}");
    assert!(!said(&worker, MaybeEncoded::Encoded(vec![0xff; 100]), &ours).is_empty());

    // Too much of it.
    let many = (0..10_001).map(|rank| format!("runs/run/spans/bucket=0/{rank}.0.parquet"));
    check(&said(&worker, scan("stepscope://store/", many), &ours), &[outside, "10001 files", "at most 10000"]);
    let large = said(&worker, MaybeEncoded::Encoded(vec![0; (64 << 20) + 1]), &ours);
    check(&large, &["too large", "the limit is: 67108864 bytes"]);

    // Somebody else's question.
    let other = [("stepscope-version", "0.0.1/1/1"), ours[1], ours[2]];
    check(
        &said(&worker, scan("stepscope://store/", one(table)), &other),
        &["other_version", "found version 0.0.1/1/1", &version],
    );
    let other = [ours[0], ("stepscope-store", "s3://other/store"), ours[2]];
    check(&said(&worker, scan("stepscope://store/", one(table)), &other), &["other_store", "s3://other/store"]);
    check(&said(&worker, scan("stepscope://store/", one(table)), &[]), &["other_version", "found version none"]);
}
