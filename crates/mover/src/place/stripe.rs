//! A stripe as a place: its descriptor, and what its members are before anything of it is read or written.
//!
//! The descriptor names a chunk's size and the members in order; relative ones lie beside it. It is read once. Members
//! are all files or all devices, and each is named once, by whatever path.
//!
//! Must not know: where the other end lies, how members are opened, how bytes are dealt to them (`core::stripe`).

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use datapump_core::StripeMap;
use datapump_engine::{Errno, Handle};
use serde::Deserialize;

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::units::parse_bytes;
use datapump_files::devices::device_bytes;
use datapump_files::disk::{Access, Disk, FileCalls, FileKind, Folder, Meta, PathAt, file_meta, umask};

pub const LINK_TO_NOTHING: &str = "is a symbolic link to nothing; remove it or make what it points to";

/// Hundreds of long paths have room in it.
const DESCRIPTOR_BYTES_MAX: usize = 1 << 20;
const EXAMPLE: &str = "write chunk = \"192KiB\" and members = [\"/a/x\", \"/b/x\"]";

/// A stripe that a descriptor names.
#[derive(Clone, Debug)]
pub struct Stripe {
    descriptor: PathBuf,
    read: Arc<OnceLock<Result<Arc<StripeMembers>, Problem>>>,
}

/// The file of the user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StripeDescriptor {
    chunk: String,
    members: Vec<PathBuf>,
}

/// What a descriptor says.
#[derive(Debug)]
pub struct StripeMembers {
    pub map: StripeMap,
    pub paths: Vec<PathBuf>,
    descriptor: PathBuf,
}

/// A stripe as a source, as it was when it was looked at.
#[derive(Debug)]
pub struct StripeSource {
    pub members: Arc<StripeMembers>,
    /// Of each member; devices have their size.
    pub metas: Vec<Meta>,
    pub bytes: u64,
}

/// A stripe as a target.
#[derive(Clone, Debug)]
pub struct StripeTarget {
    /// As the user named it.
    pub name: PathBuf,
    pub members: Arc<StripeMembers>,
    /// Where each member is or will be, behind all links, and what exists there.
    pub ats: Vec<(PathAt, Option<Meta>)>,
}

/// What tells a member from all others: a file by where it lies, a device by its number, a file to be made by its
/// folder and name.
#[derive(PartialEq, Eq)]
enum MemberId {
    File(u64, u64),
    Device(u64),
    New(u64, u64, std::ffi::OsString),
}

impl PartialEq for Stripe {
    fn eq(&self, other: &Stripe) -> bool {
        self.descriptor == other.descriptor
    }
}

impl Eq for Stripe {}

impl fmt::Display for Stripe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "stripe:{}", crate::shown(self.descriptor.as_os_str().as_bytes()))
    }
}

impl Stripe {
    pub fn new(descriptor: PathBuf) -> Stripe {
        Stripe { descriptor, read: Arc::default() }
    }

    /// What its descriptor says, read the first time.
    pub fn members(&self, disk: &Disk) -> Result<Arc<StripeMembers>, Problem> {
        self.read.get_or_init(|| read(disk, &self.descriptor).map(Arc::new)).clone()
    }

    /// The map, if the descriptor was read.
    pub fn map(&self) -> Option<StripeMap> {
        Some(self.read.get()?.as_ref().ok()?.map)
    }

    /// The descriptor, and the members if it tells them.
    pub fn files(&self) -> Vec<PathBuf> {
        let members = self.members(&Disk::Os).map_or(Vec::new(), |members| members.paths.clone());
        members.into_iter().chain([self.descriptor.clone()]).collect()
    }

    /// Looks at the members as a source: their attributes, and the bytes of the whole.
    ///
    /// Errors: one is missing, or they make no stripe.
    pub fn source(&self, disk: &Disk) -> Result<StripeSource, Problem> {
        let members = self.members(disk)?;
        let metas = members
            .paths
            .iter()
            .map(|path| look_at_source(disk, &members, path))
            .collect::<Result<Vec<_>, _>>()?;
        members.check_alike(metas.iter().map(Some), disk)?;
        let bytes = members.length(&metas)?;
        Ok(StripeSource { members, metas, bytes })
    }

    /// Finds the members as a target; some may not exist yet.
    ///
    /// Errors: they make no stripe, or two are one file.
    pub fn target(&self, disk: &Disk) -> Result<StripeTarget, Problem> {
        let members = self.members(disk)?;
        let ats = members
            .paths
            .iter()
            .map(|path| find_target(disk, &members, path))
            .collect::<Result<Vec<_>, _>>()?;
        members.check_alike(ats.iter().map(|(_, meta)| meta.as_ref()), disk)?;
        members.check_twins(&ats.iter().map(|(at, meta)| Some(target_id(at, *meta))).collect::<Vec<_>>())?;
        Ok(StripeTarget { name: PathBuf::from(self.to_string()), members, ats })
    }
}

/// Reads a descriptor.
fn read(disk: &Disk, path: &Path) -> Result<StripeMembers, Problem> {
    let wrong = |words: String| Problem::new(Class::Usage, Operation::Read, path, words);
    let system = |errno: Errno| Problem::system(Operation::Open, path, errno.0);
    if disk.metadata(path).map_err(system)?.kind != FileKind::Regular {
        return Err(wrong(format!("is no file; name the descriptor of a stripe, and in it {EXAMPLE}")));
    }
    let text = read_text(&disk.open(path, Access::Read).map_err(system)?).map_err(system)?;
    let text = text.filter(|text| text.len() <= DESCRIPTOR_BYTES_MAX);
    let text = text.ok_or_else(|| wrong(format!("is no text of at most 1 MiB; {EXAMPLE}")))?;
    let descriptor: StripeDescriptor = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        wrong(format!("line {line}: {}; {EXAMPLE}", crate::shown(error.message().as_bytes())))
    })?;
    let chunk_bytes = parse_bytes(&descriptor.chunk)
        .map_err(|words| wrong(format!("chunk: {}", crate::shown(words.as_bytes()))))?;
    let map = StripeMap::new(chunk_bytes, descriptor.members.len()).map_err(wrong)?;
    if descriptor.members.iter().any(|member| member.as_os_str().is_empty()) {
        return Err(wrong(format!("a member has an empty name; {EXAMPLE}")));
    }
    let beside = path.parent().unwrap_or(Path::new(""));
    let paths = descriptor.members.iter().map(|member| beside.join(member)).collect();
    Ok(StripeMembers { map, paths, descriptor: path.to_path_buf() })
}

/// The content of a small file; `None` if it is no text, or longer than a descriptor is.
fn read_text(handle: &Handle) -> Result<Option<String>, Errno> {
    let (mut all, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    while all.len() <= DESCRIPTOR_BYTES_MAX {
        match handle.peek(all.len() as u64, &mut piece)? {
            0 => break,
            bytes => all.extend_from_slice(&piece[..bytes]),
        }
    }
    Ok(String::from_utf8(all).ok())
}

/// The attributes of a member of a source; of a device with its length.
///
/// Errors: it is missing, or can be no member.
fn look_at_source(disk: &Disk, members: &StripeMembers, path: &Path) -> Result<Meta, Problem> {
    let mut meta = disk.metadata(path).map_err(|errno| members.missing(path, Operation::Open, errno))?;
    check_kind(path, &meta)?;
    if meta.kind == FileKind::BlockDevice {
        let device = disk.open(path, Access::Read);
        let device = device.map_err(|errno| members.missing(path, Operation::Open, errno))?;
        meta.size_bytes = device_bytes(&device, path)?;
    }
    Ok(meta)
}

/// Finds a member of a target, behind its links: where it is, and what exists there, if something does.
///
/// Errors: it can be no member, or its folder is missing.
fn find_target(disk: &Disk, members: &StripeMembers, path: &Path) -> Result<(PathAt, Option<Meta>), Problem> {
    let at = PathAt::find(disk, path);
    match at.metadata() {
        Ok(meta) => {
            check_kind(path, &meta)?;
            let behind = if meta.kind == FileKind::Regular { at.behind_links() } else { Ok(at) };
            let at = behind.map_err(|errno| Problem::system(Operation::Follow, path, errno.0))?;
            Ok((at, Some(meta)))
        }
        Err(_) if at.is_symlink() => Err(wrong_member(path, LINK_TO_NOTHING)),
        // It is made when the source is open.
        Err(Errno::ENOENT) if at.folder().is_ok() && at.name().is_some() => Ok((at, None)),
        Err(errno) => Err(members.missing(path, Operation::OpenFolder, errno)),
    }
}

fn wrong_member(path: &Path, words: &str) -> Problem {
    Problem::new(Class::Usage, Operation::Open, path, words)
}

/// Errors: it is neither a regular file nor a block device.
fn check_kind(path: &Path, meta: &Meta) -> Result<(), Problem> {
    match meta.kind {
        FileKind::Regular | FileKind::BlockDevice => Ok(()),
        FileKind::Folder => {
            Err(wrong_member(path, "is a folder; a member of a stripe is a file or a device in it"))
        }
        FileKind::CharDevice | FileKind::Fifo | FileKind::Socket | FileKind::Symlink => {
            Err(wrong_member(path, "has no offsets; a member of a stripe is a file or a block device"))
        }
    }
}

fn id(meta: &Meta) -> MemberId {
    match meta.kind {
        FileKind::BlockDevice => MemberId::Device(meta.special_device),
        _ => MemberId::File(meta.device, meta.inode),
    }
}

/// An identity of a member of a target; of one that is still to be made by its folder and name.
fn target_id(at: &PathAt, meta: Option<Meta>) -> MemberId {
    match (meta, at.folder(), at.name()) {
        (Some(meta), ..) => id(&meta),
        (None, Ok(Folder::Os(folder)), Some(name)) => {
            let (device, inode) = file_meta(folder).map_or((0, 0), |meta| (meta.device, meta.inode));
            MemberId::New(device, inode, name.to_os_string())
        }
        _ => MemberId::New(0, 0, at.path.clone().into_os_string()),
    }
}

impl StripeMembers {
    /// How many, and how they are cut: for who looks at what is done.
    pub fn words(&self) -> String {
        let (members, chunk) = (self.map.members(), crate::units::bytes_words(self.map.chunk_bytes().into()));
        format!("{members} members, chunks of {chunk}")
    }

    fn missing(&self, path: &Path, operation: Operation, errno: Errno) -> Problem {
        let mut problem = Problem::system(operation, path, errno.0);
        let descriptor = shown_path(&self.descriptor);
        problem.message +=
            &format!("; it is a member of '{descriptor}': bring it back, or correct its name there");
        problem
    }

    fn problem(&self, words: impl Into<String>) -> Problem {
        Problem::new(Class::Usage, Operation::Open, &self.descriptor, words)
    }

    /// Errors: members are of two kinds, one is the descriptor, or two are one file.
    fn check_alike<'meta>(
        &self,
        metas: impl Iterator<Item = Option<&'meta Meta>> + Clone,
        disk: &Disk,
    ) -> Result<(), Problem> {
        let is_device = |meta: Option<&Meta>| meta.is_some_and(|meta| meta.kind == FileKind::BlockDevice);
        let devices = metas.clone().filter(|meta| is_device(*meta)).count();
        if devices > 0 && devices < self.map.members() {
            return Err(self.problem("its members are files and devices; name members of one kind"));
        }
        let own = disk.metadata(&self.descriptor).ok().map(|meta| id(&meta));
        if metas.clone().flatten().any(|meta| Some(id(meta)) == own) {
            return Err(self.problem("it names itself as a member; name the files that hold the bytes"));
        }
        self.check_twins(&metas.map(|meta| meta.map(id)).collect::<Vec<_>>())
    }

    /// Errors: two members are one file or device, also one that is still to be made.
    fn check_twins(&self, ids: &[Option<MemberId>]) -> Result<(), Problem> {
        let is_known = |number: usize| ids[number].is_some() && ids[..number].contains(&ids[number]);
        match (1..ids.len()).find(|&number| is_known(number)) {
            Some(number) => {
                let first = ids.iter().position(|id| *id == ids[number]).unwrap_or(0);
                let [one, other] = [first, number].map(|number| shown_path(&self.paths[number]));
                Err(self.problem(format!("'{one}' and '{other}' are one member; name each once")))
            }
            None => Ok(()),
        }
    }

    /// The length of the stripe. Devices are seldom as long as what was written to them: of each as many chunks count
    /// as the shortest has, and they must not differ by a chunk, which would be members of different stripes.
    fn length(&self, metas: &[Meta]) -> Result<u64, Problem> {
        let sizes: Vec<u64> = metas.iter().map(|meta| meta.size_bytes).collect();
        let chunk_bytes = u64::from(self.map.chunk_bytes());
        if metas.iter().any(|meta| meta.kind == FileKind::BlockDevice) {
            let chunks: Vec<u64> = sizes.iter().map(|bytes| bytes / chunk_bytes).collect();
            return match chunks.iter().position(|&count| count != chunks[0]) {
                None if self.map.members() == 1 => Ok(sizes[0]),
                None => Ok(chunks[0] * chunk_bytes * chunks.len() as u64),
                Some(other) => Err(wrong_member(
                    &self.paths[other],
                    &format!(
                        "has {} bytes, and '{}' has {}; the members of a stripe are devices of one size",
                        sizes[other],
                        shown_path(&self.paths[0]),
                        sizes[0]
                    ),
                )),
            };
        }
        self.map.total_bytes(&sizes).map_err(|(member, wanted)| {
            let (path, total) = (&self.paths[member], sizes.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes)));
            wrong_member(
                path,
                &format!(
                    "has {} bytes, and of a stripe of {total} bytes it would have {wanted} (in their order the members \
                     have {}); look whether the order of the members and the chunk are those with which it was \
                     written, whether one was cut, and whether the copy was complete",
                    sizes[member],
                    size_words(&sizes)
                ),
            )
        })
    }

    /// Whether a file or device is one of these members, or the descriptor.
    fn holds(&self, metas: &[Meta], other: &Meta, disk: &Disk) -> bool {
        let own = disk.metadata(&self.descriptor).ok();
        metas.iter().chain(&own).any(|meta| id(meta) == id(other))
    }
}

/// No more of them than anybody reads.
fn size_words(sizes: &[u64]) -> String {
    const SIZES_MAX: usize = 16;
    let words: Vec<String> = sizes.iter().take(SIZES_MAX).map(u64::to_string).collect();
    let more = if sizes.len() > SIZES_MAX { ", …" } else { "" };
    words.join(", ") + more
}

impl StripeSource {
    /// What it is, in the terms of a file: as new as its newest member, and no more readable than all of them.
    pub fn meta(&self) -> Meta {
        let newest = |time: fn(&Meta) -> i128| self.metas.iter().map(time).max().unwrap_or(0);
        let is_file = |meta: &&Meta| meta.kind == FileKind::Regular;
        let modes = self.metas.iter().filter(is_file).map(|meta| meta.mode & 0o666);
        Meta {
            kind: FileKind::Regular,
            size_bytes: self.bytes,
            allocated_bytes: self.bytes,
            inode: self.number(),
            links: 1,
            mode: modes.fold(0o666 & !umask(), |all, mode| all & mode),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            atime_ns: newest(|meta| meta.atime_ns),
            mtime_ns: newest(|meta| meta.mtime_ns),
            ctime_ns: newest(|meta| meta.ctime_ns),
            ..Meta::nothing()
        }
    }

    /// A number that differs for other members, another order of them, and another chunk: by it a copy is resumed.
    fn number(&self) -> u64 {
        let mut hash = blake3::Hasher::new();
        hash.update(&self.members.map.chunk_bytes().to_le_bytes());
        for meta in &self.metas {
            let numbers = [meta.device, meta.inode, meta.special_device, meta.size_bytes];
            numbers.iter().for_each(|number| _ = hash.update(&number.to_le_bytes()));
        }
        u64::from_le_bytes(hash.finalize().as_bytes()[..8].try_into().expect("eight bytes"))
    }

    /// Errors: a member is a block device, and none is allowed.
    pub fn check_devices(&self, is_allowed: bool) -> Result<(), Problem> {
        check_devices(&self.members, self.metas.iter().map(Some), is_allowed)
    }

    /// Whether a file or device is a part of it.
    pub fn holds(&self, other: &Meta, disk: &Disk) -> bool {
        self.members.holds(&self.metas, other, disk)
    }
}

impl StripeTarget {
    /// Block devices are written by explicit flag only.
    pub fn check_devices(&self, is_allowed: bool) -> Result<(), Problem> {
        check_devices(&self.members, self.metas(), is_allowed)
    }

    /// Whether a file or device is a part of it.
    pub fn holds(&self, other: &Meta, disk: &Disk) -> bool {
        let metas: Vec<Meta> = self.metas().flatten().copied().collect();
        self.members.holds(&metas, other, disk)
    }

    fn metas(&self) -> impl Iterator<Item = Option<&Meta>> {
        self.ats.iter().map(|(_, meta)| meta.as_ref())
    }
}

/// Errors: a member is a block device, and these are not allowed.
fn check_devices<'meta>(
    members: &StripeMembers,
    metas: impl Iterator<Item = Option<&'meta Meta>>,
    is_allowed: bool,
) -> Result<(), Problem> {
    let is_device = |meta: Option<&Meta>| meta.is_some_and(|meta| meta.kind == FileKind::BlockDevice);
    let device = members.paths.iter().zip(metas).find(|(_, meta)| !is_allowed && is_device(*meta));
    device.map_or(Ok(()), |(path, _)| {
        Err(wrong_member(
            path,
            "is a block device; say --devices to use what is on it as a part of the stripe",
        ))
    })
}
