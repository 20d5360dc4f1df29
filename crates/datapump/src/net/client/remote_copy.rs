//! A copy of which one side lies on another host: what is asked, and what lasts over its sessions.
//!
//! Must not know: how a session is made, how blocks are moved.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use datapump_transport::WayIn;

use crate::job::options::Options;
use crate::report::watch::Watch;
use crate::run::event::Event;
use crate::target::place::Place;
use datapump_files::disk::boot;

/// Between two tries, at first and at most.
pub(crate) const PAUSE_MIN: Duration = Duration::from_millis(100);
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A copy of which one side lies on another host.
#[derive(Clone, Debug)]
pub struct RemoteCopy {
    /// Where from: all here, or all on one other host.
    pub sources: Vec<Place>,
    /// Where to.
    pub target: Place,
    /// Nothing is written: the two places are compared.
    pub compares: bool,
    /// The other options.
    pub options: Options,
    /// What lets this side in.
    pub way_in: WayIn,
    /// Connections for blocks; by default as measured.
    pub connections: Option<u32>,
    /// Silence after which the other side is taken for dead; 30 s by default.
    pub peer_timeout: Option<Duration>,
    /// How long a connection that is lost is tried again; 60 s by default.
    pub retry_for: Option<Duration>,
    /// Memory for what the other host makes this side hold; a quarter of this machine's by default.
    pub memory_bytes: Option<u64>,
    /// Tell of each file that is complete, and of what else is done; otherwise of problems and what options ask for.
    pub tells_files: bool,
    /// Ends the copy soon, once true.
    pub stop: Arc<AtomicBool>,
    /// Live counters.
    pub watch: Arc<Watch>,
}

pub(crate) type Events<'events> = &'events (dyn Fn(Event) + Sync);
/// The session before, if there was one.
pub(crate) type LastSession = Mutex<Option<SessionBefore>>;

/// How a session begins besides.
#[derive(Debug)]
pub(crate) struct SessionStart {
    /// The request that is sent with the greeting.
    pub(crate) first: Option<Vec<u8>>,
    /// Which start of which system the side runs on that reads, if it is not the called one.
    pub(crate) source_boot: Option<[u8; 16]>,
}

impl SessionStart {
    /// Of a session in which this side reads or writes.
    pub(crate) fn of_this_side(first: Option<Vec<u8>>) -> SessionStart {
        SessionStart { first, source_boot: Some(boot()) }
    }
}

/// What a session leaves to the one that goes on after it was lost.
#[derive(Clone, Debug)]
pub(crate) struct SessionBefore {
    pub(crate) number: [u8; 16],
    /// Whether it found a folder that receives the sources.
    pub(crate) receives: Option<bool>,
    /// What the patterns among the sources stood for.
    pub(crate) sources: Option<Vec<Place>>,
}
