//! The order of the pages of a pass: each once.
//!
//! Must not know: files, what is done with a page.

use datapump::simulation::Random;

use super::choice::AccessPattern;

/// Pages from one that is touched to the next: at 8 KiB a page 512 KiB, which is more than the kernel reads ahead by
/// itself (128 KiB).
const STRIDE_PAGES: u64 = 64;

/// An order.
#[derive(Clone, Copy, Debug)]
pub struct AccessOrder {
    /// Which.
    pub pattern: AccessPattern,
    /// Of so many pages.
    pub pages: u64,
    /// Decides the random one.
    pub seed: u64,
}

impl AccessOrder {
    /// The numbers of the pages.
    pub fn pages(&self) -> Vec<u64> {
        match self.pattern {
            AccessPattern::Sequential => (0..self.pages).collect(),
            AccessPattern::Strided => (0..STRIDE_PAGES)
                .flat_map(|first| (first..self.pages).step_by(STRIDE_PAGES as usize))
                .collect(),
            AccessPattern::Random => {
                let mut pages: Vec<u64> = (0..self.pages).collect();
                Random::of(self.seed, "access").shuffle(&mut pages);
                pages
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_comes_once_in_every_order() {
        for pattern in [AccessPattern::Sequential, AccessPattern::Strided, AccessPattern::Random] {
            for pages in [1, 2, 63, 64, 65, 1000] {
                let order = |seed| AccessOrder { pattern, pages, seed }.pages();
                let mut sorted = order(1);
                assert_eq!(sorted, order(1), "{pattern:?} {pages}: the seed decides");
                let is_as_they_lie = sorted.is_sorted();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..pages).collect::<Vec<_>>(), "{pattern:?} {pages}");
                let may_be = pattern == AccessPattern::Sequential || pages <= 64;
                assert!(may_be || !is_as_they_lie, "{pattern:?} {pages}");
            }
        }
        let strided = AccessOrder { pattern: AccessPattern::Strided, pages: 130, seed: 1 }.pages();
        assert_eq!(strided[..5], [0, 64, 128, 1, 65]);
    }
}
