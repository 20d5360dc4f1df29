//! What the user named one by one and goes to names in folders: gathered by the folder that holds it and the folder that
//! it goes to. Each such group is dealt with as names of one folder of a tree. Folders that go to one folder are started one
//! after the other: the list of the first one is that of all.
//!
//! Must not know: what becomes of a name, how folders are opened.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::place::Place;
use crate::setup::options::{FollowLinks, Options};
use crate::targets::guard::claims::TargetClaims;
use crate::targets::item::{Item, Target};
use datapump_files::disk::{FileKind, Folder, folder_of, metadata_of_name};
use datapump_files::identity::{FileId, id};

/// What the user named and is a name of a folder.
#[derive(Clone, Debug)]
pub(crate) struct NamedItem {
    pub(crate) item: Item,
    /// It is a symbolic link that stands for what it leads to.
    pub(crate) follows: bool,
    /// How many names the file counts as having; `None`: those of its inode.
    pub(crate) links: Option<u64>,
}

/// Names that lie in one folder and go to one folder.
pub(crate) type NamedGroup = Vec<NamedItem>;

/// A piece of the work of a command.
pub(crate) enum NamedWork {
    /// Sources that go to one place.
    Items(Vec<Item>),
    Names(NamedGroup),
}

/// Whether it goes to a name in a folder: a file, or what is never read. Measured it is a place of its own.
pub(crate) fn is_name_in_folder(item: &Item, options: &Options) -> bool {
    let is_place = options.measuring.rehearsal_bytes.is_some();
    let is_file = item.meta.is_some_and(|meta| meta.kind == FileKind::Regular);
    match (&item.source, &item.target) {
        _ if item.is_left_out => false,
        (_, Target::Entry(_)) => true,
        (Place::Path(_) | Place::Remote(_) | Place::Web(_) | Place::Stripe(_), Target::File(at)) => {
            is_file && !is_place && !matches!(at.folder(), Ok(Folder::Sim(_)))
        }
        _ => false,
    }
}

/// The work of a command in the order of its sources; a group comes where its first name does.
pub(crate) fn group_items(items: Vec<Item>, claims: &TargetClaims, options: &Options) -> Vec<NamedWork> {
    let mut works = Vec::with_capacity(items.len());
    let (given, mut groups, mut firsts) =
        (count_given_names(&items, options), HashMap::new(), HashMap::new());
    for item in items {
        if !is_name_in_folder(&item, options) {
            let first = claims.merged_with(item.number).min().unwrap_or(item.number);
            match firsts.get(&first).map(|first: &usize| &mut works[*first]) {
                Some(NamedWork::Items(items)) => items.push(item),
                _ => {
                    firsts.insert(first, works.len());
                    works.push(NamedWork::Items(vec![item]));
                }
            }
            continue;
        }
        let (folders, named) = (group_key(&item), named(item, &given));
        let group = folders.as_ref().and_then(|folders| groups.get(folders).copied());
        match group.map(|group: usize| &mut works[group]) {
            Some(NamedWork::Names(group)) => group.push(named),
            _ => {
                folders.and_then(|folders| groups.insert(folders, works.len()));
                works.push(NamedWork::Names(vec![named]));
            }
        }
    }
    works
}

/// The path of the folder that holds it, and which open folder it goes to. `None` of what is a group of its own.
fn group_key(item: &Item) -> Option<(PathBuf, usize)> {
    if !matches!(item.source, Place::Path(_) | Place::Remote(_)) {
        return None;
    }
    match (item.source.path(), item.target.name_place()?.folder()) {
        (Some(from), Ok(Folder::Os(folder))) => {
            Some((folder_of(from).to_path_buf(), Arc::as_ptr(folder).addr()))
        }
        _ => None,
    }
}

/// `given`: how many names of each file the user gave. It counts as having so many at least.
fn named(item: Item, given: &HashMap<FileOfHost, u64>) -> NamedItem {
    let given = file_of(&item).and_then(|file| given.get(&file).copied());
    let links = item.meta.zip(given).filter(|(meta, given)| *given > meta.links).map(|(_, given)| given);
    NamedItem { follows: is_followed(&item), links, item }
}

/// Whether it is a symbolic link that stands for what it leads to.
fn is_followed(item: &Item) -> bool {
    let path = item.source.local_path().filter(|_| !item.is_entry());
    let is_link = |path: &Path| metadata_of_name(path).is_ok_and(|meta| meta.kind == FileKind::Symlink);
    path.is_some_and(is_link)
}

/// A file by its numbers, which are those of this host or of the other.
#[derive(PartialEq, Eq, Hash)]
struct FileOfHost {
    is_here: bool,
    file: FileId,
}

/// Counts the names that the user gave of each file; symbolic links to it count, too. With -L each of those is a file of its
/// own, as in a folder.
fn count_given_names(items: &[Item], options: &Options) -> HashMap<FileOfHost, u64> {
    let mut files = HashMap::new();
    if items.len() < 2 || options.links.follow == FollowLinks::Always {
        return files;
    }
    for file in items.iter().filter(|item| is_name_in_folder(item, options)).filter_map(file_of) {
        *files.entry(file).or_default() += 1;
    }
    files
}

fn file_of(item: &Item) -> Option<FileOfHost> {
    let (Target::File(_), Place::Path(_) | Place::Remote(_)) = (&item.target, &item.source) else {
        return None;
    };
    Some(FileOfHost { is_here: item.source.local_path().is_some(), file: id(item.meta.as_ref()?) })
}
