//! Files of a folder of the other side that are opened before their turn: requests for them are sent together.
//!
//! Must not know: which files will be wanted, what is done with them.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};

use datapump_core::wire::bounds::ErrorNumber;
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest};

use super::RemoteFolder;
use super::remote_file::{OpenFile, OpenedAs, RemoteFile, SmallFile};
use crate::listed::Name;
use crate::net::folder::convert::from_wire;
use crate::net::folder::remote_host::{RemoteHost, with_system_names};
use crate::open::held::Attributes;
use crate::origin::source_host::EarlyFiles;
use crate::problem::Problem;
use crate::setup::budget::Charge;
use datapump_files::disk::Meta;

/// What an older version says to a request for an empty file.
const EINVAL: ErrorNumber = ErrorNumber(22);

/// A file that was opened, or fetched, and is not taken.
#[derive(Debug)]
pub(in crate::net::folder::remote_host) enum EarlyFile {
    Open(OpenFile),
    Empty(EmptyFile),
}

/// What an empty file is, and its attributes.
type EmptyFile = (Meta, Attributes, Charge);

/// Files that were opened early: those that nobody takes are given back with this.
#[derive(Debug)]
pub(crate) struct OpenedEarly {
    folder: Arc<RemoteFolder>,
    names: Vec<OsString>,
}

impl EarlyFiles for OpenedEarly {}

impl Drop for OpenedEarly {
    fn drop(&mut self) {
        let left: Vec<EarlyFile> = {
            let mut early = self.folder.early();
            self.names.iter().filter_map(|name| early.remove(name)).collect()
        };
        drop(left);
    }
}

impl RemoteFolder {
    fn early(&self) -> MutexGuard<'_, HashMap<OsString, EarlyFile>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens files, and fetches those that are empty. What cannot be had so is requested when it is its turn.
    pub(crate) fn open_early(
        self: &Arc<RemoteFolder>,
        files: Vec<(OsString, bool)>,
    ) -> Result<OpenedEarly, Problem> {
        let host = &self.remote_host;
        let tells_empty = host.tells_empty_files();
        let mut asks = files.iter().map(|(name, is_empty)| {
            if *is_empty && tells_empty {
                ((name, None), self.fetch_request(name))
            } else {
                let number = host.number();
                ((name, Some(number)), self.open_request(number, name))
            }
        });
        host.request_together(&mut asks, &mut |(name, number), answer| {
            let Ok((answer, charge)) = answer else { return };
            let found = match (number, &answer) {
                (Some(number), Answer::File { .. }) => {
                    let opened_as = OpenedAs::Name(Arc::clone(self), name.clone());
                    host.open_file_from(number, answer, charge, opened_as).ok().map(EarlyFile::Open)
                }
                (Some(_), _) => None,
                (None, _) => self.empty_file_from(answer, charge).map(EarlyFile::Empty),
            };
            found.and_then(|found| self.early().insert(name.clone(), found));
        })?;
        let names = files.into_iter().map(|(name, _)| name).collect();
        Ok(OpenedEarly { folder: Arc::clone(self), names })
    }

    /// A file that was opened early.
    pub(in crate::net::folder::remote_host) fn take_open(&self, name: &OsStr) -> Option<OpenFile> {
        match self.early().remove(name)? {
            EarlyFile::Open(file) => Some(file),
            EarlyFile::Empty(_) => None,
        }
    }

    /// A file that is empty, with what it is by now. `None` where it is to be opened: it is not empty any more, or the
    /// other side is too old.
    pub(crate) fn empty_file(
        self: &Arc<RemoteFolder>,
        name: &Name,
        listed: &Meta,
    ) -> Result<Option<(RemoteFile, Meta)>, Problem> {
        let host = &self.remote_host;
        let found = match (name.follows(), host.tells_empty_files()) {
            (Some(follows), _) => match host.take_ahead(follows.number(), false) {
                Ok(Some(item)) => {
                    let (answer, charge) = item.answer.into_parts();
                    self.empty_file_from(answer, charge)
                }
                Ok(None) => None,
                Err(fault) => return Err(host.lost(&fault)),
            },
            (None, false) => None,
            (None, true) => match self.early().remove(&name.name) {
                Some(EarlyFile::Empty(empty)) => Some(empty),
                _ => {
                    let (mut ask, mut found) = (iter::once(((), self.fetch_request(&name.name))), None);
                    host.request_together(&mut ask, &mut |(), answer| {
                        found = answer.ok().and_then(|(answer, charge)| self.empty_file_from(answer, charge));
                    })?;
                    found
                }
            },
        };
        let Some((meta, attributes, charge)) = found else { return Ok(None) };
        let (reported, charge) = (OnceLock::from((meta, attributes)), OnceLock::from(charge));
        let small = SmallFile { reported, charge, ..SmallFile::new(Arc::clone(self), name.name.clone()) };
        // Which of several names it is was reported with the listing.
        let Meta { generation, handle, .. } = *listed;
        Ok(Some((RemoteFile::Small(small), Meta { generation, handle, ..meta })))
    }

    /// The empty file of an answer; `None` for any other. A fault may show that the other side is too old for such requests.
    fn empty_file_from(&self, answer: Answer, charge: Charge) -> Option<EmptyFile> {
        match answer {
            Answer::File { meta, attributes, .. } if meta.size_bytes.0 == 0 => {
                Some((from_wire(&meta), with_system_names(attributes), charge))
            }
            Answer::Fault(fault) => {
                self.remote_host.learn_of_empty_files(&fault);
                None
            }
            _ => None,
        }
    }

    fn fetch_request(&self, name: &OsStr) -> PeerRequest {
        let name = name.as_bytes().to_vec().into();
        PeerRequest::Fetch { above: self.number, name, len: 0, sum: None, len_max: None }
    }

    pub(super) fn open_request(&self, file: u64, name: &OsStr) -> PeerRequest {
        PeerRequest::Open { file, above: self.number, name: name.as_bytes().to_vec().into() }
    }
}

impl RemoteHost {
    fn tells_empty_files(&self) -> bool {
        !self.tells_no_empty_files.load(Ordering::Relaxed)
    }

    fn learn_of_empty_files(&self, fault: &Fault) {
        if fault.errno == Some(EINVAL) {
            self.tells_no_empty_files.store(true, Ordering::Relaxed);
        }
    }
}
