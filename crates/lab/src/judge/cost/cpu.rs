//! The CPU time of a run, from its row, and which of the measures of it a file of rows is judged by.
//!
//! There is one rule for all that is computed from rows, so that a fit and a profile of one file never differ in what
//! they call CPU time: the soaker, which misses nothing, where each cell has it; else the process, which a quiet and a
//! busy machine agree on; the whole machine, which has everybody's work in it, only where there is no other. Must not
//! know: how it was measured, what is computed from it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use datapump::{BillHost, Billed, CpuStage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::row::Row;
use crate::study::{Level, SOAKER};

/// Which measure, the one that is taken first at the front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CpuBy {
    /// All that the soaker did not get.
    #[serde(rename = "soaker")]
    Soaker,
    /// User and system time of the process or the command: without what the kernel does for it elsewhere.
    #[default]
    #[serde(rename = "process")]
    Process,
    /// What the kernel counts for the whole machine.
    #[serde(rename = "machine")]
    Machine,
}

/// A side, a study, and the level of every factor but the soaker.
type SideCell<'rows> = (usize, &'rows str, BTreeMap<&'rows String, &'rows Level>);

impl CpuBy {
    /// All of them, the first choice at the front.
    pub const ALL: [CpuBy; 3] = [CpuBy::Soaker, CpuBy::Process, CpuBy::Machine];

    /// The measure by which these rows are judged: that which the most cells have, the first of equal ones. Runs with
    /// the soaker and without are one cell. `None` if no completed row has any.
    pub fn of_rows<'rows>(rows: impl IntoIterator<Item = &'rows Row>) -> Option<CpuBy> {
        CpuBy::of_sides([rows])
    }

    /// The measure for rows that are compared: the cells of each side count separately.
    pub fn of_sides<'rows, Rows: IntoIterator<Item = &'rows Row>>(
        sides: impl IntoIterator<Item = Rows>,
    ) -> Option<CpuBy> {
        let mut cells: BTreeMap<SideCell<'_>, [bool; 3]> = BTreeMap::new();
        for (side, rows) in sides.into_iter().enumerate() {
            for row in rows.into_iter().filter(|row| row.is_completed()) {
                let asked = row.asked.iter().filter(|(factor, _)| *factor != SOAKER).collect();
                let has = cells.entry((side, &row.study, asked)).or_default();
                CpuBy::ALL.iter().zip(has).for_each(|(by, has)| *has |= cpu_ns(row, *by).is_some());
            }
        }
        let count = |at: &usize| cells.values().filter(|has| has[*at]).count();
        // Of equal counts `max_by_key` takes the last: from the back that is the first measure.
        (0..3).rev().filter(|at| count(at) > 0).max_by_key(count).map(|at| CpuBy::ALL[at])
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            CpuBy::Soaker => "by the soaker",
            CpuBy::Machine => "of the whole machine",
            CpuBy::Process => "of the process (user and system)",
        }
    }
}

impl fmt::Display for CpuBy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            CpuBy::Soaker => "soaker",
            CpuBy::Process => "process",
            CpuBy::Machine => "machine",
        })
    }
}

impl FromStr for CpuBy {
    type Err = String;

    fn from_str(word: &str) -> Result<CpuBy, String> {
        let found = CpuBy::ALL.into_iter().find(|by| by.to_string() == word);
        found.ok_or_else(|| format!("'{word}' is no measure of CPU time; write soaker, process or machine"))
    }
}

/// CPU time in nanoseconds of one side of a copy between two hosts, from its bill: of the process alone, or with the
/// kernel's threads where the measure has them, too. `None` if the row has not the bill of both. Where both sides are on one
/// host, the sender's bill has the kernel's threads of both.
pub fn side_cpu_ns(row: &Row, side: BillHost, by: CpuBy) -> Option<f64> {
    let stages = &row.report.as_ref()?.bill.as_ref()?.stages;
    let of = |side: BillHost| stages.iter().filter(move |billed| billed.host == side);
    let has_both = [BillHost::Sender, BillHost::Receiver].iter().all(|&side| of(side).next().is_some());
    let counts = |billed: &&Billed| by != CpuBy::Process || billed.stage != CpuStage::KernelThreads;
    has_both.then(|| of(side).filter(counts).map(|billed| billed.cpu_seconds).sum::<f64>() * 1e9)
}

/// Whether the row is of a copy between two hosts, and does not say what each of them cost.
pub fn lacks_sides(row: &Row) -> bool {
    let is_of_two = row.report.as_ref().is_some_and(|report| report.cpu_remote.is_some());
    is_of_two && side_cpu_ns(row, BillHost::Sender, CpuBy::Process).is_none()
}

/// CPU time of a run in nanoseconds by this measure; `None` if the row does not have it. While the soaker runs the
/// machine's count is left out: rows without `soaker` have the soaker's own time in it.
pub fn cpu_ns(row: &Row, by: CpuBy) -> Option<f64> {
    match (by, row.soaked_ns) {
        (CpuBy::Soaker, soaked) => match &row.soaker {
            // What it counted, less what the machine did before.
            Some(soaker) => soaker.cpu_ns.map(|ns| ns as f64),
            None => Some(f64::from(row.cpus) * row.elapsed_ns as f64 - soaked? as f64),
        },
        (CpuBy::Machine, None) => row.machine_cpu_ns.map(|ns| ns as f64),
        (CpuBy::Machine, Some(_)) => None,
        (CpuBy::Process, _) => Some(row.user_ns? as f64 + row.system_ns? as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measure_needs_its_fields() {
        let bare = Row { cpus: 2, elapsed_ns: 100, ..Row::default() };
        let counted =
            Row { user_ns: Some(30), system_ns: Some(20), machine_cpu_ns: Some(70), ..bare.clone() };
        let soaked = Row { soaked_ns: Some(120), ..counted.clone() };
        for (row, expected) in [
            (bare, [None, None, None]),
            (counted, [None, Some(50.0), Some(70.0)]),
            (soaked, [Some(80.0), Some(50.0), None]),
        ] {
            assert_eq!(CpuBy::ALL.map(|by| cpu_ns(&row, by)), expected);
        }
    }
}
