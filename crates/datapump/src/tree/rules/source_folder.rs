//! A folder of a source, as the rules of a copy have it: which of its names are dealt with, and what lies on a way down
//! from it.
//!
//! Must not know: what is copied or removed, where that lies at the target.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use crate::setup::options::Options;
use datapump_core::selection::Select;
use datapump_files::disk::{FileKind, Meta, Outcome, file_meta};
use datapump_files::followed::OriginFolder;

/// A folder of a source.
#[derive(Clone)]
pub(crate) struct RuledFolder<'job> {
    pub(crate) folder: OriginFolder,
    /// Its path from the root of the source.
    path: PathBuf,
    /// What paths of patterns begin with.
    above: &'job Path,
    /// That of the root.
    device: u64,
    job: (&'job Options, &'job Select),
}

/// What a source has on a way down.
pub(crate) enum Descent<'job> {
    /// What the last name is, and the folder that it stands in.
    Found(Meta, Box<RuledFolder<'job>>),
    /// The copy has no such name, from this one of the way on: no file holds one, either.
    Missing(usize),
    /// The way leads into another file system, which is neither copied nor removed from.
    LeftAlone,
    /// It cannot be looked at.
    Unknown,
}

impl<'job> RuledFolder<'job> {
    /// The root of a source.
    pub(crate) fn root(
        file: File,
        above: &'job Path,
        job: (&'job Options, &'job Select),
    ) -> Outcome<RuledFolder<'job>> {
        let device = file_meta(&file)?.device;
        let folder = OriginFolder { follow: job.0.links.follow, ..OriginFolder::from_file(Arc::new(file)) };
        Ok(RuledFolder { folder, path: PathBuf::new(), above, device, job })
    }

    /// What a name is, if the copy deals with it: of a link that is followed, what it leads to.
    ///
    /// Errors: it cannot be looked at, or is such a link and leads nowhere.
    pub(crate) fn find(&self, name: &OsStr) -> Outcome<Option<Meta>> {
        let deals = |is_folder| self.job.1.deals_with((self.above, &self.path), (name, is_folder));
        match self.folder.metadata(name) {
            Ok(meta) => Ok(Some(meta).filter(|meta| deals(meta.kind == FileKind::Folder))),
            Err(Errno::ENOENT) if !self.folder.leads_nowhere(name) => Ok(None),
            Err(errno) if deals(true) || deals(false) => Err(errno),
            Err(_) => Ok(None),
        }
    }

    /// A folder in it.
    pub(crate) fn below(&self, name: &OsStr) -> Outcome<RuledFolder<'job>> {
        let file = Arc::new(self.folder.open_folder(name)?);
        let folder = OriginFolder { file, depth: self.folder.depth + 1, ..self.folder.clone() };
        Ok(RuledFolder { folder, path: self.path.join(name), ..self.clone() })
    }

    /// Whether a folder that was found is copied without what lies in it.
    pub(crate) fn is_left_alone(&self, meta: &Meta) -> bool {
        self.job.0.selection.one_file_system && meta.device != self.device
    }

    /// What lies on a way of names from here.
    pub(crate) fn descend<'name>(self, names: impl Iterator<Item = &'name OsStr>) -> Descent<'job> {
        let (mut here, mut names) = (self, names.enumerate().peekable());
        while let Some((index, name)) = names.next() {
            let meta = match here.find(name) {
                Ok(Some(meta)) => meta,
                Ok(None) => return Descent::Missing(index),
                Err(_) => return Descent::Unknown,
            };
            if names.peek().is_none() {
                return Descent::Found(meta, Box::new(here));
            } else if meta.kind != FileKind::Folder {
                return Descent::Missing(index + 1);
            } else if here.is_left_alone(&meta) {
                return Descent::LeftAlone;
            }
            let Ok(below) = here.below(name) else { return Descent::Unknown };
            here = below;
        }
        Descent::Missing(0)
    }
}
