//! Names of a folder that were listed before its walk came to them, in the order of the listing.
//!
//! Must not know: how a folder is listed, why early.

use std::collections::VecDeque;

use crate::listed::Name;

/// So many names of one folder are kept: some 6 MB. Those behind them are listed when they are dealt with.
const NAMES_MAX: usize = 1 << 14;

/// Names of one folder, as far as they were listed and are not dealt with.
#[derive(Debug, Default)]
pub(crate) struct ListedEarly {
    /// Where each listing began, and where the next one begins.
    listings: VecDeque<(u64, Vec<Name>, u64)>,
    names: usize,
    next: u64,
    is_whole: bool,
}

impl ListedEarly {
    /// The names from this place on, and where those behind them begin, if they were listed.
    pub(crate) fn take(&mut self, from: u64) -> Option<(Vec<Name>, u64)> {
        let (_, names, next) = self.listings.pop_front_if(|(first, ..)| *first == from)?;
        self.names -= names.len();
        Some((names, next))
    }

    /// The folder was listed to `next`, with so many names.
    pub(crate) fn handle_listed(&mut self, names: usize, next: u64) {
        (self.next, self.is_whole) = (next, names == 0);
    }

    /// Where it is listed next. `None` where nothing is left, or no more names are kept.
    pub(crate) fn next(&self) -> Option<u64> {
        (!self.is_whole && self.names < NAMES_MAX).then_some(self.next)
    }

    /// Keeps names that were listed from this place on.
    pub(crate) fn keep(&mut self, from: u64, names: Vec<Name>, next: u64) {
        self.names += names.len();
        self.handle_listed(names.len(), next);
        self.listings.push_back((from, names, next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_in_their_order_and_are_bounded() {
        let names = |count: usize| vec![Name::here("name".into(), None); count];
        let mut early = ListedEarly::default();
        early.handle_listed(2, 2);
        assert_eq!((early.next(), early.take(2).is_none()), (Some(2), true));
        early.keep(2, names(3), 5);
        early.keep(5, names(0), 5);
        assert_eq!(early.next(), None, "the folder was listed to its end");
        assert!(early.take(0).is_none() && early.take(5).is_none());
        assert_eq!([2, 5].map(|from| early.take(from).map(|(names, _)| names.len())), [Some(3), Some(0)]);
        let mut long = ListedEarly::default();
        long.keep(0, names(NAMES_MAX), 7);
        assert_eq!(long.next(), None, "more are not kept");
        assert!(long.take(0).is_some());
        assert_eq!(long.next(), Some(7));
    }
}
