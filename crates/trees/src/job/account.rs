//! Adds up what the lanes and the tally know into the report.
//!
//! Must not know: how a run is set up or driven.

use std::collections::BTreeSet;

use datapump_core::Counts;
use datapump_core::verdict::{
    Cpu, EndCause, Evidence, LimitedBy, LimitedDetail, Waits, Why, contended_ns, verdict,
};
use datapump_core::wire::session::HostSettings;
use datapump_engine::meter::Meters;
use datapump_engine::os::linux::cpus;
use datapump_transport::{ConnectionStats, host_settings};

use crate::problem::{Class, Operation, Problem};
use crate::report::bill::{Bill, BillHost, KernelThreads, MeasuredHost};
use crate::report::charges::{LaneResult, ThreadTime, waits_alone};
use crate::report::latency;
use crate::report::latency::round_trips::TripCounter;
use crate::report::words::CHANCE_NS;
use crate::report::{AskedAndGot, Network, Report, RoundTrips, version};
use crate::run::ledger::Tally;
use crate::tree::Shared;
use crate::units::bytes_words;
use datapump_files::devices::control_groups::{DiskAccess, DiskLimit, DiskTraffic, MemoryHeld};

/// What was done before the lanes began and behind their end, while all of them would have waited for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    pub(crate) waits: Waits,
    /// Of the thread that did it.
    pub(crate) time: ThreadTime,
    /// Of that, waits for answers of the other host, which were charged to names.
    pub(crate) answers_ns: u64,
}

/// The results when the lanes have ended.
pub(crate) struct Account<'run> {
    pub(crate) shared: &'run Shared<'run>,
    pub(crate) lanes: Vec<LaneResult>,
    pub(crate) around: Around,
    pub(crate) tally: Tally,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) cpu: Cpu,
    /// How long the CPUs of the machine can have run something, of any program.
    pub(crate) busy_ns: Option<u64>,
    /// How long a quota of CPU time kept the process from running.
    pub(crate) held_ns: u64,
    /// The limit for memory that kept it waiting.
    pub(crate) memory_held: Option<MemoryHeld>,
    /// The job puts data on stable storage.
    pub(crate) syncs: bool,
}

impl Account<'_> {
    fn elapsed_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// The waits of all lanes. With their CPU time they are lanes x elapsed.
    fn waits(&self) -> Waits {
        let each = (0..).zip(&self.lanes).map(|(index, lane)| self.lane_waits(index, lane));
        let waits = each.fold(Waits::default(), |sum, waits| sum.plus(&waits));
        with_aside(waits, &Waits { source: self.answers_ns(), ..self.tally.aside })
    }

    /// Waits for answers of the other host, over a long path, that were charged to names. All lanes would have waited
    /// for those around them.
    fn answers_ns(&self) -> u64 {
        let all_ns = self.shared.remote_host.as_ref().map_or(0, |host| host.names_waited_ns());
        let of_others = (self.lanes.len() as u64).saturating_sub(1);
        if all_ns == 0 { 0 } else { all_ns + self.around.answers_ns * of_others }
    }

    /// The waits of a lane from the begin of the job to its end. The first lane runs in the job's own thread.
    fn lane_waits(&self, index: usize, lane: &LaneResult) -> Waits {
        let Around { waits: around, time, .. } = self.around;
        let there_ns = lane.time.elapsed_ns + time.elapsed_ns;
        let idle_ns = self.elapsed_ns().saturating_sub(there_ns);
        let waits = match index {
            0 => waits_alone(lane.waits.plus(&around), lane.time.plus(time)),
            _ => waits_alone(lane.waits, lane.time).plus(&around),
        };
        Waits { idle: waits.idle + idle_ns, ..waits }
    }

    /// CPU time of the lanes' threads.
    fn lanes_cpu_ns(&self) -> u64 {
        self.around.time.cpu_ns + self.lanes.iter().map(|lane| lane.time.cpu_ns).sum::<u64>()
    }

    fn sum(&self, count: fn(&Counts) -> u64) -> u64 {
        self.lanes.iter().map(|lane| count(&lane.counts)).sum()
    }

    fn connection_stats(&self) -> ConnectionStats {
        let ahead = self.shared.remote_host.as_ref().and_then(|host| host.ahead_stats());
        let of_lanes = self.lanes.iter().map(|lane| &lane.connection_stats);
        of_lanes.chain(&ahead).fold(ConnectionStats::default(), |sum, one| sum.plus(one))
    }

    /// What this side, which writes, knows of its connections.
    fn network(&self) -> Option<Network> {
        let ConnectionStats {
            connections, opening_ns, receiving_ns, received: (received_parts, bytes), ..
        } = self.connection_stats();
        let mean_part_bytes = bytes / received_parts.max(1);
        let same_host = self.shared.remote_host.as_ref().is_some_and(|remote_host| remote_host.is_here());
        let answer_us = self.shared.remote_host.as_ref().map_or(0, |host| host.round_trip_ns() / 1000);
        let known = Network {
            connections,
            answer_us,
            same_host,
            opening_ns,
            receiving_ns,
            received_parts,
            mean_part_bytes,
            ..Network::default()
        };
        self.shared.remote_host.as_ref().map(|_| known)
    }

    /// The limit of a control group for one of these devices that the copy reached, and most of all.
    fn disk_limit(&self, devices: &BTreeSet<u64>, access: DiskAccess) -> Option<DiskLimit> {
        let requests = match access {
            DiskAccess::Read => self.sum(|counts| counts.source_requests),
            DiskAccess::Write => self.sum(|counts| counts.sink_requests),
        };
        let (bytes, elapsed_ns) = (self.sum(|counts| counts.bytes), self.elapsed_ns());
        let groups = self.shared.settings.platform.control_groups();
        groups.reached_limit(devices, DiskTraffic { access, bytes, requests, elapsed_ns })
    }

    /// With the limit of a control group behind a wait for a disk, as it is set. A job that says nothing of its waits looks
    /// for none.
    fn with_limit(&self, limited_by: LimitedBy, detail: LimitedDetail) -> LimitedDetail {
        let is_disk =
            matches!(detail.why, Why::Device | Why::SharedDevice | Why::StableStorage | Why::MemoryLimit);
        if !is_disk || self.elapsed_ns() < CHANCE_NS {
            return detail;
        }
        match (self.disk_limit_behind(limited_by, &detail), &self.memory_held) {
            (Some(limit), _) => detail.with_limit(Why::CgroupLimit, &limit.to_string()),
            (None, Some(held)) if detail.why == Why::MemoryLimit => {
                detail.with_limit(Why::MemoryLimit, &held.limit.to_string())
            }
            (None, _) => detail,
        }
    }

    /// With a sync all bytes go to the disk within the copy, however much the cache takes.
    fn memory_held_fraction(&self) -> f64 {
        let is_said = !self.syncs && self.elapsed_ns() >= CHANCE_NS;
        let held_ns = self.memory_held.as_ref().filter(|_| is_said).map_or(0, |held| held.ns);
        held_ns as f64 / self.elapsed_ns().max(1) as f64
    }

    /// The limit for a disk that is waited for.
    fn disk_limit_behind(&self, limited_by: LimitedBy, detail: &LimitedDetail) -> Option<DiskLimit> {
        match limited_by {
            // Devices of another host have other numbers.
            LimitedBy::Source if self.shared.remote_host.is_some() => None,
            LimitedBy::Source => self.disk_limit(&self.tally.source_devices, DiskAccess::Read),
            LimitedBy::Sink if detail.stage == "read back" => None,
            LimitedBy::Sink | LimitedBy::Sync => {
                self.disk_limit(&self.tally.target_devices, DiskAccess::Write)
            }
            _ => None,
        }
    }

    /// The verdict, with the limit of a control group as it is set where that is the cause.
    fn verdict(&self) -> (LimitedBy, LimitedDetail) {
        let (limited_by, mut detail) = verdict(&self.evidence());
        detail = self.with_limit(limited_by, detail);
        if detail.why == Why::RateLimit && self.shared.limits.is_shared_lower() {
            detail.why = Why::ServerLimit;
        }
        if self.shared.remote_host.is_some() && has_a_cause_behind(limited_by, detail.why) {
            // For whoever finds out what is behind that wait.
            detail.setting = window_setting(&host_settings("", None));
        }
        (limited_by, detail)
    }

    /// The measured times and devices from which the verdict is made.
    fn evidence(&self) -> Evidence {
        let Tally { source_devices, target_devices, in_kernel, .. } = &self.tally;
        let remote_host = self.shared.remote_host.as_ref();
        let (waits, cause) =
            (self.waits(), |is_pipe| if is_pipe { EndCause::Pipe } else { EndCause::Device });
        Evidence {
            // A lane without work is not counted: one file keeps one lane busy.
            lanes_ns: (self.elapsed_ns() * self.lanes.len() as u64).saturating_sub(waits.idle),
            waits,
            cpu: self.cpu,
            is_alone: remote_host.is_none(),
            lanes_cpu_ns: self.lanes_cpu_ns(),
            cpus_ns: contended_ns(Some(cpus()), self.elapsed_ns(), self.busy_ns, self.held_ns),
            held_fraction: self.held_ns as f64 / self.elapsed_ns().max(1) as f64,
            memory_held_fraction: self.memory_held_fraction(),
            sealing_ns: self.connection_stats().opening_ns,
            shared_device: remote_host.is_none_or(|remote_host| remote_host.is_here())
                && source_devices.intersection(target_devices).next().is_some(),
            source: cause(self.tally.source_is_pipe),
            target: cause(self.tally.target_is_pipe),
            reads_the_web: self.shared.settings.reads_the_web,
            in_kernel: *in_kernel,
            // To wait for answers about names is something.
            did_something: self.tally.done.files > 0
                || self.sum(|counts| counts.bytes) > 0
                || self.answers_ns() > 0,
        }
    }

    /// What a bill is made of, if one was asked for. Two sides that run on one host have one kernel: the side that
    /// reads tells of it.
    fn measured_host(&self) -> Option<MeasuredHost> {
        let of = |meters: &Meters| MeasuredHost {
            spent: meters.spent(),
            process_ns: self.cpu.total_ns(),
            kernel: match &self.shared.remote_host {
                Some(remote_host) if remote_host.is_here() => KernelThreads::OfTheOtherSide,
                _ => KernelThreads::seen(meters.kernel_ns()),
            },
        };
        self.shared.settings.meters.map(of)
    }

    /// The report, all but the exit status.
    pub(crate) fn into_report(self) -> Report {
        let (limited_by, limited_detail) = self.verdict();
        let measured = self.measured_host();
        let elapsed_ns = self.elapsed_ns();
        let done = || self.lanes.iter().map(|lane| lane.done_ns.saturating_sub(self.start_ns));
        let shape = self.shared.settings.shape;
        let problems = &self.tally.problems;
        let report = Report {
            version: version(),
            exit_status: 0,
            targets: self.shared.settings.targets.clone(),
            bytes_moved: self.sum(|counts| counts.bytes),
            bytes_moved_twice: self.tally.doubt_bytes.min(self.sum(|counts| counts.bytes))
                + self.connection_stats().again_bytes,
            problems: problems.iter().map(|(class, count)| (class.name().to_string(), *count)).collect(),
            elapsed_ns,
            first_done_ns: done().min().unwrap_or(elapsed_ns),
            last_done_ns: done().max().unwrap_or(elapsed_ns),
            synced_ns: (self.syncs && self.tally.done.files > 0).then_some(elapsed_ns),
            requests: self.sum(|counts| counts.sink_requests),
            partial_returns: self.sum(|counts| counts.source_partial + counts.sink_partial),
            engine: self.lanes.first().map(|lane| lane.engine.clone()).unwrap_or_default(),
            sockets: self.connection_stats().engine.map(of_sockets),
            request_bytes: shape.request_bytes,
            source_depth: self.lanes.iter().map(|lane| lane.source_depth).max().unwrap_or(shape.source_depth),
            sink_depth: shape.sink_depth,
            lanes: self.lanes.len() as u32,
            lanes_why: self.shared.gate.why().map(|state| state.words().to_string()),
            limited_by,
            limited_detail,
            waits_ns: self.waits(),
            lanes_cpu_ns: self.lanes_cpu_ns(),
            latency_ns: latency::merge_latencies(
                self.lanes.iter().filter_map(|lane| lane.latencies.as_ref()),
            ),
            cpu: self.cpu,
            cpu_remote: None,
            network: self.network(),
            round_trips: self.shared.remote_host.as_ref().map(|host| round_trips(host.trips())),
            bytes_dropped: self.shared.remote_host.as_ref().map_or(0, |host| host.dropped_bytes()),
            bill: None,
            ..self.tally.done
        };
        let bill = measured.map(|measured| Bill::from_measured(BillHost::Local, &measured, report.moved()));
        Report { bill, ..report }
    }
}

/// Whether a wait for data of another host says nothing yet of their cause: a rate limit is that of this side.
fn has_a_cause_behind(limited_by: LimitedBy, why: Why) -> bool {
    limited_by == LimitedBy::Source && !why.is_rate_limit()
}

/// What bounds the TCP windows of a host that receives.
fn window_setting(settings: &HostSettings) -> String {
    match (settings.window_scaling, settings.receive_buffer) {
        (Some(false), _) => "64 KiB, net.ipv4.tcp_window_scaling=0".into(),
        (_, Some([.., most])) => format!("net.ipv4.tcp_rmem allows {}", bytes_words(most)),
        (_, None) => String::new(),
    }
}

/// Those that this side waited for: it writes.
fn round_trips(trips: &TripCounter) -> RoundTrips {
    let (listing, data) = trips.counts();
    RoundTrips { listing, data, requests: trips.requests(), ..RoundTrips::default() }
}

/// Room is reserved between blocks, among names: on a tmpfs every page is taken from memory there, and a copy of one
/// large file is not kept waiting by names. Nor is a small one over a long path, and there deleting is asking, too.
fn with_aside(mut waits: Waits, aside: &Waits) -> Waits {
    waits.reserving += moved(&mut waits.metadata, aside.reserving);
    waits.sync += moved(&mut waits.metadata, aside.sync);
    waits.charge_answers(aside.source);
    waits
}

/// Takes so much off a stage, as far as it goes.
fn moved(stage: &mut u64, ns: u64) -> u64 {
    let moved = ns.min(*stage);
    *stage -= moved;
    moved
}

/// Not everything was done, and nobody said why.
pub(crate) fn unexplained() -> Problem {
    let words =
        "not everything was done, and nothing says why: a mistake of pump; copy again, and please report it";
    Problem::of(Class::Io, Operation::Finish, words)
}

/// Splits the results of lanes that ran from the problems of those that could not.
pub(crate) fn split_results(results: Vec<Result<LaneResult, Problem>>) -> (Vec<LaneResult>, Vec<Problem>) {
    let (mut lanes, mut lost) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(lane) => lanes.push(lane),
            Err(problem) => lost.push(problem),
        }
    }
    (lanes, lost)
}

/// Nobody chooses it.
fn of_sockets(got: &str) -> AskedAndGot {
    let why = match got {
        "sim" => "simulated world",
        _ => "plain calls move more between sockets than a ring: 5.4 and 4.3 GB/s",
    };
    AskedAndGot { asked: "auto".into(), got: got.into(), why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charges::busy;

    fn lane(bytes: u64, waits: Waits) -> LaneResult {
        LaneResult {
            counts: Counts { bytes, ..Counts::default() },
            source_depth: 2,
            waits,
            engine: Default::default(),
            done_ns: 0,
            time: ThreadTime { elapsed_ns: 3_000, ..ThreadTime::default() },
            connection_stats: ConnectionStats::default(),
            latencies: None,
        }
    }

    #[test]
    fn a_window_has_the_setting_that_bounds_it() {
        let of = |window_scaling, most: Option<u64>| {
            let receive_buffer = most.map(|most| [4096, 131_072, most]);
            window_setting(&HostSettings { window_scaling, receive_buffer, ..HostSettings::default() })
        };
        assert_eq!(of(Some(false), Some(6 << 20)), "64 KiB, net.ipv4.tcp_window_scaling=0");
        assert_eq!(of(Some(true), Some(256 << 10)), "net.ipv4.tcp_rmem allows 256.0 KiB");
        assert_eq!(of(None, None), "");
        for (limited_by, why, has) in [
            (LimitedBy::Source, Why::Device, true),
            (LimitedBy::Source, Why::RateLimit, false),
            (LimitedBy::Source, Why::ServerLimit, false),
            (LimitedBy::Sink, Why::Device, false),
        ] {
            assert_eq!(has_a_cause_behind(limited_by, why), has, "{limited_by:?} {why}");
        }
    }

    #[test]
    fn room_is_no_matter_of_names() {
        for (metadata, aside, moved) in
            [(900, (0, 0), (0, 0)), (900, (850, 20), (850, 20)), (0, (10, 1), (0, 0)), (10, (9, 3), (9, 1))]
        {
            let waits = Waits { metadata, sink: 5, sync: 7, ..Waits::default() };
            let aside = Waits { reserving: aside.0, sync: aside.1, ..Waits::default() };
            let got = with_aside(waits, &aside);
            assert_eq!((got.reserving, got.sync - 7, got.total()), (moved.0, moved.1, waits.total()));
            let waits = Waits { listing: 60, ..waits };
            let got = with_aside(waits, &Waits { source: 50, ..aside });
            assert_eq!((got.source, got.total()), (50, waits.total()));
            let waits = Waits { deleting: 2000, ..waits };
            let got = with_aside(waits, &Waits { source: 2000, ..aside });
            assert_eq!((got.source, got.total()), (2000, waits.total()), "{aside:?}");
        }
    }

    /// A file of 24 MiB over two connections, from a disk of 8 MiB/s: its lane waited for 2889 of 2950 ms, and the idle
    /// one made that 2889 of 5903, of which nothing else was the half.
    #[test]
    fn a_lane_without_work_is_not_counted() {
        let disk = Waits { source: 2_889, ..Waits::default() };
        let names = Waits { metadata: 900, ..Waits::default() };
        let idle = Waits { metadata: 20, ..Waits::default() };
        for (what, lanes, count) in [
            ("one file, two lanes", vec![lane(24 << 20, disk), lane(0, idle)], 1),
            ("two files", vec![lane(1, disk), lane(1, disk)], 2),
            ("empty files", vec![lane(0, names), lane(0, names), lane(0, idle)], 2),
            ("nothing", vec![lane(0, idle), lane(0, idle)], 2),
        ] {
            assert_eq!(busy(&lanes).count(), count, "{what}");
        }
    }
}
