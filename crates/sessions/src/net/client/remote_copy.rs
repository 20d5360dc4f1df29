//! A copy of which one side lies on another host: what is asked, and what lasts over its sessions.
//!
//! Must not know: how a session is made, how blocks are moved.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use datapump_core::wire::session::Direction;
use datapump_transport::WayIn;

use crate::job::HostJob;
use crate::place::{Place, Remote};
use crate::report::event::Event;
use crate::report::watch::Watch;
use crate::setup::defaults::Reads;
use crate::setup::options::Options;
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
    /// Memory for slots and for what the other host makes this side hold, half of it for each. By default slots take what
    /// is usual, and the other host a quarter of this machine's.
    pub memory_bytes: Option<u64>,
    /// Tell of each file that is complete, and of what else is done; otherwise of problems and what options ask for.
    pub tells_files: bool,
    /// Ends the copy soon, once true.
    pub stop: Arc<AtomicBool>,
    /// Live counters.
    pub watch: Arc<Watch>,
}

/// Requests in flight on each connection that have slots where memory is bounded: two at each end.
const SLOTS_MIN: u64 = 4;
/// Smaller requests are not chosen for the sake of memory.
const REQUEST_BYTES_MIN: u64 = 64 << 10;

impl RemoteCopy {
    /// The job, of which one side lies on another host.
    pub fn from_job(job: HostJob, way_in: WayIn) -> RemoteCopy {
        RemoteCopy {
            compares: job.compares(),
            sources: job.sources,
            target: job.target,
            options: job.options,
            way_in,
            connections: None,
            peer_timeout: None,
            retry_for: None,
            memory_bytes: None,
            tells_files: job.tells_files,
            stop: job.stop,
            watch: job.watch,
        }
    }

    /// Half of the memory that this side may take is for slots. Requests are smaller, where no size is asked, until each
    /// connection has some, one for what is sent ahead included.
    pub(super) fn bound_slots(&mut self) {
        let Some(memory_bytes) = self.memory_bytes else { return };
        let pool_bytes = memory_bytes / 2;
        self.options.limits.pool_bytes_max = Some(pool_bytes);
        self.options.tuning.request_bytes.get_or_insert(request_bytes(pool_bytes, self.lanes()));
    }
}

/// Of a power of two, as sizes of requests are multiples of a page.
fn request_bytes(pool_bytes: u64, lanes: u32) -> u32 {
    let usual = Options::defaults(Reads::RemoteFiles).request_bytes;
    let fit_bytes = pool_bytes / ((u64::from(lanes) + 1) * SLOTS_MIN);
    1 << fit_bytes.max(REQUEST_BYTES_MIN).ilog2().min(usual.ilog2())
}

pub(crate) type Events<'events> = &'events (dyn Fn(Event) + Sync);
/// The session before, if there was one.
pub(crate) type LastSession = Mutex<Option<SessionBefore>>;

/// How a session begins.
#[derive(Debug)]
pub(crate) struct SessionStart<'copy> {
    /// Which side writes.
    pub(crate) way: Direction,
    /// The place on the other host that tells how it is reached.
    pub(crate) remote: &'copy Remote,
    pub(crate) last: &'copy LastSession,
    /// The request that is sent with the greeting.
    pub(crate) first: Option<Vec<u8>>,
    /// Which start of which system the side runs on that reads, if it is not the called one.
    pub(crate) source_boot: Option<[u8; 16]>,
}

impl<'copy> SessionStart<'copy> {
    /// Of a session in which this side reads or writes.
    pub(crate) fn of_this_side(
        way: Direction,
        remote: &'copy Remote,
        last: &'copy LastSession,
    ) -> SessionStart<'copy> {
        SessionStart { way, remote, last, first: None, source_boot: Some(boot()) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_smaller_where_memory_is_little() {
        let kib = |memory_mib: u64, lanes| request_bytes((memory_mib << 20) / 2, lanes) >> 10;
        assert_eq!([256, 32, 16, 8, 1].map(|mib| kib(mib, 2)), [1024, 1024, 512, 256, 64]);
        assert_eq!([64, 32, 16].map(|mib| kib(mib, 16)), [256, 128, 64]);
    }
}
