//! Finds the sockets of a process and its children, and where the kernel is asked about them.
//!
//! Must not know: what is done with them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, bail};

use super::sock_diag::SockDiag;

/// Processes that are looked at; a tree that is larger is no copy.
pub const PROCESSES_MAX: usize = 128;

/// Whether there is such a process.
pub fn exists(pid: u32) -> bool {
    fs::metadata(format!("/proc/{pid}")).is_ok()
}

/// There is no such process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nobody {
    /// The number that none has.
    pub number: u32,
    /// What else it is not, with what goes before it.
    pub nor: &'static str,
}

impl fmt::Display for Nobody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no process has the number {}{}", self.number, self.nor)
    }
}

impl std::error::Error for Nobody {}

/// Asks about the connections of the network namespace that the process is in.
pub fn diag_of(pid: u32) -> anyhow::Result<SockDiag> {
    let path = format!("/proc/{pid}/ns/net");
    if !exists(pid) {
        bail!(Nobody { number: pid, nor: "" });
    }
    let own = fs::metadata("/proc/self/ns/net").map(|it| it.ino()).unwrap_or(0);
    match fs::metadata(&path) {
        Ok(theirs) if theirs.ino() != own => {
            let namespace = File::open(&path).with_context(|| path.clone())?;
            let asked = SockDiag::open_in(&namespace);
            asked.with_context(|| format!("{path}: the process is in another network namespace; run as root"))
        }
        _ => SockDiag::open().context("netlink"),
    }
}

/// A process and all that came of it, the process first.
pub fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() && found.len() < PROCESSES_MAX {
        for child in children(found[at]) {
            if !found.contains(&child) && found.len() < PROCESSES_MAX {
                found.push(child);
            }
        }
        at += 1;
    }
    found
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The inodes of all sockets of a process and of what it started.
pub fn of_family(pid: u32) -> BTreeSet<u32> {
    family(pid).into_iter().flat_map(of_process).collect()
}

fn of_process(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| socket_inode(link.to_str()?)).collect()
}

/// The number in `socket:[NUMBER]`.
pub fn socket_inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn sockets_are_found_by_their_open_files() {
        assert_eq!(socket_inode("socket:[77]"), Some(77));
        assert_eq!(socket_inode("pipe:[77]"), None);
        let before = of_family(std::process::id());
        let _listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        assert!(of_family(std::process::id()).len() > before.len());
    }

    #[test]
    fn a_family_is_what_a_process_started() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep is installed");
        let found = family(std::process::id());
        assert!(found.contains(&child.id()) && found[0] == std::process::id(), "{found:?}");
        child.kill().expect("ours");
        child.wait().expect("killed");
    }
}
