//! What stands behind the question mark, as the settings of a question.

use std::str::FromStr;

use stepscope_model::{Expected, arguments};
use stepscope_workspace::{Question, Thresholds};

use crate::failure::Failure;
use crate::request::Request;

impl Request {
    /// A number behind the question mark.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.value(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Failure::malformed(format!("{name} is not a valid number: {text}")))
    }

    /// An argument that is written as everywhere.
    fn argument<T>(&self, name: &str, read: fn(&str) -> Result<T, Expected>) -> Result<Option<T>, Failure> {
        let Some(text) = self.value(name) else { return Ok(None) };
        read(text).map(Some).map_err(|expected| Failure::malformed(format!("{name}: {expected}, found {text}")))
    }

    /// Which part of a run an analysis is asked about.
    pub(crate) fn question(&self) -> Result<Question, Failure> {
        let group_by = self.value("group").map(|groups| groups.split(',').map(str::to_owned).collect());
        Ok(Question {
            ranks: self.argument("rank", arguments::ranks)?.unwrap_or_default(),
            window: self.number("window")?,
            steps: self.argument("step", arguments::steps)?,
            from_ns: self.number("from")?,
            to_ns: self.number("to")?,
            group_by: group_by.unwrap_or_default(),
            thresholds: Thresholds::default(),
            samples_per_step: self.number("samples_per_step")?,
            cancel: self.cancel.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use serde_json::{Value, json};

    use super::*;
    use crate::response::Response;

    #[track_caller]
    fn check(name: &str, case: &Value, meaning: impl FnOnce(&Question) -> Value) {
        let text = case["text"].as_str().unwrap();
        let mut request = Request::new(Method::GET, "/").unwrap();
        request.query.push((name.to_owned(), text.to_owned()));
        match request.question() {
            Ok(question) => assert_eq!(meaning(&question), case["is"], "{text}"),
            Err(failure) => {
                let error = case["error"].as_str().unwrap_or_default();
                let answer = String::from_utf8(Response::from(failure).body).unwrap();
                assert!(answer.contains(&format!("{name}: {error}, found {text}")), "{answer}");
            }
        }
    }

    #[test]
    fn ranks_and_steps_mean_what_they_mean_everywhere() {
        let cases: Value = serde_json::from_str(include_str!("../../model/tests/arguments.json")).unwrap();
        for case in cases["ranks"].as_array().unwrap() {
            check("rank", case, |question| json!(question.ranks));
        }
        for case in cases["steps"].as_array().unwrap() {
            check("step", case, |question| json!(question.steps.map(|steps| [steps.first, steps.last])));
        }
    }
}
