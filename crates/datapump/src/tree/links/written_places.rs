//! Where the sources of a job go, looked up by the folder that a name stands in: folders by device and inode, whatever
//! path leads there.
//!
//! Must not know: what is written there, how links are followed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::job::options::Options;
use crate::target::{Item, Target};
use datapump_files::disk::{Folder, file_meta};
use datapump_files::followed::FollowLinks;
use datapump_files::identity::{FileId, id};

/// Where the sources of a job go. Empty where no link is followed.
#[derive(Debug, Default)]
pub(crate) struct WrittenPlaces {
    pub(crate) folders: HashMap<FileId, WrittenFolder>,
}

/// A folder that is a target, or holds some.
#[derive(Debug, Default)]
pub(crate) struct WrittenFolder {
    pub(crate) itself: Vec<WrittenBy>,
    pub(crate) names: HashMap<OsString, Vec<WrittenBy>>,
}

/// The source of a place.
#[derive(Debug)]
pub(crate) enum WrittenBy {
    /// A file, or an entry.
    One,
    /// The folder at this path, and what paths begin with that patterns are matched against.
    Tree { source: PathBuf, patterns_above: PathBuf },
}

impl WrittenPlaces {
    /// The places of these items.
    pub(crate) fn of(items: &[Item], options: &Options) -> WrittenPlaces {
        let mut places = WrittenPlaces::default();
        let follows = options.follow != FollowLinks::Never;
        for item in items.iter().filter(|item| follows && !item.is_left_out) {
            let (Target::File(at) | Target::Tree(at) | Target::Entry(at)) = &item.target else { continue };
            let Ok(Folder::Os(folder)) = at.folder() else { continue };
            let Ok(meta) = file_meta(folder) else { continue };
            let tree = item.source.local_path().filter(|_| item.is_tree());
            let by = tree.map_or(WrittenBy::One, |path| WrittenBy::Tree {
                source: path.to_path_buf(),
                patterns_above: item.patterns_above.clone(),
            });
            let folder = places.folders.entry(id(&meta)).or_default();
            match at.name() {
                Some(name) => folder.names.entry(name.to_owned()).or_default().push(by),
                None => folder.itself.push(by),
            }
        }
        places
    }

    /// Whether a name of a folder is one that is written.
    pub(crate) fn has(&self, folder: FileId, name: &OsStr) -> bool {
        self.folders.get(&folder).is_some_and(|folder| folder.names.contains_key(name))
    }
}
