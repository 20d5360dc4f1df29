//! Alternating short slices of all parts, round after round: what each part did in each of them.
//!
//! A part's first slices show its speed, and how long the next ones may be; they are not counted. A copy that is small
//! enough is moved as a whole in each slice: what a file system does with a file of just this size no other slice shows
//! (ext4: 256 MiB in 1 MiB requests at 0.3 GB/s, 128 and 512 MiB at 2.3 GB/s). A longer one is moved in two sizes, which
//! show the fixed time of a move. Must not know: what the parts allow together, how a slice is run.

use std::sync::atomic::Ordering;
use std::time::Duration;

use datapump::Options;

use super::ends::{CopyEnds, End};
use super::isolate::{Bench, NO_TIME, SliceRange, alone};
use super::law::whole;
use super::messages;
use super::part::{MeasuredRounds, Part, PartName, Slice, SlicePair, by_round};

pub(super) mod repeat;

/// After this much time there are no more rounds, if there are enough: with the rests, the trials and the repetitions all of
/// it stays below half a minute, unless a single call takes longer.
const TIME: Duration = Duration::from_millis(7500);
/// Nor however few there are: then no slice begins, the first ones included.
const TIME_MAX: Duration = Duration::from_secs(14);
/// With 5 rounds the interval is 2.3 standard deviations wide to each side, with 10 it is 1.9, with many 1.6.
const ROUNDS_MIN: usize = 5;
const ROUNDS_MAX: usize = 12;
/// Target times of a slice: of the whole copy, of parts that predict it, of parts that only show which one limits.
const WHOLE_TIME: Duration = Duration::from_millis(700);
const PART_TIME: Duration = Duration::from_millis(250);
const SHOWN_TIME: Duration = Duration::from_millis(100);
/// A copy that takes up to this multiple of the target time is moved as a whole.
const WHOLE_TIMES: f64 = 1.5;
/// A warm-up above this multiple of the target time was too long.
const SLOWER_MAX: f64 = 2.5;
/// Sizes of the first slices. Their differences separate a slow part from one that only starts slowly (to look for holes
/// in 4 GiB of tmpfs takes 0.2 s).
const TINY_BYTES: u64 = 64 << 10;
const LITTLE_BYTES: u64 = 1 << 20;
const FIRST_BYTES: u64 = 16 << 20;
/// One more where windows still grow. The first MiB takes six round trips of any path (ten segments, then twice as many each
/// time), and these bytes two more.
const LONGER_BYTES: u64 = 4 << 20;
const SLOW_START_TRIPS: u64 = 8;
/// The last of these is run where its bytes take less than this.
const FIRST_TIME_MAX: f64 = 0.3;
/// Two slices differ by no less than this part of the longer one: less is noise.
const STEP_MIN: f64 = 0.05;
/// Rounds that the room is divided among where a slice is not the whole copy.
const ROUNDS_MEANT: u64 = 8;
/// A slice of a longer copy writes no more than this. ext4 keeps four extents of 128 MiB at most in the inode: a file of
/// three or four is written at 0.3 GB/s, smaller and larger ones at 2.3 (1 MiB requests into reserved room).
const WRITTEN_BYTES_MAX: u64 = 128 << 20;
/// A short slice is this part of a long one.
const SHORT_FRACTION: u64 = 8;
/// Shares of what may be written, in sixteenths: trials and repetitions, the sink where both ends together are the whole,
/// each of two parts that write. The rest is for slices of the whole copy.
const LATER_SHARE: u64 = 4;
const SINK_SHARE: u64 = 2;
const HALF_SHARE: u64 = 6;
const SHARES: u64 = 16;

/// In this order: whether two hosts are one machine is known when the network was measured.
const ORDER: [PartName; 7] = [
    PartName::Pump,
    PartName::Source,
    PartName::Network,
    PartName::Local,
    PartName::Sink,
    PartName::Together,
    PartName::Chain,
];

/// A part with its slices so far.
struct Track {
    name: PartName,
    /// How long a slice is to take.
    time: Duration,
    /// Bytes of a slice, and of a short one if there is one.
    long_bytes: u64,
    short_bytes: Option<u64>,
    pairs: Vec<SlicePair>,
}

/// Measures all parts that there are.
pub(super) fn all(bench: &Bench<'_>, tell: &dyn Fn(&str)) -> MeasuredRounds {
    let start = (bench.clock)();
    bench.until.set(start + TIME_MAX);
    let options = bench.tuning();
    let mut measured = MeasuredRounds::default();
    let mut tracks = first(bench, &options, tell, &mut measured.wrong);
    let is_stopped = || bench.case.stop.load(Ordering::Relaxed);
    let names: Vec<&str> = tracks.iter().map(|track| track.name.words()).collect();
    if !is_stopped() && bench.has_time() {
        tell(&format!("measuring in turns: {}", names.join(", ")));
    }
    let kept = bench.may_write() / SHARES * LATER_SHARE;
    let mut round = 0;
    // The first of these rounds is a warm-up: slices of the size that counts.
    while !tracks.is_empty()
        && !is_stopped()
        && is_worth_a_round(bench, &tracks, round, (bench.clock)() - start, kept)
    {
        tracks.retain_mut(|track| {
            // A slice that was cut short shows nothing.
            let done = if is_stopped() { Ok(()) } else { track.run(bench, &options, round) };
            match done {
                Err(why) if !is_stopped() => {
                    leave_out(why, tell, &mut measured.wrong);
                    false
                }
                Ok(()) | Err(_) => true,
            }
        });
        if round == 0 {
            tracks.iter_mut().for_each(Track::adapt);
        }
        round += 1;
    }
    if is_stopped() {
        return measured;
    }
    settle(&mut measured, tracks, bench, tell);
    let rate = bench.case.options.tuning.bytes_per_second;
    let rate = rate.map(|rate| Part { bytes_per_second: rate as f64, ..Part::new(PartName::RateLimit) });
    measured.parts.extend(rate.clone());
    measured.rounds.iter_mut().for_each(|parts| parts.extend(rate.clone()));
    measured.parts.iter().filter(|part| part.name != PartName::RateLimit).for_each(|part| {
        tell(&messages::alone(part));
    });
    measured
}

/// A part is not measured, and why.
fn leave_out(why: String, tell: &dyn Fn(&str), wrong: &mut Vec<String>) {
    tell(&why);
    wrong.push(why);
}

/// The parts that there are, each with the size of its slices.
fn first(bench: &Bench<'_>, options: &Options, tell: &dyn Fn(&str), wrong: &mut Vec<String>) -> Vec<Track> {
    let mut known: Vec<(Part, FirstSpeed)> = Vec::new();
    for name in ORDER {
        // A slice that was cut short shows nothing.
        if bench.case.stop.load(Ordering::Relaxed) {
            break;
        }
        let parts: Vec<Part> = known.iter().map(|(part, _)| part.clone()).collect();
        let probed =
            bench.has(name, &parts).and_then(|has| has.then(|| probe(bench, name, options)).transpose());
        match probed {
            Ok(None) => {}
            Ok(Some(probed)) => {
                let on_one_machine = probed.on_one_machine;
                known.push((Part { on_one_machine, ..Part::new(name) }, probed));
            }
            Err(why) => leave_out(why, tell, wrong),
        }
    }
    let names: Vec<PartName> = known.iter().map(|(part, _)| part.name).collect();
    let whole = whole(&names, bench.ends);
    let room = bench.may_write();
    known.into_iter().map(|(part, probed)| Track::new(part.name, &probed, whole, room, bench)).collect()
}

/// A part after its first slices.
#[derive(Clone, Copy, Debug)]
struct FirstSpeed {
    on_one_machine: bool,
    /// Without what it takes to begin and to end.
    bytes_per_second: f64,
}

/// How fast a part is at first.
fn probe(bench: &Bench<'_>, name: PartName, options: &Options) -> Result<FirstSpeed, String> {
    let most = bench.ends.bytes().unwrap_or(u64::MAX).max(1);
    let room =
        || if bench.writes(name) { (bench.may_write() / SHARES).min(bench.slice_max()) } else { u64::MAX };
    let check_room = || {
        let is_enough = room() >= LITTLE_BYTES.min(most);
        if is_enough { Ok(()) } else { Err(alone(name, "too little free space")) }
    };
    check_room()?;
    let slice = |bytes: u64| {
        let probed = bench.slice(name, options, SliceRange { bytes: bytes.min(most), begin: 0 })?;
        probed.ok_or_else(|| alone(name, NO_TIME))
    };
    let tiny = slice(TINY_BYTES)?;
    let of_one =
        FirstSpeed { on_one_machine: tiny.on_one_machine, bytes_per_second: tiny.bytes_per_second() };
    if name == PartName::Pump || most <= TINY_BYTES {
        return Ok(of_one);
    }
    // Now another host has said how much is free.
    check_room()?;
    let (mut short, mut long) = (tiny, slice(LITTLE_BYTES)?);
    if is_in_slow_start(&short, &long) && LONGER_BYTES <= room().min(most) {
        (short, long) = (long, slice(LONGER_BYTES)?);
    }
    let bytes_per_second = between(&short, &long);
    let is_slow = bytes_per_second * FIRST_TIME_MAX < FIRST_BYTES as f64;
    if is_slow || most <= LITTLE_BYTES || room() < FIRST_BYTES {
        return Ok(FirstSpeed { bytes_per_second, ..of_one });
    }
    Ok(FirstSpeed { bytes_per_second: between(&long, &slice(FIRST_BYTES)?), ..of_one })
}

/// Whether what the longer slice took more was a few round trips: that says how windows grow, and not how fast the path is.
fn is_in_slow_start(short: &Slice, long: &Slice) -> bool {
    let more_ns = long.elapsed_ns.saturating_sub(short.elapsed_ns);
    long.bytes > short.bytes && more_ns < SLOW_START_TRIPS.saturating_mul(long.round_trip_ns)
}

/// The speed by what two slices differ in.
fn between(short: &Slice, long: &Slice) -> f64 {
    let bytes = long.bytes.saturating_sub(short.bytes) as f64;
    let ns = long.elapsed_ns.saturating_sub(short.elapsed_ns) as f64;
    bytes * 1e9 / ns.max(long.elapsed_ns as f64 * STEP_MIN).max(1.0)
}

/// Whether there is time for one more round, and room for it and `kept` bytes more.
fn is_worth_a_round(bench: &Bench<'_>, tracks: &[Track], round: usize, elapsed: Duration, kept: u64) -> bool {
    let counted = round.saturating_sub(1);
    let written: u64 = tracks.iter().filter(|track| bench.writes(track.name)).map(Track::bytes).sum();
    let has_room = written == 0 || bench.may_write() >= kept.saturating_add(written);
    let has_time = bench.has_time() && (counted < ROUNDS_MIN || elapsed < TIME);
    // Without any part but the empty loop nothing is predicted.
    let is_of_use = tracks.iter().any(|track| track.name != PartName::Pump) || round < 2;
    counted < ROUNDS_MAX && has_room && has_time && is_of_use
}

impl Track {
    fn new(
        name: PartName,
        probed: &FirstSpeed,
        whole: Option<PartName>,
        room: u64,
        bench: &Bench<'_>,
    ) -> Track {
        let is_shown = whole.is_some_and(|whole| whole != name);
        let time = match whole {
            Some(_) if is_shown => SHOWN_TIME,
            Some(_) => WHOLE_TIME,
            None => PART_TIME,
        };
        let sixteenths = match whole {
            Some(_) if is_shown => SINK_SHARE,
            Some(PartName::Sink) => SHARES - LATER_SHARE,
            Some(_) => SHARES - LATER_SHARE - SINK_SHARE,
            None => HALF_SHARE,
        };
        let is_bound = bench.writes(name);
        let slice_max = if is_bound { bench.slice_max() } else { u64::MAX };
        let room = if is_bound { room / SHARES * sixteenths } else { u64::MAX };
        // A whole copy is a slice as well.
        let room = room.min(slice_max.saturating_mul(ROUNDS_MIN as u64 + 1));
        let part_max = if is_bound { WRITTEN_BYTES_MAX.min(slice_max) } else { u64::MAX };
        let by_time = (probed.bytes_per_second * time.as_secs_f64()) as u64;
        let (long_bytes, short_bytes) = sizes(by_time, room, part_max, bench.ends.bytes());
        // A second size adds little for a part that only shows whether it limits.
        let short_bytes = short_bytes.filter(|_| !is_shown && name != PartName::Pump);
        Track { name, time, long_bytes, short_bytes, pairs: Vec::new() }
    }

    /// After the warm-up: a slice that took much longer than it should is made smaller.
    fn adapt(&mut self) {
        let Some(warm) = self.pairs.pop() else { return };
        let fixed_ns = warm.short.map_or(0, |short| short.elapsed_ns);
        let over = warm.long.elapsed_ns.saturating_sub(fixed_ns) as f64 / self.time.as_nanos() as f64;
        if over > SLOWER_MAX && self.name != PartName::Pump {
            self.long_bytes = ((self.long_bytes as f64 / over) as u64).max(LITTLE_BYTES.min(self.long_bytes));
            self.short_bytes = self.short_bytes.map(|short| short.min(self.long_bytes / 2).max(1));
        }
    }

    /// Bytes of one round.
    fn bytes(&self) -> u64 {
        self.long_bytes + self.short_bytes.unwrap_or(0)
    }

    /// The slices of one round; none is kept where there is no time for all of them.
    fn run(&mut self, bench: &Bench<'_>, options: &Options, round: usize) -> Result<(), String> {
        let (name, begin) = (self.name, self.begin(bench.ends, round));
        let slice = |bytes: u64| {
            if bench.writes(name) && bytes >= FIRST_BYTES && bench.has_time() {
                bench.ends.wait_discarded(&bench.case.stop);
            }
            bench.slice(name, options, SliceRange { bytes, begin })
        };
        let short = self.short_bytes.map(slice).transpose()?;
        let Some(long) = slice(self.long_bytes)? else { return Ok(()) };
        // A target had no room for more, or there was no time.
        self.long_bytes = self.long_bytes.min(long.bytes);
        self.pairs.push(SlicePair { short: short.flatten(), long });
        Ok(())
    }

    /// Each round moves other bytes, as far as there are some: those that were read may be in memory now. (Of a push the
    /// other host moves the first bytes.)
    fn begin(&self, ends: &CopyEnds, round: usize) -> u64 {
        match (ends.source, ends.bytes()) {
            (End::File(_) | End::Remote, Some(bytes)) if bytes > self.long_bytes => {
                (round as u64).wrapping_mul(self.long_bytes) % (bytes - self.long_bytes)
            }
            _ => 0,
        }
    }
}

/// Bytes of a slice, and of a shorter one where it is not the whole copy, for a part that may move `room` in all rounds and
/// the warm-up.
fn sizes(by_time: u64, room: u64, part_max: u64, copy_bytes: Option<u64>) -> (u64, Option<u64>) {
    let most = room / (ROUNDS_MIN as u64 + 1);
    match copy_bytes {
        Some(bytes) if bytes <= most && bytes as f64 <= by_time as f64 * WHOLE_TIMES => (bytes.max(1), None),
        _ => {
            let most = room / (ROUNDS_MEANT + 1) / (SHORT_FRACTION + 1) * SHORT_FRACTION;
            let long = by_time.min(most).min(part_max).min(copy_bytes.unwrap_or(u64::MAX));
            // Whole requests.
            let long = if long > LITTLE_BYTES { long / LITTLE_BYTES * LITTLE_BYTES } else { long.max(1) };
            let short = (long / SHORT_FRACTION / LITTLE_BYTES * LITTLE_BYTES).max(LITTLE_BYTES);
            (long, (long >= 2 * short).then_some(short))
        }
    }
}

/// Collects the measurements by part and by round. A last round that not all parts completed does not count, and parts of which
/// none counts are named.
fn settle(measured: &mut MeasuredRounds, tracks: Vec<Track>, bench: &Bench<'_>, tell: &dyn Fn(&str)) {
    let count = tracks.iter().map(|track| track.pairs.len()).min().unwrap_or(0);
    if count == 0 {
        let why = if bench.has_time() { "too little free space" } else { NO_TIME };
        tracks.iter().for_each(|track| leave_out(alone(track.name, why), tell, &mut measured.wrong));
    }
    let bytes = bench.ends.bytes();
    let by_track: Vec<Vec<Part>> =
        tracks.iter().map(|track| by_round(track.name, &track.pairs[..count], bytes)).collect();
    let of_round = |round: usize| by_track.iter().map(|parts| parts[round].clone()).collect();
    measured.rounds = (0..count).map(of_round).collect();
    measured.parts =
        by_track.iter().filter_map(|parts| Part::mean(&parts.iter().collect::<Vec<_>>())).collect();
    let source = measured.parts.iter_mut().filter(|part| part.name == PartName::Source);
    source.for_each(|part| part.cached = bench.ends.is_cached);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::explain::isolate::WRITES_MAX;
    use crate::advise::explain::{Case, MoveOutcome, MoveUse};
    use datapump::{Class, Fill, Host, Job, Network, Place, Remote, Report};
    use std::sync::atomic::AtomicU64;

    fn null_case() -> Case {
        let null = || Place::Null { bytes: None, fill: Fill::Zero };
        Case { sources: vec![null()], target: null(), options: Options::default(), stop: Default::default() }
    }

    /// However fast the target is, and however often it is full: all slices together stay within what may be written, and
    /// leave some of it for trials.
    #[test]
    fn slices_stay_within_what_may_be_written() {
        let case = null_case();
        for (what, copy, full_from, rounds_min) in [
            ("a small copy", 64 << 20, u64::MAX, ROUNDS_MAX),
            ("a copy that may be written a few times", 400 << 20, u64::MAX, ROUNDS_MIN),
            ("a large copy", 4 << 30, u64::MAX, ROUNDS_MIN),
            ("a target that is full", 4 << 30, 100 << 20, ROUNDS_MIN),
        ] {
            let written = AtomicU64::new(0);
            let mover = |job: Job, _: MoveUse| {
                let asked = job.asked().measuring.rehearsal_bytes.unwrap_or(1 << 20);
                let bytes_moved = asked.min(full_from);
                if job.asked().measuring.rehearsal_bytes.is_some() {
                    written.fetch_add(bytes_moved, Ordering::Relaxed);
                }
                let full = (bytes_moved < asked).then(|| (Class::NoSpace.name().to_string(), 1));
                let (problems, elapsed_ns) = (full.into_iter().collect(), bytes_moved / 2);
                MoveOutcome {
                    report: Report { problems, bytes_moved, elapsed_ns, ..Report::default() },
                    problem: None,
                }
            };
            let ends = CopyEnds { source: End::Null, copy_bytes: Some(copy), ..CopyEnds::for_tests() };
            let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
            let measured = all(&bench, &|_| ());
            let written = written.load(Ordering::Relaxed);
            assert!(written <= WRITES_MAX / 4 * 3 + (64 << 20), "{what}: {written}");
            assert!(measured.rounds.len() >= rounds_min, "{what}: {} rounds", measured.rounds.len());
            let sink =
                measured.parts.iter().find(|part| part.name == PartName::Sink).expect("it was measured");
            assert!((sink.bytes_per_second / 2e9 - 1.0).abs() < 0.01, "{what}: {sink:?}");
        }
    }

    /// In memory one in twenty holds for each slice, and all of them are bounded as elsewhere.
    #[test]
    fn slices_in_memory_are_bounded_each() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return eprintln!("skipped: no /dev/shm") };
        let free_bytes = || {
            let room = rustix::fs::statvfs(folder.path()).expect("the folder");
            room.f_bavail * room.f_frsize
        };
        let case = Case { target: Place::Path(folder.path().join("target")), ..null_case() };
        let (written, longest) = (AtomicU64::new(0), AtomicU64::new(0));
        let least_free = free_bytes() / 2;
        let mover = |job: Job, _: MoveUse| {
            let bytes_moved = job.asked().measuring.rehearsal_bytes;
            written.fetch_add(bytes_moved.unwrap_or(0), Ordering::Relaxed);
            longest.fetch_max(bytes_moved.unwrap_or(0), Ordering::Relaxed);
            let bytes_moved = bytes_moved.unwrap_or(1 << 20);
            let elapsed_ns = bytes_moved / 2;
            MoveOutcome { report: Report { bytes_moved, elapsed_ns, ..Report::default() }, problem: None }
        };
        let ends = CopyEnds { source: End::Null, copy_bytes: Some(4 << 30), ..CopyEnds::for_tests() };
        all(&Bench::new(&case, &ends, &mover, &|| Duration::ZERO), &|_| ());
        let (written, longest) = (written.load(Ordering::Relaxed), longest.load(Ordering::Relaxed));
        assert!(written <= WRITES_MAX && longest <= WRITTEN_BYTES_MAX, "{written}, {longest} each");
        // Not a bound of the sum: a slice is as long as elsewhere where there is much room.
        let has_much_room = least_free / 20 > WRITTEN_BYTES_MAX;
        assert!(!has_much_room || longest == WRITTEN_BYTES_MAX, "{longest} of {least_free}");
    }

    /// The other host bounds each slice alone: all of them together are bounded here, by what it says is free.
    #[test]
    fn slices_on_another_host_stay_within_one_in_twenty_of_what_is_free_there() {
        let remote = Remote { host: Host::Served("host:1".into()), path: "file".into() };
        let case = Case { target: Place::Remote(remote), ..null_case() };
        for (what, free, most) in [
            ("600 MiB", Some(600 << 20), 30 << 20),
            ("much", Some(1 << 40), WRITES_MAX),
            ("full", Some(0), LITTLE_BYTES),
            ("an older version", None, 256 << 20),
        ] {
            let written = AtomicU64::new(0);
            let mover = |job: Job, _: MoveUse| {
                let bytes_moved = job.asked().measuring.rehearsal_bytes;
                written.fetch_add(bytes_moved.unwrap_or(0), Ordering::Relaxed);
                let rehearsal_free_bytes = bytes_moved.and(free);
                let bytes_moved = bytes_moved.unwrap_or(1 << 20);
                let elapsed_ns = bytes_moved / 2;
                let report = Report { bytes_moved, elapsed_ns, rehearsal_free_bytes, ..Report::default() };
                MoveOutcome { report, problem: None }
            };
            let (source, sink) = (End::Null, End::Remote);
            let ends = CopyEnds { source, sink, copy_bytes: Some(100 << 20), ..CopyEnds::for_tests() };
            let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
            let measured = all(&bench, &|_| ());
            let written = written.load(Ordering::Relaxed);
            assert!((1..=most).contains(&written), "{what}: {written}");
            assert!(!measured.rounds.is_empty(), "{what}: {measured:?}");
        }
    }

    #[test]
    fn slow_start_ends_after_so_many_round_trips() {
        let slice = |bytes, elapsed_ns| Slice { bytes, elapsed_ns, round_trip_ns: 100, ..Slice::default() };
        for (short, long, is_in) in [
            (slice(1, 1000), slice(9, 1799), true),
            (slice(1, 1000), slice(9, 1800), false),
            (slice(1, 1000), slice(1, 1000), false),
            (slice(1, 1000), Slice { round_trip_ns: u64::MAX, ..slice(9, 1800) }, true),
        ] {
            assert_eq!(is_in_slow_start(&short, &long), is_in, "{short:?} {long:?}");
        }
    }

    /// 40 MB/s and 40 ms: a slice of 1 MiB takes ten round trips, of which six are those of windows that grow.
    #[test]
    fn a_long_path_is_measured_behind_its_slow_start() {
        const ROUND_TRIP_NS: u64 = 40_000_000;
        const COPY_BYTES: u64 = 1 << 30;
        let source = tempfile::NamedTempFile::new().expect("a file");
        source.as_file().set_len(COPY_BYTES).expect("a length");
        let remote = Remote { host: Host::Served("host:1".into()), path: "file".into() };
        let sources = vec![Place::Path(source.path().into())];
        let case = Case { sources, target: Place::Remote(remote), ..null_case() };
        let mover = |job: Job, _: MoveUse| {
            let asked = job.asked().measuring.clone();
            let bytes_moved = asked.rehearsal_bytes.or(asked.far_null_bytes).unwrap_or(1 << 20);
            let (mut sent, mut window, mut trips) = (0, 14_600, 4);
            while sent + window < bytes_moved && window < 1_600_000 {
                (sent, window, trips) = (sent + window, window * 2, trips + 1);
            }
            let elapsed_ns = trips * ROUND_TRIP_NS + bytes_moved.saturating_sub(sent) * 25;
            let answer_us = ROUND_TRIP_NS / 1000;
            let network = Some(Network { answer_us, ..Network::default() });
            MoveOutcome {
                report: Report { bytes_moved, elapsed_ns, network, ..Report::default() },
                problem: None,
            }
        };
        let ends = CopyEnds {
            source: End::File(COPY_BYTES),
            sink: End::Remote,
            copy_bytes: Some(COPY_BYTES),
            ..CopyEnds::for_tests()
        };
        let measured = all(&Bench::new(&case, &ends, &mover, &|| Duration::ZERO), &|_| ());
        let network = measured.parts.iter().find(|part| part.name == PartName::Network).expect("a part");
        assert!((network.bytes_per_second / 40e6 - 1.0).abs() < 0.2, "{network:?}");
    }

    #[test]
    fn a_small_copy_is_a_slice_of_itself() {
        const MIB: u64 = 1 << 20;
        for (what, by_time, room, copy, expected) in [
            ("small", 700, 3000, Some(64), (64, None)),
            ("as long as a slice", 700, 6000, Some(1000), (1000, None)),
            ("too long", 120, 9000, Some(4096), (120, Some(15))),
            ("too long, of a part that writes", 700, 9000, Some(4096), (128, Some(16))),
            ("too much to write", 700, 900, Some(400), (88, Some(11))),
            ("of unknown size", 700, 900, None, (88, Some(11))),
            ("slow", 3, 900, Some(24), (3, Some(1))),
            ("very slow", 1, 900, Some(24), (1, None)),
        ] {
            let (long, short) =
                sizes(by_time * MIB, room * MIB, 128 * MIB, copy.map(|bytes: u64| bytes * MIB));
            assert_eq!((long / MIB, short.map(|bytes| bytes / MIB)), expected, "{what}");
        }
    }

    /// 0.2 s to begin, 2 GB/s then: not a part that moves 5 MB/s.
    #[test]
    fn a_slow_beginning_is_no_slow_part() {
        let slice = |bytes: u64, elapsed_ns: u64| Slice { bytes, elapsed_ns, ..Slice::default() };
        for (what, short, long, mb_per_s) in [
            ("slow to begin", slice(1 << 20, 200_524_288), slice(16 << 20, 208_388_608), 1500.0..2100.0),
            ("slow", slice(64 << 10, 8_192_000), slice(1 << 20, 131_072_000), 7.9..8.1),
            (
                "the longer one was faster, by chance",
                slice(1 << 20, 9_000_000),
                slice(16 << 20, 8_000_000),
                30e3..50e3,
            ),
        ] {
            let speed = between(&short, &long) / 1e6;
            assert!(mb_per_s.contains(&speed), "{what}: {speed}");
        }
    }

    #[test]
    fn each_round_reads_other_bytes() {
        let time = WHOLE_TIME;
        let track =
            Track { name: PartName::Chain, time, long_bytes: 300, short_bytes: None, pairs: Vec::new() };
        let at = |bytes, round| {
            let (source, copy_bytes) = (End::File(bytes), Some(bytes));
            let ends = CopyEnds { source, copy_bytes, ..CopyEnds::for_tests() };
            track.begin(&ends, round)
        };
        assert_eq!([at(1000, 0), at(1000, 1), at(1000, 2), at(1000, 3)], [0, 300, 600, 200]);
        assert_eq!([at(300, 1), at(200, 5)], [0, 0]);
    }
}
