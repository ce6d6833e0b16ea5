//! From what rules found and what their changes save to findings: severity, order, and symptoms that step back.

use std::cmp::Ordering;

use stepscope_model::null_reason::NOT_APPLICABLE;
use stepscope_model::{Finding, PredictedSaving, Severity};

use super::limits::{EXPLAINED, HIGH, LOW, MEDIUM};
use super::{Causes, Facts, Found, Rule, Thresholds, Weight};

/// A rule that found something, and what its change saves.
#[derive(Debug)]
pub struct Fired {
    /// The rule.
    pub rule: &'static Rule,
    /// What the change of its remedy saves, or why that is not known; stays `None` for a rule without a remedy.
    pub saving: Option<Result<PredictedSaving, String>>,
    pub(crate) found: Found,
}

/// A rule that found something that is not worth showing.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// Its name.
    pub rule: &'static str,
    /// What its change saves per step.
    pub saving_ns: Option<f64>,
    /// Why it is not shown.
    pub reason: String,
}

/// What is shown, in order, and what is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Findings, the one that saves most first.
    pub findings: Vec<Finding>,
    /// The rest, in the order of the rules.
    pub left_out: Vec<LeftOut>,
}

impl Fired {
    /// Time of a step at stake.
    #[must_use]
    pub fn at_stake_ns(&self) -> Option<f64> {
        self.found.at_stake_ns
    }

    fn saving_ns(&self) -> Option<f64> {
        Some(self.saving.as_ref()?.as_ref().ok()?.saving_ns)
    }

    /// Whether a symptom may come from it: what it saves is known, and it is not what anything may cause.
    fn is_cause_of(&self, symptom: &Rule) -> bool {
        symptom.explained_by.has(self.rule.name) && self.rule.explained_by != Causes::Any && self.saving_ns().is_some()
    }

    /// Leaves out what the fixes of its causes save already.
    fn leave_out(&mut self, saved_ns: f64) {
        if let Some(Ok(saving)) = &mut self.saving {
            for ns in [&mut saving.saving_ns, &mut saving.low_ns, &mut saving.high_ns] {
                *ns = (*ns - saved_ns).max(0.0);
            }
        }
    }

    /// How bad it is; `None` if its change saves too little to be shown.
    fn severity(&self, step_ns: f64, thresholds: &Thresholds) -> Option<Severity> {
        match (&self.rule.weight, &self.saving) {
            (Weight::Fixed(severity), _) => Some(*severity),
            (Weight::Saving(_), Some(Ok(saving))) => {
                let is_at_least = |threshold| saving.saving_ns >= thresholds.common(threshold) * step_ns;
                if !is_at_least(&LOW) || saving.saving_ns <= 0.0 {
                    None
                } else if is_at_least(&HIGH) && saving.low_ns > 0.0 {
                    Some(Severity::High)
                } else {
                    Some(if is_at_least(&MEDIUM) { Severity::Medium } else { Severity::Low })
                }
            }
            // What nothing proves is good to know at most.
            (Weight::Saving(_), _) => Some(Severity::Low),
        }
    }

    fn into_finding(self, severity: Severity, facts: &Facts, thresholds: &Thresholds) -> Finding {
        let Self { rule, saving, found } = self;
        let change = match &rule.weight {
            Weight::Saving(remedy) => Some(remedy.change()),
            Weight::Fixed(_) => None,
        };
        Finding {
            rule: rule.name,
            what: rule.what(thresholds),
            why: rule.why,
            title: found.title,
            severity,
            at_stake_ns: found.at_stake_ns,
            change,
            saving: saving.unwrap_or_else(|| Err(NOT_APPLICABLE.to_owned())),
            evidence: found.evidence,
            figures: found.figures,
            fix: rule.advice(facts),
            not_this: rule.not_this,
            show: rule.show,
        }
    }
}

/// Decides what is shown. A step takes `step_ns`; `together` says what the changes of several rules save together.
pub fn judge(
    fired: Vec<Fired>,
    step_ns: f64,
    (facts, thresholds): (&Facts, &Thresholds),
    mut together: impl FnMut(&[&'static Rule]) -> Option<f64>,
) -> Verdict {
    let mut verdict = Verdict::default();
    let mut shown: Vec<(Fired, Severity)> = Vec::new();
    // Causes come first, then what a few of them explain, then what anything may explain.
    let mut fired = fired;
    fired.sort_by_key(|fired| match fired.rule.explained_by {
        Causes::None => 0,
        Causes::These(_) => 1,
        Causes::Any => 2,
    });
    for mut fired in fired {
        let (rule, saving_ns) = (fired.rule.name, fired.saving_ns());
        let causes: Vec<&'static Rule> =
            shown.iter().filter(|(cause, _)| cause.is_cause_of(fired.rule)).map(|(cause, _)| cause.rule).collect();
        let worth_ns = saving_ns.or(fired.found.at_stake_ns).filter(|_| !causes.is_empty());
        if let Some(worth_ns) = worth_ns
            && let Some(saved_ns) = together(&causes)
        {
            let with_it: Vec<&'static Rule> = causes.iter().copied().chain([fired.rule]).collect();
            let explained_ns = match fired.rule.explained_by {
                // What is left of it once its causes are gone is its own.
                Causes::These(_) => together(&with_it).map_or(saved_ns, |all_ns| worth_ns - (all_ns - saved_ns)),
                _ => saved_ns,
            };
            if explained_ns >= worth_ns * thresholds.common(&EXPLAINED) {
                let names: Vec<&str> = causes.iter().map(|cause| cause.name).collect();
                let reason = format!("other findings explain it: {}", names.join(", "));
                verdict.left_out.push(LeftOut { rule, saving_ns, reason });
                continue;
            }
            if let Causes::These(_) = fired.rule.explained_by {
                fired.leave_out(explained_ns.max(0.0));
            }
        }
        let Some(severity) = fired.severity(step_ns, thresholds) else {
            let reason = "its change saves too little".to_owned();
            verdict.left_out.push(LeftOut { rule, saving_ns, reason });
            continue;
        };
        shown.push((fired, severity));
    }
    verdict.findings =
        shown.into_iter().map(|(fired, severity)| fired.into_finding(severity, facts, thresholds)).collect();
    verdict.findings.sort_by(order);
    verdict
}

/// What saves most comes first, then what is most severe, then what has most time at stake.
fn order(a: &Finding, b: &Finding) -> Ordering {
    let saving = |finding: &Finding| finding.saving.as_ref().map_or(-1.0, |saving| saving.saving_ns);
    let at_stake = |finding: &Finding| finding.at_stake_ns.unwrap_or(-1.0);
    let of = |finding: &Finding| (saving(finding), at_stake(finding));
    let ((saving_a, stake_a), (saving_b, stake_b)) = (of(a), of(b));
    saving_b
        .total_cmp(&saving_a)
        .then(a.severity.cmp(&b.severity))
        .then(stake_b.total_cmp(&stake_a))
        .then(a.rule.cmp(b.rule))
}

#[cfg(test)]
mod tests {
    use stepscope_model::Sentence;

    use super::*;
    use crate::{
        data_loading, launch_bound, low_utilization, memory_pressure, pageable_copies, straggler, tensor_cores_idle,
    };

    const STEP_NS: f64 = 1000.0;

    /// What a change saves, or why that is not known.
    type Outcome = Result<PredictedSaving, String>;

    fn saves(saving_ns: f64, low_ns: f64) -> PredictedSaving {
        PredictedSaving { saving_ns, low_ns, high_ns: saving_ns, bound: "estimate", confidence: "high" }
    }

    fn unknown() -> Outcome {
        Err("model error".to_owned())
    }

    fn fired(rule: &'static Rule, saving: Option<Outcome>, at_stake_ns: f64) -> Fired {
        let found = Found {
            title: Sentence::from(rule.name),
            at_stake_ns: Some(at_stake_ns),
            evidence: Vec::new(),
            figures: Vec::new(),
        };
        Fired { rule, saving, found }
    }

    fn judged(fired: Vec<Fired>, together_ns: Option<f64>) -> Verdict {
        judge(fired, STEP_NS, (&Facts::default(), &Thresholds::default()), |_| together_ns)
    }

    fn shown(verdict: &Verdict) -> Vec<(&'static str, &'static str)> {
        verdict.findings.iter().map(|finding| (finding.rule, finding.severity.as_text())).collect()
    }

    #[test]
    fn severity_is_the_share_of_the_step_that_is_saved() {
        #[track_caller]
        fn check(saving: Outcome, want: Option<Severity>) {
            let finding = fired(&data_loading::RULE, Some(saving), 500.0);
            assert_eq!(finding.severity(STEP_NS, &Thresholds::default()), want);
        }
        check(Ok(saves(100.0, 1.0)), Some(Severity::High));
        check(Ok(saves(99.9, 1.0)), Some(Severity::Medium));
        // Not resolved: the saving may be nothing.
        check(Ok(saves(500.0, 0.0)), Some(Severity::Medium));
        check(Ok(saves(30.0, 1.0)), Some(Severity::Medium));
        check(Ok(saves(29.9, 1.0)), Some(Severity::Low));
        check(Ok(saves(10.0, 1.0)), Some(Severity::Low));
        check(Ok(saves(9.9, 1.0)), None);
        check(Ok(saves(0.0, 0.0)), None);
        // Without a proof it is low, however much is at stake.
        check(unknown(), Some(Severity::Low));
        let mut lower = Thresholds::default();
        lower.set(crate::ALL_RULES, "high_ratio", 0.05).unwrap();
        let finding = fired(&data_loading::RULE, Some(Ok(saves(50.0, 1.0))), 500.0);
        assert_eq!(finding.severity(STEP_NS, &lower), Some(Severity::High));
        let fixed = fired(&memory_pressure::RULE, None, 0.0);
        assert_eq!(fixed.severity(STEP_NS, &lower), Some(Severity::Medium));
    }

    #[test]
    fn what_saves_most_comes_first() {
        let verdict = judged(
            vec![
                fired(&memory_pressure::RULE, None, 0.0),
                fired(&pageable_copies::RULE, Some(unknown()), 400.0),
                fired(&data_loading::RULE, Some(Ok(saves(50.0, 1.0))), 60.0),
                fired(&tensor_cores_idle::RULE, Some(Ok(saves(200.0, 1.0))), 300.0),
            ],
            None,
        );
        let want = [
            ("tensor_cores_idle", "high"),
            ("data_loading", "medium"),
            ("memory_pressure", "medium"),
            ("pageable_copies", "low"),
        ];
        assert_eq!(shown(&verdict), want);
        let changes: Vec<_> = verdict.findings.iter().map(|finding| finding.change).collect();
        assert_eq!(changes, [Some("scale"), Some("input_ready"), None, Some("async_copies_to_device")]);
        assert_eq!(verdict.findings[2].saving, Err(NOT_APPLICABLE.to_owned()));
        // Of equals the more severe, then the one with more at stake, then the name.
        let equal = judged(
            vec![
                fired(&tensor_cores_idle::RULE, Some(unknown()), 10.0),
                fired(&pageable_copies::RULE, Some(unknown()), 20.0),
                fired(&data_loading::RULE, Some(unknown()), 10.0),
            ],
            None,
        );
        let names: Vec<_> = equal.findings.iter().map(|finding| finding.rule).collect();
        assert_eq!(names, ["pageable_copies", "data_loading", "tensor_cores_idle"]);
    }

    #[test]
    fn what_saves_too_little_is_left_out_with_its_saving() {
        let verdict = judged(vec![fired(&data_loading::RULE, Some(Ok(saves(9.0, 0.0))), 300.0)], None);
        assert!(verdict.findings.is_empty());
        let left_out = &verdict.left_out[0];
        assert_eq!((left_out.rule, left_out.saving_ns), ("data_loading", Some(9.0)));
    }

    #[test]
    fn a_symptom_steps_back_behind_what_causes_it() {
        // The device idles for 500 ns of the step.
        let of =
            |cause: Fired, together_ns| judged(vec![fired(&low_utilization::RULE, None, 500.0), cause], together_ns);
        let loading = || fired(&data_loading::RULE, Some(Ok(saves(400.0, 300.0))), 400.0);
        let verdict = of(loading(), Some(400.0));
        assert_eq!(shown(&verdict), [("data_loading", "high")]);
        assert_eq!(verdict.left_out[0].reason, "other findings explain it: data_loading");
        // Less than 80 % of it is explained.
        assert_eq!(shown(&of(loading(), Some(399.9))).len(), 2);
        // Nothing is known about the combination.
        assert_eq!(shown(&of(loading(), None)).len(), 2);
        // What is not proved explains nothing, and what is not shown neither.
        assert_eq!(shown(&of(fired(&data_loading::RULE, Some(unknown()), 400.0), Some(500.0))).len(), 2);
        assert_eq!(shown(&of(fired(&data_loading::RULE, Some(Ok(saves(9.0, 0.0))), 400.0), Some(500.0))).len(), 1);
        // A symptom alone, and beside another one.
        let launches = fired(&launch_bound::RULE, Some(Ok(saves(500.0, 400.0))), 500.0);
        assert_eq!(shown(&of(launches, Some(500.0))).len(), 2);
        assert_eq!(shown(&judged(vec![fired(&low_utilization::RULE, None, 500.0)], Some(500.0))).len(), 1);
    }

    #[test]
    fn a_symptom_saves_what_it_adds_to_its_causes() {
        let causes = || {
            let loading = fired(&data_loading::RULE, Some(Ok(saves(100.0, 90.0))), 100.0);
            vec![fired(&straggler::RULE, Some(Ok(saves(120.0, 110.0))), 120.0), loading]
        };
        let of = |alone_ns: f64, both_ns: Option<f64>| {
            judge(causes(), STEP_NS, (&Facts::default(), &Thresholds::default()), |rules| {
                if rules.len() == 1 { Some(alone_ns) } else { both_ns }
            })
        };
        let verdict = of(100.0, Some(160.0));
        let savings = verdict.findings.iter().map(|finding| finding.saving.as_ref().unwrap());
        let savings: Vec<_> = savings.map(|saving| (saving.saving_ns, saving.low_ns)).collect();
        assert_eq!((shown(&verdict)[1], savings), (("straggler", "medium"), vec![(100.0, 90.0), (60.0, 50.0)]));
        // A fifth of it, or less, is left.
        assert_eq!(shown(&of(100.0, Some(124.0))), [("data_loading", "high")]);
        // What cannot be replayed together loses what its causes save.
        assert_eq!(shown(&of(100.0, None)), [("data_loading", "high")]);
        assert_eq!(shown(&of(50.0, None))[1], ("straggler", "medium"));
    }

    #[test]
    fn only_causes_that_are_shown_are_replayed_together() {
        let causes = vec![
            fired(&low_utilization::RULE, None, 500.0),
            fired(&data_loading::RULE, Some(Ok(saves(100.0, 1.0))), 0.0),
            fired(&tensor_cores_idle::RULE, Some(Ok(saves(5.0, 1.0))), 0.0),
            fired(&pageable_copies::RULE, Some(Ok(saves(60.0, 1.0))), 0.0),
            fired(&memory_pressure::RULE, None, 0.0),
        ];
        let mut asked = Vec::new();
        judge(causes, STEP_NS, (&Facts::default(), &Thresholds::default()), |rules| {
            asked.push(rules.iter().map(|rule| rule.name).collect::<Vec<_>>());
            None
        });
        assert_eq!(asked, [["data_loading", "pageable_copies"]]);
    }
}
