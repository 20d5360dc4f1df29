//! A file of the other side, as far as it was opened: read by its number, as a stream, or whole with one request.
//!
//! Must not know: how requests are sent, what is done with names.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use datapump_core::Block;
use datapump_core::wire::peer_request::walk_ahead::number_of_root;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_files::disk::Meta;

use super::RemoteFolder;
use crate::listed::Coming;
use crate::net::folder::convert::from_wire;
use crate::net::folder::remote_host::read_ahead::Follow;
use crate::net::folder::remote_host::{RemoteHost, with_system_names};
use crate::open::held::Attributes;
use crate::problem::Problem;
use crate::run::block_host::BlockHost;
use crate::setup::budget::Charge;

/// A file at the other side.
#[derive(Debug)]
pub(crate) enum RemoteFile {
    /// It was opened.
    Open(OpenFile),
    /// A small one in a folder, that is opened, read and closed in one asking.
    Small(SmallFile),
    /// A pipe or null: it has no name and no attributes.
    Stream(StreamFile),
}

#[derive(Debug)]
pub(crate) struct StreamFile {
    pub(in crate::net::folder::remote_host) number: u64,
    /// Its length; `None` until its end.
    pub(crate) bytes: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(in crate::net::folder::remote_host) remote_host: Arc<RemoteHost>,
    pub(crate) number: u64,
    pub(crate) meta: Meta,
    pub(crate) attributes: Attributes,
    /// Where it holds data; `None` where only its end tells.
    pub(crate) ranges: Option<Vec<(u64, u64)>>,
    /// Its one block, where that comes before it is requested.
    pub(in crate::net::folder::remote_host) follows: Option<Arc<dyn Coming>>,
    /// Whether its times could hide a change when it was opened; `None`: the other side is too old to tell.
    pub(crate) is_young: Option<bool>,
    pub(in crate::net::folder::remote_host) looks: Mutex<Looks>,
    /// By this it is opened again.
    pub(in crate::net::folder::remote_host) opened_as: OpenedAs,
    pub(in crate::net::folder::remote_host) _charge: Charge,
}

/// Where a file was opened.
#[derive(Clone, Debug)]
pub(in crate::net::folder::remote_host) enum OpenedAs {
    Place(u32),
    Name(Arc<RemoteFolder>, OsString),
}

/// What a file is, and what its name means. Whether its times, as they were when it was opened, could hide a change.
type Look = (Meta, Option<Meta>, bool);
/// What was seen of a file behind its blocks, so that it need not be asked for.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// Bytes of blocks behind which it will be looked at, until it was.
    open_bytes: u64,
    last: Option<Box<Look>>,
    /// Two looks told different things, or blocks come with no look behind them.
    pub(super) is_doubtful: bool,
}

impl Looks {
    fn seen(&self) -> Option<Look> {
        let is_good = !self.is_doubtful && self.open_bytes == 0;
        self.last.as_deref().copied().filter(|_| is_good)
    }
}

/// See [`RemoteFile::Small`].
#[derive(Debug)]
pub(crate) struct SmallFile {
    pub(crate) folder: Arc<RemoteFolder>,
    pub(crate) name: OsString,
    /// It comes before it is requested.
    pub(crate) follows: Option<Arc<dyn Coming>>,
    /// It is taken as it is by now, whatever was listed, if it is no longer than this; with 0 it must be as it was listed.
    pub(crate) len_max: u32,
    /// What came with its block.
    pub(crate) reported: OnceLock<(Meta, Attributes)>,
    pub(crate) charge: OnceLock<Charge>,
}

impl SmallFile {
    pub(super) fn new(folder: Arc<RemoteFolder>, name: OsString) -> SmallFile {
        let (reported, charge) = Default::default();
        SmallFile { folder, name, follows: None, len_max: 0, reported, charge }
    }
}

impl RemoteFolder {
    /// Opens a file in this folder.
    pub(crate) fn open(self: &Arc<RemoteFolder>, name: &OsStr, path: &Path) -> Result<OpenFile, Problem> {
        if let Some(early) = self.take_open(name) {
            return Ok(early);
        }
        let file = self.remote_host.number();
        let opened_as = OpenedAs::Name(Arc::clone(self), name.to_owned());
        let (answer, charge) = self.remote_host.request_one(&self.open_request(file, name), path)?;
        self.remote_host.open_file_from(file, answer, charge, opened_as)
    }
}

impl RemoteHost {
    /// Opens the file of a place.
    pub(crate) fn open_place(self: &Arc<RemoteHost>, place: u32, path: &Path) -> Result<RemoteFile, Problem> {
        let ask = |file| PeerRequest::OpenPlace { file, place };
        match self.take_or_request(Some(number_of_root(place)), ask, path)? {
            (number, Answer::Stream { bytes }, _) => {
                let bytes = bytes.map(|bytes| bytes.0);
                Ok(RemoteFile::Stream(StreamFile { number, bytes }))
            }
            (number, answer, charge) => {
                self.open_file_from(number, answer, charge, OpenedAs::Place(place)).map(RemoteFile::Open)
            }
        }
    }

    /// The open file of an answer.
    ///
    /// Errors: it is another answer, or the ranges in it make no sense.
    pub(in crate::net::folder::remote_host) fn open_file_from(
        self: &Arc<RemoteHost>,
        number: u64,
        answer: Answer,
        _charge: Charge,
        opened_as: OpenedAs,
    ) -> Result<OpenFile, Problem> {
        match answer {
            Answer::File { meta, attributes, ranges, follows, is_young, .. } => {
                let ranges =
                    ranges.map(|ranges| ranges.iter().map(|range| (range.start.0, range.end.0)).collect());
                let (meta, attributes) = (from_wire(&meta), with_system_names(attributes));
                let follows = follows.map(|number| Follow::coming(self, number));
                let remote_host = Arc::clone(self);
                let looks = Mutex::default();
                let file = OpenFile {
                    remote_host,
                    number,
                    meta,
                    attributes,
                    ranges,
                    follows,
                    is_young,
                    looks,
                    opened_as,
                    _charge,
                };
                file.is_sane().then_some(file).ok_or_else(|| self.unexpected())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Opens the file of a place by a request, whatever comes ahead.
    pub(in crate::net::folder::remote_host) fn open_place_again(
        self: &Arc<RemoteHost>,
        place: u32,
        path: &Path,
    ) -> Result<OpenFile, Problem> {
        let file = self.number();
        let (answer, charge) = self.request_one(&PeerRequest::OpenPlace { file, place }, path)?;
        self.open_file_from(file, answer, charge, OpenedAs::Place(place))
    }
}

impl OpenFile {
    /// Whether the ranges that the other side gave lie in the file, one behind the other, at whole chunks of its hash.
    pub(in crate::net::folder::remote_host) fn is_sane(&self) -> bool {
        let ranges = self.ranges.as_deref().unwrap_or_default();
        let ordered = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        // BLAKE3's chunks: blocks begin at their multiples.
        let size = self.meta.size_bytes;
        let is_whole = |at: u64| at.is_multiple_of(1024) || at == size;
        ordered
            && ranges
                .iter()
                .all(|&(start, end)| start <= end && end <= size && is_whole(start) && is_whole(end))
    }

    /// Whether all that it holds is in this block.
    pub(super) fn is_all_in(&self, Block { at, len, .. }: Block) -> bool {
        let end = at + u64::from(len);
        let is_in = |ranges: &[(u64, u64)]| ranges.iter().all(|range| at <= range.0 && range.1 <= end);
        (at == 0 && end == self.meta.size_bytes) || self.ranges.as_deref().is_some_and(is_in)
    }

    pub(super) fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it can be read again for digests of its parts. A side that tells whether it is young gives them, too.
    pub(crate) fn tells_sums(&self) -> bool {
        self.ranges.is_some() && (self.is_young.is_some() || self.remote_host.tells_sums())
    }

    /// It will be looked at behind so many bytes of blocks.
    pub(crate) fn expect_look(&self, bytes: u64) {
        self.looks().open_bytes += bytes;
    }

    /// What it was when these bytes were read, and what its name meant.
    pub(crate) fn handle_look(&self, meta: Meta, named: Option<Meta>, is_young: bool, bytes: u64) {
        let at_rest = |meta: Meta| Meta { atime_ns: 0, ..meta };
        let (look, mut looks) = ((at_rest(meta), named.map(at_rest), is_young), self.looks());
        looks.open_bytes = looks.open_bytes.saturating_sub(bytes);
        looks.is_doubtful |= looks.last.as_deref().is_some_and(|last| *last != look);
        looks.last = Some(Box::new(look));
    }

    /// What it is behind its blocks, and what its name means then: as it was seen, if that was behind all of them and
    /// always the same, else as it is now.
    pub(crate) fn look_again(&self, path: &Path) -> Result<Look, Problem> {
        if let Some(look) = self.looks().seen() {
            return Ok(look);
        }
        match self.remote_host.request_one(&PeerRequest::LookAgain(self.number), path)?.0 {
            Answer::Meta { meta, named, is_young, .. } => {
                Ok((from_wire(&meta), named.as_ref().map(from_wire), is_young == Some(true)))
            }
            _ => Err(self.remote_host.unexpected()),
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.remote_host.give_back(PeerRequest::Close(self.number));
    }
}
