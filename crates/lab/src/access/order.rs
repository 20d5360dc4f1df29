//! The order of the pages of a pass: each once.
//!
//! Must not know: files, what is done with a page.

use datapump_engine::sim::Random;

use super::choice::AccessPattern;

/// Pages from one that is touched to the next: at 8 KiB a page 512 KiB, which is more than the kernel reads ahead by
/// itself (128 KiB).
const STRIDE_PAGES: u64 = 64;

/// An order.
#[derive(Clone, Copy, Debug)]
pub struct AccessOrder {
    /// Which.
    pub pattern: AccessPattern,
    /// The number of the first page in the file.
    pub first: u64,
    /// The pages of the file.
    pub pages: u64,
    /// At most so many of them.
    pub pages_max: u64,
    /// Decides the random one.
    pub seed: u64,
}

impl AccessOrder {
    /// How many pages there are.
    pub fn count(&self) -> u64 {
        self.pages.min(self.pages_max)
    }

    /// Their bytes, in a file of so many; its last page may be a short one.
    pub fn bytes(&self, page_bytes: u64, file_bytes: u64) -> u64 {
        let end = |page: u64| file_bytes.min(page * page_bytes);
        if self.pages <= self.pages_max {
            return end(self.first + self.pages) - end(self.first);
        }
        self.pages().into_iter().map(|page| end(page + 1) - end(page)).sum()
    }

    /// The numbers of the pages in the file.
    pub fn pages(&self) -> Vec<u64> {
        let mut pages = self.all();
        pages.truncate(usize::try_from(self.pages_max).unwrap_or(usize::MAX));
        pages.iter_mut().for_each(|page| *page += self.first);
        pages
    }

    fn all(&self) -> Vec<u64> {
        match self.pattern {
            AccessPattern::Sequential => (0..self.pages).collect(),
            AccessPattern::Strided => (0..STRIDE_PAGES)
                .flat_map(|first| (first..self.pages).step_by(STRIDE_PAGES as usize))
                .collect(),
            AccessPattern::Random => {
                let mut pages: Vec<u64> = (0..self.pages).collect();
                Random::seeded(self.seed, "access").shuffle(&mut pages);
                pages
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of(pattern: AccessPattern, pages: u64, seed: u64) -> AccessOrder {
        AccessOrder { pattern, first: 0, pages, pages_max: u64::MAX, seed }
    }

    #[test]
    fn a_part_and_the_first_pages_of_an_order() {
        let sequential = AccessOrder { first: 7, ..order_of(AccessPattern::Sequential, 3, 1) };
        assert_eq!((sequential.pages(), sequential.count()), (vec![7, 8, 9], 3));
        // The tenth page has 5 bytes.
        assert_eq!(sequential.bytes(100, 905), 205);
        let two = AccessOrder { pages_max: 2, ..sequential };
        assert_eq!((two.pages(), two.count(), two.bytes(100, 905)), (vec![7, 8], 2, 200));
        for seed in 0..20 {
            let all = AccessOrder { first: 7, ..order_of(AccessPattern::Random, 3, seed) };
            let one = AccessOrder { pages_max: 1, ..all };
            assert_eq!(one.pages(), all.pages()[..1], "{seed}");
            let bytes = if one.pages() == [9] { 5 } else { 100 };
            assert_eq!(one.bytes(100, 905), bytes, "{seed}");
        }
    }

    #[test]
    fn each_page_comes_once_in_every_order() {
        for pattern in [AccessPattern::Sequential, AccessPattern::Strided, AccessPattern::Random] {
            for pages in [1, 2, 63, 64, 65, 1000] {
                let order = |seed| order_of(pattern, pages, seed).pages();
                let mut sorted = order(1);
                assert_eq!(sorted, order(1), "{pattern:?} {pages}: the seed decides");
                let is_as_they_lie = sorted.is_sorted();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..pages).collect::<Vec<_>>(), "{pattern:?} {pages}");
                let may_be = pattern == AccessPattern::Sequential || pages <= 64;
                assert!(may_be || !is_as_they_lie, "{pattern:?} {pages}");
            }
        }
        let strided = order_of(AccessPattern::Strided, 130, 1).pages();
        assert_eq!(strided[..5], [0, 64, 128, 1, 65]);
    }
}
