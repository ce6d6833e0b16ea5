//! How the browser shows an analysis: each says so itself, and the browser takes its pages from there.

use serde::Serialize;

/// A page of the browser that is one analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PageEntry {
    /// Name of the analysis.
    pub analysis: &'static str,
    /// What the page is called.
    pub label: &'static str,
    /// What can be done on it.
    pub page: Page,
}

/// What can be done with the rows of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Page {
    /// Name in the address; also of its icon, if there is one.
    pub address: &'static str,
    /// The key that leads to it after `g`.
    pub key: Option<char>,
    /// What rows are called.
    pub noun: &'static str,
    /// What rows are grouped by at first; in a `tree` they stand below one another.
    pub rows_by: &'static str,
    /// Further groupings, as the analysis names them, and what their buttons say.
    pub groups: &'static [(&'static str, &'static str)],
    /// The grouping whose rows appear below an expanded row.
    pub expand_by: Option<&'static str>,
    /// Columns that are shown though a terminal of this width has no room for them.
    pub shown: &'static [&'static str],
    /// Which frames its flame graph is made of.
    pub frames: Option<Frames>,
    /// Whether sums can be shown per step and per call.
    pub has_values: bool,
    /// Whether it shows all ranks unless one is chosen.
    pub shows_all_ranks: bool,
    /// Whether it gives device time to operators, so that work without a launch is missing.
    pub is_by_operator: bool,
    /// The table without whose rows there is nothing to show.
    pub table: Option<&'static str>,
    /// How many rows the rail says that it has.
    pub count: RowCount,
    /// What is said if there are no rows.
    pub empty: EmptyPage,
    /// The query behind the table, to go on from.
    pub statement: &'static str,
}

impl Page {
    /// A table of rows by name.
    pub const BY_NAME: Self = Self {
        address: "",
        key: None,
        noun: "rows",
        rows_by: "name",
        groups: &[],
        expand_by: None,
        shown: &[],
        frames: None,
        has_values: true,
        shows_all_ranks: false,
        is_by_operator: false,
        table: None,
        count: RowCount::Asked,
        empty: EmptyPage { title: "Nothing in this trace", why: "", code: None },
        statement: "",
    };
}

/// Frames of a flame graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Frames {
    /// Operators and Python frames.
    Calls,
    /// Modules of the model.
    Modules,
}

/// Where the number of rows in the rail comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RowCount {
    /// The analysis is asked, as it answers from sums at once however long the recording is.
    Asked,
    /// The rows of its table.
    OfTable,
    /// None is shown.
    None,
}

/// What a page says that has nothing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EmptyPage {
    /// What is not there.
    pub title: &'static str,
    /// Why.
    pub why: &'static str,
    /// What to record.
    pub code: Option<&'static str>,
}
