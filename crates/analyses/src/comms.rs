//! Collectives, and who waits for whom (metrics, section 14).
//!
//! On one rank a collective also contains the waiting for the others, so its bandwidth is apparent. With all ranks of a
//! group at hand, transfer and waiting come apart without a common clock.

mod exposed;
mod host;
mod matching;

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};
use stepscope_ingest::bus_factor;
use stepscope_model::null_reason::{
    COLLECTIVE_METADATA_NOT_RECORDED, NO_COMMUNICATION, NO_ROLLUPS, ONE_RANK, not_grouped_by,
};
use stepscope_model::{
    Cell, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Role, Sentence, SourceId, Text, Unit, say,
};
use stepscope_rules::Waits;
use stepscope_runs::RunError;

use self::matching::{Group, Outcome, match_ranks};
use super::asking::missing_in;
use super::layers::StepRanges;
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "comms",
    title: "Communication",
    about: "Show communication: collectives, bandwidth, and which rank delays the others",
    examples: &[
        ("stepscope comms runs/", "all ranks of a run: transfer, waiting, stragglers"),
        ("stepscope comms trace.json.gz", "one rank: collectives and apparent bandwidth"),
        ("stepscope comms runs/ --step 3", "one step"),
        ("stepscope comms runs/ --group-by process_group", "one row per process group"),
    ],
    groupings: &["process_group"],
    usual_rows: Some(16),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "communication",
        key: Some('c'),
        noun: "ranks",
        rows_by: "rank",
        groups: &[("process_group", "+ group"), ("collective", "single collectives")],
        has_values: false,
        shows_all_ranks: true,
        table: Some("all_collectives"),
        count: RowCount::OfTable,
        empty: EmptyPage {
            title: "No collectives in this trace",
            why: "Collectives such as all_reduce connect ranks; a run on one device has none.",
            code: None,
        },
        statement: "SELECT * FROM all_collectives\nLIMIT 100",
        ..Page::BY_NAME
    }),
    answer,
};

/// A rank joins the stragglers if it causes more than its share of all waiting by so much.
const STRAGGLER_MARGIN: f64 = 0.05;

/// What one rank waits, and makes others wait, over all groups.
#[derive(Clone, Debug, Default)]
pub(super) struct RankWait {
    pub rank: i64,
    pub collectives: i64,
    pub communication_ns: i64,
    pub wait_ns: i64,
    pub last_arrivals: i64,
    pub caused_ns: i64,
    pub clock_offset_ns: Option<i64>,
}

/// Waiting of all ranks.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// By what they cause, the largest first.
    pub ranks: Vec<RankWait>,
    pub matched: i64,
    pub collectives: i64,
    pub transfer_ns: i64,
}

impl Waiting {
    pub(super) fn total_ns(&self) -> i64 {
        self.ranks.iter().map(|rank| rank.wait_ns).sum()
    }

    /// The ranks that cause clearly more than their share, the worst first.
    pub(super) fn stragglers(&self) -> Vec<&RankWait> {
        let total = self.total_ns() as f64;
        let fair = 1.0 / self.ranks.len().max(1) as f64;
        let is_one = |rank: &&RankWait| total > 0.0 && rank.caused_ns as f64 / total > fair + STRAGGLER_MARGIN;
        self.ranks.iter().filter(is_one).collect()
    }
}

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let groups = match_ranks(asking)?;
    let waiting = waiting(&groups);
    let kinds = kinds(asking, &groups)?;
    let on_host = host::table(asking, &groups)?;
    let not_matched = host::unknown_groups(asking)?;
    let mut parts = Vec::new();
    if kinds.rows.is_empty() && waiting.ranks.is_empty() {
        parts.extend(host::sentence(&on_host).map(|text| Part::Text(Text::headline(text))));
        parts.extend(Some(on_host).filter(|table| !table.rows.is_empty()).map(Part::Table));
        parts.push(Part::Table(ranks_table(asking, &waiting, &groups)?));
        parts.extend(unmatched(&groups).into_iter().map(|text| Part::Text(Text::labeled(Role::Ranks, vec![text]))));
        parts.extend(not_matched);
        let is_left_out = asking.are_sums_left_out();
        let reason = if is_left_out { NO_ROLLUPS } else { NO_COMMUNICATION };
        let mut report = Report::new("comms", parts);
        report.data.push(("metrics", Cell::Json(metrics(asking, &groups))));
        report.missing.extend(groups_missing(&groups));
        report.missing.push(Missing {
            path: "rows".to_owned(),
            label: "collectives".to_owned(),
            reason: reason.into(),
        });
        return Ok(report);
    }
    parts.push(Part::Text(head_line(asking, &waiting)));
    parts.extend(sentence(asking, &waiting).map(|text| Part::Text(Text::headline(text))));
    let missing = missing_in(&kinds, "busbw_gb_per_s", &format!("{COLLECTIVE_METADATA_NOT_RECORDED} (group size)"));
    parts.extend(Some(kinds).filter(|table| !table.rows.is_empty()).map(Part::Table));
    parts.extend(Some(on_host).filter(|table| !table.rows.is_empty()).map(Part::Table));
    parts.push(Part::Table(ranks_table(asking, &waiting, &groups)?));
    parts.extend(unmatched(&groups).into_iter().map(|text| Part::Text(Text::labeled(Role::Ranks, vec![text]))));
    parts.extend(not_matched);
    let mut report = Report::new("comms", parts);
    report.data.push(("metrics", Cell::Json(metrics(asking, &groups))));
    report.missing.extend(groups_missing(&groups));
    report.missing.extend(missing);
    Ok(report)
}

/// The waiting of the ranks of a run and how much of it is exposed, for findings; none if no ranks match.
pub(super) fn waits_of(asking: &Asking<'_>, steps: &StepRanges) -> Result<Option<Waits>, RunError> {
    let groups = match_ranks(asking)?;
    let waiting = waiting(&groups);
    if waiting.ranks.len() < 2 {
        return Ok(None);
    }
    let stragglers: Vec<(i64, i64)> = waiting.stragglers().iter().map(|rank| (rank.rank, rank.caused_ns)).collect();
    let (caused_ns, other_ns) = exposed::waiting(asking, steps, &groups, &stragglers)?;
    let is_late = |rank: i64| stragglers.iter().any(|(late, _)| *late == rank);
    Ok(Some(Waits {
        wait_ns: waiting.total_ns(),
        exposed_ns: caused_ns + other_ns,
        exposed_caused_ns: caused_ns,
        waiting_steps: steps.count(|rank| !is_late(rank)),
        stragglers,
        local_ns: waiting.ranks.iter().map(|rank| (rank.rank, steps.of_rank_ns(rank.rank) - rank.wait_ns)).collect(),
    }))
}

/// How long the transfer of each collective of a recording takes, without waiting, by the number of its span.
pub(super) fn transfers_of(asking: &Asking<'_>, of: SourceId) -> Result<HashMap<i64, i64>, RunError> {
    exposed::transfers(asking, &match_ranks(asking)?, of)
}

/// Adds up the groups that could be matched.
fn waiting(groups: &[Group]) -> Waiting {
    let mut waiting = Waiting::default();
    let mut ranks: std::collections::BTreeMap<i64, RankWait> = std::collections::BTreeMap::new();
    for group in groups {
        waiting.collectives += group.collectives;
        let Outcome::Matched(matched) = &group.outcome else { continue };
        waiting.matched += matched.collectives;
        waiting.transfer_ns += matched.transfer_ns;
        for one in &matched.ranks {
            let sum = ranks.entry(one.rank).or_insert_with(|| RankWait { rank: one.rank, ..RankWait::default() });
            sum.collectives += one.collectives;
            sum.communication_ns += one.communication_ns;
            sum.wait_ns += one.wait_ns;
            sum.last_arrivals += one.last_arrivals;
            sum.caused_ns += one.caused_ns;
            sum.clock_offset_ns = sum.clock_offset_ns.or(one.clock_offset_ns);
        }
    }
    waiting.ranks = ranks.into_values().collect();
    waiting.ranks.sort_by_key(|rank| (-rank.caused_ns, rank.rank));
    waiting
}

fn head_line(asking: &Asking<'_>, waiting: &Waiting) -> Text {
    let ranks = asking.ranks();
    let matched = (ranks.len() > 1)
        .then(|| say!("{} of {} collectives matched", say::count(waiting.matched), say::count(waiting.collectives)));
    let offsets: Vec<i64> = waiting.ranks.iter().filter_map(|rank| rank.clock_offset_ns).collect();
    let clocks = match (offsets.iter().min(), offsets.iter().max()) {
        (Some(min), Some(max)) if offsets.len() > 1 => Some(say!("clocks within {}", say::ns((max - min) as f64))),
        _ => None,
    };
    let ranks = say::counted(ranks.len(), "rank");
    Text::from(Sentence::facts([Some(ranks), matched, clocks].into_iter().flatten()))
}

fn sentence(asking: &Asking<'_>, waiting: &Waiting) -> Option<Sentence> {
    if waiting.ranks.len() < 2 {
        return (asking.ranks().len() == 1).then(|| {
            "One rank: a collective's time includes waiting for the others, so bandwidth is apparent.".into()
        });
    }
    let total = waiting.total_ns() as f64;
    let all = say::counted(waiting.ranks.len(), "rank");
    let waits = say!("{} wait {} for each other", all, say::ns(total));
    let stragglers = waiting.stragglers();
    if stragglers.is_empty() {
        return Some(say!("{}; no rank causes much more of it than the others.", waits));
    }
    let share: i64 = stragglers.iter().map(|rank| rank.caused_ns).sum();
    let (names, verb) = say::ranks(stragglers.iter().map(|rank| rank.rank), "cause");
    Some(say!("{}; {} {} {} of it.", waits, names, verb, say::ratio(share as f64 / total)))
}

/// Collectives by kind, and by process group if asked.
fn kinds(asking: &Asking<'_>, groups: &[Group]) -> Result<ReportTable, RunError> {
    let by_group = asking.groups_by("process_group");
    let group = if by_group { "process_group" } else { "CAST(NULL AS VARCHAR) AS process_group" };
    let rows = asking.query(&format!(
        "SELECT collective, {group}, count(*) AS events, count(DISTINCT rank) AS ranks, sum(dur_ns) AS dur_ns,
           sum(message_bytes) AS moved, sum(dur_ns) FILTER (WHERE message_bytes IS NOT NULL) AS moved_ns,
           count(*) - count(message_bytes) AS bytes_missing,
           CASE WHEN count(DISTINCT coalesce(group_size, -1)) = 1 THEN min(group_size) END AS group_size
         FROM collectives WHERE {{events}} GROUP BY ALL ORDER BY dur_ns DESC, collective, process_group"
    ))?;
    let (collectives, group_names) = (rows.text("collective")?, rows.text("process_group")?);
    let (events, ranks, durations) =
        (rows.required_i64("events")?, rows.required_i64("ranks")?, rows.required_i64("dur_ns")?);
    let (moved, moved_ns) = (rows.i64("moved")?, rows.i64("moved_ns")?);
    let (missing, sizes) = (rows.required_i64("bytes_missing")?, rows.i64("group_size")?);
    let mut kinds = Vec::with_capacity(rows.rows());
    for (row, name) in collectives.into_iter().enumerate() {
        let name = name.unwrap_or_default();
        let of_kind = |group: &&Group| !group.is_host && (!by_group || group.name == group_names[row]);
        // Per kind and matched: the transfer is what the last to arrive needs.
        let transfers: Option<(i64, i64)> = groups.iter().filter(of_kind).try_fold((0, 0), |sum, group| {
            let Outcome::Matched(matched) = &group.outcome else { return None };
            let own = matched.transfer_by_kind.get(&name).copied().unwrap_or_default();
            Some((sum.0 + own.0, sum.1 + own.1))
        });
        let transfers = transfers.filter(|_| ranks[row] > 1);
        let per_rank = |value: i64| value as f64 / ranks[row] as f64;
        // With a transfer time, bytes move in it; else in the whole kernel, which makes bandwidth apparent.
        let time_ns = match transfers {
            Some((transfer_ns, _)) => Some(transfer_ns as f64),
            None => moved_ns[row].map(per_rank),
        };
        let algorithm = moved[row].zip(time_ns.filter(|ns| *ns > 0.0)).map(|(bytes, ns)| per_rank(bytes) / ns);
        kinds.push(Kind {
            process_group: group_names[row].clone(),
            count: transfers.map_or_else(|| whole(events[row], ranks[row]), |(_, count)| Cell::Int(count)),
            bytes: moved[row].map(per_rank),
            bytes_missing: missing[row],
            transfer_ns: transfers.map(|(transfer_ns, _)| transfer_ns),
            mean_ns: per_rank(durations[row]),
            group_size: sizes[row],
            algorithm,
            bus: algorithm.zip(bus_factor(&name, sizes[row])).map(|(bandwidth, factor)| bandwidth * factor),
            name,
        });
    }
    Ok(kinds_table(&kinds, by_group, &not_matched(groups)))
}

/// The collectives of a kind. Times and bytes are means over the ranks.
struct Kind {
    name: String,
    process_group: Option<String>,
    count: Cell,
    bytes: Option<f64>,
    bytes_missing: i64,
    transfer_ns: Option<i64>,
    mean_ns: f64,
    group_size: Option<i64>,
    /// Bandwidth as the algorithm sees it, and as the bus does.
    algorithm: Option<f64>,
    bus: Option<f64>,
}

fn kinds_table(kinds: &[Kind], by_group: bool, not_matched: &str) -> ReportTable {
    let named = ReportColumn::named;
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let has_transfer = kinds.iter().any(|kind| kind.transfer_ns.is_some());
    let recorded = |name: &str| named(name).null(COLLECTIVE_METADATA_NOT_RECORDED);
    let no_group = if by_group { COLLECTIVE_METADATA_NOT_RECORDED.to_owned() } else { not_grouped_by("process_group") };
    let process_group = named("process_group").holds(Holds::Texts).look(only_if(by_group)).null(no_group);
    let bytes = recorded("bytes").holds(Holds::Numbers).label("bytes per rank").unit(Unit::MovedBytes);
    let wait = named("mean_wait_ns").label("wait, mean").look(only_if(has_transfer)).null(not_matched);
    let bandwidth = if has_transfer { "alg bw" } else { "apparent bw" };
    ReportTable::of("collectives", kinds)
        .column(named("collective").holds(Holds::Texts), |kind| kind.name.clone())
        .column(process_group, |kind| kind.process_group.clone())
        .column(named("count").holds(Holds::Numbers), |kind| kind.count.clone())
        .column(bytes, |kind| kind.bytes)
        .column(named("bytes_missing").unit(Unit::Plain).look(Look::Hidden), |kind| kind.bytes_missing)
        .column(named("transfer_ns").look(only_if(has_transfer)).null(not_matched), |kind| kind.transfer_ns)
        .column(wait, |kind| kind.transfer_ns.map(|transfer_ns| kind.mean_ns - transfer_ns as f64))
        .column(named("mean_ns").label("time per rank").look(only_if(!has_transfer)), |kind| kind.mean_ns)
        .column(recorded("group_size").look(Look::Hidden), |kind| kind.group_size)
        .column(recorded("algbw_gb_per_s").label(bandwidth), |kind| kind.algorithm)
        .column(recorded("busbw_gb_per_s").label("bus bw"), |kind| kind.bus)
        .table()
}

/// A number for each rank: whole where it is.
fn whole(total: i64, ranks: i64) -> Cell {
    if total % ranks.max(1) == 0 { Cell::Int(total / ranks.max(1)) } else { Cell::Float(total as f64 / ranks as f64) }
}

/// A row for each rank. Where no group matches it has what each rank did, for programs.
fn ranks_table(asking: &Asking<'_>, waiting: &Waiting, groups: &[Group]) -> Result<ReportTable, RunError> {
    let is_known = !waiting.ranks.is_empty();
    let launched = if is_known { Vec::new() } else { launched(asking)? };
    let ranks = if is_known { &waiting.ranks } else { &launched };
    let look = |look: Look| if is_known { look } else { Look::Hidden };
    let waits = |name: &str| ReportColumn::named(name).null(not_matched(groups));
    let named = ReportColumn::named;
    let of_waiting = |value: i64| is_known.then_some(value);
    let last_arrivals = waits("last_arrivals").holds(Holds::Integers).label("last to arrive").look(look(Look::Value));
    let caused = waits("wait_caused_to_others_ns").label("makes others wait").look(look(Look::Bar(None)));
    let offset = waits("clock_offset_estimate_ns").label("clock offset").look(look(Look::Value)).from_width(120);
    let mut table = ReportTable::of("rows", ranks)
        .column(named("rank").look(look(Look::Value)), |rank| rank.rank)
        .column(named("communication_ns").look(look(Look::Value)), |rank| rank.communication_ns)
        .column(waits("wait_ns").label("waits").look(look(Look::Value)), |rank| of_waiting(rank.wait_ns))
        .column(last_arrivals, |rank| of_waiting(rank.last_arrivals))
        .column(named("collectives").holds(Holds::Integers).look(Look::Hidden), |rank| rank.collectives)
        .column(caused, |rank| of_waiting(rank.caused_ns))
        .column(offset, |rank| rank.clock_offset_ns.filter(|_| is_known))
        .table();
    let sum = |figure: fn(&RankWait) -> i64| Cell::Int(waiting.ranks.iter().map(figure).sum());
    if is_known {
        let nothing = || Cell::Text(String::new());
        table.total = Some(vec![
            Cell::Text("all".to_owned()),
            sum(|rank| rank.communication_ns),
            sum(|rank| rank.wait_ns),
            sum(|rank| rank.last_arrivals),
            nothing(),
            sum(|rank| rank.caused_ns),
            nothing(),
        ]);
    }
    table.sorted_by = Some("-wait_caused_to_others_ns".to_owned());
    table.two_ended = Some("ranks");
    Ok(table)
}

/// What each rank did in all groups, also before it could be compared: work that was launched before the recording.
fn launched(asking: &Asking<'_>) -> Result<Vec<RankWait>, RunError> {
    let rows = asking.query(
        "SELECT rank, count(*) AS collectives, sum(dur_ns) AS communication_ns FROM all_collectives
         WHERE {events} AND (ordinal IS NOT NULL OR NOT is_host) GROUP BY rank ORDER BY rank",
    )?;
    let (collectives, times) = (rows.required_i64("collectives")?, rows.required_i64("communication_ns")?);
    let sums = rows.required_i64("rank")?.into_iter().zip(collectives).zip(times);
    let launched = |((rank, collectives), communication_ns)| RankWait {
        rank,
        collectives,
        communication_ns,
        ..RankWait::default()
    };
    Ok(sums.map(launched).collect())
}

/// Why transfer and waiting are not known.
fn not_matched(groups: &[Group]) -> String {
    let reason = groups.iter().find_map(|group| match &group.outcome {
        Outcome::Unmatched(reason) => Some(reason.clone()),
        Outcome::Matched(_) | Outcome::OneRank => None,
    });
    reason.unwrap_or_else(|| ONE_RANK.to_owned())
}

/// Why groups could not be matched, in words.
fn unmatched(groups: &[Group]) -> Vec<Sentence> {
    const TOLD: usize = 4;
    let told = |group: &Group| match &group.outcome {
        Outcome::Unmatched(reason) => {
            let name = group
                .name
                .as_deref()
                .map_or_else(|| "the group without a name".to_owned(), |name| format!("group {name}"));
            Some(say!("{}: {}", name, reason))
        }
        Outcome::Matched(_) | Outcome::OneRank => None,
    };
    let mut lines: Vec<Sentence> = groups.iter().filter_map(told).collect();
    let more = lines.len().saturating_sub(TOLD);
    lines.truncate(TOLD);
    if more > 0 {
        lines.push(say!("{} do not match either", say::counted(more, "more group")));
    }
    lines
}

/// Why groups are not matched, by their path in the member `metrics`.
fn groups_missing(groups: &[Group]) -> Vec<Missing> {
    let missing = |group: &Group| {
        let reason = match &group.outcome {
            Outcome::Matched(_) => return None,
            Outcome::Unmatched(reason) => reason.clone(),
            Outcome::OneRank => ONE_RANK.to_owned(),
        };
        let path = format!("metrics.groups.{}.matched", group.key());
        Some(Missing { path, label: String::new(), reason: reason.into() })
    };
    groups.iter().filter(|group| !group.is_host).filter_map(missing).collect()
}

/// The member `metrics` of JSON, as the reference prints it: collectives of devices alone.
fn metrics(asking: &Asking<'_>, groups: &[Group]) -> Json {
    let ranks = asking.ranks();
    let mut members = Map::new();
    for group in groups.iter().filter(|group| !group.is_host) {
        let name = group.key();
        let value = match &group.outcome {
            Outcome::Matched(matched) => {
                let of_rank = |rank: &RankWait| {
                    let figures = json!({
                        "communication_ns": rank.communication_ns,
                        "wait_ns": rank.wait_ns,
                        "last_arrivals": rank.last_arrivals,
                        "wait_caused_to_others_ns": rank.caused_ns,
                        "clock_offset_estimate_ns": rank.clock_offset_ns,
                    });
                    (rank.rank.to_string(), figures)
                };
                let per_rank: Map<String, Json> = matched.ranks.iter().map(of_rank).collect();
                json!({ "matched": matched.collectives, "transfer_ns": matched.transfer_ns, "per_rank": per_rank })
            }
            Outcome::Unmatched(reason) => json!({ "matched": null, "reason": reason }),
            Outcome::OneRank => json!({ "matched": null, "reason": ONE_RANK }),
        };
        members.insert(name, value);
    }
    json!({ "ranks": ranks, "groups": members })
}
