//! A device with less room than it says, as thin pools have: ext4 in a sparse image on a small file system in memory.
//! What ext4 needs for itself is there, so that data alone find no room. It can be pulled out, too.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::Home;
use crate::support::running::eventually;

use super::program;

/// A mounted thin device. Dropping it undoes all.
pub struct Thin {
    home: Home,
}

impl Thin {
    /// So much room for data is there, whatever the file system says.
    pub fn new(room_bytes: u64) -> Thin {
        let thin = Thin { home: Home::new() };
        for folder in ["memory", "mnt"] {
            fs::create_dir(thin.home.path(folder)).expect("a folder to mount on");
        }
        program(&["mount", "-t", "tmpfs", "-o", "size=700m", "tmpfs", &thin.path("memory")]);
        let (whole, image) = (thin.path("memory/whole"), thin.image());
        File::create(&whole).and_then(|file| file.set_len(256 << 20)).expect("room");
        let words = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        program(&[
            "mkfs.ext4",
            "-q",
            "-F",
            "-m",
            "0",
            "-O",
            "^metadata_csum,^uninit_bg",
            "-E",
            words,
            &whole,
        ]);
        // All of it stands in memory, then what ext4 does not use is given back.
        program(&["cp", "--sparse=never", &whole, &image]);
        fs::remove_file(&whole).expect("it was made");
        thin.mount();
        program(&["fstrim", &thin.point()]);
        program(&["sync", "--file-system", &thin.point()]);
        let free = thin.free_bytes();
        let ballast = File::create(thin.home.path("memory/ballast")).expect("room");
        rustix::fs::fallocate(&ballast, rustix::fs::FallocateFlags::empty(), 0, free - room_bytes)
            .expect("room");
        thin
    }

    fn path(&self, name: &str) -> String {
        self.home.path(name).display().to_string()
    }

    fn image(&self) -> String {
        self.path("memory/image")
    }

    pub fn point(&self) -> String {
        self.path("mnt")
    }

    /// The path of a name in it.
    pub fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.point())
    }

    fn mount(&self) {
        program(&["mount", "-o", "loop,errors=continue,data_err=ignore", &self.image(), &self.point()]);
        // The loop driver takes a short write for a whole one. A page cannot be short.
        fs::write(self.queue().join("max_sectors_kb"), "4").expect("root may");
    }

    fn queue(&self) -> PathBuf {
        let mounts = fs::read_to_string("/proc/mounts").expect("Linux tells");
        let words = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let device =
            words.filter(|words| words[1] == self.point()).map(|words| words[0].to_owned()).next_back();
        let device = device.expect("it is mounted").replace("/dev/", "");
        PathBuf::from(format!("/sys/block/{device}/queue"))
    }

    /// Syncs the file system and each file in its root, as anybody may: whoever asks first is told what failed.
    pub fn sync_all(&self) {
        let paths = fs::read_dir(self.point()).expect("the mount").flatten().map(|entry| entry.path());
        for file in paths.filter_map(|path| File::open(path).ok()) {
            let _ = (rustix::fs::syncfs(&file), file.sync_all());
        }
    }

    /// Waits until what changes now is told from what changed before: the times of a file system go by ticks.
    pub fn pass_a_tick(&self) {
        let path = self.home.path("mnt/tick");
        let changed = || {
            fs::write(&path, "").expect("room");
            let meta = fs::metadata(&path).expect("it was made");
            fs::remove_file(&path).expect("it was made");
            (meta.ctime(), meta.ctime_nsec())
        };
        let before = changed();
        eventually("a tick passes", || changed() > before);
    }

    /// Room that is really there.
    pub fn free_bytes(&self) -> u64 {
        let room = rustix::fs::statvfs(self.path("memory")).expect("the mount");
        room.f_bavail * room.f_frsize
    }

    /// There is room again, and nothing in the cache that the device does not have.
    pub fn make_room(&mut self) {
        // Dirty data still fail now, and that is told here: told later, the next copy would be the first to hear.
        let is_told = || File::open(self.point()).is_ok_and(|mount| rustix::fs::syncfs(&mount).is_ok());
        assert!((0..100).any(|_| is_told()), "all that is dirty was tried");
        fs::remove_file(self.home.path("memory/ballast")).expect("it was made");
        // Another test that drops the caches holds each inode while it walks its pages (0.2 s were seen).
        eventually("the ballast is gone", || self.free_bytes() > 0);
        fs::write("/proc/sys/vm/drop_caches", "3").expect("root may");
    }

    /// Unmounts and mounts: what is read now the device has.
    pub fn mount_again(&mut self) {
        self.unmount();
        // Somebody in another namespace may still hold it, and it comes back with its cache.
        fs::write("/proc/sys/vm/drop_caches", "3").expect("root may");
        self.mount();
    }

    /// What the device has at this moment is what is found when it is mounted again.
    pub fn crash(&mut self) {
        let (image, then) = (self.image(), self.path("memory/then"));
        program(&["cp", "--sparse=always", &image, &then]);
        self.unmount();
        fs::rename(then, image).expect("one file system");
        self.mount();
    }

    /// The same behind a sync of one file: with it go names, sizes and times of all others, but not their data.
    pub fn pull_out(&mut self, synced: &str) {
        program(&["sync", &self.at(synced)]);
        self.crash();
    }

    /// Rings of a program that was killed hold on to its files for a moment longer.
    fn unmount(&self) {
        let unmounted = || {
            let mut command = Command::new("umount");
            command.arg(self.point()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        eventually("nobody uses the mount", unmounted);
    }
}

impl Drop for Thin {
    fn drop(&mut self) {
        for point in ["mnt", "memory"] {
            let mut command = Command::new("umount");
            command.args(["--lazy", &self.path(point)]).stderr(Stdio::null());
            let _ = command.status();
        }
    }
}
