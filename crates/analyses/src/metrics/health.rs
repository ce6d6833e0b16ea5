//! Trace health, as the ingest worked it out.

use serde_json::{Map, Value as Json};
use stepscope_runs::RunError;

use super::Measuring;

pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<Json, RunError> {
    let figures =
        measuring.query("SELECT name, value, ratio, text, reason FROM health WHERE {source} ORDER BY name")?;
    let (names, reasons) = (figures.text("name")?, figures.text("reason")?);
    let (values, ratios, words) = (figures.i64("value")?, figures.f64("ratio")?, figures.text("text")?);
    let mut health = Map::new();
    health.insert("device_links".to_owned(), Json::Object(Map::new()));
    for (row, name) in names.into_iter().enumerate() {
        let Some(name) = name else { continue };
        let word = words[row].clone().map(Json::from);
        let figure = values[row].map(Json::from).or_else(|| ratios[row].map(Json::from)).or(word).unwrap_or(Json::Null);
        if let Some(reason) = &reasons[row] {
            measuring.missing(&format!("health.{name}"), reason);
        }
        // A dot leads into a group.
        match name.split_once('.') {
            None => _ = health.insert(name, figure),
            Some((group, name)) => {
                let group = health.entry(group).or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(group) = group {
                    group.insert(name.to_owned(), figure);
                }
            }
        }
    }
    Ok(Json::Object(health))
}
