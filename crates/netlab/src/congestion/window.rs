//! A congestion window, stepped per acknowledgement.
//!
//! Must not know: paths, queues, whose acknowledgements they are.

mod cubic;
pub mod highspeed;

use self::cubic::Cubic;
use super::Stack;

/// No loss leaves less (RFC 5681, section 3.1).
const LEAST_SEGMENTS: f64 = 2.0;

/// Of a window of more segments, a thousandth is acknowledged at once where nothing else happens meanwhile.
const STRIDES: f64 = 1000.0;

/// When an acknowledgement comes, and how long its segment was under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckClock {
    pub now_s: f64,
    pub rtt_s: f64,
}

/// A window of one of the stacks.
#[derive(Clone, Debug)]
pub struct CongestionWindow {
    stack: Stack,
    segments: f64,
    /// Below it the window is in slow start.
    threshold: f64,
    cubic: Cubic,
    /// What HighSpeed gains in a round trip, and the whole window for which it was computed: both are dear.
    gain: (u64, f64),
}

impl CongestionWindow {
    /// In slow start.
    pub fn new(stack: Stack, segments: f64) -> CongestionWindow {
        CongestionWindow {
            stack,
            segments,
            threshold: f64::INFINITY,
            cubic: Cubic::default(),
            gain: (0, 1.0),
        }
    }

    /// In congestion avoidance.
    pub fn in_avoidance(stack: Stack, segments: f64) -> CongestionWindow {
        CongestionWindow { threshold: segments, ..CongestionWindow::new(stack, segments) }
    }

    /// Its size, in segments.
    pub fn segments(&self) -> f64 {
        self.segments
    }

    /// So many segments may be acknowledged at once, without a difference that shows.
    pub fn stride(&self) -> f64 {
        (self.segments / STRIDES).floor().max(1.0)
    }

    /// Whether it grows by each segment that is acknowledged.
    pub fn is_in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// `counted` segments are acknowledged: one for an acknowledgement, or those that it covers.
    pub fn acknowledge(&mut self, counted: f64, clock: AckClock) {
        if self.is_in_slow_start() {
            self.segments += counted;
            return;
        }
        self.segments += match self.stack {
            Stack::Reno => counted / self.segments,
            Stack::HighSpeed | Stack::HighSpeedTable => counted * self.gain() / self.segments,
            Stack::Scalable => counted * 0.01,
            Stack::Cubic => self.cubic.growth(self.segments, counted, clock),
        };
    }

    fn gain(&mut self) -> f64 {
        let whole = self.segments as u64;
        if whole != self.gain.0 {
            let gain = match self.stack {
                Stack::HighSpeedTable => highspeed::step(self.segments).increase as f64,
                _ => highspeed::increase(self.segments),
            };
            self.gain = (whole, gain);
        }
        self.gain.1
    }

    /// A loss in one window of data.
    pub fn lose(&mut self) {
        let left = match self.stack {
            Stack::Reno => self.segments * 0.5,
            Stack::HighSpeed => self.segments * (1.0 - highspeed::decrease(self.segments)),
            Stack::HighSpeedTable => {
                self.segments * (1.0 - highspeed::step(self.segments).decrease_256 as f64 / 256.0)
            }
            Stack::Scalable => self.segments * 0.875,
            Stack::Cubic => self.cubic.lose(self.segments),
        };
        self.threshold = left.max(LEAST_SEGMENTS);
        self.segments = self.threshold;
    }

    /// Nothing came for too long: slow start from one segment.
    pub fn time_out(&mut self) {
        self.lose();
        // CUBIC begins anew (RFC 9438, section 4.8).
        (self.segments, self.cubic) = (1.0, Cubic::default());
    }
}
