//! What the tests that run the real binary share: files with known content, runs that go on while the test acts,
//! conditions that are waited for, and one line to say how a run must have ended.
//!
//! Each test file uses a part of it.
#![allow(dead_code)]

pub mod home;
pub mod listing;
pub mod middle_box;
pub mod nested;
pub mod programs;
pub mod running;
pub mod schema;
pub mod serving;
pub mod small_tree;
pub mod told;
pub mod two_hosts;
pub mod typed;
pub mod wire;

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

pub use home::{Home, Outcome, outcome};
use rustix::fs::{CWD, FileType, Mode, XattrFlags};

/// The program that is tested: cargo's of the tests' own profile, unless another one is named when they are built.
pub const PUMP: &str = match option_env!("DATAPUMP_TESTED_PUMP") {
    Some(path) => path,
    None => env!("CARGO_BIN_EXE_pump"),
};

/// What an ordinary user's programs run as when the tests run as root: nobody.
const NOBODY: u32 = 65_534;

/// A run must have ended with this status, said each of these parts, and neither panicked nor moved the cursor.
pub fn expect(outcome: &Outcome, status: i32, parts: &[&str], row: &str) {
    assert_eq!(outcome.status, status, "{row}: {outcome:?}");
    let said = format!("{}{}", outcome.out, outcome.err);
    for part in parts {
        assert!(said.contains(part), "{row}: no {part:?} in: {said}");
    }
    for bad in ["panicked", "internal error"] {
        assert!(!said.contains(bad), "{row}: {said}");
    }
    let hostile = |letter: char| letter.is_control() && letter != '\n';
    assert!(!outcome.err.contains(hostile), "{row}: control characters in {:?}", outcome.err);
}

/// Bytes that repeat nowhere near (xorshift64, Marsaglia 2003), so that a block in the wrong place shows.
pub fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut content = vec![0; bytes.next_multiple_of(8)];
    for word in content.as_chunks_mut().0 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *word = state.to_le_bytes();
    }
    content.truncate(bytes);
    content
}

/// Writes a file of noise and gives its content.
pub fn noise_file(home: &Home, name: &str, bytes: usize, seed: u64) -> Vec<u8> {
    let content = noise(bytes, seed);
    std::fs::write(home.path(name), &content).expect("room for a file");
    content
}

/// Whether a file has this content; on a difference, where.
pub fn has_content(path: &Path, expected: &[u8], row: &str) {
    let found = std::fs::read(path).unwrap_or_else(|error| panic!("{row}: {path:?}: {error}"));
    assert_eq!(found.len(), expected.len(), "{row}: length of {path:?}");
    if found != expected {
        let differ = found.iter().zip(expected).position(|(one, other)| one != other);
        panic!("{row}: {path:?} differs at byte {differ:?}");
    }
}

/// Temporary files that a run left in its folder.
pub fn leftovers(home: &Home) -> Vec<String> {
    home.names().into_iter().filter(|name| name.starts_with(".pump-")).collect()
}

/// The folder holds these names and no others.
pub fn only(home: &Home, names: &[&str], row: &str) {
    let mut names = names.to_vec();
    names.sort_unstable();
    assert_eq!(home.names(), names, "{row}");
}

pub fn make_fifo(path: &Path) {
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a named pipe");
}

pub fn make_folder(home: &Home, name: &str) {
    std::fs::create_dir(home.path(name)).expect("a folder");
}

pub fn make_symlink(home: &Home, to: &str, name: &str) {
    std::os::unix::fs::symlink(to, home.path(name)).expect("a symbolic link");
}

pub fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode can be set");
}

/// Sets the time of change to this many nanoseconds after 1970.
pub fn set_mtime(path: &Path, ns: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(ns);
    let file = File::options().write(true).open(path).expect("the file");
    file.set_modified(time).expect("a time can be set");
}

/// Sets an extended attribute; `false`, with a printed reason, where the file system has none for users.
pub fn set_xattr(path: &Path, name: &str, value: &[u8]) -> bool {
    match rustix::fs::setxattr(path, name, value, XattrFlags::empty()) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("not tested: extended attributes of users: {error}");
            false
        }
    }
}

/// The value, or nothing where there is none.
pub fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let len = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(len);
    Some(value)
}

/// Mode, time of change and the extended attribute that the tests use are the same.
pub fn has_attributes_of(source: &Path, copy: &Path, row: &str) {
    let facts = |path: &Path| {
        let meta = path.metadata().expect("the file is there");
        (meta.mode(), meta.mtime(), meta.mtime_nsec(), xattr(path, "user.colour"))
    };
    assert_eq!(facts(copy), facts(source), "{row}: mode, mtime, xattr of {copy:?}");
}

/// Whether direct I/O can be had in the folder; `false` with a printed reason.
pub fn has_direct(home: &Home) -> bool {
    use rustix::fs::OFlags;
    let path = home.path("direct");
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::DIRECT;
    let opened = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR);
    // Some file systems know direct I/O and leave nothing behind where they do not.
    let _ = std::fs::remove_file(&path);
    opened.map_err(|error| eprintln!("not tested: direct I/O: {error}")).is_ok()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// `pump` as an ordinary user: this one, or nobody when the tests run as root. `None`, with a printed reason, where
/// root cannot become nobody.
pub fn as_ordinary_user(home: &Home, words: &[&str]) -> Option<Outcome> {
    as_ordinary_user_by(home, &[], words)
}

/// `pump` as an ordinary user, started by the command `by`.
pub fn as_ordinary_user_by(home: &Home, by: &[&str], words: &[&str]) -> Option<Outcome> {
    let command = |program: &Path| {
        let (by, words) = (by.iter().map(OsStr::new), words.iter().map(OsStr::new));
        let started: Vec<&OsStr> = by.chain([program.as_os_str()]).chain(words).collect();
        let mut command = Command::new(started[0]);
        forget_variables(&mut command);
        command.args(&started[1..]).current_dir(home.path("")).stdin(std::process::Stdio::null());
        command
    };
    if !is_root() {
        return Some(outcome(command(Path::new(PUMP)), b""));
    }
    set_mode(&home.path(""), 0o755);
    let program = home.path(".program");
    if !program.exists() && std::fs::hard_link(PUMP, &program).is_err() {
        programs::copy_program(&program);
    }
    let mut command = command(&program);
    command.uid(NOBODY).gid(NOBODY);
    let mut probe = Command::new("true");
    match probe.uid(NOBODY).gid(NOBODY).status() {
        Ok(_) => Some(outcome(command, b"")),
        Err(error) => {
            eprintln!("not tested as an ordinary user: root cannot become nobody: {error}");
            None
        }
    }
}

/// Takes away what the environment of the tests may ask of `pump`.
fn forget_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PUMP_")) {
        command.env_remove(name);
    }
}

/// `pump` started by a shell after these words of its own.
pub fn after(home: &Home, shell: &str, words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{shell}; exec \"$0\" \"$@\"")).arg(PUMP);
    command.args(words).current_dir(home.path("")).stdin(std::process::Stdio::null());
    forget_variables(&mut command);
    command
}
