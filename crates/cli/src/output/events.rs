//! The forms of the events of `--json`. schema/events.schema.json is generated from them: what a comment says of a
//! field is its description there.
//!
//! Must not know: where lines are written, when.

use std::collections::BTreeMap;

use datapump::{ChangeKind, Class, LimitedBy, Operation, Phase, Report};
use datapump_lab::access::Accessed;
use datapump_lab::advise::explain::{Part, PartName, advice::Cause};
use datapump_lab::advise::pid::{Verdict, watched::Watched};
use datapump_lab::advise::profile::{ChainForecast, Component, JudgedCopies, Machine, Profile, ProfileCheck};
use datapump_lab::advise::tune::Tuned;
use datapump_lab::datagrams::{UdpLatency, UdpThroughput};
use datapump_lab::judge::cost::{ApplicationCell, ChainPrediction, CpuBy, GroupFit, PipelineRow, Statement};
use datapump_lab::judge::crossings::CrossingWay;
use datapump_lab::judge::depths::DepthOutcome;
use datapump_lab::judge::depths::knees::Knee;
use datapump_lab::judge::pages::PageCurve;
use datapump_lab::judge::traced::{TracedFlow, TracedPeriod};
use datapump_lab::memory::MemoryCopied;
use datapump_lab::reproduce::{ListedDocument, Reproduced};
use datapump_lab::request_response::RequestResponse;
use datapump_lab::row::DisturbedRows;
use datapump_lab::scrub::Scrubbed;
use datapump_lab::tcp_trace::{TcpSample, TcpTraced};
use datapump_lab::{Comparison, StudySummary, Trend};
use datapump_netlab::congestion::{PathOutcome, RecoveryOutcome, ResponseOutcome, SharingOutcome};
use datapump_netlab::emulator::PathStats;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::findings::Finding;

/// Events of pump --json: one object a line on standard output. The last line is always a report. Fields may be added;
/// a name never changes its meaning.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventLine<'a> {
    /// A job begins.
    Start(StartLine<'a>),
    /// A file is complete.
    File(FileLine<'a>),
    /// Something was done that is no copied file; with -i those are told like this, too.
    Change(ChangeLine<'a>),
    /// Something went wrong.
    Problem(ProblemLine<'a>),
    /// How far the job is.
    Progress(ProgressLine),
    /// What would be done with one file (-n).
    Plan(PlanLine),
    /// What pump doctor found.
    Finding(&'a Finding),
    /// What rows of studies say (pump lab run, report).
    Summary(SummaryLine<'a>),
    /// A fit of costs or latencies (pump lab fit).
    Fit(&'a GroupFit),
    /// What a chain of parts will do (pump lab predict --parts, --profile).
    Prediction(PredictionLine<'a>),
    /// A pipeline, simulated (pump lab predict --pipeline).
    Pipeline(&'a PipelineRow),
    /// A published statement, checked (pump lab predict --golden).
    Statement(&'a Statement),
    /// A rule for depths, simulated (pump lab simulate depths).
    Depths(&'a DepthOutcome),
    /// The mean window at a loss rate, simulated (pump lab simulate response).
    Response(&'a ResponseOutcome),
    /// The time until a rate is back, simulated (pump lab simulate recovery).
    Recovery(&'a RecoveryOutcome),
    /// One flow over a path, simulated (pump lab simulate path).
    Path(&'a PathOutcome),
    /// Flows on one link, simulated (pump lab simulate sharing).
    Sharing(&'a SharingOutcome),
    /// A path in a box is laid (pump lab path).
    Ready,
    /// What went over a path in a box (pump lab path).
    PathStats(&'a PathStats),
    /// Round trips of datagrams by frame size (pump lab udp latency).
    UdpLatency(&'a UdpLatency),
    /// What came of a paced stream of datagrams (pump lab udp throughput).
    UdpThroughput(&'a UdpThroughput),
    /// Answers over one connection, in round trips (pump lab request-response).
    RequestResponse(&'a RequestResponse),
    /// The last line of a job.
    Report(ReportLine<'a>),
    /// The last line of a command that moves nothing.
    #[serde(rename = "report")]
    Ended(EndedLine<'a>),
    /// What a search found to use for a copy (pump tune).
    Tuned(&'a Tuned),
    /// What was seen of a running process, and what limits it (pump explain --pid).
    Watched(WatchedLine<'a>),
    /// One sample of a TCP connection (pump lab tcp-watch, copy --tcp-trace): crates/lab/TCP.md.
    #[expect(dead_code, reason = "the lab writes these, into files of their own")]
    Tcp(TcpSample<'a>),
    /// What a time series of TCP connections came to (pump lab tcp-watch).
    TcpWatched(&'a TcpTraced),
    /// What a connection of a time series came to (pump lab tcp-read).
    TcpFlow(&'a TracedFlow),
    /// The share of each connection in a part of a time series (pump lab tcp-read).
    TcpPeriod(&'a TracedPeriod),
    /// What two files of rows, or two programs, say of each other (pump lab compare).
    Comparison(&'a Comparison),
    /// The effect of each change of build or kernel on a study (pump lab trend).
    Trend(&'a Trend),
    /// A founding document that can be redone (pump lab reproduce --list).
    Document(&'a ListedDocument),
    /// The page of a founding document (pump lab reproduce).
    Reproduced(&'a Reproduced),
    /// What the components of a machine cost (pump lab profile).
    Profile(ProfileLine<'a>),
    /// A forecast beside rows (pump lab predict --against).
    Against(&'a ProfileCheck),
    /// Copies beside predictions from parts of the same rounds (pump lab predict --judge).
    JudgedCopies(&'a JudgedCopies),
    /// What was written to show corruption, or found of it (pump lab scrub).
    Scrub(&'a Scrubbed),
    /// What a pass through a file did and cost (pump lab access).
    Access(&'a Accessed),
    /// One interface's curve over what is used of each page (pump lab fit --model touch).
    Curve(&'a PageCurve),
    /// What memory gave (pump lab memory).
    Memory(&'a MemoryCopied),
    /// One way's rate beside what memory allows it (pump lab fit --model crossings).
    Crossings(&'a CrossingWay),
    /// What an application gets of a path (pump lab fit --model overhead).
    Application(&'a ApplicationCell),
    /// The smallest request size or depth that is enough (pump lab fit --model knee).
    Knee(&'a Knee),
    /// How many runs of the rows were disturbed, if any (pump lab fit, profile, predict --against and --judge).
    Disturbed(&'a DisturbedRows),
}

/// A profile, but for the version of its form: each line has one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProfileLine<'a> {
    /// When it was complete.
    time: &'a str,
    /// Version of the program.
    version: &'a str,
    /// Whose it is.
    machine: &'a Machine,
    /// By which measure CPU time is counted, in all components.
    cpu_by: CpuBy,
    /// CPU time of a wake-up, in microseconds; null if unknown.
    wakeup_us: Option<f64>,
    /// What each component does.
    components: &'a [Component],
}

impl<'a> From<&'a Profile> for ProfileLine<'a> {
    fn from(profile: &'a Profile) -> ProfileLine<'a> {
        let Profile { v: _, time, version, machine, cpu_by, wakeup_us, components } = profile;
        ProfileLine { time, version, machine, cpu_by: *cpu_by, wakeup_us: *wakeup_us, components }
    }
}

/// The beginning of a job.
#[derive(Serialize, JsonSchema)]
pub struct StartLine<'a> {
    /// Version of the program.
    pub version: &'a str,
    /// Name of the command: copy, mirror, verify, hash, demo or explain.
    pub command: &'a str,
    /// Nothing is changed: it is told what would be (-n).
    pub dry_run: bool,
    /// Places.
    pub sources: Vec<String>,
    /// Place; null where there is none.
    pub target: Option<String>,
}

/// The name of a file.
#[derive(Serialize, JsonSchema)]
pub struct FileName {
    /// As the user named it; what is not UTF-8 is replaced.
    pub path: String,
    /// The name's bytes in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
}

/// A complete file.
#[derive(Serialize, JsonSchema)]
pub struct FileLine<'a> {
    /// Its name.
    #[serde(flatten)]
    pub name: FileName,
    /// Its length.
    pub bytes: u64,
    /// What b3sum prints, when it was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<&'a str>,
}

/// Something that was done.
#[derive(Serialize, JsonSchema)]
pub struct ChangeLine<'a> {
    /// The name at the target; in the source, where it is removed from that.
    #[serde(flatten)]
    pub name: FileName,
    /// What was done.
    pub kind: DoneKind,
    /// What the name is: file, folder, symlink, device, pipe or socket.
    pub what: &'a str,
    /// What a symbolic link points to, the name that a hard link was made of (where that is at the target), or the path
    /// of a backup; what is not UTF-8 is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Its bytes in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_bytes: Option<String>,
    /// The letters of rsync, with -i.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub itemized: Option<&'a str>,
}

/// What was done to a name.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoneKind {
    /// A file was copied (with -i).
    Copied,
    /// A folder, symbolic link, pipe or device was made.
    Made,
    /// It was made a hard link.
    Linked,
    /// Its attributes were set; its content was right.
    AttributesSet,
    /// It was removed at the target.
    Deleted,
    /// What stood there got the name of a backup.
    BackedUp,
    /// It was removed from the source.
    RemovedFromSource,
}

impl DoneKind {
    /// The kind for a change of such a thing.
    pub fn from_change(kind: ChangeKind, what: &str) -> DoneKind {
        match kind {
            ChangeKind::Copy if what == "file" => DoneKind::Copied,
            ChangeKind::Copy => DoneKind::Made,
            ChangeKind::Link => DoneKind::Linked,
            ChangeKind::Adjust => DoneKind::AttributesSet,
            ChangeKind::Delete => DoneKind::Deleted,
            ChangeKind::Backup => DoneKind::BackedUp,
            ChangeKind::RemoveSource => DoneKind::RemovedFromSource,
        }
    }
}

/// A problem.
#[derive(Serialize, JsonSchema)]
pub struct ProblemLine<'a> {
    /// Its class, which has an exit status.
    pub class: Class,
    /// The file, if one is concerned; what is not UTF-8 is replaced.
    pub path: Option<String>,
    /// The name's bytes in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<String>,
    /// What was being done.
    pub operation: Operation,
    /// Offset in bytes, where it matters.
    pub offset: Option<u64>,
    /// What the system said and what to do next.
    pub message: &'a str,
    /// The system's error number that it comes from, if it does: errno(3) of the host that it happened on.
    pub errno: Option<i32>,
}

/// How far a job is.
#[derive(Serialize, JsonSchema)]
pub struct ProgressLine {
    /// When: RFC 3339, in UTC.
    pub time: String,
    /// Since the job began.
    pub elapsed_ns: u64,
    /// What the job does.
    pub phase: Phase,
    /// Bytes that are there: moved, of an earlier copy, or right as they stood.
    pub bytes: u64,
    /// Null while unknown.
    pub bytes_total: Option<u64>,
    /// Files that are there.
    pub files: u64,
    /// Files found so far; all of them, once the total of bytes is known. Null where no folder is copied.
    pub files_total: Option<u64>,
    /// A file of a tree that is moved at the moment, for people: what is not UTF-8 is replaced or escaped.
    /// Null where it is not known.
    pub at_hand: Option<String>,
    /// Names of trees that were compared with the target so far: files, folders and all others.
    pub names: u64,
    /// Names that there are to compare; null while unknown.
    pub names_total: Option<u64>,
    /// Names removed so far.
    pub deleted: u64,
    /// Names that are to be removed, those removed so far included; null before they were counted.
    pub to_delete: Option<u64>,
    /// 0 to 100. Never falls; null while the total is unknown.
    pub percent: Option<f64>,
    /// Over the last seconds.
    pub rate_bytes_per_second: f64,
    /// The fewest seconds left; null while unknown.
    pub time_left_low_s: Option<f64>,
    /// The most seconds left; null while unknown.
    pub time_left_high_s: Option<f64>,
    /// What bounds the job so far.
    pub limited_by: LimitedBy,
}

/// What would be done with one file.
#[derive(Serialize, JsonSchema)]
pub struct PlanLine {
    /// Where its bytes come from.
    pub source: String,
    /// Where they go.
    pub target: String,
    /// Null where unknown.
    pub bytes: Option<u64>,
    /// Which way, and why.
    pub how: String,
}

/// What rows say.
#[derive(Serialize, JsonSchema)]
pub struct SummaryLine<'a> {
    /// The studies, by name.
    pub studies: &'a [StudySummary],
}

/// A prediction for a chain.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PredictionLine<'a> {
    /// From what parts cost.
    OfParts(&'a ChainPrediction),
    /// From a profile.
    OfProfile(&'a ChainForecast),
}

/// The last line of a job: its report, with what commands have to say of it.
#[derive(Serialize, JsonSchema)]
pub struct ReportLine<'a> {
    /// The build of the program: commit, else a hash of its file.
    pub build: &'a str,
    /// The report.
    #[serde(flatten)]
    pub report: &'a Report,
    /// What to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'a str>,
    /// What its parts say of it (pump explain).
    #[serde(flatten)]
    pub explained: Option<ExplainedLine<'a>>,
}

/// What the parts of a copy say of it.
#[derive(Serialize, JsonSchema)]
pub struct ExplainedLine<'a> {
    /// What the parts allow together, written down before the copy; null if nothing was predicted.
    pub predicted_bytes_per_second: Option<f64>,
    /// Lower end of the interval that contains 9 of 10 next copies; null below three rounds.
    pub predicted_bytes_per_second_low: Option<f64>,
    /// Its upper end.
    pub predicted_bytes_per_second_high: Option<f64>,
    /// CPU time of both hosts for each byte, as predicted.
    pub predicted_ns_per_byte: Option<f64>,
    /// Lower end of the interval that contains the CPU time of 9 of 10 next copies.
    pub predicted_ns_per_byte_low: Option<f64>,
    /// Its upper end.
    pub predicted_ns_per_byte_high: Option<f64>,
    /// Rounds of slices that the prediction was made from; null if nothing was predicted.
    pub rounds: Option<u64>,
    /// Parts, rounds and prediction as lines of words and figures, made before the copy.
    pub prediction_text: Option<&'a str>,
    /// BLAKE3 of that text, in hexadecimal digits.
    pub prediction_digest: Option<&'a str>,
    /// Bytes of the copy over its time.
    pub observed_bytes_per_second: f64,
    /// CPU time of both hosts for each byte.
    pub observed_ns_per_byte: f64,
    /// By how much the faster of the two is faster than the other.
    pub error_percent: Option<f64>,
    /// The parts, each alone.
    pub parts: &'a [Part],
    /// Parts that could not be measured, and why.
    pub unmeasured: &'a [String],
    /// One device serves both ends.
    pub shared_device: bool,
    /// The slowest part.
    pub slowest_part: Option<PartName>,
    /// The part that limits next; null where nothing was found to limit, or other programs used the CPUs.
    pub next_part: Option<PartName>,
    /// Its bandwidth, measured alone.
    pub next_part_bytes_per_second: Option<f64>,
    /// Against what the advice is.
    pub advice_cause: Cause,
    /// The flag with its value, if the advice is one.
    pub advice_flag: Option<&'a str>,
    /// How many times as fast the part was with it, measured; null if it was not tried.
    pub advice_gain: Option<f64>,
    /// Number of copies made because one was too short to explain, with slices of the whole copy: all but one into unnamed
    /// temporary files, or to `null:`. Null if it was long enough.
    pub copied_times: Option<u64>,
    /// Time of all these copies. The verdict is of all of them; `limited_detail` has their shares of the first one's time.
    pub copied_ns: Option<u64>,
    /// Why it was not repeated, or not often enough; null if it was.
    pub not_repeated: Option<&'a str>,
    /// All of it in one paragraph; empty if the copy failed.
    pub explanation: &'a str,
    /// Time that was spent besides the copy.
    pub added_ns: u64,
}

/// The last line of a command that moves nothing.
#[derive(Serialize, JsonSchema)]
pub struct EndedLine<'a> {
    /// Version of the program.
    pub version: &'a str,
    /// Exit status of the contract.
    pub exit_status: i32,
    /// Problems, counted by class.
    pub problems: BTreeMap<&'static str, u64>,
}

/// What was seen of a process.
#[derive(Serialize, JsonSchema)]
pub struct WatchedLine<'a> {
    /// What limits it.
    #[serde(flatten)]
    pub verdict: &'a Verdict,
    /// What was seen.
    #[serde(flatten)]
    pub watched: &'a Watched,
}
