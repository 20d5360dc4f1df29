//! Lines on standard error while a study runs: what was done, and about how long the rest will take.
//!
//! Must not know: how runs are performed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::report::figures;
use crate::row::Row;
use crate::session::notice::tell;
use crate::study::Run;

/// How far a study is.
#[derive(Debug)]
pub struct StudyProgress {
    total: usize,
    /// Whether there may be fewer.
    is_limit: bool,
    done: usize,
    started: Instant,
    /// Time spent on each cell, with preparation and checks, and the number of runs.
    spent: BTreeMap<usize, (Duration, u32)>,
}

impl StudyProgress {
    /// Nothing of `total` runs is done; `is_limit`: there may be fewer.
    pub fn new(total: usize, is_limit: bool) -> StudyProgress {
        StudyProgress { total, is_limit, done: 0, started: Instant::now(), spent: BTreeMap::new() }
    }

    /// A run begins.
    pub fn begin(&mut self) {
        self.started = Instant::now();
    }

    /// A run has ended, a warm-up or one that has left a row; `left` are the cells of the runs to come.
    pub fn end(&mut self, run: &Run, row: &Row, left: &[usize]) {
        self.done += 1;
        let (spent, runs) = self.spent.entry(run.cell).or_default();
        *spent += self.started.elapsed();
        *runs += 1;
        let most = if self.is_limit { "at most " } else { "" };
        let left = self.time_left(left).map_or("done".into(), |left| format!("{most}about {left} left"));
        let kind = if run.repeat.is_none() { "warm-up, " } else { "" };
        tell(&format!("[{}/{most}{}] {kind}{}; {left}", self.done, self.total, result(row)));
    }

    /// The mean time of each cell's own runs; for a cell without runs, of all.
    fn time_left(&self, left: &[usize]) -> Option<String> {
        let mean = |(spent, runs): &(Duration, u32)| spent.as_secs_f64() / f64::from((*runs).max(1));
        let all = self.spent.values().fold((Duration::ZERO, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let seconds: f64 = left.iter().map(|cell| mean(self.spent.get(cell).unwrap_or(&all))).sum();
        (!left.is_empty()).then(|| figures::seconds(seconds))
    }
}

fn result(row: &Row) -> String {
    let cell: Vec<String> = row.asked.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let rate = row.bytes as f64 / (row.elapsed_ns.max(1) as f64 / 1e9);
    let result = match &row.message {
        None if row.bytes > 0 => format!("{}, {}", figures::ns(row.elapsed_ns as f64), figures::rate(rate)),
        None => figures::ns(row.elapsed_ns as f64),
        Some(message) => format!("{}: {message}", row.outcome),
    };
    let busy = if row.quiet == Some(false) { " (the disk was not idle before)" } else { "" };
    format!("{}: {result}{busy}", cell.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_cells_to_come() {
        let mut progress = StudyProgress::new(4, false);
        progress.spent.insert(0, (Duration::from_secs(20), 2));
        progress.spent.insert(1, (Duration::from_secs(1), 1));
        for (left, words) in [
            (&[][..], None),
            (&[0], Some("10 s")),
            (&[1, 0], Some("11 s")),
            (&[2], Some("7 s")),
            (&[0; 60], Some("10 min")),
        ] {
            assert_eq!(progress.time_left(left).as_deref(), words, "{left:?}");
        }
    }

    #[test]
    fn a_run_is_told_with_its_result() {
        let asked = BTreeMap::from([("command".to_string(), "cp".into())]);
        let row = Row { asked, bytes: 4_000_000, elapsed_ns: 2_000_000, ..Row::default() };
        assert_eq!(result(&row), "command=cp: 2.00 ms, 1.86 GiB/s");
        let failed =
            Row { message: Some("no room".into()), outcome: "no_space".into(), quiet: Some(false), ..row };
        assert_eq!(result(&failed), "command=cp: no_space: no room (the disk was not idle before)");
    }
}
