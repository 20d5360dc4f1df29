//! Makes what has no bytes of its own: symbolic links, pipes, devices, further names of a file; and puts the attributes
//! right of what is left as it stands.
//!
//! Must not know: how folders are listed, how blocks are moved.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::attributes::{self, New};
use crate::change::{self, Change, ChangeKind};
use crate::commit::{taken, temporary_name};
use crate::disk::{Bearer, FileKind, Meta, Name, Outcome, names};
use crate::problem::{Class, Problem};
use crate::run::{Shared, Work};
use crate::tree::branch::Batch;
use crate::tree::decide::{Action, same_time};
use crate::tree::entry::Hand;
use crate::tree::finish;
use crate::tree::links::{self, FileId, Spot};

const EEXIST: Errno = Errno(17);
const ENOENT: Errno = Errno(2);
const EMLINK: Errno = Errno(31);
/// The file system has no links, or not across what is mounted here: link(2) says EPERM, EXDEV, EOPNOTSUPP.
const UNLINKABLE: [Errno; 3] = [Errno(1), Errno(18), Errno(95)];

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
    if shared.trees.rules.leaves_some()
        && there.is_some_and(|there| is_same(shared, hand, &name.name, &meta, &there))
    {
        return Ok(());
    }
    if is_linked(shared, hand, name, &meta)? {
        return Ok(());
    }
    let change = hand.change(shared, ChangeKind::Copy, name, &meta, there.as_ref());
    let made = match shared.options.dry_run {
        true => Ok(()),
        false => replace(shared, hand, name, &meta, there.is_some()),
    };
    stands_now(shared, &hand.spot(&name.name), &meta, made.is_ok());
    made.map_err(|errno| match errno {
        EEXIST => taken(&path),
        errno => Problem::system(verb(meta.kind), &path, errno.0),
    })?;
    shared.tell(change);
    Ok(())
}

/// Whether a name of something that has several was linked to another, or will be.
fn is_linked(shared: &Shared<'_>, hand: &Hand, name: &Name, meta: &Meta) -> Result<bool, Problem> {
    if meta.links < 2 || !shared.options.keep.links {
        return Ok(false);
    }
    let spot = hand.spot(&name.name);
    match shared.trees.links.meet(meta, &spot) {
        links::Meeting::First | links::Meeting::Alone => Ok(false),
        links::Meeting::Waits => Ok(true),
        links::Meeting::Link(there) => link(shared, links::id(meta), &there, &spot).map(|()| true),
    }
}

/// The first name stands, or came to nothing: the others go on.
fn stands_now(shared: &Shared<'_>, spot: &Spot, meta: &Meta, stands: bool) {
    if meta.links < 2 || !shared.options.keep.links {
        return;
    }
    let id = links::id(meta);
    match stands {
        true => link_waiting(shared, id, spot, shared.trees.links.committed(id, spot.clone())),
        false => try_again(shared, shared.trees.links.failed(id)),
    }
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

/// What a dry run says of a file.
pub(crate) fn would_copy(
    shared: &Shared<'_>,
    hand: &Hand,
    name: &Name,
    there: Option<&Meta>,
) -> Result<(), Problem> {
    let meta = hand.meta(name)?;
    if let Action::Refuse(words) = shared.trees.rules.decide(&meta, there) {
        return Err(Problem::new(Class::Refused, "create", &hand.target_path(&name.name), words));
    }
    if is_linked(shared, hand, name, &meta)? {
        return Ok(());
    }
    let spot = hand.spot(&name.name);
    if !link_unchanged(shared, &spot, &meta)? {
        shared.tell(hand.change(shared, ChangeKind::Copy, name, &meta, there));
    }
    stands_now(shared, &spot, &meta, true);
    Ok(())
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
    if !in_time || matches!(rules.kept(meta, &Meta { mode, ..*there }), Action::Adjust) {
        return false;
    }
    if meta.kind != there.kind || meta.special_device != there.special_device {
        return false;
    }
    let Ok(target) = hand.target() else { return false };
    meta.kind != FileKind::Symlink
        || names::read_symlink(hand.source(), name).ok() == names::read_symlink(target, name).ok()
}

/// Gives a file that stands at the target another name.
pub(crate) fn link(shared: &Shared<'_>, id: FileId, there: &Spot, spot: &Spot) -> Result<(), Problem> {
    if shared.options.dry_run {
        tell_link(shared, spot, &spot.branch.target_path.join(&spot.name));
        return Ok(());
    }
    let (Some(from), Some(to)) = (&there.branch.target, &spot.branch.target) else { return Ok(()) };
    let path = to.path.join(&spot.name);
    let (from, to) = (from.file()?.0, to.file()?.0);
    match link_over(&from, &there.name, &to, &spot.name, spot.branch.traits.fresh) {
        Ok(false) => Ok(()),
        Ok(true) => {
            tell_link(shared, spot, &path);
            Ok(())
        }
        // The copy has as many names as it can: the next name is copied anew and takes the rest.
        Err(EMLINK) => {
            copy_instead(shared, id, there, spot);
            Ok(())
        }
        Err(errno) if UNLINKABLE.contains(&errno) => {
            shared.trees.links.give_up();
            shared
                .warn_once(format!("hard links: {}; copied instead", crate::problem::system_words(errno.0)));
            copy_instead(shared, id, there, spot);
            Ok(())
        }
        Err(EEXIST) => Err(taken(&path)),
        Err(errno) => Err(Problem::system("link", &path, errno.0)),
    }
}

fn tell_link(shared: &Shared<'_>, spot: &Spot, path: &Path) {
    if !shared.tells_changes() {
        return;
    }
    shared.tell(Some(Box::new(Change {
        kind: ChangeKind::Link,
        source: spot.branch.source.path.join(&spot.name),
        target: path.to_path_buf(),
        relative: spot.branch.relative.join(&spot.name),
        bytes: None,
        what: "file",
        itemized: "hf+++++++++".into(),
    })));
}

/// Links over what stands there; false if it is the same file already.
fn link_over(from: &File, from_name: &OsStr, to: &File, name: &OsStr, fresh: bool) -> Outcome<bool> {
    match names::link(from, from_name, to, name) {
        Err(EEXIST) if !fresh => {}
        linked => return linked.map(|()| true),
    }
    let (old, new) = (names::metadata(from, from_name)?, names::metadata(to, name)?);
    if (old.device, old.inode) == (new.device, new.inode) {
        return Ok(false);
    }
    let temporary = temporary_name(name);
    match names::link(from, from_name, to, &temporary) {
        Err(EEXIST) => {
            names::remove(to, &temporary, false)?;
            names::link(from, from_name, to, &temporary)?;
        }
        linked => linked?,
    }
    names::rename(to, &temporary, to, name).map(|()| true)
}

/// Links the names that waited, now that the first one stands.
pub(crate) fn link_waiting(shared: &Shared<'_>, id: FileId, there: &Spot, waiting: Vec<Spot>) {
    for spot in waiting {
        if let Err(problem) = link(shared, id, there, &spot) {
            spot.branch.root.report(shared, problem);
        }
        finish::release(shared, &spot.branch);
    }
}

/// Names whose first came to nothing are dealt with as if they were met now. Each holds its folder already.
pub(crate) fn try_again(shared: &Shared<'_>, waiting: Vec<Spot>) {
    let batch = |spot: Spot| {
        let name = Name { name: spot.name, kind: None };
        Work::Batch(Batch { branch: spot.branch, names: vec![name], forced: false, walks: false })
    };
    let batches: Vec<Work> = waiting.into_iter().map(batch).collect();
    shared.plan.add_first(batches.into_iter());
}

fn copy_instead(shared: &Shared<'_>, id: FileId, there: &Spot, spot: &Spot) {
    shared.trees.links.forget(id, there);
    spot.branch.hold();
    try_again(shared, vec![spot.clone()]);
}

/// What stands at the target stays, whatever it is.
pub(crate) fn tell_kept(shared: &Shared<'_>, spot: &Spot, why: &str) {
    shared.note(|| {
        let path = spot.branch.target_path.join(&spot.name);
        format!("'{}': left as it is: {why}", crate::shown(path.as_os_str().as_encoded_bytes()))
    });
}

/// A file that is right as it stands: its other names may be linked to it.
pub(crate) fn left(shared: &Shared<'_>, spot: &Spot, meta: &Meta, why: &str) -> Result<(), Problem> {
    tell_kept(shared, spot, why);
    if meta.links < 2 || !shared.options.keep.links {
        return Ok(());
    }
    match shared.trees.links.meet(meta, spot) {
        links::Meeting::First => {
            let waiting = shared.trees.links.committed(links::id(meta), spot.clone());
            link_waiting(shared, links::id(meta), spot, waiting);
            Ok(())
        }
        links::Meeting::Waits | links::Meeting::Alone => Ok(()),
        links::Meeting::Link(there) => link(shared, links::id(meta), &there, spot),
    }
}

/// Sets the attributes of a file whose content is right.
pub(crate) fn adjust(shared: &Shared<'_>, spot: &Spot, meta: &Meta, there: &Meta) -> Result<(), Problem> {
    let path = spot.branch.target_path.join(&spot.name);
    if shared.options.dry_run {
        tell(shared, ChangeKind::Adjust, spot, meta, Some(there));
        return left(shared, spot, meta, "its attributes would be set");
    }
    let Some(target) = &spot.branch.target else { return Ok(()) };
    let (from, to) = (spot.branch.source.file()?.0, target.file()?.0);
    let (from, to) = (Bearer::Named(&from, &spot.name), Bearer::Named(&to, &spot.name));
    match attributes::copy(from, meta, to, shared.options.keep, New::default()) {
        Ok(lost) => lost.0.into_iter().for_each(|words| shared.warn_once(words)),
        Err(ENOENT) => return Err(taken(&path)),
        Err(errno) => return Err(Problem::system("set the attributes of", &path, errno.0)),
    }
    tell(shared, ChangeKind::Adjust, spot, meta, Some(there));
    left(shared, spot, meta, "its attributes were set")
}

/// The content was compared and is right; time, owner or mode may not be.
pub(crate) fn right_content(shared: &Shared<'_>, spot: &Spot, meta: &Meta) -> Result<(), Problem> {
    let Some(target) = &spot.branch.target else { return Ok(()) };
    let folder = target.file()?.0;
    let there = names::metadata(&folder, &spot.name)
        .map_err(|errno| Problem::system("look at", &target.path.join(&spot.name), errno.0))?;
    let in_time = !shared.options.keep.times || same_time(meta, &there);
    match shared.trees.rules.kept(meta, &there) {
        Action::Leave(_) if in_time => left(shared, spot, meta, "equal in content"),
        _ => adjust(shared, spot, meta, &there),
    }
}

fn tell(shared: &Shared<'_>, kind: ChangeKind, spot: &Spot, meta: &Meta, there: Option<&Meta>) {
    if !shared.tells_changes() {
        return;
    }
    shared.tell(Some(Box::new(Change {
        kind,
        source: spot.branch.source.path.join(&spot.name),
        target: spot.branch.target_path.join(&spot.name),
        relative: spot.branch.relative.join(&spot.name),
        bytes: (meta.kind == FileKind::Regular).then_some(meta.size_bytes),
        what: change::what(meta.kind),
        itemized: change::itemized(kind, meta, there, false),
    })));
}

/// Links a file that is unchanged in another folder (`--link-dest`) to the one there; false if it is not.
pub(crate) fn link_unchanged(shared: &Shared<'_>, spot: &Spot, meta: &Meta) -> Result<bool, Problem> {
    let Some(other) = &spot.branch.link_dest else { return Ok(false) };
    let folder = other.file()?.0;
    let Ok(there) = names::metadata(&folder, &spot.name) else { return Ok(false) };
    let same = there.kind == FileKind::Regular
        && there.size_bytes == meta.size_bytes
        && same_time(meta, &there)
        && matches!(shared.trees.rules.kept(meta, &there), Action::Leave(_));
    if !same {
        return Ok(false);
    }
    if !shared.options.dry_run {
        let Some(target) = &spot.branch.target else { return Ok(false) };
        let to = target.file()?.0;
        match link_over(&folder, &spot.name, &to, &spot.name, spot.branch.traits.fresh) {
            Ok(_) => {}
            // Another file system, or too many names: it is copied.
            Err(EMLINK) => return Ok(false),
            Err(errno) if UNLINKABLE.contains(&errno) => return Ok(false),
            Err(errno) => {
                return Err(Problem::system("link", &target.path.join(&spot.name), errno.0));
            }
        }
    }
    tell(shared, ChangeKind::Link, spot, meta, None);
    Ok(true)
}
