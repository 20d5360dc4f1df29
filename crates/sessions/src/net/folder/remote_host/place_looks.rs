//! Places of a session as they were looked at: those behind one that is looked at are requested with it.
//!
//! Must not know: what places are for, when they are opened.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use datapump_core::wire::peer_request::walk_ahead::number_of_look;
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest};
use datapump_files::disk::Meta;

use super::RemoteHost;
use crate::net::folder::convert::from_wire;
use crate::problem::Problem;

/// Places that are looked at together, and kept: 50 kB.
const TOGETHER: u32 = 256;

/// The place that was looked at last; `None` for a pipe, or null.
#[derive(Debug, Default)]
pub(super) struct PlaceLooks(BTreeMap<u32, Result<Option<Meta>, Fault>>);

impl PlaceLooks {
    fn keep(&mut self, place: u32, looked: Result<Option<Meta>, Fault>) {
        if self.0.len() >= TOGETHER as usize {
            self.0.clear();
        }
        self.0.insert(place, looked);
    }
}

impl RemoteHost {
    /// The attributes of a place of the session, links followed unless kept; `None` for a pipe, or null. One request serves all
    /// that look at a place before the walk.
    pub(crate) fn look_at_place(&self, place: u32, path: &Path) -> Result<Option<Meta>, Problem> {
        let mut looks = self.place_looks.lock().unwrap_or_else(PoisonError::into_inner);
        if !looks.0.contains_key(&place) {
            match self.take_ahead(number_of_look(place), false).map_err(|fault| self.lost(&fault))? {
                Some(item) => {
                    let looked = self.decode_look(&item.answer)?;
                    looks.keep(place, looked);
                }
                None => self.look_together(place, &mut looks, path)?,
            }
        }
        match looks.0.get(&place) {
            Some(looked) => looked.clone().map_err(|fault| fault.problem(path).on(&self.peer.place)),
            None => Err(self.unexpected()),
        }
    }

    /// Looks at a place and at those behind it, as far as nothing comes of them without a request.
    fn look_together(&self, place: u32, looks: &mut PlaceLooks, path: &Path) -> Result<(), Problem> {
        let places = self.places.load(Ordering::Relaxed);
        let end = if self.brings_places() { 0 } else { places.min(place.saturating_add(TOGETHER)) };
        let mut asks = (place..end.max(place + 1)).map(|place| (place, PeerRequest::Look(place)));
        let (mut unheld, mut wrong) = (Ok(()), Ok(()));
        looks.0.clear();
        self.request_together(&mut asks, &mut |asked, answer| match answer {
            Ok((answer, _)) => match self.decode_look(&answer) {
                Ok(looked) => looks.keep(asked, looked),
                Err(problem) => wrong = Err(problem),
            },
            Err(over) if asked == place => unheld = Err(over.problem(path)),
            Err(_) => {}
        })?;
        wrong.and(unheld)
    }

    /// The attributes of a place in an answer, none for a stream, or the other side's fault.
    fn decode_look(&self, answer: &Answer) -> Result<Result<Option<Meta>, Fault>, Problem> {
        match answer {
            Answer::Meta { meta, .. } => Ok(Ok(Some(from_wire(meta)))),
            Answer::Stream { .. } => Ok(Ok(None)),
            Answer::Fault(fault) => Ok(Err(fault.clone())),
            _ => Err(self.unexpected()),
        }
    }
}
