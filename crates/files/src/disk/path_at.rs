//! A target, found once: an open folder and one name in it, or an open folder alone.
//!
//! Whatever is done with a target afterwards goes by that folder and that name. The path is only shown: it is never
//! opened again, so that nobody who may rename things on the way can lead a copy elsewhere.
//!
//! Must not know: what is copied there, cp's rules for targets.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::{Errno, Handle};

use super::{Access, Disk, FileKind, Folder, Meta, Outcome, is_descriptor, kind, magic, names, os};

/// Names of /dev by which programs find what they have open.
const OPEN_FILES: [&str; 4] = ["stdin", "stdout", "stderr", "fd"];
/// As many links as the kernel follows: path_resolution(7).
const LINKS_MAX: u32 = 40;

/// A target.
#[derive(Clone, Debug)]
pub struct PathAt {
    /// Or why it could not be opened, which matters to whoever uses it.
    folder: Outcome<Folder>,
    /// One component; none where the folder itself is the target.
    name: Option<OsString>,
    /// As the user knows it.
    pub path: PathBuf,
    /// A symbolic link under the name is followed: the user named it, or the folder it stands in.
    follows: bool,
    /// Folders are missing on the way, and will be made.
    promise: Option<Arc<Promise>>,
    /// The symbolic links that led here from the name that was found first: device and inode of each.
    links: Vec<(u64, u64)>,
}

/// Folders that will be made.
#[derive(Debug)]
pub(super) struct Promise {
    /// Where the first of them will be.
    pub(super) folder: Arc<File>,
    /// Their names, each in the one before.
    pub(super) names: Vec<OsString>,
}

impl PathAt {
    /// Finds a target by the path that the user gave; links are followed.
    pub fn find(disk: &Disk, path: &Path) -> PathAt {
        let (parent, name) = split(path);
        let (folder, name) = match disk {
            Disk::Sim(disk) => (Ok(Folder::Sim(Arc::clone(disk))), name.map(OsStr::to_owned)),
            Disk::Os => match (names::find_folder(path), name) {
                (Err(_), Some(name)) => (names::find_folder(parent).map(of_file), Some(name.to_owned())),
                (found, _) => (found.map(of_file), None),
            },
        };
        PathAt { folder, name, path: path.to_path_buf(), follows: true, promise: None, links: Vec::new() }
    }

    /// Finds a target beneath an open folder, which nothing leads out of. A link under its name is not followed.
    pub fn find_beneath(root: &File, path: &Path) -> Outcome<PathAt> {
        let (parent, name) = split(path);
        let (folder, name) = match (names::find_beneath(root, path), name) {
            (Err(Errno::ENOENT | Errno::ENOTDIR), Some(name)) => {
                (names::find_beneath(root, parent)?, Some(name.to_owned()))
            }
            (found, _) => (found?, None),
        };
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(PathAt {
            folder: Ok(of_file(folder)),
            name,
            path: path.to_path_buf(),
            follows: false,
            promise: None,
            links: Vec::new(),
        })
    }

    /// The same without a look at what its last name is.
    pub fn name_beneath(root: &File, path: &Path) -> Outcome<PathAt> {
        let (parent, name) = split(path);
        let name = Some(name.ok_or(Errno::ENOENT)?.to_owned());
        let folder = Ok(of_file(names::find_beneath(root, parent)?));
        Ok(PathAt {
            folder,
            name,
            path: path.to_path_buf(),
            follows: false,
            promise: None,
            links: Vec::new(),
        })
    }

    /// A target in folders that will be made, or the last of them: it stands for what will be there.
    pub(super) fn promised(path: &Path, name: Option<&OsStr>, promise: Promise, follows: bool) -> PathAt {
        let (folder, name) = (Err(Errno::ENOENT), name.map(OsStr::to_owned));
        PathAt {
            folder,
            name,
            path: path.to_path_buf(),
            follows,
            promise: Some(Arc::new(promise)),
            links: Vec::new(),
        }
    }

    /// Whether folders were missing on the way when it was found.
    pub fn is_promised(&self) -> bool {
        self.promise.is_some()
    }

    /// The folder where it stands or will be, and the names of those that will be made in between.
    pub fn known_folder(&self) -> Option<(&Arc<File>, &[OsString])> {
        match (&self.folder, &self.promise) {
            (Ok(Folder::Os(folder)), _) => Some((folder, &[])),
            (Err(_), Some(promise)) => Some((&promise.folder, &promise.names)),
            _ => None,
        }
    }

    /// The same target under the name that its user knows.
    pub fn shown_as(self, path: &Path) -> PathAt {
        PathAt { path: path.to_path_buf(), ..self }
    }

    /// A folder that stands there, or is promised.
    pub fn is_folder(&self) -> bool {
        self.name.is_none() && (self.folder.is_ok() || self.promise.is_some())
    }

    /// A name in this folder.
    pub fn child(&self, name: &OsStr) -> PathAt {
        debug_assert!(self.name.is_none());
        PathAt { name: Some(name.to_owned()), path: self.path.join(name), ..self.clone() }
    }

    /// The folder: the target itself, or where its name stands.
    pub fn folder(&self) -> Outcome<&Folder> {
        self.folder.as_ref().map_err(|errno| *errno)
    }

    /// The name in the folder.
    pub fn name(&self) -> Option<&OsStr> {
        self.name.as_deref()
    }

    /// What stands there.
    pub fn metadata(&self) -> Outcome<Meta> {
        match (self.folder()?, &self.name) {
            (Folder::Os(folder), Some(name)) if self.follows => os::metadata_behind(folder, name),
            _ => self.metadata_of_name(),
        }
    }

    /// The same of a link itself.
    pub fn metadata_of_name(&self) -> Outcome<Meta> {
        match (self.folder()?, &self.name) {
            (Folder::Os(folder), None) => os::file_metadata(folder),
            (folder, name) => folder.metadata(name.as_deref().unwrap_or_default()),
        }
    }

    /// The device that the folder lies on.
    pub fn folder_device(&self) -> Outcome<u64> {
        self.folder_id().map(|(device, _)| device)
    }

    /// What tells the folder from all others: its device and inode.
    pub fn folder_id(&self) -> Outcome<(u64, u64)> {
        match self.folder()? {
            Folder::Os(folder) => os::file_metadata(folder).map(|meta| (meta.device, meta.inode)),
            Folder::Sim(_) => Err(Errno::ENOENT),
        }
    }

    /// Whether a symbolic link with these words would lead to what stands under the name, and so to itself there: at
    /// once or by other links.
    pub fn would_lead_to_itself(&self, words: &OsStr) -> bool {
        let (Ok(Folder::Os(folder)), Ok(there)) = (self.folder(), self.metadata_of_name()) else {
            return false;
        };
        let mut to = PathBuf::from(words);
        for _ in 0..LINKS_MAX {
            let Ok(meta) = os::metadata_at(folder, to.as_os_str()) else { return false };
            if (meta.device, meta.inode) == (there.device, there.inode) {
                return true;
            }
            let next = (meta.kind == FileKind::Symlink).then(|| names::read_symlink(folder, to.as_os_str()));
            let Some(Ok(next)) = next else { return false };
            to = to.parent().unwrap_or(Path::new("")).join(next);
        }
        false
    }

    /// Whether a symbolic link stands under the name.
    pub fn is_symlink(&self) -> bool {
        self.metadata_of_name().is_ok_and(|meta| meta.kind == FileKind::Symlink)
    }

    /// Whether a symbolic link under the name is followed.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// The name itself, whatever a link under it leads to.
    pub fn itself(self) -> PathAt {
        PathAt { follows: false, ..self }
    }

    /// Opens what stands there.
    pub fn open(&self, access: Access) -> Outcome<Handle> {
        let name = self.name.as_deref().unwrap_or(OsStr::new("."));
        match self.folder()? {
            Folder::Os(folder) if self.follows => os::open_behind(folder, name, access).map(Handle::Os),
            Folder::Os(folder) => os::open_at(folder, name, access).map(Handle::Os),
            folder => folder.open(name, access),
        }
    }

    /// The folder, open so that names in it can be listed and made durable.
    pub fn folder_to_sync(&self) -> Outcome<Folder> {
        match self.folder()? {
            Folder::Os(folder) => names::open_folder(folder, OsStr::new(".")).map(of_file),
            Folder::Sim(disk) => Ok(Folder::Sim(Arc::clone(disk))),
        }
    }

    /// The file that the links under this name lead to: a copy replaces that, and the links stay.
    pub fn behind_links(self) -> Outcome<PathAt> {
        let mut here = PathAt { follows: false, ..self };
        for _ in 0..LINKS_MAX {
            match here.one_link_on()? {
                Some(next) => here = next,
                None => return Ok(here),
            }
        }
        Err(Errno::ELOOP)
    }

    /// The symbolic links that [`PathAt::behind_links`] followed: device and inode of each.
    pub fn links_followed(&self) -> &[(u64, u64)] {
        &self.links
    }

    /// The descriptor that the links under this name lead to, if they do: the file is what is open there.
    pub fn descriptor(&self) -> Option<OsString> {
        let mut here = PathAt { follows: false, ..self.clone() };
        for _ in 0..LINKS_MAX {
            if here.stands_for_descriptor() {
                return here.name;
            }
            here = here.one_link_on().ok()??;
        }
        None
    }

    /// Whether the name is one by which programs find what they have open: one of those of /dev, or any in proc.
    pub fn is_of_open_files(&self) -> bool {
        let (Ok(Folder::Os(folder)), Some(name)) = (self.folder(), self.name()) else { return false };
        let is_one = OPEN_FILES.iter().any(|own| name == OsStr::new(own));
        kind::holds_descriptors(magic(folder)) || (is_one && is_dev(folder))
    }

    fn stands_for_descriptor(&self) -> bool {
        match (self.folder(), self.name()) {
            (Ok(Folder::Os(folder)), Some(name)) => self.is_symlink() && is_descriptor(folder, name),
            _ => false,
        }
    }

    /// Where the link under this name leads; `None` where none stands there.
    fn one_link_on(&self) -> Outcome<Option<PathAt>> {
        match (self.folder()?, &self.name) {
            (Folder::Os(folder), Some(name)) if self.is_symlink() => {
                let content = names::read_symlink(folder, name)?;
                self.led_by(Path::new(&content)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn led_by(&self, content: &Path) -> Outcome<PathAt> {
        let (Folder::Os(folder), (parent, Some(name))) = (self.folder()?, split(content)) else {
            return Err(Errno::ELOOP);
        };
        let folder = names::find_folder_from(folder, parent).map(of_file);
        // The path is only shown, never opened.
        let path = self.path.parent().unwrap_or(Path::new("")).join(content);
        let mut links = self.links.clone();
        links.extend(self.metadata_of_name().ok().map(|link| (link.device, link.inode)));
        Ok(PathAt { folder, name: Some(name.to_owned()), path, follows: false, promise: None, links })
    }
}

/// Whether a folder is /dev of this host, by whatever path it was found.
fn is_dev(folder: &File) -> bool {
    let id = |meta: Meta| (meta.device, meta.inode);
    let dev = os::metadata(Path::new("/dev")).map(id);
    dev.is_ok() && dev == os::file_metadata(folder).map(id)
}

fn of_file(folder: File) -> Folder {
    Folder::Os(Arc::new(folder))
}

/// The folder that a path's last name stands in, and that name.
fn split(path: &Path) -> (&Path, Option<&OsStr>) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    (parent.unwrap_or(Path::new(".")), path.file_name())
}

/// Where a path's name stands.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is written here, whatever the answer is.
    #[test]
    fn names_of_open_files_are_known_however_they_are_written() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let below = |name: &str| home.path().join(name);
        std::os::unix::fs::symlink("/dev", below("dev")).expect("room");
        std::os::unix::fs::symlink("/dev/stderr", below("link")).expect("room");
        for (path, is_one) in [
            (PathBuf::from("/dev/stdin"), true),
            ("/dev/stdout".into(), true),
            ("/dev/stderr".into(), true),
            ("/dev/../dev/./stderr".into(), true),
            (below("dev/stderr"), true),
            ("/dev/null".into(), false),
            ("/dev/stderr.new".into(), false),
            ("/proc/self/fd/2".into(), true),
            ("/proc/self/fd/987654".into(), true),
            ("/proc/new".into(), true),
            (below("stderr"), false),
            (below("link"), false),
            (below("fd"), false),
        ] {
            assert_eq!(PathAt::find(&Disk::Os, &path).is_of_open_files(), is_one, "{path:?}");
        }
        let dev = PathAt::find(&Disk::Os, Path::new("/dev"));
        for (name, is_one) in [("stderr", true), ("fd", true), ("null", false)] {
            assert_eq!(dev.child(OsStr::new(name)).is_of_open_files(), is_one, "{name}");
        }
    }
}
