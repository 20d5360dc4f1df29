//! The handler of SIGBUS: a page of a watched mapping that does not come is replaced by one of zeros, and the first one
//! is remembered. Whatever else raises the signal goes to the handler that was there before.
//!
//! What the handler does is allowed in one: it reads and writes atomics of a table that never moves, and makes one
//! system call (mmap), whose error number is put back.
//!
//! Must not know: files, what is touched.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};

/// Mappings at a time: a study has one, and the handler looks at all.
const MAPPINGS_MAX: usize = 32;

/// One mapping; `len` 0 means that the entry is free, `TAKEN` that it is being filled.
struct MappedEntry {
    start: AtomicUsize,
    len: AtomicUsize,
    /// One more than the first offset that did not come; 0 if all did.
    fault: AtomicUsize,
}

/// Longer than any mapping, and no address lies in it, because the start is 0 meanwhile.
const TAKEN: usize = 1;

static TABLE: [MappedEntry; MAPPINGS_MAX] = [const {
    MappedEntry { start: AtomicUsize::new(0), len: AtomicUsize::new(0), fault: AtomicUsize::new(0) }
}; MAPPINGS_MAX];

static INSTALLED: Once = Once::new();
/// The previous action of the signal: written once, before the handler can run.
static mut BEFORE: Option<libc::sigaction> = None;

/// An entry of the table; its owner ends it before the mapping goes.
#[derive(Debug)]
pub(super) struct WatchedMapping(usize);

impl WatchedMapping {
    /// Watches a mapping; `None` if there are too many.
    pub(super) fn new(start: usize, len: usize) -> Option<WatchedMapping> {
        INSTALLED.call_once(install);
        let take =
            |entry: &MappedEntry| entry.len.compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        let index = TABLE.iter().position(|entry| take(entry).is_ok())?;
        let entry = &TABLE[index];
        entry.fault.store(0, Ordering::Relaxed);
        entry.start.store(start, Ordering::Release);
        entry.len.store(len, Ordering::Release);
        Some(WatchedMapping(index))
    }

    /// The first offset that did not come.
    #[inline]
    pub(super) fn fault(&self) -> Option<usize> {
        TABLE[self.0].fault.load(Ordering::Relaxed).checked_sub(1)
    }

    /// The mapping is about to go. Nothing is asked of this entry after it.
    pub(super) fn end(&self) {
        TABLE[self.0].start.store(0, Ordering::Release);
        TABLE[self.0].len.store(0, Ordering::Release);
    }
}

fn install() {
    // SAFETY: both structures are plain numbers, and live for the call; the handler has the signature that
    // SA_SIGINFO asks for. `BEFORE` is written before the handler stands, once (`INSTALLED`), and only read after it.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before);
        BEFORE = Some(before);
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = on_bus as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut());
    }
}

extern "C" fn on_bus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a whole siginfo_t, and for SIGBUS its address; one that another process sent has 0
    // there or what lies in no mapping of the table.
    let address = unsafe { (*info).si_addr() } as usize;
    if !TABLE.iter().any(|entry| entry.replace(address)) {
        hand_on(signal, info, context);
    }
}

impl MappedEntry {
    /// Puts a page of zeros in the place of the one at this address, if it is of this mapping.
    fn replace(&self, address: usize) -> bool {
        let (start, len) = (self.start.load(Ordering::Acquire), self.len.load(Ordering::Acquire));
        if start == 0 || address < start || address - start >= len {
            return false;
        }
        let page_bytes = rustix::param::page_size();
        let page = address - address % page_bytes;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: errno is this thread's own. The page lies in a mapping of the table, whose owner is inside of a touch
        // of it, and so it is there; what it held is gone already.
        let replaced = unsafe {
            let errno = *libc::__errno_location();
            let got = libc::mmap(page as *mut c_void, page_bytes, protection, flags, -1, 0);
            *libc::__errno_location() = errno;
            got != libc::MAP_FAILED
        };
        let _ = self.fault.compare_exchange(0, address - start + 1, Ordering::Relaxed, Ordering::Relaxed);
        replaced
    }
}

/// The previous handler gets the signal. Without one, the signal is made deadly again: a faulting access comes again at
/// once, what a process sent (kill(2): a code of 0 or less, sigaction(2)) is raised again.
fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: written before this handler stood, and never after.
    let before = unsafe { BEFORE };
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    // SAFETY: the kernel gives a whole siginfo_t.
    let was_sent = unsafe { (*info).si_code } <= 0;
    if handler == libc::SIG_IGN && was_sent {
        return;
    }
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: both take numbers alone. The signal is blocked until the handler has returned.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if was_sent {
                libc::raise(signal);
            }
        }
        return;
    }
    let takes_info = before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0);
    // SAFETY: sigaction(2) gave this address as that of a function of this form, which the flag tells.
    unsafe {
        if takes_info {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}
