//! docs/troubleshooting.md: the messages that it begins with are those that are printed, with the status that it names.

use std::fs;

use crate::support::programs::script;
use crate::support::small_tree::set_time;
use crate::support::{Home, expect, make_folder, set_mode};

const PAGE: &str = include_str!("../../../../../docs/troubleshooting.md");

/// What the page has, the words of a command, its status.
const ROWS: &[(&str, &str, i32)] = &[
    ("to bring 'c' itself up to date write 'a/'", "copy a c", 0),
    ("'1M' has no clear unit", "copy --bwlimit 1M a b", 2),
    ("create the folder, or add --mkpath", "copy a/x missing/x", 1),
    ("create the folder, or add --mkpath", "mirror a/ missing/x", 1),
    ("is empty, and 'b' is not: a disk may not be mounted", "mirror empty/ b", 1),
    ("names would be removed (--max-delete); none is", "mirror --max-delete 0 a/ more", 1),
    ("error: unexpected argument", "copy -z a b", 2),
    ("tip:", "copy -z a b", 2),
    ("is missing: there is only", "verify a more", 1),
    ("has mode", "verify a mode", 1),
    ("was changed at", "verify a older", 1),
    ("a ticket is needed", "copy pump://127.0.0.1:9/x y", 2),
    ("there is no 'pump' on the other host (status 127)", "copy --ssh ./nothing a host:b", 5),
    ("ended with status 255", "copy --ssh ./refused a host:b", 5),
    (">f..t......", "copy -n -i --update=differs a/ older", 0),
    ("*deleting", "mirror -n -i a/ more", 0),
];

#[test]
fn the_messages_of_the_page_are_printed() {
    let home = Home::new();
    for folder in ["a", "b", "c", "empty", "more", "older", "mode"] {
        make_folder(&home, folder);
        let names = if folder == "more" { &["x", "y"][..] } else { &["x"] };
        for name in names.iter().filter(|_| folder != "empty") {
            fs::write(home.path(format!("{folder}/{name}")), "one").expect("room");
            set_time(&home.path(format!("{folder}/{name}")), 1_000_000_000, 0);
        }
        set_mode(&home.path(folder), 0o755);
        set_time(&home.path(folder), 1_000_000_000, 0);
    }
    set_time(&home.path("older/x"), 900_000_000, 0);
    set_mode(&home.path("mode/x"), 0o640);
    script(home.path("nothing"), "echo 'sh: pump: not found' >&2; exit 127");
    script(home.path("refused"), "echo 'Permission denied (publickey).' >&2; exit 255");
    for (message, words, status) in ROWS {
        assert!(PAGE.contains(message), "the page has: {message}");
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        expect(&run, *status, &[message], words);
    }
}

/// Flags of du and of mountpoint-s3.
const OF_OTHERS: [&str; 3] = ["--apparent-size", "--allow-overwrite", "--allow-delete"];

#[test]
fn commands_and_flags_of_the_page_exist() {
    let home = Home::new();
    let help = |name: &str| {
        let flag = if ["copy", "mirror"].contains(&name) { "--help=all" } else { "--help" };
        let run = home.pump(&[name, flag]);
        expect(&run, 0, &[], name);
        run.out
    };
    let spans = || PAGE.split('`').skip(1).step_by(2);
    let commands =
        spans().filter_map(|span| span.strip_prefix("pump ")).filter_map(|span| span.split(' ').next());
    let mut helps: Vec<String> = commands.map(help).collect();
    assert!(helps.len() > 20, "{helps:?}");
    helps.sort();
    helps.dedup();
    let words = spans().flat_map(|span| span.split([' ', '=', ')', '(', ';']));
    for flag in words.filter(|word| word.starts_with("--") && !OF_OTHERS.contains(word)) {
        assert!(helps.iter().any(|help| help.contains(flag)), "{flag}");
    }
}
