//! Names that were not copied because they changed, and what that keeps at the target.
//!
//! A file that vanished is no error of others: where it moved to its new folder has changed, and is walked again. So it
//! is with a file whose name another file has by now. A file that changes each time it is copied may be what is to be
//! removed, under a new name: unless the target has an older copy under that name, its old name may be the only one.
//!
//! Must not know: how a file is looked at, why a copy failed.

/// The file that was read, as a look at its name finds it behind the copy that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameNow {
    /// Nothing has its name.
    Gone,
    /// Another file has it.
    OtherFile,
    /// It still has it, or nothing says otherwise.
    SameFile,
}

/// A name that was not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedName {
    /// It vanished: its folder has changed by that.
    Vanished,
    /// Its folder counts as changed, so that it is copied in a further pass.
    Changed {
        /// Nothing is removed until it is copied.
        keeps_all: bool,
    },
}

/// Judges a name whose copy failed because it changed. `has_copy`: the target has a file under it, which is no part of
/// the copy that failed.
pub fn judge_missed(now: NameNow, has_copy: bool) -> MissedName {
    match now {
        NameNow::Gone => MissedName::Vanished,
        NameNow::OtherFile => MissedName::Changed { keeps_all: false },
        NameNow::SameFile => MissedName::Changed { keeps_all: !has_copy },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_name_that_was_not_copied_keeps() {
        let changed = |keeps_all| MissedName::Changed { keeps_all };
        for (now, has_copy, expected) in [
            (NameNow::Gone, false, MissedName::Vanished),
            (NameNow::Gone, true, MissedName::Vanished),
            (NameNow::OtherFile, false, changed(false)),
            (NameNow::OtherFile, true, changed(false)),
            (NameNow::SameFile, false, changed(true)),
            (NameNow::SameFile, true, changed(false)),
        ] {
            assert_eq!(judge_missed(now, has_copy), expected, "{now:?} {has_copy}");
        }
    }
}
