//! The ordered table of rules: the first that decides wins. docs/names.md is made from it.
//!
//! Above each rule stands its outcome, and how rsync 3.5.0 and cp 9.1 do it; *(T)*: tried.
//!
//! Must not know: how facts are found, how actions are performed.

use super::action::{Awaited, LeaveReason, NameAction, RefuseReason, SkipReason};
use super::facts::{Content, FolderInPlace, KnownFacts, LinkPlace, NameFact, Ours, PartialFile, Recorded};
use super::options::{NameOptions, NamePurpose, Update};

use crate::FileKind;

/// What a rule says of a name; an error is the fact that it needs.
pub type RuleAnswer = Result<RuleTurn, NameFact>;

/// Where a name goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleTurn {
    /// To the next rule.
    Next,
    /// To the rule of this number, which comes later.
    To(u8),
    /// It is decided.
    Do(NameAction),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct TableRule {
    /// Its number, by which tests and documents name it: it stays. A new rule takes the next one, wherever its place is.
    pub number: u8,
    /// The question that it asks.
    pub question: &'static str,
    /// The flags that switch it.
    pub flags: &'static str,
    pub(super) decide: fn(&NameOptions, &KnownFacts) -> RuleAnswer,
}

/// A rule of the table: its number, the question and flags for the documents, and the function that answers.
const fn rule(
    number: u8,
    question: &'static str,
    flags: &'static str,
    decide: fn(&NameOptions, &KnownFacts) -> RuleAnswer,
) -> TableRule {
    TableRule { number, question, flags, decide }
}

const ATTRIBUTES: u8 = 26;
const WRITE: u8 = 28;
/// Rules about names of the target begin here.
const DELETION: u8 = 37;

/// The rules in their order.
#[rustfmt::skip]
pub(super) const TABLE: &[TableRule] = &[
    rule(1, "Can the source be looked at?", "`-L`, `--copy-unsafe-links`", can_be_looked_at),
    rule(2, "Has the list names below it, and it is no folder?", "`--files-from`", list_needs_folder),
    rule(3, "Does a pattern exclude it?", "`--exclude`, `--include`, `--filter`", is_excluded),
    rule(4, "Is it a partial file, a journal or a list of this program?", "", is_of_this_program),
    rule(5, "Is a file outside the bounds of size?", "`--max-size`, `--min-size`", is_outside_bounds),
    rule(6, "Does nothing exist, and only existing names are asked for?", "`--existing`", exists_not),
    rule(7, "Does its server withhold it?", "", is_withheld),
    rule(8, "Is it a socket?", "", is_socket),
    rule(9, "Is it a symbolic link that leads out of the tree?", "`--safe-links`", leads_out),
    rule(10, "Has it the name of the list, in the root?", "", has_name_of_list),
    rule(11, "Verify: are both the same?", "`verify`", is_verified),
    rule(12, "Has the name the form of a temporary name?", "", has_temporary_form),
    rule(13, "Does another process write under that name at the target?", "", is_in_use),
    rule(14, "Does a followed link lead to below a target of this command?", "`-L`, `--copy-unsafe-links`", leads_to_target),
    rule(15, "Is the source a folder, and is it open?", "`-x`", opens_folder),
    rule(16, "Are both folders?", "", are_folders),
    rule(17, "Was it copied by an earlier run of this command that was cut?", "`--no-resume`", was_committed),
    rule(18, "Is every existing entry to be left?", "`--ignore-existing`", leaves_existing),
    rule(19, "Is the source a folder?", "", makes_folder),
    rule(20, "Does nothing exist, or an entry of another kind, or is no skip flag given?",
        "`--update`, `--checksum`, `--ignore-existing`", skips_nothing),
    rule(21, "Is the existing file newer by more than the window?", "`--update=older`, `--modify-window`", is_newer),
    rule(22, "Is it of this command, and perhaps not on the disk?", "", is_unverified),
    rule(23, "Of links, pipes and devices: do they lead to the same, are they the same?", "", is_same_special),
    rule(24, "Do the sizes differ, and if not, the contents, where they are read?", "`--checksum`", differs_in_content),
    rule(25, "Do the times differ?", "`--modify-window`, `--size-only`", differs_in_time),
    rule(ATTRIBUTES, "Are time, mode, owner and hidden attributes equal?",
        "`--no-preserve`, `--chmod`, `--chown`", has_equal_attributes),
    rule(27, "Has the existing inode more names than the source?", "", has_more_names),
    rule(WRITE, "Is the disk full?", "", is_full),
    rule(29, "Is the content of a file of `--link-dest` to be read?", "`--link-dest` with `--checksum`", reads_older),
    rule(30, "Is the source open?", "", is_prepared),
    rule(31, "Is the existing entry the source's own inode?", "", is_own_inode),
    rule(32, "May the existing entry be destroyed?", "", may_destroy),
    rule(33, "Is a folder in its place?", "`--delete`", replaces_folder),
    rule(34, "Has its inode several names, and which is this?", "`--no-preserve=links`", meets_links),
    rule(35, "Is an equal file in a folder of `--link-dest`?", "`--link-dest`", links_older),
    rule(36, "Is it a regular file?", "", copies),
    rule(DELETION, "Deletion: is the name protected, or kept by this program?",
        "`--filter P`, `--exclude`, `--delete-excluded`, `--backup`", is_protected),
    rule(38, "Deletion: has the source the name?", "`-x`", has_source),
    rule(39, "Deletion: has the source the name in another spelling?", "", is_written_otherwise),
    rule(40, "Deletion: is the source's folder as it was walked?", "", is_restless),
    rule(41, "Deletion: does this command read or keep it?", "", is_needed),
    rule(42, "Deletion: is it a folder?", "", is_extra_folder),
    rule(43, "Deletion: is it a partial file, or a list?", "", is_partial_file),
    rule(44, "Deletion: is a backup made of it?", "`--backup`, `--max-delete`", is_extra),
];

impl NamePurpose {
    /// The place in the table of the rule that is asked first.
    pub(super) fn first_rule(self) -> usize {
        if self != NamePurpose::Delete {
            return 0;
        }
        TABLE.iter().position(|rule| rule.number == DELETION).unwrap_or(TABLE.len() - 1)
    }
}

/// The rules in their order.
pub fn rules() -> &'static [TableRule] {
    TABLE
}

const NEXT: RuleAnswer = Ok(RuleTurn::Next);

fn perform(action: NameAction) -> RuleAnswer {
    Ok(RuleTurn::Do(action))
}

fn leave(reason: LeaveReason) -> RuleAnswer {
    perform(NameAction::Leave(reason))
}

fn skip_if(is_so: bool, reason: SkipReason) -> RuleAnswer {
    Ok(if is_so { RuleTurn::Do(NameAction::Skip(reason)) } else { RuleTurn::Next })
}

/// No: **refuse** missing if a list named it, else changed (24). A link that is followed counts as what it leads to.
/// rsync and cp: the same; a list: 23.
fn can_be_looked_at(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    facts.kind().and(NEXT)
}

/// **Refuse** missing. rsync: the same.
fn list_needs_folder(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.kind()? == FileKind::Folder || !facts.is_listed_below.ok_or(NameFact::ListedBelow)? {
        return NEXT;
    }
    perform(NameAction::Refuse(RefuseReason::NoFolder))
}

/// **Skip**, silent; a folder hides all below it. The first match decides. A folder on the way to a name of a list is
/// never excluded. rsync: the same.
fn is_excluded(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    skip_if(!facts.is_selected.ok_or(NameFact::Selected)?, SkipReason::Excluded)
}

/// **Skip** with a warning, counted. Verify: a list in the root is a difference; a partial file of the copy is one, too.
/// rsync and cp copy it.
fn is_of_this_program(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let may_be = facts.form.may_be_pumps && facts.kind()? == FileKind::Regular;
    let is_shown = flags.purpose == NamePurpose::VerifyBackwards && !facts.form.is_list;
    if !may_be || is_shown || !facts.is_pumps.ok_or(NameFact::IsPumps)? {
        return NEXT;
    }
    if flags.compares() && facts.form.is_list {
        return perform(NameAction::Refuse(RefuseReason::Unfinished));
    }
    skip_if(true, SkipReason::Partial)
}

/// **Skip**; the target's entry stays. rsync: the same (T).
fn is_outside_bounds(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if flags.compares() || !flags.bounds.is_some() {
        return NEXT;
    }
    if facts.kind()? != FileKind::Regular {
        return NEXT;
    }
    let why = flags.bounds.why_outside(facts.source()?);
    why.map_or(NEXT, |why| perform(NameAction::Skip(SkipReason::OutOfBounds(why))))
}

/// **Skip**; a folder with all below it, where names of a list are looked at first (1). A name whose place held a folder
/// that was removed for it is an existing one. rsync: the same (T). So are names of a list in a folder that is left (18).
fn exists_not(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.lies_in_skipped {
        return perform(NameAction::Skip(SkipReason::NotExisting));
    }
    if flags.compares() || !flags.existing || facts.was_cleared {
        return NEXT;
    }
    skip_if(facts.existing()?.is_none(), SkipReason::NotExisting)
}

/// **Skip** with a warning; the target's entry stays.
fn is_withheld(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    skip_if(facts.form.is_withheld, SkipReason::Withheld)
}

/// **Skip** with a warning; the target's entry stays. rsync makes one with `-D`, cp with `-a`.
fn is_socket(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    skip_if(facts.kind()? == FileKind::Socket, SkipReason::Socket)
}

/// **Skip**; the target's entry stays. rsync: the same (T).
fn leads_out(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if !flags.safe_links || facts.kind()? != FileKind::Symlink {
        return NEXT;
    }
    skip_if(facts.leads_out.ok_or(NameFact::LeadsOut)?, SkipReason::LeadsOut)
}

/// **Refuse**: a copy keeps its own list there. rsync and cp copy it.
fn has_name_of_list(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if flags.compares() || !facts.form.is_list {
        return NEXT;
    }
    perform(NameAction::Refuse(RefuseReason::NameOfList))
}

/// Kind, mode, time, sets of names of one inode, what links lead to, device numbers, content: each difference is
/// reported. rsync: `-n -i -c --delete`.
fn is_verified(flags: &NameOptions, _: &KnownFacts) -> RuleAnswer {
    if flags.compares() { perform(NameAction::Verify) } else { NEXT }
}

/// **Wait** for the rest of its folder, then next, one at a time: no file is written under a temporary name that the
/// source has, too. rsync and cp: copied at once.
fn has_temporary_form(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if !facts.form.may_be_temporary || facts.is_its_turn {
        return NEXT;
    }
    perform(NameAction::Wait(Awaited::RestOfFolder))
}

/// **Refuse**. rsync and cp overwrite it.
fn is_in_use(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.form.may_be_temporary { facts.is_free.ok_or(NameFact::IsFree).and(NEXT) } else { NEXT }
}

/// Below a target it **waits** for the end of all trees. What this run has then made or replaced is **refused**: its
/// content would depend on the order. rsync copies what it finds (T); cp refuses if both are one file (T).
fn leads_to_target(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.leads_to_target.ok_or(NameFact::LeadsToTarget)? && !facts.have_trees_ended {
        return perform(NameAction::Wait(Awaited::EndOfTrees));
    }
    facts.is_unwritten.ok_or(NameFact::IsUnwritten).and(NEXT)
}

/// It is opened. On another file system (`-x`) the folder is made and nothing in it is listed. A folder that contains
/// itself, or the target: **refuse** loop. rsync: the same, but copies into itself, some levels deep (T); cp refuses (T).
fn opens_folder(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.kind()? == FileKind::Folder && !facts.is_prepared { perform(NameAction::Prepare) } else { NEXT }
}

/// **Enter**. rsync and cp: the same.
fn are_folders(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let is_folder = facts.existing()?.is_some_and(|existing| existing.kind == FileKind::Folder);
    if is_folder && facts.kind()? == FileKind::Folder { perform(NameAction::Enter) } else { NEXT }
}

/// **Leave**, counted as copied before.
fn was_committed(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    match facts.content {
        Content::Unread if facts.are_files()? && ours(facts)? == Ours::Earlier => leave(LeaveReason::Ours),
        _ => NEXT,
    }
}

fn ours(facts: &KnownFacts) -> Result<Ours, NameFact> {
    facts.ours.ok_or(NameFact::Ours)
}

/// **Leave**, unless it is of this command and unverified (22). A folder over a file is left with all below it. rsync and
/// cp (`--update=none`): the same; names below a file that is kept fail with rsync (T).
fn leaves_existing(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if !flags.ignore_existing || facts.existing()?.is_none() {
        return NEXT;
    }
    let is_unverified = facts.kind()? == FileKind::Regular && ours(facts)? == Ours::Unverified;
    if is_unverified { NEXT } else { leave(LeaveReason::Exists) }
}

/// **Make folder**; an entry of another kind is **set aside** or **removed** before. rsync: the same (T); cp refuses (T).
fn makes_folder(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.kind()? != FileKind::Folder {
        return NEXT;
    }
    if !has_room(facts)? {
        return perform(NameAction::CountMissing);
    }
    perform(NameAction::MakeFolder { replaces: facts.existing()?.is_some() })
}

fn has_room(facts: &KnownFacts) -> Result<bool, NameFact> {
    facts.has_room.ok_or(NameFact::Room)
}

/// It is written (28), whatever its time. rsync compares size and time first; cp: the same as here.
fn skips_nothing(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let Some(existing) = facts.existing()? else { return Ok(RuleTurn::To(WRITE)) };
    if existing.kind != facts.kind()? || !flags.leaves_some() { Ok(RuleTurn::To(WRITE)) } else { NEXT }
}

/// **Leave**, unless it is of this command and unverified. A part under a final name is not newer. rsync: the same (T);
/// of links and devices cp asks it, too.
fn is_newer(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let Some(both) = facts.two_files()?.filter(|_| flags.update == Update::Older) else { return NEXT };
    let may_be_part = flags.parts_remain && both.existing.size_bytes < both.source.size_bytes;
    let is_newer = both.existing.mtime_ns - both.source.mtime_ns > flags.window_ns;
    if is_newer && !may_be_part && facts.content == Content::Unread && ours(facts)? != Ours::Unverified {
        return leave(LeaveReason::Newer);
    }
    NEXT
}

/// It is written (28): its size, time and even its content in the cache say nothing.
fn is_unverified(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if !facts.are_files()? || ours(facts)? == Ours::No { NEXT } else { Ok(RuleTurn::To(WRITE)) }
}

/// Different: it is made anew (28). The same: its attributes are compared (26). rsync: the same.
fn is_same_special(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.kind()? == FileKind::Regular {
        return NEXT;
    }
    Ok(RuleTurn::To(if facts.same_value.ok_or(NameFact::SameValue)? { ATTRIBUTES } else { WRITE }))
}

/// It is written (28). Content that was read decides alone. rsync: the same; `--checksum` before `--size-only`.
fn differs_in_content(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let Some(both) = facts.two_files()? else { return NEXT };
    if both.source.size_bytes != both.existing.size_bytes {
        return Ok(RuleTurn::To(WRITE));
    }
    if flags.checksum || facts.content != Content::Unread { by_content(facts) } else { NEXT }
}

fn by_content(facts: &KnownFacts) -> RuleAnswer {
    match facts.content {
        Content::Unread => perform(NameAction::CompareExisting),
        Content::Equal => Ok(RuleTurn::To(ATTRIBUTES)),
        Content::Other => Ok(RuleTurn::To(WRITE)),
    }
}

/// It is written (28); with `--size-only` it gets the time. Times are equal within the window, or within the grain of the
/// target's file system (1 s, 2 s). Where a time tells nothing (it could not be kept, or a change may hide behind its
/// grain) the content is read. rsync: by the window alone.
fn differs_in_time(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let Some(both) = facts.two_files()? else { return NEXT };
    if flags.is_same_time(both.source, both.existing) {
        let is_coarse = flags.may_compare() && flags.equal_by_grain_ns(both.source, both.existing).is_some();
        let may_hide = is_coarse && facts.may_hide.ok_or(NameFact::MayHide)?;
        return if may_hide { by_content(facts) } else { NEXT };
    }
    if flags.size_only {
        return NEXT;
    }
    // Attributes belong to the inode, not to the name: one with other names is not put right by them.
    let may_compare = flags.may_compare() && both.existing.links <= both.source.links;
    let tells = !may_compare || facts.time_tells.ok_or(NameFact::TimeTells)?;
    if tells { Ok(RuleTurn::To(WRITE)) } else { by_content(facts) }
}

/// **Leave**. rsync: the same.
fn has_equal_attributes(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let (Some(existing), source) = (facts.existing()?, facts.source()?) else { return NEXT };
    let is_link = source.kind == FileKind::Symlink;
    let existing = &crate::Meta { mode: if is_link { source.mode } else { existing.mode }, ..*existing };
    let are_equal = flags.is_time_right(source, existing) && flags.is_owner_right(source, existing);
    if !are_equal || !facts.hidden_equal.ok_or(NameFact::HiddenEqual)? {
        return NEXT;
    }
    leave(match (source.kind, facts.content) {
        (FileKind::Regular, Content::Unread) => LeaveReason::EqualInTime,
        (FileKind::Regular, _) => LeaveReason::EqualInContent,
        _ => LeaveReason::Same,
    })
}

/// It is written (28), so that names outside of the copy keep their attributes. No: **set attributes**. rsync changes all
/// names.
fn has_more_names(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let has_more = facts.existing()?.map_or(0, |existing| existing.links) > facts.source()?.links;
    if has_more { NEXT } else { perform(NameAction::SetAttributes) }
}

/// Counted as missing; no further attempt. rsync and cp fail name by name.
fn is_full(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if has_room(facts)? { NEXT } else { perform(NameAction::CountMissing) }
}

/// It is compared; equal, the name is **linked** (35). rsync: the same.
fn reads_older(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let is_due = flags.link_dest && flags.checksum && facts.kind()? == FileKind::Regular;
    if !is_due || facts.is_prepared || facts.older_content != Content::Unread {
        return NEXT;
    }
    if facts.older_to_read.ok_or(NameFact::OlderToRead)? { perform(NameAction::CompareOlder) } else { NEXT }
}

/// It is opened. Of a link, pipe or device it is tried whether it can be made, where a folder is in its place: nothing is
/// removed for what cannot be made.
fn is_prepared(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let replaces_folder = facts.existing()?.is_some_and(|existing| existing.kind == FileKind::Folder);
    let is_due = facts.kind()? == FileKind::Regular || replaces_folder;
    if is_due && !facts.is_prepared { perform(NameAction::Prepare) } else { NEXT }
}

/// **Leave**: a copy would only cut the link between them. rsync: the same (T); cp refuses (T).
fn is_own_inode(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let Some(existing) = facts.existing()?.filter(|existing| existing.kind != FileKind::Folder) else {
        return NEXT;
    };
    let source = facts.source()?;
    let has_its_numbers = (source.device, source.inode) == (existing.device, existing.inode);
    let is_same = has_its_numbers && facts.is_same_file.ok_or(NameFact::IsSameFile)?;
    if is_same { leave(LeaveReason::OwnInode) } else { NEXT }
}

/// No: **refuse**; this command reads or keeps it. rsync destroys it; cp refuses some.
fn may_destroy(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    match facts.existing()? {
        Some(_) => facts.may_destroy.ok_or(NameFact::MayDestroy).and(NEXT),
        None => NEXT,
    }
}

/// Empty: **remove** it. With `--delete` the name **waits** for the end of deletion; a file is copied before, but for its
/// name. One with several names **waits** for the end of all trees before that: another of its names is the first. Else, and
/// where the folder stays: **refuse**. rsync: the same without `--delete`, and removes it at once with it, protected names
/// too (T); cp refuses (T).
fn replaces_folder(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.existing()?.is_none_or(|existing| existing.kind != FileKind::Folder) {
        return NEXT;
    }
    let may_be_first = flags.delete && facts.kind()? == FileKind::Regular;
    if may_be_first && facts.is_copied_first.ok_or(NameFact::CopiedFirst)? {
        let waits = facts.source()?.links > 1 && !facts.have_trees_ended;
        return if waits { perform(NameAction::Wait(Awaited::EndOfTrees)) } else { NEXT };
    }
    perform(match facts.folder_in_place.ok_or(NameFact::FolderInPlace)? {
        FolderInPlace::Empty => NameAction::RemoveFolder,
        FolderInPlace::Full if flags.delete => NameAction::Wait(Awaited::Deletion),
        FolderInPlace::Full | FolderInPlace::Stays => NameAction::Refuse(RefuseReason::FolderInPlace),
    })
}

/// First: next. First is on its way: **wait**. First is complete: the same inode is **left**; newer, with
/// `--update=older`: it stays by itself; else **set aside** and **link**. Where the file system refuses the link the name
/// is a first again, with one warning. rsync: `-H`, and asks of the first name alone whether it is newer (T); cp: `-a`.
fn meets_links(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.links.is_none_or(|links| links == LinkPlace::Unmet) {
        perform(NameAction::MeetLinks)
    } else {
        NEXT
    }
}

/// **Link**; the first folder that has an equal file counts. Unverified files are not linked. rsync: the same; also
/// links and pipes.
fn links_older(flags: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let may_be = flags.link_dest && !facts.has_no_older && facts.kind()? == FileKind::Regular;
    let is_known = !flags.checksum || facts.older_content == Content::Equal;
    if may_be && is_known { perform(NameAction::LinkOlder) } else { NEXT }
}

/// **Copy**, or **replace** by a copy; else **make special**. The replaced entry gets its backup's name before, if one is
/// asked for.
fn copies(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let existing = facts.existing()?;
    let awaits_deletion = existing.is_some_and(|existing| existing.kind == FileKind::Folder);
    let replaces = existing.is_some() && !awaits_deletion;
    perform(match facts.kind()? {
        FileKind::Regular => NameAction::Copy { replaces, awaits_deletion },
        _ => NameAction::MakeSpecial { replaces },
    })
}

/// **Keep** it, and the folders that it lies in: the list of a copy, backups and their folder, what a rule protects. rsync:
/// the same; `P` of a folder protects its name alone.
fn is_protected(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.is_protected.ok_or(NameFact::IsProtected)? { perform(NameAction::Keep) } else { NEXT }
}

/// Both have a folder: **enter** it, unless it is another by now, or a mount that is not looked into. Else **leave**, but
/// for a folder whose name waits for it to go (33). A folder of the source that was not listed to its end: **leave** all in
/// it. What is excluded has no source. rsync: the same.
fn has_source(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    let is_folder = facts.kind()? == FileKind::Folder;
    let is_selected = facts.is_selected.ok_or(NameFact::Selected)?;
    let recorded = if is_selected { facts.recorded.ok_or(NameFact::Recorded)? } else { Recorded::No };
    let is_in_the_way = || Ok(is_folder && facts.is_in_the_way.ok_or(NameFact::IsInTheWay)?);
    match recorded {
        Recorded::Folder if is_folder => enter_common(facts),
        Recorded::Unlisted => leave(LeaveReason::HasSource),
        Recorded::Folder | Recorded::Other if !is_in_the_way()? => leave(LeaveReason::HasSource),
        // The source has the folder no more that leads to one in the way.
        _ if facts.leads_to_folder_in_the_way && !is_in_the_way()? => perform(NameAction::KeepForNow),
        _ => NEXT,
    }
}

fn enter_common(facts: &KnownFacts) -> RuleAnswer {
    let is_elsewhere = facts.is_elsewhere.ok_or(NameFact::IsElsewhere)?;
    if is_elsewhere { leave(LeaveReason::HasSource) } else { perform(NameAction::Enter) }
}

/// Two folders: **enter**. Else **keep**. rsync removes it.
fn is_written_otherwise(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.is_selected != Some(true) || facts.recorded != Some(Recorded::No) {
        return NEXT;
    }
    match facts.other_spelling.ok_or(NameFact::OtherSpelling)? {
        Recorded::No => NEXT,
        Recorded::Folder if facts.kind()? == FileKind::Folder => enter_common(facts),
        _ => perform(NameAction::Keep),
    }
}

/// No, each time it was looked at: its own names stay, and names elsewhere that may have moved into it. **Keep**, status 24.
/// rsync does not look.
fn is_restless(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.is_restless.ok_or(NameFact::IsRestless)? { perform(NameAction::KeepForNow) } else { NEXT }
}

/// **Keep**; of a source **refuse**, and nothing is removed. A log, a report, another source's copy stay without a word.
/// rsync removes its own source (T).
fn is_needed(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.may_destroy.ok_or(NameFact::MayDestroy)? { NEXT } else { perform(NameAction::Keep) }
}

/// All in it has no source; it goes when it is empty. A mount: **keep** with a warning. What shows the source: **refuse**.
/// rsync fails at a mount.
fn is_extra_folder(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    if facts.kind()? != FileKind::Folder {
        return NEXT;
    }
    let is_elsewhere = facts.is_elsewhere.ok_or(NameFact::IsElsewhere)?;
    perform(if is_elsewhere { NameAction::Keep } else { NameAction::EnterExtra })
}

/// In use, or of a copy that can be resumed: **keep** with a warning. Abandoned: **remove** it with its journal, without a
/// backup; the list of a copy that was cut too. rsync removes it.
fn is_partial_file(_: &NameOptions, facts: &KnownFacts) -> RuleAnswer {
    match facts.partial_file.ok_or(NameFact::PartialFile)? {
        PartialFile::No => NEXT,
        PartialFile::InUse => perform(NameAction::Keep),
        PartialFile::Gone => leave(LeaveReason::HasSource),
        PartialFile::Abandoned => perform(NameAction::RemovePartial),
    }
}

/// **Set aside**, or **remove**. A folder that keeps the backup stays. Where more than `--max-delete` would go none is
/// removed (status 1); rsync removes so many (25) (T).
fn is_extra(_: &NameOptions, _: &KnownFacts) -> RuleAnswer {
    perform(NameAction::Remove)
}
