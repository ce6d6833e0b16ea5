//! Gives each instant of a step to the first class that is active.

use stepscope_model::Class;

/// Time of each class between `start_ns` and `end_ns`, which no work may leave; in the order of [`Class::ALL`].
pub(crate) fn class_times(
    start_ns: i64,
    end_ns: i64,
    work: impl Iterator<Item = (Class, i64, i64)>,
) -> [i64; Class::ALL.len()] {
    let mut edges: Vec<(i64, Class, i32)> =
        work.flat_map(|(class, start, end)| [(start, class, 1), (end, class, -1)]).collect();
    edges.sort_unstable();
    let mut times = [0; Class::ALL.len()];
    let mut active = [0; Class::ALL.len()];
    let mut now_ns = start_ns;
    for (at_ns, class, change) in edges {
        times[first_active(&active)] += at_ns - now_ns;
        now_ns = at_ns;
        active[class as usize] += change;
    }
    times[Class::Other as usize] += end_ns - now_ns;
    times
}

fn first_active(active: &[i32; Class::ALL.len()]) -> usize {
    active.iter().position(|&count| count > 0).unwrap_or(Class::Other as usize)
}

#[cfg(test)]
mod tests {
    use super::class_times;
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
        let times = class_times(0, 100, work.into_iter());
        let of = |class: Class| times[class as usize];
        assert_eq!(of(Class::Kernel), 30);
        assert_eq!(of(Class::Communication), 25);
        assert_eq!(of(Class::Runtime), 5);
        assert_eq!(of(Class::CpuExec), 10);
        assert_eq!(of(Class::Other), 30);
        assert_eq!(times.iter().sum::<i64>(), 100);
    }
}
