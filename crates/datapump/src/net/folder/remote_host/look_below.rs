//! Looks at many folders of the other side, one in another, without waiting for an answer before the next request.
//!
//! The side that asks gives a folder its number, so that what lies in it can be requested before it is known to be open: the
//! other side answers in order, and what lies in a folder that could not be opened is a fault, too.
//!
//! Must not know: which folders are looked at, what follows on that.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use datapump_core::wire::peer_request::{Answer, PeerRequest};

use super::{RemoteFolder, RemoteHost};
use crate::net::folder::convert::from_wire;
use crate::problem::Problem;
use crate::tree::folder::visited::{FolderKey, FolderStep};
use datapump_files::disk::Meta;

impl RemoteHost {
    /// Looks at the folders of a way below an open one; `tell` hears of each in turn.
    ///
    /// Errors: the session is lost, or `tell` gave one.
    pub(crate) fn look_below(
        &self,
        root: &RemoteFolder,
        way: &mut dyn Iterator<Item = FolderStep>,
        path: &dyn Fn(FolderKey) -> PathBuf,
        tell: &mut dyn FnMut(FolderKey, Result<Meta, Problem>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let (mut open, mut told) = (vec![root.number], Ok(()));
        let mut asks = way.map(|step| self.request_of(step, &mut open));
        self.ask_together(&mut asks, &mut |folder, answer| {
            let Some(folder) = folder else { return };
            let look = match answer {
                Ok((Answer::Folder { meta, .. }, _)) => Ok(from_wire(&meta)),
                Ok((Answer::Fault(fault), _)) => Err(fault.problem(&path(folder)).on(&self.place)),
                Ok(_) => Err(self.unexpected()),
                Err(over) => Err(over.problem(&path(folder))),
            };
            if told.is_ok() {
                told = tell(folder, look);
            }
        })?;
        told
    }

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
