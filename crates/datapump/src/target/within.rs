//! A target that lies in its source would be copied into itself, without an end, unless the copy does not go there: a
//! name on the way is excluded or on no list, or lies on another file system that is left out. And a target that is its
//! source.
//!
//! Must not know: how a tree is walked, how patterns match.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Hosts, Target, usage};
use crate::job::options::Options;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::target::place::Place;
use crate::tree::rules::select::{Listing, Select};
use datapump_files::disk::{Disk, FileKind, Meta, PathAt, WayStep, way};
use datapump_files::followed::leads_out;

/// The words about a link that `--safe-links` does not let through.
pub(crate) const UNSAFE_LINK: &str =
    "is a symbolic link that leads out of its folder, which --safe-links does not let through";

pub(super) fn refuse_into_itself(
    disk: &Disk,
    (source, target): (&Path, &PathAt),
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    let meta = disk.metadata(source).map_err(|errno| Problem::system(Operation::Open, source, errno.0))?;
    let is_there = |steps: &Vec<WayStep>| {
        let may_pass = |step: &WayStep| !options.one_file_system || step.device == meta.device;
        steps.iter().all(may_pass) && is_dealt_with(select, steps)
    };
    match way((meta.device, meta.inode), target).filter(is_there) {
        Some(_) => {
            let from = shown_path(source);
            let words =
                format!("is the source '{from}' or lies in it; choose a place outside, or exclude it");
            Err(usage(&target.path, &words))
        }
        None => Ok(()),
    }
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

pub(super) fn refuse_same_file(source: &Place, meta: Option<&Meta>, target: &Target) -> Result<(), Problem> {
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
        return Err(usage(&at.path, &format!("is the same file as the source '{}'", shown_path(source))));
    }
    // A link that took the place of what it leads to would lead to itself, and the content would be gone.
    let link = (meta.kind == FileKind::Symlink).then(|| std::fs::read_link(source).ok()).flatten();
    if link.is_some_and(|words| at.would_lead_to_itself(words.as_os_str())) {
        return Err(usage(&at.path, &leads_here(source)));
    }
    let led_to = (meta.kind == FileKind::Symlink).then(|| Disk::Os.metadata(source).ok()).flatten();
    let is_led_to =
        |there: Meta| led_to.is_some_and(|to| (to.device, to.inode) == (there.device, there.inode));
    if at.metadata_of_name().is_ok_and(is_led_to) {
        return Err(usage(&at.path, &leads_here(source)));
    }
    Ok(())
}

fn leads_here(source: &Path) -> String {
    format!("is what the source '{}' leads to; leave out -a, -d and --links to copy that", shown_path(source))
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
    let shown = shown_path(&remote.path);
    if let Ok(there) = at.metadata_of_name().map(|there| (there.device, there.inode)) {
        if remote_host.is_here && there == (meta.device, meta.inode) {
            return Err(usage(&at.path, &format!("is the same file as the source '{shown}'")));
        }
        // Whatever host it comes from, and whatever it leads to there: here it would lead to itself.
        let would_lead_here = |words: OsString| at.would_lead_to_itself(&words);
        if remote_host.led_to(number, &remote.path)? == Some(there)
            || remote_host.words_of_link(number, &remote.path)?.is_some_and(would_lead_here)
        {
            return Err(usage(&at.path, &leads_here(&remote.path)));
        }
    }
    let leads_out_of_folder = |words: OsString| leads_out(0, &words);
    match options.safe_links
        && remote_host.words_of_link(number, &remote.path)?.is_some_and(leads_out_of_folder)
    {
        true => Err(Problem::new(Class::Usage, Operation::Copy, &remote.path, UNSAFE_LINK)),
        false => Ok(()),
    }
}

/// Whether every name on the way is one that the copy deals with.
fn is_dealt_with(select: &Select, steps: &[WayStep]) -> bool {
    let mut folder = PathBuf::new();
    steps.iter().all(|WayStep { name, .. }| {
        let listed = match select.listing(|| &folder) {
            Listing::Folder | Listing::Both(_) => true,
            Listing::Listed(names) => names.iter().any(|listed| listed.name == *name),
        };
        let is_dealt_with = listed && select.includes(|| &folder, name, true);
        folder.push(name);
        is_dealt_with
    })
}
