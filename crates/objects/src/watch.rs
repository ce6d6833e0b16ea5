//! How a caller follows a long transfer, and ends it.

use std::ops::ControlFlow;

/// Gets the bytes of a transfer so far, on the caller's thread, several times per second. `Break` ends the transfer.
pub type Watch<'a> = &'a dyn Fn(u64) -> ControlFlow<()>;

/// For transfers that are not followed.
pub const UNWATCHED: Watch<'static> = &|_| ControlFlow::Continue(());
