//! The CPU time of a run, from its row: by the best of the measures that it has.
//!
//! Must not know: how it was measured, what is computed from it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::row::Row;

/// Which measure, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum CpuBy {
    /// All that the soaker did not get.
    #[serde(rename = "soaker")]
    Soaker,
    /// What the kernel counts for the whole machine.
    #[serde(rename = "machine")]
    Machine,
    /// User and system time of the process or the command: without what the kernel does for it elsewhere.
    #[serde(rename = "process")]
    Process,
}

impl CpuBy {
    /// All, the best first.
    pub const ALL: [CpuBy; 3] = [CpuBy::Soaker, CpuBy::Machine, CpuBy::Process];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            CpuBy::Soaker => "by the soaker",
            CpuBy::Machine => "of the whole machine",
            CpuBy::Process => "of the process (user and system)",
        }
    }
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
            (counted, [None, Some(70.0), Some(50.0)]),
            (soaked, [Some(80.0), None, Some(50.0)]),
        ] {
            assert_eq!(CpuBy::ALL.map(|by| cpu_ns(&row, by)), expected);
        }
    }
}
