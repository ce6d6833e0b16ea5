//! Which plans travel to workers. Both sides look: whoever asks runs other plans itself, a worker refuses them by name.

use std::sync::Arc;

use datafusion::catalog::memory::DataSourceExec;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, ParquetSource};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::streaming::StreamingTableExec;
use stepscope_engine::STORE_ADDRESS;

use crate::failure::{Code, Failure};

/// Files of one part of a plan at most.
const MOST_FILES: usize = 10_000;

/// Every kind of node that a worker runs: those that queries are made of, and those that connect stages. None writes,
/// none reads anything but the files of the store.
const NODES: [&str; 31] = [
    "AggregateExec",
    "BoundedWindowAggExec",
    "BroadcastExec",
    "ChildrenIsolatorUnionExec",
    "CoalesceBatchesExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "CrossJoinExec",
    "DataSourceExec",
    "EmptyExec",
    "FilterExec",
    "GlobalLimitExec",
    "HashJoinExec",
    "InterleaveExec",
    "LocalLimitExec",
    "NestedLoopJoinExec",
    "NetworkBroadcastExec",
    "NetworkCoalesceExec",
    "NetworkShuffleExec",
    "PartialSortExec",
    "PlaceholderRowExec",
    "ProjectionExec",
    "RepartitionExec",
    "SortExec",
    "SortExec(TopK)",
    "SortMergeJoinExec",
    "SortPreservingMergeExec",
    "UnionExec",
    "UnnestExec",
    "WindowAggExec",
    // On the way to being one of the parts that are sent.
    "DistributedLeafExec",
];

/// Refuses a plan that a worker must not run. The reason names the node, the address or the number.
pub(crate) fn check(plan: &Arc<dyn ExecutionPlan>) -> Result<(), DataFusionError> {
    let mut files = 0;
    plan.apply(|node| {
        if !NODES.contains(&node.name()) {
            return Err(refused(format!("found a node that workers do not run: {}", node.name())));
        }
        if let Some(source) = node.downcast_ref::<DataSourceExec>() {
            let scan = source.data_source().downcast_ref::<FileScanConfig>();
            let scan = scan.ok_or_else(|| refused("found rows in the plan, expected files of the store".to_owned()))?;
            files += check_scan(scan)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if files > MOST_FILES {
        return Err(refused(format!("found {files} files in one part of a plan, expected at most {MOST_FILES}")));
    }
    Ok(())
}

/// Whether a plan has rows of derived tables, which are made where the query is asked.
pub(crate) fn has_rows_made_here(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.exists(|node| Ok(node.is::<StreamingTableExec>())).unwrap_or(false)
}

/// Counts the files of a scan; all must be tables of the store.
fn check_scan(scan: &FileScanConfig) -> Result<usize, DataFusionError> {
    let address = scan.object_store_url.as_str();
    if address.trim_end_matches('/') != STORE_ADDRESS.trim_end_matches('/') {
        return Err(refused(format!("found an address outside of the store: {address}")));
    }
    if scan.file_source().downcast_ref::<ParquetSource>().is_none() {
        return Err(refused(format!("found a {} file, expected Parquet", scan.file_source().file_type())));
    }
    let mut files = 0;
    for file in scan.file_groups.iter().flat_map(FileGroup::files) {
        let path = file.object_meta.location.as_ref();
        let is_table = (path.starts_with("runs/") || path.starts_with("parts/runs/")) && path.ends_with(".parquet");
        if !is_table {
            return Err(refused(format!("found a file that is not a table of a run: {path}")));
        }
        files += 1;
    }
    Ok(files)
}

fn refused(message: String) -> DataFusionError {
    Failure::refusal(Code::PlanRefused, message).into_error()
}
