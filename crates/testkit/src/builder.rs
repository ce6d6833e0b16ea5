//! Chrome traces made by hand, for tests with known answers.

use std::fmt::Write as _;

/// Writes a Chrome trace, an event a call.
///
/// Times are microseconds as decimal text, so that a test can say `"0.0005"`. `arg` adds to the last event; its value
/// is raw JSON, and so is what `event` takes.
///
/// ```
/// use stepscope_testkit::TraceBuilder;
///
/// let trace = TraceBuilder::new()
///     .header("baseTimeNanoseconds", "0")
///     .op("aten::add", 1, "10", "5")
///     .arg("External id", "3")
///     .runtime("cudaLaunchKernel", 1, "12", "1", 77)
///     .kernel("add_kernel", 0, 7, "20", "4", 77)
///     .finish();
/// assert!(trace.contains(r#""name": "aten::add""#));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceBuilder {
    headers: Vec<(String, String)>,
    /// Each element without the closing brackets of its arguments and itself, unless it is verbatim.
    elements: Vec<Element>,
}

#[derive(Clone, Debug)]
enum Element {
    Verbatim(String),
    Event { fields: String, args: Vec<(String, String)> },
}

impl TraceBuilder {
    /// The process of events on the host.
    pub const HOST_PROCESS: i64 = 1000;

    /// A trace without header and events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An entry of the header; `value` is raw JSON.
    #[must_use]
    pub fn header(mut self, key: &str, value: &str) -> Self {
        self.headers.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Any element, verbatim.
    #[must_use]
    pub fn event(mut self, raw_json: &str) -> Self {
        self.elements.push(Element::Verbatim(raw_json.to_owned()));
        self
    }

    /// A span: `ph` is `X`.
    #[must_use]
    pub fn complete(self, category: &str, name: &str, process: i64, thread: i64, ts: &str, dur: &str) -> Self {
        self.phase("X", category, name, process, thread, ts, &format!(", \"dur\": {dur}"))
    }

    /// An operator on a host thread.
    #[must_use]
    pub fn op(self, name: &str, thread: i64, ts: &str, dur: &str) -> Self {
        self.complete("cpu_op", name, Self::HOST_PROCESS, thread, ts, dur)
    }

    /// An annotation on a host thread.
    #[must_use]
    pub fn annotation(self, name: &str, thread: i64, ts: &str, dur: &str) -> Self {
        self.complete("user_annotation", name, Self::HOST_PROCESS, thread, ts, dur)
    }

    /// A call into the runtime of the device.
    #[must_use]
    pub fn runtime(self, name: &str, thread: i64, ts: &str, dur: &str, correlation: i64) -> Self {
        self.complete("cuda_runtime", name, Self::HOST_PROCESS, thread, ts, dur)
            .arg("correlation", &correlation.to_string())
    }

    /// A kernel on a stream of a device.
    #[must_use]
    pub fn kernel(self, name: &str, device: i64, stream: i64, ts: &str, dur: &str, correlation: i64) -> Self {
        self.complete("kernel", name, device, stream, ts, dur).on_device(device, stream, correlation)
    }

    /// A copy on a stream of a device.
    #[must_use]
    pub fn memcpy(self, name: &str, device: i64, stream: i64, ts: &str, dur: &str, correlation: i64) -> Self {
        self.complete("gpu_memcpy", name, device, stream, ts, dur).on_device(device, stream, correlation)
    }

    /// One end of an arrow; `phase` is `s`, `t` or `f`.
    #[must_use]
    pub fn flow(self, phase: &str, category: &str, id: i64, process: i64, thread: i64, ts: &str) -> Self {
        let more = format!(", \"id\": {id}{}", if phase == "f" { ", \"bp\": \"e\"" } else { "" });
        self.phase(phase, category, category, process, thread, ts, &more)
    }

    /// An allocation (`bytes` above 0) or a release of memory.
    #[must_use]
    pub fn memory(self, thread: i64, ts: &str, bytes: i64, total_allocated: i64) -> Self {
        self.phase("i", "cpu_instant_event", "[memory]", Self::HOST_PROCESS, thread, ts, ", \"s\": \"t\"")
            .arg("Bytes", &bytes.to_string())
            .arg("Total Allocated", &total_allocated.to_string())
    }

    /// A value of a counter.
    #[must_use]
    pub fn counter(self, name: &str, process: i64, ts: &str, series: &str, value: &str) -> Self {
        self.phase("C", "counter", name, process, 0, ts, "").arg(series, value)
    }

    /// The name of a process or a thread: `what` is `process_name`, `thread_name`, or another kind of metadata.
    #[must_use]
    pub fn metadata(self, what: &str, process: i64, thread: i64, name: &str) -> Self {
        self.phase("M", "__metadata", what, process, thread, "0", "").arg("name", &quoted(name))
    }

    /// An argument of the last event; `value` is raw JSON. No effect after a verbatim element.
    #[must_use]
    pub fn arg(mut self, key: &str, value: &str) -> Self {
        if let Some(Element::Event { args, .. }) = self.elements.last_mut() {
            args.push((key.to_owned(), value.to_owned()));
        }
        self
    }

    /// The whole trace: an object with the header first.
    #[must_use]
    pub fn finish(&self) -> String {
        let mut headers = String::new();
        for (key, value) in &self.headers {
            let _ = writeln!(headers, "  {}: {value},", quoted(key));
        }
        format!("{{\n{headers}  \"traceEvents\": {}\n}}\n", self.list())
    }

    /// The events alone: a bare list.
    #[must_use]
    pub fn finish_bare(&self) -> String {
        format!("{}\n", self.list())
    }

    fn list(&self) -> String {
        let elements: Vec<String> = self.elements.iter().map(|element| format!("    {}", element.json())).collect();
        format!("[\n{}\n  ]", elements.join(",\n"))
    }

    fn on_device(self, device: i64, stream: i64, correlation: i64) -> Self {
        self.arg("device", &device.to_string())
            .arg("stream", &stream.to_string())
            .arg("correlation", &correlation.to_string())
    }

    #[expect(clippy::too_many_arguments, reason = "one argument for each field of an event")]
    fn phase(
        mut self,
        phase: &str,
        category: &str,
        name: &str,
        process: i64,
        thread: i64,
        ts: &str,
        more: &str,
    ) -> Self {
        let fields = format!(
            "\"ph\": \"{phase}\", \"cat\": {}, \"name\": {}, \"pid\": {process}, \"tid\": {thread}, \"ts\": {ts}{more}",
            quoted(category),
            quoted(name),
        );
        self.elements.push(Element::Event { fields, args: Vec::new() });
        self
    }
}

impl Element {
    fn json(&self) -> String {
        match self {
            Self::Verbatim(json) => json.clone(),
            Self::Event { fields, args } if args.is_empty() => format!("{{{fields}}}"),
            Self::Event { fields, args } => {
                let args: Vec<String> = args.iter().map(|(key, value)| format!("{}: {value}", quoted(key))).collect();
                format!("{{{fields}, \"args\": {{{}}}}}", args.join(", "))
            }
        }
    }
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}
