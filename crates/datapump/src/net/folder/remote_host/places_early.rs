//! Files of places that were opened before their turn: requests for them are sent together.
//!
//! Must not know: which places will be opened, what is done with them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_core::wire::peer_request::{Answer, PeerRequest};

use super::remote_folder::remote_file::OpenedAs;
use super::{RemoteFile, RemoteHost};
use crate::problem::Problem;

/// By the numbers of the places. Those that nobody takes are given back with this.
#[derive(Debug, Default)]
pub(crate) struct PlacesEarly(Mutex<BTreeMap<u32, RemoteFile>>);

impl PlacesEarly {
    fn files(&self) -> MutexGuard<'_, BTreeMap<u32, RemoteFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file of a place, if it was opened.
    pub(crate) fn take(&self, place: u32) -> Option<RemoteFile> {
        self.files().remove(&place)
    }

    /// Opens a place, and those that `others` names with it, unless it is open. What cannot be opened so is requested when
    /// it is its turn. A lane that needs one of them waits until all are open.
    pub(crate) fn open(
        &self,
        host: &Arc<RemoteHost>,
        place: u32,
        others: impl FnOnce() -> Vec<u32>,
    ) -> Result<(), Problem> {
        let mut files = self.files();
        if files.contains_key(&place) {
            return Ok(());
        }
        let mut places = others();
        if places.is_empty() {
            return Ok(());
        }
        places.retain(|other| !files.contains_key(other));
        places.insert(0, place);
        let mut asks = places.into_iter().map(|place| {
            let file = host.number();
            ((place, file), PeerRequest::OpenPlace { file, place })
        });
        host.ask_together(&mut asks, &mut |(place, number), answer| {
            let Ok((answer @ Answer::File { .. }, charge)) = answer else { return };
            if let Ok(file) = host.file(number, (answer, charge), OpenedAs::Place(place)) {
                files.insert(place, RemoteFile::Open(file));
            }
        })
    }
}
