//! The library of views: one documented `.sql` file each, listed here.
//!
//! The first line of a file says what a row is; then comes one line `-- column: meaning` for every column, in order.

use std::sync::{Arc, LazyLock};

use datafusion::catalog::view::ViewTable;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;

/// A view that is part of Stepscope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Name in SQL.
    pub name: &'static str,
    /// What a row is, in one sentence.
    pub doc: &'static str,
    /// Names of the columns and what they mean, in order.
    pub columns: Vec<(&'static str, &'static str)>,
    /// The query behind it, with its comments.
    pub sql: &'static str,
}

macro_rules! sql_files {
    ($($name:literal),+ $(,)?) => { [$(($name, include_str!(concat!("sql/", $name, ".sql")))),+] };
}

/// Every file in `sql/`; a view stands behind those that it uses.
const FILES: [(&str, &str); 15] = sql_files![
    "timeline_spans",
    "breakdown_spans",
    "device_events",
    "device_launches",
    "host_ops",
    "runtime_calls",
    "memory_curve",
    "thread_spans",
    "thread_roles",
    "kernels_by_name",
    "ops_by_name",
    "ops_with_flops",
    "launches_by_thread",
    "stream_gaps",
    "collectives",
];

static VIEWS: LazyLock<Vec<View>> = LazyLock::new(|| FILES.iter().map(|(name, sql)| parse(name, sql)).collect());

/// Every view, in the order in which they build on each other.
#[must_use]
pub fn views() -> &'static [View] {
    &VIEWS
}

/// Makes the views known to a session whose tables are there already.
pub(crate) async fn register(context: &SessionContext) -> Result<(), DataFusionError> {
    for view in views() {
        let plan = context.state().create_logical_plan(view.sql).await?;
        let table = ViewTable::new(plan, Some(view.sql.to_owned()));
        context.register_table(view.name, Arc::new(table))?;
    }
    Ok(())
}

fn parse(name: &'static str, sql: &'static str) -> View {
    let mut comments = sql.lines().map_while(|line| line.strip_prefix("--").map(str::trim));
    let doc = comments.next().unwrap_or_default();
    View { name, doc, columns: comments.filter_map(|line| line.split_once(": ")).collect(), sql }
}
