//! A file that a server of HTTP/1.1 gives, read at offsets (RFC 9110 §14: range requests).
//!
//! It is opened by a request for its first part, which tells whether the server has ranges, how long the file is and
//! which file it is. Parts are joined only where all of them have one strong validator (§8.8.1); else the file comes in
//! one body. Readers of several parts have a connection each; one that reads on where it stopped has its body at hand.
//! A cut body is requested again from where it was cut, as long as it is the same file.
//!
//! Must not know: where the bytes go, jobs, progress.

mod answer;
mod client;
mod connection;
mod date;
mod identity;
mod login;
mod netrc;
mod proxies;
mod url;

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use datapump_core::problem::Class;
use ureq::BodyReader;

use answer::WebPart;
use client::{CamePart, Client};
use identity::Identity;
pub use url::{WebError, WebUrl};

/// Bytes of one range request: what a lane claims of a file at a time (32 requests of 1 MiB), so that a lane that
/// claims gets one body for it, and the connection is free for the next when that is read.
const PART_BYTES: u64 = 32 << 20;
/// Bodies that were begun and are kept for whoever reads on there: one for each lane that a job may have.
const BODIES_MAX: usize = 256;
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often a pause looks whether to stop.
const SLICE: Duration = Duration::from_millis(100);
/// Answers of another state of the file until it is taken for changed: several servers behind one address may each name
/// it in their own way, and the one whose parts are at hand is among them.
const OTHERS_MAX: usize = 16;
/// Such answers that differ from each other, too, as of many servers.
const VARIED_MAX: usize = 128;
const PAUSE_OTHER: Duration = Duration::from_millis(20);
/// A body that nobody has read for so long gives way where the server gives no further one; one that ended so long ago is
/// no reason for a refusal.
const IDLE_MAX: Duration = Duration::from_secs(2);

/// Why a file on the web cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebFault {
    /// What follows from it.
    pub class: Class,
    /// What the server or the system said, and what to do.
    pub words: String,
}

impl WebFault {
    fn new(class: Class, words: impl Into<String>) -> WebFault {
        WebFault { class, words: words.into() }
    }
}

/// How a request may come to nothing.
#[derive(Debug)]
enum Failure {
    /// Nothing would be another if it was tried again.
    Final(WebFault),
    /// A request was refused. While the server gives another part of the file it may let in no further one.
    Refused(WebFault),
    /// It may be tried again, not before so much time has passed if the server says so.
    Passing(WebFault, Option<Duration>),
    /// It is of another state of the file, of this number: that of another server, or what it became.
    Another(u64, WebFault),
}

impl Failure {
    fn for_good(self) -> Failure {
        match self {
            Failure::Passing(fault, _) => Failure::Final(fault),
            other => other,
        }
    }
}

/// How long a server is waited for.
#[derive(Clone, Copy, Debug)]
pub struct WebPatience {
    /// What passes is tried again for so long after the last byte of the file.
    pub retry_for: Duration,
    /// A server that says nothing for so long is taken for dead.
    pub silence: Duration,
}

/// An open file on the web.
#[derive(Debug)]
pub struct WebFile {
    client: Client,
    url: WebUrl,
    stop: Arc<AtomicBool>,
    patience: Duration,
    progress: FileProgress,
    identity: Identity,
    /// Parts of it can be requested.
    has_ranges: bool,
    bodies: Mutex<Vec<Body>>,
    fault: Mutex<Option<WebFault>>,
}

/// The body of an answer that is under way.
struct Body {
    at: u64,
    /// Where it ends, if that was told.
    end: Option<u64>,
    bytes: BodyReader<'static>,
    /// Since when it waits for its reader.
    kept: Instant,
    _under_way: UnderWay,
}

/// What all readers of a file share: when the last bytes came, and how many bodies are under way.
#[derive(Debug)]
struct FileProgress {
    last: Mutex<Instant>,
    bodies: Arc<AtomicUsize>,
}

/// A body that is under way.
struct UnderWay(Arc<AtomicUsize>);

impl FileProgress {
    fn new() -> FileProgress {
        FileProgress { last: Mutex::new(Instant::now()), bodies: Arc::default() }
    }

    fn moved(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another part comes, or did a moment ago: a server counts a connection until it has seen its end.
    fn is_under_way(&self) -> bool {
        self.bodies.load(Ordering::Relaxed) > 0 || self.last().elapsed() < IDLE_MAX
    }

    fn body(&self, came: CamePart) -> Body {
        self.bodies.fetch_add(1, Ordering::Relaxed);
        let under_way = UnderWay(Arc::clone(&self.bodies));
        Body {
            at: came.part.at,
            end: came.part.end,
            bytes: came.body,
            kept: Instant::now(),
            _under_way: under_way,
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Body").field("at", &self.at).field("end", &self.end).finish()
    }
}

impl WebFile {
    /// Asks the server for the first part of the file. What passes (an overloaded server, a lost connection) is tried
    /// again; `stop` ends all waiting within 100 ms.
    pub fn open(url: &WebUrl, patience: WebPatience, stop: &Arc<AtomicBool>) -> Result<WebFile, WebFault> {
        let client = Client::new(url, patience.silence, stop);
        let tries = Tries::new(patience.retry_for, stop);
        let parts = tries.until(|| client.open(PART_BYTES))?.ok_or_else(stopped)?;
        let WebPart { identity, has_ranges, .. } = &parts[0].part;
        // Of an empty file there are no parts.
        let is_empty = identity.bytes == Some(0);
        let has_ranges = is_empty || *has_ranges && identity.validator().is_some();
        let file = WebFile {
            url: client.url(),
            client,
            stop: Arc::clone(stop),
            patience: patience.retry_for,
            progress: FileProgress::new(),
            has_ranges,
            identity: identity.clone(),
            bodies: Mutex::default(),
            fault: Mutex::default(),
        };
        parts.into_iter().for_each(|part| file.keep(file.progress.body(part)));
        Ok(file)
    }

    /// Where it was found, all redirects followed.
    pub fn url(&self) -> &WebUrl {
        &self.url
    }

    /// Length in bytes, if the server tells it.
    pub fn bytes(&self) -> Option<u64> {
        self.identity.bytes
    }

    /// Whether it can be read in several parts, and again; else once, from its beginning to its end.
    pub fn has_ranges(&self) -> bool {
        self.has_ranges
    }

    /// When it was last modified, in nanoseconds since 1970.
    pub fn modified_ns(&self) -> Option<i128> {
        self.identity.modified_ns()
    }

    /// A number that is another for another file, and for this one when it has changed.
    pub fn number(&self) -> u64 {
        self.identity.number(self.client.first_url())
    }

    /// Why the last read failed for good.
    pub fn fault(&self) -> Option<WebFault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks whether it is still the file that it was.
    pub fn check(&self) -> Result<(), WebFault> {
        self.tries().until(|| self.client.look(&self.identity))?.ok_or_else(stopped)
    }

    /// Reads at an offset until the slot is full or the file ends; 0 at its end, nothing if the run is to stop.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Option<Result<usize, WebFault>> {
        if self.bytes().is_some_and(|bytes| at >= bytes) || into.is_empty() {
            return Some(Ok(0));
        }
        let read = self.tries().until(|| self.try_read(at, into)).transpose()?;
        if let Err(fault) = &read {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.clone());
        }
        Some(read)
    }

    fn tries(&self) -> Tries<'_> {
        Tries { progress: Some(&self.progress), ..Tries::new(self.patience, &self.stop) }
    }

    fn try_read(&self, at: u64, into: &mut [u8]) -> Result<usize, Failure> {
        let mut body = match self.body_at(at) {
            Some(body) => body,
            None if self.has_ranges => self.part(at)?,
            None => return Err(Failure::Final(cannot_go_on())),
        };
        let done = body.fill(into);
        if !matches!(done, Ok(0) | Err((0, _))) {
            self.progress.moved();
        }
        match done {
            Ok(done) => {
                self.keep_rest(body, done);
                Ok(done)
            }
            // What came is used, and what is missing is requested by the next read.
            Err((done @ 1.., Failure::Passing(..))) if self.has_ranges => Ok(done),
            Err((_, failure)) if self.has_ranges => Err(failure),
            Err((_, failure)) => Err(once_only(failure)),
        }
    }

    fn part(&self, at: u64) -> Result<Body, Failure> {
        // Parts begin where lanes claim.
        let end = (at / PART_BYTES + 1) * PART_BYTES;
        let end = self.bytes().map_or(end, |bytes| end.min(bytes));
        let part = self.client.part(at, end, &self.identity);
        if part.is_err() {
            // Nobody may ever come for them, and the server may give no more connections.
            self.bodies().retain(|body| body.kept.elapsed() < IDLE_MAX);
        }
        part.map(|part| self.progress.body(part))
    }

    fn bodies(&self) -> MutexGuard<'_, Vec<Body>> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body that goes on there.
    fn body_at(&self, at: u64) -> Option<Body> {
        let mut bodies = self.bodies();
        let found = bodies.iter().position(|body| body.at == at)?;
        Some(bodies.swap_remove(found))
    }

    fn keep_rest(&self, mut body: Body, done: usize) {
        body.at += done as u64;
        // One that is read to its end has given its connection back.
        if body.end != Some(body.at) && !self.has_stopped() {
            self.keep(body);
        }
    }

    fn keep(&self, body: Body) {
        let mut bodies = self.bodies();
        bodies.push(Body { kept: Instant::now(), ..body });
        if bodies.len() > BODIES_MAX {
            bodies.remove(0);
        }
    }

    fn has_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Body {
    /// Reads until the slot is full or the body ends; with an error what came before. A body whose end nobody told ends
    /// where the connection does.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, (usize, Failure)> {
        let left = self.end.map_or(u64::MAX, |end| end - self.at);
        let wanted = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut done = 0;
        while done < wanted {
            match self.bytes.read(&mut into[done..wanted]) {
                Ok(0) if self.end.is_none() => break,
                Ok(0) => return Err((done, cut("it ended too early"))),
                Ok(more) => done += more,
                Err(error) => return Err((done, cut(&error.to_string()))),
            }
        }
        if self.end == Some(self.at + done as u64) {
            self.end().map(|()| done).map_err(|failure| (done, failure))
        } else {
            Ok(done)
        }
    }

    /// Looks whether it ends where it was told to end, and gives its connection back.
    fn end(&mut self) -> Result<(), Failure> {
        match self.bytes.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => {
                let words = "the server sends more bytes than it announced";
                Err(Failure::Final(WebFault::new(Class::Io, words)))
            }
            Err(error) => Err(cut(&error.to_string())),
        }
    }
}

fn cut(words: &str) -> Failure {
    Failure::Passing(WebFault::new(Class::Lost, format!("the connection was lost: {words}")), None)
}

fn once_only(failure: Failure) -> Failure {
    let Failure::Passing(fault, _) = failure else { return failure };
    let words = format!("{}; the server gives no parts of it, so that a copy starts over", fault.words);
    Failure::Final(WebFault { words, ..fault })
}

fn cannot_go_on() -> WebFault {
    WebFault::new(
        Class::Io,
        "the server gives it once, from the beginning to the end; copy it to a file first",
    )
}

fn stopped() -> WebFault {
    WebFault::new(Class::Lost, "interrupted")
}

/// How long something is tried.
struct Tries<'stop> {
    patience: Duration,
    stop: &'stop AtomicBool,
    started: Instant,
    /// Of the file of which this is a part.
    progress: Option<&'stop FileProgress>,
}

impl Tries<'_> {
    fn new(patience: Duration, stop: &AtomicBool) -> Tries<'_> {
        Tries { patience, stop, started: Instant::now(), progress: None }
    }

    /// For how long nothing came, of whatever part.
    fn idle(&self) -> Duration {
        let last = self.progress.map_or(self.started, FileProgress::last);
        self.started.max(last).elapsed()
    }

    fn others_go_on(&self) -> bool {
        self.progress.is_some_and(FileProgress::is_under_way)
    }

    /// Tries until it is done or failed for good, or patience ends; nothing if the run is to stop.
    fn until<T>(&self, mut attempt: impl FnMut() -> Result<T, Failure>) -> Result<Option<T>, WebFault> {
        let (mut pause, mut others) = (PAUSE_MIN, Vec::new());
        loop {
            let (fault, after) = match attempt() {
                _ if self.stops() => return Ok(None),
                Ok(done) => return Ok(Some(done)),
                // Its turn comes when others have theirs.
                Err(Failure::Refused(fault)) if self.others_go_on() => (fault, None),
                Err(Failure::Final(fault) | Failure::Refused(fault)) => return Err(fault),
                Err(Failure::Passing(fault, after)) => (fault, after),
                Err(Failure::Another(other, fault)) => {
                    others.push(other);
                    let varies = others.iter().any(|&it| it != other);
                    if others.len() >= if varies { VARIED_MAX } else { OTHERS_MAX } {
                        return Err(fault);
                    }
                    self.sleep(PAUSE_OTHER);
                    continue;
                }
            };
            let (wait, left) = (after.unwrap_or(pause), self.patience.saturating_sub(self.idle()));
            // While others get bytes there is time anew.
            let wait = if self.others_go_on() { wait.min(left).min(PAUSE_MAX) } else { wait };
            if wait >= left && (left.is_zero() || !self.others_go_on()) {
                let words = format!("{}; gave up after {} s", fault.words, self.patience.as_secs());
                return Err(WebFault { words, ..fault });
            }
            self.sleep(wait);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.stops() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}
