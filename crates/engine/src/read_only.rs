//! Lets queries through and nothing else.
//!
//! Two gates, because each sees what the other cannot: the statement tells writes apart even when their tables do not
//! exist, the plan shows writes that hide inside a query (`SELECT … INTO`, `WITH … INSERT`).

use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use crate::error::EngineError;

/// Refuses statements that are not queries.
pub(crate) fn check_statement(statement: &Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Explain(explain) => check_statement(&explain.statement),
        Statement::Statement(sql) if is_query(sql) => Ok(()),
        other => Err(EngineError::NotAQuery { statement: first_words(&other.to_string()) }),
    }
}

/// Refuses plans that would change something.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<(), EngineError> {
    let queries_only = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    queries_only.verify_plan(plan).map_err(|error| {
        let message = error.message();
        let what = message.rsplit(": ").next().unwrap_or(&message);
        EngineError::NotAQuery { statement: what.to_owned() }
    })
}

fn is_query(statement: &SqlStatement) -> bool {
    match statement {
        SqlStatement::Query(_)
        | SqlStatement::ExplainTable { .. }
        | SqlStatement::ShowTables { .. }
        | SqlStatement::ShowColumns { .. }
        | SqlStatement::ShowCreate { .. }
        | SqlStatement::ShowFunctions { .. }
        | SqlStatement::ShowVariable { .. } => true,
        SqlStatement::Explain { statement, .. } => is_query(statement),
        _ => false,
    }
}

/// The words in capitals that begin a statement: `CREATE EXTERNAL TABLE`, `DROP VIEW`, `SET`.
fn first_words(statement: &str) -> String {
    let is_keyword = |word: &&str| word.chars().all(|letter| letter.is_ascii_uppercase());
    let words: Vec<_> = statement.split_whitespace().take_while(is_keyword).take(3).collect();
    if words.is_empty() { "this statement".to_owned() } else { words.join(" ") }
}
