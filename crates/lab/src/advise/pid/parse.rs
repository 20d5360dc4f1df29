//! Files of /proc and /sys, as text, taken apart: proc(5).
//!
//! Must not know: which process, when it was read.

use datapump_engine::os::linux::TICK_NS;

mod rate_limit;

pub use rate_limit::rate_limit;

/// `PF_KTHREAD` of linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What stat says of a process or thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Its name.
    pub name: String,
    /// Its state: R, S, D, Z, …
    pub state: char,
    /// The parent process.
    pub parent: u32,
    /// It is a part of the kernel.
    pub kernel_thread: bool,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Time spent waiting for block devices.
    pub device_delay_ns: u64,
}

/// Reads stat. The name may hold anything, brackets too: it ends at the last one.
pub fn stat(text: &str) -> Option<Stat> {
    let (before, rest) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_string();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The state is field 3 of proc_pid_stat(5).
    let number = |field: usize| fields.get(field - 3).and_then(|word| word.parse::<u64>().ok());
    Some(Stat {
        name,
        state: fields.first()?.chars().next()?,
        parent: number(4)? as u32,
        kernel_thread: number(9)? & KERNEL_THREAD != 0,
        user_ns: number(14)? * TICK_NS,
        system_ns: number(15)? * TICK_NS,
        device_delay_ns: number(42).unwrap_or(0) * TICK_NS,
    })
}

/// Time on a CPU and in its queue, of schedstat.
pub fn schedstat(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// The number behind `name:` or `name `.
pub fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([':', ' ']))?;
    rest.trim().parse().ok()
}

/// Position, and whether it is read and written, of fdinfo.
pub fn fdinfo(text: &str) -> Option<(u64, bool, bool)> {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
    // O_RDONLY 0, O_WRONLY 1, O_RDWR 2.
    let (reads, writes) = (flags & 3 != 1, flags & 3 != 0);
    Some((field(text, "pos").unwrap_or(0), reads, writes))
}

/// The counters of a device in /proc/diskstats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Its name.
    pub name: String,
    /// Reads that ended, their bytes, their time.
    pub reads: [u64; 3],
    /// Writes that ended, their bytes, their time.
    pub writes: [u64; 3],
    /// Time with a request in it.
    pub busy_ns: u64,
}

const SECTOR_BYTES: u64 = 512;
const MS: u64 = 1_000_000;

/// The number of a device, such as `8:1`, and its counters, of a line of /proc/diskstats.
pub fn disk(line: &str) -> Option<(String, DiskCounters)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let counters = DiskCounters {
        name: (*words.get(2)?).to_string(),
        reads: [at(3)?, at(5)? * SECTOR_BYTES, at(6)? * MS],
        writes: [at(7)?, at(9)? * SECTOR_BYTES, at(10)? * MS],
        busy_ns: at(12)? * MS,
    };
    Some((format!("{}:{}", at(0)?, at(1)?), counters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stat_is_read_with_any_name() {
        // Fields 3 to 44, each its own number but for these.
        let with = |flags: u64| {
            let own = |field: u64| match field {
                3 => "D".to_string(),
                9 => flags.to_string(),
                field => field.to_string(),
            };
            format!("12 (a) (b c) {}", (3..=44).map(own).collect::<Vec<_>>().join(" "))
        };
        let seen = stat(&with(4_194_304)).expect("a stat");
        assert_eq!((seen.name.as_str(), seen.state, seen.parent), ("a) (b c", 'D', 4));
        assert_eq!(
            (seen.user_ns, seen.system_ns, seen.device_delay_ns),
            (140_000_000, 150_000_000, 420_000_000)
        );
        assert!(!seen.kernel_thread && stat(&with(2_129_984)).is_some_and(|it| it.kernel_thread));
        assert_eq!(stat("12 (a D 1"), None);
    }

    #[test]
    fn counters_are_found_in_their_files() {
        assert_eq!(schedstat("1213161 2992154 2\n"), Some((1_213_161, 2_992_154)));
        assert_eq!(field("rchar: 7\nwchar: 8\n", "wchar"), Some(8));
        assert_eq!(field("nr_throttled 3\nthrottled_time 9\n", "throttled_time"), Some(9));
        assert_eq!(fdinfo("pos:\t8388608\nflags:\t0100001\n"), Some((8_388_608, false, true)));
        assert_eq!(fdinfo("pos:\t1\nflags:\t02\n"), Some((1, true, true)));
        let line = "   7       0 loop0 154 2 19198 109 206 120 343968 1186 0 276 1395 2 0 524290 70 9 29\n";
        let (number, found) = disk(line).expect("it is whole");
        assert_eq!((number.as_str(), found.name.as_str(), found.busy_ns), ("7:0", "loop0", 276 * MS));
        assert_eq!(
            (found.reads, found.writes),
            ([154, 19_198 * 512, 109 * MS], [206, 343_968 * 512, 1186 * MS])
        );
        assert_eq!(disk("7 0 loop0 154"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
            let _ = (stat(&text), schedstat(&text), fdinfo(&text), disk(&text));
            let _ = field(&text, "pos");
        }
    }
}
