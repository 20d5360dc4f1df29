//! Performs one run and measures it. One run at a time: nothing else of the study is running.
//!
//! Must not know: studies, files of rows, what was run before.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

mod command;
mod job;

pub use command::{CommandLine, quoted};
pub use job::run_job;

use crate::row::ExplainedRow;

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
    /// What this program's own report says, if there is one.
    pub report: Option<Reported>,
}

/// What the lab takes from a job's report, whether the job ran here or in another process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Reported {
    /// Bytes of all files that were completed.
    pub bytes: u64,
    /// Blocks moved.
    pub requests: u64,
    /// Completions that moved less than was asked.
    pub partial_returns: u64,
    /// Until the first lane had nothing left to do.
    pub first_done_ns: u64,
    /// Until the last lane had nothing left to do.
    pub last_done_ns: u64,
    /// Until all was on stable storage.
    pub synced_ns: Option<u64>,
    /// Waits by stage.
    pub waits_ns: BTreeMap<String, u64>,
    /// How long requests took.
    #[serde(default)]
    pub latency_ns: Option<Value>,
    /// What an explanation predicted.
    #[serde(flatten)]
    pub explained: Option<ExplainedRow>,
    /// Problems by class.
    #[serde(default)]
    problems: BTreeMap<String, u64>,
    #[serde(default)]
    engine: AskedLevels,
    #[serde(default)]
    direct: AskedLevels,
    #[serde(default)]
    reflink: AskedLevels,
    request_bytes: Option<u64>,
    source_depth: Option<u64>,
    sink_depth: Option<u64>,
    lanes: Option<u64>,
    network: Option<MeasuredNetwork>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct MeasuredNetwork {
    #[serde(default)]
    mean_part_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct AskedLevels {
    got: String,
}

impl Reported {
    /// What was used, under the names of factors where there are any.
    pub fn achieved(&self) -> BTreeMap<String, Value> {
        let words = [("engine", &self.engine), ("direct", &self.direct), ("reflink", &self.reflink)];
        let numbers = [
            ("request_size", self.request_bytes),
            ("source_depth", self.source_depth),
            ("sink_depth", self.sink_depth),
            ("lanes", self.lanes),
        ];
        let words = words.into_iter().filter(|(_, asked)| !asked.got.is_empty());
        let words = words.map(|(name, asked)| (name.to_string(), Value::from(asked.got.as_str())));
        let numbers =
            numbers.into_iter().filter_map(|(name, number)| Some((name.to_string(), number?.into())));
        words.chain(numbers).collect()
    }

    /// What a receive from the network returned in the mean.
    pub fn mean_part_bytes(&self) -> Option<u64> {
        self.network.map(|network| network.mean_part_bytes).filter(|bytes| *bytes > 0)
    }

    /// The class of its first problem, in the order of names.
    fn class(&self) -> Option<String> {
        self.problems.keys().next().cloned()
    }
}
