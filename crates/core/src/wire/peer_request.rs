//! Requests of the side that writes to the side that reads: names, attributes, and blocks of files.
//!
//! Each asking has a number, and answers come in the order of the asking. Folders and files that are opened get a
//! number from who asks.
//!
//! Must not know: what the answers are used for.

pub mod credit;
mod fault;
pub mod walk_ahead;

use minicbor::bytes::ByteVec;
use minicbor::decode::{Decoder, Error};
use minicbor::{Decode, Encode};

use super::attributes::{Attribute, Entry, OwnerName, WireMeta};
use super::bounds::lists;
use super::bounds::{ErrorNumber, FileSize};
use super::frame::DIGEST_BYTES;

/// Blocks that are requested together.
pub const READ_ON_MAX: u64 = 4096;

/// A request to the peer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum PeerRequest {
    /// What stands at the place number so-and-so of the session; links are followed, unless they stay links. Answer:
    /// [`Answer::Meta`], or [`Answer::Stream`].
    #[n(0)]
    Look(#[n(0)] u32),
    /// Opens the folder of a place. Answer: [`Answer::Folder`].
    #[n(1)]
    Root {
        /// The number that it gets.
        #[n(0)]
        folder: u64,
        /// Which of the session's places.
        #[n(1)]
        place: u32,
    },
    /// Opens a folder in a folder. Answer: [`Answer::Folder`].
    #[n(2)]
    Enter {
        /// The number that it gets.
        #[n(0)]
        folder: u64,
        /// The folder that it lies in.
        #[n(1)]
        above: u64,
        /// Its name there.
        #[n(2)]
        name: ByteVec,
    },
    /// The next names of a folder, and what they are. Answer: [`Answer::Names`].
    #[n(3)]
    List {
        /// Which folder.
        #[n(0)]
        folder: u64,
        /// Where the last answer ended; 0 for the first names.
        #[n(1)]
        cookie: u64,
        /// Names of regular files come with their attributes, as far as those fit into a listing.
        #[n(2)]
        with_attributes: Option<bool>,
    },
    /// The folder is not needed any more. Answer: [`Answer::Done`].
    #[n(4)]
    Leave(#[n(0)] u64),
    /// Opens the file of a place. Answer: [`Answer::File`], or [`Answer::Stream`].
    #[n(5)]
    OpenPlace {
        /// The number that it gets.
        #[n(0)]
        file: u64,
        /// Which of the session's places.
        #[n(1)]
        place: u32,
    },
    /// Opens a file in a folder. Answer: [`Answer::File`].
    #[n(6)]
    Open {
        /// The number that it gets.
        #[n(0)]
        file: u64,
        /// The folder that it lies in.
        #[n(1)]
        above: u64,
        /// Its name there.
        #[n(2)]
        name: ByteVec,
    },
    /// What an open file is now, and whether its name still means it. Answer: [`Answer::Meta`].
    #[n(7)]
    LookAgain(#[n(0)] u64),
    /// The file is not needed any more. Answer: [`Answer::Done`].
    #[n(8)]
    Close(#[n(0)] u64),
    /// A whole small file. Answer: [`Answer::File`], then the block.
    #[n(9)]
    Fetch {
        /// The folder that it lies in.
        #[n(0)]
        above: u64,
        /// Its name there.
        #[n(1)]
        name: ByteVec,
        /// The bytes that are expected; if there are others the block is omitted, unless `len_max` admits them. With 0 bytes
        /// it may be requested over a connection for names, too: an older peer answers with a fault.
        #[n(2)]
        len: u32,
        /// Instead of the block comes its digest: [`Answer::Sum`].
        #[n(3)]
        sum: Option<bool>,
        /// A file of another length than expected, and no longer than this, is sent as it is by now ([`Answer::File`],
        /// `block_len`). An older peer omits the block.
        #[n(4)]
        len_max: Option<u32>,
    },
    /// What a name in a folder is, links not followed. Answer: [`Answer::Names`] with this one. Of an empty name: what
    /// the folder itself is now. Answer: [`Answer::Meta`].
    #[n(11)]
    LookAt {
        /// The folder that it lies in.
        #[n(0)]
        above: u64,
        /// Its name there.
        #[n(1)]
        name: ByteVec,
        /// A regular file comes with its attributes.
        #[n(2)]
        with_attributes: Option<bool>,
    },
    /// A block of an open file. Answer: the block, of a pipe shorter if it ends in it; or [`Answer::End`].
    #[n(10)]
    Read {
        /// Which file.
        #[n(0)]
        file: u64,
        /// Offset in bytes.
        #[n(1)]
        at: FileSize,
        /// Bytes.
        #[n(2)]
        len: u32,
        /// Instead of the block of a file comes its digest: [`Answer::Sum`].
        #[n(3)]
        sum: Option<bool>,
    },
    /// Blocks of an open file, one behind the other, each as [`PeerRequest::Read`] would request it: the first has the
    /// number of this request, each other one the next number. The last may be shorter.
    #[n(15)]
    ReadOn {
        /// Which file.
        #[n(0)]
        file: u64,
        /// Offset of the first in bytes.
        #[n(1)]
        at: FileSize,
        /// Bytes of all.
        #[n(2)]
        len: FileSize,
        /// Bytes of one; of all no more than [`READ_ON_MAX`] blocks.
        #[n(3)]
        block_len: u32,
        /// Instead of the blocks come their digests: [`Answer::Sum`].
        #[n(4)]
        sum: Option<bool>,
    },
    /// The only request of its connection: what a walk of the session's places meets is sent ([`walk_ahead`]), as far
    /// as there is credit.
    #[n(12)]
    Ahead {
        /// Bytes of frames that may be sent.
        #[n(0)]
        credit: u64,
        /// Files up to this length are sent; 0 for none.
        #[n(1)]
        file_bytes_max: u32,
        /// Names of regular files come with their attributes.
        #[n(2)]
        with_attributes: Option<bool>,
        /// Of files come digests ([`Answer::Sum`]) instead of blocks.
        #[n(3)]
        sums: Option<bool>,
        /// Empty files are sent, too, where others are. An older peer leaves them to requests.
        #[n(4)]
        empty_files: Option<bool>,
        /// The places are opened, and their names are left to requests. An older peer sends the names.
        #[n(5)]
        places_alone: Option<bool>,
        /// Before the block of a place's file comes what the file is by then ([`Answer::Meta`]). An older peer leaves that
        /// to a request.
        #[n(6)]
        looks: Option<bool>,
        /// Files of a folder are sent as they are by now, if no longer than `file_bytes_max`
        /// ([`PeerRequest::Fetch`], `len_max`). An older peer omits those whose length is another than it listed.
        #[n(7)]
        any_length: Option<bool>,
    },
    /// There is room for so many more bytes of frames. No answer.
    #[n(13)]
    Credit(#[n(0)] u64),
    /// What has these numbers is not wanted, or not any more, nor what lies below it. Answer: [`Answer::Done`] under
    /// each number that stays without another.
    #[n(14)]
    Unwanted(
        #[n(0)]
        #[cbor(decode_with = "lists::unwanted")]
        Vec<u64>,
    ),
}

/// Whether an honest peer requests these bytes of a file: something that is there, and that begins where chunks of
/// BLAKE3 do.
pub fn is_wanted(at: u64, len: u32, size_bytes: u64) -> bool {
    let ends = at.checked_add(len.into());
    len > 0 && at.is_multiple_of(1024) && ends.is_some_and(|end| end <= size_bytes)
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    /// It is done.
    #[n(0)]
    Done,
    /// It could not be done.
    #[n(1)]
    Fault(#[n(0)] Fault),
    /// What stands there.
    #[n(2)]
    Meta {
        /// What it is.
        #[n(0)]
        meta: WireMeta,
        /// Of an open file: what its name means now, if anything. Of a place that is a link and stays one: the same,
        /// with device and inode of what it leads to, if those may be told.
        #[n(1)]
        named: Option<WireMeta>,
        /// Of a place: it is a temporary file that a pump uses or can resume, or its journal.
        #[n(2)]
        is_partial: Option<bool>,
        /// What users and groups in it are called, those that were not told on this connection before.
        #[n(3)]
        #[cbor(decode_with = "lists::owners", nil = "lists::none")]
        owners: Option<Vec<OwnerName>>,
        /// Of an open file: its times were so new when it was opened, by the clock of its own host, that a change right
        /// after that would not show.
        #[n(4)]
        is_young: Option<bool>,
    },
    /// A folder was opened.
    #[n(3)]
    Folder {
        /// What it is.
        #[n(0)]
        meta: WireMeta,
        /// Its extended attributes and access control lists.
        #[n(1)]
        #[cbor(decode_with = "lists::attributes")]
        attributes: Vec<Attribute>,
        /// The kernel makes its files up as they are read.
        #[n(2)]
        made_up: bool,
        /// What users and groups in it are called, those that were not told on this connection before.
        #[n(3)]
        #[cbor(decode_with = "lists::owners", nil = "lists::none")]
        owners: Option<Vec<OwnerName>>,
        /// Its times were so new, by the clock of its own host, that a name right after that would not show.
        #[n(4)]
        is_young: Option<bool>,
    },
    /// Names of a folder; none at its end.
    #[n(4)]
    Names {
        /// The names.
        #[n(0)]
        #[cbor(decode_with = "lists::names")]
        entries: Vec<Entry>,
        /// Where the next ones begin.
        #[n(1)]
        cookie: u64,
        /// More of this answer follow: they did not fit into one message.
        #[n(2)]
        more: bool,
        /// What users and groups in it are called, those that were not told on this connection before.
        #[n(3)]
        #[cbor(decode_with = "lists::owners", nil = "lists::none")]
        owners: Option<Vec<OwnerName>>,
    },
    /// A file was opened.
    #[n(5)]
    File {
        /// What it is.
        #[n(0)]
        meta: WireMeta,
        /// Its extended attributes and access control lists.
        #[n(1)]
        #[cbor(decode_with = "lists::attributes")]
        attributes: Vec<Attribute>,
        /// Where it holds data; missing where only its end tells.
        #[n(2)]
        #[cbor(decode_with = "lists::ranges", nil = "lists::none")]
        ranges: Option<Vec<Range>>,
        /// What users and groups in it are called, those that were not told on this connection before.
        #[n(3)]
        #[cbor(decode_with = "lists::owners", nil = "lists::none")]
        owners: Option<Vec<OwnerName>>,
        /// Its one block follows without a request, under this number.
        #[n(4)]
        follows: Option<u64>,
        /// Of a file that stays open: whether its times were so new when it was opened, by the clock of its own host,
        /// that a change right after that would not show. A side that is older does not tell.
        #[n(5)]
        is_young: Option<bool>,
        /// Of a small file that is not as long as expected: the length of its block, which follows unless it is 0.
        #[n(6)]
        block_len: Option<u32>,
    },
    /// A source without a name and attributes stands there: a pipe, or null.
    #[n(6)]
    Stream {
        /// Its length in bytes; missing where only its end tells. A pipe is read in its own order, once.
        #[n(0)]
        bytes: Option<FileSize>,
    },
    /// Instead of a block: the pipe has ended.
    #[n(7)]
    End,
    /// Instead of a block: the digest that would come with it.
    #[n(8)]
    Sum(
        #[n(0)]
        #[cbor(with = "minicbor::bytes")]
        [u8; DIGEST_BYTES as usize],
    ),
}

impl Answer {
    /// What something is, and nothing besides.
    pub fn meta(meta: WireMeta) -> Answer {
        Answer::Meta { meta, named: None, is_partial: None, owners: None, is_young: None }
    }

    /// An open folder of a disk.
    pub fn folder(meta: WireMeta, attributes: Vec<Attribute>) -> Answer {
        Answer::Folder { meta, attributes, made_up: false, owners: None, is_young: None }
    }

    /// A small file, whose block follows: as long as expected, or as reported here.
    pub fn file(meta: WireMeta, attributes: Vec<Attribute>, block_len: Option<u32>) -> Answer {
        let (ranges, owners, follows, is_young) = (None, None, None, None);
        Answer::File { meta, attributes, ranges, owners, follows, is_young, block_len }
    }

    /// Of a small file that is not as long as expected, the length of its block.
    pub fn block_len(&self) -> Option<u32> {
        if let Answer::File { block_len, .. } = self { *block_len } else { None }
    }
}

/// Bytes of a file that hold data: the first is not behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode)]
pub struct Range {
    /// Offset of the first.
    #[n(0)]
    pub start: FileSize,
    /// Offset behind the last.
    #[n(1)]
    pub end: FileSize,
}

/// A range as it comes.
#[derive(Decode)]
struct RangeEnds {
    #[n(0)]
    start: FileSize,
    #[n(1)]
    end: FileSize,
}

impl<'bytes, C> Decode<'bytes, C> for Range {
    fn decode(decoder: &mut Decoder<'bytes>, context: &mut C) -> Result<Self, Error> {
        match RangeEnds::decode(decoder, context)? {
            RangeEnds { start, end } if start <= end => Ok(Range { start, end }),
            _ => Err(Error::message("a range ends before it begins")),
        }
    }
}

/// Why something could not be done at the other side.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Fault {
    /// What was tried, such as `open`.
    #[n(0)]
    pub operation: String,
    /// The Linux error number, if the system said one.
    #[n(1)]
    pub errno: Option<ErrorNumber>,
    /// What else is to be said.
    #[n(2)]
    pub words: Option<String>,
    /// The class of the problem, where no number tells it; a side that knows none takes it for a change.
    #[n(3)]
    pub class: Option<String>,
}
