//! Looks at many folders of the other side, one in another, without waiting for an answer before the next request.
//!
//! Whoever asks gives a folder its number, so that what lies in it can be requested before it is known to be open: the
//! other side answers in order, and what lies in a folder that could not be opened is a fault, too.
//!
//! Must not know: which folders are looked at, what follows on that.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use datapump_core::wire::encode;
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::turns::RequestTurns;
use datapump_transport::{Channel, NetFault};

use super::{RemoteFolder, RemoteHost, TripPhase, TripStamp, body};
use crate::net::folder::convert::from_wire;
use crate::net::folder::refusal::problem_of;
use crate::problem::Problem;
use crate::tree::delete::Look;
use crate::tree::folder::visited::FolderKey;
use crate::tree::folder::visited::FolderStep;

/// Bytes of requests under way: as much as connections take without anybody reading.
const UNDER_WAY_BYTES: usize = 32 << 10;

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// The folder that is looked at; none where one is left.
    folder: Option<FolderKey>,
    bytes: usize,
    stamp: TripStamp,
}

impl RemoteHost {
    /// Looks at the folders of a way below an open one; `tell` hears of each in turn.
    ///
    /// Errors: the session is lost, or `tell` gave one.
    pub(crate) fn look_below(
        &self,
        root: &RemoteFolder,
        way: impl Iterator<Item = FolderStep>,
        path: &dyn Fn(FolderKey) -> PathBuf,
        tell: &mut dyn FnMut(FolderKey, Look) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let looked = self.names.take(Purpose::Names).and_then(|mut channel| {
            let before_ns = channel.waited_ns();
            let told = self.look_at_all(&mut channel, (root.number, path), way, tell)?;
            self.add_names_wait(channel.waited_ns() - before_ns);
            self.names.give(channel);
            Ok(told)
        });
        looked.map_err(|fault| self.lost(&fault))?
    }

    fn look_at_all(
        &self,
        channel: &mut Channel,
        (root, path): (u64, &dyn Fn(FolderKey) -> PathBuf),
        way: impl Iterator<Item = FolderStep>,
        tell: &mut dyn FnMut(FolderKey, Look) -> Result<(), Problem>,
    ) -> Result<Result<(), Problem>, NetFault> {
        let (mut way, mut asking, mut under_way_bytes) = (way.peekable(), RequestTurns::default(), 0);
        let (mut open, mut told) = (vec![root], Ok(()));
        while way.peek().is_some() || !asking.is_empty() {
            if under_way_bytes < UNDER_WAY_BYTES / 2 {
                while under_way_bytes < UNDER_WAY_BYTES
                    && let Some(step) = way.next()
                {
                    let (folder, ask) = self.request_of(step, &mut open);
                    let message = encode(&ask);
                    let under_way = UnderWay { folder, bytes: message.len(), stamp: self.trips.sent() };
                    under_way_bytes += message.len();
                    channel.put_message(&message, asking.ask(under_way))?;
                }
                channel.flush()?;
            }
            let answer = self.decode(&body(channel, &asking)?)?;
            let Some(under_way) = asking.handle_end() else { break };
            under_way_bytes -= under_way.bytes;
            self.trips.answered(under_way.stamp, TripPhase::Listing);
            if let Some(folder) = under_way.folder {
                let look = match answer {
                    Answer::Folder { meta, is_young, .. } => Ok((from_wire(&meta), is_young == Some(true))),
                    Answer::Fault(fault) => Err(problem_of(&fault, &path(folder)).on(&self.place)),
                    _ => Err(self.unexpected()),
                };
                told = told.and_then(|()| tell(folder, look));
            }
        }
        Ok(told)
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
