//! Whether standard output was closed when the program started (`anyk … >&-`).
//!
//! Before `main`, the standard library opens `/dev/null` in the place of a standard stream that is closed. From then on
//! writing succeeds and the answer is lost, and nothing tells this `/dev/null` from one that the caller chose. So the
//! check runs before `main`: the loader calls the functions that are listed in this section.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed at the start.
pub(crate) fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(unix)]
extern "C" fn look() {
    use std::os::fd::AsFd as _;
    // A file that is closed cannot be duplicated.
    let copy = std::io::stdout().as_fd().try_clone_to_owned();
    CLOSED.store(copy.is_err(), Ordering::Relaxed);
}

// Safety: the section holds pointers to functions of this signature. `look` does not unwind, needs no arguments, and
// nothing that `main` sets up.
#[cfg(unix)]
#[allow(unsafe_code)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;
