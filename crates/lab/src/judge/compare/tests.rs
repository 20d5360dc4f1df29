//! Statements S48 and S49 on synthetic rows of one session, A against A drawn from the kept rows, and the printed text.

use std::path::Path;

use super::*;
use crate::judge::stats::ComparisonVerdict;
use crate::judge::stats::tests::deviate;
use crate::row::{COMPLETED, VERSION};
use datapump_engine::sim::Random;

mod bad_rows;
mod sessions;

const ROUNDS: u32 = 10;

fn row(cell: usize, repeat: u32, elapsed_ns: f64) -> Row {
    Row {
        v: VERSION,
        study: "grid".into(),
        asked: BTreeMap::from([("depth".into(), Level::from(cell as i64))]),
        repeat,
        outcome: COMPLETED.into(),
        bytes: 1 << 20,
        elapsed_ns: elapsed_ns as u64,
        host: "here".into(),
        session: "one".into(),
        ..Row::default()
    }
}

/// A file of rows with 3 % noise; `factor` is what a cell's time is multiplied by.
fn file(cells: usize, rounds: u32, random: &mut Random, factor: impl Fn(usize) -> f64) -> Vec<Row> {
    let runs = (0..rounds).flat_map(|round| (0..cells).map(move |cell| (round, cell)));
    runs.map(|(round, cell)| row(cell, round, 1e9 * factor(cell) * (1.0 + 0.03 * deviate(random)))).collect()
}

fn compared(a: &[Row], b: &[Row]) -> Comparison {
    Comparison::from_files(["a".into(), "b".into()], [a, b], Yardstick::default()).expect("cells in common")
}

/// A level without a word and no such factor look alike, and are two cells.
#[test]
fn cells_that_differ_by_nothing_that_is_shown_are_told_all_the_same() {
    let plain = |asked: &[(&str, &str)]| Row {
        asked: asked.iter().map(|(name, word)| (name.to_string(), Level::from(*word))).collect(),
        ..row(0, 0, 1e9)
    };
    let rows = [plain(&[]), plain(&[("depth", "")])];
    let text = compared(&rows, &rows).to_string();
    assert!(text.contains("verdict") && text.contains("too few runs"), "{text}");
}

fn verdicts(comparison: &Comparison) -> Vec<ComparisonVerdict> {
    comparison.cells.iter().map(|cell| cell.judged.verdict).collect()
}

fn differs(verdict: ComparisonVerdict) -> bool {
    matches!(verdict, ComparisonVerdict::Faster | ComparisonVerdict::Slower)
}

/// Whether anything is said to differ, a cell or all.
fn flags(comparison: &Comparison) -> bool {
    verdicts(comparison).into_iter().chain([comparison.overall.verdict]).any(differs)
}

#[test]
fn a_against_a_is_flagged_in_at_most_7_percent() {
    for (cells, rounds, draws) in [(1, ROUNDS, 1000), (1, 3, 1000), (12, ROUNDS, 300), (6, 5, 300)] {
        let flagged = (0..draws).filter(|&seed| {
            let mut random = Random::seeded(seed, "a/a");
            let [a, b] = [(); 2].map(|()| file(cells, rounds, &mut random, |_| 1.0));
            let comparison = compared(&a, &b);
            assert!(comparison.overall.is_judged(), "{comparison}");
            flags(&comparison)
        });
        let flagged = flagged.count() as u64;
        println!("{cells} cells, {rounds} rounds: {flagged} of {draws} equals flagged");
        assert!(flagged * 100 <= 7 * draws, "{cells} cells, {rounds} rounds: {flagged} of {draws}");
    }
}

#[test]
fn a_change_of_10_percent_is_flagged_in_at_least_95_percent() {
    for (factor, verdict) in [(0.9, ComparisonVerdict::Faster), (1.1, ComparisonVerdict::Slower)] {
        let flagged = (0..1000).filter(|&seed| {
            let mut random = Random::seeded(seed, "change");
            let a = file(1, ROUNDS, &mut random, |_| 1.0);
            let b = file(1, ROUNDS, &mut random, |_| factor);
            compared(&a, &b).overall.verdict == verdict
        });
        let flagged = flagged.count();
        println!("{factor}: {flagged} of 1000 changes");
        assert!(flagged >= 950, "{factor}: {flagged} of 1000");
    }
}

#[test]
fn a_halved_cell_of_a_grid_is_flagged_and_hardly_another() {
    const CELLS: usize = 24;
    let (mut found, mut others) = (0, 0);
    for seed in 0..50 {
        let mut random = Random::seeded(seed, "halved");
        let halved = random.index(CELLS);
        let a = file(CELLS, ROUNDS, &mut random, |_| 1.0);
        let b = file(CELLS, ROUNDS, &mut random, |cell| if cell == halved { 2.0 } else { 1.0 });
        let verdicts = verdicts(&compared(&a, &b));
        found += usize::from(verdicts[halved] == ComparisonVerdict::Slower);
        others += verdicts.iter().filter(|verdict| differs(**verdict)).count();
    }
    others -= found;
    println!("{found} of 50 halved cells, {others} others");
    assert_eq!(found, 50, "the cell that was halved");
    assert!(others * 20 <= 50 * (CELLS - 1), "{others} other cells");
}

/// The rows that are kept in `bench/NAME.jsonl`.
fn kept_rows(name: &str) -> Vec<Row> {
    let path = format!("{}/../../bench/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    read_side(Path::new(&path)).expect("rows")
}

/// The names of all such files.
fn kept_names() -> Vec<String> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench"));
    let names = std::fs::read_dir(folder).expect("bench").map(|entry| entry.expect("readable").file_name());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(".jsonl")?.to_owned())).collect();
    names.sort();
    names
}

/// Kept rows of the cells that have enough repeats to be split in two.
fn kept() -> Vec<Vec<Row>> {
    let enough = |rows: &Vec<Row>, row: &Row| {
        rows.iter().filter(|it| it.is_completed() && it.asked == row.asked && it.study == row.study).count()
            >= 6
    };
    let files = kept_names().into_iter().map(|name| kept_rows(&name));
    let split = files.map(|rows| rows.iter().filter(|row| enough(&rows, row)).cloned().collect());
    split.filter(|rows: &Vec<Row>| !rows.is_empty()).collect()
}

/// Each cell's runs in two halves by chance, labelled as if they had been run in turns.
fn halves(rows: &[Row], random: &mut Random) -> [Vec<Row>; 2] {
    let mut halves = [Vec::new(), Vec::new()];
    for runs in by_cell(rows).values() {
        let mut runs = runs.clone();
        random.shuffle(&mut runs);
        let half = runs.len() / 2;
        for (side, part) in [&runs[..half], &runs[half..2 * half]].into_iter().enumerate() {
            let in_turns = |(row, repeat): (&&Row, u32)| Row {
                repeat,
                session: "one".into(),
                seed: 1,
                build: String::new(),
                ..(*row).clone()
            };
            halves[side].extend(part.iter().zip(0..).map(in_turns));
        }
    }
    halves
}

#[test]
fn kept_rows_against_themselves_show_no_difference_in_93_percent() {
    let files = kept();
    assert!(files.len() >= 5, "{} files with enough rows", files.len());
    let mut random = Random::seeded(1, "halves");
    let (mut shown, mut differ) = (0, 0);
    for draw in 0..200 {
        let [a, b] = halves(&files[draw % files.len()], &mut random);
        let comparison = compared(&a, &b);
        differ += usize::from(flags(&comparison));
        shown += usize::from(comparison.overall.verdict == ComparisonVerdict::NoDifferenceShown);
    }
    println!("{differ} of 200 differ, {shown} show no difference");
    assert!(differ <= 14 && shown >= 160, "{differ} of 200 differ, {shown} show no difference");
}

#[test]
fn rounds_are_pairs_so_drift_does_not_matter() {
    let drift = |round: u32| f64::from(1 + round % 5);
    let side = |factor: f64, seed: u64| -> Vec<Row> {
        (0..ROUNDS)
            .map(|round| Row {
                seed,
                ..row(0, round, 1e8 * drift(round) * factor * (1.0 + f64::from(round) / 1e4))
            })
            .collect()
    };
    let paired = compared(&side(1.0, 1), &side(0.5, 1));
    assert_eq!(paired.cells[0].pairs, 10);
    assert!(
        [paired.overall.ratio, paired.overall.ratio_low]
            .iter()
            .all(|it| (it.unwrap_or(0.0) - 2.0).abs() < 1e-6)
    );
    let apart = compared(&side(1.0, 1), &side(0.5, 2));
    assert_eq!((apart.cells[0].pairs, apart.overall.why), (0, Some(Unjudged::TooFew)));
}

#[test]
fn fewer_than_three_runs_have_no_interval() {
    let mut random = Random::new(1);
    for (rounds, empty, why) in
        [(1, true, Some(Unjudged::TooFew)), (2, true, Some(Unjudged::TooFew)), (3, false, None)]
    {
        let a = file(1, rounds, &mut random, |_| 2.0);
        let b = file(1, rounds, &mut random, |_| 1.0);
        let comparison = compared(&a, &b);
        let overall = comparison.overall;
        assert_eq!((comparison.is_empty(), overall.ratio_low.is_none()), (empty, empty), "{rounds}");
        assert_eq!((overall.why, overall == comparison.cells[0].judged), (why, true), "{rounds}");
        assert!(overall.ratio.is_some_and(|ratio| (1.7..2.3).contains(&ratio)), "{rounds}: {overall:?}");
    }
    let overall = compared_by_cpu(&[row(0, 0, 1.0)], &[row(0, 0, 1.0)]).overall;
    assert_eq!((overall.why, overall.ratio), (Some(Unjudged::NotMeasured), None));
}

fn compared_by_cpu(a: &[Row], b: &[Row]) -> Comparison {
    let by = Yardstick { metric: Metric::Cpu, ..Yardstick::default() };
    Comparison::from_files(["a".into(), "b".into()], [a, b], by).expect("cells in common")
}

/// The soaker's count where each cell of both sides has it, the process's else, never one of A beside the other of B.
#[test]
fn both_sides_are_compared_by_one_measure_of_cpu_time() {
    let of = |cpu_ns: u64, soaked: bool| -> Vec<Row> {
        let with_cpu = |row: Row| Row {
            user_ns: Some(cpu_ns),
            system_ns: Some(0),
            cpus: 2,
            soaked_ns: soaked.then_some(2 * row.elapsed_ns - 3 * cpu_ns),
            ..row
        };
        (0..5).map(|round| with_cpu(row(0, round, 1e9))).collect()
    };
    for (a, b, by, median) in [
        (of(1_000, true), of(1_000, true), CpuBy::Soaker, 3_000.0),
        (of(1_000, true), of(1_000, false), CpuBy::Process, 1_000.0),
        (of(1_000, false), of(1_000, false), CpuBy::Process, 1_000.0),
    ] {
        let comparison = compared_by_cpu(&a, &b);
        assert_eq!(comparison.cpu_by, Some(by));
        let [cell] = &comparison.cells[..] else { panic!("one cell: {comparison:?}") };
        assert_eq!((cell.a_median, cell.b_median), (Some(median), Some(median)), "{by}");
        assert!(comparison.ratio_is.contains(by.words()), "{}", comparison.ratio_is);
    }
    assert_eq!(compared(&of(1_000, true), &of(1_000, true)).cpu_by, None, "no CPU time is compared");
}

#[test]
fn files_without_a_common_cell_are_refused_with_what_they_have() {
    let other = Row { study: "other".into(), ..row(1, 0, 1.0) };
    let many: Vec<Row> = (0..9).map(|cell| row(cell, 0, 1.0)).collect();
    for (b, hint) in [
        (vec![], "b.jsonl has no rows"),
        (vec![other], "b.jsonl has other (depth=1)"),
        (vec![row(77, 0, 1.0)], "a.jsonl has grid (depth=0), grid (depth=1)"),
        (vec![row(77, 0, 1.0)], "grid (depth=5) and 3 more; b.jsonl has grid (depth=77). Give two files"),
    ] {
        let files = ["a.jsonl", "b.jsonl"].map(String::from);
        let error = Comparison::from_files(files, [&many, &b], Yardstick::default())
            .expect_err("refused")
            .to_string();
        assert!(
            error.starts_with("no cell is in both files: a.jsonl has ") && error.contains(hint),
            "{error}"
        );
    }
}

#[test]
fn what_differs_besides_is_warned_of() {
    let plain: Vec<Row> = (0..3).map(|round| row(0, round, 1e9)).collect();
    let changed = |change: fn(&mut Row)| {
        let mut rows = plain.clone();
        rows.iter_mut().for_each(change);
        rows.push(row(5, 0, 1.0));
        compared(&plain, &rows)
    };
    for (change, warning) in [
        (
            (|row| row.host = "there".into()) as fn(&mut Row),
            "the host is not the same: here in A, here and there in B",
        ),
        (|row| row.kernel = "9.1".into(), "the kernel is not the same: unknown in A, unknown and 9.1 in B"),
        (|row| row.cpu_model = "Z80".into(), "the processor is not the same"),
        (|row| row.cpus = 3, "the number of processors is not the same: 0 in A, 0 and 3 in B"),
        (|row| row.clock_source = "hpet".into(), "the clock is not the same"),
        (|row| row.file_system = "xfs".into(), "the file system is not the same"),
        (
            |row| row.cache_state = "cold".into(),
            "(depth=0): the source was not in the same state: unknown in A, cold in B",
        ),
        (
            |row| row.bytes = 7,
            "(depth=0): not as many bytes were moved: 1048576 in A, 7 in B; compare elapsed-per-byte",
        ),
    ] {
        let comparison = changed(change);
        assert!(comparison.warnings.len() == 1 && comparison.warnings[0].contains(warning), "{comparison:?}");
        assert_eq!(comparison.notes, ["only in B, left out: grid (depth=5)"]);
    }
    let failed = changed(|row| row.outcome = if row.repeat == 0 { "io".into() } else { COMPLETED.into() });
    let single = "runs of A without one of the same session and round, in no figure: 1";
    assert_eq!(failed.notes[1..], ["failed runs of B, in no figure: 1", single]);
    assert_eq!(changed(|row| row.version = "2".into()).warnings, [""; 0], "versions are what is compared");
}

/// These rows, assigned in turns to three sessions of this name.
fn of_three_sessions(rows: Vec<Row>, name: &str) -> Vec<Row> {
    rows.into_iter().map(|row| Row { session: format!("{name}{}", row.repeat % 3), ..row }).collect()
}

/// Statement S49: other devices or clocks are compared in proportion only, and the report says so.
#[test]
fn rows_of_two_machines_have_a_verdict_only_in_proportion() {
    let names = || ["a".to_string(), "b".to_string()];
    let mut random = Random::new(5);
    // B's disk is half as fast, and its cell 2 takes three times as long as on A's.
    let mut side = |mhz: f64, factor: &dyn Fn(usize) -> f64| -> Vec<Row> {
        let rows = of_three_sessions(file(4, 3 * ROUNDS, &mut random, factor), &mhz.to_string());
        let signed = |row: Row| Row {
            cpu_mhz: Some(mhz),
            user_ns: Some(row.elapsed_ns / 2),
            system_ns: Some(row.elapsed_ns / 2),
            ..row
        };
        rows.into_iter().map(signed).collect()
    };
    let (a, b) = (side(2000.0, &|_| 1.0), side(1000.0, &|cell| if cell == 2 { 6.0 } else { 2.0 }));
    let plain = Comparison::by(names(), [&a, &b], Yardstick::default()).expect("cells in common");
    assert!(plain.cells.iter().all(|cell| cell.judged.why == Some(Unjudged::OtherMachine)), "{plain:?}");
    assert!(verdicts(&plain).iter().all(|verdict| *verdict == ComparisonVerdict::CannotBeJudged));
    assert!(plain.is_empty());
    for (metric, normalise) in [(Metric::Elapsed, Normalise::Disk), (Metric::Cpu, Normalise::Clock)] {
        let by = Yardstick { metric, normalise: Some(normalise), ..Yardstick::default() };
        let told = Comparison::by(names(), [&a, &b], by).expect("in proportion");
        let slower: Vec<usize> = (0..4).filter(|&cell| differs(verdicts(&told)[cell])).collect();
        assert_eq!(slower, [2], "{normalise}: {told}");
        let ratio = told.cells[2].judged.ratio.expect("a ratio");
        assert!((ratio - 1.0 / 3.0).abs() < 0.03, "{normalise}: {ratio}");
        assert!(told.to_string().contains(normalise.words()), "{told}");
    }
    let unknown = file(4, 3, &mut Random::new(6), |_| 1.0);
    for (metric, normalise, other, hint) in [
        (Metric::Cpu, Normalise::Disk, &b, "--normalise=clock"),
        (Metric::Elapsed, Normalise::Clock, &b, "--normalise=disk"),
        (Metric::Memory, Normalise::Clock, &b, "leave out"),
        (Metric::Cpu, Normalise::Clock, &unknown, "cpu_mhz"),
    ] {
        let by = Yardstick { metric, normalise: Some(normalise), ..Yardstick::default() };
        let error = Comparison::by(names(), [&a, other], by).expect_err("no proportion");
        assert!(error.is::<NoProportion>() && error.to_string().contains(hint), "{error}");
    }
}

/// What only one side has measured says nothing of the disks, and what came from memory neither.
#[test]
fn the_speed_of_a_disk_is_of_cells_that_both_sides_have() {
    let mut random = Random::new(8);
    // Cell 3 is three times as fast, and A's alone; B's warm run of cell 0 is fast by its memory.
    let mut side = |cells: usize| file(cells, ROUNDS, &mut random, |cell| if cell == 3 { 0.3 } else { 1.0 });
    let (a, mut b) = (side(4), side(3));
    let warm = |row: &Row| Row { cache_state: "warm".into(), seed: 9, elapsed_ns: 1_000_000, ..row.clone() };
    b.extend(b[..1].iter().map(warm).collect::<Vec<Row>>());
    let by = Yardstick { metric: Metric::Elapsed, normalise: Some(Normalise::Disk), ..Yardstick::default() };
    let told = Comparison::by(["a".into(), "b".into()], [&a, &b], by).expect("in proportion");
    assert_eq!(verdicts(&told), vec![ComparisonVerdict::NoDifferenceShown; 3], "{told}");
}

/// Cell 0 is read from memory, as fast on both; the disk of B has half the speed.
#[test]
fn where_some_runs_went_past_the_cache_they_alone_say_how_fast_the_disk_is() {
    let mut random = Random::new(9);
    let mut side = |of_disk: f64| {
        let rows = file(3, ROUNDS, &mut random, |cell| if cell == 0 { 0.1 } else { of_disk });
        let is_cached = |row: &Row| row.asked == self::row(0, 0, 1.0).asked;
        let direct = |row: Row| {
            let used = if is_cached(&row) { "none" } else { "source" };
            Row { achieved: [("direct".to_string(), used.into())].into(), ..row }
        };
        rows.into_iter().map(direct).collect::<Vec<Row>>()
    };
    let (a, b) = (side(1.0), side(2.0));
    let by = Yardstick { metric: Metric::Elapsed, normalise: Some(Normalise::Disk), ..Yardstick::default() };
    let told = Comparison::by(["a".into(), "b".into()], [&a, &b], by).expect("in proportion");
    assert_eq!(verdicts(&told)[1..], [ComparisonVerdict::NoDifferenceShown; 2], "{told}");
}

/// The speed is the largest of several medians: of 3 rounds noise makes it larger than of 20, and the overall verdict of
/// equal disks was false in 37 of 100 tables.
#[test]
fn equal_disks_do_not_differ_by_the_number_of_their_rounds() {
    let by = Yardstick { metric: Metric::Elapsed, normalise: Some(Normalise::Disk), ..Yardstick::default() };
    let mut differ = 0;
    for seed in 0..40 {
        let mut random = Random::seeded(seed, "disks");
        let mut side = |name: &str, rounds: u32| -> Vec<Row> {
            let mut session = |at: u32| -> Vec<Row> {
                let runs = (0..rounds).flat_map(|round| (0..8).map(move |cell| (cell, round)));
                let run = |(cell, round)| row(cell, round, 1e9 * (1.0 + 0.1 * deviate(&mut random)));
                runs.map(run).map(|row| Row { session: format!("{name}{at}"), ..row }).collect()
            };
            (0..6).flat_map(&mut session).collect()
        };
        let (a, b) = (side("a", 20), side("b", 3));
        let comparison = Comparison::by(["a".into(), "b".into()], [&a, &b], by).expect("in proportion");
        differ += usize::from(differs(comparison.overall.verdict));
    }
    assert!(differ <= 4, "{differ} of 40");
}

#[test]
fn one_row_of_another_machine_is_enough_for_no_verdict() {
    let rows = |id: &str| {
        file(1, 3, &mut Random::new(1), |_| 1.0)
            .into_iter()
            .map(|row| Row { machine_id: Some(id.into()), ..row })
            .collect::<Vec<Row>>()
    };
    let (mut a, b) = (rows("one"), rows("one"));
    let by = Yardstick::default();
    let of = |a: &[Row]| Comparison::by(["a".into(), "b".into()], [a, &b], by).expect("cells").overall.why;
    assert_ne!(of(&a), Some(Unjudged::OtherMachine));
    a[2].machine_id = Some("two".into());
    assert_eq!(of(&a), Some(Unjudged::OtherMachine));
}

/// Older rows do not have its number. A host that has another name by then is the same machine where they do.
#[test]
fn rows_of_two_hosts_that_do_not_say_their_machine_have_no_verdict() {
    let rows = |host: &str, id: Option<&str>| {
        let of = |row| Row { host: host.into(), machine_id: id.map(String::from), ..row };
        file(1, 3, &mut Random::new(1), |_| 1.0).into_iter().map(of).collect::<Vec<Row>>()
    };
    for (what, a, b, is_known) in [
        ("one host", ("here", None), ("here", None), true),
        ("one host, of which one file says it", ("here", None), ("here", Some("one")), true),
        ("two hosts", ("here", None), ("there", None), false),
        ("two hosts, of which one says it", ("here", None), ("there", Some("one")), false),
        ("another name", ("here", Some("one")), ("there", Some("one")), true),
        ("no name", ("", None), ("there", None), true),
    ] {
        let (a, b) = (rows(a.0, a.1), rows(b.0, b.1));
        let compared = |by| Comparison::by(["a".into(), "b".into()], [&a, &b], by).expect("cells");
        let why = compared(Yardstick::default()).overall.why;
        assert_eq!(why == Some(Unjudged::UnknownMachine), !is_known, "{what}: {why:?}");
    }
}

/// Medians may say the opposite: the ratio is the mean of the pairs, be they two or three.
#[test]
fn a_ratio_is_of_the_pairs_and_the_columns_say_that_they_are_medians() {
    for (a, b, ratio) in
        [(&[8.0, 8.0, 8.0][..], &[7.0, 7.0, 56.0][..], 0.571), (&[8.0, 2.0], &[1.0, 4.0], 2.0)]
    {
        let side = |seconds: &[f64]| -> Vec<Row> {
            seconds.iter().zip(0..).map(|(seconds, round)| row(0, round, seconds * 1e9)).collect()
        };
        let comparison = compared(&side(a), &side(b));
        let got = comparison.cells[0].judged.ratio.expect("pairs");
        assert!((got - ratio).abs() < 1e-3 && comparison.overall.ratio == Some(got), "{comparison}");
        let text = comparison.to_string();
        assert!(text.contains("  median A  median B  mean ratio"), "{text}");
        assert!(text.contains("mean of the pairs of runs; above 1"), "{text}");
    }
    let apart = compared(&file(1, 3, &mut Random::new(1), |_| 1.0), &[Row { seed: 9, ..row(0, 0, 5e8) }]);
    assert!(apart.overall.ratio.is_some_and(|ratio| (1.8..2.2).contains(&ratio)), "no pairs: {apart}");
}

#[test]
fn the_text_says_which_way_and_how_it_was_judged() {
    let side = |factor: f64| -> Vec<Row> {
        let runs = (0..3).flat_map(|round| (0..2).map(move |cell| (cell, round)));
        runs.map(|(cell, round)| row(cell, round, if cell == 0 { factor * 1e9 } else { 1e9 })).collect()
    };
    let expected = "\
B b against A a
machine: here (0 x an unknown processor)
kernel: unknown
build: unknown
load: 0 (0 to 0)
sessions: 1
ratio: elapsed of A / elapsed of B, mean of the pairs of runs; above 1 B is faster
compared: pairs of runs of one session and round; intervals: 95 % for all 3 at once (Bonferroni, so that each agrees \
with its verdict)

  depth     runs  median A  median B  mean ratio        interval              verdict
      0  3 pairs    1.00 s    500 ms       2.000  2.000 .. 2.000               faster
      1  3 pairs    1.00 s    1.00 s       1.000  1.000 .. 1.000  no difference shown
overall                                    1.414  1.414 .. 1.414               faster
";
    assert_eq!(compared(&side(1.0), &side(0.5)).to_string(), expected);
    let few = compared(&side(1.0)[..2], &side(0.5)).to_string();
    assert!(
        few.contains("no intervals: three on each side") && few.contains("judged: too few runs"),
        "{few}"
    );
}
