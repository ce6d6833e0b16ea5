//! Kernels by name, or by name, operator and launch properties (metrics, section 11).

use stepscope_model::null_reason::argument_not_recorded;
use stepscope_model::{Cell, Class, Look, Part, Report, ReportColumn};

use super::asking::missing_in;
use super::{Analysis, Asking};
use crate::error::AnalysisError;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "kernels",
    about: "Kernels: how many, how long, how full they keep the device",
    examples: &[
        ("stepscope kernels trace.json.gz", "those with the most time first"),
        ("stepscope kernels trace.json.gz --group-by operator", "with the operator that launched them"),
        (
            "stepscope kernels trace.json.gz --group-by operator,properties",
            "also by grid, block, registers and shared memory",
        ),
        ("stepscope kernels trace.json.gz --columns name,count,p50,p99 --limit 0", "all of them, percentiles"),
    ],
    groupings: &["operator", "properties", "rank", "step", "device", "stream"],
    usual_rows: Some(20),
    answer,
};

fn answer(asking: &Asking<'_>) -> Result<Report, AnalysisError> {
    let key = |grouping: &str, column: &str, data_type: &str| {
        if asking.groups_by(grouping) { column.to_owned() } else { format!("CAST(NULL AS {data_type}) AS {column}") }
    };
    let keys = [
        key("operator", "operator", "VARCHAR"),
        key("rank", "rank", "BIGINT"),
        key("step", "step", "BIGINT"),
        key("device", "device_id", "BIGINT"),
        key("stream", "stream_id", "BIGINT"),
        key("properties", "grid", "VARCHAR"),
        key("properties", "block", "VARCHAR"),
        key("properties", "registers_per_thread", "BIGINT"),
        key("properties", "shared_memory_bytes", "BIGINT"),
    ];
    let events = "SELECT * FROM spans WHERE {events} AND kind = 'kernel' AND phase = 'X'";
    let events = if asking.groups_by("operator") {
        format!(
            "SELECT kernel.*, op.name AS operator FROM ({events}) AS kernel
             LEFT JOIN (SELECT rank, \"window\", span_id, name FROM spans WHERE {{source}} AND kind = 'op') AS op
               ON op.rank = kernel.rank AND op.\"window\" = kernel.\"window\" AND op.span_id = kernel.operator_id"
        )
    } else {
        events.to_owned()
    };
    let statement = format!(
        "WITH grouped AS (
           SELECT name, {}, count(*) AS count, sum(dur_ns) AS total_ns, avg(dur_ns) AS mean_ns, min(dur_ns) AS min_ns,
             nearest_rank(dur_ns, 50) AS p50_ns, nearest_rank(dur_ns, 90) AS p90_ns, nearest_rank(dur_ns, 99) AS p99_ns,
             max(dur_ns) AS max_ns,
             sum(blocks_per_sm * dur_ns) / nullif(sum(dur_ns) FILTER (WHERE blocks_per_sm IS NOT NULL), 0) AS blocks_per_sm,
             sum(est_achieved_occupancy_percent / 100 * dur_ns)
               / nullif(sum(dur_ns) FILTER (WHERE est_achieved_occupancy_percent IS NOT NULL), 0) AS occupancy_ratio,
             count(comm_rule) > 0 AS is_communication, count(operator_id) AS with_operator
           FROM ({events}) GROUP BY ALL
         )
         SELECT *, total_ns / nullif(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share_ratio
         FROM grouped ORDER BY total_ns DESC, name, operator, rank, step, device_id, stream_id, grid, block",
        keys.join(", ")
    );
    let mut table = asking.table(&statement, columns(asking))?;
    let sum = |name: &str| {
        let place = table.columns.iter().position(|column| column.name == name);
        let cells = table.rows.iter().filter_map(|row| row.get(place?));
        Cell::Int(cells.map(|cell| if let Cell::Int(value) = cell { *value } else { 0 }).sum())
    };
    let (count, total) = (sum("count"), sum("total_ns"));
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => Cell::Text(format!("{} kernels", table.rows.len())),
        "count" => count.clone(),
        "total_ns" => total.clone(),
        "share_ratio" if !table.rows.is_empty() => Cell::Float(1.0),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-total_ns".to_owned());
    table.notes = vec![asking.scope()];
    let blocks = missing_in(&table, "blocks_per_sm", "blocks per SM", &argument_not_recorded("blocks per SM"));
    let occupancy =
        missing_in(&table, "occupancy_ratio", "est. occupancy", &argument_not_recorded("est. achieved occupancy %"));
    let mut report = Report::new("kernels", vec![Part::Table(table)]);
    report.missing.extend(blocks.into_iter().chain(occupancy));
    Ok(report)
}

fn columns(asking: &Asking<'_>) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    let grouped = |name: &str, grouping: &str, look: Look| {
        named(name).look(if asking.groups_by(grouping) { look } else { Look::Hidden })
    };
    vec![
        named("name").label("kernel").look(Look::Kernel),
        grouped("operator", "operator", Look::Operator),
        grouped("rank", "rank", Look::Value),
        grouped("step", "step", Look::Value),
        grouped("device_id", "device", Look::Value).label("device"),
        grouped("stream_id", "stream", Look::Value).label("stream"),
        named("count"),
        named("total_ns").look(Look::Bar(Some(Class::Kernel))),
        named("share_ratio").label("share"),
        named("mean_ns"),
        named("min_ns").look(Look::Hidden),
        named("p50_ns").from_width(140),
        named("p90_ns").look(Look::Hidden),
        named("p99_ns").from_width(120),
        named("max_ns").from_width(140),
        named("occupancy_ratio").label("est. occup.").from_width(100),
        named("blocks_per_sm").label("blocks/SM").from_width(140),
        grouped("grid", "properties", Look::Value),
        grouped("block", "properties", Look::Value),
        grouped("registers_per_thread", "properties", Look::Value).label("registers"),
        grouped("shared_memory_bytes", "properties", Look::Value).label("shared"),
        named("is_communication").look(Look::Hidden),
        named("with_operator").look(Look::Hidden),
    ]
}
