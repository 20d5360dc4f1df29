//! The other side of a session, as the side that writes asks it: folders, files, names and attributes.
//!
//! Any lane may ask: each takes a free connection, asks, and waits for the answer. What is not needed any more is given
//! back with the next asking. A connection that fails cuts the whole session.
//!
//! Must not know: how blocks are received, what is done with names.

mod remote_file;

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datapump_core::wire::attributes::{Attribute, Entry};
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::turns::RequestTurns;
use datapump_core::wire::{WireError, decode, encode};
use datapump_engine::Errno;
use datapump_transport::{CancelToken, Channel, NetFault, Pool};

use crate::job::budget::{Charge, OverBudget, Share};
use crate::net::folder::convert::from_wire;
use crate::net::folder::owners::Mapping;
use crate::net::folder::refusal::{over_budget, problem_of};
use crate::net::folder::weight;
use crate::problem::{Class, Operation, Problem};
use crate::target::listed::{Attributes, ListedEntry, Name};
use datapump_files::disk::{FileKind, Meta};

pub(crate) use remote_file::{OpenFile, RemoteFile, SmallFile, StreamFile};

/// Answers to one asking, 1 MiB each: a listing tells what the system gives at a time, which is a small part of it.
const ANSWERS_MAX: usize = 64;
/// A message that is longer may take so much more when it is read that only one is read at a time.
pub(crate) const LONG_BYTES: usize = 64 << 10;

/// Folders and files that are given back together: as many as connections take without anybody reading.
const GIVEN_BACK_TOGETHER: usize = 256;

/// The other side.
#[derive(Debug)]
pub(crate) struct RemoteHost {
    /// As the user named it, for messages.
    pub(crate) place: String,
    pub(crate) cancel: CancelToken,
    /// Both sides run on one host: devices of the same number are the same device.
    pub(crate) is_here: bool,
    /// Which run of its system the other side told; zeros if none.
    pub(crate) boot: [u8; 16],
    names: Arc<Pool>,
    blocks: Arc<Pool>,
    next: AtomicU64,
    /// Folders and files that are not needed any more.
    gone: Mutex<Vec<PeerRequest>>,
    /// An older version: it tells no attributes with names of files.
    tells_no_attributes: AtomicBool,
    /// What it makes this side hold is charged to this.
    share: Arc<Share>,
    owners: Mapping,
}

/// Where its connections come from.
pub(crate) struct Pools {
    pub(crate) names: Arc<Pool>,
    pub(crate) blocks: Arc<Pool>,
}

/// Answers to one request, and what they take.
type ChargedAnswers = (Vec<Answer>, Charge);

/// A folder that was opened at the other side.
#[derive(Debug)]
pub(crate) struct RemoteFolder {
    pub(crate) remote_host: Arc<RemoteHost>,
    pub(crate) number: u64,
    pub(crate) meta: Meta,
    pub(crate) attributes: Attributes,
    pub(crate) made_up: bool,
    _charge: Charge,
}

impl RemoteHost {
    pub(crate) fn new(
        (place, boot): (String, Option<[u8; 16]>),
        cancel: CancelToken,
        Pools { names, blocks }: Pools,
        share: Arc<Share>,
        owners: Mapping,
    ) -> Arc<RemoteHost> {
        let (next, gone) = (AtomicU64::new(1), Mutex::default());
        let own = datapump_files::disk::boot();
        let is_here = own != [0; 16] && boot == Some(own);
        let boot = boot.unwrap_or_default();
        let tells_no_attributes = AtomicBool::new(false);
        Arc::new(RemoteHost {
            place,
            cancel,
            is_here,
            boot,
            names,
            blocks,
            next,
            gone,
            tells_no_attributes,
            share,
            owners,
        })
    }

    /// A connection for the blocks of one lane.
    pub(crate) fn blocks(&self) -> Result<Channel, Problem> {
        self.blocks.take(Purpose::Blocks).map_err(|fault| self.lost(&fault))
    }

    /// The session is of no more use.
    pub(crate) fn lost(&self, fault: &NetFault) -> Problem {
        self.cancel.cut();
        fault.problem(&self.place)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn give_back(&self, ask: PeerRequest) {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).push(ask);
    }

    /// Asks one thing; what the other side could not do is a problem with this path.
    fn ask(&self, ask: &PeerRequest, path: &Path) -> Result<(Answer, Charge), Problem> {
        let (mut answers, charge) = self.ask_all(ask, path)?;
        match answers.pop() {
            Some(Answer::Fault(fault)) => Err(problem_of(&fault, path).on(&self.place)),
            Some(answer) if answers.is_empty() => Ok((answer, charge)),
            _ => Err(self.unexpected()),
        }
    }

    fn ask_all(&self, ask: &PeerRequest, path: &Path) -> Result<ChargedAnswers, Problem> {
        let asked = self.names.take(Purpose::Names).and_then(|mut channel| {
            let answers = self.converse(&mut channel, ask)?;
            self.names.give(channel);
            Ok(answers)
        });
        asked.map_err(|fault| self.lost(&fault))?.map_err(|over| over_budget(over, path))
    }

    fn converse(
        &self,
        channel: &mut Channel,
        ask: &PeerRequest,
    ) -> Result<Result<ChargedAnswers, OverBudget>, NetFault> {
        let gone = std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
        let last = gone.len().saturating_sub(GIVEN_BACK_TOGETHER);
        let mut asking = RequestTurns::default();
        for gone in gone[..last].chunks(GIVEN_BACK_TOGETHER) {
            put_all(channel, &mut asking, gone)?;
            channel.flush()?;
            gone.iter().try_for_each(|_| answered(channel, &mut asking))?;
        }
        put_all(channel, &mut asking, &gone[last..])?;
        channel.send_message(&encode(ask), asking.ask(()))?;
        gone[last..].iter().try_for_each(|_| answered(channel, &mut asking))?;
        self.receive(channel, &asking)
    }

    /// Receives all answers to a request. Those that this side may not hold are forgotten.
    fn receive(
        &self,
        channel: &mut Channel,
        asking: &RequestTurns<()>,
    ) -> Result<Result<ChargedAnswers, OverBudget>, NetFault> {
        let mut held = self.share.charge(0, 0).map(|charge| (Vec::new(), charge));
        for _ in 0..ANSWERS_MAX {
            let answer = self.read(&body(channel, asking)?)?;
            let more = matches!(answer, Answer::Names { more: true, .. });
            held = held.and_then(|(mut answers, mut charge)| {
                charge.grow(weight::of_answer(&answer))?;
                answers.push(answer);
                Ok((answers, charge))
            });
            if !more {
                return Ok(held);
            }
        }
        Err(WireError::Unexpected("names without end").into())
    }

    /// Reads an answer, with the owners of this side. What a long one takes is known only then.
    pub(crate) fn read(&self, body: &[u8]) -> Result<Answer, WireError> {
        let _one = (body.len() > LONG_BYTES).then(|| self.share.budget().one_reads());
        let mut answer = decode(body)?;
        self.owners.apply(&mut answer, &self.share)?;
        Ok(answer)
    }

    /// Something besides answers that this side holds for the other.
    pub(crate) fn charge(&self, bytes: usize) -> Result<Charge, OverBudget> {
        self.share.charge(bytes, 0)
    }

    fn unexpected(&self) -> Problem {
        self.lost(&WireError::Unexpected("another answer than was asked for").into())
    }

    /// What stands at a place of the session, links followed; `None` for a pipe, or null.
    pub(crate) fn look(&self, place: u32, path: &Path) -> Result<Option<Meta>, Problem> {
        match self.ask(&PeerRequest::Look(place), path)?.0 {
            Answer::Meta { meta, .. } => Ok(Some(from_wire(&meta))),
            Answer::Stream { .. } => Ok(None),
            _ => Err(self.unexpected()),
        }
    }

    /// Whether a place is a temporary file that a pump uses or can resume.
    pub(crate) fn is_partial(&self, place: u32, path: &Path) -> Result<bool, Problem> {
        match self.ask(&PeerRequest::Look(place), path)?.0 {
            Answer::Meta { is_partial, .. } => Ok(is_partial == Some(true)),
            _ => Ok(false),
        }
    }

    /// Opens the folder of a place.
    pub(crate) fn root(
        self: &Arc<RemoteHost>,
        place: u32,
        path: &Path,
    ) -> Result<Arc<RemoteFolder>, Problem> {
        let folder = self.number();
        self.folder(folder, &PeerRequest::Root { folder, place }, path)
    }

    fn folder(
        self: &Arc<RemoteHost>,
        number: u64,
        ask: &PeerRequest,
        path: &Path,
    ) -> Result<Arc<RemoteFolder>, Problem> {
        match self.ask(ask, path)? {
            (Answer::Folder { meta, attributes, made_up, .. }, _charge) => {
                let (meta, attributes) = (from_wire(&meta), named(attributes));
                Ok(Arc::new(RemoteFolder {
                    remote_host: Arc::clone(self),
                    number,
                    meta,
                    attributes,
                    made_up,
                    _charge,
                }))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Opens the file of a place.
    pub(crate) fn open_place(self: &Arc<RemoteHost>, place: u32, path: &Path) -> Result<RemoteFile, Problem> {
        let file = self.number();
        match self.ask(&PeerRequest::OpenPlace { file, place }, path)? {
            (Answer::Stream { bytes }, _) => {
                let bytes = bytes.map(|bytes| bytes.0);
                Ok(RemoteFile::Stream(StreamFile { number: file, bytes }))
            }
            answer => self.file(file, answer).map(RemoteFile::Open),
        }
    }

    fn file(
        self: &Arc<RemoteHost>,
        number: u64,
        (answer, _charge): (Answer, Charge),
    ) -> Result<OpenFile, Problem> {
        match answer {
            Answer::File { meta, attributes, ranges, .. } => {
                let ranges =
                    ranges.map(|ranges| ranges.iter().map(|range| (range.start.0, range.end.0)).collect());
                let (meta, attributes) = (from_wire(&meta), named(attributes));
                let file =
                    OpenFile { remote_host: Arc::clone(self), number, meta, attributes, ranges, _charge };
                file.is_sane().then_some(file).ok_or_else(|| self.unexpected())
            }
            _ => Err(self.unexpected()),
        }
    }
}

impl RemoteFolder {
    /// Opens a folder in this one.
    pub(crate) fn enter(&self, name: &OsStr, path: &Path) -> Result<Arc<RemoteFolder>, Problem> {
        let folder = self.remote_host.number();
        let ask = PeerRequest::Enter { folder, above: self.number, name: name.as_bytes().to_vec().into() };
        self.remote_host.folder(folder, &ask, path)
    }

    /// The next names, and where those behind them begin; none at the end.
    pub(crate) fn list(
        &self,
        cookie: u64,
        with_attributes: bool,
        path: &Path,
    ) -> Result<(Vec<Name>, u64), Problem> {
        let with_attributes = with_attributes.then_some(true);
        let ask = PeerRequest::List { folder: self.number, cookie, with_attributes };
        let (answers, charge) = self.remote_host.ask_all(&ask, path)?;
        let charge = Arc::new(charge);
        let (mut names, mut next) = (Vec::new(), cookie);
        for answer in answers {
            match answer {
                Answer::Names { entries, cookie, .. } if entries.iter().all(Entry::is_plain) => {
                    names.extend(entries.into_iter().map(|entry| name_of(entry, &charge)));
                    next = cookie;
                }
                Answer::Fault(fault) => return Err(problem_of(&fault, path).on(&self.remote_host.place)),
                _ => return Err(self.remote_host.unexpected()),
            }
        }
        Ok((names, next))
    }

    /// What the folder is now.
    pub(crate) fn now(&self, path: &Path) -> Result<Meta, Problem> {
        let ask = PeerRequest::LookAt { above: self.number, name: Vec::new().into(), with_attributes: None };
        match self.remote_host.ask(&ask, path)?.0 {
            Answer::Meta { meta, .. } => Ok(from_wire(&meta)),
            _ => Err(self.remote_host.unexpected()),
        }
    }

    /// What a name is, links not followed.
    pub(crate) fn look_at(&self, name: &OsStr, path: &Path) -> Result<ListedEntry, Problem> {
        self.look_closely(name, None, path)
    }

    /// The attributes of a name with which no listing told them; `None` if the other side is too old to tell. A link,
    /// pipe or device tells them with whatever is said of it.
    pub(crate) fn attributes_of(&self, name: &OsStr, path: &Path) -> Result<Option<Attributes>, Problem> {
        if self.remote_host.tells_no_attributes.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let told = self.look_closely(name, Some(true), path)?;
        let meta = told.meta.map_err(|errno| Problem::system(Operation::LookAt, path, errno.0))?;
        if meta.kind != FileKind::Regular && told.attributes.is_none() {
            return Err(Problem::new(Class::Changed, Operation::LookAt, path, "is no file any more"));
        }
        self.remote_host.tells_no_attributes.store(told.attributes.is_none(), Ordering::Relaxed);
        Ok(told.attributes)
    }

    fn look_closely(
        &self,
        name: &OsStr,
        with_attributes: Option<bool>,
        path: &Path,
    ) -> Result<ListedEntry, Problem> {
        let ask = PeerRequest::LookAt {
            above: self.number,
            name: name.as_bytes().to_vec().into(),
            with_attributes,
        };
        match self.remote_host.ask(&ask, path)? {
            (Answer::Names { mut entries, .. }, charge) => {
                let entry = entries.pop().ok_or_else(|| self.remote_host.unexpected())?;
                Ok(*name_of(entry, &Arc::new(charge)).told.expect("it was told right now"))
            }
            _ => Err(self.remote_host.unexpected()),
        }
    }

    /// Opens a file in this folder.
    pub(crate) fn open(&self, name: &OsStr, path: &Path) -> Result<OpenFile, Problem> {
        let file = self.remote_host.number();
        let ask = PeerRequest::Open { file, above: self.number, name: name.as_bytes().to_vec().into() };
        self.remote_host.file(file, self.remote_host.ask(&ask, path)?)
    }
}

impl Drop for RemoteFolder {
    fn drop(&mut self) {
        self.remote_host.give_back(PeerRequest::Leave(self.number));
    }
}

fn put_all(
    channel: &mut Channel,
    asking: &mut RequestTurns<()>,
    asks: &[PeerRequest],
) -> Result<(), NetFault> {
    asks.iter().try_for_each(|ask| channel.put_message(&encode(ask), asking.ask(())))
}

/// A message of what is answered next.
fn body(channel: &mut Channel, asking: &RequestTurns<()>) -> Result<Vec<u8>, NetFault> {
    let head = channel.receive_head()?;
    asking.handle_head(&head)?;
    channel.receive_body(head)
}

/// What was given back is answered with one message, whatever it says.
fn answered(channel: &mut Channel, asking: &mut RequestTurns<()>) -> Result<(), NetFault> {
    body(channel, asking)?;
    asking.handle_end();
    Ok(())
}

/// Attributes with their names as the system takes them.
pub(crate) fn named(attributes: Vec<Attribute>) -> Attributes {
    let named = |attribute: Attribute| {
        let name = CString::new(Vec::from(attribute.name)).ok()?;
        let is_readable = attribute.is_unreadable != Some(true);
        Some((name, is_readable.then(|| Vec::from(attribute.value))))
    };
    attributes.into_iter().filter_map(named).collect()
}

/// A name that holds what its listing takes.
fn name_of(entry: Entry, charge: &Arc<Charge>) -> Name {
    const EIO: i32 = 5;
    let meta = match (&entry.meta, entry.errno) {
        (Some(meta), None) => Ok(from_wire(meta)),
        (_, errno) => Err(Errno(errno.map_or(EIO, |errno| errno.0))),
    };
    let kind: Option<FileKind> = meta.ok().map(|meta| meta.kind);
    let told = ListedEntry {
        meta,
        points_to: entry.points_to.map(|to| OsString::from_vec(to.into())),
        attributes: entry.attributes.map(named),
        is_partial: entry.is_partial == Some(true),
        _charge: Some(Arc::clone(charge)),
    };
    Name { name: OsString::from_vec(entry.name.into()), kind, told: Some(Box::new(told)) }
}
