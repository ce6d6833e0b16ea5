//! Which lanes of its track a span is drawn in. Spans nest within their family only, so the families of a track stand
//! below one another.

use stepscope_model::Kind;

/// Families that have lanes of their own, from the top: Python frames, marks of the device, work, the rest, waits. The
/// view `timeline_spans` tells them apart in the same way.
const GROUPS: usize = 5;

/// How many lanes the families of a track need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lanes([u32; GROUPS]);

impl Lanes {
    /// Takes note of a span that `depth` others of its family enclose.
    #[inline]
    pub(crate) fn cover(&mut self, kind: Kind, depth: u32) {
        let lanes = &mut self.0[group(kind)];
        *lanes = (*lanes).max(depth + 1);
    }

    /// The lane of a span.
    #[inline]
    pub(crate) fn lane(&self, kind: Kind, depth: u32) -> u32 {
        self.0[..group(kind)].iter().sum::<u32>() + depth
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

fn group(kind: Kind) -> usize {
    match kind {
        Kind::Python => 0,
        Kind::GpuAnnotation | Kind::Window | Kind::Range => 1,
        Kind::Op | Kind::Annotation | Kind::Runtime | Kind::Kernel | Kind::Memcpy | Kind::Memset => 2,
        Kind::Mtia | Kind::Other => 3,
        Kind::Sync | Kind::Overhead => 4,
    }
}
