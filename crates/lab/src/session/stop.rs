//! Decides by a study's own rule whether its rows are enough.
//!
//! The same rows give the same answer, so a study that was interrupted ends where it would have ended. Must not know:
//! how runs are made.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::stats::Interval;
use crate::report::summary::{CellSummary, Summary};
use crate::row::Row;
use crate::study::{Level, StopFigure, StopRule};

/// Whether every interval over the first `rounds` is narrow. They must be complete for these cells. A cell of which no
/// run was completed is not waited for.
pub fn is_enough(rule: &StopRule, cells: &[&BTreeMap<String, Level>], rows: &[Row], rounds: u32) -> bool {
    if rounds < rule.at_least {
        return false;
    }
    let cells: BTreeSet<&BTreeMap<String, Level>> = cells.iter().copied().collect();
    let counts = |row: &&Row| row.repeat < rounds && cells.contains(&row.asked);
    let rows: Vec<Row> = rows.iter().filter(counts).cloned().collect();
    let runs: BTreeSet<_> = rows.iter().map(|row| (&row.asked, row.repeat)).collect();
    if runs.len() < cells.len() * rounds as usize {
        return false;
    }
    // Which rounds were disturbed must not decide when the study ends.
    let summary = Summary::of_files(&[rows], true);
    summary.studies.iter().all(|study| {
        let compared = study.compared.as_deref().unwrap_or_default();
        study.cells.iter().all(|cell| is_narrow(rule, cell, compared))
    })
}

/// `compared` is the result that ratios are of: the time, where a study declares no other. A cell whose runs lack it is never
/// narrow.
fn is_narrow(rule: &StopRule, cell: &CellSummary, compared: &str) -> bool {
    let narrow = |figure: f64, interval: Option<Interval>| {
        interval.is_some_and(|interval| (interval.high - interval.low) / figure.abs() < rule.narrower_than)
    };
    match (rule.of, cell.results.get(compared)) {
        _ if cell.completed == 0 => true,
        (_, None) => false,
        (StopFigure::Elapsed, Some(sample)) => narrow(sample.median, sample.interval),
        (StopFigure::Ratio, Some(_)) => {
            let mut judged = cell.ratios.iter().map(|it| &it.judged);
            judged.all(|it| it.ratio.is_some_and(|ratio| narrow(ratio, it.interval())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{COMPLETED, VERSION};

    fn cell(command: &str) -> BTreeMap<String, Level> {
        BTreeMap::from([("command".to_string(), command.into())])
    }

    /// Both cells drift; their ratio does not.
    fn rows(rounds: u32, drift: u64) -> Vec<Row> {
        let row = |command: &str, repeat: u32, elapsed_ns: u64| Row {
            v: VERSION,
            asked: cell(command),
            repeat,
            outcome: COMPLETED.into(),
            elapsed_ns,
            baselines: vec![cell("cp")],
            ..Row::default()
        };
        let time = |round: u32| 1_000_000 + u64::from(round) * drift;
        (0..rounds)
            .flat_map(|round| [row("cp", round, 2 * time(round)), row("pump", round, time(round))])
            .collect()
    }

    #[test]
    fn rounds_are_enough_when_every_interval_is_narrow() {
        let rule = |of, at_least| StopRule { narrower_than: 0.03, of, at_least, at_most: 50 };
        let (elapsed, ratio) = (StopFigure::Elapsed, StopFigure::Ratio);
        for (of, at_least, rounds, drift, enough) in [
            (elapsed, 5, 5, 0, true),
            (elapsed, 5, 4, 0, false),
            (elapsed, 3, 4, 0, false),
            (elapsed, 6, 5, 0, false),
            (elapsed, 5, 5, 100_000, false),
            (ratio, 5, 5, 100_000, true),
            (ratio, 3, 3, 0, true),
            (ratio, 3, 2, 0, false),
        ] {
            let [cp, pump] = ["cp", "pump"].map(cell);
            let all = rows(rounds, drift);
            let got = is_enough(&rule(of, at_least), &[&cp, &pump], &all, rounds);
            assert_eq!(got, enough, "{of:?} {at_least} {rounds} {drift}");
            // Rows of later rounds and of other cells change nothing; a round that is not complete is none.
            let more = [all.clone(), rows(9, 900_000)[2 * rounds as usize..].to_vec()].concat();
            assert_eq!(is_enough(&rule(of, at_least), &[&cp, &pump], &more, rounds), enough);
            assert!(!is_enough(&rule(of, at_least), &[&cp, &pump], &all[1..], rounds));
        }
    }

    #[test]
    fn a_cell_that_always_fails_is_not_waited_for() {
        let mut all = rows(5, 0);
        let failed = all.iter_mut().filter(|row| row.asked == cell("pump")).enumerate();
        failed.for_each(|(at, row)| {
            row.outcome = "io".into();
            row.elapsed_ns = 1 + 1_000_000 * at as u64;
        });
        let rule = StopRule { narrower_than: 0.03, of: StopFigure::Elapsed, at_least: 5, at_most: 50 };
        assert!(is_enough(&rule, &[&cell("cp"), &cell("pump")], &all, 5));
    }

    /// A study that declares a result which no run has does not end at once, nor one of values below zero.
    #[test]
    fn what_is_not_known_or_wide_is_not_narrow() {
        let study = |from: &str| {
            format!(
                "name = \"s\"\ntitle = \"t\"\n[[results]]\nname = \"own\"\nlabel = \"own\"\nunit = \"1\"\n\
                 better = \"less\"\nfrom = \"{from}\"\n[job]\nsource = \"null:1MiB\"\ntarget = \"null:\"\n"
            )
        };
        for (from, drift, enough) in [
            ("elapsed_ns", 0, true),
            ("elapsed_ns", 100_000, false),
            ("achieved.lost", 0, false),
            ("achieved.below_zero", 100_000, false),
        ] {
            let mut all = rows(5, drift);
            for row in &mut all {
                row.study_text = Some(study(from));
                let below = -(row.elapsed_ns as f64);
                row.achieved.insert("below_zero".into(), below.into());
            }
            for of in [StopFigure::Elapsed, StopFigure::Ratio] {
                let rule = StopRule { narrower_than: 0.03, of, at_least: 5, at_most: 50 };
                let got = is_enough(&rule, &[&cell("cp"), &cell("pump")], &all, 5);
                // The drift is of both cells, and numbers below zero have no ratio.
                let expected = enough || of == StopFigure::Ratio && from != "achieved.lost";
                assert_eq!(got, expected, "{of:?} {from} {drift}");
            }
        }
    }
}
