//! Answers over a long path, counted in round trips: the first of a connection, later ones, and those
//! behind a pause.
//!
//! Rounds are the time of an answer over the shortest round trip that the kernel saw of its connection, rounded to the
//! nearest: what the path takes to send the bytes is part of the time, which a fast path hides.
//!
//! Must not know: command lines, how a session is made.

use std::fmt;

use datapump::{Event, Job, Problem, RequestSeries, SocketFacts, TimedAnswers};
use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::stats::median;
use datapump_netlab::congestion::answer_rounds;

/// Segments that a sender may have under way at first (RFC 6928).
const INITIAL_WINDOW: u64 = 10;

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AnswerEvent {
    /// Its number; 1 is the first of the connection.
    pub event: u64,
    /// From the request to the last byte, in nanoseconds.
    pub elapsed_ns: u64,
    /// The time in round trips; null where the kernel tells none.
    pub round_trips: Option<f64>,
    /// To the nearest whole number, 1 or more.
    pub rounds: Option<u64>,
}

/// What came of requests and answers over one connection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequestResponse {
    /// Bytes that were requested each time.
    pub answer_size: u64,
    /// Bytes of an answer with head and digest, as they are sent.
    pub frame_bytes: u64,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Requests under way at most.
    pub depth: u64,
    /// Pause between an answer and the next request.
    pub idle_ns: u64,
    /// The shortest round trip of the connection; null where the kernel tells none.
    pub rtt_us: Option<u64>,
    /// What this side's window was at the end, in bytes.
    pub window_bytes: Option<u64>,
    /// Each answer.
    pub events: Vec<AnswerEvent>,
    /// Rounds of the first.
    pub first_rounds: Option<u64>,
    /// Their median of the others.
    pub later_rounds: Option<f64>,
    /// By the closed form: slow start from 10 segments, each round twice the one before, none above the window.
    pub fresh_rounds: Option<u64>,
    /// Answers a second, pauses counted.
    pub events_per_s: f64,
}

/// Requests answers and counts.
///
/// Errors: those of a session.
pub fn request_response(
    job: Job,
    series: RequestSeries,
    events: &(dyn Fn(Event) + Sync),
) -> Result<RequestResponse, Problem> {
    job.time_answers(series, events).map(|timed| RequestResponse::from_answers(series, &timed))
}

impl RequestResponse {
    fn from_answers(series: RequestSeries, timed: &TimedAnswers) -> RequestResponse {
        let info = timed.socket.as_ref().map(|SocketFacts { info, .. }| info);
        let rtt_us = info.map(|info| u64::from(info.min_rtt_us)).filter(|us| *us > 0);
        let window_bytes = info.map(|info| u64::from(info.window_bytes)).filter(|bytes| *bytes > 0);
        let segment_bytes = info.map(|info| u64::from(info.segment_bytes)).filter(|bytes| *bytes > 0);
        let events: Vec<AnswerEvent> = (1..)
            .zip(&timed.answers_ns)
            .map(|(event, elapsed_ns)| AnswerEvent::from_times(event, *elapsed_ns, rtt_us))
            .collect();
        let later: Vec<f64> =
            events.iter().skip(1).filter_map(|it| it.rounds).map(|rounds| rounds as f64).collect();
        let fresh = |segment: u64| {
            let window_max = window_bytes.map_or(u64::MAX, |bytes| bytes / segment);
            answer_rounds(timed.frame_bytes.div_ceil(segment), INITIAL_WINDOW, window_max, false)
        };
        RequestResponse {
            answer_size: series.answer_bytes.into(),
            frame_bytes: timed.frame_bytes,
            request_bytes: timed.request_bytes.into(),
            depth: series.depth.into(),
            idle_ns: series.idle.as_nanos() as u64,
            rtt_us,
            window_bytes,
            first_rounds: events.first().and_then(|first| first.rounds),
            later_rounds: median(&later),
            fresh_rounds: segment_bytes.map(fresh),
            events_per_s: events.len() as f64 / (timed.elapsed_ns.max(1) as f64 / 1e9),
            events,
        }
    }
}

impl AnswerEvent {
    fn from_times(event: u64, elapsed_ns: u64, rtt_us: Option<u64>) -> AnswerEvent {
        let round_trips = rtt_us.map(|us| elapsed_ns as f64 / 1e3 / us as f64);
        let rounds = round_trips.map(|trips| (trips.round() as u64).max(1));
        AnswerEvent { event, elapsed_ns, round_trips, rounds }
    }
}

impl fmt::Display for RequestResponse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "event  time [ms]  round trips  rounds")?;
        for AnswerEvent { event, elapsed_ns, round_trips, rounds } in &self.events {
            let trips = round_trips.map_or("-".into(), |trips| format!("{trips:.2}"));
            let rounds = rounds.map_or("-".into(), |rounds| rounds.to_string());
            writeln!(out, "{event:>5}  {:>9.2}  {trips:>11}  {rounds:>6}", *elapsed_ns as f64 / 1e6)?;
        }
        let ms = |us: u64| format!("{:.2} ms", us as f64 / 1e3);
        writeln!(
            out,
            "answers of {} bytes ({} with head and digest), requests of {}; round trip {}, {:.1} answers/s",
            self.answer_size,
            self.frame_bytes,
            self.request_bytes,
            self.rtt_us.map_or("unknown".into(), ms),
            self.events_per_s,
        )?;
        match self.fresh_rounds {
            Some(rounds) => {
                writeln!(out, "closed form of a fresh connection (window 10, doubling): {rounds} rounds")
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::os::linux::TcpInfo;
    use std::time::Duration;

    fn of(answers_ms: &[u64], window_bytes: u32) -> RequestResponse {
        let address = "127.0.0.1:1".parse().expect("an address");
        let info = TcpInfo { min_rtt_us: 20_000, segment_bytes: 1448, window_bytes, ..TcpInfo::default() };
        let timed = TimedAnswers {
            answers_ns: answers_ms.iter().map(|ms| ms * 1_000_000).collect(),
            elapsed_ns: answers_ms.iter().sum::<u64>() * 1_000_000,
            request_bytes: 48,
            frame_bytes: 1_000_056,
            socket: Some(SocketFacts { local: address, peer: address, congestion: None, info }),
        };
        let series = RequestSeries { answer_bytes: 1_000_000, count: 3, depth: 1, idle: Duration::ZERO };
        RequestResponse::from_answers(series, &timed)
    }

    #[test]
    fn s63_rounds_are_time_over_the_round_trip_and_the_first_stands_apart() {
        let found = of(&[144, 28, 22], 4 << 20);
        let rounds: Vec<_> = found.events.iter().map(|it| (it.event, it.rounds)).collect();
        assert_eq!(rounds, [(1, Some(7)), (2, Some(1)), (3, Some(1))]);
        assert_eq!(
            (found.first_rounds, found.later_rounds, found.fresh_rounds),
            (Some(7), Some(1.0), Some(7))
        );
        assert_eq!(of(&[3], 4 << 20).first_rounds, Some(1), "an answer takes a round trip");
        assert_eq!(of(&[3], 4 << 20).later_rounds, None);
    }

    /// Slide 71: an answer that the receive buffer limits. 1,000,000 bytes in windows of 64 KiB: 10, 20, 40 segments,
    /// then 45 a round.
    #[test]
    fn s63_a_window_makes_of_doubling_a_line() {
        assert_eq!(of(&[20], 65_536).fresh_rounds, Some(3 + 14));
        assert_eq!(answer_rounds(691, 10, 8, false), 691_u64.div_ceil(8));
        assert_eq!(answer_rounds(0, 10, u64::MAX, true), 1);
    }
}
