//! The standard descriptors that were closed when the program started.
//!
//! The standard library opens /dev/null in place of those that were closed, before `main` runs: a copy from a closed
//! standard input would look like a copy of nothing, and one to a closed standard output like a success.
//!
//! Must not know: what the descriptors are used for.

use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each of the descriptors 0, 1 and 2.
static CLOSED: AtomicU8 = AtomicU8::new(0);

extern "C" fn note_closed() {
    for descriptor in 0..3 {
        // SAFETY: F_GETFD reads a flag of a descriptor and changes nothing; a closed one gives EBADF.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
}

// SAFETY: the loader calls functions of this section before `main`; this one takes no argument that it needs, allocates
// nothing and touches one atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_CLOSED: extern "C" fn() = note_closed;

/// Whether standard input (0), output (1) or error (2) was closed when the program started.
pub fn was_closed(descriptor: u8) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << descriptor) != 0
}
