//! How whoever reads a bucket shows how far it is, and is ended.

use std::ops::ControlFlow;

use stepscope_ingest::Progress;
use stepscope_objects::Place;

/// Shows the bytes that were read of a place so far, and ends the work when the user does.
pub(crate) fn watch_of<'a>(place: &Place, progress: &'a dyn Progress) -> impl Fn(u64) -> ControlFlow<()> + use<'a> {
    let place = place.to_string();
    move |bytes| {
        progress.update(&place, bytes, None);
        if progress.canceled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
