//! Opens a stripe as a source, and makes the ends of one that is open.
//!
//! Must not know: how bytes are dealt to members, where the copy goes.

pub mod held;
mod mark;
mod peek;
pub mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump_engine::{Errno, Handle};

use super::copy_method::How;
use super::direct::switch_to_direct;
use super::held::OpenMembers;
use super::{file_end, reserve};
use crate::end::{Sink, Source, StripeEnd};
use crate::open::stripe::held::HeldStripe;
use crate::open::stripe::target::OpenStripe;
use crate::place::stripe::Stripe;
use crate::problem::{Operation, Problem};
use crate::run::MoverRun;
use datapump_files::disk::{Access, Disk, FileCalls, FileKind, Meta};
use datapump_files::holes::mapped;
use datapump_files::identity::changed;
use datapump_files::identity::tick::{self, TimeLook};

/// Opens the members, and checks again what they are and their marks: it may be another stripe by now.
///
/// `devices`: block devices may be members.
pub(super) fn open(
    stripe: &Stripe,
    disk: &Disk,
    devices: bool,
    stop: &AtomicBool,
) -> Result<Arc<HeldStripe>, Problem> {
    let mut source = stripe.source(disk)?;
    source.check_devices(devices)?;
    let (mut handles, mut looks) = (Vec::new(), Vec::new());
    for (path, seen) in source.members.paths.iter().zip(&mut source.metas) {
        let now_ns = tick::now_ns();
        let (handle, now) = open_member(disk, path, seen, stop)?;
        looks.push(TimeLook::new(now_ns, handle.room().magic, &now));
        handles.push(Arc::new(handle));
        *seen = now;
    }
    let (meta, bytes) = (source.meta(), source.bytes);
    let members = source.members.paths.iter().map(PathBuf::as_path).zip(handles.iter().map(Arc::as_ref));
    mark::check(source.members.map, bytes, members)?;
    let (disk, attributes) = (disk.clone(), Vec::new());
    let name = stripe.to_string();
    Ok(Arc::new(HeldStripe { name, disk, source, handles, looks, meta, attributes }))
}

/// Opens a member, and looks at it again before its first byte is read.
///
/// Errors: it was replaced, or its length has changed.
fn open_member(disk: &Disk, path: &Path, seen: &Meta, stop: &AtomicBool) -> Result<(Handle, Meta), Problem> {
    let system = |errno: Errno| Problem::system(Operation::Open, path, errno.0);
    let handle = disk.open(path, Access::Read).map_err(system)?;
    let now = handle.meta().map_err(system)?;
    if (now.device, now.inode, now.kind) != (seen.device, seen.inode, seen.kind) {
        return Err(changed(path, "was replaced by another file", true));
    }
    if now.kind != FileKind::Regular {
        return Ok((handle, *seen));
    }
    let now = mapped::believed(&handle, now, stop).map_err(system)?;
    if now.size_bytes == seen.size_bytes {
        Ok((handle, now))
    } else {
        Err(changed(path, "was made longer or shorter", true))
    }
}

/// The end of a stripe that is read; whether all of it goes past the page cache. With `wants_direct` the lent handles
/// are switched to direct I/O, for whoever else has them, too.
///
/// Errors: direct I/O was demanded and cannot be had.
pub fn make_source(
    run: &MoverRun<'_>,
    OpenMembers { map, files }: &OpenMembers,
    wants_direct: bool,
) -> Result<(Source, bool), Problem> {
    let (mut members, mut all_direct) = (Vec::new(), wants_direct);
    for (path, handle) in files {
        let is_direct = wants_direct && switch_to_direct(run, Some(handle), path)?;
        all_direct &= is_direct;
        members.push((path.clone(), file_end::of_source(run, Arc::clone(handle), is_direct)));
    }
    Ok((Source::Stripe(Arc::new(StripeEnd::new(*map, members))), all_direct))
}

/// Makes the end of a stripe that is written, and notes how; gives whether all of it goes past the page cache.
pub(super) fn make_sink(run: &MoverRun<'_>, stripe: &OpenStripe, how: How) -> Result<(Sink, bool), Problem> {
    let (mut members, mut all_direct) = (Vec::new(), how.sink_direct);
    for member in &stripe.members {
        let path = member.at.path.clone();
        // Before the other becomes direct: both are opened alike.
        let buffered = Arc::new(member.open_again()?);
        let how = reserve::compressible(run, how, run.compressions.of(&member.handle));
        let is_direct = how.sink_direct && switch_to_direct(run, Some(&member.handle), &path)?;
        all_direct &= is_direct;
        members.push((path, file_end::of_device(run, Arc::clone(&member.handle), buffered, is_direct)));
    }
    let shape = run.settings.shape;
    run.ledger.note(|| {
        let (name, words) = (crate::problem::shown_path(&stripe.name), stripe.description.words());
        let (request_bytes, depth) = (shape.request_bytes, shape.sink_depth);
        format!(
            "'{name}': {words}, each written where it stands, {depth} requests of {request_bytes} bytes; cut off, its \
             content is undefined, and the same command starts over"
        )
    });
    Ok((Sink::Stripe(Arc::new(StripeEnd::new(stripe.description.map, members))), all_direct))
}
