//! Reserves the memory of a session, and so the number of its connections.
//!
//! Must not know: what the session moves, who asks for it.

use datapump_core::wire::session::Message;
use datapump_transport::is_long_path;

use super::{CONNECTION_BYTES, ServerState, Wanted, refusal};
use crate::problem::{Class, Operation, Problem};
use crate::setup::budget::Reserved;
use crate::setup::defaults::Reads;
use crate::setup::options::Options;

impl Wanted {
    /// To so many connections for blocks the session may grow.
    pub(super) fn connections_max(&self) -> u32 {
        self.options.limits.lanes_max.unwrap_or(0).max(self.connections)
    }

    /// As far as the memory goes that was reserved for so many requests at the source of each that it begins with.
    fn bound_lanes(&mut self, usual_depth: u32) {
        let reserved_bytes = u64::from(self.connections).saturating_mul(self.lane_bytes(usual_depth));
        let least_bytes = self.lane_bytes(Options::defaults(Reads::RemoteFiles).source_depth);
        let fit = u32::try_from(reserved_bytes / least_bytes).unwrap_or(u32::MAX);
        let most = |most: u32| most.min(fit).max(self.connections);
        self.options.limits.lanes_max = self.options.limits.lanes_max.map(most);
    }

    /// What its slots take with so many requests at the source, unless the caller asks for another number.
    fn slots_bytes(&self, usual_depth: u32) -> u64 {
        // Blocks sent ahead have slots of their own at the side that reads.
        let ahead = u64::from(self.gives_ahead());
        (u64::from(self.connections) + ahead).saturating_mul(self.lane_bytes(usual_depth))
    }

    /// The same of one connection.
    fn lane_bytes(&self, usual_depth: u32) -> u64 {
        let (options, usual) = (&self.options, Options::defaults(Reads::RemoteFiles));
        let slots = options.tuning.source_depth.unwrap_or(usual_depth)
            + options.tuning.sink_depth.unwrap_or(usual.sink_depth);
        let slot_bytes = options.tuning.request_bytes.unwrap_or(usual.request_bytes);
        (u64::from(slots) * u64::from(slot_bytes)).max(CONNECTION_BYTES)
    }
}

/// Reserves what the slots of a session take; where that is too much, without those for what is sent ahead.
pub(super) fn reserve(state: &ServerState, wanted: &mut Wanted) -> Result<Reserved, Box<Message>> {
    let reserved = reserve_all(state, wanted);
    if reserved.is_ok() || !wanted.gives_ahead() {
        return reserved;
    }
    wanted.sends_ahead = false;
    reserve_all(state, wanted)
}

/// Reserves what the slots of a session take. What it has in all is a limit for good, what others have of it one for
/// now. Where little is free, a long path is filled with fewer requests, and trees are asked for as files are.
fn reserve_all(state: &ServerState, wanted: &mut Wanted) -> Result<Reserved, Box<Message>> {
    let memory_bytes = state.options.memory_bytes;
    let [files, trees] = [Reads::RemoteFiles, Reads::RemoteTrees].map(Options::defaults);
    let alone_bytes = wanted.slots_bytes(files.source_depth);
    if alone_bytes > memory_bytes {
        let words = "this server never has so much memory (--memory); ask for fewer or smaller requests";
        let problem = Problem::of(Class::Refused, Operation::Open, words);
        return Err(refusal(problem));
    }
    // One that needs more than that part can have it alone. The greater depths leave room for others.
    let parts = (2..).map(|part| trees.source_depth_max * 2 / part);
    // Over a short path nothing is gained by them.
    let is_short = wanted.round_trip_ns != u64::MAX && !is_long_path(wanted.round_trip_ns);
    let greater = parts.take_while(|depth| *depth > trees.source_depth && !is_short);
    let greater = greater.map(|depth| (depth, memory_bytes / 2));
    let least = [
        (trees.source_depth, memory_bytes / 2),
        (files.source_depth, alone_bytes.max(state.budget.slots_bytes_max())),
    ];
    let reserved = |(depth, most)| Some((depth, state.budget.reserve(wanted.slots_bytes(depth), most)?));
    let Some((depth, reserved)) = greater.chain(least).find_map(reserved) else {
        return Err(Box::new(Message::Busy("this server has not so much memory free".into())));
    };
    wanted.options.limits.source_depth_max = Some(depth);
    wanted.bound_lanes(depth);
    if depth == files.source_depth {
        wanted.options.tuning.source_depth.get_or_insert(depth);
    }
    Ok(reserved)
}
