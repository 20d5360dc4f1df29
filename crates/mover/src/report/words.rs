//! A report as two lines for people: what was copied, and what the bottleneck was.
//!
//! Must not know: which places were named, how it is printed.

use datapump_core::verdict::{LimitedBy, LimitedDetail, Why};

use crate::report::Report;
use crate::units::{bytes_words, counted, rate_words, time_words, with_commas};

/// Below this a rate says how long a system call took.
const RATED_NS: u64 = 10_000_000;
/// What limited a shorter job is chance: a CPU that another program has for some milliseconds.
pub const CHANCE_NS: u64 = 100_000_000;
/// Of a shorter copy nobody asks what its bottleneck was, and what it waited for says little of a longer one.
const BRIEF_NS: u64 = 1_000_000_000;
/// Computing, and waiting for it.
const CPU: &str = "the CPU";
/// A shorter wait is shown as zero.
const SHOWN_S: f64 = 0.005;

impl Report {
    /// `2,345 files, 1.2 GiB in 5.4 s, 230 MiB/s; 400 up to date, 12 deleted`; `1 link in 0.00 s` where no file was
    /// copied. A value of zero is left out.
    pub fn summary(&self) -> String {
        let rate = match self.rate() {
            None => String::new(),
            // Holes, clones of the file system, and what an earlier run had moved.
            Some((bytes, rate)) if bytes < self.bytes => format!(", {} moved at {rate}", bytes_words(bytes)),
            Some((_, rate)) => format!(", {rate}"),
        };
        let others = [
            (self.deleted, "deleted"),
            (self.sources_removed, "removed from the source"),
            (self.skipped, "left out"),
        ];
        let besides: Vec<String> = self
            .staying_files()
            .into_iter()
            .chain(others)
            .filter(|(count, _)| *count > 0)
            .map(|(count, words)| format!("{} {words}", with_commas(count)))
            .chain(self.changes_without_content())
            .collect();
        let besides = if besides.is_empty() { String::new() } else { format!("; {}", besides.join(", ")) };
        format!("{} in {}{rate}{besides}", self.moved_words(), time_words(self.elapsed_ns))
    }

    /// `9 files, 1 hard link, 1.2 GiB`; of one file alone its bytes, `1 file` if it is empty.
    pub(super) fn moved_words(&self) -> String {
        let hard_links = (self.hard_links > 0).then(|| counted(self.hard_links, "hard link"));
        let mut moved: Vec<String> = match self.files {
            1 if self.bytes > 0 && hard_links.is_none() => Vec::new(),
            0 => self.made_without_content().map(|(count, what)| counted(count, what)).collect(),
            files => std::iter::once(counted(files, "file")).chain(hard_links).collect(),
        };
        if self.files == 0 && moved.is_empty() {
            moved.push(counted(0, "file"));
        }
        moved.extend((self.bytes > 0).then(|| bytes_words(self.bytes)));
        moved.join(", ")
    }

    /// `Nothing to do: 400 files up to date, 2 newer at the target.`, if that is so.
    pub fn nothing_to_do(&self) -> Option<String> {
        let moved = self.names_made() + self.bytes + self.deleted + self.sources_removed;
        let besides = self.skipped + self.adjusted + self.folders_made;
        if self.exit_status != 0 || moved + besides > 0 {
            return None;
        }
        let mut standing = self.staying_files().into_iter().filter(|(count, _)| *count > 0);
        let Some((count, words)) = standing.next() else { return self.links_up_to_date() };
        let first = format!("{} {words}", counted(count, "file"));
        let others = standing.map(|(count, words)| format!(", {} {words}", with_commas(count)));
        Some(format!("Nothing to do: {first}{}.", others.collect::<String>()))
    }

    /// Names that were made or stay at the target, but for folders.
    pub fn names_done(&self) -> u64 {
        self.names_made() + self.names_left()
    }

    fn names_left(&self) -> u64 {
        self.files_unchanged + self.files_before + self.links_unchanged
    }

    /// Names that were made at the target, but for folders.
    fn names_made(&self) -> u64 {
        self.files + self.made_without_content().map(|(count, _)| count).sum::<u64>()
    }

    /// What was made that has no bytes of its own, by what it is.
    fn made_without_content(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let all = [(self.links, "link"), (self.hard_links, "hard link"), (self.specials, "special file")];
        all.into_iter().filter(|(count, _)| *count > 0)
    }

    /// `2,344 files copied, 1 hard link made, 7 unchanged`: what a run with errors did all the same.
    pub fn done_words(&self) -> String {
        let left = self.names_left();
        let copied = format!("{} copied", counted(self.files, "file"));
        let made = self.made_without_content().map(|(count, what)| format!("{} made", counted(count, what)));
        let left = (left > 0).then(|| format!("{} unchanged", with_commas(left)));
        std::iter::once(copied).chain(made).chain(left).collect::<Vec<_>>().join(", ")
    }

    fn links_up_to_date(&self) -> Option<String> {
        let links = Some(self.links_unchanged).filter(|count| *count > 0)?;
        Some(format!("Nothing to do: {} up to date.", counted(links, "link")))
    }

    /// `attributes of 3 names set`, `2 folders made`. Where something was copied, folders are made for it.
    fn changes_without_content(&self) -> impl Iterator<Item = String> {
        let folders = if self.names_made() == 0 { self.folders_made } else { 0 };
        let adjusted =
            (self.adjusted > 0).then(|| format!("attributes of {} set", counted(self.adjusted, "name")));
        let made = (folders > 0).then(|| format!("{} made", counted(folders, "folder")));
        adjusted.into_iter().chain(made)
    }

    /// How many files stay as they are at the target, by the reason in words.
    fn staying_files(&self) -> [(u64, &'static str); 3] {
        let kept = self.files_newer + self.files_existing;
        [
            ((self.files_unchanged + self.files_before).saturating_sub(kept), "up to date"),
            (self.files_newer, "newer at the target"),
            (self.files_existing, "already at the target"),
        ]
    }

    /// Bytes of the files that this run moved, and how fast; none where it was too short for that, or moved none.
    pub(super) fn rate(&self) -> Option<(u64, String)> {
        let bytes = self.bytes.saturating_sub(self.bytes_resumed).min(self.bytes_moved);
        let is_rated = self.elapsed_ns >= RATED_NS && bytes > 0;
        is_rated.then(|| (bytes, rate_words(bytes as f64 * 1e9 / self.elapsed_ns as f64)))
    }

    /// Whether waits of the system's own, such as for a CPU, are most of so short a time.
    pub(super) fn is_too_short(&self) -> bool {
        self.elapsed_ns < CHANCE_NS
    }

    /// Whether it took less than a second: its bottleneck is told to those who ask (`-v`, `--stats`) alone.
    pub fn is_brief(&self) -> bool {
        self.elapsed_ns < BRIEF_NS
    }

    /// `Bottleneck: the source's disk, 94 % of the time.`, with one thing to try.
    pub fn bottleneck(&self) -> Option<String> {
        let (words, advice) = self.bottleneck_and_advice()?;
        Some(advice.map_or(words.clone(), |advice| format!("{words} {advice}")))
    }

    /// `Bottleneck: the source's disk, 94 % of the time.`
    pub fn bottleneck_alone(&self) -> Option<String> {
        self.bottleneck_and_advice().map(|(words, _)| words)
    }

    /// What limited the run, as a sentence, and what would help; `None` where no stage can be named.
    fn bottleneck_and_advice(&self) -> Option<(String, Option<&'static str>)> {
        let why = self.limited_detail.why;
        if why == Why::RateLimit {
            return Some(("Throttled by --bwlimit.".into(), None));
        }
        if let Some(words) = self.answers() {
            return Some((words, None));
        }
        if self.is_too_short() && self.limited_by != LimitedBy::Unknown {
            return Some(("Bottleneck: too short to tell.".into(), None));
        }
        if self.limited_by == LimitedBy::Balanced {
            let equal = self.equal_stages().filter(|_| why == Why::EqualStages);
            let equal =
                equal.map_or(String::new(), |(one, other)| format!(": {one} and {other} took equal time"));
            return Some((format!("No single bottleneck{equal}."), None));
        }
        let (found, part) = (self.limited_detail.bottleneck(self.limited_by)?, self.part_of_time());
        Some((format!("Bottleneck: {}{part}.", found.part), found.advice))
    }

    /// `Bottleneck: waiting for answers, 96 % of the time: 1,725 round trips of 20 ms, 1 request under way at a time.`,
    /// if answers of the other host about names took most of it.
    pub fn answers(&self) -> Option<String> {
        let (words, part) = (self.answers_words()?, self.part_of_time());
        Some(format!("Bottleneck: waiting for answers{part}: {words}."))
    }

    /// `, 94 % of the time`.
    fn part_of_time(&self) -> String {
        let LimitedDetail { waited_ns, of_ns, .. } = self.limited_detail;
        match of_ns {
            0 => String::new(),
            _ => format!(", {:.0} % of the time", 100.0 * waited_ns.min(of_ns) as f64 / of_ns as f64),
        }
    }

    /// `Longest wait: the source, 0.20 s.`, of one lane in the mean.
    pub fn longest_wait(&self) -> Option<String> {
        let (ns, what) = self.waits().into_iter().max_by_key(|(ns, _)| *ns)?;
        let seconds = ns as f64 / 1e9 / f64::from(self.lanes.max(1));
        (seconds >= SHOWN_S).then(|| format!("Longest wait: {what}, {seconds:.2} s."))
    }

    /// What lanes wait for.
    fn waits(&self) -> [(u64, &'static str); 8] {
        let waits = &self.waits_ns;
        [
            (waits.source, "the source"),
            (waits.sink + waits.reserving, "the target"),
            (waits.verify, "reading back"),
            (waits.metadata + waits.listing + waits.deleting, "names and attributes"),
            (waits.sync, "stable storage"),
            (waits.rate_limit, "the rate limit"),
            (waits.outage, "outages"),
            (waits.not_scheduled, CPU),
        ]
    }

    /// The two that took most of the time.
    fn equal_stages(&self) -> Option<(&'static str, &'static str)> {
        let mut stages = self.waits().to_vec();
        stages.push((self.lanes_cpu_ns, CPU));
        stages.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
        let (one, other) = (stages[0].1, stages[1].1);
        let words = if one == other { ("computing", "waiting for a CPU") } else { (one, other) };
        (stages[1].0 > 0).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second() -> Report {
        Report { elapsed_ns: 1_000_000_000, ..Report::default() }
    }

    #[test]
    fn a_bound_that_is_all_of_the_rest_is_left_out() {
        for (bytes_moved_twice, words) in [
            (0, "Resumed at 60.0 MiB."),
            (4 << 20, "Resumed at 60.0 MiB (at most 4.0 MiB sent twice)."),
            (200 << 20, "Resumed at 60.0 MiB."),
        ] {
            let (bytes_resumed, bytes_moved) = (60 << 20, 200 << 20);
            let report = Report { bytes_resumed, bytes_moved, bytes_moved_twice, ..second() };
            assert_eq!(report.resumption().as_deref(), Some(words));
        }
    }

    #[test]
    fn what_was_copied_is_one_line_and_zeros_are_left_out() {
        for (report, words) in [
            (
                Report { files: 1, bytes: 1 << 30, bytes_moved: 1 << 30, ..second() },
                "1.0 GiB in 1.0 s, 1.00 GiB/s",
            ),
            (
                Report { files: 2345, bytes: 230 << 20, bytes_moved: 230 << 20, ..second() },
                "2,345 files, 230.0 MiB in 1.0 s, 230 MiB/s",
            ),
            (Report { files: 0, ..second() }, "0 files in 1.0 s"),
            (Report { links: 1, ..second() }, "1 link in 1.0 s"),
            (Report { links: 2000, files_unchanged: 4, ..second() }, "2,000 links in 1.0 s; 4 up to date"),
            (
                Report { links: 2, files: 3, bytes: 10, bytes_moved: 20, ..second() },
                "3 files, 10 B in 1.0 s, 10 B/s",
            ),
            (
                Report {
                    files: 2,
                    bytes: 10,
                    bytes_moved: 10,
                    files_unchanged: 3,
                    files_before: 1,
                    deleted: 1200,
                    ..second()
                },
                "2 files, 10 B in 1.0 s, 10 B/s; 4 up to date, 1,200 deleted",
            ),
            (Report { files: 1, bytes: 100, elapsed_ns: 9, ..second() }, "100 B in 0.00 s"),
            (
                Report { files: 1, bytes: 4 << 20, bytes_moved: 2 << 20, bytes_resumed: 3 << 20, ..second() },
                "4.0 MiB in 1.0 s, 1.0 MiB moved at 1.00 MiB/s",
            ),
            (
                Report { files: 1, bytes: 1 << 30, bytes_moved: 3 << 20, ..second() },
                "1.0 GiB in 1.0 s, 3.0 MiB moved at 3.00 MiB/s",
            ),
            (Report { files: 1, bytes: 1 << 30, ..second() }, "1.0 GiB in 1.0 s"),
            (Report { files_unchanged: 4, exit_status: 23, ..second() }, "0 files in 1.0 s; 4 up to date"),
            (
                Report { files_unchanged: 1, adjusted: 1, ..second() },
                "0 files in 1.0 s; 1 up to date, attributes of 1 name set",
            ),
            (Report { folders_made: 2, ..second() }, "0 files in 1.0 s; 2 folders made"),
            (Report { hard_links: 1, specials: 2, ..second() }, "1 hard link, 2 special files in 1.0 s"),
            (
                Report { sources_removed: 3, files_unchanged: 3, ..second() },
                "0 files in 1.0 s; 3 up to date, 3 removed from the source",
            ),
            (Report { deleted: 1, ..second() }, "0 files in 1.0 s; 1 deleted"),
            (
                Report { links: 2, adjusted: 3, folders_made: 1, ..second() },
                "2 links in 1.0 s; attributes of 3 names set",
            ),
        ] {
            assert_eq!(report.summary(), words);
            assert_eq!(report.nothing_to_do(), None);
        }
    }

    #[test]
    fn further_names_of_a_file_are_hard_links_and_an_empty_file_is_one() {
        for (report, words) in [
            (Report { files: 1, ..second() }, "1 file in 1.0 s"),
            (Report { files: 1, hard_links: 1, bytes: 6, ..second() }, "1 file, 1 hard link, 6 B in 1.0 s"),
            (
                Report { files: 9, hard_links: 1, bytes: 18, ..second() },
                "9 files, 1 hard link, 18 B in 1.0 s",
            ),
        ] {
            assert_eq!(report.summary(), words);
            assert!(report.sentence().starts_with(words.trim_end_matches("1.0 s")), "{}", report.sentence());
        }
        let equal = Report { files_unchanged: 1, ..second() };
        assert!(equal.sentence().starts_with("0 files in 1.00 s"), "{}", equal.sentence());
    }

    #[test]
    fn nothing_to_do_is_said_with_what_stays() {
        for (count, words) in
            [(400, "Nothing to do: 400 files up to date."), (1, "Nothing to do: 1 file up to date.")]
        {
            let report = Report { files_unchanged: count, links_unchanged: 7, ..second() };
            assert_eq!(report.nothing_to_do().as_deref(), Some(words));
        }
        let link = Report { links_unchanged: 1, ..second() };
        assert_eq!(link.nothing_to_do().as_deref(), Some("Nothing to do: 1 link up to date."));
        for (files_newer, files_existing, words) in [
            (2, 0, "Nothing to do: 1 file up to date, 2 newer at the target."),
            (3, 0, "Nothing to do: 3 files newer at the target."),
            (0, 3, "Nothing to do: 3 files already at the target."),
        ] {
            let report = Report { files_unchanged: 3, files_newer, files_existing, ..second() };
            assert_eq!(report.nothing_to_do().as_deref(), Some(words));
        }
    }

    #[test]
    fn the_longest_wait_is_that_of_one_lane() {
        let mut waiting = Report { lanes: 2, ..second() };
        assert_eq!(waiting.longest_wait(), None);
        (waiting.waits_ns.source, waiting.waits_ns.sink) = (400_000_000, 100_000_000);
        assert_eq!(waiting.longest_wait().as_deref(), Some("Longest wait: the source, 0.20 s."));
    }

    #[test]
    fn the_bottleneck_is_a_sentence() {
        let of = |limited_by, stage, why| Report {
            limited_by,
            limited_detail: LimitedDetail::here(stage, why, 94, 100),
            ..second()
        };
        let disk = of(LimitedBy::Source, "read", Why::Device);
        let words = disk.bottleneck().expect("a sentence");
        assert!(words.starts_with("Bottleneck: the source's disk, 94 % of the time. "), "{words}");
        let alone = disk.bottleneck_alone();
        assert_eq!(alone.as_deref(), Some("Bottleneck: the source's disk, 94 % of the time."));
        assert!(!disk.is_brief() && Report { elapsed_ns: 999_999_999, ..disk }.is_brief());
        let throttled = of(LimitedBy::Source, "read", Why::RateLimit).bottleneck();
        assert_eq!(throttled.as_deref(), Some("Throttled by --bwlimit."));
        let mut equal = of(LimitedBy::Balanced, "read", Why::EqualStages);
        (equal.waits_ns.source, equal.waits_ns.sink) = (9, 8);
        let words = "No single bottleneck: the source and the target took equal time.";
        assert_eq!(equal.bottleneck().as_deref(), Some(words));
        (equal.waits_ns.source, equal.waits_ns.not_scheduled) = (0, 9);
        let words = "No single bottleneck: the CPU and the target took equal time.";
        assert_eq!(equal.bottleneck().as_deref(), Some(words));
        equal.lanes_cpu_ns = 9;
        let words = "No single bottleneck: computing and waiting for a CPU took equal time.";
        assert_eq!(equal.bottleneck().as_deref(), Some(words));
        assert_eq!(of(LimitedBy::Unknown, "", Why::NothingMoved).bottleneck(), None);
    }

    #[test]
    fn what_limited_ten_milliseconds_is_not_told() {
        let limited_detail = LimitedDetail::here("compute", Why::NotScheduled, 9, 10);
        let short = Report { limited_by: LimitedBy::Cpu, limited_detail, elapsed_ns: 10_000_000, ..second() };
        assert_eq!(short.bottleneck().as_deref(), Some("Bottleneck: too short to tell."));
        assert!(
            !short.line().contains("limited") && !short.sentence().contains("cpu"),
            "{}",
            short.sentence()
        );
        let detail = LimitedDetail::here("read", Why::RateLimit, 9, 10);
        let throttled = Report { limited_by: LimitedBy::Source, limited_detail: detail, ..short };
        assert_eq!(throttled.bottleneck().as_deref(), Some("Throttled by --bwlimit."));
    }
}
