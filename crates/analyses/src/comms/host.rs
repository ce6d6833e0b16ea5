//! Communication that the host does itself, as gloo, mpi and ucc do: it has no kernels, only annotations.

use std::collections::{BTreeSet, HashMap};

use stepscope_model::null_reason::COLLECTIVE_METADATA_NOT_RECORDED;
use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_model::{Cell, Class, Look, Part, ReportColumn, ReportTable, Role, Sentence, Text, Unit, say};
use stepscope_runs::RunError;

use super::matching::{Group, Outcome};
use crate::Asking;
use crate::asking::{cell, sum_of};

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
    let mut cells = Vec::with_capacity(rows.rows());
    for (row, name) in rows.text("name")?.into_iter().map(Option::unwrap_or_default).enumerate() {
        let per_rank = |value: i64| value as f64 / ranks[row] as f64;
        let transfer_ns = transfer_of(groups, &name, counts[row]);
        cells.push(vec![
            Cell::Text(name.clone()),
            Cell::Int(counts[row]),
            Cell::Int(totals[row]),
            Cell::Float(totals[row] as f64 / counts[row] as f64),
            cell(moved.get(&name).copied().flatten(), |bytes| Cell::Float(per_rank(bytes))),
            cell(transfer_ns, Cell::Int),
            cell(transfer_ns, |transfer_ns| Cell::Float(per_rank(totals[row]) - transfer_ns as f64)),
        ]);
    }
    let has = |place: usize| cells.iter().any(|row| row[place] != Cell::Null);
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let columns = vec![
        ReportColumn::named("name").label("on the host").look(Look::Operator),
        ReportColumn::named("count"),
        ReportColumn::named("total_ns").look(Look::Bar(Some(Class::Communication))),
        ReportColumn::named("mean_ns"),
        ReportColumn::named("bytes")
            .label("bytes per rank")
            .unit(Unit::MovedBytes)
            .look(only_if(has(4)))
            .null(COLLECTIVE_METADATA_NOT_RECORDED),
        ReportColumn::named("transfer_ns").look(only_if(has(5))).null(super::not_matched(groups)),
        ReportColumn::named("mean_wait_ns").label("wait, mean").look(only_if(has(6))).null(super::not_matched(groups)),
    ];
    let table = ReportTable::named("host_collectives", columns, cells);
    Ok(ReportTable { title: Some("ON THE HOST".to_owned()), ..table })
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
    if asking.ranks().len() < 2 || !asking.has_rows(ALL_COLLECTIVES.name) {
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
    Ok((count > 0).then(|| Part::Text(Text::labelled(Role::Ranks, vec![text]))))
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
    if !asking.has_rows(ALL_COLLECTIVES.name) {
        return Ok(HashMap::new());
    }
    let rows = asking.query(
        "SELECT kernel, CASE WHEN count(*) = count(message_bytes) THEN sum(message_bytes) END AS bytes
         FROM all_collectives WHERE {events} AND is_host GROUP BY kernel",
    )?;
    Ok(rows.text("kernel")?.into_iter().flatten().zip(rows.i64("bytes")?).collect())
}
