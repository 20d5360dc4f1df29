//! A symbolic link that would replace the very content that it leads to: only a link to itself would be left of it.
//!
//! What the link of the source leads to counts, name by name, on this host; and what the new one would lead to at the
//! target, as far as no name on the way may be replaced by this copy, too.
//!
//! Must not know: how links are made, how what stands at the target is replaced.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Component, Path};
use std::sync::Arc;

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::folder::origin::Origin;
use datapump_files::disk::{FileKind, Meta, file_meta, names, way_up};
use datapump_files::followed::behind::{PlaceBehind, places_on};
use datapump_files::identity::{FileId, id};

const INSTEAD: &str =
    "it would be lost, and stays; copy with -L to have what the link leads to, or move it away";

/// Where a link goes: the open folder, the target of its tree, and the name with what stands there.
pub(crate) struct LinkTarget<'run> {
    pub(crate) folder: &'run Arc<File>,
    pub(crate) root: Option<FileId>,
    pub(crate) name: &'run OsStr,
    pub(crate) there: &'run Meta,
    pub(crate) path: &'run Path,
}

/// Refuses a link with these words that would be the end of what it leads to.
pub(crate) fn refuse(
    (source, source_path): (&Origin, &Path),
    points_to: &OsStr,
    to: &LinkTarget<'_>,
) -> Result<(), Problem> {
    if to.there.kind == FileKind::Symlink
        && names::read_symlink(to.folder, to.name).as_deref() == Ok(points_to)
    {
        return Ok(());
    }
    let shown = shown_path(source_path);
    let why = if to.is_content_of(source, points_to) {
        format!("is what the symbolic link '{shown}' leads to")
    } else if to.would_lead_to_itself(points_to) {
        format!("would become a symbolic link to itself: from here '{shown}' leads to this name")
    } else {
        return Ok(());
    };
    Err(Problem::new(Class::Io, Operation::Replace, to.path, format!("{why}; {INSTEAD}")))
}

impl LinkTarget<'_> {
    /// Whether the link of the source leads there. Of another host nobody says.
    fn is_content_of(&self, source: &Origin, points_to: &OsStr) -> bool {
        match source {
            Origin::Here(folder) => {
                places_on(&folder.file, points_to).iter().any(|place| self.goes_with(place))
            }
            Origin::There(_) => false,
        }
    }

    /// What stands there, or lies in the folder that does. A file that has other names stays under those.
    fn goes_with(&self, place: &PlaceBehind) -> bool {
        let own = id(self.there);
        if self.there.kind == FileKind::Folder {
            return id(&place.meta) == own || way_up(&place.folder).iter().any(|up| up.id == own);
        }
        id(&place.meta) == own && (self.there.links < 2 || self.is_name_of(place))
    }

    fn is_name_of(&self, place: &PlaceBehind) -> bool {
        let [one, other] = [&place.folder, self.folder].map(|folder| file_meta(folder).ok());
        let is_one_folder = one.zip(other).is_none_or(|(one, other)| id(&one) == id(&other));
        is_one_folder && place.name.as_deref() == Some(self.name)
    }

    /// A link on the way that lies in the target may lead elsewhere when this copy is done, and one that stands there
    /// now is no content.
    fn would_lead_to_itself(&self, points_to: &OsStr) -> bool {
        let may_change = |place: &PlaceBehind| {
            place.meta.kind == FileKind::Symlink
                && way_up(&place.folder).iter().any(|up| Some(up.id) == self.root)
        };
        // In the source it is one to itself, too: `c -> c`.
        let parts = Path::new(points_to).components().filter(|part| *part != Component::CurDir);
        if self.there.kind == FileKind::Symlink || parts.eq([Component::Normal(self.name)]) {
            return false;
        }
        let places = places_on(self.folder, points_to);
        places.iter().take_while(|place| !may_change(place)).any(|place| self.goes_with(place))
    }
}
