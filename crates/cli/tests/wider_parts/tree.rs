//! A generator of trees with every kind of entry that a file system holds, from a seed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev};

use super::dress::{For, Kind, dress};
use super::random::Random;
use super::zoo;
use crate::support::{noise, set_mode};

/// As many entries as the tests of everything take.
pub const ENTRIES: usize = 20_000;

/// How names may begin; a number makes them unique.
const ODD_NAMES: [&[u8]; 20] = [
    b"-",
    b"--delete",
    b" ",
    b"..a",
    b"...",
    b".. ",
    b"\xff\xfe\x80",
    b"new\nline",
    b"\x1b[31m\x07",
    b"\t\r\x7f",
    b"*?[a]",
    b"$(x)`y`",
    b"'\"\\",
    b"host:path",
    b"#~",
    b"%s%n",
    "\u{fc}\u{200b}\u{202e}".as_bytes(),
    "\u{3000}".as_bytes(),
    b"\xc3",
    b"null:",
];
const NAME_BYTES_MAX: usize = 255;

/// Makes a tree that only root can copy in full. Beside it `FOLDER-outside` holds further links to its files.
pub fn make_tree(folder: &Path, seed: u64, entries: usize) {
    Maker::new(folder, seed, For::Root).make(reduced(entries));
}

/// Makes a tree that this ordinary user can copy, apart from owners.
pub fn make_tree_for(user: u32, folder: &Path, seed: u64, entries: usize) {
    Maker::new(folder, seed, For::User(user)).make(reduced(entries));
}

/// Half of the entries where the counts are reduced (`DATAPUMP_ONE_CASE_IN`).
fn reduced(entries: usize) -> usize {
    match std::env::var_os("DATAPUMP_ONE_CASE_IN") {
        Some(_) => entries / 2,
        None => entries,
    }
}

/// A tree without one of each kind, for tests that make many: so many entries by chance, sockets among them.
pub fn make_small_tree(folder: &Path, seed: u64, audience: For, entries: usize) {
    let mut maker = Maker::new(folder, seed, audience);
    maker.add_random_file(folder.join("first"), 300_000);
    while maker.made < entries {
        match maker.random.below(100) {
            0 => maker.add_socket(),
            _ => maker.random_entry(),
        }
    }
    maker.dress_folders();
}

/// Where links that are not in the tree are.
pub fn outside_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push("-outside");
    name.into()
}

/// What has been made so far.
pub struct Maker {
    pub folder: PathBuf,
    pub audience: For,
    pub random: Random,
    /// Folders get attributes last: what is made in them would change their times.
    folders: Vec<PathBuf>,
    /// Modes that folders must have in the end.
    modes: Vec<(PathBuf, u32)>,
    /// What may get another name.
    files: Vec<PathBuf>,
    made: usize,
}

impl Maker {
    fn new(folder: &Path, seed: u64, audience: For) -> Maker {
        std::fs::create_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        std::fs::create_dir(outside_of(folder)).expect("room for a folder");
        let folders = vec![folder.into()];
        let (random, modes, files) = (Random(seed), Vec::new(), Vec::new());
        Maker { folder: folder.into(), audience, random, folders, modes, files, made: 0 }
    }

    fn make(mut self, entries: usize) {
        zoo::make_zoo(&mut self);
        self.make_folder_of_many(entries / 4);
        while self.made < entries {
            self.random_entry();
        }
        self.dress_folders();
        self.modes.iter().for_each(|(path, mode)| give_mode(path, *mode, self.audience));
    }

    fn dress_folders(&mut self) {
        for folder in std::mem::take(&mut self.folders) {
            dress(&folder, Kind::Folder, self.audience, &mut self.random);
        }
    }

    fn add_socket(&mut self) {
        let path = self.new_path();
        self.add_special(path, FileType::Socket, 0);
    }

    /// This folder is to have this mode and belong to whom the tree is for.
    pub fn set_last(&mut self, path: PathBuf, mode: u32) {
        self.modes.push((path, mode));
    }

    pub fn add_folder(&mut self, path: PathBuf) -> PathBuf {
        std::fs::create_dir(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        self.folders.push(path.clone());
        self.made += 1;
        path
    }

    /// An entry that is no folder has been made here: dress it.
    pub fn add(&mut self, path: PathBuf, kind: Kind) {
        dress(&path, kind, self.audience, &mut self.random);
        self.keep(path);
    }

    /// An entry that has its attributes already.
    pub fn keep(&mut self, path: PathBuf) {
        self.files.push(path);
        self.made += 1;
    }

    fn make_folder_of_many(&mut self, entries: usize) {
        let folder = self.add_folder(self.folder.join("many"));
        for number in 0..entries {
            self.add_file(folder.join(format!("entry-{number:06}")), number % 7);
        }
    }

    pub fn add_file(&mut self, path: PathBuf, bytes: usize) {
        let seed = self.random.below(u64::MAX);
        std::fs::write(&path, noise(bytes, seed)).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        self.add(path, Kind::File);
    }

    fn random_entry(&mut self) {
        let path = self.new_path();
        match self.random.below(1000) {
            0..80 => drop(self.add_folder(path)),
            80..160 => self.add_symlink(path),
            160..230 => self.add_link(path),
            230..245 => self.add_sparse(),
            245..255 => self.add_special(path, FileType::Fifo, 0),
            255..265 if self.audience == For::Root => self.add_device(path),
            265..268 => self.add_random_file(path, 3 << 20),
            268..340 => self.add_file(path, 0),
            340..750 => self.add_random_file(path, 4096),
            _ => self.add_random_file(path, 65_537),
        }
    }

    fn add_random_file(&mut self, path: PathBuf, bound: u64) {
        let bytes = self.random.below(bound) as usize;
        self.add_file(path, bytes);
    }

    /// A new name in a folder by chance; every second time in one of the newest, which makes paths long.
    fn new_path(&mut self) -> PathBuf {
        let newest = self.folders.len().saturating_sub(5);
        let from = if self.random.in_thousand(500) { newest } else { 0 };
        let folder = self.random.pick(&self.folders[from..]).clone();
        folder.join(self.new_name())
    }

    fn new_name(&mut self) -> OsString {
        let number = self.made;
        if !self.random.in_thousand(150) {
            return format!("name-{number}").into();
        }
        let odd = *self.random.pick(&ODD_NAMES);
        let mut name = [odd, format!("{number}").as_bytes()].concat();
        if self.random.in_thousand(200) {
            name.resize(NAME_BYTES_MAX, b'n');
        }
        OsString::from_vec(name)
    }

    fn add_symlink(&mut self, path: PathBuf) {
        let to = match self.random.below(5) {
            0 => OsString::from("nowhere/at all"),
            1 => self.random.pick(&self.folders).clone().into(),
            2 => OsString::from(".."),
            3 => OsString::from("/etc/passwd"),
            _ => self.random.pick(&self.files).file_name().expect("it has a name").to_owned(),
        };
        symlink(&to, &path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        self.add(path, Kind::Symlink);
    }

    /// Another name of a file; some have one outside of the tree as well.
    fn add_link(&mut self, path: PathBuf) {
        let file = self.random.pick(&self.files).clone();
        std::fs::hard_link(&file, &path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        if self.random.in_thousand(150) {
            let name = format!("link-{}", self.made);
            std::fs::hard_link(&file, outside_of(&self.folder).join(name)).expect("the same file system");
        }
        self.made += 1;
    }

    fn add_sparse(&mut self) {
        let name = format!("sparse-{}", self.made);
        let path = self.random.pick(&self.folders).join(name);
        let islands = self.random.below(4);
        let bytes = (islands + 1) * ((1 << 18) + self.random.below(1 << 18));
        let at: Vec<u64> = (0..islands).map(|island| island << 18).collect();
        make_sparse(&path, bytes, &at);
        self.add(path, Kind::File);
    }

    fn add_device(&mut self, path: PathBuf) {
        // Numbers of null, zero and of loop devices that nobody opens.
        let (kind, device) = *self.random.pick(&[
            (FileType::CharacterDevice, makedev(1, 3)),
            (FileType::CharacterDevice, makedev(1, 5)),
            (FileType::BlockDevice, makedev(7, 250)),
            (FileType::BlockDevice, makedev(259, 70_000)),
        ]);
        self.add_special(path, kind, device);
    }

    pub fn add_special(&mut self, path: PathBuf, kind: FileType, device: u64) {
        rustix::fs::mknodat(CWD, &path, kind, Mode::RUSR | Mode::WUSR, device)
            .unwrap_or_else(|error| panic!("{path:?}: {error}"));
        self.add(path, Kind::Special);
    }
}

fn give_mode(path: &Path, mode: u32, audience: For) {
    if let For::User(user) = audience {
        lchown(path, Some(user), Some(user)).expect("the tests run as root");
    }
    set_mode(path, mode);
}

/// A file of holes with short islands at these bytes.
pub fn make_sparse(path: &Path, bytes: u64, islands: &[u64]) {
    let file = File::create(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    for &at in islands {
        file.write_all_at(&noise(5000, at + 1), at).expect("room for an island");
    }
    file.set_len(bytes).expect("a length can be set");
}

/// A name of these bytes.
pub fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}
