//! Ctrl-C: the first press asks the running work to stop, the second one ends the program.

use std::sync::LazyLock;

use stepscope_model::Exit;
use stepscope_workspace::CancelFlag;

static FLAG: LazyLock<CancelFlag> = LazyLock::new(CancelFlag::default);

/// Starts to listen; without it (no signals to be had) Ctrl-C ends the program as usual.
pub(crate) fn watch() {
    let _ = ctrlc::set_handler(|| {
        if FLAG.is_canceled() {
            stepscope_workspace::remove_unfinished();
            #[expect(clippy::exit, reason = "the work did not stop when asked, and a person insists")]
            std::process::exit(Exit::Interrupted as i32);
        }
        FLAG.cancel();
    });
}

/// The flag that stops a query.
pub(crate) fn flag() -> &'static CancelFlag {
    &FLAG
}

/// Whether Ctrl-C was pressed.
pub(crate) fn is_set() -> bool {
    FLAG.is_canceled()
}

/// Forgets it, for a shell that goes on.
pub(crate) fn clear() {
    FLAG.reset();
}
