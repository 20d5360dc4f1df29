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

use crate::folder::directory::NotCopied;
use crate::folder::root::InTheWay;
use crate::origin::Origin;
use datapump_files::identity::id;

use crate::problem::Problem;
use crate::report::change::ChangeKind;
use crate::run::owner::Ready;
use crate::tree::backup::removal;
use crate::tree::batch::cursor::{BatchCursor, BatchName};
use crate::tree::batch::folder_done;
use crate::tree::findings::kept_times;
use crate::tree::links::link_dest;
use crate::tree::links::linking::{self, Met};
use crate::tree::names::{make_way, special};
use crate::tree::rules::{extras, left_out, update_existing};
use crate::tree::state::in_the_way::Staged;
use crate::tree::state::links::FileState;
use crate::tree::state::tree_file::{Against, OpenedFile, TreeFile};
use crate::tree::walk::{self, OpenedSource};
use crate::tree::{Shared, findings};
use datapump_files::commit::reserved::{LIST_NAME, may_be_pumps, may_be_temporary};
use datapump_files::commit::{Before, final_name};
use datapump_files::disk::{FileKind, Meta, names};

/// What an action leads to.
enum Done {
    /// The machine is asked again.
    GoesOn,
    /// The name is decided; a small file is moved by this lane.
    Ended(Option<Ready>),
    /// There is no memory for the name now.
    Deferred,
}

impl From<Met> for Done {
    /// For a name that needs no more than its link.
    fn from(met: Met) -> Done {
        if matches!(met, Met::Deferred) { Done::Deferred } else { Done::Ended(None) }
    }
}

const ENDED: Result<Done, Problem> = Ok(Done::Ended(None));

/// A name, with what was found and opened for it so far.
struct NameWork<'work> {
    at: BatchName<'work>,
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
    /// Deals with names until one is a small file to be moved, or none is left, or there is no memory for the next one.
    pub(crate) fn next(&mut self, shared: &Shared<'_>, waits: &mut Waits) -> Option<Ready> {
        while !shared.stop.load(Ordering::Relaxed) {
            self.open_early(shared);
            let name = self.names.next()?;
            let at = BatchName { shared, cursor: self, name: &name };
            match deal_with(at, waits) {
                Ok(Done::Ended(Some(ready))) => return Some(ready),
                Ok(Done::Ended(None) | Done::GoesOn) => {}
                Ok(Done::Deferred) => {
                    // It was counted, and will be once more.
                    if self.walks && !self.directory.root.is_named() {
                        shared.ledger.watch.compares_again(1);
                    }
                    self.put_back(name);
                    return None;
                }
                Err(problem) => {
                    let size_bytes = || at.source_meta().ok().map(|meta| meta.size_bytes);
                    shared.ledger.full.count_missing(&problem, size_bytes);
                    self.directory.report(&shared.ledger, NotCopied::listed(&name), problem);
                }
            }
        }
        None
    }
}

/// Deals with a name. Gives a small file that is to be moved now.
fn deal_with(at: BatchName<'_>, waits: &mut Waits) -> Result<Done, Problem> {
    let (name, is_named) = (&at.name.name, at.directory().root.is_named());
    let form = Form {
        may_be_temporary: may_be_temporary(name),
        may_be_pumps: may_be_pumps(name),
        is_list: at.directory().parent.is_none() && !is_named && name == LIST_NAME,
        is_withheld: at.name.is_withheld,
    };
    let trees = &at.shared.trees;
    let follows = trees.guard.followed.are_followed();
    // Known from the start where no flag asks for it: each fact that is asked for costs some 20 ns. A name that the user
    // gave was selected when its place was found.
    let known = |is_asked: bool, fact: bool| (is_named || !is_asked).then_some(fact);
    let facts = KnownFacts {
        form,
        lies_in_skipped: at.directory().traits.is_skipped,
        is_listed_below: known(trees.select.is_list(), false),
        is_selected: known(true, true),
        leads_to_target: known(follows, false),
        is_unwritten: known(follows || at.directory().root.shares_target, true),
        ..KnownFacts::default()
    };
    run_name_work(at, waits, facts)
}

/// Asks the name machine what to do with a name until it is done; gives a small file that is to be moved now.
fn run_name_work(at: BatchName<'_>, waits: &mut Waits, facts: KnownFacts) -> Result<Done, Problem> {
    let BatchName { shared, cursor, name } = at;
    let mut machine = NameMachine::with_facts(&shared.trees.flags, facts);
    machine.facts.have_trees_ended = shared.trees.guard.followed.have_trees_ended();
    machine.facts.was_cleared = shared.trees.flags.existing && make_way::was_cleared(at);
    (machine.facts.content, machine.facts.older_content) = (cursor.read.existing, cursor.read.older);
    let is_named_entry = cursor.directory.root.is_named() && name.kind != Some(FileKind::Regular);
    if let Some(target) = cursor.target.as_ref().filter(|_| is_named_entry) {
        shared.trees.memory.note_right(target, &name.name);
    }
    let mut work = NameWork {
        at,
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
    /// Finds facts and performs actions, as the name machine says, until one ends the name.
    fn run(&mut self, waits: &mut Waits) -> Result<Done, Problem> {
        loop {
            match self.machine.poll() {
                NameStep::Find(fact) => self.find_fact(fact)?,
                NameStep::Perform(action) => match self.perform(waits, action)? {
                    Done::GoesOn => {}
                    done => return Ok(done),
                },
            }
        }
    }

    /// Finds a fact. What must not be is an error.
    fn find_fact(&mut self, fact: NameFact) -> Result<(), Problem> {
        let (at, kind) = (self.at, self.machine.facts.kind.unwrap_or(FileKind::Regular));
        let BatchName { shared, name, .. } = at;
        match fact {
            NameFact::Kind => self.machine.facts.kind = Some(self.kind()?),
            NameFact::Source => self.set_source(at.source_meta()?),
            NameFact::Existing => self.machine.facts.existing = Some(at.target_meta()?),
            NameFact::Ours => self.machine.facts.ours = Some(self.ours()?),
            NameFact::Room => self.machine.facts.has_room = Some(self.has_room()?),
            NameFact::FolderInPlace => {
                self.way_end = make_way::end_of_wait(at);
                let found = make_way::folder_in_place(at, self.way_end)?;
                self.machine.facts.folder_in_place = Some(found);
            }
            NameFact::ListedBelow => {
                let has_below = shared.trees.select.has_below(|| at.relative(), &name.name);
                self.machine.facts.is_listed_below = Some(has_below);
            }
            NameFact::Selected => self.machine.facts.is_selected = Some(self.is_selected(kind)?),
            NameFact::LeadsOut => self.machine.facts.leads_out = Some(left_out::leads_out_of_tree(at)?),
            NameFact::IsPumps => self.machine.facts.is_pumps = Some(left_out::is_pumps(at)?),
            NameFact::IsFree => {
                left_out::check_in_use(at)?;
                self.machine.facts.is_free = Some(true);
            }
            NameFact::LeadsToTarget => self.machine.facts.leads_to_target = Some(at.leads_to_target()),
            NameFact::IsUnwritten => {
                at.check_followed(self.machine.facts.leads_to_target == Some(true))?;
                at.check_claim(kind)?;
                self.machine.facts.is_unwritten = Some(true);
            }
            NameFact::IsSameFile => self.machine.facts.is_same_file = Some(self.is_same_file()),
            NameFact::TimeTells => self.machine.facts.time_tells = Some(self.time_tells()?),
            NameFact::MayHide => self.machine.facts.may_hide = Some(self.may_hide()?),
            NameFact::HiddenEqual => self.machine.facts.hidden_equal = Some(!at.hidden_differ()),
            NameFact::SameValue => {
                let (source, existing) = self.both()?;
                self.machine.facts.same_value = Some(special::is_same_special(at, &source, &existing));
            }
            NameFact::OlderToRead => {
                let meta = self.meta()?;
                self.older = link_dest::open_unchanged(at, &meta)?;
                self.machine.facts.older_to_read = Some(self.older.is_some());
            }
            NameFact::CopiedFirst => {
                self.machine.facts.is_copied_first = Some(make_way::is_copied_first(at));
            }
            _ => {
                let (source, existing) = self.both()?;
                at.check_replaced(&source, &existing)?;
                self.machine.facts.may_destroy = Some(true);
            }
        }
        Ok(())
    }

    /// Whether patterns and lists select the name; a selected one of a walk is counted as compared.
    fn is_selected(&self, kind: FileKind) -> Result<bool, Problem> {
        let BatchName { shared, cursor, .. } = self.at;
        let compares = shared.settings.compares;
        let found = if compares { extras::is_compared(self.at, kind)? } else { self.at.is_included(kind) };
        if found && cursor.walks {
            shared.ledger.watch.compares_name();
        }
        Ok(found)
    }

    fn time_tells(&mut self) -> Result<bool, Problem> {
        let (source, existing) = self.both()?;
        Ok(!kept_times::says_nothing(self.at.shared, self.at.target()?, &source, &existing))
    }

    fn may_hide(&mut self) -> Result<bool, Problem> {
        let BatchName { shared, cursor, name } = self.at;
        let (source, existing) = self.both()?;
        // Named files are few: their content is compared whatever clock their file system has.
        let is_named = cursor.directory.root.is_named();
        let magic = || if is_named { 0 } else { cursor.source.magic() };
        Ok(kept_times::may_hide(shared, self.at.target()?, &name.name, &source, &existing, magic))
    }

    fn kind(&self) -> Result<FileKind, Problem> {
        self.at.kind().map_err(|problem| {
            let compares = self.at.shared.settings.compares;
            if compares { extras::of_list(self.at, problem) } else { problem }
        })
    }

    fn set_source(&mut self, meta: Meta) {
        self.meta = Some(meta);
        let given = &self.at.shared.settings.options.attributes.keep.given;
        (self.machine.facts.source, self.machine.facts.kind) = (Some(given.of(&meta)), Some(meta.kind));
    }

    fn meta(&mut self) -> Result<Meta, Problem> {
        if self.meta.is_none() {
            self.set_source(self.at.source_meta()?);
        }
        Ok(self.meta.expect("it was set above"))
    }

    /// Metadata of the source and of the existing entry, about which rules ask only where there is one.
    fn both(&mut self) -> Result<(Meta, Meta), Problem> {
        let source = self.meta()?;
        Ok((source, self.machine.facts.existing.flatten().unwrap_or(source)))
    }

    fn ours(&mut self) -> Result<Ours, Problem> {
        let (memory, at) = (&self.at.shared.trees.memory, self.at);
        let Some(existing) = self.machine.facts.existing.flatten() else { return Ok(Ours::No) };
        memory.ours(at.directory(), &at.name.name, || self.meta(), &existing)
    }

    fn has_room(&self) -> Result<bool, Problem> {
        let full = &self.at.shared.ledger.full;
        match self.machine.facts.kind {
            Some(FileKind::Regular) => full.may_take(|| self.at.source_meta().map(|meta| meta.size_bytes)),
            Some(FileKind::Folder) => Ok(!full.is_full()),
            _ => Ok(!full.is_full() || self.at.cursor.target.is_some()),
        }
    }

    /// Whether two entries of one number are one inode: numbers alone do not say it on each file system.
    fn is_same_file(&self) -> bool {
        let (Some(meta), Some(existing)) = (self.meta, self.machine.facts.existing.flatten()) else {
            return false;
        };
        let (Origin::Here(source), Ok(target)) = (&self.at.cursor.source, self.at.target()) else {
            return false;
        };
        let source = source.with_identity(meta, &self.at.name.name);
        let existing = names::with_identity(existing, target, &self.at.name.name);
        source.handle != 0 && source.handle == existing.handle && source.generation == existing.generation
    }

    /// Performs an action of the name machine, and says whether that ended the name.
    fn perform(&mut self, waits: &mut Waits, action: NameAction) -> Result<Done, Problem> {
        let (BatchName { shared, cursor, name }, kind) = (self.at, self.machine.facts.kind);
        if action.writes() || matches!(action, NameAction::RemoveFolder | NameAction::Prepare) {
            self.check_backups()?;
        }
        if action.writes() {
            self.at.note_written();
        }
        match action {
            NameAction::Skip(reason) => self.skip(reason).and(ENDED),
            NameAction::Leave(reason) => self.leave(reason),
            NameAction::Refuse(reason) => Err(self.refusal(reason)),
            NameAction::Wait(Awaited::RestOfFolder) => {
                if folder_done::put_off(shared, &cursor.directory, name) {
                    return ENDED;
                }
                self.machine.facts.is_its_turn = true;
                Ok(Done::GoesOn)
            }
            NameAction::Wait(Awaited::EndOfTrees) => {
                make_way::wait_for_trees(self.at);
                ENDED
            }
            NameAction::Wait(Awaited::Deletion) => {
                let is_tried = shared.settings.options.dry_run || kind != Some(FileKind::Regular);
                self.wait_for_place(if is_tried { Staged::Tried } else { Staged::Nothing })
            }
            NameAction::CountMissing => self.count_missing().and(ENDED),
            NameAction::Verify => self.at.compare(waits).map(Done::Ended),
            NameAction::CompareExisting => self.compare_existing(waits),
            NameAction::CompareOlder => self.compare_older(waits),
            NameAction::Prepare => self.prepare(),
            NameAction::RemoveFolder => self.remove_folder(),
            NameAction::MeetLinks => self.meet_links(),
            NameAction::LinkOlder => self.link_older(),
            NameAction::SetAttributes => {
                let (keep, (meta, existing)) = (&shared.settings.options.attributes.keep, self.both()?);
                shared.trees.opens_for_attributes.fetch_or(keep.acl || keep.xattrs, Ordering::Relaxed);
                update_existing::adjust_attributes(shared, &self.at.entry(), name, &meta, &existing)
                    .map(Done::from)
            }
            NameAction::Enter | NameAction::MakeFolder { .. } => {
                let (existing, opened) = (self.machine.facts.existing.flatten(), self.opened_folder());
                let folder = existing.as_ref().filter(|existing| existing.kind == FileKind::Folder);
                folder.iter().for_each(|folder| shared.trees.guard.followed.note_entered(id(folder)));
                walk::enter(self.at, opened, existing.as_ref()).and(ENDED)
            }
            NameAction::Copy { replaces, awaits_deletion } => self.copy(waits, replaces, awaits_deletion),
            NameAction::MakeSpecial { replaces } => {
                let (meta, existing) = self.both()?;
                let existing = Some(existing).filter(|_| replaces);
                let copy = special::make_special(self.at, &meta, existing.as_ref())?;
                linking::link_waiting(shared, &self.at.entry(), self.links.take(), copy);
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
        let (directory, facts) = (self.at.directory(), &self.machine.facts);
        let Some(target) = &directory.target else { return Ok(()) };
        let (existing, is_folder) = (facts.existing.flatten(), facts.kind == Some(FileKind::Folder));
        directory.root.backups.check_name(target, &self.at.name.name, existing.as_ref(), is_folder)
    }

    /// A source that can be read once is not compared: it counts as other content.
    fn compare_existing(&mut self, waits: &mut Waits) -> Result<Done, Problem> {
        if self.at.cursor.source.is_read_once() {
            self.machine.facts.content = Content::Other;
            return Ok(Done::GoesOn);
        }
        let existing = self.at.open_there()?;
        self.at.check(waits, existing, Against::Target).map(Done::Ended)
    }

    fn compare_older(&mut self, waits: &mut Waits) -> Result<Done, Problem> {
        if self.at.cursor.source.is_read_once() {
            self.machine.facts.older_content = Content::Other;
            return Ok(Done::GoesOn);
        }
        let older = self.older.take().expect("it was found to be read");
        self.at.check(waits, older, Against::Older).map(Done::Ended)
    }

    /// A dry run removes nothing, and goes on as if it had.
    fn remove_folder(&mut self) -> Result<Done, Problem> {
        let is_dry = self.at.shared.settings.options.dry_run;
        if is_dry || removal::remove(self.at, FileKind::Folder)? {
            (self.machine.facts.existing, self.machine.facts.was_cleared) = (Some(None), true);
            if self.at.shared.trees.flags.existing {
                make_way::note_cleared(self.at);
            }
        } else {
            let in_place = make_way::full_folder(self.at, self.way_end);
            self.machine.facts.folder_in_place = Some(in_place);
        }
        Ok(Done::GoesOn)
    }

    /// Finds out whether the name is a further one of a file, and links it if its first name is done.
    fn meet_links(&mut self) -> Result<Done, Problem> {
        let (meta, held) = (self.meta()?, self.open.as_ref().map(|open| &open.held));
        match linking::meet_name(self.at.shared, &self.at.entry(), &meta, held, self.is_in_the_way())? {
            Met::First(links) => {
                (self.links, self.machine.facts.links) = (links, Some(LinkPlace::First));
                Ok(Done::GoesOn)
            }
            Met::LinkLater => self.clear_for_link(),
            met => Ok(Done::from(met)),
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
        linking::failed(self.at.shared, self.links.take());
        make_way::wait_for_removal(self.at, staged);
        ENDED
    }

    fn opened_folder(&mut self) -> OpenedSource {
        self.folder.take().expect("a folder is opened before it is entered")
    }

    /// Opens the source; of a link, pipe or device it is tried whether it can be made.
    fn prepare(&mut self) -> Result<Done, Problem> {
        match self.machine.facts.kind {
            Some(FileKind::Folder) => {
                let Some(opened) = walk::open_source(self.at)? else { return ENDED };
                self.set_source(opened.side.meta);
                self.folder = Some(opened);
            }
            Some(FileKind::Regular) if self.at.shared.settings.options.dry_run => drop(self.meta()?),
            Some(FileKind::Regular) => {
                let opened = self.at.open_file(false)?;
                self.set_source(opened.meta);
                self.open = Some(opened);
            }
            _ => {
                let meta = self.meta()?;
                special::check_can_be_made(self.at, &meta)?;
            }
        }
        self.machine.facts.is_prepared = true;
        Ok(Done::GoesOn)
    }

    /// Reports and counts a name that is not copied. An excluded one is not reported; its link is checked.
    fn skip(&mut self, reason: SkipReason) -> Result<(), Problem> {
        let shared = self.at.shared;
        if reason == SkipReason::Excluded {
            let kind = self.machine.facts.kind.unwrap_or(FileKind::Regular);
            return self.at.check_excluded_link(kind);
        }
        match update_existing::why_skipped(reason) {
            Some(why) => update_existing::report_kept(shared, &self.at.entry(), why),
            None => left_out::report_skipped(shared, &self.at.source_path(), reason),
        }
        self.meta.iter().for_each(|meta| shared.skip_named(&self.at.directory().root, meta));
        if reason == SkipReason::NotExisting { self.enter_skipped() } else { Ok(()) }
    }

    /// Goes into a folder of a walk that is not copied, if the list has names below it.
    fn enter_skipped(&mut self) -> Result<(), Problem> {
        let at = self.at;
        let is_walked_folder =
            self.machine.facts.kind == Some(FileKind::Folder) && !at.directory().root.is_named();
        if !is_walked_folder || !at.shared.trees.select.has_below(|| at.relative(), &at.name.name) {
            return Ok(());
        }
        let opened = self.folder.take().map_or_else(|| walk::open_source(at), |opened| Ok(Some(opened)));
        opened?.map_or(Ok(()), |opened| walk::enter_skipped(at, opened))
    }

    /// Reports or counts an existing entry that stays as it is.
    fn leave(&mut self, reason: LeaveReason) -> Result<Done, Problem> {
        let (shared, entry) = (self.at.shared, self.at.entry());
        if reason == LeaveReason::HasSource {
            return ENDED;
        }
        let why = update_existing::why_left(reason);
        if reason == LeaveReason::Ours {
            let both = self.both()?;
            return update_existing::report_committed(shared, &entry, &both.0, &both.1).map(Done::from);
        }
        if self.machine.facts.kind == Some(FileKind::Folder) {
            update_existing::report_kept(shared, &entry, why);
            return self.enter_skipped().and(ENDED);
        }
        let both = self.both()?;
        match reason {
            LeaveReason::Exists | LeaveReason::Newer => {
                update_existing::kept(shared, &entry, &both.0, why);
                ENDED
            }
            _ => update_existing::left(shared, &entry, &both.0, &both.1, why).map(Done::from),
        }
    }

    fn refusal(&self, reason: RefuseReason) -> Problem {
        match reason {
            RefuseReason::NoFolder => left_out::is_no_folder(self.at),
            RefuseReason::NameOfList => left_out::has_no_room(self.at),
            RefuseReason::Unfinished => left_out::is_unfinished(self.at),
            RefuseReason::FolderInPlace => make_way::refusal(self.at, self.way_end),
        }
    }

    /// Of a folder all that would lie in it is counted, too.
    fn count_missing(&mut self) -> Result<(), Problem> {
        if self.machine.facts.kind == Some(FileKind::Folder) {
            let opened = self.opened_folder();
            return walk::enter_missing(self.at, opened);
        }
        self.at.leave_missing()
    }

    /// Links the unchanged file of a `--link-dest` folder in the place of a copy, if there is one.
    fn link_older(&mut self) -> Result<Done, Problem> {
        let meta = self.meta()?;
        if self.is_in_the_way() {
            if link_dest::can_link_unchanged(self.at, &meta)? {
                return self.clear_for_link();
            }
        } else if let Some(file) = link_dest::link_unchanged(self.at, &meta)? {
            self.at.shared.skip_named(&self.at.directory().root, &meta);
            linking::link_waiting(self.at.shared, &self.at.entry(), self.links.take(), Some(file));
            return ENDED;
        }
        self.machine.facts.has_no_older = true;
        Ok(Done::GoesOn)
    }

    /// Copies the name: makes a task of an open file; of a dry run it only reports the change.
    fn copy(&mut self, waits: &mut Waits, replaces: bool, awaits_deletion: bool) -> Result<Done, Problem> {
        let BatchName { shared, cursor, name } = self.at;
        let (meta, entry) = (self.meta()?, self.at.entry());
        let existing = self.machine.facts.existing.flatten().filter(|_| replaces);
        let directory = &cursor.directory;
        let change = findings::change(shared, directory, ChangeKind::Copy, name, &meta, existing.as_ref());
        let Some(opened) = self.open.take() else {
            // Of a free name the look before has reported what the folder refuses.
            let is_new = replaces || directory.root.is_named();
            let is_new = is_new && !(replaces && self.at.is_in_place());
            if let Some(target) = cursor.target.as_ref().filter(|_| is_new) {
                let (above, path) = (&directory.traits.target_flags, self.at.target_path());
                final_name::check_name(target, above, &name.name, &path)?;
            }
            shared.ledger.tell(change);
            linking::link_waiting(shared, &entry, self.links.take(), None);
            return ENDED;
        };
        if self.links.is_none() && self.at.defer_large(&meta) {
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
        let (task, how) = self.at.prepare_task(OpenedFile { meta, ..opened }, before, tree_file)?;
        // From now on the task has them.
        self.links = None;
        self.at.hand_on(waits, task, how).map(Done::Ended)
    }
}
