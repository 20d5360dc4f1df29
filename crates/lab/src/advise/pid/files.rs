//! The open files of a process: what they are, how far they were read or written, on which device they lie.
//!
//! Must not know: threads, what is made of the numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use datapump_files::devices::control_groups::block_device;
use rustix::fs::{major, minor};

use super::parse;
use super::wait::OpenAs;
use super::watched::{Role, WatchedFile};
use crate::probe::sockets::socket_inode;

mod pipe_ends;

pub use pipe_ends::{PipeEnds, name_ends, pipe_ends};

/// Open files of one process that are looked at.
const FILES_MAX: usize = 1024;
const STANDARD_ERROR: u32 = 2;

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorKind {
    /// A file.
    File,
    /// A block device.
    Device,
    /// A pipe with a name.
    Fifo,
    /// A pipe without.
    Pipe,
    /// A socket, of whatever family.
    Socket(u32),
    /// A folder, a terminal, …
    Other,
}

/// A descriptor.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Its name, as the kernel has it.
    pub link: String,
    /// What it is.
    pub kind: DescriptorKind,
    /// It may be read.
    pub reads: bool,
    /// It may be written.
    pub writes: bool,
    /// Where it stands.
    pub position: u64,
    /// Number of its device.
    pub device: Option<String>,
    /// File system and inode, where it is a file.
    pub inode: (u64, u64),
}

impl Descriptor {
    /// Whether the kernel computes what is read there (random(4)).
    pub fn is_random(&self) -> bool {
        self.reads && matches!(&*self.link, "/dev/urandom" | "/dev/random")
    }

    /// For telling what a call on it waits for.
    pub fn open(&self, sockets: &KnownSockets) -> OpenAs {
        match self.kind {
            DescriptorKind::File | DescriptorKind::Device => OpenAs::File,
            DescriptorKind::Fifo | DescriptorKind::Pipe => OpenAs::Pipe,
            DescriptorKind::Socket(inode) if sockets.is_tcp(inode) => OpenAs::Tcp,
            DescriptorKind::Socket(_) => OpenAs::Pipe,
            DescriptorKind::Other => OpenAs::Other,
        }
    }
}

/// Sockets of watched processes, by inode.
#[derive(Debug, Default)]
pub struct KnownSockets {
    /// Connections of TCP.
    pub tcp: BTreeSet<u32>,
    /// Sockets that listen for them.
    pub listening: BTreeSet<u32>,
    /// The other end of those inside this host, where the kernel reports it.
    pub unix_peers: BTreeMap<u32, u32>,
}

impl KnownSockets {
    /// Whether it is a TCP socket: other hosts are at its other end.
    fn is_tcp(&self, inode: u32) -> bool {
        self.tcp.contains(&inode) || self.listening.contains(&inode)
    }
}

/// The descriptors of a process by number.
pub type Descriptors = BTreeMap<u32, Descriptor>;

/// Looks at them.
pub fn descriptors(pid: u32) -> io::Result<Descriptors> {
    let mut found = Descriptors::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten().take(FILES_MAX) {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((number, descriptor)) = number.and_then(|number| Some((number, descriptor(pid, number)?)))
        {
            found.insert(number, descriptor);
        }
    }
    Ok(found)
}

fn descriptor(pid: u32, number: u32) -> Option<Descriptor> {
    let path = format!("/proc/{pid}/fd/{number}");
    let link = fs::read_link(&path).ok()?.to_string_lossy().into_owned();
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    let (position, reads, writes) = parse::fdinfo(&info).unwrap_or((0, true, true));
    let meta = fs::metadata(path).ok();
    let inode = meta.as_ref().map_or((0, 0), |meta| (meta.dev(), meta.ino()));
    let (kind, device) = kind_of(pid, meta, &link);
    Some(Descriptor { link, kind, reads, writes, position, device, inode })
}

fn kind_of(pid: u32, meta: Option<fs::Metadata>, link: &str) -> (DescriptorKind, Option<String>) {
    if let Some(inode) = socket_inode(link) {
        return (DescriptorKind::Socket(inode), None);
    }
    if link.starts_with("pipe:[") {
        return (DescriptorKind::Pipe, None);
    }
    let Some(meta) = meta else { return (DescriptorKind::Other, None) };
    match meta.file_type() {
        kind if kind.is_file() && link.starts_with('/') => {
            (DescriptorKind::File, block_device(&pid.to_string(), meta.dev()))
        }
        kind if kind.is_block_device() => (DescriptorKind::Device, Some(numbered(meta.rdev()))),
        kind if kind.is_fifo() => (DescriptorKind::Fifo, None),
        _ => (DescriptorKind::Other, None),
    }
}

fn numbered(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

/// A file that is followed: where it stood, and how far it came.
#[derive(Clone, Debug)]
struct Followed {
    descriptor: Descriptor,
    moved_bytes: u64,
    /// Which of the opened ones it is.
    opened: usize,
}

/// What descriptors have in common that are of one open file, inherited or made by dup: what it is, and the place
/// where it stands. Looked at one after the other they stand further on each time; those of files that were opened
/// twice do not.
#[derive(Debug)]
struct OpenedOnce {
    like: Descriptor,
    position: u64,
}

impl OpenedOnce {
    fn may_be(&self, descriptor: &Descriptor) -> bool {
        let Descriptor { link, inode, reads, writes, position, .. } = descriptor;
        let like = &self.like;
        (&like.link, like.inode, like.reads, like.writes) == (link, *inode, *reads, *writes)
            && self.position <= *position
    }
}

/// All files that were seen, by process, descriptor and name.
#[derive(Debug, Default)]
pub struct Files {
    followed: BTreeMap<(u32, u32, String), Followed>,
    opened: Vec<OpenedOnce>,
    seen: BTreeSet<u32>,
}

impl Files {
    /// Takes in what a process has open now.
    pub fn note(&mut self, pid: u32, now: &Descriptors) {
        // What a process had open when it was first looked at stood somewhere; what it opens later begins at 0.
        let first_look = self.seen.insert(pid);
        for (number, descriptor) in
            now.iter().filter(|(_, it)| !matches!(it.kind, DescriptorKind::Socket(_) | DescriptorKind::Other))
        {
            let key = (pid, *number, descriptor.link.clone());
            let before = self.followed.get(&key);
            let opened = opened(&mut self.opened, before.map(|it| it.opened), descriptor);
            let moved_bytes = match before {
                Some(Followed { descriptor: before, moved_bytes, .. }) => {
                    moved_bytes + descriptor.position.saturating_sub(before.position)
                }
                None if first_look => 0,
                None => descriptor.position,
            };
            self.followed.insert(key, Followed { descriptor: descriptor.clone(), moved_bytes, opened });
        }
    }

    /// Numbers of the devices that files which moved, or are open, lie on.
    pub fn devices(&self) -> BTreeSet<String> {
        self.followed.values().filter_map(|it| it.descriptor.device.clone()).collect()
    }

    /// The list: those that moved most first, and each once, whoever has inherited it.
    pub fn list(&self, elapsed_ns: u64) -> Vec<WatchedFile> {
        let mut once: BTreeMap<usize, (u32, Followed)> = BTreeMap::new();
        for ((pid, ..), it) in &self.followed {
            let (_, known) = once.entry(it.opened).or_insert_with(|| (*pid, it.clone()));
            known.moved_bytes = known.moved_bytes.max(it.moved_bytes);
        }
        let mut list: Vec<WatchedFile> =
            once.values().map(|(pid, it)| open_file(*pid, it, elapsed_ns)).collect();
        list.sort_by_key(|file| std::cmp::Reverse(file.moved_bytes));
        list.truncate(FILES_MAX);
        list
    }
}

/// Which open file a descriptor is of: the one that it was taken for, if it still may be that, or any other.
fn opened(all: &mut Vec<OpenedOnce>, before: Option<usize>, now: &Descriptor) -> usize {
    let known = before.filter(|&at| all[at].may_be(now)).or_else(|| all.iter().position(|it| it.may_be(now)));
    let at = known.unwrap_or_else(|| {
        all.push(OpenedOnce { like: now.clone(), position: now.position });
        all.len() - 1
    });
    all[at].position = now.position;
    at
}

fn open_file(pid: u32, followed: &Followed, elapsed_ns: u64) -> WatchedFile {
    let Descriptor { link, kind, writes, device, .. } = &followed.descriptor;
    let kind = match kind {
        DescriptorKind::Device => "device",
        DescriptorKind::Fifo => "fifo",
        DescriptorKind::Pipe => "pipe",
        _ => "file",
    };
    WatchedFile {
        pid,
        path: datapump::shown(link.as_bytes()),
        role: if *writes { Role::Sink } else { Role::Source },
        kind,
        device: device.clone(),
        other_process: None,
        moved_bytes: followed.moved_bytes,
        bytes_per_second: followed.moved_bytes as f64 * 1e9 / elapsed_ns.max(1) as f64,
    }
}

/// Whether a pipe, or a socket inside this host, of a process leads out of those that are watched. A process that holds
/// both ends talks to itself: signals are handed on so, and the thread that waits for them waits for no data. Where the
/// kernel reports no other end, a socket may lead to another watched process, as those of rsync do; of a process alone
/// it leads out.
pub fn leads_out(
    pid: u32,
    own: &Descriptor,
    all: &BTreeMap<u32, Descriptors>,
    sockets: &KnownSockets,
) -> bool {
    let held = || all.iter().flat_map(|(other, held)| held.values().map(move |it| (*other == pid, it)));
    let is_other_end = |is_own: bool, it: &Descriptor| {
        if is_own {
            // One that reads and writes is no second end.
            it.reads != own.reads && it.writes != own.writes
        } else {
            it.writes && own.reads || it.reads && own.writes
        }
    };
    match own.kind {
        DescriptorKind::Socket(inode) if sockets.is_tcp(inode) => false,
        DescriptorKind::Socket(inode) => match sockets.unix_peers.get(&inode) {
            Some(&peer) => !held().any(|(_, it)| it.kind == DescriptorKind::Socket(peer)),
            None => all.len() == 1,
        },
        DescriptorKind::Fifo | DescriptorKind::Pipe => {
            !held().any(|(is_own, it)| it.link == own.link && is_other_end(is_own, it))
        }
        _ => false,
    }
}

/// Whether a process has pipes that lead out: to be read, to be written. Standard error is none: nobody waits for it
/// who moves data.
pub fn outer_pipes(pid: u32, all: &BTreeMap<u32, Descriptors>, sockets: &KnownSockets) -> (bool, bool) {
    let Some(own) = all.get(&pid) else { return (false, false) };
    let data = || own.iter().filter(|(number, _)| **number != STANDARD_ERROR).map(|(_, it)| it);
    let outer = |fits: fn(&Descriptor) -> bool| data().any(|it| fits(it) && leads_out(pid, it, all, sockets));
    (outer(|it| it.reads), outer(|it| it.writes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn open_files_are_followed_by_their_position() {
        let pid = std::process::id();
        let mut file = tempfile::NamedTempFile::new().expect("room");
        file.write_all(&[1; 5000]).expect("room");
        file.rewind().expect("a file");
        let name = file.path().display().to_string();
        let mut files = Files::default();
        let looked = |files: &mut Files| files.note(pid, &descriptors(pid).expect("our own"));
        looked(&mut files);
        file.read_exact(&mut [0; 3000]).expect("there are so many");
        looked(&mut files);
        let mut later = std::fs::File::open(file.path()).expect("it is there");
        later.read_exact(&mut [0; 100]).expect("there are so many");
        looked(&mut files);
        let list = files.list(2_000_000_000);
        let own: Vec<_> =
            list.iter().filter(|it| it.path == name).map(|it| (it.moved_bytes, it.role)).collect();
        assert_eq!(own, [(3000, Role::Sink), (100, Role::Source)]);
        assert_eq!(list.iter().find(|it| it.path == name).map(|it| it.bytes_per_second), Some(1500.0));
    }

    #[test]
    fn an_open_file_is_listed_once_whoever_has_it() {
        let pid = std::process::id();
        let file = tempfile::NamedTempFile::new().expect("room");
        std::fs::write(file.path(), [1; 9000]).expect("room");
        let open = || std::fs::File::open(file.path()).expect("it is there");
        let (mut inherited, mut own) = (open(), open());
        let mut same = inherited.try_clone().expect("a descriptor");
        let mut files = Files::default();
        for (one, other, apart) in [(0, 0, 0), (1000, 900, 10), (0, 700, 20), (500, 0, 30)] {
            inherited.read_exact(&mut vec![0; one]).expect("there are so many");
            same.read_exact(&mut vec![0; other]).expect("there are so many");
            own.read_exact(&mut vec![0; apart]).expect("there are so many");
            files.note(pid, &descriptors(pid).expect("our own"));
        }
        let name = file.path().display().to_string();
        let moved = |it: &WatchedFile| (it.path == name && it.role == Role::Source).then_some(it.moved_bytes);
        let list: Vec<u64> = files.list(1_000_000_000).iter().filter_map(moved).collect();
        assert_eq!(list, [3100, 60]);
    }

    #[test]
    fn pipes_between_watched_processes_lead_nowhere_else() {
        let pipe = |reads: bool| Descriptor {
            link: "pipe:[1]".into(),
            kind: DescriptorKind::Pipe,
            reads,
            writes: !reads,
            position: 0,
            device: None,
            inode: (0, 0),
        };
        let of = |held: Vec<Descriptor>| -> Descriptors { (0..).zip(held).collect() };
        let other = |it: Descriptor| Descriptor { link: "pipe:[2]".into(), ..it };
        for (one, two, expected) in [
            (vec![pipe(true)], vec![], (true, false)),
            (vec![pipe(false)], vec![], (false, true)),
            (vec![pipe(true)], vec![pipe(false)], (false, false)),
            (vec![pipe(true)], vec![other(pipe(false))], (true, false)),
            (vec![pipe(true), pipe(false)], vec![], (false, false)),
            (vec![Descriptor { writes: true, ..pipe(true) }], vec![], (true, true)),
            (vec![pipe(true), other(pipe(false))], vec![pipe(false)], (false, true)),
        ] {
            let all = BTreeMap::from([(1, of(one)), (2, of(two))]);
            assert_eq!(outer_pipes(1, &all, &KnownSockets::default()), expected, "{all:?}");
        }
    }

    #[test]
    fn sockets_whose_other_end_is_watched_lead_nowhere_else() {
        let socket = |inode: u32| Descriptor {
            link: format!("socket:[{inode}]"),
            kind: DescriptorKind::Socket(inode),
            reads: true,
            writes: true,
            position: 0,
            device: None,
            inode: (0, 0),
        };
        let of =
            |held: &[u32]| -> Descriptors { (0..).zip(held.iter().map(|inode| socket(*inode))).collect() };
        let unix_peers = BTreeMap::from([(1, 2), (2, 1)]);
        let sockets = KnownSockets { tcp: BTreeSet::from([9]), listening: BTreeSet::from([8]), unix_peers };
        for (one, two, expected) in [
            (&[1, 2][..], None, false),
            (&[1], Some(&[2][..]), false),
            (&[1], Some(&[3]), true),
            (&[1], None, true),
            (&[9], None, false),
            (&[8], None, false),
            (&[3], None, true),
            (&[3], Some(&[4]), false),
        ] {
            let held = [Some(one), two].into_iter().flatten();
            let all: BTreeMap<u32, Descriptors> = (1..).zip(held.map(of)).collect();
            assert_eq!(outer_pipes(1, &all, &sockets), (expected, expected), "{one:?} {two:?}");
        }
    }
}
