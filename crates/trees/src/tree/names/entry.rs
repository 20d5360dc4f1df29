//! Files of a batch that are copied: opened, staged and handed on. Blocks of a small file go to the lane that opened it; a
//! large one is left to the lanes that move pieces.
//!
//! Must not know: how folders are listed and finished, how blocks are moved.

use std::path::Path;
use std::sync::Arc;

use datapump_core::verdict::Waits;
use datapump_core::{BlockRoute, Extent, Length};

use crate::file::finish;
use crate::file::task::Task;
use crate::folder::directory::{Batch, Beside, Traits};

use crate::open::copy_method::{self, Facts, How};
use crate::open::elsewhere::report_opened;
use crate::open::held::{Held, Original};
use crate::open::opened::Opened;
use crate::open::{self, OpenTarget, confidential, resumed, sizes};
use crate::origin::SmallRead;
use crate::problem::{Class, Operation, Problem};
use crate::run::owner::Ready;
use crate::run::plan::FilePlan;
use crate::setup::options::Sync;
use crate::tree::batch::cursor::BatchName;
use crate::tree::state::tree_file::{OpenedFile, TreeFile};
use crate::tree::{Work, findings};
use datapump_engine::{Errno, Handle};
use datapump_files::commit::{Before, FinalName, StagedFile};
use datapump_files::disk::{FileCalls, FileKind, Folder, Meta, kind, names};
use datapump_files::holes::ByteRanges;
use datapump_files::identity::tick::{self, TimeLook};
use datapump_files::resume::ResumeRequest;

/// From this size on a file is written past the cache: LIMITS §2, and the last sync then finds little to do.
const SYNCED_MIN_BYTES: u64 = 4 << 20;

/// A file must let its owner write to get extended attributes: xattr(7). Most modes do, and are right from the start.
const WRITABLE: u32 = 0o600;

/// How a new file is started.
#[derive(Clone, Copy)]
struct Staging<'run> {
    before: Before,
    is_small: bool,
    resumes: Option<&'run ResumeRequest>,
}

impl BatchName<'_> {
    /// Whether no pattern leaves it out.
    pub(crate) fn is_included(self, kind: FileKind) -> bool {
        self.shared.trees.select.includes(
            &self.directory().root.patterns_above,
            || self.relative(),
            &self.name.name,
            kind == FileKind::Folder,
        )
    }

    /// A link that is followed is left out, but would not be if it led to no folder, or to one: what it leads to may
    /// have become what it is by this very copy, and then the rules say one thing first and another later.
    pub(super) fn check_excluded_link(self, kind: FileKind) -> Result<(), Problem> {
        let other = if kind == FileKind::Folder { FileKind::Regular } else { FileKind::Folder };
        if self.name.kind.is_some() || !self.is_included(other) {
            return Ok(());
        }
        self.check_followed(true)
    }

    pub(super) fn leave_missing(self) -> Result<(), Problem> {
        self.shared.ledger.leave_missing(self.source_meta()?.size_bytes);
        self.directory().root.fail();
        Ok(())
    }

    /// Defers a large file while enough of them are open; true if it did.
    pub(super) fn defer_large(self, meta: &Meta) -> bool {
        let large = meta.size_bytes > self.shared.settings.shape.request_bytes.into();
        if !large || !self.shared.plan.has_enough_open() {
            return false;
        }
        self.directory().hold();
        if self.cursor.walks || !self.directory().root.is_named() {
            self.shared.ledger.watch.found(meta.size_bytes);
        }
        let batch = Batch::new(self.directory(), vec![self.name.clone()], false);
        self.shared.plan.add_later(Work::Batch(Batch { read: self.cursor.read, ..batch }));
        true
    }

    /// Whether a name's extended attributes or access control lists are not those at the target.
    pub(crate) fn hidden_differ(self) -> bool {
        self.cursor
            .target
            .as_deref()
            .is_some_and(|to| findings::hidden_differ(self.shared, &self.cursor.source, self.name, to))
    }

    /// Opens a regular file and takes its attributes from what is open. `is_whole`: its holes are read, too.
    pub(crate) fn open_file(self, is_whole: bool) -> Result<OpenedFile, Problem> {
        let now_ns = tick::now_ns();
        // One that changed before is opened: what becomes longer while it is open can be compared with its copy.
        let small_bytes = self.shared.settings.shape.request_bytes;
        let bytes_max = if self.directory().was_missed(&self.name.name) { 0 } else { small_bytes };
        let small = SmallRead { bytes_max, is_whole, any_length: true };
        let path = self.source_path();
        let (held, meta) = self.open_listed(&path, small)?;
        if meta.kind != FileKind::Regular {
            let words = "is no file any more; copy again when the source is quiet";
            return Err(Problem::new(Class::Changed, Operation::Open, &path, words));
        }
        let look = self.look(now_ns, &held, &meta);
        held.elsewhere().inspect(|file| report_opened(self.shared, &***file));
        Ok(OpenedFile { held, meta, look })
    }

    /// What the times of a file could tell that was looked at after this moment.
    pub(crate) fn look(self, now_ns: i128, held: &Held, meta: &Meta) -> TimeLook {
        let above = self.directory();
        match held {
            // What a link leads to may lie elsewhere.
            Held::Here(_) if meta.device != above.source.meta.device => TimeLook::new(now_ns, 0, meta),
            Held::Here(_) => TimeLook::new(now_ns, above.traits.source_magic, meta),
            Held::There(_) => TimeLook::elsewhere(),
        }
    }

    /// Makes the task of an open file: finds its ranges and the copy method, and stages its target.
    pub(super) fn prepare_task(
        self,
        OpenedFile { held, meta, look }: OpenedFile,
        before: Before,
        tree_file: TreeFile,
    ) -> Result<(Arc<Task>, How), Problem> {
        let (source_path, target_path) = (self.source_path(), self.target_path());
        let traits = self.traits_of(&held, &meta);
        let ranges = if traits.made_up {
            None
        } else {
            sizes::data_ranges(self.shared, &held, &meta, traits.source_magic, &source_path)?
        };
        let ranges = match self.shared.settings.pieces {
            Some(pieces) => Some(pieces.to_vec()),
            None => ranges.map(|ranges| self.ranges_to_write(ranges, &meta)),
        };
        let small = meta.size_bytes <= u64::from(self.shared.settings.shape.request_bytes);
        let facts = Facts { whole_file: ranges.is_some(), ..self.copy_facts(&held, &meta, small) };
        let how = copy_method::decide(&facts, self.shared.settings.options);
        let watched = !traits.made_up && !held.is_read_once();
        let folder = self.cursor.source.folder_of(&self.name.name);
        let original = Original::new(source_path.clone(), held, meta, look).with_lasting_time();
        let original = Original { folder, watched, ..original };
        let request = resumed::resume_request(self.shared, Some(&original), how).filter(|_| !small);
        let staging = Staging { before, is_small: small, resumes: request.as_ref() };
        self.directory().root.list.begin(
            &self.shared.ledger,
            self.shared.settings.options,
            &self.shared.trees.devices,
        );
        if small && !traits.fresh {
            let folder = || self.cursor.target.clone().map(Folder::Os);
            resumed::forget(self.shared, folder, &self.name.name, &target_path);
        }
        let stage = || self.stage_file(&target_path, &original, staging);
        // In a folder of this user that only its mode closes, too.
        let mut landing = OpenTarget::StagedFile(self.directory().in_opened(stage)?);
        let opened = Opened::from_original(original, ranges);
        // One call copies a small file of a tree, and shares its blocks where the file system can.
        let shares = !small || self.directory().root.is_named();
        let how = How { try_reflink: how.try_reflink && shares, ..how };
        let ends = open::make_ends(self.shared, &source_path, &target_path, opened, how, &mut landing);
        let ends = ends.inspect_err(|problem| landing.give_up(self.shared, problem))?;
        let (finish, owned) = (landing.into_finish(), tree_file.into_owned());
        let task = open::make_task(self.shared, (source_path, target_path), ends, finish, owned);
        if self.shared.settings.pieces.is_some() {
            task.keep_length()?;
        }
        Ok((Arc::new(task), how))
    }

    /// The ranges of the source, and those that an existing file has where it is written in place.
    fn ranges_to_write(self, ranges: ByteRanges, meta: &Meta) -> ByteRanges {
        if !self.is_in_place() {
            return ranges;
        }
        let existing = self.target().ok().map(|target| names::open_source(target, &self.name.name, true));
        match existing {
            None | Some(Err(Errno::ENOENT)) => ranges,
            Some(existing) => sizes::with_existing(self.shared, ranges, existing.map(Handle::Os).ok(), meta),
        }
    }

    /// What holds for the files of the folder, or for one that a link leads to elsewhere.
    pub(super) fn traits_of(self, held: &Held, meta: &Meta) -> Traits {
        let traits = self.directory().traits;
        let Held::Here(handle) = held else { return traits };
        if meta.device == self.directory().source.meta.device {
            return traits;
        }
        let magic = handle.room().magic;
        let target = self.directory().target.as_ref().map(|target| target.meta.device);
        Traits {
            made_up: kind::is_made_up(magic),
            source_magic: magic,
            same_file_system: target == Some(meta.device),
            ..traits
        }
    }

    /// The facts by which the copy method of a file is chosen.
    pub(crate) fn copy_facts(self, held: &Held, meta: &Meta, small: bool) -> Facts {
        let traits = self.traits_of(held, meta);
        Facts {
            size_bytes: meta.size_bytes,
            // Small files are read where the cache is, cold or not.
            cached: match held {
                _ if small => Some(1.0),
                Held::Here(handle) => handle.cached_fraction(meta.size_bytes),
                Held::There(file) => file.cached_fraction(),
            },
            source_is_file: !held.is_read_once(),
            sink_is_file: true,
            bytes_are_looked_at: self.shared.settings.hashes
                || self.shared.settings.compares
                || held.here().is_none(),
            same_file_system: traits.same_file_system,
            whole_file: !traits.made_up && !held.is_read_once(),
            in_order: self.shared.settings.in_order.is_some(),
            synced_alone: self.shared.settings.options.durability.sync == Sync::Each
                || meta.size_bytes >= SYNCED_MIN_BYTES,
        }
    }

    /// The new file, without a name where that can be had and the file is small, else under a temporary one.
    fn stage_file(
        self,
        path: &Path,
        original: &Original,
        Staging { before, is_small, resumes }: Staging<'_>,
    ) -> Result<StagedFile, Problem> {
        let target = self.cursor.target.as_ref().expect("files are made where there is a target");
        let name = &self.name.name;
        let folder = Folder::Os(Arc::clone(target));
        let keep = self.shared.settings.options.attributes.keep;
        let meta = &keep.given.of(&original.meta);
        let mode = meta.mode & 0o777 | WRITABLE;
        let siblings = Beside { directory: self.directory(), source: meta };
        let device = || self.directory().target.as_ref().map(|target| target.meta.device);
        let exists = || names::metadata(target, name).is_ok();
        if let Some(takes) = confidential::needed_order(self.shared, device, exists) {
            let at = FinalName { folder, name: name.clone(), path: path.to_path_buf() };
            return confidential::stage_in_order(self.shared, at, before, takes, Some(original), &siblings);
        }
        // Another pump that copies to the name that the user gave finds the temporary file and leaves it alone; what
        // takes the name meanwhile is replaced.
        if self.directory().root.is_named() {
            let at = FinalName { folder, name: name.clone(), path: path.to_path_buf() };
            return if self.shared.settings.options.durability.inplace {
                confidential::open_in_place(self.shared, at, Some(original), &siblings)
            } else {
                StagedFile::checked(at, Before::Anything, resumes, &siblings)
            };
        }
        // A name that replaces another is a temporary one for a moment.
        let keeps_names = self.directory().traits.append_only() && before == Before::Anything;
        if is_small
            && !keeps_names
            && let Some(staged) = StagedFile::unnamed(&folder, name, path, mode, before)?
        {
            return Ok(staged);
        }
        let at = FinalName { folder, name: name.clone(), path: path.to_path_buf() };
        if is_small && !self.directory().traits.append_only() {
            // One that cannot get its name has cost little.
            StagedFile::temporary(at, before, resumes, &siblings)
        } else {
            StagedFile::checked(at, before, resumes, &siblings)
        }
    }

    /// Hands on a task: a small file to this lane, a large one to those that move pieces; an empty one is done.
    pub(crate) fn hand_on(
        self,
        waits: &mut Waits,
        task: Arc<Task>,
        how: How,
    ) -> Result<Option<Ready>, Problem> {
        self.directory().hold();
        if self.cursor.walks {
            let trips = if task.verify { 2 } else { 1 };
            let bytes = task.expected_bytes();
            self.shared.ledger.watch.found(if task.ranges().is_some() { bytes * trips } else { 0 });
        }
        self.shared.begin(&task);
        let bytes = task.expected_bytes();
        let way = BlockRoute::from_in_kernel(how.in_kernel);
        match task.ranges() {
            _ if bytes == 0 => finish::finish(self.shared, waits, task),
            Some(&[(at, end)]) if end - at <= self.shared.settings.shape.request_bytes.into() => {
                if task.may_bring_more() || self.shared.settings.options.deletion.delete {
                    task.count();
                    self.shared.plan.hold();
                }
                let extent = Extent { file: task.number, at, length: Length::Bytes(end - at), way };
                return Ok(Some((task, extent)));
            }
            ranges => {
                let ranges = ranges.map(<[_]>::to_vec);
                self.shared.plan.enqueue(task, ranges, way);
            }
        }
        Ok(None)
    }
}
