//! Near-valid traces through the whole ingest, so that the rules behind the reader are reached.
#![no_main]

#[path = "../../crates/ingest/tests/it/invariants.rs"]
mod invariants;
#[path = "../../crates/formats/tests/it/invariants.rs"]
mod reader_invariants;

use std::fmt::Write as _;

use arbitrary::{Result, Unstructured};

/// Most events of one trace.
const MAX_EVENTS: usize = 40;

const PHASES: [&str; 14] = ["X", "X", "B", "E", "b", "n", "e", "i", "C", "s", "t", "f", "M", "P"];

const CATEGORIES: [&str; 16] = [
    "cpu_op",
    "user_annotation",
    "cuda_runtime",
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "python_function",
    "gpu_user_annotation",
    "cuda_sync",
    "overhead",
    "Trace",
    "fwdbwd",
    "ac2g",
    "mtia_runtime",
    "cuda_profiler_range",
    "strange",
];

const NAMES: [&str; 20] = [
    "aten::mm",
    "ProfilerStep#1",
    "ProfilerStep#2",
    "ProfilerStep#3",
    "Optimizer.step#SGD.step",
    "execute_context_1(1)_generation_0(0)",
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cudaGraphLaunch",
    "cudaStreamSynchronize",
    "gemm",
    "ncclDevKernel_AllReduce",
    "record_param_comms",
    "nccl:all_reduce",
    "[memory]",
    "fwdbwd",
    "nn.Module: Linear_0",
    "process_name",
    "thread_name",
    "thread_sort_index",
];

const ARGS: [&str; 16] = [
    "correlation",
    "External id",
    "device",
    "stream",
    "Sequence number",
    "Fwd thread id",
    "Python id",
    "Python parent id",
    "Python module id",
    "graph node id",
    "Bytes",
    "Total Allocated",
    "Collective name",
    "name",
    "sort_index",
    "anything",
];

const EDGES: [&str; 14] = [
    "-1",
    "0.001",
    "-0.0005",
    "1e3",
    "9223372036854775.807",
    "-9223372036854775.808",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e999",
    "null",
    "\"5\"",
    "[1, {\"a\": null}]",
    "true",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = trace(&mut Unstructured::new(bytes)) else { return };
    if std::env::var_os("STEPSCOPE_FUZZ_SHOW").is_some() {
        eprintln!("{trace}");
    }
    reader_invariants::check_reader(trace.as_bytes());
    invariants::check_ingest(trace.as_bytes());
});

fn trace(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut trace = String::from("{");
    if choices.ratio(1, 4)? {
        let _ = write!(trace, "\"baseTimeNanoseconds\": {}, ", number(choices)?);
    }
    if choices.ratio(1, 8)? {
        let _ = write!(trace, "\"distributedInfo\": {{\"rank\": {}}}, ", number(choices)?);
    }
    trace.push_str("\"traceEvents\": [");
    for index in 0..MAX_EVENTS {
        if choices.is_empty() {
            break;
        }
        let comma = if index > 0 { ",\n" } else { "\n" };
        let _ = write!(trace, "{comma}{}", event(choices)?);
    }
    trace.push_str("\n]}");
    Ok(trace)
}

fn event(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut event = format!(
        "{{\"ph\": \"{}\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}",
        choices.choose(&PHASES)?,
        choices.choose(&CATEGORIES)?,
        choices.choose(&NAMES)?,
        choices.int_in_range(0..=1)?,
        choices.int_in_range(0..=1)?,
        number(choices)?,
        number(choices)?,
    );
    if choices.ratio(1, 3)? {
        let _ = write!(event, ", \"id\": {}", number(choices)?);
    }
    let count = choices.int_in_range(0..=3)?;
    let mut args = Vec::new();
    for _ in 0..count {
        args.push(format!("\"{}\": {}", choices.choose(&ARGS)?, number(choices)?));
    }
    if !args.is_empty() {
        let _ = write!(event, ", \"args\": {{{}}}", args.join(", "));
    }
    event.push('}');
    Ok(event)
}

/// Mostly a small number, so that times nest and ids meet.
fn number(choices: &mut Unstructured<'_>) -> Result<String> {
    let choice: u8 = choices.arbitrary()?;
    Ok(match choice {
        0..=239 => (choice % 24).to_string(),
        _ => (*choices.choose(&EDGES)?).to_owned(),
    })
}
