//! Names of a folder as a listing tells them: what each is, and what belongs to it that cannot be asked for later.
//!
//! Must not know: which folder it is, who asks.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use datapump_core::wire::NAMES_MAX;
use datapump_core::wire::attributes::{Attribute, Entry};
use datapump_core::wire::bounds::ErrorNumber;
use datapump_core::wire::peer_request::Answer;
use datapump_engine::Errno;
use datapump_transport::NetFault;

use crate::listed::Name;
use crate::net::folder::convert::{Tell, attributes_named, attributes_of, not_listed, to_wire};
use datapump_files::attributes::xattrs::may_be_files_own;
use datapump_files::disk::{AttributeHolder, FileKind, Meta, names, xattr_names_at};
use datapump_files::followed::OriginFolder;

/// Names are told in messages of about so many bytes.
const NAMES_BYTES: usize = 256 << 10;
/// Attributes of one name that are told with it.
pub(crate) const ATTRIBUTES_BYTES_MAX: usize = 512 << 10;
/// Attributes of regular files that are told with one listing. Those beyond are requested one by one.
const LISTED_ATTRIBUTES_BYTES: usize = 1 << 20;

const E2BIG: Errno = Errno(7);
/// "Link has been severed": a link that is followed leads to nothing. The name itself has not vanished.
const ENOLINK: Errno = Errno(67);

/// Gives names to `tell`, in as many messages as that takes.
pub(crate) fn send_names(
    folder: &OriginFolder,
    names: Vec<Name>,
    cookie: u64,
    with_attributes: bool,
    tell: Tell<'_>,
) -> Result<(), NetFault> {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    let mut room = LISTED_ATTRIBUTES_BYTES;
    for name in names {
        let mut entry = entry_of_name(folder, name);
        if with_attributes {
            // What cannot be told here is requested alone, and its error told then.
            room -= add_attributes(folder, &mut entry, room.min(ATTRIBUTES_BYTES_MAX)).unwrap_or(0);
        }
        bytes += length(&entry);
        entries.push(entry);
        if bytes >= NAMES_BYTES || entries.len() == NAMES_MAX {
            tell(Answer::Names { entries: std::mem::take(&mut entries), cookie, more: true, owners: None })?;
            bytes = 0;
        }
    }
    tell(Answer::Names { entries, cookie, more: false, owners: None })
}

/// One name, with whether it is a partial file and, if requested, its extended attributes.
pub(crate) fn entry_with_facts(folder: &OriginFolder, name: Name, with_attributes: bool) -> Entry {
    let is_partial = datapump_files::commit::partial::is_pumps_in(&folder.file, &name.name);
    let mut entry = Entry { is_partial: is_partial.then_some(true), ..entry_of_name(folder, name) };
    match with_attributes.then(|| add_attributes(folder, &mut entry, ATTRIBUTES_BYTES_MAX)) {
        Some(Err(E2BIG)) => entry.attributes = Some(not_listed()),
        Some(Err(errno)) => (entry.meta, entry.errno) = (None, Some(ErrorNumber::of(errno.0))),
        _ => {}
    }
    entry
}

/// An entry under whose name nothing exists.
pub(crate) fn missing_entry(name: Name) -> Entry {
    let errno = Some(ErrorNumber::of(Errno::ENOENT.0));
    let name = name.name.into_vec().into();
    Entry {
        name,
        meta: None,
        points_to: None,
        attributes: None,
        errno,
        is_partial: None,
        follows: None,
        is_withheld: None,
    }
}

/// Adds the attributes of a regular file, if they take at most so many bytes. Gives how many they take.
fn add_attributes(folder: &OriginFolder, entry: &mut Entry, most: usize) -> Result<usize, Errno> {
    if !entry.meta.as_ref().is_some_and(|meta| meta.kind == FileKind::Regular) {
        return Ok(0);
    }
    let attributes = file_attributes(folder, OsStr::from_bytes(&entry.name))?;
    let bytes = attributes_bytes(&attributes);
    if bytes > most {
        return Err(E2BIG);
    }
    entry.attributes = Some(attributes);
    Ok(bytes)
}

/// The extended attributes of a file that are compared. Most files have none: then nothing is opened.
fn file_attributes(folder: &OriginFolder, name: &OsStr) -> Result<Vec<Attribute>, Errno> {
    let followed = folder.followed(name)?;
    let listed = match &followed {
        Some(held) => AttributeHolder::Held(held).xattr_names(),
        None => xattr_names_at(&folder.file, name),
    };
    let mut listed: Vec<CString> = match listed {
        Err(errno @ (Errno::ENOENT | Errno::ESTALE)) => return Err(errno),
        Err(_) => return Ok(not_listed()),
        Ok(listed) => listed,
    };
    listed.retain(|name| may_be_files_own(name));
    if listed.is_empty() {
        return Ok(Vec::new());
    }
    let held = followed.map_or_else(|| names::hold(&folder.file, name), Ok)?;
    Ok(attributes_named(AttributeHolder::Held(&held), listed))
}

pub(crate) fn attributes_bytes(attributes: &[Attribute]) -> usize {
    attributes.iter().map(|attribute| attribute.name.len() + attribute.value.len() + 8).sum()
}

fn length(entry: &Entry) -> usize {
    /// What `stat(2)` says takes about this.
    const META_BYTES: usize = 120;
    let points_to = entry.points_to.as_ref().map_or(0, |to| to.len());
    let attributes = entry.attributes.as_deref().map_or(0, attributes_bytes);
    META_BYTES + entry.name.len() + points_to + attributes
}

/// A name with its attributes and, for a link, what it points to; with the error number where it cannot be looked at.
fn entry_of_name(folder: &OriginFolder, name: Name) -> Entry {
    let looked = look_into(folder, &name.name);
    let errno = looked.as_ref().err().map(|errno| ErrorNumber::of(errno.0));
    let (meta, points_to, attributes) = looked.map_or((None, None, None), |(meta, points_to, attributes)| {
        (Some(to_wire(&meta)), points_to.map(|to| to.into_vec().into()), attributes)
    });
    Entry {
        name: name.name.into_vec().into(),
        meta,
        points_to,
        attributes,
        errno,
        is_partial: None,
        follows: None,
        is_withheld: name.is_withheld.then_some(true),
    }
}

type LookedInto = (Meta, Option<OsString>, Option<Vec<Attribute>>);

/// What a name is; of what cannot be opened later also what belongs to it. One that is replaced between two calls is looked
/// at again.
fn look_into(folder: &OriginFolder, name: &OsStr) -> Result<LookedInto, Errno> {
    /// One that is another each time is as good as gone.
    const TRIES: u32 = 8;
    let looked = (0..TRIES).map(|_| look_once(folder, name)).find_map(Result::transpose);
    looked.unwrap_or(Err(Errno::ENOENT))
}

/// Looks at a name: its attributes, what a link points to, and extended attributes of what is never opened. `None`:
/// another file has the name by now.
fn look_once(folder: &OriginFolder, name: &OsStr) -> Result<Option<LookedInto>, Errno> {
    let meta = folder.metadata(name).map_err(|errno| match errno {
        Errno::ENOENT if folder.leads_nowhere(name) => ENOLINK,
        errno => errno,
    })?;
    if matches!(meta.kind, FileKind::Regular | FileKind::Folder | FileKind::Socket) {
        return Ok(Some((names::with_identity(meta, &folder.file, name), None, None)));
    }
    let Some(held) = folder.hold_the(name, &meta)? else { return Ok(None) };
    let points_to = match meta.kind {
        FileKind::Symlink => Some(names::read_held_symlink(&held)?),
        _ => None,
    };
    let attributes = fitting(attributes_of(AttributeHolder::Held(&held)));
    Ok(Some((names::with_identity(meta, &folder.file, name), points_to, Some(attributes))))
}

/// Attributes of one name, if they are not more than are told of one.
pub(crate) fn fitting(attributes: Vec<Attribute>) -> Vec<Attribute> {
    if attributes_bytes(&attributes) > ATTRIBUTES_BYTES_MAX { not_listed() } else { attributes }
}
