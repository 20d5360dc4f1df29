//! Places of the other side that the user named and that lie in one folder there: names of that folder, each looked at and
//! opened by the number of its place. No other name of the folder is known.
//!
//! Must not know: what becomes of a name, which files will be wanted.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_core::wire::peer_request::{Answer, PeerRequest};

use super::remote_folder::remote_file::OpenedAs;
use super::{OpenFile, RemoteFile, RemoteFolder, RemoteHost};
use crate::listed::{ListedEntry, Name};
use crate::net::folder::convert::from_wire;
use crate::open::elsewhere::MADE_UP;
use crate::open::held::{Attributes, Held};
use crate::origin::SmallRead;
use crate::origin::remote_facts::RemoteFacts;
use crate::origin::source_host::{EarlyFiles, NamedPlace, RemoteOrigin, SourceHost, unlisted};
use crate::problem::{Class, Operation, Problem};
use datapump_files::disk::Meta;

/// The places by the names that they get at the target.
#[derive(Debug)]
pub(super) struct PlacesByName {
    host: Arc<RemoteHost>,
    facts: RemoteFacts,
    places: HashMap<OsString, NamedPlace>,
    /// Files that are open, by the numbers of their places, until somebody takes them.
    open: Mutex<HashMap<u32, OpenFile>>,
}

/// Places that were opened before their turn.
#[derive(Debug)]
struct EarlyPlaces {
    folder: Arc<PlacesByName>,
    numbers: Vec<u32>,
}

impl EarlyFiles for EarlyPlaces {}

impl Drop for EarlyPlaces {
    fn drop(&mut self) {
        let mut open = self.folder.open();
        let left: Vec<OpenFile> = self.numbers.iter().filter_map(|number| open.remove(number)).collect();
        drop(open);
        drop(left);
    }
}

impl PlacesByName {
    pub(super) fn new(host: Arc<RemoteHost>, places: HashMap<OsString, NamedPlace>) -> PlacesByName {
        PlacesByName { host, facts: RemoteFacts::unknown(), places, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u32, OpenFile>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, name: &OsStr, path: &Path) -> Result<&NamedPlace, Problem> {
        self.places.get(name).ok_or_else(|| unlisted(path))
    }

    /// The file of a name, which is opened unless it is open.
    fn take_open(&self, name: &OsStr, path: &Path) -> Result<OpenFile, Problem> {
        let number = self.place(name, path)?.number;
        if let Some(open) = self.open().remove(&number) {
            return Ok(open);
        }
        match RemoteHost::open_place(&self.host, number, path)? {
            RemoteFile::Open(file) => Ok(file),
            RemoteFile::Small(_) | RemoteFile::Stream(_) => {
                Err(Problem::new(Class::Changed, Operation::Open, path, "is no file any more"))
            }
        }
    }
}

impl RemoteOrigin for PlacesByName {
    fn facts(&self) -> &RemoteFacts {
        &self.facts
    }

    fn host(&self) -> Option<&dyn SourceHost> {
        Some(&*self.host)
    }

    /// The entry of a place. A kept link is looked up in its folder, which reports what it points to and its attributes.
    fn look_at(&self, name: &OsStr, path: &Path) -> Result<ListedEntry, Problem> {
        let place = self.place(name, path)?;
        if place.is_link {
            return RemoteFolder::of_link(&self.host, place.number, path)?.look_at(&place.own, path);
        }
        match self.host.request_one(&PeerRequest::Look(place.number), path)?.0 {
            Answer::Meta { meta, is_partial, .. } => {
                let is_partial = is_partial == Some(true);
                Ok(ListedEntry { is_partial, ..ListedEntry::from_meta(place.counted(from_wire(&meta))) })
            }
            _ => Err(self.host.unexpected()),
        }
    }

    /// They come with the open file, which stays open for who takes it next.
    fn attributes_of(&self, name: &OsStr, path: &Path) -> Result<Option<Attributes>, Problem> {
        let file = self.take_open(name, path)?;
        let (number, attributes) = (self.place(name, path)?.number, file.attributes.clone());
        self.open().insert(number, file);
        Ok(Some(attributes))
    }

    fn attributes_of_file(self: Arc<PlacesByName>, name: &OsStr, path: &Path) -> Result<Attributes, Problem> {
        let mut file = self.take_open(name, path)?;
        Ok(std::mem::take(&mut file.attributes))
    }

    fn open_file(
        self: Arc<PlacesByName>,
        name: &Name,
        _listed: &Meta,
        path: &Path,
        _small: SmallRead,
    ) -> Result<(Held, Meta), Problem> {
        let file = self.take_open(&name.name, path)?;
        if file.ranges.is_none() {
            return Err(Problem::new(Class::Io, Operation::Open, path, MADE_UP));
        }
        let meta = self.place(&name.name, path)?.counted(file.meta);
        Ok((Held::There(Arc::new(RemoteFile::Open(file))), meta))
    }

    /// Opens the places of these files by one exchange. Over a long path nothing is done: they arrive ahead.
    fn open_early(
        self: Arc<PlacesByName>,
        files: Vec<(OsString, bool)>,
    ) -> Result<Box<dyn EarlyFiles>, Problem> {
        let mut numbers = Vec::new();
        if !self.host.brings_places() {
            let mut asks = files.iter().filter_map(|(name, _)| {
                let (file, place) = (self.host.number(), self.places.get(name)?.number);
                Some(((place, file), PeerRequest::OpenPlace { file, place }))
            });
            self.host.request_together(&mut asks, &mut |(place, number), answer| {
                let Ok((answer @ Answer::File { .. }, charge)) = answer else { return };
                if let Ok(file) = self.host.open_file_from(number, answer, charge, OpenedAs::Place(place)) {
                    numbers.push(place);
                    self.open().insert(place, file);
                }
            })?;
        }
        Ok(Box::new(EarlyPlaces { folder: self, numbers }))
    }
}
