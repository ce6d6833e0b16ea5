//! Measures what the rules need to know.

mod links;
mod loading_regions;
mod memory_levels;

use std::panic::resume_unwind;
use std::thread;

use stepscope_model::tables::{ALL_COLLECTIVES, MEMORY_EVENTS, SPANS};
use stepscope_model::{Class, KernelCategory, StepSource};
use stepscope_rules::{Copies, Facts, Framework, Hardware, StepTimes, Vendor, Waits, is_work_without_tensor_cores};
use stepscope_runs::{Frame, RunError};

use super::layers::{StepRanges, time_by_layer};
use super::step_times::{self, Distribution, StepTime, in_complete};
use super::{Asking, before_recording, comms};
use crate::replays::Replays;
use crate::tensor_cores::{ELIGIBLE, TensorCoreNames, is_eligible};

/// Calls whose times add up to a smaller share of the steps are not worth a walk over them: their sum is near enough.
const WALKED_SHARE: f64 = 0.02;

/// A call this long does more than launch: it loads a module, waits for room in a queue, or copies.
const LONG_CALL_NS: i64 = 1_000_000;

/// What rules look at, and what shows how much their changes save.
pub(super) struct Measured<'a> {
    /// The steps that are asked about.
    pub steps: Vec<StepTime>,
    /// What is known about them.
    pub facts: Facts,
    /// Some of them again, to be changed.
    pub replays: Replays<'a>,
}

/// Measures the steps that are asked about.
pub(super) fn measure<'a>(asking: &'a Asking<'a>) -> Result<Measured<'a>, RunError> {
    let steps = step_times::read(asking)?;
    let slow_links = links::find(asking, &in_complete(&steps))?;
    // A model is built on one core, while queries mostly wait for one another.
    let (facts, replays) = thread::scope(|scope| {
        let replays = scope.spawn(|| Replays::of(asking, &steps, &slow_links));
        let facts = gather(asking, &steps);
        (facts, replays.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let (mut facts, replays) = (facts?, replays?);
    facts.window = replays.window();
    facts.slow_links = slow_links;
    Ok(Measured { steps, facts, replays })
}

/// The facts about the recordings that are asked about. `steps` are theirs.
fn gather(asking: &Asking<'_>, steps: &[StepTime]) -> Result<Facts, RunError> {
    let mut facts = Facts::default();
    add_steps(&mut facts, steps);
    let complete = in_complete(steps);
    let ranges = StepRanges::of(steps);
    add_annotations(asking, &complete, &ranges, &mut facts)?;
    if facts.loaders.is_empty() {
        loading_regions::add(asking, &complete, &mut facts)?;
    }
    (facts.before_recording, facts.waits) = of_headline(asking, steps)?;
    add_operators(asking, &complete, &mut facts)?;
    if facts.device_events > 0 {
        add_hardware(asking, &mut facts)?;
        add_launches(asking, &complete, &ranges, &mut facts)?;
        add_kernels(asking, &complete, &ranges, &mut facts)?;
        add_categories(asking, &complete, &mut facts)?;
        add_copies(asking, &complete, &ranges, &mut facts)?;
    }
    if asking.has_rows(&MEMORY_EVENTS) {
        add_memory(asking, &mut facts)?;
    }
    memory_levels::add(asking, &mut facts)?;
    facts.allocator = crate::memory::allocator_facts(asking)?;
    add_stacks(asking, &mut facts)?;
    add_ranks(asking, &complete, &mut facts)?;
    Ok(facts)
}

/// What the sentence about a step needs besides the steps: the part before the recording by class, and waiting.
pub(super) fn of_headline(
    asking: &Asking<'_>,
    steps: &[StepTime],
) -> Result<([i64; Class::ALL.len()], Option<Waits>), RunError> {
    let ranges = StepRanges::of(steps);
    let mut before = [0; Class::ALL.len()];
    if steps.iter().any(|step| step.device_events > 0) {
        let busy = before_recording::find(asking.engine, &asking.sources)?;
        before = before_recording::time_in_steps(asking, &ranges, &busy)?;
    }
    // How much of the waiting nothing hides is known by the spans around it: a store of sums alone cannot say.
    let is_known = asking.ranks().len() > 1 && asking.has_rows(&ALL_COLLECTIVES) && asking.has_rows(&SPANS);
    let waits = if is_known { comms::waits_of(asking, &ranges)? } else { None };
    Ok((before, waits))
}

fn add_steps(facts: &mut Facts, steps: &[StepTime]) {
    let times = Distribution::of(steps.iter().filter(|step| step.is_complete).map(|step| step.dur_ns));
    facts.step_times = times.map(|times| StepTimes {
        count: times.count(),
        p50_ns: times.percentile(50),
        p90_ns: times.percentile(90),
        mean_ns: times.mean(),
    });
    for step in steps.iter().filter(|step| step.is_complete) {
        facts.steps += 1;
        facts.step_ns += step.dur_ns;
        facts.device_events += step.device_events;
        let Some(shares) = &step.shares else { continue };
        facts.by_class.iter_mut().zip(shares.by_class).for_each(|(sum, ns)| *sum += ns);
        facts.kernel_busy_ns += shares.kernel_busy_ns;
        facts.device_busy_ns += shares.device_busy_ns;
        let loading = shares.of(Class::Dataloader);
        let range = facts.loading_range_ns.get_or_insert((loading, loading));
        *range = (range.0.min(loading), range.1.max(loading));
    }
}

/// Marks of the host, and what they say about the program.
fn add_annotations(
    asking: &Asking<'_>,
    complete: &str,
    ranges: &StepRanges,
    facts: &mut Facts,
) -> Result<(), RunError> {
    let rows = asking.query(&format!(
        "SELECT name, kind, count(*) AS calls FROM spans
         WHERE {{events}} AND {complete} AND kind IN ('ann', 'op') AND phase = 'X' AND (
           name LIKE 'enumerate(Data%' OR name LIKE '%DataParallel.forward' OR name LIKE 'Optimizer.step%'
           OR name LIKE 'torch.distributed.ddp.reducer%' OR name LIKE 'FSDP::%' OR name LIKE 'Torch-Compiled Region%'
           OR name LIKE 'CompiledFunction%' OR name LIKE 'gloo:%' OR name LIKE 'mpi:%' OR name LIKE 'ucc:%')
         GROUP BY name, kind ORDER BY name, kind",
    ))?;
    let (calls, kinds) = (rows.required_i64("calls")?, rows.text("kind")?);
    let mut has_data_parallel = false;
    for (row, name) in rows.text("name")?.into_iter().flatten().enumerate() {
        let is_annotation = kinds[row].as_deref() == Some("ann");
        facts.frameworks.extend(framework_of(&name));
        if !is_annotation {
            continue;
        }
        if name.starts_with("enumerate(") {
            facts.loaders.insert(name, calls[row]);
        } else if name == "DataParallel.forward" {
            has_data_parallel = true;
        } else if let Some((backend, _)) = name.split_once(':').filter(|_| is_on_host(&name)) {
            facts.host_backends.insert(backend.to_owned());
        }
    }
    if asking.sources.iter().any(|source| source.step_source == StepSource::ServingAnnotation) {
        facts.frameworks.insert(Framework::Serving);
    }
    if asking.sources.iter().any(|source| source.is_xplane()) {
        facts.frameworks.insert(Framework::Xla);
    }
    let annotated = |condition: &str| {
        let intervals = format!(
            "SELECT rank, \"window\", start_ns, start_ns + dur_ns AS end_ns, 0 AS layer FROM spans
             WHERE {{events}} AND {complete} AND kind = 'ann' AND phase = 'X' AND ({condition})"
        );
        time_by_layer(asking, ranges, &intervals).map(|[ns]| ns)
    };
    if has_data_parallel {
        facts.data_parallel_ns = annotated("name = 'DataParallel.forward'")?;
    }
    if !facts.host_backends.is_empty() {
        facts.host_communication_ns = annotated("name LIKE 'gloo:%' OR name LIKE 'mpi:%' OR name LIKE 'ucc:%'")?;
    }
    Ok(())
}

/// Whether an annotation is of communication that the host does itself.
fn is_on_host(name: &str) -> bool {
    ["gloo:", "mpi:", "ucc:"].iter().any(|backend| name.starts_with(backend))
}

/// What the name of a span says about the program.
fn framework_of(name: &str) -> Option<Framework> {
    let starts = |known: &str| name.starts_with(known);
    match name {
        "DistributedDataParallel.forward" => Some(Framework::Ddp),
        "FullyShardedDataParallel.forward" => Some(Framework::Fsdp),
        _ if starts("torch.distributed.ddp.reducer") => Some(Framework::Ddp),
        _ if starts("FSDP::") => Some(Framework::Fsdp),
        _ if starts("Optimizer.step") => Some(Framework::Optimizer),
        _ if starts("Torch-Compiled Region") || starts("CompiledFunction") => Some(Framework::Compile),
        _ if starts("enumerate(") && name.contains("_SingleProcess") => Some(Framework::LoaderInProcess),
        _ if starts("enumerate(") && name.contains("_MultiProcessing") => Some(Framework::LoaderWithWorkers),
        _ => None,
    }
}

fn add_operators(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), RunError> {
    let rows = asking.query(&format!(
        "SELECT name, sum(calls) AS calls, sum(device_self_ns) AS device_ns FROM op_rollup
         WHERE {{steps}} AND {complete} GROUP BY name ORDER BY device_ns DESC, name",
    ))?;
    let (calls, device) = (rows.required_i64("calls")?, rows.required_i64("device_ns")?);
    for (row, name) in rows.text("name")?.into_iter().enumerate() {
        facts.operator_device_ns += device[row];
        let Some(name) = name else { continue };
        if is_eligible(&name) && device[row] > 0 {
            facts.eligible_ns += device[row];
            facts.eligible_name.get_or_insert_with(|| name.clone());
        }
        let launches = device[row] > 0;
        if launches && facts.most_called.as_ref().is_none_or(|(_, most)| calls[row] > *most) {
            facts.most_called = Some((name, calls[row]));
        }
    }
    Ok(())
}

/// Whether Python frames were recorded.
fn add_stacks(asking: &Asking<'_>, facts: &mut Facts) -> Result<(), RunError> {
    let rows = asking.query("SELECT 1 AS one FROM spans WHERE {source} AND kind = 'py' LIMIT 1")?;
    facts.has_stacks = rows.rows() > 0;
    Ok(())
}

/// What the devices are: by their names, or else by the runtime that is called.
fn add_hardware(asking: &Asking<'_>, facts: &mut Facts) -> Result<(), RunError> {
    let rows = asking.query(
        "SELECT count(*) FILTER (WHERE name LIKE 'hip%') AS hip, count(*) FILTER (WHERE name LIKE 'cu%') AS cuda
         FROM runtime_calls WHERE {source}",
    )?;
    let calls = match (first(&rows, "hip")?, first(&rows, "cuda")?) {
        (0, 0) => None,
        (0, _) => Some(Vendor::Nvidia),
        _ => Some(Vendor::Amd),
    };
    let devices: Vec<_> = asking.sources.iter().flat_map(|source| source.devices.iter().flatten()).collect();
    facts.hardware = Hardware::of(&devices, calls);
    let rows = asking.query(
        "SELECT max(devices) AS devices FROM (
           SELECT count(DISTINCT device_id) AS devices FROM tracks WHERE {source} GROUP BY rank, \"window\")",
    )?;
    facts.devices_of_a_rank = first(&rows, "devices")? as usize;
    Ok(())
}

fn add_kernels(asking: &Asking<'_>, complete: &str, ranges: &StepRanges, facts: &mut Facts) -> Result<(), RunError> {
    let kernels = if asking.has_sums() {
        format!("SELECT name, total_ns AS dur_ns FROM kernel_rollup WHERE {{steps}} AND {complete}")
    } else {
        format!("SELECT name, dur_ns FROM device_events WHERE {{events}} AND {complete} AND kind = 'kernel'")
    };
    let rows = asking.query(&format!("SELECT name, sum(dur_ns) AS dur_ns FROM ({kernels}) GROUP BY name"))?;
    let names = TensorCoreNames::new()?;
    let mut on_cores = Vec::new();
    for (name, dur_ns) in rows.text("name")?.into_iter().zip(rows.required_i64("dur_ns")?) {
        let name = name.unwrap_or_default();
        if name.starts_with("triton_") {
            facts.frameworks.insert(Framework::Compile);
        }
        if names.are_used(&name) {
            facts.tensor_core_ns += dur_ns;
            on_cores.push(name);
        }
    }
    if is_work_without_tensor_cores(facts, &asking.question.thresholds) {
        let eligible: Vec<String> = ELIGIBLE.iter().map(|part| format!("name LIKE '%{part}%'")).collect();
        let quoted: Vec<String> = on_cores.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
        let others =
            if quoted.is_empty() { String::new() } else { format!(" AND name NOT IN ({})", quoted.join(", ")) };
        let intervals = format!(
            "SELECT kernel.rank, kernel.\"window\", start_ns, end_ns, 0 AS layer FROM
               (SELECT * FROM device_events WHERE {{events}} AND {complete} AND kind = 'kernel'{others}) AS kernel
             JOIN (SELECT rank, \"window\", span_id FROM spans
                   WHERE {{source}} AND kind = 'op' AND ({})) AS operator
               ON operator.rank = kernel.rank AND operator.\"window\" = kernel.\"window\"
               AND operator.span_id = kernel.operator_id",
            eligible.join(" OR ")
        );
        [facts.without_cores_ns] = time_by_layer(asking, ranges, &intervals)?;
    }
    Ok(())
}

/// What devices are busy with.
fn add_categories(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), RunError> {
    let kernels = if asking.has_sums() {
        format!("SELECT category, total_ns FROM kernel_rollup WHERE {{steps}} AND {complete}")
    } else {
        format!(
            "SELECT category, dur_ns AS total_ns FROM device_events WHERE {{events}} AND {complete} AND kind = 'kernel'"
        )
    };
    let rows = asking.query(&format!(
        "SELECT category, sum(total_ns) AS total_ns FROM (
           {kernels}
           UNION ALL
           SELECT category, dur_ns FROM device_events WHERE {{events}} AND {complete} AND kind <> 'kernel')
         GROUP BY category"
    ))?;
    for (category, total_ns) in rows.text("category")?.into_iter().zip(rows.required_i64("total_ns")?) {
        let category = category.as_deref().and_then(KernelCategory::of_text).unwrap_or(KernelCategory::Other);
        *facts.by_category.entry(category).or_default() += total_ns;
    }
    Ok(())
}

fn add_launches(asking: &Asking<'_>, complete: &str, ranges: &StepRanges, facts: &mut Facts) -> Result<(), RunError> {
    let rows = asking.query(&format!(
        "SELECT count(*) AS launches, coalesce(sum(dur_ns) FILTER (WHERE dur_ns < {LONG_CALL_NS}), 0) AS call_ns,
           nearest_rank(dur_ns, 50) AS median_ns,
           count(*) FILTER (WHERE device_dur_ns < dur_ns) AS shorter, count(*) FILTER (WHERE is_graph) AS graphs
         FROM launches WHERE {{events}} AND {complete}",
    ))?;
    facts.launches = first(&rows, "launches")?;
    facts.median_call_ns = first(&rows, "median_ns")?;
    facts.shorter_than_call = first(&rows, "shorter")?;
    if first(&rows, "graphs")? > 0 {
        facts.frameworks.insert(Framework::Graphs);
    }
    // Threads that call at once share the time, and a launch costs nothing while the device has work.
    let call_ns = first(&rows, "call_ns")?;
    facts.exposed_launch_ns = call_ns;
    if facts.share(call_ns) >= WALKED_SHARE {
        let intervals = format!(
            "SELECT rank, \"window\", start_ns, end_ns, 0 AS layer FROM device_events WHERE {{source}}
             UNION ALL SELECT rank, \"window\", start_ns, start_ns + dur_ns, 1 FROM launches
             WHERE {{events}} AND {complete} AND dur_ns < {LONG_CALL_NS}"
        );
        [_, facts.exposed_launch_ns] = time_by_layer(asking, ranges, &intervals)?;
    }
    let rows = asking.query(&format!(
        "SELECT count(*) AS calls, coalesce(sum(dur_ns), 0) AS dur_ns FROM runtime_calls
         WHERE {{events}} AND {complete} AND name LIKE '%Synchronize%'",
    ))?;
    facts.synchronizations = first(&rows, "calls")?;
    facts.synchronization_ns = first(&rows, "dur_ns")?;
    if facts.share(facts.synchronization_ns) >= WALKED_SHARE {
        let intervals = format!(
            "SELECT rank, \"window\", start_ns, start_ns + dur_ns AS end_ns, 0 AS layer FROM runtime_calls
             WHERE {{events}} AND {complete} AND name LIKE '%Synchronize%'"
        );
        [facts.synchronization_ns] = time_by_layer(asking, ranges, &intervals)?;
    }
    Ok(())
}

fn add_copies(asking: &Asking<'_>, complete: &str, ranges: &StepRanges, facts: &mut Facts) -> Result<(), RunError> {
    let rows = asking.query(&format!(
        "SELECT count(*) AS copies, coalesce(sum(size_bytes), 0) AS size_bytes, coalesce(sum(dur_ns), 0) AS dur_ns
         FROM device_events WHERE {{events}} AND {complete} AND kind = 'memcpy' AND name LIKE '%Pageable%'",
    ))?;
    let (count, size_bytes, sum_ns) = (first(&rows, "copies")?, first(&rows, "size_bytes")?, first(&rows, "dur_ns")?);
    if count > 0 {
        let copies = format!(
            "SELECT rank, \"window\", start_ns, end_ns, 1 AS layer FROM device_events
             WHERE {{events}} AND {complete} AND kind = 'memcpy' AND name LIKE '%Pageable%'"
        );
        let [time_ns] = time_by_layer(asking, ranges, &copies.replace("1 AS layer", "0 AS layer"))?;
        let kernels = "SELECT rank, \"window\", start_ns, end_ns, 0 AS layer FROM device_events
                       WHERE {events} AND kind = 'kernel'";
        let [_, exposed_ns] = time_by_layer(asking, ranges, &format!("{copies} UNION ALL {kernels}"))?;
        facts.pageable = Copies { count, size_bytes, sum_ns, time_ns, hidden_ns: time_ns - exposed_ns };
    }
    Ok(())
}

fn add_memory(asking: &Asking<'_>, facts: &mut Facts) -> Result<(), RunError> {
    let rows = asking.query(
        "SELECT device_id, max(coalesce(total_reserved_bytes, total_allocated_bytes)) AS peak_bytes
         FROM memory_events WHERE {source} AND device_type IN (1, 6) GROUP BY device_id",
    )?;
    for (device, peak) in rows.i64("device_id")?.into_iter().zip(rows.i64("peak_bytes")?) {
        let devices = asking.sources.iter().flat_map(|source| source.devices.iter().flatten());
        let capacity = devices.into_iter().find(|known| known.id == device).and_then(|known| known.memory_bytes);
        let fuller = |(peak, capacity): (i64, i64), (other, of): (i64, i64)| {
            peak as f64 / capacity.max(1) as f64 > other as f64 / of.max(1) as f64
        };
        if let Some(use_of_it) = peak.zip(capacity)
            && facts.memory.is_none_or(|known| fuller(use_of_it, known))
        {
            facts.memory = Some(use_of_it);
        }
    }
    Ok(())
}

/// Communication between ranks: what of it is waiting for each other.
fn add_ranks(asking: &Asking<'_>, complete: &str, facts: &mut Facts) -> Result<(), RunError> {
    facts.ranks = asking.ranks().len();
    if !asking.has_rows(&ALL_COLLECTIVES) {
        return Ok(());
    }
    let rows = asking.query(&format!(
        "SELECT collective, sum(dur_ns) AS dur_ns FROM all_collectives WHERE {{events}} AND {complete}
         GROUP BY collective ORDER BY dur_ns DESC, collective LIMIT 1"
    ))?;
    facts.largest_collective = rows.text("collective")?.into_iter().flatten().next();
    Ok(())
}

fn first(rows: &Frame, column: &str) -> Result<i64, RunError> {
    Ok(rows.i64(column)?.first().copied().flatten().unwrap_or(0))
}
