//! A target that lies in its source would be copied into itself, without an end, unless the copy does not go there: a
//! name on the way is excluded or on no list, or lies on another file system that is left out.
//!
//! Must not know: how a tree is walked, how patterns match.

use std::path::{Path, PathBuf};

use super::usage;
use crate::job::options::Options;
use crate::problem::{Operation, Problem, shown_path};
use crate::tree::rules::select::{Listing, Select};
use datapump_files::disk::{Disk, PathAt, WayStep, way};

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
