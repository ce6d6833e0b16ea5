//! Pieces for the output of a notebook's cell: markup with a style that keeps to itself.

use stepscope_model::{Report, TimelinePicture};

use super::table::Rows;
use super::{STYLE, chart, section, timeline};

/// Rows of a table that are shown without a click, and at all.
const ROWS: Rows = Rows { open: 20, most: 200 };

/// A report as the output of a cell.
#[must_use]
pub fn report(report: &Report) -> String {
    let body = if section::is_empty(report) {
        format!("<p class=\"plain\">{}</p>", section::why_empty(report))
    } else {
        section::body(report, ROWS)
    };
    fragment(&body)
}

/// A picture of the timeline as the output of a cell.
#[must_use]
pub fn picture(picture: &TimelinePicture) -> String {
    fragment(&format!("{}{}", chart::definitions(), timeline::timeline(picture)))
}

/// Rules that are meant for a page apply to the fragment alone.
fn fragment(body: &str) -> String {
    let style = STYLE.replace(":root", "&").replace("html {", "& {").replace("body {", "& {");
    format!(
        "<div class=\"stepscope\"><style>.stepscope {{ padding: 8px; overflow: auto; {style} }}</style>{body}</div>"
    )
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Cell, Part, ReportColumn, ReportTable};

    use super::*;

    #[test]
    fn a_cell_styles_nothing_but_itself() {
        let column = ReportColumn::named("dur_ns");
        let table = ReportTable {
            name: "rows".to_owned(),
            columns: vec![column],
            rows: vec![vec![Cell::Int(1_500_000)]],
            ..ReportTable::default()
        };
        let markup = report(&Report::new("ops", vec![Part::Table(table)]));
        assert!(markup.contains("1.50"), "{markup}");
        assert!(!markup.contains(":root") && !markup.contains("\nbody {") && !markup.contains("<script"), "{markup}");
        let (open, close) = (markup.matches('{').count(), markup.matches('}').count());
        assert_eq!(open, close);
    }
}
