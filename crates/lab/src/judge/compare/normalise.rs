//! Rows of different devices, or of processors with different clocks, made comparable.
//!
//! Times are put into the proportion of one device or clock: as a disk of 1 GB/s would give them, or a processor of
//! 1 GHz. Must not know: how two sides are judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use super::Metric;
use crate::judge::stats::median;
use crate::row::Row;
use crate::study::{Level, SOAKER};

/// What the rows are put into proportion to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// The speed of each side's disk: wall time.
    Disk,
    /// The clock of each side's processor: CPU time.
    Clock,
}

/// 1 GB/s, in bytes per nanosecond; and 1 GHz in MHz.
const DISK_BYTES_PER_NS: f64 = 1.0;
const CLOCK_MHZ: f64 = 1000.0;

/// Rows that cannot be put into proportion, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoProportion(String);

impl fmt::Display for NoProportion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NoProportion {}

/// The level of a row whose source was read into the page cache before.
const WARM: &str = "warm";

/// A study and what is done: a disk reads at one speed and writes at another.
type DiskUse = (String, Option<Level>);
/// A study and the level of every factor.
type RowCell<'rows> = (&'rows String, &'rows BTreeMap<String, Level>);

impl Normalise {
    /// Whether the metric has such a proportion.
    pub(super) fn check(self, metric: Metric) -> Result<(), NoProportion> {
        match (self, metric) {
            (Normalise::Disk, Metric::Elapsed | Metric::ElapsedPerByte) => Ok(()),
            (
                Normalise::Clock,
                Metric::Cpu | Metric::CpuPerByte | Metric::CpuPerRequest | Metric::MachineCpu,
            ) => Ok(()),
            (_, Metric::Memory) => {
                Err(NoProportion("memory has no proportion to disk or clock; leave out --normalise".into()))
            }
            (Normalise::Disk, _) => Err(NoProportion(format!(
                "--normalise=disk is for elapsed and elapsed-per-byte, not for {metric}; write --normalise=clock"
            ))),
            (Normalise::Clock, _) => Err(NoProportion(format!(
                "--normalise=clock is for CPU time, not for {metric}; write --metric=cpu or --normalise=disk"
            ))),
        }
    }

    /// The rows of both sides in that proportion, and what was found.
    ///
    /// Errors: rows that do not say what their side's proportion is.
    pub(super) fn rows(self, sides: [&[Row]; 2]) -> Result<([Vec<Row>; 2], String), NoProportion> {
        let cells = sides.map(|rows| of_the_disk(rows).map(cell).collect());
        let [a, b]: [BTreeSet<RowCell<'_>>; 2] = cells;
        let common: BTreeSet<RowCell<'_>> = a.intersection(&b).copied().collect();
        let rounds = sides.iter().filter_map(|rows| least_rounds(rows, &common)).min().unwrap_or_default();
        let of = |side: &str, rows: &[Row]| match self {
            Normalise::Disk => by_disk(side, rows, &common, rounds),
            Normalise::Clock => by_clock(side, rows),
        };
        let ((a, of_a), (b, of_b)) = (of("A", sides[0])?, of("B", sides[1])?);
        Ok(([a, b], format!("{}: {of_a}; {of_b}", self.words())))
    }
}

fn disk_use(row: &Row) -> DiskUse {
    (row.study.clone(), row.asked.get("operation").cloned())
}

fn cell(row: &Row) -> RowCell<'_> {
    (&row.study, &row.asked)
}

/// The rows that say how fast the disk is: without the soaker, and not from the page cache. Where some went past the
/// cache by what they report, these alone: of the others a command may have brought the file in before.
fn of_the_disk(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let any_is_direct = rows.iter().any(is_direct);
    rows.iter().filter(move |row| {
        let is_soaked = row.asked.get(SOAKER).is_some_and(|level| level.to_string() != "off");
        let is_cached = row.cache_state == WARM || (any_is_direct && !is_direct(row));
        row.is_completed() && row.elapsed_ns > 0 && !is_soaked && !is_cached
    })
}

fn is_direct(row: &Row) -> bool {
    row.achieved.get("direct").is_some_and(|direct| direct != "none")
}

/// The fewest runs that say how fast the disk is of any session and common cell.
fn least_rounds(rows: &[Row], common: &BTreeSet<RowCell<'_>>) -> Option<usize> {
    let mut rounds: BTreeMap<(&str, RowCell<'_>), usize> = BTreeMap::new();
    for row in of_the_disk(rows).filter(|row| common.contains(&cell(row))) {
        *rounds.entry((&row.session, cell(row))).or_default() += 1;
    }
    rounds.into_values().min()
}

/// The speed of a disk is the largest median of any cell that both sides have: what it gave when it was asked best.
/// Noise makes the largest larger, more so of few rounds, so that every median is of as many: the first `rounds`. Each
/// session has a speed of its own, so that what is uncertain of it is in how sessions differ. Rows of a use of the disk
/// that has no such cell are left out.
fn by_disk(
    side: &str,
    rows: &[Row],
    common: &BTreeSet<RowCell<'_>>,
    rounds: usize,
) -> Result<(Vec<Row>, String), NoProportion> {
    let sessions: BTreeSet<&str> = rows.iter().map(|row| row.session.as_str()).collect();
    let its_speeds = |session| {
        let says = |row: &&Row| row.session == session && common.contains(&cell(row));
        (session, disk_speeds(of_the_disk(rows).filter(says), rounds))
    };
    let speeds: BTreeMap<&str, BTreeMap<DiskUse, f64>> = sessions.into_iter().map(its_speeds).collect();
    let said = speeds_message(&speeds);
    if said.is_empty() {
        let words =
            "no run that both sides have, past the page cache and not soaked, says how fast its disk is";
        return Err(NoProportion(format!("{side}: {words}")));
    }
    let scaled = |row: &Row| {
        let factor = speeds.get(&*row.session)?.get(&disk_use(row))? / DISK_BYTES_PER_NS;
        let scaled_ns = |ns: u64| (ns as f64 * factor).round() as u64;
        let mut row = Row { elapsed_ns: scaled_ns(row.elapsed_ns), ..row.clone() };
        for reader in row.readers.iter_mut().flatten() {
            reader.elapsed_ns = reader.elapsed_ns.map(scaled_ns);
        }
        Some(row)
    };
    Ok((rows.iter().filter_map(scaled).collect(), format!("{side}'s disk {said}")))
}

/// `reads 1.00 GB/s to 1.20 GB/s, writes 900 MB/s`.
fn speeds_message(speeds: &BTreeMap<&str, BTreeMap<DiskUse, f64>>) -> String {
    let mut by_use: BTreeMap<&DiskUse, Vec<f64>> = BTreeMap::new();
    for (of, speed) in speeds.values().flatten() {
        by_use.entry(of).or_default().push(*speed);
    }
    let each = by_use.into_iter().map(|((_, operation), mut speeds)| {
        speeds.sort_by(f64::total_cmp);
        let what = operation.as_ref().map_or("moves".into(), |word| format!("{word}s"));
        let mut ends = [speeds[0], speeds[speeds.len() - 1]]
            .map(|speed| datapump::units::rate_words(speed * 1e9))
            .to_vec();
        ends.dedup();
        format!("{what} {}", ends.join(" to "))
    });
    each.collect::<Vec<String>>().join(", ")
}

fn disk_speeds<'rows>(rows: impl Iterator<Item = &'rows Row>, rounds: usize) -> BTreeMap<DiskUse, f64> {
    let mut cells: BTreeMap<(DiskUse, &BTreeMap<String, Level>), Vec<&Row>> = BTreeMap::new();
    rows.for_each(|row| cells.entry((disk_use(row), &row.asked)).or_default().push(row));
    let speed_of = |row: &Row| row.bytes as f64 / row.elapsed_ns as f64;
    let mut speeds = BTreeMap::new();
    for ((of, _), mut rows) in cells {
        rows.sort_by(|one, other| {
            one.repeat.cmp(&other.repeat).then(speed_of(one).total_cmp(&speed_of(other)))
        });
        let values: Vec<f64> = rows.into_iter().take(rounds).map(speed_of).collect();
        let speed = median(&values).unwrap_or(0.0);
        let best: &mut f64 = speeds.entry(of).or_default();
        *best = best.max(speed);
    }
    speeds.retain(|_, speed| *speed > 0.0);
    speeds
}

fn by_clock(side: &str, rows: &[Row]) -> Result<(Vec<Row>, String), NoProportion> {
    let clocks: Vec<f64> = rows.iter().filter_map(|row| row.cpu_mhz).collect();
    let (Some(mhz), true) = (median(&clocks), clocks.len() == rows.len()) else {
        let hint = "were made by an earlier version; measure again, or compare without --normalise";
        let words = format!("{side}: rows do not say the clock of their processor (cpu_mhz): they {hint}");
        return Err(NoProportion(words));
    };
    let scaled = |row: &Row| {
        let factor = row.cpu_mhz.unwrap_or(mhz) / CLOCK_MHZ;
        let times = |ns: Option<u64>| ns.map(|ns| (ns as f64 * factor).round() as u64);
        Row {
            user_ns: times(row.user_ns),
            system_ns: times(row.system_ns),
            machine_cpu_ns: times(row.machine_cpu_ns),
            ..row.clone()
        }
    };
    Ok((rows.iter().map(scaled).collect(), format!("{side}'s clock {mhz:.0} MHz")))
}

impl Normalise {
    /// What its times are, for a note.
    pub fn words(self) -> &'static str {
        match self {
            Normalise::Disk => "times are those of a disk of 1 GB/s",
            Normalise::Clock => "times are those of a processor of 1 GHz",
        }
    }
}

impl fmt::Display for Normalise {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Normalise::Disk => "disk",
            Normalise::Clock => "clock",
        })
    }
}

impl FromStr for Normalise {
    type Err = String;

    fn from_str(word: &str) -> Result<Normalise, String> {
        match word {
            "disk" => Ok(Normalise::Disk),
            "clock" => Ok(Normalise::Clock),
            _ => Err(format!("'{word}' is nothing to normalise by; write disk or clock")),
        }
    }
}
