//! A job: one move, from what the user asked to the report.
//!
//! Must not know: command lines, terminals, how a block is moved.

mod account;
pub(crate) mod comparison;
mod ended;
mod planned;
mod refusals;
pub mod request_plan;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use datapump_core::verdict::{Cpu, Waits};
use datapump_core::{GrowthState, Shape};
use datapump_engine::{CpuStage, meter::Meters};
use datapump_transport::{WebPatience, is_long_path};

pub use planned::Planned;

use crate::count_ahead;
use crate::end::QueuedNulls;
use crate::file::block_hook::BlockHook;
use crate::file::finish::abandon;
use crate::job::request_plan::SlotPool;
use crate::lane;
use crate::origin::remote_facts::AheadRequest;
use crate::origin::source_host::SourceHost;
use crate::place::{Fill, Place};
use crate::problem::Problem;
use crate::report::Report;
use crate::report::charges::ThreadTime;
use crate::report::cpu::{BusyCpus, cpu_now};
use crate::report::event::Event;
use crate::report::watch::Watch;
use crate::run::MoverRun;
use crate::run::block_host::BlockHost;
use crate::run::gate::{LaneGate, LaneRange};
use crate::run::in_order_target::TargetDisk;
use crate::run::plan::Plan;
use crate::run::rate::{Rate, RateLimits};
use crate::run::settings::Settings;
use crate::setup::options::{EngineChoice, Options, PEER_TIMEOUT, RETRY_FOR};
use crate::setup::platform::Platform;
use crate::targets::{self, Hosts, Item, NamedWork};
use crate::tree::backup;
use crate::tree::state::like_backups::LikeBackups;
use crate::tree::state::memory::RunMemory;
use crate::tree::{self, NamedFacts, Shared, Trees, Work};
use datapump_files::devices::control_groups::{ControlGroups, CpuQuota, MemoryWait};
use datapump_files::disk::{FileKind, PathAbove, PathAt};

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobKind {
    Copy,
    Hash,
    Compare,
}

/// One move. Made by [`HostJob::copy`], [`HostJob::hash`] or [`HostJob::compare`], changed by the methods that take `self`, and
/// performed by [`HostJob::run`].
#[derive(Debug)]
pub struct HostJob {
    work: JobKind,
    /// Places to read.
    pub sources: Vec<Place>,
    /// Place to write, or to compare with.
    pub target: Place,
    /// All that is asked besides places.
    pub options: Options,
    platform: Platform,
    pub stop: Arc<AtomicBool>,
    pub watch: Arc<Watch>,
    /// The other host of a session, on which remote sources lie.
    remote_host: Option<Arc<dyn SourceHost>>,
    /// The target, where it was found before.
    found: Option<PathAt>,
    /// The folders above it, which may be missing.
    above: Option<PathAbove>,
    /// Somebody else says where the target is: links in its place are not followed.
    is_confined: bool,
    /// They may not learn what exists there.
    hides_target: bool,
    /// What makes or inspects its blocks, and which of them are all that is moved.
    hook: Option<Arc<dyn BlockHook>>,
    pieces: Option<Arc<[(u64, u64)]>>,
    /// What tells the sources from others of the same words, where another host knows that.
    sources_sum: Option<u64>,
    /// A limit that it shares with other jobs.
    shared_rate: Option<Arc<Rate>>,
    pub tells_files: bool,
    /// Facts about the target's file system.
    target_disk: TargetDisk,
    /// How long it is tried to have what passes: a connection that is lost, a server that is busy.
    retry_for: Duration,
    /// Silence after which a server is taken for dead.
    peer_timeout: Duration,
}

/// What was counted when a run began.
struct Began {
    at_ns: u64,
    /// Of the thread in which the job and its first lane run.
    thread: ThreadTime,
    cpu: Cpu,
    busy: BusyCpus,
    quota: CpuQuota,
    memory: MemoryWait,
}

impl HostJob {
    /// Copies the sources to the target, by cp's rules for the target.
    pub fn copy(sources: Vec<Place>, target: Place) -> HostJob {
        HostJob::new(JobKind::Copy, sources, target)
    }

    /// Hashes the source; the report's `blake3` is what `b3sum` prints.
    pub fn hash(source: Place) -> HostJob {
        HostJob::new(JobKind::Hash, vec![source], Place::Null { bytes: None, fill: Fill::Noise })
    }

    /// Compares the content of two places. Each difference is a problem of class `mismatch`; the exit status is 0 for
    /// the same, 1 for different, 2 for trouble, as cmp has it.
    pub fn compare(one: Place, other: Place) -> HostJob {
        HostJob::new(JobKind::Compare, vec![one], other)
    }

    /// Whether nothing is written: the two places are compared.
    pub fn compares(&self) -> bool {
        self.work == JobKind::Compare
    }

    /// A job of this kind with default options on the real platform.
    fn new(work: JobKind, sources: Vec<Place>, target: Place) -> HostJob {
        let (stop, watch) = (Arc::default(), Arc::default());
        let sources = sources.into_iter().map(Place::unopened).collect();
        HostJob {
            work,
            sources,
            target: target.unopened(),
            options: Options::default(),
            platform: Platform::real(),
            stop,
            watch,
            remote_host: None,
            found: None,
            above: None,
            is_confined: false,
            hides_target: false,
            hook: None,
            pieces: None,
            sources_sum: None,
            shared_rate: None,
            tells_files: true,
            target_disk: TargetDisk::default(),
            retry_for: RETRY_FOR,
            peer_timeout: PEER_TIMEOUT,
        }
    }

    /// How long to try again when a server on the web is lost or busy. Default: 60 s.
    pub fn retry_for(self, retry_for: Duration) -> HostJob {
        HostJob { retry_for, ..self }
    }

    /// Silence after which a server on the web is taken for dead. Default: 30 s.
    pub fn peer_timeout(self, peer_timeout: Duration) -> HostJob {
        HostJob { peer_timeout, ..self }
    }

    /// Whether the client wants an event for each file and each change. Default: true.
    pub fn tells_files(self, tells_files: bool) -> HostJob {
        HostJob { tells_files, ..self }
    }

    /// The options: all that is asked besides places.
    pub fn options(self, options: Options) -> HostJob {
        HostJob { options, ..self }
    }

    /// Where it runs; this host by default.
    pub fn platform(self, platform: Platform) -> HostJob {
        HostJob { platform, ..self }
    }

    /// Ends the job soon, with status 20 and nothing left behind, once the flag is true.
    pub fn stop(self, stop: Arc<AtomicBool>) -> HostJob {
        HostJob { stop, ..self }
    }

    /// Remote sources are those of this session.
    pub fn remote_host(self, remote_host: Arc<dyn SourceHost>) -> HostJob {
        HostJob { remote_host: Some(remote_host), ..self }
    }

    /// The caller's host tells its sources from others of the same words.
    pub fn sources_sum(self, sources_sum: Option<u64>) -> HostJob {
        HostJob { sources_sum, ..self }
    }

    /// The target is what was found before; its path is only shown.
    pub fn found(self, found: Option<PathAt>) -> HostJob {
        HostJob { found, ..self }
    }

    /// Folders that are missing above the target are made.
    pub fn above(self, above: Option<PathAbove>) -> HostJob {
        HostJob { above, ..self }
    }

    /// A target that is a symbolic link is refused.
    pub fn confined(self) -> HostJob {
        HostJob { is_confined: true, ..self }
    }

    /// Problems tell nothing of what exists at the target.
    pub fn hides_target(self, hides_target: bool) -> HostJob {
        HostJob { hides_target, ..self }
    }

    /// A limit for all jobs that have it, besides its own.
    pub fn shared_rate(self, shared_rate: Option<Arc<Rate>>) -> HostJob {
        HostJob { shared_rate, ..self }
    }

    /// What a job shares that only reads, for others who move the blocks: streams, or what null delivers, may be among them.
    pub fn served(&self, has_streams: bool, null_fill: Option<Fill>) -> Result<Shared<'_>, Problem> {
        let shape = request_plan::for_serving(&self.options, has_streams);
        let mut shared = self.new_shared(Vec::new(), shape, Trees::new(&Options::default())?, &|_| {});
        shared.run.settings.null_fill = null_fill;
        Ok(shared)
    }

    pub fn meters(&self) -> Option<Meters> {
        self.options.reporting.bill.then(Meters::begin)
    }

    /// What makes the blocks of a null source that is [`Fill::Overwritten`], or looks at those that a job would hash.
    /// It takes the hash's place: nothing is verified.
    pub fn hook(self, hook: Arc<dyn BlockHook>) -> HostJob {
        HostJob { hook: Some(hook), ..self }
    }

    /// Only these bytes of the one file (start, end) are moved, in this order; a target is written in place
    /// ([`DurabilityOptions::inplace`](crate::setup::options::DurabilityOptions::inplace)) and keeps its length.
    pub fn pieces(self, pieces: Arc<[(u64, u64)]>) -> HostJob {
        HostJob { pieces: Some(pieces), ..self }
    }

    /// Live counters.
    pub fn watch(self, watch: Arc<Watch>) -> HostJob {
        HostJob { watch, ..self }
    }

    /// Whether a source is a folder. A link to one is none if it stays a link.
    pub fn has_folders(&self) -> bool {
        let hosts = self.hosts();
        let mut here = self.sources.iter().filter(|source| source.local_path().is_some());
        here.any(|source| matches!(hosts.meta(0, source), Some(Ok(meta)) if meta.kind == FileKind::Folder))
    }

    /// The two hosts of the job, with the options that say how their names are looked at.
    fn hosts(&self) -> Hosts<'_> {
        let makes_names =
            self.options.measuring.rehearsal_bytes.is_none() && matches!(self.target, Place::Path(_));
        Hosts {
            disk: &self.platform.disk,
            remote_host: self.remote_host.as_ref(),
            is_confined: self.is_confined,
            patience: WebPatience { retry_for: self.retry_for, silence: self.peer_timeout },
            stop: &self.stop,
            keeps_links: self.options.place.keep_links && makes_names,
            keeps_pipes: self.options.place.keep_pipes && makes_names,
        }
    }

    fn hashes(&self) -> bool {
        self.work == JobKind::Hash || self.options.durability.verify
    }

    /// The control groups of this process.
    pub fn control_groups(&self) -> ControlGroups {
        self.platform.control_groups()
    }

    /// The use of its machine's CPUs from now on.
    pub fn busy_cpus(&self) -> BusyCpus {
        self.platform.busy_cpus()
    }

    /// Runs as [`HostJob::run`] does and gives the report, whatever its `exit_status`: for programs that judge it themselves.
    pub fn run_reported(mut self, events: &(dyn Fn(Event) + Sync)) -> Report {
        let meters = self.meters();
        let groups = self.control_groups();
        let (quota, memory) = (groups.begin_quota(), groups.begin_memory_wait());
        let (at_ns, thread) = (self.platform.clock.now_ns(), self.platform.thread_time());
        let began = Began { at_ns, thread, cpu: cpu_now(), busy: self.busy_cpus(), quota, memory };
        let here = meters.as_ref().map(|meters| meters.here(CpuStage::Metadata));
        let found = self.options.find_given().map_err(Problem::usage);
        self.prepare();
        let trees = found.and_then(|()| Trees::new(&self.options));
        let ((items, problems), mut trees) = match trees.and_then(|trees| self.with_items(trees)) {
            Ok(ready) => ready,
            Err(problem) => return self.refuse(problem, events),
        };
        let reads = request_plan::source_facts(&items, self.remote_host.is_some());
        let shape = self.shape(&items, reads);
        trees.guard_sources(&items, &self.options, self.remote_host.as_deref());
        let sources_sum = self.sources_sum.unwrap_or_else(|| backup::sum_of(&self.sources));
        trees.memory = RunMemory::new(&trees.flags, backup::put_names(sources_sum, &self.options));
        trees.walk(items.iter().filter(|item| item.is_tree()).count());
        let mut shared = self.new_shared(items, shape, trees, events);
        shared.run.settings.meters = meters.as_ref();
        self.report_not_kept(&shared.ledger);
        problems.into_iter().for_each(|problem| shared.ledger.report(problem));
        if self.options.deletion.delete && shared.settings.has_trees && !shared.settings.compares {
            shared.plan.put_behind(Work::MakeWay);
        }
        let pool = SlotPool::from_options(&self.options, shared.settings.has_twins)
            .in_group(self.control_groups().memory_bytes());
        let lanes = self.count_lanes(&shared, pool);
        let shape = pool.fitted(shape, self.options.tuning.source_depth, lanes);
        if let Err(words) = pool.check(shape, lanes) {
            return self.refuse(Problem::usage(words), events);
        }
        shared.run.settings.shape = shape;
        let is_long = self.is_long();
        let bytes = self.watch.snapshot().bytes_total;
        let most = request_plan::max_lanes(&shared.settings, pool, is_long, lanes, bytes);
        shared.run.settings.shape = request_plan::for_path(shape, is_long, lanes, most, pool);
        let round_trip_ns = self.remote_host.as_ref().map_or(0, |host| host.round_trip_ns());
        let at_first = self.options.limits.lanes_at_first.unwrap_or(lanes);
        shared.run.gate = LaneGate::new(lanes, LaneRange { at_first, most }, round_trip_ns);
        let (lanes_began, before_ns) = (self.platform.thread_time(), self.names_waited_ns());
        let run = || lane::run_all(&shared, lanes, most);
        let results = count_ahead::copy_and_count(&self.watch, &self.sources, &self.options, run);
        let (lanes_ended, until_ns) = (self.platform.thread_time(), self.names_waited_ns());
        let opened = |state: GrowthState| format!("{} connections: {}", results.len(), state.words());
        shared.gate.why().into_iter().for_each(|state| shared.ledger.note(|| opened(state)));
        shared.ledger.tell_full();
        let mut waits = Waits::default();
        let unfinished = shared.unfinished();
        if unfinished.iter().any(|task| !task.has_failed()) {
            // Blocks of theirs were under way when the run was stopped, of small files that nobody counts.
            shared.plan.cut();
        }
        self.finish_all(&shared, &mut waits);
        unfinished.iter().filter(|task| !task.has_failed()).for_each(|task| abandon(&shared, task, true));
        drop(here);
        let time = lanes_began.since(began.thread).plus(self.platform.thread_time().since(lanes_ended));
        // What nobody charged went to what was named, and to what is left of it.
        waits.metadata += time.elapsed_ns.saturating_sub(waits.total());
        self.report(&shared, results, self.around(waits, time, before_ns, until_ns), began)
    }

    /// How many items are dealt with as names of folders.
    fn names_wanted(&self, items: &[Item]) -> usize {
        items.iter().filter(|item| targets::is_name_in_folder(item, &self.options)).count()
    }

    /// Finishes names, trees, backup folders and lists behind the last block, also of a run that was stopped.
    fn finish_all(&self, shared: &Shared<'_>, waits: &mut Waits) {
        report_unused_list(shared);
        let is_complete = shared.plan.is_exhausted();
        tree::names::named::sync_named(shared, waits, shared.settings.has_trees && is_complete);
        if is_complete {
            tree::names::named::report_unfinished(shared);
        }
        if shared.settings.has_trees {
            tree::finish::finish_trees(shared, waits, is_complete);
        } else if self.options.deletion.remove_sources && shared.settings.writes && is_complete {
            tree::moved::remove_sources(shared, &[]);
        }
        // Of files, and of trees that were cut.
        backup::finish_folders(shared);
        // As status 0 is decided: what was done is whole, whoever asked for a stop since.
        if shared.plan.is_exhausted() && shared.ledger.tally().is_all_there() {
            shared.trees.memory.finish();
        }
        tree::finish::close_folders(shared);
    }

    /// Has the host of the sources, if any, send ahead what the walk will request.
    fn read_ahead(&self) {
        let Some(remote_host) = &self.remote_host else { return };
        let find = |path| PathAt::find(&self.platform.disk, path);
        let target = self.found.clone().or_else(|| self.target.local_path().map(find));
        let compares = self.work == JobKind::Compare;
        let request = request_plan::ahead_request(&self.options, compares, target.as_ref());
        // An older version tells no digests: its blocks are compared.
        let request =
            AheadRequest { sums: request.sums && (remote_host.tells_sums() || !compares), ..request };
        remote_host.read_ahead(self.sources.len(), request);
    }

    /// Makes what all lanes share, and sets the total of the progress.
    fn new_shared<'run>(
        &'run self,
        items: Vec<Item>,
        shape: Shape,
        mut trees: Trees,
        events: &'run (dyn Fn(Event) + Sync),
    ) -> Shared<'run> {
        trees.named = self.named_facts(&items);
        let total =
            items.iter().map(Item::bytes).try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?)));
        // Bytes that are read back move a second time.
        let trips = if self.options.durability.verify { 2 } else { 1 };
        self.watch.set_total(total.map(|bytes| bytes.saturating_mul(trips)));
        let settings = self.new_settings(&items, shape, total, trees.flags.may_compare());
        let is_full_told = (settings.has_trees || settings.names_wanted > 1) && settings.writes;
        let run = MoverRun {
            settings,
            ledger: self.ledger(events, is_full_told),
            block_host: self.remote_host.clone().map(|host| host as Arc<dyn BlockHost>),
            stop: Arc::clone(&self.stop),
            limits: self.limits(),
            compressions: Default::default(),
            live: std::sync::Mutex::default(),
            numbers: AtomicU32::new(0),
            gate: LaneGate::new(1, LaneRange { at_first: 1, most: 1 }, 0),
        };
        Shared {
            run,
            plan: self.pieces_of(items, &trees, shape.request_bytes),
            trees,
            remote_host: self.remote_host.clone(),
        }
    }

    /// The facts about what the user named that all lanes ask for.
    fn named_facts(&self, items: &[Item]) -> NamedFacts {
        NamedFacts {
            backup_names: targets::called_as_backups(items, &self.options),
            like_backups: LikeBackups::of_targets(items, &self.options),
            replaces_backups: targets::guard::backups::may_replace(items, &self.options, self.is_confined),
            moved: if self.options.deletion.remove_sources {
                tree::moved::named_files(items)
            } else {
                Vec::new()
            },
        }
    }

    /// What was asked, and what follows from the items, which come to so many bytes. `may_compare`: contents, where times
    /// say nothing.
    fn new_settings(
        &self,
        items: &[Item],
        shape: Shape,
        total: Option<u64>,
        may_compare: bool,
    ) -> Settings<'_> {
        let all_null = items.iter().all(Item::is_null);
        let queued = !matches!(self.options.tuning.engine, EngineChoice::Auto | EngineChoice::Inline);
        let has_trees = items.iter().any(Item::is_tree);
        let only_null = all_null && !items.is_empty();
        let one_block = items.len() == 1 && total.is_some_and(|bytes| bytes <= shape.request_bytes.into());
        let writes = self.work == JobKind::Copy && !self.options.dry_run;
        Settings {
            platform: &self.platform,
            options: &self.options,
            target: self.target.local_path(),
            targets: targets::reported_targets(items),
            began_ns: datapump_files::disk::coarse_now_ns(),
            in_order: self.target_disk.in_order,
            target_magic: self.target_disk.magic,
            is_confined: self.is_confined,
            has_one_source: self.sources.len() == 1,
            files_wanted: items.iter().filter(|item| !item.is_entry()).count(),
            names_wanted: self.names_wanted(items),
            tells_files: self.tells_files,
            shape,
            reads_the_web: items.iter().any(|item| matches!(item.source, Place::Web(_))),
            usual_lanes: Options::defaults(request_plan::source_facts(items, false)).lanes,
            compares: self.work == JobKind::Compare,
            hashes: self.hashes(),
            hook: self.hook.as_deref(),
            pieces: self.pieces.as_deref(),
            // Simulated devices stand behind both ends; an engine asked for by name is studied at one of them.
            queued_nulls: QueuedNulls {
                source: self.platform.is_simulated() || (only_null && queued),
                sink: self.platform.is_simulated(),
            },
            null_fill: request_plan::null_fill(items, only_null),
            null_blocks: request_plan::max_null_blocks(items, shape.request_bytes),
            nothing_overlaps: (only_null && !queued) || one_block,
            lanes_for_pieces: request_plan::lanes_for_pieces(&self.options, has_trees, self.hashes()),
            has_trees,
            writes,
            has_twins: self.work == JobKind::Compare || self.options.comparison.checksum || may_compare,
            meters: None,
        }
    }

    /// The plan of these items: named files in groups by their folders, all others for themselves.
    fn pieces_of(&self, items: Vec<Item>, trees: &Trees, request_bytes: u32) -> Plan<Work> {
        let works = targets::named_groups(items, trees.guard.claims(), &self.options);
        let works = works.into_iter().map(|work| match work {
            NamedWork::Items(items) => Work::Items(items),
            NamedWork::Names(group) => Work::Names(group),
        });
        let plan = Plan::new(works, request_bytes, self.is_long());
        if self.target_disk.in_order.is_some() { plan.of_whole_files() } else { plan }
    }

    fn limits(&self) -> RateLimits {
        let own = |limit| Rate::new(limit, self.platform.clock.clone());
        RateLimits::new(self.options.tuning.bytes_per_second.map(own), self.shared_rate.clone())
    }

    /// How many lanes the job begins with: one where blocks go in order or in a dry run, else as requested or usual.
    fn count_lanes(&self, shared: &Shared<'_>, pool: SlotPool) -> u32 {
        let shape = shared.settings.shape;
        let serial = shape.source_serial || shape.sink_serial;
        let usual = || pool.lanes_in_group(shape, shared.settings.usual_lanes);
        let lanes = self.options.tuning.lanes.unwrap_or_else(usual);
        if serial {
            1
        } else if self.options.dry_run {
            // What would be done is told in an order that is the same each time.
            1
        } else if shared.settings.has_trees {
            lanes.min(tree::most_lanes())
        } else {
            lanes
        }
    }

    /// The source comes over a long path.
    fn is_long(&self) -> bool {
        self.remote_host.as_ref().is_some_and(|host| is_long_path(host.round_trip_ns()))
    }
}

/// Notes that a list of names selects nothing where no source is a folder.
fn report_unused_list(shared: &Shared<'_>) {
    if shared.trees.select.is_list() && !shared.settings.has_trees {
        let words = "the list of names (PUMP_FILES_FROM) has no effect: no source is a folder";
        shared.ledger.note(|| words.into());
    }
}
