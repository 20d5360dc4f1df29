//! The one thread that writes: to standard output and error, and to files that lines go to. Whoever has something to
//! say leaves it here, so that no other thread waits inside a write that nobody reads.
//!
//! The queue is bounded: a thread that works waits for room, and lines are not lost (they are data for scripts).
//! Progress is dropped while the writer waits. Once the user wants to stop, nobody waits any more, and bytes that
//! cannot be written are left out.
//!
//! Must not know: what the bytes say.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use crate::output::files::own_file::{self, WrittenFile};

/// Bytes that may wait to be written, before whoever has more waits.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Bytes that are written together.
const TOGETHER_BYTES_MAX: usize = 64 << 10;
/// A pipe that takes anything takes so much without a wait (pipe(7), PIPE_BUF).
const PIPE_BYTES: usize = 4096;
/// A wait looks up as often.
const LOOK_EACH: Duration = Duration::from_millis(100);
/// Bytes that are not taken within this time, once the user wants to stop, are left out: signals are answered within
/// a second.
const STOPPED_MAX: Duration = Duration::from_millis(300);
/// All that remains is dropped after this time, whatever the writer waits for.
const END_MAX: Duration = Duration::from_millis(400);

/// The user wants to stop.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// To be set by the signals that end a run.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    Arc::clone(&STOP)
}

fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Where bytes go.
#[derive(Clone, Debug)]
pub(crate) enum OutputStream {
    Out,
    Err,
    /// Behind what a file has.
    Log(Arc<WrittenFile>),
    /// In the place of what a file has.
    Whole(Arc<WrittenFile>),
}

impl OutputStream {
    /// What goes to both may be written at once.
    fn continues(&self, other: &OutputStream) -> bool {
        match (self, other) {
            (OutputStream::Out, OutputStream::Out) | (OutputStream::Err, OutputStream::Err) => true,
            (OutputStream::Log(one), OutputStream::Log(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Something to be done in its turn.
enum PrintWork {
    Write(OutputStream, Vec<u8>),
    /// Draws this line as the last of the terminal; others are printed above it.
    DrawBar(Box<dyn FnOnce() -> String + Send>),
    RemoveBar,
}

/// Erases the bar: the cursor is at its first column, and what is behind it may be a bar that a narrower terminal has
/// wrapped.
const ERASE_BAR: &str = "\r\x1b[J";

/// The thread, once there is something to write.
#[derive(Default)]
pub(crate) struct Printer {
    shared: Arc<SharedPrinter>,
    /// Whether the system gave a thread; without one, whoever has something to say writes it.
    has_thread: OnceLock<bool>,
}

#[derive(Default)]
struct SharedPrinter {
    state: Mutex<State>,
    /// Something came, was taken or was written.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    works: VecDeque<PrintWork>,
    waiting_bytes: usize,
    /// Something that was taken is not done yet.
    is_busy: bool,
    /// The writer waits for whoever reads.
    is_stuck: bool,
    /// Nothing more comes.
    is_over: bool,
    /// Bytes were left here.
    has_said: bool,
    out: StdoutOutcome,
    /// Something was left out, because the user wanted to stop.
    has_left_out: bool,
    /// The thread is gone, or is not waited for any more: nobody waits.
    is_dead: bool,
}

/// What came of standard output.
#[derive(Debug, Default)]
pub(crate) struct StdoutOutcome {
    is_closed: bool,
    failed: Option<io::Error>,
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Printer")
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Printer {
    /// Writes in its turn; waits while too much waits.
    pub(crate) fn write(&self, to: OutputStream, bytes: Vec<u8>) {
        let mut state = locked(&self.shared.state);
        while state.waiting_bytes >= WAITING_BYTES_MAX && !is_stopped() && !state.is_dead {
            state = self.wait(state);
        }
        self.add(state, PrintWork::Write(to, bytes));
    }

    /// Writes in its turn what is only of the moment, unless somebody has to be waited for.
    pub(crate) fn write_if_read(&self, to: OutputStream, bytes: Vec<u8>) {
        let state = locked(&self.shared.state);
        if !state.is_stuck && state.waiting_bytes < WAITING_BYTES_MAX {
            self.add(state, PrintWork::Write(to, bytes));
        }
    }

    /// Draws the bar on the terminal, unless that has to be waited for.
    pub(crate) fn draw_bar(&self, line: impl FnOnce() -> String + Send + 'static) {
        let state = locked(&self.shared.state);
        if !state.is_stuck && state.works.is_empty() {
            self.add(state, PrintWork::DrawBar(Box::new(line)));
        }
    }

    /// Removes the bar. Without a thread nobody drew one.
    pub(crate) fn remove_bar(&self) {
        if self.has_thread.get().is_some() {
            self.add(locked(&self.shared.state), PrintWork::RemoveBar);
        }
    }

    /// Standard output cannot be written.
    pub(crate) fn fail(&self, error: io::Error) {
        locked(&self.shared.state).out.failed.get_or_insert(error);
    }

    /// Waits until all is written, or the user wants to stop and it cannot be. Gives what came of standard output, and
    /// whether something was left out.
    pub(crate) fn flush(&self) -> (Option<io::Error>, bool) {
        let mut state = locked(&self.shared.state);
        let mut stopped = None;
        while (state.is_busy || !state.works.is_empty()) && !state.is_dead {
            if is_stopped() && stopped.get_or_insert_with(Instant::now).elapsed() >= END_MAX {
                (state.has_left_out, state.is_dead) = (true, true);
                break;
            }
            state = self.wait(state);
        }
        (state.out.failed.take(), state.has_left_out)
    }

    fn wait<'state>(&self, state: MutexGuard<'state, State>) -> MutexGuard<'state, State> {
        self.shared.changed.wait_timeout(state, LOOK_EACH).unwrap_or_else(PoisonError::into_inner).0
    }

    fn add(&self, mut state: MutexGuard<'_, State>, mut work: PrintWork) {
        if let PrintWork::Write(to, bytes) = &mut work {
            // A run that says one thing needs no thread for it.
            if self.has_thread.get().is_none() && !std::mem::replace(&mut state.has_said, true) {
                bytes.drain(..written_at_once(to, bytes));
                if bytes.is_empty() {
                    return;
                }
            }
            state.waiting_bytes += bytes.len();
        }
        state.works.push_back(work);
        let start = || {
            let shared = Arc::clone(&self.shared);
            let writer = move || Writer::new(&shared).run(true);
            std::thread::Builder::new().name("output".into()).spawn(writer).is_ok()
        };
        let has_thread = *self.has_thread.get_or_init(start);
        drop(state);
        if has_thread { self.shared.changed.notify_all() } else { Writer::new(&self.shared).run(false) }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.flush();
        locked(&self.shared.state).is_over = true;
        self.shared.changed.notify_all();
    }
}

/// What the thread has.
struct Writer<'shared> {
    shared: &'shared SharedPrinter,
    /// The bar that is drawn.
    bar: Option<String>,
    /// Nobody reads them, and the user wants to stop.
    given_up: (bool, bool),
}

/// Why bytes were not written.
enum Unwritten {
    Failed(io::Error),
    LeftOut,
}

impl Writer<'_> {
    fn new(shared: &SharedPrinter) -> Writer<'_> {
        Writer { shared, bar: None, given_up: (false, false) }
    }

    /// Until nothing more comes, or nothing more is there.
    fn run(mut self, waits: bool) {
        while let Some(work) = self.next(waits) {
            match work {
                PrintWork::Write(to, bytes) => self.write(&to, &bytes),
                // A terminal that takes nothing keeps its bar.
                PrintWork::DrawBar(_) | PrintWork::RemoveBar if !is_ready(stderr()) => {}
                PrintWork::DrawBar(line) => {
                    let line = line();
                    let _ = self.write_to(stderr(), bar_bytes(&line).as_bytes());
                    self.bar = Some(line);
                }
                PrintWork::RemoveBar => {
                    if self.bar.take().is_some() {
                        let _ = self.write_to(stderr(), ERASE_BAR.as_bytes());
                    }
                }
            }
        }
    }

    /// The next that is to be done; lines for the same place come together.
    fn next(&self, waits: bool) -> Option<PrintWork> {
        let mut state = locked(&self.shared.state);
        state.is_busy = false;
        self.shared.changed.notify_all();
        while state.works.is_empty() {
            if state.is_over || !waits {
                return None;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut work = state.works.pop_front()?;
        if let PrintWork::Write(to, bytes) = &mut work {
            while bytes.len() < TOGETHER_BYTES_MAX
                && let Some(PrintWork::Write(_, more)) = state
                    .works
                    .pop_front_if(|next| matches!(next, PrintWork::Write(other, _) if to.continues(other)))
            {
                bytes.extend_from_slice(&more);
            }
            state.waiting_bytes -= bytes.len();
        }
        state.is_busy = true;
        Some(work)
    }

    fn write(&mut self, to: &OutputStream, bytes: &[u8]) {
        let written = match to {
            OutputStream::Out => self.write_out(bytes),
            OutputStream::Err if self.given_up.1 => Err(Unwritten::LeftOut),
            OutputStream::Err => {
                let written = self.above_bar(stderr(), bytes);
                self.given_up.1 = matches!(written, Err(Unwritten::LeftOut));
                // Nobody can be told that standard error is closed.
                written.or_else(|unwritten| match unwritten {
                    Unwritten::Failed(_) => Ok(()),
                    left_out => Err(left_out),
                })
            }
            OutputStream::Log(file) => self.write_file(file, bytes, false),
            OutputStream::Whole(file) => self.write_file(file, bytes, true),
        };
        let mut state = locked(&self.shared.state);
        state.is_stuck = false;
        state.has_left_out |= matches!(written, Err(Unwritten::LeftOut));
    }

    fn write_out(&mut self, bytes: &[u8]) -> Result<(), Unwritten> {
        let is_over = |out: &StdoutOutcome| out.is_closed || out.failed.is_some();
        if is_over(&locked(&self.shared.state).out) {
            return Ok(());
        }
        if self.given_up.0 {
            return Err(Unwritten::LeftOut);
        }
        // Both are on one screen.
        let written = if io::stdout().is_terminal() {
            self.above_bar(stdout(), bytes)
        } else {
            self.write_to(stdout(), bytes)
        };
        self.given_up.0 = matches!(written, Err(Unwritten::LeftOut));
        let Err(Unwritten::Failed(error)) = written else { return written };
        let out = &mut locked(&self.shared.state).out;
        match error.kind() {
            ErrorKind::BrokenPipe => out.is_closed = true,
            _ => out.failed = Some(error),
        }
        Ok(())
    }

    /// The bar is drawn again below it.
    fn above_bar(&self, to: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Unwritten> {
        self.wait_for(to)?;
        let Some(bar) = &self.bar else { return self.write_to(to, bytes) };
        self.write_to(stderr(), ERASE_BAR.as_bytes())?;
        self.write_to(to, bytes)?;
        self.write_to(stderr(), bar_bytes(bar).as_bytes())
    }

    /// The file knows what failed; nothing more is written to it then.
    fn write_file(&self, file: &WrittenFile, bytes: &[u8], is_whole: bool) -> Result<(), Unwritten> {
        file.write(|file| {
            if is_whole {
                own_file::empty(file)?;
            }
            self.write_to(file.as_fd(), bytes).map_err(|unwritten| match unwritten {
                Unwritten::Failed(error) => error,
                Unwritten::LeftOut => io::Error::new(ErrorKind::TimedOut, "nobody reads it"),
            })
        });
        Ok(())
    }

    /// A file of a disk takes all at once, so that two runs do not mix their lines; else no call takes more than what
    /// fits without a wait.
    fn write_to(&self, to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Unwritten> {
        let most = if is_file(to) { usize::MAX } else { PIPE_BYTES };
        while !bytes.is_empty() {
            if most == PIPE_BYTES {
                self.wait_for(to)?;
            }
            match rustix::io::write(to, &bytes[..bytes.len().min(most)]) {
                Ok(0) => return Err(Unwritten::Failed(ErrorKind::WriteZero.into())),
                Ok(len) => bytes = &bytes[len..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(Unwritten::Failed(errno.into())),
            }
        }
        Ok(())
    }

    /// Waits until whoever reads takes something.
    fn wait_for(&self, to: BorrowedFd<'_>) -> Result<(), Unwritten> {
        let mut stopped = None;
        while !is_ready_within(to, LOOK_EACH) {
            locked(&self.shared.state).is_stuck = true;
            if is_stopped() && stopped.get_or_insert_with(Instant::now).elapsed() >= STOPPED_MAX {
                return Err(Unwritten::LeftOut);
            }
        }
        Ok(())
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        locked(&self.shared.state).is_dead |= std::thread::panicking();
        self.shared.changed.notify_all();
    }
}

/// Draws over what is drawn, erases the rest and returns to the first column: a terminal that wraps its lines anew keeps
/// the cursor where the line begins. Nothing wraps meanwhile (DECAWM), should the terminal have become narrower.
fn bar_bytes(line: &str) -> String {
    format!("\x1b[?7l\r{line}\x1b[J\x1b[?7h\r")
}

fn stdout() -> BorrowedFd<'static> {
    rustix::stdio::stdout()
}

fn stderr() -> BorrowedFd<'static> {
    rustix::stdio::stderr()
}

fn is_file(to: BorrowedFd<'_>) -> bool {
    fstat(to).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

/// How many bytes a stream takes without a wait: all that a pipe with room takes, nothing where a disk may hang. What is
/// wrong with the stream is seen when the rest is written.
fn written_at_once(to: &OutputStream, bytes: &[u8]) -> usize {
    let to = match to {
        OutputStream::Out => stdout(),
        OutputStream::Err => stderr(),
        OutputStream::Log(_) | OutputStream::Whole(_) => return 0,
    };
    if bytes.len() > PIPE_BYTES || is_file(to) || !is_ready(to) {
        return 0;
    }
    rustix::io::write(to, bytes).unwrap_or(0)
}

fn is_ready(to: BorrowedFd<'_>) -> bool {
    is_ready_within(to, Duration::ZERO)
}

/// Whether it takes something, or tells what is wrong with it.
fn is_ready_within(to: BorrowedFd<'_>, patience: Duration) -> bool {
    let patience = Timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
    let mut fds = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    match poll(&mut fds, Some(&patience)) {
        Ok(ready) => ready > 0,
        Err(Errno::INTR) => false,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;

    fn file_of(end: std::io::PipeWriter) -> Arc<WrittenFile> {
        Arc::new(WrittenFile::from_file(File::from(std::os::fd::OwnedFd::from(end))))
    }

    fn is_stuck(printer: &Printer) -> bool {
        locked(&printer.shared.state).is_stuck
    }

    fn until(mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < end, "it does not come to pass");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn what_nobody_reads_holds_up_whoever_works_and_nothing_is_lost_but_progress() {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let (printer, file) = (Arc::new(Printer::default()), file_of(writer));
        let (lines, line) = (40_000u32, "a line of so many bytes, each with the number ");
        let log = OutputStream::Log(file);
        let writing = std::thread::spawn({
            let (printer, log) = (Arc::clone(&printer), log.clone());
            move || {
                let line = |number| format!("{line}{number}\n").into();
                (0..lines).for_each(|number| printer.write(log.clone(), line(number)));
            }
        });
        until(|| is_stuck(&printer));
        printer.write_if_read(log.clone(), b"progress\n".to_vec());
        // All of it is more than may wait.
        assert!(!writing.is_finished() && locked(&printer.shared.state).waiting_bytes < 2 << 20);
        let reading = std::thread::spawn(move || {
            let mut came = String::new();
            reader.read_to_string(&mut came).map(|_| came)
        });
        writing.join().expect("no panic");
        // The last that hold the pipe: its end is the end for the reader.
        drop((printer, log));
        let came = reading.join().expect("no panic").expect("it is text");
        let expected = (0..lines).map(|number| format!("{line}{number}\n")).collect::<String>();
        assert!(came == expected, "{} bytes instead of {}", came.len(), expected.len());
    }
}
