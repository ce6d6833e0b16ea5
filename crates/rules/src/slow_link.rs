//! A process group transfers slower than others.

use stepscope_model::{Target, say};

use super::{Causes, Facts, Fix, Found, Instances, Limits, Remedy, Rule, SlowLink, Threshold, Weight};

/// Below this share of the bandwidth of other groups, a link is slow.
pub static IS_SLOW: Threshold = Threshold {
    name: "bandwidth_ratio",
    value: 0.5,
    meaning: "bus bandwidth below this share of the median of other groups with the same collective and bytes",
};
/// Messages of fewer bytes say little about bandwidth.
pub const LEAST_BYTES: i64 = 1_000_000;

pub(super) static RULE: Rule = Rule {
    name: "slow_link",
    label: "Slow link",
    what: "The bus bandwidth of a process group is below {bandwidth_ratio} of the median of other groups with the same collective and bytes, from 1 MB on.",
    why: "All ranks of the group wait for the slowest link between them, and others wait for these ranks.",
    thresholds: &[IS_SLOW],
    weight: Weight::Saving(Remedy::EvenLinks),
    explained_by: Causes::None,
    fixes: &[
        Fix { code: "# NCCL_DEBUG=INFO shows the links that each group uses", when: &[] },
        Fix { code: "# compare these hosts: link speed, cable, NIC, PCIe slot", when: &[] },
    ],
    not_this: "if that group spans hosts and the others do not",
    show: &[Target::of("comms").grouped_by("process_group")],
    instances: Instances::communication(),
    find,
};

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    let is_slow = |link: &&SlowLink| link.ratio() < limits.of(&IS_SLOW);
    let slow: Vec<&SlowLink> = facts.slow_links.iter().filter(is_slow).collect();
    let worst = slow.iter().copied().min_by(|a, b| a.ratio().total_cmp(&b.ratio()))?;
    let group = worst.process_group.as_deref().unwrap_or("without a name");
    let title = say!("Process group {} has {} of the usual bandwidth", group, say::ratio(worst.ratio()));
    let evidence = vec![
        say!(
            "{} of {}: {}, other groups {}",
            &worst.collective,
            say::moved(worst.message_bytes as f64),
            say::gb_per_s(worst.bus_gb_per_s),
            say::gb_per_s(worst.usual_gb_per_s)
        ),
        say!("one of its ranks is {}", say::count(i64::from(worst.rank))),
    ];
    let figures = vec![
        ("bandwidth_ratio", worst.ratio()),
        ("message_bytes", worst.message_bytes as f64),
        ("busbw_gb_per_s", worst.bus_gb_per_s),
        ("usual_gb_per_s", worst.usual_gb_per_s),
        ("rank", f64::from(worst.rank)),
    ];
    Some(Found { title, at_stake_ns: None, evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::{RULE, SlowLink};
    use crate::Facts;
    use crate::thresholds::{NOTHING, SOMETHING, check, facts};

    #[test]
    fn half_of_the_usual_bandwidth_is_slow() {
        let link = |bus_gb_per_s: f64| {
            let link = SlowLink {
                group_id: 1,
                process_group: Some("tp".to_owned()),
                rank: 2,
                collective: "all_reduce".to_owned(),
                message_bytes: 4_000_000,
                transfer_ns: 100_000,
                bus_gb_per_s,
                usual_gb_per_s: 100.0,
            };
            Facts { slow_links: vec![link], ..facts() }
        };
        check(&RULE, &link(49.9), SOMETHING);
        check(&RULE, &link(50.0), NOTHING);
        // The false alarm: there is no other group to compare with.
        check(&RULE, &facts(), NOTHING);
    }
}
