//! Decides how many connections a long path takes: twice as many while they move more and no queue builds up.
//!
//! One connection moves what its buffers hold in a round trip, and less behind each loss; neither shows in the round
//! trip, which stays the path's own. Then more connections move more (Hacker, Athey and Noble, *The End-to-End
//! Performance Effects of Parallel TCP Sockets*, 2002). Where the round trip is longer, a queue stands: the path is
//! full, and another connection would only take from whoever shares it.
//!
//! Must not know: clocks, sockets, lanes.

/// A bandwidth that rises by less from one look to the next has come to rest.
const AT_REST: f64 = 1.1;
/// Looks for which nothing is concluded from new connections: they are made, and in slow start.
const YOUNG_LOOKS: u32 = 4;
/// Looks behind one that saw a queue for which the path is taken for full: slow start fills a queue, loses much at once
/// and leaves it empty for some round trips.
const FULL_LOOKS: u32 = 16;
/// Of what connections could add, were the path empty, so much must have come; else something else bounds the copy.
const GAIN_MIN: f64 = 0.25;
/// A round trip that is longer than the path's own by this part of it, and by a millisecond, has waited in a queue.
const QUEUE_PART: u64 = 8;
const QUEUE_MIN_NS: u64 = 1_000_000;

/// What was seen since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GrowthLook {
    /// What all connections together received.
    pub bytes_per_s: f64,
    /// A round trip now.
    pub round_trip_ns: u64,
    /// The shortest that was seen.
    pub path_round_trip_ns: u64,
}

/// Why there are as many as there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrowthState {
    /// They have not come to their bandwidth yet.
    #[default]
    Growing,
    /// A queue stands before the path.
    Queue,
    /// The last ones moved nothing more.
    NoGain,
    /// There may be no more.
    Most,
    /// The other side gave no more, or the network.
    Refused,
}

impl GrowthState {
    /// For a report.
    pub fn words(self) -> &'static str {
        match self {
            GrowthState::Growing => "the copy was over before more were needed",
            GrowthState::Queue => {
                "round trips are longer than the path's own: it is full, and a queue stands"
            }
            GrowthState::NoGain => "more of them moved no more",
            GrowthState::Refused => "no further one could be made",
            GrowthState::Most => "each more moved more, and there may be no more",
        }
    }
}

/// The number of connections of a copy.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionGrowth {
    first: u32,
    open: u32,
    most: u32,
    state: GrowthState,
    last_bytes_per_s: f64,
    young_looks: u32,
    full_looks: u32,
    /// Before there were as many: how many there were, and what they moved.
    before: Option<(u32, f64)>,
}

impl ConnectionGrowth {
    /// From `open` up to `most`.
    pub fn new(open: u32, most: u32) -> ConnectionGrowth {
        let (open, most) = (open.max(1), most.max(open).max(1));
        let state = if open == most { GrowthState::Most } else { GrowthState::default() };
        ConnectionGrowth {
            first: open,
            open,
            most,
            state,
            last_bytes_per_s: 0.0,
            young_looks: 0,
            full_looks: 0,
            before: None,
        }
    }

    /// Whether another look may change something.
    pub fn is_settled(&self) -> bool {
        matches!(self.state, GrowthState::NoGain | GrowthState::Most | GrowthState::Refused)
    }

    /// Whether there may be more than at first.
    pub fn may_grow(&self) -> bool {
        self.first < self.most
    }

    /// Why there are as many as there are.
    pub fn state(&self) -> GrowthState {
        self.state
    }

    /// One that was to be made could not be.
    pub fn handle_lack(&mut self) {
        self.state = GrowthState::Refused;
    }

    /// How many there are to be, after a look.
    pub fn look(&mut self, look: GrowthLook) -> u32 {
        let last = std::mem::replace(&mut self.last_bytes_per_s, look.bytes_per_s);
        if self.is_settled() || look.bytes_per_s <= 0.0 {
            return self.open;
        }
        self.young_looks = self.young_looks.saturating_sub(1);
        self.full_looks = if has_queue(&look) { FULL_LOOKS } else { self.full_looks.saturating_sub(1) };
        self.state = if self.full_looks > 0 {
            GrowthState::Queue
        } else if self.young_looks > 0 || look.bytes_per_s > last * AT_REST {
            GrowthState::Growing
        } else if self.was_for_nothing(look.bytes_per_s) {
            GrowthState::NoGain
        } else {
            self.open_more(look.bytes_per_s)
        };
        self.open
    }

    fn was_for_nothing(&self, bytes_per_s: f64) -> bool {
        self.before.is_some_and(|(open, before)| {
            let added = f64::from(self.open - open) / f64::from(open);
            bytes_per_s < before * (1.0 + added * GAIN_MIN)
        })
    }

    fn open_more(&mut self, bytes_per_s: f64) -> GrowthState {
        self.before = Some((self.open, bytes_per_s));
        self.young_looks = YOUNG_LOOKS;
        self.open = self.open.saturating_mul(2).min(self.most);
        if self.open == self.most { GrowthState::Most } else { GrowthState::Growing }
    }
}

fn has_queue(look: &GrowthLook) -> bool {
    let waited_ns = look.round_trip_ns.saturating_sub(look.path_round_trip_ns);
    waited_ns > (look.path_round_trip_ns / QUEUE_PART).max(QUEUE_MIN_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PATH_NS: u64 = 180 * MS;

    /// Looks at a path which gives `per_connection` to each, at most `link` to all, with a queue once it is full.
    fn looked(per_connection: f64, link: f64, looks: usize) -> (u32, GrowthState) {
        let (mut growth, mut open, mut moved) = (ConnectionGrowth::new(2, 16), 2, 0.0);
        for _ in 0..looks {
            let wanted = per_connection * f64::from(open);
            // Half of the way to the bandwidth with each look, as in slow start.
            moved = (moved + wanted.min(link)) / 2.0;
            let queue_ns = if wanted > link { 60 * MS } else { 0 };
            let round_trip_ns = PATH_NS + queue_ns;
            open = growth.look(GrowthLook { bytes_per_s: moved, round_trip_ns, path_round_trip_ns: PATH_NS });
        }
        (open, growth.state())
    }

    #[test]
    fn they_grow_until_the_path_is_full() {
        // 20 MB/s each by their buffers, 125 MB/s in all.
        assert_eq!(looked(20e6, 125e6, 60), (8, GrowthState::Queue));
        assert_eq!(looked(1e6, 125e6, 60), (16, GrowthState::Most));
        assert_eq!(looked(20e6, 125e6, 3), (2, GrowthState::Growing), "a short copy");
    }

    #[test]
    fn a_full_path_is_shared_with_two() {
        assert_eq!(looked(200e6, 50e6, 60), (2, GrowthState::Queue));
    }

    #[test]
    fn a_queue_that_slow_start_left_empty_is_still_one() {
        let mut growth = ConnectionGrowth::new(2, 16);
        let empty = GrowthLook { bytes_per_s: 10e6, round_trip_ns: PATH_NS, path_round_trip_ns: PATH_NS };
        let full = GrowthLook { round_trip_ns: 2 * PATH_NS, ..empty };
        let open: Vec<u32> = [empty, full, empty, empty, full, empty].map(|look| growth.look(look)).to_vec();
        assert_eq!((open, growth.state()), (vec![2; 6], GrowthState::Queue));
        assert!((0..20).map(|_| growth.look(empty)).any(|open| open > 2), "it is no queue for ever");
    }

    #[test]
    fn where_something_else_bounds_the_copy_they_stay() {
        let mut growth = ConnectionGrowth::new(2, 16);
        let slow = GrowthLook { bytes_per_s: 5e6, round_trip_ns: PATH_NS, path_round_trip_ns: PATH_NS };
        let open: Vec<u32> = (0..6).map(|_| growth.look(slow)).collect();
        assert_eq!((open, growth.state()), (vec![2, 4, 4, 4, 4, 4], GrowthState::NoGain));
        // What comes late counts, too.
        let mut growth = ConnectionGrowth::new(2, 16);
        let at = |mbytes: f64| GrowthLook { bytes_per_s: mbytes * 1e6, ..slow };
        let open: Vec<u32> =
            [20.0, 20.0, 20.0, 20.0, 30.0, 39.0, 40.0].map(|mbytes| growth.look(at(mbytes))).to_vec();
        assert_eq!(open, [2, 4, 4, 4, 4, 4, 8]);
    }

    #[test]
    fn what_stands_still_decides_nothing() {
        let mut growth = ConnectionGrowth::new(2, 16);
        let stalled = GrowthLook { path_round_trip_ns: PATH_NS, ..GrowthLook::default() };
        assert!((0..10).all(|_| growth.look(stalled) == 2));
        assert!(!growth.is_settled());
        assert!(ConnectionGrowth::new(4, 4).is_settled() && ConnectionGrowth::new(0, 0).is_settled());
    }
}
