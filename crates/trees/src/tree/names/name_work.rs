//! One name in a lane's hands: finds the facts that the name machine asks for, and performs its actions.
//!
//! Must not know: which fact decides what (`datapump_core::name`), how blocks are moved.

use std::fs::File;
use std::sync::atomic::Ordering;

use datapump_core::name::{
    Awaited, Content, Form, KnownFacts, LeaveReason, LinkPlace, NameAction, NameFact, NameMachine, NameStep,
    Ours, RefuseReason, SkipReason,
};
use datapump_core::verdict::Waits;

use crate::folder::directory::{Looked, NotCopied};
use crate::folder::root::InTheWay;
use crate::listed::Name;
use crate::origin::Origin;
use crate::problem::Problem;
use crate::report::change::ChangeKind;
use crate::run::owner::Ready;
use crate::tree::Shared;
use crate::tree::backup::removal;
use crate::tree::batch::cursor::BatchCursor;
use crate::tree::batch::folder_done;
use crate::tree::findings;
use crate::tree::findings::kept_times;
use crate::tree::links::link_dest;
use crate::tree::links::linking::{self, Met};
use crate::tree::names::make_way;
use crate::tree::names::special;
use crate::tree::rules::extras;
use crate::tree::rules::left_out;
use crate::tree::rules::update_existing;
use crate::tree::state::in_the_way::Staged;
use crate::tree::state::links::{FileState, TreeEntry};
use crate::tree::state::tree_file::{Against, OpenedFile, TreeFile};
use crate::tree::walk::{self, OpenedSource};
use datapump_files::commit::reserved::{LIST_NAME, may_be_pumps, may_be_temporary};
use datapump_files::commit::{Before, final_name};
use datapump_files::disk::{FileKind, Meta, names};
use datapump_files::identity::id;

/// What an action leads to.
enum Done {
    /// The machine is asked again.
    GoesOn,
    /// The name is decided; a small file is moved by this lane.
    Ended(Option<Ready>),
}

const ENDED: Result<Done, Problem> = Ok(Done::Ended(None));

/// A name, with what was found and opened for it so far.
struct NameWork<'work> {
    shared: &'work Shared<'work>,
    cursor: &'work BatchCursor,
    name: &'work Name,
    machine: NameMachine<'work>,
    /// The source's, as it is.
    meta: Option<Meta>,
    open: Option<OpenedFile>,
    folder: Option<OpenedSource>,
    older: Option<File>,
    /// Its other names wait under this.
    links: Option<FileState>,
    /// What became of the folder in its place, once it had waited for that.
    way_end: Option<InTheWay>,
}

impl BatchCursor {
    /// Deals with names until one is a small file to be moved, or none is left.
    pub(crate) fn next(&mut self, shared: &Shared<'_>, waits: &mut Waits) -> Option<Ready> {
        while !shared.stop.load(Ordering::Relaxed) {
            self.open_early(shared);
            let name = self.names.next()?;
            match deal_with(shared, self, waits, &name) {
                Ok(Some(ready)) => return Some(ready),
                Ok(None) => {}
                Err(problem) => {
                    let size_bytes = || self.meta(&name).ok().map(|meta| meta.size_bytes);
                    shared.ledger.full.lacks(&problem, size_bytes);
                    self.directory.report(&shared.ledger, NotCopied::listed(&name), problem);
                }
            }
        }
        None
    }
}

/// Deals with a name. Gives a small file that is to be moved now.
fn deal_with(
    shared: &Shared<'_>,
    cursor: &BatchCursor,
    waits: &mut Waits,
    name: &Name,
) -> Result<Option<Ready>, Problem> {
    let is_named = cursor.directory.root.is_named();
    let form = Form {
        may_be_temporary: may_be_temporary(&name.name),
        may_be_pumps: may_be_pumps(&name.name),
        is_list: cursor.directory.parent.is_none() && !is_named && name.name == LIST_NAME,
        is_withheld: name.is_withheld,
    };
    let facts = KnownFacts { form, ..KnownFacts::default() };
    if !is_named {
        return run(shared, cursor, waits, name, facts);
    }
    // It was selected when its place was found.
    let yes = Some(true);
    let no = Some(false);
    let facts =
        KnownFacts { is_listed_below: no, is_selected: yes, leads_to_target: no, is_unwritten: yes, ..facts };
    run(shared, cursor, waits, name, facts)
}

fn run(
    shared: &Shared<'_>,
    cursor: &BatchCursor,
    waits: &mut Waits,
    name: &Name,
    facts: KnownFacts,
) -> Result<Option<Ready>, Problem> {
    let mut machine = NameMachine::with_facts(&shared.trees.flags, facts);
    machine.facts.have_trees_ended = shared.trees.guard.followed.have_trees_ended();
    machine.facts.was_cleared = shared.trees.flags.existing && make_way::was_cleared(cursor, name);
    (machine.facts.content, machine.facts.older_content) = match cursor.looked {
        Looked::NotYet => (Content::Unread, Content::Unread),
        Looked::Replaces => (Content::Other, Content::Unread),
        Looked::EqualsOlder => (Content::Other, Content::Equal),
        Looked::DiffersFromOlder => (Content::Other, Content::Other),
    };
    let is_named_entry = cursor.directory.root.is_named() && name.kind != Some(FileKind::Regular);
    if let Some(target) = cursor.target.as_ref().filter(|_| is_named_entry) {
        shared.trees.memory.note_right(target, &name.name);
    }
    let mut work = NameWork {
        shared,
        cursor,
        name,
        machine,
        meta: None,
        open: None,
        folder: None,
        older: None,
        links: None,
        way_end: None,
    };
    let ended = work.run(waits);
    ended.inspect_err(|_| linking::failed(shared, work.links))
}

impl NameWork<'_> {
    fn run(&mut self, waits: &mut Waits) -> Result<Option<Ready>, Problem> {
        loop {
            match self.machine.poll() {
                NameStep::Find(fact) => self.find(fact)?,
                NameStep::Perform(action) => match self.perform(waits, action)? {
                    Done::GoesOn => {}
                    Done::Ended(ready) => return Ok(ready),
                },
            }
        }
    }

    fn find(&mut self, fact: NameFact) -> Result<(), Problem> {
        let (shared, cursor, name) = (self.shared, self.cursor, self.name);
        let kind = self.machine.facts.kind;
        match fact {
            NameFact::Kind => self.machine.facts.kind = Some(self.kind()?),
            NameFact::Source => self.set_source(cursor.meta(name)?),
            NameFact::Existing => self.machine.facts.existing = Some(cursor.there(&name.name)?),
            NameFact::Ours => self.machine.facts.ours = Some(self.ours()?),
            NameFact::Room => self.machine.facts.has_room = Some(self.has_room()?),
            NameFact::FolderInPlace => {
                self.way_end = make_way::end_of_wait(cursor, name);
                let found = make_way::folder_in_place(shared, cursor, name, self.way_end)?;
                self.machine.facts.folder_in_place = Some(found);
            }
            _ => {
                let found = self.is_so(fact, kind)?;
                let facts = &mut self.machine.facts;
                let slot = match fact {
                    NameFact::ListedBelow => &mut facts.is_listed_below,
                    NameFact::Selected => &mut facts.is_selected,
                    NameFact::LeadsOut => &mut facts.leads_out,
                    NameFact::IsPumps => &mut facts.is_pumps,
                    NameFact::IsFree => &mut facts.is_free,
                    NameFact::LeadsToTarget => &mut facts.leads_to_target,
                    NameFact::IsUnwritten => &mut facts.is_unwritten,
                    NameFact::IsSameFile => &mut facts.is_same_file,
                    NameFact::TimeTells => &mut facts.time_tells,
                    NameFact::MayHide => &mut facts.may_hide,
                    NameFact::HiddenEqual => &mut facts.hidden_equal,
                    NameFact::SameValue => &mut facts.same_value,
                    NameFact::OlderToRead => &mut facts.older_to_read,
                    NameFact::CopiedFirst => &mut facts.is_copied_first,
                    _ => &mut facts.may_destroy,
                };
                *slot = Some(found);
                if fact == NameFact::Selected && found && cursor.walks {
                    shared.ledger.watch.compares_name();
                }
            }
        }
        Ok(())
    }

    /// KnownFacts that are a yes or a no. What must not be is an error.
    fn is_so(&mut self, fact: NameFact, kind: Option<FileKind>) -> Result<bool, Problem> {
        let (shared, cursor, name) = (self.shared, self.cursor, self.name);
        let kind = kind.unwrap_or(FileKind::Regular);
        Ok(match fact {
            NameFact::ListedBelow => {
                let folder = || cursor.paths.relative(&cursor.directory);
                shared.trees.select.has_below(folder, &name.name)
            }
            NameFact::Selected if shared.settings.compares => {
                extras::is_compared(shared, cursor, name, kind)?
            }
            NameFact::Selected => cursor.is_included(shared, name, kind),
            NameFact::LeadsOut => left_out::leads_out_of_tree(cursor, name)?,
            NameFact::IsPumps => left_out::is_pumps(cursor, name)?,
            NameFact::IsFree => left_out::check_in_use(cursor, name).map(|()| true)?,
            NameFact::LeadsToTarget => cursor.leads_to_target(shared, name),
            NameFact::IsUnwritten => {
                let may_lead = self.machine.facts.leads_to_target == Some(true);
                cursor.check_followed(shared, name, may_lead)?;
                cursor.check_claim(shared, name, kind).map(|()| true)?
            }
            NameFact::IsSameFile => self.is_same_file(),
            NameFact::TimeTells => {
                let (source, existing) = self.both()?;
                !kept_times::says_nothing(shared, cursor.target()?, &source, &existing)
            }
            NameFact::MayHide => {
                let (source, existing) = self.both()?;
                // Named files are few: their content is compared whatever clock their file system has.
                let is_named = cursor.directory.root.is_named();
                let magic = || if is_named { 0 } else { cursor.source.magic() };
                kept_times::may_hide(shared, cursor.target()?, &name.name, &source, &existing, magic)
            }
            NameFact::HiddenEqual => !cursor.hidden_differ(shared, name),
            NameFact::SameValue => {
                let (source, existing) = self.both()?;
                special::is_same(cursor, name, &source, &existing)
            }
            NameFact::OlderToRead => {
                let meta = self.meta()?;
                self.older = link_dest::open_unchanged(shared, &self.entry(), name, &meta)?;
                self.older.is_some()
            }
            NameFact::CopiedFirst => make_way::is_copied_first(shared, cursor, name),
            _ => {
                let (source, existing) = self.both()?;
                cursor.check_replaced(shared, name, &source, &existing).map(|()| true)?
            }
        })
    }

    fn entry(&self) -> TreeEntry {
        self.cursor.entry(&self.name.name)
    }

    fn kind(&self) -> Result<FileKind, Problem> {
        self.cursor.kind(self.name).map_err(|problem| {
            let compares = self.shared.settings.compares;
            if compares { extras::of_list(self.cursor, self.name, problem) } else { problem }
        })
    }

    fn set_source(&mut self, meta: Meta) {
        self.meta = Some(meta);
        let given = &self.shared.settings.options.attributes.keep.given;
        (self.machine.facts.source, self.machine.facts.kind) = (Some(given.of(&meta)), Some(meta.kind));
    }

    fn meta(&mut self) -> Result<Meta, Problem> {
        if self.meta.is_none() {
            self.set_source(self.cursor.meta(self.name)?);
        }
        Ok(self.meta.expect("it was set above"))
    }

    /// Metadata of the source and of the existing entry, about which rules ask only where there is one.
    fn both(&mut self) -> Result<(Meta, Meta), Problem> {
        let source = self.meta()?;
        Ok((source, self.machine.facts.existing.flatten().unwrap_or(source)))
    }

    fn ours(&mut self) -> Result<Ours, Problem> {
        let (memory, cursor, name) = (&self.shared.trees.memory, self.cursor, &self.name.name);
        let Some(existing) = self.machine.facts.existing.flatten() else { return Ok(Ours::No) };
        memory.ours(&cursor.directory, name, || self.meta(), &existing)
    }

    fn has_room(&self) -> Result<bool, Problem> {
        let full = &self.shared.ledger.full;
        match self.machine.facts.kind {
            Some(FileKind::Regular) => {
                full.may_take(|| self.cursor.meta(self.name).map(|meta| meta.size_bytes))
            }
            Some(FileKind::Folder) => Ok(!full.is_full()),
            _ => Ok(!full.is_full() || self.cursor.target.is_some()),
        }
    }

    /// Whether two entries of one number are one inode: numbers alone do not say it on each file system.
    fn is_same_file(&self) -> bool {
        let (Some(meta), Some(existing)) = (self.meta, self.machine.facts.existing.flatten()) else {
            return false;
        };
        let (Origin::Here(source), Ok(target)) = (&self.cursor.source, self.cursor.target()) else {
            return false;
        };
        let source = source.with_identity(meta, &self.name.name);
        let existing = names::with_identity(existing, target, &self.name.name);
        source.handle != 0 && source.handle == existing.handle && source.generation == existing.generation
    }

    fn perform(&mut self, waits: &mut Waits, action: NameAction) -> Result<Done, Problem> {
        let (shared, cursor, name, kind) = (self.shared, self.cursor, self.name, self.machine.facts.kind);
        if action.writes() || matches!(action, NameAction::RemoveFolder | NameAction::Prepare) {
            self.check_backups()?;
        }
        if action.writes() {
            cursor.note_written(shared, name);
        }
        match action {
            NameAction::Skip(reason) => self.skip(reason).and(ENDED),
            NameAction::Leave(reason) => self.leave(reason).and(ENDED),
            NameAction::Refuse(reason) => Err(self.refusal(reason)),
            NameAction::Wait(Awaited::RestOfFolder) => {
                if folder_done::put_off(shared, &cursor.directory, name) {
                    return ENDED;
                }
                self.machine.facts.is_its_turn = true;
                Ok(Done::GoesOn)
            }
            NameAction::Wait(Awaited::EndOfTrees) => {
                make_way::wait_for_trees(shared, cursor, name);
                ENDED
            }
            NameAction::Wait(Awaited::Deletion) => {
                let is_tried = shared.settings.options.dry_run || kind != Some(FileKind::Regular);
                self.wait_for_place(if is_tried { Staged::Tried } else { Staged::Nothing })
            }
            NameAction::CountMissing => self.count_missing().and(ENDED),
            NameAction::Verify => cursor.compare(shared, waits, name).map(Done::Ended),
            NameAction::CompareExisting => self.compare_existing(waits),
            NameAction::CompareOlder => self.compare_older(waits),
            NameAction::Prepare => self.prepare(),
            NameAction::RemoveFolder => self.remove_folder(),
            NameAction::MeetLinks => self.meet_links(),
            NameAction::LinkOlder => self.link_older(),
            NameAction::SetAttributes => {
                let (keep, (meta, existing)) = (&shared.settings.options.attributes.keep, self.both()?);
                shared.trees.opens_for_attributes.fetch_or(keep.acl || keep.xattrs, Ordering::Relaxed);
                update_existing::adjust(shared, &self.entry(), name, &meta, &existing).and(ENDED)
            }
            NameAction::Enter | NameAction::MakeFolder { .. } => {
                let (existing, opened) = (self.machine.facts.existing.flatten(), self.opened_folder());
                let folder = existing.as_ref().filter(|existing| existing.kind == FileKind::Folder);
                folder.iter().for_each(|folder| shared.trees.guard.followed.note_entered(id(folder)));
                walk::enter(shared, cursor, name, opened, existing.as_ref()).and(ENDED)
            }
            NameAction::Copy { replaces, awaits_deletion } => self.copy(waits, replaces, awaits_deletion),
            NameAction::MakeSpecial { replaces } => {
                let (meta, existing) = self.both()?;
                let existing = Some(existing).filter(|_| replaces);
                let copy = special::make(shared, cursor, name, &meta, existing.as_ref())?;
                linking::stands(shared, &self.entry(), self.links.take(), copy);
                ENDED
            }
            // Of deletion alone (`delete`).
            NameAction::Keep
            | NameAction::KeepForNow
            | NameAction::EnterExtra
            | NameAction::RemovePartial
            | NameAction::Remove => ENDED,
        }
    }
}

impl NameWork<'_> {
    fn check_backups(&self) -> Result<(), Problem> {
        let (directory, facts) = (&self.cursor.directory, &self.machine.facts);
        let Some(target) = &directory.target else { return Ok(()) };
        let (existing, is_folder) = (facts.existing.flatten(), facts.kind == Some(FileKind::Folder));
        directory.root.backups.check_name(target, &self.name.name, existing.as_ref(), is_folder)
    }

    /// A source that can be read once is not compared: it counts as other content.
    fn compare_existing(&mut self, waits: &mut Waits) -> Result<Done, Problem> {
        if self.cursor.source.is_read_once() {
            self.machine.facts.content = Content::Other;
            return Ok(Done::GoesOn);
        }
        let existing = self.cursor.open_there(&self.name.name)?;
        self.cursor.check(self.shared, waits, self.name, existing, Against::Target).map(Done::Ended)
    }

    fn compare_older(&mut self, waits: &mut Waits) -> Result<Done, Problem> {
        if self.cursor.source.is_read_once() {
            self.machine.facts.older_content = Content::Other;
            return Ok(Done::GoesOn);
        }
        let older = self.older.take().expect("it was found to be read");
        self.cursor.check(self.shared, waits, self.name, older, Against::Older).map(Done::Ended)
    }

    /// A dry run removes nothing, and goes on as if it had.
    fn remove_folder(&mut self) -> Result<Done, Problem> {
        let is_dry = self.shared.settings.options.dry_run;
        if is_dry || removal::remove(self.cursor, self.name, FileKind::Folder)? {
            (self.machine.facts.existing, self.machine.facts.was_cleared) = (Some(None), true);
            if self.shared.trees.flags.existing {
                make_way::note_cleared(self.cursor, self.name);
            }
        } else {
            let in_place = make_way::full_folder(self.cursor, self.way_end);
            self.machine.facts.folder_in_place = Some(in_place);
        }
        Ok(Done::GoesOn)
    }

    fn meet_links(&mut self) -> Result<Done, Problem> {
        let (meta, held) = (self.meta()?, self.open.as_ref().map(|open| &open.held));
        match linking::meet(self.shared, &self.entry(), &meta, held, self.is_in_the_way())? {
            Met::First(links) => {
                (self.links, self.machine.facts.links) = (links, Some(LinkPlace::First));
                Ok(Done::GoesOn)
            }
            Met::Settled => ENDED,
            Met::LinkLater => self.clear_for_link(),
        }
    }

    /// Whether a folder is in its place.
    fn is_in_the_way(&self) -> bool {
        self.machine.facts.existing.flatten().is_some_and(|existing| existing.kind == FileKind::Folder)
    }

    /// A link can be made when the folder in its place is gone: an empty one goes at once.
    fn clear_for_link(&mut self) -> Result<Done, Problem> {
        self.check_backups()?;
        let cleared = self.remove_folder()?;
        if self.is_in_the_way() { self.wait_for_place(Staged::Tried) } else { Ok(cleared) }
    }

    fn wait_for_place(&mut self, staged: Staged) -> Result<Done, Problem> {
        linking::failed(self.shared, self.links.take());
        make_way::wait(self.shared, self.cursor, self.name, staged);
        ENDED
    }

    fn opened_folder(&mut self) -> OpenedSource {
        self.folder.take().expect("a folder is opened before it is entered")
    }

    /// Opens the source; of a link, pipe or device it is tried whether it can be made.
    fn prepare(&mut self) -> Result<Done, Problem> {
        let (shared, cursor, name) = (self.shared, self.cursor, self.name);
        match self.machine.facts.kind {
            Some(FileKind::Folder) => {
                let Some(opened) = walk::open_source(shared, cursor, name)? else { return ENDED };
                self.set_source(opened.side.meta);
                self.folder = Some(opened);
            }
            Some(FileKind::Regular) if shared.settings.options.dry_run => drop(self.meta()?),
            Some(FileKind::Regular) => {
                let opened = cursor.open_file(shared, name, false)?;
                self.set_source(opened.meta);
                self.open = Some(opened);
            }
            _ => {
                let meta = self.meta()?;
                special::check_can_be_made(shared, cursor, name, &meta)?;
            }
        }
        self.machine.facts.is_prepared = true;
        Ok(Done::GoesOn)
    }

    fn skip(&self, reason: SkipReason) -> Result<(), Problem> {
        let (shared, cursor, name) = (self.shared, self.cursor, self.name);
        if reason == SkipReason::Excluded {
            let kind = self.machine.facts.kind.unwrap_or(FileKind::Regular);
            return cursor.check_excluded_link(shared, name, kind);
        }
        match update_existing::why_skipped(reason) {
            Some(why) => update_existing::tell_kept(shared, &self.entry(), why),
            None => left_out::report(shared, &cursor.source_path(&name.name), reason),
        }
        self.meta.iter().for_each(|meta| shared.skip_named(&cursor.directory.root, meta));
        Ok(())
    }

    fn leave(&mut self, reason: LeaveReason) -> Result<(), Problem> {
        let (shared, entry) = (self.shared, self.entry());
        if reason == LeaveReason::HasSource {
            return Ok(());
        }
        let why = update_existing::why_left(reason);
        if reason == LeaveReason::Ours {
            let both = self.both()?;
            return update_existing::committed(shared, &entry, &both.0, &both.1);
        }
        if self.machine.facts.kind == Some(FileKind::Folder) {
            update_existing::tell_kept(shared, &entry, why);
            return Ok(());
        }
        let both = self.both()?;
        match reason {
            LeaveReason::Exists | LeaveReason::Newer => {
                update_existing::kept(shared, &entry, &both.0, why);
                Ok(())
            }
            _ => update_existing::left(shared, &entry, &both.0, &both.1, why),
        }
    }

    fn refusal(&self, reason: RefuseReason) -> Problem {
        let (cursor, name) = (self.cursor, self.name);
        match reason {
            RefuseReason::NoFolder => left_out::is_no_folder(cursor, name),
            RefuseReason::NameOfList => left_out::has_no_room(cursor, name),
            RefuseReason::Unfinished => left_out::is_unfinished(cursor, name),
            RefuseReason::FolderInPlace => make_way::refusal(self.shared, cursor, name, self.way_end),
        }
    }

    /// Of a folder all that would lie in it is counted, too.
    fn count_missing(&mut self) -> Result<(), Problem> {
        if self.machine.facts.kind == Some(FileKind::Folder) {
            let opened = self.opened_folder();
            return walk::enter_missing(self.shared, self.cursor, self.name, opened);
        }
        self.cursor.leave_missing(self.shared, self.name)
    }

    fn link_older(&mut self) -> Result<Done, Problem> {
        let (entry, meta) = (self.entry(), self.meta()?);
        let (shared, is_in_the_way) = (self.shared, self.is_in_the_way());
        if is_in_the_way && link_dest::can_link_unchanged(shared, &entry, self.name, &meta)? {
            return self.clear_for_link();
        }
        if !is_in_the_way && let Some(file) = link_dest::link_unchanged(shared, &entry, self.name, &meta)? {
            shared.skip_named(&entry.directory.root, &meta);
            linking::stands(shared, &entry, self.links.take(), Some(file));
            return ENDED;
        }
        self.machine.facts.has_no_older = true;
        Ok(Done::GoesOn)
    }

    fn copy(&mut self, waits: &mut Waits, replaces: bool, awaits_deletion: bool) -> Result<Done, Problem> {
        let (shared, cursor, name) = (self.shared, self.cursor, self.name);
        let (meta, entry) = (self.meta()?, self.entry());
        let existing = self.machine.facts.existing.flatten().filter(|_| replaces);
        let directory = &cursor.directory;
        let change = findings::change(shared, directory, ChangeKind::Copy, name, &meta, existing.as_ref());
        let Some(opened) = self.open.take() else {
            // Of a free name the look before has reported what the folder refuses.
            let is_new = replaces || directory.root.is_named();
            let is_new = is_new && !(replaces && cursor.is_in_place(shared));
            if let Some(target) = cursor.target.as_ref().filter(|_| is_new) {
                let (above, path) = (&directory.traits.target_flags, cursor.target_path(&name.name));
                final_name::check_name(target, above, &name.name, &path)?;
            }
            shared.ledger.tell(change);
            linking::stands(shared, &entry, self.links.take(), None);
            return ENDED;
        };
        if self.links.is_none() && cursor.comes_later(shared, name, &meta) {
            return ENDED;
        }
        let before = if replaces { Before::Anything } else { Before::Nothing };
        let tree_file = TreeFile {
            links: self.links,
            change,
            replaces_folder: awaits_deletion,
            is_new: existing.is_none(),
            ..TreeFile::new(entry)
        };
        let (task, how) = cursor.prepare(shared, name, OpenedFile { meta, ..opened }, before, tree_file)?;
        // From now on the task has them.
        self.links = None;
        cursor.hand_on(shared, waits, task, how).map(Done::Ended)
    }
}
