//! A table whose rows are worked out when a query asks for them, recording by recording.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, stream};
use stepscope_model::{SourceId, Table};
use stepscope_store::read_schema;

use crate::chosen::{chosen, is_about_source};

/// Works out the rows of a recording.
pub type Rows = dyn Fn(SourceId) -> Result<RecordBatch, Box<dyn Error + Send + Sync>> + Send + Sync;

/// Recordings of one query at most: to work out the rows of one may take a second.
const MOST_RECORDINGS: usize = 64;

/// The table, of all recordings of a run.
pub(crate) struct DerivedTable {
    name: &'static str,
    schema: SchemaRef,
    recordings: Vec<SourceId>,
    rows: Arc<Rows>,
}

impl DerivedTable {
    pub(crate) fn new(table: &Table, recordings: Vec<SourceId>, rows: Arc<Rows>) -> Self {
        Self { name: table.name, schema: read_schema(table), recordings, rows }
    }
}

#[async_trait]
impl TableProvider for DerivedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let recordings = chosen(&self.recordings, state, filters)?;
        let (name, count) = (self.name, recordings.len());
        if count > MOST_RECORDINGS {
            return plan_err!(
                "{name} has the rows of at most {MOST_RECORDINGS} recordings at a time, not of {count}; \
                 add `WHERE rank = {}`",
                recordings[0].rank
            );
        }
        let chosen = Chosen { schema: self.schema(), recordings, rows: Arc::clone(&self.rows) };
        let plan = StreamingTableExec::try_new(self.schema(), vec![Arc::new(chosen)], projection, [], false, limit)?;
        Ok(Arc::new(plan))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>, DataFusionError> {
        let support = |filter: &&Expr| {
            if is_about_source(filter) {
                TableProviderFilterPushDown::Inexact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        };
        Ok(filters.iter().map(support).collect())
    }
}

impl fmt::Debug for DerivedTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DerivedTable").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The recordings that a query asks for.
struct Chosen {
    schema: SchemaRef,
    recordings: Vec<SourceId>,
    rows: Arc<Rows>,
}

impl PartitionStream for Chosen {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = Arc::clone(&self.rows);
        let batches = stream::iter(self.recordings.clone()).then(move |recording| {
            let rows = Arc::clone(&rows);
            async move {
                let worked_out = tokio::task::spawn_blocking(move || rows(recording)).await;
                worked_out.map_err(|error| DataFusionError::External(error.into()))?.map_err(DataFusionError::External)
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Chosen").field("recordings", &self.recordings).finish_non_exhaustive()
    }
}
