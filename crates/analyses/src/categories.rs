//! Device time by category, with the FLOPs and bytes that are known (metrics, section 19).

use std::collections::BTreeMap;

use stepscope_model::null_reason::{SHAPES_NOT_RECORDED, UNSUPPORTED_EVENT_KIND, argument_not_recorded};
use stepscope_model::{Cell, Class, KernelCategory, Look, Missing, ReportColumn, ReportTable, Unit, say};
use stepscope_runs::RunError;

use super::asking::{missing_in, sum_of};
use super::{Asking, flop_count};

/// Work on devices as a row for each category, in a table with that name, and why values of it are missing. `condition`
/// picks the work.
pub(super) fn table(asking: &Asking<'_>, name: &str, condition: &str) -> Result<(ReportTable, Vec<Missing>), RunError> {
    let keys = [
        asking.key("rank", "rank", "BIGINT"),
        asking.key("window", "\"window\"", "BIGINT"),
        asking.key("step", "step", "BIGINT"),
        asking.key("device", "device_id", "BIGINT"),
        asking.key("stream", "stream_id", "BIGINT"),
    ];
    let statement = format!(
        "WITH work AS ({kernels}
           UNION ALL
           SELECT 'copy', rank, \"window\", step, device_id, stream_id, name, 1, dur_ns, dur_ns AS least_ns, dur_ns AS most_ns,
             size_bytes
           FROM device_events WHERE {{events}} AND {condition} AND kind <> 'kernel'
           UNION ALL
           SELECT 'communication', rank, \"window\", step, device_id, stream_id, NULL AS name, 0 AS events, 0 AS dur_ns,
             NULL AS least_ns, NULL AS most_ns, message_bytes
           FROM collectives WHERE {{events}} AND {condition}
         ), grouped AS (
           SELECT category, {keys}, count(DISTINCT name) AS kernels, sum(events) AS count, sum(dur_ns) AS total_ns,
             min(least_ns) AS min_ns, max(most_ns) AS max_ns, sum(bytes) AS size_bytes
           FROM work GROUP BY ALL HAVING sum(events) > 0
         )
         SELECT *, total_ns / CAST(count AS DOUBLE) AS mean_ns,
           total_ns / nullif(CAST(sum(total_ns) OVER () AS DOUBLE), 0) AS share_ratio
         FROM grouped ORDER BY total_ns DESC, category, rank, \"window\", step, device_id, stream_id",
        kernels = kernels(asking, condition),
        keys = keys.join(", "),
    );
    let mut table = asking.table(&statement, columns(asking))?;
    name.clone_into(&mut table.name);
    let no_flops = add_flops(asking, condition, &mut table)?;
    let (rows, count, total) = (table.rows.len(), sum_of(&table, "count"), sum_of(&table, "total_ns"));
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "category" => Cell::Sentence(say::counted(rows, "row")),
        "count" => Cell::Int(count),
        "total_ns" => Cell::Int(total),
        "share_ratio" if rows > 0 => Cell::Float(1.0),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    table.sorted_by = Some("-total_ns".to_owned());
    let no_bytes = missing_in(&table, "size_bytes", &argument_not_recorded("bytes"));
    let no_flops = missing_in(&table, "flops", no_flops);
    Ok((table, no_flops.into_iter().chain(no_bytes).collect()))
}

/// Kernels, from the sums of steps if these can answer.
fn kernels(asking: &Asking<'_>, condition: &str) -> String {
    if asking.has_sums() && !asking.groups_by("stream") {
        format!(
            "SELECT category, rank, \"window\", step, device_id, CAST(NULL AS BIGINT) AS stream_id, name, count AS events,
               total_ns AS dur_ns, min_ns AS least_ns, max_ns AS most_ns, CAST(NULL AS BIGINT) AS bytes
             FROM kernel_rollup WHERE {{steps}} AND {condition}"
        )
    } else {
        format!(
            "SELECT category, rank, \"window\", step, device_id, stream_id, name, 1 AS events, self_ns AS dur_ns,
               self_ns AS least_ns, self_ns AS most_ns, CAST(NULL AS BIGINT) AS bytes
             FROM device_events WHERE {{events}} AND {condition} AND kind = 'kernel'"
        )
    }
}

/// Adds the column of FLOPs; gives why values of it are missing. Operators are of no device and stream, so a table that
/// tells more apart than categories has none.
fn add_flops(asking: &Asking<'_>, condition: &str, table: &mut ReportTable) -> Result<&'static str, RunError> {
    let is_plain = asking.question.group_by.iter().all(|grouping| grouping == "category");
    let count = if is_plain { flop_count::count_where(asking, condition)? } else { None };
    let mut flops: BTreeMap<KernelCategory, i64> = BTreeMap::new();
    for (operator, more) in count.iter().flat_map(|count| &count.by_operator) {
        *flops.entry(category_of(operator)).or_default() += more;
    }
    let has_time =
        |category: KernelCategory| table.rows.iter().any(|row| row[0] == Cell::Text(category.as_text().to_owned()));
    // Without a kernel for attention, its products are what computes it.
    if !has_time(KernelCategory::Attention)
        && let Some(more) = flops.remove(&KernelCategory::Attention)
    {
        *flops.entry(KernelCategory::Gemm).or_default() += more;
    }
    let look = if flops.is_empty() { Look::Hidden } else { Look::Value };
    table.columns.push(ReportColumn::named("flops").unit(Unit::Flops).label("FLOPs").look(look));
    for row in &mut table.rows {
        let category = if let Cell::Text(name) = &row[0] { KernelCategory::of_text(name) } else { None };
        row.push(category.and_then(|category| flops.get(&category).copied()).into());
    }
    Ok(if flops.is_empty() && is_plain { SHAPES_NOT_RECORDED } else { UNSUPPORTED_EVENT_KIND })
}

/// What an operator whose FLOPs are known launches.
fn category_of(operator: &str) -> KernelCategory {
    if operator.contains("attention") {
        KernelCategory::Attention
    } else if operator.contains("convolution") {
        KernelCategory::Convolution
    } else {
        KernelCategory::Gemm
    }
}

fn columns(asking: &Asking<'_>) -> Vec<ReportColumn> {
    let named = ReportColumn::named;
    vec![
        named("category"),
        asking.key_column("rank", "rank", Look::Value),
        asking.key_column("window", "window", Look::Value),
        asking.key_column("step", "step", Look::Value),
        asking.key_column("device", "device_id", Look::Value).label("device"),
        asking.key_column("stream", "stream_id", Look::Value).label("stream"),
        named("kernels").label("names"),
        named("count"),
        named("total_ns").look(Look::Bar(Some(Class::Kernel))),
        named("share_ratio").label("share"),
        named("mean_ns"),
        named("min_ns").look(Look::Hidden),
        named("max_ns").from_width(120),
        named("size_bytes").label("bytes ≥").from_width(100),
    ]
}
