//! A target that lies in its source would be copied into itself, without an end, unless the copy does not go there: a
//! name on the way is excluded or on no list, or lies on another file system that is left out. And a target that is its
//! source, or another source of the same copy.
//!
//! Must not know: how a tree is walked, how patterns match.

pub(super) mod in_trees;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{FOLLOW_INSTEAD, Hosts, Item, Target, own_name, usage};
use crate::job::options::Options;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::target::place::Place;
use crate::tree::rules::select::Select;
use datapump_files::disk::{Disk, FileKind, FoldersAbove, Meta, PathAt, WayStep, metadata_of_name, way};
use datapump_files::followed::leads_out;

/// The words about a link that `--safe-links` does not let through.
pub(crate) const UNSAFE_LINK: &str =
    "is a symbolic link that leads out of its folder; leave out the link, or --safe-links";
const RENAME: &str = "copy the sources one by one to other names";
const REMOVE_OR_RENAME: &str = "remove the link, or copy the sources one by one to other names";
const REMOVE_LINK: &str =
    "choose another name for the copy, or remove the link first to have the copy in its place";

pub(super) fn refuse_into_itself(
    disk: &Disk,
    (source, above, target): (&Path, &Path, &PathAt),
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    let meta = disk.metadata(source).map_err(|errno| Problem::system(Operation::Open, source, errno.0))?;
    if !comes_by((&meta, above), (target, true), (options, select)) {
        return Ok(());
    }
    let from = shown_path(source);
    let words = format!("is the source '{from}' or lies in it; choose a place outside, or exclude it");
    Err(usage(&target.path, &words))
}

/// Whether a copy of this folder deals with what stands at the target.
fn comes_by(
    (source, above): (&Meta, &Path),
    (target, is_folder): (&PathAt, bool),
    (options, select): (&Options, &Select),
) -> bool {
    let may_pass = |step: &WayStep| !options.one_file_system || step.device == source.device;
    way((source.device, source.inode), target)
        .is_some_and(|steps| steps.iter().all(may_pass) && is_dealt_with((select, above), &steps, is_folder))
}

/// A source that standard output appends to would grow for ever.
fn refuse_own_output(source: &Place, meta: Option<&Meta>) -> Result<(), Problem> {
    let id = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino, stat.st_mode);
    let regular = |mode: u32| rustix::fs::FileType::from_raw_mode(mode).is_file();
    let Some((device, inode, mode)) = rustix::fs::fstat(std::io::stdout()).ok().map(id) else {
        return Ok(());
    };
    let source_id = match (source, meta) {
        (Place::Stream, _) => {
            rustix::fs::fstat(std::io::stdin()).ok().map(id).map(|(device, inode, _)| (device, inode))
        }
        (_, Some(meta)) => Some((meta.device, meta.inode)),
        (_, None) => None,
    };
    match regular(mode) && source_id == Some((device, inode)) {
        true => Err(Problem::usage(format!("standard output is the same file as the source '{source}'"))),
        false => Ok(()),
    }
}

/// A source that is its target. `named` is the target before links are followed.
pub(super) fn refuse_same_file(
    (source, meta): (&Place, Option<&Meta>),
    target: &Target,
    named: impl FnOnce() -> Option<PathAt>,
) -> Result<(), Problem> {
    if matches!(target, Target::Stream) {
        return refuse_own_output(source, meta);
    }
    let (Place::Path(source), Some(meta)) = (source, meta) else { return Ok(()) };
    let (Target::File(at) | Target::Device(at) | Target::Entry(at)) = target else { return Ok(()) };
    let is_same = |existing: Meta| {
        let same_file = (existing.device, existing.inode) == (meta.device, meta.inode);
        let same_device = meta.kind == FileKind::BlockDevice
            && existing.kind == meta.kind
            && existing.special_device == meta.special_device;
        same_file || same_device
    };
    // A link that stays one is the name itself.
    if [at.metadata(), at.metadata_of_name()].into_iter().flatten().any(is_same) {
        return Err(same_file((source, meta), at, named()));
    }
    if meta.kind != FileKind::Symlink {
        return Ok(());
    }
    let led_to = Disk::Os.metadata(source).ok().map(|to| (to.device, to.inode));
    let points_to = std::fs::read_link(source).ok();
    refuse_lost_content(at, source, (led_to, points_to.as_deref().map(Path::as_os_str)))
}

/// Says which of the two is a link to the other. A link that stays one is no name of what it leads to.
fn same_file((source, meta): (&Path, &Meta), at: &PathAt, named: Option<PathAt>) -> Problem {
    let follows = meta.kind != FileKind::Symlink;
    let id = |meta: Meta| (meta.device, meta.inode);
    let from = metadata_of_name(source).ok().filter(|from| follows && from.kind == FileKind::Symlink);
    let link = named.filter(|named| follows && named.is_symlink());
    let there = link.as_ref().and_then(|link| link.metadata_of_name().ok());
    let is_one_name = there.is_some() && from.map(id) == there.map(id);
    let shown = shown_path(source);
    match (link, from) {
        _ if is_one_name => usage(&at.path, &format!("is the same file as the source '{shown}'")),
        (Some(link), None) => {
            let words = format!("is a symbolic link that leads to the source '{shown}'; {REMOVE_LINK}");
            usage(&link.path, &words)
        }
        (Some(link), Some(_)) => {
            let words = format!("is a symbolic link that leads to what the source '{shown}' leads to, too");
            // The source may lead through this very link, and to nothing without it.
            usage(&link.path, &format!("{words}; choose another name for the copy"))
        }
        (None, Some(_)) => usage(
            &at.path,
            &format!("is what the source '{shown}' leads to; choose another name for the copy"),
        ),
        (None, None) => usage(&at.path, &format!("is the same file as the source '{shown}'")),
    }
}

/// A link must not replace what it leads to, nor lead to itself where it goes: the content there would be gone.
fn refuse_lost_content(
    at: &PathAt,
    source: &Path,
    (led_to, points_to): (Option<(u64, u64)>, Option<&OsStr>),
) -> Result<(), Problem> {
    let shown = shown_path(source);
    let there = at.metadata_of_name().ok().map(|there| (there.device, there.inode));
    let why = if there.is_some() && there == led_to {
        format!("is what the source '{shown}' leads to")
    } else if points_to.is_some_and(|to| at.would_lead_to_itself(to)) {
        format!("would become a symbolic link to itself: from here the source '{shown}' leads to this name")
    } else {
        return Ok(());
    };
    Err(usage(&at.path, &format!("{why}; {FOLLOW_INSTEAD}")))
}

/// The same of a link of another host that stays one: that host may be this one. And one that `--safe-links` leaves out
/// is not made.
pub(super) fn refuse_remote_link(
    hosts: &Hosts<'_>,
    (number, source): (u32, &Place),
    (meta, target): (Option<&Meta>, &Target),
    options: &Options,
) -> Result<(), Problem> {
    let (Place::Remote(remote), Some(remote_host)) = (source, hosts.remote_host) else { return Ok(()) };
    let (Target::Entry(at), Some(meta)) = (target, meta) else { return Ok(()) };
    let there = at.metadata_of_name().ok().map(|there| (there.device, there.inode));
    if there.is_none() && !options.safe_links {
        return Ok(());
    }
    if remote_host.is_here && there == Some((meta.device, meta.inode)) {
        let words = format!("is the same file as the source '{}'", shown_path(&remote.path));
        return Err(usage(&at.path, &words));
    }
    let points_to = remote_host.link_target(number, &remote.path)?;
    if options.safe_links && points_to.as_deref().is_some_and(|to| leads_out(0, to)) {
        return Err(Problem::new(Class::Usage, Operation::Copy, &remote.path, UNSAFE_LINK));
    }
    if there.is_none() {
        return Ok(());
    }
    let led_to = remote_host.link_target_id(number, &remote.path)?;
    refuse_lost_content(at, &remote.path, (led_to, points_to.as_deref()))
}

/// Whether every name on the way is one that the copy deals with; the last is the target's own.
pub(super) fn is_dealt_with((select, above): (&Select, &Path), steps: &[WayStep], is_folder: bool) -> bool {
    let mut folder = PathBuf::new();
    steps.iter().enumerate().all(|(index, WayStep { name, .. })| {
        let is_folder = is_folder || index + 1 < steps.len();
        let is_dealt_with = select.deals_with((above, &folder), (name, is_folder));
        folder.push(name);
        is_dealt_with
    })
}

/// No target may be another source of the copy, which a symbolic link under the target's name may lead to.
pub(super) fn refuse_other_sources(
    items: &[Item],
    folder: Option<&PathAt>,
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    // Several files have a folder as their target.
    let Some(folder) = folder.filter(|_| items.len() > 1) else { return Ok(()) };
    let sources = LocalSources::new(items);
    for item in items.iter().filter(|item| !item.is_left_out) {
        let Some(name) = own_name(&item.source) else { continue };
        let named = folder.path.join(name);
        if let Some(words) = sources.written_over(item, &named, (options, select)) {
            return Err(usage(&named, &words));
        }
    }
    Ok(())
}

/// The sources on this host, by what tells them apart.
struct LocalSources<'items> {
    files: HashMap<(bool, u64, u64), &'items Item>,
    folders: HashMap<(bool, u64, u64), &'items Item>,
}

impl<'items> LocalSources<'items> {
    fn new(items: &'items [Item]) -> LocalSources<'items> {
        let mut sources = LocalSources { files: HashMap::new(), folders: HashMap::new() };
        for item in items {
            let (Some(path), Some(meta)) = (item.source.local_path(), &item.meta) else { continue };
            let known = match meta.kind {
                // A link that stays one holds nothing that is read.
                FileKind::Symlink => continue,
                FileKind::Folder => &mut sources.folders,
                _ => &mut sources.files,
            };
            // Of several hard links the one that is led to matters: it may be the name that is replaced.
            let is_known = known.contains_key(&source_id(meta));
            if !is_known || path.is_symlink() {
                known.insert(source_id(meta), item);
            }
        }
        sources
    }

    /// Why an item may not be copied: it would write over another source.
    fn written_over(&self, item: &Item, named: &Path, job: (&Options, &Select)) -> Option<String> {
        let (Target::File(at) | Target::Device(at) | Target::Entry(at)) = &item.target else { return None };
        let there = if item.is_entry() { at.metadata_of_name() } else { at.metadata() }.ok()?;
        let is_device = matches!(item.target, Target::Device(_));
        // A file's target is behind the links, and has their path.
        let is_led = at.path != named || (is_device && at.is_symlink());
        match self.files.get(&source_id(&there)).filter(|other| other.number != item.number) {
            Some(other) if is_led => Some(led_to_source(other)),
            Some(other) => same_as_source(other, &there, (is_device, job.0.inplace)),
            None if is_led => self.around(at, job).map(|source| {
                let shown = &source.source;
                format!("is a symbolic link that leads into the source '{shown}'; {REMOVE_OR_RENAME}")
            }),
            None => None,
        }
    }

    /// The source folder that a target lies in, if the copy of that folder deals with it.
    fn around(&self, at: &PathAt, job: (&Options, &Select)) -> Option<&'items Item> {
        if self.folders.is_empty() {
            return None;
        }
        let comes_by = |item: &Item, meta: &Meta| comes_by((meta, &item.patterns_above), (at, false), job);
        let deals = |item: &&Item| item.meta.is_some_and(|meta| comes_by(item, &meta));
        let around = |(device, inode): (u64, u64)| self.folders.get(&(false, device, inode)).copied();
        FoldersAbove::from_path_at(at).ids().filter_map(around).find(deals)
    }
}

/// A block device is one whatever node it has.
fn source_id(meta: &Meta) -> (bool, u64, u64) {
    match meta.kind {
        FileKind::BlockDevice => (true, meta.special_device, 0),
        _ => (false, meta.device, meta.inode),
    }
}

/// A source that is a link may lead through this very link, and to nothing without it.
fn led_to_source(other: &Item) -> String {
    let shown = &other.source;
    match other.source.local_path().is_some_and(Path::is_symlink) {
        true => format!("is a symbolic link that leads to what the source '{shown}' leads to, too; {RENAME}"),
        false => format!("is a symbolic link that leads to the source '{shown}'; {REMOVE_OR_RENAME}"),
    }
}

/// A hard link of a source is only replaced by the copy, and the source keeps its content, unless this name is the one
/// that the source leads to.
fn same_as_source(other: &Item, there: &Meta, (is_device, is_inplace): (bool, bool)) -> Option<String> {
    let shown = &other.source;
    let leads_here = || other.source.local_path().is_some_and(Path::is_symlink);
    if is_device {
        return Some(format!("is the same device as the source '{shown}'; {RENAME}"));
    }
    if there.links < 2 || leads_here() {
        return Some(format!("is what the source '{shown}' leads to; {RENAME}"));
    }
    let words = || {
        let why = format!("is the same file as the source '{shown}', and --inplace would write into it");
        format!("{why}; leave out --inplace, or {RENAME}")
    };
    is_inplace.then(words)
}
