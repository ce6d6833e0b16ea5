//! Turns a panic into exit code 70 and a message that says what to report.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};

use stepscope_model::Exit;

use crate::color::ColorChoice;
use crate::failure::Failure;
use crate::{Context, VERSION};

/// Set by a panic on any thread: another thread's bug must not end as a usual error.
static HAPPENED: AtomicBool = AtomicBool::new(false);

/// Runs `work`; a panic in it, on whatever thread, is `Exit::Bug`.
pub(crate) fn guard(work: impl FnOnce() -> Exit) -> Exit {
    panic::set_hook(Box::new(report));
    let exit = panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or(Exit::Bug);
    if HAPPENED.load(Ordering::SeqCst) { Exit::Bug } else { exit }
}

fn report(info: &PanicHookInfo<'_>) {
    if HAPPENED.swap(true, Ordering::SeqCst) {
        return;
    }
    let payload = info.payload();
    let message =
        payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
    let failure = Failure {
        message: format!("this is a bug in Stepscope: {}", message.unwrap_or("no message")),
        location: place,
        hint: Some(format!(
            "please report it with these lines, the command, and `stepscope {VERSION}`;\na trace that shows it helps most"
        )),
        exit: Exit::Bug,
        is_broken_pipe: false,
    };
    failure.print(Context { color: ColorChoice::Auto, quiet: false });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_any_thread_is_a_bug() {
        assert_eq!(guard(|| Exit::Done), Exit::Done);
        let on_another_thread = || {
            let _ = std::thread::spawn(|| panic!("only a test")).join();
            Exit::Done
        };
        assert_eq!(guard(on_another_thread), Exit::Bug);
        assert_eq!(guard(|| panic!("only a test")), Exit::Bug);
    }
}
