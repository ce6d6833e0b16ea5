//! Shares out the time of a step: each instant goes to the first class that is active.

use stepscope_model::Class;

/// What a stretch of time goes to (metrics, section 6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Time of each class, in the order of [`Class::ALL`]; together all of it.
    pub class_ns: [i64; Class::ALL.len()],
    /// Time in which anything communicates.
    pub all_communication_ns: i64,
    /// The part of it in which a kernel computes.
    pub overlap_ns: i64,
    /// Time in which a kernel of any kind runs.
    pub kernel_busy_ns: i64,
    /// Time in which the device does anything.
    pub device_busy_ns: i64,
}

impl Shares {
    /// Time of a class.
    #[must_use]
    pub fn of(&self, class: Class) -> i64 {
        self.class_ns[class as usize]
    }

    /// Adds the shares of another stretch.
    pub fn add(&mut self, other: &Self) {
        for (sum, time) in self.class_ns.iter_mut().zip(other.class_ns) {
            *sum += time;
        }
        self.all_communication_ns += other.all_communication_ns;
        self.overlap_ns += other.overlap_ns;
        self.kernel_busy_ns += other.kernel_busy_ns;
        self.device_busy_ns += other.device_busy_ns;
    }

    fn take(&mut self, active: &[i32; Class::ALL.len()], length_ns: i64) {
        let is_active = |class: Class| active[class as usize] > 0;
        let class = Class::ALL.into_iter().find(|class| is_active(*class)).unwrap_or(Class::Other);
        self.class_ns[class as usize] += length_ns;
        let (computes, communicates) = (is_active(Class::Kernel), is_active(Class::Communication));
        let sums = [
            (&mut self.all_communication_ns, communicates),
            (&mut self.overlap_ns, computes && communicates),
            (&mut self.kernel_busy_ns, computes || communicates),
            (&mut self.device_busy_ns, computes || communicates || is_active(Class::Memcpy)),
        ];
        for (sum, counts) in sums {
            *sum += if counts { length_ns } else { 0 };
        }
    }
}

/// What the time between `start_ns` and `end_ns`, which no work may leave, goes to.
pub(crate) fn shares(start_ns: i64, end_ns: i64, work: impl Iterator<Item = (Class, i64, i64)>) -> Shares {
    let mut edges: Vec<(i64, Class, i32)> =
        work.flat_map(|(class, start, end)| [(start, class, 1), (end, class, -1)]).collect();
    edges.sort_unstable();
    let mut shares = Shares::default();
    let mut active = [0; Class::ALL.len()];
    let mut now_ns = start_ns;
    for (at_ns, class, change) in edges {
        shares.take(&active, at_ns - now_ns);
        now_ns = at_ns;
        active[class as usize] += change;
    }
    shares.take(&active, end_ns - now_ns);
    shares
}

#[cfg(test)]
mod tests {
    use super::shares;
    use stepscope_model::Class;

    #[test]
    fn the_first_active_class_takes_the_time() {
        let work = [
            (Class::CpuExec, 10, 60),
            (Class::Runtime, 20, 30),
            (Class::Kernel, 25, 50),
            (Class::Kernel, 40, 55),
            (Class::Communication, 45, 80),
        ];
        let shares = shares(0, 100, work.into_iter());
        let of = |class: Class| shares.of(class);
        assert_eq!(of(Class::Kernel), 30);
        assert_eq!(of(Class::Communication), 25);
        assert_eq!(of(Class::Runtime), 5);
        assert_eq!(of(Class::CpuExec), 10);
        assert_eq!(of(Class::Other), 30);
        assert_eq!(shares.class_ns.iter().sum::<i64>(), 100);
        assert_eq!((shares.all_communication_ns, shares.overlap_ns), (35, 10));
        assert_eq!((shares.kernel_busy_ns, shares.device_busy_ns), (55, 55));
    }
}
