//! Files of places that are opened before their turn: requests for them are sent together.
//!
//! Must not know: which places will be opened, what is done with them.

use std::sync::Arc;

use datapump_core::wire::peer_request::{Answer, PeerRequest};

use super::remote_folder::remote_file::OpenedAs;
use super::{RemoteFile, RemoteHost};
use crate::open::held::Elsewhere;
use crate::problem::Problem;

impl RemoteHost {
    /// Opens places by requests that are sent together; `tell` hears of those that are files.
    pub(super) fn open_together(
        self: &Arc<RemoteHost>,
        places: Vec<u32>,
        tell: &mut dyn FnMut(u32, Arc<dyn Elsewhere>),
    ) -> Result<(), Problem> {
        let mut asks = places.into_iter().map(|place| {
            let file = self.number();
            ((place, file), PeerRequest::OpenPlace { file, place })
        });
        self.ask_together(&mut asks, &mut |(place, number), answer| {
            let Ok((answer @ Answer::File { .. }, charge)) = answer else { return };
            if let Ok(file) = self.file(number, (answer, charge), OpenedAs::Place(place)) {
                tell(place, Arc::new(RemoteFile::Open(file)));
            }
        })
    }
}
