//! Which worker reads which files: the same one each time, so that it has their footers already.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::catalog::memory::DataSourceExec;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DistributedLeafExec, NetworkBoundaryExt, RouteTasksEvent, RouteTasksEventResponse, RouteTasksHandler,
};
use twox_hash::XxHash3_64;
use url::Url;

/// Sends tasks that read files to the workers that read them before. Other tasks go to workers in turn.
pub(crate) struct ByFile(pub(crate) Vec<Url>);

impl RouteTasksHandler for ByFile {
    fn handle(&self, event: RouteTasksEvent<'_>) -> Option<Result<RouteTasksEventResponse>> {
        let files = first_files(event.plan, event.task_count)?;
        Some(Ok(RouteTasksEventResponse::new(assigned(&files, &self.0)?)))
    }
}

/// The first file of each task of a stage; `None` for a stage without files.
fn first_files(stage: &Arc<dyn ExecutionPlan>, tasks: usize) -> Option<Vec<String>> {
    let mut found = None;
    let looked = stage.apply(|node| {
        if node.as_network_boundary().is_some() {
            return Ok(TreeNodeRecursion::Jump);
        }
        let Some(leaf) = node.downcast_ref::<DistributedLeafExec>() else { return Ok(TreeNodeRecursion::Continue) };
        let files: Option<Vec<String>> = leaf.variants().iter().map(first_file).collect();
        found = files.filter(|files| files.len() == tasks);
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Jump })
    });
    looked.ok().and(found)
}

fn first_file(leaf: &Arc<dyn ExecutionPlan>) -> Option<String> {
    let scan = leaf.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()?;
    let file = scan.file_groups.iter().flat_map(FileGroup::files).next()?;
    Some(file.object_meta.location.to_string())
}

/// The worker of each file: the one whose hash with the file is the largest, as long as no worker gets more than its
/// share. When a worker comes or goes, the files of the others stay where they are.
fn assigned(files: &[String], workers: &[Url]) -> Option<Vec<Url>> {
    let share = files.len().div_ceil(workers.len().max(1));
    let mut taken: BTreeMap<&Url, usize> = BTreeMap::new();
    let mut choose = |file: &String| {
        let free = workers.iter().filter(|worker| taken.get(worker).is_none_or(|count| *count < share));
        let worker = free.max_by_key(|worker| XxHash3_64::oneshot(format!("{file}\n{worker}").as_bytes()))?;
        *taken.entry(worker).or_default() += 1;
        Some(worker.clone())
    };
    files.iter().map(&mut choose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(count: usize) -> Vec<Url> {
        (0..count).filter_map(|number| Url::parse(&format!("http://10.0.0.{number}:7070")).ok()).collect()
    }

    #[test]
    fn files_have_their_workers_and_workers_their_share() {
        let files: Vec<String> = (0..12).map(|number| format!("runs/a/blocks/b/steps/{number}.parquet")).collect();
        let first = assigned(&files, &workers(3)).unwrap();
        assert_eq!(assigned(&files, &workers(3)).as_ref(), Some(&first));
        for worker in workers(3) {
            assert_eq!(first.iter().filter(|taken| **taken == worker).count(), 4, "{worker}");
        }
        // One file alone goes where its hash says, whatever order the workers have.
        let mut turned = workers(3);
        turned.reverse();
        for file in &files {
            let one = std::slice::from_ref(file);
            assert_eq!(assigned(one, &turned), assigned(one, &workers(3)));
        }
        // With one worker more, a file stays or goes to the new one.
        for file in &files {
            let one = std::slice::from_ref(file);
            let (before, after) = (assigned(one, &workers(3)), assigned(one, &workers(4)));
            assert!(after == before || after == Some(vec![workers(4)[3].clone()]), "{file}");
        }
        assert_eq!(assigned(&files, &[]), None);
    }
}
