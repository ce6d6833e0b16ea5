//! Where to look for a finding: the instance of it that takes most time.

use std::sync::LazyLock;

use stepscope_analyses::TensorCoreNames;
use stepscope_engine::CancelFlag;
use stepscope_model::WorstInstance;
use stepscope_rules::{Meant, RULES};
use stepscope_runs::{Frame, RunError};

use super::{Timelines, condition, zero_of};

static TENSOR_CORES: LazyLock<Option<TensorCoreNames>> = LazyLock::new(|| TensorCoreNames::new().ok());

/// Names that are looked at where a rule means only some.
const MOST_NAMES: usize = 1_000;

/// Time that is shown of what is a moment.
const MOMENT_NS: i64 = 1_000_000;

/// Which recording a finding is about, and which part of it; times count from the first event.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindingScope {
    /// Rank; the first if not given.
    pub rank: Option<u32>,
    /// Window; the first if not given.
    pub window: Option<u32>,
    /// First time; the first step's if not given.
    pub from_ns: Option<i64>,
    /// Last time; the last step's if not given.
    pub to_ns: Option<i64>,
}

impl Timelines {
    /// The worst instance of what a rule finds; `None` if there is no place to point at, or no such rule.
    pub fn worst_instance(
        &self,
        rule: &str,
        scope: FindingScope,
        cancel: &CancelFlag,
    ) -> Result<Option<WorstInstance>, RunError> {
        let source = self.run.source(scope.rank, scope.window)?;
        let Some(rule) = RULES.iter().find(|known| known.name == rule) else { return Ok(None) };
        // What happens before the first step or behind the last, such as starting workers, is no instance.
        let (zero, steps) = (zero_of(source), self.steps(source, cancel)?);
        let first = scope.from_ns.or_else(|| steps.first().map(|step| step.start_ns));
        let last = scope.to_ns.or_else(|| steps.last().map(|step| step.end_ns));
        let bound = |way: &str, time: Option<i64>| {
            time.map_or_else(String::new, |time| format!(" AND start_ns {way} {}", time.saturating_add(zero)))
        };
        let events = format!("{}{}{}", condition(source), bound(">=", first), bound("<", last));
        let limit = if matches!(rule.instances.meant, Meant::All) { 1 } else { MOST_NAMES };
        let sql = format!(
            "SELECT name, span_id, start_ns, dur_ns FROM ({}) ORDER BY dur_ns DESC, start_ns LIMIT {limit}",
            rule.instances.sql.replace("{events}", &events)
        );
        let frame = Frame::new(self.run.ask(&sql, cancel)?);
        let names = frame.text("name")?;
        let (ids, starts) = (frame.i64("span_id")?, frame.required_i64("start_ns")?);
        let lengths = frame.required_i64("dur_ns")?;
        let is_meant = |name: &Option<String>| match (&rule.instances.meant, name) {
            (Meant::All, _) => true,
            (_, None) => false,
            (Meant::Named(is_meant), Some(name)) => is_meant(name),
            (Meant::WithoutTensorCores, Some(name)) => TENSOR_CORES.as_ref().is_some_and(|names| !names.are_used(name)),
        };
        let worst = names.iter().position(is_meant).map(|row| WorstInstance {
            rank: source.id.rank,
            window: source.id.window,
            span_id: ids[row],
            start_ns: starts[row] - zero,
            dur_ns: lengths[row],
        });
        Ok(if rule.instances.is_moment { worst.map(|peak| around(&peak)) } else { worst })
    }
}

/// A moment with the time around it.
fn around(peak: &WorstInstance) -> WorstInstance {
    WorstInstance { start_ns: (peak.start_ns - MOMENT_NS / 2).max(0), dur_ns: MOMENT_NS, ..peak.clone() }
}
