//! Counts the datagrams of a stream by their sequence numbers and times.
//!
//! Definitions: a datagram is lost if its number never came; a duplicate if its number had come before; reordered if it
//! is the first with its number and that is below the next expected one, which is one above the highest so far (RFC
//! 4737, 3.3: singleton reordering). The jitter is that of RFC 3550, 6.4.1: |D| smoothed by a sixteenth, D being how
//! much longer a datagram was on its way than the one before. Only differences of each clock are used.
//!
//! Must not know: sockets, clocks, rates.

use super::{DatagramCounts, LossGaps};

/// Counts as datagrams come.
#[derive(Clone, Debug)]
pub struct DatagramCounter {
    /// A bit for each number that may come.
    came: Vec<u64>,
    datagrams: u64,
    counts: DatagramCounts,
    /// The next expected number.
    next: u64,
    first_ns: Option<u64>,
    /// When the last one came and was sent.
    last: Option<(u64, u64)>,
    jitter_ns: f64,
}

impl DatagramCounter {
    /// For numbers below this one.
    pub fn new(datagrams: u64) -> DatagramCounter {
        DatagramCounter {
            came: vec![0; datagrams.div_ceil(64) as usize],
            datagrams,
            counts: DatagramCounts::default(),
            next: 0,
            first_ns: None,
            last: None,
            jitter_ns: 0.0,
        }
    }

    /// A datagram came. False if its number is none that may come: it is not counted.
    pub fn handle(&mut self, sequence: u64, payload_bytes: u64, sent_ns: u64, now_ns: u64) -> bool {
        if sequence >= self.datagrams {
            return false;
        }
        self.counts.received += 1;
        self.handle_time(sent_ns, now_ns);
        let (word, bit) = (&mut self.came[(sequence / 64) as usize], 1 << (sequence % 64));
        if *word & bit != 0 {
            self.counts.duplicates += 1;
            return true;
        }
        *word |= bit;
        self.counts.unique += 1;
        self.counts.bytes += payload_bytes;
        if sequence < self.next {
            self.counts.reordered += 1;
        } else {
            self.next = sequence + 1;
        }
        true
    }

    fn handle_time(&mut self, sent_ns: u64, now_ns: u64) {
        let first_ns = *self.first_ns.get_or_insert(now_ns);
        self.counts.elapsed_ns = now_ns.saturating_sub(first_ns);
        if let Some((last_ns, last_sent_ns)) = self.last {
            self.counts.arrivals.add(now_ns.saturating_sub(last_ns));
            let between = |one: u64, other: u64| one as f64 - other as f64;
            let longer = between(now_ns, last_ns) - between(sent_ns, last_sent_ns);
            self.jitter_ns += (longer.abs() - self.jitter_ns) / 16.0;
        }
        self.last = Some((now_ns, sent_ns));
    }

    /// Numbers that came.
    pub fn unique(&self) -> u64 {
        self.counts.unique
    }

    /// Whether this number came.
    pub fn has(&self, sequence: u64) -> bool {
        self.came.get((sequence / 64) as usize).is_some_and(|word| word & (1 << (sequence % 64)) != 0)
    }

    /// The counts, where so many were sent.
    pub fn counts(&self, sent: u64) -> DatagramCounts {
        let sent = sent.min(self.datagrams).max(self.next);
        let lost = (0..sent).filter(|sequence| !self.has(*sequence));
        DatagramCounts {
            lost: sent - self.counts.unique,
            gaps: LossGaps::from_lost(lost),
            jitter_ns: self.jitter_ns as u64,
            ..self.counts.clone()
        }
    }
}
