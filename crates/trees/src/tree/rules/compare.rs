//! Compares two trees, name by name: its kind, mode, time of change, link structure, other attributes
//! where that is asked for (`compare_attributes`), and content, which the one loop
//! reads on both sides. Each difference is a problem of class `mismatch`; nothing is written.
//!
//! Must not know: how folders are listed, how blocks are moved, how differences are printed.

use std::path::Path;
use std::sync::Arc;

use datapump_engine::{Errno, Handle};

use crate::open::held::Held;
use crate::open::sizes;
use crate::origin::{Origin, SmallRead};
use crate::problem::{Operation, Problem, shown_path};
use crate::report::change;
use crate::tree::Shared;
use crate::tree::batch::cursor::BatchName;
use crate::tree::findings::compare_attributes;

use crate::tree::findings::compare_attributes::{compare_mode_and_time, differs};
use crate::tree::links::equal;
use crate::tree::state::links::TreeEntry;
use crate::tree::state::tree_file::OpenedFile;
use crate::units::number_of;
use datapump_files::disk::{self, FileKind, Meta, kind, names};
use datapump_files::{holes, identity};

/// Two open files of equal size whose content is left to be compared.
pub(crate) struct Pair {
    pub(crate) one: OpenedFile,
    pub(crate) other: Arc<Handle>,
    /// Another name of the same file was compared before, in both trees.
    pub(crate) is_other_name: bool,
}

/// Compares a name but for the content of files and folders; gives what is left. It was looked at after `now_ns`.
pub(crate) fn compare_name(at: BatchName<'_>, meta: &Meta, now_ns: i128) -> Result<Option<Pair>, Problem> {
    let (path, other_path) = (at.source_path(), at.target_path());
    let Some(other_meta) = at.target_meta()? else {
        return Err(is_missing(&other_path, &path));
    };
    if other_meta.kind != meta.kind {
        let (one, other) = (change::kind_words(meta.kind), change::kind_words(other_meta.kind));
        return Err(differs(&path, format!("is a {one}, '{}' is a {other}", shown_path(&other_path))));
    }
    let mut is_other_name = false;
    if !at.shared.settings.options.comparison.content_only {
        compare_mode_and_time(at.shared, &path, &other_path, meta, &other_meta);
        is_other_name = compare_links(at, meta, &other_meta)?;
    }
    if at.shared.settings.options.comparison.compare_attributes {
        compare_attributes::compare_name(at, meta, &other_meta)?;
    }
    match meta.kind {
        FileKind::Regular => {
            open_pair(at, meta, now_ns, &other_meta).map(|pair| Some(Pair { is_other_name, ..pair }))
        }
        FileKind::Symlink => compare_symlinks(at).map(|()| None),
        FileKind::CharDevice | FileKind::BlockDevice if meta.special_device != other_meta.special_device => {
            Err(differs(&path, format!("is another device than '{}'", shown_path(&other_path))))
        }
        _ => Ok(None),
    }
}

/// The first path is not there, and the other one is.
pub(crate) fn is_missing(path: &Path, other_path: &Path) -> Problem {
    differs(path, format!("is missing: there is only '{}'", shown_path(other_path)))
}

/// Which names are one file: those of one number that have one handle too. Without handles those that have one content.
/// Gives whether this is a further name of one file in both trees.
fn compare_links(at: BatchName<'_>, one: &Meta, other: &Meta) -> Result<bool, Problem> {
    if one.kind == FileKind::Folder || (one.links < 2 && other.links < 2) {
        return Ok(false);
    }
    let one = match &at.cursor.source {
        Origin::Here(folder) => names::with_identity(*one, &folder.file, &at.name.name),
        Origin::There(_) => *one,
    };
    let other = at.target().map_or(*other, |folder| names::with_identity(*other, folder, &at.name.name));
    let (twins, back) = (&at.shared.trees.twins, &at.shared.trees.twins_back);
    let (id, other_id) = (identity::id(&one), identity::id(&other));
    let entry = at.entry();
    let is_unknown = one.handle == 0 && one.kind == FileKind::Regular;
    let first = is_unknown.then(|| twins.first_name(id, &entry)).transpose()?;
    let source = &at.directory().source;
    let is_another = |first: TreeEntry| !equal::at_target(at.shared, &first, &entry);
    let forth = twins.note_and_compare((id, one.handle), other_id, source)?;
    let back = back.note_and_compare((other_id, other.handle), id, source)?;
    let agrees = forth.unwrap_or(true) && back.unwrap_or(true);
    if !agrees && !first.is_some_and(is_another) {
        let (path, other_path) = (at.source_path(), at.target_path());
        let words = format!("shares its content with other names than '{}' does", shown_path(&other_path));
        at.shared.ledger.report(differs(&path, words));
    }
    Ok(forth == Some(true) && back == Some(true))
}

/// Opens both files to compare their content. Sizes that differ are an error at once, unless one of them may be wrong.
fn open_pair(at: BatchName<'_>, meta: &Meta, now_ns: i128, other_meta: &Meta) -> Result<Pair, Problem> {
    let (path, other_path) = (at.source_path(), at.target_path());
    let target = at.target()?;
    let is_equal = meta.size_bytes == other_meta.size_bytes;
    let may_lie = |magic| kind::sizes_may_lie(magic) || kind::is_made_up(magic);
    let source_may_lie = match &at.cursor.source {
        source @ Origin::Here(_) => may_lie(source.magic()),
        // Opened, which costs a request, it refuses where it holds more than nothing.
        Origin::There(_) => !is_equal && meta.size_bytes == 0,
    };
    let target_may_lie = may_lie(disk::magic(target));
    if !(is_equal || source_may_lie || target_may_lie) {
        let words = format!(
            "has {}, '{}' has {}",
            number_of(meta.size_bytes, "byte"),
            shown_path(&other_path),
            other_meta.size_bytes
        );
        return Err(differs(&path, words));
    }
    let (bytes_max, is_whole) = (at.shared.settings.shape.request_bytes, at.shared.compares_by_sums());
    let small = SmallRead { bytes_max, is_whole, any_length: false };
    let (held, _) = at.cursor.source.open_file(at.name, &path, small, &at.shared.stop)?;
    let other = names::open_source(target, &at.name.name, true);
    let other = Handle::Os(other.map_err(|errno| Problem::system(Operation::Open, &other_path, errno.0))?);
    if !is_equal || target_may_lie {
        compare_ends(at, &path, &other_path, &held, meta, &other)?;
    }
    let look = at.look(now_ns, &held, meta);
    let (one, other) = (OpenedFile { held, meta: *meta, look }, Arc::new(other));
    Ok(Pair { one, other, is_other_name: false })
}

/// Compares where both files end, unless that is known when all is read.
///
/// Errors: the other one has more or fewer bytes. A size that may be wrong is tried by reading a byte.
fn compare_ends(
    at: BatchName<'_>,
    path: &Path,
    other_path: &Path,
    one: &Held,
    meta: &Meta,
    other: &Handle,
) -> Result<(), Problem> {
    let (traits, bytes) = (at.directory().traits, meta.size_bytes);
    if traits.made_up || sizes::goes_on_in(one, meta, traits.source_magic, path)? {
        return Ok(());
    }
    let has = |at| {
        let has = holes::sizes::has_byte(other, at);
        has.map_err(|errno| Problem::system(Operation::Read, other_path, errno.0).at(at))
    };
    let words = if has(bytes)? {
        "more"
    } else if bytes > 0 && !has(bytes - 1)? {
        "fewer"
    } else {
        return Ok(());
    };
    let (bytes, other) = (number_of(bytes, "byte"), shown_path(other_path));
    Err(differs(path, format!("has {bytes}, '{other}' has {words}")))
}

/// Compares two symbolic links. Errors: they point to different paths.
fn compare_symlinks(at: BatchName<'_>) -> Result<(), Problem> {
    let (path, other_path) = (at.source_path(), at.target_path());
    let wrong = |errno: Errno| Problem::system(Operation::ReadLink, &other_path, errno.0);
    let one = at.cursor.source.read_symlink(at.name, &path)?;
    let other = names::read_symlink(at.target()?, &at.name.name).map_err(wrong)?;
    if one == other {
        return Ok(());
    }
    let words = |content: &std::ffi::OsString| crate::shown(content.as_encoded_bytes());
    let message =
        format!("points to '{}', '{}' to '{}'", words(&one), shown_path(&other_path), words(&other));
    Err(differs(&path, message))
}

/// The ranges that hold data on one side or the other.
pub(crate) fn data_ranges(
    shared: &Shared<'_>,
    meta: &Meta,
    one: &Held,
    other: &Handle,
) -> Result<Vec<(u64, u64)>, Errno> {
    let here = match one {
        Held::Here(one) => {
            holes::ranges(one, meta, shared.settings.options.tuning.ignore_holes, &shared.stop)?
        }
        Held::There(one) => one.ranges(meta, shared.settings.options.tuning.ignore_holes),
    };
    let other_meta = datapump_files::disk::FileCalls::meta(other)?;
    let there = holes::ranges(other, &other_meta, shared.settings.options.tuning.ignore_holes, &shared.stop)?;
    Ok(holes::union(here, there, meta.size_bytes))
}
