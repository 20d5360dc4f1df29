//! What belongs to a file besides its bytes, between two hosts: of empty files too, of which no block tells.

mod support;

use support::serving::Serving;
use support::{Home, expect, has_attributes_of, make_folder, set_mode, set_mtime, set_xattr};

#[test]
fn empty_and_small_files_keep_their_attributes_both_ways() {
    let home = Home::new();
    ["served", "tree"].into_iter().for_each(|name| make_folder(&home, name));
    for (name, content) in [("tree/empty", &b""[..]), ("tree/small", b"content")] {
        std::fs::write(home.path(name), content).expect("room");
        set_xattr(&home.path(name), "user.colour", name.as_bytes());
        set_mode(&home.path(name), 0o640);
        set_mtime(&home.path(name), 1_000_000_004_987_654_321);
    }
    let serving = Serving::new(&home, &[]);
    for (source, target) in [("tree".to_owned(), serving.at("copy")), (serving.at("copy"), "back".to_owned())]
    {
        let run = home.pump(&["copy", "--ticket-file", "ticket", &source, &target]);
        expect(&run, 0, &[], &format!("{source} to {target}"));
    }
    for (original, copies) in [
        ("tree/empty", ["served/copy/empty", "back/empty"]),
        ("tree/small", ["served/copy/small", "back/small"]),
    ] {
        for copy in copies {
            has_attributes_of(&home.path(original), &home.path(copy), copy);
        }
    }
}
