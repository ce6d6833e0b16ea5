//! What stands behind the question mark, as the settings of a question.

use std::str::FromStr;

use stepscope_analysis::{Question, StepRange};

use crate::failure::Failure;
use crate::request::Request;

/// Ranks that one list may name.
const MOST_RANKS: usize = 100_000;

impl Request {
    /// A number behind the question mark.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.value(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Failure::malformed(format!("{name} is no number that fits: {text}")))
    }

    /// Which part of a run an analysis is asked about.
    pub(crate) fn question(&self) -> Result<Question, Failure> {
        let group_by = self.value("group").map(|groups| groups.split(',').map(str::to_owned).collect());
        Ok(Question {
            ranks: self.value("rank").map_or_else(|| Ok(Vec::new()), ranks)?,
            window: self.number("window")?,
            steps: self.value("step").map(steps).transpose()?,
            from_ns: self.number("from")?,
            to_ns: self.number("to")?,
            group_by: group_by.unwrap_or_default(),
            samples_per_step: self.number("samples_per_step")?,
            cancel: self.cancel.clone(),
            ..Question::default()
        })
    }
}

/// `0,2-3`.
fn ranks(text: &str) -> Result<Vec<u32>, Failure> {
    let mut ranks = Vec::new();
    for part in text.split(',') {
        let (first, last) =
            range(part).ok_or_else(|| Failure::malformed(format!("rank is no list of ranks: {text}")))?;
        if (last - first) as usize >= MOST_RANKS - ranks.len().min(MOST_RANKS) {
            return Err(Failure::malformed("rank names too many ranks"));
        }
        ranks.extend(first..=last);
    }
    Ok(ranks)
}

fn steps(text: &str) -> Result<StepRange, Failure> {
    let malformed = || Failure::malformed(format!("step is neither a step nor a range such as 2-5: {text}"));
    let (first, last) = range(text).ok_or_else(malformed)?;
    Ok(StepRange { first, last })
}

/// `3` or `2-5`.
fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_ranks() {
        let check = |text: &str, want: Option<&[u32]>| assert_eq!(ranks(text).ok().as_deref(), want, "{text}");
        check("0", Some(&[0]));
        check("0,2-4", Some(&[0, 2, 3, 4]));
        check("4-2", None);
        check("", None);
        check("0,x", None);
        // It would take all memory.
        check("0-4294967295", None);
        check("0-60000,0-60000", None);
    }
}
