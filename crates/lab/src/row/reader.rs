//! What each reader of a run did, where several run at once: their reports, one a line, and a line for each reader that
//! gave none.
//!
//! A record for each reader stands in the row of its run, not in a row of its own: the CPU time of the server and of
//! the machine is that of the run, a run is a pair of one other run, and it is run again as a whole or not at all.
//!
//! Must not know: how readers are started, what is computed from their latencies.

use datapump::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{COMPLETED, Row};

/// The lines of `readers` in rig/host.sh.
const NO_REPORT: &str = "reader";

/// One of the readers that a run starts together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReaderRow {
    /// `completed`, or the class of its problem; `lost` if it ended without a report.
    pub outcome: String,
    /// Its latency: wall time from its start until it had everything; null if it ended without a report.
    pub elapsed_ns: Option<u64>,
    /// Bytes that it read.
    pub bytes: u64,
    /// Blocks that it read.
    pub requests: u64,
    /// What its process ended with.
    pub exit_status: i64,
}

impl ReaderRow {
    /// What its last line says; `None` of any other line.
    pub(crate) fn read(line: &Value) -> Option<ReaderRow> {
        let exit_status = line["exit_status"].as_i64()?;
        if line["event"] == NO_REPORT {
            return Some(ReaderRow { outcome: "lost".into(), exit_status, ..ReaderRow::default() });
        }
        line.get("bytes").filter(|_| line["event"] == "report")?;
        let report: Report = serde_json::from_value(line.clone()).ok()?;
        let class = report.problems.keys().next().cloned().unwrap_or_else(|| "io".into());
        Some(ReaderRow {
            outcome: if exit_status == 0 { COMPLETED.into() } else { class },
            elapsed_ns: Some(report.elapsed_ns),
            bytes: report.bytes,
            requests: report.requests,
            exit_status,
        })
    }

    /// How long it took, in seconds, if it did what was asked.
    pub fn latency_s(&self) -> Option<f64> {
        let elapsed_ns = self.elapsed_ns.filter(|&ns| ns > 0 && self.outcome == COMPLETED)?;
        Some(elapsed_ns as f64 / 1e9)
    }
}

impl Row {
    /// This row, of a run that started these readers; as it is if it started none. Its bytes and requests are those of
    /// all of them.
    #[must_use]
    pub fn with_readers(self, readers: Vec<ReaderRow>) -> Row {
        if readers.is_empty() {
            return self;
        }
        let bytes = readers.iter().map(|reader| reader.bytes).sum();
        let requests = Some(readers.iter().map(|reader| reader.requests).sum());
        Row { bytes, requests, readers: Some(readers), ..self }
    }

    /// How long each reader took, in seconds; of a run without readers, how long it took.
    pub fn latencies_s(&self) -> Vec<f64> {
        match &self.readers {
            Some(readers) => readers.iter().filter_map(ReaderRow::latency_s).collect(),
            None => vec![self.elapsed_ns as f64 / 1e9],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_what_its_last_line_says() {
        let report = r#"{"event":"report","exit_status":0,"bytes":10,"requests":3,"elapsed_ns":2000000000,
            "partial_returns":0,"first_done_ns":0,"last_done_ns":0,"waits_ns":{}}"#;
        let failed = report.replace(r#""exit_status":0"#, r#""exit_status":10,"problems":{"lost":1}"#);
        for (line, outcome, latency_s, bytes, exit_status) in [
            (report, "completed", Some(2.0), 10, 0),
            (failed.as_str(), "lost", None, 10, 10),
            (r#"{"event":"reader","exit_status":137}"#, "lost", None, 0, 137),
        ] {
            let reader = ReaderRow::read(&serde_json::from_str(line).expect("JSON")).expect(line);
            assert_eq!((reader.outcome.as_str(), reader.latency_s()), (outcome, latency_s), "{line}");
            assert_eq!((reader.bytes, reader.exit_status), (bytes, exit_status), "{line}");
        }
        for line in [r#"{"event":"progress","bytes":1}"#, r#"{"event":"report","exit_status":2}"#, "3"] {
            assert_eq!(ReaderRow::read(&serde_json::from_str(line).expect("JSON")), None, "{line}");
        }
    }
}
