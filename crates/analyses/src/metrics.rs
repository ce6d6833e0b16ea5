//! Every metric of one trace as one JSON document: how the numbers are checked, and the form of a baseline.
//!
//! A member of the document is one file here and one line in `MEMBERS`. Names carry their unit, integers stay integers,
//! and a figure that is missing is null, with its reason under `nulls`.

mod breakdown;
mod collectives;
pub(crate) mod copies;
pub(crate) mod distribution;
mod flops;
mod format;
mod gpu;
mod health;
pub(crate) mod idle_by_stream;
mod kernels;
pub(crate) mod launch;
pub(crate) mod memory;
mod nesting;
mod operators;
mod path;
mod steps;
mod temporal;

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value as Json};
use stepscope_engine::{CancelFlag, Engine, QueryOptions};
use stepscope_model::SourceRecord;
use stepscope_runs::{Frame, RunError};

use self::breakdown::Breakdown;

/// One member of the document.
type Member = (&'static str, fn(&mut Measuring<'_>) -> Result<Json, RunError>);

/// The members, in the order of the document.
const MEMBERS: &[Member] = &[
    ("format", format::measure),
    ("health", health::measure),
    ("nesting", nesting::measure),
    ("steps", steps::measure),
    ("breakdown_average", breakdown::measure_average),
    ("breakdown_whole_trace", breakdown::measure_whole_trace),
    ("gpu", gpu::measure),
    ("temporal", temporal::measure),
    ("idle_by_stream", idle_by_stream::measure),
    ("operators", operators::measure),
    ("kernels", kernels::measure),
    ("copies", copies::measure),
    ("launch", launch::measure),
    ("memory", memory::measure),
    ("collectives", collectives::measure),
    ("flops", flops::measure),
];

/// One source being measured.
pub(crate) struct Measuring<'a> {
    pub engine: &'a Engine,
    pub source: &'a SourceRecord,
    cancel: &'a CancelFlag,
    nulls: BTreeMap<String, String>,
    /// Several members show parts of it; it takes a walk over the whole source.
    breakdown: Option<Rc<Breakdown>>,
}

impl Measuring<'_> {
    /// Asks about this source. `{source}` in the statement stands for the condition on rank and window.
    pub(crate) fn query(&self, statement: &str) -> Result<Frame, RunError> {
        Ok(Frame::new(self.engine.query(&self.about_source(statement), &self.options())?))
    }

    /// Asks like `query` and hands out the answer piece by piece: for a walk over as many rows as the source has.
    pub(crate) fn walk(
        &self,
        statement: &str,
        mut take: impl FnMut(&Frame) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        for batch in self.engine.stream(&self.about_source(statement), &self.options())? {
            take(&Frame::of_batch(batch?))?;
        }
        Ok(())
    }

    fn options(&self) -> QueryOptions {
        QueryOptions { cancel: self.cancel.clone(), ..QueryOptions::default() }
    }

    fn about_source(&self, statement: &str) -> String {
        let id = self.source.id;
        statement.replace("{source}", &format!("rank = {} AND \"window\" = {}", id.rank, id.window))
    }

    /// Says why the figure at `path` is missing.
    pub(crate) fn missing(&mut self, path: &str, reason: impl Into<String>) {
        self.nulls.insert(path.to_owned(), reason.into());
    }
}

/// The whole document.
pub fn measure(engine: &Engine, source: &SourceRecord, cancel: &CancelFlag) -> Result<Json, RunError> {
    let mut measuring = Measuring { engine, source, cancel, nulls: BTreeMap::new(), breakdown: None };
    let mut document = Map::new();
    for (name, member) in MEMBERS {
        document.insert((*name).to_owned(), member(&mut measuring)?);
    }
    document.insert("nulls".to_owned(), serde_json::json!(measuring.nulls));
    Ok(Json::Object(document))
}

/// Some members of the document, and why figures in them are missing.
pub(crate) struct Measured {
    pub members: Map<String, Json>,
    pub nulls: BTreeMap<String, String>,
}

/// Measures these members alone.
pub(crate) fn measure_some(
    engine: &Engine,
    source: &SourceRecord,
    members: &[&str],
    cancel: &CancelFlag,
) -> Result<Measured, RunError> {
    let mut measuring = Measuring { engine, source, cancel, nulls: BTreeMap::new(), breakdown: None };
    let mut document = Map::new();
    for (name, member) in MEMBERS.iter().filter(|(name, _)| members.contains(name)) {
        document.insert((*name).to_owned(), member(&mut measuring)?);
    }
    Ok(Measured { members: document, nulls: measuring.nulls })
}

/// A share of a whole; null when there is no whole.
fn ratio(part: f64, whole: i64) -> Json {
    if whole == 0 { Json::Null } else { Json::from(part / whole as f64) }
}

/// The name of a stream of a device among the members of the document.
fn stream_name(device: Option<i64>, stream: Option<i64>) -> String {
    let name = |id: Option<i64>| id.map_or_else(|| "None".to_owned(), |id| id.to_string());
    format!("{}/{}", name(device), name(stream))
}
