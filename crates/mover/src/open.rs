//! Makes the ends of a file whose source and target are open: which way the bytes take, what is reserved and kept for a
//! later run.
//!
//! Must not know: lanes, how blocks are moved, what happens when all have landed.

pub mod confidential;
pub mod copy_method;
pub mod direct;
pub mod elsewhere;
mod file_end;
pub mod held;
pub mod opened;
pub mod reserve;
pub mod resumed;
pub mod sizes;
pub mod stripe;
pub mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Handle;

use crate::end::hash::FileHash;
use crate::end::{Sink, Source};
use crate::file::finish;
use crate::file::goal::file_goal;
use crate::file::owned::Owned;
use crate::file::task::{Finish, Parts, Task};
use crate::open::copy_method::How;
use crate::open::direct::switch_to_direct;
use crate::open::held::Original;
use crate::open::opened::Opened;
use crate::open::reserve::{rehearsed, reserve};
use crate::open::stripe::target::OpenStripe;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::MoverRun;
use crate::setup::options::Choice;
use datapump_files::commit::StagedFile;
use datapump_files::commit::compressed::Compression;
use datapump_files::disk::{Access, FileCalls, PathAt};
use datapump_files::holes::ByteRanges;

/// A hash to be taken of a file. A verified file's hash shows where it is damaged. Where the source is unverified, and
/// what was written cannot be read yet, its hash alone shows what that is.
fn file_hash(
    run: &MoverRun<'_>,
    finish: &Finish,
    sink: &Sink,
    original: Option<&Original>,
) -> Option<FileHash> {
    if run.hashes_files() {
        return Some(if run.settings.options.durability.verify {
            FileHash::marked()
        } else {
            FileHash::default()
        });
    }
    let is_in_order = matches!(finish, Finish::Commit(staged) if staged.is_in_order());
    let is_readable = !is_in_order && !matches!(sink, Sink::Stream(_));
    (!is_readable && original.is_some_and(|it| it.watched)).then(FileHash::default)
}

/// A file on its way. Of one in a tree that is only compared no hash is taken.
pub fn make_task(
    run: &MoverRun<'_>,
    names: (PathBuf, PathBuf),
    ends: Ends,
    finish: Finish,
    owned: Owned,
) -> Task {
    let Ends { source, sink, original, ranges } = ends;
    let copies = owned.tree.is_none() || !matches!(finish, Finish::Nothing | Finish::Checked);
    let hash = file_hash(run, &finish, &sink, original.as_ref());
    Task::new(Parts {
        number: run.next_number(),
        names,
        goal: file_goal(run, &finish, &source, owned.tree.as_ref()),
        source,
        sink,
        original,
        finish,
        hash: hash.filter(|_| copies),
        verify: run.settings.options.durability.verify && copies,
        ranges,
        owned,
    })
}

/// Shares the source's blocks if that is possible (then both ends are null), or else makes the two ends. A target that
/// is written in place is closed to others first; on an error they get their rights back.
pub fn make_ends(
    run: &MoverRun<'_>,
    source_name: &Path,
    name: &Path,
    opened: Opened,
    how: How,
    target: &mut OpenTarget,
) -> Result<Ends, Problem> {
    let closed = match target {
        OpenTarget::StagedFile(staged) => {
            let original = opened.original.as_ref().filter(|original| original.has_attributes());
            confidential::close_target(staged, original, run.settings.options.attributes.keep)
        }
        _ => None,
    };
    if how.try_reflink && try_reflink(run, &opened, target) {
        let (original, ranges) = (opened.original, Some(Vec::new()));
        return Ok(Ends { source: Source::Null, sink: Sink::Null, original, ranges });
    }
    run.ledger.tally().in_kernel |= how.in_kernel;
    make_copy_ends(run, source_name, name, opened, how, target).inspect_err(|_| {
        // Best effort on the way out: a copy that did not begin leaves the file as it was, or closed.
        let _ = closed.map(|closed| closed.undo());
    })
}

/// What the target is before its end is made of it.
pub enum OpenTarget {
    StagedFile(StagedFile),
    Device(PathAt, Arc<Handle>),
    Stripe(Arc<OpenStripe>),
    Stream(Arc<Handle>),
    Compare(Arc<Handle>),
    Null,
}

impl OpenTarget {
    /// The work that the target needs after the last block.
    pub fn into_finish(self) -> Finish {
        match self {
            OpenTarget::StagedFile(staged) => Finish::Commit(staged),
            OpenTarget::Device(_, handle) => Finish::Device(handle),
            OpenTarget::Stripe(stripe) => Finish::Stripe(stripe),
            OpenTarget::Stream(_) | OpenTarget::Compare(_) | OpenTarget::Null => Finish::Nothing,
        }
    }

    /// Gives up a target whose copy cannot begin: what was staged is removed. What an earlier run left stays for the
    /// next one, unless there is no room.
    pub fn give_up(&self, run: &MoverRun<'_>, problem: &Problem) {
        match self {
            OpenTarget::StagedFile(staged)
                if staged.earlier().is_some() && problem.class != Class::NoSpace => {}
            OpenTarget::StagedFile(staged) => finish::discard(run, staged),
            OpenTarget::Stripe(stripe) => stripe.give_up(),
            OpenTarget::Device(..) | OpenTarget::Stream(_) | OpenTarget::Compare(_) | OpenTarget::Null => {}
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, OpenTarget::Null)
    }

    fn compression(&self, run: &MoverRun<'_>, opened: &Opened, how: How) -> Compression {
        match self {
            OpenTarget::StagedFile(staged) => reserve::target_compression(run, staged, opened, how),
            _ => Compression::Never,
        }
    }

    /// The open file, device or stream; `None` for a stripe and for null.
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

pub fn open_at(at: &PathAt, access: Access) -> Result<Handle, Problem> {
    at.open(access).map_err(|errno| Problem::system(Operation::Open, &at.path, errno.0))
}

/// Shares the source's blocks, if the file system does: then nothing is left to move.
fn try_reflink(run: &MoverRun<'_>, opened: &Opened, target: &OpenTarget) -> bool {
    let (Some(from), OpenTarget::StagedFile(staged)) = (&opened.handle, target) else { return false };
    match staged.handle.reflink_from(from) {
        Ok(()) => {
            run.ledger.note_reflink("always", "the file system shares blocks");
            true
        }
        Err(errno) => {
            run.ledger.note_reflink("never", &crate::problem::system_words(errno.0));
            false
        }
    }
}

/// The two ends of a file that is open and has its room.
pub struct Ends {
    pub source: Source,
    pub sink: Sink,
    /// The source as it was.
    pub original: Option<Original>,
    /// The ranges to move; `None` until the end of data.
    pub ranges: Option<ByteRanges>,
}

/// Makes the two ends between which blocks are copied: direct or not, with its room reserved, behind what an earlier run wrote,
/// and with a journal where a later run could resume.
///
/// Errors: also where `--reflink=always` demands shared blocks.
fn make_copy_ends(
    run: &MoverRun<'_>,
    source_name: &Path,
    name: &Path,
    opened: Opened,
    how: How,
    target: &mut OpenTarget,
) -> Result<Ends, Problem> {
    if run.settings.options.tuning.reflink == Choice::Always {
        let message = "its blocks cannot be shared there; leave out --reflink=always to copy them";
        return Err(Problem::new(Class::Io, Operation::Reflink, name, message));
    }
    let compression = target.compression(run, &opened, how);
    let how = reserve::compressible(run, how, compression);
    // A direct read cannot tell less than one unit from the end, which alone ends such a file.
    let ends = opened.ranges.is_some();
    let mut source_direct =
        how.source_direct && ends && switch_to_direct(run, opened.handle.as_deref(), source_name)?;
    let mut sink_direct =
        how.sink_direct && switch_to_direct(run, target.handle().map(|handle| &**handle), name)?;
    let (mut from_stripe, mut to_stripe) = (None, None);
    if let Some(held) = &opened.stripe {
        let (source, is_direct) = stripe::make_source(run, held, how.source_direct)?;
        (from_stripe, source_direct) = (Some(source), is_direct);
    }
    if let OpenTarget::Stripe(open) = target {
        let (sink, is_direct) = stripe::make_sink(run, open, how)?;
        (to_stripe, sink_direct) = (Some(sink), is_direct);
        reserve::reserve_stripe(run, open, opened.ranges.as_deref())?;
    }
    run.ledger.note_direct(source_direct, sink_direct, how.why);
    run.ledger.note(|| format!("'{}' -> '{}': {}", shown_path(source_name), shown_path(name), how.why));
    let source = match (from_stripe.or(opened.elsewhere), opened.handle, opened.is_file) {
        (Some(elsewhere), ..) if takes_sums(run, &elsewhere, target) => elsewhere.in_sums(),
        (Some(elsewhere), ..) => elsewhere,
        (None, None, _) => Source::Null,
        (None, Some(handle), true) => Source::File(file_end::of_source(run, handle, source_direct)),
        (None, Some(handle), false) => Source::Stream(handle),
    };
    let sink = match target {
        OpenTarget::Stripe(_) => to_stripe.expect("it was made above"),
        OpenTarget::Null => Sink::Null,
        OpenTarget::Stream(handle) => Sink::Stream(Arc::clone(handle)),
        OpenTarget::Compare(handle) => {
            Sink::Compare(file_end::of_source(run, Arc::clone(handle), sink_direct))
        }
        OpenTarget::StagedFile(staged) => Sink::File(file_end::of_staged(run, staged, sink_direct)),
        OpenTarget::Device(at, handle) => {
            let buffered = Arc::new(open_at(at, Access::Write)?);
            Sink::File(file_end::of_device(run, Arc::clone(handle), buffered, sink_direct))
        }
    };
    let mut ranges = rehearsed(run, opened.original.as_ref(), opened.ranges, target.is_null())?;
    let mut original = opened.original;
    if let (OpenTarget::StagedFile(staged), Some(ranges)) = (target, &mut ranges) {
        resumed::resume_earlier(run, staged, name, original.as_mut(), ranges);
        let meta = original.as_ref().map(|original| &original.meta);
        reserve(run, staged, ranges, meta, sink.skips_zeros(), compression)?;
        if let Some(request) = resumed::resume_request(run, original.as_ref(), How { sink_direct, ..how }) {
            staged.keep_journal(&request);
        }
    }
    Ok(Ends { source, sink, original, ranges })
}

/// Files are compared by digests of the source's blocks, which the other host computes in any case.
fn takes_sums(run: &MoverRun<'_>, source: &Source, target: &OpenTarget) -> bool {
    let has_sums = !source.is_remote_stream() && run.compares_by_sums();
    has_sums && matches!(target, OpenTarget::Compare(_))
}
