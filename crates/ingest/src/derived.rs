//! What is worked out about each span, beside its record.

use crate::record::SpanId;

/// Everything derived about one span; see the columns of the table `spans`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub parent: Option<SpanId>,
    pub depth: u32,
    pub self_ns: i64,
    pub parent_op: Option<SpanId>,
    pub python_parent: Option<SpanId>,
    pub module: Option<SpanId>,
    pub launch: Option<SpanId>,
    pub owner: Option<SpanId>,
    pub operator: Option<SpanId>,
    pub link: Option<Link>,
    pub graph_launch: Option<u32>,
    pub graph_node: Option<i64>,
    pub comm_rule: Option<CommRule>,
    pub step: Option<u32>,
    pub forward: Option<SpanId>,
    pub forward_rule: Option<ForwardRule>,
}

/// How the owner of a device event was found, or why it was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Link {
    ExternalId,
    LaunchOutsideAnySpan,
    Nesting,
    NoLaunchCall,
}

impl Link {
    pub(crate) const ALL: [Self; 4] = [Self::ExternalId, Self::LaunchOutsideAnySpan, Self::Nesting, Self::NoLaunchCall];

    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::ExternalId => "external_id",
            Self::LaunchOutsideAnySpan => "launch_outside_any_span",
            Self::Nesting => "nesting",
            Self::NoLaunchCall => "no_launch_call",
        }
    }
}

/// Which rule says that a kernel is communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommRule {
    CollectiveName,
    Owner,
    Name,
}

impl CommRule {
    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::CollectiveName => "collective_name",
            Self::Owner => "owner",
            Self::Name => "name",
        }
    }
}

/// How the forward operator of a backward one was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardRule {
    Flow,
    SequenceNumber,
}

impl ForwardRule {
    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::SequenceNumber => "sequence_number",
        }
    }
}
