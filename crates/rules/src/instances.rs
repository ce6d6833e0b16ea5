//! Where a finding is on the timeline: how its instances are found. The statements are data; whoever draws asks them.

/// How instances of a finding are found.
#[derive(Debug)]
pub struct Instances {
    /// Rows with `name`, `span_id` (null where it is not one event), `start_ns` and `dur_ns`, of which the longest is the
    /// worst. `{events}` stands for the condition on the recording and the time.
    pub sql: &'static str,
    /// Which of them are meant.
    pub meant: Meant,
    /// Whether each is a moment: then `dur_ns` says how bad it is, and not how long.
    pub is_moment: bool,
}

/// Which events a rule means.
#[derive(Debug)]
pub enum Meant {
    /// All of them.
    All,
    /// Those of some names.
    Named(fn(&str) -> bool),
    /// Kernels that do not use tensor cores.
    WithoutTensorCores,
}

impl Instances {
    pub(crate) const fn all(sql: &'static str) -> Self {
        Self { sql, meant: Meant::All, is_moment: false }
    }

    pub(crate) const fn communication() -> Self {
        Self::all(
            "SELECT name, span_id, start_ns, dur_ns FROM timeline_spans WHERE {events} AND class = 'communication'",
        )
    }

    /// The moment when a device holds most: the highest level takes the place of the longest time.
    pub(crate) const fn memory_peak() -> Self {
        let sql = "SELECT NULL AS name, NULL AS span_id, start_ns, level_bytes AS dur_ns
           FROM (SELECT *, ts_ns AS start_ns FROM memory_curve) WHERE {events} AND device LIKE 'gpu%'";
        Self { sql, meant: Meant::All, is_moment: true }
    }
}
