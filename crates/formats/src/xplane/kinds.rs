//! What an event is: by the plane and the line it is on, by its name, and by the stats it has.

use stepscope_model::Kind;

/// What a plane is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlaneRole {
    /// Threads of the host.
    Host,
    /// A device; its number, where the name has one, and whether it is a GPU.
    Device { number: Option<i64>, is_gpu: bool },
    /// Programs that were compiled.
    Programs,
    /// Anything else.
    Other,
}

const HOST_PLANES: [&str; 6] =
    ["/host:CPU", "/host:CUPTI", "/host:ROCTRACER", "/host:NVTX-CUPTI", "/host:python-tracer", "/host:TPU-runtime"];

impl PlaneRole {
    pub(super) fn of(name: &str) -> Self {
        if HOST_PLANES.contains(&name) {
            return Self::Host;
        }
        match name.strip_prefix("/device:") {
            Some(device) => Self::Device { number: device_number(device), is_gpu: device.starts_with("GPU:") },
            None if name == "/host:metadata" => Self::Programs,
            None => Self::Other,
        }
    }
}

/// The number in `GPU:4 (xyz)`.
fn device_number(device: &str) -> Option<i64> {
    let (kind, rest) = device.split_once(':')?;
    let digits = &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
    if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_uppercase()) { None } else { digits.parse().ok() }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineRole {
    /// A thread of the host.
    Thread,
    /// Derived or enclosing marks of a device; never busy time.
    Marks,
    /// Operations of a compiled program, which nest.
    Work { is_async: bool },
    /// Waits of a device.
    Waits,
    /// A stream of a device, or a line that has device work by what its events say.
    Stream,
    /// Values that change over time.
    Counters,
    /// Anything else.
    Other,
}

const MARK_LINES: [&str; 12] = [
    "Steps",
    "Sparse Core Steps",
    "XLA Modules",
    "Sparse Core Modules",
    "Framework Name Scope",
    "TensorFlow Name Scope",
    "Framework Ops",
    "TensorFlow Ops",
    "Source code",
    "Launch Stats",
    "Host Offload Ops",
    "Overlay",
];

impl LineRole {
    pub(super) fn of(plane: &PlaneRole, name: &str) -> Self {
        match (plane, name) {
            (_, "_counters_") => Self::Counters,
            (PlaneRole::Host, _) => Self::Thread,
            (PlaneRole::Device { .. }, name) if MARK_LINES.contains(&name) => Self::Marks,
            (PlaneRole::Device { .. }, "XLA TraceMe" | "Tensor Core Sync Flag" | "Sparse Core Syncs") => Self::Waits,
            (PlaneRole::Device { is_gpu, .. }, "XLA Ops" | "Async XLA Ops" | "Sparse Core Ops") => {
                if *is_gpu {
                    Self::Marks
                } else {
                    Self::Work { is_async: name == "Async XLA Ops" }
                }
            }
            (PlaneRole::Device { .. }, _) => Self::Stream,
            _ => Self::Other,
        }
    }
}

/// What the name of an event on the host says; the first rule that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostName {
    Allocation,
    Deallocation,
    /// A Python frame: `$file.py:12 function`.
    Python,
    Threadpool,
    /// A stage of an input pipeline.
    Iterator,
    /// A wait for the input pipeline; the operator has a type if its name is `path:Type`.
    InputWait {
        colon: Option<usize>,
    },
    /// An operator of TensorFlow: `path:Type`, with the place of the colon.
    TfOp {
        colon: usize,
    },
    Compile,
    Other,
}

impl HostName {
    pub(super) fn of(name: &str) -> Self {
        let colon = tf_op_colon(name);
        let is_wait = |name: &str| name.starts_with("IteratorGetNext");
        match name {
            "MemoryAllocation" => Self::Allocation,
            "MemoryDeallocation" => Self::Deallocation,
            _ if name.starts_with('$') => Self::Python,
            _ if name.starts_with("ThreadpoolListener::") => Self::Threadpool,
            _ if name.starts_with("Iterator::") => Self::Iterator,
            _ if is_wait(name) || colon.is_some_and(|colon| is_wait(&name[colon + 1..])) => Self::InputWait { colon },
            _ => match colon {
                Some(colon) => Self::TfOp { colon },
                None if name.contains("ompile") && is_compile(name) || name.starts_with("HLO passes") => Self::Compile,
                None => Self::Other,
            },
        }
    }
}

fn is_compile(name: &str) -> bool {
    name.contains("Compile") || name.contains("compile")
}

/// The only colon of `path:Type`.
fn tf_op_colon(name: &str) -> Option<usize> {
    let (path, kind) = name.split_once(':')?;
    let mut letters = kind.bytes();
    let is_type = letters.next().is_some_and(|first| first.is_ascii_uppercase() || first == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_type && !path.is_empty()).then_some(path.len())
}

/// An event as a span: its kind and category, and how it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span<'n> {
    pub kind: Kind,
    pub category: &'static str,
    pub name: &'n str,
    /// Path of the operator in the framework, where the name has it.
    pub framework_op: Option<&'n str>,
}

impl<'n> Span<'n> {
    fn new(kind: Kind, category: &'static str, name: &'n str) -> Self {
        Self { kind, category, name, framework_op: None }
    }

    /// The last part of `path:Type` is the name, the first the path.
    fn typed(kind: Kind, category: &'static str, name: &'n str, colon: usize) -> Self {
        Self { kind, category, name: &name[colon + 1..], framework_op: Some(&name[..colon]) }
    }

    /// An event on a thread of the host, unless it is about memory.
    pub(super) fn on_host(name: &'n str, says: HostName, has: HostStats) -> Self {
        match says {
            _ if has.correlation => Self::new(Kind::Runtime, "runtime", name),
            HostName::Python => Self::new(Kind::Python, "python", &name[1..]),
            _ if has.step_number => Self::new(Kind::Annotation, "step", name),
            HostName::Threadpool => Self::new(Kind::Other, "threadpool", name),
            HostName::Iterator => Self::new(Kind::Op, "input_stage", name),
            HostName::InputWait { colon: Some(colon) } => Self::typed(Kind::Op, "input_wait", name, colon),
            HostName::TfOp { colon } if has.input_stage => Self::typed(Kind::Op, "input_wait", name, colon),
            HostName::InputWait { colon: None } => Self::new(Kind::Op, "input_wait", name),
            _ if has.input_stage => Self::new(Kind::Op, "input_wait", name),
            _ if has.hlo_op => Self::new(Kind::Op, "hlo_op", name),
            HostName::TfOp { colon } => Self::typed(Kind::Op, "tf_op", name, colon),
            HostName::Compile => Self::new(Kind::Op, "compile", name),
            HostName::Allocation | HostName::Deallocation | HostName::Other => Self::new(Kind::Op, "traceme", name),
        }
    }

    /// An event on a line of a device. `short` is the name of an HLO instruction, where there is one.
    pub(super) fn on_device(line: LineRole, line_name: &str, name: &'n str, short: &'n str, has: DeviceStats) -> Self {
        match line {
            LineRole::Marks => Self::new(Kind::GpuAnnotation, "derived", name),
            LineRole::Waits => Self::new(Kind::Sync, "wait", name),
            LineRole::Work { is_async: true } if has.copies => Self::new(Kind::Memcpy, "hlo_op", short),
            LineRole::Work { .. } => Self::new(Kind::Kernel, "hlo_op", short),
            _ if has.copy_details || name.starts_with("Memcpy") => Self::new(Kind::Memcpy, "memcpy", name),
            _ if has.fill_details || name.starts_with("Memset") => Self::new(Kind::Memset, "memset", name),
            _ if has.correlation || has.kernel_details || line_name.starts_with("Stream #") => {
                Self::new(Kind::Kernel, "kernel", name)
            }
            _ => Self::other(name),
        }
    }

    /// An event of any other plane.
    pub(super) fn other(name: &'n str) -> Self {
        Self::new(Kind::Other, "other", name)
    }
}

/// Stats of a host event that say what it is.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a stat that is there or not")]
pub(super) struct HostStats {
    pub correlation: bool,
    pub step_number: bool,
    pub input_stage: bool,
    pub hlo_op: bool,
}

/// Stats of a device event that say what it is.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a stat that is there or not")]
pub(super) struct DeviceStats {
    pub correlation: bool,
    pub kernel_details: bool,
    pub copy_details: bool,
    pub fill_details: bool,
    /// Its HLO category is one of copies.
    pub copies: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_and_lines() {
        assert_eq!(PlaneRole::of("/device:TPU:12"), PlaneRole::Device { number: Some(12), is_gpu: false });
        assert_eq!(PlaneRole::of("/device:GPU:3 (x)"), PlaneRole::Device { number: Some(3), is_gpu: true });
        let custom = PlaneRole::of("/device:CUSTOM:Megascale Trace");
        assert_eq!(custom, PlaneRole::Device { number: None, is_gpu: false });
        assert_eq!(PlaneRole::of("/host:CPU"), PlaneRole::Host);
        assert_eq!(PlaneRole::of("/host:metadata"), PlaneRole::Programs);
        let (tpu, gpu) = (PlaneRole::of("/device:TPU:0"), PlaneRole::of("/device:GPU:0"));
        assert_eq!(LineRole::of(&tpu, "XLA Ops"), LineRole::Work { is_async: false });
        assert_eq!(LineRole::of(&gpu, "XLA Ops"), LineRole::Marks);
        assert_eq!(LineRole::of(&gpu, "Stream #7(Compute)"), LineRole::Stream);
        assert_eq!(LineRole::of(&tpu, "_counters_"), LineRole::Counters);
    }

    #[test]
    fn names_on_the_host() {
        for (name, want) in [
            ("model/dense/MatMul:MatMul", HostName::TfOp { colon: 18 }),
            ("a:b", HostName::Other),
            ("a:B:C", HostName::Other),
            (":B", HostName::Other),
            ("x:IteratorGetNextSync", HostName::InputWait { colon: Some(1) }),
            ("IteratorGetNext", HostName::InputWait { colon: None }),
            ("Iterator::Root::Map", HostName::Iterator),
            ("$train.py:3 step", HostName::Python),
            ("XlaCompile", HostName::Compile),
            ("recompiled", HostName::Compile),
            ("HLO passes", HostName::Compile),
            ("ThreadpoolListener::Run", HostName::Threadpool),
            ("MemoryAllocation", HostName::Allocation),
        ] {
            assert_eq!(HostName::of(name), want, "{name}");
        }
    }

    #[test]
    fn the_first_rule_that_applies_counts() {
        let has = HostStats { correlation: true, ..HostStats::default() };
        assert_eq!(Span::on_host("$a", HostName::of("$a"), has).kind, Kind::Runtime);
        let has = HostStats { step_number: true, hlo_op: true, ..HostStats::default() };
        assert_eq!(Span::on_host("train", HostName::of("train"), has).category, "step");
        let has = HostStats { input_stage: true, ..HostStats::default() };
        let span = Span::on_host("a/b:Map", HostName::of("a/b:Map"), has);
        assert_eq!((span.category, span.name, span.framework_op), ("input_wait", "Map", Some("a/b")));
        let span = Span::on_host("$a.py:1 f", HostName::of("$a.py:1 f"), HostStats::default());
        assert_eq!((span.kind, span.name), (Kind::Python, "a.py:1 f"));
    }
}
