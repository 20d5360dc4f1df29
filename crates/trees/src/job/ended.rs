//! The end of a run: its report, and the exit status of the contract.
//!
//! Must not know: how a run is driven.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump_core::verdict::Waits;

use super::{Began, HostJob, JobKind};
use crate::job::account::{Account, Around, split_results, unexplained};
use crate::place::Place;
use crate::problem::{Class, Problem, Status};
use crate::report::charges::LaneResult;
use crate::report::charges::ThreadTime;
use crate::report::cpu::cpu_since;
use crate::report::cut_leaves::CutLeaves;
use crate::report::event::Event;
use crate::report::failed::{self, JobFailed};
use crate::report::words::CHANCE_NS;
use crate::report::{AskedAndGot, Report, version};
use crate::run::cause::with_cause;
use crate::run::full::Full;
use crate::run::hidden_target::without_cause;
use crate::run::in_order_target;
use crate::run::ledger::{Ledger, Tally};
use crate::setup::options::{self, Choice};
use crate::tree::Shared;

const UNCOMPARED: &str =
    "not compared: owners, access control lists, extended attributes; --attributes compares them";

impl HostJob {
    /// Performs the job and returns when it is done, committed and synced as the options say, or has failed.
    ///
    /// `events` is called as things happen, from several threads when there are several lanes.
    /// Never panics for anything that a file, a device or the system may do.
    ///
    /// Errors: its status is not 0; of a comparison also that the places differ. The report is in the error.
    pub fn run(self, events: &(dyn Fn(Event) + Sync)) -> Result<Report, JobFailed> {
        failed::run_checked(|events| self.run_reported(events), events)
    }

    /// How long the other host was waited for until now, but for blocks.
    pub(super) fn names_waited_ns(&self) -> u64 {
        self.remote_host.as_ref().map_or(0, |host| host.names_waited_ns())
    }

    /// What was done around the lanes, before which and at whose end the other host had been waited for so long.
    pub(super) fn around(&self, waits: Waits, time: ThreadTime, before_ns: u64, until_ns: u64) -> Around {
        let answers_ns = before_ns + self.names_waited_ns().saturating_sub(until_ns);
        Around { waits, time, answers_ns }
    }

    /// The counts and messages of a run.
    pub(super) fn ledger<'run>(
        &'run self,
        events: &'run (dyn Fn(Event) + Sync),
        is_full_told: bool,
    ) -> Ledger<'run> {
        Ledger {
            events,
            notes: self.options.reporting.notes,
            tells_each: self.tells_files,
            is_full_told,
            hides_target: self.hides_target,
            watch: Arc::clone(&self.watch),
            tally: std::sync::Mutex::new(self.new_tally()),
            full: Full::default(),
            failed_whole: AtomicBool::new(false),
            lossy_target: self.target_disk.in_order.map(|_| self.options.attributes.keep.given),
        }
    }

    /// A tally of nothing yet, with the requested ways of reading and sharing.
    fn new_tally(&self) -> Tally {
        let asked = |choice: Choice| AskedAndGot {
            asked: choice.to_string(),
            got: "none".into(),
            why: String::new(),
        };
        let reflink = AskedAndGot { got: "never".into(), ..asked(self.options.tuning.reflink) };
        let done = Report { direct: asked(self.options.tuning.direct), reflink, ..Report::default() };
        Tally { done, ..Tally::default() }
    }

    /// The report of a job that was run.
    pub(super) fn report(
        &self,
        shared: &Shared<'_>,
        results: Vec<Result<LaneResult, Problem>>,
        around: Around,
        began: Began,
    ) -> Report {
        let (lanes, mut lost) = split_results(results);
        // What no lane can have (memory for slots) is told once.
        lost.dedup();
        lost.into_iter().for_each(|problem| shared.ledger.report(problem));
        if !self.is_told(shared) {
            shared.ledger.report(unexplained());
        }
        shared.ledger.report_all_lost();
        shared.ledger.report_mounts();
        let tally = std::mem::take(&mut *shared.ledger.tally());
        let status = self.exit_status(&tally, shared);
        self.tell_uncompared(shared, status);
        self.tell_unmatched(shared, status);
        let (exit_status, cut_leaves) = (status as i32, self.cut_leaves(&tally, shared, status));
        let syncs = self.options.durability.sync != options::Sync::None && self.work == JobKind::Copy;
        let end_ns = self.platform.clock.now_ns();
        let (held_ns, memory_held) = (began.quota.held_ns(), began.memory.held());
        let (start_ns, cpu) = (began.at_ns, cpu_since(began.cpu));
        // A shorter job says nothing of its waits.
        let says_waits = end_ns - start_ns >= CHANCE_NS;
        let busy_ns = says_waits.then(|| began.busy.busy_ns()).flatten();
        let account = Account {
            shared,
            lanes,
            around,
            tally,
            start_ns,
            end_ns,
            cpu,
            busy_ns,
            held_ns,
            memory_held,
            syncs,
        };
        let not_kept = self.target_disk.in_order.map(in_order_target::not_kept).unwrap_or_default();
        Report { exit_status, cut_leaves, not_kept, ..account.into_report() }
    }

    /// What a copy that was cut leaves at its target. Where files that stand there are left alone, those count.
    fn cut_leaves(&self, tally: &Tally, shared: &Shared<'_>, status: Status) -> Option<CutLeaves> {
        let is_cut = shared.settings.writes && matches!(status, Status::Interrupted | Status::Lost);
        let makes_files = tally.done.files > 0 && self.target.local_path().is_some();
        let files = if shared.trees.flags.leaves_some() { CutLeaves::Resumable } else { CutLeaves::Files };
        is_cut.then(|| if makes_files { tally.cut_leaves.max(files) } else { tally.cut_leaves })
    }

    /// Reports the problem that refuses the job as a whole, and gives its report.
    pub(super) fn refuse(&self, problem: Problem, events: &(dyn Fn(Event) + Sync)) -> Report {
        let problem = if self.hides_target { without_cause(problem) } else { with_cause(problem) };
        let status = match (self.work, problem.class) {
            (_, Class::Lost) => Status::Lost,
            (_, Class::Usage) | (JobKind::Compare, _) => Status::Usage,
            // As what is refused before the job begins.
            _ if self.hides_target => problem.class.status(),
            _ => Status::Failed,
        };
        let problems = BTreeMap::from([(problem.class.name().to_string(), 1)]);
        events(Event::Problem(problem));
        Report { version: version(), exit_status: status as i32, problems, ..Report::default() }
    }

    /// What was not done was told, or was not asked for. Status 0 must not hide a mistake of this program.
    pub(super) fn is_told(&self, shared: &Shared<'_>) -> bool {
        let asked = !shared.settings.options.dry_run && !shared.is_stopping();
        let tally = shared.ledger.tally();
        !asked || self.is_complete(&tally, shared) || !tally.problems.is_empty()
    }

    /// All that was asked for is done; of trees, all that could be.
    fn is_complete(&self, tally: &Tally, shared: &Shared<'_>) -> bool {
        if shared.settings.has_trees || shared.settings.names_wanted > 0 {
            shared.plan.is_exhausted()
        } else {
            (tally.done.files + tally.files_left + tally.done.skipped) as usize
                >= shared.settings.files_wanted
        }
    }

    /// The session with another host is lost.
    fn is_cut(&self) -> bool {
        self.remote_host.as_ref().is_some_and(|remote_host| remote_host.cancel().is_cut())
    }

    /// The exit status of the contract.
    pub(super) fn exit_status(&self, tally: &Tally, shared: &Shared<'_>) -> Status {
        let is_complete = self.is_complete(tally, shared);
        let failed_whole = shared.ledger.failed_whole.load(Ordering::Relaxed);
        let problems = &tally.problems;
        if self.stop.load(Ordering::Relaxed) && !is_complete {
            return Status::Interrupted;
        }
        // Lanes end when their session is lost, also those that did not notice it themselves and told nothing.
        if tally.problems.contains_key(&Class::Lost) || (self.is_cut() && !is_complete) {
            return Status::Lost;
        }
        if self.work == JobKind::Compare {
            return comparison_status(problems);
        }
        let only = |class: Class| problems.len() == 1 && problems.contains_key(&class);
        let is_partial = (self.sources.len() > 1 || shared.settings.has_trees)
            && tally.done.files + tally.files_left + tally.done.files_unchanged > 0;
        if failed_whole {
            Status::Failed
        } else if problems.is_empty() {
            Status::Done
        } else if problems.contains_key(&Class::Mismatch) {
            Status::Mismatch
        } else if only(Class::Changed) {
            Status::Changed
        } else if only(Class::Refused)
            && !is_partial
            && tally.has_lost_content()
            && !self.sources.iter().all(Place::is_here)
            && !tally.is_busy_here
        {
            // The copy, not one of its names.
            Status::Refused
        } else if self.sources.len() > 1 || shared.settings.has_trees {
            Status::Partial
        } else if !tally.has_lost_content() {
            // Each file is there, and one or more could not keep all.
            Status::Partial
        } else if only(Class::Usage) {
            Status::Usage
        } else {
            Status::Failed
        }
    }
    /// A comparison that finds two places the same tells what it did not compare, unless content alone was asked for.
    fn tell_uncompared(&self, shared: &Shared<'_>, status: Status) {
        let asked = self.options.comparison.content_only || self.options.comparison.compare_attributes;
        if self.work == JobKind::Compare && !asked && matches!(status, Status::Done | Status::Failed) {
            (shared.ledger.events)(Event::Notice(UNCOMPARED.into()));
        }
    }

    /// Patterns that begin in another folder than was meant leave out nothing, and keep nothing. A tree that was not
    /// walked whole tells nothing.
    fn tell_unmatched(&self, shared: &Shared<'_>, status: Status) {
        let is_whole = status == Status::Done || (self.work == JobKind::Compare && status == Status::Failed);
        if is_whole && !self.options.comparison.existing {
            let notice = shared.trees.select.unmatched().map(Event::Notice);
            notice.into_iter().for_each(shared.ledger.events);
        }
    }
}

/// The exit status of a comparison, as of cmp: 0 the same, 1 different, 2 trouble.
fn comparison_status(problems: &BTreeMap<Class, u64>) -> Status {
    if problems.is_empty() {
        Status::Done
    } else if problems.keys().all(|class| *class == Class::Mismatch) {
        Status::Failed
    } else {
        Status::Usage
    }
}
