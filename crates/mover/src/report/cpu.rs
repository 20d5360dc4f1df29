//! CPU time of this process, and of all that ran beside it.
//!
//! Must not know: what it was spent on.

use std::time::Instant;

use datapump_core::verdict::Cpu;
use datapump_engine::os::linux::{IdleCpus, TICK_NS};

/// CPU time of the process until now.
pub fn cpu_now() -> Cpu {
    let (user_ns, system_ns) = datapump_engine::os::linux::process_cpu_ns();
    Cpu { user_ns, system_ns }
}

/// CPU time since then.
pub fn cpu_since(start: Cpu) -> Cpu {
    let now = cpu_now();
    Cpu { user_ns: now.user_ns - start.user_ns, system_ns: now.system_ns - start.system_ns }
}

/// The use of the machine's CPUs from a point in time on, by any program.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusyCpus(Option<(Instant, IdleCpus)>);

impl BusyCpus {
    pub fn begin() -> BusyCpus {
        BusyCpus::begin_by(IdleCpus::now)
    }

    /// For how long they can have run something, summed over CPUs. `None` where the system does not say.
    pub fn busy_ns(&self) -> Option<u64> {
        self.busy_ns_by(IdleCpus::now)
    }

    /// The time between two looks contains both: with many CPUs each takes milliseconds, in which all may be idle.
    fn begin_by(look: impl FnOnce() -> Option<IdleCpus>) -> BusyCpus {
        let start = Instant::now();
        BusyCpus(look().map(|idle| (start, idle)))
    }

    fn busy_ns_by(&self, look: impl FnOnce() -> Option<IdleCpus>) -> Option<u64> {
        let (start, before) = self.0?;
        let now = look()?;
        Some(busy_between(before, now, start.elapsed().as_nanos() as u64))
    }
}

/// The kernel reports two sums, each cut to whole ticks: idle time may be shorter than it seems by as much. A CPU that is
/// offline counts by another clock: then nothing is known of idle time.
fn busy_between(before: IdleCpus, now: IdleCpus, elapsed_ns: u64) -> u64 {
    let all_ns = elapsed_ns.saturating_mul(before.cpus.max(now.cpus).into());
    if before.cpus != now.cpus {
        return all_ns;
    }
    let idle_ns = now.idle_ns.saturating_sub(before.idle_ns);
    all_ns.saturating_sub(idle_ns).saturating_add(2 * TICK_NS).min(all_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_not_idle_can_have_run_something() {
        const MS: u64 = 1_000_000;
        for (what, idle_ms, cpus, busy_ms) in [
            ("half of two CPUs", 1000, 2, 1020),
            ("all of them", 0, 2, 2000),
            ("nothing", 2000, 2, 20),
            ("more idle than there was time, by the ticks", 2010, 2, 20),
            ("a CPU that went offline, by whose other clock more was idle", 1000, 1, 2000),
            ("a CPU that came online", 1000, 3, 3000),
        ] {
            let before = IdleCpus { idle_ns: 5_000 * MS, cpus: 2 };
            let now = IdleCpus { idle_ns: before.idle_ns + idle_ms * MS, cpus };
            assert_eq!(busy_between(before, now, 1000 * MS), busy_ms * MS, "{what}");
        }
    }

    #[test]
    fn idle_time_of_the_looks_is_of_the_time_between_them() {
        let look = || {
            std::thread::sleep(Duration::from_millis(20));
            Some(IdleCpus { idle_ns: 0, cpus: 2 })
        };
        assert!(BusyCpus::begin_by(look).busy_ns_by(look) >= Some(80_000_000));
    }
}
