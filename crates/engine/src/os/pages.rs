//! Memory for slots: zeroed, page-aligned, on huge pages where the pool is large enough and the system gives them.
//!
//! Huge pages are worth it: direct requests pin their pages, and pinning 128 small pages for each 512 KiB was the
//! largest part of the process's CPU time (perf: gup_fast_fallback).
//!
//! Must not know: slots, who uses the memory.

use std::ptr::NonNull;

/// Size of a huge page on x86-64 and on arm64 with 4 KiB pages.
#[cfg(target_os = "linux")]
const HUGE_BYTES: usize = 2 << 20;

/// Zeroed memory that starts at a multiple of the page size. It is touched by its first use, not here.
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
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let huge = bytes >= HUGE_BYTES;
        let whole_bytes = if huge { bytes.checked_add(HUGE_BYTES)? } else { bytes.max(1) };
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no other memory.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), whole_bytes, protection, flags) }.ok()?;
        let whole = NonNull::new(mapped.cast::<u8>())?;
        if !huge {
            return Some(Pages { base: whole, whole, whole_bytes });
        }
        let skip = whole.as_ptr().align_offset(HUGE_BYTES);
        // SAFETY: `skip` is below HUGE_BYTES, by which the mapping is larger than `bytes`.
        let base = unsafe { whole.add(skip) };
        // SAFETY: the range lies within the mapping; advice changes no content. Without huge pages it works as well.
        let _ = unsafe { madvise(base.as_ptr().cast(), bytes.next_multiple_of(4096), Advice::LinuxHugepage) };
        Some(Pages { base, whole, whole_bytes })
    }
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
