//! Trees that are nested deeply: memory for their names, not for the square of their depth.

use crate::support;
use crate::support::nested::{nest, remove};
use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder};

/// Levels, and the bytes of each name: the paths of all of them together take 59 MB, and each side keeps several.
const LEVELS: usize = 700;
const NAME_BYTES: usize = 240;

/// What a process may have of memory that can be written: the program with two lanes, and a margin.
const LIMITED: &str = "ulimit -d 98304";

fn run(home: &Home, words: &[&str], row: &str) {
    let run = support::outcome(support::after(home, LIMITED, words), b"");
    expect(&run, 0, &[], row);
}

#[test]
fn a_deep_tree_takes_memory_for_its_names_alone() {
    let home = Home::new();
    ["deep", "nothing"].iter().for_each(|name| make_folder(&home, name));
    nest(&home.path("deep"), LEVELS, NAME_BYTES);
    run(&home, &["copy", "--lanes=2", "-T", "deep", "new"], "copied");
    run(&home, &["verify", "--lanes=2", "deep", "new"], "compared");
    run(&home, &["copy", "--lanes=2", "-u", "-T", "deep", "new"], "copied again");
    run(&home, &["copy", "--lanes=2", "--delete", "-T", "nothing", "new"], "deleted");
    assert_eq!(std::fs::read_dir(home.path("new")).expect("it stays").count(), 0);
    remove(&home.path("deep"));
}

#[test]
fn a_deep_tree_of_another_host_takes_memory_for_its_names_alone_at_both() {
    let home = Home::new();
    make_folder(&home, "served");
    make_folder(&home, "served/deep");
    nest(&home.path("served/deep"), LEVELS, NAME_BYTES);
    let words = ["serve", "served", "--ticket-file", "ticket", "--memory=16MiB"];
    let serving = Serving::start(support::after(&home, LIMITED, &words));
    run(&home, &["copy", "--lanes=2", "--ticket-file=ticket", &serving.at("deep"), "pulled"], "pulled");
    run(&home, &["copy", "--lanes=2", "--ticket-file=ticket", "pulled", &serving.at("pushed")], "pushed");
    // Over a long path the session would have one connection more, for which this server has no room.
    let words =
        ["copy", "--lanes=2", "--read-ahead=always", "--ticket-file=ticket", &serving.at("deep"), "far"];
    run(&home, &words, "pulled over a long path");
    drop(serving);
    ["served", "pulled", "far"].iter().for_each(|name| remove(&home.path(name)));
}

/// Over a long path a lane has slots for what may be under way: 128 requests.
#[test]
fn who_may_not_have_the_slots_of_a_long_path_does_with_fewer() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = support::noise_file(&home, "served/large", 40 << 20, 3);
    let serving = Serving::start(home.command(&["serve", "served", "--ticket-file", "ticket"]));
    let from = serving.at("large");
    let words = ["copy", "--lanes=1", "--read-ahead=always", "--ticket-file=ticket", &from, "pulled"];
    let run = support::outcome(support::after(&home, "ulimit -d 65536", &words), b"");
    expect(&run, 0, &[], "pulled");
    support::has_content(&home.path("pulled"), &content, "pulled");
}

/// What has a path that is longer than one call of the system takes is hashed as part of its folder, by its path alone,
/// and by a list of hashes; and copied by its path.
#[test]
fn paths_that_are_longer_than_the_system_takes_are_hashed() {
    const EMPTY: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
    let home = Home::new();
    make_folder(&home, "deep");
    nest(&home.path("deep"), 40, NAME_BYTES);
    let names = (0..40).map(|level| format!("{level:0>NAME_BYTES$}/")).collect::<String>();
    let file = format!("deep/{names}file");
    let line = format!("{EMPTY}  {file}\n");
    for words in [&["hash", "deep"][..], &["hash", &format!("deep/{names}")], &["hash", &file]] {
        let hashed = home.pump(words);
        expect(&hashed, 0, &[], words[1]);
        assert_eq!(hashed.out, line, "{hashed:?}");
    }
    std::fs::write(home.path("list"), line).expect("room");
    expect(&home.pump(&["hash", "--check", "list"]), 0, &["file: OK"], "checked");
    expect(&home.pump(&["copy", &file, "copy"]), 0, &[], "copied");
    expect(&home.pump(&["verify", &file, "copy"]), 0, &[], "verified");
    remove(&home.path("deep"));
}
