//! What makes a comparison doubtful, what it leaves out, and why there is none.
//!
//! Must not know: figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::facts::{distinct, joined, load_warning, set_back, stolen_warning};
use super::units::{self, CellUnits};
use super::{ComparedBy, ComparedCell, Metric, RowsSide};
use crate::report::figures::figures;
use crate::row::{Row, SessionRound};

/// A list of cells in a message ends after so many.
const LISTED_MAX: usize = 6;

/// The files have no cell in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NothingInCommon(String);

impl fmt::Display for NothingInCommon {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NothingInCommon {}

impl NothingInCommon {
    pub(super) fn from_files(files: &[String; 2], sides: &[RowsSide<'_>; 2]) -> NothingInCommon {
        let has = |at: usize| {
            if sides[at].is_empty() {
                format!("{} has no rows", files[at])
            } else {
                format!("{} has {}", files[at], listed(sides[at].keys().copied()))
            }
        };
        NothingInCommon(format!(
            "no cell is in both files: {}; {}. Give two files of one study, run with the same levels",
            has(0),
            has(1)
        ))
    }
}

fn listed<'rows>(cells: impl Iterator<Item = ComparedCell<'rows>>) -> String {
    let words: Vec<String> = cells.map(cell_message).collect();
    match words.len() {
        0..=LISTED_MAX => words.join(", "),
        all => format!("{} and {} more", words[..LISTED_MAX].join(", "), all - LISTED_MAX),
    }
}

/// A cell in words: `cpu (request_size=4KiB)`.
fn cell_message(cell: ComparedCell<'_>) -> String {
    let ComparedCell { study, asked } = cell;
    let levels: Vec<String> = asked.iter().map(|(name, level)| format!("{name}={level}")).collect();
    datapump::shown(format!("{study} ({})", levels.join(" ")).as_bytes())
}

/// A field of a row by which two machines differ.
type Fact = (&'static str, fn(&Row) -> String);

const MACHINE: [Fact; 6] = [
    ("host", |row| row.host.clone()),
    ("processor", |row| row.cpu_model.clone()),
    ("number of processors", |row| row.cpus.to_string()),
    ("kernel", |row| row.kernel.clone()),
    ("clock", |row| row.clock_source.clone()),
    ("file system", |row| row.file_system.clone()),
];

/// Facts that differ between the files and would make a difference of their own.
pub fn warnings(rows: [&[Row]; 2], sides: &[RowsSide<'_>; 2], metric: Metric) -> Vec<String> {
    let machine = MACHINE.iter().filter_map(|(what, fact)| {
        let [a, b] = sides.each_ref().map(|side| distinct(side.values().flatten().copied(), *fact));
        (a != b || a.len() > 1).then(|| {
            let (a, b) = (joined(&a), joined(&b));
            format!("the {what} is not the same: {a} in A, {b} in B: the program is not all that differs")
        })
    });
    let common = sides[0].iter().filter_map(|(cell, a)| Some((*cell, [a, sides[1].get(cell)?])));
    let cells = common.flat_map(|(cell, rows)| of_cell(cell, rows, metric));
    let meanwhile = load_warning(rows).into_iter().chain(stolen_warning(rows));
    machine.chain(meanwhile).chain(clock_warnings(rows)).chain(cells).collect()
}

/// Intervals that are wider by less than this for sessions that lie together are not warned of.
const WIDER_MIN: f64 = 1.1;

/// A warning where intervals are wider because the sides did not take turns.
pub fn turn_warning(cells: &[&CellUnits<'_>]) -> Option<String> {
    let wider = units::turn_factors(cells).width;
    (wider > WIDER_MIN).then(|| {
        format!(
            "not in turns: the sessions of a side lie together in time, and sessions that do are alike, so that all \
             intervals are {} times as wide; run the sessions in turns (A B A B A B), or an hour apart",
            figures(wider)
        )
    })
}

/// A warning for each session within which the time of day goes back. No value is computed from it.
fn clock_warnings(sides: [&[Row]; 2]) -> Vec<String> {
    let latest: BTreeMap<&str, &str> =
        sides.iter().flat_map(|rows| set_back(rows)).map(|row| (&*row.session, &*row.time)).collect();
    let words = latest.into_iter().map(|(session, time)| {
        let words = format!(
            "the clock was set back within session {session}, to {time}: when its runs began cannot be relied on"
        );
        datapump::shown(words.as_bytes())
    });
    words.collect()
}

fn of_cell(cell: ComparedCell<'_>, rows: [&Vec<&Row>; 2], metric: Metric) -> Vec<String> {
    let facts = |fact: fn(&Row) -> String| {
        rows.map(|rows| distinct(rows.iter().copied().filter(|row| row.is_completed()), fact))
    };
    let (cache, bytes) = (facts(|row| row.cache_state.clone()), facts(|row| row.bytes.to_string()));
    let differ =
        |sides: &[BTreeSet<String>; 2]| sides[0] != sides[1] && sides.iter().all(|side| !side.is_empty());
    let warning = |what: &str, sides: &[BTreeSet<String>; 2], hint: &str| {
        format!(
            "{}: {what}: {} in A, {} in B{hint}",
            cell_message(cell),
            joined(&sides[0]),
            joined(&sides[1])
        )
    };
    let mut found = Vec::new();
    if differ(&cache) {
        found.push(warning("the source was not in the same state", &cache, ""));
    }
    if differ(&bytes) && metric.grows_with_bytes() {
        found.push(warning("not as many bytes were moved", &bytes, "; compare elapsed-per-byte"));
    }
    found
}

/// Cells and runs that are in no figure, and sessions that are not whole.
pub fn notes(sides: &[RowsSide<'_>; 2], by: ComparedBy) -> Vec<String> {
    let both = [("A", &sides[0], &sides[1]), ("B", &sides[1], &sides[0])];
    let alone = both.map(|(name, its, other)| {
        let only: Vec<ComparedCell<'_>> =
            its.keys().filter(|cell| !other.contains_key(*cell)).copied().collect();
        (!only.is_empty()).then(|| format!("only in {name}, left out: {}", listed(only.into_iter())))
    });
    let failed = both.map(|(name, its, other)| {
        let common = its.iter().filter(|(cell, _)| other.contains_key(*cell));
        let failed = common.flat_map(|(_, rows)| rows).filter(|row| !row.is_completed()).count();
        (failed > 0).then(|| format!("failed runs of {name}, in no figure: {failed}"))
    });
    let single = both.map(|(name, its, other)| {
        let single = if by == ComparedBy::Pairs { without_partner(its, other) } else { 0 };
        (single > 0).then(|| {
            format!("runs of {name} without one of the same session and round, in no figure: {single}")
        })
    });
    let cut = both.map(|(name, its, _)| {
        let cut = cut_sessions(its);
        (cut > 0).then(|| format!("sessions of {name} that ended within a round, whose runs count: {cut}"))
    });
    alone.into_iter().chain(failed).chain(single).chain(cut).flatten().collect()
}

/// Completed runs of cells of both, of which the other has none of the same session, seed and round.
fn without_partner(its: &RowsSide<'_>, other: &RowsSide<'_>) -> usize {
    let common = its.iter().filter_map(|(cell, rows)| Some((rows, other.get(cell)?)));
    let single = common.map(|(rows, others)| {
        let completed = |row: &&&Row| row.is_completed();
        let theirs: BTreeSet<SessionRound<'_>> =
            others.iter().filter(completed).map(|row| SessionRound::of_row(row)).collect();
        rows.iter().filter(completed).filter(|row| !theirs.contains(&SessionRound::of_row(row))).count()
    });
    single.sum()
}

/// Sessions whose last round has fewer cells than the one before.
fn cut_sessions(side: &RowsSide<'_>) -> usize {
    let mut sessions: BTreeMap<(&str, &str, u64), BTreeMap<u32, usize>> = BTreeMap::new();
    for row in side.values().flatten() {
        *sessions.entry((&row.session, &row.study, row.seed)).or_default().entry(row.repeat).or_default() +=
            1;
    }
    let is_cut = |rounds: &&BTreeMap<u32, usize>| {
        let mut cells = rounds.values().rev();
        cells.next().zip(cells.next()).is_some_and(|(last, before)| last < before)
    };
    sessions.values().filter(is_cut).count()
}
