//! Real limits: a slow disk, a quota of CPU time, a busy CPU. Dropping a guard takes the limit away.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of the slow disk that may be dirty before whoever writes has to wait.
const DIRTY_BYTES: u64 = 4 << 20;

fn set(path: &Path, text: &str) -> bool {
    let written = fs::write(path, text);
    if let Err(error) = &written {
        eprintln!("{}: {error}", path.display());
    }
    written.is_ok()
}

/// `7:0`: the device that a folder lies on.
pub fn device_of(folder: &str) -> String {
    let number = fs::metadata(folder).expect("the folder").dev();
    format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number))
}

/// A slow disk: rules for reads or writes of a device, in the root group and in that of the tests. Data that are
/// written back count for the root group, whoever wrote them.
pub struct SlowDisk {
    undo: Vec<(PathBuf, String)>,
}

impl SlowDisk {
    /// `way` is `read` or `write`. `None`, with a printed reason, where there is no version 1 controller `blkio`.
    pub fn new(device: &str, way: &str, bytes_per_second: u64) -> Option<SlowDisk> {
        let root = Path::new("/sys/fs/cgroup/blkio");
        let own = fs::read_to_string("/proc/self/cgroup").expect("proc is mounted");
        let own = own.lines().find_map(|line| line.split_once(":blkio:")).map_or("/", |(_, path)| path);
        let name = format!("blkio.throttle.{way}_bps_device");
        let mut slow = SlowDisk { undo: Vec::new() };
        for folder in [root.to_path_buf(), root.join(own.trim_start_matches('/'))] {
            let file = folder.join(&name);
            if !set(&file, &format!("{device} {bytes_per_second}")) {
                eprintln!("not tested: a slow disk: no control group bounds devices here");
                return None;
            }
            slow.undo.push((file, format!("{device} 0")));
        }
        Some(slow)
    }

    /// The same for writes, with little room in the page cache, which else would take them all.
    pub fn for_writes(device: &str, bytes_per_second: u64) -> Option<SlowDisk> {
        let folder = PathBuf::from(format!("/sys/class/bdi/{device}"));
        let was = fs::read_to_string(folder.join("max_ratio")).unwrap_or("100".into());
        let strict = folder.join("strict_limit");
        if !set(&strict, "1") || !set(&folder.join("max_bytes"), &DIRTY_BYTES.to_string()) {
            eprintln!(
                "not tested: a slow sink: the page cache cannot be bounded for one device (before Linux 6.2)"
            );
            return None;
        }
        let mut slow = SlowDisk::new(device, "write", bytes_per_second)?;
        slow.undo.push((strict, "0".into()));
        slow.undo.push((folder.join("max_ratio"), was));
        Some(slow)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        self.undo.iter().for_each(|(file, text)| drop(fs::write(file, text)));
    }
}

/// A control group with a limit.
pub struct Quota {
    folder: PathBuf,
}

/// A limit as both versions of control groups have it: file and content.
struct LimitFiles<'limit> {
    controller: &'limit str,
    old: (&'limit str, String),
    new: (&'limit str, String),
}

impl Quota {
    /// A quota of CPU time, in percent of one CPU. `None`, with a printed reason, without such groups.
    pub fn new(percent: u32) -> Option<Quota> {
        let old = ("cpu.cfs_quota_us", (percent * 1000).to_string());
        let new = ("cpu.max", format!("{} 100000", percent * 1000));
        Quota::with(LimitFiles { controller: "cpu", old, new })
    }

    /// A limit of what is written to a device in a second.
    pub fn of_writes(device: &str, bytes: u64) -> Option<Quota> {
        let old = ("blkio.throttle.write_bps_device", format!("{device} {bytes}"));
        let new = ("io.max", format!("{device} wbps={bytes}"));
        Quota::with(LimitFiles { controller: "blkio", old, new })
    }

    /// A limit of what is read from a device in a second.
    pub fn of_reads(device: &str, bytes: u64) -> Option<Quota> {
        let old = ("blkio.throttle.read_bps_device", format!("{device} {bytes}"));
        let new = ("io.max", format!("{device} rbps={bytes}"));
        Quota::with(LimitFiles { controller: "blkio", old, new })
    }

    /// A limit of memory.
    pub fn of_memory(bytes: u64) -> Option<Quota> {
        let (old, new) = (("memory.limit_in_bytes", bytes.to_string()), ("memory.max", bytes.to_string()));
        Quota::with(LimitFiles { controller: "memory", old, new })
    }

    fn with(limit: LimitFiles<'_>) -> Option<Quota> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pump-{}-{number}", std::process::id());
        let groups = Path::new("/sys/fs/cgroup");
        let old = groups.join(limit.controller);
        let (root, (file, text)) =
            if old.is_dir() { (old, limit.old) } else { (groups.to_path_buf(), limit.new) };
        let quota = Quota { folder: root.join(name) };
        if fs::create_dir(&quota.folder).is_err() || !set(&quota.folder.join(file), &text) {
            eprintln!("not tested: a limit of {}: no control group can be made here", limit.controller);
            return None;
        }
        Some(quota)
    }

    /// Words that run others in the group.
    pub fn words(&self) -> Vec<String> {
        let procs = self.folder.join("cgroup.procs").display().to_string();
        ["sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", &procs].map(str::to_owned).to_vec()
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes may still be on their way out.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Programs that compute on the first CPU, and nothing else.
pub struct Busy {
    children: Vec<Child>,
}

impl Busy {
    pub fn new(programs: usize) -> Busy {
        let start = |_| {
            let mut command = Command::new("taskset");
            command.args(["-c", "0", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
            command.spawn().expect("taskset is installed")
        };
        Busy { children: (0..programs).map(start).collect() }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
