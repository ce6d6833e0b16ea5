//! Changes as people ask for them: the name of a transformation, and for some what it is about, such as
//! `kernel:*gemm*=1/2`.

use std::fmt;

use regex::Regex;
use stepscope_model::Kind;
use stepscope_replay::recording::{DeviceEvent, HostSpan};
use stepscope_replay::{Bound, Change, Selection, StepModel};

/// A transformation of steps that can be asked for (A7).
#[derive(Debug)]
pub struct Transformation {
    /// The name in JSON and Python.
    pub name: &'static str,
    /// The option of the command, without its dashes in front.
    pub option: &'static str,
    /// What it does, for the help: begins with a verb.
    pub about: &'static str,
    /// Why its saving is worth what its bound says.
    pub because: &'static str,
    makes: Makes,
}

/// What a transformation makes of a model.
#[derive(Debug)]
enum Makes {
    /// Work takes a part of its time.
    Scaled,
    /// Work is not there.
    Removed,
    /// Work becomes one kernel.
    Fused,
    /// A change that is about no work in particular.
    Whole(Change),
}

/// Every transformation, in the order in which several are made.
pub static TRANSFORMATIONS: [Transformation; 11] = [
    Transformation {
        name: "scale",
        option: "scale",
        about: "Let work take P/Q of its time",
        because: "for the factor that you give",
        makes: Makes::Scaled,
    },
    Transformation {
        name: "remove",
        option: "remove",
        about: "Leave out work, and the calls that launch nothing else",
        because: "everything that waits for it starts earlier",
        makes: Makes::Removed,
    },
    Transformation {
        name: "no_communication",
        option: "no-communication",
        about: "Let communication take no time",
        because: "data must still be exchanged",
        makes: Makes::Whole(Change::NoCommunication),
    },
    Transformation {
        name: "communication_overlapped",
        option: "communication-overlapped",
        about: "Let no other stream wait for communication",
        because: "kernels that overlap slow each other down",
        makes: Makes::Whole(Change::CommunicationOverlapped),
    },
    Transformation {
        name: "no_copies",
        option: "no-copies",
        about: "Let copies take no time",
        because: "data must still be copied",
        makes: Makes::Whole(Change::NoCopies),
    },
    Transformation {
        name: "async_copies_to_device",
        option: "async-copies-to-device",
        about: "Let no call wait for a copy to the device",
        because: "the copy itself stays in its stream",
        makes: Makes::Whole(Change::AsyncCopiesToDevice),
    },
    Transformation {
        name: "no_sync",
        option: "no-sync",
        about: "Let no call wait for the device",
        because: "what needs a value must still wait somewhere",
        makes: Makes::Whole(Change::NoSync),
    },
    Transformation {
        name: "input_ready",
        option: "input-ready",
        about: "Let no step wait for the data loader",
        because: "batches must still be loaded",
        makes: Makes::Whole(Change::InputReady),
    },
    Transformation {
        name: "host_half",
        option: "host-half",
        about: "Let the host take half of its time",
        because: "shows how much the host matters; not a change that you can make",
        makes: Makes::Whole(Change::HostHalf),
    },
    Transformation {
        name: "cuda_graph",
        option: "cuda-graph",
        about: "Let one launch replace all: the host costs nothing",
        because: "a graph needs a launch, and often less than the whole step fits into one",
        makes: Makes::Whole(Change::CudaGraph),
    },
    Transformation {
        name: "fuse",
        option: "fuse",
        about: "Let kernels that follow each other on a stream become one",
        because: "memory traffic that a fused kernel saves is not counted",
        makes: Makes::Fused,
    },
];

/// One change that is asked for.
#[derive(Clone, Debug)]
pub struct AskedChange {
    /// What it does.
    pub transformation: &'static Transformation,
    set: Option<Set>,
    numerator: u32,
    denominator: u32,
}

/// Why a text does not name a change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// No transformation has that name.
    #[error("found no change {0}, expected one of: {names}", names = names())]
    Unknown(String),
    /// It takes no value.
    #[error("expected no value")]
    WithValue,
    /// It needs a value.
    #[error("expected {0}, such as {1}")]
    Malformed(&'static str, &'static str),
    /// No kind of work has that name.
    #[error("expected a kind of work: {kinds}", kinds = KINDS.map(|(name, _)| name).join(", "))]
    Kind,
    /// A factor would make work longer.
    #[error("expected a factor from 0 to 1, such as 1/2 or 0/1")]
    Factor,
}

/// Work by kind and name.
#[derive(Clone, Debug)]
struct Set {
    text: String,
    kind: WorkKind,
    names: Regex,
}

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkKind {
    Kernel,
    Communication,
    Copy,
    Fill,
    /// Operators, with the device work that they launch.
    Operator,
    /// Annotations, with the device work inside.
    Annotation,
    /// Runtime calls alone.
    Call,
}

const KINDS: [(&str, WorkKind); 7] = [
    ("kernel", WorkKind::Kernel),
    ("communication", WorkKind::Communication),
    ("memcpy", WorkKind::Copy),
    ("memset", WorkKind::Fill),
    ("op", WorkKind::Operator),
    ("annotation", WorkKind::Annotation),
    ("runtime", WorkKind::Call),
];

impl Transformation {
    /// How its value is written; without one it is on or off.
    #[must_use]
    pub fn value(&self) -> Option<&'static str> {
        match self.makes {
            Makes::Scaled => Some("KIND:PATTERN=P/Q"),
            Makes::Removed | Makes::Fused => Some("KIND:PATTERN"),
            Makes::Whole(_) => None,
        }
    }

    /// How its saving relates to that of the real change.
    #[must_use]
    pub fn bound(&self) -> Bound {
        match &self.makes {
            Makes::Scaled | Makes::Removed => Bound::Estimate,
            Makes::Fused => Bound::AtLeast,
            Makes::Whole(change) => change.bound(),
        }
    }
}

impl AskedChange {
    /// The change of that name, with underscores or dashes, and of that value.
    pub fn new(name: &str, value: Option<&str>) -> Result<Self, ChangeError> {
        let plain = name.replace('-', "_");
        let transformation = TRANSFORMATIONS.iter().find(|known| known.name == plain);
        let transformation = transformation.ok_or_else(|| ChangeError::Unknown(name.to_owned()))?;
        let change = |set, (numerator, denominator)| Self { transformation, set, numerator, denominator };
        match (&transformation.makes, value) {
            (Makes::Whole(_), None) => Ok(change(None, (1, 1))),
            (Makes::Whole(_), Some(_)) => Err(ChangeError::WithValue),
            (Makes::Scaled, value) => {
                let (set, factor) = value.and_then(|value| value.rsplit_once('=')).ok_or(SCALE_EXPECTED)?;
                Ok(change(Some(Set::read(set, SCALE_EXPECTED)?), factor_of(factor)?))
            }
            (Makes::Removed | Makes::Fused, value) => {
                Ok(change(Some(Set::read(value.ok_or(SET_EXPECTED)?, SET_EXPECTED)?), (1, 1)))
            }
        }
    }

    /// Kernels in half of their time, and everything else that needs no choice: what is worth a look in any run.
    #[must_use]
    pub fn usual() -> Vec<Self> {
        let kernels = Self::new("scale", Some("kernel:*=1/2"));
        let others = TRANSFORMATIONS.iter().filter(|known| known.value().is_none());
        kernels.into_iter().chain(others.filter_map(|known| Self::new(known.name, None).ok())).collect()
    }

    /// The change in a model, and how much work of the window it is about where it names some.
    pub(super) fn resolve(&self, model: &StepModel) -> (Change, Option<usize>) {
        let of = self.set.as_ref().map(|set| {
            let named = set.selection(model);
            let matched = model.count(&named);
            (if set.has_work() { model.with_work(named) } else { named }, matched)
        });
        let matched = of.as_ref().map(|(_, matched)| *matched);
        let of = of.map_or_else(|| Selection::none(model.recording()), |(of, _)| of);
        let change = match &self.transformation.makes {
            Makes::Scaled => Change::Scale { of, numerator: self.numerator, denominator: self.denominator },
            Makes::Removed => Change::Remove(of),
            Makes::Fused => Change::Fuse(model.runs_of(&of)),
            Makes::Whole(change) => change.clone(),
        };
        (change, matched)
    }
}

/// As options are typed, without dashes in front: `no-sync`, `scale kernel:*gemm*=1/2`.
impl fmt::Display for AskedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.transformation.option)?;
        match &self.set {
            Some(set) if matches!(self.transformation.makes, Makes::Scaled) => {
                write!(f, " {}={}/{}", set.text, self.numerator, self.denominator)
            }
            Some(set) => write!(f, " {}", set.text),
            None => Ok(()),
        }
    }
}

const SCALE_EXPECTED: ChangeError = ChangeError::Malformed("KIND:PATTERN=P/Q", "kernel:*gemm*=1/2");
const SET_EXPECTED: ChangeError = ChangeError::Malformed("KIND:PATTERN", "op:aten::copy_");

fn names() -> String {
    TRANSFORMATIONS.each_ref().map(|known| known.name).join(", ")
}

/// `1/2`, or `0.5`.
fn factor_of(text: &str) -> Result<(u32, u32), ChangeError> {
    const THOUSAND: f64 = 1000.0;
    let parts = text.split_once('/').map(|(above, below)| (above.trim().parse().ok(), below.trim().parse().ok()));
    let factor = match parts {
        Some((Some(above), Some(below))) => Some((above, below)),
        Some(_) => None,
        None => text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|factor| (0.0..=1.0).contains(factor))
            .map(|factor| ((factor * THOUSAND).round() as u32, THOUSAND as u32)),
    };
    factor.filter(|(above, below)| *below > 0 && above <= below).ok_or(ChangeError::Factor)
}

impl Set {
    /// `KIND:PATTERN`; `otherwise` if it is not that.
    fn read(text: &str, otherwise: ChangeError) -> Result<Self, ChangeError> {
        let text = text.trim();
        let Some((kind, pattern)) = text.split_once(':').filter(|(_, pattern)| !pattern.is_empty()) else {
            return Err(otherwise);
        };
        let (_, kind) = KINDS.iter().find(|(name, _)| *name == kind).ok_or(ChangeError::Kind)?;
        let parts = pattern.split('*').map(|part| part.split('?').map(regex::escape).collect::<Vec<_>>().join("."));
        let names = Regex::new(&format!("(?is)^{}$", parts.collect::<Vec<_>>().join(".*")));
        Ok(Self { text: text.to_owned(), kind: *kind, names: names.map_err(|_| otherwise)? })
    }

    /// Whether the device work inside belongs to it.
    fn has_work(&self) -> bool {
        matches!(self.kind, WorkKind::Operator | WorkKind::Annotation)
    }

    fn selection(&self, model: &StepModel) -> Selection {
        let recording = model.recording();
        let names = recording.names.that(|name| self.names.is_match(name));
        let of_events = |fits: fn(&DeviceEvent) -> bool| {
            Selection::of_events(recording, |event| fits(event) && names.has(event.name))
        };
        let of_spans = |kind: Kind| {
            let fits = |span: &HostSpan| span.kind == kind && names.has(span.name);
            Selection::of_spans(recording, fits)
        };
        match self.kind {
            WorkKind::Kernel => of_events(|event| event.kind == Kind::Kernel && !event.is_communication),
            WorkKind::Communication => of_events(|event| event.is_communication),
            WorkKind::Copy => of_events(|event| event.kind == Kind::Memcpy),
            WorkKind::Fill => of_events(|event| event.kind == Kind::Memset),
            WorkKind::Operator => of_spans(Kind::Op),
            WorkKind::Annotation => of_spans(Kind::Annotation),
            WorkKind::Call => of_spans(Kind::Runtime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: Option<&str>, want: Result<&str, &str>) {
        let got = AskedChange::new(name, value);
        let got = got.map(|change| change.to_string()).map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), want, "{name} {value:?}");
    }

    #[test]
    fn changes_are_read_as_they_are_written() {
        check("no-sync", None, Ok("no-sync"));
        check("no_sync", None, Ok("no-sync"));
        check("scale", Some("kernel:*gemm*=1/2"), Ok("scale kernel:*gemm*=1/2"));
        check("scale", Some("kernel:a=b=0.25"), Ok("scale kernel:a=b=250/1000"));
        check("remove", Some(" op:aten::copy_ "), Ok("remove op:aten::copy_"));
        check("no_sync", Some("yes"), Err("expected no value"));
        check("scale", None, Err("expected KIND:PATTERN=P/Q, such as kernel:*gemm*=1/2"));
        check("scale", Some("kernel=1/2"), Err("expected KIND:PATTERN=P/Q, such as kernel:*gemm*=1/2"));
        check("remove", Some("copies"), Err("expected KIND:PATTERN, such as op:aten::copy_"));
        for factor in ["2/1", "1/0", "x", "1.5", "-1"] {
            let expected = "expected a factor from 0 to 1, such as 1/2 or 0/1";
            check("scale", Some(&format!("kernel:*={factor}")), Err(expected));
        }
        assert!(AskedChange::new("remove", Some("gpu:*")).is_err_and(|error| error == ChangeError::Kind));
        assert!(
            AskedChange::new("magic", None).is_err_and(|error| error.to_string().starts_with("found no change magic"))
        );
    }

    #[test]
    fn patterns_are_whole_names_in_any_case() {
        let fits = |pattern: &str, name: &str| Set::read(pattern, SET_EXPECTED).unwrap().names.is_match(name);
        assert!(fits("kernel:*GEMM*", "sm80_xmma_gemm_f16") && fits("op:aten::mm", "aten::mm"));
        assert!(
            !fits("op:aten::mm", "aten::mm_out") && !fits("op:aten::m.", "aten::mm") && fits("op:aten::m?", "aten::mm")
        );
        assert!(fits("kernel:void f<int>(*)", "void f<int>(float*)") && fits("kernel:*", "a\nb"));
    }

    #[test]
    fn every_transformation_is_made_in_the_order_of_the_list() {
        let places: Vec<usize> = AskedChange::usual()
            .iter()
            .map(|change| TRANSFORMATIONS.iter().position(|known| known.name == change.transformation.name).unwrap())
            .collect();
        assert!(places.is_sorted() && places.len() == 9);
        for known in &TRANSFORMATIONS {
            assert_eq!(known.option, known.name.replace('_', "-"));
            if let Makes::Whole(change) = &known.makes {
                assert_eq!(change.name(), known.name);
            }
        }
    }
}
