//! Memory for slots: zeroed, page-aligned, on huge pages where the pool is large enough and the system gives them.
//!
//! Huge pages are worth it: direct requests pin their pages, and pinning 128 small pages for each 512 KiB was the
//! largest part of the process's CPU time (perf: gup_fast_fallback). And a request in one piece of memory is one to the
//! disk as well: a virtual disk that takes a piece at a time read 64 KiB requests at 0.6 GB/s from scattered pages and
//! at 3.2 GB/s from one piece. So a small pool is a part of a huge page, too; the rest of the page is given back.
//!
//! Must not know: slots, who uses the memory.

use std::ptr::NonNull;

/// Size of a huge page on x86-64 and on arm64 with 4 KiB pages.
#[cfg(target_os = "linux")]
const HUGE_BYTES: usize = 2 << 20;

/// From this size on a pool is a part of a huge page. To get one took 150 µs on a virtual machine, as 50 faults of
/// small pages do: below, a copy of one small file would pay for what it does not use.
#[cfg(target_os = "linux")]
const IN_ONE_PIECE_BYTES: usize = 128 << 10;

/// Zeroed memory that starts at a multiple of the page size. From 2 MiB on it is touched by its first use, not here.
#[derive(Debug)]
pub(crate) struct Pages {
    base: NonNull<u8>,
    /// What was mapped or allocated, for giving it back.
    whole: NonNull<u8>,
    whole_bytes: usize,
}

impl Pages {
    /// The first byte.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

#[cfg(target_os = "linux")]
impl Pages {
    /// At least `bytes` bytes; `None` when there is no memory.
    pub(crate) fn new(bytes: usize) -> Option<Pages> {
        if bytes < IN_ONE_PIECE_BYTES {
            let whole_bytes = bytes.max(1);
            return map(whole_bytes).map(|whole| Pages { base: whole, whole, whole_bytes });
        }
        let whole_bytes = bytes.max(HUGE_BYTES).checked_add(HUGE_BYTES)?;
        let whole = map(whole_bytes)?;
        let skip = whole.as_ptr().align_offset(HUGE_BYTES);
        // SAFETY: `skip` is below HUGE_BYTES, by which the mapping is larger than `bytes`.
        let base = unsafe { whole.add(skip) };
        let pages = Pages { base, whole, whole_bytes };
        advise_huge(base, bytes.max(HUGE_BYTES));
        Some(if bytes < HUGE_BYTES { pages.cut(skip + bytes.next_multiple_of(4096)) } else { pages })
    }

    /// A part of one huge page: it is touched, so that the system gives it whole, and what lies behind `keep_bytes` of
    /// the mapping given back. The system splits the page when it looks for memory, and no request pins it: until then
    /// the pool holds 2 MiB, which no account of the process shows.
    fn cut(mut self, keep_bytes: usize) -> Pages {
        // SAFETY: within the mapping, which nobody else knows yet.
        unsafe { self.base.as_ptr().write_volatile(0) };
        // SAFETY: the mapping is larger than `keep_bytes` by a whole number of pages, and nobody uses what is behind.
        let rest = unsafe { self.whole.add(keep_bytes) }.as_ptr().cast();
        // SAFETY: as above.
        if unsafe { rustix::mm::munmap(rest, self.whole_bytes - keep_bytes) }.is_ok() {
            self.whole_bytes = keep_bytes;
        }
        self
    }
}

/// A new mapping of zeroed memory.
#[cfg(target_os = "linux")]
fn map(bytes: usize) -> Option<NonNull<u8>> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no other memory.
    let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) }.ok()?;
    NonNull::new(mapped.cast::<u8>())
}

/// Asks for huge pages; without them all works as well.
#[cfg(target_os = "linux")]
fn advise_huge(base: NonNull<u8>, bytes: usize) {
    use rustix::mm::{Advice, madvise};
    // SAFETY: the range lies within a mapping of ours; advice changes no content.
    let _ = unsafe { madvise(base.as_ptr().cast(), bytes.next_multiple_of(4096), Advice::LinuxHugepage) };
}

#[cfg(target_os = "linux")]
impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size; the owner (the arena) says that nobody refers to it any more.
        let _ = unsafe { rustix::mm::munmap(self.whole.as_ptr().cast(), self.whole_bytes) };
    }
}

#[cfg(not(target_os = "linux"))]
const PAGE_BYTES: usize = 4096;

#[cfg(not(target_os = "linux"))]
impl Pages {
    /// At least `bytes` bytes; `None` when there is no memory.
    pub(crate) fn new(bytes: usize) -> Option<Pages> {
        let layout = std::alloc::Layout::from_size_align(bytes.max(1), PAGE_BYTES).ok()?;
        // SAFETY: the layout's size is not zero.
        let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Pages { base, whole: base, whole_bytes: layout.size() })
    }
}

#[cfg(not(target_os = "linux"))]
impl Drop for Pages {
    fn drop(&mut self) {
        let layout = std::alloc::Layout::from_size_align(self.whole_bytes, PAGE_BYTES);
        // SAFETY: allocated in `new` with this layout, which was valid there.
        unsafe { std::alloc::dealloc(self.whole.as_ptr(), layout.expect("valid in new")) }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_size_is_zeroed_aligned_and_writable() {
        for bytes in
            [1, 4095, 4096, IN_ONE_PIECE_BYTES - 1, IN_ONE_PIECE_BYTES, 300_000, HUGE_BYTES - 1, 5 << 20]
        {
            let pages = Pages::new(bytes).unwrap();
            assert_eq!(pages.base().as_ptr().align_offset(4096), 0, "{bytes}");
            // SAFETY: mapped with at least this size; nobody else uses it.
            let memory = unsafe { std::slice::from_raw_parts_mut(pages.base().as_ptr(), bytes) };
            assert!(memory.iter().all(|byte| *byte == 0), "{bytes}");
            memory.fill(7);
        }
    }

    #[test]
    fn a_small_pool_keeps_no_more_than_itself() {
        let pages = Pages::new(300_000).unwrap();
        let skip = pages.base().as_ptr() as usize - pages.whole.as_ptr() as usize;
        assert_eq!(pages.whole_bytes, skip + 300_000_usize.next_multiple_of(4096));
        assert_eq!(pages.base().as_ptr().align_offset(HUGE_BYTES), 0);
    }
}
