//! What the other side sends before it is requested, as far as it has come and nobody has taken it.
//!
//! A lane that needs something takes it from here. What has not come is received by the lane that needs it first, in
//! the order in which it is sent, and the others wait for that lane; no thread does nothing else. Memory is bounded by
//! the credit that the other side has, and what an answer takes is charged when it comes. Where all of the credit is
//! used up by things that nobody takes yet, the window grows as far as the session's memory allows; behind that, what
//! is needed is requested as if nothing were sent ahead. Where this side may not hold what comes, or what is requested
//! beside it, the connection is closed, and everything is requested.
//!
//! Must not know: what names and files are wanted for, how blocks are requested.

mod arrivals;
mod arrived;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use datapump_core::wire::frame::{DIGEST_BYTES, FrameKind};
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::{UNWANTED_MAX, WireError, encode};
use datapump_engine::WAIT_MAX;
use datapump_transport::{Channel, ConnectionStats, NetFault};

use self::arrivals::AheadState;
use self::arrived::{Arrival, NotTaken};
use super::RemoteHost;
use crate::end::ArrivedItem;
use crate::listed::Coming;
use crate::net::folder::weight;
use crate::origin::remote_facts::AheadRequest;
use crate::setup::budget::Charge;
use crate::setup::budget::charged::ChargedValue;

/// What the other side may send at first: 64 MiB fill 180 ms at 3 Gbit/s.
const WINDOW_BYTES: u64 = 64 << 20;
/// With less room it is not worth it.
const WINDOW_MIN_BYTES: u64 = 256 << 10;

/// The message that requests something ahead, with the window that this side has at first.
pub(crate) fn first_request(request: AheadRequest) -> Vec<u8> {
    read_ahead_request(request, WINDOW_BYTES)
}

/// The request that lets the other side send ahead.
fn read_ahead_request(request: AheadRequest, credit: u64) -> Vec<u8> {
    encode(&PeerRequest::Ahead {
        credit,
        file_bytes_max: request.file_bytes_max,
        with_attributes: request.with_attributes.then_some(true),
        sums: request.sums.then_some(true),
        empty_files: Some(true),
        places_alone: request.places_alone.then_some(true),
        looks: Some(true),
        any_length: Some(true),
    })
}

/// What comes ahead over one connection.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    state: Mutex<AheadState>,
    came: Condvar,
    /// Locked by the lane that receives.
    channel: Mutex<Channel>,
    /// Digests come instead of blocks.
    brings_sums: bool,
    /// No names come.
    places_alone: bool,
    /// When it was requested, if its first answer tells how long the path is.
    requested_at: Option<Instant>,
}

impl ReadAhead {
    /// Lets the other side send what a walk of so many places meets. `None` where this side has no room for it.
    pub(crate) fn begin(
        host: &RemoteHost,
        mut channel: Channel,
        places: u32,
        request: AheadRequest,
        was_requested: bool,
    ) -> Result<Option<ReadAhead>, NetFault> {
        // What was requested is what it may send.
        let fits = |window: &(u64, Charge)| !was_requested || window.0 == WINDOW_BYTES;
        let Some((window, charge)) = window_of(host).filter(fits) else { return Ok(None) };
        let Ok(mut state) = AheadState::new(places, request.file_bytes_max, window, charge, host.share())
        else {
            return Ok(None);
        };
        if !was_requested {
            channel.send_message(&read_ahead_request(request, state.credit.window()), 1)?;
        }
        // What was requested with the session's beginning is answered with it.
        if !was_requested {
            state.handle_waits(host.trips.sent());
        }
        let (state, came, channel) = (Mutex::new(state), Condvar::new(), Mutex::new(channel));
        let requested_at = (!was_requested).then(Instant::now);
        let AheadRequest { sums: brings_sums, places_alone, .. } = request;
        Ok(Some(ReadAhead { state, came, channel, brings_sums, places_alone, requested_at }))
    }

    fn state(&self) -> MutexGuard<'_, AheadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that came and that nobody wanted.
    pub(crate) fn dropped_bytes(&self) -> u64 {
        self.state().dropped_bytes
    }

    fn waited_ns(&self) -> u64 {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).waited_ns()
    }

    /// What its connection did.
    pub(crate) fn connection_stats(&self) -> ConnectionStats {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).connection_stats()
    }

    /// Takes what was announced under this number, once it is here. `None` where it will not come, or not before
    /// others are taken: it is requested then.
    pub(crate) fn take(
        &self,
        host: &RemoteHost,
        number: u64,
        is_block: bool,
    ) -> Result<Option<ArrivedItem>, NetFault> {
        let taken = self.wait_for(host, is_block, |state| state.take(number))?;
        let Some(item) = taken.flatten() else {
            self.unwanted(number);
            return Ok(None);
        };
        self.free(host, item.frames_bytes)?;
        Ok(Some(item))
    }

    /// Whether anything comes still.
    pub(super) fn comes(&self) -> bool {
        !self.state().is_given_up
    }

    /// Whether names of folders come.
    pub(crate) fn brings_names(&self) -> bool {
        !self.places_alone
    }

    /// The names of a folder that begin at this place. `None` as with `take`: then these and all others are requested.
    pub(crate) fn take_names(
        &self,
        host: &RemoteHost,
        folder: u64,
        cookie: u64,
    ) -> Result<Option<Vec<ChargedValue<Answer>>>, NetFault> {
        let taken = self.wait_for(host, false, |state| state.take_names(folder, cookie))?;
        let Some(names) = taken.flatten() else {
            self.forget_names(folder, false);
            return Ok(None);
        };
        self.free(host, names.frames_bytes)?;
        Ok(Some(names.answers))
    }

    /// Receives until `is_there` finds what it looks for; one thread receives for all. `None` where nothing more comes ahead:
    /// it was given up, or the other side waits for credit that this side may not give.
    ///
    /// Errors: the session is lost or cut.
    fn wait_for<T>(
        &self,
        host: &RemoteHost,
        is_block: bool,
        mut is_there: impl FnMut(&mut AheadState) -> Option<T>,
    ) -> Result<Option<T>, NetFault> {
        let mut state = self.state();
        loop {
            if state.is_given_up {
                return Ok(None);
            }
            if let Some(found) = is_there(&mut state) {
                return Ok(Some(found));
            }
            if state.credit.is_stuck() && !state.widen(host) {
                return Ok(None);
            }
            host.cancel.check()?;
            if state.is_receiving {
                state = self.came.wait_timeout(state, WAIT_MAX).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.is_receiving = true;
            drop(state);
            let before_ns = self.waited_ns();
            let received = self.receive_one(host);
            // A block's is charged where it is taken.
            host.add_names_wait(if is_block { 0 } else { self.waited_ns() - before_ns });
            let learnt = self.requested_at.filter(|_| received.is_ok());
            learnt.inspect(|start| host.learn_round_trip(start.elapsed().as_nanos() as u64));
            state = self.state();
            state.is_receiving = false;
            if state.is_given_up {
                drop(state);
                self.close();
                return Ok(None);
            }
            // A side that has no room for it hangs up: then everything is requested.
            let has_no_room =
                matches!(received, Err(NotTaken::Fault(NetFault::Lost(_)))) && state.credit.is_untouched();
            let arrived = received.and_then(|arrival| {
                state.count_trip(host, &arrival);
                state.handle(arrival)
            });
            match arrived {
                Err(NotTaken::Fault(fault)) if !has_no_room => {
                    self.came.notify_all();
                    return Err(fault);
                }
                Err(_) => {
                    host.cancel.check()?;
                    state.give_up();
                    // A lane that holds the connection may wait for the state.
                    drop(state);
                    self.close();
                    state = self.state();
                }
                Ok(()) => {}
            }
            self.came.notify_all();
        }
    }

    fn close(&self) {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).close();
        self.came.notify_all();
    }

    /// Drops what was sent ahead, and closes the connection; where a lane receives over it, that lane closes it. False where it
    /// was given up before.
    pub(super) fn give_up(&self) -> bool {
        let mut state = self.state();
        if state.is_given_up {
            return false;
        }
        state.give_up();
        let receives = state.is_receiving;
        drop(state);
        if !receives {
            self.close();
        }
        true
    }

    /// Sends what is to be said, then receives an answer, with its block or the digest of that.
    ///
    /// Errors: also where this side may not hold it.
    fn receive_one(&self, host: &RemoteHost) -> Result<Arrival, NotTaken> {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        self.send_credit(host, &mut channel)?;
        let head = channel.receive_head()?;
        let (number, is_block) = (head.number, head.kind == FrameKind::Block);
        let mut answer = None;
        let mut frames_bytes = 0;
        if !is_block {
            let body = channel.receive_body(head)?;
            frames_bytes = self.count(body.len())?;
            let read = host.read_unrequested(&body)?.map_err(|unheld| unheld.over)?;
            // Alone under its number, as the block of a place's file is.
            if let (Answer::Sum(digest), true) = (&*read, self.brings_sums)
                && self.state().awaits_block(number)
            {
                let block = Some((*digest, Vec::new()));
                return Ok(Arrival { number, answer: done(host)?, block, frames_bytes });
            }
            answer = Some(read);
        }
        let answer = answer.map_or_else(|| done(host), Ok)?;
        let expected = self.state().expected_block(number, &answer, is_block)?;
        let block = match expected {
            Some(len) => {
                let head = if is_block { head } else { channel.receive_head()? };
                // An older side sends the block.
                if head.kind == FrameKind::Message && self.brings_sums && head.number == number {
                    let body = channel.receive_body(head)?;
                    frames_bytes += self.count(body.len())?;
                    let Answer::Sum(digest) = host.decode(&body)? else {
                        return Err(WireError::Unexpected("another thing than a digest").into());
                    };
                    let block = Some((digest, Vec::new()));
                    return Ok(Arrival { number, answer, block, frames_bytes });
                }
                if (head.kind, head.number, head.len) != (FrameKind::Block, number, len) {
                    return Err(WireError::Unexpected("another block than was announced").into());
                }
                let (mut digest, mut bytes) = ([0; DIGEST_BYTES as usize], vec![0; len as usize]);
                channel.receive(&mut digest)?;
                channel.receive(&mut bytes)?;
                frames_bytes += self.count(digest.len() + bytes.len())?;
                Some((digest, bytes))
            }
            None => None,
        };
        Ok(Arrival { number, answer, block, frames_bytes })
    }

    fn count(&self, bytes: usize) -> Result<u64, WireError> {
        self.state().credit.handle_frame(bytes)
    }

    /// Sends credit and the numbers that are unwanted, if there are any.
    fn send_credit(&self, host: &RemoteHost, channel: &mut Channel) -> Result<(), NetFault> {
        let (grant, unwanted) = {
            let mut state = self.state();
            if state.is_given_up {
                return Ok(());
            }
            let waits = state.credit.is_used_up();
            let grant = state.credit.poll_grant();
            if waits && grant.is_some() {
                state.handle_waits(host.trips.sent());
            }
            (grant, state.take_unwanted())
        };
        if grant.is_none() && unwanted.is_empty() {
            return Ok(());
        }
        let messages = grant.map(PeerRequest::Credit).into_iter();
        let unwanted = unwanted.chunks(UNWANTED_MAX).map(|numbers| PeerRequest::Unwanted(numbers.to_vec()));
        for message in messages.chain(unwanted) {
            channel.put_message(&encode(&message), 0)?;
        }
        channel.flush()
    }

    /// What came is not held any more: the other side is told so soon. A lane that receives tells it when it receives
    /// the next.
    fn free(&self, host: &RemoteHost, bytes: u64) -> Result<(), NetFault> {
        self.state().credit.handle_free(bytes);
        match self.channel.try_lock() {
            Ok(mut channel) => self.send_credit(host, &mut channel),
            Err(_) => Ok(()),
        }
    }

    /// Nobody wants what has this number.
    pub(crate) fn unwanted(&self, number: u64) {
        self.state().drop_all(vec![number]);
    }

    /// The names of a folder are not wanted any more; nor is anything else in it, where it is left. False where the
    /// other side is not told here.
    pub(crate) fn forget_names(&self, folder: u64, leaves_folder: bool) -> bool {
        let mut state = self.state();
        state.forget_names(folder, leaves_folder);
        !state.is_given_up
    }
}

/// What the other side may send at first, and what that takes of the session's part.
fn window_of(host: &RemoteHost) -> Option<(u64, Charge)> {
    let halves = std::iter::successors(Some(WINDOW_BYTES), |bytes| Some(bytes / 2));
    let mut windows = halves.take_while(|bytes| *bytes >= WINDOW_MIN_BYTES);
    windows.find_map(|bytes| Some((bytes, host.charge_part(bytes as usize)?)))
}

/// What stands for the answer of a block that comes alone.
fn done(host: &RemoteHost) -> Result<ChargedValue<Answer>, NotTaken> {
    Ok(ChargedValue::new(Answer::Done, weight::answer_bytes(&Answer::Done), host.share())?)
}

/// Something that is on its way to this side.
#[derive(Debug)]
pub(crate) struct Follow {
    host: Arc<RemoteHost>,
    number: u64,
}

impl Follow {
    pub(super) fn coming(host: &Arc<RemoteHost>, number: u64) -> Arc<dyn Coming> {
        Arc::new(Follow { host: Arc::clone(host), number })
    }
}

impl Coming for Follow {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if let Some(ahead) = self.host.ahead.get() {
            ahead.unwanted(self.number);
        }
    }
}
