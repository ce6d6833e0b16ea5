//! The `stepscope` command; everything is in the library, so that other front doors can call it too.

use std::process::ExitCode;

/// Gives memory back when a server rests (decision 0002).
#[cfg(not(any(target_env = "msvc", target_env = "musl")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What is freed goes back to the system after a tenth of a second. The allocator's own choice is ten seconds: reading a
/// trace then held twice its memory limit.
#[cfg(not(any(target_env = "msvc", target_env = "musl")))]
#[expect(unsafe_code, reason = "the allocator finds its settings by the name of the symbol, which nothing else has")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static ALLOCATOR_SETTINGS: &[u8] = b"dirty_decay_ms:100,muzzy_decay_ms:0\0";

fn main() -> ExitCode {
    ExitCode::from(stepscope_cli::run(std::env::args_os(), at_start::is_output_closed()) as u8)
}

/// What is only known before `main`: the language opens `/dev/null` in the place of a standard output that is closed.
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod at_start {
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

    /// The system calls what is listed here before `main`.
    #[expect(
        unsafe_code,
        reason = "a function in this section must not need what is not set up yet, and needs nothing"
    )]
    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        let is_closed = std::io::stdout().as_fd().try_clone_to_owned().is_err();
        IS_OUTPUT_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    pub(super) fn is_output_closed() -> bool {
        IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod at_start {
    pub(super) fn is_output_closed() -> bool {
        false
    }
}
