//! Copies extended attributes and access control lists.
//!
//! One that cannot be kept is lost, and named; it never costs the content.
//!
//! Must not know: owners, modes, times.

use std::ffi::{CStr, CString};

use datapump_core::units::bytes_words;
use datapump_engine::Errno;

use crate::attributes::acl;
use crate::attributes::keep::{Keep, New};
use crate::attributes::loss::{Limit, Loss, Lost, is_root};
use crate::attributes::skipped::is_skipped;
use crate::disk::{AttributeHolder, FileKind, Meta, Outcome, kind};
use crate::problem::AttributeKind;

const OWNER_WRITES: u32 = 0o200;
/// With less than this free the file system is full, whatever an attribute lacks.
const PLENTY_BYTES: u64 = 1 << 20;

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Set {
    /// Something was set or removed: the mode may be another one now.
    pub any: bool,
    /// What the owning group may, if the source has an access control list that the target did not get.
    pub group_bits: Option<u32>,
}

/// Gives `to` those that are kept of the source, and of what it replaces the others.
pub fn copy(
    from: AttributeHolder<'_>,
    to: AttributeHolder<'_>,
    keep: Keep,
    new: New<'_>,
    meta: &Meta,
    lost: &mut Lost,
) -> Set {
    let (of_source, mut set) = match listed(from, keep) {
        Ok(listed) => listed,
        Err((errno, set)) => {
            // What stands at the target stays: nobody knows what is to go.
            lost.push(
                not_listed(errno, "the source's could not be listed").if_asked(keep.acl || keep.xattrs),
            );
            return set;
        }
    };
    let mut names: Vec<(CString, AttributeHolder<'_>, bool)> =
        of_source.into_iter().filter(|name| is_kept(name, keep)).map(|name| (name, from, true)).collect();
    if let Some(replaced) = new.replaced {
        let others = replaced.xattr_names().unwrap_or_default().into_iter();
        let others = others.filter(|name| !is_kept(name, keep) && !is_skipped(name));
        names.extend(others.map(|name| (name, replaced, false)));
    }
    // An access control list may take from the owner what setting the others needs.
    names.sort_by_key(|(name, ..)| is_acl(name));
    set.any = (!new.bare && remove_others(&names, to, keep, new, lost)) || !names.is_empty();
    for (name, from, is_asked) in &names {
        let mut value = match from.xattr_value(name) {
            Ok(Some(value)) => value,
            Ok(None) => continue,
            Err(errno) => {
                let what = format!("{}: could not be read", words_of(name));
                lost.push(Loss::system(kind_of(name), errno, &what).if_asked(*is_asked));
                // Whom it keeps out is not known: nobody but the owner gets what the mode gives to the group.
                if **name == *acl::ACCESS {
                    set.group_bits = Some(0);
                }
                continue;
            }
        };
        // From the start it lets in nobody whom the mode that was asked for does not.
        if let Some(permissions) = keep.given.permissions.filter(|_| **name == *acl::ACCESS) {
            acl::set_mode(&mut value, permissions.of(meta.mode, meta.kind));
        }
        if let Err(errno) = when_writable(to, || to.set_xattr(name, &value)) {
            lost.push(not_set(name, &value, to, errno).if_asked(*is_asked));
            if **name == *acl::ACCESS {
                set.group_bits = acl::group_bits(&value);
            }
        }
    }
    set
}

/// The names of the source's attributes, with what its group may where its access control list is not kept.
fn listed(from: AttributeHolder<'_>, keep: Keep) -> Result<(Vec<CString>, Set), (Errno, Set)> {
    let bits = |list: Option<Vec<u8>>| list.and_then(|list| acl::group_bits(&list));
    let of_source = from.xattr_names().map_err(|errno| {
        let group_bits = bits(from.xattr_value(acl::ACCESS).ok().flatten());
        (errno, Set { group_bits, ..Set::default() })
    })?;
    let is_left = !keep.acl && of_source.iter().any(|name| **name == *acl::ACCESS);
    // One that cannot be read lets in nobody.
    let group_bits = is_left.then(|| from.xattr_value(acl::ACCESS).map_or(Some(0), bits)).flatten();
    Ok((of_source, Set { group_bits, ..Set::default() }))
}

/// Makes a change; where that is refused since the mode of this user's file forbids writing, the file is made writable and the
/// change made again. Its mode is set after this.
fn when_writable(to: AttributeHolder<'_>, change: impl Fn() -> Outcome<()>) -> Outcome<()> {
    match change() {
        Err(Errno::EACCES) => {
            let meta = to.meta()?;
            let is_closed = meta.mode & OWNER_WRITES == 0 && meta.kind != FileKind::Symlink;
            let opened = is_closed && to.set_mode(meta.mode | OWNER_WRITES).is_ok();
            if opened { change() } else { Err(Errno::EACCES) }
        }
        changed => changed,
    }
}

/// A label is the business of the system that it is on, and only root gives a file what the system believes.
fn not_set(name: &CStr, value: &[u8], to: AttributeHolder<'_>, errno: Errno) -> Loss {
    const FOR_ROOT: [&[u8]; 2] = [b"trusted.", b"security."];
    let what = words_of(name);
    let is_for_root = FOR_ROOT.iter().any(|space| name.to_bytes().starts_with(space));
    let is_denied = matches!(errno, Errno::EPERM | Errno::EACCES);
    if !is_files_own(name) || (is_for_root && is_denied && !is_root()) {
        let words = format!("{what}: not permitted here; there may be others");
        Loss::new(kind_of(name), Limit::User, errno, words)
    } else {
        let loss = Loss::system(kind_of(name), errno, &what);
        let more = (errno == Errno::ENOSPC).then(|| why_no_room(to, value.len())).flatten();
        Loss { words: more.iter().fold(loss.words, |words, more| format!("{words}; {more}")), ..loss }
    }
}

/// Why there is no room for an attribute where there is some for data.
fn why_no_room(to: AttributeHolder<'_>, needed: usize) -> Option<String> {
    let room = to.room().filter(|room| room.free_bytes > needed as u64 + PLENTY_BYTES)?;
    let free = bytes_words(room.free_bytes);
    Some(match kind::name(room.magic) {
        Some("ext4") => format!(
            "{free} are free, but the attributes of one file have its inode and one block \
             (mkfs.ext4 -O ea_inode takes large ones)"
        ),
        _ => format!("{free} are free for data, but not for attributes of this size, or of this file"),
    })
}

fn not_listed(errno: Errno, what: &str) -> Loss {
    Loss::system(AttributeKind::Extended, errno, &format!("extended attributes: {what}"))
}

fn kind_of(name: &CStr) -> AttributeKind {
    if is_acl(name) { AttributeKind::AccessList } else { AttributeKind::Extended }
}

fn words_of(name: &CStr) -> String {
    format!("extended attribute {}", crate::problem::shown(name.to_bytes()))
}

/// Removes what the folder handed down (a default ACL would let in whom the source keeps out) and what an older file
/// had. Attributes that are not kept of the source, labels of the system and properties of the file system stay.
fn remove_others(
    names: &[(CString, AttributeHolder<'_>, bool)],
    to: AttributeHolder<'_>,
    keep: Keep,
    new: New<'_>,
    lost: &mut Lost,
) -> bool {
    let is_wanted = |name: &CString| names.iter().any(|(wanted, ..)| wanted == name);
    let goes = |name: &CString| is_kept(name, keep) || new.replaced.is_some();
    let others = to.xattr_names().unwrap_or_else(|errno| {
        lost.push(not_listed(errno, "could not be listed").if_asked(keep.acl || keep.xattrs));
        Vec::new()
    });
    let others: Vec<CString> =
        others.into_iter().filter(|name| is_files_own(name) && goes(name) && !is_wanted(name)).collect();
    for name in &others {
        if let Err(errno) = when_writable(to, || to.remove_xattr(name)) {
            let what =
                format!("{}: the source does not have it, and it could not be removed", words_of(name));
            lost.push(Loss::system(kind_of(name), errno, &what).if_asked(is_kept(name, keep)));
        }
    }
    !others.is_empty()
}

/// What belongs to the file, whatever system it lies on.
pub fn is_files_own(name: &CStr) -> bool {
    may_be_files_own(name) && !is_skipped(name)
}

/// The same before the system that the copy goes to says which of them it skips.
pub fn may_be_files_own(name: &CStr) -> bool {
    let spaces = [&b"user."[..], b"trusted."];
    let is_in_space = spaces.iter().any(|space| name.to_bytes().starts_with(space));
    is_acl(name) || is_in_space || name == c"security.capability"
}

/// Whether it is kept of the source.
pub fn is_kept(name: &CStr, keep: Keep) -> bool {
    if is_acl(name) { keep.acl } else { keep.xattrs && !is_skipped(name) }
}

/// Whether an extended attribute holds an access control list.
pub fn is_acl(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"system.posix_acl_")
}
