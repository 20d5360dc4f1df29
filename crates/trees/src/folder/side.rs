//! One open folder of a tree, on the source's or the target's side, that may be closed and opened again.
//!
//! A tree may be deeper than the number of files that a process may have open, and its paths longer than the system
//! takes (PATH_MAX). So a folder is opened in its parent, by one name, never through a symbolic link; a bounded number
//! stays open; and one that was closed is opened again the same way and must be the same folder (device and inode),
//! else somebody has moved things about and nothing is done there.
//!
//! A path is a chain of names: each folder knows its own name and its parent. It is joined only when it is needed, so
//! that a tree of n nested folders takes memory for n names, not for n paths.
//!
//! Must not know: what is copied, in which order folders are visited.

mod keeper;
mod opened_up;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use datapump_engine::Errno;

use crate::listed::Name;
use crate::lock::StateLock;
use crate::origin::Origin;
use crate::origin::source_host::{RemoteOrigin, SourceHost};
use crate::problem::{Class, Operation, Problem};
use crate::setup::budget::Charge;
use datapump_files::disk::names::NameFlags;
use datapump_files::disk::{Meta, file_meta, magic, names};
use datapump_files::followed::{FollowLinks, GivenNames, OriginFolder, own_name};
use datapump_files::identity::tick;
use datapump_files::opened_folders::OpenedFolders;

pub use keeper::Keeper;
pub(crate) use opened_up::Refusal;

/// A folder of a tree.
#[derive(Debug)]
pub struct FolderSide {
    /// `None` for the root, which stays open.
    parent: Option<Arc<FolderSide>>,
    /// Its name in its parent; of a root its path, as the user named it.
    pub(crate) name: OsString,
    pub meta: Meta,
    /// Its times could hide a name that came right after the look.
    is_young: bool,
    place: SidePlace,
    /// Whether it could be, once that was needed.
    opened_up: StateLock<Option<bool>>,
    /// Of a folder that is open for another host: what it takes of the session's part.
    charge: Option<Charge>,
    /// Names that the user gave, where that makes a difference.
    given: Option<Arc<GivenNames>>,
}

/// Where the folder lies.
#[derive(Debug)]
enum SidePlace {
    /// On this host.
    Here {
        open: StateLock<Weak<File>>,
        /// How a root is had; `None` of a folder in another.
        root: Option<RootFile>,
        keeper: Arc<Keeper>,
        /// Which links in it are followed.
        follow: FollowLinks,
        /// Where a target is written, or would be: what becomes of folders that are closed to this user, their owner.
        opened_folders: Option<Arc<OpenedFolders>>,
    },
    /// On another, which closes and opens it as it likes.
    There(Arc<dyn RemoteOrigin>),
}

/// The root of a tree of this host.
#[derive(Debug)]
enum RootFile {
    /// It stays open.
    Open(StateLock<Arc<File>>),
    /// One of many: it is closed and opened again like any other folder.
    Again(Arc<dyn OpensRoot>),
}

/// Opens a root once more.
pub trait OpensRoot: std::fmt::Debug + Send + Sync {
    fn open_root(&self) -> Result<File, Errno>;
}

/// Room behind a joined path for one name more.
const SPARE_BYTES: usize = 32;
impl FolderSide {
    /// The root of a tree, open for as long as it lives.
    pub(crate) fn root(path: &Path, file: File, keeper: &Arc<Keeper>) -> Result<Arc<FolderSide>, Problem> {
        FolderSide::shared_root(path, Arc::new(file), keeper)
    }

    /// The root of a tree, from an open folder that others use too.
    pub(crate) fn shared_root(
        path: &Path,
        file: Arc<File>,
        keeper: &Arc<Keeper>,
    ) -> Result<Arc<FolderSide>, Problem> {
        let root = RootFile::Open(StateLock::new(Arc::clone(&file)));
        FolderSide::root_with(path, &file, StateLock::default(), root, keeper)
    }

    /// The root of one tree of many, just opened: it is closed when others need the file, and `opens` opens it again.
    pub fn reopenable_root(
        path: &Path,
        file: File,
        opens: Arc<dyn OpensRoot>,
        keeper: &Arc<Keeper>,
    ) -> Result<Arc<FolderSide>, Problem> {
        let file = Arc::new(file);
        keeper.keep(&file);
        let open = StateLock::new(Arc::downgrade(&file));
        FolderSide::root_with(path, &file, open, RootFile::Again(opens), keeper)
    }

    /// The root of a tree of this host, looked at as it is now.
    fn root_with(
        path: &Path,
        file: &File,
        open: StateLock<Weak<File>>,
        root: RootFile,
        keeper: &Arc<Keeper>,
    ) -> Result<Arc<FolderSide>, Problem> {
        let now_ns = tick::now_ns();
        let meta = file_meta(file).map_err(|errno| Problem::system(Operation::Stat, path, errno.0))?;
        let is_young = tick::is_young(now_ns, &meta, || magic(file));
        let place = SidePlace::Here {
            open,
            root: Some(root),
            keeper: Arc::clone(keeper),
            follow: FollowLinks::Never,
            opened_folders: None,
        };
        Ok(FolderSide::new(None, path.as_os_str(), meta, is_young, place))
    }

    /// A folder with these metadata in one place, not opened up and not charged.
    fn new(
        parent: Option<&Arc<FolderSide>>,
        name: &OsStr,
        meta: Meta,
        is_young: bool,
        place: SidePlace,
    ) -> Arc<FolderSide> {
        Arc::new(FolderSide {
            parent: parent.cloned(),
            name: name.to_owned(),
            meta,
            is_young,
            place,
            opened_up: StateLock::default(),
            charge: None,
            given: None,
        })
    }

    /// The root of a tree of another host.
    pub(crate) fn remote_root(path: &Path, folder: Arc<dyn RemoteOrigin>) -> Arc<FolderSide> {
        FolderSide::from_remote(None, path.as_os_str(), folder)
    }

    /// A folder of another host.
    fn from_remote(
        parent: Option<&Arc<FolderSide>>,
        name: &OsStr,
        folder: Arc<dyn RemoteOrigin>,
    ) -> Arc<FolderSide> {
        let (meta, is_young) = (folder.facts().meta, folder.facts().is_young);
        FolderSide::new(parent, name, meta, is_young, SidePlace::There(folder))
    }

    /// The folder `name` in this one.
    pub fn child(self: &Arc<FolderSide>, name: &OsStr) -> Result<Arc<FolderSide>, Problem> {
        self.child_of(&Name::here(name.to_owned(), None))
    }

    /// Opens a folder in this one by a name that was listed, as [`Self::child`] does.
    pub(crate) fn child_of(self: &Arc<FolderSide>, listed: &Name) -> Result<Arc<FolderSide>, Problem> {
        self.child_by(listed, true)
    }

    /// A folder that was just made here: nothing in it was closed to anybody.
    pub(crate) fn made_child(self: &Arc<FolderSide>, name: &OsStr) -> Result<Arc<FolderSide>, Problem> {
        self.child_by(&Name::here(name.to_owned(), None), false)
    }

    /// Opens a folder in this one, of this host or another. `opens_up`: one that is closed to this user, its owner, is opened
    /// up.
    fn child_by(self: &Arc<FolderSide>, listed: &Name, opens_up: bool) -> Result<Arc<FolderSide>, Problem> {
        let name = &*listed.name;
        let (keeper, follow, opened_folders) = match &self.place {
            SidePlace::Here { keeper, follow, opened_folders, .. } => (keeper, *follow, opened_folders),
            SidePlace::There(folder) => {
                let below = folder.enter(listed, &self.path_of(name))?;
                return Ok(FolderSide::from_remote(Some(self), name, below));
            }
        };
        let now_ns = tick::now_ns();
        let above = self.as_origin(self.file()?);
        let opened = match opened_folders.as_ref().filter(|folders| opens_up && folders.has_room()) {
            Some(folders) => folders.open(&above.file, Some(name)),
            None => open_and_stat(&above, name).map(|(file, meta)| (file, meta, false)),
        };
        let (file, meta, was_closed) =
            opened.map_err(|errno| Problem::system(Operation::Open, &self.path_of(name), errno.0))?;
        let file = Arc::new(file);
        keeper.keep(&file);
        let is_young = tick::is_young(now_ns, &meta, || magic(&file));
        let place = SidePlace::Here {
            open: StateLock::new(Arc::downgrade(&file)),
            root: None,
            keeper: Arc::clone(keeper),
            follow,
            opened_folders: opened_folders.clone(),
        };
        let below = FolderSide::new(Some(self), name, meta, is_young, place);
        if was_closed {
            *below.opened_up.lock() = Some(true);
            below.owe_mode();
        }
        Ok(below)
    }

    /// This root, just opened, with these links followed in it and in all folders below.
    pub fn following(mut self: Arc<FolderSide>, links: FollowLinks) -> Arc<FolderSide> {
        let side = Arc::get_mut(&mut self).expect("it was just opened");
        if let SidePlace::Here { follow, .. } = &mut side.place {
            *follow = links;
        }
        self
    }

    /// This folder, just opened, with the names that the user gave in it.
    pub(crate) fn with_given(mut self: Arc<FolderSide>, given: GivenNames) -> Arc<FolderSide> {
        let side = Arc::get_mut(&mut self).expect("it was just opened");
        side.given = Some(Arc::new(given));
        self
    }

    /// The name here of what has this one at the target.
    pub(crate) fn own<'name>(&'name self, name: &'name OsStr) -> &'name OsStr {
        own_name(self.given.as_deref(), name)
    }

    /// This folder, just opened, with a charge to the session that it holds for as long as it lives: also after its
    /// number was given back, while folders below it are open.
    pub fn charged(mut self: Arc<FolderSide>, charge: Charge) -> Arc<FolderSide> {
        Arc::get_mut(&mut self).expect("it was just opened").charge = Some(charge);
        self
    }

    fn host(&self) -> Option<&dyn SourceHost> {
        match &self.place {
            SidePlace::Here { .. } => None,
            SidePlace::There(folder) => folder.host(),
        }
    }

    /// Memory kept for a folder of another host is charged to the session's part, and given back when dropped. `None`
    /// of a folder of this host.
    pub(crate) fn charge_there(&self, bytes: usize) -> Result<Option<Charge>, Problem> {
        let Some(host) = self.host() else { return Ok(None) };
        host.charge(bytes).map(Some).map_err(|over| over.problem(&self.path()))
    }

    /// Charges memory that can be had otherwise: only if so much more may be charged besides.
    pub(crate) fn charge_beside(&self, bytes: usize, besides: usize) -> Result<Option<Charge>, Problem> {
        let Some(host) = self.host() else { return Ok(None) };
        if besides == 0 {
            return self.charge_there(bytes);
        }
        let charged = host.charge_beside(bytes, besides);
        charged.map(Some).map_err(|over| over.problem(&self.path()))
    }

    /// Whether names in a folder of this host can be removed and replaced, as far as it says.
    pub(crate) fn flags(&self) -> NameFlags {
        self.file().ok().and_then(|folder| names::flags(&folder).ok()).unwrap_or_default()
    }

    /// Whether it lies on this host.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.place, SidePlace::Here { .. })
    }

    /// Whether its times, when it was opened, could hide a name that came right after that.
    pub fn is_young(&self) -> bool {
        self.is_young
    }

    /// The folder's metadata of now, of what is open, whatever its name means.
    pub(crate) fn now(&self) -> Result<Meta, Problem> {
        match &self.place {
            SidePlace::Here { .. } => {
                let now = file_meta(&*self.file()?);
                now.map_err(|errno| Problem::system(Operation::LookAt, &self.path(), errno.0))
            }
            SidePlace::There(folder) => Ok(folder.look_again(&self.path())?.0),
        }
    }

    /// Looks at the folder again: its metadata now, and whether its times could hide a name that is made right after this look.
    pub(crate) fn look_again(&self) -> Result<(Meta, bool), Problem> {
        let now_ns = tick::now_ns();
        match &self.place {
            SidePlace::Here { .. } => {
                let (now, file) = (self.now()?, self.file()?);
                Ok((now, tick::is_young(now_ns, &now, || magic(&file))))
            }
            SidePlace::There(folder) => folder.look_again(&self.path()),
        }
    }

    /// The folder, to be asked for what is in it.
    pub(crate) fn origin(&self) -> Result<Origin, Problem> {
        match &self.place {
            SidePlace::Here { .. } => self.origin_folder().map(Origin::Here),
            SidePlace::There(folder) => Ok(Origin::There(Arc::clone(folder))),
        }
    }

    /// The folder of this host, open, with which of its links are followed.
    pub fn origin_folder(&self) -> Result<OriginFolder, Problem> {
        self.file().map(|open| self.as_origin(open))
    }

    /// The open folder of this host; opened again, and those above it, if they were closed meanwhile.
    pub fn file(&self) -> Result<Arc<File>, Problem> {
        let (mut closed, mut here): (Vec<&FolderSide>, _) = (Vec::new(), self);
        let mut file = loop {
            match (here.if_open(), here.parent.as_deref()) {
                (Some(file), _) => break file,
                (None, None) => break here.root_opened_again()?,
                (None, Some(parent)) => {
                    closed.push(here);
                    here = parent;
                }
            }
        };
        // Those nearest to it are needed next. If all were kept, a deep folder of one side would close those of the
        // other.
        for (level, side) in closed.iter().enumerate().rev() {
            file = side.open_again(&file, level < self.nearest())?;
        }
        Ok(file)
    }

    /// The open folder with which of its links are followed, as names are read from it.
    fn as_origin(&self, open: Arc<File>) -> OriginFolder {
        let follow = match self.place {
            SidePlace::Here { follow, .. } => follow,
            SidePlace::There(_) => FollowLinks::Never,
        };
        let depth = match follow {
            FollowLinks::Outwards => self.depth(),
            FollowLinks::Never | FollowLinks::Always => 0,
        };
        OriginFolder { file: open, follow, depth, given: self.given.clone() }
    }

    /// The open folder of this host, if it is open now.
    fn if_open(&self) -> Option<Arc<File>> {
        let SidePlace::Here { open, root, .. } = &self.place else {
            unreachable!("a folder of another host is no open file")
        };
        match root {
            Some(RootFile::Open(file)) => Some(Arc::clone(&file.lock())),
            Some(RootFile::Again(_)) | None => open.lock().upgrade(),
        }
    }

    /// Opens a root of this host once more before it is listed again: some file systems (sshfs) give the names of an open
    /// folder once.
    pub(crate) fn rewind(&self) -> Result<(), Problem> {
        if let SidePlace::Here { root: Some(RootFile::Open(file)), .. } = &self.place {
            let mut file = file.lock();
            *file = Arc::new(
                names::open_folder(&file, OsStr::new("."))
                    .map_err(|errno| Problem::system(Operation::OpenAgain, &self.path(), errno.0))?,
            );
        }
        Ok(())
    }

    fn root_opened_again(&self) -> Result<Arc<File>, Problem> {
        let SidePlace::Here { root: Some(RootFile::Again(opens)), .. } = &self.place else {
            unreachable!("a root is open")
        };
        self.check_reopened(opens.open_root().and_then(with_meta), true)
    }

    /// How many folders of a way that is opened again are kept open.
    fn nearest(&self) -> usize {
        match &self.place {
            SidePlace::Here { keeper, .. } => (keeper.most / 4).max(1),
            SidePlace::There(_) => 0,
        }
    }

    /// Opens the folder again in its parent.
    ///
    /// Errors: it is another folder by now.
    fn open_again(&self, parent: &Arc<File>, stays_open: bool) -> Result<Arc<File>, Problem> {
        let above = self.parent.as_deref().expect("a root is open").as_origin(Arc::clone(parent));
        let opened = match self.looking() {
            Some(folders) => folders.open(&above.file, Some(&self.name)).map(|(file, meta, _)| (file, meta)),
            None => open_and_stat(&above, &self.name),
        };
        self.check_reopened(opened, stays_open)
    }

    /// Notes a folder that was opened again. Refuses another one than before.
    fn check_reopened(
        &self,
        opened: Result<(File, Meta), Errno>,
        stays_open: bool,
    ) -> Result<Arc<File>, Problem> {
        let (file, meta) =
            opened.map_err(|errno| Problem::system(Operation::OpenAgain, &self.path(), errno.0))?;
        let file = Arc::new(file);
        if (meta.device, meta.inode) != (self.meta.device, self.meta.inode) {
            let words = "was replaced by another folder meanwhile; nothing more is done in it";
            return Err(Problem::new(Class::Changed, Operation::OpenAgain, &self.path(), words));
        }
        if let SidePlace::Here { open, keeper, .. } = &self.place {
            *open.lock() = Arc::downgrade(&file);
            if stays_open {
                keeper.keep(&file);
            }
        }
        Ok(file)
    }

    /// From here to the root.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = &FolderSide> {
        std::iter::successors(Some(self), |side| side.parent.as_deref())
    }

    /// So many folders of its tree lie above it.
    pub(crate) fn depth(&self) -> u32 {
        self.ancestors().count() as u32 - 1
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// For messages: it may be longer than the system takes.
    pub fn path(&self) -> PathBuf {
        let root = self.ancestors().last().map(|root| Path::new(&root.name));
        self.path_below(root.unwrap_or(Path::new("")))
    }

    /// The path of a name in this folder, for messages.
    pub(crate) fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path().join(self.own(name))
    }

    /// The path from the root of the tree; empty for the root itself.
    pub(crate) fn relative(&self) -> PathBuf {
        self.path_below(Path::new(""))
    }

    /// What the path of this folder is in another tree with this root.
    pub(crate) fn path_below(&self, root: &Path) -> PathBuf {
        let below_root = self.ancestors().filter(|side| !side.is_root());
        let mut names: Vec<&OsStr> = below_root.map(|side| side.name.as_os_str()).collect();
        names.reverse();
        let names_bytes: usize = names.iter().map(|name| name.len() + 1).sum();
        let mut path = PathBuf::with_capacity(root.as_os_str().len() + names_bytes + SPARE_BYTES);
        path.push(root);
        path.extend(names);
        path
    }
}

impl Drop for FolderSide {
    /// A tree may be deeper than the stack: parents that nobody else holds are dropped here, one after the other.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(side) = next {
            next = Arc::into_inner(side).and_then(|mut side| side.parent.take());
        }
    }
}

fn open_and_stat(above: &OriginFolder, name: &OsStr) -> Result<(File, Meta), Errno> {
    above.open_folder(name).and_then(with_meta)
}

fn with_meta(file: File) -> Result<(File, Meta), Errno> {
    let meta = file_meta(&file)?;
    Ok((file, meta))
}

#[cfg(test)]
mod tests;
