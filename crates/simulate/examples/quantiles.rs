//! Measures launches, gaps, kernels and host work of real traces, and prints their quantiles beside those of simulated
//! jobs: `STEPSCOPE_CORPUS=FOLDER cargo run --release -p stepscope-simulate --example quantiles`, in a target folder of
//! its own. A row has the median over the traces of each quantile, so that a long trace counts no more than a short one.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use stepscope_formats::{Event, Limits, TraceSink, Value, Warning, read_trace};
use stepscope_simulate::faults::population;
use tempfile::TempDir;

/// Traces of the corpus with device events from CUDA.
const CORPUS: [&str; 14] = [
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "kineto/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "hta/trace_diff/control/control.json.gz",
    "hta/df_index_resolver/df_index_resolver.json.gz",
    "astra-sim/megatron-tp8/megatron_kineto_0.json.gz",
    "param/resnet_kineto.json.gz",
    "param/linear_kineto.json.gz",
    "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    "tracelens/b200/eager_trace.json.gz",
    "particle_transformer/batch_size_256/1988042.1733770193632834319.pt.trace.json",
];
/// Each so many-th job of the population is measured.
const EVERY: usize = 9;
const PERCENTILES: [usize; 7] = [1, 10, 25, 50, 75, 90, 99];

/// A span, as far as it is measured.
#[derive(Clone)]
struct Span {
    name: String,
    start_ns: i64,
    end_ns: i64,
    correlation: Option<i64>,
    /// Device and stream, or the thread.
    track: (String, String),
}

/// Operators and calls of a thread.
type OfThread<'a> = (Vec<&'a Span>, Vec<&'a Span>);

#[derive(Default)]
struct Spans {
    ops: Vec<Span>,
    calls: Vec<Span>,
    device: Vec<Span>,
}

type Values = BTreeMap<&'static str, Vec<i64>>;

fn main() {
    let corpus = PathBuf::from(env::var("STEPSCOPE_CORPUS").unwrap()).join("traces");
    let real: Vec<Values> = CORPUS.iter().map(|path| measure(&corpus.join(path))).collect();
    let mut simulated = Vec::new();
    for job in population(9_000).into_iter().step_by(EVERY) {
        let folder = TempDir::new().unwrap();
        simulated.extend(job.write_traces(folder.path()).unwrap().iter().map(|path| measure(path)));
    }
    println!("{} traces of the corpus, {} simulated; microseconds or launches.", real.len(), simulated.len());
    println!("\n| | | p1 | p10 | p25 | p50 | p75 | p90 | p99 |\n|---|---|--:|--:|--:|--:|--:|--:|--:|");
    for name in real[0].keys() {
        let is_count = *name == "queue at a launch";
        print_row(name, "corpus", &medians(&real, name), is_count);
        print_row("", "simulated", &medians(&simulated, name), is_count);
    }
}

fn print_row(name: &str, side: &str, quantiles: &[i64], is_count: bool) {
    let cell = |&value: &i64| if is_count { value.to_string() } else { format!("{:.1}", value as f64 / 1000.0) };
    println!("| {name} | {side} | {} |", quantiles.iter().map(cell).collect::<Vec<_>>().join(" | "));
}

/// For each percentile the median over the traces that have any.
fn medians(traces: &[Values], name: &str) -> Vec<i64> {
    let per_trace: Vec<Vec<i64>> =
        traces.iter().filter(|trace| !trace[name].is_empty()).map(|trace| quantiles(&trace[name])).collect();
    let median = |place: usize| {
        let mut values: Vec<i64> = per_trace.iter().map(|of_trace| of_trace[place]).collect();
        values.sort_unstable();
        i64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
    };
    (0..PERCENTILES.len()).map(median).collect()
}

fn quantiles(values: &[i64]) -> Vec<i64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    PERCENTILES.map(|percentile| values[(percentile * values.len()).div_ceil(100) - 1]).to_vec()
}

fn measure(path: &Path) -> Values {
    let mut spans = Spans::default();
    read_trace(BufReader::new(File::open(path).unwrap()), &Limits::default(), &mut spans).unwrap();
    let calls: BTreeMap<i64, &Span> = spans.calls.iter().filter_map(|call| Some((call.correlation?, call))).collect();
    let mut values = Values::new();
    device(&spans, &calls, &mut values);
    host(&spans, &mut values);
    values
}

fn device(spans: &Spans, calls: &BTreeMap<i64, &Span>, values: &mut Values) {
    let is_collective = |span: &&Span| span.name.to_lowercase().contains("nccl");
    let is_product = |span: &&Span| ["gemm", "conv", "cutlass", "nvjet"].iter().any(|word| span.name.contains(word));
    let kernels = || spans.device.iter().filter(|span| !span.name.starts_with("Mem"));
    let length = |span: &Span| span.end_ns - span.start_ns;
    values.insert("kernels", kernels().filter(|span| !is_collective(span)).map(length).collect());
    values.insert("products and convolutions", kernels().filter(is_product).map(length).collect());
    values.insert("collectives", kernels().filter(is_collective).map(length).collect());
    let launches = spans.calls.iter().filter(|call| call.name.contains("aunchKernel"));
    values.insert("launch calls", launches.map(length).collect());

    let mut streams: BTreeMap<&(String, String), Vec<(&Span, &Span)>> = BTreeMap::new();
    for event in &spans.device {
        if let Some(call) = event.correlation.and_then(|id| calls.get(&id)) {
            streams.entry(&event.track).or_default().push((event, call));
        }
    }
    let (mut latencies, mut gaps, mut queues) = (Vec::new(), Vec::new(), Vec::new());
    for events in streams.values_mut() {
        events.sort_by_key(|(event, _)| event.start_ns);
        for pair in events.windows(2) {
            let [(before, _), (event, call)] = pair else { continue };
            if before.end_ns <= call.start_ns {
                latencies.push(event.start_ns - call.start_ns);
            } else if call.end_ns <= before.start_ns && event.start_ns >= before.end_ns {
                gaps.push(event.start_ns - before.end_ns);
            }
        }
        let starts: Vec<i64> = events.iter().map(|(event, _)| event.start_ns).collect();
        let mut call_starts: Vec<i64> = events.iter().map(|(_, call)| call.start_ns).collect();
        call_starts.sort_unstable();
        let waiting =
            |(place, &at): (usize, &i64)| place as i64 + 1 - starts.partition_point(|&start_ns| start_ns <= at) as i64;
        queues.extend(call_starts.iter().enumerate().map(waiting));
    }
    values.insert("launch latency, stream idle", latencies);
    values.insert("gap between queued kernels", gaps);
    values.insert("queue at a launch", queues);
}

fn host(spans: &Spans, values: &mut Values) {
    let mut ends: Vec<i64> = spans.device.iter().map(|event| event.end_ns).collect();
    ends.sort_unstable();
    let mut returns = Vec::new();
    for call in spans.calls.iter().filter(|call| call.name.ends_with("Synchronize")) {
        let place = ends.partition_point(|&end_ns| end_ns <= call.end_ns);
        if place > 0 && ends[place - 1] > call.start_ns + 2_000 {
            returns.push(call.end_ns - ends[place - 1]);
        }
    }
    values.insert("return from a wait", returns);

    let mut threads: BTreeMap<&(String, String), OfThread<'_>> = BTreeMap::new();
    spans.ops.iter().for_each(|op| threads.entry(&op.track).or_default().0.push(op));
    spans.calls.iter().for_each(|call| threads.entry(&call.track).or_default().1.push(call));
    let (mut between, mut entries, mut exits) = (Vec::new(), Vec::new(), Vec::new());
    for (ops, calls) in threads.values_mut() {
        ops.sort_by_key(|op| (op.start_ns, -op.end_ns));
        calls.sort_by_key(|call| call.start_ns);
        let mut until_ns = None;
        for (place, op) in ops.iter().enumerate() {
            if until_ns.is_none_or(|until_ns| op.start_ns >= until_ns) {
                between.extend(until_ns.map(|until_ns| op.start_ns - until_ns));
                until_ns = Some(op.end_ns);
            }
            if ops.get(place + 1).is_some_and(|next| next.start_ns < op.end_ns) {
                continue;
            }
            let from = calls.partition_point(|call| call.start_ns < op.start_ns);
            let to = calls.partition_point(|call| call.start_ns <= op.end_ns);
            if let [call] = &calls[from..to.max(from)]
                && call.name.contains("aunchKernel")
            {
                entries.push(call.start_ns - op.start_ns);
                exits.push(op.end_ns - call.end_ns);
            }
        }
    }
    values.insert("between outermost operators", between);
    values.insert("operator until its launch", entries);
    values.insert("operator after its launch", exits);
}

impl TraceSink for Spans {
    fn header(&mut self, _: &str, _: &Value<'_>) {}

    fn event(&mut self, event: &Event<'_>) {
        let (Some(start_ns), Some(dur_ns)) = (event.start.ns, event.dur.ns) else { return };
        let list = match text(&event.category).to_lowercase().as_str() {
            "cpu_op" | "operator" => &mut self.ops,
            "cuda_runtime" | "cuda_driver" | "runtime" => &mut self.calls,
            "kernel" | "gpu_memcpy" | "gpu_memset" | "memcpy" | "memset" => &mut self.device,
            _ => return,
        };
        let mut correlation = None;
        for (key, value) in event.args.iter() {
            if key == "correlation" {
                correlation = text(&value).parse().ok();
            }
        }
        let track = (text(&event.process), text(&event.thread));
        list.push(Span { name: text(&event.name), start_ns, end_ns: start_ns + dur_ns, correlation, track });
    }

    fn warning(&mut self, _: &Warning<'_>) {}

    fn progress(&mut self, _: u64) -> bool {
        true
    }
}

fn text(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::Number(text) => text.to_string(),
        _ => String::new(),
    }
}
