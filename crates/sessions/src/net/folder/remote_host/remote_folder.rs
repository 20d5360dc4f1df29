//! A folder of the other side that is open, as an origin of trees: its names, and what is opened in it. And a link that
//! is asked for alone.
//!
//! Must not know: how requests are sent, what is done with names.

mod before_block;
mod held_file;
pub(super) mod looked_early;
pub(super) mod opened_early;
pub(super) mod remote_file;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datapump_core::wire::attributes::Entry;
use datapump_core::wire::peer_request::walk_ahead::AHEAD;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_engine::Errno;

use super::read_ahead::{Follow, ReadAhead};
use super::{ChargedAnswers, RemoteHost, with_system_names};
use crate::listed::{ListedEntry, Name};
use crate::net::folder::convert::from_wire;
use crate::open::held::{Attributes, Held};
use crate::origin::SmallRead;
use crate::origin::folder_way::{FolderKey, FolderStep};
use crate::origin::remote_facts::RemoteFacts;
use crate::origin::source_host::{EarlyFiles, RemoteOrigin, SourceHost};
use crate::problem::{Class, Operation, Problem};
use crate::setup::budget::Charge;
use datapump_core::selection::ListStep;
use datapump_files::disk::{FileKind, Meta};
use looked_early::LookedEarly;
use opened_early::EarlyFile;
use remote_file::{RemoteFile, SmallFile};

/// A folder that was opened at the other side.
#[derive(Debug)]
pub(crate) struct RemoteFolder {
    pub(crate) remote_host: Arc<RemoteHost>,
    pub(crate) number: u64,
    pub(crate) facts: RemoteFacts,
    /// Its names come before they are requested.
    comes_ahead: AtomicBool,
    /// Its first names, where they were looked at before the walk: they come ahead once.
    first_names: Mutex<Option<(Vec<Name>, u64)>>,
    /// Files that were opened before their turn.
    pub(super) early: Mutex<HashMap<OsString, EarlyFile>>,
    /// Names of a list that were looked at before their turn, and folders that were opened.
    looked: Mutex<LookedEarly>,
    _charge: Charge,
}

impl RemoteFolder {
    /// An open folder of the other host, with what was reported of it.
    pub(super) fn new(
        remote_host: &Arc<RemoteHost>,
        number: u64,
        facts: RemoteFacts,
        _charge: Charge,
    ) -> RemoteFolder {
        let brings_names = remote_host.ahead.get().is_some_and(ReadAhead::brings_names);
        let comes_ahead = AtomicBool::new(number & AHEAD != 0 && brings_names);
        RemoteFolder {
            remote_host: Arc::clone(remote_host),
            number,
            facts,
            comes_ahead,
            first_names: Mutex::default(),
            early: Mutex::default(),
            looked: Mutex::default(),
            _charge,
        }
    }

    /// The folder of a place that is a symbolic link, to be asked for that alone: of all other names it tells that they
    /// are not there. It never comes ahead.
    pub(crate) fn of_link(
        remote_host: &Arc<RemoteHost>,
        place: u32,
        path: &Path,
    ) -> Result<Arc<RemoteFolder>, Problem> {
        remote_host.open_folder(None, |folder| PeerRequest::Root { folder, place }, path)
    }

    /// Names that came before they were requested. Once some did not, all others are requested.
    fn names_ahead(&self, cookie: u64) -> Result<Option<ChargedAnswers>, Problem> {
        let host = &self.remote_host;
        let Some(ahead) = host.ahead.get().filter(|_| self.comes_ahead.load(Ordering::Relaxed)) else {
            return Ok(None);
        };
        let arrived = ahead.take_names(host, self.number & !AHEAD, cookie);
        let arrived = arrived.map_err(|fault| host.lost(&fault))?;
        if arrived.is_none() {
            self.comes_ahead.store(false, Ordering::Relaxed);
        }
        Ok(arrived)
    }

    /// Requests the entry of a name now, whatever was listed.
    fn request_entry(
        &self,
        name: &OsStr,
        with_attributes: Option<bool>,
        path: &Path,
    ) -> Result<ListedEntry, Problem> {
        let ask = PeerRequest::LookAt {
            above: self.number,
            name: name.as_bytes().to_vec().into(),
            with_attributes,
        };
        match self.remote_host.request_one(&ask, path)? {
            (Answer::Names { mut entries, .. }, charge) => {
                let entry = entries.pop().ok_or_else(|| self.remote_host.unexpected())?;
                Ok(*self.name_of(entry, &Arc::new(charge)).reported.expect("it was set right now"))
            }
            _ => Err(self.remote_host.unexpected()),
        }
    }

    /// A name that holds what its listing takes.
    fn name_of(&self, entry: Entry, charge: &Arc<Charge>) -> Name {
        const EIO: i32 = 5;
        let meta = match (&entry.meta, entry.errno) {
            (Some(meta), None) => Ok(from_wire(meta)),
            (_, errno) => Err(Errno(errno.map_or(EIO, |errno| errno.0))),
        };
        let is_withheld = entry.is_withheld == Some(true);
        let kind = if is_withheld { Some(FileKind::Regular) } else { meta.ok().map(|meta| meta.kind) };
        let reported = ListedEntry {
            meta,
            points_to: entry.points_to.map(|to| OsString::from_vec(to.into())),
            attributes: entry.attributes.map(with_system_names),
            is_partial: entry.is_partial == Some(true),
            follows: entry.follows.map(|number| Follow::coming(&self.remote_host, number)),
            _charge: Some(Arc::clone(charge)),
        };
        Name { is_withheld, ..Name::from_remote(OsString::from_vec(entry.name.into()), kind, reported) }
    }
}

impl RemoteOrigin for RemoteFolder {
    fn facts(&self) -> &RemoteFacts {
        &self.facts
    }

    fn host(&self) -> Option<&dyn SourceHost> {
        Some(&*self.remote_host)
    }

    /// A part of the folder's names, and the cookie of the next part: kept from before, arrived ahead, or requested.
    fn list(&self, cookie: u64, with_attributes: bool, path: &Path) -> Result<(Vec<Name>, u64), Problem> {
        let first = self.first_names.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(first) = first.filter(|_| cookie == 0) {
            return Ok(first);
        }
        let with_attributes = with_attributes.then_some(true);
        let ask = PeerRequest::List { folder: self.number, cookie, with_attributes };
        let answers = match self.names_ahead(cookie)? {
            Some(arrived) => arrived,
            None => self.remote_host.request_all(&ask, path)?,
        };
        let (mut names, mut next) = (Vec::new(), cookie);
        for answer in answers {
            let (answer, charge) = answer.into_parts();
            match answer {
                Answer::Names { entries, cookie, .. } if entries.iter().all(Entry::is_plain) => {
                    let charge = Arc::new(charge);
                    names.extend(entries.into_iter().map(|entry| self.name_of(entry, &charge)));
                    next = cookie;
                }
                Answer::Fault(fault) => return Err(fault.problem(path).on(&self.remote_host.peer.place)),
                _ => return Err(self.remote_host.unexpected()),
            }
        }
        Ok((names, next))
    }

    fn peek(&self, path: &Path) -> Result<(Vec<Name>, u64), Problem> {
        let listed = self.list(0, false, path)?;
        if self.comes_ahead.load(Ordering::Relaxed) {
            *self.first_names.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed.clone());
        }
        Ok(listed)
    }

    fn enter(&self, name: &Name, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem> {
        if let Some(entered) = self.looked_early().folders.remove(&name.name) {
            return Ok(entered);
        }
        let (above, bytes) = (self.number, name.name.as_bytes().to_vec().into());
        let ask = |folder| PeerRequest::Enter { folder, above, name: bytes };
        Ok(self.remote_host.open_folder(name.follows().map(|follow| follow.number()), ask, path)?)
    }

    fn look_again(&self, path: &Path) -> Result<(Meta, bool), Problem> {
        let ask = PeerRequest::LookAt { above: self.number, name: Vec::new().into(), with_attributes: None };
        match self.remote_host.request_one(&ask, path)?.0 {
            Answer::Meta { meta, is_young, .. } => Ok((from_wire(&meta), is_young == Some(true))),
            _ => Err(self.remote_host.unexpected()),
        }
    }

    fn look_at(&self, name: &OsStr, path: &Path) -> Result<ListedEntry, Problem> {
        self.request_entry(name, None, path)
    }

    fn look_at_all(
        &self,
        names: Vec<Name>,
        below: &[ListStep],
        with_attributes: bool,
    ) -> Result<Vec<Name>, Problem> {
        RemoteFolder::look_at_all(self, names, below, with_attributes)
    }

    fn has_entered(&self, name: &OsStr) -> bool {
        self.looked_early().folders.contains_key(name)
    }

    /// Looks at the folders of a way below this one by requests sent together; `tell` gets each. This side gives a
    /// folder its number, so that what lies in it can be requested before it is known to be open: what lies in one that
    /// could not be opened is a fault, too.
    fn look_below(
        &self,
        way: &mut dyn Iterator<Item = FolderStep>,
        path: &dyn Fn(FolderKey) -> PathBuf,
        tell: &mut dyn FnMut(FolderKey, Result<Meta, Problem>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let host = &self.remote_host;
        let (mut open, mut outcome) = (vec![self.number], Ok(()));
        let mut asks = way.map(|step| host.request_of(step, &mut open));
        host.request_together(&mut asks, &mut |folder, answer| {
            let Some(folder) = folder else { return };
            let look = match answer {
                Ok((Answer::Folder { meta, .. }, _)) => Ok(from_wire(&meta)),
                Ok((Answer::Fault(fault), _)) => Err(fault.problem(&path(folder)).on(&host.peer.place)),
                Ok(_) => Err(host.unexpected()),
                Err(over) => Err(over.problem(&path(folder))),
            };
            if outcome.is_ok() {
                outcome = tell(folder, look);
            }
        })?;
        outcome
    }

    /// Extended attributes of a file; `None` where the other side is too old to send any.
    ///
    /// Errors: it is no file any more.
    fn attributes_of(&self, name: &OsStr, path: &Path) -> Result<Option<Attributes>, Problem> {
        if self.remote_host.tells_no_attributes.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let reported = self.request_entry(name, Some(true), path)?;
        let meta = reported.meta.map_err(|errno| Problem::system(Operation::LookAt, path, errno.0))?;
        if meta.kind != FileKind::Regular && reported.attributes.is_none() {
            return Err(Problem::new(Class::Changed, Operation::LookAt, path, "is no file any more"));
        }
        self.remote_host.tells_no_attributes.store(reported.attributes.is_none(), Ordering::Relaxed);
        Ok(reported.attributes)
    }

    fn attributes_of_file(self: Arc<RemoteFolder>, name: &OsStr, path: &Path) -> Result<Attributes, Problem> {
        let mut file = self.open(name, path)?;
        Ok(std::mem::take(&mut file.attributes))
    }

    /// Opens a file. An empty one is requested with what it is; a small one is not opened but read by name later; any other is
    /// opened now.
    fn open_file(
        self: Arc<RemoteFolder>,
        name: &Name,
        listed: &Meta,
        path: &Path,
        small: SmallRead,
    ) -> Result<(Held, Meta), Problem> {
        let is_empty = listed.kind == FileKind::Regular && listed.size_bytes == 0 && !self.facts.made_up;
        if is_empty && let Some((file, meta)) = self.empty_file(name, listed)? {
            return Ok((Held::There(Arc::new(file)), meta));
        }
        // Holes are told only of a file that is opened.
        let is_small = (1..=u64::from(small.bytes_max)).contains(&listed.size_bytes);
        let is_whole = small.is_whole || listed.allocated_bytes >= listed.size_bytes;
        let len_max = if small.any_length { small.bytes_max } else { 0 };
        if listed.kind == FileKind::Regular && is_small && is_whole {
            let follows = name.follows().cloned();
            let small = SmallFile { follows, len_max, ..SmallFile::new(self, name.name.clone()) };
            return Ok((Held::There(Arc::new(RemoteFile::Small(small))), *listed));
        }
        let file = self.open(&name.name, path)?;
        let meta = file.meta;
        Ok((Held::There(Arc::new(RemoteFile::Open(file))), meta))
    }

    fn opens_each(&self) -> bool {
        false
    }

    fn open_early(
        self: Arc<RemoteFolder>,
        files: Vec<(OsString, bool)>,
    ) -> Result<Box<dyn EarlyFiles>, Problem> {
        Ok(Box::new(RemoteFolder::open_early(&self, files)?))
    }
}

impl RemoteHost {
    /// The request of a step on a way below an open folder. `open`: the folders that are open on it, by their numbers.
    fn request_of(&self, step: FolderStep, open: &mut Vec<u64>) -> (Option<FolderKey>, PeerRequest) {
        match step {
            FolderStep::Down(key, name) => {
                let (number, above) = (self.number(), *open.last().expect("the root stays open"));
                open.push(number);
                (
                    Some(key),
                    PeerRequest::Enter { folder: number, above, name: name.as_bytes().to_vec().into() },
                )
            }
            FolderStep::Up => {
                (None, PeerRequest::Leave(open.pop().expect("a way goes up where it went down")))
            }
        }
    }
}

impl Drop for RemoteFolder {
    fn drop(&mut self) {
        let is_told = match self.remote_host.ahead.get() {
            Some(ahead) if self.number & AHEAD != 0 => ahead.forget_names(self.number & !AHEAD, true),
            _ => false,
        };
        if !is_told {
            self.remote_host.give_back(PeerRequest::Leave(self.number));
        }
    }
}
