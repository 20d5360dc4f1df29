//! One direction of a relayed connection: bytes are queued in order until they are due.
//!
//! Time is an argument, counted from the start of the relay. Must not know: sockets, clocks, threads.

use std::collections::VecDeque;
use std::time::Duration;

use datapump_engine::sim::Random;

use super::RelayOptions;

/// 90 ms at 2.8 GB/s. A queue of this size accepts nothing more until some of it was sent.
pub const QUEUED_BYTES_MAX: usize = 256 << 20;
/// Most bytes of one read: the copy of so many takes far longer than the system call.
const CHUNK_BYTES: usize = 256 << 10;
/// A read that fills less than 1 / SPARSE of its space is copied into an allocation of its own size.
const SPARSE: usize = 4;
/// Memory of a chunk besides its bytes.
const CHUNK_COST_BYTES: usize = 96;
/// At a limited rate a chunk takes at most a hundredth of a second, and is never smaller than a packet.
const CHUNKS_PER_SECOND: u64 = 100;
const PACKET_BYTES: u64 = 1500;
/// Queue in front of a limited rate: that of a router. The sender then waits.
const RATE_QUEUE_MAX: Duration = Duration::from_millis(50);

/// How a direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// The sender closed it (FIN).
    Closed,
    /// The connection was reset (RST), or was refused.
    Reset,
}

/// Bytes of one read.
#[derive(Debug)]
struct DelayedChunk {
    due: Duration,
    bytes: Vec<u8>,
    /// The part that is still to be sent.
    left: std::ops::Range<usize>,
}

/// The queue of one direction.
#[derive(Debug)]
pub struct DelayLine {
    options: RelayOptions,
    random: Random,
    chunks: VecDeque<DelayedChunk>,
    queued_bytes: usize,
    /// Space for the next read.
    space: Vec<u8>,
    /// Space of chunks that were sent, to be used again.
    spare: Vec<Vec<u8>>,
    /// When the last byte so far leaves at the limited rate.
    is_free_at: Duration,
    last_due: Duration,
    end: Option<(Duration, LineEnd)>,
    /// The end was forwarded, or there is nobody to forward it to.
    is_over: bool,
}

impl DelayLine {
    /// An empty queue. Bytes that are pushed before `opens_at` count as pushed then.
    pub fn new(options: RelayOptions, random: Random, opens_at: Duration) -> DelayLine {
        DelayLine {
            options,
            random,
            chunks: VecDeque::new(),
            queued_bytes: 0,
            space: Vec::new(),
            spare: Vec::new(),
            is_free_at: opens_at,
            last_due: Duration::ZERO,
            end: None,
            is_over: false,
        }
    }

    /// Whether more bytes may be pushed now.
    pub fn accepts(&self, now: Duration) -> bool {
        self.is_open()
            && self.queued_bytes < QUEUED_BYTES_MAX
            && self.rate_accepts_at().is_none_or(|at| at <= now)
    }

    /// When it accepts more bytes, if that depends on time alone.
    pub fn accepts_at(&self) -> Option<Duration> {
        self.rate_accepts_at().filter(|_| self.is_open() && self.queued_bytes < QUEUED_BYTES_MAX)
    }

    fn is_open(&self) -> bool {
        self.end.is_none() && !self.is_over
    }

    fn rate_accepts_at(&self) -> Option<Duration> {
        self.options.bytes_per_second.map(|_| self.is_free_at.saturating_sub(RATE_QUEUE_MAX))
    }

    /// Space to read the next bytes into.
    pub fn space(&mut self) -> &mut [u8] {
        if self.space.is_empty() {
            self.space = self.spare.pop().unwrap_or_else(|| vec![0; CHUNK_BYTES]);
        }
        let most = self.options.bytes_per_second.map_or(CHUNK_BYTES as u64, |rate| rate / CHUNKS_PER_SECOND);
        let most = most.clamp(PACKET_BYTES, CHUNK_BYTES as u64);
        &mut self.space[..most as usize]
    }

    /// Queues the first `len` bytes of the space, which were received `now` and are delayed by `delay`.
    pub fn push(&mut self, len: usize, now: Duration, delay: Duration) {
        let due = self.due(len, now, delay);
        let bytes = if len * SPARSE < self.space.len() {
            self.space[..len].to_vec()
        } else {
            std::mem::take(&mut self.space)
        };
        self.queued_bytes += bytes.len() + CHUNK_COST_BYTES;
        self.chunks.push_back(DelayedChunk { due, bytes, left: 0..len });
    }

    /// Queues the end. A reset may follow a close, also one that was forwarded already.
    pub fn end(&mut self, end: LineEnd, now: Duration, delay: Duration) {
        self.end = Some((self.due(0, now, delay), end));
        self.is_over = false;
    }

    /// Drops all that is queued: its receiver is gone.
    pub fn discard(&mut self) {
        self.chunks.clear();
        (self.queued_bytes, self.end, self.is_over) = (0, None, true);
    }

    /// When bytes that are pushed now are due: not before those that are queued already.
    fn due(&mut self, len: usize, now: Duration, delay: Duration) -> Duration {
        let begins = now.max(self.is_free_at);
        let takes = self.options.bytes_per_second.map_or(0.0, |rate| len as f64 / rate as f64);
        self.is_free_at = begins + Duration::from_secs_f64(takes);
        let jitter_ns = u64::try_from(self.options.jitter.as_nanos()).unwrap_or(u64::MAX);
        let jitter = Duration::from_nanos(self.random.below(jitter_ns.saturating_add(1)));
        self.last_due = self.last_due.max(self.is_free_at + delay + jitter);
        self.last_due
    }

    /// The next bytes to send, if they are due.
    pub fn poll(&self, now: Duration) -> Option<&[u8]> {
        let first = self.chunks.front().filter(|chunk| chunk.due <= now)?;
        Some(&first.bytes[first.left.clone()])
    }

    /// `len` of the bytes that [`DelayLine::poll`] gave were sent.
    pub fn sent(&mut self, len: usize) {
        let Some(first) = self.chunks.front_mut() else { return };
        first.left.start += len;
        if !first.left.is_empty() {
            return;
        }
        let Some(chunk) = self.chunks.pop_front() else { return };
        self.queued_bytes -= chunk.bytes.len() + CHUNK_COST_BYTES;
        if chunk.bytes.len() == CHUNK_BYTES {
            self.spare.push(chunk.bytes);
        }
    }

    /// The end, once: when it is due and all bytes were sent.
    pub fn poll_end(&mut self, now: Duration) -> Option<LineEnd> {
        let (_, end) = self.end.filter(|(due, _)| self.chunks.is_empty() && *due <= now)?;
        (self.end, self.is_over) = (None, true);
        Some(end)
    }

    /// When the next bytes or the end are due.
    pub fn next_due(&self) -> Option<Duration> {
        let first = self.chunks.front().map(|chunk| chunk.due);
        first.or(self.end.map(|(due, _)| due))
    }

    /// Whether its end was forwarded, or its receiver is gone.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(90);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn line(jitter: Duration, bytes_per_second: Option<u64>) -> DelayLine {
        let options = RelayOptions { delay: DELAY, jitter, bytes_per_second };
        DelayLine::new(options, Random::new(7), Duration::ZERO)
    }

    fn push(line: &mut DelayLine, bytes: &[u8], now: Duration) {
        line.space()[..bytes.len()].copy_from_slice(bytes);
        line.push(bytes.len(), now, DELAY);
    }

    /// All bytes that are due by then.
    fn arrived(line: &mut DelayLine, now: Duration) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(bytes) = line.poll(now).map(<[u8]>::to_vec) {
            line.sent(bytes.len());
            all.extend(bytes);
        }
        all
    }

    #[test]
    fn bytes_leave_when_they_are_due_and_the_end_leaves_last() {
        let mut line = line(Duration::ZERO, None);
        push(&mut line, b"one", ms(0));
        push(&mut line, b"two", ms(10));
        line.end(LineEnd::Closed, ms(20), DELAY);
        assert!(!line.accepts(ms(20)));
        for (now, bytes, end) in [
            (89, &b""[..], None),
            (90, b"one", None),
            (99, b"", None),
            (105, b"two", None),
            (110, b"", Some(LineEnd::Closed)),
            (200, b"", None),
        ] {
            assert_eq!(arrived(&mut line, ms(now)), bytes, "at {now} ms");
            assert_eq!(line.poll_end(ms(now)), end, "at {now} ms");
        }
        assert!(line.is_over() && line.queued_bytes == 0);
        line.end(LineEnd::Reset, ms(200), DELAY);
        assert!(!line.is_over(), "a reset follows");
        assert_eq!(line.poll_end(ms(290)), Some(LineEnd::Reset));
    }

    #[test]
    fn jitter_and_a_shorter_delay_change_no_order() {
        let mut line = line(ms(50), None);
        let mut sent = Vec::new();
        for number in 0..100 {
            line.space()[0] = number;
            line.push(1, ms(u64::from(number)), if number < 50 { DELAY } else { ms(1) });
            sent.push(number);
        }
        let dues: Vec<Duration> = line.chunks.iter().map(|chunk| chunk.due).collect();
        assert!(dues.is_sorted());
        let early = dues.iter().zip(0..50).filter(|(due, number)| **due < ms(*number) + DELAY).count();
        assert_eq!(early, 0, "none before its delay");
        assert_eq!(arrived(&mut line, ms(1000)), sent);
    }

    #[test]
    fn nothing_leaves_before_the_line_opens() {
        let options = RelayOptions { delay: DELAY, ..RelayOptions::default() };
        let mut line = DelayLine::new(options, Random::new(7), ms(180));
        push(&mut line, b"early", ms(0));
        assert_eq!(line.next_due(), Some(ms(270)));
    }

    #[test]
    fn a_rate_spaces_bytes_and_its_queue_is_short() {
        let mut line = line(Duration::ZERO, Some(100_000));
        assert_eq!(line.space().len(), PACKET_BYTES as usize, "a hundredth of a second is less");
        let mut pushed = 0;
        while line.accepts(ms(0)) {
            push(&mut line, &[7; 1000], ms(0));
            pushed += 1;
        }
        // 10 ms each: what begins within 50 ms is accepted.
        assert_eq!((pushed, line.accepts_at()), (6, Some(ms(10))));
        assert_eq!(line.next_due(), Some(ms(100)));
        assert_eq!(arrived(&mut line, ms(119)).len(), 2000);
        assert!(line.accepts(ms(10)));
    }

    #[test]
    fn the_queue_is_bounded_and_its_memory_is_used_again() {
        let mut line = line(Duration::ZERO, None);
        let mut chunks = 0;
        while line.accepts(ms(0)) {
            let len = line.space().len();
            line.push(len, ms(0), DELAY);
            chunks += 1;
        }
        assert_eq!(chunks, QUEUED_BYTES_MAX / (CHUNK_BYTES + CHUNK_COST_BYTES) + 1);
        assert_eq!(line.accepts_at(), None, "it depends on the receiver");
        arrived(&mut line, DELAY);
        assert_eq!((line.queued_bytes, line.spare.len()), (0, chunks));
        push(&mut line, b"few", ms(100));
        assert_eq!((line.queued_bytes, line.spare.len()), (3 + CHUNK_COST_BYTES, chunks - 1));
        line.discard();
        assert!(line.is_over() && line.poll(ms(1000)).is_none() && line.next_due().is_none());
    }
}
