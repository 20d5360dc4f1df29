//! One direction of a path: frames are read from one device as they come, wait as long as the link says, and are handed
//! to the other.
//!
//! Must not know: what a link does, what is in a frame.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;
use std::time::Instant;

use datapump_engine::os::linux::timer_slack;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::device::TunDevice;
use super::frame::{HEADER_BYTES, cut, packets};
use super::link::{EmulatedLink, LinkSettings, PacketFate};
use super::stats::{DirectionStats, HandedOver, StatsTally};

/// The largest frame, with its header.
const FRAME_BYTES: usize = HEADER_BYTES + 65_536;
/// Frames that are read before those that are due are looked at again.
const READS: u32 = 32;
/// What a piece of a frame takes of the link at most, where it has more than one packet: a receiver shall see packets
/// come as they would.
const PIECE_NS: u64 = 250_000;
/// What waits in one direction at most; more has no room, whatever was asked.
const WAITING_MAX_BYTES: u64 = 1 << 30;
/// Buffers that are kept for the next frames.
const SPARE_MAX: usize = 256;
/// The longest wait: it is looked then whether to stop.
const WAIT_NS: u64 = 100_000_000;

/// A piece that waits. By time, then by number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WaitingPiece {
    at_ns: u64,
    number: u64,
    bytes: u64,
    taken_bytes: u64,
    has_waited: bool,
    frame: Vec<u8>,
}

/// A piece of a frame that goes as one: its packets, when the first and the last are due, how often it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FramePiece {
    part: Range<u32>,
    first_ns: u64,
    last_ns: u64,
    copies: u32,
    has_waited: bool,
    taken_bytes: u64,
}

/// One direction.
pub struct OneWay<'a> {
    from: &'a TunDevice,
    to: &'a TunDevice,
    link: EmulatedLink,
    rate_bytes_per_s: Option<f64>,
    started: Instant,
    waiting: BinaryHeap<Reverse<WaitingPiece>>,
    waiting_bytes: u64,
    number: u64,
    spare: Vec<Vec<u8>>,
    tally: StatsTally,
}

impl<'a> OneWay<'a> {
    pub fn new(from: &'a TunDevice, to: &'a TunDevice, link: LinkSettings) -> OneWay<'a> {
        OneWay {
            from,
            to,
            rate_bytes_per_s: link.rate_bytes_per_s,
            link: EmulatedLink::new(link),
            started: Instant::now(),
            waiting: BinaryHeap::new(),
            waiting_bytes: 0,
            number: 0,
            spare: Vec::new(),
            tally: StatsTally::default(),
        }
    }

    /// Carries until it is to stop.
    pub fn run(mut self, is_over: impl Fn() -> bool) -> io::Result<DirectionStats> {
        // The default lets timers be 50 us late.
        timer_slack(1)?;
        let mut frame = vec![0; FRAME_BYTES];
        while !is_over() {
            self.hand_over();
            if !self.take(&mut frame)? {
                self.wait()?;
            }
        }
        Ok(self.tally.finish(self.link.counts, self.rate_bytes_per_s, self.from.overrun()))
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Reads some frames, as long as none is due. False if there was none.
    fn take(&mut self, frame: &mut [u8]) -> io::Result<bool> {
        for taken in 0..READS {
            let Some(bytes) = self.from.read(frame)? else { return Ok(taken > 0) };
            self.offer(&frame[..bytes]);
            if self.waiting.peek().is_some_and(|next| next.0.at_ns <= self.now_ns()) {
                break;
            }
        }
        Ok(true)
    }

    fn offer(&mut self, frame: &[u8]) {
        let now_ns = self.now_ns();
        let all = packets(frame);
        for piece in pieces(frame, &mut self.link, now_ns) {
            if self.waiting_bytes > WAITING_MAX_BYTES {
                self.link.counts.no_room += u64::from(piece.part.end - piece.part.start);
                continue;
            }
            for _ in 0..piece.copies {
                self.put(frame, &piece, all.bytes_of(&piece.part));
            }
        }
    }

    /// Puts a piece to those that wait.
    fn put(&mut self, frame: &[u8], piece: &FramePiece, bytes: u64) {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        cut(frame, &piece.part, &mut copy);
        self.waiting_bytes += copy.len() as u64;
        self.waiting.push(Reverse(WaitingPiece {
            at_ns: piece.last_ns,
            number: self.number,
            bytes,
            taken_bytes: piece.taken_bytes,
            has_waited: piece.has_waited,
            frame: copy,
        }));
        self.number += 1;
    }

    /// Hands over what is due.
    fn hand_over(&mut self) {
        while let Some(Reverse(next)) = self.waiting.peek()
            && next.at_ns <= self.now_ns()
            && let Some(Reverse(next)) = self.waiting.pop()
        {
            let WaitingPiece { at_ns: due_ns, bytes, taken_bytes, has_waited, frame, .. } = next;
            self.waiting_bytes -= frame.len() as u64;
            if self.to.write(&frame) {
                let now_ns = self.now_ns();
                self.tally.handed_over(HandedOver { bytes, taken_bytes, due_ns, now_ns, has_waited });
            } else {
                self.tally.refused();
            }
            if self.spare.len() < SPARE_MAX {
                self.spare.push(frame);
            }
        }
    }

    /// Until a frame comes or one is due.
    fn wait(&self) -> io::Result<()> {
        let due_ns = self.waiting.peek().map(|next| next.0.at_ns.saturating_sub(self.now_ns()));
        let wait_ns = due_ns.unwrap_or(WAIT_NS).min(WAIT_NS);
        let wait = Timespec { tv_sec: 0, tv_nsec: wait_ns as _ };
        let fd = self.from.as_fd();
        match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What becomes of a frame: the pieces of it that leave the link.
fn pieces(frame: &[u8], link: &mut EmulatedLink, now_ns: u64) -> Vec<FramePiece> {
    let all = packets(frame);
    let mut pieces: Vec<FramePiece> = Vec::with_capacity(1);
    for packet in 0..all.count {
        let bytes = all.bytes_of(&(packet..packet + 1));
        let PacketFate::Leaves { at_ns, copies, has_waited } = link.offer(bytes, now_ns) else { continue };
        let taken_bytes = link.taken_bytes;
        match pieces.last_mut() {
            Some(piece) if piece.takes(packet, at_ns, copies) => {
                (piece.part.end, piece.last_ns, piece.taken_bytes) = (packet + 1, at_ns, taken_bytes);
            }
            _ => {
                let part = packet..packet + 1;
                pieces.push(FramePiece {
                    part,
                    first_ns: at_ns,
                    last_ns: at_ns,
                    copies,
                    has_waited,
                    taken_bytes,
                });
            }
        }
    }
    pieces
}

impl FramePiece {
    /// Whether the packet of this number goes with it.
    fn takes(&self, packet: u32, at_ns: u64, copies: u32) -> bool {
        self.part.end == packet
            && self.copies == copies
            && at_ns >= self.last_ns
            && at_ns - self.first_ns <= PIECE_NS
    }
}
