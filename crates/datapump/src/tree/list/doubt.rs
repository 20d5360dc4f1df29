//! What stands at a target and may not be on the disk.
//!
//! A list that stands tells of a copy that did not end well: what it wrote may have the right size and time, and in the
//! cache even the right content, of which the disk has nothing. Whatever changed since that copy began is in doubt, in
//! the folder of the list and in all below, until a copy that deals with all of it has ended well. Nothing in doubt is
//! left alone for what it looks like, and no other name is linked to it.
//!
//! Must not know: what stands in a list, how files are copied.

use datapump_core::journal::Header;

use crate::tree::rules::decide::same_time;
use datapump_files::disk::Meta;

/// Since when what stands there may not be on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    since_ns: Option<i128>,
    /// What was written then has no time of its source.
    loses_times: bool,
}

impl Doubt {
    /// None by a list of which all is on the disk.
    pub(crate) fn since(list: &Header) -> Doubt {
        if list.is_settled {
            return Doubt::default();
        }
        Doubt { since_ns: Some(list.begun_ns), loses_times: list.loses_times }
    }

    pub(crate) fn since_ns(since_ns: i128) -> Doubt {
        Doubt { since_ns: Some(since_ns), loses_times: false }
    }

    /// Of two copies: since the first of them.
    pub(crate) fn and(self, other: Option<Doubt>) -> Doubt {
        let Some(other) = other else { return self };
        let since_ns = [self.since_ns, other.since_ns].into_iter().flatten().min();
        Doubt { since_ns, loses_times: self.loses_times || other.loses_times }
    }

    /// Whether a file may be of such a copy: it changed since that began.
    pub(crate) fn reaches(&self, there: &Meta) -> bool {
        self.since_ns.is_some_and(|since_ns| there.ctime_ns >= since_ns)
    }

    /// The same where its source is not known. What somebody wrote or touched last has the time of just that; a copy
    /// has its source's time, and was given it or its name later.
    pub(crate) fn may_reach(&self, there: &Meta) -> bool {
        self.reaches(there) && (self.loses_times || there.mtime_ns != there.ctime_ns)
    }

    /// Whether somebody put it there since, and not such a copy of this source: a copy has the time that its source has,
    /// or had before that was written to. One that does not keep times cannot be told from other files.
    pub(crate) fn is_of_others(&self, source: &Meta, there: &Meta) -> bool {
        let changed_since = |since_ns| source.mtime_ns >= since_ns && there.mtime_ns < since_ns;
        !self.loses_times && !same_time(source, there, 0) && !self.since_ns.is_some_and(changed_since)
    }

    /// Whether it has the size and time that such a copy of this source has. What somebody else changed since has not.
    pub(crate) fn may_have_made(&self, source: &Meta, there: &Meta) -> bool {
        let in_time = same_time(source, there, 0)
            || (self.loses_times && self.since_ns.is_some_and(|since_ns| there.mtime_ns >= since_ns));
        there.size_bytes == source.size_bytes && in_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_a_copy_began_may_be_of_it() {
        let meta =
            |size_bytes, mtime_ns, ctime_ns| Meta { size_bytes, mtime_ns, ctime_ns, ..Meta::nothing() };
        let source = meta(5, 7, 0);
        let unverified = |since_ns, loses_times| Doubt { since_ns, loses_times };
        for (run, there, reached, is_alike) in [
            (Doubt::default(), meta(5, 7, i128::MAX), false, true),
            (unverified(Some(20), false), meta(5, 7, 19), false, true),
            (unverified(Some(20), false), meta(5, 7, 20), true, true),
            (unverified(Some(20), false), meta(6, 7, 20), true, false),
            (unverified(Some(20), false), meta(5, 25, 25), true, false),
            (unverified(Some(20), true), meta(5, 25, 25), true, true),
            (unverified(Some(20), true), meta(5, 19, 25), true, false),
        ] {
            assert_eq!(run.reaches(&there), reached, "{run:?} {there:?}");
            assert_eq!(run.may_have_made(&source, &there), is_alike, "{run:?} {there:?}");
            let was_written = !run.loses_times && there.mtime_ns == there.ctime_ns;
            assert_eq!(run.may_reach(&there), reached && !was_written, "{run:?} {there:?}");
        }
        for (run, source_ns, there_ns, is_of_others) in [
            (unverified(Some(20), false), 7, 25, true),
            (unverified(Some(20), false), 7, 9, true),
            // Of a copy that was cut by the loss of power not all content has come to the disk.
            (unverified(Some(20), false), 7, 7, false),
            // On a coarse clock a copy of what is new has the time of its source, and that of now.
            (unverified(Some(20), false), 25, 25, false),
            (unverified(Some(20), false), 25, 7, false),
            (unverified(Some(20), false), 30, 25, true),
            (unverified(Some(20), true), 7, 25, false),
        ] {
            let (source, there) = (meta(5, source_ns, 0), meta(0, there_ns, 25));
            assert_eq!(run.is_of_others(&source, &there), is_of_others, "{source_ns} {there_ns}");
        }
        let both = unverified(Some(20), false).and(Some(unverified(Some(10), true))).and(None);
        assert_eq!(both, unverified(Some(10), true));
    }
}
