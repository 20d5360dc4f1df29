//! A copy that was cut goes on behind what its journal tells. If the source was so young when it was looked at that a
//! change within a tick of its clock would not show, its content decides, and not its times.
//!
//! What a coarse clock leaves is made here of what a fine one left; `wider/kills/coarse_resume.rs` has the clock.

use std::fs;
use std::os::unix::fs::FileExt;

use crate::server::{Answer, WebServer};
use crate::support::programs::script;
use crate::support::running::{Running, eventually, is_unlocked};
use crate::support::serving::Serving;
use crate::support::told::{Left, left};
use crate::support::{Home, Outcome, PUMP, expect, has_content, leftovers, make_folder, noise, noise_file};
use rustix::process::Signal;

const MIB: u64 = 1 << 20;
const BYTES: usize = 72 << 20 | 777;
/// What somebody wrote over the beginning within the tick.
const OTHER: &[u8] = b"other";

/// A way from `served/one/file` to `served/two/file`.
struct Way {
    name: &'static str,
    from: String,
    to: String,
    flags: &'static [&'static str],
}

fn ground() -> (Home, Serving) {
    let home = Home::new();
    for folder in ["served", "served/one", "served/two"] {
        make_folder(&home, folder);
    }
    script(home.path("rsh"), "NAME=$1; shift; export HOME=$PWD/served/$NAME\nexec sh -c \"$*\"");
    let member = "chunk = \"1MiB\"\nmembers = [\"served/one/file\"]\n";
    fs::write(home.path("stripe.toml"), member).expect("room");
    let serving = Serving::new(&home, &[]);
    (home, serving)
}

fn ways(serving: &Serving) -> Vec<Way> {
    let way = |name, from: &str, to: &str, flags| Way { name, from: from.into(), to: to.into(), flags };
    let (from, to) = ("served/one/file", "served/two/file");
    vec![
        way("here", from, to, &[]),
        way("in a tree", "served/one", "served/two", &["-T"]),
        way("a stripe", "stripe:stripe.toml", to, &[]),
        way("pulled", &serving.at("one/file"), to, &["--ticket-file", "ticket"]),
        way("a tree, pulled", &serving.at("one"), "served/two", &["-T", "--ticket-file", "ticket"]),
        way("pushed", from, &serving.at("two/file"), &["--ticket-file", "ticket"]),
        way("relayed", "one:file", "two:file", &["--ssh=./rsh", "--remote-bin", PUMP]),
    ]
}

fn words<'way>(way: &'way Way, more: &[&'way str]) -> Vec<&'way str> {
    [&["copy"], more, way.flags, &[&*way.from, &*way.to]].concat()
}

fn told(left: &Left) -> u64 {
    left.told(false).max(left.told(true))
}

/// Ends a slow copy in its middle.
fn cut(home: &Home, row: &str, words: &[&str]) -> Left {
    let running = Running::start(home.command(words));
    let folder = home.path("served/two");
    let has_begun = || left(&folder).is_some_and(|left| told(&left) >= 4 * MIB);
    eventually("a part of it", || has_begun() || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 128 + Signal::KILL.as_raw(), "{row}");
    let left = left(&folder).unwrap_or_else(|| panic!("{row}: something to go on with"));
    let file = fs::File::open(&left.file).expect("it is there");
    // The host that writes may hear of it later.
    eventually("nobody writes it", || is_unlocked(&file));
    left
}

fn write_over(home: &Home, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(home.path("served/one/file"));
    file.and_then(|file| file.write_all_at(bytes, 0)).expect("it is ours");
}

fn resumed(run: &Outcome) -> u64 {
    let report = run.report();
    report["bytes_resumed"].as_u64().expect("a number")
}

/// The same size and the same times, and another content where an earlier run has read already.
#[test]
fn what_was_written_in_the_tick_of_the_first_look_is_no_mix() {
    let (home, serving) = ground();
    let content = noise_file(&home, "served/one/file", BYTES, 1);
    for way in ways(&serving) {
        let row = way.name;
        write_over(&home, &content[..OTHER.len()]);
        let left = cut(&home, row, &words(&way, &["-q", "--lanes=1", "--bwlimit=20MB"]));
        write_over(&home, OTHER);
        left.make_young(Some(&home.path("served/one/file").metadata().expect("it is there")));
        let run = home.pump(&words(&way, &[]));
        expect(&run, 24, &["copy again when the source is quiet"], row);
        let copy = home.path("served/two/file");
        assert!(!copy.exists(), "{row}: half of the one, half of the other");
        assert!(crate::support::told::left(&home.path("served/two")).is_none(), "{row}");
        expect(&home.pump(&words(&way, &[])), 0, &[], &format!("{row}, again"));
        let mut expected = content.clone();
        expected[..OTHER.len()].copy_from_slice(OTHER);
        has_content(&copy, &expected, row);
        fs::remove_file(copy).expect("it was copied");
    }
}

#[test]
fn what_was_left_alone_since_is_gone_on_with() {
    let (home, serving) = ground();
    let content = noise_file(&home, "served/one/file", BYTES, 1);
    for way in ways(&serving) {
        let row = way.name;
        let left = cut(&home, row, &words(&way, &["-q", "--lanes=1", "--bwlimit=20MB"]));
        left.make_young(None);
        let told = told(&left);
        let run = home.pump(&words(&way, &["-v", "--json"]));
        expect(&run, 0, &["it is read again and compared", "has the content that was copied"], row);
        assert_eq!(resumed(&run), told, "{row}");
        let copy = home.path("served/two/file");
        has_content(&copy, &content, row);
        fs::remove_file(copy).expect("it was copied");
        assert_eq!(leftovers(&home), [""; 0], "{row}");
    }
}

/// Of a file on the web an older pump's journal tells nothing, and it is not read twice.
#[test]
fn what_cannot_be_compared_starts_over() {
    let home = Home::new();
    for folder in ["served", "served/two"] {
        make_folder(&home, folder);
    }
    let content = noise(BYTES, 1);
    let of = content.clone();
    let server = WebServer::new(move |request, _| Answer::part(request, &of).with("ETag", "\"one\""));
    let url = server.url("x");
    for is_young in [false, true] {
        let slow = ["copy", "-q", "--lanes=1", "--bwlimit=20MB", &*url, "served/two/file"];
        let left = cut(&home, "web", &slow);
        if is_young {
            left.make_young(None);
        }
        let run = home.pump(&["copy", "--json", &*url, "served/two/file"]);
        expect(&run, 0, if is_young { &["it starts over"] } else { &[] }, "web");
        assert_eq!(resumed(&run) > 0, !is_young, "{run:?}");
        has_content(&home.path("served/two/file"), &content, "web");
        fs::remove_file(home.path("served/two/file")).expect("it was copied");
    }
}
