//! Makes plans give up their thread now and then, so that a query that was given up also ends.
//!
//! `DataFusion` does this where rows are read. A join can turn one batch that was read into millions of batches and would
//! hold its thread for hours; so every operator that makes more rows than it takes gets a point to yield at.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// Puts a point to yield at above every join and every `unnest`.
#[derive(Debug)]
pub(crate) struct YieldAfterGrowth;

impl PhysicalOptimizerRule for YieldAfterGrowth {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let wrapped = plan.transform_up(|node| {
            if node.name().ends_with("JoinExec") || node.name() == "UnnestExec" {
                return Ok(Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>));
            }
            Ok(Transformed::no(node))
        });
        wrapped.map(|wrapped| wrapped.data)
    }

    fn name(&self) -> &'static str {
        "yield_after_growth"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
