//! Communication that the host does itself, as gloo, mpi and ucc do: it has no kernels, only annotations.

use std::collections::BTreeSet;

use stepscope_model::{Cell, Class, Look, ReportColumn, ReportTable};

use crate::analyses::Asking;
use crate::analyses::asking::sum_of;
use crate::error::AnalysisError;
use crate::words;

/// The calls by name; no rows where the host does not communicate.
pub(super) fn table(asking: &Asking<'_>) -> Result<ReportTable, AnalysisError> {
    let columns = vec![
        ReportColumn::named("name").label("on the host").look(Look::Operator),
        ReportColumn::named("count"),
        ReportColumn::named("total_ns").look(Look::Bar(Some(Class::Communication))),
        ReportColumn::named("mean_ns"),
    ];
    let table = asking.table(
        "SELECT name, count(*) AS count, sum(dur_ns) AS total_ns, avg(CAST(dur_ns AS DOUBLE)) AS mean_ns FROM spans
         WHERE {events} AND kind = 'ann' AND phase = 'X'
           AND (name LIKE 'gloo:%' OR name LIKE 'mpi:%' OR name LIKE 'ucc:%')
         GROUP BY name ORDER BY total_ns DESC, name",
        columns,
    )?;
    Ok(ReportTable { name: "host_collectives".to_owned(), title: Some("ON THE HOST".to_owned()), ..table })
}

/// What to say where no kernel communicates.
pub(super) fn sentence(table: &ReportTable) -> Option<String> {
    let backend = |row: &Vec<Cell>| match &row[0] {
        Cell::Text(name) => name.split_once(':').map(|(backend, _)| backend.to_owned()),
        _ => None,
    };
    let names: BTreeSet<String> = table.rows.iter().filter_map(backend).collect();
    let names: Vec<String> = names.into_iter().collect();
    let verb = if names.len() == 1 { "communicates" } else { "communicate" };
    let (calls, total_ns) = (sum_of(table, "count"), sum_of(table, "total_ns"));
    (!names.is_empty()).then(|| {
        format!(
            "No kernel communicates; {} {verb} on the host: {}, {} in all.",
            words::listed(&names),
            words::counted(calls as usize, "call"),
            words::ns(total_ns as f64)
        )
    })
}
