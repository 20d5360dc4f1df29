//! Statement S67, exact: the map of a stripe is a bijection, and its members have the sizes that it tells.

use datapump_core::{StripeMap, StripePlace};
use proptest::prelude::*;

const KIB: u64 = 1 << 10;
/// Sizes are made of this request size.
const REQUEST: u64 = 64 * KIB;
/// Sizes around a sector and a request, and one of many requests.
const SIZES: [u64; 9] = [0, 1, 511, 512, REQUEST - 1, REQUEST, REQUEST + 1, 7 * REQUEST + 13, 100_000_000];
const CHUNKS: [u64; 6] = [4 * KIB, 12 * KIB, 64 * KIB, 192 * KIB, 1 << 20, 64 << 20];

fn maps() -> impl Iterator<Item = StripeMap> {
    let of = |chunk| move |members| StripeMap::new(chunk, members).expect("a stripe");
    CHUNKS.into_iter().flat_map(move |chunk| (1..=6).map(of(chunk)))
}

/// Looks at every run of the stripe: they follow each other on each member, without a gap, to the size that it tells.
fn check_runs(map: StripeMap, total: u64) {
    let (mut at, mut ends) = (0, vec![0; map.members()]);
    while at < total {
        let StripePlace { member, at: inside, run_bytes } = map.place(at);
        assert_eq!((ends[member], map.offset(member, inside)), (inside, at), "{map:?} at {at}");
        assert!(run_bytes > 0 && run_bytes <= map.chunk_bytes().into(), "{map:?} at {at}");
        let bytes = run_bytes.min(total - at);
        // The last byte of the run is on the same member, as far behind.
        let last = map.place(at + bytes - 1);
        assert_eq!((last.member, last.at), (member, inside + bytes - 1), "{map:?} at {at}");
        ends[member] += bytes;
        at += bytes;
    }
    let told: Vec<u64> = (0..map.members()).map(|member| map.member_bytes(total, member)).collect();
    assert_eq!(ends, told, "{map:?} of {total}");
    assert_eq!(map.total_bytes(&told), Ok(total), "{map:?}");
}

#[test]
fn all_sizes_of_e1_lie_whole_on_the_members() {
    for map in maps() {
        SIZES.into_iter().for_each(|total| check_runs(map, total));
    }
}

proptest! {
    #[test]
    fn the_map_is_a_bijection(
        chunk in 1u64..=16_384, members in 1usize..=9, at in 0u64..1 << 50, inside in 0u64..1 << 50,
    ) {
        let map = StripeMap::new(chunk * 4 * KIB, members).expect("a stripe");
        let place = map.place(at);
        prop_assert!(place.member < members);
        prop_assert_eq!(map.offset(place.member, place.at), at);
        // And from a member's byte, whichever.
        let member = (at % members as u64) as usize;
        let back = map.place(map.offset(member, inside));
        prop_assert_eq!((back.member, back.at), (member, inside));
    }

    #[test]
    fn sizes_tell_the_length_and_the_length_the_sizes(
        chunk in 1u64..=64, members in 1usize..=6, total in 0u64..1 << 24,
    ) {
        let map = StripeMap::new(chunk * 4 * KIB, members).expect("a stripe");
        check_runs(map, total);
        // Two chunks more on the first is how a stripe is marked that is not whole.
        let mut sizes: Vec<u64> = (0..members).map(|member| map.member_bytes(total, member)).collect();
        sizes[0] += 2 * u64::from(map.chunk_bytes());
        prop_assert_eq!(map.total_bytes(&sizes).is_err(), members > 1);
    }

    #[test]
    fn a_request_is_a_part_of_a_chunk_and_each_member_has_two(
        chunk in 1u64..=16_384, members in 1usize..=8, asked in 1u32..=65_536,
    ) {
        let map = StripeMap::new(chunk * 4 * KIB, members).expect("a stripe");
        let asked = asked * KIB as u32;
        let request = map.request_bytes(asked);
        prop_assert!(request > 0 && request <= asked.min(map.chunk_bytes()));
        prop_assert!(map.chunk_bytes().is_multiple_of(request) || request == asked.min(map.chunk_bytes()));
        let depth = map.depth(request);
        let mut at_members = vec![0; members];
        (0..u64::from(depth)).for_each(|n| at_members[map.place(n * u64::from(request)).member] += 1);
        let is_bounded = u64::from(depth + 1) * u64::from(request) > 512 << 20;
        prop_assert!(is_bounded || at_members.iter().all(|&requests| requests >= 2), "{at_members:?}");
        prop_assert!(depth <= 2 || u64::from(depth) * u64::from(request) <= 512 << 20);
    }
}

#[test]
fn request_sizes_are_the_largest_parts() {
    for (chunk_kib, asked_kib, request_kib, depth_of_4) in [
        (64, 1024, 64, 8),
        (192, 1024, 192, 8),
        (192, 128, 96, 8),
        (1024, 1024, 1024, 8),
        (4096, 1024, 1024, 16),
        (4, 1024, 4, 8),
        // 4 MiB and a page is 5^2 x 41 pages: 164 KiB would be a part, and is far less than what was asked.
        (4100, 1024, 820, 20),
        // 1021 pages are a prime number: only single ones are parts.
        (4084, 1024, 1024, 16),
    ] {
        let map = StripeMap::new(chunk_kib * KIB, 4).expect("a stripe");
        let request = map.request_bytes(asked_kib * KIB as u32);
        let found = (request / KIB as u32, map.depth(request));
        assert_eq!(found, (request_kib, depth_of_4), "chunks of {chunk_kib} KiB, {asked_kib} KiB asked");
    }
}

#[test]
fn what_is_no_stripe_says_why() {
    for (chunk, members, words) in [
        (0, 2, "4 KiB to 64 MiB"),
        (4 * KIB - 1, 2, "4 KiB to 64 MiB"),
        (6 * KIB, 2, "multiple of 4 KiB"),
        ((64 << 20) + 4 * KIB, 2, "4 KiB to 64 MiB"),
        (64 * KIB, 0, "no members"),
        (64 * KIB, 257, "256 are the most"),
    ] {
        let error = StripeMap::new(chunk, members).expect_err(words);
        assert!(error.contains(words), "{chunk} x {members}: {error}");
    }
    let map = StripeMap::new(64 * KIB, 3).expect("a stripe");
    assert_eq!(map.total_bytes(&[65_536, 65_536, 10]), Ok(131_082));
    assert_eq!(map.total_bytes(&[65_536, 10, 65_536]), Err((1, 65_536)), "the second is short");
    assert_eq!(map.total_bytes(&[65_536, 0, 10]), Err((1, 10)));
}
