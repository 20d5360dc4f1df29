//! Runs that something disturbed. Their rows are kept and shown, and left out of verdicts and fits unless these are to
//! have them.
//!
//! Must not know: how a row is judged.

use std::borrow::Cow;
use std::path::Path;

use datapump_engine::os::linux::TICK_NS;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Row, read_rows};

/// A processor whose pace changed by more than this from before a run to after it was not the same throughout.
const PACE_CHANGE_MAX: f64 = 1.05;
/// A run was slowed as much where a hypervisor took more than this part of the time of its CPUs.
const STOLEN_FRACTION_MAX: f64 = PACE_CHANGE_MAX - 1.0;

/// The cause that disturbed a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The pace of the processor changed by more than 5 %.
    Pace,
    /// A hypervisor took more than 5 % of the CPU time.
    Stolen,
    /// The soaker calls its own figures noisy.
    Soaker,
}

impl Row {
    /// The cause that disturbed the run. `None` for a run that failed, which is in no figure, and where it is not known.
    pub fn disturbance(&self) -> Option<Disturbance> {
        let is_other = |(before, after): (u64, u64)| {
            before.max(after) as f64 > before.min(after) as f64 * PACE_CHANGE_MAX
        };
        if !self.is_completed() {
            None
        } else if self.pace_before_ns.zip(self.pace_after_ns).is_some_and(is_other) {
            Some(Disturbance::Pace)
        } else if self.stolen_ns.is_some_and(|ns| self.is_slowed_by(ns)) {
            Some(Disturbance::Stolen)
        } else {
            self.soaker.as_ref().filter(|soaker| soaker.noisy).map(|_| Disturbance::Soaker)
        }
    }

    /// Whether a hypervisor took too much of the time of its CPUs. It is counted in ticks: up to one may be too many.
    fn is_slowed_by(&self, stolen_ns: u64) -> bool {
        let cpus_ns = self.elapsed_ns as f64 * f64::from(self.cpus.max(1));
        stolen_ns.saturating_sub(TICK_NS) as f64 > cpus_ns * STOLEN_FRACTION_MAX
    }
}

/// How many runs were disturbed, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DisturbedRows {
    /// The processor's pace changed by more than 5 %.
    pub pace: usize,
    /// A hypervisor took more than 5 % of the CPU time.
    pub stolen: usize,
    /// The soaker was noisy.
    pub soaker: usize,
    /// Whether they are in the figures all the same.
    pub kept: bool,
}

impl DisturbedRows {
    /// Counts the disturbed ones of these rows; `kept`: whether they are in the figures all the same.
    pub fn count<'rows>(rows: impl IntoIterator<Item = &'rows Row>, kept: bool) -> DisturbedRows {
        let mut counted = DisturbedRows { kept, ..DisturbedRows::default() };
        for disturbance in rows.into_iter().filter_map(Row::disturbance) {
            match disturbance {
                Disturbance::Pace => counted.pace += 1,
                Disturbance::Stolen => counted.stolen += 1,
                Disturbance::Soaker => counted.soaker += 1,
            }
        }
        counted
    }

    /// The note that is printed about them; `None` if there are none.
    pub fn words(&self) -> Option<String> {
        let causes = [
            (self.pace, "the processor's pace changed by more than 5 %"),
            (self.stolen, "a hypervisor took more than 5 % of the CPU time"),
            (self.soaker, "the soaker was noisy"),
        ];
        let causes = causes.iter().filter(|(count, _)| *count > 0);
        let causes: Vec<String> = causes.map(|(count, cause)| format!("{cause}: {count}")).collect();
        let all = self.pace + self.stolen + self.soaker;
        let done = if self.kept {
            "in verdicts and fits as asked"
        } else {
            "in no verdict and no fit; --keep-disturbed takes them in"
        };
        (all > 0).then(|| format!("disturbed runs: {all} ({}), {done}", causes.join("; ")))
    }

    /// An error with that note appended: they may be why.
    pub fn appended_to(&self, error: &str) -> String {
        self.words().map_or(error.into(), |words| format!("{error}; {words}"))
    }
}

/// The rows that a verdict or a fit is made of, and the disturbed ones: left out unless they are kept.
pub fn undisturbed(rows: &[Row], keep: bool) -> (Cow<'_, [Row]>, DisturbedRows) {
    let disturbed = DisturbedRows::count(rows, keep);
    if keep || disturbed == DisturbedRows::default() {
        return (Cow::Borrowed(rows), disturbed);
    }
    let taken = rows.iter().filter(|row| row.disturbance().is_none());
    (Cow::Owned(taken.cloned().collect()), disturbed)
}

/// Reads the rows of a file, without disturbed ones unless they are kept.
///
/// Errors: as [`read_rows`].
pub fn undisturbed_rows(path: &Path, keep: bool) -> anyhow::Result<(Vec<Row>, DisturbedRows)> {
    let rows = read_rows(path)?;
    let (taken, disturbed) = undisturbed(&rows, keep);
    Ok((taken.into_owned(), disturbed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Soaked;
    use crate::row::tests::row;

    fn paced(before: u64, after: u64) -> Row {
        Row { pace_before_ns: Some(before), pace_after_ns: Some(after), ..row(0) }
    }

    fn soaked(noisy: bool) -> Row {
        Row { soaker: Some(Soaked { noisy, ..Soaked::default() }), ..row(0) }
    }

    /// A tenth of a second on two CPUs, and ticks of a hundredth.
    fn stolen(ticks: u64) -> Row {
        Row { elapsed_ns: 100_000_000, cpus: 2, stolen_ns: Some(ticks * TICK_NS), ..row(0) }
    }

    #[test]
    fn a_run_is_disturbed_by_another_pace_stolen_time_or_a_noisy_soaker() {
        for (row, disturbance) in [
            (row(0), None),
            (paced(5_000_000, 5_250_000), None),
            (paced(5_000_000, 5_250_001), Some(Disturbance::Pace)),
            (paced(5_250_001, 5_000_000), Some(Disturbance::Pace)),
            (Row { pace_after_ns: None, ..paced(1, 9) }, None),
            (Row { outcome: "io".into(), ..paced(1, 9) }, None),
            (stolen(0), None),
            (stolen(2), None),
            (stolen(3), Some(Disturbance::Stolen)),
            (Row { cpus: 4, ..stolen(3) }, None),
            (Row { outcome: "io".into(), ..stolen(9) }, None),
            (Row { soaker: soaked(true).soaker, ..stolen(3) }, Some(Disturbance::Stolen)),
            (soaked(false), None),
            (soaked(true), Some(Disturbance::Soaker)),
            (Row { soaker: soaked(true).soaker, ..paced(1, 9) }, Some(Disturbance::Pace)),
        ] {
            assert_eq!(row.disturbance(), disturbance, "{row:?}");
        }
    }

    #[test]
    fn disturbed_rows_are_left_out_and_counted_unless_they_are_kept() {
        let rows = [row(0), paced(5, 6), soaked(true), soaked(false), paced(6, 5), stolen(20)];
        let (taken, disturbed) = undisturbed(&rows, false);
        assert_eq!(taken[..], [row(0), soaked(false)]);
        let counts = [disturbed.pace, disturbed.stolen, disturbed.soaker];
        assert_eq!((counts, disturbed.kept), ([2, 1, 1], false));
        let said = "disturbed runs: 4 (the processor's pace changed by more than 5 %: 2; a hypervisor took more than 5 % of \
                    the CPU time: 1; the soaker was noisy: 1), in no verdict and no fit; --keep-disturbed takes them in";
        assert_eq!(disturbed.words().as_deref(), Some(said));
        let (kept, disturbed) = undisturbed(&rows, true);
        assert_eq!((&kept[..], disturbed.kept), (&rows[..], true));
        assert!(disturbed.words().is_some_and(|words| words.ends_with("in verdicts and fits as asked")));
        assert_eq!(undisturbed(&rows[..1], false).1.words(), None);
    }
}
