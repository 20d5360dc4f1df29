//! The platform of a job: a file system, engines, a clock, a seed. Real, or simulated for tests.
//!
//! Must not know: jobs, plans, what is copied.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use datapump_engine::os::linux::{thread_delayed_ns, thread_ns};
use datapump_engine::sim::{Device, Faults, SimClock, SimDisk};
use datapump_engine::{Arena, Engine, EngineKind, Peaks, Refused, Sim, WAIT_MAX, Wait};

use crate::problem::{Class, Operation, Problem};
use crate::report::AskedAndGot;
use crate::report::charges::ThreadTime;
use crate::report::cpu::BusyCpus;
use crate::setup::options::{EngineChoice, WaitChoice};
use crate::setup::storage_reads::StorageReads;
use crate::units::bytes_words;
use datapump_files::devices::control_groups::ControlGroups;
use datapump_files::disk::Disk;
use datapump_files::identity::tick;

/// Monotonic time in nanoseconds from an arbitrary start.
#[derive(Clone, Debug)]
pub enum Clock {
    System(Instant),
    Sim(SimClock),
}

impl Clock {
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::System(start) => start.elapsed().as_nanos() as u64,
            Clock::Sim(clock) => clock.now_ns(),
        }
    }

    /// Time by which the calling thread charges what it does, from a start of its own. It stops while the thread
    /// waits for the clock of a file system: that is time of neither end.
    pub fn charged_ns(&self) -> u64 {
        match self {
            // The thread may have waited before this clock began.
            Clock::System(_) => (1 << 62) + self.now_ns() - tick::settling_ns(),
            Clock::Sim(clock) => clock.now_ns(),
        }
    }

    /// Sleeps until `ns`, or until `stopped` says so.
    pub fn sleep_until(&self, ns: u64, stopped: &dyn Fn() -> bool) {
        if let Clock::Sim(clock) = self {
            return clock.advance_to(ns * 1000);
        }
        while !stopped() {
            let left = Duration::from_nanos(ns.saturating_sub(self.now_ns()));
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(WAIT_MAX));
        }
    }
}

/// A simulated world: devices by a model, seeded faults, a file system in memory.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The file system.
    pub disk: Arc<SimDisk>,
    /// The clock: virtual, or real for paced ends.
    pub clock: SimClock,
    /// The device behind every read.
    pub source: Device,
    /// The device behind every write.
    pub sink: Device,
    /// What goes wrong.
    pub faults: Faults,
    /// Decides everything random.
    pub seed: u64,
}

/// Where jobs run.
#[derive(Clone, Debug)]
pub struct Platform {
    pub disk: Disk,
    pub clock: Clock,
    simulation: Option<Simulation>,
    /// Where engines count requests in flight, if that was asked for.
    peaks: Option<Peaks>,
    /// Decides the noise of null sources.
    pub seed: u64,
}

impl Platform {
    /// What the calling thread did until now. On a virtual clock nothing computes.
    pub fn thread_time(&self) -> ThreadTime {
        let elapsed_ns = self.clock.charged_ns();
        if self.is_simulated() {
            ThreadTime { elapsed_ns, ..ThreadTime::default() }
        } else {
            ThreadTime { elapsed_ns, cpu_ns: thread_ns(), delayed_ns: thread_delayed_ns() }
        }
    }

    /// This host.
    pub fn real() -> Platform {
        Platform {
            disk: Disk::Os,
            clock: Clock::System(Instant::now()),
            simulation: None,
            peaks: None,
            seed: 1,
        }
    }

    /// This host's files, on a virtual clock: for both sides of a session in one thread.
    pub fn stepped(clock: SimClock) -> Platform {
        Platform { clock: Clock::Sim(clock), ..Platform::real() }
    }

    /// A platform whose clock and disk are simulated.
    pub fn simulated(simulation: Simulation) -> Platform {
        Platform {
            disk: Disk::Sim(Arc::clone(&simulation.disk)),
            clock: Clock::Sim(simulation.clock.clone()),
            seed: simulation.seed,
            peaks: None,
            simulation: Some(simulation),
        }
    }

    /// Counts requests in flight of all its engines in `peaks`.
    #[must_use]
    pub fn watched_by(self, peaks: Peaks) -> Platform {
        Platform { peaks: Some(peaks), ..self }
    }

    pub fn is_simulated(&self) -> bool {
        self.simulation.is_some()
    }

    /// Those that limit this process. In a simulated world there are none, and nothing outside of it is read.
    pub fn control_groups(&self) -> ControlGroups {
        if self.is_simulated() { ControlGroups::default() } else { ControlGroups::of_this_process() }
    }

    /// The use of the machine's CPUs from now on. In a simulated world nothing outside of it is read.
    pub fn busy_cpus(&self) -> BusyCpus {
        if self.is_simulated() { BusyCpus::default() } else { BusyCpus::begin() }
    }

    /// A count of what is read from storage from now on: nothing in a simulated world.
    pub fn storage_reads(&self) -> StorageReads {
        if self.is_simulated() { StorageReads::default() } else { StorageReads::begin() }
    }

    /// Makes the engine for one lane: the requested one, or the next that works. Gives which was requested and which it is, and
    /// why.
    ///
    /// Errors: no memory.
    pub fn make_engine(
        &self,
        need: &EngineNeed,
        stop: &Arc<AtomicBool>,
    ) -> Result<(Engine, AskedAndGot), Problem> {
        let (engine, asked) = self.unwatched_engine(need, stop)?;
        Ok((engine.watched_by(self.peaks.clone()), asked))
    }

    fn unwatched_engine(
        &self,
        need: &EngineNeed,
        stop: &Arc<AtomicBool>,
    ) -> Result<(Engine, AskedAndGot), Problem> {
        let arena = || Arena::try_new(need.slots, need.slot_bytes).ok_or_else(|| no_memory_problem(need));
        if let Some(sim) = &self.simulation {
            let engine = Sim::new(sim.clock.clone(), sim.source, sim.sink, sim.faults, sim.seed);
            let asked = asked(need.choice, EngineKind::Sim, "simulated world".into());
            return Ok((Engine::sim(arena()?, engine), asked));
        }
        let (order, mut why) = preference(need);
        for kind in order {
            match try_engine(kind, arena()?, need, stop) {
                Ok(engine) => return Ok((engine, asked(need.choice, kind, why))),
                Err(refused) => {
                    why = format!("{}: {}", refused.call, crate::problem::system_words(refused.errno.0));
                }
            }
        }
        Ok((Engine::inline(arena()?, Arc::clone(stop)), asked(need.choice, EngineKind::Inline, why)))
    }
}

/// The problem that there is no memory for the slots of a lane.
fn no_memory_problem(need: &EngineNeed) -> Problem {
    let bytes = u64::from(need.slots) * u64::from(need.slot_bytes);
    let message = format!(
        "there is no memory for {} of slots (both depths x request size, for each lane); ask for less",
        bytes_words(bytes)
    );
    Problem::of(Class::Io, Operation::Allocate, message)
}

/// What a lane asks of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineNeed {
    pub choice: EngineChoice,
    pub wait: WaitChoice,
    pub slots: u32,
    pub slot_bytes: u32,
    pub requests: u32,
    /// At most one request will be in flight at a time, so that a queue would only add system calls.
    pub nothing_overlaps: bool,
}

/// Engines in the order in which they are tried, and why this order.
fn preference(need: &EngineNeed) -> (Vec<EngineKind>, String) {
    match need.choice {
        EngineChoice::Auto if need.nothing_overlaps => {
            (vec![EngineKind::Inline], "nothing to overlap".into())
        }
        EngineChoice::Auto => (vec![EngineKind::Uring, EngineKind::Threads], "first that works".into()),
        EngineChoice::Uring => (vec![EngineKind::Uring, EngineKind::Threads], String::new()),
        EngineChoice::Threads => (vec![EngineKind::Threads], String::new()),
        EngineChoice::Inline => (vec![EngineKind::Inline], String::new()),
    }
}

/// Makes an engine of this kind.
///
/// Errors: a call that it needs is refused.
fn try_engine(
    kind: EngineKind,
    arena: Arena,
    need: &EngineNeed,
    stop: &Arc<AtomicBool>,
) -> Result<Engine, Refused> {
    let wait = match need.wait {
        WaitChoice::Kernel => Wait::Kernel,
        WaitChoice::Spin => Wait::Spin,
        WaitChoice::Eventfd => Wait::Eventfd,
    };
    match kind {
        EngineKind::Uring => Engine::uring(arena, need.requests, Arc::clone(stop), wait),
        EngineKind::Threads => Engine::threads(arena, need.requests, Arc::clone(stop), wait),
        EngineKind::Inline | EngineKind::Sim => Ok(Engine::inline(arena, Arc::clone(stop))),
    }
}

fn asked(choice: EngineChoice, got: EngineKind, why: String) -> AskedAndGot {
    AskedAndGot { asked: choice.to_string(), got: got.to_string(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_files::disk::Meta;

    #[test]
    fn a_wait_for_the_clock_of_a_file_system_is_charged_to_nobody() {
        const EXT4: u64 = 0xef53;
        let (clock, now_ns) = (Platform::real().clock, tick::now_ns());
        let young = Meta { mtime_ns: now_ns, ctime_ns: now_ns, ..Meta::nothing() };
        let (start_ns, charged_ns, settling_ns) = (clock.now_ns(), clock.charged_ns(), tick::settling_ns());
        tick::wait_until_settled(EXT4, &young, &AtomicBool::new(false));
        let (charged_ns, settling_ns) = (clock.charged_ns() - charged_ns, tick::settling_ns() - settling_ns);
        assert!(charged_ns + settling_ns <= clock.now_ns() - start_ns, "{charged_ns} {settling_ns}");
    }
}
