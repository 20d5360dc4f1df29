//! Finds out what the letters of a change say besides size, times, owner and mode: only where changes are told.
//!
//! Must not know: letters, what becomes of a name.

pub(crate) mod compare_attributes;
pub(crate) mod kept_times;

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::folder::directory::Directory;
use crate::folder::side::FolderSide;
use crate::listed::Name;
use crate::origin::Origin;
use crate::report::change::{Change, ChangeKind, Findings};
use crate::setup::options::Keep;
use crate::targets::{Item, change_of};
use crate::tree::Shared;
use crate::tree::state::name_flags::window_ns;
use datapump_files::attributes;
use datapump_files::disk::{AttributeHolder, FileKind, Meta, names};
use std::fs::File;

const ACL: Keep = Keep { acl: true, ..Keep::NOTHING };
const XATTRS: Keep = Keep { xattrs: true, ..Keep::NOTHING };

const UNTOLD: &str = "attributes of files: extended attributes and access control lists were not compared, because the \
                      other side is an older version; install the same version on both sides";

/// Findings of what is new.
pub(crate) fn for_new(shared: &Shared<'_>) -> Findings {
    Findings {
        keep: shared.settings.options.attributes.keep,
        sets_owners: shared.trees.flags.gives_away,
        groups: shared.trees.flags.groups,
        by_content: shared.settings.options.comparison.checksum,
        window_ns: window_ns(shared.settings.options),
        other_value: false,
        other_acl: false,
        other_xattrs: false,
        leads_to: None,
    }
}

/// Findings of a name in a folder. What cannot be found out is reported by whoever acts on it.
pub(crate) fn for_name(
    shared: &Shared<'_>,
    directory: &Directory,
    name: &Name,
    meta: &Meta,
    existing: Option<&Meta>,
) -> Findings {
    let new = for_new(shared);
    let Ok(origin) = directory.source.origin() else { return new };
    let points_to = match meta.kind {
        FileKind::Symlink => {
            let own = Name { name: directory.source.own(&name.name).to_owned(), ..name.clone() };
            origin.read_symlink(&own, &directory.source.path_of(&name.name)).ok()
        }
        _ => None,
    };
    let new = Findings { leads_to: points_to.as_ref().map(PathBuf::from), ..new };
    let target = directory.target.as_ref().and_then(|target| target.file().ok());
    let (Some(_), Some(target)) = (existing.filter(|existing| existing.kind == meta.kind), target) else {
        return new;
    };
    // Of another host only regular files tell theirs alone.
    let is_told = meta.kind == FileKind::Regular || matches!(origin, Origin::Here(_));
    // Letters alone tell of those of files.
    let is_told = is_told && (shared.settings.itemizes() || meta.kind == FileKind::Folder);
    let reported = if is_told { origin.with_attributes(name, new.keep) } else { name.clone() };
    let differ = |keep| is_told && origin.hidden_attributes_differ(&reported, &target, keep).unwrap_or(false);
    let other_value = points_to.is_some_and(|to| names::read_symlink(&target, &name.name).ok() != Some(to));
    Findings {
        other_value,
        other_acl: new.keep.acl && differ(ACL),
        other_xattrs: new.keep.xattrs && differ(XATTRS),
        ..new
    }
}

/// Findings of two open folders.
pub(crate) fn for_folders(shared: &Shared<'_>, source: &FolderSide, target: &FolderSide) -> Findings {
    let new = for_new(shared);
    let (Ok(from), Ok(to)) = (source.origin(), target.file()) else { return new };
    let differ =
        |keep| attributes::hidden_differ(from.bearer(), AttributeHolder::Open(&to), keep).unwrap_or(false);
    Findings {
        other_acl: new.keep.acl && differ(ACL),
        other_xattrs: new.keep.xattrs && differ(XATTRS),
        ..new
    }
}

/// The change to report for a name of this folder, if anybody wants to know.
pub(crate) fn change(
    shared: &Shared<'_>,
    directory: &Directory,
    kind: ChangeKind,
    name: &Name,
    meta: &Meta,
    existing: Option<&Meta>,
) -> Option<Box<Change>> {
    tells(shared, kind, meta).then(|| {
        let own = &name.name;
        let target = directory.target_path().join(own);
        let paths = [directory.source.path_of(own), target, reported_path(shared, directory, own)];
        let findings = for_name(shared, directory, name, meta, existing);
        Box::new(Change::new(kind, paths, meta, existing, findings))
    })
}

/// The path of a name from the target that the user named on, as rsync prints it; of what gets another name there, the
/// name of the source.
pub(crate) fn reported_path(shared: &Shared<'_>, directory: &Directory, name: &OsStr) -> PathBuf {
    let root = shared.settings.below_target(&directory.root.target_path);
    let is_lone = directory.root.named.is_some_and(|named| named.is_lone);
    directory.source.path_below(root).join(if is_lone { name } else { directory.source.own(name) })
}

/// Whether a name's extended attributes or access control lists are not those at the target.
pub(crate) fn hidden_differ(shared: &Shared<'_>, source: &Origin, name: &Name, to: &File) -> bool {
    let differ = source.hidden_attributes_differ(name, to, shared.settings.options.attributes.keep);
    if differ.is_none() {
        shared.ledger.warn_once(UNTOLD.into());
    }
    differ.unwrap_or(false)
}

/// The change to report for a file that the user named, if anybody wants to know.
pub(crate) fn change_of_item(
    shared: &Shared<'_>,
    item: &Item,
    kind: ChangeKind,
    existing: Option<&Meta>,
) -> Option<Box<Change>> {
    let is_told = item.meta.is_some_and(|meta| tells(shared, kind, &meta));
    if is_told { change_of(item, kind, existing, for_new(shared)) } else { None }
}

/// Whether such a change is told. A file that is copied is an event of its own.
fn tells(shared: &Shared<'_>, kind: ChangeKind, meta: &Meta) -> bool {
    let is_file = kind == ChangeKind::Copy && meta.kind == FileKind::Regular;
    shared.settings.itemizes() || (!is_file && shared.settings.tells_changes())
}
