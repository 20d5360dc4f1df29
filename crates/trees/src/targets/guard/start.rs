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
use crate::targets::hosts::Hosts;
use crate::targets::item::{FOLLOW_INSTEAD, Item, Target};
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
    /// Refuses a job whose targets would replace, remove or feed on what it reads.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let guard = Guard::new(self.items, self.rules, self.hosts.remote_host.map(|host| &**host));
        self.items.iter().try_for_each(|item| match &item.target {
            Target::Tree(at) => self.check_tree(item, at),
            Target::Stream => check_output(item),
            Target::File(at) | Target::Device(at) | Target::Entry(at) if !item.is_left_out => {
                self.check_name(&guard, item, at)
            }
            _ => Ok(()),
        })?;
        if !matches!(self.hosts.disk, Disk::Os) || !self.items.iter().any(Item::is_tree) {
            return Ok(());
        }
        self.check_remote_neighbours()?;
        let trees = TreeTargets::new(self.items);
        self.check_read_places(&trees)
    }

    /// Refuses `--delete` where sources of another host share a target folder: it is not asked for names, so that
    /// nobody can tell whose name would be removed.
    fn check_remote_neighbours(&self) -> Result<(), Problem> {
        let options = self.rules.options;
        let are_remote = self.items.iter().any(|item| item.source.local_path().is_none());
        if !options.deletion.delete || !are_remote || TargetClaims::new(self.items, options).are_apart() {
            return Ok(());
        }
        let words = "--delete would remove what another source is copied to; copy them one by one";
        Err(Problem::usage(words))
    }

    /// Refuses a target that is its source, or lies in it, unless patterns and mounts keep the copy away from it.
    fn check_tree(&self, item: &Item, at: &PathAt) -> Result<(), Problem> {
        // A source that is copied beside it goes into the same folder.
        let beside = self.folder.filter(|_| self.items.len() + self.excluded.len() > 1);
        let is_copied =
            |at: &&PathAt| item.source.local_path().is_some() && self.is_walked_to(item, at, true);
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
    fn is_walked_to(&self, item: &Item, at: &PathAt, is_folder: bool) -> bool {
        let Some(source) = item.meta else { return false };
        let may_pass =
            |step: &WayStep| !self.rules.options.selection.one_file_system || step.device == source.device;
        let Some(steps) = way(id(&source), at).filter(|steps| steps.iter().all(may_pass)) else {
            return false;
        };
        let below: PathBuf = steps.iter().map(|step| &step.name).collect();
        self.rules.deal_with(item, &below, is_folder)
    }

    /// Refuses a file, device or link whose target is what is read, lies in a source, or is what the link leads to.
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
            if let Some(why) = guard.why_kept(entry, how) {
                return Err(self.usage_problem(item, at, &why));
            }
        }
        match self.source_around(item, at) {
            Some(around) => {
                Err(self.usage_problem(item, at, &format!("lies in the source '{}'", around.source)))
            }
            None if self.replaces_its_referent(item, at)? => {
                let words = format!("is what the source '{}' leads to; {FOLLOW_INSTEAD}", item.source);
                Err(usage(&at.path, &words))
            }
            None => Ok(()),
        }
    }

    /// Whether a link that stays one would replace what it leads to.
    fn replaces_its_referent(&self, item: &Item, at: &PathAt) -> Result<bool, Problem> {
        let is_link = item.is_entry() && item.meta.is_some_and(|meta| meta.kind == FileKind::Symlink);
        let Some(existing) = at.metadata_of_name().ok().filter(|_| is_link) else { return Ok(false) };
        Ok(match (&item.source, self.hosts.remote_host, at.folder()) {
            (Place::Path(path), _, Ok(Folder::Os(folder))) => {
                let words = std::fs::read_link(path).ok();
                let above = names::find_folder(folder_of(path)).ok();
                let to = LinkTarget { folder, name: at.name().unwrap_or_default(), existing: &existing };
                words.zip(above).is_some_and(|(words, above)| leads_to(&above.into(), words.as_os_str(), &to))
            }
            (Place::Remote(remote), Some(host), _) if host.is_here() => {
                host.link_target_id(item.number, &remote.path)? == Some(id(&existing))
            }
            _ => false,
        })
    }

    /// The usage problem of a target; of a link that the user named, if that leads to it.
    fn usage_problem(&self, item: &Item, at: &PathAt, why: &str) -> Problem {
        let own_name = item.source.path().and_then(Path::file_name);
        let named = match self.folder {
            Some(folder) => own_name.map(|name| folder.child(name)),
            None => self.target.cloned(),
        };
        let is_link = |named: &PathAt| !item.is_entry() && named.path != at.path && named.is_symlink();
        match named.filter(is_link) {
            Some(link) => {
                usage(&link.path, &format!("is a symbolic link, and what it leads to {why}; {INSTEAD}"))
            }
            None => usage(&at.path, &format!("{why}; {INSTEAD}")),
        }
    }

    /// The source folder whose copy would come by a target that a link led into it.
    fn source_around(&self, item: &Item, at: &PathAt) -> Option<&Item> {
        let mut trees =
            self.items.iter().filter(|other| other.is_tree() && other.source.local_path().is_some());
        let is_apart = self.folder.is_some_and(|folder| at.path.parent() == Some(&folder.path));
        trees.find(|tree| !is_apart && tree.number != item.number && self.is_walked_to(tree, at, false))
    }

    /// Refuses a tree whose target is, holds, or would lose something that is read.
    fn check_read_places(&self, trees: &TreeTargets<'_>) -> Result<(), Problem> {
        let copied = self.items.iter().filter(|item| !item.is_left_out);
        let copied = copied.filter_map(|item| {
            let read = ReadPlace::new(item.source.local_path()?, &item.source);
            Some(ReadPlace { number: Some(item.number), is_entry: item.is_entry(), ..read })
        });
        let excluded =
            self.excluded.iter().filter_map(|source| Some(ReadPlace::new(source.local_path()?, source)));
        let older = self.rules.options.links.link_dest.iter().map(|path| {
            let shown = shown_path(path).to_string();
            ReadPlace { is_older: true, ..ReadPlace::new(path, &shown) }
        });
        for read in copied.chain(excluded).chain(older) {
            for at in places_of(read.path, read.is_entry) {
                for inside in trees.trees_holding(&at) {
                    if let Some(words) = self.why_not_in_tree(&inside, &read, &at) {
                        return Err(usage(inside.tree.target.path().unwrap_or(&at.path), &words));
                    }
                }
            }
        }
        Ok(())
    }

    /// Why a place that is read must not lie in the target of this tree; `None` where it may.
    fn why_not_in_tree(&self, inside: &InTree<'_>, read: &ReadPlace<'_>, at: &PathAt) -> Option<String> {
        let (from, shown, delete) = (&inside.tree.source, &read.shown, self.rules.options.deletion.delete);
        match &inside.below {
            None if read.is_older && !delete => None,
            None => Some(format!("holds '{shown}', which is copied from; copy that by itself")),
            Some(below) if below.as_os_str().is_empty() => {
                let stays = read.is_older || read.number == Some(inside.tree.number);
                let words = || {
                    format!(
                        "is the source '{shown}', and the copy of '{from}' goes there; copy that source first"
                    )
                };
                (!stays).then(words)
            }
            Some(below) => {
                let is_removed = delete && !self.rules.spares(inside.tree, below, at.is_folder());
                let why = "which is copied from; exclude it, or move it away";
                is_removed.then(|| format!("--delete would remove '{shown}', {why}"))
            }
        }
    }
}

/// A place of this host from which a command reads: a source, or a folder of `--link-dest`.
struct ReadPlace<'job> {
    path: &'job Path,
    shown: String,
    /// That of a source which is copied.
    number: Option<u32>,
    /// A link that stays one.
    is_entry: bool,
    is_older: bool,
}

impl<'job> ReadPlace<'job> {
    fn new(path: &'job Path, shown: &impl ToString) -> ReadPlace<'job> {
        ReadPlace { path, shown: shown.to_string(), number: None, is_entry: false, is_older: false }
    }
}

/// A source that a tree of the same command has, too, and copies to the same name: their numbers.
pub(crate) struct CoveredSource {
    pub(crate) source: u32,
    pub(crate) tree: u32,
}

impl Start<'_> {
    /// Files that a tree has, by the folders above them, under the name that they get.
    pub(crate) fn covered_sources(&self) -> Vec<CoveredSource> {
        let trees = TreeTargets::new(self.items);
        let covering = |item: &Item| {
            let Target::File(at) = &item.target else { return None };
            item.meta.filter(|meta| meta.kind == FileKind::Regular)?;
            let inside =
                trees.trees_holding(at).into_iter().filter(|inside| inside.tree.number != item.number);
            let source = inside.map(|inside| (inside, item.source.local_path()));
            source.into_iter().find_map(|(inside, path)| {
                let source = places_of(path?, false).pop()?;
                let steps = way(id(inside.tree.meta.as_ref()?), &source)?;
                let way: PathBuf = steps.iter().map(|step| &step.name).collect();
                let is_copied = inside.below == Some(way) && self.is_walked_to(inside.tree, &source, false);
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

impl GuardRules<'_> {
    /// Whether a rule keeps a name of a tree's target, or a folder that it lies in: nothing in that is removed.
    fn spares(&self, tree: &Item, below: &Path, is_folder: bool) -> bool {
        let excluded_go = self.options.deletion.delete_excluded;
        names_on_way(below, is_folder)
            .any(|(folder, name)| self.select.protects((&*tree.patterns_above, || folder), name, excluded_go))
    }

    /// Whether the copy of a tree deals with each name on a way down from its root.
    pub(super) fn deal_with(&self, tree: &Item, below: &Path, is_folder: bool) -> bool {
        let deals = |(folder, name)| self.select.deals_with((&tree.patterns_above, folder), name);
        names_on_way(below, is_folder).all(deals)
    }
}

/// A folder, and a name in it with whether that is a folder.
type NameOnWay<'path> = (&'path Path, (&'path OsStr, bool));

/// The names of a path, each with the folder that it lies in and whether it is one itself.
fn names_on_way<'path>(path: &'path Path, is_folder: bool) -> impl Iterator<Item = NameOnWay<'path>> {
    let named = move |here: &'path Path| Some((here.file_name()?, is_folder || here != path));
    path.ancestors().filter_map(move |here| Some((here.parent()?, named(here)?)))
}

/// Refuses a source that standard output appends to: it would grow for ever.
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
