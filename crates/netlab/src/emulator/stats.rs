//! Counts of a path, and how near it was to its settings.
//!
//! Must not know: devices, links.

use schemars::JsonSchema;
use serde::Serialize;

use super::link::LinkCounts;

/// A shorter time in which a link had always something to carry tells nothing of its rate.
const BUSY_MIN_NS: u64 = 50_000_000;

/// What went over a path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathStats {
    /// From left to right.
    pub there: DirectionStats,
    /// From right to left.
    pub back: DirectionStats,
}

/// What went over it in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DirectionStats {
    /// Packets that were offered.
    pub packets: u64,
    /// Bytes of those that were handed over, with the headers of IP.
    pub bytes: u64,
    /// Lost on the way, as was asked.
    pub lost: u64,
    /// For which the queue had no room.
    pub no_room: u64,
    /// That the queue's management dropped.
    pub managed: u64,
    /// That overtook others.
    pub overtook: u64,
    /// That came twice.
    pub duplicated: u64,
    /// Frames that the kernel did not take.
    pub refused: u64,
    /// That the kernel dropped before they could be read: this process was too slow.
    pub overrun: u64,
    /// By how much frames were handed over later than computed from when they were read, in the mean.
    pub mean_late_ns: u64,
    /// At most.
    pub max_late_ns: u64,
    /// The rate while the link had always something to carry, as a part of the rate that was asked; null where it
    /// never had for long, or without a rate.
    pub rate_share: Option<f64>,
}

/// When the first frame and the last of such a time were handed over, and what the link had taken up to each.
#[derive(Clone, Copy, Debug)]
struct Busy {
    first_ns: u64,
    last_ns: u64,
    first_bytes: u64,
    last_bytes: u64,
}

/// A frame that is handed over.
#[derive(Clone, Copy, Debug)]
pub struct HandedOver {
    /// Its packets, with their headers.
    pub bytes: u64,
    /// What the link had taken up to its last packet.
    pub taken_bytes: u64,
    /// When it was due, and when it was handed over.
    pub due_ns: u64,
    pub now_ns: u64,
    /// Whether it had to wait for others.
    pub has_waited: bool,
}

/// Counts what is handed over.
#[derive(Clone, Debug, Default)]
pub struct StatsTally {
    stats: DirectionStats,
    frames: u64,
    late_ns: u64,
    /// The time since when the link has always had something to carry.
    busy: Option<Busy>,
    /// Of such times that were long enough: how long, and how many bytes.
    busy_ns: u64,
    busy_bytes: u64,
}

impl StatsTally {
    /// A frame was handed over.
    pub fn handed_over(&mut self, it: HandedOver) {
        let late_ns = it.now_ns.saturating_sub(it.due_ns);
        self.stats.bytes += it.bytes;
        self.stats.max_late_ns = self.stats.max_late_ns.max(late_ns);
        (self.frames, self.late_ns) = (self.frames + 1, self.late_ns + late_ns);
        match &mut self.busy {
            Some(busy) if it.has_waited => {
                (busy.last_ns, busy.last_bytes) = (it.now_ns, busy.last_bytes.max(it.taken_bytes));
            }
            _ => {
                self.end_busy();
                let (ns, bytes) = (it.now_ns, it.taken_bytes);
                self.busy = Some(Busy { first_ns: ns, last_ns: ns, first_bytes: bytes, last_bytes: bytes });
            }
        }
    }

    /// The kernel did not take a frame.
    pub fn refused(&mut self) {
        self.stats.refused += 1;
    }

    fn end_busy(&mut self) {
        if let Some(busy) = self.busy.take()
            && busy.last_ns - busy.first_ns >= BUSY_MIN_NS
        {
            self.busy_ns += busy.last_ns - busy.first_ns;
            self.busy_bytes += busy.last_bytes - busy.first_bytes;
        }
    }

    /// All of it.
    pub fn finish(
        mut self,
        counts: LinkCounts,
        rate_bytes_per_s: Option<f64>,
        overrun: u64,
    ) -> DirectionStats {
        self.end_busy();
        let share = |rate: f64| self.busy_bytes as f64 / (self.busy_ns as f64 / 1e9) / rate;
        DirectionStats {
            packets: counts.offered,
            lost: counts.lost,
            no_room: counts.no_room,
            managed: counts.managed,
            overtook: counts.overtook,
            duplicated: counts.duplicated,
            overrun,
            mean_late_ns: self.late_ns.checked_div(self.frames).unwrap_or(0),
            rate_share: rate_bytes_per_s.filter(|_| self.busy_ns > 0).map(share),
            ..self.stats
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_times_in_which_something_always_waited() {
        let mut tally = StatsTally::default();
        let ms = 1_000_000;
        let mut taken_bytes = 0;
        let mut hand_over = |at_ns, late_ns, has_waited| {
            taken_bytes += 1000;
            let (due_ns, now_ns) = (at_ns, at_ns + late_ns);
            tally.handed_over(HandedOver { bytes: 1000, taken_bytes, due_ns, now_ns, has_waited });
        };
        // 1000 bytes a millisecond, for 100 ms; then one by one with pauses.
        (0..=100).for_each(|at| hand_over(at * ms, 0, at > 0));
        (0..10).for_each(|at| hand_over((200 + 10 * at) * ms, 500, false));
        let it = tally.finish(LinkCounts::default(), Some(1e6), 3);
        assert_eq!((it.rate_share, it.bytes, it.max_late_ns, it.mean_late_ns), (Some(1.0), 111_000, 500, 45));
        assert_eq!(it.overrun, 3);
        assert_eq!(StatsTally::default().finish(LinkCounts::default(), Some(1e6), 0).rate_share, None);
    }
}
