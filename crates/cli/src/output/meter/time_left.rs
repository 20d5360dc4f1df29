//! How much longer a copy takes, as a range: what is left by the fastest and the slowest of its rates over the last
//! 5 s, the last 20 s, and the last minute.
//!
//! A promise of one number would be false precision, and so is one rate: the last seconds show what has just changed,
//! the minute what comes and goes. Judged by fifty recorded copies (`bench/time-left.ndjson`): in the forty
//! that nothing slowed down midway, the range holds the truth in 9 of 10 moments behind the first tenth, and is narrow
//! enough to plan by.
//!
//! Must not know: clocks, threads, terminals.

use std::collections::VecDeque;

/// Time between two samples: shorter ones show the device's own jitter.
const SAMPLE_NS: u64 = 500_000_000;
/// Rates are taken over these.
const SPANS_NS: [u64; 3] = [5_000_000_000, 20_000_000_000, 60_000_000_000];
const SAMPLES_MAX: usize = (SPANS_NS[2] / SAMPLE_NS) as usize + 1;
/// What a range is wider than its rates say, to both sides. Chosen by the first twenty of the recorded copies, and
/// judged by all.
const MARGIN: (f64, f64) = (0.75, 1.15);
/// The last blocks, their way to stable storage, and the names.
const END_S: f64 = 1.5;
/// The slowest rate counts as at most this many times slower than the fastest: beyond it a range says nothing.
const SPREAD_MAX: f64 = 8.0;

/// What a counter said by when, in nanoseconds; oldest first.
#[derive(Debug, Default)]
pub struct Samples(VecDeque<(u64, u64)>);

impl Samples {
    /// Takes the counter by now, and keeps at most so many. One that fell is of another session: it has no past.
    pub fn take(&mut self, now_ns: u64, counter: u64, most: usize) {
        if self.0.back().is_some_and(|&(_, last)| counter < last) {
            self.0.clear();
        }
        if self.0.back().is_none_or(|&(last_ns, _)| now_ns >= last_ns + SAMPLE_NS) {
            self.0.push_back((now_ns, counter));
        }
        if self.0.len() > most {
            self.0.pop_front();
        }
    }

    pub fn oldest(&self) -> Option<(u64, u64)> {
        self.0.front().copied()
    }
}

/// What was done of late.
#[derive(Debug, Default)]
pub struct TimeLeft {
    samples: Samples,
}

impl TimeLeft {
    /// Takes what was moved by now, in bytes, to which a file adds what it costs besides.
    pub fn sample(&mut self, now_ns: u64, moved: u64) {
        self.samples.take(now_ns, moved, SAMPLES_MAX);
    }

    /// The fewest and the most seconds that what is left takes; `None` while nothing can be said.
    pub fn range(&self, left: u64) -> Option<(f64, f64)> {
        // Behind the last block the phase is told, and how long that takes nobody knows.
        if left == 0 || self.samples.0.len() < 3 {
            return None;
        }
        let rates = SPANS_NS.map(|span_ns| self.rate(span_ns));
        let fast = rates.into_iter().fold(0.0, f64::max);
        let slow = rates.into_iter().fold(f64::INFINITY, f64::min).max(fast / SPREAD_MAX);
        let tenth = |seconds: f64| (seconds * 10.0).round() / 10.0;
        let (low, high) = (left as f64 / fast * MARGIN.0, left as f64 / slow * MARGIN.1 + END_S);
        (fast > 0.0).then(|| (tenth(low), tenth(high)))
    }

    /// Since the first sample that is no older, but the newest.
    fn rate(&self, span_ns: u64) -> f64 {
        let samples = &self.samples.0;
        let newest = samples.len() - 1;
        let to = samples[newest];
        let is_older = |&(at_ns, _): &(u64, u64)| at_ns + span_ns < to.0;
        let from = samples[samples.iter().take_while(|sample| is_older(sample)).count().min(newest - 1)];
        to.1.saturating_sub(from.1) as f64 * 1e9 / (to.0 - from.0) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::meter::ProgressMeter;
    use datapump::{Snapshot, TreeCounts};
    use serde_json::Value;

    /// A moment of a copy, as it was recorded.
    struct Moment {
        elapsed_ns: u64,
        snapshot: Snapshot,
    }

    struct RecordedCopy {
        kind: String,
        is_throttled: bool,
        elapsed_ns: u64,
        moments: Vec<Moment>,
    }

    fn recorded() -> Vec<RecordedCopy> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/time-left.ndjson");
        let text = std::fs::read_to_string(path).expect("cargo xtask time-left records them");
        text.lines().map(|line| copy(&serde_json::from_str(line).expect("JSON"))).collect()
    }

    fn copy(row: &Value) -> RecordedCopy {
        let events: Vec<[Option<u64>; 5]> =
            serde_json::from_value(row["events"].clone()).expect("as xtask writes them");
        let first = events.first().map_or((0, 0), |event| (event[1].unwrap_or(0), event[3].unwrap_or(0)));
        let moments = events.iter().map(|event| moment(event, first)).collect();
        RecordedCopy {
            kind: row["kind"].as_str().expect("a name").into(),
            is_throttled: row["is_throttled"] == true,
            elapsed_ns: row["elapsed_ns"].as_u64().expect("a time"),
            moments,
        }
    }

    /// What stood there at first was not moved.
    fn moment(event: &[Option<u64>; 5], (bytes_present, files_present): (u64, u64)) -> Moment {
        let [elapsed_ns, bytes, bytes_total, files, files_total] = *event;
        let less = |all: u64, present: u64| all.saturating_sub(present);
        let snapshot = Snapshot {
            bytes: less(bytes.unwrap_or(0), bytes_present),
            bytes_present,
            files: less(files.unwrap_or(0), files_present),
            files_present,
            counted: bytes_total.map(|bytes| TreeCounts {
                files: files_total.unwrap_or(0),
                bytes,
                names: None,
            }),
            ..Snapshot::default()
        };
        Moment { elapsed_ns: elapsed_ns.unwrap_or(0), snapshot }
    }

    /// How often the range held the truth behind the first tenth, and how wide it was by the true time left.
    fn judged(copy: &RecordedCopy) -> (usize, usize, Vec<f64>) {
        let (mut meter, mut held, mut all, mut widths) = (ProgressMeter::default(), 0, 0, Vec::new());
        for moment in &copy.moments {
            let reading = meter.read(moment.elapsed_ns, &moment.snapshot);
            let truth_s = copy.elapsed_ns.saturating_sub(moment.elapsed_ns) as f64 / 1e9;
            // Progress is told every few tenths of a second; what is left then is told in tenths.
            if moment.elapsed_ns < copy.elapsed_ns / 10 || truth_s < 0.1 {
                continue;
            }
            let Some((low, high)) = reading.time_left_s else { continue };
            all += 1;
            held += usize::from((low..=high).contains(&truth_s));
            widths.push((high - low) / truth_s);
        }
        (held, all, widths)
    }

    fn median(values: &mut [f64]) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    #[test]
    fn the_range_holds_the_truth_of_fifty_recorded_copies_and_is_narrow() {
        let copies = recorded();
        assert!(copies.len() >= 50, "{}", copies.len());
        for is_throttled in [false, true] {
            let (mut held, mut all, mut widths) = (0, 0, Vec::new());
            for copy in copies.iter().filter(|copy| copy.is_throttled == is_throttled) {
                let (copy_held, copy_all, mut copy_widths) = judged(copy);
                println!(
                    "{}: {copy_held} of {copy_all}, median width {:.2}",
                    copy.kind,
                    if copy_all == 0 { 0.0 } else { median(&mut copy_widths) }
                );
                held += copy_held;
                all += copy_all;
                widths.extend(copy_widths);
            }
            let (share, width) = (held as f64 / all as f64, median(&mut widths));
            println!("throttled {is_throttled}: {share:.3} of {all} moments, median width {width:.2}");
            assert!(is_throttled || (share >= 0.9 && width <= 0.6), "{share} {width}");
        }
    }

    #[test]
    fn a_steady_rate_has_a_narrow_range_and_a_change_a_wide_one() {
        let mut steady = TimeLeft::default();
        assert_eq!(steady.range(1000), None);
        (0..80_u64).for_each(|step| steady.sample(step * SAMPLE_NS, step * 50));
        assert_eq!(steady.range(1000), Some((7.5, 13.0)));
        let mut slower = steady;
        (80..100_u64).for_each(|step| slower.sample(step * SAMPLE_NS, 4000 + (step - 80) * 5));
        let (low, high) = slower.range(1000).expect("it moves");
        assert!(low < 15.0 && high > 80.0, "{low} {high}");
        assert_eq!(TimeLeft::default().range(0), None);
    }

    #[test]
    fn another_session_has_no_past() {
        let mut again = TimeLeft::default();
        (0..10_u64).for_each(|step| again.sample(step * SAMPLE_NS, 4000 + step * 500));
        (10..20_u64).for_each(|step| again.sample(step * SAMPLE_NS, (step - 10) * 50));
        assert_eq!(again.range(1000), Some((7.5, 13.0)));
    }

    #[test]
    fn what_stands_still_has_no_time_left() {
        let mut still = TimeLeft::default();
        (0..200_u64).for_each(|step| still.sample(step * SAMPLE_NS, 0));
        assert_eq!(still.range(10), None);
    }
}
