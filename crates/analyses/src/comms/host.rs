//! Communication that the host does itself, as gloo, mpi and ucc do: it has no kernels, only annotations.

use std::collections::{BTreeSet, HashMap};

use stepscope_model::null_reason::COLLECTIVE_METADATA_NOT_RECORDED;
use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_model::{Cell, Class, Look, Part, ReportColumn, ReportTable, Role, Sentence, Text, Unit, say};
use stepscope_runs::RunError;

use super::matching::{Group, Outcome};
use crate::Asking;
use crate::asking::sum_of;

/// The calls by name, with transfer and waiting where ranks match; no rows where the host does not communicate.
pub(super) fn table(asking: &Asking<'_>, groups: &[Group]) -> Result<ReportTable, RunError> {
    let rows = asking.query(
        "SELECT name, count(*) AS count, count(DISTINCT rank) AS ranks, sum(dur_ns) AS total_ns FROM spans
         WHERE {events} AND kind = 'ann' AND phase = 'X'
           AND (name LIKE 'gloo:%' OR name LIKE 'mpi:%' OR name LIKE 'ucc:%')
         GROUP BY name ORDER BY total_ns DESC, name",
    )?;
    let moved = moved_bytes(asking)?;
    let (counts, ranks, totals) =
        (rows.required_i64("count")?, rows.required_i64("ranks")?, rows.required_i64("total_ns")?);
    let mut calls = Vec::with_capacity(rows.rows());
    for (row, name) in rows.text("name")?.into_iter().map(Option::unwrap_or_default).enumerate() {
        let per_rank = |value: i64| value as f64 / ranks[row] as f64;
        calls.push(Calls {
            count: counts[row],
            total_ns: totals[row],
            per_rank_ns: per_rank(totals[row]),
            bytes: moved.get(&name).copied().flatten().map(per_rank),
            transfer_ns: transfer_of(groups, &name, counts[row]),
            name,
        });
    }
    let has_bytes = calls.iter().any(|calls| calls.bytes.is_some());
    let has_transfer = calls.iter().any(|calls| calls.transfer_ns.is_some());
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let named = ReportColumn::named;
    let bytes = named("bytes").label("bytes per rank").unit(Unit::MovedBytes).look(only_if(has_bytes));
    let matched = |name: &str| named(name).look(only_if(has_transfer)).null(super::not_matched(groups));
    let table = ReportTable::of("host_collectives", calls)
        .column(named("name").label("on the host").look(Look::Operator), |calls| calls.name.clone())
        .column(named("count"), |calls| calls.count)
        .column(named("total_ns").look(Look::Bar(Some(Class::Communication))), |calls| calls.total_ns)
        .column(named("mean_ns"), |calls| calls.total_ns as f64 / calls.count as f64)
        .column(bytes.null(COLLECTIVE_METADATA_NOT_RECORDED), |calls| calls.bytes)
        .column(matched("transfer_ns"), |calls| calls.transfer_ns)
        .column(matched("mean_wait_ns").label("wait, mean"), |calls| {
            calls.transfer_ns.map(|transfer_ns| calls.per_rank_ns - transfer_ns as f64)
        })
        .table();
    Ok(ReportTable { title: Some("ON THE HOST".to_owned()), ..table })
}

/// The calls of a name, on all ranks.
struct Calls {
    name: String,
    count: i64,
    total_ns: i64,
    per_rank_ns: f64,
    /// Bytes per rank.
    bytes: Option<f64>,
    transfer_ns: Option<i64>,
}

/// What to say where no kernel communicates and ranks cannot be compared.
pub(super) fn sentence(table: &ReportTable) -> Option<Sentence> {
    let backend = |row: &Vec<Cell>| match &row[0] {
        Cell::Text(name) => name.split_once(':').map(|(backend, _)| backend.to_owned()),
        _ => None,
    };
    let names: BTreeSet<String> = table.rows.iter().filter_map(backend).collect();
    let names: Vec<String> = names.into_iter().collect();
    let verb = if names.len() == 1 { "communicates" } else { "communicate" };
    let (calls, total_ns) = (sum_of(table, "count"), sum_of(table, "total_ns"));
    (!names.is_empty()).then(|| {
        say!(
            "No kernel communicates; {} {} on the host: {}, {} in all.",
            say::listed(&names),
            verb,
            say::counted(calls as usize, "call"),
            say::ns(total_ns as f64)
        )
    })
}

/// Says so where the process group of collectives cannot be known, with several ranks.
pub(super) fn unknown_groups(asking: &Asking<'_>) -> Result<Option<Part>, RunError> {
    if asking.ranks().len() < 2 || !asking.has_rows(&ALL_COLLECTIVES) {
        return Ok(None);
    }
    let rows = asking.query(
        "SELECT count(*) AS count FROM all_collectives
         WHERE {events} AND is_host AND ordinal IS NULL AND collective NOT IN ('send', 'recv', 'send_recv')",
    )?;
    let count = rows.required_i64("count")?.first().copied().unwrap_or(0);
    let text = say!(
        "{} on the host not matched: several process groups, and the trace does not record which",
        say::counted(count as usize, "collective")
    );
    Ok((count > 0).then(|| Part::Text(Text::labeled(Role::Ranks, vec![text]))))
}

/// The transfer of all collectives of a name; none unless every one of them is matched.
fn transfer_of(groups: &[Group], name: &str, count: i64) -> Option<i64> {
    let (mut transfer_ns, mut matched) = (0, 0);
    for group in groups.iter().filter(|group| group.is_host) {
        let Outcome::Matched(found) = &group.outcome else { continue };
        let (own_ns, collectives) = found.transfer_by_kind.get(name).copied().unwrap_or_default();
        transfer_ns += own_ns;
        matched += collectives * found.ranks.len() as i64;
    }
    (matched > 0 && matched == count).then_some(transfer_ns)
}

/// Bytes by the name of the call, of all ranks; none where those of one are not known.
fn moved_bytes(asking: &Asking<'_>) -> Result<HashMap<String, Option<i64>>, RunError> {
    if !asking.has_rows(&ALL_COLLECTIVES) {
        return Ok(HashMap::new());
    }
    let rows = asking.query(
        "SELECT kernel, CASE WHEN count(*) = count(message_bytes) THEN sum(message_bytes) END AS bytes
         FROM all_collectives WHERE {events} AND is_host GROUP BY kernel",
    )?;
    Ok(rows.text("kernel")?.into_iter().flatten().zip(rows.i64("bytes")?).collect())
}
