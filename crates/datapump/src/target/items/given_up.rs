//! Names that the backups of named targets take from what has them: a symbolic link in the place of a target gives way
//! itself, and a simple backup replaces the one before it. None of them may be what a source leads through.
//!
//! Must not know: where a folder of backups may lie (`backup_dir`), how backups are made.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use super::backup_dir::{self, whole};
use super::{Hosts, Item, Target, called_as_backups};
use crate::job::neighbours;
use crate::job::options::{Backup, Options};
use crate::problem::{Class, Operation, Problem, shown_path};
use datapump_files::disk::{FileKind, Folder, Meta, PathAt, file_meta, folder_of, metadata_of_name, names};
use datapump_files::identity::{FileId, id};

/// As many links as the system follows: path_resolution(7).
const LINKS_MAX: usize = 40;

/// Whether a symbolic link in the place of a target is the backup itself, as with cp and rsync, instead of leading to
/// what is written. Names of open files stay what they are, and so does a link to a device that --devices overwrites.
pub(in crate::target) fn gives_way(at: &PathAt, options: &Options) -> bool {
    let leads_to_device =
        || at.metadata().is_ok_and(|meta| meta.kind == FileKind::BlockDevice) && options.devices;
    options.backup.is_some()
        && at.follows()
        && at.name().is_some()
        && at.is_symlink()
        && !at.is_of_open_files()
        && !leads_to_device()
}

/// A name that will be another file's, and what it is now.
struct GivenUp<'items> {
    folder: FileId,
    name: OsString,
    links: u64,
    /// The target that it is given up for.
    item: &'items Item,
    at: &'items PathAt,
    /// The backup that takes it; none where the target does.
    backup: Option<PathBuf>,
}

/// Refuses what would take a name from under a source, which would lead to other content then, or to nothing.
pub(super) fn refuse_sources(hosts: &Hosts<'_>, items: &[Item], options: &Options) -> Result<(), Problem> {
    let Some(backup) = options.backup.as_ref().filter(|_| options.rehearsal_bytes.is_none()) else {
        return Ok(());
    };
    let names: HashMap<FileId, Vec<GivenUp<'_>>> = given_up(hosts, items, (backup, options));
    if names.is_empty() {
        return Ok(());
    }
    for source in items {
        let Some(path) = source.source.local_path() else { continue };
        let is_read = source.meta.is_some_and(|meta| meta.kind != FileKind::Symlink);
        let stands = |taken: &&GivenUp<'_>, there: &Meta| {
            // The backup of a source's own target gets a number there.
            let is_numbered = taken.backup.is_some()
                && taken.item.number == source.number
                && source.meta.is_some_and(|meta| id(&meta) == id(there));
            !is_numbered
        };
        if let Some(taken) = first_on_the_way(path, is_read, &names, stands) {
            return Err(refused(taken, path));
        }
    }
    Ok(())
}

fn refused(taken: &GivenUp<'_>, source: &Path) -> Problem {
    let source = shown_path(source);
    let words = match &taken.backup {
        None => format!(
            "is a symbolic link, which --backup takes aside, and the source '{source}' leads through it; choose \
             another name for the copy, or leave out --backup"
        ),
        Some(backup) => format!(
            "its backup '{}' would replace what the source '{source}' is or leads to; add --backup=numbered, or choose \
             another --suffix",
            shown_path(backup)
        ),
    };
    Problem::new(Class::Usage, Operation::BackUp, &taken.at.path, words)
}

/// The names, by the files that have them.
fn given_up<'items>(
    hosts: &Hosts<'_>,
    items: &'items [Item],
    (backup, options): (&Backup, &Options),
) -> HashMap<FileId, Vec<GivenUp<'items>>> {
    let mut names: HashMap<FileId, Vec<GivenUp<'items>>> = HashMap::new();
    let mut add = |there: &Meta, taken| names.entry(id(there)).or_default().push(taken);
    // Where one target lies in another all backups that would replace something get a number.
    let may_replace =
        !neighbours::overlap(items) && backup_dir::may_replace(items, options, hosts.is_confined);
    let others = called_as_backups(items, options);
    for item in items.iter().flat_map(Item::names).filter(|item| !item.is_left_out) {
        let (Target::File(at) | Target::Entry(at)) = &item.target else { continue };
        let (Ok(Folder::Os(folder)), Some(name)) = (at.folder(), at.name()) else { continue };
        let Ok(stood) = names::metadata(folder, name) else { continue };
        let taken = |in_folder: &File, name: &OsStr, links, backup| {
            let folder = file_meta(in_folder).ok().map(|meta| id(&meta))?;
            Some(GivenUp { folder, name: name.to_owned(), links, item, at, backup })
        };
        if stood.kind == FileKind::Symlink && matches!(item.target, Target::File(_)) {
            taken(folder, name, stood.links, None).into_iter().for_each(|taken| add(&stood, taken));
        }
        let Some(to) = whole(backup, folder, hosts.is_confined).filter(|_| may_replace) else { continue };
        let Some(simple) = backup.name_taken(&to, name).filter(|simple| !others.contains(simple)) else {
            continue;
        };
        let Ok(there) = names::metadata(&to, &simple) else { continue };
        if id(&there) != id(&stood) && there.kind != FileKind::Folder {
            let shown = shown_backup(backup, at, &simple);
            taken(&to, &simple, there.links, Some(shown)).into_iter().for_each(|taken| add(&there, taken));
        }
    }
    names
}

fn shown_backup(backup: &Backup, at: &PathAt, simple: &OsStr) -> PathBuf {
    let above = at.path.parent().unwrap_or(Path::new(""));
    above.join(backup.folder.as_deref().unwrap_or(Path::new(""))).join(simple)
}

/// The first name on the way to a source that is given up; the last one's links are followed where that `is_read`.
fn first_on_the_way<'names, 'items>(
    path: &Path,
    is_read: bool,
    names: &'names HashMap<FileId, Vec<GivenUp<'items>>>,
    stands: impl Fn(&&'names GivenUp<'items>, &Meta) -> bool,
) -> Option<&'names GivenUp<'items>> {
    let mut left: Vec<OsString> = steps(path);
    let (mut here, mut links) = (PathBuf::new(), 0);
    while let Some(step) = left.pop() {
        here.push(&step);
        let there = metadata_of_name(&here).ok()?;
        let is_taken = |taken: &&GivenUp<'_>| taken.links < 2 || is_name(taken, &here);
        let known = names.get(&id(&there)).into_iter().flatten();
        if let Some(taken) = known.filter(is_taken).find(|taken| stands(taken, &there)) {
            return Some(taken);
        }
        let follows = is_read || !left.is_empty();
        if there.kind == FileKind::Symlink && follows && links < LINKS_MAX {
            links += 1;
            let to = std::fs::read_link(&here).ok()?;
            here.pop();
            left.extend(steps(&to));
        }
    }
    None
}

/// The steps of a path, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let own = |part: Component<'_>| part.as_os_str().to_owned();
    path.components().filter(|part| *part != Component::CurDir).map(own).rev().collect()
}

/// Whether it is this very name: a file that has several is not lost with one of them.
fn is_name(taken: &GivenUp<'_>, path: &Path) -> bool {
    let above = folder_of(path);
    let folder = names::find_folder(above).and_then(|folder| file_meta(&folder));
    path.file_name() == Some(&*taken.name) && folder.is_ok_and(|folder| id(&folder) == taken.folder)
}
