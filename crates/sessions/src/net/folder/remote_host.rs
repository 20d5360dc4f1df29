//! The other side of a session, as the side that writes asks it: folders, files, names and attributes.
//!
//! Any lane may ask: each takes a free connection, asks, and waits for the answer. A handle that is not needed any more
//! is given back with the next request. A connection that fails cuts the whole session.
//!
//! Must not know: how blocks are received, what is done with names.

mod ask_together;
mod named_places;
mod place_looks;
mod pools;
mod read_again;
pub(crate) mod read_ahead;
mod remote_folder;
mod source_host;

use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use datapump_core::wire::attributes::Attribute;
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::walk_ahead::AHEAD;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::turns::RequestTurns;
use datapump_core::wire::{WireError, decode, encode};
use datapump_transport::{CancelToken, Channel, NetFault, is_long_path};

use crate::end::ArrivedItem;
use crate::net::folder::convert::from_wire;
use crate::net::folder::owners::Mapping;
use crate::net::folder::weight;
use crate::open::held::Attributes;
use crate::origin::remote_facts::{AheadRequest, RemoteFacts};
use crate::problem::Problem;
use crate::report::latency::round_trips::{TripCounter, TripPhase, TripStamp};
use crate::run::block_host::BlockHost;
use crate::setup::budget::charged::ChargedValue;
use crate::setup::budget::{Charge, OverBudget, Share};

use place_looks::PlaceLooks;
pub(crate) use pools::{Pools, PurposePools};
use read_ahead::ReadAhead;
pub(crate) use remote_folder::RemoteFolder;
pub(crate) use remote_folder::remote_file::{OpenFile, RemoteFile};

/// Answers to one asking, 1 MiB each: a listing tells what the system gives at a time, which is a small part of it.
const ANSWERS_MAX: usize = 64;
/// A message that is longer may take so much more when it is read that only one is read at a time.
pub(crate) const LONG_BYTES: usize = 64 << 10;

/// Folders and files that are given back together: as many as connections take without anybody reading.
const GIVEN_BACK_TOGETHER: usize = 256;

/// The other side.
#[derive(Debug)]
pub(crate) struct RemoteHost {
    peer: PeerFacts,
    pub(crate) cancel: CancelToken,
    /// Both sides run on one host: devices of the same number are the same device.
    pub(crate) is_here: bool,
    pools: Pools,
    ahead: OnceLock<ReadAhead>,
    pub(crate) trips: Arc<TripCounter>,
    next: AtomicU64,
    /// The shortest wait for an answer, in nanoseconds: the path's round trip and what the other side did.
    round_trip_ns: AtomicU64,
    /// Waits for what is no block, which the lanes charged to names.
    names_waited_ns: Arc<AtomicU64>,
    /// Folders and files that are not needed any more.
    gone: Mutex<Vec<PeerRequest>>,
    /// So many places does the session have.
    places: AtomicU32,
    place_looks: Mutex<PlaceLooks>,
    /// An older version: it tells no attributes with names of files.
    tells_no_attributes: AtomicBool,
    /// An older version: empty files are opened.
    tells_no_empty_files: AtomicBool,
    /// What it makes this side hold is charged to this.
    share: Arc<Share>,
    owners: Mapping,
}

/// Facts about the other side when the session begins.
#[derive(Debug)]
pub(crate) struct PeerFacts {
    /// As the user named it, for messages.
    pub(crate) place: String,
    /// Which run of its system it told.
    pub(crate) boot: Option<[u8; 16]>,
    /// The shortest round trip that was seen; none: `u64::MAX`.
    pub(crate) round_trip_ns: u64,
    /// What it was requested to send ahead, behind the greeting of that connection.
    pub(crate) requested: Option<AheadRequest>,
    /// Over a long path blocks may be requested of it before they have slots.
    pub(crate) reads_on: bool,
}

/// Answers to one request.
type ChargedAnswers = Vec<ChargedValue<Answer>>;

/// An answer came that this side may not hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unheld {
    pub(crate) over: OverBudget,
    /// More of it follow.
    more: bool,
}

impl RemoteHost {
    /// A host that sources lie on, over these connections; nothing is requested yet.
    pub(crate) fn new(
        peer: PeerFacts,
        cancel: CancelToken,
        pools: Pools,
        share: Arc<Share>,
        owners: Mapping,
    ) -> Arc<RemoteHost> {
        let own = datapump_files::disk::boot();
        Arc::new(RemoteHost {
            is_here: own != [0; 16] && peer.boot == Some(own),
            round_trip_ns: AtomicU64::new(peer.round_trip_ns),
            peer,
            cancel,
            pools,
            ahead: OnceLock::new(),
            trips: Arc::default(),
            next: AtomicU64::new(1),
            names_waited_ns: Arc::default(),
            gone: Mutex::default(),
            places: AtomicU32::new(0),
            place_looks: Mutex::default(),
            tells_no_attributes: AtomicBool::default(),
            tells_no_empty_files: AtomicBool::default(),
            share,
            owners,
        })
    }

    /// Whether its places come without a request.
    pub(crate) fn brings_places(&self) -> bool {
        self.ahead.get().is_some_and(ReadAhead::comes)
    }

    /// What comes under a number without a request: a file's bytes, or not. `None` where it is to be requested.
    fn take_ahead(&self, number: u64, is_block: bool) -> Result<Option<ArrivedItem>, NetFault> {
        self.ahead.get().map_or(Ok(None), |ahead| ahead.take(self, number, is_block))
    }

    /// Whether the path is long: what is requested one by one takes its time.
    pub(crate) fn is_long(&self) -> bool {
        is_long_path(self.peer.round_trip_ns) || is_long_path(self.round_trip_ns())
    }

    fn add_names_wait(&self, waited_ns: u64) {
        self.names_waited_ns.fetch_add(waited_ns, Ordering::Relaxed);
    }

    /// Takes an answer that arrives ahead under a number, or requests it; with the number of what was opened.
    ///
    /// Errors: a fault, as the answer.
    fn take_or_request(
        &self,
        number: Option<u64>,
        ask: impl FnOnce(u64) -> PeerRequest,
        path: &Path,
    ) -> Result<(u64, Answer, Charge), Problem> {
        if let Some(number) = number
            && let Some(item) = self.take_ahead(number, false).map_err(|fault| self.lost(&fault))?
        {
            return match item.answer.into_parts() {
                (Answer::Fault(fault), _) => Err(fault.problem(path).on(&self.peer.place)),
                (answer, charge) => Ok((AHEAD | number, answer, charge)),
            };
        }
        let number = self.number();
        let (answer, charge) = self.request_one(&ask(number), path)?;
        Ok((number, answer, charge))
    }

    /// Something was answered after so long: what is known of a path of which nothing was.
    fn learn_round_trip(&self, elapsed_ns: u64) {
        let (known, relaxed) = (&self.round_trip_ns, Ordering::Relaxed);
        let _ = known.compare_exchange(u64::MAX, elapsed_ns, relaxed, relaxed);
    }

    /// The session is of no more use.
    pub(crate) fn lost(&self, fault: &NetFault) -> Problem {
        self.cancel.cut();
        fault.problem(&self.peer.place)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn give_back(&self, ask: PeerRequest) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).push(ask);
    }

    /// Requests something that has one answer, and gives it with the charge for it.
    ///
    /// Errors: the other side could not do it; the session is lost.
    fn request_one(&self, ask: &PeerRequest, path: &Path) -> Result<(Answer, Charge), Problem> {
        let mut answers = self.request_all(ask, path)?;
        match answers.pop().map(ChargedValue::into_parts) {
            Some((Answer::Fault(fault), _)) => Err(fault.problem(path).on(&self.peer.place)),
            Some(answer) if answers.is_empty() => Ok(answer),
            _ => Err(self.unexpected()),
        }
    }

    /// Requests something over a connection of the pool, and gives all answers. The wait is charged to names.
    ///
    /// Errors: the session is lost, or this side may not hold the answers.
    fn request_all(&self, ask: &PeerRequest, path: &Path) -> Result<ChargedAnswers, Problem> {
        let asked = self.pools.names.take(Purpose::Names).and_then(|mut channel| {
            let (before_ns, stamp) = (channel.waited_ns(), self.trips.sent());
            let answers = self.request_over(&mut channel, ask)?;
            self.trips.answered(stamp, phase_of(ask));
            let waited_ns = channel.waited_ns() - before_ns;
            self.round_trip_ns.fetch_min(waited_ns, Ordering::Relaxed);
            self.add_names_wait(waited_ns);
            self.pools.names.give(channel);
            Ok(answers)
        });
        asked.map_err(|fault| self.lost(&fault))?.map_err(|over| over.problem(path))
    }

    /// Sends what is to be given back, then a request, over this connection, and receives its answers. The inner error: they
    /// are more than this side may hold.
    fn request_over(
        &self,
        channel: &mut Channel,
        ask: &PeerRequest,
    ) -> Result<Result<ChargedAnswers, OverBudget>, NetFault> {
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        let last = gone.len().saturating_sub(GIVEN_BACK_TOGETHER);
        let mut asking = RequestTurns::default();
        for gone in gone[..last].chunks(GIVEN_BACK_TOGETHER) {
            put_all(channel, &mut asking, gone)?;
            channel.flush()?;
            gone.iter().try_for_each(|_| answered(channel, &mut asking))?;
        }
        put_all(channel, &mut asking, &gone[last..])?;
        channel.send_message(&encode(ask), asking.ask(()))?;
        gone[last..].iter().try_for_each(|_| answered(channel, &mut asking))?;
        self.receive_answers(channel, &asking)
    }

    /// Receives all answers to a request. Those that this side may not hold are dropped; the rest is received nevertheless.
    fn receive_answers(
        &self,
        channel: &mut Channel,
        asking: &RequestTurns<()>,
    ) -> Result<Result<ChargedAnswers, OverBudget>, NetFault> {
        let mut held = Ok(Vec::new());
        for _ in 0..ANSWERS_MAX {
            let answer = self.read(&body(channel, asking)?)?;
            let more = answer.as_ref().map_or_else(|unheld| unheld.more, |answer| has_more(answer));
            held = held.and_then(|mut answers| {
                answers.push(answer.map_err(|unheld| unheld.over)?);
                Ok(answers)
            });
            if !more {
                return Ok(held);
            }
        }
        Err(WireError::Unexpected("names without end").into())
    }

    /// Reads an answer, with the owners of this side. What a long one takes is known only then, and charged before
    /// another is read.
    pub(crate) fn read(&self, body: &[u8]) -> Result<Result<ChargedValue<Answer>, Unheld>, WireError> {
        match self.read_unrequested(body)? {
            Err(_) if self.give_up_ahead() => self.read_unrequested(body),
            read => Ok(read),
        }
    }

    /// Reads an answer that nobody requested: nothing gives it room.
    fn read_unrequested(&self, body: &[u8]) -> Result<Result<ChargedValue<Answer>, Unheld>, WireError> {
        let _one = self.one_reads(body);
        let answer = self.decoded(body)?;
        let more = has_more(&answer);
        let bytes = weight::answer_bytes(&answer);
        Ok(ChargedValue::new(answer, bytes, &self.share).map_err(|over| Unheld { over, more }))
    }

    /// Reads an answer of which nothing is kept, or little for each request that is under way.
    pub(crate) fn decode(&self, body: &[u8]) -> Result<Answer, WireError> {
        let _one = self.one_reads(body);
        self.decoded(body)
    }

    fn one_reads(&self, body: &[u8]) -> Option<MutexGuard<'_, ()>> {
        (body.len() > LONG_BYTES).then(|| self.share.budget().one_reads())
    }

    fn decoded(&self, body: &[u8]) -> Result<Answer, WireError> {
        let mut answer = decode(body)?;
        self.owners.apply(&mut answer, &self.share)?;
        Ok(answer)
    }

    /// The session's part, to which all is charged that is kept of the other side.
    pub(crate) fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// Memory is for what is needed now: what was sent without a request is not held any more, and is requested. False
    /// where nothing is sent.
    fn give_up_ahead(&self) -> bool {
        self.ahead.get().is_some_and(ReadAhead::give_up)
    }

    /// Something that this side can do without: at most a quarter of what the session may still hold, which names and
    /// attributes need.
    fn charge_part(&self, bytes: usize) -> Option<Charge> {
        drop(self.share.charge(4 * bytes, 0).ok()?);
        self.share.charge(bytes, 0).ok()
    }

    fn unexpected(&self) -> Problem {
        self.lost(&WireError::Unexpected("another answer than was asked for").into())
    }

    /// Opens a folder: takes the answer that arrives ahead, or requests it.
    fn open_folder(
        self: &Arc<RemoteHost>,
        ahead: Option<u64>,
        ask: impl FnOnce(u64) -> PeerRequest,
        path: &Path,
    ) -> Result<Arc<RemoteFolder>, Problem> {
        match self.take_or_request(ahead, ask, path)? {
            (number, Answer::Folder { meta, attributes, made_up, is_young, .. }, charge) => {
                let (meta, attributes) = (from_wire(&meta), with_system_names(attributes));
                let is_young = is_young == Some(true);
                let facts = RemoteFacts { meta, attributes, made_up, is_young };
                Ok(Arc::new(RemoteFolder::new(self, number, facts, charge)))
            }
            _ => Err(self.unexpected()),
        }
    }
}

fn has_more(answer: &Answer) -> bool {
    matches!(answer, Answer::Names { more: true, .. })
}

/// The phase that the round trip of a request counts in.
fn phase_of(ask: &PeerRequest) -> TripPhase {
    match ask {
        PeerRequest::OpenPlace { .. }
        | PeerRequest::Open { .. }
        | PeerRequest::Fetch { .. }
        | PeerRequest::LookAgain(_) => TripPhase::Data,
        _ => TripPhase::Listing,
    }
}

fn put_all(
    channel: &mut Channel,
    asking: &mut RequestTurns<()>,
    asks: &[PeerRequest],
) -> Result<(), NetFault> {
    asks.iter().try_for_each(|ask| channel.put_message(&encode(ask), asking.ask(())))
}

/// A message of what is answered next.
fn body<What>(channel: &mut Channel, asking: &RequestTurns<What>) -> Result<Vec<u8>, NetFault> {
    let head = channel.receive_head()?;
    asking.handle_head(&head)?;
    channel.receive_body(head)
}

/// What was given back is answered with one message, whatever it says.
fn answered(channel: &mut Channel, asking: &mut RequestTurns<()>) -> Result<(), NetFault> {
    body(channel, asking)?;
    asking.handle_end();
    Ok(())
}

/// Attributes with their names as the system takes them.
pub(crate) fn with_system_names(attributes: Vec<Attribute>) -> Attributes {
    let named = |attribute: Attribute| {
        let name = CString::new(Vec::from(attribute.name)).ok()?;
        let is_readable = attribute.is_unreadable != Some(true);
        Some((name, is_readable.then(|| Vec::from(attribute.value))))
    };
    attributes.into_iter().filter_map(named).collect()
}
