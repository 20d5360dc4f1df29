//! One report over the sessions of a copy whose connection was lost and made again.
//!
//! Must not know: connections, when a session is begun anew.

use std::time::Instant;

use datapump_core::verdict::{Cpu, LimitedBy, LimitedDetail, Why};
use datapump_core::wire::session::Direction;

use crate::report::bill::BillHost;
use crate::report::cpu::{cpu_now, cpu_since};
use crate::report::{Report, Unrecorded};

/// The sessions until now.
pub(crate) struct Sessions {
    way: Direction,
    start: Instant,
    cpu: Cpu,
    sum: Option<Report>,
    /// When the last of them ended.
    ended: Instant,
    /// One of them was begun: the calls before it did nothing.
    has_begun: bool,
    /// Files that each of them completed, and their bytes: one that two completed is there twice.
    files: u64,
    bytes: u64,
}

impl Sessions {
    /// No session has run yet; the time counts from now.
    pub(crate) fn new(way: Direction) -> Sessions {
        Sessions {
            way,
            start: Instant::now(),
            cpu: cpu_now(),
            sum: None,
            ended: Instant::now(),
            has_begun: false,
            files: 0,
            bytes: 0,
        }
    }

    /// Adds the report of a session that ended, and gives the report over all. `has_begun`: whether any session has begun until
    /// now.
    pub(crate) fn add(&mut self, mut report: Report, has_begun: bool) -> Report {
        let moved_bytes = report.bytes_moved;
        let files = report.unrecorded.values_mut();
        files.for_each(|file| file.again_bytes = file.again_bytes.min(moved_bytes));
        let own = (report.files, report.bytes);
        let sum = match self.sum.take() {
            None => report,
            Some(before) => {
                let outage_ns = self.ended.elapsed().as_nanos() as u64;
                let outage_ns = outage_ns.saturating_sub(report.elapsed_ns);
                with_outage(self.with_costs(self.add_earlier(report, before)), outage_ns)
            }
        };
        self.ended = Instant::now();
        self.files += own.0;
        self.bytes += own.1;
        self.sum = Some(sum.clone());
        self.has_begun = has_begun;
        sum
    }

    /// This report with all CPU time that this side has spent since its first session, also in those that were lost.
    fn with_costs(&self, report: Report) -> Report {
        let (cpu, moved) = (cpu_since(self.cpu), report.moved());
        let host = match self.way {
            Direction::Push => BillHost::Sender,
            Direction::Pull => BillHost::Receiver,
        };
        let bill = report.bill.map(|bill| bill.with_lost_sessions(host, cpu.total_ns(), moved));
        Report { cpu, bill, ..report }
    }

    /// This report with what the sessions before did. What they did not report is not known: where the other side writes, that
    /// is everything except what this session found done there.
    fn add_earlier(&self, report: Report, before: Report) -> Report {
        // Each file is counted once: what was completed before was left as it was, or was completed again, as where no
        // list is kept. What an earlier run had completed is not counted, if it can be told from that. A session that
        // was lost early has not come to all of it.
        let done = |own: u64, left: u64, each: u64, at_least: u64| {
            let earlier = match self.way {
                _ if !self.has_begun => 0,
                Direction::Pull => left.min(each),
                Direction::Push => left,
            };
            earlier.max(at_least.saturating_sub(own))
        };
        let files = done(report.files, report.files_before, self.files, before.files);
        let bytes = done(report.bytes, report.bytes_before, self.bytes, before.bytes);
        // Links that an earlier session made are made again by this one, or found in place.
        let links_found = report.links_unchanged.saturating_sub(before.links_unchanged).min(before.links);
        let links = before.links.saturating_sub(report.links).max(links_found);
        let elapsed_ns = (self.start.elapsed().as_nanos() as u64).saturating_sub(report.elapsed_ns);
        let links_unchanged = report.links_unchanged.saturating_sub(links_found);
        let report = count_existing_once(Report { links_unchanged, ..report }, &before, files);
        let report = count_unrecorded_once(report, &before);
        let last = Report {
            // What a session of this very run had done was not done before it. What one found done stays so, also
            // where some of what it moved itself was lost with it, or the file is whole by now.
            bytes_resumed: report.bytes_resumed.saturating_sub(before.bytes_moved).max(before.bytes_resumed),
            files_before: report.files_before.saturating_sub(files),
            bytes_before: report.bytes_before.saturating_sub(bytes),
            ..report
        };
        // A session makes pipes and devices again that stand there.
        let specials = before.specials.saturating_sub(report.specials);
        last.with_earlier(&Report { files, bytes, links, specials, elapsed_ns, ..without_standing(before) })
    }
}

/// This report with each existing file counted once: each session walks all names, and counts those again that stay.
/// `earlier`: how many files an earlier session completed, which this one finds equal where no list tells of them.
fn count_existing_once(report: Report, before: &Report, earlier: u64) -> Report {
    let found_equal = earlier.saturating_sub(report.files_before);
    let files_unchanged = report.files_unchanged.saturating_sub(found_equal).max(before.files_unchanged);
    let files_newer = report.files_newer.max(before.files_newer);
    let files_existing = report.files_existing.max(before.files_existing);
    let files_existing = files_existing.min(files_unchanged.saturating_sub(files_newer));
    let links_unchanged = report.links_unchanged.max(before.links_unchanged);
    Report { files_unchanged, files_newer, files_existing, links_unchanged, ..report }
}

/// This report with each byte counted once that may have been moved twice. A journal says how many arrived in all earlier
/// runs: what the sessions before have reported of a file is among them.
fn count_unrecorded_once(mut report: Report, before: &Report) -> Report {
    // A session of several files that was cut may have moved less in all than of each.
    if [&report, before].into_iter().any(|it| it.bytes_moved_twice < again_bytes(it)) {
        return report;
    }
    for (file, earlier) in &before.unrecorded {
        let own = report.unrecorded.entry(*file).or_insert(Unrecorded { again_bytes: 0, ..*earlier });
        let both = own.again_bytes + earlier.again_bytes;
        let counted_bytes = both.saturating_sub(own.arrived_bytes).min(own.again_bytes);
        report.bytes_moved_twice -= counted_bytes;
        own.again_bytes = both - counted_bytes;
    }
    report
}

fn again_bytes(report: &Report) -> u64 {
    report.unrecorded.values().map(|file| file.again_bytes).sum()
}

/// The earlier report without the counts that the last session's report holds already.
fn without_standing(before: Report) -> Report {
    Report {
        bytes_resumed: 0,
        files_before: 0,
        bytes_before: 0,
        files_unchanged: 0,
        files_newer: 0,
        files_existing: 0,
        links_unchanged: 0,
        ..before
    }
}

/// A report over two sessions, between which the other host was out of reach for so long: all lanes waited for it.
fn with_outage(mut report: Report, outage_ns: u64) -> Report {
    let lanes = u64::from(report.lanes.max(1));
    report.waits_ns.outage += outage_ns * lanes;
    let (waited_ns, of_ns) = (report.waits_ns.outage, report.elapsed_ns * lanes);
    if waited_ns * 2 >= of_ns && waited_ns > 0 {
        report.limited_by = LimitedBy::Network;
        report.limited_detail = LimitedDetail::here("network", Why::Outage, waited_ns, of_ns);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_core::verdict::Waits;

    /// A file has ten bytes.
    fn session(files: u64, files_before: u64) -> Report {
        let (bytes, bytes_before) = (10 * files, 10 * files_before);
        Report { files, bytes, files_before, bytes_before, requests: 1, ..Report::default() }
    }

    #[test]
    fn each_file_is_counted_once() {
        for (what, way, calls, sessions, files, files_before) in [
            ("one session", Direction::Pull, 0, &[(7, 3)][..], 7, 3),
            ("two", Direction::Pull, 0, &[(10, 0), (20, 10)], 30, 0),
            ("a call between them that nobody took", Direction::Pull, 0, &[(10, 0), (0, 0), (20, 10)], 30, 0),
            ("nobody took a call any more", Direction::Pull, 0, &[(10, 0), (0, 0)], 10, 0),
            ("one lost before it had seen all", Direction::Pull, 0, &[(10, 0), (2, 3), (18, 12)], 30, 0),
            ("no list is kept", Direction::Pull, 0, &[(10, 0), (30, 0)], 30, 0),
            ("an earlier run did five", Direction::Pull, 0, &[(10, 5), (15, 15)], 25, 5),
            ("nobody took the first call", Direction::Push, 1, &[(0, 0), (10, 20)], 10, 20),
            ("the other side did not tell", Direction::Push, 0, &[(0, 0), (0, 0), (20, 10)], 30, 0),
        ] {
            let mut all = Sessions::new(way);
            let mut last = Report::default();
            for (number, &(files, before)) in sessions.iter().enumerate() {
                last = all.add(session(files, before), number >= calls);
            }
            assert_eq!((last.files, last.bytes), (files, 10 * files), "{what}");
            assert_eq!((last.files_before, last.bytes_before), (files_before, 10 * files_before), "{what}");
            assert_eq!(last.requests, sessions.len() as u64, "{what}");
        }
    }

    #[test]
    fn what_stands_is_counted_once_however_often_it_is_walked() {
        let session = |&(files, files_before, files_unchanged): &(u64, u64, u64)| Report {
            files,
            files_before,
            files_unchanged,
            files_newer: files_unchanged / 2,
            ..Report::default()
        };
        for (what, way, sessions, unchanged) in [
            ("one session", Direction::Push, &[(5, 0, 20)][..], 20),
            (
                "a name in use is waited for",
                Direction::Push,
                &[(0, 0, 0), (5, 0, 20), (0, 5, 20), (1, 5, 20)],
                20,
            ),
            ("no list tells what was completed", Direction::Push, &[(5, 0, 20), (0, 0, 25)], 20),
            ("one lost before it had seen all", Direction::Pull, &[(5, 0, 20), (0, 2, 3)], 20),
            ("the first lost before it had", Direction::Pull, &[(5, 0, 3), (6, 5, 20)], 20),
        ] {
            let mut all = Sessions::new(way);
            let mut last = Report::default();
            for told in sessions {
                last = all.add(session(told), true);
            }
            assert_eq!(last.files_unchanged, unchanged, "{what}");
            assert!(last.files_newer <= unchanged, "{what}: {}", last.files_newer);
        }
    }

    #[test]
    fn links_are_counted_once_over_all_sessions() {
        for (what, sessions, counted) in [
            ("found by the session that follows", &[(5, 20), (1, 25)][..], (6, 20)),
            ("made anew by it", &[(5, 20), (8, 20)], (8, 20)),
            ("it was lost before it had seen all", &[(5, 20), (0, 3)], (5, 20)),
        ] {
            let (mut all, mut last) = (Sessions::new(Direction::Pull), Report::default());
            for &(links, links_unchanged) in sessions {
                last = all.add(Report { links, links_unchanged, ..Report::default() }, true);
            }
            assert_eq!((last.links, last.links_unchanged), counted, "{what}");
        }
    }

    #[test]
    fn what_an_earlier_run_moved_is_counted_once() {
        for (what, sessions, resumed) in [
            ("one session", &[(100, 50)][..], 100),
            ("all that the first moved counts", &[(100, 50), (150, 60)], 100),
            ("the first lost some of what it moved", &[(100, 50), (140, 60), (185, 20)], 100),
            ("the file was whole, and others followed", &[(100, 50), (0, 60)], 100),
            ("no earlier run", &[(0, 50), (40, 60)], 0),
            ("the other side did not tell", &[(0, 50), (150, 60)], 100),
        ] {
            let mut all = Sessions::new(Direction::Pull);
            let mut last = Report::default();
            for &(bytes_resumed, bytes_moved) in sessions {
                last = all.add(Report { bytes_resumed, bytes_moved, ..Report::default() }, true);
            }
            assert_eq!(last.bytes_resumed, resumed, "{what}");
        }
    }

    /// A session loses ten bytes. Each says what was lost in all before it, as far as it moves so many.
    #[test]
    fn what_may_have_been_moved_twice_is_counted_once() {
        for (what, sessions, twice) in [
            ("one session", &[(1, 0, 0, 90)][..], 0),
            ("one that follows", &[(1, 0, 0, 90), (1, 10, 10, 40)], 10),
            ("three that follow", &[(1, 0, 0, 90), (1, 10, 10, 40), (1, 20, 20, 30), (1, 30, 30, 30)], 30),
            ("little is left in the end", &[(1, 0, 0, 90), (1, 10, 10, 40), (1, 20, 4, 4)], 14),
            ("an earlier run lost seven", &[(1, 7, 7, 90), (1, 17, 17, 40)], 17),
            ("two files", &[(1, 0, 0, 90), (1, 10, 10, 40), (2, 10, 10, 40)], 20),
            ("one that moved less", &[(1, 0, 0, 90), (1, 10, 10, 4), (1, 20, 20, 30)], 20),
            ("one that moved nothing", &[(1, 0, 0, 90), (1, 10, 10, 0), (1, 20, 20, 30)], 20),
        ] {
            let (mut all, mut last) = (Sessions::new(Direction::Pull), Report::default());
            for &(inode, arrived_bytes, again_bytes, bytes_moved) in sessions {
                let unrecorded = [((0, inode), Unrecorded { arrived_bytes, again_bytes })].into();
                let bytes_moved_twice = again_bytes.min(bytes_moved);
                let report = Report { unrecorded, bytes_moved_twice, bytes_moved, ..Report::default() };
                last = all.add(report, true);
            }
            assert_eq!(last.bytes_moved_twice, twice, "{what}");
        }
    }

    /// Twelve seconds out of reach, and five at the rate limit behind them.
    #[test]
    fn an_outage_is_not_the_rate_limits() {
        let waits_ns = Waits { rate_limit: 10, ..Waits::default() };
        let limited_by = LimitedBy::Source;
        let report = Report { lanes: 2, elapsed_ns: 17, waits_ns, limited_by, ..Report::default() };
        let short = with_outage(report.clone(), 2);
        assert_eq!((short.limited_by, short.waits_ns.outage), (LimitedBy::Source, 4));
        let long = with_outage(report, 12);
        assert_eq!((long.limited_by, long.limited_detail.why.words()), (LimitedBy::Network, "outage"));
        assert_eq!((long.limited_detail.waited_ns, long.limited_detail.of_ns), (24, 34));
    }
}
