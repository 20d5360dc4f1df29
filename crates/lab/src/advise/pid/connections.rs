//! The TCP connections of watched processes, sampled.
//!
//! Must not know: threads, what is made of the numbers.

use std::collections::{BTreeMap, BTreeSet};

use datapump_engine::os::linux::TcpInfo;

use super::watched;
use crate::probe::sock_diag::{KernelConnection, SockDiag};

/// Less than this in a receive queue is on its way to its reader.
const UNREAD_BYTES: u32 = 4096;
/// Connections that are followed.
const CONNECTIONS_MAX: usize = 128;

#[derive(Debug)]
struct FollowedConnection {
    last: KernelConnection,
    first: TcpInfo,
    seen: watched::WatchedConnection,
    ended: bool,
}

/// All connections that were seen.
#[derive(Debug)]
pub struct Connections {
    diag: SockDiag,
    followed: BTreeMap<u64, FollowedConnection>,
    looked: bool,
}

/// What a process's connections say at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionsMoment {
    /// It has some.
    pub any: bool,
    /// One has bytes that were not sent yet.
    pub unsent: bool,
    /// One has bytes that were not read yet.
    pub unread: bool,
}

impl Connections {
    /// Asks here.
    pub fn new(diag: SockDiag) -> Connections {
        Connections { diag, followed: BTreeMap::new(), looked: false }
    }

    /// Takes in connections that are new.
    pub fn look(&mut self, inodes: &BTreeSet<u32>) -> std::io::Result<()> {
        let first_look = !std::mem::replace(&mut self.looked, true);
        for connection in self.diag.all(&|it| inodes.contains(&it.inode))? {
            let Some(info) = connection.info else { continue };
            if self.followed.contains_key(&connection.cookie) || self.followed.len() >= CONNECTIONS_MAX {
                continue;
            }
            let seen = watched::WatchedConnection { connection: connection.name(), ..Default::default() };
            let first = if first_look { info } else { TcpInfo::default() };
            self.followed.insert(
                connection.cookie,
                FollowedConnection { last: connection, first, seen, ended: false },
            );
        }
        Ok(())
    }

    /// Those of these sockets that listen; none where the kernel does not report them.
    pub fn listening(&mut self, inodes: &BTreeSet<u32>) -> BTreeSet<u32> {
        let mut listening = self.diag.listening().unwrap_or_default();
        listening.retain(|inode| inodes.contains(inode));
        listening
    }

    /// The other ends of sockets inside this host; none where the kernel does not report them.
    pub fn unix_peers(&mut self, inodes: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
        let mut peers = self.diag.unix_peers().unwrap_or_default();
        peers.retain(|inode, _| inodes.contains(inode));
        peers
    }

    /// Samples all.
    pub fn sample(&mut self) -> std::io::Result<()> {
        for followed in self.followed.values_mut().filter(|it| !it.ended) {
            match self.diag.connection(&followed.last.identity)? {
                Some(now) if now.info.is_some() => followed.note(now),
                _ => followed.ended = true,
            }
        }
        Ok(())
    }

    /// Inodes of all that live.
    pub fn inodes(&self) -> BTreeSet<u32> {
        self.followed.values().filter(|it| !it.ended).map(|it| it.last.inode).collect()
    }

    /// How those of a process, by the inodes of its sockets, stand.
    pub fn moment(&self, inodes: &BTreeSet<u32>) -> ConnectionsMoment {
        let own = || self.followed.values().filter(|it| !it.ended && inodes.contains(&it.last.inode));
        ConnectionsMoment {
            any: own().next().is_some(),
            unsent: own().any(|it| it.last.info.is_some_and(|info| info.unsent_bytes > 0)),
            unread: own().any(|it| it.last.receive_queue_bytes >= UNREAD_BYTES),
        }
    }

    /// The list.
    pub fn list(&self) -> Vec<watched::WatchedConnection> {
        self.followed.values().map(|followed| followed.seen.clone()).collect()
    }
}

impl FollowedConnection {
    fn note(&mut self, now: KernelConnection) {
        let (Some(info), first) = (now.info, &self.first) else { return };
        let seen = &mut self.seen;
        seen.samples += 1;
        seen.sent_bytes = info.acknowledged_bytes.saturating_sub(first.acknowledged_bytes);
        seen.received_bytes = info.received_bytes.saturating_sub(first.received_bytes);
        seen.busy_ns = info.busy_ns.saturating_sub(first.busy_ns);
        seen.receive_window_limited_ns =
            info.receive_window_limited_ns.saturating_sub(first.receive_window_limited_ns);
        seen.send_buffer_limited_ns =
            info.send_buffer_limited_ns.saturating_sub(first.send_buffer_limited_ns);
        seen.sent_segments = info.sent_segments.saturating_sub(first.sent_segments);
        seen.retransmitted_segments =
            info.retransmitted_segments.saturating_sub(first.retransmitted_segments);
        (seen.rtt_us, seen.min_rtt_us) = (info.rtt_us, info.min_rtt_us);
        seen.ignores_loss = now.congestion.as_deref().is_some_and(datapump_transport::ignores_loss);
        seen.congestion_window_segments = info.congestion_window_segments;
        seen.window_bytes = info.window_bytes;
        seen.unsent_samples += u32::from(info.unsent_bytes > 0);
        let unsent_without_room = info.unsent_bytes > 0 && info.peer_window_bytes < info.segment_bytes;
        seen.no_window_samples += u32::from(unsent_without_room);
        seen.unread_samples += u32::from(now.receive_queue_bytes >= UNREAD_BYTES);
        self.last = now;
    }
}
