//! Thresholds: from where on a rule speaks. They are data, which a file of the user may change.

use std::collections::BTreeMap;

use stepscope_model::Unit;

use super::{RULES, Rule};

/// From where on a rule speaks. The end of the name is the unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Name in files and in JSON.
    pub name: &'static str,
    /// Value unless a file changes it.
    pub value: f64,
    /// What is compared with it, and how.
    pub meaning: &'static str,
}

/// The name under which a file changes what holds for all rules.
pub const ALL_RULES: &str = "findings";

/// Share of the step from which on a saving is of high severity, if it is resolved.
pub(crate) const HIGH: Threshold =
    Threshold { name: "high_ratio", value: 0.10, meaning: "a saving of this share of the step or more is high" };
/// The same for medium.
pub(crate) const MEDIUM: Threshold =
    Threshold { name: "medium_ratio", value: 0.03, meaning: "a saving of this share of the step or more is medium" };
/// The same for low.
pub(crate) const LOW: Threshold =
    Threshold { name: "low_ratio", value: 0.01, meaning: "a saving below this share of the step is not shown" };
/// Share of a symptom that its causes must save together for it to step back.
pub(crate) const EXPLAINED: Threshold = Threshold {
    name: "explained_ratio",
    value: 0.80,
    meaning: "a symptom is not shown if other findings save this share of it together",
};
/// Share of the steps that must show what a rule is about.
pub(crate) const STEPS: Threshold =
    Threshold { name: "steps_ratio", value: 0.50, meaning: "what a rule is about must be in this share of the steps" };

/// What holds for all rules.
pub static COMMON: [Threshold; 5] = [HIGH, MEDIUM, LOW, EXPLAINED, STEPS];

/// The thresholds, with what a user changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds(BTreeMap<(&'static str, &'static str), f64>);

/// Why a threshold cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No rule has that name.
    Rule,
    /// The rule has no such threshold.
    Name,
    /// It is below 0 or not a number.
    Value,
}

impl Thresholds {
    /// Every threshold: the rule, or [`ALL_RULES`], and its threshold.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static Threshold)> {
        let of_rules = RULES.iter().flat_map(|rule| rule.thresholds.iter().map(|threshold| (rule.name, threshold)));
        COMMON.iter().map(|threshold| (ALL_RULES, threshold)).chain(of_rules)
    }

    /// Changes one.
    pub fn set(&mut self, rule: &str, name: &str, value: f64) -> Result<(), Refused> {
        let mut of_rule = Self::all().filter(|(known, _)| *known == rule).peekable();
        of_rule.peek().ok_or(Refused::Rule)?;
        let (rule, threshold) = of_rule.find(|(_, known)| known.name == name).ok_or(Refused::Name)?;
        if !value.is_finite() || value < 0.0 {
            return Err(Refused::Value);
        }
        self.0.insert((rule, threshold.name), value);
        Ok(())
    }

    /// The value of a threshold of a rule.
    #[must_use]
    pub fn value(&self, rule: &str, threshold: &Threshold) -> f64 {
        let changed = self.0.iter().find(|((of, name), _)| *of == rule && *name == threshold.name);
        changed.map_or(threshold.value, |(_, value)| *value)
    }

    pub(crate) fn common(&self, threshold: &Threshold) -> f64 {
        self.value(ALL_RULES, threshold)
    }

    pub(crate) fn of(&self, rule: &Rule) -> Limits<'_> {
        Limits { rule: rule.name, thresholds: self }
    }
}

/// The thresholds of one rule.
pub(crate) struct Limits<'a> {
    rule: &'static str,
    thresholds: &'a Thresholds,
}

impl Limits<'_> {
    /// The value of one.
    pub(crate) fn of(&self, threshold: &Threshold) -> f64 {
        self.thresholds.value(self.rule, threshold)
    }

    /// Those of all rules.
    pub(crate) fn all(&self) -> &Thresholds {
        self.thresholds
    }

    /// Share of the steps that must show what the rule is about.
    pub(crate) fn steps(&self) -> f64 {
        self.thresholds.common(&STEPS)
    }

    /// The text with each `{name}` replaced by the value of that threshold.
    pub(crate) fn fill(&self, text: &str, thresholds: &[Threshold]) -> String {
        let fill = |text: String, threshold: &Threshold| {
            text.replace(&format!("{{{}}}", threshold.name), &in_words(threshold.name, self.of(threshold)))
        };
        thresholds.iter().fold(text.to_owned(), fill)
    }
}

/// A threshold as people write it; it is exact, not rounded.
fn in_words(name: &str, value: f64) -> String {
    // Decimals as in the source: 0.07 · 100 is not 7 in binary.
    let short = |value: f64| format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned();
    match Unit::of_name(name) {
        Unit::Ratio => format!("{} %", short(value * 100.0)),
        Unit::Nanoseconds if value >= 1e6 => format!("{} ms", short(value / 1e6)),
        Unit::Nanoseconds => format!("{} µs", short(value / 1e3)),
        Unit::Bytes if value >= 1e9 => format!("{} GB", short(value / 1e9)),
        Unit::Bytes => format!("{} MB", short(value / 1e6)),
        _ => short(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "exact by construction")]
    fn a_changed_threshold_holds_for_its_rule_alone() {
        let mut thresholds = Thresholds::default();
        assert_eq!(thresholds.common(&HIGH), 0.10);
        thresholds.set(ALL_RULES, "high_ratio", 0.2).unwrap();
        assert_eq!((thresholds.common(&HIGH), thresholds.common(&MEDIUM)), (0.2, 0.03));
        thresholds.set("data_loading", "share_ratio", 0.5).unwrap();
        let shares = Thresholds::all().filter(|(_, threshold)| threshold.name == "share_ratio");
        for (rule, threshold) in shares {
            let is_changed = thresholds.value(rule, threshold) != threshold.value;
            assert_eq!(is_changed, rule == "data_loading", "{rule}");
        }
        assert_eq!(thresholds.set("data_loading", "share_ratio", 0.0), Ok(()));
        assert_eq!(thresholds.set("no_such_rule", "share_ratio", 0.5), Err(Refused::Rule));
        assert_eq!(thresholds.set("data_loading", "no_such", 0.5), Err(Refused::Name));
        assert_eq!(thresholds.set("data_loading", "share_ratio", f64::NAN), Err(Refused::Value));
        assert_eq!(thresholds.set("data_loading", "share_ratio", -0.1), Err(Refused::Value));
    }

    #[test]
    fn names_are_unique_and_say_their_unit() {
        let mut names: Vec<_> = Thresholds::all().map(|(rule, threshold)| (rule, threshold.name)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        for (rule, threshold) in Thresholds::all() {
            assert!(threshold.value > 0.0 && !threshold.meaning.is_empty(), "{rule} {threshold:?}");
            let is_share = Unit::of_name(threshold.name) == Unit::Ratio;
            assert!(!is_share || threshold.value < 2.0, "{rule} {threshold:?}");
        }
    }

    #[test]
    fn values_are_written_as_people_do() {
        for (name, value, want) in [
            ("share_ratio", 0.05, "5 %"),
            ("share_ratio", 0.07, "7 %"),
            ("share_ratio", 0.125, "12.5 %"),
            ("least_ns", 50_000.0, "50 µs"),
            ("least_ns", 1_500_000.0, "1.5 ms"),
            ("least_bytes", 1e9, "1 GB"),
            ("least_bytes", 1e6, "1 MB"),
            ("launches_per_step", 100.0, "100"),
        ] {
            assert_eq!(in_words(name, value), want);
        }
    }
}
