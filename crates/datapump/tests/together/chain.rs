//! Statement S33: a chain is as fast as the slowest of its three devices. The same on the real clock: the example `paced`.

use crate::golden::relative;
use datapump_engine::sim::SimClock;

#[path = "../../examples/judged/chain.rs"]
mod chain_loop;

fn rate(parts_mb: [u64; 3]) -> f64 {
    chain_loop::rate(&SimClock::virtual_time(), parts_mb)
}

#[test]
fn s33_a_chain_is_as_fast_as_the_slowest_of_three() {
    for (parts_mb, slowest) in
        [([40, 60, 80], 0), ([60, 40, 60], 1), ([80, 60, 40], 2), ([50, 100, 90], 0), ([90, 100, 50], 2)]
    {
        let found = rate(parts_mb);
        let expected = (parts_mb[slowest] * 1_000_000) as f64;
        assert!(relative(found, expected) < 0.05, "{parts_mb:?}: {found} of {expected}");
        for other in (0..3).filter(|part| *part != slowest) {
            let mut slowed_mb = parts_mb;
            slowed_mb[other] = parts_mb[other] * 4 / 5;
            assert!(slowed_mb[other] > parts_mb[slowest], "it stays above the slowest: {slowed_mb:?}");
            let slowed = rate(slowed_mb);
            assert!(relative(slowed, found) < 0.03, "{parts_mb:?}: {found}, {slowed_mb:?}: {slowed}");
        }
        // The slowest itself sets the rate.
        let mut slowed_mb = parts_mb;
        slowed_mb[slowest] = parts_mb[slowest] * 4 / 5;
        assert!(relative(rate(slowed_mb), 0.8 * found) < 0.05, "{slowed_mb:?}");
    }
}
