//! Runs one query under its limits.
//!
//! The work happens on the engine's threads; the caller's thread waits and looks every few milliseconds whether the
//! query was canceled or has run out of time. So even a query that never yields cannot hold its caller.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::common::Column;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::prelude::SessionContext;
use futures::StreamExt;

use crate::cancel::CancelFlag;
use crate::complexity;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::plain;
use crate::query_options::{Order, Pick, QueryOptions};
use crate::read_only;
use crate::runner::{Local, Runner};

/// How often a waiting caller looks at the clock and at its flag.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The rows of a query.
#[derive(Clone, Debug)]
pub struct QueryResult {
    /// Columns; texts are `Utf8`.
    pub schema: SchemaRef,
    /// Rows, in order.
    pub batches: Vec<RecordBatch>,
    /// How many rows the limit left out; `None` when there are some but they were not counted.
    pub rows_left_out: Option<u64>,
    /// Whether the limit left out any row.
    pub truncated: bool,
}

impl QueryResult {
    /// Number of rows that are there.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

impl Engine {
    /// Answers a query as a whole. The answer counts toward the memory limit.
    pub fn query(&self, sql: &str, options: &QueryOptions) -> Result<QueryResult, EngineError> {
        let mut stream = self.stream(sql, options)?;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        for batch in stream.by_ref() {
            let batch = batch?;
            bytes += batch.get_array_memory_size();
            if bytes > self.memory_limit_bytes {
                return Err(EngineError::OutOfMemory { limit_bytes: self.memory_limit_bytes, doing: "the answer" });
            }
            batches.push(batch);
        }
        let (rows_left_out, truncated) = (stream.rows_left_out(), stream.truncated());
        Ok(QueryResult { schema: Arc::clone(stream.schema()), batches, rows_left_out, truncated })
    }

    /// Answers a query batch by batch, for answers that do not fit into memory.
    pub fn stream(&self, sql: &str, options: &QueryOptions) -> Result<QueryStream<'_>, EngineError> {
        Ok(QueryStream { engine: self, cursor: self.begin(sql, options)? })
    }

    /// Begins a query whose rows are asked for one by one, by whoever keeps the engine.
    pub fn begin(&self, sql: &str, options: &QueryOptions) -> Result<QueryCursor, EngineError> {
        let watch = Watch::new(options);
        let fetch = options.max_rows.filter(|_| !options.count_left_out).map(|rows| rows.saturating_add(1));
        let (context, text, limit_bytes) = (self.context.clone(), sql.to_owned(), self.memory_limit_bytes);
        let (runner, store, limits) = (Arc::clone(&self.runner), Arc::clone(&self.store), options.clone());
        let source = watch.run(self, async move {
            let fail = |error: DataFusionError| EngineError::from_datafusion(&error, limit_bytes);
            let plan = plan(&context, &text, limit_bytes).await?;
            let is_query = !is_about_another(&plan);
            let plan = picked(plan, &limits.pick, fetch, limit_bytes)?;
            let runner: &dyn Runner = if is_query { runner.as_ref() } else { &Local };
            runner.run(plan, context.state(), &store, &limits).await.map_err(fail)
        })??;
        Ok(QueryCursor {
            schema: plain::plain_schema(&source.schema()),
            source: Some(source),
            watch,
            rows_wanted: options.max_rows.unwrap_or(usize::MAX),
            count_left_out: options.count_left_out,
            rows_left_out: 0,
        })
    }

    /// Names of the columns that a query answers with.
    pub fn column_names(&self, sql: &str, options: &QueryOptions) -> Result<Vec<String>, EngineError> {
        let (context, text, limit_bytes) = (self.context.clone(), sql.to_owned(), self.memory_limit_bytes);
        let plan = Watch::new(options).run(self, async move { plan(&context, &text, limit_bytes).await })??;
        Ok(plan.schema().fields().iter().map(|field| field.name().clone()).collect())
    }

    /// How many rows a query has. For a statement about another one (`EXPLAIN`) there is no such number.
    pub fn count_rows(&self, sql: &str, options: &QueryOptions) -> Result<Option<u64>, EngineError> {
        let (context, text, limit_bytes) = (self.context.clone(), sql.to_owned(), self.memory_limit_bytes);
        let (runner, store, limits) = (Arc::clone(&self.runner), Arc::clone(&self.store), options.clone());
        Watch::new(options).run(self, async move {
            let plan = plan(&context, &text, limit_bytes).await?;
            if is_about_another(&plan) {
                return Ok(None);
            }
            let fail = |error: DataFusionError| EngineError::from_datafusion(&error, limit_bytes);
            let count = LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), vec![count(lit(1))]);
            let count = count.and_then(LogicalPlanBuilder::build).map_err(fail)?;
            let mut rows = runner.run(count, context.state(), &store, &limits).await.map_err(fail)?;
            while let Some(batch) = rows.next().await.transpose().map_err(fail)? {
                if batch.num_rows() > 0 {
                    return Ok(Some(batch.column(0).as_primitive::<Int64Type>().value(0) as u64));
                }
            }
            Ok(Some(0))
        })?
    }
}

/// The rows of a query as they come. Dropping it ends the query.
#[derive(Debug)]
pub struct QueryStream<'engine> {
    engine: &'engine Engine,
    cursor: QueryCursor,
}

impl QueryStream<'_> {
    /// Columns; texts are `Utf8`.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.cursor.schema()
    }

    /// Whether the row limit left out any row; known at the end.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.cursor.truncated()
    }

    /// How many rows the limit left out; `None` when there are some but they were not counted. Known at the end.
    #[must_use]
    pub fn rows_left_out(&self) -> Option<u64> {
        self.cursor.rows_left_out()
    }
}

impl Iterator for QueryStream<'_> {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.next_batch(self.engine).transpose()
    }
}

/// How far a query is. Dropping it ends the query.
pub struct QueryCursor {
    schema: SchemaRef,
    source: Option<SendableRecordBatchStream>,
    watch: Watch,
    rows_wanted: usize,
    count_left_out: bool,
    rows_left_out: u64,
}

impl QueryCursor {
    /// Columns; texts are `Utf8`.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether the row limit left out any row; known at the end.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.rows_left_out > 0
    }

    /// How many rows the limit left out; `None` when there are some but they were not counted. Known at the end.
    #[must_use]
    pub fn rows_left_out(&self) -> Option<u64> {
        (self.rows_left_out == 0 || self.count_left_out).then_some(self.rows_left_out)
    }

    /// The next rows, from the engine that began the query; `None` at the end.
    pub fn next_batch(&mut self, engine: &Engine) -> Result<Option<RecordBatch>, EngineError> {
        while let Some(mut source) = self.source.take() {
            let (source, batch) = self.watch.run(engine, async move {
                let batch = source.next().await;
                (source, batch)
            })?;
            let Some(batch) = batch else { break };
            let fail = |error: &DataFusionError| EngineError::from_datafusion(error, engine.memory_limit_bytes);
            let batch = batch.map_err(|error| fail(&error))?;
            let kept = batch.num_rows().min(self.rows_wanted);
            self.rows_wanted -= kept;
            self.rows_left_out += (batch.num_rows() - kept) as u64;
            // A full answer is asked once more, to learn whether the limit cut anything off.
            if self.rows_left_out == 0 || self.count_left_out {
                self.source = Some(source);
            }
            if kept > 0 {
                let batch = plain::plain_batch(&batch.slice(0, kept), &self.schema);
                return batch.map(Some).map_err(|error| fail(&error.into()));
            }
        }
        Ok(None)
    }
}

impl std::fmt::Debug for QueryCursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("QueryCursor").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Parses, checks and plans a query.
async fn plan(context: &SessionContext, sql: &str, limit_bytes: usize) -> Result<LogicalPlan, EngineError> {
    let fail = |error: DataFusionError| EngineError::from_datafusion(&error, limit_bytes);
    let state = context.state();
    let dialect = state.config_options().sql_parser.dialect;
    complexity::check_length(sql)?;
    let statement = state.sql_to_statement(sql, &dialect).map_err(|error| match fail(error) {
        // "No statement" and "several statements" are not the parser's errors, but they are about the text.
        EngineError::Plan { message } => EngineError::Syntax { message },
        other => other,
    })?;
    read_only::check_statement(&statement)?;
    complexity::check_statement(&statement)?;
    let plan = state.statement_to_plan(statement).await.map_err(fail)?;
    read_only::check_plan(&plan)?;
    Ok(plan)
}

/// These stand at the top of a plan or nowhere.
fn is_about_another(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::DescribeTable(_))
}

/// Sorts, picks columns, and tells the planner how many rows are wanted: a sort that knows keeps only those.
fn picked(
    plan: LogicalPlan,
    pick: &Pick,
    fetch: Option<usize>,
    limit_bytes: usize,
) -> Result<LogicalPlan, EngineError> {
    if is_about_another(&plan) {
        let message = "found a statement about a query, expected a query to sort or to pick from".to_owned();
        return if *pick == Pick::default() { Ok(plan) } else { Err(EngineError::Plan { message }) };
    }
    let schema = Arc::clone(plan.schema());
    let column = |place: usize| Expr::Column(Column::from(schema.qualified_field(place)));
    let build = || {
        let mut builder = LogicalPlanBuilder::from(plan);
        if let Some(Order { column: first, is_descending }) = pick.order {
            let others = (0..schema.fields().len()).filter(|place| *place != first);
            let sorts = std::iter::once(column(first).sort(!is_descending, false))
                .chain(others.map(|place| column(place).sort(true, false)));
            builder = builder.sort(sorts.collect::<Vec<_>>())?;
        }
        if !pick.columns.is_empty() {
            builder = builder.project(pick.columns.iter().map(|place| column(*place)).collect::<Vec<_>>())?;
        }
        if let Some(rows) = fetch {
            builder = builder.limit(0, Some(rows))?;
        }
        builder.build()
    };
    build().map_err(|error| EngineError::from_datafusion(&error, limit_bytes))
}

/// Waits for the engine's threads without losing sight of the limits.
struct Watch {
    cancel: CancelFlag,
    time_limit: Option<Duration>,
    started: Instant,
}

impl Watch {
    fn new(options: &QueryOptions) -> Self {
        Self { cancel: options.cancel.clone(), time_limit: options.time_limit, started: Instant::now() }
    }

    fn run<T: Send + 'static>(
        &self,
        engine: &Engine,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = engine.runtime()?.spawn(async move {
            // Nobody waits any more when the query was given up.
            let _ = sender.send(work.await);
        });
        // The wait must not use the engine's own timers: they stand still while its threads are busy.
        loop {
            if let Err(error) = self.check() {
                task.abort();
                return Err(error);
            }
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(EngineError::Bug { message: "a thread of the query panicked".to_owned() });
                }
            }
        }
    }

    fn check(&self) -> Result<(), EngineError> {
        if self.cancel.is_canceled() {
            return Err(EngineError::Canceled);
        }
        match self.time_limit {
            Some(limit) if self.started.elapsed() >= limit => Err(EngineError::TimedOut { limit }),
            _ => Ok(()),
        }
    }
}
