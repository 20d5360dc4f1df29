//! A row: one run, as one line of JSON. ROWS.md says what each field means, schema/row.schema.json what form it has.
//!
//! Rows are appended one at a time and at once; everything else is computed from them and can be thrown away.
//! Must not know: how a run is performed, what is computed from rows.

use std::collections::BTreeMap;

use datapump::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::probe::soaked::{Calibration, Soaked};
use crate::study::Level;

mod disturbance;
mod explained;
mod fields;
mod file;
mod form;
mod read;
mod reader;
mod session;
mod session_round;

pub use disturbance::{Disturbance, DisturbedRows, undisturbed, undisturbed_rows};
pub use explained::{ExplainedRow, words as explained_words};
pub use file::{RowFile, read_rows};
pub(crate) use file::{rows_of, with_losses};
pub(crate) use read::BYTE_ORDER_MARK;
pub use reader::ReaderRow;
pub(crate) use session::name_sessions;
pub(crate) use session_round::SessionRound;

/// Version of the form: a row of it has all fields of [`Row`] and no others. A new field makes a new version.
pub const VERSION: u32 = 2;

/// The `outcome` of a run that did what was asked; any other is the class of a problem.
pub const COMPLETED: &str = "completed";

/// One run. Times are in nanoseconds; `None` is null: not measured, or not applicable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Version of the form.
    pub v: u32,
    /// Name of the study.
    pub study: String,
    /// Level of every factor.
    pub asked: BTreeMap<String, Level>,
    /// What was used instead of what was asked, or by a rule.
    pub achieved: BTreeMap<String, Value>,
    /// The round, from 0.
    pub repeat: u32,
    /// The seed.
    pub seed: u64,
    /// `completed`, or the class of the problem.
    pub outcome: String,
    /// Bytes that were to be moved.
    pub bytes: u64,
    /// Blocks moved.
    pub requests: Option<u64>,
    /// Completions that moved less than asked.
    pub partial_returns: Option<u64>,
    /// Mean of what a receive from the network returned.
    #[serde(default)]
    pub mean_part_bytes: Option<u64>,
    /// Wall time of the whole run.
    pub elapsed_ns: u64,
    /// Until the first lane had nothing left to do.
    pub first_done_ns: Option<u64>,
    /// Until the last lane had nothing left to do.
    pub last_done_ns: Option<u64>,
    /// Until all was on stable storage.
    pub synced_ns: Option<u64>,
    /// CPU time in user mode.
    pub user_ns: Option<u64>,
    /// CPU time in the kernel.
    pub system_ns: Option<u64>,
    /// CPU time left over to the soaker.
    pub soaked_ns: Option<u64>,
    /// CPU time for one request.
    pub cpu_us_per_request: Option<f64>,
    /// Waits by stage.
    pub waits_ns: Option<BTreeMap<String, u64>>,
    /// How long requests took, by end.
    #[serde(default)]
    pub latency_ns: Option<Value>,
    /// The report of the job that was run, whole.
    #[serde(default)]
    pub report: Option<Box<Report>>,
    /// What TCP says of the connection.
    pub tcp: Option<Value>,
    /// What was predicted of the copy, if the run was an explanation.
    #[serde(default)]
    pub explained: Option<ExplainedRow>,
    /// Each of the readers that the run started together; null where the study has no factor `readers`.
    #[serde(default)]
    pub readers: Option<Vec<ReaderRow>>,
    /// Name of the host.
    pub host: String,
    /// Model of its processors.
    pub cpu_model: String,
    /// Clock of its processors in MHz.
    #[serde(default)]
    pub cpu_mhz: Option<f64>,
    /// Number of processors that the program may use.
    pub cpus: u32,
    /// The kernel's clock.
    pub clock_source: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Kind of file system of the study's folder.
    pub file_system: String,
    /// State of the source in the page cache.
    pub cache_state: String,
    /// Load average of the last minute before the run.
    pub load: f64,
    /// Version of the program.
    pub version: String,
    /// Build of the program that was measured.
    #[serde(default)]
    pub build: String,
    /// The machine, not to be traced back to it.
    #[serde(default)]
    pub machine_id: Option<String>,
    /// The call of the program that made the row.
    #[serde(default)]
    pub session: String,
    /// The command line that was run, or that does the same.
    pub command: String,
    /// Place in the shuffled order.
    pub order: u64,
    /// When the run began.
    pub time: String,
    /// CPU time of the whole machine during the run.
    pub machine_cpu_ns: Option<u64>,
    /// Where that was read.
    pub machine_cpu_by: Option<String>,
    /// CPU time of this program's control group during the run.
    #[serde(default)]
    pub group_cpu_ns: Option<u64>,
    /// Which group that is.
    #[serde(default)]
    pub group_cpu_by: Option<String>,
    /// CPU time of the run by the soaker.
    #[serde(default)]
    pub soaker: Option<Soaked>,
    /// How often threads left their CPU to wait.
    #[serde(default)]
    pub voluntary_switches: Option<u64>,
    /// How often they left it because the system ran others.
    #[serde(default)]
    pub involuntary_switches: Option<u64>,
    /// Wake-ups of threads on the whole machine during the run.
    #[serde(default)]
    pub wakeups: Option<u64>,
    /// Time of all CPUs that a hypervisor took during the run.
    #[serde(default)]
    pub stolen_ns: Option<u64>,
    /// How long a fixed spin took right before the run.
    #[serde(default)]
    pub pace_before_ns: Option<u64>,
    /// How long it took right after.
    #[serde(default)]
    pub pace_after_ns: Option<u64>,
    /// Largest memory of the command.
    pub max_rss_bytes: Option<u64>,
    /// Whether the disk was quiet before the run.
    pub quiet: Option<bool>,
    /// What went wrong.
    pub message: Option<String>,
    /// What the study compares with.
    #[serde(default)]
    pub baselines: Vec<BTreeMap<String, Level>>,
    /// Programs that the study requires and that were not there.
    #[serde(default)]
    pub absent: Vec<String>,
    /// The study with all changes, as a file: in its first row, and where it has changed.
    #[serde(default)]
    pub study_text: Option<String>,
}

impl Row {
    /// Bytes of a request: what was achieved, else what was asked.
    ///
    /// Errors: why there is none, in words.
    pub fn request_bytes(&self) -> Result<u64, String> {
        let achieved = self.achieved.get("request_size").and_then(Value::as_u64);
        let bytes = match (achieved, self.asked.get("request_size")) {
            (Some(bytes), _) => bytes,
            (None, Some(Level::Number(bytes))) => u64::try_from(*bytes).unwrap_or(0),
            (None, Some(Level::Word(word))) => {
                datapump::units::parse_bytes(word).map_err(|why| format!("request_size: {why}"))?
            }
            (None, None) => return Err("there is no factor request_size".into()),
        };
        (bytes > 0).then_some(bytes).ok_or_else(|| "request_size must be above 0".into())
    }

    /// The rate of the transfer alone, where the run reports it: a program's start is no part of it.
    pub fn bytes_per_second(&self) -> f64 {
        let report = self.report.as_ref().filter(|report| report.elapsed_ns > 0 && report.bytes > 0);
        report.map_or(self.bytes as f64 * 1e9 / self.elapsed_ns as f64, |report| report.bytes_per_second())
    }

    /// Whether the run did what was asked.
    pub fn is_completed(&self) -> bool {
        self.outcome == COMPLETED
    }

    /// This row with the CPU time for one request, from the fields that say both.
    #[must_use]
    pub fn with_cpu_per_request(self) -> Row {
        let cpu_ns = self.user_ns.zip(self.system_ns).map(|(user, system)| user + system);
        let requests = self.requests.filter(|&requests| requests > 0);
        let us = |(ns, requests): (u64, u64)| ns as f64 / 1e3 / requests as f64;
        Row { cpu_us_per_request: cpu_ns.zip(requests).map(us), ..self }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn row(repeat: u32) -> Row {
        let asked =
            BTreeMap::from([("depth".into(), Level::from(8)), ("engine".into(), Level::from("inline"))]);
        Row { v: VERSION, study: "tiny".into(), asked, repeat, outcome: COMPLETED.into(), ..Row::default() }
    }

    #[test]
    fn rows_are_appended_and_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.jsonl");
        let (mut file, before) = RowFile::open(&path).expect("new");
        assert_eq!(before, []);
        file.append(&row(0)).expect("written");
        file.append(&row(1)).expect("written");
        assert_eq!(read_rows(&path).expect("readable"), [row(0), row(1)]);
    }

    #[test]
    fn a_torn_last_line_is_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.jsonl");
        RowFile::open(&path).expect("new").0.append(&row(0)).expect("written");
        let whole = std::fs::read(&path).expect("readable");
        std::fs::write(&path, [&whole[..], b"{\"v\":1,\"study\":\"ti"].concat()).expect("writable");
        assert_eq!(read_rows(&path).expect("readable"), [row(0)]);
        let (mut file, rows) = RowFile::open(&path).expect("readable");
        assert_eq!(rows, [row(0)]);
        file.append(&row(1)).expect("written");
        assert_eq!(read_rows(&path).expect("readable"), [row(0), row(1)]);
    }

    #[test]
    fn a_last_row_without_the_end_of_its_line_is_kept_and_another_file_is_not_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.jsonl");
        std::fs::write(&path, serde_json::to_string(&row(0)).expect("JSON")).expect("room");
        RowFile::open(&path).expect("a row").0.append(&row(1)).expect("written");
        assert_eq!(read_rows(&path).expect("readable"), [row(0), row(1)]);
        std::fs::write(&path, "my notes").expect("room");
        assert!(RowFile::open(&path).is_err());
        assert_eq!(std::fs::read(&path).expect("readable"), b"my notes");
    }

    #[test]
    fn a_row_of_the_fields_published_first_is_a_row_of_the_first_version() {
        const PUBLISHED: &str = "v study asked achieved repeat seed outcome bytes requests partial_returns elapsed_ns \
            first_done_ns last_done_ns synced_ns user_ns system_ns soaked_ns cpu_us_per_request waits_ns tcp host \
            cpu_model cpus clock_source kernel file_system cache_state load version command order time";
        let first = Row { v: 1, ..row(3) };
        let mut fields = serde_json::to_value(&first).expect("JSON");
        let published: Vec<&str> = PUBLISHED.split_whitespace().collect();
        fields.as_object_mut().expect("an object").retain(|name, _| published.contains(&name.as_str()));
        assert_eq!(fields.as_object().map(serde_json::Map::len), Some(published.len()));
        assert_eq!(form::row(fields).expect("a row"), first);
    }

    /// The names in the first column of the page's table.
    fn documented() -> Vec<String> {
        let page = include_str!("../ROWS.md");
        let names = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        names.map(|(name, _)| name.to_string()).collect()
    }

    #[test]
    fn the_writer_and_the_page_name_the_same_fields() {
        let line = serde_json::to_string(&row(0)).expect("JSON");
        let fields: serde_json::Map<String, Value> = serde_json::from_str(&line).expect("an object");
        let mut documented = documented();
        documented.sort();
        assert_eq!(fields.keys().cloned().collect::<Vec<_>>(), documented, "ROWS.md");
    }

    fn any_row() -> impl Strategy<Value = Row> {
        let level = prop_oneof![
            any::<i64>().prop_map(Level::Number),
            "[ -~äß]{0,8}".prop_map(|it| Level::from(&*it))
        ];
        let asked = prop::collection::btree_map("[a-z_]{1,8}", level, 0..4);
        let number = || prop::option::of(0..i64::MAX as u64);
        let text = || "\\PC{0,12}";
        (
            asked,
            number(),
            number(),
            prop::option::of(0.0..1e12_f64),
            any::<u64>(),
            text(),
            prop::option::of(text()),
        )
            .prop_map(|(asked, requests, user_ns, cpu_us_per_request, seed, command, message)| Row {
                asked: asked.clone(),
                baselines: vec![asked],
                requests,
                user_ns,
                cpu_us_per_request,
                seed,
                command,
                message,
                waits_ns: user_ns.map(|ns| BTreeMap::from([("source".to_string(), ns)])),
                ..row(1)
            })
    }

    proptest! {
        #[test]
        fn any_row_survives_its_line(row in any_row()) {
            let line = serde_json::to_string(&row).expect("JSON");
            prop_assert!(!line.contains('\n'));
            let back: Row = serde_json::from_str(&line).expect("readable");
            prop_assert_eq!(&back.asked, &row.asked);
            // serde_json reads a number within one unit of the last place.
            let close = |one: Option<f64>, other: Option<f64>| match (one, other) {
                (Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1e-15,
                (one, other) => one == other,
            };
            prop_assert!(close(back.cpu_us_per_request, row.cpu_us_per_request));
            prop_assert_eq!(Row { cpu_us_per_request: None, ..back }, Row { cpu_us_per_request: None, ..row });
        }
    }
}
