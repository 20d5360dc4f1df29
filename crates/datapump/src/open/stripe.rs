//! Opens a stripe as a source, and makes the ends of one that is open.
//!
//! Must not know: how bytes are dealt to members, where the copy goes.

pub(crate) mod held;
mod mark;
pub(crate) mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::{Errno, Handle};

use super::copy_method::How;
use super::direct::direct;
use super::file_end;
use super::held::{Elsewhere, Held, Original};
use super::opened::Opened;
use super::reserve;
use crate::end::{Sink, StripeEnd};
use crate::open::stripe::held::HeldStripe;
use crate::open::stripe::target::OpenStripe;
use crate::place::stripe::Stripe;
use crate::problem::{Operation, Problem};
use crate::run::MoverRun;
use datapump_files::disk::{Access, FileCalls, FileKind, Meta};
use datapump_files::holes::mapped;
use datapump_files::identity::changed;
use datapump_files::identity::tick::{self, TimeLook};

/// Opens the members. What they are is looked at again: it may be another stripe by now.
pub(crate) fn open(run: &MoverRun<'_>, stripe: &Stripe) -> Result<(Opened, Arc<HeldStripe>), Problem> {
    let disk = &run.settings.platform.disk;
    let mut source = stripe.source(disk)?;
    source.check_devices(run.settings.options.place.devices)?;
    let (mut handles, mut looks) = (Vec::new(), Vec::new());
    for (path, seen) in source.members.paths.iter().zip(&mut source.metas) {
        let now_ns = tick::now_ns();
        let (handle, now) = open_member(run, path, seen)?;
        looks.push(TimeLook::new(now_ns, handle.room().magic, &now));
        handles.push(Arc::new(handle));
        *seen = now;
    }
    let (meta, bytes) = (source.meta(), source.bytes);
    let members = source.members.paths.iter().map(PathBuf::as_path).zip(handles.iter().map(Arc::as_ref));
    mark::check((source.members.map, bytes), members)?;
    let (disk, attributes) = (disk.clone(), Vec::new());
    let held = Arc::new(HeldStripe { disk, source, handles, looks, meta, attributes });
    let there: Arc<dyn Elsewhere> = Arc::clone(&held) as Arc<dyn Elsewhere>;
    let path = PathBuf::from(stripe.to_string());
    let original = Original::new(path, (Held::There(there), meta, TimeLook::default()));
    run.ledger.note(|| format!("'{stripe}': {}, {bytes} bytes", held.source.members.words()));
    Ok((Opened { ordinary: bytes > 0, ..Opened::file(original, Some(vec![(0, bytes)])) }, held))
}

/// Opens a member, and says what it is before its first byte is read.
fn open_member(run: &MoverRun<'_>, path: &Path, seen: &Meta) -> Result<(Handle, Meta), Problem> {
    let system = |errno: Errno| Problem::system(Operation::Open, path, errno.0);
    let handle = run.settings.platform.disk.open(path, Access::Read).map_err(system)?;
    let now = handle.meta().map_err(system)?;
    if (now.device, now.inode, now.kind) != (seen.device, seen.inode, seen.kind) {
        return Err(changed(path, "was replaced by another file", true));
    }
    if now.kind != FileKind::Regular {
        return Ok((handle, *seen));
    }
    let now = mapped::believed(&handle, now, &run.stop).map_err(system)?;
    if now.size_bytes == seen.size_bytes {
        Ok((handle, now))
    } else {
        Err(changed(path, "was made longer or shorter", true))
    }
}

/// The end of a stripe that is written; whether all of it goes past the page cache.
pub(super) fn sink(run: &MoverRun<'_>, stripe: &OpenStripe, how: How) -> Result<(Sink, bool), Problem> {
    let (mut members, mut all_direct) = (Vec::new(), how.sink_direct);
    for member in &stripe.members {
        let path = member.at.path.clone();
        // Before the other becomes direct: both are opened alike.
        let buffered = Arc::new(member.open_again()?);
        let how = reserve::compressible(run, how, run.compressions.of(&member.handle));
        let is_direct = how.sink_direct && direct(run, Some(&member.handle), &path)?;
        all_direct &= is_direct;
        members.push((path, file_end::of_device(run, Arc::clone(&member.handle), buffered, is_direct)));
    }
    let shape = run.settings.shape;
    run.ledger.note(|| {
        let (name, words) = (crate::problem::shown_path(&stripe.name), stripe.words());
        let (request_bytes, depth) = (shape.request_bytes, shape.sink_depth);
        format!(
            "'{name}': {words}, each written where it stands, {depth} requests of {request_bytes} bytes; cut off, its \
             content is undefined, and the same command starts over"
        )
    });
    Ok((Sink::Stripe(Arc::new(StripeEnd::new(stripe.map(), members))), all_direct))
}
