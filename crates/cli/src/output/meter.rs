//! Rate and time left, from readings of counters and a clock that the caller makes.
//!
//! The percentage never falls. The time left is a range (`meter/time_left.rs`).
//!
//! Must not know: clocks, threads, terminals.

mod time_left;

use datapump::{LimitedBy, Phase, Snapshot};

use time_left::{Samples, TimeLeft};

/// Samples that the rate is taken from: the last 10 s.
const SAMPLES_MAX: usize = 20;

/// A small file takes about as long as so many bytes of a large one, so that a tree of empty files has a percentage.
const FILE_BYTES: u64 = 32 << 10;

/// More is not said of what was only counted: something may have come since.
const COUNTED_PERCENT_MAX: f64 = 99.9;

/// The values that are shown at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeterReading {
    /// Since the job began.
    pub elapsed_ns: u64,
    /// What the job does.
    pub phase: Phase,
    /// Names removed, and names that are to be removed, where those were counted.
    pub deleted: (u64, u64),
    /// Bytes that are there: moved, of an earlier copy, or right as they stood.
    pub bytes: u64,
    /// Bytes there are, once known.
    pub bytes_total: Option<u64>,
    /// Files that are there.
    pub files: u64,
    /// Bytes and files found so far, while a tree is walked; zero where there is none.
    pub found: (u64, u64),
    /// Names of trees that were compared with the target, whatever they are.
    pub names: u64,
    /// Names that there are; `None` while unknown.
    pub names_total: Option<u64>,
    /// Nothing to copy was found so far: names are all that goes by.
    pub only_compares: bool,
    /// 0 to 100, in tenths; never falls. `None` while the total is unknown.
    pub percent: Option<f64>,
    /// Recent rate.
    pub rate_bytes_per_second: f64,
    /// Seconds left, the fewest and the most; `None` while unknown.
    pub time_left_s: Option<(f64, f64)>,
    /// What bounds the move so far.
    pub limited_by: LimitedBy,
}

/// Turns counters into readings.
#[derive(Debug, Default)]
pub struct ProgressMeter {
    samples: Samples,
    time_left: TimeLeft,
    percent: f64,
}

impl ProgressMeter {
    /// The reading at `now_ns`, which never goes back.
    pub fn read(&mut self, now_ns: u64, snapshot: &Snapshot) -> MeterReading {
        self.samples.take(now_ns, snapshot.bytes, SAMPLES_MAX);
        self.time_left.sample(now_ns, weight(snapshot.files, snapshot.bytes));
        let rate = self.rate(now_ns, snapshot.bytes);
        // Data that are there already are part of the whole, and no part of the rate.
        let (bytes, files) =
            (snapshot.bytes + snapshot.bytes_present, snapshot.files + snapshot.files_present);
        let files_found = match snapshot.files_found {
            0 => 0,
            found => found + snapshot.files_present,
        };
        let bytes_found = snapshot.bytes_found.saturating_add(snapshot.bytes_present);
        let walked =
            snapshot.bytes_total.map(|total| (files_found, total.saturating_add(snapshot.bytes_present)));
        // What was counted beside the copy may lack what came later.
        let counted =
            snapshot.counted.map(|counts| (counts.files.max(files_found), counts.bytes.max(bytes_found)));
        let whole = walked.or(counted);
        let left = whole.map(|(all_files, all)| weight(all_files, all).saturating_sub(weight(files, bytes)));
        MeterReading {
            elapsed_ns: now_ns,
            phase: snapshot.phase,
            deleted: (snapshot.deleted, snapshot.to_delete),
            bytes,
            bytes_total: whole.map(|(_, bytes)| bytes),
            files,
            found: whole.map_or((bytes_found, files_found), |(files, bytes)| (bytes.max(bytes_found), files)),
            names: snapshot.names,
            names_total: names_total(snapshot),
            only_compares: snapshot.names > 0 && snapshot.files_found == 0,
            percent: whole.map(|(all_files, all)| {
                let most = if walked.is_some() { 100.0 } else { COUNTED_PERCENT_MAX };
                self.percent(weight(files, bytes), weight(all_files, all), most)
            }),
            rate_bytes_per_second: rate,
            time_left_s: left.and_then(|left| self.time_left.range(left)),
            limited_by: snapshot.limited_by,
        }
    }

    fn rate(&self, now_ns: u64, bytes: u64) -> f64 {
        match self.samples.oldest() {
            Some((start_ns, start)) if now_ns > start_ns => {
                bytes.saturating_sub(start) as f64 * 1e9 / (now_ns - start_ns) as f64
            }
            _ => 0.0,
        }
    }

    fn percent(&mut self, bytes: u64, total: u64, most: f64) -> f64 {
        let now = if total == 0 { 100.0 } else { bytes as f64 * 100.0 / total as f64 };
        // Down to a tenth, so that 100 means all.
        self.percent = self.percent.max(((now * 10.0).floor() / 10.0).min(most));
        self.percent
    }
}

/// Once a walk has ended, its names are all; before, what was counted beside it may lack what came later.
fn names_total(snapshot: &Snapshot) -> Option<u64> {
    match snapshot.bytes_total {
        Some(_) => Some(snapshot.names).filter(|names| *names > 0),
        None => snapshot.counted.and_then(|counts| counts.names).map(|names| names.max(snapshot.names)),
    }
}

/// What has to be done for so many files of so many bytes.
fn weight(files: u64, bytes: u64) -> u64 {
    bytes.saturating_add(files.saturating_mul(FILE_BYTES))
}

#[cfg(test)]
mod tests {
    use datapump::TreeCounts;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn snapshot(bytes: u64, bytes_total: Option<u64>) -> Snapshot {
        Snapshot { bytes, bytes_total, ..Snapshot::default() }
    }

    #[test]
    fn the_percentage_never_falls() {
        let mut meter = ProgressMeter::default();
        let rows = [(0, 100, 0.0), (50, 100, 50.0), (50, 200, 50.0), (120, 200, 60.0), (300, 200, 100.0)];
        for (step, (bytes, total, percent)) in rows.into_iter().enumerate() {
            let reading = meter.read(step as u64 * SECOND, &snapshot(bytes, Some(total)));
            assert_eq!(reading.percent, Some(percent), "{bytes} of {total}");
        }
    }

    #[test]
    fn a_resumed_copy_begins_where_it_stands_and_its_rate_is_of_what_is_moved_now() {
        let mut meter = ProgressMeter::default();
        let at = |bytes| Snapshot { bytes_present: 600, ..snapshot(bytes, Some(400)) };
        let first = meter.read(0, &at(0));
        assert_eq!((first.percent, first.bytes, first.bytes_total), (Some(60.0), 600, Some(1000)));
        let next = meter.read(SECOND, &at(100));
        assert_eq!((next.percent, next.rate_bytes_per_second), (Some(70.0), 100.0));
    }

    #[test]
    fn files_that_are_left_alone_count() {
        let update = Snapshot {
            files_present: 9,
            bytes_present: 90,
            files_found: 1,
            bytes_found: 10,
            ..snapshot(0, Some(10))
        };
        let reading = ProgressMeter::default().read(0, &update);
        assert_eq!((reading.percent, reading.files, reading.found), (Some(90.0), 9, (100, 10)));
    }

    #[test]
    fn what_was_counted_ahead_gives_a_percentage_until_the_walk_knows_better() {
        let mut meter = ProgressMeter::default();
        let kib = |files: u64| files * (4 << 10);
        let at = |done: u64, found: u64, counted: Option<u64>, total: Option<u64>| Snapshot {
            files: done,
            files_found: found,
            bytes_found: kib(found),
            counted: counted.map(|files| TreeCounts { files, bytes: kib(files), names: None }),
            ..snapshot(kib(done), total.map(kib))
        };
        for (step, (done, found, counted, total, percent)) in [
            (5, 10, None, None, None),
            (10, 20, Some(100), None, Some(10.0)),
            (50, 60, Some(100), None, Some(50.0)),
            (100, 101, Some(100), None, Some(99.0)),
            (120, 120, Some(100), None, Some(99.9)),
            (120, 200, Some(100), Some(200), Some(99.9)),
            (200, 200, Some(100), Some(200), Some(100.0)),
        ]
        .into_iter()
        .enumerate()
        {
            let reading = meter.read(step as u64 * SECOND, &at(done, found, counted, total));
            assert_eq!(reading.percent, percent, "{done} of {found}");
            assert_eq!(reading.found.1, found.max(counted.unwrap_or(0)), "{done} of {found}");
        }
    }

    #[test]
    fn names_go_by_while_nothing_is_to_be_copied() {
        let counted = TreeCounts { files: 40, bytes: 4000, names: Some(50) };
        let walk = Snapshot { names: 20, files_present: 18, bytes_present: 1800, ..snapshot(0, None) };
        let later = Snapshot { names: 60, ..walk };
        for (at, compares, total) in [
            (walk, true, None),
            (Snapshot { counted: Some(counted), ..walk }, true, Some(50)),
            (Snapshot { counted: Some(counted), ..later }, true, Some(60)),
            (Snapshot { bytes_total: Some(0), counted: Some(counted), ..walk }, true, Some(20)),
            (Snapshot { files_found: 1, ..walk }, false, None),
            (snapshot(7, Some(9)), false, None),
        ] {
            let reading = ProgressMeter::default().read(0, &at);
            assert_eq!((reading.only_compares, reading.names_total), (compares, total), "{at:?}");
        }
    }

    #[test]
    fn an_empty_job_is_done_and_an_unknown_total_has_no_percentage() {
        assert_eq!(ProgressMeter::default().read(0, &snapshot(0, Some(0))).percent, Some(100.0));
        assert_eq!(ProgressMeter::default().read(0, &snapshot(5, None)).percent, None);
    }

    #[test]
    fn the_time_left_is_that_of_bytes_and_of_files() {
        for (files, low, high) in [(0, 4.5, 8.4), (100, 4.5, 8.4)] {
            let (mut meter, mut reading) = (ProgressMeter::default(), MeterReading::default());
            for step in 0..5 {
                let so_far = Snapshot { files: step * files, ..snapshot(step * 100, Some(1000)) };
                reading = meter.read(step * SECOND, &Snapshot { files_found: 10 * files, ..so_far });
            }
            assert_eq!(reading.rate_bytes_per_second, 100.0);
            assert_eq!(reading.time_left_s, Some((low, high)), "{files} files a second");
        }
    }

    #[test]
    fn a_job_that_stands_still_has_no_end_in_sight() {
        let mut meter = ProgressMeter::default();
        let readings: Vec<MeterReading> =
            (0..10).map(|step| meter.read(step * SECOND, &snapshot(7, Some(1000)))).collect();
        assert_eq!(readings[9].time_left_s, None);
        assert_eq!(readings[9].rate_bytes_per_second, 0.0);
    }
}
