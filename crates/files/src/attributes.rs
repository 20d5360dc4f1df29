//! Attributes of a file: owner, mode, extended attributes and ACLs, times.
//!
//! The order matters: a new owner clears set-id bits and capabilities (chown(2)), a new mode changes the mask of an
//! ACL, and everything else changes the times.
//!
//! Must not know: names, when the file is committed.

pub mod acl;
pub mod given;
pub mod keep;
pub mod loss;
pub mod owner;
pub mod permissions;
pub mod skipped;
pub mod xattrs;

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;

use datapump_engine::{Errno, Handle};
use rustix::fs::{Timespec, Timestamps};

use crate::attributes::keep::{Keep, New};
use crate::attributes::loss::{Limit, Loss, Lost, is_root};
use crate::attributes::permissions::SET_ID_BITS;
use crate::attributes::xattrs::{is_files_own, is_kept};
use crate::disk::names::HeldName;
use crate::disk::{AttributeHolder, FileKind, Meta, Outcome, names, umask, xattr_names_at};
use crate::problem::{AttributeKind, system_words};

/// Gives `to` the attributes of `from`, both open; in the simulation those that it has.
pub fn copy_of_handle(from: &Handle, meta: &Meta, to: &Handle, keep: Keep, new: New<'_>) -> Outcome<Lost> {
    match (from, to) {
        (Handle::Os(from), Handle::Os(to)) => {
            copy(AttributeHolder::Open(from), meta, AttributeHolder::Open(to), keep, new)
        }
        (_, Handle::Sim(to)) => to.set_attributes(meta.mode, meta.mtime_ns as i64).map(|()| Lost::default()),
        (Handle::Sim(_), Handle::Os(_)) => unreachable!("real and simulated files never meet"),
    }
}

/// Gives `to` the attributes of `from`, and tells what was lost: what was refused, with whatever error, and what the file does
/// not show in the end. Neither is a reason to lose the content.
pub fn copy(
    from: AttributeHolder<'_>,
    meta: &Meta,
    to: AttributeHolder<'_>,
    keep: Keep,
    new: New<'_>,
) -> Outcome<Lost> {
    let mut lost = Lost::default();
    let before = to.meta()?;
    // First: what a kill leaves behind this is known for a copy by its size and time, whatever its mode (`temporary`).
    let no_times = if keep.times { copy_times(meta, to).err() } else { None };
    let replaced = new.replaced.and_then(|replaced| replaced.meta().ok());
    let given = keep.given.of(meta);
    let owners = if keep.owner { Some(&given) } else { replaced.as_ref() };
    let was = |owners: &Meta| (before.uid, before.gid) == (owners.uid, owners.gid);
    let owner = match owners.filter(|owners| !was(owners)) {
        Some(owners) => owner::set(owners, &before, to, keep.owner, &mut lost),
        None => (before.uid, before.gid),
    };
    let is_owners = owner == (given.uid, given.gid);
    // Before the mode: a user may set attributes only on a file that its mode lets them write. An access control list
    // and the mode share the bits of the group, which are the same in the source's two.
    let set = xattrs::copy(from, to, keep, new, meta, &mut lost);
    let kept = set.group_bits.map_or(meta.mode, |bits| meta.mode & !0o070 | bits << 3);
    let kept = keep.given.of(&Meta { mode: kept, ..*meta }).mode;
    // A program that runs as its owner must not come to run as somebody else.
    let kept = if is_owners { kept } else { kept & !SET_ID_BITS };
    let mode = wanted_mode(kept, &before, replaced.as_ref(), keep, new);
    let mode = if keep.mode { mode } else { keep.given.of(&Meta { mode, ..*meta }).mode };
    if keep.mode && !is_owners && given.mode & SET_ID_BITS != 0 && meta.kind == FileKind::Regular {
        lost.push(without_set_id(keep));
    }
    let stands = was(owners.unwrap_or(&before)) && !set.any && before.mode == mode;
    let sets_mode = meta.kind != FileKind::Symlink && !stands;
    let no_mode = if sets_mode { to.set_mode(mode).err() } else { None };
    let is_told = || all_tell_time(meta.mtime_ns) && all_tell_time(meta.atime_ns);
    let is_shown = new.shows_taken
        && no_times.is_none()
        && (!keep.times || is_told())
        && no_mode.is_none()
        // chmod(2) takes the set-group-id bit away from users outside of the group, without a word.
        && mode & SET_ID_BITS == 0;
    if is_shown || (!keep.times && !sets_mode) {
        return Ok(lost);
    }
    let mut now = to.meta()?;
    if keep.times {
        if meta.kind == FileKind::Folder && no_times.is_none() {
            now = times_of_folder(meta, to, now)?;
        }
        lost.extend(time_lost(meta, &now, no_times));
    }
    if sets_mode && now.mode != mode {
        lost.push(mode_lost(mode, &now, no_mode).if_asked(keep.mode || keep.given.permissions.is_some()));
    }
    Ok(lost)
}

/// What an existing copy shows otherwise than it should: owner, mode and time of change. Nothing is set: why the run that made
/// it could not do so is not known any more.
pub fn lacks(meta: &Meta, there: &Meta, keep: Keep) -> Lost {
    let given = keep.given.of(meta);
    let before = |kind, what: String, now: String| {
        Loss::changed(kind, format!("{what}: an earlier run could not keep it; it is {now} now"))
    };
    let times = keep.times && time_lost(meta, there, None).is_some();
    let times = times.then(|| {
        let second = |ns: i128| format!("{} s since 1970", ns.div_euclid(1_000_000_000));
        before(
            AttributeKind::Times,
            format!("time of change {}", second(meta.mtime_ns)),
            second(there.mtime_ns),
        )
    });
    let is_others = (there.uid, there.gid) != (given.uid, given.gid);
    let owner = (keep.owner && is_others && is_root()).then(|| {
        let owners = |meta: &Meta| format!("{}:{}", meta.uid, meta.gid);
        before(AttributeKind::Owner, format!("owner {}", owners(&given)), owners(there))
    });
    let mode = if is_others { given.mode & !SET_ID_BITS } else { given.mode };
    let mode = (keep.mode && mode != there.mode).then(|| {
        before(AttributeKind::Mode, format!("permissions {mode:04o}"), format!("{:04o}", there.mode))
    });
    times.into_iter().chain(owner).chain(mode).collect()
}

fn without_set_id(keep: Keep) -> Loss {
    let words = "set-user-id and set-group-id: not kept, because the copy does not belong to the same owner";
    let limit = if keep.owner && is_root() { Limit::Lost } else { Limit::User };
    Loss::new(AttributeKind::Mode, limit, Errno::EPERM, words)
}

/// Gives `to` the times of access and of change.
pub fn copy_times(meta: &Meta, to: AttributeHolder<'_>) -> Outcome<()> {
    let (last_access, last_modification) = (timespec(meta.atime_ns), timespec(meta.mtime_ns));
    to.set_times(&Timestamps { last_access, last_modification })
}

/// Gives a folder its times back, whatever it was opened for.
pub fn give_back_times(before: &Meta, folder: &File) -> Outcome<()> {
    let held = HeldName::from(folder.try_clone().map_err(|error| Errno::from_io_error(&error))?);
    copy_times(before, AttributeHolder::Held(&held))
}

/// What a folder shows. Names that are made in it at this very moment (further names of a file) change its time: whether
/// it keeps the one that it is given is looked at more than once.
fn times_of_folder(meta: &Meta, to: AttributeHolder<'_>, mut now: Meta) -> Outcome<Meta> {
    const TRIES: u32 = 8;
    for _ in 0..TRIES {
        if time_lost(meta, &now, None).is_none() || copy_times(meta, to).is_err() {
            break;
        }
        now = to.meta()?;
    }
    Ok(now)
}

/// File systems give a time that they cannot tell another one, and say nothing. Of the time of access some keep no more
/// than the day, which is told only where all of it is lost.
fn time_lost(meta: &Meta, now: &Meta, refused: Option<Errno>) -> Option<Loss> {
    const SECOND: i128 = 1_000_000_000;
    if let Some(errno) = refused {
        let is_right = now.mtime_ns == meta.mtime_ns;
        return (!is_right).then(|| Loss::system(AttributeKind::Times, errno, "times"));
    }
    let is_known = all_tell_time(meta.mtime_ns) && all_tell_time(meta.atime_ns);
    let times =
        [("change", meta.mtime_ns, now.mtime_ns, true), ("access", meta.atime_ns, now.atime_ns, !is_known)];
    // Whole seconds, and FAT's even ones, are as near as some come.
    let other = |(_, asked, got, counts): &(_, i128, i128, bool)| *counts && (asked - got).abs() > 2 * SECOND;
    times.into_iter().find(other).map(|(what, asked, got, _)| {
        let (asked, got) = (asked.div_euclid(SECOND), got.div_euclid(SECOND));
        let words =
            format!("time of {what}: this file system cannot keep {asked} s since 1970; it is {got} s now");
        Loss::new(AttributeKind::Times, Limit::Lost, Errno::EINVAL, words)
    })
}

/// Whether all file systems can tell a time: from 2 January 1980 (FAT) to 18 January 2038 (signed 32 bits).
pub fn all_tell_time(ns: i128) -> bool {
    const SECOND: i128 = 1_000_000_000;
    (315_619_200 * SECOND..2_147_385_600 * SECOND).contains(&ns)
}

/// The loss of permissions that were refused, or are shown otherwise.
fn mode_lost(mode: u32, now: &Meta, refused: Option<Errno>) -> Loss {
    match refused {
        Some(errno) => {
            let what = format!("permissions {mode:04o}: it has {:04o}", now.mode);
            Loss::system(AttributeKind::Mode, errno, &what)
        }
        None => {
            let words =
                format!("permissions {mode:04o}: this file system took them and shows {:04o}", now.mode);
            Loss::changed(AttributeKind::Mode, words)
        }
    }
}

/// What a mode that is not kept is, as with `cp --no-preserve=mode`: that of what stood there before, else what any new
/// file gets. Where the source's access control list is not set, its mask must not let in the whole group.
fn wanted_mode(kept: u32, before: &Meta, replaced: Option<&Meta>, keep: Keep, new: New<'_>) -> u32 {
    match (keep.mode, replaced) {
        (true, _) => kept,
        (false, Some(replaced)) => replaced.mode,
        (false, None) if new.made => new_mode(before, new.handed_down),
        (false, None) => before.mode,
    }
}

/// The folder's default access control list takes the place of the umask: acl(5). A new folder inherits set-group-id.
fn new_mode(before: &Meta, handed_down: Option<u32>) -> u32 {
    let all = if before.kind == FileKind::Folder { 0o777 } else { 0o666 };
    before.mode & SET_ID_BITS | all & handed_down.unwrap_or(!umask())
}

/// Whether two files differ in the extended attributes and access control lists that are kept, by their values. Labels
/// of the system, which may differ for its own reasons, do not count. What cannot be read is not taken for equal.
pub fn hidden_differ(from: AttributeHolder<'_>, to: AttributeHolder<'_>, keep: Keep) -> Outcome<bool> {
    let (one, other) = (compared(from.xattr_names()?, keep), compared(to.xattr_names()?, keep));
    Ok(one != other || !have_equal_values(from, to, &one, keep))
}

/// The same of a name in two open folders. Most files have no such attributes: then nothing is opened.
pub fn hidden_of_names_differ(from: &File, to: &File, name: &OsStr, keep: Keep) -> Outcome<bool> {
    if !keep.acl && !keep.xattrs {
        return Ok(false);
    }
    let one = compared(xattr_names_at(from, name)?, keep);
    if one != compared(xattr_names_at(to, name)?, keep) {
        return Ok(true);
    }
    if one.is_empty() {
        return Ok(false);
    }
    let (from, to) = (names::hold(from, name)?, names::hold(to, name)?);
    Ok(!have_equal_values(AttributeHolder::Held(&from), AttributeHolder::Held(&to), &one, keep))
}

/// The same of a file of another host, whose attributes were told.
pub fn hidden_of_told_differ(
    from: AttributeHolder<'_>,
    to: &File,
    name: &OsStr,
    keep: Keep,
) -> Outcome<bool> {
    let one = compared(from.xattr_names()?, keep);
    if one != compared(xattr_names_at(to, name)?, keep) {
        return Ok(true);
    }
    Ok(!one.is_empty()
        && !have_equal_values(from, AttributeHolder::Held(&names::hold(to, name)?), &one, keep))
}

/// Whether both have the same value of each of these attributes; one that cannot be read differs. Where a mode is given, what a
/// list shares with the mode is left out.
fn have_equal_values(
    from: AttributeHolder<'_>,
    to: AttributeHolder<'_>,
    names: &[CString],
    keep: Keep,
) -> bool {
    let value = |holder: AttributeHolder<'_>, name: &CString| {
        let mut value = holder.xattr_value(name)?;
        // What a list shares with the mode is compared with that.
        if keep.given.permissions.is_some() && **name == *acl::ACCESS {
            value.iter_mut().for_each(|list| acl::set_mode(list, 0));
        }
        Ok::<_, Errno>(value)
    };
    let is_equal = |name: &CString| {
        let values = (value(from, name), value(to, name));
        matches!(values, (Ok(Some(one)), Ok(Some(other))) if one == other)
    };
    names.iter().all(is_equal)
}

/// How two files differ in extended attributes and access control lists, each difference in words. One that cannot be
/// read is a difference.
pub fn difference_words(
    one: AttributeHolder<'_>,
    other: AttributeHolder<'_>,
    other_name: &str,
) -> Outcome<Vec<String>> {
    let keep = Keep::default();
    let mut names = compared(one.xattr_names()?, keep);
    names.extend(compared(other.xattr_names()?, keep));
    names.sort();
    names.dedup();
    let value_of = |bearer: AttributeHolder<'_>, name: &CStr| match bearer.xattr_value(name) {
        Err(Errno::EOPNOTSUPP) => Ok(None),
        value => value,
    };
    let words = |name: &CString| {
        let what = match name.to_bytes() {
            b"system.posix_acl_access" => "access control list".to_string(),
            b"system.posix_acl_default" => "default access control list".to_string(),
            name => format!("extended attribute {}", crate::problem::shown(name)),
        };
        match (value_of(one, name), value_of(other, name)) {
            (Ok(one), Ok(other)) if one == other => None,
            (Ok(Some(_)), Ok(Some(_))) => Some(format!("{what}: not the one of '{other_name}'")),
            (Ok(Some(_)), Ok(None)) => Some(format!("{what}: '{other_name}' has none")),
            (Ok(_), Ok(_)) => Some(format!("{what}: only '{other_name}' has one")),
            (Err(errno), _) => Some(format!("{what}: could not be read: {}", system_words(errno.0))),
            (_, Err(errno)) => {
                Some(format!("{what}: of '{other_name}' could not be read: {}", system_words(errno.0)))
            }
        }
    };
    Ok(names.iter().filter_map(words).collect())
}

fn compared(mut names: Vec<CString>, keep: Keep) -> Vec<CString> {
    names.retain(|name| is_kept(name, keep) && is_files_own(name));
    names.sort();
    names
}

fn timespec(ns: i128) -> Timespec {
    const NS: i128 = 1_000_000_000;
    Timespec { tv_sec: ns.div_euclid(NS) as i64, tv_nsec: ns.rem_euclid(NS) as i64 }
}
