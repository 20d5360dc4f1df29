//! A slow host is not silent: a copy that takes longer than either side waits for a dead one goes on.

use std::time::Instant;

use datapump_core::wire::session::{Begin, Direction};

use crate::support::serving::Serving;
use crate::support::wire::{WAIT_MAX, begin, try_begin};
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

/// Its callers may say how long they wait: that is nothing to a server that somebody else started.
#[test]
fn a_silent_caller_that_wants_to_be_waited_for_is_given_up() {
    let home = Home::new();
    make_folder(&home, "served");
    let serving = Serving::new(&home, &["--insecure", "--peer-timeout=1s"]);
    let begin = Begin { patience_ms: Some(3_600_000), ..begin(Direction::Push) };
    let (mut control, _) = try_begin(&serving.address, begin).expect("it is honest so far");
    let start = Instant::now();
    // Signs of life come until the end.
    while control.take().is_ok() {
        assert!(start.elapsed() < WAIT_MAX, "the session goes on");
    }
}
