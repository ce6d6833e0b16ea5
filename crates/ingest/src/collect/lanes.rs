//! Which lanes of its track a span is drawn in. Spans nest within their family only, so the families of a track stand
//! below one another.

use stepscope_model::Kind;

/// How many lanes the families of a track need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lanes([u32; Kind::LANE_GROUPS]);

impl Lanes {
    /// Takes note of a span that `depth` others of its family enclose.
    #[inline]
    pub(crate) fn cover(&mut self, kind: Kind, depth: u32) {
        let lanes = &mut self.0[kind.lane_group()];
        *lanes = (*lanes).max(depth + 1);
    }

    /// The lane of a span.
    #[inline]
    pub(crate) fn lane(&self, kind: Kind, depth: u32) -> u32 {
        self.0[..kind.lane_group()].iter().sum::<u32>() + depth
    }

    /// All lanes of the track.
    pub(crate) fn count(&self) -> u32 {
        self.0.iter().sum()
    }

    /// The lanes of each family, from the top.
    pub(crate) fn by_group(&self) -> impl Iterator<Item = u32> {
        self.0.into_iter()
    }
}
