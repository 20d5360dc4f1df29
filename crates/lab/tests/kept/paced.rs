//! Statements on the real clock whose figures the examples `paced` (paced ends), `growth` (a paced file system) and
//! `readers` (readers of paced servers) keep. A line has the measured figure and the range that it must lie in; here both
//! are checked against the statement.

use std::collections::BTreeMap;

use serde_json::Value;

/// The range that a statement allows each of its figures.
type Allowed = BTreeMap<(String, String), [f64; 2]>;

struct KeptFigure {
    statement: String,
    case: String,
    figure: String,
    measured: f64,
    allowed: [f64; 2],
    rounds: usize,
}

fn figures(name: &str) -> Vec<KeptFigure> {
    let text = std::fs::read_to_string(super::kept(name)).expect(name);
    let parse = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let text = |field: &str| line[field].as_str().expect(field).to_owned();
        let number = |field: &str| line[field].as_f64().expect(field);
        KeptFigure {
            statement: text("statement"),
            case: text("case"),
            figure: text("figure"),
            measured: number("measured"),
            allowed: [number("least"), number("most")],
            rounds: line["rounds_s"].as_array().expect("rounds").len(),
        }
    };
    text.lines().map(parse).collect()
}

/// Each figure lies where its statement says; as many as the example has, and none twice.
fn check(name: &str, counts: &[(&str, usize)], said: impl Fn(&KeptFigure) -> [f64; 2]) {
    let figures = figures(name);
    let mut seen = Allowed::new();
    for kept in &figures {
        let what = format!("{name}: {} {}: {}", kept.statement, kept.case, kept.figure);
        let said = said(kept);
        let is_said = kept.allowed.iter().zip(said).all(|(one, other)| (one - other).abs() < 1e-4);
        assert!(is_said, "{what}: {:?} is allowed, the statement says {said:?}", kept.allowed);
        assert!(
            said[0] <= kept.measured && kept.measured <= said[1],
            "{what}: {} of {said:?}",
            kept.measured
        );
        assert!(kept.rounds > 0, "{what}");
        let key = (format!("{} {}", kept.statement, kept.case), kept.figure.clone());
        assert!(seen.insert(key, said).is_none(), "{what} is there twice");
    }
    for (statement, count) in counts {
        let found = figures.iter().filter(|kept| kept.statement == *statement).count();
        assert_eq!(found, *count, "{name}: figures of {statement}");
    }
}

const FIVE_PERCENT: [f64; 2] = [0.95, 1.05];

/// A chain changes by less if a part other than the slowest does.
const UNCHANGED: [f64; 2] = [0.97, 1.03];

/// S7: M7 give or take one. S8: the closed form to 5 %. S17: the sum and the longer of both ends to 5 %, a fifth at most
/// blocked. S18: 1 in the band of equal runs, or M6 to 5 %. S31: the slower end to 5 %. S33: the slowest part to 5 %, and
/// less than 3 % where another is a fifth slower.
#[test]
fn s7_s8_s17_s18_s31_s33_paced_ends_on_the_real_clock() {
    let counts = [("S7", 3), ("S8", 6), ("S17", 6), ("S18", 2), ("S31", 3), ("S33", 9)];
    check("paced.ndjson", &counts, |kept| match (&*kept.statement, &*kept.figure) {
        ("S7", _) => {
            let (latency_us, mb_per_s) = swept(&kept.case);
            let needed = (1.0 + mb_per_s * latency_us / 65_536.0).ceil();
            [needed - 1.0, needed + 1.0]
        }
        ("S18", _) if kept.case.starts_with("sink of 4000 us, 50 MB/s") => [0.95 * 4.0, 1.05 * 4.0],
        ("S33", "bandwidth over that before") => UNCHANGED,
        _ => growing_or_near_one(kept),
    });
}

/// The engines of the program on a file system whose writes follow one another.
#[test]
fn s17_s18_a_file_that_grows_on_a_paced_file_system() {
    check("growth.ndjson", &[("S17", 3), ("S18", 1)], growing_or_near_one);
}

fn growing_or_near_one(kept: &KeptFigure) -> [f64; 2] {
    match (&*kept.statement, &*kept.figure) {
        ("S17", "helper: lost to the sink, of append") => [0.0, 0.2],
        ("S18", _) => {
            let band = kept.allowed[1] - 1.0;
            assert!((0.01..=0.05).contains(&band), "{}: a band of {band}", kept.case);
            [1.0 - band, 1.0 + band]
        }
        _ => FIVE_PERCENT,
    }
}

/// Latency and bandwidth of a case like "source of 2000 us, 60 MB/s, …".
fn swept(case: &str) -> (f64, f64) {
    let words: Vec<&str> = case.split(' ').collect();
    let number = |at: usize| words[at].parse().expect("a number");
    (number(2), number(4))
}

/// In five stages, with 1, 5, 10 and 20 readers. S40: max(R1, n D) and a plateau of size / D, to 5 %. S41: D to 3 %.
/// S42: 1.33 times one reader's latency at most, 0.75 of n times its rate at least.
#[test]
fn s40_s41_s42_readers_of_paced_servers() {
    check("paced-readers.ndjson", &[("S40", 25), ("S41", 1), ("S42", 30)], |kept| {
        match (&*kept.statement, &*kept.figure) {
            ("S41", _) => [0.97, 1.03],
            ("S42", "slowest latency over one reader's") => [0.0, 1.33],
            ("S42", _) => [0.75, 99.0],
            _ => FIVE_PERCENT,
        }
    });
}
