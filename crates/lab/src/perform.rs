//! Performs one run and measures it. One run at a time: nothing else of the study is running.
//!
//! Must not know: studies, files of rows, what was run before.

use std::collections::BTreeMap;

use datapump::Report;
use datapump_engine::os::linux::ContextSwitches;
use serde_json::Value;

mod command;
pub mod datagrams;
mod job;
pub mod request_response;

pub use command::{CommandLine, quoted};
pub use job::run_job;

use crate::row::{ExplainedRow, ReaderRow};
use datapump_netlab::emulator::PathStats;

/// Where a row has what its path in a box did.
const PATH_STATS: &str = "path_stats";

/// What one run did and cost. The fields are those of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// `None` if it did what was asked, else the class of the problem and what went wrong.
    pub problem: Option<(String, String)>,
    /// What was run.
    pub command: String,
    /// Wall time.
    pub elapsed_ns: u64,
    /// CPU time in user mode.
    pub user_ns: Option<u64>,
    /// CPU time in the kernel.
    pub system_ns: Option<u64>,
    /// Largest memory of the command.
    pub max_rss_bytes: Option<u64>,
    /// How often threads left a CPU.
    pub switches: ContextSwitches,
    /// What this program's own report says, if there is one.
    pub report: Option<Reported>,
    /// What a command says was used: a setting of the machine, a rate that was reached.
    pub achieved: BTreeMap<String, Value>,
    /// What each program that was started beside others says of itself.
    pub readers: Vec<ReaderRow>,
}

impl Measured {
    /// What the path in a box did. One that ended early was not there for all of the run.
    pub fn add_path(&mut self, path: anyhow::Result<PathStats>) {
        let stats = path.map(|stats| serde_json::to_value(stats).unwrap_or_default());
        match stats {
            Ok(stats) => drop(self.achieved.insert(PATH_STATS.into(), stats)),
            Err(error) if self.problem.is_none() => {
                self.problem = Some(("io".into(), format!("the path in a box ended: {error:#}")));
            }
            Err(_) => {}
        }
    }
}

/// A job's report, whether the job ran here or in another process, perhaps of another version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// The report.
    pub report: Report,
    /// What an explanation predicted.
    pub explained: Option<ExplainedRow>,
}

impl Reported {
    /// Reads it; `None` where nothing was moved.
    pub(crate) fn read(report: Value) -> Option<Reported> {
        report.get("bytes")?;
        let explained = serde_json::from_value(report.clone()).ok();
        let report: Report = serde_json::from_value(report).ok()?;
        // Where the copies of a study lay says nothing, and rows are given away.
        Some(Reported { report: Report { targets: Vec::new(), ..report }, explained })
    }

    /// What was used, under the names of factors where there are any.
    pub fn achieved(&self) -> BTreeMap<String, Value> {
        let Report { engine, direct, reflink, request_bytes, source_depth, sink_depth, lanes, .. } =
            &self.report;
        let words = [("engine", engine), ("direct", direct), ("reflink", reflink)];
        let words = words.into_iter().filter(|(_, asked)| !asked.got.is_empty());
        let words = words.map(|(name, asked)| (name.to_string(), Value::from(asked.got.as_str())));
        let numbers = [
            ("request_size", *request_bytes),
            ("source_depth", *source_depth),
            ("sink_depth", *sink_depth),
            ("lanes", *lanes),
        ];
        let numbers = numbers.into_iter().filter(|(_, number)| *number > 0);
        words.chain(numbers.map(|(name, number)| (name.to_string(), number.into()))).collect()
    }

    /// Waits by stage.
    pub fn waits_ns(&self) -> BTreeMap<String, u64> {
        let waits = serde_json::to_value(self.report.waits_ns);
        waits.and_then(serde_json::from_value).unwrap_or_default()
    }

    /// What a receive from the network returned in the mean.
    pub fn mean_part_bytes(&self) -> Option<u64> {
        self.report.network.map(|network| network.mean_part_bytes).filter(|bytes| *bytes > 0)
    }

    /// The class of its first problem, in the order of names.
    fn class(&self) -> Option<String> {
        self.report.problems.keys().next().cloned()
    }
}
