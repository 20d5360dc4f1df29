//! Connections of a session that this side calls: the first of each kind are made beside the control connection, and
//! nobody waits for them; further ones when they are needed.
//!
//! Must not know: what is said over them, how the other side is reached.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_transport::{CancelToken, Channel, Dialer, NetFault, Pool};

use crate::net::folder::remote_host::PurposePools;

/// Connections for names that are made beside the first: that many lanes ask at the same time by default.
const NAMES: u32 = 2;

/// A copy that takes no longer needs none of those that it may grow to.
pub(crate) const SPARES_AFTER: Duration = Duration::from_secs(1);
/// A session that ends meanwhile waits no longer than this.
pub(crate) const LOOK_EACH: Duration = Duration::from_millis(5);

/// How a session's connections are made, once that is known.
type KnownSession = Arc<OnceLock<(Dialer, [u8; 16])>>;

/// Sleeps for so long, and looks so often whether something is over. False if it was over before the end.
pub(crate) fn sleep_unless(time: Duration, look_each: Duration, is_over: impl Fn() -> bool) -> bool {
    let end = Instant::now() + time;
    while !is_over() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(look_each));
    }
    false
}

/// Connections of a session, by what they are for.
pub(crate) struct SessionPools {
    pub(crate) pools: PurposePools,
    known: KnownSession,
    /// Sends whether the path is long: then one connection brings what is not requested.
    is_long: Sender<bool>,
    waits: Mutex<Option<Receiver<bool>>>,
}

impl SessionPools {
    /// Pools of connections of a session that is yet to begin; they are made until the session is cut.
    pub(crate) fn new(cancel: &CancelToken) -> SessionPools {
        let known = KnownSession::default();
        let pools = PurposePools::new(|| {
            let (known, cancel) = (Arc::clone(&known), cancel.clone());
            let pool_cancel = cancel.clone();
            let dial = move |purpose| match known.get() {
                // Lanes heed a stop themselves, and may need one more to complete what they have.
                Some((dialer, session)) => {
                    Dialer { cancel: cancel.clone(), ..dialer.clone() }.join(purpose, *session)
                }
                None => Err(NetFault::Lost("the session has not begun".into())),
            };
            Pool::dialled(pool_cancel, Box::new(dial))
        });
        let (is_long, waits) = channel();
        SessionPools { pools, known, is_long, waits: Mutex::new(Some(waits)) }
    }

    /// Begins to make connections, on threads, for a session that will have this number, with so many lanes. `first` is
    /// requested at once over the connection for what is sent ahead. Only the first call does anything.
    pub(crate) fn dial_early(&self, dialer: &Dialer, session: [u8; 16], lanes: u32, first: Option<Vec<u8>>) {
        // A host may have several addresses, which are called one after the other.
        let Some(is_long) = self.waits.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let names = (0..lanes.min(NAMES)).map(|_| Purpose::Names);
        for purpose in names.chain((0..lanes).map(|_| Purpose::Blocks)) {
            let known = Arc::clone(&self.known);
            self.spawn(dialer, purpose, move |dialer| {
                dialer.joined_early(purpose, session, &|| known.get().is_some())
            });
        }
        self.spawn(dialer, Purpose::Ahead, move |dialer| {
            let mut channel = dialer.join_early(Purpose::Ahead, session)?;
            if !is_long.recv().unwrap_or(false) {
                return Err(NetFault::Stopped);
            }
            first.into_iter().try_for_each(|first| channel.put_message(&first, 1))?;
            channel.flush().map(|()| channel)
        });
    }

    /// Makes a connection on a thread, which ends with the session, and puts it into the pool of its purpose.
    fn spawn(
        &self,
        dialer: &Dialer,
        purpose: Purpose,
        dial: impl FnOnce(&Dialer) -> Result<Channel, NetFault> + Send + 'static,
    ) {
        let dialer = dialer.clone();
        self.pools.of(purpose).dial_aside(move || dial(&dialer));
    }

    /// The path is long, or not.
    pub(crate) fn decide(&self, is_long: bool) {
        let _ = self.is_long.send(is_long);
    }

    /// The session has begun, under this number.
    pub(crate) fn know(&self, dialer: Dialer, session: [u8; 16]) {
        let _ = self.known.set((dialer, session));
    }

    /// Makes spare connections for blocks, all at the same time, and sends them to `sender` as they come, until all
    /// have or `is_over`. One that cannot be had is no error.
    pub(crate) fn dial_spares(
        &self,
        spares: u32,
        sender: &Sender<(Purpose, Channel)>,
        is_over: &dyn Fn() -> bool,
    ) {
        let pool = self.pools.of(Purpose::Blocks);
        pool.dial_spares(Purpose::Blocks, spares);
        let come = std::iter::from_fn(|| pool.take_spare(is_over));
        come.for_each(|channel| drop(sender.send((Purpose::Blocks, channel))));
    }

    /// Makes all connections over which the other side requests, and gives them to `sender`. A missing one for what is sent
    /// ahead is no error, nor is a stop.
    pub(crate) fn dial(
        &self,
        connections: u32,
        ahead: bool,
        sender: &Sender<(Purpose, Channel)>,
    ) -> Result<(), NetFault> {
        let first = ahead.then_some(Purpose::Ahead);
        let others = (0..connections).flat_map(|_| [Purpose::Names, Purpose::Blocks]);
        for purpose in first.into_iter().chain(others) {
            match self.pools.of(purpose).take(purpose) {
                Ok(channel) => drop(sender.send((purpose, channel))),
                // The other side is told in good order, and what it has been given is not for nothing.
                Err(NetFault::Stopped) => return Ok(()),
                // The other side goes on without.
                Err(_) if purpose == Purpose::Ahead => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy that is done sooner does not wait for connections that it may grow to: it would end an hour later here.
    #[test]
    fn spare_connections_are_not_waited_for_when_nobody_requests_any_more() {
        assert!(sleep_unless(Duration::ZERO, LOOK_EACH, || false));
        assert!(!sleep_unless(Duration::from_secs(3600), LOOK_EACH, || true));
    }
}
