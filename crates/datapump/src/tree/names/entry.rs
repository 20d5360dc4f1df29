//! Deals with the names of a folder, one after the other: what is it, what stands at the target, what is to be done.
//!
//! A small file is opened here and its blocks go to the lane that opened it; a large one is left to the lanes that
//! move pieces.
//!
//! Must not know: how folders are listed and finished, how blocks are moved.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::verdict::Waits;
use datapump_core::{BlockRoute, Extent, Length};

use crate::file::finish;
use crate::file::task::{Against, Task, TreeFile};
use crate::job::options::Sync;
use crate::open::confidential;
use crate::open::copy_method::{self, Facts, How};
use crate::open::held::{Held, Original};
use crate::open::opened::Opened;
use crate::open::resumed;
use crate::open::sizes;
use crate::open::{self, OpenTarget};
use crate::problem::{Class, Operation, Problem};
use crate::run::{Shared, Work};
use crate::target::change::ChangeKind;
use crate::target::listed::Name;
use crate::tree::folder::directory::{Batch, Beside, Looked, NotCopied};
use crate::tree::folder::folder_done;
use crate::tree::folder::origin::SmallRead;
use crate::tree::folder::walk;
use crate::tree::links::TreeEntry;
use crate::tree::links::followed_links;
use crate::tree::links::link_dest;
use crate::tree::links::linking::{self, Met};
use crate::tree::list::doubts;
use crate::tree::names::batch_cursor::BatchCursor;
use crate::tree::names::left_out;
use crate::tree::names::make_way;
use crate::tree::names::special;
use crate::tree::rules::decide::{Action, adjusted};
use crate::tree::rules::extras;
use crate::tree::rules::findings;
use crate::tree::rules::kept_times;
use crate::tree::rules::update_existing;
use datapump_engine::Handle;
use datapump_files::commit::reserved::may_be_temporary;
use datapump_files::commit::{Before, StagedFile, final_name};
use datapump_files::disk::{FileCalls, FileKind, Folder, Meta};
use datapump_files::identity::FileId;
use datapump_files::identity::tick::{self, TimeLook};
use datapump_files::resume::ResumeRequest;

/// From this size on a file is written past the cache: LIMITS §2, and the last sync then finds little to do.
const SYNCED_MIN_BYTES: u64 = 4 << 20;

/// A file must let its owner write to get extended attributes: xattr(7). Most modes do, and are right from the start.
const WRITABLE: u32 = 0o600;

/// A small file that is ready to be moved by the lane that opened it.
pub(crate) type Ready = (Arc<Task>, Extent);

impl BatchCursor {
    /// Deals with names until one is a small file to be moved, or none is left.
    pub(crate) fn next(&mut self, shared: &Shared<'_>, waits: &mut Waits) -> Option<Ready> {
        while !shared.stop.load(Ordering::Relaxed) {
            self.open_early(shared);
            let name = self.names.next()?;
            match self.deal_with(shared, waits, &name) {
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

    fn deal_with(
        &self,
        shared: &Shared<'_>,
        waits: &mut Waits,
        name: &Name,
    ) -> Result<Option<Ready>, Problem> {
        // A comparison writes nothing.
        let may_be_put_off = may_be_temporary(&name.name) && !shared.settings.compares;
        if may_be_put_off && folder_done::put_off(shared, &self.directory, name) {
            return Ok(None);
        }
        let kind = self.kind(name).map_err(|problem| match shared.settings.compares {
            true => extras::of_list(self, name, problem),
            false => problem,
        })?;
        if kind != FileKind::Folder
            && shared.trees.select.has_below(|| self.paths.relative(&self.directory), &name.name)
        {
            let words = "is not a directory, and names below it are on the list";
            return Err(Problem::new(Class::Missing, Operation::Open, &self.source_path(&name.name), words));
        }
        let is_dealt_with = match shared.settings.compares {
            true => extras::is_compared(shared, self, name, kind)?,
            false => self.is_included(shared, name, kind),
        };
        if !is_dealt_with {
            return self.refuse_left_out_by_kind(shared, name, kind).map(|()| None);
        }
        if self.walks {
            shared.ledger.watch.compares_name();
        }
        if left_out::is_left_out(shared, self, name, kind)? {
            return Ok(None);
        }
        left_out::refuse_clash(shared, self, name)?;
        followed_links::refuse_written(shared, (&self.directory, &self.source), name)?;
        if self.is_passed_by(shared, name)? {
            return Ok(None);
        }
        match kind {
            _ if shared.settings.compares => self.compare(shared, waits, name),
            FileKind::Folder => walk::enter(shared, self, name).map(|()| None),
            FileKind::Regular => self.file(shared, waits, name),
            FileKind::Socket => Ok(None),
            _ if shared.ledger.full.is_full() && self.target.is_none() => {
                self.leave_missing(shared, name).map(|()| None)
            }
            FileKind::Symlink | FileKind::Fifo | FileKind::CharDevice | FileKind::BlockDevice => {
                special::make(shared, self, name).map(|()| None)
            }
        }
    }

    /// Whether no pattern leaves it out.
    pub(crate) fn is_included(&self, shared: &Shared<'_>, name: &Name, kind: FileKind) -> bool {
        shared.trees.select.includes(
            &self.directory.root.patterns_above,
            || self.paths.relative(&self.directory),
            &name.name,
            kind == FileKind::Folder,
        )
    }

    /// A link that is followed is left out, but would not be if it led to no folder, or to one: what it leads to may
    /// have become what it is by this very copy, and then the rules say one thing first and another later.
    fn refuse_left_out_by_kind(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        kind: FileKind,
    ) -> Result<(), Problem> {
        let other = if kind == FileKind::Folder { FileKind::Regular } else { FileKind::Folder };
        if name.kind.is_some() || !self.is_included(shared, name, other) {
            return Ok(());
        }
        followed_links::refuse_written(shared, (&self.directory, &self.source), name)
    }

    /// Whether a name is none of those that are asked for, by its size or because nothing stands at the target.
    fn is_passed_by(&self, shared: &Shared<'_>, name: &Name) -> Result<bool, Problem> {
        if !shared.trees.rules.passes_some() || shared.settings.compares {
            return Ok(false);
        }
        let stands = self.there(&name.name)?.is_some();
        let passed = shared.trees.rules.passed_by(Some(&self.meta(name)?), stands);
        passed.inspect(|why| update_existing::tell_kept(shared, &self.entry(&name.name), why));
        Ok(passed.is_some())
    }

    fn leave_missing(&self, shared: &Shared<'_>, name: &Name) -> Result<(), Problem> {
        shared.ledger.leave_missing(self.meta(name)?.size_bytes);
        self.directory.root.fail();
        Ok(())
    }

    fn file(&self, shared: &Shared<'_>, waits: &mut Waits, name: &Name) -> Result<Option<Ready>, Problem> {
        // What may be right as it stands is not opened to find out.
        let there = self.there(&name.name)?;
        if let Some(stands) = there.as_ref().filter(|_| self.looked == Looked::NotYet) {
            match self.stays(shared, name, stands)? {
                Stays::Yes => return Ok(None),
                Stays::Perhaps => {
                    let there = self.open_there(&name.name)?;
                    return self.check(shared, waits, name, (there, Against::Target(None)));
                }
                Stays::No => {}
            }
        }
        if !shared.ledger.full.may_take(|| self.meta(name).map(|meta| meta.size_bytes))? {
            return self.leave_missing(shared, name).map(|()| None);
        }
        if let Some(older) = self.older_to_read(shared, name)? {
            return self.check(shared, waits, name, (older, Against::Older));
        }
        let (held, meta) = match shared.settings.options.dry_run {
            true => (None, self.meta(name)?),
            false => {
                self.open_file(shared, name, false).map(|(held, meta, look)| (Some((held, look)), meta))?
            }
        };
        let in_the_way = shared.trees.rules.decide(&meta, there.as_ref()) == Action::MakeWay;
        let replaces_folder = in_the_way && make_way::is_copied_first(shared, self, name, &meta);
        if in_the_way && !replaces_folder && !make_way::is_free(shared, self, name)? {
            return Ok(None);
        }
        let there = there.filter(|_| !in_the_way);
        let entry = self.entry(&name.name);
        let opened = held.as_ref().map(|(held, _)| held);
        let Met::First(links) = linking::meet(shared, &entry, &meta, opened)? else { return Ok(None) };
        let tree_file = TreeFile { entry, links, change: None, is_other_name: false, replaces_folder };
        match self.begin(shared, name, (held, meta), there.as_ref(), tree_file) {
            Ok(BegunFile::Task(task, how)) => return self.hand_on(shared, waits, task, how),
            Ok(BegunFile::Stands(entry, file)) => linking::stands(shared, &entry, links, file),
            Ok(BegunFile::Later) => {}
            Err(problem) => {
                linking::failed(shared, links);
                return Err(problem);
            }
        }
        Ok(None)
    }

    /// Links a file that is unchanged elsewhere, or opens its two ends; without a handle tells what would be done.
    fn begin(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        (held, meta): (Option<(Held, TimeLook)>, Meta),
        there: Option<&Meta>,
        tree_file: TreeFile,
    ) -> Result<BegunFile, Problem> {
        if self.may_link(shared)
            && let Some(file) = link_dest::link_unchanged(shared, &tree_file.entry, (name, &meta))?
        {
            return Ok(BegunFile::Stands(tree_file.entry, Some(file)));
        }
        let change = findings::change(shared, &self.directory, ChangeKind::Copy, name, &meta, there);
        let Some((held, look)) = held else {
            // Of a name that is free the look before has reported what the folder refuses.
            if let Some(target) = self.target.as_ref().filter(|_| there.is_some()) {
                let (above, path) = (&self.directory.traits.target_flags, self.target_path(&name.name));
                final_name::check_name((target, above), &name.name, &path)?;
            }
            shared.ledger.tell(change);
            return Ok(BegunFile::Stands(tree_file.entry, None));
        };
        if tree_file.links.is_none() && self.comes_later(shared, name, &meta) {
            return Ok(BegunFile::Later);
        }
        let before = if there.is_some() { Before::Anything } else { Before::Nothing };
        let tree_file = TreeFile { change, ..tree_file };
        self.prepare(shared, name, (held, meta, look), before, tree_file)
    }

    /// A large file waits while enough of them are open.
    fn comes_later(&self, shared: &Shared<'_>, name: &Name, meta: &Meta) -> bool {
        let large = meta.size_bytes > shared.settings.shape.request_bytes.into();
        if !large || !shared.plan.has_enough_open() {
            return false;
        }
        self.directory.hold();
        shared.ledger.watch.found(meta.size_bytes);
        let (directory, names) = (Arc::clone(&self.directory), vec![name.clone()]);
        shared.plan.add_later(Work::Batch(Batch { directory, names, looked: self.looked, walks: false }));
        true
    }

    /// Whether what stands at the target stays; if it does, all was done about it.
    fn stays(&self, shared: &Shared<'_>, name: &Name, there: &Meta) -> Result<Stays, Problem> {
        if !(shared.trees.rules.leaves_some() || self.continues()) {
            return Ok(Stays::No);
        }
        let (meta, entry) = (self.meta(name)?, self.entry(&name.name));
        if self.was_committed(name, &meta, there) {
            return update_existing::committed(shared, &entry, (&meta, there)).map(|()| Stays::Yes);
        }
        let action = match shared.trees.rules.decide(&meta, Some(there)) {
            action if doubts::doubts(shared, (&self.directory, &name.name), (action, &meta, there)) => {
                Action::Replace
            }
            Action::Leave(_) if self.hidden_differ(shared, name) => adjusted(&meta, there),
            action => match &self.target {
                Some(folder) => {
                    let (place, magic) = ((&**folder, &*name.name), || self.source.magic());
                    kept_times::compared(shared, place, (&meta, there), magic, action)
                }
                None => action,
            },
        };
        match action {
            Action::Leave(why) => {
                update_existing::left(shared, &entry, (&meta, there), why).map(|()| Stays::Yes)
            }
            Action::Keep(why) => {
                update_existing::kept(shared, &entry, &meta, why);
                Ok(Stays::Yes)
            }
            Action::Adjust => {
                let keep = &shared.settings.options.keep;
                shared.trees.opens_for_attributes.fetch_or(keep.acl || keep.xattrs, Ordering::Relaxed);
                update_existing::adjust(shared, (&entry, name), &meta, there).map(|()| Stays::Yes)
            }
            Action::Compare => Ok(Stays::Perhaps),
            _ => Ok(Stays::No),
        }
    }

    /// Whether a name's extended attributes or access control lists are not those at the target.
    pub(crate) fn hidden_differ(&self, shared: &Shared<'_>, name: &Name) -> bool {
        self.target.as_deref().is_some_and(|to| findings::hidden_differ(shared, &self.source, name, to))
    }

    fn continues(&self) -> bool {
        self.directory.root.journal().is_some_and(|journal| journal.continues)
    }

    fn was_committed(&self, name: &Name, source: &Meta, there: &Meta) -> bool {
        let journal = self.directory.root.journal();
        journal.is_some_and(|journal| journal.has(&self.directory.path_sum, &name.name, source, there))
    }

    /// Opens a regular file and takes its attributes from what is open. `is_whole`: its holes are read, too.
    pub(crate) fn open_file(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        is_whole: bool,
    ) -> Result<(Held, Meta, TimeLook), Problem> {
        let now_ns = tick::now_ns();
        // One that changed before is opened: what becomes longer while it is open can be compared with its copy.
        let small_bytes = shared.settings.shape.request_bytes;
        let bytes_max = if self.directory.was_missed(&name.name) { 0 } else { small_bytes };
        let small = SmallRead { bytes_max, is_whole, any_length: true };
        let path = self.source_path(&name.name);
        let (held, meta) = self.open_listed(shared, name, (&path, small))?;
        if meta.kind != FileKind::Regular {
            let words = "is no file any more; copy again when the source is quiet";
            return Err(Problem::new(Class::Changed, Operation::Open, &path, words));
        }
        let look = self.look(now_ns, &held, &meta);
        Ok((held, meta, look))
    }

    /// What the times of a file could tell that was looked at after this moment.
    pub(crate) fn look(&self, now_ns: i128, held: &Held, meta: &Meta) -> TimeLook {
        let above = &self.directory;
        match held {
            // What a link leads to may lie elsewhere.
            Held::Here(_) if meta.device != above.source.meta.device => TimeLook::new(now_ns, 0, meta),
            Held::Here(_) => TimeLook::new(now_ns, above.traits.source_magic, meta),
            Held::There(_) => TimeLook::elsewhere(),
        }
    }

    fn prepare(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        (held, meta, look): (Held, Meta, TimeLook),
        before: Before,
        tree_file: TreeFile,
    ) -> Result<BegunFile, Problem> {
        let (source_path, target_path) = (self.source_path(&name.name), self.target_path(&name.name));
        let traits = self.directory.traits;
        let ranges = sizes::ranges(shared, (&held, &meta), traits, &source_path)?;
        let small = meta.size_bytes <= u64::from(shared.settings.shape.request_bytes);
        let facts = Facts { whole_file: ranges.is_some(), ..self.facts(shared, &held, &meta, small) };
        let how = copy_method::decide(&facts, shared.settings.options);
        let watched = !traits.made_up;
        let (folder, found) = (self.source.folder(), (held, meta, look));
        let original = Original { folder, watched, ..Original::new(source_path.clone(), found) };
        let wish = resumed::wish(shared, Some(&original), how).filter(|_| !small);
        let way = (before, small, wish.as_ref());
        self.directory.root.list.begin(&shared.ledger, shared.settings.options, &shared.trees.devices);
        if small && !traits.fresh {
            let folder = || self.target.clone().map(Folder::Os);
            resumed::forget(shared, folder, (&name.name, &target_path));
        }
        let staged = self.stage(shared, (&name.name, &target_path), &original, way)?;
        let mut landing = OpenTarget::StagedFile(staged);
        let opened = Opened::file(original, ranges);
        // One call copies a small file, and shares its blocks where the file system can.
        let how = How { try_reflink: how.try_reflink && !small, ..how };
        let ends = open::ends(shared, (&source_path, &target_path), opened, how, &mut landing);
        let ends = ends.inspect_err(|problem| landing.give_up(shared, problem))?;
        let task = open::task(shared, (source_path, target_path), ends, landing.into_finish(), tree_file);
        Ok(BegunFile::Task(Arc::new(task), how))
    }

    pub(crate) fn facts(&self, shared: &Shared<'_>, held: &Held, meta: &Meta, small: bool) -> Facts {
        Facts {
            size_bytes: meta.size_bytes,
            // Small files are read where the cache is, cold or not.
            cached: match held {
                _ if small => Some(1.0),
                Held::Here(handle) => handle.cached_fraction(meta.size_bytes),
                Held::There(_) => None,
            },
            source_is_file: true,
            sink_is_file: true,
            bytes_are_looked_at: shared.settings.hashes || shared.settings.compares || held.here().is_none(),
            same_file_system: self.directory.traits.same_file_system,
            whole_file: !self.directory.traits.made_up,
            in_order: shared.settings.in_order.is_some(),
            synced_alone: shared.settings.options.sync == Sync::Each || meta.size_bytes >= SYNCED_MIN_BYTES,
        }
    }

    /// The new file; in a folder of this user that only its mode closes, too.
    fn stage(
        &self,
        shared: &Shared<'_>,
        names: (&OsStr, &Path),
        original: &Original,
        way: (Before, bool, Option<&ResumeRequest>),
    ) -> Result<StagedFile, Problem> {
        match self.staged(shared, names, original, way) {
            Err(problem) if problem.class == Class::Denied && self.directory.open_up() => {
                self.staged(shared, names, original, way)
            }
            staged => staged,
        }
    }

    /// Without a name where that can be had and the file is small, else under a temporary one.
    fn staged(
        &self,
        shared: &Shared<'_>,
        (name, path): (&OsStr, &Path),
        original: &Original,
        (before, small, wish): (Before, bool, Option<&ResumeRequest>),
    ) -> Result<StagedFile, Problem> {
        let target = self.target.as_ref().expect("files are made where there is a target");
        let folder = Folder::Os(Arc::clone(target));
        let keep = shared.settings.options.keep;
        let meta = &keep.given.of(&original.meta);
        let mode = meta.mode & 0o777 | WRITABLE;
        let device = || self.directory.target.as_ref().map(|target| target.meta.device);
        if let Some(takes) = shared.settings.in_order_on(device) {
            let names = (folder, name.to_owned(), path.to_path_buf());
            let beside = Beside { directory: &self.directory, source: meta };
            let stays_open =
                |existing: &Handle| confidential::cannot_be_closed(existing, Some(original), keep);
            return StagedFile::in_order(names, before, (takes, &stays_open), &beside);
        }
        // A name that replaces another is a temporary one for a moment.
        let keeps_names = self.directory.traits.append_only() && before == Before::Anything;
        if small
            && !keeps_names
            && let Some(staged) = StagedFile::unnamed(&folder, name, path, mode, before)?
        {
            return Ok(staged);
        }
        let names = (folder, name.to_owned(), path.to_path_buf());
        let siblings = Beside { directory: &self.directory, source: meta };
        match small && !self.directory.traits.append_only() {
            // One that cannot get its name has cost little.
            true => StagedFile::temporary(names, before, wish, &siblings),
            false => StagedFile::checked(names, before, wish, &siblings),
        }
    }

    /// A small file goes to this lane, a large one to those that move pieces, an empty one is done.
    pub(crate) fn hand_on(
        &self,
        shared: &Shared<'_>,
        waits: &mut Waits,
        task: Arc<Task>,
        how: How,
    ) -> Result<Option<Ready>, Problem> {
        self.directory.hold();
        if self.walks {
            let trips = if task.verify { 2 } else { 1 };
            let bytes = task.expected_bytes();
            shared.ledger.watch.found(if task.ranges().is_some() { bytes * trips } else { 0 });
        }
        shared.begin(&task);
        let bytes = task.expected_bytes();
        let way = BlockRoute::of(how.in_kernel);
        match task.ranges() {
            _ if bytes == 0 => finish::finish(shared, waits, task),
            Some(&[(at, end)]) if end - at <= shared.settings.shape.request_bytes.into() => {
                if task.may_bring_more() || shared.settings.options.delete {
                    task.count();
                    shared.plan.hold();
                }
                let extent = Extent { file: task.number, at, length: Length::Bytes(end - at), way };
                return Ok(Some((task, extent)));
            }
            ranges => {
                let ranges = ranges.map(<[_]>::to_vec);
                shared.put_up(task, ranges, way);
            }
        }
        Ok(None)
    }
}

/// How far a file came.
enum BegunFile {
    /// Its blocks are to be moved.
    Task(Arc<Task>, How),
    /// It stands already (the file), or only would be copied.
    Stands(TreeEntry, Option<FileId>),
    /// It is met once more.
    Later,
}

enum Stays {
    Yes,
    No,
    /// Its content tells.
    Perhaps,
}
