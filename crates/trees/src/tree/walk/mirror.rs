//! Refusal of what is no mirror: a source that is not one folder, an empty one whose copy is not, as a disk leaves that
//! is not mounted, and a home folder as the copy.
//!
//! Must not know: how trees are walked, how names are removed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use datapump_engine::os::linux::user_home;

use crate::folder::side::FolderSide;
use crate::listed::Name;
use crate::origin::Origin;
use crate::place::Place;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::setup::options::Options;
use crate::targets::{Hosts, Item, Target};
use crate::tree::Shared;
use crate::tree::walk::begin_tree::open_root::{open_plain, open_target};
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::{FileKind, PathAt};
use datapump_files::followed::OriginFolder;
use datapump_files::identity::id;

/// Refuses a mirror of anything but one folder. A missing folder is no usage error: it may come back.
pub(crate) fn refuse_non_folders(
    hosts: &Hosts<'_>,
    sources: &[Place],
    options: &Options,
) -> Result<(), Problem> {
    if !options.deletion.mirror {
        return Ok(());
    }
    let [source] = sources else {
        return Err(Problem::usage("a mirror is the same as one folder; name one source and its copy"));
    };
    match hosts.meta(0, source).transpose()? {
        Some(meta) if meta.kind == FileKind::Folder => Ok(()),
        Some(_) | None => Err(Problem::usage(format!(
            "'{source}' is not a directory, and a mirror needs one; use pump copy"
        ))),
    }
}

/// Refuses to delete in the home or root folder, which hold more than a copy of something: `host:` alone names the one,
/// a slash too much the other. A user who says how many names may be removed means it.
pub(crate) fn refuse_home(items: &[Item], options: &Options) -> Result<(), Problem> {
    if !options.deletion.delete || options.deletion.max_delete.is_some() {
        return Ok(());
    }
    for item in items {
        let Target::Tree(at) = &item.target else { continue };
        let Ok(there) = at.metadata().map(|there| id(&there)) else { continue };
        let is_one =
            |path: &Path| std::fs::metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == there);
        let words = if is_one(Path::new("/")) {
            "the root folder"
        } else if homes().iter().any(|home| is_one(home)) {
            "the home folder of this user"
        } else {
            continue;
        };
        let (command, source) = (if options.deletion.mirror { "a mirror" } else { "--delete" }, &item.source);
        let words = format!(
            "is {words}, and {command} would remove all in it that '{source}' does not have; copy into a folder in \
             it, or say with --max-delete how many names may go"
        );
        return Err(Problem::new(Class::Usage, Operation::Copy, &at.path, words));
    }
    Ok(())
}

/// What the environment says, and what the system says.
fn homes() -> Vec<PathBuf> {
    let named = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let of_user = user_home(rustix::process::geteuid().as_raw()).map(OsString::from_vec).map(PathBuf::from);
    named.into_iter().chain(of_user.filter(|home| home.is_absolute())).collect()
}

/// Refuses a mirror of an empty source to a target that is not empty, before anything is made or removed. A user who
/// says how many names may be removed means it.
pub(crate) fn refuse_emptied(shared: &Shared<'_>, source: &FolderSide, at: &PathAt) -> Result<(), Problem> {
    let options = shared.settings.options;
    if !options.deletion.mirror || options.deletion.max_delete.is_some() {
        return Ok(());
    }
    let of_source = |name: &Name| is_copied(shared, name);
    if has_names(&source.origin()?, &source.path(), of_source)? || !is_filled(shared, at)? {
        return Ok(());
    }
    let words = format!(
        "is empty, and '{}' is not: a disk may not be mounted; if all of that is to go, say with --max-delete how \
         many names",
        shown_path(&at.path)
    );
    Err(Problem::new(Class::Refused, Operation::Mirror, &source.path(), words))
}

/// Whether something exists at the target that a mirror could remove.
fn is_filled(shared: &Shared<'_>, at: &PathAt) -> Result<bool, Problem> {
    match open_target(at, open_plain) {
        Ok((folder, _)) => has_names(&Origin::Here(OriginFolder::from_file(folder)), &at.path, |name| {
            is_removable(shared, name)
        }),
        Err(problem) if problem.class == Class::Missing => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Whether a folder has a name that counts. That of an unfinished copy's list does not.
fn has_names(folder: &Origin, path: &Path, counts: impl Fn(&Name) -> bool) -> Result<bool, Problem> {
    let (mut names, mut next) = folder.peek(path)?;
    loop {
        if names.is_empty() {
            return Ok(false);
        }
        if names.iter().any(&counts) {
            return Ok(true);
        }
        (names, next) = folder.list(next, false, path)?;
    }
}

/// Whether nothing keeps a name of the target that the source does not have.
fn is_removable(shared: &Shared<'_>, name: &Name) -> bool {
    let excluded_go = shared.settings.options.deletion.delete_excluded;
    let protects = |is_folder| {
        shared.trees.select.protects((Path::new(""), PathBuf::new), (&name.name, is_folder), excluded_go)
    };
    let is_protected = match name.kind {
        Some(kind) => protects(kind == FileKind::Folder),
        None => protects(true) && protects(false),
    };
    !is_protected && !name.is_withheld && name.name != LIST_NAME
}

/// Whether a copy deals with it.
fn is_copied(shared: &Shared<'_>, name: &Name) -> bool {
    let includes =
        |is_folder| shared.trees.select.includes(Path::new(""), PathBuf::new, &name.name, is_folder);
    let is_included = match name.kind {
        Some(kind) => includes(kind == FileKind::Folder),
        // Some file systems do not say what a name is.
        None => includes(true) || includes(false),
    };
    is_included && !name.is_withheld && name.name != LIST_NAME
}
