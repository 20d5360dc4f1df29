//! The result of a job: what was done, what it cost, what limited it.
//!
//! Field names are those of `--json` (schema/events.schema.json) and never change their meaning.
//!
//! Must not know: how it is printed.

pub mod at_hand;
pub mod bill;
pub mod change;
pub mod charges;
pub mod cpu;
pub mod cut_leaves;
pub mod event;
pub mod failed;
pub mod latency;
pub mod not_kept;
pub mod watch;
pub mod words;

use std::collections::BTreeMap;

use datapump_core::verdict::{Cpu, LimitedBy, LimitedDetail, Waits, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::bill::{Bill, Moved};
use crate::report::cut_leaves::CutLeaves;
use crate::report::not_kept::NotKept;
use crate::units::{bytes_words, counted};

/// What was asked, what was done instead, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskedAndGot {
    /// What was asked: a value of the flag.
    pub asked: String,
    /// What was used.
    pub got: String,
    /// Why, where the two differ or a rule decided.
    pub why: String,
}

/// The connections for blocks between two hosts. Times are summed over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Network {
    /// How many.
    pub connections: u32,
    /// Both hosts are one machine, whose CPUs and devices serve both.
    pub same_host: bool,
    /// The sender sealed what it sent.
    pub sealing_ns: u64,
    /// The sender was inside calls that send.
    pub sending_ns: u64,
    /// The receiver was inside calls that receive.
    pub receiving_ns: u64,
    /// The receiver opened what it received.
    pub opening_ns: u64,
    /// Returns of receives, but for heads and hashes alone: blocks come in parts, which are put together in the slots.
    pub received_parts: u64,
    /// The mean size of a part, as it came.
    pub mean_part_bytes: u64,
    /// The longest smoothed round trip of a connection, as the sender's kernel has it; so are the fields below.
    pub rtt_us: u64,
    /// The longest of the connections' shortest round trips.
    pub min_rtt_us: u64,
    /// The shortest wait for an answer to a message of the session. Behind a relay the kernel does not see the path.
    pub answer_us: u64,
    /// Requests that would have filled the path: how fast data arrived at the end, times the longer of the two.
    pub filling_depth: u32,
    /// Segments with data that were sent.
    pub sent_segments: u64,
    /// Segments that were sent again.
    pub retransmitted_segments: u64,
    /// How fast data arrived at the end.
    pub delivered_bytes_per_second: u64,
    /// There was something to send, or to be acknowledged.
    pub busy_ns: u64,
    /// Of that, the receiver's window was full.
    pub receive_window_limited_ns: u64,
    /// Of that, the send buffer was too small.
    pub send_buffer_limited_ns: u64,
}

impl RoundTrips {
    /// All that waited for one another.
    pub fn all(&self) -> u64 {
        let RoundTrips { connecting, beginning, listing, data, ending, .. } = self;
        [connecting, beginning, listing, data, ending]
            .into_iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Requests that were under way at a time; 0 where they were not counted.
    pub fn under_way(&self) -> u64 {
        let trips = self.listing.saturating_add(self.data);
        if self.requests == 0 { 0 } else { (self.requests.saturating_add(trips / 2) / trips.max(1)).max(1) }
    }
}

impl Network {
    /// The path's round trip: of what the kernel and the session saw the longer one.
    pub fn round_trip_us(&self) -> u64 {
        self.min_rtt_us.max(self.answer_us)
    }

    /// What crossed it was encrypted.
    pub fn is_sealed(&self) -> bool {
        self.sealing_ns + self.opening_ns > 0
    }
}

/// Round trips between two hosts: the longest chain of messages that had to wait for one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RoundTrips {
    /// Until the first connection was there; what ssh needs for itself is not counted.
    pub connecting: u64,
    /// From what is wanted to the first answer.
    pub beginning: u64,
    /// For names, and what they are.
    pub listing: u64,
    /// For files and their bytes.
    pub data: u64,
    /// From the last byte to the agreement.
    pub ending: u64,
    /// Requests that were answered in `listing` and `data`: divided by these, how many were under way at a time. 0
    /// where an older version wrote.
    pub requests: u64,
}

/// How long the requests of one end took, in nanoseconds, from posting to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Half of them at most so long.
    pub p50: u64,
    /// Nine of ten.
    pub p90: u64,
    /// 99 of a hundred.
    pub p99: u64,
    /// 999 of a thousand.
    pub p999: u64,
    /// The longest.
    pub max: u64,
    /// How many there were.
    pub count: u64,
}

/// The latencies of both ends of this host; null for an end without requests, as a null end or another host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// Of reads.
    pub source: Option<Latency>,
    /// Of writes, and of copies inside the kernel.
    pub sink: Option<Latency>,
}

/// Bytes of a file that earlier runs may have had, and that no journal records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unrecorded {
    /// Bytes of all earlier runs.
    pub arrived_bytes: u64,
    /// Those that are counted in `bytes_moved_twice`.
    pub again_bytes: u64,
}

/// The result of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Report {
    /// Version of the program.
    pub version: String,
    /// Exit status of the contract.
    pub exit_status: i32,
    /// What a copy that was interrupted, or lost the other host, leaves at the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_leaves: Option<CutLeaves>,
    /// Promises that do not hold at the target, because its file system takes each file in order and once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<NotKept>,
    /// The real name of each target: with the name of the source behind a folder that was there. Of many, the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Bytes of all files that were completed.
    pub bytes: u64,
    /// Bytes that were read and written (holes are not).
    pub bytes_moved: u64,
    /// Bytes moved again after a cut: at most so many had come to an earlier run, which could not tell them any more.
    pub bytes_moved_twice: u64,
    /// What was behind it, by device and number of the temporary file: sessions of one command are added up by it.
    #[serde(skip)]
    pub unrecorded: BTreeMap<(u64, u64), Unrecorded>,
    /// Bytes that an earlier run of the same command had moved, and this one did not.
    pub bytes_resumed: u64,
    /// Files completed.
    pub files: u64,
    /// Files that an earlier run of the same command had completed, and this one left as they were.
    pub files_before: u64,
    /// Their bytes.
    pub bytes_before: u64,
    /// Files that stay as they are at the target: equal ones, and those that --update and --ignore-existing leave.
    pub files_unchanged: u64,
    /// Of these, those that are newer than the source (--update).
    pub files_newer: u64,
    /// Of these, those that --ignore-existing leaves, whatever they are.
    pub files_existing: u64,
    /// Symbolic links that were made, in folders or as themselves.
    pub links: u64,
    /// Symbolic links that stay as they are at the target.
    pub links_unchanged: u64,
    /// Names that stay at the target and got other attributes: files, and with --update folders too. 0 where an older
    /// version wrote.
    pub adjusted: u64,
    /// Folders that were made. 0 where an older version wrote.
    pub folders_made: u64,
    /// Names that were left out for what they are: sockets, and files in use by a running or cut pump.
    pub skipped: u64,
    /// Names that were removed at the target, because the source does not have them.
    pub deleted: u64,
    /// Names that were made hard links: further names of a file, and unchanged files (--link-dest); of a comparison the
    /// further names. 0 where an older version wrote, as all fields down to `problems`.
    pub hard_links: u64,
    /// Pipes and devices that were made.
    pub specials: u64,
    /// Backups of what was replaced or removed at the target (--backup).
    pub backups: u64,
    /// Names that were removed from the source (--remove-source-files).
    pub sources_removed: u64,
    /// Problems, counted by class.
    pub problems: BTreeMap<String, u64>,
    /// From start to end of the job, in nanoseconds.
    pub elapsed_ns: u64,
    /// Until the first lane had nothing left to do.
    pub first_done_ns: u64,
    /// Until the last lane had nothing left to do.
    pub last_done_ns: u64,
    /// Until all was on stable storage; null when that was not asked.
    pub synced_ns: Option<u64>,
    /// Blocks moved.
    pub requests: u64,
    /// Completions that moved less than was asked, at both ends.
    pub partial_returns: u64,
    /// Engine.
    pub engine: AskedAndGot,
    /// The engine of the sockets, between two hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets: Option<AskedAndGot>,
    /// Direct I/O.
    pub direct: AskedAndGot,
    /// Sharing of blocks.
    pub reflink: AskedAndGot,
    /// Size of a request used, in bytes.
    pub request_bytes: u32,
    /// Source depth used.
    pub source_depth: u32,
    /// Sink depth used.
    pub sink_depth: u32,
    /// Lanes used.
    pub lanes: u32,
    /// Why over a long path so many connections were opened for them, where that was for the copy to find out.
    pub lanes_why: Option<String>,
    /// What bounds the move.
    pub limited_by: LimitedBy,
    /// Where and why.
    pub limited_detail: LimitedDetail,
    /// Waits by stage. With `lanes_cpu_ns` all but `hashing` adds up to `lanes` x `elapsed_ns`.
    pub waits_ns: Waits,
    /// CPU time of the lanes' threads.
    pub lanes_cpu_ns: u64,
    /// How long requests took, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Latencies>,
    /// CPU time of this process.
    pub cpu: Cpu,
    /// CPU time of the other host's process meanwhile, whatever else it did.
    #[serde(skip_serializing_if = "Option::is_none", rename = "cpu_far")]
    pub cpu_remote: Option<Cpu>,
    /// What the connections to the other host did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Round trips to the other host, by what they were for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTrips>,
    /// Bytes of files that the other host sent without a request, and that were not wanted.
    pub bytes_dropped: u64,
    /// CPU time by stage and host, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bill: Option<Bill>,
    /// Free bytes of the target's file system before a rehearsal; missing for a copy, and where an older version wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rehearsal_free_bytes: Option<u64>,
    /// Root of the BLAKE3 tree of the last file, in hex, when it was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
}

impl Report {
    /// Bytes per second over the whole job.
    pub fn bytes_per_second(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.bytes as f64 * 1e9 / self.elapsed_ns as f64 }
    }

    /// What a bill is divided by.
    pub fn moved(&self) -> Moved {
        Moved { bytes: self.bytes_moved, requests: self.requests }
    }

    /// Wall time per block, in nanoseconds.
    pub fn ns_per_request(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.elapsed_ns as f64 / self.requests as f64 }
    }

    /// This report with that of an earlier run added: what was done, waited and paid for is of both, the limit and the
    /// like are of this one. Status and problems are for the caller to judge.
    #[must_use]
    pub fn with_earlier(self, before: &Report) -> Report {
        let later = |ns: u64| ns + before.elapsed_ns;
        let remote_host =
            [before.cpu_remote, self.cpu_remote].into_iter().flatten().reduce(|one, other| one.plus(&other));
        let sum = Report {
            bytes: self.bytes + before.bytes,
            bytes_moved: self.bytes_moved + before.bytes_moved,
            bytes_moved_twice: self.bytes_moved_twice + before.bytes_moved_twice,
            bytes_resumed: self.bytes_resumed + before.bytes_resumed,
            files: self.files + before.files,
            files_before: self.files_before + before.files_before,
            bytes_before: self.bytes_before + before.bytes_before,
            files_unchanged: self.files_unchanged + before.files_unchanged,
            files_newer: self.files_newer + before.files_newer,
            files_existing: self.files_existing + before.files_existing,
            links: self.links + before.links,
            links_unchanged: self.links_unchanged + before.links_unchanged,
            adjusted: self.adjusted + before.adjusted,
            folders_made: self.folders_made + before.folders_made,
            elapsed_ns: later(self.elapsed_ns),
            first_done_ns: later(self.first_done_ns),
            last_done_ns: later(self.last_done_ns),
            synced_ns: self.synced_ns.map(later).or(before.synced_ns),
            requests: self.requests + before.requests,
            partial_returns: self.partial_returns + before.partial_returns,
            waits_ns: self.waits_ns.plus(&before.waits_ns),
            lanes_cpu_ns: self.lanes_cpu_ns + before.lanes_cpu_ns,
            deleted: self.deleted + before.deleted,
            hard_links: self.hard_links + before.hard_links,
            specials: self.specials + before.specials,
            backups: self.backups + before.backups,
            sources_removed: self.sources_removed + before.sources_removed,
            cpu: self.cpu.plus(&before.cpu),
            cpu_remote: remote_host,
            ..self
        };
        let bill = match (&sum.bill, &before.bill) {
            (Some(bill), Some(before)) => Some(bill.plus(before, sum.moved())),
            (one, other) => {
                one.as_ref().or(other.as_ref()).map(|bill| bill.plus(&Bill::default(), sum.moved()))
            }
        };
        Report { bill, ..sum }
    }

    /// One line of numbers: `1,073,741,824 bytes, 16,384 requests, 23 ns/request, limited by cpu`.
    pub fn line(&self) -> String {
        let (bytes, requests) = (counted(self.bytes, "byte"), counted(self.requests, "request"));
        let head = format!("{bytes}, {requests}, {:.0} ns/request", self.ns_per_request());
        format!("{head}{}", self.limit_words())
    }

    /// `, limited by cpu`; nothing where no limit is known.
    fn limit_words(&self) -> String {
        match self.limited_by {
            LimitedBy::Unknown => String::new(),
            _ if self.is_too_short() => String::new(),
            LimitedBy::Balanced => ", limited by no single part".into(),
            limit => format!(", limited by {}", limit.words()),
        }
    }

    /// `Resumed at 382.0 MiB (at most 4.0 MiB sent twice).`, if it did. That all of the rest came twice, perhaps, says
    /// nothing.
    pub fn resumption(&self) -> Option<String> {
        let bytes = Some(self.bytes_resumed).filter(|&bytes| bytes > 0).map(bytes_words)?;
        let twice = match self.bytes_moved_twice {
            0 => String::new(),
            twice if twice >= self.bytes_moved => String::new(),
            twice => format!(" (at most {} sent twice)", bytes_words(twice)),
        };
        Some(format!("Resumed at {bytes}{twice}."))
    }

    /// What limited the move, in one sentence with the numbers behind it.
    pub fn sentence(&self) -> String {
        let seconds = |ns: u64| format!("{:.2} s", ns as f64 / 1e9);
        let rate = self.rate().map_or(String::new(), |(_, rate)| format!(" ({rate})"));
        let head = format!("{} in {}{rate}", self.moved_words(), seconds(self.elapsed_ns));
        let waits = &self.waits_ns;
        let stages = [
            ("waiting for the source", waits.source),
            ("waiting for the sink", waits.sink),
            ("in metadata", waits.metadata),
            ("in sync", waits.sync),
            ("hashing", waits.hashing),
            ("held back by a rate limit", waits.rate_limit),
            ("reading back", waits.verify),
            ("reserving room", waits.reserving),
            ("deleting", waits.deleting),
            ("listing folders", waits.listing),
            ("out of reach of the other host", waits.outage),
            ("waiting for a CPU", waits.not_scheduled),
        ];
        let shown: Vec<String> = stages
            .iter()
            .filter(|(_, ns)| *ns * 100 >= self.elapsed_ns.max(1))
            .map(|(name, ns)| format!("{} {name}", seconds(*ns)))
            .collect();
        let cpu = format!("{} of CPU", seconds(self.cpu.total_ns()));
        let cpu = match &self.cpu_remote {
            Some(remote_host) => {
                format!("{cpu} here and {} there", seconds(remote_host.total_ns()))
            }
            None => cpu,
        };
        let answers = self.answers_words();
        let detail = match (self.limited_detail.why, self.limited_detail.words()) {
            (_, Some(_)) if answers.is_some() => {
                let words = answers.unwrap_or_default();
                format!(": answers were waited for {} ({words}); ", self.waited_words())
            }
            (_, Some(words)) => {
                let under_way = self.under_way_words().map_or(String::new(), |words| format!(" ({words})"));
                format!(": {words} {}{under_way}; ", self.waited_words())
            }
            (Why::Untold | Why::NothingMoved, None) => ": ".to_string(),
            (_, None) if self.is_too_short() => ": ".to_string(),
            (why, None) => format!(" ({why}): "),
        };
        let evidence = if shown.is_empty() { cpu } else { format!("{}, {cpu}", shown.join(", ")) };
        format!("{head}{}{detail}{evidence}", self.limit_words())
    }

    /// `1,725 round trips of 20 ms, 2 requests under way at a time`, where answers about names are what limited.
    fn answers_words(&self) -> Option<String> {
        let (network, trips) = (self.network?, self.round_trips?);
        if self.limited_detail.why != Why::RoundTrips || trips.listing <= trips.data {
            return None;
        }
        let under_way = match trips.under_way() {
            0 => String::new(),
            count => format!(", {} under way at a time", counted(count, "request")),
        };
        Some(format!("{} of {}{under_way}", counted(trips.all(), "round trip"), way_words(&network)))
    }

    /// `16 requests under way, round trip 180 ms; 345 would fill the path`, where that is what limited.
    fn under_way_words(&self) -> Option<String> {
        let network = self.network.filter(|_| self.limited_detail.why == Why::RoundTrips)?;
        let depth = self.source_depth;
        let requests = if depth == 1 { "request" } else { "requests" };
        // More than all of them cannot be.
        let all = self.requests.try_into().unwrap_or(u32::MAX);
        let fills = match network.filling_depth.min(all) {
            filling if filling > depth => format!("; {filling} would fill the path"),
            _ => String::new(),
        };
        let trips = self.round_trips.map_or(0, |trips| trips.all());
        let trips = if trips > 0 { counted(trips, "round trip") } else { "round trips".into() };
        Some(format!("{trips} of {}, {depth} {requests} under way{fills}", way_words(&network)))
    }

    /// `12.1 of 14.0 s`: the time behind the limit, as if there had been one lane.
    fn waited_words(&self) -> String {
        let LimitedDetail { waited_ns, of_ns, .. } = self.limited_detail;
        let elapsed_s = self.elapsed_ns as f64 / 1e9;
        let waited_s = elapsed_s * waited_ns as f64 / of_ns.max(1) as f64;
        format!("{waited_s:.2} of {elapsed_s:.2} s")
    }
}

/// `20 ms`, `0.35 ms`: a round trip of the path.
fn way_words(network: &Network) -> String {
    let round_trip = network.round_trip_us() as f64 / 1e3;
    let decimals = if round_trip < 10.0 { 2 } else { 0 };
    format!("{round_trip:.decimals$} ms")
}

/// Version of the library.
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}
