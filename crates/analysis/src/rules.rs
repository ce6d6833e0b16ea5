//! The rules: one file each, and the list of them. A rule is a pure function of facts; it cannot ask anything.
//!
//! Every rule is documented in four parts: what it sees, why that costs time, what to change, and when it is a false
//! alarm. `stepscope diagnose` and the documentation print them.

mod communication;
mod data_loading;
mod data_parallel;
mod facts;
mod frequent_synchronization;
mod low_utilization;
mod many_small_kernels;
mod memory_pressure;
mod non_nccl;
mod pageable_copies;
mod straggler;
mod tensor_cores_idle;

use std::cmp::Ordering;

use stepscope_model::{Finding, Severity};

pub(crate) use self::data_loading::is_loading_region;
pub(crate) use self::facts::Facts;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Name in JSON, and of its file.
    pub name: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// What it sees.
    pub what: &'static str,
    /// Why that costs time.
    pub why: &'static str,
    /// The code to change.
    pub fix: &'static str,
    /// When it is a false alarm.
    pub not_this: &'static str,
    /// The command that shows more.
    pub show: &'static str,
    pub(crate) find: fn(&Facts) -> Option<Found>,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub severity: Severity,
    /// Time of a step at stake, in nanoseconds.
    pub at_stake_ns: Option<f64>,
    /// What was measured, the shortest first.
    pub evidence: Vec<String>,
}

/// Every rule.
pub static RULES: [&Rule; 11] = [
    &data_loading::RULE,
    &communication::RULE,
    &straggler::RULE,
    &low_utilization::RULE,
    &tensor_cores_idle::RULE,
    &many_small_kernels::RULE,
    &frequent_synchronization::RULE,
    &pageable_copies::RULE,
    &data_parallel::RULE,
    &non_nccl::RULE,
    &memory_pressure::RULE,
];

/// What the rules find, the worst first.
pub(crate) fn findings(facts: &Facts) -> Vec<Finding> {
    let finding = |rule: &&Rule| {
        let Found { severity, at_stake_ns, evidence } = (rule.find)(facts)?;
        Some(Finding {
            rule: rule.name,
            title: rule.title,
            severity,
            at_stake_ns,
            evidence,
            fix: rule.fix,
            not_this: rule.not_this,
            show: rule.show,
        })
    };
    let mut findings: Vec<Finding> = RULES.iter().filter_map(finding).collect();
    findings.sort_by(|a, b| {
        let stake = |finding: &Finding| finding.at_stake_ns.unwrap_or(0.0);
        a.severity.cmp(&b.severity).then(stake(b).partial_cmp(&stake(a)).unwrap_or(Ordering::Equal))
    });
    findings
}
