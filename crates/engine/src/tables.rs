//! The tables of a run as the engine sees them: one listing of Parquet files a table.
//!
//! The engine reads through an object store that is rooted at the Stepscope store, under an address of its own. Paths
//! inside are made of safe letters only, wherever the store lies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::prelude::SessionContext;
use stepscope_model::{Table, derived_tables::DERIVED_TABLES, tables::TABLES};
use stepscope_store::{Store, read_schema};

use crate::error::EngineError;

/// Where the store is for the engine.
const ADDRESS: &str = "stepscope://store/";

/// Makes every table of a run known under its name.
pub(crate) fn register(
    context: &SessionContext,
    store: &Store,
    run: &str,
    memory_limit_bytes: usize,
) -> Result<(), EngineError> {
    let fail = |error: DataFusionError| EngineError::from_datafusion(&error, memory_limit_bytes);
    let sources = store.require_sources(run)?;
    let root = std::path::absolute(store.root()).map_err(EngineError::Start)?;
    let files = LocalFileSystem::new_with_prefix(&root).map_err(|error| fail(error.into()))?;
    let address = ObjectStoreUrl::parse(ADDRESS).map_err(fail)?;
    context.register_object_store(address.as_ref(), Arc::new(files));
    for table in TABLES {
        let files = store.files_of(run, &sources, table)?;
        let provider = provider(table, store.root(), &files).map_err(fail)?;
        context.register_table(table.name, provider).map_err(fail)?;
    }
    register_empty(context, DERIVED_TABLES, memory_limit_bytes)
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

fn provider(table: &Table, root: &Path, files: &[PathBuf]) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let schema = read_schema(table);
    if files.is_empty() {
        return Ok(Arc::new(EmptyTable::new(schema)));
    }
    let addresses = files.iter().map(|file| address(root, file)).collect::<Result<Vec<_>, _>>()?;
    let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
    let config = ListingTableConfig::new_with_multi_paths(addresses).with_listing_options(options).with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(config)?))
}

fn address(root: &Path, file: &Path) -> Result<ListingTableUrl, DataFusionError> {
    let inside = file.strip_prefix(root).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let parts: Vec<_> = inside.iter().map(std::ffi::OsStr::to_string_lossy).collect();
    ListingTableUrl::parse(format!("{ADDRESS}{}", parts.join("/")))
}
