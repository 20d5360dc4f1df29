//! A copy between two hosts of which either has a limit of its rate: how long it takes, by the clock of the simulation, and
//! which limit is named.
//!
//! Must not know: how a limit is kept to.

use datapump_core::verdict::{LimitedBy, Why};

use super::*;

const BYTES: u64 = 2_000_000;
/// Admitted at once behind an idle time.
const BURST_NS: u64 = 100_000_000;

/// Whichever side has which, whoever writes, and however little is under way at a time.
#[test]
fn two_limits_of_a_copy_are_the_lower_one() {
    let mut stage = TwoHosts { reads_ahead: false, ..TwoHosts::at(SteppedPath::Short) };
    write_source(&stage.path("from"), &noise(BYTES as usize));
    let content = fs::read(stage.path("from")).expect("it was made");
    // In tenths of the lower one.
    let (lower, higher, close) = (Some(10), Some(20), Some(11));
    for (own, server, why) in [
        (lower, higher, Why::RateLimit),
        (higher, lower, Why::ServerLimit),
        (lower, close, Why::RateLimit),
        (close, lower, Why::ServerLimit),
        (lower, lower, Why::RateLimit),
        (lower, None, Why::RateLimit),
        (None, lower, Why::ServerLimit),
    ] {
        for (lower, request_bytes, depth, engine) in [
            // Small blocks are gathered before they are sent, and each costs more than a burst.
            (8_000, 4096, 1, EngineChoice::Inline),
            (1_000_000, 65_536, 1, EngineChoice::Inline),
            // A write ends while this side may wait for the next block.
            (1_000_000, 524_288, 4, EngineChoice::Uring),
        ] {
            let rate = |tenths: Option<u64>| tenths.map(|tenths| lower * tenths / 10);
            stage.server_limit = rate(server);
            for way in [Direction::Pull, Direction::Push] {
                let options = stage.options().with(|it| {
                    it.tuning.bytes_per_second = rate(own);
                    it.tuning.request_bytes = Some(request_bytes);
                    it.tuning.source_depth = Some(depth);
                    it.tuning.sink_depth = Some(depth);
                    it.tuning.engine = engine;
                });
                let row = format!("{way:?} {own:?} {server:?} {request_bytes}");
                let start_ns = stage.clock.now_ns();
                let SessionOutcome { report, said, .. } = stage.copy(way, ("from", &row), options);
                let elapsed_ns = stage.clock.now_ns() - start_ns;
                assert_eq!((report.exit_status, &said[..]), (0, &[][..]), "{row}");
                assert!(fs::read(stage.path(&row)).expect("it was copied") == content, "{row}");
                // A server that is read waits behind its last block, when nobody waits for it.
                let least_ns = (BYTES - u64::from(request_bytes)) * 1_000_000_000 / lower - BURST_NS;
                let most_ns = BYTES * 1_050_000_000 / lower;
                assert!((least_ns..most_ns).contains(&elapsed_ns), "{row}: {elapsed_ns}");
                // The report of a pull lacks what its client knows.
                if way == Direction::Push {
                    let named = (report.limited_by, report.limited_detail.why);
                    assert_eq!(named, (LimitedBy::Source, why), "{row}");
                }
            }
        }
    }
}
