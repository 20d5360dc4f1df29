//! Changes of build and kernel over time: found, judged by sessions, and what is no trend.

use super::*;
use crate::judge::compare::Unjudged;
use crate::judge::stats::ComparisonVerdict;
use crate::judge::stats::tests::deviate;
use crate::row::{COMPLETED, VERSION};
use crate::study::Level;
use datapump_engine::sim::Random;

/// Sessions of one build and kernel, one a day from this one on; `slower` is what they take longer.
fn sessions(build: &str, kernel: &str, days: std::ops::Range<u32>, slower: f64) -> Vec<Row> {
    let mut random = Random::seeded(u64::from(days.start), build);
    let mut rows = Vec::new();
    for day in days {
        let level = slower.ln_1p() + 0.02 * deviate(&mut random);
        for repeat in 0..5 {
            for size in [1, 2] {
                let elapsed_ns = 1e9 * (level + 0.01 * deviate(&mut random)).exp();
                rows.push(Row {
                    v: VERSION,
                    study: "daily".into(),
                    asked: [("size".to_string(), Level::from(size))].into(),
                    repeat,
                    outcome: COMPLETED.into(),
                    elapsed_ns: elapsed_ns as u64,
                    session: format!("{build}{kernel}{day}"),
                    build: build.into(),
                    kernel: kernel.into(),
                    time: format!("2026-05-{day:02}T10:00:{repeat:02}.000Z"),
                    ..Row::default()
                });
            }
        }
    }
    rows
}

fn trend_of(parts: &[Vec<Row>]) -> Trend {
    Trend::from_rows(parts.concat(), Yardstick::default()).expect("one study")
}

fn overall(trend: &Trend) -> Vec<ComparisonVerdict> {
    let comparisons = trend.changes.iter().map(|change| change.comparison.as_ref().expect("cells in common"));
    comparisons.map(|comparison| comparison.overall.verdict).collect()
}

#[test]
fn each_change_of_build_or_kernel_is_judged_in_the_order_of_time() {
    // As files come, not as time went.
    let trend = trend_of(&[
        sessions("b2", "6.1", 5..9, 0.5),
        sessions("b1", "6.1", 1..5, 0.0),
        sessions("b3", "6.2", 13..17, 1.0),
        sessions("b2", "6.2", 9..13, 0.5),
    ]);
    let builds: Vec<&str> = trend.versions.iter().map(|version| version.build.as_str()).collect();
    assert_eq!(builds, ["b1", "b2", "b2", "b3"]);
    assert_eq!(
        overall(&trend),
        [ComparisonVerdict::Slower, ComparisonVerdict::NoDifferenceShown, ComparisonVerdict::Slower],
        "{trend}"
    );
    let what: Vec<(bool, bool)> =
        trend.changes.iter().map(|change| (change.build_changed, change.kernel_changed)).collect();
    assert_eq!(what, [(true, false), (false, true), (true, false)]);
    let cells = &trend.changes[0].comparison.as_ref().expect("cells").cells;
    assert!(cells.len() == 2 && cells.iter().all(|cell| cell.judged.verdict == ComparisonVerdict::Slower));
    let text = trend.to_string();
    for words in [
        "daily, elapsed: each build and kernel beside the one before it in time",
        "2026-05-05T10:00:00.000Z    build  b2 on 6.1",
        "2026-05-09T10:00:00.000Z   kernel  b2 on 6.2",
        "B b3 on 6.2 against A b2 on 6.2",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn fewer_than_three_sessions_of_a_version_are_not_judged() {
    let trend = trend_of(&[sessions("b1", "6.1", 1..5, 0.0), sessions("b2", "6.1", 5..7, 0.5)]);
    let why = trend.changes[0].comparison.as_ref().expect("cells in common").overall.why;
    assert!(trend.is_empty() && matches!(why, Some(Unjudged::NotInterleaved(Some(_)))), "{trend}");
}

/// `pump lab compare --a BINARY --b BINARY` has both in one session.
#[test]
fn versions_of_one_session_are_judged_in_pairs() {
    let side = |build: &str, level: &str, slower: f64| -> Vec<Row> {
        let rows = sessions(build, "6.1", 1..2, slower).into_iter();
        rows.map(|mut row| {
            row.asked.insert(BINARY.into(), Level::from(level));
            Row { session: "one".into(), ..row }
        })
        .collect()
    };
    let trend = trend_of(&[side("b1", "a", 0.0), side("b2", "b", 0.5)]);
    let comparison = trend.changes[0].comparison.as_ref().expect("cells in common");
    assert_eq!(
        (comparison.cells[0].pairs, comparison.overall.verdict),
        (5, ComparisonVerdict::Slower),
        "{trend}"
    );
}

#[test]
fn what_is_no_trend_is_said() {
    let one = trend_of(&[sessions("b1", "6.1", 1..5, 0.0)]);
    assert!(one.is_empty() && one.changes.is_empty() && one.versions.len() == 1, "{one}");
    let other = |row: Row| Row { study: "other".into(), ..row };
    let two =
        [sessions("b1", "6.1", 1..2, 0.0), sessions("b1", "6.1", 1..2, 0.0).into_iter().map(other).collect()];
    for (rows, hint) in [
        (Vec::new(), "there are no rows"),
        (two.concat(), "the rows are of several studies: daily, other; give files of one"),
    ] {
        let error = Trend::from_rows(rows, Yardstick::default()).expect_err("no trend");
        assert!(error.is::<NotOneStudy>() && error.to_string().contains(hint), "{error}");
    }
    let apart = |row: Row| Row { asked: [("size".to_string(), Level::from(9))].into(), ..row };
    let later = sessions("b2", "6.1", 5..9, 0.0).into_iter().map(apart).collect();
    let trend = trend_of(&[sessions("b1", "6.1", 1..5, 0.0), later]);
    assert!(trend.is_empty() && trend.changes[0].comparison.is_none(), "{trend}");
    let why = trend.changes[0].why.as_deref().unwrap_or_default();
    assert!(why.contains("no cell is in both files: b1 on 6.1 has daily (size=1)"), "{why}");
    assert!(trend.to_string().contains("no cell in common"), "{trend}");
}
