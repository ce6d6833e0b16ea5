//! Regions that people marked in their code, and what was launched from inside them: by their own thread, and by an
//! autograd thread that worked for it (metrics, section 20).

use std::collections::{BTreeMap, HashMap};

use stepscope_model::null_reason::{NO_DEVICE_EVENTS, NO_ROLLUPS, ZERO_DURATION};
use stepscope_model::{Class, Look, Part, Report, ReportColumn, ReportTable, Text};
use stepscope_runs::RunError;

use super::asking::all_missing_in;
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};
use crate::metrics::distribution::named_columns;

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "regions",
    title: "Regions",
    about: "List regions marked with record_function: time on the host, and the work they launch",
    examples: &[
        ("stepscope regions trace.json.gz", "most time first"),
        ("stepscope regions trace.json.gz --group-by step", "each step separately"),
        ("stepscope regions trace.json.gz --sort -all_threads_device", "most device time first, with backward work"),
    ],
    groupings: &["rank", "window", "step"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: true,
    page: Some(Page {
        address: "regions",
        key: Some('r'),
        noun: "regions",
        is_by_operator: true,
        count: RowCount::None,
        empty: EmptyPage {
            title: "No regions in this trace",
            why: "Mark regions in your code.",
            code: Some("with torch.profiler.record_function(\"forward\"):\n    ..."),
        },
        statement: "SELECT name, count(*), sum(dur_ns) FROM spans\nWHERE kind = 'ann'\nGROUP BY name",
        ..Page::BY_NAME
    }),
    answer,
};

/// Annotations on the host. Those that mark steps are what regions are compared with.
const REGIONS: &str = "
    SELECT region.* FROM (SELECT * FROM spans WHERE {events} AND kind = 'ann' AND phase = 'X') AS region
    LEFT ANTI JOIN (SELECT rank, \"window\", name, host_start_ns FROM steps WHERE {source}) AS mark
      ON mark.rank = region.rank AND mark.\"window\" = region.\"window\"
        AND mark.name = region.name AND mark.host_start_ns = region.start_ns";

/// Name, and rank, window and step if rows are grouped by them.
type Group = (String, [Option<i64>; 3]);

/// What a walk over regions and launches adds up.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Time of those that lie in no other of the name.
    host_total_ns: i64,
    /// Launched by the thread of the region.
    device_events: i64,
    device_total_ns: i64,
    device_self_ns: i64,
    /// The same, with what autograd launched for that thread.
    all_threads_device_events: i64,
    all_threads_device_ns: i64,
}

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let reason = if asking.has_device_events()? { NO_ROLLUPS } else { NO_DEVICE_EVENTS };
    let has_device = reason == NO_ROLLUPS && !asking.are_sums_left_out();
    let sums = walk(asking)?;
    let mut table = table(asking, &sums, has_device)?;
    table.sorted_by = Some("-host_total_ns".to_owned());
    table.notes = vec![asking.scope()];
    let mut missing = all_missing_in(&table, &["share_ratio"], ZERO_DURATION);
    if !has_device {
        let columns = [
            "device_events",
            "device_total_ns",
            "device_self_ns",
            "all_threads_device_events",
            "all_threads_device_ns",
        ];
        missing.extend(all_missing_in(&table, &columns, reason));
    }
    let mut parts = Vec::new();
    if table.rows.is_empty() {
        parts.push(Part::Text(Text::from("No regions. Mark them with torch.profiler.record_function.")));
    }
    parts.push(Part::Table(table));
    Ok(Report { missing, ..Report::new("regions", parts) })
}

/// A region on its thread.
struct Region {
    group: Group,
    start_ns: i64,
    end_ns: i64,
}

/// A launch that counts for a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Launch {
    start_ns: i64,
    /// The thread made the call itself.
    is_own: bool,
    device_events: i64,
    device_ns: i64,
}

/// Rank, window and track.
type Thread = (i64, i64, i64);

/// Follows each thread: a launch belongs to the regions that are open when its call starts, on the thread that calls and
/// on the one that it works for.
fn walk(asking: &Asking<'_>) -> Result<HashMap<Group, Sums>, RunError> {
    let regions = read_regions(asking)?;
    let mut launches = if regions.is_empty() { HashMap::new() } else { read_launches(asking)? };
    let mut sums: HashMap<Group, Sums> = HashMap::new();
    for (thread, regions) in regions {
        let mut launches = launches.remove(&thread).unwrap_or_default();
        launches.sort_unstable();
        follow(&regions, &launches, &mut sums);
    }
    Ok(sums)
}

/// The regions of each thread by start; of those that start together the longest first.
fn read_regions(asking: &Asking<'_>) -> Result<BTreeMap<Thread, Vec<Region>>, RunError> {
    let mut regions: BTreeMap<Thread, Vec<Region>> = BTreeMap::new();
    let statement = format!(
        "SELECT rank, \"window\", track_id, start_ns, start_ns + dur_ns AS end_ns, name, step FROM ({REGIONS})
         ORDER BY start_ns, end_ns DESC, position"
    );
    asking.walk(&statement, |frame| {
        let column = |name: &str| frame.required_i64(name);
        let (ranks, windows, tracks) = (column("rank")?, column("window")?, column("track_id")?);
        let (starts, ends, steps) = (column("start_ns")?, column("end_ns")?, frame.i64("step")?);
        for (row, name) in frame.text("name")?.into_iter().enumerate() {
            let group = (name.unwrap_or_default(), keys_of(asking, ranks[row], windows[row], steps[row]));
            let region = Region { group, start_ns: starts[row], end_ns: ends[row] };
            regions.entry((ranks[row], windows[row], tracks[row])).or_default().push(region);
        }
        Ok(())
    })?;
    Ok(regions)
}

fn read_launches(asking: &Asking<'_>) -> Result<HashMap<Thread, Vec<Launch>>, RunError> {
    let mut launches: HashMap<Thread, Vec<Launch>> = HashMap::new();
    let statement = "SELECT rank, \"window\", track_id, for_track_id, start_ns, device_events, device_total_ns
         FROM launches_by_thread WHERE {source}";
    asking.walk(statement, |frame| {
        let column = |name: &str| frame.required_i64(name);
        let (ranks, windows, tracks) = (column("rank")?, column("window")?, column("track_id")?);
        let for_tracks = frame.i64("for_track_id")?;
        let (starts, events, device) = (column("start_ns")?, column("device_events")?, column("device_total_ns")?);
        for row in 0..frame.rows() {
            let (start_ns, device_events, device_ns) = (starts[row], events[row], device[row]);
            let mut add = |track: i64, is_own: bool| {
                let launch = Launch { start_ns, is_own, device_events, device_ns };
                launches.entry((ranks[row], windows[row], track)).or_default().push(launch);
            };
            add(tracks[row], true);
            if let Some(track) = for_tracks[row] {
                add(track, false);
            }
        }
        Ok(())
    })?;
    Ok(launches)
}

/// Follows one thread. Both lists are in order; a region begins before what is launched at its start.
fn follow(regions: &[Region], launches: &[Launch], sums: &mut HashMap<Group, Sums>) {
    let mut open: Vec<&Region> = Vec::new();
    let mut launches = launches.iter().peekable();
    let mut launch_until = |until_ns: i64, open: &mut Vec<&Region>, sums: &mut HashMap<Group, Sums>| {
        while let Some(launch) = launches.next_if(|launch| launch.start_ns < until_ns) {
            open.retain(|region| region.end_ns > launch.start_ns);
            add_launch(sums, open, launch);
        }
    };
    for region in regions {
        launch_until(region.start_ns, &mut open, sums);
        open.retain(|outer| outer.end_ns > region.start_ns);
        let is_inside = open.iter().any(|outer| outer.group.0 == region.group.0 && outer.end_ns >= region.end_ns);
        let host_ns = if is_inside { 0 } else { region.end_ns - region.start_ns };
        let sums = sums.entry(region.group.clone()).or_default();
        sums.host_total_ns += host_ns;
        open.push(region);
    }
    launch_until(i64::MAX, &mut open, sums);
}

/// Work counts once for each name around its launch, and as its own for the innermost.
fn add_launch(sums: &mut HashMap<Group, Sums>, open: &[&Region], launch: &Launch) {
    for (place, region) in open.iter().enumerate() {
        let Some(sums) = sums.get_mut(&region.group) else { continue };
        if !open[..place].iter().any(|outer| outer.group.0 == region.group.0) {
            sums.all_threads_device_events += launch.device_events;
            sums.all_threads_device_ns += launch.device_ns;
            if launch.is_own {
                sums.device_events += launch.device_events;
                sums.device_total_ns += launch.device_ns;
            }
        }
        if launch.is_own && place + 1 == open.len() {
            sums.device_self_ns += launch.device_ns;
        }
    }
}

fn table(asking: &Asking<'_>, sums: &HashMap<Group, Sums>, has_device: bool) -> Result<ReportTable, RunError> {
    let keys = [("rank", "rank"), ("window", "\"window\""), ("step", "step")];
    let keys = keys.map(|(grouping, column)| asking.key(grouping, column, "BIGINT")).join(", ");
    let regions = asking.query(&format!(
        "SELECT name, {keys}, sum(self_ns) AS host_self_ns, {} FROM ({REGIONS}) GROUP BY ALL",
        named_columns("dur_ns", "true")
    ))?;
    let column = |name: &str| regions.required_i64(name);
    let (ranks, windows, steps) = (regions.i64("rank")?, regions.i64("window")?, regions.i64("step")?);
    let (counts, own, totals) = (column("count")?, column("host_self_ns")?, column("total_ns")?);
    let (p50, p99, max) = (column("p50_ns")?, column("p99_ns")?, column("max_ns")?);
    let mut step_ns: HashMap<[Option<i64>; 3], i64> = HashMap::new();
    for (rank, window, step, length_ns) in asking.step_lengths()? {
        *step_ns.entry(keys_of(asking, rank, window, Some(step))).or_default() += length_ns;
    }
    let regions_by_row = regions.text("name")?.into_iter().enumerate();
    let mut groups: Vec<(usize, Group, Sums)> = regions_by_row
        .map(|(row, name)| {
            let group = (name.unwrap_or_default(), [ranks[row], windows[row], steps[row]]);
            let sums = sums.get(&group).copied().unwrap_or_default();
            (row, group, sums)
        })
        .collect();
    groups.sort_by(|(_, a, a_sums), (_, b, b_sums)| (b_sums.host_total_ns, a).cmp(&(a_sums.host_total_ns, b)));
    let in_steps = time_in_steps(asking)?;
    let share = |group: &Group| {
        let whole = step_ns.get(&group.1).copied().filter(|whole| *whole > 0)?;
        Some(in_steps.get(group).copied().unwrap_or(0) as f64 / whole as f64)
    };
    let named = ReportColumn::named;
    let key = |name: &str| asking.key_column(name, name, Look::Value);
    let of_device = |value: i64| has_device.then_some(value);
    let look = if has_device { Look::Value } else { Look::Hidden };
    let hidden = |name: &str| named(name).look(Look::Hidden);
    let own_device = named("device_total_ns").label("device (own)").look(look).from_width(100);
    let all_device = named("all_threads_device_ns").label("device (all)").look(look);
    let table = ReportTable::of("rows", groups)
        .column(named("name").label("region").look(Look::Operator), |(_, group, _)| group.0.clone())
        .column(key("rank"), |(_, group, _)| group.1[0])
        .column(key("window"), |(_, group, _)| group.1[1])
        .column(key("step"), |(_, group, _)| group.1[2])
        .column(named("count"), |(row, ..)| counts[*row])
        .column(named("host_total_ns").look(Look::Bar(Some(Class::CpuExec))), |(_, _, sums)| sums.host_total_ns)
        .column(named("share_ratio").label("of steps"), |(_, group, _)| share(group))
        .column(named("host_self_ns").from_width(140), |(row, ..)| own[*row])
        .column(named("mean_ns"), |(row, ..)| totals[*row] as f64 / counts[*row] as f64)
        .column(named("p50_ns").from_width(120), |(row, ..)| p50[*row])
        .column(hidden("p99_ns"), |(row, ..)| p99[*row])
        .column(named("max_ns").from_width(120), |(row, ..)| max[*row])
        .column(named("device_events").look(look).from_width(140), |(_, _, sums)| of_device(sums.device_events))
        .column(own_device, |(_, _, sums)| of_device(sums.device_total_ns))
        .column(hidden("device_self_ns"), |(_, _, sums)| of_device(sums.device_self_ns))
        .column(hidden("all_threads_device_events"), |(_, _, sums)| of_device(sums.all_threads_device_events))
        .column(all_device, |(_, _, sums)| of_device(sums.all_threads_device_ns))
        .table();
    Ok(table)
}

/// Time of the steps in which a region is open on some thread, of those that start in the step.
fn time_in_steps(asking: &Asking<'_>) -> Result<HashMap<Group, i64>, RunError> {
    let mut times: HashMap<Group, i64> = HashMap::new();
    let statement = format!(
        "SELECT region.name, region.rank, region.\"window\", region.step,
           union_length(greatest(region.start_ns, step.start_ns), least(region.start_ns + dur_ns, step.end_ns)) AS open_ns
         FROM ({REGIONS}) AS region
         JOIN (SELECT rank, \"window\", step, start_ns, end_ns FROM steps WHERE {{steps}}) AS step
           ON step.rank = region.rank AND step.\"window\" = region.\"window\" AND step.step = region.step
         GROUP BY region.name, region.rank, region.\"window\", region.step"
    );
    asking.walk(&statement, |frame| {
        let column = |name: &str| frame.required_i64(name);
        let (ranks, windows, steps) = (column("rank")?, column("window")?, column("step")?);
        let open = column("open_ns")?;
        for (row, name) in frame.text("name")?.into_iter().enumerate() {
            let group = (name.unwrap_or_default(), keys_of(asking, ranks[row], windows[row], Some(steps[row])));
            *times.entry(group).or_default() += open[row];
        }
        Ok(())
    })?;
    Ok(times)
}

/// What rows are grouped by, of one recording and step.
fn keys_of(asking: &Asking<'_>, rank: i64, window: i64, step: Option<i64>) -> [Option<i64>; 3] {
    [
        asking.groups_by("rank").then_some(rank),
        asking.groups_by("window").then_some(window),
        step.filter(|_| asking.groups_by("step")),
    ]
}
