//! The places of a command that exclude each other, as far as identity, folders above and patterns tell it: refused
//! before anything is written. No folder is listed for this, and no name is looked up in a source.
//!
//! Must not know: cp's rules for targets, how patterns match.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::claims::TargetClaims;
use super::links::{LinkTarget, leads_to};
use super::targets::{InTree, TreeTargets};
use super::{Destruction, ExistingEntry, Guard, GuardRules, INSTEAD};
use crate::place::Place;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::target::{FOLLOW_INSTEAD, Hosts, Item, Target};
use datapump_files::disk::{
    Disk, FileKind, Folder, PathAt, WayStep, folder_of, metadata_of_name, names, way,
};
use datapump_files::identity::id;

/// A command before anything of it is written.
pub(crate) struct Start<'job> {
    pub(crate) hosts: &'job Hosts<'job>,
    pub(crate) items: &'job [Item],
    /// Sources that a pattern leaves out: they are not copied, and must not be removed, either.
    pub(crate) excluded: &'job [&'job Place],
    /// The target as the user named it, and the folder that receives the sources, if it does.
    pub(crate) target: Option<&'job PathAt>,
    pub(crate) folder: Option<&'job PathAt>,
    pub(crate) rules: GuardRules<'job>,
}

fn usage(path: &Path, words: &str) -> Problem {
    Problem::new(Class::Usage, Operation::Copy, path, words)
}

impl Start<'_> {
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let guard = Guard::new(self.items, self.rules, self.hosts.remote_host.map(|host| &**host));
        self.items.iter().try_for_each(|item| match &item.target {
            Target::Tree(at) => self.check_tree(item, at),
            Target::Stream => check_output(item),
            Target::File(at) | Target::Device(at) | Target::Entry(at) => self.check_name(&guard, item, at),
            _ => Ok(()),
        })?;
        if !matches!(self.hosts.disk, Disk::Os) || !self.items.iter().any(Item::is_tree) {
            return Ok(());
        }
        self.check_remote_neighbours()?;
        let trees = TreeTargets::new(self.items);
        self.check_sources_in_targets(&trees)?;
        self.check_link_dest(&trees)
    }

    /// Another host is not asked for names: where its sources share a folder with others, nobody can tell whose name it
    /// is that would be removed.
    fn check_remote_neighbours(&self) -> Result<(), Problem> {
        let options = self.rules.options;
        let are_remote = self.items.iter().any(|item| item.source.local_path().is_none());
        if !options.deletion.delete || !are_remote || TargetClaims::new(self.items, options).are_apart() {
            return Ok(());
        }
        let words = "--delete would remove what another source is copied to; copy them one by one";
        Err(Problem::usage(words))
    }

    /// A target that is its source, or lies in it, unless patterns and mounts keep the copy away from it.
    fn check_tree(&self, item: &Item, at: &PathAt) -> Result<(), Problem> {
        // A source that is copied beside it goes into the same folder.
        let beside = self.folder.filter(|_| self.items.len() + self.excluded.len() > 1);
        let is_copied = |at: &&PathAt| item.source.local_path().is_some() && self.comes_by(item, at, true);
        match [Some(at), beside].into_iter().flatten().find(is_copied) {
            Some(at) => {
                let from = &item.source;
                let words =
                    format!("is the source '{from}' or lies in it; choose a place outside, or exclude it");
                Err(usage(&at.path, &words))
            }
            None => Ok(()),
        }
    }

    /// Whether a copy of this folder deals with what is at the target.
    fn comes_by(&self, item: &Item, at: &PathAt, is_folder: bool) -> bool {
        let Some(source) = item.meta else { return false };
        let GuardRules { options, select } = self.rules;
        let may_pass = |step: &WayStep| !options.selection.one_file_system || step.device == source.device;
        let Some(steps) = way(id(&source), at).filter(|steps| steps.iter().all(may_pass)) else {
            return false;
        };
        let mut folder = PathBuf::new();
        steps.iter().enumerate().all(|(index, WayStep { name, .. })| {
            let is_folder = is_folder || index + 1 < steps.len();
            let is_dealt_with = select.deals_with((&item.patterns_above, &folder), (name, is_folder));
            folder.push(name);
            is_dealt_with
        })
    }

    /// A file, device or link that would take the place of what is read.
    fn check_name(&self, guard: &Guard, item: &Item, at: &PathAt) -> Result<(), Problem> {
        let options = self.rules.options;
        let is_written = matches!(item.target, Target::Device(_)) || options.durability.inplace;
        let how = if is_written { Destruction::OfContent } else { Destruction::OfName };
        let folder = match at.folder() {
            Ok(Folder::Os(folder)) => Some(&**folder),
            _ => None,
        };
        let name = at.name().unwrap_or(OsStr::new("."));
        let found = [at.metadata_of_name(), at.metadata()];
        for meta in found.iter().flatten().take(if item.is_entry() { 1 } else { 2 }) {
            let entry = ExistingEntry { folder, name, meta };
            let is_own = guard.own_words(item, entry);
            let why = is_own.or_else(|| guard.why_kept(entry, how).filter(|_| !item.is_left_out));
            if let Some(why) = why {
                return Err(self.usage_problem(item, at, &why));
            }
        }
        if let Some(source) = self.source_around(item, at) {
            return Err(self.usage_problem(item, at, &format!("lies in the source '{}'", source.source)));
        }
        self.check_kept_link(item, at)
    }

    /// Where a link under the name leads to the place, that link is named.
    fn usage_problem(&self, item: &Item, at: &PathAt, why: &str) -> Problem {
        let own = || item.source.path().and_then(Path::file_name);
        let named = match self.folder {
            Some(folder) => own().map(|name| folder.child(name)),
            None => self.target.cloned(),
        };
        let is_link = |named: &PathAt| {
            let source = item.source.local_path().map(metadata_of_name);
            let link = named.metadata_of_name().ok().filter(|meta| meta.kind == FileKind::Symlink);
            let is_source =
                source.is_some_and(|source| source.ok().map(|meta| id(&meta)) == link.as_ref().map(id));
            !item.is_entry() && named.path != at.path && link.is_some() && !is_source
        };
        match named.filter(is_link) {
            Some(link) => {
                let to = why.trim_start_matches("is ").trim_start_matches("the same file as ");
                let into = to.replace("lies in ", "into ");
                let to = if into == to { format!("to {to}") } else { into };
                // A source that is a link may lead through this very one.
                let leads_here = to.starts_with("to what");
                let more =
                    if leads_here { "" } else { ", or remove the link first to have the copy in its place" };
                usage(&link.path, &format!("is a symbolic link that leads {to}; {INSTEAD}{more}"))
            }
            None => usage(&at.path, &format!("{why}; {INSTEAD}")),
        }
    }

    /// The source folder whose copy would come by a target that a link led into it.
    fn source_around(&self, item: &Item, at: &PathAt) -> Option<&Item> {
        let mut trees =
            self.items.iter().filter(|other| other.is_tree() && other.source.local_path().is_some());
        let is_apart = self.folder.is_some_and(|folder| at.path.parent() == Some(&folder.path));
        trees.find(|tree| !is_apart && tree.number != item.number && self.comes_by(tree, at, false))
    }

    /// A link that stays one must not replace what it leads to.
    fn check_kept_link(&self, item: &Item, at: &PathAt) -> Result<(), Problem> {
        let (Target::Entry(_), Some(meta), Ok(there)) = (&item.target, &item.meta, at.metadata_of_name())
        else {
            return Ok(());
        };
        if meta.kind != FileKind::Symlink {
            return Ok(());
        }
        let is_lost = match (&item.source, self.hosts.remote_host, at.folder()) {
            (Place::Path(path), _, Ok(Folder::Os(folder))) => {
                let words = std::fs::read_link(path).ok();
                let above = names::find_folder(folder_of(path)).ok();
                let to = LinkTarget { folder, name: at.name().unwrap_or_default(), existing: &there };
                words.zip(above).is_some_and(|(words, above)| leads_to(&above.into(), words.as_os_str(), &to))
            }
            (Place::Remote(remote), Some(host), _) if host.is_here() => {
                host.link_target_id(item.number, &remote.path)? == Some(id(&there))
            }
            _ => false,
        };
        if is_lost {
            let words = format!("is what the source '{}' leads to; {FOLLOW_INSTEAD}", item.source);
            Err(usage(&at.path, &words))
        } else {
            Ok(())
        }
    }

    /// No source may be the target of a tree, hold one, or be removed from one.
    fn check_sources_in_targets(&self, trees: &TreeTargets<'_>) -> Result<(), Problem> {
        let copied = self.items.iter().filter(|item| !item.is_left_out);
        let copied = copied.map(|item| (&item.source, Some(item.number), item.is_entry()));
        for (source, number, is_entry) in
            copied.chain(self.excluded.iter().map(|source| (*source, None, false)))
        {
            let places = source.local_path().map(|path| places_of(path, is_entry)).unwrap_or_default();
            for at in &places {
                for inside in trees.holding(at) {
                    let is_own = Some(inside.tree.number) == number;
                    let below = inside.below.as_deref().unwrap_or(Path::new("."));
                    let is_itself = is_own && below.as_os_str().is_empty();
                    if let Some(words) = self.why_not_in(&inside, source, at).filter(|_| !is_itself) {
                        return Err(usage(inside.tree.target.path().unwrap_or(&at.path), &words));
                    }
                }
            }
        }
        Ok(())
    }

    fn why_not_in(&self, inside: &InTree<'_>, source: &Place, at: &PathAt) -> Option<String> {
        let from = &inside.tree.source;
        match &inside.below {
            None => Some(format!("holds the source '{source}'; copy that by itself")),
            Some(below) if below.as_os_str().is_empty() => Some(format!(
                "is the source '{source}', and the copy of '{from}' goes there; copy that source first"
            )),
            Some(below) => {
                let is_removed = self.rules.options.deletion.delete
                    && !self.rules.spares(inside.tree, below, at.is_folder());
                let why = "which is copied from; exclude it, or move it away";
                is_removed.then(|| format!("--delete would remove '{source}', {why}"))
            }
        }
    }

    /// Folders of `--link-dest` must not lie where it is removed. The target itself stays.
    fn check_link_dest(&self, trees: &TreeTargets<'_>) -> Result<(), Problem> {
        let paths = self.rules.options.links.link_dest.iter().filter(|_| self.rules.options.deletion.delete);
        for path in paths {
            let stays = |inside: &InTree<'_>| {
                let spared = |below: &Path| self.rules.spares(inside.tree, below, true);
                inside.below.as_deref().is_some_and(|below| below.as_os_str().is_empty() || spared(below))
            };
            let mut found = places_of(path, false).into_iter().flat_map(|at| trees.holding(&at));
            if let Some(inside) = found.find(|inside| !stays(inside)) {
                let words = format!("--delete would remove '{}', which is copied from", shown_path(path));
                return Err(usage(inside.tree.target.path().unwrap_or(path), &words));
            }
        }
        Ok(())
    }
}

/// A source that a tree of the same command has, too, and copies to the same name: their numbers.
pub(crate) struct CoveredSource {
    pub(crate) source: u32,
    pub(crate) tree: u32,
}

impl Start<'_> {
    /// Files that a tree has, by the folders above them, under the name that they get.
    pub(crate) fn covered(&self) -> Vec<CoveredSource> {
        let trees = TreeTargets::new(self.items);
        let covering = |item: &Item| {
            let Target::File(at) = &item.target else { return None };
            item.meta.filter(|meta| meta.kind == FileKind::Regular)?;
            let inside = trees.holding(at).into_iter().filter(|inside| inside.tree.number != item.number);
            let source = inside.map(|inside| (inside, item.source.local_path()));
            source.into_iter().find_map(|(inside, path)| {
                let source = places_of(path?, false).pop()?;
                let steps = way(id(inside.tree.meta.as_ref()?), &source)?;
                let way: PathBuf = steps.iter().map(|step| &step.name).collect();
                let is_copied = inside.below == Some(way) && self.comes_by(inside.tree, &source, false);
                is_copied.then_some(CoveredSource { source: item.number, tree: inside.tree.number })
            })
        };
        if matches!(self.hosts.disk, Disk::Os) {
            self.items.iter().filter_map(covering).collect()
        } else {
            Vec::new()
        }
    }
}

impl Guard {
    /// Why an item cannot have its target: it is its own source, under whatever name.
    fn own_words(&self, item: &Item, entry: ExistingEntry<'_>) -> Option<String> {
        let same = self.by_identity.get(&super::ReadIdentity::new(entry.meta, item.is_entry()));
        let mut sources = same.into_iter().flatten().map(|index| &self.sources[*index]);
        let own = sources.find(|source| source.number == item.number && source.is_the(entry))?;
        Some(own.words(Destruction::OfName))
    }
}

impl GuardRules<'_> {
    /// Whether a rule keeps a name of a tree's target, or a folder that it lies in: nothing in that is removed.
    fn spares(&self, tree: &Item, below: &Path, is_folder: bool) -> bool {
        let chain = below.ancestors().filter_map(|path| Some((path, path.parent()?, path.file_name()?)));
        let is_kept = |path: &Path, folder: &Path, name: &OsStr| {
            let name = (name, is_folder || path != below);
            let above = &*tree.patterns_above;
            self.select.protects((above, || folder), name, self.options.deletion.delete_excluded)
        };
        chain.into_iter().any(|(path, folder, name)| is_kept(path, folder, name))
    }
}

/// A source that standard output appends to would grow for ever.
fn check_output(item: &Item) -> Result<(), Problem> {
    let id_of = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    let output = rustix::fs::fstat(std::io::stdout()).ok();
    let is_file = |stat: &rustix::fs::Stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    let read = match &item.source {
        Place::Stream => rustix::fs::fstat(std::io::stdin()).ok().map(id_of),
        _ => item.meta.as_ref().map(id),
    };
    match output.filter(is_file).map(id_of) {
        Some(output) if read == Some(output) => {
            Err(Problem::usage(format!("standard output is the same file as the source '{}'", item.source)))
        }
        _ => Ok(()),
    }
}

/// The places of a path of the user: its name, and what that leads to. A link that stays one (`is_entry`) is its name.
fn places_of(path: &Path, is_entry: bool) -> Vec<PathAt> {
    // Without what stands for the content of a folder.
    let plain = path.components().as_path();
    let find = |path| PathAt::find(&Disk::Os, path);
    let is_link = metadata_of_name(plain).is_ok_and(|meta| meta.kind == FileKind::Symlink);
    let folder = Some(find(folder_of(plain))).filter(PathAt::is_folder);
    let named = plain.file_name().zip(folder).map(|(name, folder)| folder.child(name));
    let behind = || Some(find(path)).filter(PathAt::is_folder);
    match named {
        Some(named) if is_entry => vec![named],
        Some(named) if is_link => {
            let behind = behind().or_else(|| named.clone().behind_links().ok());
            [named].into_iter().chain(behind).collect()
        }
        named => behind().or(named).into_iter().collect(),
    }
}
