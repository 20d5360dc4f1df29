//! Hides from a client that may only write: names, times and equality of what it did not write itself.
//!
//! | it is told | closed by |
//! |---|---|
//! | what is on the way to a target, or in its place | one sentence for all errors, in one class (`run/hidden_target.rs`) |
//! | which names stand, which are equal, newer or too much | the flags that ask for it are refused |
//! | changes, with letters that compare, and notes | not told |
//! | counts of what was equal, adjusted, made new or replaced | 0 in its report |
//! | files of earlier copies that a list tells of | told without names |
//! | whether a name is a folder | open: cp's rules for the target need it |
//! | what an earlier run of the same copy wrote | open: it goes on with that |
//!
//! Must not know: how a copy is made.

use std::path::Path;

use datapump_core::wire::session::Direction;

use super::refused;
use crate::net::server::serve_options::ServeOptions;
use crate::problem::Problem;
use crate::report::Report;
use crate::report::event::Event;
use crate::run::hidden_target;
use crate::setup::options::{Options, Update};
use datapump_files::commit::reserved::LIST_NAME;

/// Refuses options that compare with what exists, or report it, on a server that may only be written to.
pub(super) fn check(
    server: &ServeOptions,
    options: &Options,
    way: Direction,
    shown: &Path,
) -> Result<(), Problem> {
    if server.reads || way == Direction::Pull {
        return Ok(());
    }
    let asked = [
        ("-n (--dry-run)", options.dry_run),
        ("-u (--update)", options.comparison.update != Update::All),
        ("-c (--checksum)", options.comparison.checksum),
        ("--ignore-existing", options.comparison.ignore_existing),
        ("--existing", options.comparison.existing),
        ("--delete", options.deletion.delete || options.deletion.delete_excluded),
        ("--link-dest", !options.links.link_dest.is_empty()),
        ("-i (--itemize-changes)", options.reporting.changes),
    ];
    let refuse = |instead: &str| {
        let words = format!(
            "this server may only be written to, and reports nothing of what exists there: {instead}"
        );
        Err(refused(shown, &words))
    };
    match asked.into_iter().find(|(_, is_asked)| *is_asked) {
        _ if options.deletion.mirror => refuse("use pump copy, which removes nothing"),
        Some((flag, _)) => refuse(&format!("drop {flag}")),
        None => Ok(()),
    }
}

/// What was found of the way to the target; where there is none, not why.
pub(super) fn hidden<Found>(
    server: &ServeOptions,
    shown: &Path,
    found: Result<Found, Problem>,
) -> Result<Found, Problem> {
    found.map_err(|problem| if server.reads { problem } else { hidden_target::of_target(shown) })
}

/// The event as a client may see it that may not learn what exists; `None` if it may not see it.
pub(super) fn visible_event(server: &ServeOptions, event: Event) -> Option<Event> {
    match event {
        event if server.reads => Some(event),
        Event::File { .. } | Event::Problem(_) => Some(event),
        Event::Warning(words) if words.contains(LIST_NAME) => Some(Event::Warning(
            "the target keeps the list of an earlier copy that did not end well; look there".into(),
        )),
        Event::Warning(_) => Some(event),
        Event::Change(_) | Event::Notice(_) | Event::Note(_) => None,
    }
}

/// The report without the counts that tell what existed.
pub(super) fn visible_report(server: &ServeOptions, report: Report) -> Report {
    if server.reads {
        return report;
    }
    Report {
        files_unchanged: 0,
        files_newer: 0,
        files_existing: 0,
        links_unchanged: 0,
        adjusted: 0,
        folders_made: 0,
        deleted: 0,
        backups: 0,
        ..report
    }
}
