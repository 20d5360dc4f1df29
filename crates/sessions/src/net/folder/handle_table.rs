//! The handles of a session on the reading side: its places, and the folders and files that were opened in them.
//! Answers what is asked of names and attributes.
//!
//! The other side can ask for nothing that does not lie in one of the session's places: folders are opened by one name
//! in folders that were opened before, never through a symbolic link.
//!
//! Must not know: connections, who asks, how blocks are read.

mod call_times;
mod open_places;
mod read_again;

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use datapump_core::wire::RANGES_MAX;
use datapump_core::wire::attributes::is_plain;
use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest, Range};
use datapump_core::wire::session::SenderStats;
use datapump_engine::{Errno, Handle};
use datapump_transport::NetFault;

use self::call_times::{CallStart, CallTimes};
use self::open_places::{KeptFile, KeptFiles};
use crate::folder::side::{FolderSide, Keeper};
use crate::listed::Name;
use crate::net::folder::convert::{Tell, attributes_of, fault, fault_in_words, refuse_more, to_wire};
use crate::net::folder::given_file::GivenFile;
use crate::net::folder::handle_place::{Flow, HandlePlace};
use crate::net::folder::listing::{self, fitting};
use crate::net::folder::owners::OwnNames;
use crate::net::folder::shared_reads::{ReaderGroup, SharedReads};
use crate::net::folder::weight;
use crate::place::Fill;
use crate::problem::{Class, Operation, Problem};
use crate::setup::budget::{Charge, Share};
use crate::setup::options::{FollowLinks, Options};
use datapump_files::disk::{
    AttributeHolder, FileCalls, FileKind, Meta, file_meta, folder_is_made_up, is_made_up, magic,
    open_with_identity, with_handle,
};
use datapump_files::followed::OriginFolder;
use datapump_files::holes::sizes::Magics;
use datapump_files::holes::{self, mapped};
use datapump_files::identity::tick::{self, TimeLook};

/// Folders that stay open at a time, and the least: each may be closed and opened again.
const OPEN_FOLDERS: u64 = 64;
const OPEN_FOLDERS_MIN: u64 = 4;
/// What a folder takes besides its name: itself, its place in the table, what an allocator rounds up to.
const FOLDER_BYTES: usize = size_of::<FolderSide>() + 128;
/// The same of a file.
const FILE_BYTES: usize = size_of::<GivenFile>() + size_of::<ReaderGroup>() + size_of::<Handle>() * 2 + 192;
/// Folders of other numbers are listed at the same time.
const LISTING_LOCKS: usize = 16;
/// Attributes of a file that is sent soon, of which there are few at a time.
const UNCHARGED_BYTES: usize = 4 << 10;
/// One through the cache, one past it.
const FILES_OF_A_FILE: u64 = 2;
/// Places that stay open at a time when they were read, and the least.
const OPEN_PLACES: u64 = 64;
const OPEN_PLACES_MIN: u64 = 2;

const ENOENT: Errno = Errno(2);
const EBADF: Errno = Errno(9);
const ENOTDIR: Errno = Errno(20);
const EINVAL: Errno = Errno(22);
const ESTALE: Errno = Errno(116);

/// What was opened.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    File(Arc<GivenFile>),
    Flow(Flow),
}

/// The open folders and files of a session.
#[derive(Debug)]
pub(crate) struct HandleTable {
    places: Vec<HandlePlace>,
    /// Links of folders that are copied as what they point to.
    follow: FollowLinks,
    folders: Mutex<HashMap<u64, Arc<FolderSide>>>,
    files: Mutex<KeptFiles>,
    /// So many places stay open.
    open_places: usize,
    /// Places that are symbolic links, which are asked for by themselves.
    links: Mutex<HashMap<u64, (HandlePlace, Charge)>>,
    keeper: Arc<Keeper>,
    share: Arc<Share>,
    _kept_open: Option<Charge>,
    magics: Magics,
    pub(crate) own_names: OwnNames,
    /// One lists a folder at a time: an open folder has one place at which it goes on. By its number.
    listing: [Mutex<()>; LISTING_LOCKS],
    stop: Arc<AtomicBool>,
    /// What other sessions of a server have open; a client's are not read by others.
    shared_reads: Option<Arc<SharedReads>>,
    /// Its files are read to be measured.
    is_rehearsal: bool,
    times: CallTimes,
}

const REPLACED: &str = "was replaced by another file meanwhile; copy again when the source is quiet";

type ShelfOutcome<T> = Result<T, Fault>;

impl HandleTable {
    /// A table of these places; `follow` says which links in them are followed. What the other side opens is charged to
    /// `share`.
    pub(crate) fn new(
        places: Vec<HandlePlace>,
        follow: FollowLinks,
        stop: Arc<AtomicBool>,
        share: Arc<Share>,
        shared_reads: Option<Arc<SharedReads>>,
    ) -> HandleTable {
        let kept_open = (share.budget().files_max() / 8).clamp(OPEN_FOLDERS_MIN, OPEN_FOLDERS);
        let charge = share.charge(0, kept_open).ok();
        let keeper = Keeper::new(if charge.is_some() { kept_open } else { OPEN_FOLDERS_MIN } as usize);
        let open_places = (share.budget().files_max() / 16).clamp(OPEN_PLACES_MIN, OPEN_PLACES) as usize;
        HandleTable {
            open_places,
            listing: Default::default(),
            places,
            follow,
            folders: Mutex::default(),
            files: Mutex::default(),
            links: Mutex::default(),
            keeper,
            share,
            _kept_open: charge,
            magics: Magics::default(),
            own_names: OwnNames::default(),
            stop,
            shared_reads,
            is_rehearsal: false,
            times: CallTimes::default(),
        }
    }

    /// A table for a session with these options.
    pub(crate) fn with_options(self, options: &Options) -> HandleTable {
        HandleTable { is_rehearsal: options.measuring.rehearsal_bytes.is_some(), ..self }
    }

    /// Performs a request about names and attributes, or for a digest, and gives each answer to `tell` before the next is
    /// made: there are several where one would be too long. A fault is an answer, too.
    pub(crate) fn answer(&self, ask: PeerRequest, tell: Tell<'_>) -> Result<(), NetFault> {
        if let PeerRequest::Read { file, at, len, sum: Some(true) } = ask {
            return tell(self.sum(file, at.0, len).unwrap_or_else(Answer::Fault));
        }
        // Time in which the connection takes no bytes counts for the path.
        let (start, mut sending) = (CallStart::now(), Duration::ZERO);
        let answered = self.answer_request(ask, &mut |answer| {
            let begins = Instant::now();
            let sent = tell(answer);
            sending += begins.elapsed();
            sent
        });
        self.times.charge_names(start, sending);
        answered
    }

    /// Adds the time of all calls to what the lanes did.
    pub(crate) fn add_times(&self, stats: SenderStats) -> SenderStats {
        self.times.add_to(stats)
    }

    fn answer_request(&self, ask: PeerRequest, tell: Tell<'_>) -> Result<(), NetFault> {
        let one = match ask {
            PeerRequest::List { folder, cookie, with_attributes } => match self.listed(folder, cookie) {
                Ok((folder, names, cookie)) => {
                    return listing::send_names(&folder, names, cookie, with_attributes == Some(true), tell);
                }
                Err(fault) => Err(fault),
            },
            PeerRequest::Look(place) => self.look_at_place(place),
            PeerRequest::Root { folder, place } => self.open_root(folder, place),
            PeerRequest::Enter { folder, above, name } => self.enter(folder, above, &name),
            PeerRequest::Leave(folder) => {
                self.folders().remove(&folder);
                self.links().remove(&folder);
                Ok(Answer::Done)
            }
            PeerRequest::OpenPlace { file, place } => self.open_place(file, place),
            PeerRequest::Open { file, above, name } => self.open(file, above, &name),
            PeerRequest::LookAgain(file) => self.metadata_again(file, None),
            PeerRequest::LookAt { above, name, with_attributes } => {
                self.look_at(above, &name, with_attributes == Some(true))
            }
            PeerRequest::Close(file) => {
                self.files().by_number.remove(&file);
                Ok(Answer::Done)
            }
            PeerRequest::Fetch { above, name, len: 0, .. } => self.fetch_empty(above, &name),
            PeerRequest::Fetch { .. } | PeerRequest::Read { .. } | PeerRequest::ReadOn { .. } => {
                Err(fault(Operation::Read, EINVAL))
            }
            PeerRequest::Ahead { .. } | PeerRequest::Credit(_) | PeerRequest::Unwanted(_) => {
                Err(fault(Operation::Open, EINVAL))
            }
        };
        tell(one.unwrap_or_else(Answer::Fault))
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<u64, Arc<FolderSide>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, KeptFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn links(&self) -> MutexGuard<'_, HashMap<u64, (HandlePlace, Charge)>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, number: u32) -> ShelfOutcome<&HandlePlace> {
        self.places.get(number as usize).ok_or_else(|| fault(Operation::Open, ENOENT))
    }

    fn folder(&self, number: u64) -> ShelfOutcome<Arc<FolderSide>> {
        self.folders().get(&number).cloned().ok_or_else(|| fault(Operation::Open, EBADF))
    }

    /// An open file or flow. A place that was closed meanwhile is opened again.
    ///
    /// Errors: another file has its name now.
    pub(crate) fn file(&self, number: u64) -> ShelfOutcome<Taken> {
        let (place, meta, magic, look) = match self.files().by_number.get(&number) {
            Some(KeptFile::Closed(closed)) => (closed.place, closed.meta, closed.magic, closed.look),
            Some(KeptFile::Open(taken, _)) => return Ok(taken.clone()),
            None => return Err(fault(Operation::Read, EBADF)),
        };
        let charges = [self.charge(FILE_BYTES, 0)?, self.charge_place()?];
        let handle = Arc::new(Handle::Os(self.place(place)?.open()?));
        let now = handle.meta().map_err(|errno| fault(Operation::OpenAgain, errno))?;
        if (now.device, now.inode) != (meta.device, meta.inode) {
            return Err(Fault { words: Some(REPLACED.into()), ..fault(Operation::OpenAgain, EBADF) });
        }
        let given = GivenFile::new(handle, meta, magic, look, None)
            .rehearsed(self.is_rehearsal)
            .joined(self.shared_reads.as_deref());
        let taken = Taken::File(Arc::new(given.read_past_cache()));
        let kept = KeptFile::Open(taken.clone(), charges);
        self.files().insert_place(number, place, kept, self.open_places);
        Ok(taken)
    }

    /// Open files of a place. Others that nobody reads now are closed for it.
    fn charge_place(&self) -> ShelfOutcome<Charge> {
        loop {
            match self.charge(0, FILES_OF_A_FILE) {
                Err(_) if self.files().close_one() => {}
                charged => return charged,
            }
        }
    }

    /// Places of the session.
    pub(crate) fn places(&self) -> u32 {
        self.places.len() as u32
    }

    /// Numbers of the devices that its places lie on.
    pub(crate) fn devices(&self) -> BTreeSet<u64> {
        let metas = self.places.iter().filter_map(|place| place.meta().ok());
        metas.map(|meta| meta.device).collect()
    }

    /// A place is a pipe: it is read in its own order.
    pub(crate) fn has_streams(&self) -> bool {
        self.places.iter().any(|place| matches!(place, HandlePlace::Flow(Flow::Stream(_))))
    }

    /// A program at the other end of a pipe gives what a place delivers.
    pub(crate) fn reads_a_pipe(&self) -> bool {
        let is_pipe = |meta: Meta| matches!(meta.kind, FileKind::Fifo | FileKind::Socket);
        self.places.iter().any(|place| match place {
            HandlePlace::Flow(Flow::Stream(handle)) => handle.meta().is_ok_and(is_pipe),
            _ => false,
        })
    }

    /// What the place delivers that is null.
    pub(crate) fn null_fill(&self) -> Option<Fill> {
        self.places.iter().find_map(|place| match place {
            HandlePlace::Flow(Flow::Null { fill, .. }) => Some(*fill),
            _ => None,
        })
    }

    /// The attributes of a place, before anything of it is opened.
    fn look_at_place(&self, place: u32) -> ShelfOutcome<Answer> {
        let origin = self.place(place)?;
        if let HandlePlace::Flow(flow) = origin {
            return Ok(flow.answer());
        }
        let meta = origin.meta()?;
        let is_partial = origin.is_partial().then_some(true);
        let named = origin.led_to().map(|(device, inode)| to_wire(&Meta { device, inode, ..meta }));
        Ok(Answer::Meta { meta: to_wire(&meta), named, is_partial, owners: None, is_young: None })
    }

    /// Opens the folder of a place under this number; for a kept link, the folder that holds the link.
    fn open_root(&self, number: u64, place: u32) -> ShelfOutcome<Answer> {
        let origin = self.place(place)?;
        if let HandlePlace::Link(_, path) = origin {
            let charge = self.charge(FOLDER_BYTES + path.as_os_str().len(), 0)?;
            self.links().insert(number, (origin.clone(), charge));
            return origin.folder_of_link();
        }
        let charge = self.charge(2 * FOLDER_BYTES + 2 * origin.path().as_os_str().len(), 0)?;
        let (opened, again) = (origin.open()?, Arc::new(origin.clone()));
        let side =
            FolderSide::reopenable_root(origin.path(), opened, again, &self.keeper).map_err(problem)?;
        let side = side.following(self.follow);
        self.keep_folder(number, side.charged(charge))
    }

    fn enter(&self, number: u64, above: u64, name: &[u8]) -> ShelfOutcome<Answer> {
        let charge = self.charge(FOLDER_BYTES + name.len(), 0)?;
        let side = self.folder(above)?.child(plain(name)?).map_err(problem)?;
        self.keep_folder(number, side.charged(charge))
    }

    fn charge(&self, bytes: usize, files: u64) -> ShelfOutcome<Charge> {
        let charged = self.share.charge(bytes, files);
        charged.map_err(|over| fault_in_words(Operation::Open, over.message().into(), Some(Class::Refused)))
    }

    /// Keeps an open folder under its number, and gives its attributes.
    ///
    /// Errors: it is no folder.
    fn keep_folder(&self, number: u64, side: Arc<FolderSide>) -> ShelfOutcome<Answer> {
        let open = side.file().map_err(problem)?;
        if side.meta.kind != FileKind::Folder {
            return Err(fault(Operation::Open, ENOTDIR));
        }
        let attributes = fitting(attributes_of(AttributeHolder::Open(&open)));
        let answer = Answer::Folder {
            meta: to_wire(&side.meta),
            attributes,
            made_up: folder_is_made_up(&open),
            owners: None,
            is_young: side.is_young().then_some(true),
        };
        self.folders().insert(number, side);
        Ok(answer)
    }

    /// An open folder, names in it, and where those behind them begin.
    fn listed(&self, number: u64, cookie: u64) -> ShelfOutcome<(OriginFolder, Vec<Name>, u64)> {
        let folder = self.folder(number)?.origin_folder().map_err(problem)?;
        let _one =
            self.listing[number as usize % LISTING_LOCKS].lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, cookie) = folder.list(cookie).map_err(|errno| fault(Operation::List, errno))?;
        Ok((folder, entries.into_iter().map(Name::from).collect(), cookie))
    }

    /// Opens the file or flow of a place, and keeps it under this number; places that were opened first may be closed for it.
    fn open_place(&self, number: u64, place: u32) -> ShelfOutcome<Answer> {
        let (origin, now_ns) = (self.place(place)?, tick::now_ns());
        if let HandlePlace::Flow(flow) = origin {
            let charges = [self.charge(FILE_BYTES, 0)?, self.charge(0, 0)?];
            self.files().by_number.insert(number, KeptFile::Open(Taken::Flow(flow.clone()), charges));
            return Ok(flow.answer());
        }
        let charges = [self.charge(FILE_BYTES, 0)?, self.charge_place()?];
        let handle = Arc::new(Handle::Os(origin.open()?));
        let (answer, taken) = self.describe_open_file(handle, now_ns, None)?;
        let kept = KeptFile::Open(taken, charges);
        self.files().insert_place(number, place, kept, self.open_places);
        Ok(answer)
    }

    /// Opens a file of an open folder, keeps it under this number, and gives its attributes.
    fn open(&self, number: u64, above: u64, name: &[u8]) -> ShelfOutcome<Answer> {
        let charges = [self.charge(FILE_BYTES + name.len(), FILES_OF_A_FILE)?, self.charge(0, 0)?];
        let now_ns = tick::now_ns();
        let (handle, side, name) = self.opened(above, name)?;
        let (answer, taken) = self.describe_open_file(handle, now_ns, Some((side, name)))?;
        self.files().by_number.insert(number, KeptFile::Open(taken, charges));
        Ok(answer)
    }

    fn opened(&self, above: u64, name: &[u8]) -> ShelfOutcome<(Arc<Handle>, Arc<FolderSide>, OsString)> {
        let (side, name) = (self.folder(above)?, plain(name)?);
        let folder = side.origin_folder().map_err(problem)?;
        let file = folder.open_source(name).map_err(|errno| fault(Operation::Open, errno))?;
        Ok((Arc::new(Handle::Os(file)), side, name.to_owned()))
    }

    /// The answer for a file that was just opened, with the file as it is served from now on.
    ///
    /// Errors: it is no regular file, or holds more than its size.
    fn describe_open_file(
        &self,
        handle: Arc<Handle>,
        now_ns: i128,
        above: Option<(Arc<FolderSide>, OsString)>,
    ) -> ShelfOutcome<(Answer, Taken)> {
        let meta = named(&above, regular_file_meta(&handle, &self.stop)?)?;
        let magic = self.magics.of(&handle, &meta);
        refuse_more(&handle, &meta, magic)?;
        let ranges = if is_made_up(&handle) { None } else { Some(ranges(&handle, &meta, &self.stop)?) };
        let attributes = fitting(attributes_of(AttributeHolder::Open(handle.os())));
        // The user may have named a file by links, too.
        let is_named = above.is_none();
        let told = if is_named { with_handle(meta, &handle) } else { open_with_identity(meta, &handle) };
        let answer = to_wire(&told);
        let look = TimeLook::new(now_ns, magic, &meta);
        let given = GivenFile::new(handle, meta, magic, look, above)
            .rehearsed(self.is_rehearsal)
            .joined(self.shared_reads.as_deref());
        let taken = Taken::File(Arc::new(given.read_past_cache()));
        let is_young = Some(look.is_young);
        Ok((
            Answer::File {
                meta: answer,
                attributes,
                ranges,
                owners: None,
                follows: None,
                is_young,
                block_len: None,
            },
            taken,
        ))
    }

    /// An entry of a folder, or with an empty name the attributes of the folder now.
    fn look_at(&self, above: u64, name: &[u8], with_attributes: bool) -> ShelfOutcome<Answer> {
        let link = self.links().get(&above).map(|(link, _)| link.clone());
        if let Some(link) = link {
            let entries = vec![link.entry_of(plain(name)?)?];
            return Ok(Answer::Names { entries, cookie: 0, more: false, owners: None });
        }
        let side = self.folder(above)?;
        let folder = side.origin_folder().map_err(problem)?;
        if name.is_empty() {
            let now_ns = tick::now_ns();
            let meta = file_meta(&folder.file).map_err(|errno| fault(Operation::LookAt, errno))?;
            let is_young = tick::is_young(now_ns, &meta, || magic(&folder.file)).then_some(true);
            let meta = to_wire(&meta);
            return Ok(Answer::Meta { meta, named: None, is_partial: None, owners: None, is_young });
        }
        let name = plain(name)?;
        let name = Name::here(name.to_owned(), None);
        let entries = vec![listing::entry_with_facts(&folder, name, with_attributes)];
        Ok(Answer::Names { entries, cookie: 0, more: false, owners: None })
    }

    /// What this side holds for the other besides.
    pub(crate) fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// Opens a small file to be read once. Gives its attributes, the charge for them if they are many, and the file if its
    /// length is the listed one, or at most `len_max`.
    pub(crate) fn fetch(
        &self,
        above: u64,
        name: &[u8],
        len: u32,
        len_max: u32,
    ) -> ShelfOutcome<(Answer, Option<Charge>, Option<GivenFile>)> {
        self.times.names(|| self.fetch_open(above, name, len, len_max))
    }

    fn fetch_open(
        &self,
        above: u64,
        name: &[u8],
        len: u32,
        len_max: u32,
    ) -> ShelfOutcome<(Answer, Option<Charge>, Option<GivenFile>)> {
        let now_ns = tick::now_ns();
        let (handle, side, name) = self.opened(above, name)?;
        let above = Some((side, name));
        let meta = named(&above, regular_file_meta(&handle, &self.stop)?)?;
        let magic = self.magics.of(&handle, &meta);
        refuse_more(&handle, &meta, magic)?;
        let attributes = fitting(attributes_of(AttributeHolder::Open(handle.os())));
        let is_as_listed = meta.size_bytes == u64::from(len);
        let is_it = is_as_listed || meta.size_bytes <= u64::from(len_max);
        // A longer one is not taken, whatever it carries.
        let attributes = if is_it { attributes } else { Vec::new() };
        let bytes = weight::attributes_bytes(&attributes);
        let charge = (bytes > UNCHARGED_BYTES).then(|| self.charge(bytes, 0)).transpose()?;
        let block_len = (is_it && !is_as_listed).then_some(meta.size_bytes as u32);
        let answer = Answer::file(to_wire(&meta), attributes, block_len);
        let look = TimeLook::new(now_ns, magic, &meta);
        let given = GivenFile::new(handle, meta, magic, look, above).rehearsed(self.is_rehearsal);
        Ok((answer, charge, is_it.then_some(given)))
    }

    /// An empty file, which stood still meanwhile. One that is not empty, or of which only its end tells, is a fault: it
    /// is opened.
    fn fetch_empty(&self, above: u64, name: &[u8]) -> ShelfOutcome<Answer> {
        let (answer, _charge, given) = self.fetch_open(above, name, 0, 0)?;
        given.and_then(|given| self.still_empty(&given, answer)).ok_or_else(|| fault(Operation::Read, ESTALE))
    }

    /// The answer about a file that is empty, if it stood still meanwhile and its size is believed.
    pub(crate) fn still_empty(&self, given: &GivenFile, answer: Answer) -> Option<Answer> {
        if is_made_up(&given.handle) {
            return None;
        }
        let head = Some(Box::new(answer));
        let checked = if given.is_unchanged() { Ok(head) } else { self.read_small_again(given, &[], head) };
        checked.ok().flatten().map(|head| *head)
    }
}

/// What was opened under a name: of a link that is followed another file than of the name itself.
fn named(above: &Option<(Arc<FolderSide>, OsString)>, meta: Meta) -> ShelfOutcome<Meta> {
    match above {
        Some((side, name)) => Ok(side.origin_folder().map_err(problem)?.opened(name, meta)),
        None => Ok(meta),
    }
}

fn plain(name: &[u8]) -> ShelfOutcome<&OsStr> {
    if is_plain(name) { Ok(OsStr::from_bytes(name)) } else { Err(fault(Operation::Open, EINVAL)) }
}

/// What this side would tell its own user, without the path: the other side knows it.
fn problem(problem: Problem) -> Fault {
    fault_in_words(problem.operation, problem.message, Some(problem.class))
}

/// The attributes of an open file, as far as they are believed.
///
/// Errors: it is no regular file.
fn regular_file_meta(handle: &Handle, stop: &AtomicBool) -> ShelfOutcome<Meta> {
    let meta = handle.meta().map_err(|errno| fault(Operation::LookAt, errno))?;
    match meta.kind {
        FileKind::Regular => {
            mapped::believed(handle, meta, stop).map_err(|errno| fault(Operation::LookAt, errno))
        }
        _ => Err(fault_in_words(Operation::Open, "is no file any more".into(), None)),
    }
}

/// The ranges with data of a file; one for all of it where they are too many for a message.
fn ranges(handle: &Handle, meta: &Meta, stop: &AtomicBool) -> ShelfOutcome<Vec<Range>> {
    // More pieces than fit into a message are told as one.
    let range = |(start, end)| Range { start: FileSize::of(start), end: FileSize::of(end) };
    let ranges =
        holes::ranges(handle, meta, false, stop).map_err(|errno| fault(Operation::ReadMap, errno))?;
    let ranges = if ranges.len() > RANGES_MAX { vec![(0, meta.size_bytes)] } else { ranges };
    Ok(ranges.into_iter().map(range).collect())
}
