//! Connections that have not greeted yet: so many, for so long, and none can keep the others out.
//!
//! Where there are too many the host that has most of them gives up its oldest. Who floods pushes out itself: another
//! host keeps its share, and a new connection of the same one is the last to go.
//!
//! Must not know: how hands are shaken, what a greeting says.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::channel::HANDSHAKE_MAX;
use super::fault::NetFault;
use super::handshake::Handshake;

/// Connections that have not greeted yet.
const WAITING_MAX: usize = 512;

/// Who calls: an address, of IPv6 the network that a host has for itself; none for who is at home here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Caller(Option<IpAddr>);

impl Caller {
    pub(super) const OWN: Caller = Caller(None);

    pub(super) fn of(address: IpAddr) -> Caller {
        const HOST_BITS: u32 = 64;
        Caller(Some(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> HOST_BITS << HOST_BITS).into()),
            address => address,
        }))
    }
}

struct Entry {
    caller: Caller,
    handshake: Handshake,
    deadline: Instant,
}

/// Those that wait, the oldest first.
#[derive(Default)]
pub(super) struct Waiting(VecDeque<Entry>);

impl Waiting {
    /// One more; where it is one too many another one goes.
    pub(super) fn add(&mut self, caller: Caller, handshake: Handshake) {
        self.0.push_back(Entry { caller, handshake, deadline: Instant::now() + HANDSHAKE_MAX });
        if self.0.len() > WAITING_MAX {
            self.give_way();
        }
    }

    /// The oldest of the caller that has most gives up its place. False if there is none.
    pub(super) fn give_way(&mut self) -> bool {
        let mut counts: HashMap<Caller, usize> = HashMap::new();
        self.0.iter().for_each(|entry| *counts.entry(entry.caller).or_default() += 1);
        let most = counts.values().max().copied();
        let oldest = self.0.iter().position(|entry| counts.get(&entry.caller).copied() == most);
        oldest.and_then(|oldest| self.0.remove(oldest)).is_some()
    }

    /// What is to be looked at for something to read.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|entry| entry.handshake.fd())
    }

    /// Takes what came, of those that are `ready` in the order of `fds`. Gives those that have greeted; who took too
    /// long, or is no caller of ours, is gone.
    pub(super) fn advance(&mut self, ready: &[bool]) -> Vec<Handshake> {
        let (mut greeted, now) = (Vec::new(), Instant::now());
        for (index, mut entry) in std::mem::take(&mut self.0).into_iter().enumerate() {
            let is_ready = ready.get(index).copied().unwrap_or(false);
            match if is_ready { advanced(&mut entry.handshake) } else { Ok(false) } {
                Ok(true) => greeted.push(entry.handshake),
                Ok(false) if entry.deadline > now => self.0.push_back(entry),
                Ok(false) | Err(_) => {}
            }
        }
        greeted
    }

    /// Whether somebody is about to greet.
    pub(super) fn has_speakers(&self) -> bool {
        self.0.iter().any(|entry| entry.handshake.has_spoken() || entry.caller == Caller::OWN)
    }
}

/// A mistake of this program costs the caller its connection, and nobody else's.
fn advanced(handshake: &mut Handshake) -> Result<bool, NetFault> {
    let lost = |_| Err(NetFault::Lost("this side made a mistake".into()));
    catch_unwind(AssertUnwindSafe(|| handshake.advance())).unwrap_or_else(lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use crate::net::pipe::Pipe;
    use crate::net::seal::Seal;

    fn add(waiting: &mut Waiting, caller: Caller) -> UnixStream {
        let (here, there) = UnixStream::pair().expect("two sockets");
        waiting.add(caller, Handshake::new(Pipe::Unix(there), Seal::Open));
        here
    }

    fn caller(address: &str) -> Caller {
        Caller::of(address.parse().expect("an address"))
    }

    #[test]
    fn who_has_most_gives_up_its_oldest() {
        let mut waiting = Waiting::default();
        for (index, address) in ["10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.3"].into_iter().enumerate() {
            let _gone = add(&mut waiting, caller(address));
            waiting.0[index].deadline = Instant::now() + HANDSHAKE_MAX * (index as u32 + 1);
        }
        let deadline = waiting.0[1].deadline;
        assert!(waiting.give_way());
        assert!(waiting.0.iter().all(|entry| entry.deadline != deadline), "the older of the two");
        assert!(waiting.give_way(), "of those with one each the oldest");
        let left: Vec<Caller> = waiting.0.iter().map(|entry| entry.caller).collect();
        assert_eq!(left, [caller("10.0.0.1"), caller("10.0.0.3")]);
        assert!(waiting.give_way() && waiting.give_way() && !waiting.give_way());
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
        assert_eq!(waiting.0.len(), 1);
        waiting.0[0].deadline = Instant::now();
        assert!(waiting.advance(&[false]).is_empty() && waiting.0.is_empty(), "its time is over");
    }
}
