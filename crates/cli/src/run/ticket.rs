//! Finds the ticket for another host: a file, the environment, or a question on the terminal. And the file that a
//! server writes it to, which is never one that stands there already.
//!
//! Must not know: what a ticket is for.

use crate::output::path_words::path_words;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write, stderr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use datapump::{Class, Operation, Problem, Ticket};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::run::prompt::{NoAnswer, hidden_word};

/// A file of tickets is not longer.
const FILE_BYTES_MAX: u64 = 4096;

/// The ticket; an error says where it was looked for. Never says what was found.
pub fn ticket(file: Option<&Path>) -> Result<Ticket, String> {
    let (word, place) = match (file, std::env::var("PUMP_TICKET")) {
        (Some(path), _) => (read(path)?, format!("in '{}'", path_words(path))),
        (None, Ok(word)) if !word.is_empty() => (word, "in PUMP_TICKET".into()),
        (None, _) => (asked()?, "on the terminal".into()),
    };
    Ticket::parse(&word).map_err(|error| format!("{place}: {error}"))
}

/// A pipe without a name is one that the user's shell made for this command.
const PIPE_WITHOUT_A_NAME: i64 = 0x5049_5045; // PIPEFS_MAGIC: magic.h
const READ_BY_OTHERS: u32 = 0o044;

fn read(path: &Path) -> Result<String, String> {
    let shown = path_words(path);
    let told = |error: io::Error| format!("the ticket in '{shown}': {error}");
    // A pipe that somebody put there is not waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::open(path, flags, Mode::empty()).map(File::from).map_err(|error| told(error.into()))?;
    let mode = fs::fstat(&file).map_err(|error| told(error.into()))?.st_mode;
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile if mode & READ_BY_OTHERS != 0 => {
            let mode = mode & 0o777;
            let words = format!("others may read the ticket in '{shown}' (mode {mode:04o}): chmod 600 it");
            let _ = writeln!(stderr(), "pump: warning: {words}");
        }
        FileType::RegularFile => {}
        FileType::Fifo if fs::fstatfs(&file).is_ok_and(|it| it.f_type == PIPE_WITHOUT_A_NAME) => {
            let waits = fs::fcntl_getfl(&file).and_then(|set| fs::fcntl_setfl(&file, set - OFlags::NONBLOCK));
            waits.map_err(|error| told(error.into()))?;
        }
        _ => {
            return Err(format!(
                "the ticket in '{shown}': it is no file; name the one that pump serve wrote"
            ));
        }
    }
    let mut word = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut word).map_err(told)?;
    Ok(word)
}

/// Writes a ticket to a file that only this user may read, from the first byte on. The file is new; one that stands
/// there is replaced, and only if it is this user's.
pub fn write(path: &Path, word: &str) -> Result<File, Problem> {
    let system = |error: Errno| Problem::system(WRITE, path, error.raw_os_error());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| Problem::new(Class::Usage, WRITE, path, "this is no name"))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = fs::open(parent, flags, Mode::empty()).map(File::from).map_err(system)?;
    refuse_what_is_not_ours(folder.as_fd(), name, path)?;
    // Nobody can know the name before.
    let random = RandomState::new().build_hasher().finish();
    let temporary = format!(".pump-ticket-{random:016x}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = fs::openat(&folder, &temporary, flags, OWNER_ALONE).map(File::from).map_err(system)?;
    let written = fill(&file, word).map_err(system);
    let renamed = |()| {
        datapump_files::disk::names::rename(&folder, temporary.as_ref(), &folder, name)
            .map_err(|errno| system(Errno::from_raw_os_error(errno.0)))
    };
    written.and_then(renamed).inspect_err(|_| {
        let _ = fs::unlinkat(&folder, &temporary, AtFlags::empty());
    })?;
    Ok(file)
}

const WRITE: Operation = Operation::WriteTicket;
const OWNER_ALONE: Mode = Mode::RUSR.union(Mode::WUSR);

/// What stands under the name goes, so it must be a file that this user has there and nowhere else.
fn refuse_what_is_not_ours(folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<(), Problem> {
    let there = match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        there => there.map_err(|error| Problem::system(WRITE, path, error.raw_os_error()))?,
    };
    let is_own = there.st_uid == rustix::process::geteuid().as_raw();
    let words = match FileType::from_raw_mode(there.st_mode) {
        FileType::RegularFile if is_own && there.st_nlink == 1 => return Ok(()),
        FileType::RegularFile if is_own => "it is a file with several hard links",
        FileType::RegularFile => "it is a file of another user",
        FileType::Symlink => "it is a symbolic link",
        FileType::Fifo => "it is a pipe",
        FileType::Directory => "it is a directory",
        _ => "it is not a regular file",
    };
    let words = format!("{words}, and a ticket is never written into it; remove it, or name another file");
    Err(Problem::new(Class::Refused, WRITE, path, words))
}

fn fill(mut file: &File, word: &str) -> Result<(), Errno> {
    // Whatever the umask takes away or the folder hands down.
    fs::fchmod(file, OWNER_ALONE)?;
    let written = writeln!(file, "{word}").and_then(|()| file.sync_all());
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Asks on the terminal, without showing what is typed.
fn asked() -> Result<String, String> {
    hidden_word("Ticket: ").map_err(|why| match why {
        NoAnswer::NoTerminal => {
            "a ticket is needed: set PUMP_TICKET, or name a file with --ticket-file".into()
        }
        NoAnswer::Failed(errno) => format!("the ticket on the terminal: {}", io::Error::from(errno)),
    })
}
