//! Runs a study by two builds of the program, side by side, and judges between them: the rows of one file.
//!
//! The runs of a cell stand one right behind the other, A B in one round and B A in the next, so that what drifts (a
//! disk that fills, a neighbour that comes) is in both, and the differences of rounds are judged. Must not know: how
//! runs are made, how rows are judged.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::{Comparison, Yardstick, read_side};
use crate::RunArguments;
use crate::judge::stats::ESTIMATE_VALUES_MIN;
use crate::row::Row;
use crate::session::StudySession;
use crate::session::notice::tell;
use crate::session::programs::Programs;
use crate::study::{BINARY, BINARY_LEVELS, Level, Study};

/// Runs the study by A and B and compares the rows that its file then has. Rows that are there already are not measured
/// again.
///
/// Errors: as [`crate::run`]; a program that is no pump, or of another build than its rows.
pub fn compare_binaries(
    arguments: &RunArguments,
    binaries: &[PathBuf; 2],
    by: Yardstick,
) -> anyhow::Result<Comparison> {
    let programs = Programs::two(binaries)?;
    let study = judgeable(crate::load(arguments)?.of_two_programs(), arguments);
    let default = || PathBuf::from(format!("{}-compare.jsonl", study.name));
    let out = arguments.out.clone().unwrap_or_else(default);
    StudySession::open(&study, &out, arguments, programs, &[])?.run()?;
    let rows: Vec<Row> = read_side(&out)?.into_iter().filter(|row| row.study == study.name).collect();
    of_rows(&out, &rows, by)
}

/// The study with as many rounds as a verdict takes, or with a warning where the user asked for fewer.
fn judgeable(study: Study, arguments: &RunArguments) -> Study {
    let least = ESTIMATE_VALUES_MIN as u32;
    match arguments.repeats {
        None => study.repeated_at_least(least),
        Some(rounds) if rounds < least => {
            let name = &study.name;
            tell(&format!("{name}: too few rounds for a verdict ({rounds}); give --repeats {least} or more"));
            study
        }
        Some(_) => study,
    }
}

/// Compares the rows that [`compare_binaries`] has left in a file.
///
/// Errors: a file that cannot be read, or has no such rows.
pub fn compare_sides(path: &Path, by: Yardstick) -> anyhow::Result<Comparison> {
    of_rows(path, &read_side(path)?, by)
}

fn of_rows(path: &Path, rows: &[Row], by: Yardstick) -> anyhow::Result<Comparison> {
    let sides = BINARY_LEVELS.map(|level| side(rows, level));
    if sides.iter().all(Vec::is_empty) {
        bail!(
            "{}: no rows of two programs; give a second file, or let `pump lab compare --a FILE --b FILE STUDY` make \
             some",
            path.display()
        );
    }
    let names = [0, 1].map(|at| named(BINARY_LEVELS[at], &sides[at]));
    Comparison::by(names, [&sides[0], &sides[1]], by)
}

/// The rows of one of the programs, without the factor that says so.
fn side(rows: &[Row], level: &str) -> Vec<Row> {
    let level = Level::from(level);
    let own = rows.iter().filter(|row| row.asked.get(BINARY) == Some(&level)).cloned();
    own.map(|mut row| {
        row.asked.remove(BINARY);
        row
    })
    .collect()
}

/// `a (45bb31102f00)`.
fn named(level: &str, rows: &[Row]) -> String {
    rows.first().map_or(level.into(), |row| datapump::shown(format!("{level} ({})", row.build).as_bytes()))
}
