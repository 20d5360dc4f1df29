//! Output: results and events on standard output, everything for people on standard error.
//!
//! A reader that goes away (`| head`) is no failure; any other error of standard output is, told once at the end.
//!
//! Must not know: commands, what the words say.

pub(crate) mod bill;
pub(crate) mod events;
mod failures;
pub(crate) mod files;
pub(crate) mod findings;
pub(crate) mod json;
pub(crate) mod meter;
pub(crate) mod path_words;
pub(crate) mod printer;
pub(crate) mod progress;
#[cfg(test)]
mod schema;
pub(crate) mod version;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump::units::number_of;
use datapump::{
    Change, ChangeKind, Class, Event, LostAttribute, Place, Planned, Problem, Report, Status, shown,
    words_about,
};
use datapump_lab::advise::explain::Explained;

use crate::args::{OutputArguments, TraceArguments, variables_behind};
use crate::output::failures::Failures;
use crate::output::files::log_file::LogFile;
use crate::output::files::report_file::ReportFile;
use crate::output::path_words::change_words::{DoneWords, plan_words, planned_words};
use crate::output::path_words::path_words;
use crate::output::printer::{OutputStream, Printer};
use crate::output::version::VERSION;

/// The system's number for a descriptor that is not open: errno(3).
const EBADF: i32 = 9;

/// The end of a dry run.
const NOTHING_COPIED: &str = "nothing was copied";

/// The two streams, and what was asked of them.
#[derive(Debug, Default)]
pub struct Output {
    /// Events go to standard output.
    pub json: bool,
    /// Nothing but problems.
    pub quiet: bool,
    /// What was decided, and each file.
    pub verbose: bool,
    /// All figures at the end.
    stats: bool,
    /// Changes are printed as rsync does.
    pub itemize: bool,
    /// Changes are what would be made.
    pub dry_run: bool,
    /// The sources, as typed.
    pub sources: Vec<String>,
    /// The command moves nothing: its report holds its status and problems only.
    pub moves_nothing: bool,
    /// The report is written here too.
    report_file: Option<ReportFile>,
    /// A line for each thing that is done is written here.
    log_file: Option<LogFile>,
    failures: Mutex<Failures>,
    printer: Arc<Printer>,
}

impl Output {
    /// As the flags say.
    pub fn new(arguments: &OutputArguments) -> Output {
        let OutputArguments { json, quiet, verbose, stats, .. } = *arguments;
        Output { json, quiet, verbose, stats, ..Output::default() }
    }

    /// The report, and a line for each thing that is done, go to files too, if those are named.
    ///
    /// Errors: such a file is one of the command's, is another flag's, or cannot be written.
    pub fn open_files(
        &mut self,
        TraceArguments { report, log_file, tcp_trace }: &TraceArguments,
        files: &[PathBuf],
    ) -> Result<(), Problem> {
        let others: Vec<_> = files.iter().chain(tcp_trace).map(|path| path.as_os_str()).collect();
        let besides = others.iter().copied().chain(report.iter().map(|path| path.as_os_str()));
        let log = log_file.as_deref().map(|path| LogFile::open(path, self.json, besides));
        self.log_file = log.transpose()?;
        let report = report.as_deref().map(|path| ReportFile::open(path, others.into_iter()));
        self.report_file = report.transpose()?;
        Ok(())
    }

    /// Whether the output needs an event for each file and each change.
    pub fn tells_files(&self) -> bool {
        self.json || self.verbose || self.log_file.is_some()
    }

    /// A job begins: an event, and the first line of a log.
    pub fn start(&self, name: &str, sources: &[Place], target: Option<&Place>) {
        let event = json::start(name, self.dry_run, sources, target);
        if self.json {
            self.result(&event);
        }
        let to = target.map_or(String::new(), |target| format!(" -> {target}"));
        let from = sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let dry_run = if self.dry_run { "dry run: " } else { "" };
        if let Some(log) = &self.log_file {
            log.start();
            let line = log.line(|| format!("pump-log: {dry_run}{name} {from}{to}"), || event.clone());
            line.into_iter().for_each(|(to, line)| self.printer.write(to, line));
        }
    }

    /// For commands that print results, or JSON, and nothing between.
    pub fn of_results(json: bool) -> Output {
        Output { json, moves_nothing: true, ..Output::default() }
    }

    /// The last line, where nothing but the status is known.
    pub fn ended(&self, status: i32, class: Option<Class>) {
        let event = || {
            if self.moves_nothing {
                json::ended(status, class)
            } else {
                json::report(&empty_report(status, class), None)
            }
        };
        self.last(event);
        let done = if self.dry_run { format!(": {NOTHING_COPIED}") } else { String::new() };
        self.log(|| format!("ended with status {status}{done}"), event);
    }

    /// A line of the log, if there is one.
    fn log(&self, words: impl FnOnce() -> String, event: impl FnOnce() -> String) {
        if let Some(log) = &self.log_file {
            let words = || format!("{}{}", if self.dry_run { "dry run: " } else { "" }, words());
            log.line(words, event).into_iter().for_each(|(to, line)| self.printer.write(to, line));
        }
    }

    /// The last line of JSON, to wherever such lines were asked for.
    fn last(&self, line: impl FnOnce() -> String) {
        if !self.json && self.report_file.is_none() {
            return;
        }
        let line = line();
        if let Some(file) = &self.report_file {
            let (to, line) = file.line(&line);
            self.printer.write(to, line);
        }
        if self.json {
            self.result(&line);
        }
    }

    /// A line on standard output.
    pub fn result(&self, line: &str) {
        self.write([line.as_bytes(), b"\n"].concat());
    }

    /// Bytes on standard output.
    pub fn bytes(&self, bytes: &[u8]) {
        self.write(bytes.to_vec());
    }

    fn write(&self, bytes: Vec<u8>) {
        if datapump_engine::os::linux::was_closed(1) {
            self.printer.fail(io::Error::from_raw_os_error(EBADF));
        } else {
            self.printer.write(OutputStream::Out, bytes);
        }
    }

    /// A line for people on standard error, above the progress bar if there is one.
    pub fn line(&self, line: &str) {
        self.printer.write(OutputStream::Err, format!("{line}\n").into());
    }

    /// A line that holds for the moment alone: dropped while nobody reads.
    pub fn line_of_moment(&self, line: &str) {
        line_of_moment(&self.printer, line);
    }

    /// A printer of such lines for a thread that may outlive this.
    pub fn lines_of_moment(&self) -> impl Fn(&str) + Send + 'static {
        let printer = Arc::clone(&self.printer);
        move |line| line_of_moment(&printer, line)
    }

    /// An event that holds for the moment alone, on standard output: dropped while nobody reads.
    pub fn result_of_moment(&self, line: &str) {
        if datapump_engine::os::linux::was_closed(1) {
            self.result(line);
        } else {
            self.printer.write_if_read(OutputStream::Out, format!("{line}\n").into());
        }
    }

    /// Draws this line as the progress bar, below all others, unless nobody reads.
    pub fn draw_bar(&self, line: impl FnOnce() -> String + Send + 'static) {
        self.printer.draw_bar(line);
    }

    /// Removes the bar.
    pub fn remove_bar(&self) {
        self.printer.remove_bar();
    }

    /// An event of a job, in the form that was asked for.
    pub fn event(&self, event: Event) {
        match event {
            Event::File { path, bytes, blake3 } => {
                let words = || format!("copied {}: {}", number_of(bytes, "byte"), path_words(&path));
                let event = || json::file(&path, bytes, blake3.as_deref());
                self.log(words, event);
                if self.json {
                    self.result(&event());
                } else if self.verbose {
                    self.line(&format!("{}: {}", path_words(&path), number_of(bytes, "byte")));
                }
            }
            Event::Change(change) if self.dry_run => self.planned_change(&change),
            Event::Change(change) => self.change(&change),
            Event::Problem(problem) => self.problem(&problem),
            Event::Warning(words) => {
                self.log_words(|| format!("warning: {words}"));
                self.line(&format!("pump: warning: {words}"));
            }
            Event::Notice(words) => {
                self.log_words(|| words.clone());
                if !self.quiet {
                    self.line(&format!("pump: {words}"));
                }
            }
            Event::Note(words) if self.verbose => {
                self.log_words(|| words.clone());
                self.line(&words);
            }
            Event::Note(_) => {}
        }
    }

    /// A line of a log of words: `--json` has no event for it.
    fn log_words(&self, words: impl FnOnce() -> String) {
        if !self.json {
            self.log(words, String::new);
        }
    }

    /// Owners that fakeroot makes up are known to programs that ask the C library, and pump asks the kernel.
    pub fn tell_fakeroot(&self) {
        if std::env::var_os("FAKEROOTKEY").is_some() {
            let words = "this runs under fakeroot: owners that only fakeroot knows are not seen";
            self.event(Event::Warning(words.into()));
        }
    }

    /// What was done. A copied file is told as one.
    fn change(&self, change: &Change) {
        if self.itemize && !self.json {
            self.itemize(change);
        }
        let is_file = change.kind == ChangeKind::Copy && change.what == "file";
        if is_file && !(self.itemize && self.json) {
            return;
        }
        let (words, event) = (DoneWords::from_change(change), || json::change(change, self.itemize));
        if !is_file {
            self.log(|| words.name_last(), event);
        }
        if self.json {
            self.result(&event());
        } else if self.verbose {
            self.line(&words.name_first());
        }
    }

    /// What would be done.
    fn planned_change(&self, change: &Change) {
        self.log(|| plan_words(change), || json::planned_change(change));
        match (self.json, self.itemize) {
            (true, _) => self.result(&json::planned_change(change)),
            (false, true) => self.itemize(change),
            (false, false) => self.result(&plan_words(change)),
        }
    }

    /// What would be done with what was named.
    pub fn planned(&self, file: &Planned) {
        self.log(|| planned_words(file), || json::plan(file));
        self.result(&if self.json { json::plan(file) } else { planned_words(file) });
    }

    /// As rsync prints it. It has no letters for backups, and for what is removed from the source.
    fn itemize(&self, change: &Change) {
        if !change.itemized.is_empty() {
            let path = path_words(&change.itemized_path());
            let arrow = change.arrow().map(|(arrow, path)| format!("{arrow}{}", path_words(path)));
            self.result(&format!("{} {path}{}", change.itemized, arrow.unwrap_or_default()));
        }
    }

    /// What went wrong: always for people, and as an event where those were asked for.
    pub fn problem(&self, problem: &Problem) {
        match problem.lost {
            Some(LostAttribute { names: None, .. }) => return self.lost(problem),
            // Its line for people: each name is an event of its own.
            Some(_) => return self.line(&format!("pump: {problem}")),
            None => {}
        }
        // A flag that nobody typed is not looked for.
        let is_of_flag = problem.class == Class::Usage || problem.operation.words().starts_with("--");
        let behind = is_of_flag.then(|| variables_behind(&problem.to_string())).flatten().unwrap_or_default();
        self.log(|| format!("failed: {problem}{behind}"), || json::problem(problem));
        locked(&self.failures).add(problem);
        locked(&self.failures).add_source(problem, &self.sources);
        if self.json {
            self.result(&json::problem(problem));
        }
        self.line(&format!("pump: {problem}{behind}"));
    }

    /// What one name lost although its content is there: for those who ask.
    fn lost(&self, problem: &Problem) {
        self.log(|| format!("lost: {problem}"), || json::problem(problem));
        if self.json {
            self.result(&json::problem(problem));
        } else if self.verbose {
            self.line(&problem.to_string());
        }
    }

    /// The last words: the report as an event, or for people unless they want quiet.
    pub fn report(&self, report: &Report) {
        self.finish(report, &json::report(report, None), Report::bottleneck);
    }

    /// The report of an explanation, and its words on standard output, which say what to try.
    pub fn explained(&self, explained: &Explained) {
        let says_more = !explained.page.is_empty();
        let bottleneck = if says_more { Report::bottleneck_alone } else { Report::bottleneck };
        self.finish(&explained.report, &json::explained(explained), bottleneck);
        // A copy that failed leaves nothing to explain.
        if !self.json && says_more {
            self.result(&explained.page);
        }
    }

    /// The last line of JSON and of a log, and words for people: what failed may have scrolled away.
    fn finish(&self, report: &Report, event: &str, bottleneck: fn(&Report) -> Option<String>) {
        self.last(|| event.to_owned());
        let done = || if self.dry_run { NOTHING_COPIED.into() } else { report.summary() };
        self.log(|| format!("ended with status {}: {}", report.exit_status, done()), || event.to_owned());
        self.report_in_words(report, bottleneck);
        let log = self.log_file.as_ref().map(LogFile::path);
        if let Some(words) = locked(&self.failures).words(report, log) {
            self.line(&format!("pump: {words}"));
        }
    }

    fn report_in_words(&self, report: &Report, bottleneck: fn(&Report) -> Option<String>) {
        self.interruption(report);
        if !self.json && !self.quiet {
            self.report_for_people(report, bottleneck);
        }
    }

    /// Reports that the user, the system or the network cut it short.
    pub fn interruption(&self, report: &Report) {
        report.cut_words().iter().for_each(|words| self.line(&format!("pump: {words}")));
    }

    fn report_for_people(&self, report: &Report, bottleneck: fn(&Report) -> Option<String>) {
        let notable = |asked: &datapump::AskedAndGot| self.verbose || fell_back(asked);
        for (name, asked) in
            [("engine", &report.engine), ("direct", &report.direct), ("reflink", &report.reflink)]
        {
            if !asked.asked.is_empty() && notable(asked) {
                let why = if asked.why.is_empty() { String::new() } else { format!(" ({})", asked.why) };
                self.line(&format!("{name}: asked {}, got {}{why}", asked.asked, asked.got));
            }
        }
        let asks = self.verbose || self.stats;
        let bottleneck = || bottleneck(report).filter(|_| asks || !report.is_brief());
        if self.dry_run {
            self.tell_dry_run();
            return bottleneck().iter().for_each(|words| self.line(words));
        }
        if report.files > 0 || report.bytes > 0 || report.exit_status == Status::Done as i32 {
            if let Some(words) = report.resumption() {
                self.line(&words);
            }
            let copied = || match self.way_of(report) {
                Some(way) => words_about(&way, &report.summary()),
                None => report.summary(),
            };
            self.line(&report.nothing_to_do().unwrap_or_else(copied));
            bottleneck().iter().for_each(|words| self.line(words));
            if asks {
                self.line(&report.line());
                self.line(&report.sentence());
            }
            report.bill.iter().flat_map(bill::lines).for_each(|line| self.line(&line));
        }
    }

    /// The last words of a dry run for people.
    pub fn tell_dry_run(&self) {
        if !self.json && !self.quiet {
            self.line(&format!("dry run: {NOTHING_COPIED}"));
        }
    }

    /// `photos/ -> backup`, of what was copied, with the name of the target; nothing where the command does not copy.
    fn way_of(&self, report: &Report) -> Option<String> {
        let of = |names: &[String]| match names {
            [] => None,
            [name] => Some(name.clone()),
            [name, others @ ..] => Some(format!("{name} and {} more", others.len())),
        };
        let shown: Vec<String> = report.targets.iter().map(|name| shown(name.as_bytes())).collect();
        let failures = locked(&self.failures);
        let copied = self.sources.iter().filter(|source| !failures.has_source(source)).cloned();
        Some(format!("{} -> {}", of(&copied.collect::<Vec<_>>())?, of(&shown)?))
    }

    /// Text alone, on standard output: the status of having written it.
    pub fn only(&self, text: &str) -> i32 {
        self.result(text.trim_end());
        self.status(Status::Done as i32)
    }

    /// A usage error after the flags were read: a problem, a report, status 2.
    pub fn usage(&self, message: impl Into<String>) -> i32 {
        self.refusal(&Problem::usage(message))
    }

    /// A problem that ends the command before there is anything to report but its status.
    pub fn refusal(&self, problem: &Problem) -> i32 {
        let status = if problem.class == Class::Usage { Status::Usage } else { Status::Failed };
        self.problem(problem);
        self.ended(status as i32, Some(problem.class));
        status as i32
    }

    /// A problem with another host that ends the command: the statuses of a copy.
    pub fn failed(&self, problem: &Problem, is_stopped: bool) -> i32 {
        let status = if is_stopped { Status::Interrupted } else { problem.class.status() };
        self.problem(problem);
        self.ended(status as i32, Some(problem.class));
        status as i32
    }

    /// The status to end with, given that of the work: results that could not be written are a failure.
    pub fn status(&self, status: i32) -> i32 {
        let (failed, has_left_out) = self.printer.flush();
        let unwritten: Vec<_> = [
            self.report_file.as_ref().and_then(ReportFile::failure),
            self.log_file.as_ref().and_then(LogFile::failure),
        ]
        .into_iter()
        .flatten()
        .inspect(|problem| self.problem(problem))
        .collect();
        if let Some(error) = &failed {
            self.line(&format!("pump: write to standard output: {error}"));
        }
        if status != Status::Done as i32 {
            status
        } else if !unwritten.is_empty() || failed.is_some() {
            Status::Failed as i32
        } else if has_left_out {
            // Its results did not get to whoever asked for them, as the user had it stopped.
            Status::Interrupted as i32
        } else {
            status
        }
    }
}

fn line_of_moment(printer: &Printer, line: &str) {
    printer.write_if_read(OutputStream::Err, format!("{line}\n").into());
}

/// A report of which only the status is known.
pub fn empty_report(exit_status: i32, class: Option<Class>) -> Report {
    let problems = class.into_iter().map(|class| (class.name().to_string(), 1)).collect();
    Report { version: VERSION.into(), exit_status, problems, ..Report::default() }
}

/// A choice that was made by the user and could not be had is told without being asked.
fn fell_back(asked: &datapump::AskedAndGot) -> bool {
    let differs = asked.asked != asked.got;
    ["uring", "threads", "inline"].contains(&asked.asked.as_str()) && differs
}

/// A name for people, control characters escaped.
pub fn name(bytes: &[u8]) -> String {
    shown(bytes)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
