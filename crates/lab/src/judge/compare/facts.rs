//! Facts about the two sides (machine, kernel, build, load, sessions), compared before anything is judged.
//!
//! A difference that a fact explains is not one of the program. Must not know: the values that are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::Unjudged;
use crate::judge::stats::median;
use crate::probe::soaked::STOLEN_MAX;
use crate::report::figures::figures;
use crate::row::Row;

/// A fact about both sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedFact {
    /// `machine`, `kernel`, `build`, `load` or `sessions`.
    pub what: &'static str,
    /// Its values in A's rows.
    pub a: String,
    /// Its values in B's rows.
    pub b: String,
}

impl fmt::Display for ComparedFact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ComparedFact { what, a, b } = self;
        if a == b { write!(out, "{what}: {a}") } else { write!(out, "{what}: {a} in A, {b} in B") }
    }
}

/// Clocks that differ by more than this factor are other clocks: some kernels report the clock of the moment.
const SAME_CLOCK: f64 = 1.05;

/// The facts, in the order in which they are printed.
pub fn facts(sides: [&[Row]; 2]) -> Vec<ComparedFact> {
    let fact = |what, said: &dyn Fn(&[Row]) -> String| {
        let [a, b] = sides.map(said);
        ComparedFact { what, a, b }
    };
    vec![
        fact("machine", &|rows| joined(&distinct(rows, machine))),
        fact("kernel", &|rows| joined(&distinct(rows, |row| row.kernel.clone()))),
        fact("build", &|rows| joined(&distinct(rows, |row| row.build.clone()))),
        fact("load", &load),
        fact("sessions", &|rows| distinct(rows, |row| row.session.clone()).len().to_string()),
    ]
}

fn machine(row: &Row) -> String {
    let model = if row.cpu_model.is_empty() { "an unknown processor" } else { &row.cpu_model };
    let clock = row.cpu_mhz.map_or(String::new(), |mhz| format!(" at {mhz:.0} MHz"));
    format!("{} ({} x {model}{clock})", row.host, row.cpus)
}

fn load(rows: &[Row]) -> String {
    let loads: Vec<f64> = rows.iter().map(|row| row.load).collect();
    let (least, most) =
        (loads.iter().copied().fold(f64::INFINITY, f64::min), loads.iter().copied().fold(0.0, f64::max));
    median(&loads).map_or(String::new(), |middle| {
        format!("{} ({} to {})", figures(middle), figures(least), figures(most))
    })
}

/// The different values of a fact.
pub fn distinct<'rows>(
    rows: impl IntoIterator<Item = &'rows Row>,
    fact: fn(&Row) -> String,
) -> BTreeSet<String> {
    rows.into_iter().map(fact).collect()
}

/// The values as they are printed: `6.1 and 6.2`.
pub fn joined(values: &BTreeSet<String>) -> String {
    let words: Vec<&str> = values.iter().map(|word| if word.is_empty() { "unknown" } else { word }).collect();
    datapump::shown(words.join(" and ").as_bytes())
}

/// A warning where the loads of the sides lie apart by more than a process for every other processor.
pub fn load_warning(sides: [&[Row]; 2]) -> Option<String> {
    let [a, b] = sides.map(|rows| median(&rows.iter().map(|row| row.load).collect::<Vec<_>>()));
    let (a, b) = a.zip(b)?;
    let cpus = f64::from(sides.iter().flat_map(|rows| rows.iter()).map(|row| row.cpus).max()?.max(1));
    let (a_words, b_words) = (figures(a), figures(b));
    ((a - b).abs() > cpus / 2.0).then(|| {
        format!(
            "the load is not the same: {a_words} in A, {b_words} in B: the program is not all that differs"
        )
    })
}

/// A warning where a hypervisor took more of one side's time: the pace is that of blocks which nothing interrupted.
pub fn stolen_warning(sides: [&[Row]; 2]) -> Option<String> {
    let [a, b] = sides.map(stolen_share);
    let (a, b) = a.zip(b)?;
    let words = |share: f64| figures(100.0 * share);
    ((a - b).abs() > STOLEN_MAX).then(|| {
        format!(
            "the time that a hypervisor took is not the same: {} % of one processor in A, {} % in B: the program is \
             not all that differs",
            words(a),
            words(b)
        )
    })
}

/// The part of one processor that was taken, over all runs: it is counted in ticks of 10 ms, and a short run has few.
fn stolen_share(rows: &[Row]) -> Option<f64> {
    let completed = rows.iter().filter(|row| row.is_completed());
    let runs = completed.filter_map(|row| Some((row.stolen_ns?, row.elapsed_ns)));
    let (stolen, elapsed) = runs.fold((0.0, 0.0), |(stolen, elapsed), (its_stolen, its_elapsed)| {
        (stolen + its_stolen as f64, elapsed + its_elapsed as f64)
    });
    (elapsed > 0.0).then(|| stolen / elapsed)
}

/// Why these rows have no verdict, whatever their values. Rows that do not say their build or kernel are taken for the
/// same; rows of two machines are compared in proportion only.
pub fn obstacle(sides: [&[Row]; 2], is_in_proportion: bool) -> Option<Unjudged> {
    let is_mixed = |fact: fn(&Row) -> String| {
        sides.into_iter().any(|rows| distinct(rows, fact).iter().filter(|it| !it.is_empty()).count() > 1)
    };
    if !is_in_proportion && are_of_other_machines(sides) {
        Some(Unjudged::OtherMachine)
    } else if !is_in_proportion && are_of_unknown_machines(sides) {
        Some(Unjudged::UnknownMachine)
    } else if is_mixed(|row| row.build.clone()) {
        Some(Unjudged::SeveralBuilds)
    } else if is_mixed(|row| row.kernel.clone()) {
        Some(Unjudged::SeveralKernels)
    } else {
        None
    }
}

/// Whether not all rows are of one machine: processors of other models, clocks or number, or another installation. A
/// machine that lost processors is another one: what is done beside the copy has fewer.
fn are_of_other_machines(sides: [&[Row]; 2]) -> bool {
    let all = || sides.into_iter().flatten();
    let counts: BTreeSet<u32> = all().map(|row| row.cpus).collect();
    let models: BTreeSet<&String> =
        all().map(|row| &row.cpu_model).filter(|model| !model.is_empty()).collect();
    let installations: BTreeSet<&String> = all().filter_map(|row| row.machine_id.as_ref()).collect();
    let clocks = || all().filter_map(|row| row.cpu_mhz);
    let (least, most) = (clocks().fold(f64::INFINITY, f64::min), clocks().fold(0.0, f64::max));
    models.len() > 1 || counts.len() > 1 || installations.len() > 1 || most > least * SAME_CLOCK
}

/// Whether rows without the number of their machine name other hosts than others do: a machine may have been renamed, or
/// be another one.
fn are_of_unknown_machines(sides: [&[Row]; 2]) -> bool {
    let all = || sides.into_iter().flatten();
    let hosts: BTreeSet<&String> = all().map(|row| &row.host).filter(|host| !host.is_empty()).collect();
    hosts.len() > 1 && all().any(|row| row.machine_id.is_none())
}

/// The rows of a side that began before one of their session that was written earlier.
pub fn set_back(rows: &[Row]) -> Vec<&Row> {
    let mut latest: BTreeMap<&str, jiff::Timestamp> = BTreeMap::new();
    let mut found = Vec::new();
    for row in rows {
        let Ok(time) = row.time.parse::<jiff::Timestamp>() else { continue };
        if latest.insert(&row.session, time).is_some_and(|before| before > time) {
            found.push(row);
        }
    }
    found
}
