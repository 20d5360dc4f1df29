//! The direct way to a far end that was started over ssh: it counts as there only once the far end of this very session
//! has answered, for each connection anew. A middle box may take calls and say nothing, or let some pass and others
//! not: then connections go through ssh.
//!
//! Must not know: sessions, what a connection is used for.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use datapump_engine::Socket;

use super::connect::connect;
use super::{Dialer, Route, Sealed};
use crate::cancel::CancelToken;
use crate::fault::NetFault;
use crate::ssh::{Distrusted, SshMux};
use crate::timed::POLL_INTERVAL;

/// How long a far end may take to answer before it is called through ssh, too. A slow one is slow on both ways: the
/// first answer counts.
const TRY_MAX: Duration = Duration::from_secs(1);

/// Both ways to such a far end.
pub struct DirectWay {
    pub(crate) address: SocketAddr,
    ssh_mux: Arc<SshMux>,
    /// Nor are later sessions to use it.
    distrusted: Distrusted,
    is_given_up: AtomicBool,
    /// Why, for whoever tells the user.
    told: Mutex<Option<Sender<String>>>,
}

impl DirectWay {
    /// Gives also what will say why the direct way was given up.
    pub(crate) fn new(
        address: SocketAddr,
        ssh_mux: Arc<SshMux>,
        distrusted: Distrusted,
    ) -> (Arc<DirectWay>, Receiver<String>) {
        let (told, tells) = channel();
        let (told, is_given_up) = (Mutex::new(Some(told)), AtomicBool::new(false));
        (Arc::new(DirectWay { address, ssh_mux, distrusted, is_given_up, told }), tells)
    }

    /// No session came about on it.
    pub(super) fn distrust(&self) {
        if !self.is_given_up() {
            self.distrusted.add();
        }
    }

    /// All goes through ssh from now on.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// The direct way is not used any more. Told once.
    pub(crate) fn give_up(&self, fault: &NetFault) {
        self.is_given_up.store(true, Ordering::Relaxed);
        if let Some(told) = self.told.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let (address, words) = (self.address, fault.words());
            let _ = told.send(format!(
                "no direct connection to {address} ({words}): everything goes through ssh, which may be slower"
            ));
        }
    }

    /// A connection after its handshake, by whichever way it is had first.
    pub(super) fn sealed(&self, dialer: &Dialer, called: &dyn Fn()) -> Result<Sealed, NetFault> {
        if self.is_given_up() {
            return self.carried(dialer, called);
        }
        let attempt = Attempt::begin(dialer, self.address)?;
        called();
        match attempt.wait(Instant::now() + TRY_MAX, &dialer.cancel)? {
            Some(Ok(sealed)) => return Ok(sealed),
            Some(Err(fault)) => {
                let sealed = self.carried(dialer, &|| ())?;
                // Only what ssh reaches is known not to be reached otherwise.
                self.give_up(&fault);
                return Ok(sealed);
            }
            None => {}
        }
        let carried = self.carried(dialer, &|| ());
        match (attempt.wait(Instant::now(), &dialer.cancel)?, carried) {
            (Some(Ok(sealed)), _) => Ok(sealed),
            (Some(Err(fault)), Ok(sealed)) => {
                self.give_up(&fault);
                Ok(sealed)
            }
            (None, Ok(sealed)) => {
                self.give_up(&NetFault::Lost("nothing answers there".into()));
                Ok(sealed)
            }
            (_, Err(fault)) => Err(fault),
        }
    }

    fn carried(&self, dialer: &Dialer, called: &dyn Fn()) -> Result<Sealed, NetFault> {
        Dialer { route: Route::ConnectionStats(Arc::clone(&self.ssh_mux)), ..dialer.clone() }.sealed(called)
    }
}

/// A direct call on a thread of its own, given up when dropped.
struct Attempt {
    made: Receiver<Result<Sealed, NetFault>>,
    cancel: CancelToken,
}

impl Attempt {
    fn begin(dialer: &Dialer, address: SocketAddr) -> Result<Attempt, NetFault> {
        let cancel = CancelToken::default();
        let (owned, direct) = (dialer.cancel.clone(), Dialer { cancel: cancel.clone(), ..dialer.clone() });
        let (makes, made) = channel();
        let work = move || {
            let until = direct.cancel.within(direct.patience());
            let socket = connect(&[address], &until, &|| ()).map(Socket::Tcp);
            let sealed = socket.and_then(|socket| direct.shaken(socket)).map(|mut sealed| {
                sealed.channel.join(owned);
                sealed
            });
            let _ = makes.send(sealed);
        };
        Builder::new().spawn(work).map_err(|error| NetFault::of_io("start a thread", &error))?;
        Ok(Attempt { made, cancel })
    }

    /// What came of it by then.
    ///
    /// Errors: nobody waits for it any more.
    fn wait(
        &self,
        until: Instant,
        cancel: &CancelToken,
    ) -> Result<Option<Result<Sealed, NetFault>>, NetFault> {
        loop {
            cancel.check()?;
            let left = until.saturating_duration_since(Instant::now());
            match self.made.recv_timeout(left.min(POLL_INTERVAL)) {
                Ok(made) => return Ok(Some(made)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Some(Err(NetFault::Lost("the call ended".into()))));
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // A connection that was made has a line of its own by now.
        self.cancel.cut();
    }
}
