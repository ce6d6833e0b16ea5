//! DataFusion as it comes, on the files of a run's blocks: the least that a query engine needs for an answer.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{Int32Type, Int64Type};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::prelude::SessionContext;

/// The answer about `all_collectives` of a run in a folder, as CSV.
pub(crate) fn answer(run: &Path, statement: &str) -> Result<String> {
    let mut files = Vec::new();
    for block in std::fs::read_dir(run.join("blocks"))? {
        find(&block?.path().join("all_collectives"), &mut files)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let context = SessionContext::new();
        let addresses = files.iter().map(|file| ListingTableUrl::parse(file.to_string_lossy()));
        let options = ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
        let config = ListingTableConfig::new_with_multi_paths(addresses.collect::<Result<_, _>>()?);
        let config = config.with_listing_options(options).infer_schema(&context.state()).await?;
        context.register_table("all_collectives", Arc::new(ListingTable::try_new(config)?))?;
        let mut text = "group_id,rank,n,dur_ns\n".to_owned();
        for batch in context.sql(statement).await?.collect().await? {
            let column = |place: usize| batch.column(place).as_primitive_opt::<Int64Type>().context("not a number");
            let ranks = batch.column(1).as_primitive_opt::<Int32Type>().context("not a rank")?;
            let (groups, counts, times) = (column(0)?, column(2)?, column(3)?);
            for row in 0..batch.num_rows() {
                let (group, count, time) = (groups.value(row), counts.value(row), times.value(row));
                writeln!(text, "{group},{},{count},{time}", ranks.value(row))?;
            }
        }
        Ok(text)
    })
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
