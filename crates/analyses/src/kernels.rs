//! Kernels by name, or by name, operator and launch properties (metrics, section 11).

use stepscope_model::null_reason::{NOT_ON_THIS_VENDOR, argument_not_recorded};
use stepscope_model::{Cell, Class, Holds, Look, Part, Report, ReportColumn};
use stepscope_runs::RunError;

use super::asking::{missing_in, sum_of};
use super::{Analysis, Asking, Content, EmptyPage, Page, categories};
use crate::metrics::distribution::named_columns;
use crate::tensor_cores::TensorCoreNames;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "kernels",
    title: "Kernels",
    about: "List kernels: counts, durations, and how well they fill the device",
    examples: &[
        ("stepscope kernels trace.json.gz", "most time first"),
        ("stepscope kernels trace.json.gz --group-by operator", "with the operator that launched them"),
        (
            "stepscope kernels trace.json.gz --group-by operator,properties",
            "also by grid, block, registers and shared memory",
        ),
        ("stepscope kernels trace.json.gz --group-by category", "GEMM, convolution, attention, elementwise and so on"),
        ("stepscope kernels trace.json.gz --columns name,count,p50,p99 --limit 0", "all kernels, with percentiles"),
    ],
    groupings: &["category", "operator", "properties", "rank", "window", "step", "device", "stream"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "kernels",
        key: Some('k'),
        noun: "kernels",
        groups: &[("operator", "+ operator"), ("stream", "+ stream")],
        expand_by: Some("operator"),
        shown: &["uses_tensor_cores"],
        empty: EmptyPage {
            title: "No kernels in this trace",
            why: "Add the activity of the device to the profiler.",
            code: Some("profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"),
        },
        statement: "SELECT * FROM kernels_by_name\nORDER BY total_ns DESC",
        ..Page::BY_NAME
    }),
    answer,
};

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    if asking.groups_by("category") && !asking.groups_by("operator") && !asking.groups_by("properties") {
        return by_category(asking);
    }
    let keys = [
        asking.key("category", "category", "VARCHAR"),
        asking.key("operator", "operator", "VARCHAR"),
        asking.key("rank", "rank", "BIGINT"),
        asking.key("window", "\"window\"", "BIGINT"),
        asking.key("step", "step", "BIGINT"),
        asking.key("device", "device_id", "BIGINT"),
        asking.key("stream", "stream_id", "BIGINT"),
        asking.key("properties", "grid", "VARCHAR"),
        asking.key("properties", "block", "VARCHAR"),
        asking.key("properties", "registers_per_thread", "BIGINT"),
        asking.key("properties", "shared_memory_bytes", "BIGINT"),
    ];
    let are_added_up = are_added_up(asking);
    let grouped = if are_added_up { sums_of_ranks(&keys) } else { sums_of_spans(asking, &keys) };
    let statement = format!(
        "WITH grouped AS ({grouped})
         SELECT *, total_ns / nullif(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share_ratio
         FROM grouped ORDER BY total_ns DESC, name, category, operator, rank, \"window\", step, device_id, stream_id, grid,
           block,
           registers_per_thread, shared_memory_bytes"
    );
    let mut table = asking.table(&statement, columns(asking))?;
    let tensor_cores = TensorCoreNames::new()?;
    let column = ReportColumn::named("uses_tensor_cores").holds(Holds::Flags).label("tensor cores").from_width(140);
    table.columns.push(column.null(NOT_ON_THIS_VENDOR));
    let has_none = has_no_tensor_cores(asking);
    for row in &mut table.rows {
        let uses = matches!(&row[0], Cell::Text(name) if tensor_cores.are_used(name));
        row.push(if has_none { Cell::Null } else { Cell::Bool(uses) });
    }
    let (count, total) = (sum_of(&table, "count"), sum_of(&table, "total_ns"));
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(table.rows.len(), "kernel"),
        "count" => Cell::Int(count),
        "total_ns" => Cell::Int(total),
        "share_ratio" if !table.rows.is_empty() => Cell::Float(1.0),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-total_ns".to_owned());
    table.notes = vec![asking.scope()];
    if are_added_up {
        table.notes.push("percentiles within 1 %".into());
    }
    let blocks = missing_in(&table, "blocks_per_sm", &argument_not_recorded("blocks per SM"));
    let occupancy = missing_in(&table, "occupancy_ratio", &argument_not_recorded("est. achieved occupancy %"));
    let mut report = Report::new("kernels", vec![Part::Table(table)]);
    report.missing.extend(blocks.into_iter().chain(occupancy));
    Ok(report)
}

/// Whether all devices are known to be older than tensor cores.
fn has_no_tensor_cores(asking: &Asking<'_>) -> bool {
    let mut devices = asking.sources.iter().flat_map(|source| source.devices.iter().flatten()).peekable();
    devices.peek().is_some() && devices.all(|device| device.compute_major.is_some_and(|major| major < 7))
}

/// Kernels, copies and fills by what they do.
fn by_category(asking: &Asking<'_>) -> Result<Report, RunError> {
    let (mut table, missing) = categories::table(asking, "rows", "true")?;
    table.notes = vec![asking.scope(), "with copies and fills".into()];
    Ok(Report { missing, ..Report::new("kernels", vec![Part::Table(table)]) })
}

/// Whether the sums of each rank answer: percentiles across ranks come from sketches, those of one rank are exact.
fn are_added_up(asking: &Asking<'_>) -> bool {
    let are_summed = |grouping: &String| ["window", "step", "device"].contains(&grouping.as_str());
    asking.ranks().len() > 1 && asking.has_sums() && asking.question.group_by.iter().all(are_summed)
}

fn sums_of_ranks(keys: &[String]) -> String {
    format!(
        "SELECT name, {}, sum(count) AS count, sum(total_ns) AS total_ns,
           sum(total_ns) / CAST(sum(count) AS DOUBLE) AS mean_ns, min(min_ns) AS min_ns,
           sketch_percentile(durations, 50) AS p50_ns,
           sketch_percentile(durations, 90) AS p90_ns,
           sketch_percentile(durations, 99) AS p99_ns, max(max_ns) AS max_ns,
           sum(blocks_per_sm_ns) / nullif(sum(with_blocks_per_sm_ns), 0) AS blocks_per_sm,
           sum(occupancy_ns) / nullif(sum(with_occupancy_ns), 0) AS occupancy_ratio,
           bool_or(is_communication) AS is_communication, sum(with_operator) AS with_operator
         FROM kernel_rollup WHERE {{steps}} GROUP BY ALL",
        keys.join(", ")
    )
}

fn sums_of_spans(asking: &Asking<'_>, keys: &[String]) -> String {
    let events = "SELECT * EXCEPT (category), kernel_category AS category FROM spans
         WHERE {events} AND kind = 'kernel' AND phase = 'X'";
    let events = if asking.groups_by("operator") {
        format!(
            "SELECT kernel.*, op.name AS operator FROM ({events}) AS kernel
             LEFT JOIN (SELECT rank, \"window\", span_id, name FROM spans WHERE {{source}} AND kind = 'op') AS op
               ON op.rank = kernel.rank AND op.\"window\" = kernel.\"window\" AND op.span_id = kernel.operator_id"
        )
    } else {
        events.to_owned()
    };
    format!(
        "SELECT name, {}, {},
           sum(blocks_per_sm * self_ns) / nullif(sum(self_ns) FILTER (WHERE blocks_per_sm IS NOT NULL), 0) AS blocks_per_sm,
           sum(est_achieved_occupancy_percent / 100 * self_ns)
             / nullif(sum(self_ns) FILTER (WHERE est_achieved_occupancy_percent IS NOT NULL), 0) AS occupancy_ratio,
           count(comm_rule) > 0 AS is_communication, count(operator_id) AS with_operator
         FROM ({events}) GROUP BY ALL",
        keys.join(", "),
        named_columns("self_ns", "true")
    )
}

fn columns(asking: &Asking<'_>) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    vec![
        named("name").label("kernel").look(Look::Kernel),
        asking.key_column("category", "category", Look::Value),
        asking.key_column("operator", "operator", Look::Operator),
        asking.key_column("rank", "rank", Look::Value),
        asking.key_column("window", "window", Look::Value),
        asking.key_column("step", "step", Look::Value),
        asking.key_column("device", "device_id", Look::Value).label("device"),
        asking.key_column("stream", "stream_id", Look::Value).label("stream"),
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
        asking.key_column("properties", "grid", Look::Value),
        asking.key_column("properties", "block", Look::Value),
        asking.key_column("properties", "registers_per_thread", Look::Value).label("registers"),
        asking.key_column("properties", "shared_memory_bytes", Look::Value).label("shared"),
        named("is_communication").look(Look::Hidden),
        named("with_operator").look(Look::Hidden),
    ]
}
