//! `pump verify` with another host finds what it finds on one, whatever of it comes ahead and whether digests or bytes
//! are compared.

use std::fs;
use std::os::unix::fs::FileExt;

use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, make_symlink, noise_file, schema, set_xattr};

/// Parts of the lines for what differs.
const DIFFERENCES: [&str; 11] = [
    "copy/attributes': has mode 0644,",
    "tree/byte' at byte 7: differs",
    "tree/large' at byte 2500000: differs",
    "tree/holed' at byte 50000: differs",
    "copy/longer': has 5 bytes,",
    "copy/kind': is a folder,",
    "copy/link': points to 'folder-0',",
    "copy/ours': is missing:",
    "tree/theirs': is missing:",
    "tree/folder-0/more': is missing:",
    "copy/touched': was changed at",
];

/// Two trees: `tree`, and what is served as `copy`.
fn trees(home: &Home) {
    make_folder(home, "served");
    make_folder(home, "tree");
    for folder in 0..3 {
        make_folder(home, &format!("tree/folder-{folder}"));
        for number in 0..70 {
            noise_file(home, &format!("tree/folder-{folder}/{number}"), 100 + number * 31, number as u64);
        }
        home.file(format!("tree/folder-{folder}/empty"), 0);
    }
    for (name, bytes) in
        [("byte", 4000), ("large", 3_000_001), ("longer", 4), ("attributes", 10), ("touched", 9)]
    {
        noise_file(home, &format!("tree/{name}"), bytes, 1);
    }
    let holed = fs::File::create(home.path("tree/holed")).expect("room");
    holed.set_len(100_000).expect("a hole");
    make_symlink(home, "folder-0", "tree/link");
    fs::hard_link(home.path("tree/byte"), home.path("tree/folder-1/byte again")).expect("one file system");
    set_xattr(&home.path("tree/attributes"), "user.kept", b"1");
    expect(&home.pump(&["copy", "-q", "--sync=none", "tree/", "served/copy"]), 0, &[], "a copy");
}

fn spoil(home: &Home) {
    let write = |name: &str, at: u64| {
        let (path, meta) = (home.path(name), fs::metadata(home.path(name)).expect("it is there"));
        let file = fs::File::options().write(true).open(path).expect("it is there");
        file.write_all_at(b"\x01\x02", at).expect("room");
        file.set_modified(meta.modified().expect("a time")).expect("it is ours");
    };
    write("tree/byte", 7);
    write("served/copy/large", 2_500_000);
    write("tree/holed", 50_000);
    fs::write(home.path("tree/longer"), "longer").expect("room");
    fs::write(home.path("served/copy/longer"), "short").expect("room");
    make_folder(home, "served/copy/kind");
    home.file("tree/kind", 3);
    fs::remove_file(home.path("tree/link")).expect("it is there");
    make_symlink(home, "nowhere", "tree/link");
    home.file("tree/ours", 1);
    home.file("served/copy/theirs", 1);
    home.file("served/copy/folder-0/more", 1);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(home.path("tree/attributes"), mode).expect("it is ours");
    fs::File::open(home.path("tree/touched"))
        .and_then(|file| file.set_modified(std::time::UNIX_EPOCH))
        .expect("ours");
}

/// `open`: names and digests come ahead; `bare`: names and blocks do.
const SESSIONS: [&[&str]; 4] = [&[], &["--insecure=open"], &["--insecure=unhashed"], &["--insecure=bare"]];

#[test]
fn two_hosts_differ_in_what_one_finds() {
    let home = Home::new();
    trees(&home);
    let run = |words: &[&str], places: [&str; 2]| home.pump(&[&["verify"], words, &places[..]].concat());
    let reported = |words: &[&str], places: [&str; 2]| {
        let run = run(&[&["--json"], words].concat(), places);
        let report = schema::checked(&run.out).pop().expect("a report");
        ["exit_status", "files", "bytes", "problems"].map(|field| report[field].clone())
    };
    for session in SESSIONS {
        let serving = Serving::new(&home, session);
        let words = [&["--ticket-file=ticket", "--attributes"], session].concat();
        let there = serving.at("copy");
        let here = reported(&["--attributes"], ["tree", "served/copy"]);
        for places in [["tree", &there], [&there, "tree"]] {
            assert_eq!(reported(&words, places), here, "{session:?} {places:?}: the same");
        }
    }
    spoil(&home);
    let here = reported(&["--attributes"], ["tree", "served/copy"]);
    for session in SESSIONS {
        let serving = Serving::new(&home, session);
        let words = [&["--ticket-file=ticket", "--attributes"], session].concat();
        let there = serving.at("copy");
        for places in [["tree", &there], [&there, "tree"]] {
            assert_eq!(reported(&words, places), here, "{session:?} {places:?}: as on one host");
        }
        let found = run(&words, ["tree", &there]);
        expect(&found, 1, &[], "a difference");
        for said in DIFFERENCES {
            // The copy is named first, but for a name that it lacks.
            assert!(found.out.contains(said), "{said}: {session:?}: {found:?}");
        }
    }
}
