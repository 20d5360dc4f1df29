//! Requests that are sent without waiting for an answer, because none of them depends on one.
//!
//! Must not know: what is requested, what the answers are used for.

use std::sync::atomic::Ordering;

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::turns::RequestTurns;
use datapump_core::wire::{WireError, encode};
use datapump_transport::{Channel, NetFault};

use super::{RemoteHost, body, has_more, phase_of};
use crate::problem::Problem;
use crate::report::latency::round_trips::{TripPhase, TripStamp};
use crate::setup::budget::{Charge, OverBudget};

/// Bytes of requests under way: as much as connections take without anybody reading.
const UNDER_WAY_BYTES: usize = 32 << 10;

/// The one answer to a request, or why this side may not hold it.
pub(super) type OneAnswer = Result<(Answer, Charge), OverBudget>;

/// A request under way.
struct AskedRequest<What> {
    what: What,
    bytes: usize,
    stamp: TripStamp,
    phase: TripPhase,
}

impl RemoteHost {
    /// Makes requests that have one answer each; `tell` gets each answer in the order of the requests.
    pub(super) fn request_together<What>(
        &self,
        asks: &mut dyn Iterator<Item = (What, PeerRequest)>,
        tell: &mut dyn FnMut(What, OneAnswer),
    ) -> Result<(), Problem> {
        let asked = self.pools.names.take(Purpose::Names).and_then(|mut channel| {
            let before_ns = channel.waited_ns();
            self.request_together_over(&mut channel, asks, tell)?;
            self.add_names_wait(channel.waited_ns() - before_ns);
            self.pools.names.give(channel);
            Ok(())
        });
        asked.map_err(|fault| self.lost(&fault))
    }

    /// Sends the requests over this connection, as many ahead as its bytes may be under way, and gives each answer to `tell`.
    ///
    /// Errors: a request has more than one answer.
    fn request_together_over<What>(
        &self,
        channel: &mut Channel,
        asks: &mut dyn Iterator<Item = (What, PeerRequest)>,
        tell: &mut dyn FnMut(What, OneAnswer),
    ) -> Result<(), NetFault> {
        let (mut asks, mut turns, mut under_way_bytes) = (asks.peekable(), RequestTurns::default(), 0);
        let mut before_ns = Some(channel.waited_ns());
        while asks.peek().is_some() || !turns.is_empty() {
            if under_way_bytes < UNDER_WAY_BYTES / 2 {
                while under_way_bytes < UNDER_WAY_BYTES
                    && let Some((what, ask)) = asks.next()
                {
                    let message = encode(&ask);
                    let (bytes, stamp, phase) = (message.len(), self.trips.sent(), phase_of(&ask));
                    under_way_bytes += bytes;
                    channel.put_message(&message, turns.ask(AskedRequest { what, bytes, stamp, phase }))?;
                }
                channel.flush()?;
            }
            let body = body(channel, &turns)?;
            if let Some(before_ns) = before_ns.take() {
                self.round_trip_ns.fetch_min(channel.waited_ns() - before_ns, Ordering::Relaxed);
            }
            let answer = self.read(&body)?;
            if answer.as_ref().map_or_else(|unheld| unheld.more, |answer| has_more(answer)) {
                return Err(WireError::Unexpected("more than one answer").into());
            }
            let Some(AskedRequest { what, bytes, stamp, phase }) = turns.handle_end() else { break };
            under_way_bytes -= bytes;
            self.trips.answered(stamp, phase);
            tell(what, answer.map(|answer| answer.into_parts()).map_err(|unheld| unheld.over));
        }
        Ok(())
    }
}
