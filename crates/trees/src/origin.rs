//! A folder of the source, open on this host or on another: the same questions for both.
//!
//! Must not know: what is done with the answers, how another host is asked.

pub mod folder_way;
pub(crate) mod lone_source;
pub mod remote_facts;
pub mod source_host;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump_engine::{Errno, Handle};

use crate::listed::{ListedEntry, Name, name_batches};
use crate::open::held::{Attributes, Held};
use crate::problem::{Class, Operation, Problem};
use crate::setup::options::Keep;
use datapump_files::attributes;
use datapump_files::attributes::keep::New;
use datapump_files::attributes::loss::Lost;
use datapump_files::disk::{self, AttributeHolder, FileCalls, FileKind, Folder, Meta, kind, names};
use datapump_files::followed::{FollowLinks, OriginFolder};
use datapump_files::holes::mapped;
use source_host::RemoteOrigin;

/// An open folder of the source.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Here(OriginFolder),
    There(Arc<dyn RemoteOrigin>),
}

/// Which files of another host are read with the request that opens them.
#[derive(Clone, Copy, Debug)]
pub struct SmallRead {
    /// Those up to this length.
    pub bytes_max: u32,
    /// With holes only if they are read whole all the same.
    pub is_whole: bool,
    /// A file is taken as it is when it is opened, whatever was listed: it is copied, not compared.
    pub any_length: bool,
}

/// A question about one name of a folder, with the path for messages.
fn system<T>(operation: Operation, path: &Path, answer: Result<T, Errno>) -> Result<T, Problem> {
    answer.map_err(|errno| Problem::system(operation, path, errno.0))
}

/// A link that is followed must lead to something.
fn leads_nowhere(path: &Path) -> Problem {
    let words = "is a symbolic link to nothing; without -L and --copy-unsafe-links the link itself is copied";
    Problem::new(Class::Io, Operation::LookAt, path, words)
}

/// The file under a name is not the one that was looked at.
fn replaced(path: &Path) -> Problem {
    Problem::new(Class::Changed, Operation::Copy, path, "the source was replaced while it was copied")
}

impl Origin {
    /// The next names, and where those behind them begin; none at the end. Attributes of files are told with their
    /// names by another host alone.
    pub(crate) fn list(
        &self,
        cookie: u64,
        with_attributes: bool,
        path: &Path,
    ) -> Result<(Vec<Name>, u64), Problem> {
        match self {
            Origin::Here(folder) => {
                let (entries, next) = system(Operation::List, path, folder.list(cookie))?;
                Ok((entries.into_iter().map(Name::from).collect(), next))
            }
            Origin::There(folder) => folder.list(cookie, with_attributes, path),
        }
    }

    /// All names.
    pub(crate) fn list_all(&self, path: &Path) -> Result<Vec<Name>, Problem> {
        let names = name_batches(|cookie| self.list(cookie, false, path)).collect::<Result<Vec<_>, _>>()?;
        Ok(names.into_iter().flatten().collect())
    }

    /// The first names, before the walk.
    pub(crate) fn peek(&self, path: &Path) -> Result<(Vec<Name>, u64), Problem> {
        match self {
            Origin::Here(_) => self.list(0, false, path),
            Origin::There(folder) => folder.peek(path),
        }
    }

    /// Metadata of a name in the source. The path is made for a problem only: most names need none.
    pub(crate) fn metadata(&self, name: &Name, path: impl Fn() -> PathBuf) -> Result<Meta, Problem> {
        let found = match (self, &name.reported) {
            (Origin::Here(folder), _) => match folder.metadata(&name.name) {
                Err(Errno::ENOENT) if folder.leads_nowhere(&name.name) => return Err(leads_nowhere(&path())),
                found => found,
            },
            (Origin::There(_), Some(reported)) => reported.meta,
            (Origin::There(folder), None) => folder.look_at(&name.name, &path())?.meta,
        };
        found.map_err(|errno| Problem::system(Operation::LookAt, &path(), errno.0))
    }

    /// Looks at the name whatever a listing reported.
    pub(crate) fn look_again(&self, name: &Name, path: impl Fn() -> PathBuf) -> Result<Meta, Problem> {
        let found = self.metadata_if_exists(&name.name, &path)?;
        found.ok_or_else(|| Problem::system(Operation::LookAt, &path(), Errno::ENOENT.0))
    }

    /// When a name changed at the latest, as far as that costs no request: by the time of its attributes, of a link that
    /// is followed by that of the link, too. A folder that was walked has the earliest of all times, since that it is
    /// another one shows when it is looked at itself; any other folder has the latest. `None` where it cannot be known:
    /// on FUSE and the like that may be the time which the content was given.
    pub(crate) fn changed_ns(&self, name: &Name, was_walked: impl Fn() -> bool) -> Option<i128> {
        let (meta, link_ns) = match self {
            Origin::Here(folder) => {
                let own = names::metadata(&folder.file, folder.own(&name.name)).ok()?;
                if !kind::keeps_times(disk::magic(&folder.file)) {
                    return None;
                }
                match own.kind {
                    FileKind::Symlink => (folder.metadata(&name.name).ok()?, own.ctime_ns),
                    _ => (own, i128::MIN),
                }
            }
            Origin::There(_) => (name.reported.as_ref()?.meta.ok()?, i128::MIN),
        };
        let of_folder = || if was_walked() { i128::MIN } else { i128::MAX };
        Some(link_ns.max(if meta.kind == FileKind::Folder { of_folder() } else { meta.ctime_ns }))
    }

    /// Metadata of a name in the source that may not exist: `None`.
    pub(crate) fn metadata_if_exists(
        &self,
        name: &OsStr,
        path: impl Fn() -> PathBuf,
    ) -> Result<Option<Meta>, Problem> {
        let found = match self {
            Origin::Here(folder) => match folder.metadata(name) {
                Err(Errno::ENOENT) if folder.leads_nowhere(name) => return Err(leads_nowhere(&path())),
                found => found,
            },
            Origin::There(folder) => folder.look_at(name, &path())?.meta,
        };
        match found {
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(Problem::system(Operation::LookAt, &path(), errno.0)),
            Ok(meta) => Ok(Some(meta)),
        }
    }

    /// Whether it has a name; `None` where nobody can tell.
    pub(crate) fn has(&self, name: &OsStr, path: impl Fn() -> PathBuf) -> Option<bool> {
        self.metadata_if_exists(name, path).ok().map(|found| found.is_some())
    }

    /// Whether a name is that of a file that a pump uses or can resume, or of a list.
    pub(crate) fn is_pumps(&self, name: &OsStr, path: impl Fn() -> PathBuf) -> Result<bool, Problem> {
        match self {
            Origin::Here(folder) => {
                Ok(datapump_files::commit::partial::is_pumps_in(&folder.file, folder.own(name)))
            }
            Origin::There(folder) => Ok(folder.look_at(name, &path())?.is_partial),
        }
    }

    /// The entry of a name of another host: as the listing reported it, or else by a request.
    fn remote_entry(folder: &dyn RemoteOrigin, name: &Name, path: &Path) -> Result<ListedEntry, Problem> {
        match &name.reported {
            Some(reported) => Ok((**reported).clone()),
            None => folder.look_at(&name.name, path),
        }
    }

    /// What a symbolic link points to.
    pub(crate) fn read_symlink(&self, name: &Name, path: &Path) -> Result<OsString, Problem> {
        match self {
            Origin::Here(folder) => system(Operation::ReadLink, path, folder.read_symlink(&name.name)),
            Origin::There(folder) => {
                let reported = Origin::remote_entry(&**folder, name, path)?;
                reported.points_to.ok_or_else(|| {
                    Problem::new(Class::Changed, Operation::ReadLink, path, "is no link any more")
                })
            }
        }
    }

    /// Opens a regular file to read it, and looks at what is open. A small one at another host is opened with its
    /// only request.
    pub(crate) fn open_file(
        &self,
        name: &Name,
        path: &Path,
        small: SmallRead,
        stop: &AtomicBool,
    ) -> Result<(Held, Meta), Problem> {
        match self {
            Origin::Here(folder) => {
                let file = system(Operation::Open, path, folder.open_source(&name.name))?;
                let handle = Handle::Os(file);
                let meta = handle.meta().and_then(|meta| mapped::believed(&handle, meta, stop));
                let meta = folder.opened(&name.name, system(Operation::Open, path, meta)?);
                Ok((Held::Here(Arc::new(handle)), meta))
            }
            Origin::There(folder) => {
                let meta = self.metadata(name, || path.to_path_buf()).map_err(Problem::vanished)?;
                Arc::clone(folder).open_file(name, &meta, path, small)
            }
        }
    }

    /// The folder of a name, to see later whether it still means the same file there.
    pub(crate) fn folder_of(&self, name: &OsStr) -> Option<Folder> {
        match self {
            // A name that leads to a file elsewhere is no name of that file.
            Origin::Here(folder) if folder.follow == FollowLinks::Never && !folder.follows(name) => {
                Some(Folder::Os(Arc::clone(&folder.file)))
            }
            Origin::Here(_) | Origin::There(_) => None,
        }
    }

    /// Gives a name at the target, or what is open there, the attributes of a name.
    pub(crate) fn copy_attributes(
        &self,
        name: &Name,
        path: &Path,
        meta: &Meta,
        to: AttributeHolder<'_>,
        keep: Keep,
        new: New<'_>,
    ) -> Result<Result<Lost, Errno>, Problem> {
        Ok(match self {
            Origin::Here(folder) => {
                let held = system(Operation::Open, path, folder.hold_the(&name.name, meta));
                let held = held.map_err(Problem::vanished)?.ok_or_else(|| replaced(path))?;
                attributes::copy(AttributeHolder::Held(&held), meta, to, keep, new)
            }
            Origin::There(_) if !(keep.acl || keep.xattrs) => {
                attributes::copy(AttributeHolder::Told(&Attributes::new()), meta, to, keep, new)
            }
            Origin::There(folder) if meta.kind == FileKind::Regular => {
                let reported = Arc::clone(folder).attributes_of_file(&name.name, path)?;
                attributes::copy(AttributeHolder::Told(&reported), meta, to, keep, new)
            }
            Origin::There(folder) => {
                let reported = Origin::remote_entry(&**folder, name, path)?;
                attributes::copy(
                    AttributeHolder::Told(&reported.attributes.unwrap_or_default()),
                    meta,
                    to,
                    keep,
                    new,
                )
            }
        })
    }

    /// The folder's own attributes.
    pub(crate) fn bearer(&self) -> AttributeHolder<'_> {
        match self {
            Origin::Here(folder) => AttributeHolder::Open(&folder.file),
            Origin::There(folder) => AttributeHolder::Told(&folder.facts().attributes),
        }
    }

    /// Whether a name's extended attributes or access control lists differ from those at the target, or cannot be
    /// told; `None` if the other host is too old to tell them.
    pub(crate) fn hidden_attributes_differ(&self, name: &Name, to: &File, keep: Keep) -> Option<bool> {
        let folder = match self {
            Origin::Here(folder) => {
                let differ = match folder.followed(&name.name) {
                    Ok(Some(_)) if !keep.acl && !keep.xattrs => Ok(false),
                    Ok(Some(held)) => {
                        let held = AttributeHolder::Held(&held);
                        attributes::hidden_of_told_differ(held, to, &name.name, keep)
                    }
                    Ok(None) => attributes::hidden_of_names_differ(&folder.file, to, &name.name, keep),
                    Err(errno) => Err(errno),
                };
                return Some(differ.unwrap_or(true));
            }
            Origin::There(_) if !keep.acl && !keep.xattrs => return Some(false),
            Origin::There(folder) => folder,
        };
        let listed = name.reported.as_ref().and_then(|reported| reported.attributes.as_ref());
        let differ = |reported: &Attributes| {
            attributes::hidden_of_told_differ(AttributeHolder::Told(reported), to, &name.name, keep)
                .unwrap_or(true)
        };
        match listed {
            Some(reported) => Some(differ(reported)),
            None => match folder.attributes_of(&name.name, Path::new(&name.name)) {
                Ok(reported) => reported.as_ref().map(differ),
                // It is taken for different: then it is opened, and the error is told.
                Err(_) => Some(true),
            },
        }
    }

    /// The name with those of its attributes that are kept. Another host is asked once where the listing did not tell.
    pub(crate) fn with_attributes(&self, name: &Name, keep: Keep) -> Name {
        let is_reported = |reported: &ListedEntry| reported.attributes.is_some();
        let Origin::There(folder) = self else { return name.clone() };
        if !(keep.acl || keep.xattrs) || name.reported.as_deref().is_some_and(is_reported) {
            return name.clone();
        }
        match (name.reported.clone(), folder.attributes_of(&name.name, Path::new(&name.name))) {
            (Some(reported), Ok(attributes)) => {
                Name { reported: Some(Box::new(ListedEntry { attributes, ..*reported })), ..name.clone() }
            }
            (reported, _) => Name { reported, ..name.clone() },
        }
    }

    /// Whether its file comes in one stream, and not a second time.
    pub(crate) fn is_read_once(&self) -> bool {
        matches!(self, Origin::There(folder) if folder.is_read_once())
    }

    /// `statfs(2)` type of its file system; 0 for that of another host.
    pub(crate) fn magic(&self) -> u64 {
        match self {
            Origin::Here(folder) => disk::magic(&folder.file),
            Origin::There(_) => 0,
        }
    }

    /// Whether the kernel makes the files up as they are read.
    pub(crate) fn is_made_up(&self) -> bool {
        match self {
            Origin::Here(folder) => disk::folder_is_made_up(&folder.file),
            Origin::There(folder) => folder.facts().made_up,
        }
    }
}
