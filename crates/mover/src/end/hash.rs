//! The BLAKE3 hash of a file whose blocks are read in any order, by any lane.
//!
//! Must not know: why the file is hashed, where its bytes come from.

use std::collections::BTreeMap;
use std::sync::Mutex;

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use datapump_core::{Block, Chaining, HashTree, Subtree, subtrees};

/// Hashes are taken over groups of at most this size whatever the request size, so that the tree over a file takes
/// little memory and the parts can be compared between runs of different shapes.
pub const GROUP_BYTES: u64 = 256 << 10;

/// The hash of one file on its way.
#[derive(Debug, Default)]
pub struct FileHash(Mutex<HashState>);

#[derive(Debug, Default, Clone, PartialEq)]
struct HashState {
    tree: HashTree,
    /// The first part as if it were the whole file: its length and its root.
    only_part: Option<(u64, blake3::Hash)>,
    /// To find what is damaged.
    marks: Option<Marks>,
}

/// What was hashed, by groups, however the blocks were cut.
#[derive(Debug, Default, Clone, PartialEq)]
struct Marks {
    /// The beginnings of the hashes of whole groups: about 90 KiB for each GiB.
    whole: BTreeMap<u64, u64>,
    /// Groups of which only parts are known yet, or are data.
    parts: BTreeMap<u64, HashTree>,
}

impl Marks {
    /// Adds the hash of a part. Once the parts of a group are complete its mark is kept, and they are forgotten.
    fn insert(&mut self, part: Subtree, chaining: Chaining) {
        const WHOLE: Subtree = Subtree { at: GROUP_BYTES, bytes: GROUP_BYTES };
        let group = part.at / GROUP_BYTES;
        let tree = self.parts.entry(group).or_default();
        // Every group is the second one of its tree: the first would keep its last merge for the root.
        tree.insert(Subtree { at: GROUP_BYTES + part.at % GROUP_BYTES, ..part }, chaining, merge);
        if let Some(hash) = tree.get(WHOLE) {
            let (mark, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
            self.whole.insert(group, u64::from_le_bytes(*mark));
            self.parts.remove(&group);
        }
    }

    fn differ_in(&self, other: &Marks, group: u64) -> bool {
        self.whole.get(&group) != other.whole.get(&group) || self.parts.get(&group) != other.parts.get(&group)
    }
}

impl HashState {
    /// Adds the hash of a part, also to the marks where they are kept.
    fn insert(&mut self, part: Subtree, chaining: Chaining) {
        if let Some(marks) = &mut self.marks {
            marks.insert(part, chaining);
        }
        self.tree.insert(part, chaining, merge);
    }
}

impl FileHash {
    /// One that tells where it differs from another.
    pub fn marked() -> FileHash {
        FileHash(Mutex::new(HashState { marks: Some(Marks::default()), ..HashState::default() }))
    }

    /// Adds a block; its offset must be a multiple of 1 KiB, and so must its length unless it ends the file.
    pub fn add(&self, block: Block, bytes: &[u8]) {
        self.insert(BlockHash::from_bytes(block, bytes));
    }

    /// Adds a block that was hashed before.
    pub fn insert(&self, block: BlockHash) {
        let mut state = self.0.lock().expect("no panic while hashing");
        state.only_part = block.only_part.or(state.only_part);
        for (part, chaining) in block.parts {
            state.insert(part, chaining);
        }
    }

    /// The root, as `b3sum` prints it; `None` when a part of the file was not hashed (it has holes).
    pub fn root(&self, file_bytes: u64) -> Option<blake3::Hash> {
        let state = self.0.lock().expect("no panic while hashing");
        match state.only_part {
            None if file_bytes == 0 => Some(blake3::hash(&[])),
            Some((bytes, root)) if bytes == file_bytes => Some(root),
            _ => {
                state.tree.root(file_bytes, merge, |left, right| merge_subtrees_root(left, right, Mode::Hash))
            }
        }
    }

    /// Whether the same bytes were hashed at the same places.
    pub fn agrees_with(&self, other: &FileHash) -> bool {
        let own = self.0.lock().expect("no panic while hashing");
        *own == *other.0.lock().expect("no panic while hashing")
    }

    /// An empty one, to hash the same bytes once more.
    pub fn another(&self) -> FileHash {
        let state = self.0.lock().expect("no panic while hashing");
        if state.marks.is_some() { FileHash::marked() } else { FileHash::default() }
    }

    /// Whether the parts agree, wherever the file was cut, and whether or not its first part was hashed as a whole file.
    pub fn has_parts_of(&self, other: &FileHash) -> bool {
        let own = self.0.lock().expect("no panic while hashing");
        let other = other.0.lock().expect("no panic while hashing");
        own.tree.agrees_with(&other.tree, merge) && own.marks == other.marks
    }

    /// Where in these ranges other bytes were hashed, by groups. Both must be marked.
    pub fn differs_from(&self, other: &FileHash, ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let own = self.0.lock().expect("no panic while hashing");
        let other = other.0.lock().expect("no panic while hashing");
        let (Some(own), Some(other)) = (&own.marks, &other.marks) else { return ranges.to_vec() };
        let mut found: Vec<(u64, u64)> = Vec::new();
        for &(start, end) in ranges {
            for group in start / GROUP_BYTES..end.div_ceil(GROUP_BYTES) {
                let (start, end) = (start.max(group * GROUP_BYTES), end.min((group + 1) * GROUP_BYTES));
                match found.last_mut() {
                    _ if !own.differ_in(other, group) => {}
                    Some(last) if last.1 == start => last.1 = end,
                    _ => found.push((start, end)),
                }
            }
        }
        found
    }
}

/// The hashes of the groups of one block.
#[derive(Debug)]
pub struct BlockHash {
    parts: Vec<(Subtree, Chaining)>,
    /// The first group of a file as if it were the whole file.
    only_part: Option<(u64, blake3::Hash)>,
}

impl BlockHash {
    /// Hashes a block; for offset and length see [`FileHash::add`].
    pub fn from_bytes(block: Block, bytes: &[u8]) -> BlockHash {
        let (mut rest, mut only_part) = (&bytes[..block.len as usize], None);
        let mut hash = |part: Subtree| {
            let (bytes, behind) = rest.split_at(part.bytes as usize);
            rest = behind;
            let (chaining, only) = hashed(part, bytes);
            only_part = only.or(only_part);
            (part, chaining)
        };
        let parts = subtrees(block.at, u64::from(block.len), GROUP_BYTES).map(&mut hash).collect();
        BlockHash { parts, only_part }
    }

    /// A part of which another host told the digest.
    pub fn of_part(part: Subtree, digest: Chaining) -> BlockHash {
        BlockHash { parts: vec![(part, digest)], only_part: None }
    }

    /// What goes over a network with the block: of one group its hash, of more the hash over all of them.
    pub fn digest(&self) -> [u8; 32] {
        match &self.parts[..] {
            [(_, one)] => *one,
            parts => {
                let mut hasher = blake3::Hasher::new();
                for (_, part) in parts {
                    hasher.update(part);
                }
                *hasher.finalize().as_bytes()
            }
        }
    }
}

/// The hash of one group; of the first one of a file also as if it were the whole file.
fn hashed(part: Subtree, bytes: &[u8]) -> (Chaining, Option<(u64, blake3::Hash)>) {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(part.at).update(bytes);
    let only_part = (part.at == 0).then(|| (part.bytes, hasher.finalize()));
    (hasher.finalize_non_root(), only_part)
}

fn merge(left: &Chaining, right: &Chaining) -> Chaining {
    merge_subtrees_non_root(left, right, Mode::Hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::sim::Random;

    /// Cuts `len` bytes into blocks of `request` bytes and adds them in a seeded random order.
    fn shuffled(content: &[u8], request: usize, random: &mut Random) -> FileHash {
        let mut blocks: Vec<usize> = (0..content.len()).step_by(request).collect();
        let hash = FileHash::default();
        while !blocks.is_empty() {
            let at = blocks.swap_remove(random.below(blocks.len() as u64) as usize);
            let bytes = &content[at..content.len().min(at + request)];
            hash.add(Block { file: 0, at: at as u64, len: bytes.len() as u32 }, bytes);
        }
        hash
    }

    #[test]
    fn the_root_is_the_plain_hash_whatever_the_order_and_the_request_size() {
        let mut random = Random::new(42);
        let mut content = vec![0; 1_300_000];
        random.fill(&mut content);
        let sizes = [
            0, 1, 1023, 1024, 1025, 2048, 3072, 4097, 65_536, 262_143, 262_144, 262_145, 524_288, 786_432,
            1_048_576, 1_300_000,
        ];
        for size in sizes {
            for request in [1024, 3072, 4096, 65_536, 262_144, 393_216, 524_288, 2_097_152] {
                let hash = shuffled(&content[..size], request, &mut random);
                let plain = blake3::hash(&content[..size]);
                assert_eq!(hash.root(size as u64), Some(plain), "{size} bytes in requests of {request}");
            }
        }
    }

    #[test]
    fn parts_are_the_same_however_they_are_cut() {
        let (mut random, mut content) = (Random::new(43), vec![0; 1_300_000]);
        random.fill(&mut content);
        for size in [1, 1024, 5000, 262_144, 331_779, 524_288, 1_300_000] {
            let groups = shuffled(&content[..size], GROUP_BYTES as usize, &mut random);
            for request in [1024, 3072, 4096, 65_536, 393_216, 2_097_152] {
                let own = shuffled(&content[..size], request, &mut random);
                assert!(own.has_parts_of(&groups), "{size} bytes in requests of {request}");
            }
            let mut other = content[..size].to_vec();
            other[size / 2] ^= 1;
            let other = shuffled(&other, 4096, &mut random);
            assert!(!other.has_parts_of(&groups), "{size} bytes");
        }
    }

    #[test]
    fn what_differs_is_found_by_groups() {
        const GROUP: u64 = GROUP_BYTES;
        let mut content = vec![0; 5 * GROUP as usize + 4096];
        let hashed = |content: &[u8], request: usize| {
            let hash = FileHash::marked();
            for (number, bytes) in content.chunks(request).enumerate() {
                let at = (number * request) as u64;
                hash.add(Block { file: 0, at, len: bytes.len() as u32 }, bytes);
            }
            hash
        };
        let (whole, size) = ([(0, content.len() as u64)], content.len() as u64);
        let before = hashed(&content, 1 << 20);
        assert_eq!(before.differs_from(&hashed(&content, 1 << 20), &whole), []);
        for at in [GROUP, 2 * GROUP + 7, size - 1] {
            content[at as usize] ^= 1;
        }
        let after = hashed(&content, 1 << 20);
        assert_eq!(before.differs_from(&after, &whole), [(GROUP, 3 * GROUP), (5 * GROUP, size)]);
        // However it is cut.
        assert_eq!(after.differs_from(&hashed(&content, 384 << 10), &whole), []);
        let late = FileHash::marked();
        for at in (12 << 10..size).step_by(1 << 20) {
            let len = (size - at).min(1 << 20);
            late.add(Block { file: 0, at, len: len as u32 }, &content[at as usize..(at + len) as usize]);
        }
        late.add(Block { file: 0, at: 0, len: 12 << 10 }, &content[..12 << 10]);
        assert_eq!(after.differs_from(&late, &whole), []);
        let holed = [(GROUP + 4096, 2 * GROUP), (3 * GROUP, 4 * GROUP)];
        assert_eq!(before.differs_from(&after, &holed), [(GROUP + 4096, 2 * GROUP)]);
    }

    #[test]
    fn a_missing_part_gives_no_root() {
        let hash = FileHash::default();
        hash.add(Block { file: 0, at: 4096, len: 4096 }, &[1; 4096]);
        assert_eq!(hash.root(8192), None);
        hash.add(Block { file: 0, at: 0, len: 4096 }, &[1; 4096]);
        assert_eq!(hash.root(8192), Some(blake3::hash(&[1; 8192])));
    }
}
