//! What was found before, for a machine, two ends, what is copied, and the memory allowed: a file of lines in the
//! user's state folder.
//!
//! Others may write into that folder, or a disk may spoil it: whatever stands there, the copy goes on. Must not know:
//! how anything was found.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use datapump::{Host, Options, Place, Remote};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{Point, Tuned};
use crate::advise::explain::Case;
use crate::probe::host;
use crate::session::quiet::{QuietDisk, nearest_there};

/// Version of a line.
const VERSION: u32 = 1;
/// A file that is larger was not written here: a line has 400 bytes.
const BYTES_MAX: u64 = 16 << 20;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct MemoryLine {
    v: u32,
    machine: String,
    source: String,
    target: String,
    memory_bytes: u64,
    #[serde(flatten)]
    remembered: Remembered,
}

/// As much of a line as any version has.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

/// What was found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub(super) point: Point,
    pub(super) start: Point,
    pub(super) gain: Option<f64>,
    pub(super) time: String,
}

impl Remembered {
    pub(super) fn from_tuned(tuned: &Tuned) -> Remembered {
        let time = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string();
        Remembered { point: tuned.chosen, start: tuned.start, gain: tuned.gain, time }
    }

    pub(super) fn tuned(self) -> Tuned {
        Tuned {
            chosen: self.point,
            start: self.start,
            tried: Vec::new(),
            gain: self.gain,
            spent_ns: 0,
            written_bytes: 0,
            remembered: Some(self.time),
        }
    }
}

/// Where a copy's tuning is kept.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    path: PathBuf,
    machine: String,
    source: String,
    target: String,
    memory_bytes: u64,
}

impl Memory {
    /// None where the user has no folder for that, or an end has no name that stays.
    pub(super) fn for_case(case: &Case, memory_bytes: u64) -> Option<Memory> {
        let [source] = &case.sources[..] else { return None };
        let path = crate::state_folder(&|name| std::env::var_os(name))?.join("tuned.jsonl");
        let (source, target) = (name_of(source)?, name_of(&case.target)?);
        let machine = host::HostFacts::read(Path::new("/"));
        let machine = format!("{}, {} x {}", machine.name, machine.cpus, machine.cpu_model);
        Some(Memory { path, machine, source, target, memory_bytes })
    }

    /// The last that was found. A damaged line is left out; all of them are told in one line.
    ///
    /// Errors: that nothing can be remembered there, in words.
    pub(super) fn recall(&self, tell: &dyn Fn(&str)) -> Result<Option<Remembered>, String> {
        let bytes = self.read().map_err(|error| self.forgetful(&error))?;
        let (mut found, mut damaged) = (None, Vec::new());
        for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
            match sound(line) {
                Ok(line) => found = line.filter(|line| self.is_it(line)).or(found),
                Err(Damaged) => damaged.push(number),
            }
        }
        if let [first, others @ ..] = &damaged[..] {
            let more = match others.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            tell(&format!("{}, line {first}{more}: damaged, and left out", self.shown()));
        }
        Ok(found.map(|line| line.remembered))
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.open(OpenOptions::new().read(true)) {
            Ok(file) => file.take(BYTES_MAX).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(bytes)
    }

    /// Opens what can be such a file: a pipe would be waited for, a device never ends.
    fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        let file = options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(&self.path)?;
        let meta = file.metadata()?;
        if meta.is_file() && meta.len() <= BYTES_MAX {
            Ok(file)
        } else {
            Err(io::Error::other("is no file, or larger than 16 MiB"))
        }
    }

    fn is_it(&self, line: &MemoryLine) -> bool {
        let key = (&line.machine, &line.source, &line.target, line.memory_bytes);
        key == (&self.machine, &self.source, &self.target, self.memory_bytes)
    }

    /// Errors: that it could not be written, in words. The copy goes on.
    pub(super) fn keep(&self, remembered: &Remembered) -> Result<(), String> {
        let line = MemoryLine {
            v: VERSION,
            machine: self.machine.clone(),
            source: self.source.clone(),
            target: self.target.clone(),
            memory_bytes: self.memory_bytes,
            remembered: remembered.clone(),
        };
        self.append(&line).map_err(|error| self.forgetful(&error))
    }

    fn append(&self, line: &MemoryLine) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let mut file = self.open(OpenOptions::new().read(true).append(true).create(true))?;
        let text = serde_json::to_string(line).map_err(io::Error::other)?;
        let begin = if is_torn(&file)? { "\n" } else { "" };
        file.write_all(format!("{begin}{text}\n").as_bytes())
    }

    fn forgetful(&self, error: &io::Error) -> String {
        format!("what is found is not remembered: {}: {error}", self.shown())
    }

    fn shown(&self) -> String {
        datapump::shown(self.path.as_os_str().as_encoded_bytes())
    }
}

/// A line that says nothing, or what nobody may use.
#[derive(Debug)]
struct Damaged;

/// What a line says; nothing if it is empty, or of a version to come.
fn sound(line: &[u8]) -> Result<Option<MemoryLine>, Damaged> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let Versioned { v } = serde_json::from_slice(line).map_err(|_| Damaged)?;
    if v != VERSION {
        return Ok(None);
    }
    let line: MemoryLine = serde_json::from_slice(line).map_err(|_| Damaged)?;
    let point = line.remembered.point;
    let is_usable = point.options(&Options::default()).check().is_ok();
    if is_usable && point.memory_bytes() <= line.memory_bytes { Ok(Some(line)) } else { Err(Damaged) }
}

/// Whether the last line has no end: it must not swallow the next.
fn is_torn(file: &File) -> io::Result<bool> {
    let (bytes, mut last) = (file.metadata()?.len(), [b'\n']);
    if bytes > 0 {
        file.read_exact_at(&mut last, bytes - 1)?;
    }
    Ok(last != [b'\n'])
}

/// The device below a path, or the host; null is null anywhere.
fn name_of(place: &Place) -> Option<String> {
    match place {
        Place::Path(path) => QuietDisk::containing(nearest_there(path)).ok()?.name(),
        Place::Remote(Remote { host: Host::Served(address), .. }) => Some(address.clone()),
        Place::Remote(Remote { host: host @ Host::Ssh(_), .. }) => Some(host.to_string()),
        Place::Null { .. } => Some("null:".into()),
        _ => None,
    }
}

/// Where this program keeps what it found: `$PUMP_STATE_DIR`, `$XDG_STATE_HOME/datapump` or `~/.local/state/datapump`
/// (XDG Base Directory Specification).
pub fn state_folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PUMP_STATE_DIR")
        // A relative one is invalid, and ignored: the specification.
        .or_else(|| {
            set("XDG_STATE_HOME").filter(|folder| folder.is_absolute()).map(|folder| folder.join("datapump"))
        })
        .or_else(|| set("HOME").map(|home| home.join(".local/state/datapump")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_follows_the_environment() {
        let all = [("PUMP_STATE_DIR", "/a"), ("XDG_STATE_HOME", "/b"), ("HOME", "/c")];
        for (from, folder) in
            [(0, Some("/a")), (1, Some("/b/datapump")), (2, Some("/c/.local/state/datapump")), (3, None)]
        {
            let variable = |name: &str| {
                all[from..].iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            };
            assert_eq!(state_folder(&variable), folder.map(PathBuf::from), "{from}");
        }
        let relative = |name: &str| (name == "XDG_STATE_HOME").then(|| OsString::from("rel"));
        assert_eq!(state_folder(&relative), None);
    }

    fn memory(path: &Path, target: &str, memory_bytes: u64) -> Memory {
        let [machine, source, target] = ["m", "s", target].map(str::to_string);
        Memory { path: path.into(), machine, source, target, memory_bytes }
    }

    fn found(depth: u32) -> Remembered {
        let point = |depth| Point { request_bytes: 1 << 20, source_depth: depth, sink_depth: 2, lanes: 1 };
        Remembered { point: point(depth), start: point(1), gain: Some(1.5), time: "now".into() }
    }

    /// The recalled result, and the lines told of it.
    fn recalled(memory: &Memory) -> (Result<Option<Remembered>, String>, Vec<String>) {
        let told = std::cell::RefCell::new(Vec::new());
        let found = memory.recall(&|line| told.borrow_mut().push(line.to_string()));
        (found, told.into_inner())
    }

    const MEMORY: u64 = 64 << 20;

    #[test]
    fn what_was_found_is_remembered_for_its_ends_and_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/tuned.jsonl");
        let known = memory(&path, "t", MEMORY);
        assert_eq!(recalled(&known), (Ok(None), vec![]), "no file");
        known.keep(&found(2)).expect("room");
        known.keep(&found(4)).expect("room");
        for (what, target, memory_bytes, expected) in [
            ("the last", "t", MEMORY, Some(found(4))),
            ("less memory", "t", MEMORY / 2, None),
            ("another target", "u", MEMORY, None),
        ] {
            let memory = memory(&path, target, memory_bytes);
            assert_eq!(recalled(&memory), (Ok(expected), vec![]), "{what}");
        }
    }

    #[test]
    fn what_is_damaged_is_left_out_and_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tuned.jsonl");
        let known = memory(&path, "t", MEMORY);
        known.keep(&found(4)).expect("room");
        let good = std::fs::read_to_string(&path).expect("written");
        let with = |from: &str, to: &str| good.replacen(from, to, 1);
        for (what, line) in [
            ("no lanes", with("\"lanes\":1", "\"lanes\":0")),
            ("endless lanes", with("\"lanes\":1", "\"lanes\":4294967295")),
            ("no depth", with("\"source_depth\":4", "\"source_depth\":0")),
            ("an odd request", with("\"request_bytes\":1048576", "\"request_bytes\":1000")),
            ("too much memory", with("\"source_depth\":4", "\"source_depth\":4096")),
            ("torn", "{\"v\":1,\"mach".into()),
            ("no words", "\u{1b}[31m\n".into()),
        ] {
            std::fs::write(&path, format!("{good}{line}")).expect("room");
            let (got, told) = recalled(&known);
            assert_eq!(got, Ok(Some(found(4))), "{what}");
            assert!(told.len() == 1 && told[0].contains("tuned.jsonl, line 2: damaged"), "{what}: {told:?}");
        }
        // A record written behind a torn line is a line of its own, and what a later version writes is no damage.
        std::fs::write(&path, format!("{{\"v\":2}}\n{good}{{\"v\":1,\"mach")).expect("room");
        known.keep(&found(8)).expect("room");
        let (got, told) = recalled(&known);
        assert_eq!(got, Ok(Some(found(8))));
        assert!(told.len() == 1 && told[0].contains("line 3:"), "{told:?}");
    }

    #[test]
    fn only_a_file_of_some_size_is_read_and_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        std::fs::create_dir(at("folder")).expect("room");
        std::os::unix::fs::symlink("/dev/zero", at("zeros")).expect("room");
        let large = File::create(at("large")).expect("room");
        large.set_len(BYTES_MAX + 1).expect("room");
        for name in ["pipe", "folder", "zeros", "large"] {
            let known = memory(&at(name), "t", MEMORY);
            let (got, told) = recalled(&known);
            assert!(got.as_ref().is_err_and(|why| why.contains(name)), "{name}: {got:?}");
            assert!(told.is_empty(), "{name}: told once, by who asked: {told:?}");
            assert!(known.keep(&found(2)).is_err(), "{name}");
        }
        assert_eq!(large.metadata().expect("open").len(), BYTES_MAX + 1);
    }
}
