//! The input pipeline: how long steps wait for data, which stages take the time, and what to change (metrics, section 29).

use stepscope_model::null_reason::{NO_INPUT_PIPELINE, ZERO_DURATION};
use stepscope_model::{
    Cell, Class, Holds, Look, Missing, Part, Report, ReportColumn, ReportTable, Role, Sentence, Text, say,
};
use stepscope_runs::{Frame, RunError};

use super::asking::{missing_in, sum_of};
use super::{Analysis, Asking, Content, EmptyPage, Page, RowCount};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "input",
    title: "Input pipeline",
    about: "Show the input pipeline: how long steps wait, and which stages take the time",
    examples: &[
        ("stepscope input logs/", "most self time first"),
        ("stepscope input host.xplane.pb --group-by step", "each step separately"),
        ("stepscope input logs/ -f json", "with the time that steps wait"),
    ],
    groupings: &["rank", "window", "step"],
    usual_rows: Some(20),
    has_rows: true,
    reads: &[Content::Events],
    has_section: false,
    page: Some(Page {
        address: "input",
        key: Some('i'),
        noun: "stages",
        groups: &[("step", "+ step")],
        count: RowCount::None,
        empty: EmptyPage {
            title: "No input pipeline in this trace",
            why: "Stages are recorded for tf.data, and waits for PyTorch's DataLoader.",
            code: None,
        },
        statement: "SELECT name, count(*), sum(dur_ns) FROM spans\nWHERE category IN ('input_stage', 'input_wait')\nGROUP BY name",
        ..Page::BY_NAME
    }),
    answer,
};

/// Stages, waits, and what moves data to the device, each with its group.
const STAGES: &str = "
    SELECT *, CASE
        WHEN category = 'input_wait' OR kind = 'ann' THEN 'wait'
        WHEN kind = 'memcpy' OR starts_with(name, 'InfeedEnqueue') THEN 'enqueue'
        WHEN regexp_like(name, '::(TFRecord|TextLine|FixedLengthRecord|SSTable|RecordIO|ArrayRecord)$') THEN
          CASE WHEN regexp_like(name, '::(MemoryReader|MemoryWriter|Interleave|Prefetch|ParallelMap)')
            THEN 'read_ahead' ELSE 'read' END
        ELSE 'preprocessing' END AS stage_group
    FROM spans
    WHERE {events} AND (
      (kind = 'op' AND (category IN ('input_stage', 'input_wait') OR starts_with(name, 'InfeedEnqueue')))
      OR (kind = 'memcpy' AND regexp_like(name, '(?i)h2d|htod'))
      OR (kind = 'ann' AND starts_with(name, 'enumerate(Data')))";

fn answer(asking: &Asking<'_>) -> Result<Report, RunError> {
    let keys = [("rank", "rank"), ("window", "\"window\""), ("step", "step")];
    let keys = keys.map(|(grouping, column)| asking.key(grouping, column, "BIGINT")).join(", ");
    let stages = asking.query(&format!(
        "SELECT name, stage_group, {keys}, count(*) AS calls, sum(dur_ns) AS total_ns, sum(self_ns) AS self_ns,
           max(dur_ns) AS max_ns
         FROM ({STAGES}) GROUP BY ALL ORDER BY self_ns DESC, name, rank, \"window\", step"
    ))?;
    let groups: Vec<String> = stages.text("stage_group")?.into_iter().flatten().collect();
    let has_pipeline = groups.iter().any(|group| group != "enqueue");
    let waits = Waits::read(asking)?;
    let mut table = rows(asking, &stages, &groups)?;
    table.sorted_by = Some("-self_ns".to_owned());
    table.notes = vec![asking.scope()];
    let mut parts = vec![Part::Text(sentence(&waits, has_pipeline))];
    let advice = advice(&stages, &groups, &waits)?;
    if !advice.is_empty() {
        parts.push(Part::Text(Text::labeled(Role::Fix, advice)));
    }
    let missing = [missing_in(&table, "mean_ns", ZERO_DURATION)];
    let without_pipeline = ["input_wait_ns", "step_input_wait_ns"].into_iter().filter(|_| !has_pipeline);
    let without_pipeline = without_pipeline.map(|path| Missing {
        path: path.to_owned(),
        label: "waiting".to_owned(),
        reason: NO_INPUT_PIPELINE.into(),
    });
    parts.push(Part::Table(table));
    let mut report = Report::new("input", parts);
    let known = |value: i64| if has_pipeline { Cell::Int(value) } else { Cell::Null };
    report.data.push(("input_wait_ns", known(waits.union_ns)));
    report.data.push(("step_input_wait_ns", known(waits.in_steps_ns)));
    report.missing.extend(missing.into_iter().flatten().chain(without_pipeline));
    Ok(report)
}

/// How long anything waits for the pipeline.
struct Waits {
    /// Time in which some thread waits.
    union_ns: i64,
    /// The part of the steps in which the host waits and no device works.
    in_steps_ns: i64,
    step_ns: i64,
    steps: i64,
}

impl Waits {
    fn read(asking: &Asking<'_>) -> Result<Self, RunError> {
        let waiting = asking.query(&format!(
            "SELECT coalesce(sum(union_ns), 0) AS union_ns FROM (
               SELECT rank, \"window\", union_length(start_ns, start_ns + dur_ns) AS union_ns
               FROM ({STAGES}) WHERE stage_group = 'wait' GROUP BY rank, \"window\")"
        ))?;
        let steps = asking.query(
            "SELECT count(*) AS steps, coalesce(sum(b.dataloader_ns), 0) AS waiting_ns, coalesce(sum(s.dur_ns), 0) AS step_ns
             FROM (SELECT * FROM steps WHERE {steps}) s
             JOIN (SELECT * FROM step_breakdown WHERE {steps}) b
               ON s.rank = b.rank AND s.\"window\" = b.\"window\" AND s.step = b.step",
        )?;
        let first =
            |frame: &Frame, name: &str| Ok::<_, RunError>(frame.required_i64(name)?.first().copied().unwrap_or(0));
        Ok(Self {
            union_ns: first(&waiting, "union_ns")?,
            in_steps_ns: first(&steps, "waiting_ns")?,
            step_ns: first(&steps, "step_ns")?,
            steps: first(&steps, "steps")?,
        })
    }

    fn share(&self) -> f64 {
        if self.step_ns > 0 { self.in_steps_ns as f64 / self.step_ns as f64 } else { 0.0 }
    }
}

fn rows(asking: &Asking<'_>, stages: &Frame, groups: &[String]) -> Result<ReportTable, RunError> {
    let column = |name: &str| stages.required_i64(name);
    let (ranks, windows, steps) = (stages.i64("rank")?, stages.i64("window")?, stages.i64("step")?);
    let (calls, totals, own, max) = (column("calls")?, column("total_ns")?, column("self_ns")?, column("max_ns")?);
    let stage_names = stages.text("name")?;
    let named = ReportColumn::named;
    let key = |name: &str| asking.key_column(name, name, Look::Value);
    let mut table = ReportTable::of("rows", 0..stage_names.len())
        .column(named("name").label("stage").look(Look::Operator), |row| stage_names[*row].clone().unwrap_or_default())
        .column(named("group").holds(Holds::Texts), |row| groups[*row].replace('_', " "))
        .column(key("rank"), |row| ranks[*row])
        .column(key("window"), |row| windows[*row])
        .column(key("step"), |row| steps[*row])
        .column(named("calls"), |row| calls[*row])
        .column(named("total_ns"), |row| totals[*row])
        .column(named("self_ns").look(Look::Bar(Some(Class::Dataloader))), |row| own[*row])
        .column(named("mean_ns"), |row| totals[*row] as f64 / calls[*row] as f64)
        .column(named("max_ns").from_width(120), |row| max[*row])
        .table();
    let total_of = |column: &ReportColumn| match column.name.as_str() {
        "name" => asking.counted_rows(table.rows.len(), "stage"),
        "calls" | "self_ns" => Cell::Int(sum_of(&table, &column.name)),
        _ => Cell::Text(String::new()),
    };
    table.total = Some(table.columns.iter().map(total_of).collect());
    Ok(table)
}

fn sentence(waits: &Waits, has_pipeline: bool) -> Text {
    if !has_pipeline {
        return Text::from("No input pipeline is recorded.");
    }
    let per_step = waits.in_steps_ns as f64 / waits.steps.max(1) as f64;
    if waits.in_steps_ns == 0 {
        return Text::headline(Sentence::from("Steps do not wait for input."));
    }
    Text::headline(say!("A step waits {} for input, {} of its time.", say::ns(per_step), say::ratio(waits.share())))
}

/// Steps that wait this share of their time are worth a change.
const NOTABLE_RATIO: f64 = 0.05;

/// Whether a stage does nothing but wait for the ones before it.
fn only_waits(stage: &str) -> bool {
    matches!(stage.rsplit("::").next(), Some("Prefetch" | "Root" | "Model" | "Options"))
}

/// What to change, if steps wait: by the stage that takes the most time itself, and by what is not there.
fn advice(stages: &Frame, groups: &[String], waits: &Waits) -> Result<Vec<Sentence>, RunError> {
    if waits.share() < NOTABLE_RATIO {
        return Ok(Vec::new());
    }
    let names: Vec<String> = stages.text("name")?.into_iter().map(Option::unwrap_or_default).collect();
    let of_pipeline = |group: &str| matches!(group, "read" | "read_ahead" | "preprocessing");
    let is_tf_data = names.iter().any(|name| name.starts_with("Iterator::"));
    if !is_tf_data {
        return Ok(vec!["Use more workers, or load data ahead: DataLoader(num_workers=…, prefetch_factor=…).".into()]);
    }
    let mut advice = Vec::new();
    if !names.iter().any(|name| name.contains("::Prefetch")) {
        advice.push("End the pipeline with .prefetch(tf.data.AUTOTUNE).".into());
    }
    // Rows come by self time.
    let slowest = names.iter().zip(groups).find(|(name, group)| of_pipeline(group) && !only_waits(name));
    if let Some((name, group)) = slowest {
        let last = name.rsplit("::").next().unwrap_or_default();
        let change = match (group.as_str(), last) {
            ("read", _) => "Read files in parallel: interleave(…, num_parallel_calls=tf.data.AUTOTUNE).",
            ("read_ahead", _) => "Read from faster storage, or keep the data in memory: cache().",
            (_, "Map" | "MapAndBatch") => "Run it in parallel: map(…, num_parallel_calls=tf.data.AUTOTUNE).",
            (_, "ParallelMap" | "ParallelMapV2") => "Make its function cheaper, or keep its results: cache().",
            (_, "Batch") => "Batch in parallel: batch(…, num_parallel_calls=tf.data.AUTOTUNE).",
            (_, "Generator") => "Feed from files or arrays: a Python generator makes one element at a time.",
            (_, "Shuffle") => "Shuffle a smaller buffer, or shuffle file names instead of records.",
            _ => "Make it cheaper, move it into a parallel map, or keep its results: cache().",
        };
        advice.push(say!("{} takes the most time of the stages. {}", name, change));
    }
    Ok(advice)
}
