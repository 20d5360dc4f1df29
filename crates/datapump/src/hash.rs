//! The BLAKE3 hash of a file whose blocks are read in any order, by any lane.
//!
//! Must not know: why the file is hashed, where its bytes come from.

use std::sync::Mutex;

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use datapump_core::{Block, Chaining, HashTree, Subtree, subtrees};

/// Hashes are taken over groups of at most this size whatever the request size, so that the tree over a file takes
/// little memory and the parts can be compared between runs of different shapes.
pub(crate) const GROUP_BYTES: u64 = 256 << 10;

/// The hash of one file on its way.
#[derive(Debug, Default)]
pub(crate) struct FileHash(Mutex<State>);

#[derive(Debug, Default, Clone, PartialEq)]
struct State {
    tree: HashTree,
    /// The first part as if it were the whole file: its length and its root.
    only_part: Option<(u64, blake3::Hash)>,
}

impl FileHash {
    /// Adds a block; its offset must be a multiple of 1 KiB, and so must its length unless it ends the file.
    pub(crate) fn add(&self, block: Block, bytes: &[u8]) {
        let mut rest = &bytes[..block.len as usize];
        for part in subtrees(block.at, u64::from(block.len), GROUP_BYTES) {
            let (bytes, behind) = rest.split_at(part.bytes as usize);
            rest = behind;
            let (chaining, only_part) = hashed(part, bytes);
            let mut state = self.0.lock().expect("no panic while hashing");
            state.only_part = only_part.or(state.only_part);
            state.tree.insert(part, chaining, merge);
        }
    }

    /// Adds a block that was hashed before.
    pub(crate) fn insert(&self, block: BlockHash) {
        let mut state = self.0.lock().expect("no panic while hashing");
        state.only_part = block.only_part.or(state.only_part);
        for (part, chaining) in block.parts {
            state.tree.insert(part, chaining, merge);
        }
    }

    /// The root, as `b3sum` prints it; `None` when a part of the file was not hashed (it has holes).
    pub(crate) fn root(&self, file_bytes: u64) -> Option<blake3::Hash> {
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
    pub(crate) fn agrees_with(&self, other: &FileHash) -> bool {
        let own = self.0.lock().expect("no panic while hashing");
        *own == *other.0.lock().expect("no panic while hashing")
    }
}

/// The hashes of the groups of one block.
#[derive(Debug)]
pub(crate) struct BlockHash {
    parts: Vec<(Subtree, Chaining)>,
    /// The first group of a file as if it were the whole file.
    only_part: Option<(u64, blake3::Hash)>,
}

impl BlockHash {
    /// Hashes a block; for offset and length see [`FileHash::add`].
    pub(crate) fn of(block: Block, bytes: &[u8]) -> BlockHash {
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

    /// What goes over a network with the block: of one group its hash, of more the hash over all of them.
    pub(crate) fn digest(&self) -> [u8; 32] {
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
    fn a_missing_part_gives_no_root() {
        let hash = FileHash::default();
        hash.add(Block { file: 0, at: 4096, len: 4096 }, &[1; 4096]);
        assert_eq!(hash.root(8192), None);
        hash.add(Block { file: 0, at: 0, len: 4096 }, &[1; 4096]);
        assert_eq!(hash.root(8192), Some(blake3::hash(&[1; 8192])));
    }
}
