//! Operations of the programs that XLA compiled: time, FLOPs, bytes, and what the device could do (metrics, section 30).

use stepscope_model::null_reason::{
    NO_COMPILED_PROGRAM, RUNS_BESIDE_OTHERS, UNKNOWN_DEVICE_PEAK, argument_not_recorded,
};
use stepscope_model::{
    Cell, Class, Device, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Text, Unit, say,
};
use stepscope_runs::{Frame, RunError};

use super::asking::{all_missing_in, missing_in, sum_of};
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "hlo",
    title: "Operations",
    about: "List operations of XLA programs: time, FLOPs, bytes, share of the peak",
    examples: &[
        ("stepscope hlo logs/", "most self time first"),
        ("stepscope hlo host.xplane.pb --group-by category", "by what operations do"),
        ("stepscope hlo host.xplane.pb --sort -flops", "most FLOPs first"),
    ],
    groupings: &["rank", "window", "step", "device", "program", "category"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: false,
    page: Some(Page {
        address: "hlo",
        key: None,
        noun: "operations",
        groups: &[("program", "+ program"), ("step", "+ step")],
        table: Some("programs"),
        count: RowCount::None,
        empty: EmptyPage {
            title: "No XLA program in this trace",
            why: "Operations are recorded for JAX, and for TensorFlow on TPU.",
            code: None,
        },
        statement: "SELECT hlo_category, hlo_op, count(*), sum(self_ns) FROM spans\nWHERE hlo_op IS NOT NULL\nGROUP BY hlo_category, hlo_op",
        ..Page::BY_NAME
    }),
    answer,
};

/// Operations on devices, and on the host where that is the device. What encloses another repeats its counts.
const OPERATIONS: &str = "
    SELECT work.*, inner_work.parent_id IS NULL AS is_leaf,
      coalesce(work.hlo_module, program.name) AS program,
      CASE WHEN work.category = 'hlo_op' THEN work.name ELSE work.hlo_op END AS operation
    FROM (
      SELECT * FROM spans
      WHERE {events} AND kind IN ('kernel', 'op') AND (category = 'hlo_op' OR (hlo_op IS NOT NULL AND kind <> 'op'))
    ) AS work
    LEFT JOIN (
      SELECT DISTINCT rank, \"window\", parent_id FROM spans
      WHERE {source} AND kind = 'kernel' AND parent_id IS NOT NULL
    ) AS inner_work
      ON inner_work.rank = work.rank AND inner_work.\"window\" = work.\"window\" AND inner_work.parent_id = work.span_id
    LEFT JOIN (SELECT rank, \"window\", program_id, min(name) AS name FROM programs WHERE {source} GROUP BY ALL) AS program
      ON program.rank = work.rank AND program.\"window\" = work.\"window\" AND program.program_id = work.program_id";

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let by_category = asking.groups_by("category");
    let operation = if by_category { "CAST(NULL AS VARCHAR)" } else { "operation" };
    let program = if asking.groups_by("program") || !by_category { "program" } else { "CAST(NULL AS VARCHAR)" };
    let program_id = if program == "program" { "program_id" } else { "CAST(NULL AS BIGINT)" };
    let keys = [("rank", "rank"), ("window", "\"window\""), ("step", "step"), ("device", "device_id")];
    let keys = keys.map(|(grouping, column)| asking.key(grouping, column, "BIGINT")).join(", ");
    let frame = asking.query(&format!(
        "SELECT {operation} AS operation, hlo_category AS category, {program} AS program,
           {program_id} AS program_id, {keys},
           count(*) AS count, sum(coalesce(device_dur_ns, dur_ns)) AS total_ns, sum(self_ns) AS self_ns,
           sum(flops) FILTER (WHERE is_leaf) AS flops, sum(model_flops) FILTER (WHERE is_leaf) AS model_flops,
           sum(bytes_accessed) FILTER (WHERE is_leaf) AS bytes
         FROM ({OPERATIONS}) GROUP BY ALL 
         ORDER BY self_ns DESC, operation, category, program, program_id, rank, \"window\", step"
    ))?;
    let peaks = Peaks::of(asking.sources.iter().flat_map(|source| source.devices.iter().flatten()));
    let mut table = rows(asking, &frame, peaks)?;
    table.sorted_by = Some("-self_ns".to_owned());
    table.notes = vec![asking.scope()];
    let mut missing = vec![
        missing_in(&table, "flops", &argument_not_recorded("flops")),
        missing_in(&table, "model_flops", &argument_not_recorded("model_flops")),
        missing_in(&table, "bytes", &argument_not_recorded("bytes_accessed")),
    ];
    // A row without a rate, though its amounts are recorded, is one that begins or ends another.
    let has_any = |argument: &str| {
        let amount = if argument == "flops" { "flops" } else { "bytes" };
        sum_of(&table, amount) > 0
    };
    let no_peak = |peak: Option<f64>, argument: &str| match peak {
        None => UNKNOWN_DEVICE_PEAK.to_owned(),
        Some(_) if has_any(argument) => RUNS_BESIDE_OTHERS.to_owned(),
        Some(_) => argument_not_recorded(argument),
    };
    missing.push(missing_in(&table, "peak_flops_ratio", &no_peak(peaks.flops_per_s, "flops")));
    missing.push(missing_in(&table, "peak_bandwidth_ratio", &no_peak(peaks.bytes_per_s, "bytes_accessed")));
    missing.push(missing_in(&table, "flops_per_byte", &argument_not_recorded("flops")));
    missing.push(missing_in(&table, "category", &argument_not_recorded("hlo_category")));
    missing.push(missing_in(&table, "bound", &no_peak(peaks.ridge(), "flops")));
    let mut report =
        Report::new("hlo", vec![Part::Text(sentence(&table, peaks, asking.has_device_events()?)), Part::Table(table)]);
    if let Part::Table(table) = &report.parts[1] {
        if table.rows.is_empty() {
            let (path, label) = ("rows".to_owned(), "operations".to_owned());
            report.missing.push(Missing { path, label, reason: NO_COMPILED_PROGRAM.into() });
        }
        missing.extend(all_missing_in(table, &["flops_per_s", "gb_per_s"], RUNS_BESIDE_OTHERS).into_iter().map(Some));
    }
    report.missing.extend(missing.into_iter().flatten());
    Ok(report)
}

/// What a device can do at most, if all devices of the recording can do the same.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Peaks {
    flops_per_s: Option<f64>,
    bytes_per_s: Option<f64>,
}

impl Peaks {
    fn of<'d>(devices: impl Iterator<Item = &'d Device>) -> Self {
        let peaks = |device: &Device| Self {
            flops_per_s: device.peak_flops_per_s.filter(|peak| *peak > 0.0),
            bytes_per_s: device.peak_bytes_per_s.filter(|peak| *peak > 0.0),
        };
        let mut all = devices.map(peaks);
        let Some(first) = all.next() else { return Self::default() };
        if all.all(|peaks| peaks == first) { first } else { Self::default() }
    }

    /// Operations per byte at which neither limits the other.
    fn ridge(self) -> Option<f64> {
        Some(self.flops_per_s? / self.bytes_per_s?)
    }
}

fn rows(asking: &Asking<'_>, frame: &Frame, peaks: Peaks) -> Result<ReportTable, RunError> {
    let column = |name: &str| frame.required_i64(name);
    let (counts, totals, own) = (column("count")?, column("total_ns")?, column("self_ns")?);
    let (flops, model_flops, bytes) = (frame.i64("flops")?, frame.i64("model_flops")?, frame.i64("bytes")?);
    let keys = [frame.i64("rank")?, frame.i64("window")?, frame.i64("step")?, frame.i64("device_id")?];
    let texts = [frame.text("operation")?, frame.text("category")?, frame.text("program")?];
    let program_ids = frame.i64("program_id")?;
    let whole: i64 = own.iter().sum();
    // What runs beside other work takes another time than that in which it began or ended.
    let is_async =
        |row: usize| texts[0][row].as_deref().or(texts[1][row].as_deref()).is_some_and(begins_or_ends_another);
    let rate = |amount: Option<i64>, row: usize| {
        amount.filter(|_| own[row] > 0 && !is_async(row)).map(|amount| amount as f64 / own[row] as f64)
    };
    let flops_per_s = |row: &usize| rate(flops[*row], *row).map(|per_ns| per_ns * 1e9);
    let gb_per_s = |row: &usize| rate(bytes[*row], *row);
    let intensity = |row: &usize| Some(flops[*row]? as f64 / bytes[*row].filter(|bytes| *bytes > 0)? as f64);
    let of_peak = |value: Option<f64>, peak: Option<f64>| Some(value? / peak?);
    let bound = |row: &usize| match (intensity(row)?, peaks.ridge()?) {
        (intensity, ridge) if intensity < ridge => Some("memory".to_owned()),
        _ => Some("compute".to_owned()),
    };
    let named = ReportColumn::named;
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let only_if = |is_shown: bool| if is_shown { Look::Value } else { Look::Hidden };
    let has_flops = flops.iter().any(Option::is_some);
    let by_category = asking.groups_by("category");
    let key = |grouping: &str, name: &str| asking.key_column(grouping, name, Look::Value);
    let operation =
        named("operation").holds(Holds::Texts).look(if by_category { Look::Hidden } else { Look::Operator });
    let program = named("program").holds(Holds::Texts).look(only_if(asking.groups_by("program"))).from_width(120);
    let mut table = ReportTable::of("rows", 0..counts.len())
        .column(operation, |row| texts[0][*row].clone())
        .column(named("category").holds(Holds::Texts), |row| texts[1][*row].clone())
        .column(program, |row| texts[2][*row].clone())
        .column(hidden("program_id").unit(Unit::Id).null(argument_not_recorded("program_id")), |row| program_ids[*row])
        .column(key("rank", "rank"), |row| keys[0][*row])
        .column(key("window", "window"), |row| keys[1][*row])
        .column(key("step", "step"), |row| keys[2][*row])
        .column(key("device", "device_id").label("device"), |row| keys[3][*row])
        .column(named("count"), |row| counts[*row])
        .column(hidden("total_ns"), |row| totals[*row])
        .column(named("self_ns").look(Look::Bar(Some(Class::Kernel))), |row| own[*row])
        .column(named("share_ratio").label("share"), |row| (whole > 0).then(|| own[*row] as f64 / whole as f64))
        .column(named("flops").label("FLOPs").unit(Unit::Flops).look(only_if(has_flops)), |row| flops[*row])
        .column(hidden("model_flops").unit(Unit::Flops), |row| model_flops[*row])
        .column(named("flops_per_s").label("rate").unit(Unit::FlopsPerSecond).look(only_if(has_flops)), flops_per_s)
        .column(named("peak_flops_ratio").label("of peak rate").look(only_if(has_flops)), |row| {
            of_peak(flops_per_s(row), peaks.flops_per_s)
        })
        .column(hidden("bytes").unit(Unit::MovedBytes), |row| bytes[*row])
        .column(
            named("gb_per_s")
                .label("bandwidth")
                .unit(Unit::GigabytesPerSecond)
                .look(only_if(has_flops))
                .from_width(110),
            gb_per_s,
        )
        .column(named("peak_bandwidth_ratio").label("of peak bandw.").look(only_if(has_flops)).from_width(110), |row| {
            of_peak(gb_per_s(row).map(|rate| rate * 1e9), peaks.bytes_per_s)
        })
        .column(hidden("flops_per_byte"), intensity)
        .column(named("bound").holds(Holds::Texts).look(only_if(has_flops)).from_width(130), bound)
        .table();
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "operation" => asking.counted_rows(table.rows.len(), "operation"),
        "count" | "self_ns" => Cell::Int(sum_of(&table, &column.name)),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    Ok(table)
}

/// Whether an operation is `copy-start.2` or `all-reduce-done`.
fn begins_or_ends_another(operation: &str) -> bool {
    let name = operation.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    name.ends_with("-start") || name.ends_with("-done")
}

fn sentence(table: &ReportTable, peaks: Peaks, is_on_device: bool) -> Text {
    if table.rows.is_empty() {
        return Text::from("No operation of an XLA program is recorded.");
    }
    let place = if is_on_device { "device" } else { "host" };
    let (own_ns, flops) = (sum_of(table, "self_ns"), sum_of(table, "flops"));
    let takes = say!("Operations of XLA programs take {} of {} time", say::ns(own_ns as f64), place);
    match peaks.flops_per_s {
        Some(peak) if flops > 0 && own_ns > 0 => {
            let rate = flops as f64 / own_ns as f64 * 1e9;
            Text::headline(say!("{}, at {} of the device's peak FLOP/s.", takes, say::ratio(rate / peak)))
        }
        _ => Text::headline(say!("{}.", takes)),
    }
}
