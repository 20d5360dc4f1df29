//! `pump verify` calls nothing equal that it did not look at.

use crate::support::{Home, expect};

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
