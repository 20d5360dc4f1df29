//! CPU time of the system's own threads: what they have run, as /proc tells each one's.
//!
//! They write back, complete requests and serve soft interrupts for everybody: whose work it was nobody tells.
//!
//! Must not know: when it is looked at, what for.

use std::collections::BTreeMap;
use std::fs;

/// A thread of the kernel: linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;
/// Fields of /proc/PID/stat behind the name, counted from 0: proc_pid_stat(5).
const FLAGS: usize = 6;
const START: usize = 19;

/// A thread: its number, and when it started, as numbers are given again.
type Thread = (u32, u64);

/// What each has run until now, in nanoseconds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KernelTimes(BTreeMap<Thread, u64>);

impl KernelTimes {
    /// None where none can be seen, as in a container, or the kernel does not tell (`CONFIG_SCHED_INFO`).
    pub(super) fn now() -> Option<KernelTimes> {
        let entries = fs::read_dir("/proc").ok()?.flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let times: BTreeMap<Thread, u64> = numbers.filter_map(time_of).collect();
        (!times.is_empty()).then_some(KernelTimes(times))
    }

    /// What was run since then. Of a thread that ended meanwhile nothing is known any more.
    pub(super) fn since_ns(&self, before: &KernelTimes) -> u64 {
        let ran =
            |(thread, ns): (&Thread, &u64)| ns.saturating_sub(before.0.get(thread).copied().unwrap_or(0));
        self.0.iter().map(ran).sum()
    }
}

fn time_of(number: u32) -> Option<(Thread, u64)> {
    let start = start_of(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)?;
    let ran_ns = ran_ns(&fs::read_to_string(format!("/proc/{number}/schedstat")).ok()?)?;
    Some(((number, start), ran_ns))
}

/// When a thread of the kernel started; none for anything else. The name may hold anything, also `)`.
fn start_of(stat: &str) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let flags: u64 = fields.get(FLAGS)?.parse().ok()?;
    (flags & PF_KTHREAD != 0).then(|| fields.get(START)?.parse().ok())?
}

/// The first of three numbers: Documentation/scheduler/sched-stats.rst.
pub(super) fn ran_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_of_the_kernel_are_looked_at() {
        let stat = |name: &str, flags: u64| {
            format!(
                "57 ({name}) I 2 0 0 0 -1 {flags} 0 0 0 0 0 3 0 0 20 0 1 0 4242 0 0 18446744073709551615 0"
            )
        };
        for (what, text, expected) in [
            ("a worker", stat("kworker/0:1-events", 69_238_880), Some(4242)),
            ("a name with brackets", stat("a) b", 69_238_880), Some(4242)),
            ("a process", stat("pump", 4_194_304), None),
            ("cut off", "57 (kthreadd) S 0 0".into(), None),
            ("nothing", String::new(), None),
        ] {
            assert_eq!(start_of(&text), expected, "{what}");
        }
        assert_eq!(ran_ns("15862856 6133954 163\n"), Some(15_862_856));
        assert_eq!(ran_ns(""), None);
    }

    #[test]
    fn what_they_ran_since_then_adds_up() {
        let times = |all: &[(Thread, u64)]| KernelTimes(all.iter().copied().collect());
        let before = times(&[((2, 0), 100), ((7, 10), 50), ((9, 10), 1000)]);
        for (what, after, expected_ns) in [
            ("nothing", &[((2, 0), 100), ((7, 10), 50), ((9, 10), 1000)][..], 0),
            ("two ran", &[((2, 0), 130), ((7, 10), 50), ((9, 10), 1005)], 35),
            ("one is new", &[((2, 0), 100), ((8, 99), 40)], 40),
            ("a number was given again", &[((7, 99), 60)], 60),
        ] {
            assert_eq!(times(after).since_ns(&before), expected_ns, "{what}");
        }
    }
}
