//! Which rule found what was found; the names are those in the table `spans`.

use stepscope_model::KernelCategory;

use crate::spill::row::byte_fields;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CommRule {
    CollectiveName,
    Hlo,
    Owner,
    Name,
}

impl CommRule {
    const ALL: [Option<Self>; 5] =
        [None, Some(Self::CollectiveName), Some(Self::Hlo), Some(Self::Owner), Some(Self::Name)];

    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::CollectiveName => "collective_name",
            Self::Hlo => "hlo",
            Self::Owner => "owner",
            Self::Name => "name",
        }
    }
}

/// How the forward operator of a backward one was found; the first rule that finds one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ForwardRule {
    Flow,
    SequenceNumber,
}

impl ForwardRule {
    const ALL: [Self; 2] = [Self::Flow, Self::SequenceNumber];

    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::SequenceNumber => "sequence_number",
        }
    }
}

/// Every category, and none.
const CATEGORIES: [Option<KernelCategory>; 9] = [
    None,
    Some(KernelCategory::Gemm),
    Some(KernelCategory::Convolution),
    Some(KernelCategory::Attention),
    Some(KernelCategory::Elementwise),
    Some(KernelCategory::Reduction),
    Some(KernelCategory::Copy),
    Some(KernelCategory::Communication),
    Some(KernelCategory::Other),
];

byte_fields! {
    KernelCategory: KernelCategory::ALL, |category| category as u8;
    Option<KernelCategory>: CATEGORIES, |category| category.map_or(0, |category| category as u8 + 1);
    Link: Link::ALL, |link| link as u8;
    Option<CommRule>: CommRule::ALL, |rule| rule.map_or(0, |rule| rule as u8 + 1);
    ForwardRule: ForwardRule::ALL, |rule| rule as u8;
}
