//! Makes an older copy of a tree out of an exact one: what a target may look like before a second copy, from a seed.

use std::fs::{self, FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt, lchown, symlink};
use std::path::{Path, PathBuf};

use super::dress::{For, Kind, access_list, dress, set, set_times};
use super::random::Random;
use crate::support::listing::paths;
use crate::support::{make_fifo, noise, set_mode};

const OWNERS: [(u32, u32); 3] = [(0, 0), (1234, 4321), (65_534, 0)];
const MODES: [u32; 6] = [0o644, 0o600, 0o755, 0o4755, 0o2750, 0];
/// An ordinary user must be able to read it, and look into folders.
const USER_MODES: [u32; 3] = [0o700, 0o755, 0o750];
/// Some are older than all that the generator makes, some are newer.
const SECONDS: [i64; 4] = [-1_600_000_000, 1_000_000_000, 1_700_000_000, 14_500_000_000];

/// Changes so many things in a tree.
pub fn make_older(tree: &Path, audience: For, changes: u64, random: &mut Random) {
    let mut older = Older { tree, audience, random, made: 0 };
    (0..changes).for_each(|_| older.change());
}

struct Older<'a> {
    tree: &'a Path,
    audience: For,
    random: &'a mut Random,
    made: usize,
}

impl Older<'_> {
    fn change(&mut self) {
        let all = paths(self.tree);
        let path = self.tree.join(self.random.pick(&all));
        let meta = path.symlink_metadata().expect("it was listed");
        let above = path.parent().expect("a path").to_path_buf();
        let before = above.symlink_metadata().expect("a folder");
        match meta.file_type() {
            kind if kind.is_file() && self.random.in_thousand(500) => self.change_file(&path, &meta, &all),
            kind => self.change_any(&path, kind),
        }
        // The times of folders are those of the change, and differ from run to run.
        match self.random.below(3) {
            0 if above.starts_with(self.tree) => self.new_time(&above),
            _ if above.exists() => set_times(&above, before.mtime(), before.mtime_nsec()),
            _ => {}
        }
    }

    fn new_time(&mut self, path: &Path) {
        set_times(path, *self.random.pick(&SECONDS), 1 + self.random.below(999_999_999) as i64);
    }

    fn change_file(&mut self, path: &Path, meta: &Metadata, all: &[PathBuf]) {
        match self.random.below(6) {
            // Neither size nor time tells.
            0 => {
                self.write(path, meta.len() as usize);
                set_times(path, meta.mtime(), meta.mtime_nsec());
            }
            1 => {
                self.write(path, meta.len() as usize);
                self.new_time(path);
            }
            2 | 3 => {
                let bytes = self.random.below(meta.len() + 5000) as usize;
                self.write(path, bytes);
                self.new_time(path);
            }
            4 => self.join_with_another(path, all),
            _ => self.part_from_others(path),
        }
    }

    fn write(&mut self, path: &Path, bytes: usize) {
        let content = noise(bytes, self.random.below(u64::MAX));
        fs::write(path, content).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    }

    /// It becomes another name of some other file.
    fn join_with_another(&mut self, path: &Path, all: &[PathBuf]) {
        let other = self.tree.join(self.random.pick(all));
        if other != path && other.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
            fs::remove_file(path).expect("it was listed");
            fs::hard_link(other, path).expect("the same file system");
        }
    }

    /// It becomes a file of its own, with nothing but the content.
    fn part_from_others(&mut self, path: &Path) {
        let content = fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        fs::remove_file(path).expect("it was listed");
        fs::write(path, content).expect("room");
        dress(path, Kind::File, self.audience, self.random);
    }

    fn change_any(&mut self, path: &Path, kind: FileType) {
        let is_root = path == self.tree.join("");
        match self.random.below(12) {
            0 | 1 => self.new_time(path),
            2 if !kind.is_symlink() => set_mode(path, self.mode()),
            3 => self.new_owner(path),
            4 if kind.is_file() || kind.is_dir() => set(path, "user.attribute-0", b"older"),
            5 if kind.is_file() || kind.is_dir() => remove_attributes(path, "user."),
            6 if !kind.is_symlink() => set(path, "system.posix_acl_access", &access_list(0o5, 0)),
            7 if !kind.is_symlink() => remove_attributes(path, "system.posix_acl_"),
            8 if !is_root => remove(path, kind),
            9 if !is_root => fs::rename(path, self.new_name()).expect("the same file system"),
            10 if !is_root => self.make_another_kind(path, kind),
            _ => self.add_name(),
        }
    }

    fn mode(&mut self) -> u32 {
        match self.audience {
            For::Root => *self.random.pick(&MODES),
            For::User(_) => *self.random.pick(&USER_MODES),
        }
    }

    fn new_owner(&mut self, path: &Path) {
        if self.audience == For::Root {
            let (user, group) = *self.random.pick(&OWNERS);
            lchown(path, Some(user), Some(group)).expect("the tests run as root");
        }
    }

    /// A name at the top that the source does not have.
    fn new_name(&mut self) -> PathBuf {
        self.made += 1;
        self.tree.join(format!("extra-{}", self.made))
    }

    fn make_another_kind(&mut self, path: &Path, kind: FileType) {
        remove(path, kind);
        match self.random.below(5) {
            0 if !kind.is_symlink() => symlink("elsewhere", path).expect("room"),
            1 if !kind.is_fifo() => make_fifo(path),
            2 if !kind.is_dir() => fs::create_dir(path).expect("room"),
            3 if !kind.is_dir() && self.random.in_thousand(300) => self.make_folder(path),
            _ => self.write(path, 100),
        }
        self.new_time(path);
    }

    fn make_folder(&mut self, path: &Path) {
        fs::create_dir(path).expect("room");
        self.write(&path.join("name-1"), 10);
        self.new_time(&path.join("name-1"));
    }

    fn add_name(&mut self) {
        let path = self.new_name();
        match self.random.below(4) {
            0 => symlink("first", &path).expect("room"),
            1 => make_fifo(&path),
            2 => self.make_folder(&path),
            _ => self.write(&path, 1000),
        }
        self.new_time(&path);
        if let For::User(user) = self.audience {
            lchown(path, Some(user), Some(user)).expect("the tests run as root");
        }
    }
}

fn remove(path: &Path, kind: FileType) {
    let removed = if kind.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.unwrap_or_else(|error| panic!("{path:?}: {error}"));
}

fn remove_attributes(path: &Path, prefix: &str) {
    let mut names = vec![0; 1 << 16];
    let count = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    for name in names[..count].split(|&byte| byte == 0).filter(|name| name.starts_with(prefix.as_bytes())) {
        rustix::fs::lremovexattr(path, name).expect("it was listed");
    }
}
