//! Removes from a target what its source does not have, once everything was copied without an error.
//!
//! First all are counted, so that too many are refused before the first is removed. What a pattern excludes is left
//! alone at the target too. A folder goes when nothing is left in it.
//!
//! Must not know: how trees are copied.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_engine::Errno;

use crate::attributes::{self, New};
use crate::change::deletion;
use crate::disk::{Bearer, FileKind, Name, names};
use crate::problem::{Class, Problem, shown_path};
use crate::run::Shared;
use crate::tree::branch::Branch;
use crate::tree::journal;
use crate::tree::origin::Origin;
use crate::tree::side::Side;

const ENOENT: Errno = Errno(2);
const EACCES: Errno = Errno(13);
const ENOTEMPTY: Errno = Errno(39);

/// Removes what is too much in these trees.
pub(crate) fn delete(shared: &Shared<'_>, roots: &[Arc<Branch>]) -> Result<(), Problem> {
    if let Some(most) = shared.options.max_delete {
        let mut counted = Pass { shared, removes: false, found: 0, most };
        roots.iter().try_for_each(|root| counted.tree(root))?;
        if counted.found > most {
            let copied = if shared.options.dry_run { "would be copied" } else { "was copied" };
            let words = format!(
                "more than {most} names would be removed (--max-delete); none is, and all the rest {copied}"
            );
            return Err(Problem { class: Class::Refused, operation: "delete", ..Problem::usage(words) });
        }
    }
    let mut pass = Pass { shared, removes: !shared.options.dry_run, found: 0, most: u64::MAX };
    roots.iter().try_for_each(|root| pass.tree(root))
}

/// One walk over the target.
struct Pass<'run> {
    shared: &'run Shared<'run>,
    removes: bool,
    found: u64,
    most: u64,
}

/// A folder that is being looked through; without a source everything in it goes.
struct Place {
    source: Option<Arc<Side>>,
    target: Arc<Side>,
    cookie: u64,
    removed_some: bool,
    /// Something in it stays, so that it stays too.
    keeps_some: bool,
    /// Where its parent stands among the open places.
    above: usize,
}

impl Pass<'_> {
    fn tree(&mut self, root: &Branch) -> Result<(), Problem> {
        let Some(target) = &root.target else { return Ok(()) };
        let mut open = vec![Place {
            source: Some(Arc::clone(&root.source)),
            target: Arc::clone(target),
            cookie: 0,
            removed_some: false,
            keeps_some: false,
            above: 0,
        }];
        while let Some(here) = open.last_mut() {
            if self.found > self.most || self.shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let folder = here.target.file()?.0;
            let (names, cookie) = names::list(&folder, here.cookie)
                .map_err(|errno| Problem::system("list", &here.target.path(), errno.0))?;
            here.cookie = cookie;
            if names.is_empty() {
                let done = open.pop().expect("looked at above");
                self.leave(&done, open.get_mut(done.above))?;
                continue;
            }
            let below = self.batch(here, &folder, &names)?;
            let above = open.len() - 1;
            open.extend(below.into_iter().map(|(source, target)| Place {
                source,
                target,
                cookie: 0,
                removed_some: false,
                keeps_some: false,
                above,
            }));
        }
        Ok(())
    }

    /// Deals with names of a folder; gives the folders to look into.
    fn batch(&mut self, here: &mut Place, folder: &File, names: &[Name]) -> Result<Vec<Below>, Problem> {
        let source = here.source.as_ref().map(|source| source.origin()).transpose()?;
        let mut below = Vec::new();
        for name in names {
            let Some(kind) = self.kind(here, folder, name)? else {
                here.keeps_some = true;
                continue;
            };
            let stands = match (&source, &here.source) {
                (Some(source), Some(side)) => source.if_there(&name.name, || side.path_of(&name.name))?,
                _ => None,
            };
            match stands {
                Some(meta) if meta.kind == FileKind::Folder && kind == FileKind::Folder => {
                    let side = here.source.as_ref().expect("it stands in it").child(&name.name)?;
                    let target = here.target.child(&name.name)?;
                    if !self.is_elsewhere(here, Some(&side), &target) {
                        below.push((Some(side), target));
                    }
                }
                Some(_) => {}
                None if stands_otherwise_written(source.as_ref(), folder, name) => {
                    here.keeps_some = true;
                }
                None if kind == FileKind::Folder => {
                    let target = here.target.child(&name.name)?;
                    match self.is_elsewhere(here, None, &target) {
                        true => here.keeps_some = true,
                        false => below.push((None, target)),
                    }
                }
                None => {
                    self.remove((&here.target, folder), &name.name, kind)?;
                    here.removed_some = true;
                }
            }
        }
        Ok(below)
    }

    /// Whether what is mounted on a folder is nobody's business here: other file systems with `one_file_system`, and at
    /// the target always where the source has nothing in their place.
    fn is_elsewhere(&self, here: &Place, source: Option<&Side>, target: &Side) -> bool {
        let is_mounted = target.meta.device != here.target.meta.device;
        let crosses = |above: &Side, below: &Side| above.meta.device != below.meta.device;
        let source_crosses =
            here.source.as_deref().zip(source).is_some_and(|(above, below)| crosses(above, below));
        if is_mounted && source.is_none() {
            let path = shown_path(&target.path());
            self.shared.warn(format!(
                "'{path}' is not in the source, but another file system is mounted there: left alone"
            ));
        }
        match source {
            Some(_) => self.shared.options.one_file_system && (is_mounted || source_crosses),
            None => is_mounted,
        }
    }

    /// What a name is; `None` for what is not to be touched.
    fn kind(&self, here: &Place, folder: &File, name: &Name) -> Result<Option<FileKind>, Problem> {
        let path = || here.target.path_of(&name.name);
        let kind = match name.kind {
            Some(kind) => kind,
            None => {
                let meta = names::metadata(folder, &name.name);
                meta.map_err(|errno| Problem::system("look at", &path(), errno.0))?.kind
            }
        };
        let ours = here.target.is_root() && name.name == journal::NAME;
        let selected = self.shared.trees.select.includes(
            || here.target.relative(),
            &name.name,
            kind == FileKind::Folder,
        );
        Ok((selected && !ours).then_some(kind))
    }

    fn remove(
        &mut self,
        (above, folder): (&Side, &File),
        name: &OsStr,
        kind: FileKind,
    ) -> Result<(), Problem> {
        self.found += 1;
        if self.removes {
            let remove = || names::remove(folder, name, kind == FileKind::Folder);
            let removed = match remove() {
                Err(EACCES) if above.open_up() => remove(),
                removed => removed,
            };
            match removed {
                Ok(()) | Err(ENOENT) => {}
                // What is excluded lies in it.
                Err(ENOTEMPTY) => return Ok(()),
                Err(errno) => return Err(Problem::system("remove", &above.path_of(name), errno.0)),
            }
        }
        if self.most == u64::MAX && self.shared.tells_changes() {
            self.shared.tell(Some(Box::new(deletion(
                &above.path_of(name),
                above.relative().join(name),
                kind,
            ))));
        }
        Ok(())
    }

    /// A folder was looked through: one without a source goes, another gets the times back that removals changed.
    fn leave(&mut self, done: &Place, above: Option<&mut Place>) -> Result<(), Problem> {
        let changed = done.removed_some || done.target.was_opened_up();
        match (&done.source, above) {
            (None, Some(above)) if done.keeps_some => above.keeps_some = true,
            (None, Some(above)) => {
                let folder = above.target.file()?.0;
                self.remove((&above.target, &folder), &done.target.name, FileKind::Folder)?;
                above.removed_some = true;
            }
            (Some(source), Some(_)) if changed && self.removes => {
                let (from, to) = (source.origin()?, done.target.file()?.0);
                let keep = self.shared.options.keep;
                let kept =
                    attributes::copy(from.bearer(), &source.meta, Bearer::Open(&to), keep, New::default());
                kept.map_err(|errno| Problem::system("set the times of", &done.target.path(), errno.0))?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Where upper and lower case are the same, a name of the source may stand at the target as it was first written there.
/// Found out by the name itself in other letters, and only of what would be removed.
fn stands_otherwise_written(source: Option<&Origin>, target: &File, name: &Name) -> bool {
    let (Some(source), Some(text)) = (source, name.name.to_str()) else { return false };
    let swap = |letter: char| {
        if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    };
    let swapped: String = text.chars().map(swap).collect();
    let id = |name: &OsStr| names::metadata(target, name).map(|meta| (meta.device, meta.inode));
    if swapped == text || id(OsStr::new(&swapped)).is_err() || id(OsStr::new(&swapped)) != id(&name.name) {
        return false;
    }
    let lower = text.to_lowercase();
    let (mut cookie, mut found) = (0, false);
    while let Ok((names, next)) = source.list(cookie, Path::new(""))
        && !names.is_empty()
        && !found
    {
        found = names.iter().any(|name| name.name.to_str().is_some_and(|name| name.to_lowercase() == lower));
        cookie = next;
    }
    found
}

/// A folder to look into: its source, if it has one, and itself.
type Below = (Option<Arc<Side>>, Arc<Side>);
