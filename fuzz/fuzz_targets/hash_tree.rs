//! The tree of hashes over a file whose parts come in any order: the root is BLAKE3's, whatever the cuts.
#![no_main]

use arbitrary::Arbitrary;
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use datapump_core::{CHUNK_BYTES, Chaining, HashTree, Subtree, subtrees};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    /// Length of the file, and a seed for its bytes.
    bytes: u32,
    seed: u8,
    /// Sizes of blocks in chunks, one after another, again and again.
    cuts: Vec<u8>,
    /// Which of the blocks left is next.
    order: Vec<u16>,
    /// The largest subtree, as a power of two of chunks.
    most: u8,
}

fn merge(left: &Chaining, right: &Chaining) -> Chaining {
    merge_subtrees_non_root(left, right, Mode::Hash)
}

/// Blocks of whole chunks, the last one as it comes.
fn cut(bytes: u64, cuts: &[u8]) -> Vec<(u64, u64)> {
    let mut sizes = cuts.iter().map(|&chunks| (u64::from(chunks) + 1) * CHUNK_BYTES).cycle();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < bytes {
        let size = sizes.next().unwrap_or(CHUNK_BYTES).min(bytes - at);
        blocks.push((at, size));
        at += size;
    }
    blocks
}

fuzz_target!(|input: Input| {
    let bytes = u64::from(input.bytes % 300_000);
    let content: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8 ^ input.seed).collect();
    let most = CHUNK_BYTES << (input.most % 9);
    let (mut tree, mut only) = (HashTree::default(), None);
    let mut blocks = cut(bytes, &input.cuts);
    let mut order = input.order.iter().copied().cycle();
    while !blocks.is_empty() {
        let (at, size) = blocks.swap_remove(order.next().map_or(0, usize::from) % blocks.len());
        for Subtree { at, bytes } in subtrees(at, size, most) {
            let mut hasher = blake3::Hasher::new();
            hasher.set_input_offset(at).update(&content[at as usize..(at + bytes) as usize]);
            only = (bytes == content.len() as u64).then(|| hasher.finalize());
            tree.insert(Subtree { at, bytes }, hasher.finalize_non_root(), merge);
        }
        if !blocks.is_empty() {
            assert_eq!(tree.root(bytes, merge, |_, _| ()), None, "a part is missing");
        }
    }
    let root = tree.root(bytes, merge, |left, right| merge_subtrees_root(left, right, Mode::Hash));
    let root = root.or(only).or((bytes == 0).then(|| blake3::hash(&[])));
    assert_eq!(root, Some(blake3::hash(&content)));
    assert!(tree.held() <= 64, "known parts are merged");
});
