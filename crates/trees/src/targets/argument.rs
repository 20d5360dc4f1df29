//! What the user named and is not copied as a file or folder: excluded names; symbolic links that stay links; pipes,
//! devices and sockets beside other sources.
//!
//! Must not know: how patterns match, how anything is made.

use std::path::Path;

use super::hosts::Hosts;
use super::item::{FOLLOW_INSTEAD, Target, own_name};
use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::setup::options::Options;
use datapump_core::selection::Select;
use datapump_files::disk::{FileKind, Meta, PathAt};
use datapump_files::followed::names_descriptor;

/// Whether it is dealt with as in a tree: a name that a shell put among others must not be waited for, nor read
/// without end. Named alone, a device is a stream, and so is a pipe unless pipes are kept. A link is followed before it
/// comes here, unless it is kept.
pub(super) fn is_entry(
    hosts: &Hosts<'_>,
    several: bool,
    source: &Place,
    meta: &Meta,
    options: &Options,
) -> bool {
    let special = match meta.kind {
        FileKind::Fifo | FileKind::CharDevice | FileKind::Socket => true,
        FileKind::BlockDevice => !options.place.devices,
        FileKind::Symlink => {
            return options.place.keep_links && matches!(source, Place::Path(_) | Place::Remote(_));
        }
        FileKind::Regular | FileKind::Folder => false,
    };
    let Some(path) = source.local_path().filter(|_| special) else { return false };
    // What a shell writes for `<(...)` is there to be read.
    several || (hosts.keeps_pipes && meta.kind == FileKind::Fifo && !names_descriptor(path))
}

/// Resolves the target of a source that is dealt with as in a tree. Refuses a descriptor, and a link that would have no name.
pub(super) fn resolve_entry(
    source: &Place,
    meta: Option<&Meta>,
    found: Option<&PathAt>,
    folder: Option<&PathAt>,
) -> Result<Target, Problem> {
    let is_link = meta.is_some_and(|meta| meta.kind == FileKind::Symlink);
    if let Some(path) = source.local_path().filter(|path| !is_link && names_descriptor(path)) {
        let words = "is open already and is read once, to its end: name it as the only source";
        return Err(Problem::new(Class::Usage, Operation::Copy, path, words));
    }
    // Where several are named there is a folder.
    let new_name = found.filter(|at| folder.is_none() && at.name().is_some());
    if let Some(at) = new_name {
        return entry_target(at.clone(), is_link);
    }
    match (folder, own_name(source), source.path()) {
        (Some(folder), Some(name), _) => entry_target(folder.child(name), is_link),
        (_, _, path) if is_link => {
            let words = format!("is a symbolic link, and stays one among files only; {FOLLOW_INSTEAD}");
            Err(Problem::new(Class::Usage, Operation::Copy, path.unwrap_or(Path::new("")), words))
        }
        (_, _, path) => {
            let words =
                "is no file and no folder: beside others it is copied into a folder only; name it alone";
            Err(Problem::new(Class::Io, Operation::Open, path.unwrap_or(Path::new("")), words))
        }
    }
}

/// The target of what is dealt with as in a tree.
///
/// Errors: a link would take the place of a device, or of a name of what programs have open.
fn entry_target(at: PathAt, is_link: bool) -> Result<Target, Problem> {
    let words = match at.metadata_of_name().map(|meta| meta.kind) {
        _ if !is_link => return Ok(Target::Entry(at)),
        Ok(FileKind::BlockDevice | FileKind::CharDevice) => {
            "is a device, and a symbolic link would take its place; remove it first"
        }
        _ if at.is_of_open_files() => {
            "stands for what programs have open, and a symbolic link would take its place; choose another name"
        }
        _ => return Ok(Target::Entry(at)),
    };
    let words = format!("{words}, or {FOLLOW_INSTEAD}");
    Err(Problem::new(Class::Usage, Operation::Copy, &at.path, words))
}

/// Whether a pattern leaves out what the user named.
pub(super) fn is_excluded(select: &Select, source: &Place, is_folder: bool, begin_above: bool) -> bool {
    own_name(source).is_some_and(|name| !select.includes_argument(name, (is_folder, begin_above)))
}
