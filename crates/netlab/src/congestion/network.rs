//! Flows over one bottleneck, in simulated time.
//!
//! Must not know: what is asked about them.

use super::bottleneck::QueuedLink;
use super::flow::{InFlight, Sender};
use super::window::AckClock;
use crate::losses::Losses;

/// A flow, its path and its time.
#[derive(Clone, Debug)]
pub struct Member {
    pub flow: Sender,
    pub rtt_s: f64,
    pub from_s: f64,
    pub until_s: f64,
    has_begun: bool,
    /// The window over time, in segments times seconds, up to the last event.
    pub window_s: f64,
    last_s: f64,
    /// Its next segment is lost, because another's was.
    loses_next: bool,
}

impl Member {
    pub fn new(flow: Sender, rtt_s: f64, from_s: f64, until_s: f64) -> Member {
        Member {
            flow,
            rtt_s,
            from_s,
            until_s,
            has_begun: false,
            window_s: 0.0,
            last_s: from_s,
            loses_next: false,
        }
    }

    /// Time passes with the window as it is.
    fn pass(&mut self, now_s: f64) {
        self.window_s += self.flow.window_segments() * (now_s - self.last_s).max(0.0);
        self.last_s = self.last_s.max(now_s);
    }

    /// When something happens to it next.
    fn next_s(&self) -> f64 {
        if self.has_begun { self.flow.next_s() } else { self.from_s }
    }
}

/// All of it.
#[derive(Clone, Debug)]
pub struct SharedPath {
    pub link: QueuedLink,
    pub members: Vec<Member>,
    /// Whether a queue that is full drops a segment of every flow.
    pub is_common: bool,
    now_s: f64,
    losses: Losses,
}

impl SharedPath {
    pub fn new(link: QueuedLink, members: Vec<Member>, losses: Losses) -> SharedPath {
        SharedPath { link, members, is_common: false, now_s: 0.0, losses }
    }

    /// Goes on until this time.
    pub fn run(&mut self, until_s: f64) {
        loop {
            let next = self.members.iter().map(Member::next_s).enumerate();
            let Some((at, next_s)) = next.min_by(|one, other| one.1.total_cmp(&other.1)) else { return };
            if next_s > until_s {
                return;
            }
            self.now_s = next_s;
            self.happen(at);
        }
    }

    fn happen(&mut self, at: usize) {
        let (now_s, wait_s) = (self.now_s, self.link.wait_s(self.now_s));
        let member = &mut self.members[at];
        member.pass(now_s);
        if std::mem::replace(&mut member.has_begun, true) {
            member.flow.step(AckClock { now_s, rtt_s: member.rtt_s + wait_s });
        }
        if now_s < member.until_s {
            while let Some(is_again) = self.members[at].flow.sends() {
                self.send(at, is_again);
            }
        }
    }

    fn send(&mut self, at: usize, is_again: bool) {
        let left = self.link.take(self.now_s);
        if left.is_err() && self.is_common {
            let now_s = self.now_s;
            let there = self.members.iter_mut().filter(|it| it.has_begun && now_s < it.until_s);
            there.for_each(|member| member.loses_next = true);
        }
        let by_chance = self.losses.is_lost();
        let member = &mut self.members[at];
        let is_lost = std::mem::take(&mut member.loses_next) || by_chance || left.is_err();
        let (Ok(left_s) | Err(left_s)) = left;
        member.flow.send(InFlight { back_s: left_s + member.rtt_s, is_lost, is_again });
    }
}
