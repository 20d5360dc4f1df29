//! A slow host is not silent: a copy that takes longer than either side waits for a dead one goes on.

use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, make_folder, noise_file};

#[test]
fn a_slow_copy_outlives_the_shortest_patience_of_both_sides() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "file", 3_000_000, 1);
    let serving = Serving::new(&home, &["--peer-timeout=1s"]);
    // One after the other, so that either side is once the one that only gives.
    for (source, target, lands) in [
        ("file".to_owned(), serving.at("there"), "served/there"),
        (serving.at("there"), "back".into(), "back"),
    ] {
        let slow = ["copy", "--peer-timeout=1s", "--bwlimit=1MB", "--request-size=64KiB"];
        let run = home.pump(&[&slow[..], &["--ticket-file", "ticket", &source, &target]].concat());
        expect(&run, 0, &[], lands);
        assert!(!run.err.contains("trying again"), "{lands}: {}", run.err);
        has_content(&home.path(lands), &content, lands);
    }
}

#[test]
fn a_patience_that_is_too_short_is_refused() {
    let home = Home::new();
    for words in
        [&["serve", "--peer-timeout=999ms"][..], &["copy", "--peer-timeout=0s", "a", "pump://host:1/"]]
    {
        expect(&home.pump(words), 2, &["write 1s or more"], words[0]);
    }
}
