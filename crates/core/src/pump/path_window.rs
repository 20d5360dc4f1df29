//! How many requests fill a path: twice the delivery rate times the smallest round trip that was seen, in requests.
//!
//! The delivery rate is sampled with each reply: the replies that came since the request was sent, over the time that
//! they took (Cardwell, Cheng, Gunn, Yeganeh and Jacobson, *BBR*, ACM Queue 14(5), 2016). Twice, so that a window that
//! is too small doubles each round trip. Requests, not bytes: small files fill a path by their number. Our own queue
//! makes replies later, not earlier, so that the smallest round trip stays that of the path; the window does not follow
//! a path that gets longer meanwhile until its rate tells.
//!
//! Must not know: clocks, connections, how many requests the owner has room for.

use std::collections::VecDeque;

/// The path's state, as one connection's requests and replies show it. Replies come in the order of the requests.
#[derive(Debug, Default)]
pub struct PathWindow {
    under_way: VecDeque<SentRequest>,
    /// Replies that came so far.
    replies: u64,
    /// When the last of them came.
    replied_at_ns: u64,
    smallest_round_trip_ns: Option<u64>,
    /// The most that was found.
    requests: u32,
}

/// A request that is under way, and what had come when it was sent.
#[derive(Clone, Copy, Debug)]
struct SentRequest {
    at_ns: u64,
    replies: u64,
    replied_at_ns: u64,
}

impl PathWindow {
    /// A path of which others found this round trip: so many requests of `request_bytes` fill it at 10 Gbit/s, so that
    /// a fast one does not have to be found by doubling. More than a path takes costs nothing but the memory of slots:
    /// the side that reads does so only a few blocks ahead of what it sends.
    pub fn begin(&mut self, round_trip_ns: u64, request_bytes: u32) {
        const BYTES_PER_S: u128 = 1_250_000_000;
        let bytes = 2 * BYTES_PER_S * u128::from(round_trip_ns) / 1_000_000_000;
        let requests = (bytes / u128::from(request_bytes.max(1))).min(u128::from(u32::MAX)) as u32;
        self.requests = self.requests.max(requests);
    }

    /// Requests that fill the path, as far as is known; 0 when nothing is.
    #[inline]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// A request is sent.
    pub fn handle_request(&mut self, now_ns: u64) {
        // A pause before it was nobody's delivery.
        let replied_at_ns = if self.under_way.is_empty() { now_ns } else { self.replied_at_ns.min(now_ns) };
        self.replied_at_ns = replied_at_ns;
        self.under_way.push_back(SentRequest { at_ns: now_ns, replies: self.replies, replied_at_ns });
    }

    /// The oldest request is answered.
    pub fn handle_reply(&mut self, now_ns: u64) {
        let Some(sent) = self.under_way.pop_front() else { return };
        self.replies += 1;
        self.replied_at_ns = now_ns;
        let round_trip_ns = now_ns.saturating_sub(sent.at_ns).max(1);
        let smallest_ns = self.smallest_round_trip_ns.map_or(round_trip_ns, |ns| ns.min(round_trip_ns));
        self.smallest_round_trip_ns = Some(smallest_ns);
        let replies = u128::from(self.replies - sent.replies);
        let during_ns = u128::from(now_ns.saturating_sub(sent.replied_at_ns).max(1));
        let requests = (2 * replies * u128::from(smallest_ns)).div_ceil(during_ns);
        self.requests = self.requests.max(requests.min(u128::from(u32::MAX)) as u32);
    }

    /// The connection is lost, and what was under way with it.
    pub fn forget(&mut self) {
        self.under_way.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::PathWindow;

    const MS: u64 = 1_000_000;

    /// A path with this round trip on which a reply takes so long to send; the owner keeps the window full, up to
    /// `most`, for so many replies. Gives the window then.
    fn followed(round_trip_ns: u64, sending_ns: u64, (least, most): (u32, u32), replies: usize) -> u32 {
        let (mut window, mut now_ns, mut free_at_ns) = (PathWindow::default(), 0, 0);
        let mut arrivals = std::collections::VecDeque::new();
        for _ in 0..replies {
            while (arrivals.len() as u32) < window.requests().clamp(least, most) {
                window.handle_request(now_ns);
                free_at_ns = (now_ns + round_trip_ns).max(free_at_ns + sending_ns);
                arrivals.push_back(free_at_ns);
            }
            now_ns = arrivals.pop_front().expect("the window is not empty");
            window.handle_reply(now_ns);
        }
        window.requests()
    }

    #[test]
    fn a_long_path_is_filled_and_a_short_one_needs_no_more_than_it_had() {
        for (round_trip_ns, sending_ns, replies, expected) in [
            // 1 MiB at 1 GB/s, 180 ms away: 180 are under way when it is full, and twice as many are wanted.
            (180 * MS, MS, 2_000, 360..=364),
            // It doubles each round trip: 4, 8, 16, 32.
            (180 * MS, 1, 4, 8..=8),
            (180 * MS, 1, 4 + 8, 16..=16),
            (180 * MS, 1, 4 + 8 + 16, 32..=32),
            // Loopback: a block takes longer to send than the way.
            (MS / 10, MS / 2, 1_000, 0..=4),
            (MS, MS, 1_000, 0..=4),
        ] {
            let found = followed(round_trip_ns, sending_ns, (4, 1_000), replies);
            assert!(expected.contains(&found), "{round_trip_ns} {sending_ns} {replies}: {found}");
        }
    }

    #[test]
    fn a_known_round_trip_begins_with_what_ten_gigabits_hold() {
        for (round_trip_ns, expected) in [(0, 0), (MS / 10, 0), (4 * MS, 10), (180 * MS, 450)] {
            let mut window = PathWindow::default();
            window.begin(round_trip_ns, 1_000_000);
            assert_eq!(window.requests(), expected, "{round_trip_ns}");
        }
    }

    /// Whatever clocks do, nothing overflows, and a pause is not taken for a slow path.
    #[test]
    fn a_pause_between_requests_is_nobodys() {
        let mut window = PathWindow::default();
        for start_ns in [0, 1000 * MS, 500 * MS, u64::MAX - 1] {
            window.handle_request(start_ns);
            window.handle_reply(start_ns.saturating_add(10 * MS));
            assert!(window.requests() >= 2, "{start_ns}");
        }
        window.handle_reply(0);
        window.handle_request(5);
        window.forget();
        window.handle_reply(9);
    }
}
