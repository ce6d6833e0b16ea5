//! Process groups that transfer slower than others.

use std::collections::BTreeMap;

use stepscope_ingest::bus_factor;
use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_rules::{IS_SLOW, LEAST_BYTES, SlowLink};
use stepscope_runs::RunError;

use crate::Asking;

/// The groups whose bus bandwidth is far below the median of the other groups with the same collective and bytes.
/// A group counts if all of its ranks are there: the shortest of their collectives is the transfer.
pub(super) fn find(asking: &Asking<'_>, complete: &str) -> Result<Vec<SlowLink>, RunError> {
    if asking.ranks().len() < 2 || !asking.has_rows(&ALL_COLLECTIVES) {
        return Ok(Vec::new());
    }
    let rows = asking.query(&format!(
        "SELECT group_id, max(process_group) AS process_group, min(first_rank) AS rank, collective, message_bytes,
           max(group_size) AS group_size, nearest_rank(transfer_ns, 50) AS transfer_ns
         FROM (SELECT group_id, process_group, collective, message_bytes, group_size, \"window\", ordinal,
                 min(rank) AS first_rank, min(dur_ns) AS transfer_ns
               FROM all_collectives
               WHERE {{events}} AND {complete} AND NOT is_host AND ordinal IS NOT NULL
                 AND message_bytes >= {LEAST_BYTES} AND dur_ns > 0
               GROUP BY group_id, process_group, collective, message_bytes, group_size, \"window\", ordinal
               HAVING count(*) = max(group_size))
         GROUP BY group_id, collective, message_bytes ORDER BY collective, message_bytes, group_id"
    ))?;
    let (groups, ranks) = (rows.required_i64("group_id")?, rows.required_i64("rank")?);
    let (sizes, transfers) = (rows.i64("group_size")?, rows.required_i64("transfer_ns")?);
    let (names, bytes) = (rows.text("process_group")?, rows.required_i64("message_bytes")?);
    let mut alike: BTreeMap<(String, i64), Vec<SlowLink>> = BTreeMap::new();
    for (row, collective) in rows.text("collective")?.into_iter().enumerate() {
        let Some(collective) = collective else { continue };
        let Some(factor) = bus_factor(&collective, sizes[row]) else { continue };
        let key = (collective.clone(), bytes[row]);
        alike.entry(key).or_default().push(SlowLink {
            group_id: groups[row],
            process_group: names[row].clone(),
            rank: ranks[row] as u32,
            collective,
            message_bytes: bytes[row],
            transfer_ns: transfers[row],
            // Bytes per nanosecond are 10⁹ bytes per second.
            bus_gb_per_s: bytes[row] as f64 * factor / transfers[row] as f64,
            usual_gb_per_s: 0.0,
        });
    }
    let least = asking.question.thresholds.value("slow_link", &IS_SLOW);
    Ok(alike.values().flat_map(|links| with_usual(links)).filter(|link| link.ratio() < least).collect())
}

/// The groups with the median bandwidth of the others; none if there are no others.
fn with_usual(links: &[SlowLink]) -> Vec<SlowLink> {
    let mut known = Vec::new();
    for (place, link) in links.iter().enumerate() {
        let others = links.iter().enumerate().filter(|(other, _)| *other != place);
        let mut others: Vec<f64> = others.map(|(_, link)| link.bus_gb_per_s).collect();
        others.sort_by(f64::total_cmp);
        if let Some(&usual_gb_per_s) = others.get(others.len().saturating_sub(1) / 2) {
            known.push(SlowLink { usual_gb_per_s, ..link.clone() });
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(bus_gb_per_s: f64) -> SlowLink {
        SlowLink {
            group_id: 1,
            process_group: None,
            rank: 0,
            collective: "all_reduce".to_owned(),
            message_bytes: 4_000_000,
            transfer_ns: 1,
            bus_gb_per_s,
            usual_gb_per_s: 0.0,
        }
    }

    #[test]
    fn a_group_is_compared_with_the_others() {
        let ratios = |bandwidths: &[f64]| -> Vec<f64> {
            let links: Vec<SlowLink> = bandwidths.iter().copied().map(link).collect();
            with_usual(&links).iter().map(SlowLink::ratio).collect()
        };
        assert_eq!(ratios(&[20.0, 100.0, 100.0, 80.0]), [0.2, 1.25, 1.25, 0.8]);
        assert_eq!(ratios(&[20.0, 100.0]), [0.2, 5.0]);
        assert_eq!(ratios(&[20.0]), [] as [f64; 0]);
    }
}
