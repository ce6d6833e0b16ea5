//! The inputs of a call as they were recorded: shapes, and the values of what is not a tensor.

use serde_json::Value as Json;

/// The inputs of one call.
pub(super) struct Inputs {
    shapes: Vec<Json>,
    values: Vec<Json>,
}

impl Inputs {
    /// Reads the JSON lists of `input_dims` and `concrete_inputs`.
    pub(super) fn read(input_dims: &str, concrete_inputs: Option<&str>) -> Option<Self> {
        let shapes = serde_json::from_str(input_dims).ok()?;
        let values = concrete_inputs.and_then(|values| serde_json::from_str(values).ok()).unwrap_or_default();
        Some(Self { shapes, values })
    }

    /// The shape of a tensor with at least one dimension.
    pub(super) fn shape(&self, index: usize) -> Option<Vec<i64>> {
        integers(self.shapes.get(index)?).filter(|shape| !shape.is_empty())
    }

    /// The shape of a tensor with `RANK` dimensions.
    pub(super) fn shape_of<const RANK: usize>(&self, index: usize) -> Option<[i64; RANK]> {
        self.shape(index)?.try_into().ok()
    }

    /// How many inputs have a place for a value.
    pub(super) fn values(&self) -> usize {
        self.values.len()
    }

    /// A list with an integer for each of `length` dimensions; a single one stands for all.
    pub(super) fn list_of(&self, index: usize, length: usize) -> Option<Vec<i64>> {
        let list = match self.values.get(index)? {
            Json::String(text) => integers(&serde_json::from_str(text).ok()?)?,
            other => integers(other)?,
        };
        match list[..] {
            [one] => Some(vec![one; length]),
            _ => Some(list).filter(|list| list.len() >= length),
        }
    }

    /// A truth, as Python or JSON write it.
    pub(super) fn flag(&self, index: usize) -> Option<bool> {
        truth(&self.text(index)?)
    }

    /// Three truths in a list.
    pub(super) fn mask(&self, index: usize) -> Option<[bool; 3]> {
        let text = self.text(index)?;
        let words = text.trim_matches(['[', ']']).split(',').map(|word| truth(word.trim()));
        words.collect::<Option<Vec<_>>>()?.try_into().ok()
    }

    /// A value as text. Most values are recorded as text in the first place.
    fn text(&self, index: usize) -> Option<String> {
        Some(match self.values.get(index)? {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

fn integers(list: &Json) -> Option<Vec<i64>> {
    list.as_array()?.iter().map(Json::as_i64).collect()
}

fn truth(word: &str) -> Option<bool> {
    match word {
        "true" | "True" => Some(true),
        "false" | "False" => Some(false),
        _ => None,
    }
}
