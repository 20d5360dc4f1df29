//! Opens a source and its target, decides which way the bytes take, and puts the file up for the lanes.
//!
//! Must not know: lanes, how blocks are moved, what happens when all have landed.

pub(crate) mod confidential;
pub(crate) mod copy_method;
pub(crate) mod direct;
pub(crate) mod existing;
mod file_end;
pub(crate) mod held;
pub(crate) mod opened;
pub(crate) mod reserve;
pub(crate) mod resumed;
pub(crate) mod sizes;
pub(crate) mod stripe;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::BlockRoute;
use datapump_core::verdict::Waits;
use datapump_engine::Handle;

use crate::end::{Sink, Source};
use crate::file::finish;
use crate::file::goal::goal;
use crate::file::hash::FileHash;
use crate::file::task::{Against, Finish, Parts, Task, TreeFile};
use crate::open::copy_method::facts::facts;
use crate::open::copy_method::{How, decide};
use crate::open::direct::direct;
use crate::open::existing::FileNext;
use crate::open::held::{Held, Original};
use crate::open::opened::Opened;
use crate::open::reserve::{rehearsed, reserve};
use crate::open::sizes::ranges_to;
use crate::open::stripe::target::OpenStripe;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::Shared;
use crate::setup::options::Choice;
use crate::target::items::neighbours::SingleFile;
use crate::target::other_names;
use crate::target::place::Place;
use crate::target::{Item, Target};
use crate::tree;
use datapump_files::commit::StagedFile;
use datapump_files::commit::compressed::Compression;
use datapump_files::devices::{device_bytes, open_device};
use datapump_files::disk::{Access, FileCalls, FileKind, PathAt, kind};
use datapump_files::holes::ByteRanges;
use datapump_files::holes::mapped;
use datapump_files::identity::tick::{self, TimeLook};
use datapump_files::{holes, stream};

/// A file of another host.
fn open_far(shared: &Shared<'_>, item: &Item, path: &Path) -> Result<Opened, Problem> {
    let remote_host = shared
        .remote_host
        .as_ref()
        .ok_or_else(|| Problem::usage("there is no session with the other host"))?;
    let held = shared.places_early.take_or_open(remote_host, item.number, path)?;
    let Some(meta) = held.told().map(|(meta, _)| *meta) else {
        let ranges = held.stream_bytes().map(|bytes| vec![(0, bytes)]);
        return Ok(Opened {
            elsewhere: held.remote_host().map(Source::RemoteHost),
            ranges,
            ..Opened::default()
        });
    };
    if !held.tells_ranges() {
        let words = "is made up by the kernel; such files are not copied between hosts: copy it to a file";
        return Err(Problem::new(Class::Io, Operation::Open, path, words));
    }
    let here = || Ok(held.ranges(&meta, shared.settings.options.tuning.ignore_holes));
    let ranges = ranges_to(shared, here, &meta, &item.target);
    let ranges = Some(ranges.map_err(|errno| Problem::system(Operation::ReadMap, path, errno.0))?);
    let held = Held::There(held);
    let original = Original::new(path.to_path_buf(), (held, meta, TimeLook::elsewhere()));
    let ordinary = meta.size_bytes > 0;
    Ok(Opened { ordinary, ..Opened::file(original, ranges) })
}

/// Opens an item and hands it to the plan, or reports why not.
pub(crate) fn open_item(shared: &Shared<'_>, waits: &mut Waits, item: &Item, next: FileNext) {
    match prepare(shared, item, next) {
        Ok((task, ranges, in_kernel)) => {
            let task = Arc::new(task);
            shared.begin(&task);
            match task.expected_bytes() {
                0 => finish::finish(shared, waits, task),
                _ => shared.put_up(task, ranges, BlockRoute::from_in_kernel(in_kernel)),
            }
        }
        // What cannot be opened because the run is stopping is not the file's fault.
        Err(_) if shared.stop.load(Ordering::Relaxed) => {}
        Err(problem) => {
            shared.ledger.report(problem);
            other_names::apart(shared, item);
        }
    }
}

type PreparedEnds = (Task, Option<ByteRanges>, bool);

fn prepare(shared: &Shared<'_>, item: &Item, next: FileNext) -> Result<PreparedEnds, Problem> {
    let mut opened = open_source(shared, item)?;
    if let Some(pieces) = shared.settings.pieces {
        opened.ranges = Some(pieces.to_vec());
    }
    let how = decide(&facts(shared, item, &opened), shared.settings.options);
    let mut landing = open_target(shared, item, &opened, how)?;
    let names = (name_of(&item.source), target_name(item));
    let ends = ends(shared, (&names.0, &names.1), opened, how, &mut landing);
    let Ends { source, sink, original, ranges } = ends.inspect_err(|why| landing.give_up(shared, why))?;
    let (finish, change) = match next {
        FileNext::Copy(change) => (landing.into_finish(), change),
        FileNext::Compare(item) => (Finish::Checked(Against::Target(Some(item))), None),
        FileNext::Stands(_) | FileNext::PassedBy => unreachable!("what is not copied is not opened"),
    };
    let copies = !matches!(finish, Finish::Checked(_));
    let hash = file_hash(shared, &finish, (&sink, original.as_ref()));
    let mut task = Task::new(Parts {
        number: shared.next_number(),
        names,
        goal: goal(shared, &finish, &source, None),
        source,
        sink,
        original,
        hash: hash.filter(|_| copies),
        verify: shared.settings.options.durability.verify && copies,
        finish,
        ranges: ranges.clone(),
        tree_file: None,
    });
    if shared.settings.pieces.is_some() {
        task.keep_length()?;
    }
    task.change = change;
    task.first_name = (copies && !item.other_names.is_empty()).then(|| Box::new(item.clone()));
    Ok((task, ranges, how.in_kernel))
}

/// A hash to be taken of a file. A verified file's hash shows where it is damaged. Where the source is unverified, and
/// what was written cannot be read yet, its hash alone shows what that is.
fn file_hash(
    shared: &Shared<'_>,
    finish: &Finish,
    (sink, original): (&Sink, Option<&Original>),
) -> Option<FileHash> {
    if shared.hashes_files() {
        return Some(if shared.settings.options.durability.verify {
            FileHash::marked()
        } else {
            FileHash::default()
        });
    }
    let is_in_order = matches!(finish, Finish::Commit(staged) if staged.is_in_order());
    let is_readable = !is_in_order && !matches!(sink, Sink::Stream(_));
    (!is_readable && original.is_some_and(|it| it.watched)).then(FileHash::default)
}

/// A file of a tree on its way.
pub(crate) fn task(
    shared: &Shared<'_>,
    names: (PathBuf, PathBuf),
    ends: Ends,
    finish: Finish,
    tree_file: TreeFile,
) -> Task {
    let Ends { source, sink, original, ranges } = ends;
    let copies = !matches!(finish, Finish::Nothing | Finish::Checked(_));
    let hash = file_hash(shared, &finish, (&sink, original.as_ref()));
    Task::new(Parts {
        number: shared.next_number(),
        names,
        goal: goal(shared, &finish, &source, Some(&tree_file)),
        source,
        sink,
        original,
        finish,
        hash: hash.filter(|_| copies),
        verify: shared.settings.options.durability.verify && copies,
        ranges,
        tree_file: Some(tree_file),
    })
}

/// The two ends: the target shares the source's blocks, or they are made to be copied.
pub(crate) fn ends(
    shared: &Shared<'_>,
    names: (&Path, &Path),
    opened: Opened,
    how: How,
    landing: &mut OpenTarget,
) -> Result<Ends, Problem> {
    let closed = match landing {
        OpenTarget::StagedFile(staged) => {
            let original = opened.original.as_ref().filter(|original| original.has_attributes());
            confidential::close(staged, original, shared.settings.options.attributes.keep)
        }
        _ => None,
    };
    if how.try_reflink && reflinked(shared, &opened, landing) {
        let (original, ranges) = (opened.original, Some(Vec::new()));
        return Ok(Ends { source: Source::Null, sink: Sink::Null, original, ranges });
    }
    shared.ledger.tally().in_kernel |= how.in_kernel;
    complete(shared, names, opened, how, landing).inspect_err(|_| {
        // Best effort on the way out: a copy that did not begin leaves the file as it was, or closed.
        let _ = closed.map(|closed| closed.undo());
    })
}

/// What the target is before its end is made of it.
pub(crate) enum OpenTarget {
    StagedFile(StagedFile),
    Device(PathAt, Arc<Handle>),
    Stripe(Arc<OpenStripe>),
    Stream(Arc<Handle>),
    Compare(Arc<Handle>),
    Null,
}

impl OpenTarget {
    pub(crate) fn into_finish(self) -> Finish {
        match self {
            OpenTarget::StagedFile(staged) => Finish::Commit(staged),
            OpenTarget::Device(_, handle) => Finish::Device(handle),
            OpenTarget::Stripe(stripe) => Finish::Stripe(stripe),
            OpenTarget::Stream(_) | OpenTarget::Compare(_) | OpenTarget::Null => Finish::Nothing,
        }
    }

    /// Its copy cannot begin. What an earlier run left stays for the next one, unless it takes room that is needed.
    pub(crate) fn give_up(&self, shared: &Shared<'_>, problem: &Problem) {
        match self {
            OpenTarget::StagedFile(staged)
                if staged.earlier().is_some() && problem.class != Class::NoSpace => {}
            OpenTarget::StagedFile(staged) => finish::discard(shared, staged),
            OpenTarget::Stripe(stripe) => stripe.give_up(),
            OpenTarget::Device(..) | OpenTarget::Stream(_) | OpenTarget::Compare(_) | OpenTarget::Null => {}
        }
    }

    fn compression(&self, shared: &Shared<'_>, opened: &Opened, how: How) -> Compression {
        match self {
            OpenTarget::StagedFile(staged) => reserve::compression(shared, staged, opened, how),
            _ => Compression::Never,
        }
    }

    fn handle(&self) -> Option<&Arc<Handle>> {
        match self {
            OpenTarget::StagedFile(staged) => Some(&staged.handle),
            OpenTarget::Device(_, handle) | OpenTarget::Stream(handle) | OpenTarget::Compare(handle) => {
                Some(handle)
            }
            OpenTarget::Stripe(_) | OpenTarget::Null => None,
        }
    }
}

fn name_of(place: &Place) -> PathBuf {
    match place {
        Place::Path(path) => path.clone(),
        Place::Remote(_) | Place::Web(_) | Place::Stripe(_) => PathBuf::from(place.to_string()),
        Place::Stream => PathBuf::from("standard input"),
        Place::Null { .. } => PathBuf::from("null:"),
    }
}

fn target_name(item: &Item) -> PathBuf {
    let path = item.target.path().map(Path::to_path_buf);
    path.unwrap_or_else(|| if item.target_is_stream() { "standard output" } else { "null:" }.into())
}

fn open_source(shared: &Shared<'_>, item: &Item) -> Result<Opened, Problem> {
    let nothing = Opened::default();
    match (&item.source, &item.meta) {
        (Place::Null { bytes, .. }, _) => {
            Ok(Opened { ranges: Some(vec![(0, bytes.unwrap_or(0))]), ..nothing })
        }
        (Place::Stream, _) => Ok(Opened { handle: Some(Arc::new(stream::standard_input()?)), ..nothing }),
        (Place::Path(path), Some(meta)) if meta.kind == FileKind::Fifo => {
            let handle = stream::open_fifo(path, &shared.stop)?;
            Ok(Opened { handle: Some(Arc::new(handle)), ..nothing })
        }
        (Place::Path(path), _) => open_path(shared, path, &item.target),
        (Place::Remote(remote), _) => open_far(shared, item, &remote.path),
        (Place::Web(web), _) => web::open(shared, web),
        (Place::Stripe(place), _) => {
            let (opened, held) = stripe::open(shared, place)?;
            Ok(Opened { stripe: Some(held), ..opened })
        }
    }
}

fn open_path(shared: &Shared<'_>, path: &Path, target: &Target) -> Result<Opened, Problem> {
    let system = |errno: datapump_engine::Errno| Problem::system(Operation::Open, path, errno.0);
    let handle = Arc::new(shared.settings.platform.disk.open(path, Access::Read).map_err(system)?);
    let now_ns = tick::now_ns();
    let meta = handle.meta().map_err(system)?;
    let mut meta = mapped::believed(&handle, meta, &shared.stop).map_err(system)?;
    if meta.kind == FileKind::BlockDevice {
        // stat(2) says 0.
        meta.size_bytes = device_bytes(&handle, path)?;
    }
    let magic = handle.room().magic;
    let made_up = kind::is_made_up(magic);
    let goes_on = made_up
        || meta.size_bytes == 0
        || datapump_files::holes::sizes::goes_on(&handle, &meta, magic).map_err(system)?;
    let (ranges, is_file) = match meta.kind {
        FileKind::BlockDevice => (Some(vec![(0, meta.size_bytes)]), true),
        FileKind::Regular if goes_on => (None, true),
        FileKind::Regular => {
            let here =
                || holes::ranges(&handle, &meta, shared.settings.options.tuning.ignore_holes, &shared.stop);
            (Some(ranges_to(shared, here, &meta, target).map_err(system)?), true)
        }
        FileKind::CharDevice | FileKind::Fifo => (None, false),
        FileKind::Folder | FileKind::Socket | FileKind::Symlink => {
            return Err(Problem::new(Class::Changed, Operation::Open, path, "is no file any more"));
        }
    };
    // The map of holes may have synced the source, which changes nothing that is watched.
    let watched = meta.kind == FileKind::Regular && !made_up;
    let held = Held::Here(Arc::clone(&handle));
    let look = TimeLook::new(now_ns, magic, &meta);
    let original = Original { watched, ..Original::new(path.to_path_buf(), (held, meta, look)) };
    let ordinary = watched && ranges.is_some();
    Ok(Opened {
        handle: Some(handle),
        original: Some(original),
        ranges,
        is_file,
        ordinary,
        ..Opened::default()
    })
}

fn open_target(shared: &Shared<'_>, item: &Item, opened: &Opened, how: How) -> Result<OpenTarget, Problem> {
    let given = shared.settings.options.attributes.keep.given;
    let meta = opened.original.as_ref().map(|original| given.of(&original.meta));
    let siblings = SingleFile::new(&item.source, meta, shared.settings.platform.is_simulated());
    match &item.target {
        Target::Null => Ok(OpenTarget::Null),
        Target::Stream => Ok(OpenTarget::Stream(Arc::new(stream::standard_output()?))),
        // What a device or a pipe took stays there.
        Target::Special(at) | Target::Device(at)
            if shared.settings.options.measuring.rehearsal_bytes.is_some() =>
        {
            Err(Problem::new(Class::Usage, Operation::Rehearse, &at.path, "is no file"))
        }
        Target::Special(at) => {
            stream::open_special(at, &shared.stop).map(|handle| OpenTarget::Stream(Arc::new(handle)))
        }
        Target::File(at) if shared.settings.options.measuring.rehearsal_bytes.is_some() => {
            StagedFile::rehearsed(at).map(OpenTarget::StagedFile)
        }
        Target::Tree(at) => {
            Err(Problem::new(Class::Changed, Operation::Open, &at.path, "the source is no folder any more"))
        }
        Target::Entry(_) => unreachable!("what is not read is not opened"),
        Target::File(at) if let Some(takes) = confidential::in_order_at(shared, at) => {
            let original = opened.original.as_ref();
            confidential::in_order(shared, (at, takes), original, &siblings).map(OpenTarget::StagedFile)
        }
        Target::File(at) if shared.settings.options.durability.inplace => {
            let original = opened.original.as_ref();
            confidential::in_place(shared, at, original, &siblings).map(OpenTarget::StagedFile)
        }
        Target::File(at) => {
            let wish = resumed::wish(shared, opened.original.as_ref(), how);
            StagedFile::replacing(at, wish.as_ref(), &siblings).map(OpenTarget::StagedFile)
        }
        Target::Compare(at) => {
            let handle = open_at(at, Access::Read)?;
            if shared.settings.compares {
                tree::rules::verify::compare_attributes::of_files(shared, opened, &handle, &at.path)?;
            }
            Ok(OpenTarget::Compare(Arc::new(handle)))
        }
        Target::Stripe(stripe) => {
            let stripe = OpenStripe::open(stripe, meta.as_ref(), opened.length_bytes())?;
            Ok(OpenTarget::Stripe(Arc::new(stripe)))
        }
        Target::Device(at) => {
            let handle = open_device(at, opened.length_bytes().unwrap_or(0))?;
            Ok(OpenTarget::Device(at.clone(), Arc::new(handle)))
        }
    }
}

fn open_at(at: &PathAt, access: Access) -> Result<Handle, Problem> {
    at.open(access).map_err(|errno| Problem::system(Operation::Open, &at.path, errno.0))
}

/// Tries to share the source's blocks: then nothing is left to move.
fn reflinked(shared: &Shared<'_>, opened: &Opened, landing: &OpenTarget) -> bool {
    let (Some(from), OpenTarget::StagedFile(staged)) = (&opened.handle, landing) else { return false };
    match staged.handle.reflink_from(from) {
        Ok(()) => {
            shared.ledger.note_reflink("always", "the file system shares blocks");
            true
        }
        Err(errno) => {
            shared.ledger.note_reflink("never", &crate::problem::system_words(errno.0));
            false
        }
    }
}

/// The two ends of a file that is open and has its room.
pub(crate) struct Ends {
    source: Source,
    sink: Sink,
    /// The source as it was.
    original: Option<Original>,
    /// The ranges to move; `None` until the end of data.
    ranges: Option<ByteRanges>,
}

/// Makes the two ends: direct or not, reserved.
fn complete(
    shared: &Shared<'_>,
    (source_name, name): (&Path, &Path),
    opened: Opened,
    how: How,
    landing: &mut OpenTarget,
) -> Result<Ends, Problem> {
    if shared.settings.options.tuning.reflink == Choice::Always {
        let message = "its blocks cannot be shared there; leave out --reflink=always to copy them";
        return Err(Problem::new(Class::Io, Operation::Reflink, name, message));
    }
    let compression = landing.compression(shared, &opened, how);
    let how = reserve::compressible(shared, how, compression);
    // A direct read cannot tell less than one unit from the end, which alone ends such a file.
    let ends = opened.ranges.is_some();
    let mut source_direct =
        how.source_direct && ends && direct(shared, opened.handle.as_deref(), source_name)?;
    let mut sink_direct = how.sink_direct && direct(shared, landing.handle().map(|handle| &**handle), name)?;
    let (mut from_stripe, mut to_stripe) = (None, None);
    if let Some(held) = &opened.stripe {
        let (source, is_direct) = held.end(shared, how.source_direct)?;
        (from_stripe, source_direct) = (Some(source), is_direct);
    }
    if let OpenTarget::Stripe(open) = landing {
        let (sink, is_direct) = stripe::sink(shared, open, how)?;
        (to_stripe, sink_direct) = (Some(sink), is_direct);
        reserve::of_stripe(shared, open, opened.ranges.as_deref())?;
    }
    shared.ledger.note_direct(source_direct, sink_direct, how.why);
    shared.ledger.note(|| format!("'{}' -> '{}': {}", shown_path(source_name), shown_path(name), how.why));
    let source = match (from_stripe.or(opened.elsewhere), opened.handle, opened.is_file) {
        (Some(elsewhere), ..) if takes_sums(shared, &elsewhere, landing) => elsewhere.in_sums(),
        (Some(elsewhere), ..) => elsewhere,
        (None, None, _) => Source::Null,
        (None, Some(handle), true) => Source::File(file_end::of_source(shared, handle, source_direct)),
        (None, Some(handle), false) => Source::Stream(handle),
    };
    let sink = match landing {
        OpenTarget::Stripe(_) => to_stripe.expect("it was made above"),
        OpenTarget::Null => Sink::Null,
        OpenTarget::Stream(handle) => Sink::Stream(Arc::clone(handle)),
        OpenTarget::Compare(handle) => {
            Sink::Compare(file_end::of_source(shared, Arc::clone(handle), sink_direct))
        }
        OpenTarget::StagedFile(staged) => Sink::File(file_end::of_staged(shared, staged, sink_direct)),
        OpenTarget::Device(at, handle) => {
            let buffered = Arc::new(open_at(at, Access::Write)?);
            Sink::File(file_end::of_device(shared, Arc::clone(handle), buffered, sink_direct))
        }
    };
    let (mut original, mut ranges) = (opened.original, rehearsed(shared, opened.ranges));
    if let (OpenTarget::StagedFile(staged), Some(ranges)) = (landing, &mut ranges) {
        resumed::go_on(shared, (staged, name), original.as_mut(), ranges);
        let meta = original.as_ref().map(|original| &original.meta);
        reserve(shared, staged, ranges, (meta, sink.skips_zeros()), compression)?;
        if let Some(wish) = resumed::wish(shared, original.as_ref(), How { sink_direct, ..how }) {
            staged.keep_journal(&wish);
        }
    }
    Ok(Ends { source, sink, original, ranges })
}

/// Files are compared by digests of the source's blocks, which the other host computes in any case.
fn takes_sums(shared: &Shared<'_>, source: &Source, landing: &OpenTarget) -> bool {
    let has_sums = !source.is_remote_stream() && shared.compares_by_sums();
    has_sums && matches!(landing, OpenTarget::Compare(_))
}
