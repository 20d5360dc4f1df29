//! A job as a program asks for it: one move, between places of this host or of this and another.
//!
//! Must not know: how a job is performed, here or between two hosts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use datapump_core::problem::Problem;
use datapump_mover::file::block_hook::BlockHook;
use datapump_mover::place::Place;
use datapump_mover::report::Report;
use datapump_mover::report::event::Event;
use datapump_mover::report::failed::{self, JobFailed};
use datapump_mover::report::watch::Watch;
use datapump_mover::setup::options::Options;
use datapump_mover::setup::platform::Platform;
use datapump_sessions::net::client::path_look::PathFacts;
use datapump_sessions::net::client::remote_copy::RemoteCopy;
use datapump_sessions::net::client::request_response::{RequestSeries, TimedAnswers};
use datapump_transport::WayIn;
use datapump_trees::job::{HostJob, Planned};

/// One move. Made by [`Job::copy`], [`Job::hash`] or [`Job::compare`], changed by the methods that take `self`, and
/// performed by [`Job::run`].
///
/// Its sources, or its target, may lie on another host, which [`Job::way_in`] lets it reach:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use datapump::{Host, Job, Place, Remote, ServeOptions, Server, WayIn};
///
/// let folder = tempfile::tempdir().unwrap();
/// std::fs::create_dir(folder.path().join("served")).unwrap();
/// std::fs::write(folder.path().join("in.bin"), b"some bytes").unwrap();
///
/// // On the other host:
/// let end = Arc::new(AtomicBool::new(false));
/// let served = ServeOptions::for_place(Place::Path(folder.path().join("served")));
/// let server = Server::bind(served, Arc::clone(&end)).unwrap();
/// let (address, ticket) = (server.address().to_string(), server.ticket().clone());
/// let thread = std::thread::spawn(move || server.run());
///
/// // On this one:
/// let target = Place::Remote(Remote { host: Host::Served(address), path: "out.bin".into() });
/// let job = Job::copy(vec![Place::Path(folder.path().join("in.bin"))], target);
/// let report = job.way_in(WayIn::Ticket(ticket)).run(&|_event| {})?;
/// assert_eq!(report.bytes, 10);
///
/// end.store(true, Ordering::Relaxed);
/// thread.join().unwrap();
/// # Ok::<(), datapump::JobFailed>(())
/// ```
#[derive(Debug)]
pub struct Job {
    host: HostJob,
    way_in: Option<WayIn>,
    connections: Option<u32>,
    peer_timeout: Option<Duration>,
    retry_for: Option<Duration>,
    memory_bytes: Option<u64>,
}

impl Job {
    /// Copies the sources to the target, by cp's rules for the target.
    pub fn copy(sources: Vec<Place>, target: Place) -> Job {
        Job::new(HostJob::copy(sources, target))
    }

    /// Hashes the source; the report's `blake3` is what `b3sum` prints.
    pub fn hash(source: Place) -> Job {
        Job::new(HostJob::hash(source))
    }

    /// Compares the content of two places. Each difference is a problem of class `mismatch`; the exit status is 0 for
    /// the same, 1 for different, 2 for trouble, as cmp has it.
    pub fn compare(one: Place, other: Place) -> Job {
        Job::new(HostJob::compare(one, other))
    }

    fn new(host: HostJob) -> Job {
        let (way_in, connections, memory_bytes) = (None, None, None);
        Job { host, way_in, connections, peer_timeout: None, retry_for: None, memory_bytes }
    }

    /// All places: those to read, then the one to write, or to compare with.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.host.sources.iter().chain([&self.host.target])
    }

    /// All that is asked besides places.
    pub fn asked(&self) -> &Options {
        &self.host.options
    }

    /// The options: all that is asked besides places.
    pub fn options(self, options: Options) -> Job {
        Job { host: self.host.options(options), ..self }
    }

    /// What lets this side in where a place lies on another host. Without, such a place is refused.
    pub fn way_in(self, way_in: WayIn) -> Job {
        Job { way_in: Some(way_in), ..self }
    }

    /// Connections for blocks to another host; by default as measured.
    pub fn connections(self, connections: Option<u32>) -> Job {
        Job { connections, ..self }
    }

    /// Memory for slots and for what another host makes this one hold, half of it for each. By default slots take what is
    /// usual, and the other host a quarter of this machine's.
    pub fn memory_bytes(self, memory_bytes: Option<u64>) -> Job {
        Job { memory_bytes, ..self }
    }

    /// How long to try again when a host, or a server on the web, is lost or busy. Default: 60 s.
    pub fn retry_for(self, retry_for: Duration) -> Job {
        Job { host: self.host.retry_for(retry_for), retry_for: Some(retry_for), ..self }
    }

    /// Silence after which a host, or a server on the web, is taken for dead. Default: 30 s.
    pub fn peer_timeout(self, peer_timeout: Duration) -> Job {
        Job { host: self.host.peer_timeout(peer_timeout), peer_timeout: Some(peer_timeout), ..self }
    }

    /// Whether the client wants an event for each file and each change. Default: true.
    pub fn tells_files(self, tells_files: bool) -> Job {
        Job { host: self.host.tells_files(tells_files), ..self }
    }

    /// Where it runs; this host by default.
    pub fn platform(self, platform: Platform) -> Job {
        Job { host: self.host.platform(platform), ..self }
    }

    /// Ends the job soon, with status 20 and nothing left behind, once the flag is true.
    pub fn stop(self, stop: Arc<AtomicBool>) -> Job {
        Job { host: self.host.stop(stop), ..self }
    }

    /// Live counters.
    pub fn watch(self, watch: Arc<Watch>) -> Job {
        Job { host: self.host.watch(watch), ..self }
    }

    /// What makes the blocks of a null source that is [`Fill::Overwritten`](crate::Fill::Overwritten), or looks at those
    /// that a job would hash. It takes the hash's place: nothing is verified.
    pub fn hook(self, hook: Arc<dyn BlockHook>) -> Job {
        Job { host: self.host.hook(hook), ..self }
    }

    /// Only these bytes of the one file (start, end) are moved, in this order; a target is written in place
    /// ([`DurabilityOptions::inplace`](crate::DurabilityOptions::inplace)) and keeps its length.
    pub fn pieces(self, pieces: Arc<[(u64, u64)]>) -> Job {
        Job { host: self.host.pieces(pieces), ..self }
    }

    /// Whether a source is a folder. A link to one is none if it stays a link.
    pub fn has_folders(&self) -> bool {
        self.host.has_folders()
    }

    /// What [`Job::run`] would do with files, in order, without doing it. (With folders, a run with
    /// [`Options::dry_run`] tells its changes as it finds them.)
    ///
    /// Beside it stand the problems of single sources where there are several: the others would be copied.
    ///
    /// Errors: what would be refused before anything is written, and the problem of the only source: it is missing, or
    /// the folder of its target is, or it is a link, pipe or device in the place of a folder that is not empty.
    pub fn plan(&self) -> Result<(Vec<Planned>, Vec<Problem>), Problem> {
        self.host.plan()
    }

    /// Performs the job and returns when it is done, committed and synced as the options say, or has failed. A connection
    /// to another host that is lost is made again, and the job goes on where it was.
    ///
    /// `events` is called as things happen, from several threads when there are several lanes.
    /// Never panics for anything that a file, a device or the system may do.
    ///
    /// Errors: its status is not 0; of a comparison also that the places differ. The report is in the error.
    pub fn run(self, events: &(dyn Fn(Event) + Sync)) -> Result<Report, JobFailed> {
        failed::run_checked(|events| self.run_reported(events), events)
    }

    /// Runs as [`Job::run`] does and gives the report, whatever its `exit_status`: for programs that judge it themselves.
    pub fn run_reported(self, events: &(dyn Fn(Event) + Sync)) -> Report {
        let is_remote = self.places().any(|place| matches!(place, Place::Remote(_)));
        match self.way_in.clone() {
            Some(way_in) if is_remote => self.remote(way_in).run_reported(events),
            _ => self.host.run_reported(events),
        }
    }

    /// Looks at the path to the host of the first source, and at both hosts. A problem is given with what was found
    /// until then; a host that is busy is not waited for.
    pub fn look_at_path(self, events: &(dyn Fn(Event) + Sync)) -> (PathFacts, Option<Problem>) {
        match self.way() {
            Ok(way_in) => self.remote(way_in).look_at_path(events),
            Err(problem) => (PathFacts::default(), Some(problem)),
        }
    }

    /// Requests answers of the first source over one connection of their own, which is new.
    ///
    /// Errors: the server cannot be reached, refuses, serves files or is lost meanwhile; this side was stopped.
    pub fn time_answers(
        self,
        series: RequestSeries,
        events: &(dyn Fn(Event) + Sync),
    ) -> Result<TimedAnswers, Problem> {
        let way_in = self.way()?;
        self.remote(way_in).time_answers(series, events)
    }

    fn way(&self) -> Result<WayIn, Problem> {
        self.way_in.clone().ok_or_else(|| Problem::usage("there is no session with the other host"))
    }

    fn remote(self, way_in: WayIn) -> RemoteCopy {
        let Job { host, connections, peer_timeout, retry_for, memory_bytes, .. } = self;
        let copy = RemoteCopy::from_job(host, way_in);
        RemoteCopy { connections, peer_timeout, retry_for, memory_bytes, ..copy }
    }
}
