//! The list of names that a tree copy has committed, as bytes: a header, then one mark of 8 bytes for each file.
//!
//! A mark is a hash of everything that must still agree for the entry to count: the path in the tree, the target
//! (inode, size, times) and the source (size, time of change). A file that changed since, at either side, has another
//! mark. So a list of ten million files takes 80 MB, and a torn end costs one entry.
//!
//! The header tells where, for what and during which life of the system the marks were made: under any other they count
//! for nothing.
//!
//! Must not know: files, where the list is kept, which clock or hash of contents is in use.

use super::resume::fnv;

/// The first bytes of every list; the digit is the version.
const MAGIC: [u8; 8] = *b"pumpjob5";
/// Bytes before the first mark.
pub const HEADER_BYTES: usize = 160;

/// Facts about a list that are true or not, as bits of one number.
const IS_NEW: u64 = 1;
const LOSES_TIMES: u64 = 2;
const IS_SETTLED: u64 = 4;

/// A folder: the root of a source, or that of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RootId {
    /// Its number on its file system, which is given to another once it is gone.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not tell.
    pub born_ns: i128,
    /// Which file system it lies on, as far as that tells.
    pub file_system: u64,
}

/// What the list belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The source.
    pub source: RootId,
    /// On which host, if it is another.
    pub source_host: u64,
    /// The folder that the list lies in.
    pub target: RootId,
    /// During which life of both ends, and with which options, the marks were made.
    pub life: Life,
    /// The folder was made for this copy: without the list the same command would go below it.
    pub is_new: bool,
    /// Some of the copies that it tells of gave files no time of their source.
    pub loses_times: bool,
    /// All that its copies left in the folder is on stable storage: the last of them ended by itself, and its syncs
    /// went well. Programs that do not know this read no header at all, and doubt what changed since.
    pub is_settled: bool,
    /// A digest of the names that its copies dealt with; 0 for all, and where they dealt with different ones. Only a
    /// copy of as many puts right what an earlier one left.
    pub selection: u64,
    /// When the list was begun, by the clock of the target's file system: what did not change since is not of this
    /// copy.
    pub begun_ns: i128,
}

/// What must be the same for marks to count at all: where it differs, what was written may be lost, or is not what is
/// asked for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// The boot of the system that writes; zeros where it does not tell.
    pub boot: [u8; 16],
    /// The target's mount, by a number that no later one gets; 0 where the system does not tell.
    pub mount: u64,
    /// The source's mount, and the boot of its host if that is another.
    pub source: u64,
    /// A digest of the options that decide what is kept and what is promised.
    pub options: u64,
}

/// The part of a mark that a path makes: FNV-1a of 64 bits (Fowler, Noll, Vo) over its bytes, which a folder has ready
/// for the names in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSum(u64);

impl PathSum {
    /// That of the root of a tree.
    pub const ROOT: PathSum = PathSum(0xcbf2_9ce4_8422_2325);

    /// That of a name in it.
    pub fn name(self, name: &[u8]) -> PathSum {
        PathSum(name.iter().fold(self.0, step))
    }

    /// That of a folder in it, for the names below.
    pub fn folder(self, name: &[u8]) -> PathSum {
        self.name(name).name(b"/")
    }
}

/// One byte of FNV-1a.
fn step(hash: u64, byte: &u8) -> u64 {
    (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// What must agree for an entry to count. Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Path from the root of the tree.
    pub path: PathSum,
    /// The target's inode.
    pub inode: u64,
    /// Length of the target in bytes.
    pub size_bytes: u64,
    /// Last change of the target's content.
    pub mtime_ns: i128,
    /// Last change of the target's attributes.
    pub ctime_ns: i128,
    /// Length of the source in bytes.
    pub source_size_bytes: u64,
    /// Last change of the source's content.
    pub source_mtime_ns: i128,
    /// Last change of the source's attributes: content may change in size and time of change alike.
    pub source_ctime_ns: i128,
}

impl RootId {
    /// Whether both are one folder. What a file system says of itself may change when it is mounted again, and is
    /// asked only where nobody knows when the folder was made.
    fn is(&self, other: &RootId) -> bool {
        let same = (self.inode, self.born_ns) == (other.inode, other.born_ns);
        same && (self.born_ns != 0 || self.file_system == other.file_system)
    }
}

impl Header {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let Header {
            source,
            source_host,
            target,
            life,
            is_new,
            loses_times,
            is_settled,
            selection,
            begun_ns,
        } = self;
        let flag = |bit: u64, is_set: bool| if is_set { bit } else { 0 };
        let flags = flag(IS_NEW, *is_new) | flag(LOSES_TIMES, *loses_times);
        let flags = flags | flag(IS_SETTLED, *is_settled);
        let mut bytes = Vec::from(MAGIC);
        for root in [source, target] {
            bytes.extend(root.inode.to_le_bytes());
            bytes.extend(root.born_ns.to_le_bytes());
            bytes.extend(root.file_system.to_le_bytes());
        }
        bytes.extend(life.boot);
        for number in [*source_host, life.mount, life.source, life.options, flags, *selection] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(begun_ns.to_le_bytes());
        bytes.extend(fnv(1, &bytes).to_le_bytes());
        bytes.try_into().expect("each field has its place")
    }

    /// Reads a header; `None` for what is none, or damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let number = |at: usize| bytes[at..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        let root = |at: usize| {
            let born_ns = bytes[at + 8..].first_chunk().map(|chunk| i128::from_le_bytes(*chunk))?;
            Some(RootId { inode: number(at)?, born_ns, file_system: number(at + 24)? })
        };
        let life = Life {
            boot: *bytes[72..].first_chunk()?,
            mount: number(96)?,
            source: number(104)?,
            options: number(112)?,
        };
        let (source, target, source_host) = (root(8)?, root(40)?, number(88)?);
        let begun_ns = bytes[136..].first_chunk().map(|chunk| i128::from_le_bytes(*chunk))?;
        let (flags, selection) = (number(120)?, number(128)?);
        let (is_new, loses_times) = (flags & IS_NEW != 0, flags & LOSES_TIMES != 0);
        let is_settled = flags & IS_SETTLED != 0;
        let header = Header {
            source,
            source_host,
            target,
            life,
            is_new,
            loses_times,
            is_settled,
            selection,
            begun_ns,
        };
        (header.encode() == *bytes).then_some(header)
    }

    /// Whether both are of the same source.
    pub fn is_of_source(&self, other: &Header) -> bool {
        self.source_host == other.source_host && self.source.is(&other.source)
    }

    /// Whether both lie in the same folder.
    pub fn is_of_target(&self, other: &Header) -> bool {
        self.target.is(&other.target)
    }

    /// Whether marks made under the one count under the other.
    pub fn counts_for(&self, other: &Header) -> bool {
        let is_known = self.life.boot != [0; 16];
        let &Header { source, source_host, target, life, .. } = other;
        is_known && Header { source, source_host, target, life, ..*self } == *self
    }

    /// The same header over marks that never count.
    pub fn without_marks(&self) -> Header {
        Header { life: Life { boot: [0; 16], ..self.life }, ..*self }
    }

    /// The header of a list that was left by one copy and is gone on with by another. Of a settled one nothing is left
    /// to put right: it tells of the other copy alone, except that the folder was made for both.
    pub fn joined(&self, other: &Header) -> Header {
        if self.is_settled {
            return Header { is_new: self.is_new, is_settled: false, ..*other };
        }
        Header {
            loses_times: self.loses_times || other.loses_times,
            selection: if self.selection == other.selection { self.selection } else { 0 },
            ..*self
        }
    }

    /// Whether a copy of the names with this digest puts right whatever the copies of this list left.
    pub fn is_covered_by(&self, selection: u64) -> bool {
        selection == 0 || selection == self.selection
    }
}

/// Whether bytes begin as a list of any version does.
pub fn is_list(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC[..MAGIC.len() - 1])
}

/// Whether bytes may be the beginning of a list whose writing was cut.
pub fn is_torn(bytes: &[u8]) -> bool {
    let common = bytes.len().min(MAGIC.len());
    bytes.len() < HEADER_BYTES && bytes[..common] == MAGIC[..common]
}

/// The marks behind a header. A torn last one is left out.
pub fn marks(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let behind = bytes.get(HEADER_BYTES..).unwrap_or_default();
    behind.chunks_exact(8).filter_map(|chunk| chunk.first_chunk()).map(|chunk| u64::from_le_bytes(*chunk))
}

impl JournalEntry {
    /// The entry's mark: FNV-1a over all fields, mixed once more (the finisher of MurmurHash3, Appleby) because FNV
    /// leaves the last bytes in the low bits.
    pub fn mark(&self) -> u64 {
        let mut hash = self.path.0;
        for number in [self.inode, self.size_bytes, self.source_size_bytes] {
            hash = number.to_le_bytes().iter().fold(hash, step);
        }
        for time in [self.mtime_ns, self.ctime_ns, self.source_mtime_ns, self.source_ctime_ns] {
            hash = time.to_le_bytes().iter().fold(hash, step);
        }
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^ hash >> 33
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        source: RootId { inode: 1, born_ns: -2, file_system: 3 },
        source_host: 4,
        target: RootId { inode: 5, born_ns: 6, file_system: 7 },
        life: Life { boot: [3; 16], mount: 8, source: 9, options: 10 },
        is_new: true,
        loses_times: false,
        is_settled: false,
        selection: 12,
        begun_ns: -11,
    };

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for header in [
            HEADER,
            Header { is_new: false, loses_times: true, ..HEADER },
            Header { is_settled: true, ..HEADER },
        ] {
            assert_eq!(Header::decode(&header.encode()), Some(header));
        }
        let mut other = HEADER.encode();
        other[7] = b'3';
        assert_eq!(Header::decode(&other), None, "another version");
        assert!(is_list(&other) && is_list(&HEADER.encode()) && !is_list(b"a note of somebody"));
        assert_eq!(Header::decode(&HEADER.encode()[..HEADER_BYTES - 1]), None, "torn");
        assert_eq!(Header::decode(b""), None);
        assert!(is_torn(b"") && is_torn(b"pump") && is_torn(&HEADER.encode()[..HEADER_BYTES - 1]));
        assert!(!is_torn(b"a note of somebody") && !is_torn(b"x") && !is_torn(&HEADER.encode()));
    }

    #[test]
    fn damage_anywhere_makes_it_none() {
        for at in 0..HEADER_BYTES {
            let mut other = HEADER.encode();
            other[at] ^= 0x10;
            assert_eq!(Header::decode(&other), None, "{at}");
        }
    }

    #[test]
    fn marks_count_where_and_for_what_they_were_made() {
        let (source, target, life) = (HEADER.source, HEADER.target, HEADER.life);
        let others = [
            Header { source: RootId { born_ns: 0, ..source }, ..HEADER },
            Header { source: RootId { file_system: 0, ..source }, ..HEADER },
            Header { source_host: 0, ..HEADER },
            Header { target: RootId { inode: 0, ..target }, ..HEADER },
            Header { target: RootId { born_ns: 0, ..target }, ..HEADER },
            Header { target: RootId { file_system: 0, ..target }, ..HEADER },
            Header { life: Life { boot: [4; 16], ..life }, ..HEADER },
            Header { life: Life { mount: 0, ..life }, ..HEADER },
            Header { life: Life { source: 0, ..life }, ..HEADER },
            Header { life: Life { options: 0, ..life }, ..HEADER },
        ];
        assert!(others.iter().all(|other| !other.counts_for(&HEADER) && !HEADER.counts_for(other)));
        assert!(HEADER.counts_for(&HEADER) && Header { is_new: false, ..HEADER }.counts_for(&HEADER));
        assert!(HEADER.counts_for(&Header { selection: 0, loses_times: true, ..HEADER }));
        assert!(!HEADER.without_marks().counts_for(&HEADER.without_marks()));
        let unknown = Header { life: Life { boot: [0; 16], ..life }, ..HEADER };
        assert!(!unknown.counts_for(&unknown), "a system that does not tell its boot");
    }

    #[test]
    fn only_a_copy_of_as_many_names_puts_right_what_others_left() {
        let of = |selection| Header { selection, ..HEADER };
        for (first, second, then, covers) in [
            (0, 0, 0, true),
            (1, 1, 1, true),
            (1, 1, 0, true),
            (0, 1, 1, false),
            (1, 2, 2, false),
            (1, 2, 0, true),
        ] {
            assert_eq!(of(first).joined(&of(second)).is_covered_by(then), covers, "{first} {second} {then}");
        }
        assert!(of(0).joined(&Header { loses_times: true, ..of(0) }).loses_times);
    }

    #[test]
    fn of_a_settled_list_nothing_is_left_to_put_right() {
        let settled = Header { is_settled: true, loses_times: true, ..HEADER };
        let next = Header { is_new: false, selection: 1, begun_ns: 20, ..HEADER };
        let joined = settled.joined(&next);
        assert_eq!(joined, Header { is_new: true, ..next });
        assert!(joined.is_covered_by(1) && settled.counts_for(&next), "its marks count");
    }

    #[test]
    fn a_torn_mark_is_left_out() {
        let mut bytes = HEADER.encode().to_vec();
        for mark in [1u64, u64::MAX] {
            bytes.extend(mark.to_le_bytes());
        }
        for (cut, expected) in [(0, vec![1, u64::MAX]), (1, vec![1]), (8, vec![1]), (9, vec![]), (30, vec![])]
        {
            assert_eq!(marks(&bytes[..bytes.len() - cut]).collect::<Vec<_>>(), expected, "{cut}");
        }
    }

    #[test]
    fn every_field_counts() {
        let entry = JournalEntry {
            path: PathSum::ROOT.folder(b"a").name(b"b"),
            inode: 1,
            size_bytes: 2,
            mtime_ns: 3,
            ctime_ns: 4,
            source_size_bytes: 5,
            source_mtime_ns: -6,
            source_ctime_ns: 7,
        };
        let others = [
            JournalEntry { path: PathSum::ROOT.folder(b"a").name(b"c"), ..entry },
            JournalEntry { path: PathSum::ROOT.name(b"ab"), ..entry },
            JournalEntry { inode: 2, ..entry },
            JournalEntry { size_bytes: 3, ..entry },
            JournalEntry { mtime_ns: 4, ..entry },
            JournalEntry { ctime_ns: 0, ..entry },
            JournalEntry { source_size_bytes: 2, ..entry },
            JournalEntry { source_mtime_ns: 6, ..entry },
            JournalEntry { source_ctime_ns: 8, ..entry },
        ];
        assert!(others.iter().all(|other| other.mark() != entry.mark()));
        assert_eq!(entry.mark(), entry.mark());
    }
}
