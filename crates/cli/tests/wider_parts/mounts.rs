//! Small file systems on loop devices. Dropping a guard undoes what it did, also when a test fails.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::support::Home;

use super::program;

/// Which file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ext4,
    Xfs,
    Btrfs,
    Tmpfs,
    /// All files have one owner and mode, which lets everybody write; with the others their owner alone: this user, or
    /// another.
    Ntfs,
    NtfsClosed,
    NtfsOfOther,
    /// In memory; it keeps no extended attributes and no access control lists.
    Ramfs,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Ext4, Kind::Xfs, Kind::Btrfs, Kind::Tmpfs];

    /// Makes the file system; none is needed for memory.
    fn make(self, image: &str, options: &[&str]) {
        match self {
            // -m 0: no blocks kept for root, as whom the tests run.
            Kind::Ext4 => program(&[&["mkfs.ext4", "-q", "-F", "-m", "0"], options, &[image]].concat()),
            Kind::Xfs => program(&["mkfs.xfs", "-q", "-f", "-m", "reflink=1", image]),
            Kind::Btrfs => program(&["mkfs.btrfs", "-q", "-f", image]),
            Kind::Ntfs | Kind::NtfsClosed | Kind::NtfsOfOther => {
                program(&["mkntfs", "--quick", "--force", "--quiet", image])
            }
            Kind::Tmpfs | Kind::Ramfs => String::new(),
        };
    }
}

/// A mounted file system in a temporary folder of its own.
pub struct Mount {
    home: Home,
    pub kind: Kind,
}

impl Mount {
    /// A file system that is large enough for any kind of it (mkfs.xfs wants 300 MiB), and sparse.
    pub fn new(kind: Kind) -> Mount {
        Mount::of(kind, 512)
    }

    pub fn of(kind: Kind, mebibytes: u64) -> Mount {
        Mount::made(kind, mebibytes, &[])
    }

    /// ext4 with further words for mkfs.ext4.
    pub fn ext4(mebibytes: u64, options: &[&str]) -> Mount {
        Mount::made(Kind::Ext4, mebibytes, options)
    }

    fn made(kind: Kind, mebibytes: u64, options: &[&str]) -> Mount {
        let mount = Mount { home: Home::new(), kind };
        let (image, point) = (mount.image(), mount.point());
        std::fs::create_dir(&point).expect("a folder to mount on");
        sparse_file(&image, mebibytes << 20);
        kind.make(&image, options);
        match kind {
            Kind::Tmpfs => program(&["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", &point]),
            Kind::Ntfs => program(&["ntfs-3g", &image, &point]),
            Kind::NtfsClosed => program(&["ntfs-3g", "-o", "umask=022", &image, &point]),
            Kind::NtfsOfOther => program(&["ntfs-3g", "-o", "uid=65534,umask=022", &image, &point]),
            Kind::Ramfs => program(&["mount", "-t", "ramfs", "ramfs", &point]),
            Kind::Ext4 | Kind::Xfs | Kind::Btrfs => program(&["mount", "-o", "loop", &image, &point]),
        };
        mount
    }

    pub fn image(&self) -> String {
        self.home.path("image").display().to_string()
    }

    /// Where it is mounted.
    pub fn point(&self) -> String {
        self.home.path("mnt").display().to_string()
    }

    /// The path of a name in it.
    pub fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.point())
    }

    pub fn make_read_only(&self) {
        program(&["mount", "-o", "remount,ro", &self.point()]);
    }

    /// Bytes that may still be written.
    pub fn free_bytes(&self) -> u64 {
        let room = rustix::fs::statvfs(self.point()).expect("the mount");
        room.f_bavail * room.f_frsize
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        unmount(&self.point());
    }
}

/// A file or a folder that is there twice.
pub struct Bind {
    point: String,
}

impl Bind {
    pub fn new(what: &str, point: &str) -> Bind {
        program(&["mount", "--bind", what, point]);
        Bind { point: point.into() }
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        unmount(&self.point);
    }
}

/// A block device on a file.
pub struct Loop {
    pub device: String,
    image: String,
    _home: Home,
}

impl Loop {
    pub fn new(content: &[u8]) -> Loop {
        let home = Home::new();
        let image = home.path("image").display().to_string();
        std::fs::write(&image, content).expect("room for an image");
        let device = program(&["losetup", "--find", "--show", &image]).trim().to_owned();
        Loop { device, image, _home: home }
    }

    /// What the device holds by now, read past its page cache.
    pub fn content(&self) -> Vec<u8> {
        program(&["blockdev", "--flushbufs", &self.device]);
        std::fs::read(&self.image).expect("the image")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // The mark of a device that is read only would outlive the file behind it.
        quietly(&["blockdev", "--setrw", &self.device]);
        quietly(&["losetup", "--detach", &self.device]);
    }
}

/// A file with an attribute of chattr(1), which keeps it from being deleted with its folder.
pub struct Chattr {
    path: String,
    letter: char,
}

impl Chattr {
    pub fn new(path: &str, letter: char) -> Chattr {
        program(&["chattr", &format!("+{letter}"), path]);
        Chattr { path: path.into(), letter }
    }
}

impl Drop for Chattr {
    fn drop(&mut self) {
        quietly(&["chattr", &format!("-{}", self.letter), &self.path]);
    }
}

/// Makes a file that is one hole.
pub fn sparse_file(path: &str, bytes: u64) {
    let file = File::create(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    file.set_len(bytes).expect("a length can be set");
}

/// If something still stands in it, the mount goes when that ends.
fn unmount(point: &str) {
    if !quietly(&["umount", point]) {
        quietly(&["umount", "--lazy", point]);
    }
}

fn quietly(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
