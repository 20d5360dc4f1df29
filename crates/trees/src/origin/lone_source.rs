//! A source that lies in no folder: a file on the web, or several files that are read as one. It is the only name of what
//! stands for its folder.
//!
//! Must not know: what becomes of the name, how its bytes are moved.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use super::SmallRead;
use super::remote_facts::RemoteFacts;
use super::source_host::RemoteOrigin;
use crate::listed::{ListedEntry, Name};
use crate::open::elsewhere::SourceOpener;
use crate::open::held::Attributes;
use crate::open::held::Held;
use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use datapump_files::disk::Meta;

/// The source as it was looked at.
#[derive(Debug)]
pub(crate) struct LoneSource {
    place: Place,
    meta: Meta,
    opener: SourceOpener,
    facts: RemoteFacts,
}

impl LoneSource {
    pub(crate) fn new(place: Place, meta: Meta, opener: SourceOpener) -> LoneSource {
        LoneSource { place, meta, opener, facts: RemoteFacts::unknown() }
    }
}

impl RemoteOrigin for LoneSource {
    fn facts(&self) -> &RemoteFacts {
        &self.facts
    }

    fn look_at(&self, _name: &OsStr, _path: &Path) -> Result<ListedEntry, Problem> {
        Ok(ListedEntry::from_meta(self.meta))
    }

    /// It carries nothing besides.
    fn attributes_of(&self, _name: &OsStr, _path: &Path) -> Result<Option<Attributes>, Problem> {
        Ok(Some(Attributes::new()))
    }

    fn attributes_of_file(self: Arc<LoneSource>, _name: &OsStr, _path: &Path) -> Result<Attributes, Problem> {
        Ok(Attributes::new())
    }

    fn open_file(
        self: Arc<LoneSource>,
        _name: &Name,
        _listed: &Meta,
        path: &Path,
        _small: SmallRead,
    ) -> Result<(Held, Meta), Problem> {
        let held = self.opener.open(&self.place)?;
        let no_file = || Problem::new(Class::Changed, Operation::Open, path, "is no file any more");
        let meta = held.reported().map(|(meta, _)| *meta).ok_or_else(no_file)?;
        Ok((Held::There(held), meta))
    }

    fn is_read_once(&self) -> bool {
        matches!(&self.place, Place::Web(web) if web.is_read_once())
    }
}
