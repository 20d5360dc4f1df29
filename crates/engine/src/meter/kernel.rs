//! CPU time of the system's own threads: what they have run, as /proc tells each one's.
//!
//! They write back, complete requests and serve soft interrupts for everybody: whose work it was nobody tells.
//!
//! Must not know: when it is looked at, what for.

use std::collections::BTreeMap;
use std::fs;

/// A thread of the kernel: linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;
/// Field of /proc/PID/stat behind the name, counted from 0: proc_pid_stat(5).
const FLAGS: usize = 6;
/// kthreadd, which starts all others; in a container this number is anybody's.
const FIRST: u32 = 2;

/// What each has run until now, in nanoseconds, by its number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KernelTimes(BTreeMap<u32, u64>);

impl KernelTimes {
    /// None where none can be seen, as in a container, or the kernel does not tell (`CONFIG_SCHED_INFO`).
    pub(super) fn now() -> Option<KernelTimes> {
        let time = |number| Some((number, ran_ns(&of_process(number, "schedstat")?)?));
        let times: BTreeMap<u32, u64> = numbers().into_iter().filter_map(time).collect();
        (!times.is_empty()).then_some(KernelTimes(times))
    }

    /// What was run since then. Of a thread that ended meanwhile nothing is known any more.
    pub(super) fn since_ns(&self, before: &KernelTimes) -> u64 {
        let ran = |(number, ns): (&u32, &u64)| match before.0.get(number) {
            Some(before_ns) if before_ns <= ns => ns - before_ns,
            // It is new, maybe with the number of one that has ended.
            _ => *ns,
        };
        self.0.iter().map(ran).sum()
    }
}

fn of_process(number: u32, file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{number}/{file}")).ok()
}

/// All threads of the kernel. One list, where there is one, instead of a look at each process.
fn numbers() -> Vec<u32> {
    let is_kernel = |number: &u32| of_process(*number, "stat").is_some_and(|stat| is_of_kernel(&stat));
    let of_kthreadd = || of_process(FIRST, &format!("task/{FIRST}/children"));
    if let Some(children) = Some(FIRST).filter(is_kernel).and_then(|_| of_kthreadd()) {
        return children.split_whitespace().filter_map(|word| word.parse().ok()).chain([FIRST]).collect();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_kernel).collect()
}

/// The name may hold anything, also `)`.
fn is_of_kernel(stat: &str) -> bool {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let flags = fields.split_whitespace().nth(FLAGS).and_then(|word| word.parse().ok());
    flags.is_some_and(|flags: u64| flags & PF_KTHREAD != 0)
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
        let stat = |name: &str, flags: u64| format!("57 ({name}) I 2 0 0 0 -1 {flags} 0 0 0 0 0 3 0 0 20 0");
        for (what, text, expected) in [
            ("a worker", stat("kworker/0:1-events", 69_238_880), true),
            ("a name with brackets", stat("a) b", 69_238_880), true),
            ("a process", stat("pump", 4_194_304), false),
            ("cut off", "57 (kthreadd) S 0 0".into(), false),
            ("nothing", String::new(), false),
        ] {
            assert_eq!(is_of_kernel(&text), expected, "{what}");
        }
        assert_eq!(ran_ns("15862856 6133954 163\n"), Some(15_862_856));
        assert_eq!(ran_ns(""), None);
    }

    #[test]
    fn what_they_ran_since_then_adds_up() {
        let times = |all: &[(u32, u64)]| KernelTimes(all.iter().copied().collect());
        let before = times(&[(2, 100), (7, 50), (9, 1000)]);
        for (what, after, expected_ns) in [
            ("nothing", &[(2, 100), (7, 50), (9, 1000)][..], 0),
            ("two ran", &[(2, 130), (7, 50), (9, 1005)], 35),
            ("one is new", &[(2, 100), (8, 40)], 40),
            ("a number was given again", &[(2, 100), (9, 60)], 60),
            ("one has ended", &[(2, 101)], 1),
        ] {
            assert_eq!(times(after).since_ns(&before), expected_ns, "{what}");
        }
    }
}
