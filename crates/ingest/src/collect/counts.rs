//! Counting: what came in, what was dropped and why, what was not right.

use std::borrow::Cow;
use std::collections::BTreeMap;

use stepscope_formats::Value;
use stepscope_model::warning::WarningCode;

/// How many warnings of one code get a row of their own.
const ROWS_PER_CODE: u64 = 1000;

/// One row of the table of warnings.
#[derive(Clone, Debug)]
pub(crate) struct WarningRow {
    pub code: String,
    pub is_loss: bool,
    pub position: Option<u64>,
    pub offset_bytes: Option<u64>,
    pub detail: Option<String>,
}

/// Where a warning was met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub position: Option<u64>,
    pub offset_bytes: Option<u64>,
}

/// The counts of one source.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Elements of the event list.
    pub events_in: u64,
    /// Elements by phase and category, in the order of first appearance.
    kinds: Vec<(String, String, u64)>,
    /// Elements without a row of their own, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// What was not right but cost nothing, by code.
    pub warnings: BTreeMap<String, u64>,
    /// The first warnings of each code.
    pub rows: Vec<WarningRow>,
}

impl Counts {
    /// Counts an event by its phase and category. There are few of them, and the next is mostly that of the last.
    pub(crate) fn count_kind(&mut self, phase: &Value<'_>, category: &Value<'_>) {
        let (phase, category) = (plain(phase), plain(category));
        match self
            .kinds
            .iter()
            .position(|(known_phase, known_category, _)| *known_category == category && *known_phase == phase)
        {
            Some(index) => {
                self.kinds[index].2 += 1;
                self.kinds.swap(0, index);
            }
            None => self.kinds.push((phase.into_owned(), category.into_owned(), 1)),
        }
    }

    /// Number of events by "phase|category".
    pub(crate) fn by_phase_and_category(&self) -> BTreeMap<String, u64> {
        self.kinds.iter().map(|(phase, category, count)| (format!("{phase}|{category}"), *count)).collect()
    }

    /// Counts an element that gets no row. `about` completes a code that ends in a colon.
    pub(crate) fn drop_event(&mut self, code: WarningCode, about: &str, place: Place, detail: Option<String>) {
        let code_text = format!("{}{about}", code.code);
        let count = self.dropped.entry(code_text.clone()).or_default();
        *count += 1;
        // Metadata and paired ends are absorbed by other rows: nothing is wrong with them.
        if code.is_loss && *count <= ROWS_PER_CODE {
            self.rows.push(WarningRow {
                code: code_text,
                is_loss: true,
                position: place.position,
                offset_bytes: place.offset_bytes,
                detail,
            });
        }
    }

    /// Counts something that was not right but cost no event.
    pub(crate) fn warn(&mut self, code: WarningCode, place: Place, detail: Option<String>) {
        let count = self.warnings.entry(code.code.to_owned()).or_default();
        *count += 1;
        if *count <= ROWS_PER_CODE {
            let code = code.code.to_owned();
            self.rows.push(WarningRow {
                code,
                is_loss: false,
                position: place.position,
                offset_bytes: place.offset_bytes,
                detail,
            });
        }
    }

    /// Elements that were really lost, not absorbed.
    pub(crate) fn lost(&self) -> u64 {
        self.dropped.iter().filter(|(code, _)| stepscope_model::warning::is_loss(code)).map(|(_, count)| count).sum()
    }
}

/// A value as the phase and category counts print it.
pub(crate) fn plain<'a>(value: &'a Value<'_>) -> Cow<'a, str> {
    match value {
        Value::Missing | Value::Null => "None".into(),
        Value::Bool(flag) => if *flag { "True" } else { "False" }.into(),
        Value::Number(text) => (*text).into(),
        Value::Text(text) | Value::Json(text) => Cow::Borrowed(text),
    }
}
