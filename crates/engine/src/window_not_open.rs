//! A query about a window that is not open: it is refused rather than answered with no rows.

use datafusion::catalog::Session;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use stepscope_model::SourceId;
use stepscope_store::LeftOut;

use crate::chosen::chosen;

/// A window of a run with very many recordings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("window {window} is not open: of {count} windows, {open} is")]
pub struct WindowNotOpen {
    /// A window that the query asks for.
    pub window: u32,
    /// The one that is open.
    pub open: u32,
    /// How many the run has.
    pub count: usize,
}

impl WindowNotOpen {
    /// Refuses conditions that choose a window which is not open. A query without such conditions is about the open one.
    pub(crate) fn check(left_out: &LeftOut, state: &dyn Session, conditions: &[Expr]) -> Result<(), DataFusionError> {
        let is_about_window = |condition: &&Expr| {
            let columns = condition.column_refs();
            !columns.is_empty() && columns.iter().all(|column| column.name == "window")
        };
        let conditions: Vec<Expr> = conditions.iter().filter(is_about_window).cloned().collect();
        if conditions.is_empty() {
            return Ok(());
        }
        let windows: Vec<SourceId> =
            left_out.windows.iter().map(|window| SourceId { rank: 0, window: *window }).collect();
        let Some(asked) = chosen(&windows, state, &conditions)?.first().copied() else { return Ok(()) };
        let count = left_out.windows.len() + 1;
        Err(DataFusionError::External(Box::new(Self { window: asked.window, open: left_out.open, count })))
    }

    /// What to do.
    pub(crate) fn hint(&self) -> String {
        format!("open it with `--window {}`", self.window)
    }
}
