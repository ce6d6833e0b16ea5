//! What an event is: its phase in the file and the kind of work it stands for.

/// How a Chrome-trace event marks time. Phases that pair up are stored as one span with the phase of its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// `X`: start and duration in one event.
    Complete,
    /// `B`: a span opens on its thread.
    Begin,
    /// `E`: the last open span of the thread closes.
    End,
    /// `b`: an asynchronous span opens.
    AsyncBegin,
    /// `n`: an instant inside an asynchronous span.
    AsyncInstant,
    /// `e`: an asynchronous span closes.
    AsyncEnd,
    /// `i`, in old files `I`: an instant.
    Instant,
    /// `C`: a counter changes.
    Counter,
    /// `s`: a flow starts.
    FlowStart,
    /// `t`: a flow passes through.
    FlowStep,
    /// `f`: a flow ends.
    FlowEnd,
    /// `M`: names and order of processes and threads.
    Metadata,
}

impl Phase {
    /// Every phase, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Complete,
        Self::Begin,
        Self::End,
        Self::AsyncBegin,
        Self::AsyncInstant,
        Self::AsyncEnd,
        Self::Instant,
        Self::Counter,
        Self::FlowStart,
        Self::FlowStep,
        Self::FlowEnd,
        Self::Metadata,
    ];

    /// The phase for the text in `ph`; `None` for a phase that is not supported.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Some(match text {
            "X" => Self::Complete,
            "B" => Self::Begin,
            "E" => Self::End,
            "b" => Self::AsyncBegin,
            "n" => Self::AsyncInstant,
            "e" => Self::AsyncEnd,
            "i" | "I" => Self::Instant,
            "C" => Self::Counter,
            "s" => Self::FlowStart,
            "t" => Self::FlowStep,
            "f" => Self::FlowEnd,
            "M" => Self::Metadata,
            _ => return None,
        })
    }

    /// The text in `ph`.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Complete => "X",
            Self::Begin => "B",
            Self::End => "E",
            Self::AsyncBegin => "b",
            Self::AsyncInstant => "n",
            Self::AsyncEnd => "e",
            Self::Instant => "i",
            Self::Counter => "C",
            Self::FlowStart => "s",
            Self::FlowStep => "t",
            Self::FlowEnd => "f",
            Self::Metadata => "M",
        }
    }
}

/// The kind of work a span stands for (metrics, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A framework operator on the host.
    Op,
    /// An annotation: a label that a person or the framework put around work.
    Annotation,
    /// A Python function or module call.
    Python,
    /// A call into the device's runtime or driver.
    Runtime,
    /// A kernel on a device.
    Kernel,
    /// A copy on a device.
    Memcpy,
    /// A fill on a device.
    Memset,
    /// An annotation as the device saw it; never busy time.
    GpuAnnotation,
    /// A wait for the device; never busy time.
    Sync,
    /// Time the profiler itself took.
    Overhead,
    /// The whole recording.
    Window,
    /// An event of an MTIA device.
    Mtia,
    /// A range of hardware counters.
    Range,
    /// Anything else.
    Other,
}

impl Kind {
    /// Every kind, in a fixed order.
    pub const ALL: [Self; 14] = [
        Self::Op,
        Self::Annotation,
        Self::Python,
        Self::Runtime,
        Self::Kernel,
        Self::Memcpy,
        Self::Memset,
        Self::GpuAnnotation,
        Self::Sync,
        Self::Overhead,
        Self::Window,
        Self::Mtia,
        Self::Range,
        Self::Other,
    ];

    /// The kind for a category of either generation, whatever its case.
    #[must_use]
    pub fn from_category(category: &str) -> Self {
        match category.to_ascii_lowercase().as_str() {
            "operator" | "cpu_op" => Self::Op,
            "user_annotation" => Self::Annotation,
            "python_function" | "python" => Self::Python,
            "runtime" | "cuda_runtime" | "cuda_driver" | "xpu_runtime" => Self::Runtime,
            "kernel" => Self::Kernel,
            "memcpy" | "gpu_memcpy" => Self::Memcpy,
            "memset" | "gpu_memset" => Self::Memset,
            "gpu_user_annotation" => Self::GpuAnnotation,
            "cuda_sync" => Self::Sync,
            "overhead" => Self::Overhead,
            "trace" => Self::Window,
            "mtia_runtime" | "mtia_ccp_events" => Self::Mtia,
            "cuda_profiler_range" => Self::Range,
            _ => Self::Other,
        }
    }

    /// Whether a category stands for work of a device that no analysis reads: of an MTIA device, of a range profiler,
    /// or by its name of a device that Stepscope does not know.
    #[must_use]
    pub fn is_unanalyzed_device(category: &str) -> bool {
        let name = category.to_ascii_lowercase();
        let has = |words: &[&str]| {
            let mut parts = name.split(|letter: char| !letter.is_ascii_alphabetic());
            parts.any(|part| words.contains(&part.trim_end_matches('s')))
        };
        // Plurals have lost their end.
        let is_call = has(&["runtime", "driver", "sync", "annotation", "counter", "overhead"]);
        let is_device = has(&["kernel", "gpu", "npu", "tpu", "hpu", "xpu", "mtia", "device", "privateuse"]);
        match Self::from_category(category) {
            Self::Mtia | Self::Other => is_device && !is_call,
            Self::Range => true,
            _ => false,
        }
    }

    /// The name in tables and JSON.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::Op => "op",
            Self::Annotation => "ann",
            Self::Python => "py",
            Self::Runtime => "rt",
            Self::Kernel => "kernel",
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::GpuAnnotation => "gpuann",
            Self::Sync => "sync",
            Self::Overhead => "overhead",
            Self::Window => "window",
            Self::Mtia => "mtia",
            Self::Range => "range",
            Self::Other => "other",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_text() == text)
    }

    /// Families that have lanes of their own on a timeline.
    pub const LANE_GROUPS: usize = 5;

    /// Which of them it belongs to, from the top: Python frames, marks of the device, work, the rest, waits. The view
    /// `timeline_spans` tells them apart in the same way.
    #[must_use]
    pub fn lane_group(self) -> usize {
        match self {
            Self::Python => 0,
            Self::GpuAnnotation | Self::Window | Self::Range => 1,
            Self::Op | Self::Annotation | Self::Runtime | Self::Kernel | Self::Memcpy | Self::Memset => 2,
            Self::Mtia | Self::Other => 3,
            Self::Sync | Self::Overhead => 4,
        }
    }

    /// Host spans nest on their thread: operators, annotations and runtime calls.
    #[must_use]
    pub fn is_host(self) -> bool {
        matches!(self, Self::Op | Self::Annotation | Self::Runtime)
    }

    /// Device events are the work of a device: kernels, copies and fills.
    #[must_use]
    pub fn is_device(self) -> bool {
        matches!(self, Self::Kernel | Self::Memcpy | Self::Memset)
    }
}
