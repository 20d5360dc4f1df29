//! Facts about file systems by their `statfs(2)` types (linux/magic.h), where no call reports them.
//!
//! Lists are closed: what is not on them is taken for the worse.
//!
//! Must not know: what the answers are used for.

/// The kernel makes their files up as they are read: sizes tell nothing.
const MADE_UP: [u64; 9] = [
    PROC,
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0xcafe_4a11, // bpf
];

/// proc, where a link may stand for what is open instead of for a path.
const PROC: u64 = 0x9fa0;

/// `syncfs(2)` puts all that was written on stable storage and tells what could not be, and close(2) has nothing to
/// tell. FUSE's daemons mostly hear of no `syncfs` and may fail at each close; of network file systems the server hears
/// of none; FAT does not flush its device.
const SYNCED_WHOLE: [u64; 9] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0xf2f5_2010, // f2fs
    0xca45_1a4e, // bcachefs
    0x2fc1_2fc1, // zfs
    OVERLAY,     // passed on to the upper file system
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
];

/// What they call a hole holds no data. Others have called fresh data so (ZFS), ask a daemon or a server (FUSE, NFS,
/// CIFS), or pass on what an unknown file system below says (overlayfs).
const HOLES_ARE_HONEST: [u64; 4] = [
    0xef53,      // ext2, ext3, ext4: one driver
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0x0102_1994, // tmpfs
];

/// The kernel counts what a process has had read of their files (`ru_inblock`), byte for byte. Of FUSE it counts nothing, and
/// of what is compressed less than is read.
const READS_ARE_COUNTED: [u64; 2] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
];

const OVERLAY: u64 = 0x794c_7630;

/// How names are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Byte by byte.
    Exact,
    /// So, too, but in folders that were made otherwise: `FS_CASEFOLD_FL`, ioctl_iflags(2).
    ByFlag,
    /// The file system may take two names for one, and tells nobody.
    Unknown,
}

/// How a file system tells names apart. XFS (`-n version=ci`), ZFS and overlays of them do not tell.
pub fn name_rule(magic: u64) -> NameRule {
    match magic {
        // btrfs, ramfs
        0x9123_683e | 0x8584_58f6 => NameRule::Exact,
        // ext2, ext3, ext4; f2fs; tmpfs
        0xef53 | 0xf2f5_2010 | 0x0102_1994 => NameRule::ByFlag,
        _ => NameRule::Unknown,
    }
}

/// How it is known whether files are compressed as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionRule {
    /// None is.
    Never,
    /// Those with `FS_COMPR_FL`: ioctl_iflags(2).
    ByFlag,
    /// So, too, and all where the mount says so.
    ByMount,
    /// As the file system below does it (overlayfs).
    Below,
    /// The file system may compress any file, or pass it on to one that does.
    Unknown,
}

/// How it is known whether a file system compresses. ZFS, bcachefs and f2fs may do so by settings that no call reports.
pub fn compression_rule(magic: u64) -> CompressionRule {
    match magic {
        // ext2, ext3, ext4; xfs; tmpfs; ramfs; vfat; exfat
        0xef53 | 0x5846_5342 | 0x0102_1994 | 0x8584_58f6 | VFAT | 0x2011_bab0 => CompressionRule::Never,
        BTRFS => CompressionRule::ByMount,
        0x7366_746e => CompressionRule::ByFlag, // ntfs3
        OVERLAY => CompressionRule::Below,
        _ => CompressionRule::Unknown,
    }
}

const BTRFS: u64 = 0x9123_683e;
const VFAT: u64 = 0x4d44;

/// Whether every name of at most 255 bytes can be given there, or the system refuses it when it is looked up. Others may
/// have shorter names, or refuse letters.
pub fn takes_all_names(magic: u64) -> bool {
    // ext2, ext3, ext4; xfs; f2fs; bcachefs; tmpfs; ramfs
    let known = [0xef53, 0x5846_5342, BTRFS, 0xf2f5_2010, 0xca45_1a4e, 0x0102_1994, 0x8584_58f6];
    known.contains(&magic)
}

/// Whether it is btrfs, whose metadata have room of their own.
pub fn is_btrfs(magic: u64) -> bool {
    magic == BTRFS
}

/// Whether a folder may belong to a project with a quota, which statfs(2) then reports for the folder alone: ext4, xfs,
/// f2fs.
pub fn has_projects(magic: u64) -> bool {
    [0xef53, 0x5846_5342, 0xf2f5_2010].contains(&magic)
}

/// The length of the longest file, where it is small enough to matter.
pub fn file_bytes_max(magic: u64) -> Option<u64> {
    (magic == VFAT).then_some(u32::MAX.into())
}

/// The name of a file system.
pub fn name(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        BTRFS => "btrfs",
        0xf2f5_2010 => "f2fs",
        0xca45_1a4e => "bcachefs",
        0x2fc1_2fc1 => "zfs",
        0x0102_1994 => "tmpfs",
        OVERLAY => "overlayfs",
        VFAT => "vfat",
        0x2011_bab0 => "exfat",
        0x7366_746e => "ntfs3",
        0x6969 => "nfs",
        _ => return None,
    })
}

/// Besides those above: the kernel ends each read at the size that it tells.
const SIZES_HOLD: [u64; 8] = [
    0x6969,      // nfs
    0x4d44,      // vfat
    0x2011_bab0, // exfat
    0x7366_746e, // ntfs3
    0x9660,      // isofs
    0x1501_3346, // udf
    0x7371_7368, // squashfs
    0xe0f5_e1e2, // erofs
];

/// FAT tells even seconds.
const EVEN_SECONDS: [u64; 2] = [
    0x4d44,      // vfat
    0x2011_bab0, // exfat
];

/// How a file system sets the times of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeRule {
    /// The kernel's clock of the last tick, as fine as the file shows it.
    KernelClock,
    /// That clock, in even seconds.
    EvenSeconds,
    /// Its own way, by a clock that may be another host's: FUSE, network file systems, what is not known.
    Unknown,
}

/// How a file system sets times.
pub fn time_rule(magic: u64) -> TimeRule {
    match magic {
        _ if SYNCED_WHOLE.contains(&magic) => TimeRule::KernelClock,
        _ if EVEN_SECONDS.contains(&magic) => TimeRule::EvenSeconds,
        _ => TimeRule::Unknown,
    }
}

/// Whether its files are in memory alone, so that nothing is ever written back.
pub fn is_in_memory(magic: u64) -> bool {
    matches!(magic, 0x0102_1994 | 0x8584_58f6)
}

/// Whether the kernel counts what is read of its files from storage. None is read of those in memory.
pub fn reads_are_counted(magic: u64) -> bool {
    READS_ARE_COUNTED.contains(&magic) || is_in_memory(magic)
}

/// Whether the kernel makes files up as they are read.
pub fn is_made_up(magic: u64) -> bool {
    MADE_UP.contains(&magic)
}

/// Whether a link may stand for what is open, whatever it says.
pub fn holds_descriptors(magic: u64) -> bool {
    magic == PROC
}

/// Whether one `syncfs(2)` does for all files and folders, and a close tells nothing.
pub fn syncs_whole(magic: u64) -> bool {
    SYNCED_WHOLE.contains(&magic)
}

/// Whether what it calls a hole is believed.
pub fn holes_are_honest(magic: u64) -> bool {
    HOLES_ARE_HONEST.contains(&magic)
}

/// Whether files keep the times that they are given, those of 1980 to 2038, whoever gives them: FUSE's daemons, servers
/// and the upper layer of an overlay may not.
pub fn keeps_times(magic: u64) -> bool {
    magic != OVERLAY && syncs_whole(magic)
}

/// Whether a file that is not made up may hold more than its size tells: FUSE asks its daemon as long as that gives.
pub fn sizes_may_lie(magic: u64) -> bool {
    ![&SYNCED_WHOLE[..], &SIZES_HOLD, &MADE_UP].iter().any(|known| known.contains(&magic))
}

/// Whether files may have to be written in order, and once: of FUSE and of what is not known only a probe can show it.
pub fn may_take_in_order(magic: u64) -> bool {
    sizes_may_lie(magic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_taken_for_the_worse() {
        const FUSE: u64 = 0x6573_5546;
        for (magic, whole, may_lie, made_up) in [
            (0xef53, true, false, false),
            (0x6969, false, false, false),
            (FUSE, false, true, false),
            (PROC, false, false, true),
            (0x6265_6572, false, false, true), // sysfs
            (0, false, true, false),
        ] {
            assert_eq!(syncs_whole(magic), whole, "{magic:x}");
            assert_eq!(holes_are_honest(magic), magic == 0xef53, "{magic:x}");
            assert_eq!(keeps_times(magic), whole, "{magic:x}");
            assert_eq!(sizes_may_lie(magic), may_lie, "{magic:x}");
            assert_eq!(is_made_up(magic), made_up, "{magic:x}");
            assert_eq!(holds_descriptors(magic), magic == PROC, "{magic:x}");
            assert!(!is_in_memory(magic), "{magic:x}");
        }
        let [tmpfs, ramfs] = [0x0102_1994, 0x8584_58f6];
        assert!(is_in_memory(tmpfs) && is_in_memory(ramfs));
    }
}
