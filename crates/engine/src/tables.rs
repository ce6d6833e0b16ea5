//! The tables of a run as the engine sees them: one listing of Parquet files a table, of the recordings that a query asks
//! for.
//!
//! The engine reads through an object store that is rooted at the Stepscope store, under an address of its own. Paths
//! inside are made of safe letters only, wherever the store lies.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use stepscope_model::{SourceId, Table, derived_tables::DERIVED_TABLES, tables::TABLES};
use stepscope_store::{Catalog, StoreError, read_schema};

use crate::chosen::chosen;
use crate::error::EngineError;
use crate::not_uploaded::NotUploaded;
use crate::window_not_open::WindowNotOpen;

/// Where the store is for the engine.
pub const STORE_ADDRESS: &str = "stepscope://store/";

/// Makes every table of a run known under its name.
pub(crate) fn register(
    context: &SessionContext,
    catalog: &Catalog,
    memory_limit_bytes: usize,
) -> Result<(), EngineError> {
    let fail = |error: DataFusionError| EngineError::from_datafusion(&error, memory_limit_bytes);
    let objects = catalog.bucket().for_engine().map_err(StoreError::from)?;
    let address = ObjectStoreUrl::parse(STORE_ADDRESS).map_err(fail)?;
    context.register_object_store(address.as_ref(), objects);
    let recordings: Arc<[SourceId]> = catalog.sources().iter().map(|source| source.id).collect();
    let filled = filled_tables(catalog);
    for table in TABLES {
        let provider: Arc<dyn TableProvider> = if filled.contains(table.name) {
            let (catalog, recordings) = (catalog.clone(), Arc::clone(&recordings));
            Arc::new(StoredTable { table, schema: read_schema(table), catalog, recordings })
        } else {
            Arc::new(EmptyTable::new(read_schema(table)))
        };
        context.register_table(table.name, provider).map_err(fail)?;
    }
    register_empty(context, DERIVED_TABLES, memory_limit_bytes)
}

/// Names of the tables that have rows of any recording. Each record is looked at once: a fleet has thousands.
fn filled_tables(catalog: &Catalog) -> BTreeSet<&'static str> {
    let rows = catalog.sources().iter().flat_map(|source| source.rows.iter());
    rows.filter(|(_, rows)| *rows > 0).map(|(table, _)| table.name).collect()
}

/// Makes tables known under their names, without rows.
pub(crate) fn register_empty(
    context: &SessionContext,
    tables: impl IntoIterator<Item = &'static Table>,
    memory_limit_bytes: usize,
) -> Result<(), EngineError> {
    for table in tables {
        let provider = Arc::new(EmptyTable::new(read_schema(table)));
        let registered = context.register_table(table.name, provider);
        registered.map_err(|error| EngineError::from_datafusion(&error, memory_limit_bytes))?;
    }
    Ok(())
}

/// A table of a run. A query about one rank or window never looks at the files of another.
#[derive(Debug)]
struct StoredTable {
    table: &'static Table,
    schema: SchemaRef,
    catalog: Catalog,
    recordings: Arc<[SourceId]>,
}

impl StoredTable {
    /// The files of some recordings as a table; without any, one without rows.
    async fn of(&self, recordings: Vec<SourceId>) -> Result<Arc<dyn TableProvider>, DataFusionError> {
        let schema = Arc::clone(&self.schema);
        let (catalog, table) = (self.catalog.clone(), self.table);
        // It may have to ask the bucket where events are.
        let parts = tokio::task::spawn_blocking(move || catalog.parts(table, &recordings)).await;
        let parts = parts.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let parts = parts.map_err(|error| DataFusionError::External(Box::new(error)))?;
        if parts.is_empty() {
            return Ok(Arc::new(EmptyTable::new(schema)));
        }
        let address = |path: String| ListingTableUrl::parse(format!("{STORE_ADDRESS}{path}"));
        let addresses = parts.iter().map(|part| address(part.path(self.table))).collect::<Result<Vec<_>, _>>()?;
        let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
        let config = ListingTableConfig::new_with_multi_paths(addresses).with_listing_options(options);
        Ok(Arc::new(ListingTable::try_new(config.with_schema(schema))?))
    }
}

#[async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let recordings = chosen(&self.recordings, state, filters)?;
        if let Some(left_out) = self.catalog.left_out() {
            WindowNotOpen::check(left_out, state, filters)?;
        }
        if let Some(missing) = NotUploaded::of(&self.catalog, self.table, &recordings) {
            return Err(DataFusionError::External(Box::new(missing)));
        }
        self.of(recordings).await?.scan(state, projection, filters, limit).await
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>, DataFusionError> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}
