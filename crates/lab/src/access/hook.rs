//! Touches what the blocks of a job hold, inside the copy loop, as a program would that reads or writes by calls.
//!
//! Must not know: how blocks are read and written.

use std::sync::atomic::{AtomicU64, Ordering};

use datapump::BlockHook;
use datapump_engine::os::linux::{fill_words, sum_words};

/// Touches the first bytes of each page.
#[derive(Debug)]
pub struct TouchHook {
    page_bytes: usize,
    touched_bytes: usize,
    value: u64,
    sum: AtomicU64,
}

impl TouchHook {
    /// So many bytes of each page; what is filled gets this value.
    pub fn new(page_bytes: u64, touched_bytes: u64, value: u64) -> TouchHook {
        let (page_bytes, touched_bytes) = (page_bytes as usize, touched_bytes as usize);
        TouchHook { page_bytes, touched_bytes, value, sum: AtomicU64::new(0) }
    }

    /// The sum of all words that were read.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }
}

impl BlockHook for TouchHook {
    /// A block is what is written of a page.
    fn fill(&self, _: u64, bytes: &mut [u8]) {
        fill_words(bytes, self.value);
    }

    fn inspect(&self, _: u64, bytes: &[u8]) {
        let touched = |page: &[u8]| sum_words(&page[..self.touched_bytes.min(page.len())]);
        let sum = bytes.chunks(self.page_bytes).map(touched).fold(0, u64::wrapping_add);
        self.sum.fetch_add(sum, Ordering::Relaxed);
    }
}
