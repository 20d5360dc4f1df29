//! Opens a source that the user named and its target, and hands the file to the plan.
//!
//! Must not know: which way the bytes take, how blocks are moved, what happens when all have landed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::BlockRoute;
use datapump_core::verdict::Waits;
use datapump_core::wire::bounds::COUNT_MAX;

use crate::end::Source;
use crate::file::finish;
use crate::file::owned::Owned;
use crate::file::task::Task;
use crate::open::copy_method::{Facts, How, decide};
use crate::open::elsewhere::{MADE_UP, SourceOpener, report_opened};
use crate::open::held::{BytesFrom, Elsewhere, Held, Original};
use crate::open::opened::Opened;
use crate::open::sizes::ranges_of;
use crate::open::stripe::target::OpenStripe;
use crate::open::{self, OpenTarget, confidential, make_ends, open_at, resumed};
use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::report::change::Change;
use crate::run::MoverRun;
use crate::run::plan::FilePlan;
use crate::targets::items::neighbours::SingleFile;
use crate::targets::{Item, Target};
use crate::tree;
use crate::tree::Shared;
use crate::tree::state::tree_file::NamedFile;
use datapump_engine::Errno;
use datapump_files::commit::temporary::Siblings;
use datapump_files::commit::{Before, FinalName, StagedFile};
use datapump_files::devices::{device_bytes, open_device};
use datapump_files::disk::{Access, FileCalls, FileKind, Meta, Outcome, PathAt, kind};
use datapump_files::holes::{ByteRanges, mapped};
use datapump_files::identity::tick::{self, TimeLook};
use datapump_files::{holes, stream};

/// Opens an item and hands it to the plan, or reports why not. `change`: what to report when it is done.
pub(crate) fn open_item(shared: &Shared<'_>, waits: &mut Waits, item: &Item, change: Option<Box<Change>>) {
    match open_ends(shared, item, change) {
        Ok((task, ranges, in_kernel)) => {
            let task = Arc::new(task);
            shared.begin(&task);
            match task.expected_bytes() {
                0 => finish::finish(shared, waits, task),
                _ => shared.plan.enqueue(task, ranges, BlockRoute::from_in_kernel(in_kernel)),
            }
        }
        // What cannot be opened because the run is stopping is not the file's fault.
        Err(_) if shared.stop.load(Ordering::Relaxed) => {}
        Err(problem) => shared.ledger.report(problem),
    }
}

type PreparedEnds = (Task, Option<ByteRanges>, bool);

/// Opens source and target of an item and makes its task. On an error a target that was staged is given up.
fn open_ends(shared: &Shared<'_>, item: &Item, change: Option<Box<Change>>) -> Result<PreparedEnds, Problem> {
    let mut opened = open_source(shared, item)?;
    if let Some(pieces) = shared.settings.pieces {
        opened.ranges = Some(pieces.to_vec());
    }
    let how = decide(&copy_facts(shared, item, &opened), shared.settings.options);
    let mut landing = open_target(shared, item, &opened, how)?;
    let names = (shown_source(&item.source), target_name(item));
    let ends = make_ends(shared, &names.0, &names.1, opened, how, &mut landing);
    let ends = ends.inspect_err(|why| landing.give_up(shared, why))?;
    let (ranges, owned) =
        (ends.ranges.clone(), Owned { tree: None, kept: Some(Box::new(NamedFile { change })) });
    let task = open::make_task(shared, names, ends, landing.into_finish(), owned);
    if shared.settings.pieces.is_some() {
        task.keep_length()?;
    }
    Ok((task, ranges, how.in_kernel))
}

/// The name of a source in messages.
fn shown_source(place: &Place) -> PathBuf {
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

/// Opens the source of an item, whatever it is: null, a stream, a pipe, a path or a place of another host.
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
        (Place::Remote(remote), _) => {
            let no_session = || Problem::usage("there is no session with the other host");
            let host = shared.remote_host.as_ref().ok_or_else(no_session)?;
            let held = Arc::clone(host).open_place(item.number, &remote.path)?;
            open_elsewhere(shared, held, &remote.path, &item.target)
        }
        (Place::Web(_) | Place::Stripe(_), _) => {
            let held = SourceOpener::new(shared).open(&item.source)?;
            open_elsewhere(shared, held, &shown_source(&item.source), &item.target)
        }
    }
}

/// A source that this host's system has not opened, as it is read from start to end.
fn open_elsewhere(
    run: &MoverRun<'_>,
    held: Arc<dyn Elsewhere>,
    path: &Path,
    target: &Target,
) -> Result<Opened, Problem> {
    report_opened(run, &*held);
    let reported = held.reported().map(|(meta, _)| *meta);
    let original = |meta: Meta| {
        let (there, look) = (Held::There(Arc::clone(&held)), TimeLook::elsewhere());
        Original { watched: !held.is_read_once(), ..Original::new(path.to_path_buf(), there, meta, look) }
    };
    let Some(meta) = reported.filter(|_| !held.is_read_once()) else {
        let ranges = held.stream_bytes().map(|bytes| vec![(0, bytes)]);
        let original = reported.filter(|_| held.has_attributes()).map(original);
        let elsewhere = match Arc::clone(&held).bytes_from() {
            BytesFrom::RemoteHost(file) => Some(Source::RemoteHost(file)),
            BytesFrom::Web(file) => Some(Source::Web(file)),
            BytesFrom::Stripe(_) => None,
        };
        return Ok(Opened { elsewhere, ranges, original, ..Opened::default() });
    };
    if !held.tells_ranges() {
        return Err(Problem::new(Class::Io, Operation::Open, path, MADE_UP));
    }
    let own = || Ok(held.ranges(&meta, run.settings.options.tuning.ignore_holes));
    let ranges = ranges_to(run, own, &meta, target);
    let ranges = ranges.map_err(|errno| Problem::system(Operation::ReadMap, path, errno.0))?;
    Ok(Opened { ordinary: meta.size_bytes > 0, ..Opened::from_original(original(meta), Some(ranges)) })
}

/// Opens a file or device of this host, and finds the ranges to move.
fn open_path(run: &MoverRun<'_>, path: &Path, target: &Target) -> Result<Opened, Problem> {
    let system = |errno: datapump_engine::Errno| Problem::system(Operation::Open, path, errno.0);
    let handle = Arc::new(run.settings.platform.disk.open(path, Access::Read).map_err(system)?);
    let now_ns = tick::now_ns();
    let meta = handle.meta().map_err(system)?;
    let mut meta = mapped::believed(&handle, meta, &run.stop).map_err(system)?;
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
            let here = || holes::ranges(&handle, &meta, run.settings.options.tuning.ignore_holes, &run.stop);
            (Some(ranges_to(run, here, &meta, target).map_err(system)?), true)
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
    let original = Original { watched, ..Original::new(path.to_path_buf(), held, meta, look) };
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

/// The ranges to move. A hole may be left out where nothing stands yet, or where the other file has one too.
fn ranges_to(
    run: &MoverRun<'_>,
    here: impl FnOnce() -> Outcome<ByteRanges>,
    meta: &Meta,
    target: &Target,
) -> Outcome<ByteRanges> {
    let other = |at: &PathAt, same_size| match at.open(Access::Read) {
        Err(Errno::ENOENT) => Some(Vec::new()),
        other => ranges_of(run, other.ok(), meta, same_size),
    };
    let there = match target {
        Target::File(_) if !run.settings.options.durability.inplace => return here(),
        Target::File(at) => other(at, false),
        Target::Compare(at) => other(at, true),
        Target::Special(_)
        | Target::Device(_)
        | Target::Stripe(_)
        | Target::Tree(_)
        | Target::Entry(_)
        | Target::Stream
        | Target::Null => None,
    };
    match there {
        Some(there) => Ok(holes::union(here()?, there, meta.size_bytes)),
        None => Ok(vec![(0, meta.size_bytes)]),
    }
}

/// Opens or stages the target of an item. A device or a pipe cannot be rehearsed.
fn open_target(shared: &Shared<'_>, item: &Item, opened: &Opened, how: How) -> Result<OpenTarget, Problem> {
    let given = shared.settings.options.attributes.keep.given;
    let meta = opened.original.as_ref().map(|original| given.of(&original.meta));
    let siblings = SingleFile::new(&item.source, meta, shared.settings.platform.is_simulated());
    let is_rehearsed = shared.settings.options.measuring.rehearsal_bytes.is_some();
    // A caller on another host bounds the sum of its rehearsals by this.
    let set_free = |bytes| shared.ledger.tally().done.rehearsal_free_bytes = bytes;
    match &item.target {
        Target::Null => {
            set_free(is_rehearsed.then_some(COUNT_MAX));
            Ok(OpenTarget::Null)
        }
        Target::Stream => Ok(OpenTarget::Stream(Arc::new(stream::standard_output()?))),
        // What a device or a pipe took stays there.
        Target::Special(at) | Target::Device(at) if is_rehearsed => {
            Err(Problem::new(Class::Usage, Operation::Rehearse, &at.path, "is no file"))
        }
        Target::Special(at) => {
            stream::open_special(at, &shared.stop).map(|handle| OpenTarget::Stream(Arc::new(handle)))
        }
        Target::File(at) if is_rehearsed => {
            let staged = StagedFile::rehearsed(at)?;
            set_free(staged.rooms_of_folder().free_bytes());
            Ok(OpenTarget::StagedFile(staged))
        }
        Target::Tree(at) => {
            Err(Problem::new(Class::Changed, Operation::Open, &at.path, "the source is no folder any more"))
        }
        Target::Entry(_) => unreachable!("what is not read is not opened"),
        Target::File(at) => stage_file(shared, at, opened, how, &siblings).map(OpenTarget::StagedFile),
        Target::Compare(at) => {
            let handle = open_at(at, Access::Read)?;
            if shared.settings.compares {
                tree::findings::compare_attributes::compare_files(shared, opened, &handle, &at.path)?;
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

/// Stages the file of a target: in order, in place, or under a temporary name that replaces it.
fn stage_file(
    run: &MoverRun<'_>,
    at: &PathAt,
    opened: &Opened,
    how: How,
    siblings: &dyn Siblings,
) -> Result<StagedFile, Problem> {
    let original = opened.original.as_ref();
    let takes = confidential::needed_order(run, || at.folder_device().ok(), || at.metadata().is_ok());
    if let Some(takes) = takes {
        let name = FinalName::of_path(at)?;
        return confidential::stage_in_order(run, name, Before::Anything, takes, original, siblings);
    }
    if run.settings.options.durability.inplace {
        return confidential::open_in_place(run, FinalName::of_path(at)?, original, siblings);
    }
    let request = resumed::resume_request(run, original, how);
    StagedFile::replacing(at, request.as_ref(), siblings)
}

/// The facts by which the copy method of an item is chosen.
fn copy_facts(run: &MoverRun<'_>, item: &Item, opened: &Opened) -> Facts {
    let size_bytes = match &opened.ranges {
        Some(ranges) => ranges.iter().map(|(start, end)| end - start).sum(),
        // A stream of unknown length is taken for a long one, a file that does not know its size for a short one.
        None if opened.is_file => 0,
        None => u64::MAX,
    };
    let cached = match (&opened.handle, &opened.original) {
        (None, Some(original)) => original.held.elsewhere().and_then(|file| file.cached_fraction()),
        (Some(handle), Some(original)) if opened.ordinary => handle.cached_fraction(original.meta.size_bytes),
        _ => None,
    };
    let compares = matches!(item.target, Target::Compare(_));
    Facts {
        size_bytes,
        cached,
        source_is_file: opened.is_file,
        sink_is_file: matches!(item.target, Target::File(_) | Target::Device(_) | Target::Stripe(_)),
        bytes_are_looked_at: run.settings.hashes || compares || opened.is_elsewhere(),
        same_file_system: same_file_system(item, opened),
        whole_file: opened.ordinary && matches!(item.target, Target::File(_)),
        in_order: run.settings.in_order.is_some(),
        synced_alone: true,
    }
}

fn same_file_system(item: &Item, opened: &Opened) -> bool {
    let (Target::File(at), Some(original)) = (&item.target, &opened.original) else { return false };
    at.folder_device().is_ok_and(|device| device == original.meta.device)
}
