//! Detection of a standard output that was closed when the program started (`anyk … >&-`).
//!
//! Before `main`, the standard library replaces a closed standard stream by `/dev/null`. After that, writing succeeds
//! but the answer is lost, and this `/dev/null` looks the same as one that the caller chose. The check must therefore
//! run earlier: the loader calls the functions that are listed in the section below before it starts the program.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether standard output was closed when the program started.
pub(crate) fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(unix)]
extern "C" fn look() {
    use std::os::fd::AsFd as _;
    // A closed file descriptor cannot be duplicated.
    let copy = std::io::stdout().as_fd().try_clone_to_owned();
    CLOSED.store(copy.is_err(), Ordering::Relaxed);
}

// Safety: the section holds pointers to functions with this signature. `look` does not unwind, and needs neither
// arguments nor anything that the runtime sets up before `main`.
#[cfg(unix)]
#[allow(unsafe_code)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;
