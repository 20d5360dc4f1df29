//! What the sources and targets of one command mean for temporary names: which single files are partial and left out,
//! what lies beside a source, and which targets would get in each other's way.
//!
//! Must not know: how files are copied, trees.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use datapump_engine::Errno;

use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::targets::hosts::Hosts;
use crate::targets::item::{Item, Target};
use datapump_files::commit::partial;
use datapump_files::commit::reserved;
use datapump_files::commit::temporary::Siblings;
use datapump_files::disk::{self, Meta, folder_of, names};

/// What lies beside a single file that is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleFile<'item> {
    folder: SourceFolder<'item>,
    source: Option<Meta>,
}

#[derive(Clone, Copy, Debug)]
enum SourceFolder<'item> {
    /// The folder of this path.
    Of(&'item Path),
    /// It lies on another host.
    Unknown,
    /// It is no file.
    Nothing,
}

impl<'item> SingleFile<'item> {
    /// The neighbours of a file that is copied alone, by its source place.
    pub(crate) fn new(source: &'item Place, meta: Option<Meta>, is_simulated: bool) -> SingleFile<'item> {
        let folder = match source {
            Place::Path(path) if !is_simulated => SourceFolder::Of(path),
            Place::Remote(_) => SourceFolder::Unknown,
            _ => SourceFolder::Nothing,
        };
        SingleFile { folder, source: meta }
    }
}

impl Siblings for SingleFile<'_> {
    fn source_has(&self, name: &OsStr, existing: &Meta) -> Option<bool> {
        match self.folder {
            SourceFolder::Of(path) => match disk::metadata_of_name(&path.with_file_name(name)) {
                // It is copied within one folder.
                Ok(meta) if (meta.device, meta.inode) == (existing.device, existing.inode) => None,
                // What cannot be looked at may be there.
                found => Some(found != Err(Errno::ENOENT)),
            },
            SourceFolder::Unknown => None,
            SourceFolder::Nothing => Some(false),
        }
    }

    fn source(&self) -> Option<&Meta> {
        self.source.as_ref()
    }

    fn is_tree(&self) -> bool {
        false
    }
}

/// Whether a source that the user named is a partial file or a list. Only what has such a name is asked for.
pub(crate) fn is_partial(hosts: &Hosts<'_>, number: u32, source: &Place) -> Result<bool, Problem> {
    let Some((path, name)) = source.path().and_then(|path| Some((path, path.file_name()?))) else {
        return Ok(false);
    };
    if !reserved::may_be_pumps(name) {
        return Ok(false);
    }
    match (source, hosts.remote_host) {
        (Place::Remote(_), Some(remote_host)) => remote_host.is_partial(number, path),
        (Place::Path(_), _) => {
            Ok(names::open_path(folder_of(path)).is_ok_and(|folder| partial::is_pumps_in(&folder, name)))
        }
        _ => Ok(false),
    }
}

/// Refuses a target whose name is a temporary name of another target: both would be written at the same time.
pub(crate) fn check_temporary_names(items: &[Item]) -> Result<(), Problem> {
    let named =
        || items.iter().filter_map(|item| Some((target_path(item)?, target_path(item)?.file_name()?)));
    let mut clashing = named().filter(|(_, name)| reserved::may_be_temporary(name)).peekable();
    if clashing.peek().is_none() {
        return Ok(());
    }
    let temporary = |(path, name): (&Path, &OsStr)| {
        let folder = folder_of(path).to_path_buf();
        reserved::names_of(name).map(move |temporary| folder.join(temporary)).collect::<Vec<_>>()
    };
    let taken: HashSet<PathBuf> = named().flat_map(temporary).collect();
    let is_taken = |(path, name): &(&Path, &OsStr)| {
        let name = name.to_ascii_lowercase();
        taken.contains(&folder_of(path).join(reserved::temporary_of(&name).unwrap_or(&name)))
    };
    match clashing.find(is_taken) {
        None => Ok(()),
        Some((path, _)) => {
            let words =
                "could be the name of a temporary file of another of the sources; copy them one by one";
            Err(Problem::new(Class::Usage, Operation::Copy, path, words))
        }
    }
}

/// Where a file or a tree goes.
fn target_path(item: &Item) -> Option<&Path> {
    match &item.target {
        Target::File(at) | Target::Tree(at) => Some(&at.path),
        _ => None,
    }
}
