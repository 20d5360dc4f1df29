//! The trees of a command by where their targets are, and which of them hold a place: told by the folders above it, by
//! device and inode, never by the words of a path.
//!
//! Must not know: what is copied there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::rc::Rc;

use crate::targets::item::{Item, Target};
use datapump_files::disk::{FileKind, FoldersAbove, PathAt};
use datapump_files::identity::{FileId, id};

/// An existing folder, and the names below it of one that will be made.
type RootKey = (FileId, Vec<OsString>);

/// The trees of a command, by where their targets are. In a new one nothing lies yet, but other sources may go there.
pub(crate) struct TreeTargets<'items> {
    roots: HashMap<RootKey, Vec<&'items Item>>,
    /// The folders above those that were looked at, by path.
    above: RefCell<HashMap<PathBuf, Rc<FoldersAbove>>>,
}

/// A tree in whose target a name lies, and the way from there to the name, if the system tells it.
pub(crate) struct InTree<'items> {
    pub(crate) tree: &'items Item,
    pub(crate) below: Option<PathBuf>,
}

impl<'items> TreeTargets<'items> {
    /// The roots of all trees among these items, by folder and missing names.
    pub(crate) fn new(items: &'items [Item]) -> TreeTargets<'items> {
        let mut trees = TreeTargets { roots: HashMap::new(), above: RefCell::default() };
        for item in items {
            let Target::Tree(at) = &item.target else { continue };
            let key = match at.metadata() {
                Ok(meta) => Some((id(&meta), Vec::new())),
                Err(_) => new_names(&trees.folders_above(at), at),
            };
            key.into_iter().for_each(|key| trees.roots.entry(key).or_default().push(item));
        }
        trees
    }

    /// The trees in whose targets a name lies, or that have it as their target.
    pub(crate) fn trees_holding(&self, at: &PathAt) -> Vec<InTree<'items>> {
        if self.roots.is_empty() {
            return Vec::new();
        }
        let above = self.folders_above(at);
        let own = at.metadata_of_name().ok();
        let own = own.filter(|meta| at.name().is_some() && meta.kind == FileKind::Folder);
        let own = own.map(|meta| ((id(&meta), Vec::new()), Some(PathBuf::new())));
        let existing = above.ids().enumerate().map(|(index, folder)| {
            let way = above.way_from(index);
            let below = way.map(|way| at.name().map_or_else(|| way.clone(), |name| way.join(name)));
            ((folder, Vec::new()), below)
        });
        let new = new_names(&above, at).into_iter().flat_map(|(folder, names)| {
            let key =
                |count: usize| ((folder, names[..count].to_vec()), Some(names[count..].iter().collect()));
            (1..=names.len()).map(key).collect::<Vec<_>>()
        });
        let trees = own.into_iter().chain(existing).chain(new);
        let found = trees.flat_map(|(key, below): (RootKey, Option<PathBuf>)| {
            let trees = self.roots.get(&key).into_iter().flatten();
            trees.map(|tree| InTree { tree, below: below.clone() }).collect::<Vec<_>>()
        });
        found.collect()
    }

    /// The folders above a place; looked for once for places that lie side by side.
    fn folders_above(&self, at: &PathAt) -> Rc<FoldersAbove> {
        let Some(folder) = at.name().and_then(|_| at.path.parent()) else {
            return Rc::new(FoldersAbove::from_path_at(at));
        };
        let mut known = self.above.borrow_mut();
        let above =
            known.entry(folder.to_path_buf()).or_insert_with(|| Rc::new(FoldersAbove::from_path_at(at)));
        Rc::clone(above)
    }
}

/// The existing folder above a name, and the names that will be in it, down to this one.
fn new_names(above: &FoldersAbove, at: &PathAt) -> Option<RootKey> {
    let names = above.promised().iter().map(OsString::as_os_str).chain(at.name());
    Some((above.ids().next()?, names.map(OsStr::to_owned).collect()))
}
