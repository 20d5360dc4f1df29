//! Connections that join a session: as many as were agreed when it began.
//!
//! Must not know: who may join which session, what the connections are used for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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
}

impl ConnectionQuota {
    /// So many lanes were agreed. Each has a connection for blocks and may have one for names; the first folders are
    /// looked at before any lane is there.
    pub(crate) fn agree(&self, lanes: u32) {
        self.blocks.store(lanes, Ordering::Relaxed);
        self.names.store(lanes.saturating_add(1), Ordering::Relaxed);
    }
}

impl ConnectionAcceptor {
    /// Whether one more of this kind was agreed.
    pub(crate) fn admits(&self, purpose: Purpose) -> bool {
        let left = if purpose == Purpose::Blocks { &self.left.blocks } else { &self.left.names };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    pub(crate) fn take(&self, purpose: Purpose, channel: Channel) {
        let _ = self.channels.send((purpose, channel));
        self.outbox.wake();
    }
}
