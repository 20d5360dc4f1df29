//! The soaker: a spinning thread of the lowest priority on each CPU. What it does not get is what the run used.
//!
//! Its loop is one chain of multiplications in registers: no memory that a cache could lose, no `pause`, at which a
//! hypervisor steps in, and few enough instructions at a time that a neighbour on the same core hardly feels them.
//! Each thread tells after every block of about 20 µs how far it is; it is never waited for during a run.
//!
//! A thread of the lowest priority gives way within its control group or, where the kernel groups by session
//! (`sched_autogroup_enabled`), its session. Programs of other groups share with the soaker as with any program: they
//! are slowed, but what they use is counted all the same.
//!
//! Must not know: rows, what is run meanwhile, how the counts are judged (`soaked`).

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use datapump_engine::os::linux::{ContextSwitches, Lowest, allowed_cpus, lowest_priority, pin_to};
use rustix::thread::{Pid, gettid};
use rustix::time::{ClockId, clock_gettime};

use self::spin::spin;
use super::limits::{interrupts_and_stolen_ns, online_cpus, quota_cpus, yields_to_its_group_alone};
use super::soaked::{Calibrated, Conditions, Count, PACE_BLOCKS, Soaked, Window, pace_ns};

pub mod spin;

/// One calibration. Ticks of the kernel (4 ms) are 1 % of it, and a run is held up by two.
const CALIBRATION: Duration = Duration::from_millis(400);
/// Until the threads have reached their CPUs.
const SETTLE: Duration = Duration::from_millis(50);
/// A CPU that gives a thread nothing for so long belongs to real-time work.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Direct writes of 4 KiB in a ring, which threads of the kernel complete, took eighteen times as long with the soaker.
const EQUALS: &str = "threads of the kernel share the processors with it as equals, so that what they do for a run \
                      takes longer (as root: sysctl kernel.sched_autogroup_enabled=0)";
/// How long a block takes at least: long against looking at the clock (0.2 µs), short against the time from one
/// interrupt to the next.
const BLOCK_NS: u64 = 20_000;

/// Which CPUs are soaked: the levels of the factor `soaker`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All: the CPU time of a run is known.
    All,
    /// The first half, for the study of what the soaker itself does to a run.
    Half,
}

impl Coverage {
    /// The CPUs to soak of those that there are. One alone has no half.
    pub fn cpus(self, allowed: &[usize]) -> Option<&[usize]> {
        match (self, allowed.len()) {
            (_, 0) | (Coverage::Half, 1) => None,
            (Coverage::All, _) => Some(allowed),
            (Coverage::Half, all) => Some(&allowed[..all / 2]),
        }
    }

    /// Whether this host has enough CPUs for it.
    pub fn is_possible(self) -> bool {
        allowed_cpus().is_ok_and(|allowed| self.cpus(&allowed).is_some())
    }
}

/// What a thread tells after each block.
#[derive(Debug, Default)]
struct SoakerTold {
    iterations: AtomicU64,
    clock_ns: AtomicU64,
    soaked_ns: AtomicU64,
}

/// Threads that soak up what is left of their CPUs, until it is dropped.
#[derive(Debug)]
struct SoakerThreads {
    cpus: Vec<usize>,
    told: Vec<Arc<SoakerTold>>,
    ids: Vec<Pid>,
    stop: Arc<AtomicBool>,
}

/// A soaker that is calibrated and counts a run.
#[derive(Debug)]
pub struct Soaker {
    threads: SoakerThreads,
    conditions: Conditions,
    calibrated: Calibrated,
    begin: SoakerMoment,
}

/// How far everything is.
#[derive(Debug)]
struct SoakerMoment {
    at: Instant,
    counts: Vec<Count>,
    interrupts_and_stolen_ns: (u64, u64),
}

impl Soaker {
    /// Starts the threads, calibrates them twice without the run, and begins to count.
    ///
    /// Errors: threads that cannot be started, or that get nothing of their CPU.
    pub fn start(coverage: Coverage) -> anyhow::Result<Soaker> {
        let allowed = allowed_cpus().context("soaker: which CPUs this program may use")?;
        let cpus = coverage.cpus(&allowed).context("soaker: one CPU alone has no half; write on or off")?;
        let (threads, fallback) = SoakerThreads::start(cpus)?;
        sleep(SETTLE);
        let windows = [threads.calibrate(), threads.calibrate()];
        let calibrated = Calibrated::from_windows(&windows);
        let conditions =
            Conditions { allowed: allowed.len(), online: online_cpus(), quota_cpus: quota_cpus(), fallback };
        Ok(Soaker { begin: threads.now(), threads, conditions, calibrated })
    }

    /// How often its threads left their CPUs: they are of the process that a job is of.
    pub fn switches(&self) -> ContextSwitches {
        let each = self.threads.ids.iter().map(|id| {
            let path = format!("/proc/self/task/{}/status", id.as_raw_nonzero());
            switches_in(&fs::read_to_string(path).unwrap_or_default())
        });
        each.fold(ContextSwitches::default(), |sum, one| ContextSwitches {
            voluntary: sum.voluntary + one.voluntary,
            involuntary: sum.involuntary + one.involuntary,
        })
    }

    /// Ends the count: the CPU time that was left over, and what follows from it.
    pub fn end(self) -> (u64, Soaked) {
        let run = self.begin.until(&self.threads.now());
        self.calibrated.soaked(&run, &self.conditions)
    }
}

impl SoakerThreads {
    fn start(cpus: &[usize]) -> anyhow::Result<(SoakerThreads, Vec<String>)> {
        let told = cpus.iter().map(|_| Arc::default()).collect();
        let mut threads = SoakerThreads { cpus: cpus.into(), told, ids: Vec::new(), stop: Arc::default() };
        let (placed, places) = mpsc::channel();
        for (&cpu, told) in cpus.iter().zip(&threads.told) {
            let (told, stop, placed) = (Arc::clone(told), Arc::clone(&threads.stop), placed.clone());
            let soak = move || {
                // Nobody listens any more: the soaker was given up.
                let _ = placed.send((gettid(), place(cpu)));
                soak(&told, &stop);
            };
            let builder = std::thread::Builder::new().name(format!("soaker {cpu}"));
            builder.spawn(soak).context("soaker: start a thread")?;
        }
        let mut fallback = Vec::new();
        for _ in cpus {
            let placed = places.recv_timeout(WAIT_MAX);
            let held = "soaker: a CPU is held by real-time work and gives a thread nothing";
            let (id, words) = placed.context(held)?;
            threads.ids.push(id);
            fallback.extend(words);
        }
        if yields_to_its_group_alone() {
            fallback.push(EQUALS.into());
        }
        fallback.sort();
        fallback.dedup();
        Ok((threads, fallback))
    }

    fn now(&self) -> SoakerMoment {
        let count = |told: &Arc<SoakerTold>| Count {
            iterations: told.iterations.load(Ordering::Relaxed),
            clock_ns: told.clock_ns.load(Ordering::Relaxed),
            soaked_ns: told.soaked_ns.load(Ordering::Relaxed),
        };
        SoakerMoment {
            at: Instant::now(),
            counts: self.told.iter().map(count).collect(),
            interrupts_and_stolen_ns: interrupts_and_stolen_ns(&self.cpus),
        }
    }

    fn calibrate(&self) -> Window {
        let begin = self.now();
        sleep(CALIBRATION);
        begin.until(&self.now())
    }
}

/// The threads end by themselves after their block, and are not waited for: on a busy CPU that could take long.
impl Drop for SoakerThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl SoakerMoment {
    fn until(&self, end: &SoakerMoment) -> Window {
        let threads = self.counts.iter().zip(&end.counts).map(|(begin, end)| Count {
            iterations: end.iterations - begin.iterations,
            clock_ns: end.clock_ns - begin.clock_ns,
            soaked_ns: end.soaked_ns - begin.soaked_ns,
        });
        let ((interrupts, stolen), after) = (self.interrupts_and_stolen_ns, end.interrupts_and_stolen_ns);
        Window {
            elapsed_ns: (end.at - self.at).as_nanos() as u64,
            threads: threads.collect(),
            interrupts_ns: after.0.saturating_sub(interrupts),
            stolen_ns: after.1.saturating_sub(stolen),
        }
    }
}

/// Takes the lowest priority on this CPU; says what was refused.
fn place(cpu: usize) -> Vec<String> {
    place_words(lowest_priority(), pin_to(cpu))
}

fn place_words(lowest: Lowest, pinned: io::Result<()>) -> Vec<String> {
    let priority = match lowest {
        Lowest::Idle => None,
        Lowest::Nice(why) => Some(format!("idle priority was refused ({why}): nice 19 instead")),
        Lowest::Unchanged(why) => {
            Some(format!("idle priority and nice 19 were refused ({why}): it competes with the run"))
        }
    };
    let pinned = pinned.err().map(|why| format!("a thread could not be kept on its CPU ({why})"));
    priority.into_iter().chain(pinned).collect()
}

fn soak(told: &SoakerTold, stop: &AtomicBool) {
    let block = block_iterations();
    let mut counter = Counter::default();
    let mut state = 1;
    // The first pace is there before anything is told.
    for _ in 0..PACE_BLOCKS {
        state = spin(block, state);
        counter.add(clock_ns());
    }
    let before = counter.soaked_ns;
    while !stop.load(Ordering::Relaxed) {
        state = spin(block, state);
        counter.add(clock_ns());
        told.iterations.store(counter.blocks * block, Ordering::Relaxed);
        told.clock_ns.store(counter.clock_ns, Ordering::Relaxed);
        told.soaked_ns.store(counter.soaked_ns - before, Ordering::Relaxed);
    }
}

/// Blocks and what they would have taken without interrupts.
#[derive(Debug)]
struct Counter {
    blocks: u64,
    clock_ns: u64,
    soaked_ns: u64,
    pace_ns: u64,
    last: [u64; PACE_BLOCKS],
}

impl Default for Counter {
    fn default() -> Counter {
        Counter { blocks: 0, clock_ns: clock_ns(), soaked_ns: 0, pace_ns: 0, last: [0; PACE_BLOCKS] }
    }
}

impl Counter {
    /// A block that ended at this time of the thread's clock.
    fn add(&mut self, clock_ns: u64) {
        let place = self.blocks as usize % PACE_BLOCKS;
        self.last[place] = clock_ns - self.clock_ns;
        self.clock_ns = clock_ns;
        self.blocks += 1;
        self.soaked_ns += self.pace_ns;
        if place == PACE_BLOCKS - 1 {
            self.pace_ns = pace_ns(self.last);
        }
    }
}

/// How many iterations take about [`BLOCK_NS`] here.
fn block_iterations() -> u64 {
    let mut iterations = 1 << 10;
    loop {
        let begin = clock_ns();
        spin(iterations, 1);
        if clock_ns() - begin >= BLOCK_NS {
            return iterations;
        }
        iterations *= 2;
    }
}

/// Two lines of /proc/PID/task/TID/status: proc_pid_status(5).
fn switches_in(status: &str) -> ContextSwitches {
    let of = |name: &str| {
        let number = status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        number.unwrap_or(0)
    };
    ContextSwitches {
        voluntary: of("voluntary_ctxt_switches:"),
        involuntary: of("nonvoluntary_ctxt_switches:"),
    }
}

/// CPU time of the calling thread.
fn clock_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_half_of_the_processors_are_soaked() {
        for (allowed, all, half) in [
            (&[][..], None, None),
            (&[3], Some(&[3][..]), None),
            (&[0, 1], Some(&[0, 1]), Some(&[0][..])),
            (&[0, 2, 4], Some(&[0, 2, 4]), Some(&[0])),
            (&[0, 1, 2, 3], Some(&[0, 1, 2, 3]), Some(&[0, 1])),
        ] {
            assert_eq!(Coverage::All.cpus(allowed), all, "{allowed:?}");
            assert_eq!(Coverage::Half.cpus(allowed), half, "{allowed:?}");
        }
    }

    #[test]
    fn what_is_refused_is_told_with_what_is_done_instead() {
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        for (lowest, pinned, words) in [
            (Lowest::Idle, Ok(()), &[][..]),
            (
                Lowest::Nice(refused()),
                Ok(()),
                &["idle priority was refused (permission denied): nice 19 instead"],
            ),
            (
                Lowest::Unchanged(refused()),
                Err(refused()),
                &[
                    "idle priority and nice 19 were refused (permission denied): it competes with the run",
                    "a thread could not be kept on its CPU (permission denied)",
                ],
            ),
        ] {
            assert_eq!(place_words(lowest, pinned), words);
        }
    }

    #[test]
    fn a_soaker_is_calibrated_and_counts() {
        let soaker = Soaker::start(Coverage::All).expect("CPUs");
        spin(1 << 20, 1);
        let (soaked_ns, soaked) = soaker.end();
        assert_eq!((soaked.calibrations.len(), soaked.cpus), (2, soaked.of_cpus));
        // Other tests may leave nothing of the CPUs: then it says so.
        assert!((soaked.iterations_per_cpu_s > 0.0 || soaked.noisy) && soaked.elapsed_ns > 0, "{soaked:?}");
        assert_eq!(soaked.noisy, !soaked.why.is_empty());
        assert!(soaked.cpu_ns.is_some() && soaked_ns < u64::MAX / 2, "{soaked_ns} {soaked:?}");
    }

    #[test]
    fn blocks_are_counted_at_the_pace_of_the_group_before() {
        let mut counter = Counter { clock_ns: 0, ..Counter::default() };
        let mut at = 0;
        for (block_ns, soaked_ns) in [(20_000, 0), (25_000, 20_000), (30_000, 25_000)] {
            let before = counter.soaked_ns;
            for _ in 0..PACE_BLOCKS {
                at += block_ns;
                counter.add(at);
            }
            assert_eq!(counter.soaked_ns - before, soaked_ns * PACE_BLOCKS as u64, "{block_ns}");
        }
        assert_eq!((counter.blocks, counter.clock_ns), (3 * PACE_BLOCKS as u64, at));
    }

    #[test]
    fn switches_of_a_thread_are_read_by_their_kind() {
        let status = "Name:\tpump\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t12\n";
        assert_eq!(switches_in(status), ContextSwitches { voluntary: 7, involuntary: 12 });
        assert_eq!(switches_in(""), ContextSwitches::default());
        assert!(block_iterations() >= 1 << 10);
    }
}
