//! What goes wrong in the sessions of one copy: what another session may be without is held until it is known whether
//! one follows, and each problem is told once, however many sessions meet it.
//!
//! Must not know: connections, when another session starts.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::net::client::remote_copy::Events;
use crate::problem::{AttributeKind, Class, LostAttribute, Operation, Problem};
use crate::report::event::Event;
use datapump_files::commit::temporary::is_in_use;

/// Problems that are held at most, and their words: the other side chose those.
const HELD_MAX: usize = 1000;
const HELD_BYTES_MAX: usize = 1 << 20;
/// Problems that are remembered at most: a peer must not make this side keep more.
const TOLD_MAX: usize = 100_000;

/// The problems of a copy, over its sessions.
#[derive(Debug, Default)]
pub(super) struct SessionProblems {
    was_lost: bool,
    /// The number of the session at hand.
    session: u64,
    /// Reported of the outage that goes on: each attempt fails alike.
    announced: Option<String>,
    held: Mutex<Vec<Problem>>,
    /// Of each kind of attribute the line of the last session that lost one.
    lost: Mutex<BTreeMap<AttributeKind, Problem>>,
    /// Which session told a problem first, by a hash of its words.
    reported: Mutex<HashMap<u64, u64>>,
    hasher: RandomState,
}

impl SessionProblems {
    /// Tells a problem of the session at hand, or holds it until it is known whether another session follows.
    pub(super) fn handle_problem(&self, problem: Problem, events: Events<'_>) {
        // One line for each kind, however many sessions it takes.
        if let Some(LostAttribute { kind, names: Some(_) }) = problem.lost {
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, problem);
            return;
        }
        let told = if self.may_pass(&problem) { self.hold(problem) } else { Some(problem) };
        told.into_iter().for_each(|problem| self.report_once(problem, events));
    }

    /// Tells a problem, unless an earlier session did.
    pub(super) fn report_once(&self, problem: Problem, events: Events<'_>) {
        if self.is_first_report(&problem) {
            events(Event::Problem(problem));
        }
    }

    /// The last session has ended: what attributes were lost.
    pub(super) fn report_lost(&self, events: Events<'_>) {
        let lost = std::mem::take(&mut *self.lost.lock().unwrap_or_else(PoisonError::into_inner));
        lost.into_values().for_each(|problem| events(Event::Problem(problem)));
    }

    /// The session has ended: what it held.
    pub(super) fn take_held(&self) -> Vec<Problem> {
        std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that another session follows because of this problem, and gives the words to report. `None` of a host that cannot
    /// be reached, behind the first time.
    pub(super) fn begin_next_session(&mut self, problem: &Problem) -> Option<String> {
        self.was_lost = true;
        self.session += 1;
        let words = match problem.class {
            Class::Lost => format!("{problem}; trying again"),
            _ => format!("{problem}; the session that was lost may still have it: trying again"),
        };
        let is_new = problem.operation != Operation::Reach || self.announced.as_ref() != Some(&words);
        self.announced = Some(words.clone());
        is_new.then_some(words)
    }

    /// Whether another session may be without this problem: a lost connection, and behind one a name that the session
    /// which was lost still holds, because the other host has not given it up, or a sync of it goes on at the target.
    fn may_pass(&self, problem: &Problem) -> bool {
        problem.class == Class::Lost || (self.was_lost && is_in_use(problem))
    }

    /// Holds a problem back, and gives it back where there is no room. Of lost sessions one is held.
    fn hold(&self, problem: Problem) -> Option<Problem> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|other| problem.class != Class::Lost || other.class != Class::Lost);
        let words = held.iter().chain([&problem]).map(words_bytes).sum::<usize>();
        if held.len() >= HELD_MAX || (words > HELD_BYTES_MAX && !held.is_empty()) {
            return Some(problem);
        }
        held.push(problem);
        None
    }

    /// Whether no earlier session reported it. Two problems of one session may have the same words.
    fn is_first_report(&self, problem: &Problem) -> bool {
        let words = self.hasher.hash_one((problem.class, problem.to_string()));
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = reported.get(&words) {
            return *first == self.session;
        }
        if reported.len() < TOLD_MAX {
            reported.insert(words, self.session);
        }
        true
    }
}

/// Bytes of what the other side chose of it.
pub(super) fn words_bytes(problem: &Problem) -> usize {
    problem.message.len() + problem.path.as_ref().map_or(0, |path| path.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use datapump_files::commit::temporary::busy;

    fn denied(name: &str) -> Problem {
        Problem::new(Class::Denied, Operation::Open, Path::new(name), "permission denied")
    }

    #[test]
    fn a_problem_that_several_sessions_meet_is_told_once() {
        let mut problems = SessionProblems::default();
        let told = Mutex::new(Vec::new());
        let events = |event: Event| told.lock().expect("no panic").push(event);
        let lost = Problem::of(Class::Lost, Operation::Receive, "connection lost");
        for problem in [denied("a"), denied("a"), lost.clone(), lost.clone()] {
            problems.handle_problem(problem, &events);
        }
        let held = problems.take_held();
        assert_eq!(held, [lost]);
        assert!(
            problems.begin_next_session(&held[0]).is_some_and(|words| words.ends_with("lost; trying again"))
        );
        let unreached = Problem::of(Class::Lost, Operation::Reach, "connection refused");
        for (problem, is_reported) in
            [(&unreached, true), (&unreached, false), (&held[0], true), (&held[0], true)]
        {
            assert_eq!(problems.begin_next_session(problem).is_some(), is_reported);
        }
        for _ in 0..2 {
            for problem in [busy(Path::new("c")), denied("a"), denied("b")] {
                problems.handle_problem(problem, &events);
            }
            let held = problems.take_held();
            assert_eq!(held, [busy(Path::new("c"))], "the session that was lost may have it");
            let words = problems.begin_next_session(&held[0]);
            assert!(words.is_some_and(|words| words.contains("may still have it")));
        }
        problems.report_once(busy(Path::new("c")), &events);
        let told = told.into_inner().expect("no panic");
        let expected = [denied("a"), denied("a"), denied("b"), busy(Path::new("c"))].map(Event::Problem);
        assert_eq!(told, expected);
    }

    #[test]
    fn lost_attributes_are_one_line_for_each_kind_over_all_sessions() {
        let mut problems = SessionProblems::default();
        let told = Mutex::new(Vec::new());
        let events = |event: Event| told.lock().expect("no panic").push(event);
        let lost = |kind, names| Problem { lost: Some(LostAttribute { kind, names }), ..denied("a") };
        let last = [lost(AttributeKind::Times, Some(7)), lost(AttributeKind::Mode, Some(1))];
        problems.handle_problem(lost(AttributeKind::Times, Some(3)), &events);
        problems.begin_next_session(&Problem::of(Class::Lost, Operation::Receive, "connection lost"));
        last.iter().for_each(|problem| problems.handle_problem(problem.clone(), &events));
        assert!(told.lock().expect("no panic").is_empty(), "another session may follow");
        problems.report_lost(&events);
        assert_eq!(told.into_inner().expect("no panic"), last.map(Event::Problem));
    }

    #[test]
    fn a_name_in_use_passes_only_behind_a_lost_session() {
        for (is_behind, held) in [(true, 1), (false, 0)] {
            let mut problems = SessionProblems::default();
            if is_behind {
                problems.begin_next_session(&Problem::of(Class::Lost, Operation::Receive, "connection lost"));
            }
            problems.handle_problem(busy(Path::new("c")), &|_| ());
            assert_eq!(problems.take_held().len(), held, "behind a lost one: {is_behind}");
        }
    }
}
