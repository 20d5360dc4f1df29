//! Runs one job of the library with progress, signals and events attached.
//!
//! Must not know: which command it is for.

pub(crate) mod first_thread;
pub(crate) mod guard;
pub(crate) mod inspection;
pub(crate) mod mover;
pub(crate) mod prompt;
pub(crate) mod remote;
pub(crate) mod signals;
pub(crate) mod ticket;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use datapump::{Job, Place, PlaceError, Report, Status, Watch};

use crate::output::Output;
use crate::output::progress::{Shown, answer_requests, show};
use crate::output::version::VERSION;
use crate::run::signals::{ProgressAnswer, SignalFlags, signal_flags, wait_for_signals};

/// The means of a command that runs jobs.
#[derive(Debug)]
pub struct Runner<'out> {
    /// Where words go.
    pub output: &'out Output,
    shown: Shown,
    stop: Arc<AtomicBool>,
    /// Somebody wants to know how far it is.
    asked: Arc<AtomicBool>,
    /// Answers that where no progress is shown.
    answer: ProgressAnswer,
}

impl<'out> Runner<'out> {
    /// Takes over SIGINT and SIGTERM.
    pub fn new(output: &'out Output, shown: Shown) -> Runner<'out> {
        let flags = signal_flags().unwrap_or_else(|error| {
            output.line(&format!("pump: warning: signals end this copy at once: {error}"));
            SignalFlags::default()
        });
        let answer = ProgressAnswer::default();
        // Without it a run that hangs has SIGKILL.
        let _ = wait_for_signals(answer.clone());
        Runner { output, shown, stop: flags.stop, asked: flags.asked, answer }
    }

    /// Runs a job; its events go to the output.
    pub fn run(&self, job: Job) -> Report {
        self.run_with(job, &|event| self.output.event(event))
    }

    /// Runs a job whose events are looked at first.
    pub fn run_with(&self, job: Job, events: &(dyn Fn(datapump::Event) + Sync)) -> Report {
        self.watched(|watch, stop| job.watch(watch).stop(stop).run_reported(events))
    }

    /// Runs something that counts and may be stopped.
    pub fn watched(&self, run: impl FnOnce(Arc<Watch>, Arc<AtomicBool>) -> Report) -> Report {
        let watch = Arc::new(Watch::default());
        let (counted, stop) = (Arc::clone(&watch), Arc::clone(&self.stop));
        if self.shown == Shown::Nothing {
            self.answer.set(Some(answer_requests(watch, self.output, Arc::clone(&self.asked))));
            let report = run(counted, stop);
            self.answer.set(None);
            return report;
        }
        watch.show_progress();
        let (end, ended) = mpsc::channel();
        thread::scope(|scope| {
            let (output, shown, asked) = (self.output, self.shown, &self.asked);
            // Without a thread for it there is no progress, and the job goes on.
            let _ = thread::Builder::new()
                .name("progress".into())
                .spawn_scoped(scope, move || show(shown, &watch, output, asked, &ended));
            let report = run(counted, stop);
            drop(end);
            report
        })
    }

    /// Set once the user asks to stop.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether the user asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Reads words as places.
pub fn places(words: &[OsString]) -> Result<Vec<Place>, PlaceError> {
    words.iter().map(|word| Place::parse(word)).collect()
}

/// Names that the system has for standard input and standard output.
const INPUTS: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
const OUTPUTS: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// The files of this host that words name: each by itself, and all that a place is made of.
pub fn named_files<'word>(words: impl Iterator<Item = &'word OsString>) -> Vec<PathBuf> {
    let files = |word: &OsString| Place::parse(word).map_or(Vec::new(), |place| place.files());
    words.flat_map(|word| files(word).into_iter().chain([PathBuf::from(word)])).collect()
}

/// Reads words as sources; what the shell opened as standard input is read where it stands, as `-` is.
pub fn source_places(words: &[OsString]) -> Result<Vec<Place>, PlaceError> {
    words.iter().map(|word| stream_or_place(word, INPUTS)).collect()
}

/// Reads a word as a target. Where the shell sent standard output to a file, a copy to its name would leave the file
/// that is open and put another in its place.
pub fn target_place(word: &OsStr) -> Result<Place, PlaceError> {
    stream_or_place(word, OUTPUTS)
}

fn stream_or_place(word: &OsStr, streams: [&str; 3]) -> Result<Place, PlaceError> {
    if streams.iter().any(|stream| word == OsStr::new(stream)) {
        Ok(Place::Stream)
    } else {
        Place::parse(word)
    }
}

/// One report over several jobs that ran one after another.
#[derive(Debug, Default)]
pub struct Sum {
    report: Report,
    jobs: u32,
    failed: u32,
}

impl Sum {
    /// Adds a job's report. The engine, the limit and the like are those of the last job.
    pub fn add(&mut self, report: Report) {
        let before = std::mem::take(&mut self.report);
        self.jobs += 1;
        self.failed += u32::from(report.exit_status != Status::Done as i32);
        self.report = report.with_earlier(&before);
        let sum = &mut self.report;
        sum.exit_status = sum.exit_status.max(before.exit_status);
        for (class, count) in before.problems {
            *sum.problems.entry(class).or_default() += count;
        }
    }

    /// The sum. With several jobs a failure is a failure of some.
    pub fn report(self, stopped: bool) -> Report {
        let mut report = self.report;
        report.version = VERSION.into();
        if self.jobs > 1 {
            report.blake3 = None;
        }
        if stopped && report.exit_status != Status::Done as i32 {
            report.exit_status = Status::Interrupted as i32;
        } else if self.jobs > 1 && self.failed > 0 {
            report.exit_status = Status::Partial as i32;
        }
        report
    }
}
