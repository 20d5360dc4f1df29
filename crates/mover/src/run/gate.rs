//! Lanes of a copy over a long path wait here until the path is seen to need them.
//!
//! The next lane that waits looks itself, now and then, what the connections of the open ones move. Must not know: how
//! a lane moves blocks, what decides that there are more.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use datapump_core::{ConnectionGrowth, GrowthLook, GrowthState};
use datapump_transport::ConnectionProbe;

/// Between two looks pass so many round trips, and this at least: a window of TCP follows a loss within some.
const ROUND_TRIPS: u32 = 4;
const LOOK_EACH_MIN: Duration = Duration::from_millis(200);

/// With how many lanes a copy over a long path begins, and to how many it may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneRange {
    pub at_first: u32,
    pub most: u32,
}

impl LaneRange {
    /// The same where the other side takes so many.
    pub fn at_most(self, most: u32) -> LaneRange {
        LaneRange { most: self.most.min(most), ..self }
    }
}

/// How many lanes are open, and whether there will be more.
#[derive(Debug)]
pub struct LaneGate {
    state: Mutex<GateState>,
    changed: Condvar,
    /// Those without which there is no copy.
    first: u32,
    most: u32,
    look_each: Duration,
}

#[derive(Debug)]
struct GateState {
    open: u32,
    /// Lanes that have a connection.
    placed: u32,
    growth: ConnectionGrowth,
    probes: Vec<ConnectionProbe>,
    /// Bytes that the connections had received at the last look.
    received_bytes: u64,
    looked: Instant,
    is_over: bool,
}

/// What opens no more when it goes: whoever has nothing left to do leaves nothing to others.
pub struct GateGuard<'gate>(&'gate LaneGate);

impl Drop for GateGuard<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl LaneGate {
    /// A gate for a number of lanes in this range. The job needs `first` of them: these are let in at once.
    pub fn new(first: u32, range: LaneRange, round_trip_ns: u64) -> LaneGate {
        let LaneRange { at_first, most } = range;
        let open = at_first.clamp(first, most);
        let growth = ConnectionGrowth::new(open, most);
        let (probes, looked) = (Vec::new(), Instant::now());
        let state = GateState { open, placed: 0, growth, probes, received_bytes: 0, looked, is_over: false };
        let look_each = (Duration::from_nanos(round_trip_ns) * ROUND_TRIPS).max(LOOK_EACH_MIN);
        LaneGate { state: Mutex::new(state), changed: Condvar::new(), first, most, look_each }
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the lane of this number may begin; false if it is never needed. The first have their connections
    /// before: what was agreed may be no more than those.
    pub fn opens_for(&self, lane: u32, is_stopping: &dyn Fn() -> bool) -> bool {
        let mut state = self.state();
        if !self.is_spare(lane) {
            return true;
        }
        while lane >= state.open || state.placed < self.first {
            if state.is_over || (lane >= state.open && state.growth.is_settled()) || is_stopping() {
                return false;
            }
            if lane == state.open && state.looked.elapsed() >= self.look_each {
                state.look_at_growth();
                self.changed.notify_all();
                continue;
            }
            let waited = self.changed.wait_timeout(state, LOOK_EACH_MIN / 2);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !state.is_over
    }

    /// Whether a lane is one of those that a copy can do without.
    pub fn is_spare(&self, lane: u32) -> bool {
        lane >= self.first
    }

    /// A lane has this connection.
    pub fn watch(&self, probe: Option<ConnectionProbe>) {
        let mut state = self.state();
        state.probes.extend(probe);
        state.placed += 1;
        self.changed.notify_all();
    }

    /// A spare lane got no connection: no further one will. At the end none is waited for, which says nothing.
    pub fn lacks_connection(&self) {
        let mut state = self.state();
        if !state.is_over {
            state.growth.handle_lack();
        }
        self.changed.notify_all();
    }

    /// How many lanes may move the copy by now.
    pub fn open(&self) -> u32 {
        self.state().open
    }

    /// How many there may be at the end.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// No further lane opens once this is dropped.
    pub fn guard(&self) -> GateGuard<'_> {
        GateGuard(self)
    }

    /// Whether nothing is left for another lane.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// No further lane opens.
    fn close(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Why there are as many lanes as there are; none where that was never open.
    pub fn why(&self) -> Option<GrowthState> {
        let state = self.state();
        (!state.probes.is_empty() && state.growth.may_grow()).then(|| state.growth.state())
    }
}

impl GateState {
    /// Measures what the connections received since the last look, and decides from that how many lanes may open.
    fn look_at_growth(&mut self) {
        let seen: Vec<_> = self.probes.iter().filter_map(ConnectionProbe::look).collect();
        let received_bytes = seen.iter().map(|it| it.received_bytes).sum::<u64>();
        let elapsed_s = self.looked.elapsed().as_secs_f64();
        let new_bytes = received_bytes.saturating_sub(self.received_bytes);
        (self.received_bytes, self.looked) = (received_bytes, Instant::now());
        let smallest = |time: fn(&datapump_transport::ConnectionLook) -> u64| {
            seen.iter().map(time).filter(|ns| *ns > 0).min().unwrap_or(0)
        };
        self.open = self.growth.look(GrowthLook {
            bytes_per_s: new_bytes as f64 / elapsed_s.max(1e-9),
            round_trip_ns: smallest(|it| it.round_trip_ns),
            path_round_trip_ns: smallest(|it| it.path_round_trip_ns),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const NEVER: &dyn Fn() -> bool = &|| false;

    #[test]
    fn the_first_lanes_do_not_wait_and_spare_ones_go_with_the_copy() {
        let gate = LaneGate::new(2, LaneRange { at_first: 2, most: 16 }, 180_000_000);
        assert!(gate.opens_for(0, NEVER) && gate.opens_for(1, NEVER));
        assert!(gate.is_spare(2) && !gate.is_spare(1));
        gate.watch(None);
        gate.watch(None);
        std::thread::scope(|scope| {
            let spare = [2, 3, 15].map(|lane| {
                scope.spawn({
                    let gate = &gate;
                    move || gate.opens_for(lane, NEVER)
                })
            });
            drop(gate.guard());
            assert!(spare.into_iter().all(|lane| !lane.join().expect("no panic")));
        });
        assert!(gate.opens_for(1, NEVER), "one of the first has its place also late");
    }

    /// A spare lane that takes the connection of one of the first ends a copy for which no more were agreed.
    #[test]
    fn spare_lanes_begin_behind_the_first() {
        let gate = LaneGate::new(2, LaneRange { at_first: 4, most: 16 }, 180_000_000);
        gate.watch(None);
        let looks = AtomicU32::new(0);
        let is_stopping = || looks.fetch_add(1, Ordering::Relaxed) > 2;
        assert!(!gate.opens_for(2, &is_stopping), "one of the first has none yet");
        gate.watch(None);
        assert!(gate.opens_for(2, NEVER) && gate.opens_for(3, NEVER));
        gate.lacks_connection();
        assert!(!gate.opens_for(4, NEVER), "no more can be had");
        assert_eq!(gate.state().growth.state(), GrowthState::Refused);
    }

    #[test]
    fn a_connection_that_is_not_waited_for_at_the_end_was_not_refused() {
        let gate = LaneGate::new(2, LaneRange { at_first: 4, most: 16 }, 180_000_000);
        drop(gate.guard());
        gate.lacks_connection();
        assert_eq!(gate.state().growth.state(), GrowthState::Growing);
    }

    #[test]
    fn nobody_waits_where_nothing_can_grow_or_a_stop_was_asked_for() {
        assert!(!LaneGate::new(2, LaneRange { at_first: 2, most: 2 }, 0).opens_for(2, NEVER));
        assert!(!LaneGate::new(2, LaneRange { at_first: 4, most: 16 }, 1).opens_for(4, &|| true));
        assert_eq!(
            LaneGate::new(2, LaneRange { at_first: 2, most: 16 }, 0).why(),
            None,
            "no connection was opened"
        );
    }
}
