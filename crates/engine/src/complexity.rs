//! Refuses queries that nest so deeply that planning them would exhaust a stack, which nothing can recover from.
//!
//! The parser limits parentheses itself, but builds chains such as `1 + 1 + …` and `… UNION …` in a loop, and everything
//! behind it walks them recursively.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, ObjectName, Query, SetExpr, Visit, Visitor};

use crate::error::EngineError;

/// Longest query in bytes: even as one chain it can be taken apart again on the engine's stack.
const MAX_BYTES: usize = 128 * 1024;

/// Expressions inside each other.
const MAX_DEPTH: usize = 400;

/// Queries joined by `UNION` and the like, and tables in one statement.
const MAX_BRANCHES: usize = 200;

/// Refuses a text that is too long to be parsed safely.
pub(crate) fn check_length(sql: &str) -> Result<(), EngineError> {
    if sql.len() <= MAX_BYTES { Ok(()) } else { Err(too_complex(&format!("it is longer than {MAX_BYTES} bytes"))) }
}

/// Refuses a statement that is too deep to be planned safely.
pub(crate) fn check_statement(statement: &Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Explain(explain) => check_statement(&explain.statement),
        Statement::Statement(sql) => match sql.visit(&mut Nesting::default()) {
            ControlFlow::Break(reason) => Err(too_complex(&reason)),
            ControlFlow::Continue(()) => Ok(()),
        },
        _ => Ok(()),
    }
}

fn too_complex(reason: &str) -> EngineError {
    EngineError::Syntax { message: format!("the query is too complex: {reason}") }
}

#[derive(Default)]
struct Nesting {
    depth: usize,
    branches: usize,
}

impl Nesting {
    fn branch(&mut self) -> ControlFlow<String> {
        self.branches += 1;
        if self.branches <= MAX_BRANCHES {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(format!("it has more than {MAX_BRANCHES} tables or parts of a UNION"))
    }
}

impl Visitor for Nesting {
    type Break = String;

    fn pre_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<String> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(format!("an expression has more than {MAX_DEPTH} levels"))
    }

    fn post_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<String> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, _relation: &ObjectName) -> ControlFlow<String> {
        self.branch()
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        let mut body = query.body.as_ref();
        while let SetExpr::SetOperation { left, .. } = body {
            self.branch()?;
            body = left;
        }
        ControlFlow::Continue(())
    }
}
