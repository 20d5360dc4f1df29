//! Which way is the fastest, and which of those that are not shown slower takes the least CPU time: what a table of
//! many cells is read for, as sentences.
//!
//! Must not know: how the figures were computed.

use std::collections::BTreeMap;

use crate::judge::stats::Interval;
use crate::report::chart::is_soaked;
use crate::report::figures;
use crate::report::summary::{CellSummary, StudySummary};
use crate::study::{Level, SOAKER};

/// Factors that a user chooses; of all others each level is a case of its own.
const WAYS: [&str; 13] = [
    "request_size",
    "depth",
    "source_depth",
    "sink_depth",
    "lanes",
    "connections",
    "engine",
    "caching",
    "interface",
    "growth",
    "wait",
    "batch",
    "offload",
];
/// More cases are read in the table.
const CASES_MAX: usize = 16;

/// A sentence for each case that has several ways.
pub(super) fn fastest_lines(study: &StudySummary) -> Vec<String> {
    let (ways, given): (Vec<&String>, Vec<&String>) = study
        .varied()
        .into_iter()
        .filter(|name| *name != SOAKER)
        .partition(|name| WAYS.contains(&name.as_str()));
    let mut cases = BTreeMap::<Vec<Option<&Level>>, Vec<&CellSummary>>::new();
    for cell in
        study.cells.iter().filter(|cell| cell.median("bandwidth").is_some() && !is_soaked(&cell.asked))
    {
        cases.entry(given.iter().map(|name| cell.asked.get(*name)).collect()).or_default().push(cell);
    }
    let cases = cases.values().filter(|cells| cells.len() > 1).take(CASES_MAX);
    cases.filter_map(|cells| case_words(cells, &given, &ways)).collect()
}

fn case_words(cells: &[&CellSummary], given: &[&String], ways: &[&String]) -> Option<String> {
    let best = cells.iter().max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    let near: Vec<&&CellSummary> = cells.iter().filter(|cell| !is_slower(cell, best)).collect();
    let case = Some(levels(best, given)).filter(|words| !words.is_empty());
    let case = case.map_or(String::new(), |words| format!("{words}: "));
    let fastest = format!("{case}fastest with {}, {}", levels(best, ways), figures::rate(rate(best)));
    let Some(_) = interval(best) else {
        return Some(format!("{fastest} (n = {}, too few to tell it from others)", best.completed));
    };
    let cheapest = near.iter().filter_map(|cell| Some((cpu(cell)?, cell)));
    let cheapest = cheapest.min_by(|one, other| one.0.total_cmp(&other.0));
    let least = cheapest.map_or(String::new(), |(cpu, cell)| {
        format!(
            "; the least CPU time of these takes {} ({} ns/byte)",
            levels(cell, ways),
            figures::figures(cpu)
        )
    });
    Some(match near.len() - 1 {
        0 => format!("{fastest}; all others are slower"),
        others => format!("{fastest}; {others} of {} others are not shown slower{least}", cells.len() - 1),
    })
}

fn rate(cell: &CellSummary) -> f64 {
    cell.median("bandwidth").unwrap_or(0.0)
}

fn cpu(cell: &CellSummary) -> Option<f64> {
    cell.median("cpu")
}

fn interval(cell: &CellSummary) -> Option<Interval> {
    cell.results.get("time")?.interval
}

/// Whether a time is shown to be longer: its interval lies above the other.
fn is_slower(cell: &CellSummary, best: &CellSummary) -> bool {
    interval(cell).zip(interval(best)).is_some_and(|(cell, best)| cell.low > best.high)
}

fn levels(cell: &CellSummary, names: &[&String]) -> String {
    let level = |name: &&String| Some(format!("{name} {}", cell.asked.get(*name)?));
    names.iter().filter_map(level).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::Summary;
    use crate::row::{COMPLETED, Row};

    fn rows(request: &str, soaker: &str, times_ms: [u64; 6], cpu_ms: u64) -> Vec<Row> {
        let asked =
            [("command", "pump"), ("operation", "read"), ("request_size", request), ("soaker", soaker)];
        let asked = asked.map(|(name, level)| (name.to_string(), level.into()));
        let row = |(repeat, time): (usize, u64)| Row {
            study: "s".into(),
            asked: asked.clone().into(),
            repeat: repeat as u32,
            outcome: COMPLETED.into(),
            bytes: 1 << 30,
            elapsed_ns: time * 1_000_000,
            user_ns: Some(cpu_ms * 1_000_000),
            system_ns: Some(0),
            ..Row::default()
        };
        times_ms.into_iter().enumerate().map(row).collect()
    }

    fn lines(rows: &[Row]) -> Vec<String> {
        fastest_lines(&Summary::from_rows(&[rows.to_vec()]).studies[0])
    }

    #[test]
    fn the_fastest_way_is_told_and_the_cheapest_that_is_not_shown_slower() {
        let mut all = rows("64KiB", "off", [900, 910, 920, 930, 940, 950], 10);
        all.extend(rows("1MiB", "off", [500, 510, 520, 530, 540, 550], 90));
        all.extend(rows("1MiB", "on", [100; 6], 90));
        assert_eq!(lines(&all), ["fastest with request_size 1MiB, 1.90 GiB/s; all others are slower"]);
        all.extend(rows("4MiB", "off", [505, 515, 525, 530, 545, 555], 30));
        let told = "fastest with request_size 1MiB, 1.90 GiB/s; 1 of 2 others are not shown slower; the least CPU time \
                    of these takes request_size 4MiB (0.0279 ns/byte)";
        assert_eq!(lines(&all), [told]);
    }

    #[test]
    fn few_runs_tell_no_difference() {
        let few = |request, times| rows(request, "off", times, 1)[..2].to_vec();
        let all = [few("64KiB", [900; 6]), few("1MiB", [500; 6])].concat();
        assert_eq!(
            lines(&all),
            ["fastest with request_size 1MiB, 2.00 GiB/s (n = 2, too few to tell it from others)"]
        );
        assert!(lines(&few("1MiB", [500; 6])).is_empty(), "one way only");
    }
}
