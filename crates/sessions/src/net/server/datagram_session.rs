//! A session about datagrams: what a client may send is granted, taken, perhaps sent back, and its counts are told.
//!
//! Only datagrams with the grant's token count, from the host that the session is with and the first of its ports that
//! sent one: nobody has answers sent to a third. None is answered with more bytes than it has, or twice, rate and time
//! are bounded, and all ends with the session.
//!
//! Must not know: how a session begins, what counts are taken for.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use datapump_core::wire::datagrams::{
    DatagramCounter, DatagramCounts, DatagramGrant, DatagramHead, DatagramRequest, DatagramUse, packet_bytes,
};
use datapump_core::wire::session::{Message, SenderStats};
use datapump_engine::os::linux::thread_cpu_ns;
use datapump_transport::{
    CancelToken, DatagramBuffers, DatagramSocket, HANDSHAKE_MAX, NetFault, ReceivedDatagram, random,
};

use crate::net::folder::event_codec::refusal;
use crate::net::server::control::{Control, Follows, Outbox};
use crate::net::server::datagram_allowance::BUNCHED_NS;
use crate::net::server::server_state::ServerState;
use crate::problem::{Class, Operation, Problem};

const NOT_ALLOWED: &str =
    "this server takes no datagrams; start it with --allow-udp RATE, as in pump serve --allow-udp 100Mbit";
/// How long the receiver looks away.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// After the last was sent: nothing more is waited for once nothing has come for so long.
const SILENCE_MAX: Duration = Duration::from_millis(300);
/// The same once all numbers have come: duplicates may be behind them.
const SILENCE_AFTER_ALL: Duration = Duration::from_millis(100);

/// Holds the session: grants or refuses, counts datagrams on a thread, and reports what arrived.
pub(crate) fn hold(
    state: &ServerState,
    mut control: Control,
    cancel: CancelToken,
    outbox: Outbox,
    request: DatagramRequest,
) -> Result<(), NetFault> {
    let peer = control.channel.socket_facts().map(|socket| socket.peer.ip().to_canonical());
    let granted = match Granted::reserve(state, request, peer) {
        Ok(granted) => granted,
        Err(answer) => return control.say(*answer),
    };
    // Without a memory for its numbers there is nothing to count with.
    let memory_bytes = request.datagrams / 8 + DatagramBuffers::BYTES as u64;
    let Some(memory) = state.budget.reserve(memory_bytes, state.budget.slots_bytes_max()) else {
        return control.say(Message::Busy("this server has not so much memory free".into()));
    };
    let datagrams = Some(granted.grant);
    control.say(Message::Begun {
        receives: None,
        reads_on: None,
        sends_ahead: Some(false),
        host: None,
        datagrams,
        places: None,
        has_links: None,
        holds_events: None,
    })?;
    let sent = OnceLock::new();
    std::thread::scope(|scope| {
        let (sent, cancel) = (&sent, &cancel);
        scope.spawn(move || {
            let counts = Receiver::new(&granted, &request, sent).count_until_silent(cancel);
            // Others may have them from now on, however long the client stays.
            drop((granted, memory));
            match counts {
                Some(counts) => outbox.say(Message::DatagramsCounted(Box::new(counts))),
                None => cancel.cut(),
            }
        });
        let talked = control.run(
            &mut |message| match message {
                Message::DatagramsSent(count) => {
                    let _ = sent.set(count);
                    Follows::Go
                }
                Message::Report(_) => Follows::Agree,
                _ => Follows::Go,
            },
            &mut || {
                state.stop.load(Ordering::Relaxed).then(|| cancel.stop());
                None
            },
            &mut || Some(SenderStats::default()),
        );
        cancel.cut();
        talked
    })
}

/// What was granted; its share of the rate is given back at its end.
struct Granted<'server> {
    state: &'server ServerState,
    socket: DatagramSocket,
    grant: DatagramGrant,
    /// The other end of the control connection: the host that may send.
    peer: IpAddr,
}

impl<'server> Granted<'server> {
    /// Reserves a part of the allowed rate, and binds a socket.
    ///
    /// Errors: the answer, if that is refused or the server is busy.
    fn reserve(
        state: &'server ServerState,
        request: DatagramRequest,
        peer: Option<IpAddr>,
    ) -> Result<Granted<'server>, Box<Message>> {
        let refused = |words: String| refusal(Problem::of(Class::Refused, Operation::Measure, words));
        let allowed = state.options.datagram_bytes_per_second;
        let (Some(allowed), Some(address), Some(peer)) = (allowed, state.listens, peer) else {
            return Err(refused(NOT_ALLOWED.into()));
        };
        if let Some(words) = request.wrong() {
            return Err(refused(words));
        }
        let wanted = if request.bytes_per_second == 0 { allowed } else { request.bytes_per_second };
        if wanted > allowed {
            return Err(refused(above(wanted, allowed)));
        }
        if !state.datagram_allowance.grant(wanted) {
            let words = "other sessions use what this server allows (--allow-udp)";
            return Err(Box::new(Message::Busy(words.into())));
        }
        let give_back = |words: String| {
            state.datagram_allowance.give_back(wanted);
            refused(words)
        };
        let bound = bind(address).and_then(|socket| Ok((socket.address()?.port(), socket)));
        let (port, socket) = bound.map_err(|error| give_back(format!("bind a UDP socket: {error}")))?;
        let buffer_bytes = socket.receive_buffer_bytes();
        let grant = DatagramGrant { port, token: random(), bytes_per_second: wanted, buffer_bytes };
        Ok(Granted { state, socket, grant, peer })
    }
}

impl Drop for Granted<'_> {
    fn drop(&mut self) {
        self.state.datagram_allowance.give_back(self.grant.bytes_per_second);
    }
}

fn above(wanted: u64, allowed: u64) -> String {
    let [wanted, allowed] = [wanted, allowed].map(|rate| rate as f64 * 8.0 / 1e6);
    format!(
        "{wanted:.1} Mbit/s of datagrams were asked for and this server allows {allowed:.1} (headers counted); send \
         them further apart (--spacing) or more slowly (--rate), or start the server with a higher --allow-udp"
    )
}

/// The port that connections come to, so that a firewall has one number; any other where it is taken.
fn bind(mut address: SocketAddr) -> std::io::Result<DatagramSocket> {
    DatagramSocket::bind(address).or_else(|_| {
        address.set_port(0);
        DatagramSocket::bind(address)
    })
}

/// Takes datagrams on a thread of its own.
struct Receiver<'session> {
    granted: &'session Granted<'session>,
    request: &'session DatagramRequest,
    /// How many were sent, once the client has told.
    sent: &'session OnceLock<u64>,
    start: Instant,
    counter: DatagramCounter,
    /// The sender: nobody else is heard, or answered.
    sender: Option<SocketAddr>,
    first_ns: u64,
    last_ns: u64,
    /// Bytes that were taken, headers counted.
    taken_bytes: u64,
    above_rate: u64,
    foreign: u64,
    wake_ups: u64,
}

impl<'session> Receiver<'session> {
    /// A receiver that has counted nothing; `sent` gets the number that the client reports.
    fn new(
        granted: &'session Granted<'session>,
        request: &'session DatagramRequest,
        sent: &'session OnceLock<u64>,
    ) -> Receiver<'session> {
        Receiver {
            granted,
            request,
            sent,
            start: Instant::now(),
            counter: DatagramCounter::new(request.datagrams),
            sender: None,
            first_ns: 0,
            last_ns: 0,
            taken_bytes: 0,
            above_rate: 0,
            foreign: 0,
            wake_ups: 0,
        }
    }

    /// Receives until nothing more arrives behind the client's report. `None` if the session ends before that, or lasts too
    /// long.
    fn count_until_silent(mut self, cancel: &CancelToken) -> Option<DatagramCounts> {
        let (mut buffers, (user_ns, system_ns)) = (DatagramBuffers::default(), thread_cpu_ns());
        let lasts_max = Duration::from_nanos(self.request.lasts_ns) + HANDSHAKE_MAX * 2;
        let socket = &self.granted.socket;
        while self.start.elapsed() < lasts_max && !cancel.is_cut() {
            let now_ns = self.now_ns();
            let mut woken_ns = None;
            let received = socket.receive(&mut buffers, POLL_INTERVAL, &mut |datagram| {
                let now_ns = *woken_ns.get_or_insert_with(|| self.now_ns());
                self.handle(&datagram, now_ns);
            });
            // What the system reports here concerns a datagram that was sent back.
            self.wake_ups += u64::from(received.unwrap_or(false));
            match self.sent.get() {
                Some(sent) if self.is_silent(*sent, now_ns) => {
                    return Some(self.into_counts(*sent, user_ns, system_ns));
                }
                Some(_) => {}
                // Silence counts from when it was told.
                None => self.last_ns = self.last_ns.max(now_ns),
            }
        }
        None
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn is_silent(&self, sent: u64, now_ns: u64) -> bool {
        let silence = if self.counter.unique() >= sent { SILENCE_AFTER_ALL } else { SILENCE_MAX };
        now_ns > self.last_ns + silence.as_nanos() as u64
    }

    /// Counts a datagram: one of another sender as foreign, one above the rate as such. The first copy is sent back if the
    /// client requested that.
    fn handle(&mut self, datagram: &ReceivedDatagram<'_>, now_ns: u64) {
        let head = DatagramHead::read(datagram.payload).filter(|head| head.token == self.granted.grant.token);
        let is_sender = datagram.from.ip().to_canonical() == self.granted.peer
            && self.sender.is_none_or(|sender| sender == datagram.from);
        let is_short = datagram.payload.len() <= self.request.payload_bytes as usize;
        let Some(head) = head.filter(|_| is_sender && is_short) else {
            self.foreign += 1;
            return;
        };
        if self.sender.replace(datagram.from).is_none() {
            self.first_ns = now_ns;
        }
        if !self.is_within_rate(datagram.payload.len(), now_ns) {
            self.above_rate += 1;
            return;
        }
        self.last_ns = now_ns;
        let bytes = datagram.payload.len() as u64;
        let is_first = !self.counter.has(head.sequence);
        let counted = self.counter.handle(head.sequence, bytes, head.sent_ns, now_ns);
        if counted && is_first && self.request.wanted == DatagramUse::Reflect {
            self.send_back(datagram.payload, datagram.from, datagram.to);
        }
    }

    /// Whether this many bytes more are within this session's rate, that of all, and the time.
    fn is_within_rate(&mut self, payload_bytes: usize, now_ns: u64) -> bool {
        let since_ns = now_ns.saturating_sub(self.first_ns);
        let in_time = |time_ns: u64| {
            u128::from(self.granted.grant.bytes_per_second) * u128::from(time_ns) / 1_000_000_000
        };
        let bytes = packet_bytes(payload_bytes as u32);
        let most = in_time(since_ns) + in_time(BUNCHED_NS).max(2 * u128::from(bytes));
        let taken = self.taken_bytes + bytes;
        let is_within = u128::from(taken) <= most
            && since_ns <= self.request.lasts_ns + BUNCHED_NS
            && self.granted.state.datagram_allowance.charge(bytes, self.start + Duration::from_nanos(now_ns));
        if is_within {
            self.taken_bytes = taken;
        }
        is_within
    }

    /// The same bytes, from the address that they were sent to. One that the system does not take is one that is lost.
    fn send_back(&self, payload: &[u8], to: SocketAddr, from: Option<IpAddr>) {
        let _ = self.granted.socket.send(payload, None, to, from);
    }

    /// The counts, with the CPU time since these values.
    fn into_counts(self, sent: u64, user_ns: u64, system_ns: u64) -> DatagramCounts {
        let now = thread_cpu_ns();
        let Receiver { above_rate, foreign, wake_ups, .. } = self;
        DatagramCounts {
            above_rate,
            foreign,
            wake_ups,
            user_ns: now.0.saturating_sub(user_ns),
            system_ns: now.1.saturating_sub(system_ns),
            ..self.counter.counts(sent)
        }
    }
}
