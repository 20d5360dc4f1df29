//! What a file, its device and this process permit, as the kernel reports it.
//!
//! Must not know: requests, slots, names of files, what the answers are used for.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, PROC_SUPER_MAGIC, StatxFlags, fstatfs, open};
use rustix::ioctl::{Getter, ioctl, opcode};

/// An estimate for a long file: so many windows of so many bytes, from its first byte to its last. A look at all of it
/// takes 7.5 ms a GiB where it is cached (Linux 6.18), some per cent of a copy.
const WINDOWS: u64 = 64;
const WINDOW_BYTES: u64 = 4 << 20;

/// The part of the file's first `len` bytes that lies in the page cache, 0 to 1; 1 for an empty range.
/// `None` where the kernel does not tell: cachestat(2) came with 6.5, and newer ones answer only for files that the
/// caller owns or may write. (mincore(2) is no way out: for other people's files it answers 1 without looking.)
pub fn cached_fraction(file: &File, len: u64) -> Option<f64> {
    if len == 0 {
        return Some(1.0); // to the kernel, a length of 0 means "to the end"
    }
    fraction_of(cachestat(file, 0, len)?.cached, len)
}

/// [`cached_fraction`], above 256 MiB estimated from 64 windows: to choose how a file is copied.
pub fn cached_estimate(file: &File, len: u64) -> Option<f64> {
    if len <= WINDOWS * WINDOW_BYTES {
        return cached_fraction(file, len);
    }
    let window = |number: u64| (len - WINDOW_BYTES) / (WINDOWS - 1) * number;
    let pages = (0..WINDOWS).map(|number| Some(cachestat(file, window(number), WINDOW_BYTES)?.cached));
    fraction_of(pages.sum::<Option<u64>>()?, WINDOWS * WINDOW_BYTES)
}

fn fraction_of(pages: u64, bytes: u64) -> Option<f64> {
    let cached_bytes = pages.saturating_mul(rustix::param::page_size() as u64);
    Some((cached_bytes as f64 / bytes as f64).min(1.0))
}

/// Pages in the page cache.
pub(super) struct CachedPages {
    cached: u64,
    pub(super) dirty: u64,
}

/// cachestat(2) of a range of the file: 17 ms for 1.28 GB that are cached.
pub(super) fn cachestat(file: &File, at: u64, len: u64) -> Option<CachedPages> {
    let range = [at, len]; // struct cachestat_range { off, len }
    let mut pages = [0_u64; 5]; // struct cachestat { cache, dirty, writeback, evicted, recently_evicted }
    // SAFETY: both arrays have the kernel's layout (linux/mman.h: two and five 64-bit fields), live in this frame,
    // and the kernel keeps no reference to them.
    let result =
        unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), pages.as_mut_ptr(), 0_u32) };
    (result == 0).then_some(CachedPages { cached: pages[0], dirty: pages[1] })
}

/// The number of cachestat(2), the same on all architectures that Rust's libc may not know it for yet.
const CACHESTAT: libc::c_long = 451;

/// Sets by how many nanoseconds the calling thread's timers may be late, to save wake-ups: `PR_SET_TIMERSLACK`,
/// prctl(2). The default is 50,000; 0 restores it. Without effect on real-time threads.
pub fn timer_slack(ns: u64) -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(ns))?)
}

/// Whether a signal has no effect on this process, as nohup(1) starts one: sigaction(2).
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: changes nothing; the kernel fills the structure, which lives in this frame, and keeps no reference to it.
    unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all fields are integers or optional, for which zeros are a value, should the call have failed.
    unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// CPU time of the calling thread in nanoseconds, user and system: `RUSAGE_THREAD`, getrusage(2).
pub fn thread_cpu_ns() -> (u64, u64) {
    cpu_ns(libc::RUSAGE_THREAD)
}

/// CPU time of the calling thread in nanoseconds, up to this call: `CLOCK_THREAD_CPUTIME_ID`, clock_gettime(2). A
/// cheaper call than [`thread_cpu_ns`], which may lag behind by a tick.
pub fn thread_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How long the calling thread could have run while the system ran something else, in nanoseconds: the second number of
/// `schedstat`, proc(5). 0 where the kernel keeps none. What came in the last 100 µs may be told the next time.
pub fn thread_delayed_ns() -> u64 {
    // Opening, reading and closing take 2 µs, and a job of a third of a millisecond asks six times.
    const FRESH: Duration = Duration::from_micros(100);
    thread_local! { static TOLD: Cell<Option<(Instant, u64)>> = const { Cell::new(None) } }
    match TOLD.get() {
        Some((at, delayed_ns)) if at.elapsed() < FRESH => delayed_ns,
        _ => {
            let delayed_ns = read_delayed_ns().unwrap_or(0);
            TOLD.set(Some((Instant::now(), delayed_ns)));
            delayed_ns
        }
    }
}

fn read_delayed_ns() -> Option<u64> {
    let mut told = [0; 72]; // three numbers
    let file = open("/proc/thread-self/schedstat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let len = rustix::io::read(file, &mut told).ok()?;
    std::str::from_utf8(&told[..len]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// CPUs that the process may use.
pub fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Nanoseconds in a tick of /proc/stat and /proc/PID/stat: USER_HZ is 100 on every architecture that Linux still
/// supports.
pub const TICK_NS: u64 = 10_000_000;

/// The CPUs of the machine, and how long they had nothing to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleCpus {
    /// Since the machine was started, summed over CPUs, waits for disks included; in whole ticks.
    pub idle_ns: u64,
    /// Those that are online.
    pub cpus: u32,
}

impl IdleCpus {
    /// By /proc/stat, proc_stat(5), which takes 15 us with two CPUs. A kernel that stops its tick on idle CPUs counts their
    /// time exactly, and that of what runs by samples.
    pub fn now() -> Option<IdleCpus> {
        IdleCpus::from_kernel(Path::new("/proc/stat"))
    }

    /// Only the kernel's own file: that of LXCFS counts what runs outside of the container as idle time.
    fn from_kernel(path: &Path) -> Option<IdleCpus> {
        let mut file = File::open(path).ok()?;
        if fstatfs(&file).ok()?.f_type != PROC_SUPER_MAGIC {
            return None;
        }
        let mut stat = String::new();
        file.read_to_string(&mut stat).ok()?;
        IdleCpus::from_stat(&stat)
    }

    fn from_stat(stat: &str) -> Option<IdleCpus> {
        let mut lines = stat.lines().map_while(|line| line.strip_prefix("cpu"));
        // Behind user, nice and system.
        let fields = lines.next()?.split_ascii_whitespace().skip(3);
        let mut ticks = fields.map_while(|field| field.parse::<u64>().ok());
        let idle = ticks.next()?.checked_add(ticks.next()?)?;
        let cpus = lines.count() as u32;
        Some(IdleCpus { idle_ns: idle.checked_mul(TICK_NS)?, cpus }).filter(|it| it.cpus > 0)
    }
}

/// CPU time of all threads of this process, ended ones too, in nanoseconds, user and system: `RUSAGE_SELF`,
/// getrusage(2).
pub fn process_cpu_ns() -> (u64, u64) {
    cpu_ns(libc::RUSAGE_SELF)
}

/// Bytes that this process has had read from storage, with all its threads: `ru_inblock` of getrusage(2), which Linux
/// counts in sectors. What the page cache had is not in it. `None` where the kernel does not count.
pub fn storage_read_bytes() -> Option<u64> {
    const SECTOR_BYTES: u64 = 512;
    // With CONFIG_TASK_IO_ACCOUNTING each process has this file: proc_pid_io(5).
    static IS_COUNTED: OnceLock<bool> = OnceLock::new();
    let is_counted = IS_COUNTED.get_or_init(|| Path::new("/proc/self/io").exists());
    is_counted.then(|| (usage(libc::RUSAGE_SELF).ru_inblock as u64).saturating_mul(SECTOR_BYTES))
}

/// How often threads left their CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSwitches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because the system ran another thread there.
    pub involuntary: u64,
}

impl ContextSwitches {
    /// Those of all threads of this process, ended ones too: getrusage(2).
    pub fn of_process() -> ContextSwitches {
        ContextSwitches::from_usage(&usage(libc::RUSAGE_SELF))
    }

    fn from_usage(usage: &libc::rusage) -> ContextSwitches {
        ContextSwitches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
    }

    /// Those that came after `before`.
    #[must_use]
    pub fn since(self, before: ContextSwitches) -> ContextSwitches {
        ContextSwitches {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

fn usage(who: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure, which lives in this frame, and keeps no reference to it.
    unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    // SAFETY: all fields are integers, for which zeros are a value, should the call have failed.
    unsafe { usage.assume_init() }
}

fn cpu_ns(who: libc::c_int) -> (u64, u64) {
    let usage = usage(who);
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

/// How many bytes this process may lock into memory (soft limit `RLIMIT_MEMLOCK`, getrlimit(2)); `None` is no limit.
pub fn memlock_limit_bytes() -> Option<u64> {
    soft_limit(libc::RLIMIT_MEMLOCK as libc::c_int, "Max locked memory")
}

/// How many files this process may have open (soft limit `RLIMIT_NOFILE`, getrlimit(2)); `None` is no limit.
pub fn open_files_limit() -> Option<u64> {
    soft_limit(libc::RLIMIT_NOFILE as libc::c_int, "Max open files")
}

/// The longest file that this process may write, in bytes (soft limit `RLIMIT_FSIZE`, getrlimit(2)); `None` is no
/// limit.
pub fn file_size_limit() -> Option<u64> {
    soft_limit(libc::RLIMIT_FSIZE as libc::c_int, "Max file size")
}

/// A limit by its number, and where a sandbox refuses prlimit64(2) by its name in /proc/self/limits.
fn soft_limit(resource: libc::c_int, name: &str) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let (this_process, no_change) = (0, std::ptr::null::<libc::rlimit64>());
    // SAFETY: the kernel writes one rlimit64, which lives in this frame, and keeps no reference to it.
    let result =
        unsafe { libc::syscall(libc::SYS_prlimit64, this_process, resource, no_change, &raw mut limit) };
    match result {
        0 => (limit.rlim_cur != libc::RLIM64_INFINITY).then_some(limit.rlim_cur),
        _ => listed_limit(&std::fs::read_to_string("/proc/self/limits").ok()?, name),
    }
}

/// The soft limit of a line such as `Max open files            1024                 524288               files`.
fn listed_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Which of the files that had this inode number an open file is (`FS_IOC_GETVERSION`, ioctl_iflags(2)); `None` where
/// the file system does not tell.
pub fn generation(file: &File) -> Option<u32> {
    let mut generation: libc::c_int = 0;
    // SAFETY: the kernel writes one int (fs/ioctl.c), which lives in this frame, and keeps no reference to it.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETVERSION as _, &raw mut generation) };
    (result == 0).then_some(generation as u32)
}

/// The project of a file or folder, for quotas, and whether names made in that folder get it (`FS_IOC_FSGETXATTR`,
/// ioctl_xfs_fsgetxattr(2)). `None` where the file system has none.
pub fn project(file: &File) -> Option<(u32, bool)> {
    const FSGETXATTR: rustix::ioctl::Opcode = opcode::read::<[u32; 7]>(b'X', 31); // linux/fs.h
    const INHERITED: u32 = 0x200; // FS_XFLAG_PROJINHERIT
    // SAFETY: the kernel writes a struct fsxattr, 28 bytes: flags, two numbers, the project, another, eight spare bytes.
    let fields = unsafe { ioctl(file, Getter::<FSGETXATTR, [u32; 7]>::new()) }.ok()?;
    Some((fields[3], fields[0] & INHERITED != 0))
}

/// The size of an open block device in bytes: `BLKGETSIZE64`. `ENOTTY` for anything else.
pub fn block_device_bytes(file: &File) -> io::Result<u64> {
    const BLKGETSIZE64: rustix::ioctl::Opcode = opcode::read::<usize>(0x12, 114); // linux/fs.h
    // SAFETY: the opcode's answer is one 64-bit number, whatever the size of `usize` that its definition names.
    Ok(unsafe { ioctl(file, Getter::<BLKGETSIZE64, u64>::new()) }?)
}

/// The logical block of an open block device in bytes, the unit of direct I/O: `BLKSSZGET`. `ENOTTY` for anything
/// else.
pub fn logical_block_bytes(file: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blksszget(file)?)
}

/// The alignment in bytes that direct I/O needs on this file: of memory, then of offsets and lengths
/// (`STATX_DIOALIGN`, statx(2), Linux 6.1). `None` where direct I/O is impossible or the kernel does not tell.
pub fn direct_alignment(file: &File) -> Option<(u32, u32)> {
    let told = rustix::fs::statx(file.as_fd(), "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let known = told.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && told.stx_dio_offset_align != 0;
    known.then_some((told.stx_dio_mem_align, told.stx_dio_offset_align))
}

/// What a child that has ended leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildUsage {
    /// As wait(2) gives it; `std::process::ExitStatus::from_raw` reads it.
    pub wait_status: i32,
    /// CPU time in user mode, its own and that of the children it waited for.
    pub user_ns: u64,
    /// CPU time in the kernel, likewise.
    pub system_ns: u64,
    /// Largest resident memory of any one of these processes.
    pub max_rss_bytes: u64,
    /// How often their threads left a CPU.
    pub switches: ContextSwitches,
}

/// Waits for a child of this process and reaps it: wait4(2). Nothing else may wait for it afterwards.
pub fn wait_with_usage(pid: u32) -> io::Result<ChildUsage> {
    let mut wait_status = 0;
    // SAFETY: an rusage is plain numbers, for which all zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers refer to live, writable values of the types that wait4(2) names.
        match unsafe { libc::wait4(pid as libc::pid_t, &mut wait_status, 0, &mut usage) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => break,
        }
    }
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok(ChildUsage {
        wait_status,
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss as u64 * 1024, // KiB: getrusage(2)
        switches: ContextSwitches::from_usage(&usage),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    #[test]
    fn freshly_written_data_is_cached() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(&[7; 1 << 20]).expect("room");
        assert_eq!(cached_fraction(&file, 0), Some(1.0));
        match cached_fraction(&file, 1 << 20) {
            None => eprintln!("this kernel has no cachestat(2)"),
            Some(part) => assert_eq!(part, 1.0),
        }
    }

    /// The first window of a GiB is seen alone, and bytes outside of a window are not.
    #[test]
    fn a_long_file_is_looked_at_in_windows() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        file.set_len(1 << 30).expect("a length can be set");
        let write = |at: u64, bytes: u64| file.write_all_at(&vec![7; bytes as usize], at).expect("room");
        write(0, WINDOW_BYTES);
        if let Some(first) = cached_estimate(&file, 1 << 30) {
            assert!((first - 1.0 / WINDOWS as f64).abs() < 1e-9, "{first}");
        }
        write(WINDOW_BYTES, 1 << 20);
        if let Some(more) = cached_estimate(&file, 1 << 30) {
            assert!((more - 1.0 / WINDOWS as f64).abs() < 1e-9, "{more}");
        }
        write((1 << 30) - WINDOW_BYTES, WINDOW_BYTES);
        if let Some(last) = cached_estimate(&file, 1 << 30) {
            assert!((last - 2.0 / WINDOWS as f64).abs() < 1e-9, "{last}");
        }
    }

    #[test]
    fn nothing_is_cached_beyond_the_end() {
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(matches!(cached_fraction(&file, 4096), None | Some(0.0)));
    }

    #[test]
    fn a_file_is_no_block_device() {
        let file = tempfile::tempfile().expect("a temporary file");
        let enotty = Some(libc::ENOTTY);
        assert_eq!(block_device_bytes(&file).unwrap_err().raw_os_error(), enotty);
        assert_eq!(logical_block_bytes(&file).unwrap_err().raw_os_error(), enotty);
    }

    #[test]
    fn the_processor_time_of_a_thread_is_part_of_the_process() {
        let thread = thread_cpu_ns();
        let process = process_cpu_ns();
        assert!(thread.0 + thread.1 <= process.0 + process.1, "{thread:?} of {process:?}");
        let (before, after) = (thread_ns(), thread_ns());
        assert!(0 < before && before <= after, "{before} then {after}");
    }

    #[test]
    fn idle_cpus_are_read_and_counted() {
        let stat = "cpu  12953 8046 7976 17090 2910 0 453 46 0 0\n\
                    cpu0 6103 3924 3699 10129 694 0 192 23 0 0\n\
                    cpu1 6849 4122 4277 6960 2215 0 260 22 0 0\n\
                    intr 55638708 0\nctxt 1\n";
        assert_eq!(IdleCpus::from_stat(stat), Some(IdleCpus { idle_ns: 20_000 * TICK_NS, cpus: 2 }));
        let too_long = format!("cpu  1 2 3 {0} {0}\ncpu0 1 2 3 {0} {0}\n", u64::MAX);
        for text in ["", "cpu  1 2 3 4\n", "cpu  1 2 3 4 5\nintr 1\n", "intr 1\n", &too_long] {
            assert_eq!(IdleCpus::from_stat(text), None, "{text}");
        }
        let other = tempfile::NamedTempFile::new().expect("room");
        std::fs::write(other.path(), stat).expect("room");
        assert_eq!(IdleCpus::from_kernel(other.path()), None, "another file in its place");
        assert!(IdleCpus::now().is_none_or(|now| now.cpus >= cpus()), "{:?}", IdleCpus::now());
    }

    #[test]
    fn a_thread_that_waits_leaves_its_cpu() {
        let before = ContextSwitches::of_process();
        std::thread::sleep(Duration::from_millis(1));
        let since = ContextSwitches::of_process().since(before);
        assert!(since.voluntary >= 1, "{since:?}");
        assert_eq!(before.since(ContextSwitches::of_process()), ContextSwitches::default(), "never below 0");
    }

    #[test]
    fn direct_alignment_is_a_power_of_two() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        match direct_alignment(&file) {
            None => eprintln!("no direct I/O here"),
            Some((memory, offset)) => assert!(memory.is_power_of_two() && offset.is_power_of_two()),
        }
    }

    #[test]
    fn timer_slack_can_be_set_and_restored() {
        timer_slack(1).expect("always allowed");
        timer_slack(0).expect("always allowed");
        assert!(open_files_limit().is_none_or(|limit| limit > 0));
        assert!(memlock_limit_bytes().is_none_or(|limit| limit > 0));
        let limits = std::fs::read_to_string("/proc/self/limits").expect("proc is mounted");
        assert_eq!(listed_limit(&limits, "Max open files"), open_files_limit());
        assert_eq!(listed_limit(&limits, "Max locked memory"), memlock_limit_bytes());
        assert_eq!(listed_limit(&limits, "Max file size"), file_size_limit());
    }
}
