//! Thresholds from a file of the user: a JSON object of rules, each an object of thresholds.

use serde_json::Value as Json;
use stepscope_rules::{Refused, Thresholds};

/// Why a file of thresholds is refused.
#[derive(Debug, thiserror::Error)]
pub enum RulesFileError {
    /// It is not JSON.
    #[error("expected JSON: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is JSON of another shape.
    #[error("expected an object such as {{\"data_loading\": {{\"share_ratio\": 0.1}}}}")]
    Shape,
    /// No rule has that name.
    #[error("found no rule: {0}")]
    Rule(String),
    /// The rule has no such threshold.
    #[error("found no threshold {name} of {rule}, expected one of: {known}")]
    Name {
        /// The rule.
        rule: String,
        /// What was found.
        name: String,
        /// What it has.
        known: String,
    },
    /// The value cannot be a threshold.
    #[error("expected a number from 0 on for {rule}.{name}, found: {value}")]
    Value {
        /// The rule.
        rule: String,
        /// The threshold.
        name: String,
        /// What was found.
        value: Json,
    },
}

/// The thresholds that a file gives; those that it leaves out are as usual.
pub fn read_thresholds(text: &str) -> Result<Thresholds, RulesFileError> {
    let mut thresholds = Thresholds::default();
    let file: Json = serde_json::from_str(text)?;
    for (rule, changes) in file.as_object().ok_or(RulesFileError::Shape)? {
        for (name, value) in changes.as_object().ok_or(RulesFileError::Shape)? {
            let refused = |refused: Refused| match refused {
                Refused::Rule => RulesFileError::Rule(rule.clone()),
                Refused::Name => {
                    let of_rule = Thresholds::all().filter(|(known, _)| known == rule);
                    let known: Vec<&str> = of_rule.map(|(_, threshold)| threshold.name).collect();
                    RulesFileError::Name { rule: rule.clone(), name: name.clone(), known: known.join(", ") }
                }
                Refused::Value => {
                    RulesFileError::Value { rule: rule.clone(), name: name.clone(), value: value.clone() }
                }
            };
            thresholds.set(rule, name, value.as_f64().unwrap_or(f64::NAN)).map_err(refused)?;
        }
    }
    Ok(thresholds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changes_what_it_names() {
        let thresholds = read_thresholds(r#"{"data_loading": {"share_ratio": 0.25}, "findings": {"low_ratio": 0}}"#);
        let changed = thresholds.unwrap();
        let different = Thresholds::all()
            .filter(|(rule, threshold)| changed.value(rule, threshold).total_cmp(&threshold.value).is_ne());
        let names: Vec<_> = different.map(|(rule, threshold)| (rule, threshold.name)).collect();
        assert_eq!(names, [("findings", "low_ratio"), ("data_loading", "share_ratio")]);
        assert_eq!(read_thresholds("{}").unwrap(), Thresholds::default());
    }

    #[test]
    fn what_a_file_means_is_never_guessed() {
        #[track_caller]
        fn check(text: &str, want: &str) {
            let error = read_thresholds(text).unwrap_err().to_string();
            assert!(error.starts_with(want), "{error}");
        }
        check("{", "expected JSON: ");
        check("[]", "expected an object such as {\"data_loading\"");
        check(r#"{"data_loading": 0.1}"#, "expected an object such as");
        check(r#"{"loading": {"share_ratio": 0.1}}"#, "found no rule: loading");
        check(
            r#"{"data_loading": {"share": 0.1}}"#,
            "found no threshold share of data_loading, expected one of: share_ratio",
        );
        let value = "expected a number from 0 on for data_loading.share_ratio, found: ";
        check(r#"{"data_loading": {"share_ratio": "5 %"}}"#, &format!("{value}\"5 %\""));
        check(r#"{"data_loading": {"share_ratio": -1}}"#, &format!("{value}-1"));
    }
}
