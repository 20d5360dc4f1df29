//! Connections that join a session: as many as were agreed when it began.
//!
//! Must not know: who may join which session, what the connections are used for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use datapump_core::wire::hello::Purpose;
use datapump_transport::{CancelToken, Channel};

use crate::net::server::control::{Inbox, Outbox};

/// A session that is about to begin.
pub(crate) struct NewSession {
    pub(crate) number: [u8; 16],
    pub(crate) cancel: CancelToken,
    pub(crate) acceptor: Receiver<(Purpose, Channel)>,
    pub(crate) boxes: (Outbox, Inbox),
    pub(crate) left: Arc<ConnectionQuota>,
}

/// Takes connections that join a session.
#[derive(Clone)]
pub(crate) struct ConnectionAcceptor {
    pub(crate) channels: Sender<(Purpose, Channel)>,
    pub(crate) outbox: Outbox,
    pub(crate) left: Arc<ConnectionQuota>,
}

/// Connections that a session may still have: none before it was agreed how many.
#[derive(Debug, Default)]
pub(crate) struct ConnectionQuota {
    blocks: AtomicU32,
    names: AtomicU32,
    ahead: AtomicU32,
    is_agreed: AtomicBool,
}

impl ConnectionQuota {
    /// So many lanes were agreed. Each has a connection for blocks and may have one for names; the first folders are
    /// looked at before any lane is there. One brings what is sent without a request.
    pub(crate) fn agree(&self, lanes: u32, ahead: bool) {
        self.blocks.store(lanes, Ordering::Relaxed);
        self.names.store(lanes.saturating_add(1), Ordering::Relaxed);
        self.ahead.store(ahead.into(), Ordering::Relaxed);
        self.is_agreed.store(true, Ordering::Release);
    }
}

impl ConnectionAcceptor {
    /// Whether it was agreed how many there are.
    pub(crate) fn is_agreed(&self) -> bool {
        self.left.is_agreed.load(Ordering::Acquire)
    }

    /// Whether one more of this kind was agreed.
    pub(crate) fn admits(&self, purpose: Purpose) -> bool {
        let left = match purpose {
            Purpose::Blocks => &self.left.blocks,
            Purpose::Ahead => &self.left.ahead,
            Purpose::Names | Purpose::Control => &self.left.names,
        };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    pub(crate) fn take(&self, purpose: Purpose, channel: Channel) {
        let _ = self.channels.send((purpose, channel));
        self.outbox.wake();
    }
}
