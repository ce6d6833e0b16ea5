//! Tables that are written while their rows are made: what is longer than memory has no end to wait for.

use stepscope_model::{LeftOut, ReportTable};

/// Writes one table as text, piece by piece. A table whose rows are all in its head looks as it would in one piece.
pub trait TableStream: Send {
    /// The beginning with the first rows. How the others look follows from these: units, widths, sides.
    fn head(&mut self, head: &ReportTable) -> String;

    /// More rows.
    fn rows(&mut self, rows: &ReportTable) -> String;

    /// The end, with what a limit left out.
    fn end(&mut self, left_out: LeftOut) -> String;
}
