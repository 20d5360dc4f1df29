//! Looks at this host: engines, limits, and what the file system of a folder can do.
//!
//! Gives facts; what to make of them is for whoever shows them. Changes nothing; to see whether blocks can be shared,
//! two small files are made in the folder for a moment.
//!
//! Must not know: advice, how facts are shown.

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use datapump::{EngineChoice, Fill, InWords, Job, Operation, Options, Place, Problem, shown};
use datapump_engine::os::linux::KernelCall;
use datapump_files::disk::MountEntry;
use rustix::fs::{AtFlags, StatxFlags};

/// The facts.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Engines in the order in which they are tried.
    pub engines: Vec<EngineState>,
    /// Bytes that may be locked into memory; `None` is no limit.
    pub locked_memory_bytes: Option<u64>,
    /// Files that may be open; `None` is no limit.
    pub open_files: Option<u64>,
    /// How the CPU's speed is governed; `None` where that is not visible.
    pub governor: Option<String>,
    /// What this host is called.
    pub host: String,
    /// System calls that a sandbox refuses to this process, or that this kernel lacks, each with the error.
    pub refused_calls: Vec<(KernelCall, String)>,
    /// `kernel.io_uring_disabled`: 1 for some users, 2 for all; 0 also where the kernel has no such setting.
    pub io_uring_disabled: u32,
}

impl Inspection {
    /// Whether a sandbox refuses a system call, or this kernel lacks it.
    pub fn refuses(&self, call: KernelCall) -> bool {
        self.refused_calls.iter().any(|(refused, _)| *refused == call)
    }
}

/// An engine, and why it cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineState {
    /// As `--engine` names it.
    pub name: &'static str,
    /// Why not; `None` when it works.
    pub refused: Option<String>,
}

/// What the file system of a folder can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderState {
    /// The folder that was looked at.
    pub path: PathBuf,
    /// Such as `ext4`.
    pub file_system: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The mount gives deleted blocks back at once.
    pub discards_online: bool,
    /// Bytes that this user may still write.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Why no file can be made here; `None` when one can. Then the next two are not known.
    pub unwritable: Option<String>,
    /// Alignment in bytes of memory and of offsets for direct I/O; `None` where it is impossible or not told.
    pub direct_alignment_bytes: Option<(u32, u32)>,
    /// Why blocks cannot be shared; `None` when they can.
    pub reflink_refused: Option<String>,
}

/// Looks at this host.
pub fn inspect() -> Inspection {
    let name = read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let governor = read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok();
    let io_uring = read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
    Inspection {
        engines: engines(),
        locked_memory_bytes: datapump_engine::os::linux::memlock_limit_bytes(),
        open_files: datapump_engine::os::linux::open_files_limit(),
        governor: governor.map(|words| words.trim().to_owned()),
        host: shown(name.trim().as_bytes()),
        refused_calls: refused_calls(),
        io_uring_disabled: io_uring.and_then(|text| text.trim().parse().ok()).unwrap_or(0),
    }
}

fn refused_calls() -> Vec<(KernelCall, String)> {
    let refused =
        |call: &KernelCall| Some((*call, io::Error::from_raw_os_error(call.refusal()?.0).to_string()));
    KernelCall::ALL.iter().filter_map(refused).collect()
}

fn engines() -> Vec<EngineState> {
    let named = EngineChoice::ALL.iter().filter(|(choice, ..)| *choice != EngineChoice::Auto);
    named.map(|&(choice, name, _)| EngineState { name, refused: try_engine(name, choice) }).collect()
}

/// Why a job that asks for the engine does not get it.
fn try_engine(name: &str, engine: EngineChoice) -> Option<String> {
    let source = Place::Null { bytes: Some(1 << 10), fill: Fill::Zero };
    let job = Job::copy(vec![source], Place::Null { bytes: None, fill: Fill::Zero });
    let report =
        job.options(Options::default().with(|it| it.tuning.engine = engine)).run_reported(&|_event| {});
    (report.engine.got != name).then_some(report.engine.why)
}

/// Looks at a folder (of a file: the folder it is in).
pub fn inspect_folder(path: &Path) -> Result<FolderState, Problem> {
    let failed = |operation, error: std::io::Error| {
        Problem::system(operation, path, error.raw_os_error().unwrap_or_default())
    };
    let whole = path.canonicalize().map_err(|error| failed(Operation::Open, error))?;
    let folder = match whole.parent() {
        Some(parent) if !whole.is_dir() => parent.to_path_buf(),
        _ => whole,
    };
    let room = rustix::fs::statvfs(&folder).map_err(|error| failed(Operation::LookAt, error.into()))?;
    let mount = mount_of(MountEntry::list("self"), &folder);
    let files = two_files(&folder);
    let refused = files.as_ref().ok().and_then(|(one, other)| rustix::fs::ioctl_ficlone(other, one).err());
    Ok(FolderState {
        discards_online: mount.as_ref().is_some_and(discards),
        file_system: mount.as_ref().map(|mount| mount.file_system.clone()).unwrap_or_default(),
        mount_point: mount.map(|mount| mount.point).unwrap_or_default(),
        free_bytes: room.f_bavail * room.f_frsize,
        total_bytes: room.f_blocks * room.f_frsize,
        direct_alignment_bytes: files.as_ref().ok().and_then(|(one, _)| direct_alignment(one)),
        unwritable: files.err().map(|error| error.to_string()),
        reflink_refused: refused.map(|errno| io::Error::from(errno).to_string()),
        path: folder,
    })
}

/// Two files that are gone when they are closed, the first with a block in it.
fn two_files(folder: &Path) -> io::Result<(File, File)> {
    let mut one = nameless(folder)?;
    one.write_all(&[1; 4096])?;
    Ok((one, nameless(folder)?))
}

/// `STATX_DIOALIGN`, statx(2), Linux 6.1: of memory, then of offsets and lengths.
fn direct_alignment(file: &File) -> Option<(u32, u32)> {
    let told = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let known = told.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && told.stx_dio_offset_align != 0;
    known.then_some((told.stx_dio_mem_align, told.stx_dio_offset_align))
}

/// A file without a name, which is gone when it is closed. Where the file system knows none, it loses its name at once.
fn nameless(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let flags = rustix::fs::OFlags::TMPFILE.bits() as i32;
    match options.clone().custom_flags(flags).open(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::IsADirectory) => {
            let path = folder.join(format!(".pump-doctor-{}", std::process::id()));
            let file = options.create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        made => made,
    }
}

/// The mount that a folder lies on: the longest mount point above it, of several the last.
fn mount_of(mounts: Vec<MountEntry>, folder: &Path) -> Option<MountEntry> {
    let above = mounts.into_iter().filter(|mount| folder.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.as_os_str().len())
}

/// Blocks that are freed are discarded at once.
fn discards(mount: &MountEntry) -> bool {
    let mut options = mount.options.split(',').chain(mount.file_system_options.split(','));
    options.any(|option| option.starts_with("discard"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"22 1 254:0 / / rw,relatime - ext4 /dev/root rw,discard\n\
        30 22 0:20 / /proc rw - proc proc rw\n\
        41 22 8:1 / /mnt/two\\040words rw,noatime shared:1 - xfs /dev/sda1 rw\n\
        42 22 8:2 / /mnt rw master:2 - btrfs /dev/sdb rw,discard=async\n";

    #[test]
    fn a_folder_lies_on_the_longest_mount_point_above_it() {
        for (folder, point, file_system, discards) in [
            ("/home/a", "/", "ext4", true),
            ("/proc/self", "/proc", "proc", false),
            ("/process", "/", "ext4", true),
            ("/mnt/two words/b", "/mnt/two words", "xfs", false),
            ("/mnt/c", "/mnt", "btrfs", true),
        ] {
            let mount = mount_of(MountEntry::parse(MOUNTS), Path::new(folder)).expect("it lies on one");
            let found = (&*mount.point, &*mount.file_system, super::discards(&mount));
            assert_eq!(found, (Path::new(point), file_system, discards), "{folder}");
        }
    }

    #[test]
    fn this_host_can_be_looked_at() {
        let here = inspect();
        assert_eq!(here.engines.len(), 3);
        assert_eq!(here.engines[2].refused, None, "inline works everywhere");
        assert!(!here.host.is_empty());
        let folder = inspect_folder(Path::new(env!("CARGO_MANIFEST_DIR")));
        assert!(folder.expect("the folder is there").total_bytes > 0);
        assert!(inspect_folder(Path::new("/no/such/folder")).is_err());
    }
}
