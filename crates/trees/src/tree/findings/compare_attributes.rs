//! Compares what files and folders carry besides content, mode and times: owner, access control lists, extended
//! attributes. Each difference is a problem of class `mismatch`.
//!
//! Must not know: how folders are listed, how content is compared.

use std::path::Path;

use datapump_engine::{Errno, Handle};

use crate::folder::side::FolderSide;
use crate::listed::Name;
use crate::open::held::Attributes;
use crate::open::opened::Opened;
use crate::origin::Origin;
use crate::origin::source_host::RemoteOrigin;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::Shared;
use crate::tree::batch::cursor::BatchName;
use datapump_core::name::is_same_time;
use datapump_files::attributes::difference_words;
use datapump_files::disk::{AttributeHolder, FileCalls, FileKind, Meta, names};

const UNTOLD: &str =
    "attributes: the other side is an older version and does not tell them; install the same version";

/// Compares a name; of a folder what is known before it is opened.
pub(crate) fn compare_name(at: BatchName<'_>, meta: &Meta, other_meta: &Meta) -> Result<(), Problem> {
    let (path, other_path) = (at.source_path(), at.target_path());
    owner(at.shared, &path, &other_path, meta, other_meta);
    if meta.kind == FileKind::Folder {
        return Ok(());
    }
    let system =
        |path: &Path, errno: Errno| Problem::system(Operation::OpenToCompareAttributes, path, errno.0);
    let other = names::hold(at.target()?, &at.name.name).map_err(|errno| system(&other_path, errno))?;
    let (held, reported);
    let one = match &at.cursor.source {
        Origin::Here(folder) => {
            held = names::hold(&folder.file, &at.name.name).map_err(|errno| system(&path, errno))?;
            AttributeHolder::Held(&held)
        }
        Origin::There(folder) => {
            let Some(found) = told_attributes(&**folder, at.name, meta.kind, &path)? else {
                at.shared.ledger.warn_once(UNTOLD.into());
                return Ok(());
            };
            reported = found;
            AttributeHolder::Told(&reported)
        }
    };
    hidden(at.shared, &path, &other_path, one, AttributeHolder::Held(&other))
}

/// Mode and time of two regular files, and the other attributes where that is asked for; what else they are is told by
/// the comparison of their content.
pub(crate) fn compare_files(
    shared: &Shared<'_>,
    opened: &Opened,
    other: &Handle,
    other_path: &Path,
) -> Result<(), Problem> {
    let (Some(one), Ok(other_meta)) = (&opened.original, other.meta()) else { return Ok(()) };
    // Members have modes and times, and a stripe has none.
    let is_file = opened.is_file && opened.stripe.is_none();
    if shared.settings.options.comparison.content_only || !is_file || other_meta.kind != FileKind::Regular {
        return Ok(());
    }
    let (has_mode, has_time) = one.held.has_mode_and_time();
    let mode = if has_mode { one.meta.mode } else { other_meta.mode };
    let mtime_ns = if has_time { one.meta.mtime_ns } else { other_meta.mtime_ns };
    compare_mode_and_time(shared, &one.path, other_path, &Meta { mode, mtime_ns, ..one.meta }, &other_meta);
    // What has no mode has no owner and nothing else.
    if !shared.settings.options.comparison.compare_attributes || !has_mode {
        return Ok(());
    }
    owner(shared, &one.path, other_path, &one.meta, &other_meta);
    let from = match (opened.handle.as_deref(), one.held.reported()) {
        (Some(Handle::Os(file)), _) => AttributeHolder::Open(file),
        (_, Some((_, reported))) => AttributeHolder::Told(reported),
        _ => return Ok(()),
    };
    let Handle::Os(other) = other else { return Ok(()) };
    hidden(shared, &one.path, other_path, from, AttributeHolder::Open(other))
}

/// Compares two open folders.
pub(crate) fn of_folders(shared: &Shared<'_>, one: &FolderSide, other: &FolderSide) -> Result<(), Problem> {
    let (from, to) = (one.origin()?, other.file()?);
    hidden(shared, &one.path(), &other.path(), from.bearer(), AttributeHolder::Open(&to))
}

pub(crate) fn owner(shared: &Shared<'_>, path: &Path, other: &Path, one: &Meta, other_meta: &Meta) {
    if (one.uid, one.gid) != (other_meta.uid, other_meta.gid) {
        let (name, Meta { uid, gid, .. }) = (shown_path(other), one);
        let words = format!("belongs to {uid}:{gid}, '{name}' to {}:{}", other_meta.uid, other_meta.gid);
        shared.ledger.report(differs(path, words));
    }
}

/// Compares extended attributes and access control lists.
pub(crate) fn hidden(
    shared: &Shared<'_>,
    path: &Path,
    other: &Path,
    one: AttributeHolder<'_>,
    there: AttributeHolder<'_>,
) -> Result<(), Problem> {
    let found = difference_words(one, there, &shown_path(other).to_string());
    let found = found.map_err(|errno| Problem::system(Operation::ListAttributes, path, errno.0))?;
    found.into_iter().for_each(|words| shared.ledger.report(differs(path, words)));
    Ok(())
}

/// What another host tells of a name: with the listing, or when it is requested.
fn told_attributes(
    folder: &dyn RemoteOrigin,
    name: &Name,
    kind: FileKind,
    path: &Path,
) -> Result<Option<Attributes>, Problem> {
    let listed: Option<&Attributes> =
        name.reported.as_ref().and_then(|reported| reported.attributes.as_ref());
    match (listed, kind) {
        (Some(listed), _) => Ok(Some(listed.clone())),
        (None, FileKind::Regular) => folder.attributes_of(&name.name, path),
        (None, _) => folder.look_at(&name.name, path).map(|reported| reported.attributes),
    }
}

/// Compares mode and time, and reports each difference for itself.
pub(crate) fn compare_mode_and_time(
    shared: &Shared<'_>,
    path: &Path,
    other: &Path,
    one: &Meta,
    other_meta: &Meta,
) {
    let name = shown_path(other);
    if one.kind != FileKind::Symlink && one.mode != other_meta.mode {
        shared.ledger.report(differs(
            path,
            format!("has mode {:04o}, '{name}' has {:04o}", one.mode, other_meta.mode),
        ));
    }
    // What a mirror takes for equal, whichever of the two is the copy.
    if !is_same_time(one, other_meta, 0) && !is_same_time(other_meta, one, 0) {
        let (time, other_time) = (time_words(one.mtime_ns), time_words(other_meta.mtime_ns));
        shared.ledger.report(differs(path, format!("was changed at {time}, '{name}' at {other_time}")));
    }
}

/// A date in UTC with nanoseconds: whoever compares times does not want them rounded. Seconds since 1970 where a year
/// has more than four digits.
fn time_words(ns: i128) -> String {
    const SECOND: i128 = 1_000_000_000;
    match jiff::Timestamp::from_nanosecond(ns) {
        Ok(time) => format!("{time:.9}"),
        Err(_) => format!("{}.{:09}", ns.div_euclid(SECOND), ns.rem_euclid(SECOND)),
    }
}

pub(crate) fn differs(path: &Path, words: impl Into<String>) -> Problem {
    Problem::new(Class::Mismatch, Operation::Compare, path, words)
}
