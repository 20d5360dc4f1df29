//! What comes over an ssh channel: the line of a far end behind any noise, cut anywhere, and frames of streams, of
//! which no more is taken than the credit that was given.
#![no_main]

use datapump_core::wire::opening::{FoundOpening, NOISE_BYTES_MAX, Search};
use datapump_core::wire::streams::{HEAD_BYTES, StreamFlow, StreamHead, StreamKind, WINDOW_BYTES};
use libfuzzer_sys::fuzz_target;

/// Looks for the line in pieces of this size. Gives what was found and what follows it.
fn search(bytes: &[u8], piece: usize) -> (Option<FoundOpening>, Vec<u8>) {
    let mut search = Search::default();
    let mut found = None;
    for bytes in bytes.chunks(piece.max(1)) {
        search.handle_bytes(bytes);
        found = found.or_else(|| search.poll());
    }
    (found, search.rest().to_vec())
}

fuzz_target!(|input: (u8, Vec<u8>, Vec<u32>)| {
    let (piece, bytes, taken) = input;
    let (whole, rest) = search(&bytes, usize::MAX);
    if bytes.len() <= NOISE_BYTES_MAX {
        assert_eq!(search(&bytes, piece.into()), (whole.clone(), rest), "where it is cut does not matter");
        assert_ne!(whole, Some(FoundOpening::Noise));
    }
    if let Some(FoundOpening::Opening(opening)) = &whole {
        let again = search(opening.line("1.0").as_bytes(), usize::MAX).0;
        assert_eq!(again, whole, "it is read as it was written");
    }

    let (mut flow, mut waiting, mut takes) = (StreamFlow::default(), 0u32, taken.into_iter());
    for head in bytes.as_chunks::<HEAD_BYTES>().0 {
        let Ok(head) = StreamHead::decode(head) else { continue };
        assert_eq!(StreamHead::decode(&head.encode()), Ok(head));
        match head.kind {
            StreamKind::Data(len) if flow.handle_data(len).is_ok() => waiting += len,
            StreamKind::Credit(credit) => drop(flow.handle_credit(credit)),
            _ => {}
        }
        assert!(waiting <= WINDOW_BYTES, "what nobody takes is bounded");
        let take = takes.next().unwrap_or(0).min(waiting);
        waiting -= take;
        let credit = flow.take(take).unwrap_or(0);
        assert!(credit <= WINDOW_BYTES);
    }
});
