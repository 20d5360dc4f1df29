//! Where more stops helping, from rows: the smallest request size and depth that reach 98 % of the best rate, with
//! intervals (statement S9).
//!
//! Must not know: how a run is made.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use datapump::units::rate_words;
use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::InputError;
use crate::judge::stats::{KNEE_SHARE, knee_place, median};
use crate::row::{DisturbedRows, Row, SessionRound, undisturbed_rows};
use crate::study::Level;

/// Factors that cost memory: the fewest that are enough are sought.
const FACTORS: [&str; 4] = ["request_size", "depth", "source_depth", "sink_depth"];
/// Resamples are drawn with this seed, so that the same rows always give the same figures.
const SEED: u64 = 1;

/// A line of cells that differ in one factor alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Knee {
    /// The levels that all its cells have.
    pub asked: BTreeMap<String, Level>,
    /// The factor in which they differ.
    pub factor: String,
    /// Its levels, the least first.
    pub levels: Vec<KneeLevel>,
    /// Rounds that have all of them.
    pub rounds: usize,
    /// The first level that reaches 98 % of the best one's rate.
    pub knee: Level,
    /// The 95 % interval of that level; null below five rounds.
    pub knee_interval: Option<[Level; 2]>,
}

/// A level of the factor.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KneeLevel {
    /// The level.
    pub level: Level,
    /// Its median rate.
    pub bytes_per_second: f64,
}

/// Rates by round.
type RoundRates<'rows> = BTreeMap<SessionRound<'rows>, f64>;
/// The rates of a line, by level.
type KneeRates<'rows> = BTreeMap<Level, RoundRates<'rows>>;
/// A line of cells: its factor, and the levels that all of them share.
type KneeLine<'rows> = (&'rows str, BTreeMap<String, Level>);

/// The knees of a file of rows; without disturbed runs, unless they are kept.
///
/// Errors: the file cannot be read; no completed rows in it differ in a request size or a depth.
pub fn knees(path: &Path, keep_disturbed: bool) -> anyhow::Result<(Vec<Knee>, DisturbedRows)> {
    let (rows, disturbed) = undisturbed_rows(path, keep_disturbed)?;
    let knees = knees_of(&rows);
    if knees.is_empty() {
        let words = "nothing to fit: no completed runs differ in a request size or a depth alone; run the study depth";
        return Err(InputError::of_file(path, disturbed.appended_to(words)).into());
    }
    Ok((knees, disturbed))
}

fn knees_of(rows: &[Row]) -> Vec<Knee> {
    let mut lines: BTreeMap<KneeLine<'_>, KneeRates<'_>> = BTreeMap::new();
    let is_timed =
        |row: &&Row| row.is_completed() && row.soaked_ns.is_none() && row.bytes > 0 && row.elapsed_ns > 0;
    for row in rows.iter().filter(is_timed) {
        for factor in FACTORS {
            let mut asked = row.asked.clone();
            let Some(level) = asked.remove(factor).filter(|level| level.value().is_some()) else { continue };
            let rates = lines.entry((factor, asked)).or_default().entry(level).or_default();
            rates.insert(SessionRound::of_row(row), row.bytes_per_second());
        }
    }
    lines.into_iter().filter_map(|((factor, asked), rates)| knee(factor, asked, &rates)).collect()
}

fn knee(factor: &str, asked: BTreeMap<String, Level>, rates: &KneeRates<'_>) -> Option<Knee> {
    let mut levels: Vec<(&Level, &RoundRates<'_>)> = rates.iter().collect();
    if levels.len() < 2 {
        return None;
    }
    levels.sort_by(|(one, _), (other, _)| one.by_value(other));
    let has_all = |round: &&SessionRound<'_>| levels.iter().all(|(_, rates)| rates.contains_key(round));
    let rounds: BTreeSet<&SessionRound<'_>> = levels[0].1.keys().filter(has_all).collect();
    let of_rounds = |rates: &RoundRates<'_>| rounds.iter().map(|round| rates[round]).collect();
    let rates: Vec<Vec<f64>> = levels.iter().map(|(_, rates)| of_rounds(rates)).collect();
    let place = knee_place(&rates, SEED)?;

    let at = |place: usize| levels[place].0.clone();
    Some(Knee {
        asked,
        factor: factor.to_owned(),
        levels: levels
            .iter()
            .zip(&rates)
            .filter_map(|((level, _), rates)| knee_level(level, rates))
            .collect(),
        rounds: rounds.len(),
        knee: at(place.at),
        knee_interval: place.interval.map(|ends| ends.map(at)),
    })
}

fn knee_level(level: &Level, rates: &[f64]) -> Option<KneeLevel> {
    Some(KneeLevel { level: level.clone(), bytes_per_second: median(rates)? })
}

/// Two lines for each: the knee, and the rates.
pub fn knees_words(knees: &[Knee]) -> String {
    let mut text = String::new();
    for knee in knees {
        let asked: Vec<String> =
            knee.asked.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        let interval = knee.knee_interval.as_ref().map(|[low, high]| format!(" ({low} to {high})"));
        let each = knee.levels.iter().map(|it| format!("{}: {}", it.level, rate_words(it.bytes_per_second)));
        let each: Vec<String> = each.collect();
        // Writing to text cannot fail.
        let _ = writeln!(
            text,
            "{}: {} {}{} reaches {:.0} % of the best rate, n = {}\n  {}",
            asked.join(", "),
            knee.factor,
            knee.knee,
            interval.unwrap_or_default(),
            KNEE_SHARE * 100.0,
            knee.rounds,
            each.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::COMPLETED;

    /// Runs of a cell in six rounds, a percent apart at most.
    fn runs(asked: &[(&str, &str)], bytes_per_second: f64) -> Vec<Row> {
        let run = |repeat: u32| Row {
            asked: asked.iter().map(|(factor, level)| (factor.to_string(), Level::from(*level))).collect(),
            outcome: COMPLETED.into(),
            repeat,
            bytes: 1 << 30,
            elapsed_ns: (1e9 * f64::from(1 << 30) / bytes_per_second * (1.0 + f64::from(repeat) / 600.0))
                as u64,
            ..Row::default()
        };
        (0..6).map(run).collect()
    }

    fn cell(request_size: &str, depth: &str, bytes_per_second: f64) -> Vec<Row> {
        runs(&[("request_size", request_size), ("source_depth", depth)], bytes_per_second)
    }

    /// Sizes are in the order of their value, and each line differs in one factor alone.
    #[test]
    fn s9_a_knee_is_the_first_level_that_is_enough_in_each_line_of_cells() {
        let rows = [
            cell("64KiB", "1", 1e9),
            cell("256KiB", "1", 1.5e9),
            cell("1MiB", "1", 2e9),
            cell("64KiB", "2", 1.8e9),
            cell("256KiB", "2", 2e9),
            cell("1MiB", "2", 2.01e9),
        ];
        let knees = knees_of(&rows.concat());
        let lines: Vec<String> = knees
            .iter()
            .map(|knee| {
                let asked: Vec<String> = knee.asked.values().map(Level::to_string).collect();
                format!("{} at {}: {}", knee.factor, asked.join(" "), knee.knee)
            })
            .collect();
        assert_eq!(
            lines,
            [
                "request_size at 1: 1MiB",
                "request_size at 2: 256KiB",
                "source_depth at 1MiB: 1",
                "source_depth at 256KiB: 2",
                "source_depth at 64KiB: 2",
            ]
        );
        let text = knees_words(&knees);
        assert!(
            text.contains("source_depth 2: request_size 256KiB (256KiB to 256KiB) reaches 98 %"),
            "{text}"
        );
        assert!(knees.iter().all(|knee| knee.rounds == 6 && knee.knee_interval.is_some()), "{knees:?}");
    }

    #[test]
    fn rounds_without_all_levels_and_single_levels_are_no_line() {
        let mut rows = [cell("64KiB", "1", 1e9), cell("64KiB", "2", 2e9)].concat();
        rows.remove(0);
        let knees = knees_of(&rows);
        assert!(knees.len() == 1 && knees[0].rounds == 5, "{knees:?}");
        assert!(knees_of(&cell("64KiB", "1", 1e9)).is_empty());
    }
}
