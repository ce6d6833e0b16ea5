//! What is known of all regions of a name.

use stepscope_figures::sketch::Sketch;

/// The regions of one name, added up.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Times it was left.
    pub count: u64,
    /// Wall time of all.
    pub total_ns: i64,
    /// Of that, outside of the regions inside.
    pub self_ns: i64,
    /// The shortest.
    pub shortest_ns: i64,
    /// The longest.
    pub longest_ns: i64,
    /// Samples of all that gave some; `None` if none did.
    pub samples: Option<u64>,
    /// Wall time of those that gave samples.
    pub samples_ns: i64,
    /// Samples of the regions inside: of each call, those of the name that gave the most, as one batch passes through
    /// several regions. `None` if none gave any.
    pub inner_samples: Option<u64>,
    /// Wall time of the calls that had such regions inside.
    pub inner_samples_ns: i64,
    /// Whether calls were dropped, so that the rest here is not all.
    pub has_dropped: bool,
    /// When the one that was left last was entered; Unix time.
    pub last_start_ns: i64,
    /// When it was left.
    pub last_end_ns: i64,
    /// Whether it lay in no other region.
    pub last_is_outermost: bool,
    /// How long each took, as a sketch.
    pub durations: Sketch,
}

impl Totals {
    pub(crate) fn add(&mut self, start_ns: i64, end_ns: i64, inside_ns: i64, is_outermost: bool) {
        let dur_ns = end_ns - start_ns;
        self.shortest_ns = if self.count == 0 { dur_ns } else { self.shortest_ns.min(dur_ns) };
        self.longest_ns = self.longest_ns.max(dur_ns);
        self.count += 1;
        self.total_ns += dur_ns;
        self.self_ns += (dur_ns - inside_ns).max(0);
        self.durations.add(dur_ns);
        // Threads are emptied one after the other, so the last one to come is not always the last one in time.
        if end_ns >= self.last_end_ns {
            (self.last_start_ns, self.last_end_ns, self.last_is_outermost) = (start_ns, end_ns, is_outermost);
        }
    }

    pub(crate) fn add_samples(&mut self, samples: u64, dur_ns: i64) {
        *self.samples.get_or_insert(0) += samples;
        self.samples_ns += dur_ns;
    }

    pub(crate) fn add_inner_samples(&mut self, samples: u64, dur_ns: i64) {
        *self.inner_samples.get_or_insert(0) += samples;
        self.inner_samples_ns += dur_ns;
    }
}
