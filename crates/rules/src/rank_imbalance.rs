//! Ranks have different amounts of work, and no single one is to blame.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Remedy, Rule, Threshold, Weight};

const RATIO: Threshold = Threshold {
    name: "imbalance",
    value: 1.05,
    meaning: "the longest time without waiting above this multiple of that of the rank in the middle",
};

pub(super) static RULE: Rule = Rule {
    name: "rank_imbalance",
    label: "Uneven ranks",
    what: "Without waiting, the slowest rank takes more than {imbalance} times as long as the rank in the middle, and no rank is a straggler.",
    why: "Every step takes as long as its slowest rank.",
    thresholds: &[RATIO],
    weight: Weight::Saving(Remedy::EqualRanks),
    explained_by: Causes::These(&["slow_link"]),
    fixes: &[Fix {
        code: "# give every rank the same work: sort or bucket inputs by length, balance experts and stages",
        when: &[],
    }],
    not_this: "if ranks have different work by design, as in pipelines",
    show: &[Target::of("comms"), Target::of("steps").grouped_by("rank")],
    instances: Instances::communication(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let waits = facts.waits.as_ref().filter(|waits| waits.stragglers.is_empty())?;
    let mut times: Vec<(i64, i64)> = waits.local_ns.iter().map(|(rank, local_ns)| (*local_ns, *rank)).collect();
    times.sort_unstable();
    let (middle_ns, _) = *times.get(times.len().checked_sub(1)? / 2)?;
    let (longest_ns, rank) = *times.last()?;
    let ratio = longest_ns as f64 / middle_ns.max(1) as f64;
    if ratio <= limits.of(&RATIO) {
        return None;
    }
    let steps = (facts.steps / times.len()).max(1) as f64;
    let more_ns = (longest_ns - middle_ns) as f64 / steps;
    let (longest_ns, middle_ns) = (longest_ns as f64 / steps, middle_ns as f64 / steps);
    let title =
        say!("Rank {} takes {} per step longer than the rank in the middle", rank.to_string(), say::ns(more_ns));
    let evidence = vec![say!(
        "without waiting it takes {} per step, the one in the middle {}",
        say::ns(longest_ns),
        say::ns(middle_ns)
    )];
    let figures = vec![("rank", rank as f64), ("longest_ns", longest_ns), ("middle_ns", middle_ns)];
    Some(Found { title, at_stake_ns: Some(more_ns), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::thresholds::{NOTHING, at, check, facts, figure};
    use crate::{Facts, Waits};

    #[test]
    fn the_slowest_rank_is_compared_with_the_one_in_the_middle() {
        // Ten steps of four ranks.
        let ranks = |local_ns: [i64; 4], stragglers: &[(i64, i64)]| {
            let local_ns = local_ns.into_iter().enumerate().map(|(rank, ns)| (rank as i64, ns)).collect();
            let waits = Waits { local_ns, stragglers: stragglers.to_vec(), ..Waits::default() };
            Facts { steps: 40, ranks: 4, waits: Some(waits), ..facts() }
        };
        check(&RULE, &ranks([1_000_000, 1_000_000, 1_050_001, 1_000_000], &[]), at(5_000.1));
        check(&RULE, &ranks([1_000_000, 1_000_000, 1_050_000, 1_000_000], &[]), NOTHING);
        // Of an even number the lower one is in the middle.
        check(&RULE, &ranks([900_000, 1_000_000, 1_100_000, 1_200_000], &[]), at(20_000.0));
        let uneven = ranks([900_000, 1_000_000, 1_100_000, 1_200_000], &[]);
        assert_eq!(figure(&RULE, &uneven, "longest_ns"), Some(120_000.0));
        assert_eq!(figure(&RULE, &uneven, "middle_ns"), Some(100_000.0));
        // The false alarm: one rank is to blame, which another rule says.
        check(&RULE, &ranks([1_000_000, 1_000_000, 2_000_000, 1_000_000], &[(2, 900_000)]), NOTHING);
        check(&RULE, &facts(), NOTHING);
    }
}
