//! What the sources and targets of one command mean for temporary names: which single files are partial and left out,
//! what lies beside a source, and which targets would get in each other's way.
//!
//! Must not know: how files are copied, trees.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use datapump_engine::Errno;

use crate::job::options::Options;
use crate::problem::{Class, Operation, Problem};
use crate::target::place::Place;
use crate::target::{Hosts, Item, Target};
use datapump_files::commit::partial;
use datapump_files::commit::reserved;
use datapump_files::commit::temporary::Siblings;
use datapump_files::disk::{self, Meta, PathAt, folder_of, names};

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
    fn has(&self, name: &OsStr, there: &Meta) -> Option<bool> {
        match self.folder {
            SourceFolder::Of(path) => match disk::metadata_of_name(&path.with_file_name(name)) {
                // It is copied within one folder.
                Ok(meta) if (meta.device, meta.inode) == (there.device, there.inode) => None,
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

/// Names of the job's targets that are temporary names of other targets, or may be of what lies in them: both would be
/// written at the same time.
pub(crate) fn refuse_clashes(items: &[Item], options: &Options) -> Result<(), Problem> {
    if options.remove_sources && overlap(items) {
        return Err(Problem::usage(
            "two sources may have a file of one name for the target, and --remove-source-files would remove both: copy \
             them one by one",
        ));
    }
    if !items.iter().filter_map(named).any(|(_, name)| reserved::may_be_temporary(name)) {
        return Ok(());
    }
    let taken = TakenNames::of(items);
    match items.iter().filter_map(named).find(|target| taken.clash_with(*target)) {
        None => Ok(()),
        Some((at, _)) => {
            let words =
                "could be the name of a temporary file of another of the sources; copy them one by one";
            Err(Problem::new(Class::Usage, Operation::Copy, &at.path, words))
        }
    }
}

/// What the targets of a command may take beside them, and in them.
struct TakenNames<'items> {
    trees: HashSet<&'items Path>,
    /// The folder of each, and a temporary name.
    temporary: HashSet<(&'items Path, OsString)>,
}

impl<'items> TakenNames<'items> {
    fn of(items: &'items [Item]) -> TakenNames<'items> {
        let trees = items.iter().filter(|item| item.is_tree()).filter_map(named);
        let temporary = |(at, name): (&'items PathAt, &OsStr)| {
            let folder = folder_of(&at.path);
            reserved::names_of(name).map(move |temporary| (folder, temporary)).collect::<Vec<_>>()
        };
        TakenNames {
            trees: trees.map(|(at, _)| &*at.path).collect(),
            temporary: items.iter().filter_map(named).flat_map(temporary).collect(),
        }
    }

    fn clash_with(&self, (at, name): (&PathAt, &OsStr)) -> bool {
        if !reserved::may_be_temporary(name) {
            return false;
        }
        let name = name.to_ascii_lowercase();
        let temporary = reserved::temporary_of(&name).unwrap_or(&name).to_owned();
        let is_in_tree = at.path.ancestors().skip(1).any(|above| self.trees.contains(above));
        is_in_tree || self.temporary.contains(&(folder_of(&at.path), temporary))
    }
}

fn named(item: &Item) -> Option<(&PathAt, &OsStr)> {
    match &item.target {
        Target::File(at) | Target::Tree(at) => Some((at, at.path.file_name()?)),
        _ => None,
    }
}

/// Whether the target of one source lies in that of another: then what stands there may be of either.
pub(crate) fn overlap(items: &[Item]) -> bool {
    let trees: HashSet<&Path> = items.iter().filter(|item| item.is_tree()).filter_map(target_path).collect();
    let is_in_one = |path: &Path| path.ancestors().skip(1).any(|above| trees.contains(above));
    !trees.is_empty() && items.iter().filter_map(target_path).any(is_in_one)
}

/// Where a file, a tree or a link goes.
pub(crate) fn target_path(item: &Item) -> Option<&Path> {
    match &item.target {
        Target::File(at) | Target::Tree(at) | Target::Entry(at) => Some(&at.path),
        _ => None,
    }
}
