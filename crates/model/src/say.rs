//! What is said to people, in pieces: words, figures that keep their value, and what to ask next.
//!
//! Nobody has to take a sentence apart to get at what it says, and whoever shows it decides how a figure is rounded and
//! how a question is asked.

use serde::Serialize;

use crate::unit::Unit;

/// Some words with figures between.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sentence(pub Vec<Piece>);

/// One piece of a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Words.
    Words(String),
    /// A figure.
    Figure(Figure),
    /// Something to ask next.
    Target(Target),
    /// What stands between two facts.
    Separator(()),
}

/// A figure inside a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Figure {
    /// Value.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
    /// How it is rounded.
    pub rounding: Rounding,
}

/// How a figure inside a sentence is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// As figures of its unit are.
    #[default]
    Usual,
    /// Never up, as it is a lower bound.
    Down,
    /// To no decimals.
    Whole,
    /// To one decimal.
    Tenths,
}

/// Something to ask next, about the same part of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Target {
    /// The analysis, or another answer such as `health`.
    pub ask: &'static str,
    /// What its rows are grouped by.
    pub group_by: Option<&'static str>,
    /// What its rows are sorted by.
    pub sort: Option<&'static str>,
}

impl Target {
    /// That answer as it usually is.
    #[must_use]
    pub const fn of(ask: &'static str) -> Self {
        Self { ask, group_by: None, sort: None }
    }

    /// With rows that are grouped.
    #[must_use]
    pub const fn grouped_by(self, grouping: &'static str) -> Self {
        Self { group_by: Some(grouping), ..self }
    }

    /// With rows that are sorted.
    #[must_use]
    pub const fn sorted_by(self, column: &'static str) -> Self {
        Self { sort: Some(column), ..self }
    }
}

impl Sentence {
    /// The sentence with more behind it.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        for piece in more.into().0 {
            match (self.0.last_mut(), piece) {
                (Some(Piece::Words(words)), Piece::Words(more)) => words.push_str(&more),
                (_, Piece::Words(words)) if words.is_empty() => {}
                (_, piece) => self.0.push(piece),
            }
        }
        self
    }

    /// Sentences with something between them.
    #[must_use]
    pub fn joined(sentences: impl IntoIterator<Item = Self>, between: impl Into<Self>) -> Self {
        let between = between.into();
        let join = |said: Option<Self>, next: Self| {
            Some(said.map_or(next.clone(), |said| said.and(between.clone()).and(next)))
        };
        sentences.into_iter().fold(None, join).unwrap_or_default()
    }

    /// Facts in one line.
    #[must_use]
    pub fn facts(facts: impl IntoIterator<Item = Self>) -> Self {
        Self::joined(facts, Self(vec![Piece::Separator(())]))
    }

    /// The same with each question in the words of whoever shows it.
    pub fn spell(&mut self, spelling: &dyn Fn(&Target) -> String) {
        let spelled = |piece: &Piece| match piece {
            Piece::Target(target) => Piece::Words(spelling(target)),
            other => other.clone(),
        };
        *self = self.0.iter().fold(Self::default(), |said, piece| said.and(Self(vec![spelled(piece)])));
    }
}

impl From<&str> for Sentence {
    fn from(words: &str) -> Self {
        Self::from(words.to_owned())
    }
}

impl From<&String> for Sentence {
    fn from(words: &String) -> Self {
        Self::from(words.clone())
    }
}

impl From<String> for Sentence {
    fn from(words: String) -> Self {
        if words.is_empty() { Self::default() } else { Self(vec![Piece::Words(words)]) }
    }
}

impl From<Figure> for Sentence {
    fn from(figure: Figure) -> Self {
        Self(vec![Piece::Figure(figure)])
    }
}

impl From<Target> for Sentence {
    fn from(target: Target) -> Self {
        Self(vec![Piece::Target(target)])
    }
}

/// A sentence from a template: each `{}` is words, a figure, a target or another sentence.
#[macro_export]
macro_rules! say {
    ($template:literal $(, $piece:expr)* $(,)?) => {{
        const {
            assert!($crate::say::holes($template) == <[&str]>::len(&[$(stringify!($piece)),*]), "as many pieces as holes");
        }
        $crate::say::filled($template, [$($crate::Sentence::from($piece)),*])
    }};
}

/// How many pieces a template takes; more than there can be if one stands inside of it.
#[must_use]
pub const fn holes(template: &str) -> usize {
    let bytes = template.as_bytes();
    let (mut place, mut holes) = (0, 0);
    while place < bytes.len() {
        if bytes[place] == b'{' {
            if place + 1 == bytes.len() || bytes[place + 1] != b'}' {
                return usize::MAX;
            }
            holes += 1;
        }
        place += 1;
    }
    holes
}

/// What [`say!`] makes.
#[must_use]
pub fn filled<const N: usize>(template: &str, pieces: [Sentence; N]) -> Sentence {
    let mut words = template.split("{}");
    let first = Sentence::from(words.next().unwrap_or_default());
    pieces.into_iter().zip(words).fold(first, |said, (piece, words)| said.and(piece).and(words))
}

impl Figure {
    const fn of(value: f64, unit: Unit) -> Self {
        Self { value, unit, rounding: Rounding::Usual }
    }

    /// Rounded in another way.
    #[must_use]
    pub const fn rounded(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }
}

/// A duration.
#[must_use]
pub const fn ns(value: f64) -> Figure {
    Figure::of(value, Unit::Nanoseconds)
}

/// A whole number.
#[must_use]
pub const fn count(value: i64) -> Figure {
    Figure::of(value as f64, Unit::Plain)
}

/// A number that need not be whole, told as if it were.
#[must_use]
pub const fn whole(value: f64) -> Figure {
    Figure::of(value, Unit::Plain).rounded(Rounding::Whole)
}

/// A share.
#[must_use]
pub const fn ratio(value: f64) -> Figure {
    Figure::of(value, Unit::Ratio)
}

/// A share that is a lower bound.
#[must_use]
pub const fn at_least(value: f64) -> Figure {
    ratio(value).rounded(Rounding::Down)
}

/// Memory.
#[must_use]
pub const fn memory(bytes: f64) -> Figure {
    Figure::of(bytes, Unit::Bytes)
}

/// Data that was moved.
#[must_use]
pub const fn moved(bytes: f64) -> Figure {
    Figure::of(bytes, Unit::MovedBytes)
}

/// How fast data was moved.
#[must_use]
pub const fn gb_per_s(value: f64) -> Figure {
    Figure::of(value, Unit::GigabytesPerSecond)
}

/// Floating-point operations.
#[must_use]
pub const fn flops(value: f64) -> Figure {
    Figure::of(value, Unit::Flops)
}

/// Floating-point operations a second.
#[must_use]
pub const fn flops_per_s(value: f64) -> Figure {
    Figure::of(value, Unit::FlopsPerSecond)
}

/// `1 step`, `2 steps`, `2 copies`.
#[must_use]
pub fn counted(number: usize, noun: &str) -> Sentence {
    let nouns = match (number, noun.strip_suffix("py")) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}pies"),
        (_, None) => format!("{noun}s"),
    };
    say!("{} {}", count(number as i64), nouns)
}

/// `a`, `a and b`, `a, b and c`; of many the first four, and how many more.
#[must_use]
pub fn listed(names: &[String]) -> String {
    const TOLD: usize = 4;
    match names {
        [first @ .., last] if !first.is_empty() && names.len() <= TOLD => format!("{} and {last}", first.join(", ")),
        _ if names.len() > TOLD => format!("{} and {} more", names[..TOLD].join(", "), names.len() - TOLD),
        _ => names.join(", "),
    }
}

/// Ranks by number, and a verb that goes with them: `rank 1` and `causes`, `ranks 0 and 6` and `cause`.
pub fn ranks(ranks: impl Iterator<Item = i64>, verb: &str) -> (String, String) {
    let names: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
    let (noun, ending) = if names.len() == 1 { ("rank", "s") } else { ("ranks", "") };
    (format!("{noun} {}", listed(&names)), format!("{verb}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_targets_stay_values() {
        let said = say!("{} waits {}: see {}.", "rank 3", ns(1e6), Target::of("comms"));
        let want = [
            Piece::Words("rank 3 waits ".to_owned()),
            Piece::Figure(ns(1e6)),
            Piece::Words(": see ".to_owned()),
            Piece::Target(Target::of("comms")),
            Piece::Words(".".to_owned()),
        ];
        assert_eq!(said.0, want);
        let mut spelled = said;
        spelled.spell(&|target| format!("`{}`", target.ask));
        assert_eq!(spelled.0[2..], [Piece::Words(": see `comms`.".to_owned())]);
    }

    #[test]
    fn lists_and_nouns_agree_with_their_number() {
        assert_eq!(ranks([3].into_iter(), "cause"), ("rank 3".to_owned(), "causes".to_owned()));
        assert_eq!(ranks([0, 6].into_iter(), "cause"), ("ranks 0 and 6".to_owned(), "cause".to_owned()));
        assert_eq!(ranks(0..6, "cause").0, "ranks 0, 1, 2, 3 and 2 more");
        assert_eq!(counted(1, "step"), say!("{} step", count(1)));
        assert_eq!(counted(1024, "copy"), say!("{} copies", count(1024)));
    }

    #[test]
    fn facts_have_a_sign_between_them() {
        let facts = Sentence::facts(["2 GPUs".into(), ns(5.0).into()]);
        assert_eq!(facts.0[1], Piece::Separator(()));
        assert_eq!(facts.0.len(), 3);
    }
}
