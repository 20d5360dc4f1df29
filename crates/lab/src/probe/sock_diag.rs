//! TCP connections as the kernel has them, of any process: sock_diag(7) with `TCP_INFO`. And which sockets inside this
//! host are two ends of one connection.
//!
//! Must not know: whose connections they are, why they are looked at.

mod netlink;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use datapump_engine::os::linux::TcpInfo;
use rustix::net::netlink::SOCK_DIAG;

use netlink::{Netlink, NetlinkMessage, attributes, u32_at};

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
const TCP: u8 = 6;
/// `AF_INET` and `AF_INET6`.
const FAMILIES: [u8; 2] = [2, 10];
/// `INET_DIAG_INFO`, whose bit asks for it.
const INFO: u16 = 2;
/// `INET_DIAG_CONG`, likewise.
const CONGESTION: u16 = 4;
/// The bit of `TCP_LISTEN`: such a socket has no other end.
const LISTENING: u32 = 1 << 10;
/// All other states.
const CONNECTED: u32 = 0xfff & !LISTENING;
/// `AF_UNIX`.
const UNIX: u8 = 1;
/// `UDIAG_SHOW_PEER`, and the attribute `UNIX_DIAG_PEER` that answers it.
const SHOW_PEER: u32 = 4;
const PEER: u16 = 2;
/// `struct unix_diag_msg`; its inode follows family, kind and state.
const UNIX_BODY_BYTES: usize = 16;
const UNIX_INODE_AT: usize = 4;
/// `struct inet_diag_sockid`: ports, addresses, interface, cookie.
const IDENTITY_BYTES: usize = 48;
/// `struct inet_diag_msg`.
const BODY_BYTES: usize = 72;
/// States by number, as linux/tcp_states.h has them.
const STATE_NAMES: [&str; 13] = [
    "unknown",
    "established",
    "syn_sent",
    "syn_received",
    "fin_wait_1",
    "fin_wait_2",
    "time_wait",
    "closed",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
    "syn_received",
];

/// Which connection it is, as the kernel wants it named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketIdentity {
    family: u8,
    id: [u8; IDENTITY_BYTES],
}

/// A connection at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelConnection {
    /// To ask for it again.
    pub identity: SocketIdentity,
    /// The kernel's number for this socket, never given twice.
    pub cookie: u64,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Number of its state.
    pub state: u8,
    /// Bytes that came and were not read.
    pub receive_queue_bytes: u32,
    /// Bytes that were written and not acknowledged.
    pub send_queue_bytes: u32,
    /// The socket's inode; 0 when no process holds it any more.
    pub inode: u32,
    /// What the kernel tells; nothing when only the memory of it is kept (TIME_WAIT).
    pub info: Option<TcpInfo>,
    /// The name of its congestion control; nothing in the same case.
    pub congestion: Option<String>,
}

impl KernelConnection {
    /// The state in a word.
    pub fn state_name(&self) -> &'static str {
        STATE_NAMES.get(usize::from(self.state)).copied().unwrap_or("unknown")
    }

    /// A connection of zeros, for tests of what is made of one.
    #[cfg(test)]
    pub fn nobody() -> KernelConnection {
        let mut body = [0; BODY_BYTES + 8];
        body[0] = FAMILIES[0];
        body[BODY_BYTES..].copy_from_slice(&[8, 0, INFO as u8, 0, 1, 0, 0, 0]);
        decode(&body).expect("it is whole")
    }

    /// Both ends, this one first.
    pub fn name(&self) -> String {
        format!("{} > {}", self.local, self.remote)
    }
}

/// Asks about connections of one network namespace.
#[derive(Debug)]
pub struct SockDiag {
    netlink: Netlink,
}

impl SockDiag {
    /// Opens it in this thread's namespace.
    pub fn open() -> io::Result<SockDiag> {
        Ok(SockDiag { netlink: Netlink::open(SOCK_DIAG)? })
    }

    /// Opens it in another namespace, such as /proc/PID/ns/net; that needs root.
    pub fn open_in(namespace: &File) -> io::Result<SockDiag> {
        Ok(SockDiag { netlink: Netlink::open_in(SOCK_DIAG, namespace)? })
    }

    /// All connections that are wanted.
    pub fn all(&mut self, wanted: &dyn Fn(&KernelConnection) -> bool) -> io::Result<Vec<KernelConnection>> {
        self.in_states(CONNECTED, wanted)
    }

    /// Inodes of all sockets that listen.
    pub fn listening(&mut self) -> io::Result<BTreeSet<u32>> {
        let found = self.in_states(LISTENING, &|_| true)?;
        Ok(found.into_iter().map(|socket| socket.inode).collect())
    }

    fn in_states(
        &mut self,
        states: u32,
        wanted: &dyn Fn(&KernelConnection) -> bool,
    ) -> io::Result<Vec<KernelConnection>> {
        let mut found = Vec::new();
        for family in FAMILIES {
            let question = question(family, states, &[0; IDENTITY_BYTES]);
            self.netlink.ask_all(BY_FAMILY, &question, &mut |message| {
                found.extend(connection(message).filter(|connection| wanted(connection)));
            })?;
        }
        Ok(found)
    }

    /// The other end of each connected socket inside this host, by inodes.
    ///
    /// Errors: the kernel does not answer this (unix_diag).
    pub fn unix_peers(&mut self) -> io::Result<BTreeMap<u32, u32>> {
        let mut found = BTreeMap::new();
        self.netlink.ask_all(BY_FAMILY, &unix_question(), &mut |message| {
            found.extend(Some(message).filter(|it| it.kind == BY_FAMILY).and_then(|it| unix_peer(it.body)));
        })?;
        Ok(found)
    }

    /// The connection as it is now; nothing when it is no more.
    pub fn connection(&mut self, identity: &SocketIdentity) -> io::Result<Option<KernelConnection>> {
        let mut found = None;
        let question = question(identity.family, CONNECTED, &identity.id);
        let asked = self.netlink.ask_one(BY_FAMILY, &question, &mut |message| found = connection(message));
        match asked {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // The kernel's word for a socket number that the address no longer has.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::STALE.raw_os_error()) => Ok(None),
            asked => asked.map(|()| found),
        }
    }
}

/// `struct inet_diag_req_v2`.
fn question(family: u8, states: u32, id: &[u8; IDENTITY_BYTES]) -> Vec<u8> {
    let mut bytes = vec![family, TCP, 1 << (INFO - 1) | 1 << (CONGESTION - 1), 0];
    bytes.extend_from_slice(&states.to_ne_bytes());
    bytes.extend_from_slice(id);
    bytes
}

/// `struct unix_diag_req`: of any state and number.
fn unix_question() -> Vec<u8> {
    let mut bytes = vec![UNIX, 0, 0, 0];
    for number in [u32::MAX, 0, SHOW_PEER, u32::MAX, u32::MAX] {
        bytes.extend_from_slice(&number.to_ne_bytes());
    }
    bytes
}

/// A socket and its other end; nothing where it has none.
fn unix_peer(body: &[u8]) -> Option<(u32, u32)> {
    let (fixed, rest) = body.split_at_checked(UNIX_BODY_BYTES)?;
    let (_, peer) = attributes(rest).find(|(kind, _)| *kind == PEER)?;
    Some((u32_at(fixed, UNIX_INODE_AT)?, u32_at(peer, 0)?))
}

fn connection(message: NetlinkMessage<'_>) -> Option<KernelConnection> {
    if message.kind == BY_FAMILY { decode(message.body) } else { None }
}

/// Reads `struct inet_diag_msg` and what follows it; nothing if the bytes are none.
fn decode(body: &[u8]) -> Option<KernelConnection> {
    let (fixed, rest) = body.split_at_checked(BODY_BYTES)?;
    let (family, state) = (fixed[0], fixed[1]);
    let id: [u8; IDENTITY_BYTES] = fixed.get(4..4 + IDENTITY_BYTES)?.try_into().ok()?;
    let port = |at: usize| u16::from_be_bytes([id[at], id[at + 1]]);
    let local = SocketAddr::new(address(family, &id[4..20])?, port(0));
    let remote = SocketAddr::new(address(family, &id[20..36])?, port(2));
    let cookie = u64::from(u32_at(&id, 40)?) | u64::from(u32_at(&id, 44)?) << 32;
    let told = |wanted| attributes(rest).find(|(kind, _)| *kind == wanted).map(|(_, told)| told);
    Some(KernelConnection {
        identity: SocketIdentity { family, id },
        cookie,
        local,
        remote,
        state,
        receive_queue_bytes: u32_at(fixed, 56)?,
        send_queue_bytes: u32_at(fixed, 60)?,
        inode: u32_at(fixed, 68)?,
        info: told(INFO).map(TcpInfo::read),
        congestion: told(CONGESTION).map(name),
    })
}

/// A name with a zero behind it.
fn name(told: &[u8]) -> String {
    String::from_utf8_lossy(told.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    match family {
        2 => Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(..4)?).ok()?))),
        10 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_found_by_its_ports_and_then_by_itself() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                eprintln!("not tested: {address}: no such family here");
                continue;
            };
            let port = listener.local_addr().expect("an address").port();
            let mut one = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
            let (mut other, _) = listener.accept().expect("it called");
            one.write_all(&[7; 10_000]).expect("room");
            other.read_exact(&mut [0; 9_000]).expect("it was sent");
            let mut diag = SockDiag::open().expect("netlink");
            // In the other family others may have the listener's port: it takes both to be this connection.
            let own = one.local_addr().expect("an address").port();
            let ports = |from: u16, to: u16| {
                move |it: &KernelConnection| (it.local.port(), it.remote.port()) == (from, to)
            };
            let found = diag.all(&ports(own, port)).expect("a list");
            assert_eq!(found.len(), 1, "{found:?}");
            let info = found[0].info.expect("a living connection");
            assert_eq!((info.sent_bytes, found[0].state_name()), (10_000, "established"));
            assert!(info.congestion_window_segments > 0 && info.rtt_us > 0, "{info:?}");
            let congestion = rustix::net::sockopt::tcp_congestion(&one).expect("it has one");
            assert_eq!(found[0].congestion.as_deref(), Some(&*congestion));
            let back = diag.all(&ports(port, own)).expect("a list");
            assert_eq!(back.iter().map(|it| it.receive_queue_bytes).collect::<Vec<_>>(), [1000]);
            one.write_all(&[7; 5000]).expect("room");
            let again = diag.connection(&found[0].identity).expect("an answer").expect("it is there");
            assert_eq!((again.cookie, again.info.map(|it| it.sent_bytes)), (found[0].cookie, Some(15_000)));
            let mut gone = found[0].identity;
            gone.id[40] ^= 1;
            assert_eq!(diag.connection(&gone).expect("an answer"), None);
        }
    }

    #[test]
    fn other_namespaces_are_asked_where_that_is_permitted() {
        let own = File::open("/proc/self/ns/net").expect("proc is mounted");
        match SockDiag::open_in(&own) {
            Ok(mut diag) => drop(diag.all(&|_| true).expect("a list")),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_connection_or_refused(bytes: Vec<u8>, family in 0_u8..12, more in 0_usize..400) {
            let mut body = vec![0; BODY_BYTES + more];
            body[0] = family;
            body.iter_mut().skip(1).zip(&bytes).for_each(|(to, from)| *to = *from);
            for cut in [&bytes[..], &body[..]] {
                if let Some(connection) = decode(cut) {
                    prop_assert!(cut.len() >= BODY_BYTES && !connection.name().is_empty());
                    prop_assert!(!connection.state_name().is_empty());
                }
            }
        }
    }
}
