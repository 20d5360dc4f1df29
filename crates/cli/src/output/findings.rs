//! Findings of `pump doctor`, from facts about a host or a path: what is good, what to change on which side, and the
//! command. Of this host and a folder here; of the path `path`, of the two hosts at its ends `network` and `buffers`.
//!
//! Must not know: how facts are found, how findings are shown.

mod buffers;
mod calls;
mod messages;
mod network;
mod path;

use datapump::units::bytes_words;
use datapump_engine::os::linux::KernelCall;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::path_words::path_words;
use crate::run::inspection::{EngineState, FolderState, Inspection};

pub use calls::CallState;
pub use path::path_findings;

/// Slots and rings of usual jobs fit in this.
const LOCKED_MEMORY_MIN_BYTES: u64 = 8 << 20;
/// Two files and a ring for each lane, with room for trees.
const OPEN_FILES_MIN: u64 = 1024;

/// What a finding is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingSide {
    /// This host.
    #[default]
    Local,
    /// The other host.
    Remote,
    /// The path between the two.
    Path,
}

/// One finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was looked at.
    pub name: String,
    /// Nothing needs to be changed.
    pub good: bool,
    /// What was found.
    pub value: String,
    /// Why to change it.
    pub advice: Option<String>,
    /// How to change it.
    pub command: Option<String>,
    /// What it is about: this host, the other one, or the path between them.
    pub side: FindingSide,
    /// The host to run the command on, as it is called here; none of a path.
    pub host: Option<String>,
    /// System calls that a sandbox may refuse, each with what is used where it does. Of the finding `system calls` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallState>,
}

impl Finding {
    fn good(name: &str, value: impl Into<String>) -> Finding {
        Finding { name: name.into(), good: true, value: value.into(), ..Finding::default() }
    }

    fn change(name: &str, value: impl Into<String>, advice: &str, command: &str) -> Finding {
        let command = (!command.is_empty()).then(|| command.to_owned());
        let (name, value) = (name.into(), value.into());
        Finding { name, good: false, value, advice: Some(advice.into()), command, ..Finding::default() }
    }

    /// This finding, of one side.
    fn on_side(self, side: FindingSide, host: Option<&str>) -> Finding {
        Finding { side, host: host.map(str::to_owned), ..self }
    }
}

/// What this process may use of its host.
fn process_findings(facts: &Inspection) -> Vec<Finding> {
    let mut found: Vec<Finding> = facts.engines.iter().map(|it| engine(it, facts)).collect();
    found.push(locked_memory(facts.locked_memory_bytes));
    found.push(open_files(facts.open_files));
    found.push(calls::system_calls(&facts.refused_calls));
    found
}

/// All findings; those about the folder only if it could be looked at.
pub fn findings(facts: &Inspection, folder: Option<&FolderState>) -> Vec<Finding> {
    let mut found = process_findings(facts);
    found.extend(facts.governor.as_deref().map(governor));
    if let Some(folder) = folder {
        found.extend([file_system(folder), room(folder), discard(folder)]);
        match &folder.unwritable {
            None => found.extend([direct(folder, facts.refuses(KernelCall::Statx)), reflink(folder)]),
            Some(why) => found.push(unwritable(folder, why)),
        }
    }
    found.into_iter().map(|finding| finding.on_side(FindingSide::Local, Some(&facts.host))).collect()
}

fn engine(engine: &EngineState, facts: &Inspection) -> Finding {
    let name = format!("engine {}", engine.name);
    match &engine.refused {
        None => Finding::good(&name, "works"),
        Some(why) if engine.name == "uring" => {
            let (by, command) = forbids_io_uring(facts);
            let advice = format!("copies use the threads engine, which costs more CPU{by}");
            Finding::change(&name, format!("refused: {why}"), &advice, command)
        }
        Some(why) => Finding::change(
            &name,
            format!("refused: {why}"),
            "copies use the inline engine, one request at a time; allow more processes",
            "ulimit -u unlimited",
        ),
    }
}

/// The setting or profile that forbids io_uring, and the command that changes that.
fn forbids_io_uring(facts: &Inspection) -> (&'static str, &'static str) {
    const CALLS: [KernelCall; 3] =
        [KernelCall::IoUringSetup, KernelCall::IoUringEnter, KernelCall::IoUringRegister];
    if facts.io_uring_disabled != 0 {
        ("; a setting of the kernel forbids io_uring", "sudo sysctl kernel.io_uring_disabled=0")
    } else if CALLS.into_iter().any(|call| facts.refuses(call)) {
        (
            "; a seccomp profile forbids io_uring, as those of containers and SystemCallFilter= of systemd do",
            calls::ALLOWED_BY,
        )
    } else {
        ("", "")
    }
}

fn limit_words(limit: Option<u64>, words: impl Fn(u64) -> String) -> String {
    limit.map_or("no limit".into(), words)
}

fn locked_memory(limit: Option<u64>) -> Finding {
    let value = limit_words(limit, bytes_words);
    match limit {
        Some(bytes) if bytes < LOCKED_MEMORY_MIN_BYTES => Finding::change(
            "locked memory",
            value,
            "rings of older kernels count against this limit, and without room for them the threads engine is used",
            "ulimit -l 65536   # for good: 'youruser - memlock 65536' in /etc/security/limits.conf",
        ),
        _ => Finding::good("locked memory", value),
    }
}

fn open_files(limit: Option<u64>) -> Finding {
    let value = limit_words(limit, |count| count.to_string());
    match limit {
        Some(count) if count < OPEN_FILES_MIN => {
            Finding::change("open files", value, "many lanes or files at once need more", "ulimit -n 65536")
        }
        _ => Finding::good("open files", value),
    }
}

fn governor(governor: &str) -> Finding {
    match governor {
        "powersave" | "conservative" => Finding::change(
            "CPU governor",
            governor,
            "the CPU may run below its full speed while it waits for devices",
            "sudo cpupower frequency-set -g performance",
        ),
        _ => Finding::good("CPU governor", governor),
    }
}

fn file_system(folder: &FolderState) -> Finding {
    let value = format!("{} at {}", folder.file_system, path_words(&folder.mount_point));
    match folder.file_system.as_str() {
        // Each folder is on a mount.
        "" => Finding::change(
            "file system",
            "not known: /proc is not mounted",
            "what is mounted is shown there alone, and extended attributes of pipes, devices and links in folders \
             where others write can be set through it alone",
            "mount -t proc proc /proc",
        ),
        "tmpfs" | "ramfs" => Finding::change(
            "file system",
            value,
            "this is memory: nothing written here survives a restart, and its speed tells nothing of disks",
            "",
        ),
        "overlay" => Finding::change(
            "file system",
            value,
            "a container's layer: slower than a volume, and the first write to a file copies all of it",
            "docker run -v /host/folder:/data …",
        ),
        _ => Finding::good("file system", value),
    }
}

fn room(folder: &FolderState) -> Finding {
    let (free, total) = (folder.free_bytes, folder.total_bytes);
    let value = format!("{} free of {}", bytes_words(free), bytes_words(total));
    // Most file systems slow down when nearly full, as they find only small free ranges.
    if free < total / 20 {
        Finding::change(
            "room",
            value,
            "less than 5 % is free, where file systems find only scattered blocks",
            "du -xh --max-depth=2 . | sort -h | tail",
        )
    } else {
        Finding::good("room", value)
    }
}

fn unwritable(folder: &FolderState, why: &str) -> Finding {
    let command = format!("ls -ld '{}'; findmnt -T '{0}'", path_words(&folder.path));
    Finding::change(
        "folder",
        format!("no file can be made here: {why}"),
        "choose a folder that you may write",
        &command,
    )
}

fn direct(folder: &FolderState, refuses_statx: bool) -> Finding {
    match folder.direct_alignment_bytes {
        None if refuses_statx => Finding::good("direct I/O", "not known: statx is refused; copies try it"),
        Some((memory, offset)) => {
            Finding::good("direct I/O", format!("aligned to {offset} bytes (memory to {memory})"))
        }
        None => Finding::change(
            "direct I/O",
            "not possible, or not told by this kernel",
            "every byte is copied through the page cache, which costs CPU; ext4, xfs and btrfs on a device can do it",
            "",
        ),
    }
}

fn reflink(folder: &FolderState) -> Finding {
    match &folder.reflink_refused {
        None => Finding::good("reflink", "works: copies within this file system share their blocks"),
        Some(why) => Finding::good("reflink", format!("not here: {why}; xfs and btrfs can share blocks")),
    }
}

fn discard(folder: &FolderState) -> Finding {
    if !folder.discards_online {
        return Finding::good("online discard", "off");
    }
    let point = path_words(&folder.mount_point);
    Finding::change(
        "online discard",
        "on (mount option discard)",
        "after files are removed the device is busy with discards for seconds and copies are slower meanwhile; a \
         weekly fstrim does the same without that",
        &format!("sudo mount -o remount,nodiscard '{point}' && sudo systemctl enable --now fstrim.timer"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uring(refused: Option<&str>) -> EngineState {
        EngineState { name: "uring", refused: refused.map(str::to_owned) }
    }

    #[test]
    fn what_forbids_io_uring_has_the_command_that_allows_it() {
        for (io_uring_disabled, refused, command) in [
            (2, KernelCall::IoUringSetup, Some("sysctl")),
            (0, KernelCall::IoUringEnter, Some("seccomp=")),
            (0, KernelCall::Statx, None),
        ] {
            let refused_calls = vec![(refused, "no".to_owned())];
            let facts = Inspection { io_uring_disabled, refused_calls, ..Inspection::default() };
            let found = engine(&uring(Some("EPERM")), &facts).command;
            let is_right =
                command.map_or(found.is_none(), |part| found.clone().is_some_and(|it| it.contains(part)));
            assert!(is_right, "{command:?}: {found:?}");
        }
    }

    #[test]
    fn what_is_wrong_comes_with_advice() {
        for (finding, good, part) in [
            (engine(&uring(None), &Inspection::default()), true, "works"),
            (engine(&uring(Some("EPERM")), &Inspection::default()), false, "EPERM"),
            (locked_memory(Some(0)), false, "0 B"),
            (locked_memory(None), true, "no limit"),
            (open_files(Some(64)), false, "64"),
            (open_files(Some(1 << 20)), true, "1048576"),
            (governor("powersave"), false, "powersave"),
            (governor("performance"), true, "performance"),
        ] {
            assert_eq!(finding.good, good, "{finding:?}");
            assert!(finding.value.contains(part), "{finding:?}");
            assert_eq!(finding.advice.is_none(), good, "{finding:?}");
        }
    }
}
