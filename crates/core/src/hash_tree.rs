//! Merges the hashes of parts of a file into the hash of the whole, in whatever order the parts are finished.
//!
//! The shape is BLAKE3's (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, *BLAKE3*, 2020, section 2.1): a binary tree over
//! chunks of 1,024 bytes in which the left subtree of every node is the largest power of two of chunks that leaves
//! at least one chunk for the right one. A part that is aligned to its own power-of-two size is a subtree.
//!
//! Must not know: how hashes are computed, the bytes, the file.

use std::collections::BTreeMap;

/// Bytes of a chunk, the smallest subtree.
pub const CHUNK_BYTES: u64 = 1024;

/// The hash of a part of a file, to be merged with others.
pub type Chaining = [u8; 32];

/// A part of a file that is a node of its hash tree: `bytes` from `at`, aligned to its own size unless it is the
/// file's last part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subtree {
    /// First byte within the file.
    pub at: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Cuts `len` bytes at `at` into the fewest aligned subtrees of at most `most` bytes (a power of two). `at` must be a
/// multiple of [`CHUNK_BYTES`]; only the last part may be shorter than a power of two, and it must end the file.
pub fn subtrees(at: u64, len: u64, most: u64) -> impl Iterator<Item = Subtree> {
    debug_assert!(at.is_multiple_of(CHUNK_BYTES) && most.is_power_of_two() && most >= CHUNK_BYTES);
    let end = at + len;
    let mut next = at;
    std::iter::from_fn(move || {
        let left = end.checked_sub(next).filter(|&left| left > 0)?;
        let aligned = if next == 0 { most } else { (1 << next.trailing_zeros().min(62)).min(most) };
        let bytes = if left >= aligned { aligned } else { largest_power_within(left) };
        let subtree = Subtree { at: next, bytes: bytes.min(left) };
        next += subtree.bytes;
        Some(subtree)
    })
}

/// The largest power of two of whole chunks within `bytes`, or what is left of a chunk.
fn largest_power_within(bytes: u64) -> u64 {
    if bytes < CHUNK_BYTES { bytes } else { 1 << bytes.ilog2() }
}

/// A known subtree. The leftmost one may turn out to be the whole file, whose root is merged in another way than an
/// inner node, so its last merge is put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Merged(Chaining),
    Halves(Chaining, Chaining),
}

impl Node {
    fn merged(self, merge: impl Fn(&Chaining, &Chaining) -> Chaining) -> Chaining {
        match self {
            Node::Merged(hash) => hash,
            Node::Halves(left, right) => merge(&left, &right),
        }
    }
}

/// The subtrees of a file that are known so far, merged as far as they can be.
///
/// Memory: parts finished in order need one hash for each level of the tree; parts finished out of order wait for
/// their neighbours, one hash each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HashTree {
    /// Size and hash of the known subtrees, by their first byte.
    known: BTreeMap<u64, (u64, Node)>,
}

impl HashTree {
    /// Adds a subtree's hash and merges it with its neighbours while both halves of a node are known.
    pub fn insert(
        &mut self,
        subtree: Subtree,
        hash: Chaining,
        merge: impl Fn(&Chaining, &Chaining) -> Chaining,
    ) {
        let (mut at, mut bytes, mut node) = (subtree.at, subtree.bytes, Node::Merged(hash));
        while bytes.is_power_of_two() && bytes >= CHUNK_BYTES {
            let sibling = at ^ bytes;
            if self.known.get(&sibling).is_none_or(|&(known, _)| known != bytes) {
                break;
            }
            let (_, other) = self.known.remove(&sibling).expect("looked up above");
            let (left, right) = if sibling < at { (other, node) } else { (node, other) };
            let (left, right) = (left.merged(&merge), right.merged(&merge));
            (at, bytes) = (at & !bytes, bytes * 2);
            node = if at == 0 { Node::Halves(left, right) } else { Node::Merged(merge(&left, &right)) };
        }
        self.known.insert(at, (bytes, node));
    }

    /// The hash of a subtree, if it is known as one; of the leftmost one only if it came as one.
    pub fn get(&self, subtree: Subtree) -> Option<&Chaining> {
        match self.known.get(&subtree.at) {
            Some((bytes, Node::Merged(hash))) if *bytes == subtree.bytes => Some(hash),
            _ => None,
        }
    }

    /// Whether both know the same subtrees with the same hashes, whatever they were made of.
    pub fn agrees_with(&self, other: &HashTree, merge: impl Fn(&Chaining, &Chaining) -> Chaining) -> bool {
        self.known.len() == other.known.len()
            && self.known.iter().zip(&other.known).all(|(one, other)| {
                let ((at, (bytes, node)), (other_at, (other_bytes, other_node))) = (one, other);
                (at, bytes) == (other_at, other_bytes) && node.merged(&merge) == other_node.merged(&merge)
            })
    }

    /// Merges what is known into the root. `None` when a part of `0..len` is missing, and when a single part was the
    /// whole file: its root is a hash of its own kind, which the caller keeps.
    pub fn root<R>(
        &self,
        len: u64,
        merge: impl Fn(&Chaining, &Chaining) -> Chaining,
        merge_root: impl FnOnce(&Chaining, &Chaining) -> R,
    ) -> Option<R> {
        let mut end = len;
        let mut right: Option<Chaining> = None;
        // From the right edge inwards: each subtree is the left brother of everything right of it.
        for (&at, &(bytes, node)) in self.known.iter().rev() {
            if at + bytes != end {
                return None;
            }
            end = at;
            match (at, right, node) {
                (0, None, Node::Halves(left, right)) => return Some(merge_root(&left, &right)),
                (0, None, Node::Merged(_)) => return None,
                (0, Some(right), node) => return Some(merge_root(&node.merged(&merge), &right)),
                (_, None, node) => right = Some(node.merged(&merge)),
                (_, Some(known), node) => right = Some(merge(&node.merged(&merge), &known)),
            }
        }
        None
    }

    /// Number of subtrees held.
    pub fn held(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_agree_however_their_parts_were_cut() {
        // Any function of both halves does: this one is not symmetric.
        let merge = |left: &Chaining, right: &Chaining| -> Chaining {
            std::array::from_fn(|at| left[at].wrapping_mul(31).wrapping_add(right[at]))
        };
        let tree = |parts: &[(u64, u64, Chaining)]| {
            let mut tree = HashTree::default();
            for &(at, bytes, hash) in parts {
                tree.insert(Subtree { at, bytes }, hash, merge);
            }
            tree
        };
        let (left, right, rest) = ([1; 32], [2; 32], [3; 32]);
        let fine = tree(&[(0, 1024, left), (1024, 1024, right), (2048, 7, rest)]);
        let coarse = tree(&[(0, 2048, merge(&left, &right)), (2048, 7, rest)]);
        assert!(fine.agrees_with(&coarse, merge) && coarse.agrees_with(&fine, merge));
        let other = tree(&[(0, 2048, merge(&right, &left)), (2048, 7, rest)]);
        assert!(!fine.agrees_with(&other, merge));
        assert!(!fine.agrees_with(&tree(&[(0, 2048, merge(&left, &right))]), merge), "a part is missing");
    }

    #[test]
    fn a_range_is_cut_at_its_alignment() {
        let cut =
            |at, len, most| subtrees(at, len, most).map(|part| (part.at, part.bytes)).collect::<Vec<_>>();
        for (at, len, most, parts) in [
            (0, 0, 4096, vec![]),
            (0, 1, 4096, vec![(0, 1)]),
            (0, 1024, 4096, vec![(0, 1024)]),
            (0, 10_240, 4096, vec![(0, 4096), (4096, 4096), (8192, 2048)]),
            (1024, 3072, 4096, vec![(1024, 1024), (2048, 2048)]),
            (3072, 5120, 1 << 20, vec![(3072, 1024), (4096, 4096)]),
            (4096, 3500, 4096, vec![(4096, 2048), (6144, 1024), (7168, 428)]),
        ] {
            assert_eq!(cut(at, len, most), parts, "{len} bytes at {at}, at most {most}");
        }
    }
}
