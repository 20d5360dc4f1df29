//! Datagrams to a server that allows them: the session that they belong to, and what the server counted of them.
//!
//! Must not know: command lines, when datagrams are sent, what counts are taken for.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use datapump_core::wire::datagrams::{DatagramCounts, DatagramGrant, DatagramRequest};
use datapump_core::wire::session::{Begin, Direction, Message, SenderStats, Session};
use datapump_transport::{
    CancelToken, CutOnPanic, Dialer, Host, NetFault, Reaching, SocketOptions, WayIn, random, reach,
};

use crate::lane::Stepped;
use crate::net::folder::event_codec;
use crate::net::server::control::{Control, Follows, Outbox, message_boxes};
use crate::problem::Problem;
use crate::setup::options::Options;
use crate::setup::platform::Platform;
use datapump_files::disk::boot;

/// Silence after which the server is taken for dead.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// From what was sent to the end of the session: a server waits for stragglers less than a second.
const COUNTING_MAX: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// A server that is busy is asked again for so long, so often.
const BUSY_MAX: Duration = Duration::from_secs(2);
const BUSY_PAUSE: Duration = Duration::from_millis(20);
const TOO_OLD: &str = "this server's pump is too old to take datagrams; install this version there and start it with \
                       pump serve --allow-udp RATE";

/// A server that datagrams are sent to.
#[derive(Clone, Debug)]
pub struct DatagramClient {
    /// Where it is.
    pub host: Host,
    /// What lets this side in.
    pub way_in: WayIn,
    /// Ends it soon, once true.
    pub stop: Arc<AtomicBool>,
}

/// Where datagrams go, and until when.
#[derive(Debug)]
pub struct DatagramPath {
    /// The server's UDP socket.
    pub address: SocketAddr,
    /// What was granted.
    pub grant: DatagramGrant,
    cancel: CancelToken,
    stop: Arc<AtomicBool>,
}

impl DatagramPath {
    /// The session is lost, or this side shall end.
    pub fn is_over(&self) -> bool {
        self.cancel.is_cut() || self.stop.load(Ordering::Relaxed)
    }
}

/// What a sender did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramsSent<T> {
    /// Datagrams that were sent.
    pub sent: u64,
    /// What it has to tell.
    pub outcome: T,
}

impl DatagramClient {
    /// Begins a session, lets `send` send, and asks the server what arrived.
    ///
    /// Errors: the server cannot be reached, refuses, or is lost meanwhile; this side was stopped; those of `send`.
    pub fn measure<T>(
        &self,
        request: DatagramRequest,
        send: impl FnOnce(&DatagramPath) -> Result<DatagramsSent<T>, Problem>,
    ) -> Result<(T, DatagramCounts), Problem> {
        if let Some(words) = request.wrong() {
            return Err(Problem::usage(words));
        }
        let cancel = CancelToken::default();
        let session = self.begin_with_retry(request, &cancel)?;
        let lost = |fault: NetFault| fault.problem(&self.host.to_string());
        let OpenDatagrams { mut control, outbox, path } = session;
        let (counted, sent_at) = (Mutex::new(None), OnceLock::new());
        let (sent, talked) = std::thread::scope(|scope| {
            let talking = scope.spawn(|| {
                let _cut = CutOnPanic(path.cancel.clone());
                self.talk(&mut control, &outbox, &path, &counted, &sent_at).inspect_err(|_| path.cancel.cut())
            });
            let sent = send(&path);
            match &sent {
                Ok(sent) if !self.is_stopped() => {
                    outbox.say(Message::DatagramsSent(sent.sent));
                    sent_at.get_or_init(Instant::now);
                }
                _ => path.cancel.stop(),
            }
            let talked = talking.join().unwrap_or(Err(NetFault::Stopped));
            (sent, talked)
        });
        // A lost session is why sending ended, whatever came of that.
        match (sent, talked) {
            (_, Err(fault @ (NetFault::Lost(_) | NetFault::Protocol(_)))) if !self.is_stopped() => {
                Err(lost(fault))
            }
            (Err(problem), _) => Err(problem),
            (Ok(_), Err(fault)) => Err(lost(fault)),
            (Ok(sent), Ok(())) => {
                let counts = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
                let counts =
                    counts.ok_or_else(|| lost(NetFault::Lost("the server told no counts".into())))?;
                Ok((sent.outcome, counts))
            }
        }
    }

    /// Exchanges messages until the counts are received and both sides agree on the end, or this side is stopped.
    ///
    /// Errors: the server takes too long to count.
    fn talk(
        &self,
        control: &mut Control,
        outbox: &Outbox,
        path: &DatagramPath,
        counted: &Mutex<Option<DatagramCounts>>,
        sent_at: &OnceLock<Instant>,
    ) -> Result<(), NetFault> {
        let mut answer = |message| {
            if let Message::DatagramsCounted(counts) = message {
                *counted.lock().unwrap_or_else(PoisonError::into_inner) = Some(*counts);
                outbox.say(Message::Report("{}".into()));
            }
            Follows::Go
        };
        let mut look = || {
            self.is_stopped().then(|| path.cancel.stop());
            None
        };
        while sent_at.get().is_none_or(|sent_at| sent_at.elapsed() < COUNTING_MAX) {
            let stepped =
                control.step(POLL_INTERVAL, &mut answer, &mut look, &mut || Some(SenderStats::default()))?;
            if stepped == Stepped::Over {
                return Ok(());
            }
        }
        let seconds = COUNTING_MAX.as_secs();
        Err(NetFault::Lost(format!("the server did not tell within {seconds} s what came")))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Begins; while the server is busy it is asked again for a while, since a session that has just ended may not have
    /// given back its rate.
    fn begin_with_retry(
        &self,
        request: DatagramRequest,
        cancel: &CancelToken,
    ) -> Result<OpenDatagrams, Problem> {
        let start = Instant::now();
        loop {
            match self.begin(request, cancel) {
                Err(NetFault::Busy(_)) if start.elapsed() < BUSY_MAX && !self.is_stopped() => {
                    std::thread::sleep(BUSY_PAUSE);
                }
                Err(fault) => return Err(fault.problem(&self.host.to_string())),
                Ok(begun) => return begun,
            }
        }
    }

    /// Begins a session once. The inner error is a refusal in the server's words.
    fn begin(
        &self,
        request: DatagramRequest,
        cancel: &CancelToken,
    ) -> Result<Result<OpenDatagrams, Problem>, NetFault> {
        let (sockets, beside) = (SocketOptions::default(), |_: &Dialer| ());
        let reaching = Reaching {
            way_in: &self.way_in,
            sockets: &sockets,
            patience: PEER_TIMEOUT,
            stop: &self.stop,
            proposed: random(),
            beside: &beside,
        };
        let reached = reach(&self.host, &reaching, cancel, &|_| ())?;
        let address = reached.channel.socket_facts().map(|socket| socket.peer);
        let mut address = address.ok_or_else(|| NetFault::Refused("has no address for datagrams".into()))?;
        let (outbox, inbox) = message_boxes()?;
        let clock = Platform::real().clock;
        let mut control = Control::new(reached.channel, Session::caller(), inbox, PEER_TIMEOUT, clock);
        control.say(Message::Begin(begin(request)))?;
        let answer = control.hear()?;
        control.join(cancel);
        match answer {
            Message::Begun { datagrams: Some(grant), .. } => {
                let (cancel, stop) = (cancel.clone(), Arc::clone(&self.stop));
                // Its scope stays: a link-local address is none without it.
                address.set_port(grant.port);
                Ok(Ok(OpenDatagrams { control, outbox, path: DatagramPath { address, grant, cancel, stop } }))
            }
            Message::Begun { .. } => Err(NetFault::Refused(TOO_OLD.into())),
            Message::Busy(words) => Err(NetFault::Busy(crate::shown(words.as_bytes()))),
            Message::Refused(event) => Ok(Err(event_codec::refused(event, &self.host.to_string()))),
            _ => Err(NetFault::Protocol("the other side does not begin".into())),
        }
    }
}

struct OpenDatagrams {
    control: Control,
    outbox: Outbox,
    path: DatagramPath,
}

/// A server that does not know datagrams takes it for a copy of nothing, and grants none.
fn begin(request: DatagramRequest) -> Begin {
    let options = Options::default().with(|it| it.measuring.far_null_bytes = Some(0));
    let (options, boot, datagrams) = (options.to_wire(), Some(boot()), Some(request));
    Begin { options, boot, datagrams, ..Begin::new(Direction::Pull) }
}
