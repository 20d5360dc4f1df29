//! One connection: bytes of a socket, sealed, as frames. One thread at a time; calls wait unless they say otherwise.
//!
//! Waits end now and then to see whether the session was stopped or lost: a thread that waits for a frame is never out
//! of reach. That the other side lives is watched elsewhere, over the control connection; a slow one is not dead.
//!
//! Must not know: what frames mean, who may connect.

mod black_hole;
mod greeting;
mod receiving;
mod sending;
mod stats;

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datapump_core::wire::frame::{DIGEST_BYTES, FrameKind, HEAD_BYTES, Head};
use datapump_core::wire::hello::Reply;
use datapump_core::wire::talk::ConnectionCounts;
use datapump_core::wire::{ASK_BYTES_MAX, WireError};
use datapump_engine::Link;

use crate::cancel::CancelToken;
use crate::cancel::traffic::ConnectionMeter;
use crate::fault::NetFault;
use crate::sockets::SocketOptions;
use crate::timed::{POLL_INTERVAL, Timed};
use crate::tls::{Outgoing, PublicKey, Seal, Turn};

pub use stats::{ConnectionLook, ConnectionProbe, ConnectionStats, SocketFacts, ignores_loss};

use black_hole::explained;
use stats::{path, socket_facts};

/// Sealed bytes that are received at a time.
const RECEIVED_BYTES: usize = 256 << 10;
/// A handshake that takes longer is given up: who says nothing must not keep a place.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// A digest of a block.
pub type Digest = [u8; DIGEST_BYTES as usize];

/// One connection.
pub struct Channel {
    timed: Timed,
    seal: Seal,
    cancel: CancelToken,
    /// Sealed bytes that came: those from `opened` to `filled` are not opened yet.
    incoming: Box<[u8]>,
    opened: usize,
    filled: usize,
    /// Opened bytes that nobody has taken yet: those from `taken` on.
    plain: Vec<u8>,
    taken: usize,
    /// Bytes to be sealed: sealed together, small pieces take fewer records.
    gathered: Vec<u8>,
    /// Sealed bytes that are to be sent.
    outgoing: Outgoing,
    /// Bytes that were sealed.
    sealed_bytes: u64,
    meter: Arc<ConnectionMeter>,
    /// The other side will say nothing more.
    is_closed: bool,
    /// The reply to the greeting is still to come, before anything else.
    awaits_reply: bool,
    /// It came.
    reply: Option<Reply>,
    /// Time in which bytes were sealed and opened.
    sealing_ns: u64,
    opening_ns: u64,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Channel({:?})", self.timed)
    }
}

impl Channel {
    /// A connection, after its handshake.
    ///
    /// Errors: the handshake failed, or took too long.
    pub fn new(
        link: impl Into<Link>,
        seal: Seal,
        cancel: CancelToken,
        patience: Duration,
    ) -> Result<Channel, NetFault> {
        let mut channel = Channel::prepared(link.into(), seal, cancel)?;
        let shaken = channel.within(patience, Channel::shake_hands);
        shaken.map_err(|fault| explained(fault, channel.socket_facts().as_ref()))?;
        Ok(channel)
    }

    /// A connection after a handshake that was made elsewhere, with what came behind it: `came` is not opened yet.
    pub(crate) fn greeted(
        link: Link,
        seal: Seal,
        cancel: CancelToken,
        came: &[u8],
        plain: Vec<u8>,
    ) -> Result<Channel, NetFault> {
        let mut channel = Channel::prepared(link, seal, cancel)?;
        channel.meter.received(plain.len());
        channel.plain = plain;
        channel.incoming[..came.len()].copy_from_slice(came);
        channel.filled = came.len();
        Ok(channel)
    }

    fn prepared(link: Link, seal: Seal, cancel: CancelToken) -> Result<Channel, NetFault> {
        link.prepare(POLL_INTERVAL).map_err(|error| NetFault::of_io("prepare the connection", &error))?;
        Ok(Channel {
            timed: Timed::new(link),
            seal,
            cancel,
            incoming: vec![0; RECEIVED_BYTES].into(),
            opened: 0,
            filled: 0,
            plain: Vec::new(),
            taken: 0,
            gathered: Vec::new(),
            outgoing: Outgoing::default(),
            sealed_bytes: 0,
            meter: Arc::default(),
            is_closed: false,
            awaits_reply: false,
            reply: None,
            sealing_ns: 0,
            opening_ns: 0,
        })
    }

    fn shake_hands(&mut self) -> Result<(), NetFault> {
        while !matches!(self.seal, Seal::Open) {
            // The first message may come with the end of the handshake.
            let mut early = std::mem::take(&mut self.plain);
            let turn = self.open(&mut |opened| early.extend_from_slice(opened));
            self.plain = early;
            match turn? {
                Turn::Ready => break,
                Turn::Send => self.flush()?,
                Turn::Closed => return Err(closed()),
                Turn::Receive => self.receive_some()?,
            }
        }
        self.flush()
    }

    /// The other side's key.
    pub fn peer(&self) -> Option<PublicKey> {
        self.seal.peer()
    }

    #[cfg(test)]
    pub(crate) fn cipher(&self) -> Option<&'static str> {
        self.seal.cipher()
    }

    /// Sets what is wished of the socket below, if it is one of TCP.
    pub fn tune(&mut self, sockets: &SocketOptions) -> Result<(), NetFault> {
        self.timed.assembly = sockets.assembly.unwrap_or_default();
        self.timed.link.tcp().map_or(Ok(()), |socket| sockets.apply(socket).map_err(NetFault::Lost))
    }

    /// Notices from now on that the other host is gone for this connection alone.
    pub fn watch(&mut self, patience: Duration) -> Result<(), NetFault> {
        self.timed.watch(patience).map_err(|error| NetFault::of_io("prepare the connection", &error))
    }

    /// Time inside calls that send and receive.
    pub fn waited_ns(&self) -> u64 {
        self.timed.sending_ns + self.timed.receiving_ns
    }

    fn is_sealed(&self) -> bool {
        !matches!(self.seal, Seal::Open)
    }

    /// Time in which bytes were opened.
    pub fn opening_ns(&self) -> u64 {
        self.opening_ns
    }

    /// What it did until now.
    pub fn connection_stats(&self) -> ConnectionStats {
        ConnectionStats {
            connections: 1,
            engine: Some(self.timed.link.kind()),
            sealing_ns: self.sealing_ns,
            opening_ns: self.opening_ns,
            receiving_ns: self.timed.receiving_ns,
            received: (self.timed.received_parts, self.timed.received_bytes),
            again_bytes: 0,
            path: self.timed.link.tcp().and_then(path),
        }
    }

    /// Looks at it from beside, if it is one of TCP.
    pub fn probe(&self) -> Option<ConnectionProbe> {
        self.timed.link.tcp().and_then(ConnectionProbe::from_socket)
    }

    /// The ends of the connection and what its kernel says of it, if it is one of TCP.
    pub fn socket_facts(&self) -> Option<SocketFacts> {
        self.timed.link.tcp().and_then(socket_facts)
    }

    /// Belongs to a session from now on.
    pub fn join(&mut self, cancel: CancelToken) {
        self.cancel = cancel;
    }

    /// Is counted in its session under this number, by which the other side knows it, too.
    pub fn count_as(&mut self, number: u32) {
        self.cancel.connections.add(number, &self.meter);
    }

    /// Passes on what comes: that nothing comes does not say that nothing is in hand.
    pub fn relays(&self) {
        self.meter.relays();
    }

    /// Its owner looked, and nothing had come.
    pub fn looked_in_vain(&self) {
        self.meter.looked();
    }

    /// How far the connections of its session are.
    pub fn session_traffic(&self) -> Vec<ConnectionCounts> {
        self.cancel.connections.traffic()
    }

    /// The session is lost, for this reason: who waits for anything of it is told.
    pub fn cut_session(&self, why: &str) {
        self.cancel.cut_because(why);
    }

    /// Whether the session goes on.
    pub fn line_check(&self) -> Result<(), NetFault> {
        self.cancel.check()
    }

    /// The next head.
    pub fn receive_head(&mut self) -> Result<Head, NetFault> {
        self.receive_reply()?;
        let mut head = [0; HEAD_BYTES];
        self.receive(&mut head)?;
        Ok(Head::decode(&head)?)
    }

    /// A request of the other side: no honest one is long.
    pub fn receive_request(&mut self) -> Result<(Vec<u8>, u64), NetFault> {
        let head = self.receive_head()?;
        if head.len > ASK_BYTES_MAX {
            return Err(WireError::TooLong("a request", head.len.into(), ASK_BYTES_MAX.into()).into());
        }
        Ok((self.receive_body(head)?, head.number))
    }

    /// The body of a message whose head was received.
    pub fn receive_body(&mut self, head: Head) -> Result<Vec<u8>, NetFault> {
        if head.kind != FrameKind::Message {
            return Err(WireError::Unexpected("a block").into());
        }
        let mut body = vec![0; head.len as usize];
        self.receive(&mut body)?;
        head.check(&body)?;
        Ok(body)
    }

    /// The next message and its number.
    pub fn receive_message(&mut self) -> Result<(Vec<u8>, u64), NetFault> {
        let head = self.receive_head()?;
        Ok((self.receive_body(head)?, head.number))
    }

    /// The next message and its number, whole within this time.
    pub fn message_within(&mut self, patience: Duration) -> Result<(Vec<u8>, u64), NetFault> {
        self.within(patience, Channel::receive_message)
    }

    /// Does something that is lost if it takes longer than this: who sends a byte now and then must not keep a place.
    pub fn within<T>(
        &mut self,
        patience: Duration,
        act: impl FnOnce(&mut Channel) -> Result<T, NetFault>,
    ) -> Result<T, NetFault> {
        self.cancel.set_deadline(Some(Instant::now() + patience));
        let done = act(self);
        self.cancel.set_deadline(None);
        done
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.close();
    }
}

fn closed() -> NetFault {
    NetFault::Lost("the other side closed the connection".into())
}

pub(crate) fn may_go_on(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::Socket;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use crate::tls::{Seed, Ticket, called_config};

    /// Two ends of a sealed connection.
    fn pair(ticket: &Ticket, maker: &Seed) -> (Result<Channel, NetFault>, Result<Channel, NetFault>) {
        let (one, other) = UnixStream::pair().expect("two sockets");
        let seals = (Seal::called(&called_config(maker)), Seal::caller(ticket));
        let (called, caller) = (seals.0.expect("a side"), seals.1.expect("a side"));
        let made =
            move |pipe, seal| Channel::new(Socket::Unix(pipe), seal, CancelToken::default(), HANDSHAKE_MAX);
        let called = std::thread::spawn(move || made(other, called));
        let caller = made(one, caller);
        // A caller that was refused hangs up.
        let caller = caller.inspect_err(|_| ());
        (caller, called.join().expect("no panic"))
    }

    #[test]
    fn messages_and_blocks_arrive_and_each_side_knows_the_other() {
        let (maker, holder) = (Seed::random(), Seed::random());
        let ticket = Ticket { holder: holder.clone(), maker: maker.public() };
        let (caller, called) = pair(&ticket, &maker);
        let (mut caller, mut called) = (caller.expect("the right key"), called.expect("a key"));
        assert_eq!((caller.peer(), called.peer()), (Some(maker.public()), Some(holder.public())));
        assert!(caller.cipher().is_some_and(|cipher| cipher.starts_with("TLS13_")));
        let block: Vec<u8> = (0..1_000_003u32).map(|number| number as u8).collect();
        let sent = block.clone();
        let sender = std::thread::spawn(move || {
            caller.send_message(b"first", 7).expect("sent");
            caller.put_block(&sent, &[9; 32], 8).expect("sent");
            caller.flush().expect("sent");
            caller.send_message(b"", 9).expect("sent");
        });
        assert_eq!(called.receive_message(), Ok((b"first".to_vec(), 7)));
        let head = called.receive_head().expect("a head");
        assert_eq!(head, Head::block(1_000_003, 8));
        let (mut digest, mut received) = ([0; 32], vec![0; head.len as usize]);
        called.receive(&mut digest).and_then(|()| called.receive(&mut received)).expect("a block");
        assert!(digest == [9; 32] && received == block);
        assert_eq!(called.receive_message(), Ok((Vec::new(), 9)));
        sender.join().expect("no panic");
        assert!(matches!(called.receive_message(), Err(NetFault::Lost(_))), "the end is the end");
    }

    #[test]
    fn another_server_is_refused() {
        let (maker, other) = (Seed::random(), Seed::random());
        let ticket = Ticket { holder: Seed::random(), maker: other.public() };
        let (caller, _) = pair(&ticket, &maker);
        assert!(matches!(caller, Err(NetFault::Refused(_))), "{caller:?}");
    }

    #[test]
    fn another_protocol_is_told() {
        let (one, mut other) = UnixStream::pair().expect("two sockets");
        other.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").expect("room");
        let seal = Seal::called(&called_config(&Seed::random())).expect("a side");
        let made = Channel::new(Socket::Unix(one), seal, CancelToken::default(), HANDSHAKE_MAX);
        assert!(matches!(made, Err(NetFault::Protocol(_))), "{made:?}");
    }

    #[test]
    fn a_wait_ends_when_the_line_is_cut() {
        let (one, _other) = UnixStream::pair().expect("two sockets");
        let cancel = CancelToken::default();
        let mut channel =
            Channel::new(Socket::Unix(one), Seal::Open, cancel.clone(), HANDSHAKE_MAX).expect("no handshake");
        let cutter = std::thread::spawn(move || cancel.cut());
        assert!(matches!(channel.receive_message(), Err(NetFault::Lost(_))));
        cutter.join().expect("no panic");
    }
}
