//! Looks at all folders of the source: which of them are not what they were when they were walked.
//!
//! Of another host all are requested without waiting for an answer; those whose times leave them unverified are listed one
//! after the other. Must not know: what follows on that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::walked::{FolderOfTree, LooksFound};

use crate::folder::directory::Directory;
use crate::folder::side::FolderSide;
use crate::folder::visited::{AsWalked, FolderKey, FolderStep, ROOT, Visited};
use crate::listed::Name;
use crate::origin::Origin;
use crate::problem::{Class, Problem};
use crate::tree::Shared;
use crate::tree::walk::begin_tree;
use datapump_files::disk::Meta;
use datapump_files::identity::id;

/// Folders of all trees that changed since they were walked, and those with files that changed while they were copied.
/// Those that are others by now are guarded.
pub(super) fn find(shared: &Shared<'_>, roots: &[Arc<Directory>]) -> Result<LooksFound, Problem> {
    let mut found = LooksFound::default();
    for (tree, root) in roots.iter().enumerate() {
        let now = begin_tree::source_of(shared, root.root.number, &root.source.path());
        let look = now.as_ref().map(|now| now.meta).map_err(|problem| problem.clone().vanished());
        let mut looks = FolderLooks {
            shared,
            root,
            now: now.ok(),
            changed: BTreeSet::new(),
            unverified: Vec::new(),
            missing: Vec::new(),
            unseen: BTreeSet::new(),
        };
        looks.handle_look(ROOT, look)?;
        if !looks.unseen.contains(&ROOT) {
            looks.look_below_root()?;
            looks.resolve_missing()?;
            looks.list_unverified()?;
        }
        found.changed.extend(looks.changed.into_iter().map(|key| FolderOfTree { tree, key }));
        for (key, keeps_all) in root.root.visited.with_missed() {
            let folders = if keeps_all { &mut found.uncopied } else { &mut found.changed };
            folders.insert(FolderOfTree { tree, key });
        }
    }
    Ok(found)
}

struct FolderLooks<'run> {
    shared: &'run Shared<'run>,
    root: &'run Arc<Directory>,
    /// The root as its path leads to it now: another folder may have its name by now, or be mounted on it.
    now: Option<Arc<FolderSide>>,
    changed: BTreeSet<FolderKey>,
    /// Their names tell.
    unverified: Vec<FolderKey>,
    /// Could not be opened, as if they were not there: their names are looked at.
    missing: Vec<(FolderKey, Problem)>,
    /// Folders that are gone, or others, and what lies below them.
    unseen: BTreeSet<FolderKey>,
}

impl FolderLooks<'_> {
    fn visited(&self) -> &Visited {
        &self.root.root.visited
    }

    /// Errors: the session is lost.
    fn handle_look(&mut self, key: FolderKey, look: Result<Meta, Problem>) -> Result<(), Problem> {
        let above = self.visited().above(key);
        if key != ROOT && self.unseen.contains(&above) {
            self.unseen.insert(key);
            return Ok(());
        }
        match look {
            Ok(now) => match self.visited().is_as_walked(key, &now) {
                AsWalked::Yes => {}
                AsWalked::Unverified => self.unverified.push(key),
                AsWalked::No => drop(self.changed.insert(key)),
                AsWalked::Replaced => self.guard(key),
            },
            Err(problem) if problem.class == Class::Lost => return Err(problem),
            Err(problem) if problem.class == Class::Missing && key != ROOT => {
                self.unseen.insert(key);
                self.missing.push((key, problem));
            }
            Err(problem) => self.report(key, problem),
        }
        Ok(())
    }

    fn report(&mut self, key: FolderKey, problem: Problem) {
        self.root.root.report(&self.shared.ledger, problem);
        self.guard(key);
    }

    /// Marks the folders above those that are gone as changed. One that is there and could not be looked at is
    /// reported.
    ///
    /// Errors: the session is lost.
    fn resolve_missing(&mut self) -> Result<(), Problem> {
        for (key, problem) in std::mem::take(&mut self.missing) {
            let above = self.visited().above(key);
            let chain = self.visited().steps_from_root(key);
            let Some((_, name)) = chain.last() else { continue };
            let look = self
                .side(above)
                .and_then(|side| side.origin()?.metadata_if_exists(name, || side.path_of(name)));
            match look {
                Err(problem) if problem.class == Class::Lost => return Err(problem),
                Ok(None) => drop(self.changed.insert(above)),
                Ok(Some(_)) | Err(_) => self.report(key, problem),
            }
        }
        Ok(())
    }

    fn guard(&mut self, key: FolderKey) {
        self.visited().guard(key);
        self.unseen.insert(key);
    }

    /// Looks at all folders of the tree below its root that were walked, on this host or by requests to the other.
    fn look_below_root(&mut self) -> Result<(), Problem> {
        let Some(now) = self.now.clone() else { return Ok(()) };
        let Origin::There(folder) = now.origin()? else { return self.look_at_local(now) };
        let (root, top) = (self.root, now.path());
        let path = |key| root.root.visited.path_of(key, &top);
        let mut handle = |key, look| self.handle_look(key, look);
        folder.look_below(&mut root.root.visited.steps_through(), &path, &mut handle)
    }

    /// Opens and looks at all folders that were walked of a source on this host, from its root down.
    fn look_at_local(&mut self, now: Arc<FolderSide>) -> Result<(), Problem> {
        let mut open = vec![Some(now)];
        let steps: Vec<FolderStep> = self.root.root.visited.steps_through().collect();
        for step in steps {
            if self.shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            match step {
                FolderStep::Up => drop(open.pop()),
                FolderStep::Down(key, name) => {
                    let above = open.last().and_then(Option::as_ref);
                    let opened = above.map(|above| above.child(&name));
                    let Some(opened) = opened else {
                        self.unseen.insert(key);
                        open.push(None);
                        continue;
                    };
                    let look = opened.as_ref().map(|side| side.meta).map_err(Clone::clone);
                    self.handle_look(key, look)?;
                    open.push(opened.ok().filter(|_| !self.unseen.contains(&key)));
                }
            }
        }
        Ok(())
    }

    /// Lists folders whose times do not tell whether they changed.
    fn list_unverified(&mut self) -> Result<(), Problem> {
        for key in std::mem::take(&mut self.unverified) {
            let listed = self.side(key).and_then(|side| is_listed_as_walked(self.visited(), key, &side));
            match listed {
                Ok(true) => {}
                Err(problem) if problem.class == Class::Lost => return Err(problem),
                Ok(false) | Err(_) => drop(self.changed.insert(key)),
            }
        }
        Ok(())
    }

    fn side(&self, key: FolderKey) -> Result<Arc<FolderSide>, Problem> {
        let mut side = self.now.clone().unwrap_or_else(|| Arc::clone(&self.root.source));
        for (_, name) in self.visited().steps_from_root(key) {
            side = side.child(&name)?;
        }
        Ok(side)
    }
}

/// Lists a folder once more. Whether it has the names that were walked; it counts from now on as it was before this
/// listing.
fn is_listed_as_walked(visited: &Visited, key: FolderKey, source: &FolderSide) -> Result<bool, Problem> {
    let (before, is_young) = source.look_again()?;
    let origin = source.origin()?;
    let all = origin.list_all(&source.path())?;
    let was_walked = |name: &Name| visited.has(visited.below(key, &name.name));
    // Of another host it is not known whether its times hold.
    let changed_ns = |name: &Name| match &origin {
        Origin::Here(_) => origin.changed_ns(name, || was_walked(name)),
        Origin::There(_) => None,
    };
    // A file that has a name for each of them, where the listing gives all one number.
    let has_all_names =
        |meta: Meta, name: &Name| meta.inode == name.inode() && meta.links >= all.len() as u64;
    let is_link = |name: &Name| {
        origin.metadata(name, || source.path_of(&name.name)).is_ok_and(|meta| has_all_names(meta, name))
    };
    let are_links = || all.iter().all(is_link);
    let (now, _) = source.look_again()?;
    let is_same = visited.is_listed_as_walked(key, &before, is_young, &all, changed_ns, are_links);
    Ok(id(&before) == id(&now) && is_same)
}
