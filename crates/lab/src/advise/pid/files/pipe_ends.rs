//! The processes at the other ends of pipes.
//!
//! Must not know: what is made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{Descriptor, DescriptorKind, Descriptors, STANDARD_ERROR};
use crate::advise::pid::parse;
use crate::advise::pid::watched::{Role, WatchedFile};

/// Limit of the processes looked at.
const PROCESSES_MAX: usize = 4096;

/// For each pipe, by its name and by whether it is read, the process at the other end: `yes (1234)`.
pub type PipeEnds = BTreeMap<(String, bool), String>;

/// Looks for the other ends of the pipes of these processes, but for standard error, which moves no data.
pub fn pipe_ends(watched: &BTreeMap<u32, Descriptors>) -> PipeEnds {
    let own = watched.values().flatten().filter(|(number, _)| **number != STANDARD_ERROR);
    let pipes: BTreeSet<(String, bool)> = own.filter_map(|(_, descriptor)| pipe(descriptor)).collect();
    if pipes.is_empty() {
        return PipeEnds::new();
    }
    let mut ends = PipeEnds::new();
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(pid);
    for pid in processes.filter(|pid| !watched.contains_key(pid)).take(PROCESSES_MAX) {
        // Nothing is known of a process that ended meanwhile or belongs to another user.
        for (name, reads) in of_process(pid, &pipes) {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
            if let Some(stat) = stat.as_deref().and_then(parse::stat) {
                let process = format!("{} ({pid})", datapump::shown(stat.name.as_bytes()));
                ends.entry((name, !reads)).or_insert(process);
            }
        }
    }
    ends
}

fn pipe(descriptor: &Descriptor) -> Option<(String, bool)> {
    let is_pipe = matches!(descriptor.kind, DescriptorKind::Pipe | DescriptorKind::Fifo);
    (is_pipe && descriptor.reads != descriptor.writes).then(|| (descriptor.link.clone(), descriptor.reads))
}

/// The other ends that a process holds, each with whether it reads there.
fn of_process(pid: u32, pipes: &BTreeSet<(String, bool)>) -> Vec<(String, bool)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let end = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        let is_known = |reads: bool| pipes.contains(&(link.clone(), reads));
        if !is_known(true) && !is_known(false) {
            return None;
        }
        let number = entry.file_name().to_string_lossy().into_owned();
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
        let (_, reads, writes) = parse::fdinfo(&info)?;
        (reads != writes && is_known(!reads)).then_some((link, reads))
    };
    entries.filter_map(end).collect()
}

/// Sets the process at the other end of each pipe in the list.
pub fn name_ends(files: &mut [WatchedFile], ends: &PipeEnds) {
    for ((link, reads), process) in ends {
        let role = if *reads { Role::Source } else { Role::Sink };
        let path = datapump::shown(link.as_bytes());
        for file in files.iter_mut().filter(|file| file.role == role && file.path == path) {
            file.other_process = Some(process.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::pid::files::descriptors;
    use std::process::{Command, Stdio};

    #[test]
    fn both_ends_of_a_pipe_are_found() {
        let mut reader =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat runs");
        let own = std::process::id();
        let named = |pid: u32| {
            let held = BTreeMap::from([(pid, descriptors(pid).expect("it runs"))]);
            pipe_ends(&held)
        };
        let of_reader: Vec<String> = named(reader.id()).into_values().collect();
        assert!(of_reader.iter().any(|process| process.ends_with(&format!("({own})"))), "{of_reader:?}");
        let of_writer = named(own);
        let end = of_writer.iter().find(|(_, process)| process.ends_with(&format!("({})", reader.id())));
        let ((link, reads), process) = end.expect("the reader");
        assert!(!reads && process.starts_with("cat ("), "{process}");
        let path = link.clone();
        let mut files = [Role::Source, Role::Sink].map(|role| WatchedFile {
            path: path.clone(),
            role,
            ..Default::default()
        });
        name_ends(&mut files, &of_writer);
        assert_eq!(files[0].other_process, None);
        assert_eq!(files[1].other_process.as_ref(), Some(process));
        drop(reader.stdin.take());
        let _ = reader.wait();
    }
}
