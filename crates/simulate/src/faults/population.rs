//! The jobs that findings are judged by.

use super::fault::Fault;
use super::job::FaultyJob;

/// Seeds of each fault alone.
const SEEDS_ALONE: u64 = 8;
/// Seeds of each pair.
const SEEDS_OF_PAIR: u64 = 2;
/// Jobs without a fault.
const HEALTHY: u64 = 60;

/// Every fault alone, every pair that does not exclude itself, and jobs without a fault. The seeds begin at `first_seed`:
/// jobs that a rule was tuned on are others than those that it is judged by.
#[must_use]
pub fn population(first_seed: u64) -> Vec<FaultyJob> {
    let mut kinds: Vec<(Vec<Fault>, u64)> = Vec::new();
    kinds.extend(Fault::ALL.map(|fault| (vec![fault], SEEDS_ALONE)));
    for (place, &one) in Fault::ALL.iter().enumerate() {
        let others = Fault::ALL[place + 1..].iter().filter(|&&other| one.excludes(other).is_none());
        kinds.extend(others.map(|&other| (vec![one, other], SEEDS_OF_PAIR)));
    }
    kinds.push((Vec::new(), HEALTHY));
    let jobs = kinds.iter().flat_map(|(faults, seeds)| (0..*seeds).map(move |seed| (faults, seed)));
    jobs.map(|(faults, seed)| FaultyJob::new(first_seed + seed, faults)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::population;
    use crate::faults::EXCLUSIVE;

    #[test]
    fn every_job_is_there_once() {
        let jobs = population(1);
        assert_eq!(jobs.len(), 14 * 8 + (91 - EXCLUSIVE.len()) * 2 + 60);
        let names: BTreeSet<String> = jobs.iter().map(super::FaultyJob::name).collect();
        assert_eq!(names.len(), jobs.len());
    }
}
