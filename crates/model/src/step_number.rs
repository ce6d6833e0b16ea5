//! The numbers of steps.

/// The numbers of the steps of one recording, by their place: those that the profiler wrote into their names
/// (`ProfilerStep#16` is 16, `train 16` too) if all have one and they increase, else the places, from 0.
#[must_use]
pub fn step_numbers<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<i64> {
    let recorded: Option<Vec<i64>> = names.clone().map(number_in).collect();
    recorded
        .filter(|numbers| numbers.is_sorted_by(|one, next| one < next))
        .unwrap_or_else(|| (0..).zip(names).map(|(place, _)| place).collect())
}

fn number_in(name: &str) -> Option<i64> {
    let (_, digits) = name.rsplit_once(['#', ' '])?;
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::step_numbers;

    #[track_caller]
    fn check(names: &[&str], want: &[i64]) {
        assert_eq!(step_numbers(names.iter().copied()), want, "{names:?}");
    }

    #[test]
    fn recorded_numbers_count_if_they_are_of_use() {
        check(&[], &[]);
        check(&["ProfilerStep#16", "ProfilerStep#17"], &[16, 17]);
        check(&["ProfilerStep#3", "ProfilerStep#9"], &[3, 9]);
        // Two profilers, one inside the other; a mark without a number; serving.
        check(&["ProfilerStep#3", "ProfilerStep#3"], &[0, 1]);
        check(&["ProfilerStep#3", "ProfilerStep"], &[0, 1]);
        check(&["execute_context_1(8)", "execute_context_2(8)"], &[0, 1]);
        check(&["ProfilerStep#-1", "ProfilerStep#99999999999999999999"], &[0, 1]);
    }
}
