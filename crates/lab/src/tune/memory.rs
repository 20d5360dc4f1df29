//! What was found before, for a machine, two ends and the memory allowed: a file of lines in the user's state folder.
//!
//! Must not know: how it was found.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use datapump::{Host, Place, Remote};
use serde::{Deserialize, Serialize};

use super::{Point, Tuned};
use crate::explain::Case;
use crate::probe::host;
use crate::quiet::{Disk, nearest_there};

/// Version of a line.
const VERSION: u32 = 1;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    v: u32,
    machine: String,
    source: String,
    target: String,
    memory_bytes: u64,
    #[serde(flatten)]
    remembered: Remembered,
}

/// What was found, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub(super) point: Point,
    pub(super) start: Point,
    pub(super) gain: f64,
    pub(super) time: String,
}

impl Remembered {
    pub(super) fn of(tuned: &Tuned) -> Remembered {
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
    pub(super) fn of(case: &Case, memory_bytes: u64) -> Option<Memory> {
        let [source] = &case.sources[..] else { return None };
        let path = crate::state_folder(&|name| std::env::var_os(name))?.join("tuned.jsonl");
        let (source, target) = (name_of(source)?, name_of(&case.target)?);
        let machine = host::Host::of(Path::new("/"));
        let machine = format!("{}, {} x {}", machine.name, machine.cpus, machine.cpu_model);
        Some(Memory { path, machine, source, target, memory_bytes })
    }

    /// The last that was found; a line that cannot be read is no reason to fail.
    pub(super) fn recall(&self) -> Option<Remembered> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let found = lines.rfind(|line| self.is_it(line))?;
        Some(found.remembered)
    }

    fn is_it(&self, line: &Line) -> bool {
        let key = (&line.machine, &line.source, &line.target, line.memory_bytes);
        line.v == VERSION && key == (&self.machine, &self.source, &self.target, self.memory_bytes)
    }

    /// Errors: that it could not be written, in words. The copy goes on.
    pub(super) fn keep(&self, remembered: &Remembered) -> Result<(), String> {
        let line = Line {
            v: VERSION,
            machine: self.machine.clone(),
            source: self.source.clone(),
            target: self.target.clone(),
            memory_bytes: self.memory_bytes,
            remembered: remembered.clone(),
        };
        let append = || -> std::io::Result<()> {
            self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            let text = serde_json::to_string(&line).map_err(std::io::Error::other)? + "\n";
            file.write_all(text.as_bytes())
        };
        append()
            .map_err(|error| format!("what was found is not remembered: {}: {error}", self.path.display()))
    }
}

/// The device below a path, or the host; null is null anywhere.
fn name_of(place: &Place) -> Option<String> {
    match place {
        Place::Path(path) => Disk::of(nearest_there(path)).ok()?.name(),
        Place::Remote(Remote { host: Host::Served(host) | Host::Ssh(host), .. }) => Some(host.clone()),
        Place::Null { .. } => Some("null:".into()),
        Place::Remote(_) | Place::Stream => None,
    }
}

/// Where this program keeps what it found: `$PUMP_STATE_DIR`, `$XDG_STATE_HOME/datapump` or `~/.local/state/datapump`
/// (XDG Base Directory Specification).
pub fn state_folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PUMP_STATE_DIR")
        .or_else(|| set("XDG_STATE_HOME").map(|folder| folder.join("datapump")))
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
    }

    #[test]
    fn what_was_found_is_remembered_for_its_ends_and_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/tuned.jsonl");
        let memory = |target: &str, memory_bytes| Memory {
            path: path.clone(),
            machine: "m".into(),
            source: "s".into(),
            target: target.into(),
            memory_bytes,
        };
        let point = |depth| Point { request_bytes: 1 << 20, source_depth: depth, sink_depth: 2, lanes: 1 };
        let found =
            |depth| Remembered { point: point(depth), start: point(1), gain: 1.5, time: "now".into() };
        assert_eq!(memory("t", 1).recall(), None);
        memory("t", 1).keep(&found(2)).expect("room");
        memory("t", 1).keep(&found(4)).expect("room");
        std::fs::write(&path, std::fs::read_to_string(&path).expect("written") + "torn {").expect("room");
        assert_eq!(memory("t", 1).recall(), Some(found(4)), "the last");
        assert_eq!(memory("t", 2).recall(), None, "less memory");
        assert_eq!(memory("u", 1).recall(), None, "another target");
    }
}
