//! A paced stream over a link with a queue to a receiver that is woken at timer ticks, in simulated time.
//!
//! The sender's CPU takes a time for each datagram, whatever its size, and sends no closer than asked. The link drops
//! what its queue cannot hold. The receiver's card gathers what comes and wakes the receiver at the next tick; with no
//! delay each datagram wakes it.
//!
//! Must not know: sockets, real clocks.

use datapump::datagrams::{DatagramCounter, DatagramCounts};

use crate::judge::datagrams::spacing::DatagramRate;
use crate::judge::frames::wire_bytes;
use datapump_netlab::Losses;
use datapump_netlab::congestion::bottleneck::QueuedLink;

/// A stream and its path.
#[derive(Clone, Debug)]
pub struct StreamCase {
    /// Datagrams that are sent.
    pub datagrams: u64,
    /// Payload of each.
    pub payload_bytes: u64,
    /// From one to the next, as asked.
    pub spacing_s: f64,
    /// CPU time of the sender for each.
    pub cost_s: f64,
    /// Speed of the link.
    pub link_bytes_per_s: f64,
    /// What its queue holds.
    pub queue_bytes: f64,
    /// Losses besides.
    pub losses: Losses,
    /// Time from one tick of the receiver's card to the next; 0: it does not wait.
    pub delay_s: f64,
}

/// What became of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamOutcome {
    /// What the receiver counted.
    pub counts: DatagramCounts,
    /// The rate at the receiver.
    pub rate: DatagramRate,
    /// How often the receiver was woken for each datagram.
    pub wake_ups_per_datagram: f64,
    /// How long datagrams waited in the receiver's card, in the mean.
    pub added_latency_s: f64,
}

/// Runs a stream.
pub fn simulate_stream(case: &StreamCase) -> StreamOutcome {
    let mut link =
        QueuedLink::new(case.link_bytes_per_s, wire_bytes(case.payload_bytes) as f64, case.queue_bytes);
    let (mut losses, mut card) = (case.losses.clone(), ReceiveCard::new(case.delay_s));
    let mut counter = DatagramCounter::new(case.datagrams);
    let apart_s = case.spacing_s.max(case.cost_s);
    for sequence in 0..case.datagrams {
        let sent_s = sequence as f64 * apart_s;
        let Ok(arrives_s) = link.take(sent_s) else { continue };
        if losses.is_lost() {
            continue;
        }
        let woken_s = card.wakes_at(arrives_s);
        counter.handle(sequence, case.payload_bytes, ns(sent_s), ns(woken_s));
    }
    let counts = counter.counts(case.datagrams);
    let unique = counts.unique.max(1);
    StreamOutcome {
        rate: DatagramRate::from_datagrams(unique - 1, case.payload_bytes, counts.elapsed_ns as f64 / 1e9),
        wake_ups_per_datagram: card.wake_ups as f64 / unique as f64,
        added_latency_s: card.waited_s / unique as f64,
        counts,
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// A network card that wakes its host at timer ticks (interrupt coalescence).
#[derive(Clone, Debug)]
pub struct ReceiveCard {
    delay_s: f64,
    /// The last tick at which it woke the host.
    last_s: f64,
    /// How often it did.
    pub wake_ups: u64,
    /// How long datagrams waited, in sum.
    pub waited_s: f64,
}

impl ReceiveCard {
    /// With this time from tick to tick; 0: it does not wait.
    pub fn new(delay_s: f64) -> ReceiveCard {
        ReceiveCard { delay_s, last_s: f64::NEG_INFINITY, wake_ups: 0, waited_s: 0.0 }
    }

    /// A datagram comes, not before the one before. When the host is woken for it.
    pub fn wakes_at(&mut self, arrives_s: f64) -> f64 {
        let woken_s =
            if self.delay_s > 0.0 { (arrives_s / self.delay_s).ceil() * self.delay_s } else { arrives_s };
        self.waited_s += woken_s - arrives_s;
        self.wake_ups += u64::from(woken_s > self.last_s || self.delay_s == 0.0);
        self.last_s = woken_s;
        woken_s
    }
}
