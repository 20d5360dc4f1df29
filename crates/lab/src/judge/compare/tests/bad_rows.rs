//! Rows that are not what a comparison wants: of before, of two builds, kernels or machines in one side, of a session
//! that was killed, of one round, of a clock that was set back, of a machine with too much to do.

use super::*;

fn side(session: &str, seed: u64, change: impl Fn(&mut Row)) -> Vec<Row> {
    let mut rows = file(2, 6, &mut Random::seeded(seed, session), |_| 1.0);
    for row in &mut rows {
        row.session = session.into();
        row.time = format!("2026-05-01T10:00:{:02}.000Z", row.repeat);
        change(row);
    }
    rows
}

fn three(name: &str, change: impl Fn(&mut Row)) -> Vec<Row> {
    (0..3).flat_map(|at| side(&format!("{name}{at}"), at, &change)).collect()
}

fn by_default(a: &[Row], b: &[Row]) -> Comparison {
    Comparison::by(["a".into(), "b".into()], [a, b], Yardstick::default()).expect("cells in common")
}

/// Rows of before sessions were named: a file of them is one session, however often it was written to.
#[test]
fn rows_of_before_are_one_session_for_each_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, rows: &[Row]| {
        let lines: Vec<String> = rows.iter().map(|row| serde_json::to_string(row).expect("JSON")).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, lines.join("\n")).expect("room");
        path
    };
    let nameless = |seed| side("", seed, |row| row.build.clear());
    let (a, b) = (write("a.jsonl", &nameless(1)), write("b.jsonl", &nameless(2)));
    let apart = compare(&a, &b, Yardstick::default()).expect("rows");
    assert_eq!(apart.overall.why, Some(Unjudged::NotInterleaved(None)), "{apart}");
    assert_eq!((apart.cells[0].a_sessions, apart.cells[0].b_sessions, apart.is_empty()), (1, 1, true));
    let same = compare(&a, &a, Yardstick::default()).expect("rows");
    assert_eq!((same.cells[0].pairs, same.overall.verdict), (6, ComparisonVerdict::NoDifferenceShown));
    let turns =
        |level: &str, seed| side("", seed, |row| drop(row.asked.insert("binary".into(), Level::from(level))));
    let one = write("turns.jsonl", &[turns("a", 1), turns("b", 2)].concat());
    let turns = compare_sides(&one, Yardstick::default()).expect("rows");
    assert_eq!(turns.cells[0].pairs, 6, "{turns}");
}

#[test]
fn a_side_of_two_builds_kernels_or_machines_has_no_verdict() {
    let b = three("b", |_| ());
    for (change, why) in [
        ((|row| row.build = format!("b{}", row.repeat % 2)) as fn(&mut Row), Some(Unjudged::SeveralBuilds)),
        (|row| row.kernel = format!("6.{}", row.repeat % 2), Some(Unjudged::SeveralKernels)),
        (|row| row.machine_id = Some(format!("m{}", row.repeat % 2)), Some(Unjudged::OtherMachine)),
        (|row| row.cpus = 2 + row.repeat % 2, Some(Unjudged::OtherMachine)),
        (|row| row.cpus = 8, Some(Unjudged::OtherMachine)),
        (|row| row.build = "one".into(), None),
        (|row| row.kernel = "6.1".into(), None),
    ] {
        for comparison in [by_default(&three("a", change), &b), by_default(&b, &three("a", change))] {
            assert_eq!((comparison.overall.why, comparison.is_empty()), (why, why.is_some()), "{comparison}");
            // Three sessions are there: more of them would not help.
            assert!(!comparison.to_string().contains("three on each side are the least"), "{comparison}");
        }
    }
}

/// Machine, kernel, build and load are above the verdicts, and so are the warnings.
#[test]
fn what_the_sides_are_of_is_told_before_any_verdict() {
    let of = |name: &str, kernel: &'static str, load: f64| {
        three(name, move |row| {
            (row.kernel, row.load, row.cpus, row.build) = (kernel.into(), load, 2, kernel.replace('.', ""));
        })
    };
    let text = by_default(&of("a", "6.1", 0.5), &of("b", "6.2", 4.0)).to_string();
    for words in [
        "machine: here (2 x an unknown processor)\n",
        "kernel: 6.1 in A, 6.2 in B\n",
        "build: 61 in A, 62 in B\n",
        "load: 0.500 (0.500 to 0.500) in A, 4.00 (4.00 to 4.00) in B\n",
        "sessions: 3\n",
        "warning: the kernel is not the same: 6.1 in A, 6.2 in B",
        "warning: the load is not the same: 0.500 in A, 4.00 in B",
    ] {
        let at = text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
        assert!(at < text.find("verdict\n").expect("a table"), "{text}");
    }
}

/// Runs from which a hypervisor took time are slower, whatever the program: a verdict alone would blame that.
#[test]
fn what_a_hypervisor_took_of_one_side_alone_is_warned_of() {
    let of = |name: &str, share: f64| {
        three(name, move |row| {
            // The kernel counts in ticks: of short runs one in several has one.
            let tick = 10_000_000;
            let due = row.elapsed_ns as f64 * share * f64::from(row.repeat + 1);
            let before = row.elapsed_ns as f64 * share * f64::from(row.repeat);
            row.stolen_ns = Some((due as u64 / tick - before as u64 / tick) * tick);
        })
    };
    let warned =
        |a: &[Row], b: &[Row]| by_default(a, b).warnings.iter().any(|it| it.contains("a hypervisor took"));
    let (none, little, much) = (of("a", 0.0), of("b", 0.01), of("b", 0.04));
    assert!(!warned(&none, &little), "1 % of one processor is no cause");
    assert!(warned(&none, &much) && warned(&much, &none));
    assert!(!warned(&of("a", 0.04), &much), "it is the same on both sides");
    let unknown = three("a", |row| row.stolen_ns = None);
    assert!(!warned(&unknown, &much), "older rows do not say it");
    let text = by_default(&none, &much).to_string();
    let words = "warning: the time that a hypervisor took is not the same: 0 % of one processor in A, ";
    assert!(text.find(words).is_some_and(|at| Some(at) < text.find("verdict\n")), "{text}");
}

/// Half of a round is there: in turns its runs have no partners, apart they are runs of their session.
#[test]
fn a_killed_session_counts_as_far_as_it_went() {
    let cut = |rows: Vec<Row>, at: usize| rows[..rows.len() - at].to_vec();
    let (a, b) = (side("x", 1, |_| ()), cut(side("x", 2, |_| ()), 1));
    let turns = by_default(&a, &b);
    assert_eq!(turns.cells.iter().map(|cell| cell.pairs).collect::<Vec<_>>(), [6, 5], "{turns}");
    assert_eq!(turns.overall.verdict, ComparisonVerdict::NoDifferenceShown);
    assert_eq!(
        turns.notes,
        [
            "runs of A without one of the same session and round, in no figure: 1",
            "sessions of B that ended within a round, whose runs count: 1"
        ]
    );
    let apart = by_default(&three("a", |_| ()), &cut(three("b", |_| ()), 11));
    assert_eq!(apart.notes, [""; 0], "a session with one run of its only round: {apart}");
    assert_eq!((apart.cells[1].b_sessions, apart.cells[0].judged.is_judged()), (2, true), "{apart}");
    assert!(matches!(apart.cells[1].judged.why, Some(Unjudged::NotInterleaved(Some(_)))), "{apart}");
}

#[test]
fn a_study_of_one_round_is_judged_by_its_sessions_or_not_at_all() {
    let one = |rows: Vec<Row>| rows.into_iter().filter(|row| row.repeat == 0).collect::<Vec<Row>>();
    let turns = by_default(&one(side("x", 1, |_| ())), &one(side("x", 2, |_| ())));
    assert_eq!((turns.overall.why, turns.is_empty()), (Some(Unjudged::TooFew), true));
    let apart = by_default(&one(three("a", |_| ())), &one(three("b", |_| ())));
    assert_eq!(apart.overall.verdict, ComparisonVerdict::NoDifferenceShown, "{apart}");
}

#[test]
fn a_clock_that_was_set_back_is_told_and_changes_no_figure() {
    let back = |row: &mut Row| {
        if row.repeat > 3 {
            row.time = format!("2026-05-01T09:00:{:02}.000Z", row.repeat);
        }
    };
    let (plain, other) = (side("x", 1, |_| ()), side("x", 2, |_| ()));
    let set_back = by_default(&side("x", 1, back), &other);
    let warning = "the clock was set back within session x, to 2026-05-01T09:00:04.000Z: when its runs began cannot be \
                   relied on";
    assert_eq!(set_back.warnings, [warning]);
    assert_eq!(set_back.cells, by_default(&plain, &other).cells);
}

/// A run may take five times as long as the one before, or a fifth.
#[test]
fn on_a_machine_with_too_much_to_do_nothing_is_judged() {
    let mut random = Random::new(1);
    let mut busy = |rows: Vec<Row>| -> Vec<Row> {
        let of = |row: Row| Row {
            elapsed_ns: (row.elapsed_ns as f64 * (1.6 * deviate(&mut random)).exp()) as u64,
            load: 40.0,
            ..row
        };
        rows.into_iter().map(of).collect()
    };
    let comparison = by_default(&busy(side("x", 1, |_| ())), &busy(side("x", 2, |_| ())));
    assert!(comparison.is_empty(), "{comparison}");
    assert!(matches!(comparison.overall.why, Some(Unjudged::TooNoisy(_))), "{comparison}");
    let text = comparison.to_string();
    assert!(text.contains("cannot be judged: too noisy; a run differs from the next by "), "{text}");
}

/// A file that was put behind itself has each row twice, and knows no more.
#[test]
fn rows_that_are_there_twice_count_once() {
    let (a, b) = (side("x", 1, |_| ()), side("x", 2, |_| ()));
    let twice = by_default(&[a.clone(), a.clone()].concat(), &[b.clone(), b.clone()].concat());
    assert_eq!(twice.overall, by_default(&a, &b).overall);
}
