//! A job that waits for answers about names says so: how many round trips, and how much was under way.
//!
//! Must not know: how requests are made.

use super::*;
use crate::net::client::remote_verdict::merge_reports;

/// One folder in the other, where nothing comes ahead: each is a round trip, whatever the kernels count meanwhile.
#[test]
fn waiting_for_answers_is_the_verdict() {
    let stage = TwoHosts { reads_ahead: false, ..TwoHosts::new() };
    let leaf = (0..30).fold(stage.path("deep"), |above, level| above.join(level.to_string()));
    fs::create_dir_all(&leaf).expect("room");
    write_source(&leaf.join("file"), &noise(800));
    let options = stage.options().with(|it| it.comparison.update = Update::Differs);
    for way in [Direction::Pull, Direction::Push] {
        for (again, files) in [(false, 1), (true, 0)] {
            let target = format!("to {way:?}");
            let outcome = stage.copy(way, ("deep", &target), options.clone());
            assert_eq!((outcome.report.exit_status, outcome.report.files), (0, files), "{target}");
            let report = merge_reports(outcome.report, &SenderStats::default());
            let trips = report.round_trips.expect("there are two hosts");
            assert!(trips.requests >= trips.listing && trips.listing > 30, "{trips:?}");
            let (words, count) = (report.bottleneck().expect("a sentence"), trips.all());
            assert!(words.starts_with("Bottleneck: waiting for answers, "), "{target}, {again}: {words}");
            assert!(
                words.ends_with(&format!(": {count} round trips of 180 ms, 1 request under way at a time.")),
                "{words}"
            );
        }
    }
}
