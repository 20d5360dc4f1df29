//! The list of what a tree copy has committed, as bytes: a header, then one mark of 8 bytes for each file.
//!
//! A mark is a hash of everything that must still agree for the entry to count: the path in the tree, the target
//! (inode, size, times) and the source (size, time of change). A file that changed since, at either side, has another
//! mark. So a list of ten million files takes 80 MB, and a torn end costs one entry.
//!
//! Must not know: files, where the list is kept, which clock or hash of contents is in use.

/// The first bytes of every list; the digit is the version.
const MAGIC: [u8; 8] = *b"pumpjob2";
/// Bytes before the first mark.
pub const HEADER_BYTES: usize = 48;

/// What the list belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Device and inode of the source's root.
    pub source: (u64, u64),
    /// The boot of the system during which it was written. After another, what was not synced may be lost.
    pub boot: [u8; 16],
    /// The folder was made for this copy: without the list the same command would go below it.
    pub is_new: bool,
}

/// What must agree for an entry to count. Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'path> {
    /// Path from the root of the tree.
    pub path: &'path [u8],
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

impl Header {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.source.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.source.1.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.boot);
        bytes[40] = self.is_new.into();
        bytes
    }

    /// Reads a header; `None` for what is none, or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let number = |at: usize| bytes[at..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        let boot = *bytes[24..].first_chunk()?;
        let [is_new @ (0 | 1), 0, 0, 0, 0, 0, 0, 0] = bytes[40..] else { return None };
        let header = Header { source: (number(8)?, number(16)?), boot, is_new: is_new == 1 };
        bytes.starts_with(&MAGIC).then_some(header)
    }
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

impl Entry<'_> {
    /// The entry's mark: FNV-1a of 64 bits (Fowler, Noll, Vo) over all fields, mixed once more (the finisher of
    /// MurmurHash3, Appleby) because FNV leaves the last bytes in the low bits.
    pub fn mark(&self) -> u64 {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let mut hash = self.path.iter().fold(0xcbf2_9ce4_8422_2325, step);
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

    const HEADER: Header = Header { source: (7, 9), boot: [3; 16], is_new: true };

    #[test]
    fn a_header_is_read_as_it_was_written() {
        assert_eq!(Header::decode(&HEADER.encode()), Some(HEADER));
        let mut other = HEADER.encode();
        other[7] = b'9';
        assert_eq!(Header::decode(&other), None, "another version");
        assert_eq!(Header::decode(&HEADER.encode()[..HEADER_BYTES - 1]), None, "torn");
        assert_eq!(Header::decode(b""), None);
        assert!(is_torn(b"") && is_torn(b"pump") && is_torn(&HEADER.encode()[..HEADER_BYTES - 1]));
        assert!(!is_torn(b"a note of somebody") && !is_torn(b"x") && !is_torn(&HEADER.encode()));
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
        let entry = Entry {
            path: b"a/b",
            inode: 1,
            size_bytes: 2,
            mtime_ns: 3,
            ctime_ns: 4,
            source_size_bytes: 5,
            source_mtime_ns: -6,
            source_ctime_ns: 7,
        };
        let others = [
            Entry { path: b"a/c", ..entry },
            Entry { inode: 2, ..entry },
            Entry { size_bytes: 3, ..entry },
            Entry { mtime_ns: 4, ..entry },
            Entry { ctime_ns: 0, ..entry },
            Entry { source_size_bytes: 2, ..entry },
            Entry { source_mtime_ns: 6, ..entry },
            Entry { source_ctime_ns: 8, ..entry },
        ];
        assert!(others.iter().all(|other| other.mark() != entry.mark()));
        assert_eq!(entry.mark(), entry.mark());
    }
}
