//! Statement S43 exactly: synthetic samples, and the published stages with the published deviations.

use std::path::Path;

use super::*;
use crate::judge::cost::CsvTable;
use crate::row::{COMPLETED, ReaderRow};

fn spread(n: usize, mean: f64, standard_deviation: f64) -> StageSpread {
    StageSpread { n, mean, standard_deviation: Some(standard_deviation) }
}

#[test]
fn two_deviations_separate_and_less_do_not() {
    use StageVerdict::{NotSeparable, Separable, TooFew};
    for (one, other, apart, verdict) in [
        (spread(3, 1.0, 0.1), spread(3, 1.25, 0.1), Some(2.5), Separable),
        (spread(3, 1.25, 0.125), spread(3, 1.0, 0.125), Some(2.0), Separable),
        (spread(3, 1.25, 0.125), spread(3, 1.0, 0.25), Some(1.0), NotSeparable),
        (spread(20, 1.0, 0.5), spread(20, 1.0, 0.0), Some(0.0), NotSeparable),
        (spread(2, 1.0, 0.1), spread(20, 9.0, 0.1), Some(80.0), TooFew),
        (spread(3, 1.0, 0.0), spread(3, 1.0, 0.0), Some(0.0), NotSeparable),
        (spread(3, 1.0, 0.0), spread(3, 2.0, 0.0), None, Separable),
        (StageSpread { n: 1, mean: 1.0, standard_deviation: None }, spread(3, 2.0, 0.1), None, TooFew),
    ] {
        let (got, shown) = separate(&one, &other);
        assert_eq!(shown, verdict, "{one:?} {other:?}");
        assert!(got.zip(apart).is_none_or(|(got, apart)| (got - apart).abs() < 1e-9), "{got:?} {apart:?}");
        assert_eq!(got.is_some(), apart.is_some(), "{one:?} {other:?}");
        assert_eq!(separate(&other, &one), (got, shown), "the order does not matter");
    }
    let of = StageSpread::from_runs(&[vec![2.0, 4.0, 4.0, 4.0], vec![5.0, 5.0, 7.0, 9.0]]).expect("samples");
    assert_eq!((of.n, of.mean, of.standard_deviation), (2, 5.0, Some((32.0_f64 / 7.0).sqrt())), "n - 1");
}

/// Walker and White, figure 1 and the charts "1 file, N readers": the stages that cannot be told from the one before.
#[test]
fn s43_the_published_stages_that_are_not_separable() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let read = |name: &str| CsvTable::read(&folder.join(name)).expect("a published table");
    let (latencies, deviations) = (read("legion_1file_latency.csv"), read("legion_stddev.csv"));
    let stages = ["unoptimized", "optimized", "openssl", "io_additions", "sliding_window"];
    let mut not_separable = Vec::new();
    for row in deviations.rows().filter(|row| row.text("case").is_ok_and(|case| case == "1_file")) {
        let readers = row.number("readers").expect("a number");
        let deviation = row.number("latency_standard_deviation_s").expect("a number");
        let of = |stage: &str| {
            let is_it = |row: &crate::judge::cost::CsvRow<'_>| {
                row.text("stage").is_ok_and(|its| its == stage) && row.number("readers").ok() == Some(readers)
            };
            let found = latencies.rows().find(is_it).expect("each stage and number of readers is there");
            spread(RUNS_MIN, found.number("latency_s").expect("a number"), deviation)
        };
        for pair in stages.windows(2) {
            if separate(&of(pair[0]), &of(pair[1])).1 == StageVerdict::NotSeparable {
                not_separable.push((pair[1], readers));
            }
        }
    }
    let expected = [
        ("optimized", 1.0),
        ("io_additions", 1.0),
        ("optimized", 5.0),
        ("optimized", 10.0),
        ("optimized", 20.0),
    ];
    assert_eq!(not_separable, expected);
}

fn row(stage: &str, readers: i64, latencies_ns: &[u64]) -> Row {
    let reader = |&ns: &u64| ReaderRow {
        outcome: COMPLETED.into(),
        elapsed_ns: Some(ns),
        bytes: 1000,
        ..ReaderRow::default()
    };
    Row {
        asked: BTreeMap::from([(STAGE.into(), stage.into()), ("readers".into(), Level::Number(readers))]),
        outcome: COMPLETED.into(),
        elapsed_ns: 9_000_000_000,
        readers: Some(latencies_ns.iter().map(reader).collect()),
        ..Row::default()
    }
}

#[test]
fn rows_are_judged_by_the_latencies_of_their_readers() {
    let second = 1_000_000_000;
    let three = |stage: &str, ns: u64| [0, 1000, 2000].map(|more| row(stage, 2, &[ns + more, ns - more]));
    let others = [
        row("one", 2, &[second, second + 1000, second - 1000, second]),
        row("one", 1, &[second]),
        row("two", 1, &[second]),
        Row { outcome: "lost".into(), ..row("failed", 1, &[second]) },
        Row { asked: BTreeMap::new(), ..row("of no stage", 1, &[second]) },
        row("once", 2, &[second, second + 1000, second - 1000]),
    ];
    let rows = [three("one", second), three("two", 2 * second), three("same", second)].concat();
    let rows = [&rows[..], &others].concat();
    let pairs = stage_pairs(&rows);
    let told: Vec<(String, &str)> = pairs
        .iter()
        .map(|pair| (pair.stages.clone().map(|it| it.to_string()).join(" "), pair.verdict.words()))
        .collect();
    let expected = [
        ("one two", "too few runs"),
        ("once one", "too few runs"),
        ("once same", "too few runs"),
        ("once two", "too few runs"),
        ("one same", "not separable"),
        ("one two", "separable"),
        ("same two", "separable"),
    ];
    assert_eq!(told, expected.map(|(stages, verdict)| (stages.to_string(), verdict)));
    let words: Vec<String> = pairs.iter().filter_map(StagePair::words).collect();
    let expected = [
        "readers 1, stages one and two: too few runs: 1.00 s and 1.00 s, n = 1 and 1, 3 are needed",
        "readers 2, stages once and one: too few runs: 1.00 s and 1.00 s, n = 1 and 4, 3 are needed",
        "readers 2, stages one and same: not separable: 1.00 s and 1.00 s, 0.0 standard deviations apart, two are \
         needed",
    ];
    assert!(expected.iter().all(|line| words.contains(&line.to_string())), "{words:?}");
}
