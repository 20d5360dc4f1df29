//! A source that lies where a tree of the same copy goes: refused if the tree has a name there, or `--delete` would
//! remove it. So is a source that another one's tree has the target of, and a tree whose names would land in itself.
//!
//! What lies where is told by the folders above it, by device and inode, never by the words of a path.
//!
//! Must not know: how a tree is walked, how patterns match.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::super::{Item, Target, usage};
use crate::job::options::Options;
use crate::problem::{Problem, shown_path};
use crate::target::place::Place;
use crate::target::target_names::is_one_path;
use crate::tree::rules::select::Select;
use crate::tree::rules::source_folder::{Descent, RuledFolder};
use datapump_files::disk::{
    Disk, FileKind, FoldersAbove, Meta, Outcome, PathAt, folder_of, metadata_of_name, names,
};
use datapump_files::identity::{FileId, id};

const FIRST: &str = "copy that source first, by itself, or choose another target";

/// A folder that stands there, and the names below it of one that will be made.
type RootKey = (FileId, Vec<OsString>);

/// The trees, by where their targets are. In a new one nothing lies yet, but other sources may go there.
pub(in crate::target) struct TreeTargets<'items> {
    roots: HashMap<RootKey, &'items Item>,
    /// The folders above those that were looked at, by path.
    above: RefCell<HashMap<PathBuf, Rc<FoldersAbove>>>,
}

/// A tree in whose target a name lies, and the way from there to the name, if the system tells it.
pub(in crate::target) struct InTree<'items> {
    pub(in crate::target) tree: &'items Item,
    pub(in crate::target) below: Option<PathBuf>,
}

impl<'items> TreeTargets<'items> {
    pub(in crate::target) fn new(items: &'items [Item]) -> TreeTargets<'items> {
        let mut trees = TreeTargets { roots: HashMap::new(), above: RefCell::default() };
        let root = |item: &'items Item| match &item.target {
            Target::Tree(at) => Some((trees.root(at, items.len() > 1)?, item)),
            _ => None,
        };
        trees.roots = items.iter().filter_map(root).collect();
        trees
    }

    fn root(&self, at: &PathAt, several: bool) -> Option<RootKey> {
        match at.metadata() {
            Ok(meta) => Some((id(&meta), Vec::new())),
            Err(_) if several => new_names(&self.above(at), at),
            Err(_) => None,
        }
    }

    /// The trees in whose targets a name lies, or that have it as their target.
    pub(in crate::target) fn holding(&self, at: &PathAt) -> Vec<InTree<'items>> {
        if self.roots.is_empty() {
            return Vec::new();
        }
        let above = self.above(at);
        let inside = |(index, folder): (usize, FileId)| {
            let tree = *self.roots.get(&(folder, Vec::new()))?;
            let way = above.way_from(index);
            let below = way.map(|way| at.name().map_or_else(|| way.clone(), |name| way.join(name)));
            Some(InTree { tree, below })
        };
        let new = new_names(&above, at).into_iter().flat_map(|(folder, names)| {
            let in_new = |count: usize| {
                let tree = *self.roots.get(&(folder, names[..count].to_vec()))?;
                Some(InTree { tree, below: Some(names[count..].iter().collect()) })
            };
            (1..=names.len()).filter_map(in_new).collect::<Vec<_>>()
        });
        above.ids().enumerate().filter_map(inside).chain(new).collect()
    }

    /// Sources that lie side by side have the same folders above.
    fn above(&self, at: &PathAt) -> Rc<FoldersAbove> {
        let Some(folder) = at.name().and_then(|_| at.path.parent()) else {
            return Rc::new(FoldersAbove::from_path_at(at));
        };
        let mut known = self.above.borrow_mut();
        match known.get(folder) {
            Some(above) => Rc::clone(above),
            None => {
                let above = Rc::new(FoldersAbove::from_path_at(at));
                known.insert(folder.to_path_buf(), Rc::clone(&above));
                above
            }
        }
    }
}

/// The folder that stands there above a name, and the names that will be in it, down to this one.
fn new_names(above: &FoldersAbove, at: &PathAt) -> Option<RootKey> {
    let names = above.promised().iter().map(OsString::as_os_str).chain(at.name());
    Some((above.ids().next()?, names.map(OsStr::to_owned).collect()))
}

/// Where a path of the user stands: its name, and what that leads to. A link that stays one (`is_entry`) is its name.
pub(in crate::target) fn places_of(path: &Path, is_entry: bool) -> Vec<PathAt> {
    // Without what stands for the content of a folder.
    let plain = path.components().as_path();
    let find = |path| PathAt::find(&Disk::Os, path);
    let is_link = metadata_of_name(plain).is_ok_and(|meta| meta.kind == FileKind::Symlink);
    let folder = Some(find(folder_of(plain))).filter(PathAt::is_folder);
    let named = plain.file_name().zip(folder).map(|(name, folder)| folder.child(name));
    match named {
        Some(named) if is_entry => vec![named],
        Some(named) if is_link => {
            let behind = Some(find(path)).filter(PathAt::is_folder);
            let behind = behind.or_else(|| named.clone().behind_links().ok());
            [named].into_iter().chain(behind).collect()
        }
        named => {
            let folder = Some(find(path)).filter(PathAt::is_folder);
            folder.or(named).into_iter().collect()
        }
    }
}

/// Whether a rule keeps a name of the target, or a folder that it lies in: nothing in that is removed.
pub(in crate::target) fn is_spared(
    (select, above): (&Select, &Path),
    (below, is_folder): (&Path, bool),
    excluded_go: bool,
) -> bool {
    let chain = below.ancestors().filter_map(|path| Some((path, path.parent()?, path.file_name()?)));
    chain
        .map(|(path, folder, name)| (folder, name, is_folder || path != below))
        .any(|(folder, name, is_folder)| select.protects((above, || folder), (name, is_folder), excluded_go))
}

/// What the user named: the source, its number, and whether it is a link that stays one.
type NamedSource<'job> = (&'job Place, u32, bool);

/// A source that a tree of the same copy has, too, and copies to the same name: their numbers.
pub(in crate::target) struct CoveredSource {
    pub(in crate::target) source: u32,
    pub(in crate::target) tree: u32,
}

/// No tree of the copy may bring a name to where a source lies, nor to where another source goes, unless it is the same
/// file: those sources are given back. `excluded` are sources that a pattern leaves out: they are not copied, and must
/// not go, either.
pub(in crate::target) fn refuse_what_lies_in_trees(
    disk: &Disk,
    (items, excluded): (&[Item], &[(u32, &Place)]),
    job: (&Options, &Select),
) -> Result<Vec<CoveredSource>, Problem> {
    let trees = TreeTargets::new(items);
    if trees.roots.is_empty() || !matches!(disk, Disk::Os) {
        return Ok(Vec::new());
    }
    let copied = items.iter().filter(|item| !item.is_left_out);
    let named = copied.clone().map(|item| (&item.source, item.number, item.is_entry()));
    for source in named.chain(excluded.iter().map(|(number, source)| (*source, *number, false))) {
        let Some(path) = source.0.local_path() else { continue };
        places_of(path, source.2).iter().try_for_each(|at| refuse_source(&trees, (source, at), job))?;
    }
    let mut covered = Vec::new();
    for item in copied {
        if let Target::File(at) | Target::Tree(at) | Target::Entry(at) = &item.target {
            let tree = refuse_target(&trees, (item, at), job)?;
            covered.extend(tree.map(|tree| CoveredSource { source: item.number, tree }));
        }
    }
    Ok(covered)
}

/// What becomes of a name in the target of a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameFate {
    Stays,
    /// The tree has this name.
    WrittenOver,
    Removed,
}

fn refuse_source(
    trees: &TreeTargets<'_>,
    (named, at): (NamedSource<'_>, &PathAt),
    job: (&Options, &Select),
) -> Result<(), Problem> {
    let (source, number, _) = named;
    for InTree { tree, below } in trees.holding(at) {
        let root = tree.target.path().unwrap_or(&at.path);
        let from = &tree.source;
        match below {
            None => return Err(usage(root, &format!("holds the source '{source}'; copy that by itself"))),
            // A tree that goes to itself is refused elsewhere, unless it leaves that out.
            Some(below) if below.as_os_str().is_empty() && tree.number == number => {}
            Some(below) if below.as_os_str().is_empty() => {
                let words = format!("is the source '{source}', and the copy of '{from}' goes there; {FIRST}");
                return Err(usage(root, &words));
            }
            Some(below) => match fate(tree, (&below, at.is_folder()), job) {
                NameFate::Removed => {
                    let words = "which is copied from; exclude it, or move it away";
                    return Err(usage(root, &format!("--delete would remove '{source}', {words}")));
                }
                NameFate::WrittenOver => {
                    let words = written_over((tree, named), &below);
                    return Err(usage(&root.join(below), &words));
                }
                NameFate::Stays => {}
            },
        }
    }
    Ok(())
}

fn written_over((tree, (source, number, _)): (&Item, NamedSource<'_>), below: &Path) -> String {
    let from = &tree.source;
    match tree.number == number {
        true => format!(
            "is the source '{source}' itself, which has a name '{}': its copy would write into it while it is read; \
             choose another target, or exclude that name",
            shown_path(below)
        ),
        false => format!("is the source '{source}', and the copy of '{from}' would write over it; {FIRST}"),
    }
}

/// Two sources must not give one name. The number of a tree that copies the same file there.
fn refuse_target(
    trees: &TreeTargets<'_>,
    (item, at): (&Item, &PathAt),
    job: (&Options, &Select),
) -> Result<Option<u32>, Problem> {
    let mut covered = None;
    for InTree { tree, below } in trees.holding(at) {
        let Some(below) = below.filter(|_| tree.number != item.number) else { continue };
        match descent(tree, &below, job) {
            Descent::Found(meta, _) if is_own_file((tree, &below), item, (&meta, job.0)) => {
                covered = Some(tree.number);
                continue;
            }
            Descent::Found(meta, _) if meta.kind != FileKind::Folder || !item.is_tree() => {}
            Descent::Found(_, above)
                if have_one_name(above.below(below.file_name().unwrap_or_default()), item, job) => {}
            _ => continue,
        }
        let also = if job.0.remove_sources { ", and --remove-source-files would remove both" } else { "" };
        let (one, other) = (&tree.source, &item.source);
        let words = format!(
            "two of the sources would get this name, '{one}' and '{other}'{also}; copy them one by one"
        );
        return Err(usage(&at.path, &words));
    }
    Ok(covered)
}

/// Whether what a tree has there is the item's own file, which the tree copies. A mount may keep that from it.
fn is_own_file((tree, below): (&Item, &Path), item: &Item, (found, options): (&Meta, &Options)) -> bool {
    let is_file = matches!(item.target, Target::File(_)) && found.kind == FileKind::Regular;
    let stays_out = options.one_file_system && tree.meta.is_some_and(|root| root.device != found.device);
    let from = tree.source.local_path().map(|root| root.join(below));
    is_file
        && !stays_out
        && item.meta.is_some_and(|meta| id(&meta) == id(found))
        && from.zip(item.source.local_path()).is_some_and(|(from, path)| is_one_path(&from, path))
}

/// Whether a folder of a tree and a source that goes to the same folder have a name that is not a folder of both. They
/// are put together else, as they were named. What cannot be looked at may have one.
fn have_one_name(one: Outcome<RuledFolder<'_>>, item: &Item, job: (&Options, &Select)) -> bool {
    let Some(Ok(other)) = item.source.local_path().map(names::open_path) else { return false };
    let other = RuledFolder::root(other, &item.patterns_above, job);
    one.and_then(|one| Ok(have_common(&one, &other?))).unwrap_or(true)
}

fn have_common(one: &RuledFolder<'_>, other: &RuledFolder<'_>) -> bool {
    let mut cookie = 0;
    while let Ok((entries, next)) = one.folder.list(cookie) {
        if entries.iter().any(|entry| is_common(&entry.name, one, other)) {
            return true;
        }
        if entries.is_empty() {
            return false;
        }
        cookie = next;
    }
    true
}

fn is_common(name: &OsStr, one: &RuledFolder<'_>, other: &RuledFolder<'_>) -> bool {
    match (one.find(name), other.find(name)) {
        (Ok(None), _) | (_, Ok(None)) => false,
        (Ok(Some(meta)), Ok(Some(beside)))
            if [meta, beside].iter().all(|meta| meta.kind == FileKind::Folder) =>
        {
            !one.is_left_alone(&meta)
                && !other.is_left_alone(&beside)
                && match (one.below(name), other.below(name)) {
                    (Ok(one), Ok(other)) => have_common(&one, &other),
                    _ => true,
                }
        }
        _ => true,
    }
}

/// What a copy of the tree does to a name in its target.
fn fate(tree: &Item, (below, is_folder): (&Path, bool), (options, select): (&Options, &Select)) -> NameFate {
    let rules = (select, &*tree.patterns_above);
    let spared = || is_spared(rules, (below, is_folder), options.delete_excluded);
    match descent(tree, below, (options, select)) {
        Descent::Found(meta, _) => {
            let is_left_alone = options.ignore_existing && !is_folder && meta.kind != FileKind::Folder;
            if is_left_alone { NameFate::Stays } else { NameFate::WrittenOver }
        }
        Descent::Missing(_) if options.delete && !spared() => NameFate::Removed,
        Descent::Missing(_) | Descent::LeftAlone | Descent::Unknown => NameFate::Stays,
    }
}

/// What a tree's source has under a path of its target.
fn descent<'job>(tree: &'job Item, below: &Path, job: (&'job Options, &'job Select)) -> Descent<'job> {
    let Some(Ok(root)) = tree.source.local_path().map(names::find_folder) else { return Descent::Unknown };
    match RuledFolder::root(root, &tree.patterns_above, job) {
        Ok(root) => root.descend(below.iter()),
        Err(_) => Descent::Unknown,
    }
}
