//! Requests and answers over one connection, each timed: what a client of a server at a distance waits for.
//!
//! A request is one of a copy's for a block of null bytes, and the block is its answer: a head of 24 bytes, a digest
//! of 32, and the bytes. The connection is used for nothing else; the session goes on beside it over others.
//!
//! Must not know: what times mean, how they are shown.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::encode;
use datapump_core::wire::frame::{DIGEST_BYTES, HEAD_BYTES};
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::PeerRequest;
use datapump_core::wire::session::Direction;
use datapump_transport::{Channel, NetFault, SocketFacts};

use crate::net::client::path_look::SessionWork;
use crate::net::client::path_probe;
use crate::net::client::remote_copy::{Events, RemoteCopy, SessionStart};
use crate::net::client::session_pools::sleep_unless;
use crate::net::folder::remote_host::Pools;
use crate::place::Place;
use crate::problem::Problem;
use crate::setup::options::{Choice, Options};

/// Longer than any answer takes that is worth being timed.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);
/// While nothing is requested it is looked so often whether this side shall end.
const LOOK_EACH: Duration = Duration::from_millis(50);
/// Each answer is that of the next so many bytes of null: blocks begin at multiples of 1024.
const APART_BYTES: u64 = 1 << 30;

/// A series of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSeries {
    /// Bytes of each answer, without its head and digest.
    pub answer_bytes: u32,
    /// How many are requested.
    pub count: u32,
    /// How many are under way at most.
    pub depth: u32,
    /// For how long nothing is requested between an answer and the next request; with it there is one under way at a
    /// time, or as many as are requested together.
    pub idle: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct TimedAnswers {
    /// From each request to the last byte of its answer, in nanoseconds.
    pub answers_ns: Vec<u64>,
    /// From the first request to the last byte of the last answer.
    pub elapsed_ns: u64,
    /// Bytes of a request.
    pub request_bytes: u32,
    /// Bytes of an answer with its head and digest.
    pub frame_bytes: u64,
    /// The connection, as this side's kernel saw it; `None` where it goes through ssh.
    pub socket: Option<SocketFacts>,
}

impl RemoteCopy {
    /// Requests answers of the first source over one connection of their own, which is new.
    ///
    /// Errors: the server cannot be reached, refuses, serves files or is lost meanwhile; this side was stopped.
    pub fn time_answers(
        mut self,
        series: RequestSeries,
        events: Events<'_>,
    ) -> Result<TimedAnswers, Problem> {
        self.target = Place::null();
        self.retry_for = Some(Duration::ZERO);
        self.connections = Some(1);
        self.options.measuring.far_null_bytes = Some(u64::from(series.count) * APART_BYTES);
        self.options.tuning.request_bytes =
            Some(series.answer_bytes.next_multiple_of(Options::REQUEST_BYTES_MIN));
        // What comes without a request would share the path.
        self.options.network.read_ahead = Choice::Never;
        let (_, remote) = self.direction()?;
        let last = Mutex::default();
        let mut session = self.begin(&SessionStart::of_this_side(Direction::Pull, &remote, &last), events)?;
        let request = |pools: &Pools| request_all(pools, series, &self.stop);
        let SessionWork { outcome, talked, .. } = self.work_in(&mut session, request);
        outcome.map_err(|fault| talked.err().unwrap_or(fault).problem(&remote.to_string()))
    }
}

/// Takes connections of the session, sends the whole series over one of them, and times the answers.
fn request_all(pools: &Pools, series: RequestSeries, stop: &AtomicBool) -> Result<TimedAnswers, NetFault> {
    let mut names = pools.names.take(Purpose::Names)?;
    path_probe::open(&mut names)?;
    let mut channel = pools.blocks.take(Purpose::Blocks)?;
    let mut requesting = Requesting::new(series);
    let start = Instant::now();
    requesting.request_series(&mut channel, stop)?;
    Ok(TimedAnswers {
        elapsed_ns: start.elapsed().as_nanos() as u64,
        request_bytes: HEAD_BYTES as u32 + encode(&requesting.request(0)).len() as u32,
        frame_bytes: HEAD_BYTES as u64 + u64::from(DIGEST_BYTES) + u64::from(series.answer_bytes),
        socket: channel.socket_facts(),
        answers_ns: requesting.answers_ns,
    })
}

struct Requesting {
    series: RequestSeries,
    sent: u32,
    /// When those were requested that are not answered yet, in turn.
    under_way: VecDeque<Instant>,
    answers_ns: Vec<u64>,
}

impl Requesting {
    fn new(series: RequestSeries) -> Requesting {
        Requesting { series, sent: 0, under_way: VecDeque::new(), answers_ns: Vec::new() }
    }

    /// Sends requests as many together as the series says, and times each answer.
    ///
    /// Errors: also an answer that takes too long, or a stop.
    fn request_series(&mut self, channel: &mut Channel, stop: &AtomicBool) -> Result<(), NetFault> {
        let mut answer = vec![0; self.series.answer_bytes as usize];
        while self.answers_ns.len() < self.series.count as usize {
            if self.under_way.is_empty() && self.sent > 0 {
                sleep_unless(self.series.idle, LOOK_EACH, || stop.load(Ordering::Relaxed));
            }
            if stop.load(Ordering::Relaxed) {
                return Err(NetFault::Stopped);
            }
            for _ in 0..self.may_send() {
                channel.put_message(&encode(&self.request(self.sent)), u64::from(self.sent) + 1)?;
                self.sent += 1;
                self.under_way.push_back(Instant::now());
            }
            channel.flush()?;
            channel.within(ANSWER_WAIT_MAX, |channel| path_probe::receive_block(channel, &mut answer))?;
            let requested = self.under_way.pop_front().unwrap_or_else(Instant::now);
            self.answers_ns.push(requested.elapsed().as_nanos() as u64);
        }
        Ok(())
    }

    /// How many are requested now: with pauses only when all have been answered.
    fn may_send(&self) -> u32 {
        let under_way = self.under_way.len() as u32;
        let is_pausing = !self.series.idle.is_zero() && under_way > 0;
        let room = if is_pausing { 0 } else { self.series.depth.saturating_sub(under_way) };
        room.min(self.series.count - self.sent)
    }

    fn request(&self, number: u32) -> PeerRequest {
        let at = FileSize(u64::from(number) * APART_BYTES);
        PeerRequest::Read { file: path_probe::FILE, at, len: self.series.answer_bytes, sum: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_pauses_nothing_is_requested_before_all_is_answered() {
        let series = |depth, idle| RequestSeries { answer_bytes: 64, count: 5, depth, idle };
        for (depth, idle_ms, under_way, sent, may) in [
            (1, 0, 0, 0, 1),
            (1, 0, 1, 1, 0),
            (4, 0, 2, 2, 2),
            (4, 0, 1, 4, 1),
            (4, 10, 2, 4, 0),
            (4, 10, 0, 4, 1),
            (4, 10, 0, 0, 4),
        ] {
            let mut requesting = Requesting::new(series(depth, Duration::from_millis(idle_ms)));
            requesting.sent = sent;
            requesting.under_way = vec![Instant::now(); under_way].into();
            assert_eq!(
                requesting.may_send(),
                may,
                "{depth} deep, {idle_ms} ms, {under_way} under way, {sent} sent"
            );
        }
    }
}
