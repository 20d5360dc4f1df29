//! Which existing files may not be on the disk.
//!
//! A list that exists says that a copy did not end well: what it wrote may have the right size and time, and in the
//! cache even the right content, of which the disk has nothing. Whatever changed since that copy began is unverified, in
//! the folder of the list and in all below, until a copy of all names has ended well. Nothing unverified is left alone
//! for its size and time, and no other name is linked to it.
//!
//! Must not know: where lists are, how files are copied.

use super::times::is_same_time;
use crate::Meta;
use crate::journal::Header;

/// The time since which existing files may not be on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unverified {
    since_ns: Option<i128>,
    /// Files of then do not have the time of their source.
    loses_times: bool,
}

impl Unverified {
    /// By the list of a copy; none where all of it is on the disk.
    pub fn since(list: &Header) -> Unverified {
        if list.is_settled {
            return Unverified::default();
        }
        Unverified { since_ns: Some(list.begun_ns), loses_times: list.loses_times }
    }

    /// Everything since this time.
    pub fn since_ns(since_ns: i128) -> Unverified {
        Unverified { since_ns: Some(since_ns), loses_times: false }
    }

    /// Both of two copies.
    pub fn and(self, other: Option<Unverified>) -> Unverified {
        let Some(other) = other else { return self };
        let since_ns = [self.since_ns, other.since_ns].into_iter().flatten().min();
        Unverified { since_ns, loses_times: self.loses_times || other.loses_times }
    }

    /// Whether a file changed since such a copy began.
    pub fn reaches(&self, existing: &Meta) -> bool {
        self.since_ns.is_some_and(|since_ns| existing.ctime_ns >= since_ns)
    }

    /// Whether a file may have changed by such a copy, where its source is not known. One that somebody wrote or
    /// touched last has the time of just that; a copy has its source's time, and got it or its name later.
    pub fn may_reach(&self, existing: &Meta) -> bool {
        self.reaches(existing) && (self.loses_times || existing.mtime_ns != existing.ctime_ns)
    }

    /// Whether somebody else put it there since: a copy has the time that its source has, or had before that was written
    /// to. One that does not keep times cannot be told from other files.
    pub fn is_of_others(&self, source: &Meta, existing: &Meta) -> bool {
        let changed_since = |since_ns| source.mtime_ns >= since_ns && existing.mtime_ns < since_ns;
        !self.loses_times && !is_same_time(source, existing, 0) && !self.since_ns.is_some_and(changed_since)
    }

    /// Whether it has the size and time that such a copy of this source has.
    pub fn may_have_made(&self, source: &Meta, existing: &Meta) -> bool {
        let in_time = is_same_time(source, existing, 0)
            || (self.loses_times && self.since_ns.is_some_and(|since_ns| existing.mtime_ns >= since_ns));
        existing.size_bytes == source.size_bytes && in_time
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
        let unverified = |since_ns, loses_times| Unverified { since_ns, loses_times };
        for (run, existing, reached, is_alike) in [
            (Unverified::default(), meta(5, 7, i128::MAX), false, true),
            (unverified(Some(20), false), meta(5, 7, 19), false, true),
            (unverified(Some(20), false), meta(5, 7, 20), true, true),
            (unverified(Some(20), false), meta(6, 7, 20), true, false),
            (unverified(Some(20), false), meta(5, 25, 25), true, false),
            (unverified(Some(20), true), meta(5, 25, 25), true, true),
            (unverified(Some(20), true), meta(5, 19, 25), true, false),
        ] {
            assert_eq!(run.reaches(&existing), reached, "{run:?} {existing:?}");
            assert_eq!(run.may_have_made(&source, &existing), is_alike, "{run:?} {existing:?}");
            let was_written = !run.loses_times && existing.mtime_ns == existing.ctime_ns;
            assert_eq!(run.may_reach(&existing), reached && !was_written, "{run:?} {existing:?}");
        }
        for (run, source_ns, existing_ns, is_of_others) in [
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
            let (source, existing) = (meta(5, source_ns, 0), meta(0, existing_ns, 25));
            assert_eq!(run.is_of_others(&source, &existing), is_of_others, "{source_ns} {existing_ns}");
        }
        let both = unverified(Some(20), false).and(Some(unverified(Some(10), true))).and(None);
        assert_eq!(both, unverified(Some(10), true));
    }
}
