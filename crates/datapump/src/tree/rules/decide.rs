//! What becomes of one name, given what the source is and what stands at the target. Pure: a dry run and a run ask the
//! same question and get the same answer.
//!
//! Must not know: how anything is done, paths.

use crate::setup::options::{AttributeOptions, ComparisonOptions, Options, Update};
use datapump_files::attributes::given::Given;
use datapump_files::attributes::permissions::SET_ID_BITS;
use datapump_files::disk::{FileKind, Meta};

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing stands there.
    Create,
    /// What stands there is replaced as a whole.
    Replace,
    /// A folder stands there and receives what the source's holds.
    Enter,
    /// It is right as it stands: the reason.
    Leave(&'static str),
    /// It is not to be touched, whatever it is: the reason.
    Keep(&'static str),
    /// Content and time are right; owner or mode are not.
    Adjust,
    /// Size and time tell nothing (`--checksum`): equal content leaves it, other content replaces it.
    Compare,
    /// A folder stands where the source has none: it gives way, or the name waits (`make_way`).
    MakeWay,
}

/// What was asked, as far as it decides about names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    update: Update,
    size_only: bool,
    window_ns: i128,
    times: bool,
    checksum: bool,
    ignore_existing: bool,
    existing: bool,
    min_size_bytes: u64,
    max_size_bytes: u64,
    mode: bool,
    owner: bool,
    given: Given,
    /// This user may give files away.
    gives_away: bool,
    /// Any other user may give its own files to its own groups alone: chown(2).
    user: u32,
    groups: &'static [u32],
    /// A run that is killed may have made a part of a file under its final name.
    parts_remain: bool,
}

impl Rules {
    pub(crate) fn new(options: &Options, is_root: bool) -> Rules {
        let &Options {
            comparison: ComparisonOptions { update, size_only, checksum, ignore_existing, existing, .. },
            attributes: AttributeOptions { keep, .. },
            ..
        } = options;
        let window_ns = window_ns(options);
        let (times, mode, owner, gives_away) = (keep.times, keep.mode, keep.owner, is_root);
        let (user, groups) = (u32::MAX, &[][..]);
        Rules {
            update,
            size_only,
            window_ns,
            times,
            checksum,
            ignore_existing,
            existing,
            min_size_bytes: options.selection.min_size_bytes.unwrap_or(0),
            max_size_bytes: options.selection.max_size_bytes.unwrap_or(u64::MAX),
            mode,
            owner,
            given: keep.given,
            gives_away,
            user,
            groups,
            parts_remain: false,
        }
    }

    /// The same for a user who is in these groups.
    pub(crate) fn of_user(self, user: u32, groups: &'static [u32]) -> Rules {
        Rules { user, groups, ..self }
    }

    /// These rules for a target that gives files their final names from the start, or not.
    pub(crate) fn where_parts_remain(self, parts_remain: bool) -> Rules {
        Rules { parts_remain, ..self }
    }

    /// Whether size and time tell nothing about the content.
    pub(crate) fn reads_content(&self) -> bool {
        self.checksum
    }

    /// Whether names may be passed by, whatever they hold.
    pub(crate) fn passes_some(&self) -> bool {
        self.existing || self.min_size_bytes > 0 || self.max_size_bytes < u64::MAX
    }

    /// Why a name is passed by: nothing stands there, or its size is out of bounds. A stream is no file.
    pub(crate) fn passed_by(&self, source: Option<&Meta>, stands: bool) -> Option<&'static str> {
        let size = source.filter(|meta| meta.kind == FileKind::Regular).map(|meta| meta.size_bytes);
        if self.existing && !stands {
            Some("does not exist at the target (--existing)")
        } else if size.is_some_and(|size| size > self.max_size_bytes) {
            Some("it is larger than --max-size")
        } else if size.is_some_and(|size| size < self.min_size_bytes) {
            Some("it is smaller than --min-size")
        } else {
            None
        }
    }

    /// Whether a name that is right is left alone.
    pub(crate) fn leaves_some(&self) -> bool {
        self.updates() || self.checksum || self.ignore_existing
    }

    /// Whether a file that is right is left alone without its content being read.
    pub(crate) fn leaves_unread(&self) -> bool {
        self.updates() && !self.checksum && !self.ignore_existing
    }

    /// Where what stands there stays only because it is newer than the source: by more than so much.
    pub(crate) fn newer_by_ns(&self) -> Option<i128> {
        (self.update == Update::Older && !self.ignore_existing).then_some(self.window_ns)
    }

    fn updates(&self) -> bool {
        self.update != Update::All
    }

    /// Equal times, by what was asked and what the target's file system can tell.
    pub(crate) fn same_time(&self, source: &Meta, there: &Meta) -> bool {
        same_time(source, there, self.window_ns)
    }

    /// Whether the target's time is not one that the source's would be set over.
    pub(crate) fn time_is_right(&self, source: &Meta, there: &Meta) -> bool {
        !self.times || self.same_time(source, there)
    }

    /// Decides.
    pub(crate) fn decide(&self, source: &Meta, there: Option<&Meta>) -> Action {
        let Some(there) = there else { return Action::Create };
        match (source.kind, there.kind) {
            (FileKind::Folder, FileKind::Folder) => Action::Enter,
            _ if self.ignore_existing => Action::Keep("exists at the target"),
            // Of another kind it is another thing, whatever its time.
            (FileKind::Folder, _) => Action::Replace,
            (_, FileKind::Folder) => Action::MakeWay,
            (FileKind::Regular, FileKind::Regular) if self.updates() || self.checksum => {
                self.updated(source, there)
            }
            _ => Action::Replace,
        }
    }

    fn updated(&self, source: &Meta, there: &Meta) -> Action {
        let may_be_part = self.parts_remain && there.size_bytes < source.size_bytes;
        let is_newer = there.mtime_ns - source.mtime_ns > self.window_ns;
        if self.update == Update::Older && is_newer && !may_be_part {
            return Action::Keep("the target is newer");
        }
        let has_new_link = self.checksum && there.links > source.links;
        if source.size_bytes != there.size_bytes || has_new_link {
            Action::Replace
        } else if self.checksum {
            Action::Compare
        } else if self.same_time(source, there) {
            self.kept(source, there)
        } else if self.size_only && self.times {
            adjusted(source, there)
        } else if self.size_only {
            self.kept(source, there)
        } else {
            Action::Replace
        }
    }

    /// Whether a file that is updated is replaced because of its time, and would not be for its size.
    pub(crate) fn differs_in_time_alone(&self, source: &Meta, there: &Meta) -> bool {
        let are_files = (source.kind, there.kind) == (FileKind::Regular, FileKind::Regular);
        // Attributes belong to the file, not to the name (`adjusted`).
        let has_no_others = there.links <= source.links;
        self.may_compare()
            && are_files
            && source.size_bytes == there.size_bytes
            && !self.same_time(source, there)
            && has_no_others
    }

    /// Whether contents may be compared where times say nothing.
    pub(crate) fn may_compare(&self) -> bool {
        self.leaves_unread() && self.times && !self.size_only
    }

    /// The same of a file in another folder that may be linked to: `Leave` if it is the very same.
    pub(crate) fn unchanged(&self, source: &Meta, there: &Meta) -> Action {
        let is_file = (source.kind, there.kind) == (FileKind::Regular, FileKind::Regular);
        if is_file && source.size_bytes == there.size_bytes && self.same_time(source, there) {
            self.kept(source, there)
        } else {
            Action::Replace
        }
    }

    /// A file that is right in size and time may differ in what a change of owner or mode alone leaves behind.
    pub(crate) fn kept(&self, source: &Meta, there: &Meta) -> Action {
        let source = &self.given.of(source);
        let other_owner = (source.uid, source.gid) != (there.uid, there.gid);
        // A copy that belongs to somebody else does not run as its owner.
        let becomes_owners = self.owner && self.gives_away;
        let counted = if other_owner && !becomes_owners { !SET_ID_BITS } else { !0 };
        let mode = self.mode && (source.mode ^ there.mode) & counted != 0;
        let owner = becomes_owners && other_owner;
        let group = self.owner && !self.gives_away && self.gives_group(source, there);
        if mode || owner || group { adjusted(source, there) } else { Action::Leave("equal in size and time") }
    }

    fn gives_group(&self, source: &Meta, there: &Meta) -> bool {
        source.gid != there.gid && there.uid == self.user && self.groups.contains(&source.gid)
    }
}

/// Attributes belong to the file, not to the name: what stands there with more names than the source has is copied
/// anew, lest names that nobody asked about (an older backup, with `--link-dest`) change with it.
pub(crate) fn adjusted(source: &Meta, there: &Meta) -> Action {
    if there.links > source.links { Action::Replace } else { Action::Adjust }
}

/// How far apart two times may lie that are taken for one.
pub(crate) fn window_ns(options: &Options) -> i128 {
    i128::try_from(options.comparison.modify_window.as_nanos()).unwrap_or(i128::MAX)
}

/// Equal times, as far as the target's file system can keep them. One that rounds shows it in the time of attributes, too.
pub(crate) fn same_time(source: &Meta, there: &Meta, window_ns: i128) -> bool {
    (source.mtime_ns - there.mtime_ns).abs() <= window_ns || grain_ns(source, there).is_some()
}

/// How coarsely the target's file system tells the time of the source, where that is all by which two times differ.
pub(crate) fn grain_ns(source: &Meta, there: &Meta) -> Option<i128> {
    const SECOND: i128 = 1_000_000_000;
    // FAT; ext4 with inodes of 128 bytes; exFAT; servers and daemons; UDF; NTFS and SMB.
    const GRAINS_NS: [i128; 6] = [2 * SECOND, SECOND, 10_000_000, 1_000_000, 1_000, 100];
    let behind = source.mtime_ns - there.mtime_ns;
    let is_told_in = |grain| there.mtime_ns % grain == 0 && there.ctime_ns % grain == 0;
    let grain = GRAINS_NS.into_iter().find(|grain| is_told_in(*grain))?;
    (1..grain).contains(&behind).then_some(grain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(kind: FileKind, size_bytes: u64, mtime_ns: i128, mode: u32) -> Meta {
        Meta { kind, size_bytes, mtime_ns, ctime_ns: 7, mode, ..Meta::nothing() }
    }

    #[test]
    fn what_becomes_of_a_name() {
        use FileKind::{Folder, Regular, Symlink};
        let plain = Rules::new(&Options::default(), true);
        let update = Rules { update: Update::Older, ..plain };
        let source = meta(Regular, 10, 500, 0o644);
        for (rules, source, there, expected) in [
            (plain, source, None, Action::Create),
            (plain, source, Some(source), Action::Replace),
            (plain, meta(Folder, 0, 1, 0), Some(meta(Folder, 0, 9, 0)), Action::Enter),
            (plain, source, Some(meta(Symlink, 1, 1, 0)), Action::Replace),
            (update, meta(Folder, 0, 1, 0), Some(meta(Regular, 0, 9, 0)), Action::Replace),
            (update, source, Some(meta(Folder, 0, 900, 0)), Action::MakeWay),
            (
                Rules { ignore_existing: true, ..plain },
                source,
                Some(meta(Folder, 0, 1, 0)),
                Action::Keep("exists at the target"),
            ),
            (update, source, Some(source), Action::Leave("equal in size and time")),
            (update, source, Some(meta(Regular, 10, 500, 0o600)), Action::Adjust),
            (update, source, Some(meta(Regular, 11, 500, 0o644)), Action::Replace),
            (update, source, Some(meta(Regular, 10, 499, 0o644)), Action::Replace),
            (update, source, Some(meta(Regular, 99, 501, 0o644)), Action::Keep("the target is newer")),
            (Rules { checksum: true, ..plain }, source, Some(source), Action::Compare),
            (Rules { checksum: true, ..plain }, source, Some(meta(Regular, 9, 500, 0)), Action::Replace),
            (
                Rules { ignore_existing: true, ..plain },
                source,
                Some(meta(Regular, 9, 1, 0)),
                Action::Keep("exists at the target"),
            ),
        ] {
            assert_eq!(rules.decide(&source, there.as_ref()), expected, "{rules:?} {there:?}");
        }
    }

    #[test]
    fn what_becomes_of_a_name_that_is_updated() {
        use FileKind::Regular;
        let update = Rules { update: Update::Older, ..Rules::new(&Options::default(), true) };
        let differs = Rules { update: Update::Differs, ..update };
        let by_size = Rules { size_only: true, ..differs };
        let parted = update.where_parts_remain(true);
        let in_window = |rules| Rules { window_ns: 2, ..rules };
        let source = meta(Regular, 10, 500, 0o644);
        for (rules, source, there, expected) in [
            (differs, source, Some(source), Action::Leave("equal in size and time")),
            (differs, source, Some(meta(Regular, 10, 501, 0o644)), Action::Replace),
            (differs, source, Some(meta(Regular, 99, 501, 0o644)), Action::Replace),
            (by_size, source, Some(meta(Regular, 10, 900, 0o644)), Action::Adjust),
            (by_size, source, Some(meta(Regular, 11, 500, 0o644)), Action::Replace),
            (
                Rules { times: false, ..by_size },
                source,
                Some(meta(Regular, 10, 900, 0o644)),
                Action::Leave("equal in size and time"),
            ),
            (
                Rules { update: Update::Older, ..by_size },
                source,
                Some(meta(Regular, 10, 400, 0)),
                Action::Adjust,
            ),
            (
                in_window(update),
                source,
                Some(meta(Regular, 10, 502, 0o644)),
                Action::Leave("equal in size and time"),
            ),
            (in_window(update), source, Some(meta(Regular, 11, 502, 0)), Action::Replace),
            (in_window(update), source, Some(meta(Regular, 11, 503, 0)), Action::Keep("the target is newer")),
            (parted, source, Some(meta(Regular, 9, 501, 0o644)), Action::Replace),
            (parted, source, Some(meta(Regular, 10, 501, 0o644)), Action::Keep("the target is newer")),
            (parted, source, Some(meta(Regular, 11, 501, 0o644)), Action::Keep("the target is newer")),
            (in_window(differs), source, Some(meta(Regular, 10, 498, 0o600)), Action::Adjust),
            (in_window(differs), source, Some(meta(Regular, 10, 497, 0o644)), Action::Replace),
        ] {
            assert_eq!(rules.decide(&source, there.as_ref()), expected, "{rules:?} {there:?}");
        }
    }

    #[test]
    fn a_file_is_replaced_for_its_time_alone_where_nothing_else_tells() {
        let differs = Rules { update: Update::Differs, ..Rules::new(&Options::default(), true) };
        let source = meta(FileKind::Regular, 10, 500, 0o644);
        let there = |size_bytes, mtime_ns| meta(FileKind::Regular, size_bytes, mtime_ns, 0o600);
        for (rules, there, expected) in [
            (differs, there(10, 400), true),
            (Rules { update: Update::Older, ..differs }, there(10, 400), true),
            (differs, there(10, 500), false),
            (differs, there(11, 400), false),
            (differs, Meta { links: 2, ..there(10, 400) }, false),
            (differs, Meta { kind: FileKind::Fifo, ..there(10, 400) }, false),
            (Rules { size_only: true, ..differs }, there(10, 400), false),
            (Rules { checksum: true, ..differs }, there(10, 400), false),
            (Rules { times: false, ..differs }, there(10, 400), false),
            (Rules { update: Update::All, ..differs }, there(10, 400), false),
        ] {
            assert_eq!(rules.differs_in_time_alone(&source, &there), expected, "{rules:?} {there:?}");
        }
    }

    #[test]
    fn coarse_times_are_the_same_within_their_grain() {
        const SECOND: i128 = 1_000_000_000;
        let at = |mtime_ns, ctime_ns| Meta { mtime_ns, ctime_ns, ..Meta::nothing() };
        for (source, there, same) in [
            (at(5 * SECOND + 3, 1), at(5 * SECOND + 3, 1), true),
            (at(5 * SECOND + 3, 1), at(5 * SECOND, 1), false),
            (at(5 * SECOND + 3, 1), at(5 * SECOND, 9 * SECOND), true),
            (at(5 * SECOND + 3, 1), at(4 * SECOND, 9 * SECOND), false),
            (at(5 * SECOND + 3, 1), at(4 * SECOND, 8 * SECOND), true),
            (at(6 * SECOND + 3, 1), at(4 * SECOND, 8 * SECOND), false),
            (at(-SECOND + 5, 1), at(-SECOND, 8 * SECOND), true),
            // exFAT, NTFS
            (at(5 * SECOND + 19_999_999, 1), at(5 * SECOND + 10_000_000, 30_000_000), true),
            (at(5 * SECOND + 20_000_000, 1), at(5 * SECOND + 10_000_000, 30_000_000), false),
            (at(57_532_104, 1), at(57_532_100, 999_700), true),
            (at(57_532_104, 1), at(57_532_100, 999_701), false),
            (at(57_532_204, 1), at(57_532_100, 999_700), false),
        ] {
            assert_eq!(same_time(&source, &there, 0), same, "{} {}", source.mtime_ns, there.mtime_ns);
        }
    }
}
