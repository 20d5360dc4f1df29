//! Makes what has no bytes of its own: symbolic links, pipes, devices.
//!
//! Must not know: how folders are listed, how blocks are moved.

use std::ffi::OsStr;
use std::fs::File;

use datapump_engine::Errno;

use crate::attributes::{self, New};
use crate::change::ChangeKind;
use crate::commit::{taken, temporary_name};
use crate::disk::{Bearer, FileKind, Meta, Name, Outcome, names};
use crate::problem::{Class, Problem};
use crate::run::Shared;
use crate::tree::decide::{Action, same_time};
use crate::tree::entry::Hand;
use crate::tree::linking::{self, Met};
use crate::tree::right;

const EEXIST: Errno = Errno(17);
const ENOENT: Errno = Errno(2);
const EACCES: Errno = Errno(13);

/// Makes a symbolic link, a pipe or a device, whole: it gets its name when its attributes are set.
pub(crate) fn make(shared: &Shared<'_>, hand: &Hand, name: &Name) -> Result<(), Problem> {
    let meta = hand.meta(name)?;
    let path = hand.target_path(&name.name);
    let there = hand.there(&name.name)?;
    match shared.trees.rules.decide(&meta, there.as_ref()) {
        Action::Refuse(words) => return Err(Problem::new(Class::Refused, "create", &path, words)),
        Action::Leave(_) | Action::Keep(_) => return Ok(()),
        _ => {}
    }
    let spot = hand.spot(&name.name);
    if shared.trees.rules.leaves_some()
        && there.is_some_and(|there| is_same(shared, hand, &name.name, &meta, &there))
    {
        return right::left(shared, &spot, &meta, "the same");
    }
    let Met::First(links) = linking::meet(shared, &spot, &meta)? else { return Ok(()) };
    let made = match shared.options.dry_run {
        true => Ok(()),
        false => match replace(shared, hand, name, &meta, there.is_some()) {
            Err(EACCES) if hand.branch.open_up() => replace(shared, hand, name, &meta, there.is_some()),
            made => made,
        },
    };
    match made {
        Ok(()) => {
            shared.tell(hand.branch.change(shared, ChangeKind::Copy, &name.name, &meta, there.as_ref()));
            linking::stands(shared, &spot, links);
            return Ok(());
        }
        Err(_) => linking::failed(shared, links),
    }
    made.map_err(|errno| match errno {
        EEXIST => taken(&path),
        errno => Problem::system(verb(meta.kind), &path, errno.0),
    })
}

/// Where nothing stands the name is made at once: nobody waits for its attributes, and a kill leaves what the next run
/// replaces.
fn replace(shared: &Shared<'_>, hand: &Hand, name: &Name, meta: &Meta, stands: bool) -> Outcome<()> {
    let Ok(target) = hand.target() else { return Err(ENOENT) };
    let made_as = if stands { temporary_name(&name.name) } else { name.name.clone() };
    make_one(hand, &name.name, meta, target, &made_as)?;
    let (from, to) = (Bearer::Named(hand.source(), &name.name), Bearer::Named(target, &made_as));
    let new = New { made: true, bare: !hand.branch.traits.hands_down };
    let kept = attributes::copy(from, meta, to, shared.options.keep, new);
    let done = kept.and_then(|lost| {
        lost.0.into_iter().for_each(|words| shared.warn_once(words));
        if stands { names::rename(target, &made_as, target, &name.name) } else { Ok(()) }
    });
    // What is not whole goes, best effort.
    done.inspect_err(|_| {
        let _ = names::remove(target, &made_as, false);
    })
}

fn verb(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Symlink => "make the link",
        FileKind::Fifo => "make the pipe",
        _ => "make the device",
    }
}

fn make_one(hand: &Hand, name: &OsStr, meta: &Meta, target: &File, made_as: &OsStr) -> Outcome<()> {
    let make = || match meta.kind {
        FileKind::Symlink => names::make_symlink(&names::read_symlink(hand.source(), name)?, target, made_as),
        _ => names::make_special(target, made_as, meta),
    };
    match make() {
        // A leftover under the temporary name; under the final one it is somebody else's.
        Err(EEXIST) if made_as != name => {
            names::remove(target, made_as, false)?;
            make()
        }
        made => made,
    }
}

fn is_same(shared: &Shared<'_>, hand: &Hand, name: &OsStr, meta: &Meta, there: &Meta) -> bool {
    let in_time = !shared.options.keep.times || same_time(meta, there);
    let mode = if meta.kind == FileKind::Symlink { meta.mode } else { there.mode };
    let rules = &shared.trees.rules;
    if !in_time || !matches!(rules.kept(meta, &Meta { mode, ..*there }), Action::Leave(_)) {
        return false;
    }
    if meta.kind != there.kind || meta.special_device != there.special_device {
        return false;
    }
    let Ok(target) = hand.target() else { return false };
    meta.kind != FileKind::Symlink
        || names::read_symlink(hand.source(), name).ok() == names::read_symlink(target, name).ok()
}
