//! `pump verify` calls nothing equal that it did not look at.

use crate::support::{Home, expect, outcome};

#[test]
fn names_like_those_of_temporary_files_are_compared() {
    let home = Home::new();
    for root in ["one", "other"] {
        std::fs::create_dir(home.path(root)).expect("room");
        std::fs::write(home.path(root).join(".pump-0123456789abcdef"), root).expect("room");
    }
    let run = |row| expect(&home.pump(&["verify", "--content-only", "one", "other"]), 1, &[".pump-01"], row);
    run("another content");
    std::fs::remove_file(home.path("other/.pump-0123456789abcdef")).expect("it is there");
    run("only in the first");
}

#[test]
fn the_name_that_is_missing_is_named_on_either_side() {
    let home = Home::new();
    for (root, name) in [("one", "first"), ("other", "second")] {
        std::fs::create_dir(home.path(root)).expect("room");
        std::fs::write(home.path(root).join(name), name).expect("room");
    }
    let said = [
        "compare 'other/first': is missing: there is only 'one/first'",
        "compare 'one/second': is missing: there is only 'other/second'",
    ];
    expect(&home.pump(&["verify", "--content-only", "one", "other"]), 1, &said, "words");
    let run = home.pump(&["verify", "--content-only", "--json", "one", "other"]);
    expect(&run, 1, &["is missing: there is only 'one/first'", "other/first"], "events");
    assert!(!run.out.contains("there is no '"), "{run:?}");
}

/// A character device has neither a size nor an end.
#[test]
fn a_character_device_is_no_file_to_compare_with() {
    let home = Home::new();
    std::fs::write(home.path("zeros"), [0; 3]).expect("room");
    for (words, part) in [
        ("- /dev/zero", "one of two places must be a file, and '/dev/zero' is none"),
        ("- /dev/null", "one of two places must be a file, and '/dev/null' is none"),
        ("zeros /dev/zero", "write it first: pump verify /dev/zero zeros"),
        ("/dev/zero /dev/null", "'/dev/zero' and '/dev/null' are no files"),
    ] {
        let words: Vec<&str> = ["verify"].into_iter().chain(words.split(' ')).collect();
        expect(&home.pump(&words), 2, &[part], &words.join(" "));
    }
    let run = home.pump(&["verify", "--content-only", "/dev/zero", "zeros"]);
    expect(&run, 1, &["compare 'zeros' at byte 3: ends where '/dev/zero' goes on"], "the device first");
}

#[test]
fn the_one_that_ends_first_is_named_as_such() {
    let home = Home::new();
    std::fs::write(home.path("abc"), "abc").expect("room");
    for (input, said) in [
        ("abcd", "compare 'abc' at byte 3: ends where 'standard input' goes on"),
        ("ab", "compare 'abc' at byte 2: goes on where 'standard input' ends"),
        ("abx", "compare 'abc' at byte 2: differs from 'standard input'"),
        ("abxd", "compare 'abc' at byte 2: differs from 'standard input'"),
    ] {
        let run = outcome(home.command(&["verify", "-", "abc"]), input.as_bytes());
        expect(&run, 1, &[said], input);
    }
}
