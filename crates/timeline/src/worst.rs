//! Where to look for a finding: the instance of it that takes most time.

use std::sync::LazyLock;

use stepscope_analyses::TensorCoreNames;
use stepscope_engine::CancelFlag;
use stepscope_model::WorstInstance;
use stepscope_rules::is_loading_region;
use stepscope_runs::{Frame, RunError};

use super::{Timelines, condition, zero_of};

/// How instances of a rule are found.
struct Instances {
    rule: &'static str,
    /// Rows with `name`, `span_id` (null where it is not one event), `start_ns` and `dur_ns`, of which the longest is the
    /// worst. `{events}` stands for the condition on the recording and the time.
    sql: &'static str,
    /// Whether the rule means events of a name; all if not given.
    is_meant: Option<fn(&str) -> bool>,
}

static INSTANCES: [Instances; 12] = [
    Instances {
        rule: "data_loading",
        sql: "SELECT name, first_value(span_id ORDER BY dur_ns DESC, span_id) AS span_id,
                     first_value(start_ns ORDER BY dur_ns DESC, span_id) AS start_ns, max(dur_ns) AS dur_ns
              FROM timeline_spans WHERE {events} AND kind = 'ann' GROUP BY name",
        is_meant: Some(|name| name.starts_with("enumerate(Data") || is_loading_region(name)),
    },
    Instances { rule: "communication", sql: COMMUNICATION, is_meant: None },
    Instances { rule: "straggler", sql: COMMUNICATION, is_meant: None },
    Instances { rule: "non_nccl", sql: COMMUNICATION, is_meant: None },
    Instances {
        rule: "low_utilization",
        // From the latest end before an event to its start nothing runs on the device.
        sql: "SELECT NULL AS name, NULL AS span_id, idle_from AS start_ns, start_ns - idle_from AS dur_ns
              FROM (
                SELECT start_ns, max(end_ns) OVER (
                  PARTITION BY device_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ) AS idle_from
                FROM device_events WHERE {events}
              )
              WHERE start_ns > idle_from",
        is_meant: None,
    },
    Instances {
        rule: "many_small_kernels",
        sql: "SELECT launch.name, launch.span_id, launch.start_ns, launch.dur_ns
              FROM (SELECT * FROM runtime_calls WHERE {events}) AS launch
              JOIN (SELECT launch_id, dur_ns FROM device_events WHERE {events}) AS device
                ON device.launch_id = launch.span_id
              WHERE launch.dur_ns > device.dur_ns",
        is_meant: None,
    },
    Instances {
        rule: "frequent_synchronization",
        sql: "SELECT name, span_id, start_ns, dur_ns FROM runtime_calls WHERE {events} AND name LIKE '%Synchronize%'",
        is_meant: None,
    },
    Instances {
        rule: "pageable_copies",
        sql: "SELECT name, span_id, start_ns, dur_ns FROM device_events
              WHERE {events} AND kind = 'memcpy' AND name LIKE '%Pageable%'",
        is_meant: None,
    },
    Instances {
        rule: "tensor_cores_idle",
        sql: "SELECT name, first_value(span_id ORDER BY dur_ns DESC, span_id) AS span_id,
                     first_value(start_ns ORDER BY dur_ns DESC, span_id) AS start_ns, max(dur_ns) AS dur_ns
              FROM device_events WHERE {events} AND category IN ('gemm', 'convolution', 'attention') GROUP BY name",
        is_meant: Some(|name| TENSOR_CORES.as_ref().is_some_and(|names| !names.are_used(name))),
    },
    Instances {
        rule: "unfused_elementwise",
        sql: "SELECT name, span_id, start_ns, dur_ns FROM device_events WHERE {events} AND category = 'elementwise'",
        is_meant: None,
    },
    Instances {
        rule: "data_parallel",
        sql: "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans WHERE {events} AND name LIKE 'DataParallel.%'",
        is_meant: None,
    },
    Instances {
        rule: "memory_pressure",
        // The peak is a moment; the highest level takes the place of the longest time.
        sql: "SELECT NULL AS name, NULL AS span_id, start_ns, level_bytes AS dur_ns
              FROM (SELECT *, ts_ns AS start_ns FROM memory_curve) WHERE {events} AND device LIKE 'gpu%'",
        is_meant: None,
    },
];

const COMMUNICATION: &str =
    "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans WHERE {events} AND class = 'communication'";

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
        let Some(instances) = INSTANCES.iter().find(|known| known.rule == rule) else { return Ok(None) };
        // What happens before the first step or behind the last, such as starting workers, is no instance.
        let (zero, steps) = (zero_of(source), self.steps(source, cancel)?);
        let first = scope.from_ns.or_else(|| steps.first().map(|step| step.start_ns));
        let last = scope.to_ns.or_else(|| steps.last().map(|step| step.end_ns));
        let bound = |way: &str, time: Option<i64>| {
            time.map_or_else(String::new, |time| format!(" AND start_ns {way} {}", time.saturating_add(zero)))
        };
        let events = format!("{}{}{}", condition(source), bound(">=", first), bound("<", last));
        let limit = if instances.is_meant.is_some() { MOST_NAMES } else { 1 };
        let sql = format!(
            "SELECT name, span_id, start_ns, dur_ns FROM ({}) ORDER BY dur_ns DESC, start_ns LIMIT {limit}",
            instances.sql.replace("{events}", &events)
        );
        let frame = Frame::new(self.run.ask(&sql, cancel)?);
        let names = frame.text("name")?;
        let (ids, starts) = (frame.i64("span_id")?, frame.required_i64("start_ns")?);
        let lengths = frame.required_i64("dur_ns")?;
        let is_meant =
            |name: &Option<String>| instances.is_meant.is_none_or(|is_meant| name.as_deref().is_some_and(is_meant));
        let worst = names.iter().position(is_meant).map(|row| WorstInstance {
            rank: source.id.rank,
            window: source.id.window,
            span_id: ids[row],
            start_ns: starts[row] - zero,
            dur_ns: lengths[row],
        });
        Ok(match rule {
            "memory_pressure" => worst.map(|peak| around(&peak)),
            _ => worst,
        })
    }
}

/// A moment with the time around it.
fn around(peak: &WorstInstance) -> WorstInstance {
    WorstInstance { start_ns: (peak.start_ns - MOMENT_NS / 2).max(0), dur_ns: MOMENT_NS, ..peak.clone() }
}

#[cfg(test)]
mod tests {
    use stepscope_rules::RULES;

    use super::INSTANCES;

    #[test]
    fn every_rule_says_where_to_look() {
        for rule in RULES {
            assert!(INSTANCES.iter().any(|known| known.rule == rule.name), "{}", rule.name);
        }
    }
}
