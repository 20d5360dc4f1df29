//! One sender over a path: what is under way, which losses it has learnt of, and what it sends next.
//!
//! A loss is learnt of when three segments behind it have come (RFC 5681, section 3.2; the scoreboard of RFC 6675 where
//! `is_selective`). Losses of one window of data take one cut. Without selective acknowledgements one segment is sent
//! again in each round trip (RFC 6582). Where nothing comes any more, a timer ends the wait (RFC 6298, with the 0.2 s
//! of Linux).
//!
//! Must not know: other flows, what the path is made of.

use std::collections::VecDeque;

use super::window::{AckClock, CongestionWindow};

/// As many segments behind a loss tell of it.
const DUPLICATES: u64 = 3;
/// The least that a timer waits beside the round trip.
const TIMER_S: f64 = 0.2;

/// A segment under way.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// When its acknowledgement is here, or would have been.
    pub back_s: f64,
    /// Whether it was lost.
    pub is_lost: bool,
    /// Whether it was sent before.
    pub is_again: bool,
}

/// What a flow is set to.
#[derive(Clone, Debug)]
pub struct SenderSettings {
    /// Where the window begins.
    pub window: CongestionWindow,
    /// What the smaller of the buffers holds, in segments.
    pub buffer_segments: f64,
    /// Whether every second segment is acknowledged.
    pub is_delayed: bool,
    /// Whether the receiver tells of all that it has (SACK).
    pub is_selective: bool,
}

/// A sender.
#[derive(Clone, Debug)]
pub struct Sender {
    set: SenderSettings,
    in_flight: VecDeque<InFlight>,
    /// Sent, less what has come and what is known as lost.
    pipe: u64,
    /// Sent in all, in the order of sending: the number of the next.
    sent: u64,
    /// The number of the one at the head.
    head: u64,
    /// Lost, and not learnt of; the number of the last of them, and how many have come behind the first.
    unknown: u64,
    last_unknown: u64,
    behind: u64,
    /// To be sent again.
    missing: u64,
    /// Whether one is under way again, where they go one by one.
    again_in_flight: bool,
    /// What was sent before this belongs to a window that was cut.
    cut_until: u64,
    timer_s: f64,
    acks: u64,
    /// Segments that have come, each once.
    pub delivered: u64,
    /// Segments that were lost.
    pub losses: u64,
    /// Windows that were cut for a loss, and by a timer.
    pub cuts: u64,
    pub timeouts: u64,
}

impl Sender {
    /// A flow that has sent nothing.
    pub fn new(set: SenderSettings) -> Sender {
        Sender {
            set,
            in_flight: VecDeque::new(),
            pipe: 0,
            sent: 0,
            head: 0,
            unknown: 0,
            last_unknown: 0,
            behind: 0,
            missing: 0,
            again_in_flight: false,
            cut_until: 0,
            timer_s: f64::INFINITY,
            acks: 0,
            delivered: 0,
            losses: 0,
            cuts: 0,
            timeouts: 0,
        }
    }

    /// The window, as the buffers let it be.
    pub fn window_segments(&self) -> f64 {
        self.set.window.segments().min(self.set.buffer_segments)
    }

    /// When something happens next.
    pub fn next_s(&self) -> f64 {
        self.in_flight.front().map_or(self.timer_s, |next| next.back_s)
    }

    /// What happens next, happens.
    pub fn step(&mut self, clock: AckClock) {
        match self.in_flight.pop_front() {
            Some(segment) => {
                self.arrived(segment, clock);
                self.head += 1;
            }
            None => self.time_out(),
        }
    }

    fn arrived(&mut self, segment: InFlight, clock: AckClock) {
        if segment.is_lost {
            (self.unknown, self.last_unknown) = (self.unknown + 1, self.head);
        } else {
            self.pipe -= 1;
            self.delivered += 1;
            self.again_in_flight &= !segment.is_again;
            self.acknowledged(clock);
            if self.unknown > 0 {
                self.behind += 1;
                if self.behind >= DUPLICATES {
                    self.learn();
                }
            }
        }
        if self.in_flight.is_empty() && self.unknown > 0 {
            self.timer_s = clock.now_s + clock.rtt_s + TIMER_S;
        }
    }

    fn acknowledged(&mut self, clock: AckClock) {
        self.acks += 1;
        let counts = !self.set.is_delayed || self.acks.is_multiple_of(2);
        // A window that the buffers or a cut hold does not grow (RFC 7661, section 4.2).
        let is_whole = self.missing == 0 || self.set.window.is_in_slow_start();
        let is_free = self.head >= self.cut_until && is_whole;
        if counts && is_free && self.set.window.segments() < self.set.buffer_segments {
            self.set.window.acknowledge(1.0, clock);
        }
    }

    /// The window is cut for losses that are learnt of, unless it was for others of the same window of data.
    fn learn(&mut self) {
        let is_new = self.last_unknown >= self.cut_until;
        self.know();
        if is_new {
            self.set.window.lose();
            (self.cut_until, self.cuts) = (self.sent, self.cuts + 1);
        }
    }

    /// All losses so far are known of.
    fn know(&mut self) {
        self.pipe -= self.unknown;
        self.missing += self.unknown;
        (self.unknown, self.behind, self.again_in_flight) = (0, 0, false);
    }

    fn time_out(&mut self) {
        self.know();
        self.set.window.time_out();
        (self.timer_s, self.timeouts, self.cut_until) = (f64::INFINITY, self.timeouts + 1, self.sent);
    }

    /// Whether the window lets a segment go; and whether that is one which was lost.
    pub fn sends(&self) -> Option<bool> {
        if self.pipe >= self.window_segments() as u64 {
            return None;
        }
        Some(self.missing > 0 && (self.set.is_selective || !self.again_in_flight))
    }

    /// A segment goes.
    pub fn send(&mut self, segment: InFlight) {
        self.in_flight.push_back(segment);
        (self.pipe, self.sent) = (self.pipe + 1, self.sent + 1);
        self.losses += u64::from(segment.is_lost);
        if segment.is_again {
            (self.missing, self.again_in_flight) = (self.missing - 1, true);
        }
    }
}
