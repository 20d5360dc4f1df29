//! Connections that have not greeted yet: so many, for so long, and none can keep the others out.
//!
//! Where there are too many the host that has most of them gives up its oldest. A flooding host pushes out itself:
//! another host keeps its share, and a new connection of the same one is the last to go. Those whose first words were
//! answered have places of their own: a flood from any number of hosts that say nothing does not reach them, and to say
//! as much costs who floods.
//!
//! Must not know: how hands are shaken, what a greeting says.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::handshake::Handshake;
use crate::channel::HANDSHAKE_MAX;
use crate::fault::NetFault;

/// Connections that have not greeted yet: half of them those that were answered. Where a process may have few files
/// open they are a quarter of those: sessions need the others.
const WAITING_MAX: u64 = 512;
const WAITING_MIN: u64 = 8;
const FILES_PARTS: u64 = 4;

/// The host of a caller: an address, of IPv6 the network that a host has for itself; none for a socket of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller(Option<IpAddr>);

impl Caller {
    /// A socket of this process.
    pub const OWN: Caller = Caller(None);

    /// A caller from an address.
    pub fn from_address(address: IpAddr) -> Caller {
        const HOST_BITS: u32 = 64;
        Caller(Some(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> HOST_BITS << HOST_BITS).into()),
            address => address,
        }))
    }
}

struct WaitingCaller {
    caller: Caller,
    handshake: Handshake,
    deadline: Instant,
}

/// Those that wait, the oldest first.
pub struct Waiting {
    entries: VecDeque<WaitingCaller>,
    /// Places of those that were answered, and as many of those that were not.
    places: usize,
}

impl Default for Waiting {
    /// None yet, with the places that this process has files for.
    fn default() -> Waiting {
        let files = datapump_engine::os::linux::open_files_limit().unwrap_or(u64::MAX);
        Waiting::with_places((files / FILES_PARTS).clamp(WAITING_MIN, WAITING_MAX) as usize / 2)
    }
}

impl Waiting {
    fn with_places(places: usize) -> Waiting {
        Waiting { entries: VecDeque::new(), places }
    }

    /// One more; where it is one too many another one goes.
    pub fn add(&mut self, caller: Caller, handshake: Handshake) {
        self.entries.push_back(WaitingCaller { caller, handshake, deadline: Instant::now() + HANDSHAKE_MAX });
        self.make_room(false);
    }

    /// One of the greater half gives up its place. False if there is none.
    pub fn give_way(&mut self) -> bool {
        let answered = self.count(true);
        self.gives_way(answered > self.entries.len() - answered)
    }

    fn count(&self, answered: bool) -> usize {
        self.entries.iter().filter(|entry| entry.handshake.was_answered() == answered).count()
    }

    fn make_room(&mut self, answered: bool) {
        for _ in self.places..self.count(answered) {
            self.gives_way(answered);
        }
    }

    /// Of those that were answered, or were not: the oldest of the caller that has most.
    fn gives_way(&mut self, answered: bool) -> bool {
        let is_one = |entry: &&WaitingCaller| entry.handshake.was_answered() == answered;
        let mut counts: HashMap<Caller, usize> = HashMap::new();
        self.entries.iter().filter(is_one).for_each(|entry| *counts.entry(entry.caller).or_default() += 1);
        let most = counts.values().max().copied();
        let is_it = |entry: &WaitingCaller| is_one(&entry) && counts.get(&entry.caller).copied() == most;
        let oldest = self.entries.iter().position(is_it);
        oldest.and_then(|oldest| self.entries.remove(oldest)).is_some()
    }

    /// The connections to poll for input.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.entries.iter().map(|entry| entry.handshake.fd())
    }

    /// Takes what came, of those that are `ready` in the order of `fds`. Gives those that have greeted; who took too
    /// long, or is no caller of ours, is gone.
    pub fn advance(&mut self, ready: &[bool]) -> Vec<Handshake> {
        let (mut greeted, now) = (Vec::new(), Instant::now());
        for (index, mut entry) in std::mem::take(&mut self.entries).into_iter().enumerate() {
            let is_ready = ready.get(index).copied().unwrap_or(false);
            match if is_ready { advanced(&mut entry.handshake) } else { Ok(false) } {
                Ok(true) => greeted.push(entry.handshake),
                Ok(false) if entry.deadline > now => self.entries.push_back(entry),
                Ok(false) | Err(_) => {}
            }
        }
        self.make_room(true);
        greeted
    }

    /// Whether somebody is about to greet.
    pub fn has_speakers(&self) -> bool {
        self.entries.iter().any(|entry| entry.handshake.has_spoken() || entry.caller == Caller::OWN)
    }
}

/// A mistake of this program costs the caller its connection, and nobody else's.
fn advanced(handshake: &mut Handshake) -> Result<bool, NetFault> {
    let lost = |_| Err(NetFault::Lost("internal error of this side".into()));
    catch_unwind(AssertUnwindSafe(|| handshake.advance())).unwrap_or_else(lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use crate::tls::{Outgoing, Seal, Seed, Ticket, called_config};
    use datapump_engine::Socket;

    fn add(waiting: &mut Waiting, caller: Caller) -> UnixStream {
        add_sealed(waiting, caller, Seal::Open)
    }

    fn add_sealed(waiting: &mut Waiting, caller: Caller, seal: Seal) -> UnixStream {
        let (here, there) = UnixStream::pair().expect("two sockets");
        waiting.add(caller, Handshake::new(Socket::Unix(there), seal));
        here
    }

    fn caller(address: &str) -> Caller {
        Caller::from_address(address.parse().expect("an address"))
    }

    #[test]
    fn who_has_most_gives_up_its_oldest() {
        let mut waiting = Waiting::with_places(4);
        for (index, address) in ["10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.3"].into_iter().enumerate() {
            let _gone = add(&mut waiting, caller(address));
            waiting.entries[index].deadline = Instant::now() + HANDSHAKE_MAX * (index as u32 + 1);
        }
        let deadline = waiting.entries[1].deadline;
        assert!(waiting.give_way());
        assert!(waiting.entries.iter().all(|entry| entry.deadline != deadline), "the older of the two");
        assert!(waiting.give_way(), "of those with one each the oldest");
        let left: Vec<Caller> = waiting.entries.iter().map(|entry| entry.caller).collect();
        assert_eq!(left, [caller("10.0.0.1"), caller("10.0.0.3")]);
        assert!(waiting.give_way() && waiting.give_way() && !waiting.give_way());
    }

    /// From as many addresses as there are places and more, each with one connection, which says nothing or a byte.
    #[test]
    fn who_was_answered_keeps_its_place_whatever_number_of_hosts_floods() {
        let (maker, holder) = (Seed::random(), Seed::random());
        let ticket = Ticket { holder, maker: maker.public() };
        let (config, mut waiting) = (called_config(&maker), Waiting::with_places(4));
        let called = || Seal::called(&config).expect("a side");
        let mut honest = add_sealed(&mut waiting, caller("10.0.0.1"), called());
        honest.write_all(&hello(&ticket)).expect("room");
        assert!(waiting.advance(&[true]).is_empty(), "it has not greeted yet");
        let flood = |waiting: &mut Waiting, says: &[u8]| -> Vec<UnixStream> {
            let call = |number: u32| {
                let mut other = add_sealed(waiting, caller(&format!("10.0.1.{number}")), called());
                other.write_all(says).expect("room");
                waiting.advance(&vec![true; waiting.entries.len()]);
                other
            };
            (0..20).map(call).collect()
        };
        let is_there =
            |waiting: &Waiting| waiting.entries.iter().any(|entry| entry.caller == caller("10.0.0.1"));
        let _floods = [&b""[..], b"\x16"].map(|says| flood(&mut waiting, says));
        assert!(is_there(&waiting) && waiting.entries.len() == 5, "{}", waiting.entries.len());
        // Callers that say as much have the same right: the oldest goes.
        let _others = flood(&mut waiting, &hello(&ticket));
        assert!(!is_there(&waiting) && waiting.count(true) == 4, "{}", waiting.count(true));
    }

    /// What a caller says first.
    fn hello(ticket: &Ticket) -> Vec<u8> {
        let (mut seal, mut outgoing) = (Seal::caller(ticket).expect("a side"), Outgoing::default());
        for _ in 0..2 {
            seal.open(&mut [], &mut outgoing, &mut |_| {}).expect("it begins");
        }
        outgoing.bytes().to_vec()
    }

    #[test]
    fn a_host_of_ipv6_is_its_network() {
        assert_eq!(caller("2001:db8::1"), caller("2001:db8::ffff:1"));
        assert_ne!(caller("2001:db8::1"), caller("2001:db8:0:1::1"));
        assert_eq!(caller("::ffff:10.0.0.1"), caller("10.0.0.1"));
    }

    #[test]
    fn what_is_no_greeting_is_gone_and_half_of_one_waits() {
        let mut waiting = Waiting::default();
        let mut callers: Vec<UnixStream> = (0..3).map(|_| add(&mut waiting, Caller::OWN)).collect();
        callers[0].write_all(&[0xff; 100]).expect("room");
        callers[1].write_all(&[1]).expect("room");
        drop(callers.remove(2));
        assert!(waiting.advance(&[true; 3]).is_empty());
        assert_eq!(waiting.entries.len(), 1);
        waiting.entries[0].deadline = Instant::now();
        assert!(waiting.advance(&[false]).is_empty() && waiting.entries.is_empty(), "its time is over");
    }
}
