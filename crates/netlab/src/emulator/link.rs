//! A link in one direction, in figures: which of the packets that are offered it loses, and when the others leave it.
//!
//! A packet waits until those before it have gone at the link's rate, then takes the way. What waits is computed, not
//! kept: a packet knows when it is offered when it will leave.
//!
//! Must not know: what packets are made of, clocks, who carries them.

use std::time::Duration;

use datapump_engine::sim::Random;

use super::codel::Codel;
use crate::SettingsError;
use crate::losses::{LossRule, Losses};

/// What a link does. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// None: as fast as packets can be moved.
    pub rate_bytes_per_s: Option<f64>,
    /// The time that the way takes.
    pub delay_ns: u64,
    /// The way takes up to so much more or less, in the same order: the delay moves between the two.
    pub jitter_ns: u64,
    /// What may wait.
    pub queue_bytes: u64,
    /// The rule that drops before the queue is full.
    pub aqm: Aqm,
    /// The losses besides.
    pub loss: LossRule,
    /// So many packets are lost at once.
    pub loss_burst: u32,
    /// The packet of this number (from 1) is lost.
    pub drop_at: Option<u64>,
    /// The part of the packets that overtake those before them.
    pub reorder: f64,
    /// The part of the packets that come twice.
    pub duplicate: f64,
    /// Of all that happens by chance.
    pub seed: u64,
}

/// What makes a path: a modem's rate to more than memory gives, and a time there and back of a minute.
const RATE_MIN_BYTES_PER_S: f64 = 125.0;
const RATE_MAX_BYTES_PER_S: f64 = 125e9;
const DELAY_MAX_NS: u64 = 30_000_000_000;

/// The least that a queue holds by default.
const QUEUE_MIN_BYTES: u64 = 64 << 10;

impl LinkSettings {
    /// A link that loses nothing but what finds no room in a queue of a round trip.
    pub fn plain(rate_bytes_per_s: Option<u64>, rtt: Duration) -> LinkSettings {
        let rate = rate_bytes_per_s.map(|rate| rate as f64);
        let holds = rate.map_or(0.0, |rate| rate * rtt.as_secs_f64()) as u64;
        LinkSettings {
            rate_bytes_per_s: rate,
            delay_ns: rtt.as_nanos() as u64 / 2,
            jitter_ns: 0,
            queue_bytes: holds.max(QUEUE_MIN_BYTES),
            aqm: Aqm::None,
            loss: LossRule::None,
            loss_burst: 1,
            drop_at: None,
            reorder: 0.0,
            duplicate: 0.0,
            seed: 1,
        }
    }

    /// Errors: numbers out of range, settings that contradict each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        let asked = |words: &str| Err(SettingsError::new(words));
        let is_rate = |rate: f64| (RATE_MIN_BYTES_PER_S..=RATE_MAX_BYTES_PER_S).contains(&rate);
        if !self.rate_bytes_per_s.is_none_or(is_rate) {
            asked("a rate must be from 1kbit to 1000Gbit")
        } else if self.delay_ns > DELAY_MAX_NS {
            asked("a round trip must be at most 60s")
        } else if self.jitter_ns > self.delay_ns {
            asked("a way takes half of the round trip: jitter must be at most that")
        } else if self.reorder > 0.0 && self.delay_ns == 0 {
            asked("without a round trip time there is nothing to overtake; give --rtt")
        } else if self.aqm == Aqm::Codel && self.rate_bytes_per_s.is_none() {
            asked("without a rate nothing waits that CoDel could drop; give --rate")
        } else {
            Ok(())
        }
    }
}

/// Active queue management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// A queue drops when it is full.
    None,
    /// CoDel (RFC 8289).
    Codel,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFate {
    /// It leaves the link then, so many times; whether it has waited for others.
    Leaves { at_ns: u64, copies: u32, has_waited: bool },
    /// Lost on the way.
    Lost,
    /// The queue has no room.
    NoRoom,
    /// The queue's management drops it.
    Managed,
}

/// What happened so far, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    pub offered: u64,
    pub lost: u64,
    pub no_room: u64,
    pub managed: u64,
    pub overtook: u64,
    pub duplicated: u64,
}

/// A link.
#[derive(Clone, Debug)]
pub struct EmulatedLink {
    set: LinkSettings,
    random: Random,
    codel: Codel,
    /// When all that was taken has gone on its way.
    free_ns: f64,
    /// When the last packet leaves that keeps the order.
    last_ns: u64,
    wander: Wander,
    /// What has taken its time of the link so far: what was lost on the way has, too.
    pub taken_bytes: u64,
    losses: Losses,
    /// How many are still lost with the last one.
    burst_left: u32,
    pub counts: LinkCounts,
}

impl EmulatedLink {
    pub fn new(set: LinkSettings) -> EmulatedLink {
        let random = Random::seeded(set.seed, "a link");
        let losses = Losses::new(set.loss, set.seed);
        EmulatedLink {
            set,
            random,
            codel: Codel::default(),
            free_ns: 0.0,
            last_ns: 0,
            wander: Wander::default(),
            taken_bytes: 0,
            losses,
            burst_left: 0,
            counts: LinkCounts::default(),
        }
    }

    /// Offers a packet that takes so many bytes of the wire.
    pub fn offer(&mut self, bytes: u64, now_ns: u64) -> PacketFate {
        self.counts.offered += 1;
        let (gone_ns, has_waited) = match self.queue(bytes, now_ns) {
            Ok(gone) => gone,
            Err(fate) => return fate,
        };
        self.taken_bytes += bytes;
        // A packet that is lost on the way has taken its time of the link.
        if self.is_lost() {
            self.counts.lost += 1;
            return PacketFate::Lost;
        }
        let at_ns = self.way(now_ns, gone_ns);
        let copies = 1 + u32::from(self.happens(self.set.duplicate));
        self.counts.duplicated += u64::from(copies - 1);
        PacketFate::Leaves { at_ns, copies, has_waited }
    }

    /// When it has gone on its way and whether it has waited, or why it does not go.
    fn queue(&mut self, bytes: u64, now_ns: u64) -> Result<(u64, bool), PacketFate> {
        let Some(rate) = self.set.rate_bytes_per_s else { return Ok((now_ns, false)) };
        let wait_ns = (self.free_ns - now_ns as f64).max(0.0);
        let before_bytes = wait_ns * rate / 1e9;
        if before_bytes > self.set.queue_bytes as f64 {
            self.counts.no_room += 1;
            return Err(PacketFate::NoRoom);
        }
        let goes_ns = now_ns as f64 + wait_ns;
        let is_short = before_bytes <= bytes as f64;
        if self.set.aqm == Aqm::Codel && self.codel.drops(goes_ns as u64, wait_ns as u64, is_short) {
            self.counts.managed += 1;
            return Err(PacketFate::Managed);
        }
        self.free_ns = goes_ns + bytes as f64 / rate * 1e9;
        Ok((self.free_ns as u64, wait_ns > 0.0))
    }

    fn way(&mut self, now_ns: u64, gone_ns: u64) -> u64 {
        if self.happens(self.set.reorder) {
            self.counts.overtook += 1;
            return now_ns;
        }
        let delay_ns = self.wander.delay_ns(gone_ns, self.set.delay_ns, self.set.jitter_ns, &mut self.random);
        self.last_ns = self.last_ns.max(gone_ns + delay_ns);
        self.last_ns
    }

    fn is_lost(&mut self) -> bool {
        let is_that_one = self.set.drop_at == Some(self.counts.offered);
        self.is_lost_by_rate() || is_that_one
    }

    fn is_lost_by_rate(&mut self) -> bool {
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return true;
        }
        let is_lost = self.losses.is_lost();
        if is_lost {
            self.burst_left = self.set.loss_burst.saturating_sub(1);
        }
        is_lost
    }

    fn happens(&mut self, part: f64) -> bool {
        part > 0.0 && self.random.until(part) == 1
    }
}

/// A delay that moves: from one target to the next in a straight line, no faster than half of the time that passes, so
/// that packets keep their order and most of their distance.
#[derive(Clone, Copy, Debug, Default)]
struct Wander {
    begin_ns: u64,
    from_ns: f64,
    to_ns: f64,
}

impl Wander {
    fn delay_ns(&mut self, now_ns: u64, delay_ns: u64, jitter_ns: u64, random: &mut Random) -> u64 {
        if jitter_ns == 0 {
            return delay_ns;
        }
        let length_ns = 4 * jitter_ns;
        if now_ns.saturating_sub(self.begin_ns) >= length_ns || self.begin_ns == 0 {
            let target_ns = random.below(2 * jitter_ns + 1) as f64 - jitter_ns as f64;
            *self = Wander { begin_ns: now_ns, from_ns: self.to_ns, to_ns: target_ns };
        }
        let part = now_ns.saturating_sub(self.begin_ns) as f64 / length_ns as f64;
        (delay_ns as f64 + self.from_ns + (self.to_ns - self.from_ns) * part).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn plain() -> LinkSettings {
        LinkSettings {
            rate_bytes_per_s: Some(1.5e6),
            delay_ns: 50 * MS,
            jitter_ns: 0,
            queue_bytes: 15_000,
            aqm: Aqm::None,
            loss: LossRule::None,
            loss_burst: 1,
            drop_at: None,
            reorder: 0.0,
            duplicate: 0.0,
            seed: 1,
        }
    }

    /// What becomes of so many packets of 1500 bytes (a millisecond each), offered at this distance.
    fn fates(set: LinkSettings, packets: u64, apart_ns: u64) -> (Vec<PacketFate>, LinkCounts) {
        let mut link = EmulatedLink::new(set);
        let fates = (0..packets).map(|packet| link.offer(1500, packet * apart_ns)).collect();
        (fates, link.counts)
    }

    fn leaves(at_ms: u64) -> PacketFate {
        PacketFate::Leaves { at_ns: at_ms * MS, copies: 1, has_waited: false }
    }

    /// When they leave.
    fn times(fates: Vec<PacketFate>) -> Vec<u64> {
        fates
            .into_iter()
            .filter_map(|fate| if let PacketFate::Leaves { at_ns, .. } = fate { Some(at_ns) } else { None })
            .collect()
    }

    #[test]
    fn packets_leave_at_the_rate_and_after_the_delay() {
        assert_eq!(times(fates(plain(), 3, 0).0), [51, 52, 53].map(|at_ms| at_ms * MS));
        assert_eq!(fates(plain(), 3, 10 * MS).0, [51, 61, 71].map(leaves));
        let set = LinkSettings { rate_bytes_per_s: None, ..plain() };
        assert_eq!(fates(set, 3, 0).0, [50, 50, 50].map(leaves));
    }

    #[test]
    fn what_the_queue_cannot_hold_is_dropped() {
        // The one that goes, ten that wait, and one that found the queue just full.
        let (fates, counts) = fates(plain(), 20, 0);
        assert_eq!(fates.iter().filter(|fate| **fate == PacketFate::NoRoom).count(), 9);
        assert_eq!((counts.offered, counts.no_room, counts.lost), (20, 9, 0));
    }

    #[test]
    fn losses_are_exact_where_they_are_counted() {
        let lost = |set| {
            let (fates, counts) = fates(set, 1000, MS);
            let lost: Vec<u64> =
                (1..).zip(&fates).filter(|it| *it.1 == PacketFate::Lost).map(|it| it.0).collect();
            assert_eq!(counts.lost, lost.len() as u64);
            lost
        };
        assert_eq!(lost(LinkSettings { loss: LossRule::Every(400), ..plain() }), [400, 800]);
        let set = LinkSettings { loss: LossRule::Every(400), loss_burst: 3, ..plain() };
        assert_eq!(lost(set), [400, 401, 402, 802, 803, 804]);
        assert_eq!(lost(LinkSettings { drop_at: Some(7), ..plain() }), [7]);
        let by_chance = |seed| lost(LinkSettings { loss: LossRule::Chance(0.02), seed, ..plain() });
        assert!(by_chance(1) == by_chance(1) && by_chance(1) != by_chance(2));
        assert!((10..30).contains(&by_chance(1).len()), "{:?}", by_chance(1));
    }

    #[test]
    fn jitter_keeps_the_order_and_the_mean_and_some_overtake_where_that_is_asked() {
        let at = |set, apart_ns| times(fates(set, 2000, apart_ns).0);
        for apart_ms in [1, 20] {
            let jittered = at(LinkSettings { jitter_ns: 5 * MS, ..plain() }, apart_ms * MS);
            assert!(jittered.is_sorted());
            let late = (0..).zip(&jittered).map(|(packet, at_ns)| at_ns - packet * apart_ms * MS);
            let (least, most) = (late.clone().min(), late.clone().max());
            let mean = late.sum::<u64>() / 2000;
            assert!(mean.abs_diff(51 * MS) < MS, "{mean}");
            assert!(least.is_some_and(|it| (46 * MS..48 * MS).contains(&it)), "{least:?}");
            assert!(most.is_some_and(|it| (54 * MS..=57 * MS).contains(&it)), "{most:?}");
        }
        let set = LinkSettings { reorder: 0.1, duplicate: 0.05, ..plain() };
        let (_, counts) = fates(set.clone(), 1000, 20 * MS);
        assert!(counts.overtook > 50 && counts.duplicated > 20, "{counts:?}");
        assert!(!at(set, 20 * MS).is_sorted());
    }
}
