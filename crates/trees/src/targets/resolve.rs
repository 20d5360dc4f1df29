//! Where one source goes: into the folder of its target, to the file behind a link, or nowhere, as nothing is written.
//!
//! Must not know: what other sources there are, how files are copied.

use std::ffi::OsStr;
use std::path::Path;

use datapump_engine::Errno;

use super::argument;
use super::hosts::Hosts;
use super::item::{Item, NULL_WANTS_SIZE, Target, own_name};
use super::stripe_refusals;
use crate::list::header::SourceRoot;
use crate::list::list_file;
use crate::place::stripe::LINK_TO_NOTHING;
use crate::place::{Place, stands_for_content};
use crate::problem::{Class, Operation, Problem};
use crate::setup::options::Options;
use datapump_files::disk::{FileKind, Folder, Meta, PathAt};

const LINK_FOR_A_FOLDER: &str = "is a symbolic link, and a folder is never copied through a link that was not named as \
                                 the target; remove it, or name what it points to";

/// Refuses folders among the sources with options that are for single files.
pub(super) fn refuse_trees(items: &[Item], options: &Options) -> Result<(), Problem> {
    if options.durability.inplace && items.iter().any(Item::is_tree) {
        return Err(Problem::usage(
            "--inplace is for single files: a file of a folder is never written where it stands; leave it out",
        ));
    }
    match items.iter().find(|item| options.measuring.rehearsal_bytes.is_some() && item.is_tree()) {
        Some(tree) => {
            let words = format!("'{}' is a folder, and only files are rehearsed", tree.source);
            Err(Problem::usage(words))
        }
        None => Ok(()),
    }
}

/// Nothing is made of what is only read.
pub(super) fn is_copied(target: &Target) -> bool {
    !matches!(target, Target::Null | Target::Compare(_))
}

/// Refuses a target that another host may not write: through a link, or into a device.
pub(super) fn refuse_leading_out(target: &Target) -> Result<(), Problem> {
    let refused = |path: &Path, words: &str| Err(Problem::new(Class::Refused, Operation::Open, path, words));
    match target {
        Target::File(at) | Target::Tree(at) if at.is_symlink() => {
            refused(&at.path, "is a symbolic link, which is not followed for another host")
        }
        Target::Special(at) | Target::Device(at) => refused(&at.path, "is no file and no folder"),
        _ => Ok(()),
    }
}

fn usage(path: &Path, message: &str) -> Problem {
    Problem::new(Class::Usage, Operation::Copy, path, message)
}

/// A target that is no folder and has to be one. Where nobody may look there may be one: nothing is to be created.
fn no_folder(found: &PathAt, path: &Path, words: &str) -> Problem {
    match found.metadata() {
        Err(Errno::EACCES) => Problem::system(Operation::LookAt, path, Errno::EACCES.0),
        _ => usage(path, words),
    }
}

/// The folder that receives the sources, if the target is one.
pub(super) fn target_folder<'at>(
    hosts: &Hosts<'_>,
    sources: &[Place],
    target: &Place,
    found: Option<&'at PathAt>,
    options: &Options,
) -> Result<Option<&'at PathAt>, Problem> {
    stripe_refusals::check_single_source(sources, target)?;
    let several = sources.len() > 1;
    let (Place::Path(path), Some(found)) = (target, found) else {
        return if several && *target == Place::Stream {
            Err(Problem::usage(
                "several sources would become one stream on standard output; copy them one by one",
            ))
        } else {
            Ok(None)
        };
    };
    let wants_folder = stands_for_content(path);
    if options.place.target_is_folder && !found.is_folder() {
        return Err(no_folder(found, path, "not a directory; create it"));
    }
    match (found.is_folder(), options.place.target_is_name, several) {
        (true, true, _) if only_folders(hosts, sources) => Ok(None),
        (true, true, _) => Err(usage(path, "is a folder, and -T says that it is the name of the copy")),
        (true, false, _) => Ok(Some(found)),
        (false, _, true) => Err(no_folder(found, path, "several sources need an existing folder as target")),
        (false, _, false) if wants_folder && only_folders(hosts, sources) => Ok(None),
        (false, _, false) if wants_folder => {
            Err(no_folder(found, path, "not a directory; create it, or drop the trailing slash"))
        }
        (false, _, false) => Ok(None),
    }
}

/// A missing source is reported by itself.
fn only_folders(hosts: &Hosts<'_>, sources: &[Place]) -> bool {
    let is_folder = |(number, source)| {
        let meta = hosts.meta(number, source);
        meta.is_some_and(|meta| meta.map_or(true, |meta| meta.kind == FileKind::Folder))
    };
    (0..).zip(sources).all(is_folder)
}

/// Metadata of a source; `None` for what has none. Refuses a source that cannot be read as a file or a folder.
pub(super) fn source_meta(
    hosts: &Hosts<'_>,
    number: u32,
    source: &Place,
    several: bool,
    options: &Options,
) -> Result<Option<Meta>, Problem> {
    if matches!(source, Place::Null { bytes: None, .. }) {
        return Err(Problem::usage(NULL_WANTS_SIZE));
    }
    if let Place::Stripe(stripe) = source {
        let stripe = stripe.source(hosts.disk)?;
        return stripe.check_devices(options.place.devices).map(|()| Some(stripe.meta()));
    }
    let Some(meta) = hosts.meta(number, source).transpose()? else { return Ok(None) };
    let path = source.path().unwrap_or(Path::new(""));
    match meta.kind {
        _ if argument::is_entry(hosts, several, source, &meta, options) => Ok(Some(meta)),
        FileKind::Fifo | FileKind::CharDevice | FileKind::BlockDevice
            if matches!(source, Place::Remote(_)) =>
        {
            Err(usage(path, "is no file and no folder; of another host only those are copied"))
        }
        FileKind::Socket => {
            Err(Problem::new(Class::Io, Operation::Open, path, "is a socket: it has no content to copy"))
        }
        FileKind::BlockDevice if !options.place.devices => {
            Err(usage(path, "is a block device; say --devices to copy its content"))
        }
        _ => Ok(Some(meta)),
    }
}

/// Resolves the target of a source that is no folder and is not dealt with as in a tree. Refuses places that cannot be written.
pub(super) fn resolve(
    hosts: &Hosts<'_>,
    source: &Place,
    meta: Option<&Meta>,
    target: &Place,
    found: Option<&PathAt>,
    folder: Option<&PathAt>,
    options: &Options,
) -> Result<Target, Problem> {
    let found = match (target, found) {
        (Place::Stream, _) => return Ok(Target::Stream),
        (Place::Path(_), Some(found)) => found,
        (Place::Stripe(stripe), _) => return stripe_refusals::stripe_target(hosts, source, stripe, options),
        (Place::Null { .. } | Place::Path(_), _) => return Ok(Target::Null),
        (Place::Remote(_), _) => {
            return Err(Problem::usage("both places are on other hosts; copy in two steps"));
        }
        (Place::Web(_), _) => {
            return Err(Problem::usage(format!("'{target}' is on the web, which is read and never written")));
        }
    };
    let at = match folder {
        None => found.clone(),
        Some(folder) if options.measuring.rehearsal_bytes.is_some() => folder.child(OsStr::new("rehearsal")),
        Some(folder) => folder.child(own_name(source).ok_or_else(|| {
            let words = "is a folder, and the source has no name of its own; write the name of the copy";
            usage(&folder.path, words)
        })?),
    };
    if link_itself_is_replaced(&at, options) {
        return Ok(Target::File(at.itself()));
    }
    match at.metadata() {
        // As in a tree it is found out when its turn comes whether that folder can go.
        Ok(existing) if existing.kind == FileKind::Folder && replaces_folder(source, meta, &at, options) => {
            Ok(Target::File(at))
        }
        Ok(meta) => resolve_existing(hosts, at, &meta, options),
        Err(errno) if at.is_symlink() => Err(unfollowed(&at.path, errno)),
        // The name of a file that is longer than 255 bytes is known to be refused before its bytes are moved.
        Err(errno) if errno == Errno::ENAMETOOLONG => {
            Err(Problem::system(Operation::Create, &at.path, errno.0))
        }
        Err(_) => Ok(Target::File(at)),
    }
}

/// Whether a folder in the place of a source is replaced, if nothing is in it: by a file of this host or another.
fn replaces_folder(source: &Place, meta: Option<&Meta>, at: &PathAt, options: &Options) -> bool {
    let is_on_host = source.local_path().is_some() || matches!(source, Place::Remote(_));
    let is_file = is_on_host && meta.is_some_and(|meta| meta.kind == FileKind::Regular);
    let is_place = options.durability.inplace || options.measuring.rehearsal_bytes.is_some();
    is_file && !is_place && at.name().is_some() && !at.is_symlink()
}

/// Whether a symbolic link in the place of a target is the backup itself, as with cp and rsync, instead of leading to
/// what is written. Names of open files stay what they are, and so does a link to a device that --devices overwrites.
fn link_itself_is_replaced(at: &PathAt, options: &Options) -> bool {
    let leads_to_device =
        || at.metadata().is_ok_and(|meta| meta.kind == FileKind::BlockDevice) && options.place.devices;
    options.backup.is_some()
        && at.follows()
        && at.name().is_some()
        && at.is_symlink()
        && !at.is_of_open_files()
        && !leads_to_device()
}

/// Whether a folder was made by an earlier run of this copy that was interrupted; a message if its list is not believed.
pub(super) fn is_resumed_in(
    hosts: &Hosts<'_>,
    folder: Option<&PathAt>,
    source: &Place,
    meta: Option<&Meta>,
    options: &Options,
) -> (bool, Option<String>) {
    let Some(Ok(Folder::Os(open))) = folder.map(PathAt::folder) else { return (false, None) };
    let root = || match (source, hosts.remote_host, meta) {
        (Place::Path(path), ..) => SourceRoot::at(path),
        (Place::Remote(_), Some(remote_host), Some(meta)) => {
            Some(SourceRoot::from_remote(&**remote_host, meta))
        }
        _ => None,
    };
    let path = folder.map_or(Path::new(""), |folder| &folder.path);
    match list_file::was_made_for(open, path, root, options) {
        Ok(goes_on) => (goes_on, None),
        Err(words) => (false, Some(words)),
    }
}

/// A symbolic link that cannot be followed: to nothing, or into a folder that is closed to this user, or in a circle.
fn unfollowed(path: &Path, errno: Errno) -> Problem {
    match errno {
        Errno::ENOENT => usage(path, LINK_TO_NOTHING),
        errno => Problem::system(Operation::Open, path, errno.0),
    }
}

/// Resolves the target of a folder's content. A folder named as `.`, or ending in `/.`, stands for its content, as with cp.
pub(super) fn resolve_tree(
    source: &Place,
    goes_on: bool,
    target: &Place,
    found: Option<&PathAt>,
    folder: Option<&PathAt>,
) -> Result<Target, Problem> {
    let (Some(from), Place::Path(_), Some(found)) = (source.path(), target, found) else {
        return Err(Problem::usage(format!(
            "'{source}' is a folder; it is copied to a folder, not to '{target}'"
        )));
    };
    let at = match (folder, own_name(source)) {
        // A killed copy to a new name: the same command goes on into it, not below it.
        (Some(folder), _) if goes_on => folder.clone(),
        (Some(folder), Some(name)) if !stands_for_content(from) => folder.child(name),
        _ => found.clone(),
    };
    match at.metadata_of_name() {
        // For another host no link is followed at all, which is told alike for files and folders.
        Ok(meta) if meta.kind == FileKind::Symlink && !at.follows() => {}
        // cp(1): "cannot overwrite non-directory with directory". Another may have put the link there.
        Ok(meta) if meta.kind == FileKind::Symlink => {
            return Err(match at.metadata() {
                Err(errno) => unfollowed(&at.path, errno),
                Ok(_) => usage(&at.path, LINK_FOR_A_FOLDER),
            });
        }
        Ok(meta) if meta.kind != FileKind::Folder => {
            let words = "is not a directory, and the source is one; remove it or choose another name";
            return Err(usage(&at.path, words));
        }
        Ok(_) => {}
        Err(errno) if errno == Errno::ENAMETOOLONG => {
            return Err(Problem::system(Operation::Make, &at.path, errno.0));
        }
        Err(_) => {}
    }
    Ok(Target::Tree(at))
}

/// The target that an existing entry is, by its kind. Refuses folders, sockets, and devices without `--devices`.
fn resolve_existing(
    hosts: &Hosts<'_>,
    at: PathAt,
    meta: &Meta,
    options: &Options,
) -> Result<Target, Problem> {
    match meta.kind {
        FileKind::Regular | FileKind::Symlink if hosts.is_confined => Ok(Target::File(at)),
        FileKind::Regular | FileKind::Symlink => file_behind_links(at, meta).map(Target::File),
        FileKind::CharDevice | FileKind::Fifo => Ok(Target::Special(at)),
        FileKind::BlockDevice if options.place.devices => Ok(Target::Device(at)),
        FileKind::BlockDevice => {
            Err(usage(&at.path, "is a block device; say --devices to overwrite what is on it"))
        }
        FileKind::Folder => Err(usage(
            &at.path,
            "is a folder; it is not replaced by a file: move it away, or choose another name",
        )),
        FileKind::Socket => Err(usage(&at.path, "is a socket and cannot be written")),
    }
}

/// The file that a symbolic link points to: the copy replaces that file, and the link stays. It must be the one that
/// the system itself was led to, which refuses some links of other users. A descriptor is refused: a rename would
/// replace the file by its name, and what is open would stay as it was.
fn file_behind_links(at: PathAt, meta: &Meta) -> Result<PathAt, Problem> {
    let path = at.path.clone();
    if let Some(number) = at.descriptor() {
        let words = format!(
            "is a descriptor of a file that is open already; name the file itself, or write - as the target and >&{} \
             behind the command",
            number.to_string_lossy()
        );
        return Err(usage(&path, &words));
    }
    let behind = at.behind_links().and_then(|at| Ok((at.metadata_of_name()?, at)));
    match behind.map_err(|errno| Problem::system(Operation::Follow, &path, errno.0))? {
        (found, at) if (found.device, found.inode) == (meta.device, meta.inode) => Ok(at),
        _ => {
            Err(Problem::new(Class::Changed, Operation::Follow, &path, "was replaced meanwhile; copy again"))
        }
    }
}
