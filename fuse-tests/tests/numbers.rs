//! Names that the listing of a folder gives twice. And files with one device and inode number, one size, one time and two
//! names each, which are not one file: each copy has the content of its own. The kernel gives every name here a handle
//! of its own.

mod parts;

use parts::{support, wider_parts};

use parts::fuse::Fuse;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use support::serving::Serving;
use support::{Home, expect, has_content, noise};
use wider_parts::{pump, pump_with};

const BYTES: usize = 50_000;

/// Names, and what tells their contents: `a` and `c` are the same.
const FILES: [(&str, u64); 5] = [("a", 1), ("b", 2), ("c", 1), ("d", 3), ("e", 2)];

fn numbered() -> Fuse {
    let fuse = Fuse::new();
    FILES.iter().for_each(|(name, seed)| fuse.put(name, &noise(BYTES, *seed)));
    fuse.report_number(77, 2);
    fuse
}

fn is_right(folder: &Path, row: &str) {
    let inode = |name: &str| std::fs::metadata(folder.join(name)).expect("it is there").ino();
    for (name, seed) in FILES {
        has_content(&folder.join(name), &noise(BYTES, seed), &format!("{row}: {name}"));
    }
    for (one, seed) in FILES {
        for (other, other_seed) in FILES {
            let are_one = inode(one) == inode(other);
            assert_eq!(are_one, seed == other_seed, "{row}: equal content is linked, {one} and {other}");
        }
    }
}

#[test]
fn files_of_one_number_keep_their_contents() {
    let (home, fuse) = (Home::new(), numbered());
    let target = home.path("target");
    let path = target.display().to_string();
    for way in [&[][..], &["--lanes=1"], &["--checksum"], &["--update"], &["--update=differs"], &["--verify"]]
    {
        for round in ["new", "again"] {
            let row = format!("{way:?} {round}");
            expect(&pump_with(&["copy", "-T", &fuse.at(""), &path], way), 0, &[], &row);
            is_right(&target, &row);
        }
        expect(&pump(&["verify", &fuse.at(""), &path]), 0, &[], "verify");
        std::fs::remove_dir_all(&target).expect("it is there");
    }
    expect(&pump(&["mirror", &fuse.at(""), &path]), 0, &[], "mirror");
    is_right(&target, "mirror");
}

#[test]
fn files_of_one_number_that_are_named_keep_their_contents() {
    let (home, fuse) = (Home::new(), numbered());
    std::fs::create_dir(home.path("target")).expect("room");
    let named: Vec<String> = FILES.iter().map(|(name, _)| fuse.at(name)).collect();
    let words: Vec<&str> = named.iter().map(String::as_str).collect();
    let target = home.path("target").display().to_string();
    expect(&pump(&[&["copy"], &words[..], &[&target]].concat()), 0, &[], "named");
    is_right(&home.path("target"), "named");
}

/// More names than one listing gives, one folder, and one file that is too large for the small ones.
#[test]
fn a_name_that_is_listed_twice_is_copied_once() {
    let (home, fuse) = (Home::new(), Fuse::new());
    std::fs::create_dir_all(fuse.at("from/folder")).expect("room");
    for number in 0..300 {
        std::fs::write(fuse.at(&format!("from/{number:0100}")), number.to_string()).expect("room");
    }
    std::fs::write(fuse.at("from/folder/small"), b"small").expect("room");
    std::fs::write(fuse.at("from/large"), noise(9 << 20, 1)).expect("room");
    fuse.list_twice();
    let from = fuse.at("from");
    let serving = Serving::start(home.command(&["serve", &from, "--ticket-file", "ticket"]));
    for (row, source, words) in [
        ("here", from.clone(), &[][..]),
        ("in order", from.clone(), &["-i"]),
        ("pulled", serving.at(""), &["--ticket-file=ticket"]),
    ] {
        for (round, way) in [("new", "copy"), ("again", "copy"), ("mirrored", "mirror")] {
            let form = if way == "copy" { &["-T"][..] } else { &[] };
            let run = home.pump(&[&[way], words, form, &[&source, "target"]].concat());
            expect(&run, 0, &[], &format!("{row} {round}"));
        }
        let count = std::fs::read_dir(home.path("target")).expect("it is there").count();
        assert_eq!(count, 302, "{row}");
        has_content(&home.path("target/large"), &noise(9 << 20, 1), row);
        has_content(&home.path("target/folder/small"), b"small", row);
        std::fs::remove_dir_all(home.path("target")).expect("it is there");
    }
}

#[test]
fn files_of_one_number_of_another_host_keep_their_contents() {
    let (home, fuse) = (Home::new(), numbered());
    let serving = Serving::start(home.command(&["serve", &fuse.at(""), "--ticket-file", "ticket"]));
    for round in ["new", "again"] {
        let run = home.pump(&["copy", "-T", "--ticket-file", "ticket", &serving.at(""), "target"]);
        expect(&run, 0, &[], round);
        is_right(&home.path("target"), round);
    }
    drop(serving);
    std::fs::create_dir(home.path("served")).expect("room");
    let serving = Serving::new(&home, &[]);
    let run = home.pump(&["copy", "-T", "--ticket-file", "ticket", &fuse.at(""), &serving.at("pushed")]);
    expect(&run, 0, &[], "pushed");
    is_right(&home.path("served/pushed"), "pushed");
}

/// The kind of the target: one number for all files, of one name each.
#[test]
fn a_target_whose_files_have_one_number_is_updated() {
    let (home, fuse) = (Home::new(), Fuse::new());
    std::fs::create_dir(home.path("source")).expect("room");
    std::fs::create_dir(fuse.at("copy")).expect("room");
    fuse.report_number(77, 1);
    let (source, copy) = (home.path("source").display().to_string(), fuse.at("copy"));
    let write = |text: &str| {
        for name in ["a", "b", "c"] {
            std::fs::write(home.path("source").join(name), format!("{text} {name}")).expect("room");
        }
    };
    for flags in [&["mirror"][..], &["copy", "-T"], &["mirror", "--backup"]] {
        for round in ["new", "newer", "newest"] {
            write(round);
            if round == "newest" {
                std::fs::remove_file(home.path("source/c")).expect("it was made");
            }
            let row = format!("{flags:?} {round}");
            // What cannot be kept of one time for all files is no error here.
            let words = [flags, &["--no-preserve=timestamps", "--checksum", &source, &copy]].concat();
            expect(&pump(&words), 0, &[], &row);
            for name in ["a", "b"] {
                has_content(
                    fuse.at(&format!("copy/{name}")).as_ref(),
                    format!("{round} {name}").as_bytes(),
                    &row,
                );
            }
            let is_removed = round == "newest" && flags[0] == "mirror";
            assert_eq!(Path::new(&fuse.at("copy/c")).exists(), !is_removed, "{row}");
        }
    }
}

/// What each name costs does not grow with their number.
#[test]
fn a_target_whose_files_have_one_number_is_listed_a_few_times() {
    const FILES: usize = 300;
    let (home, fuse) = (Home::new(), Fuse::new());
    std::fs::create_dir(home.path("source")).expect("room");
    std::fs::create_dir(fuse.at("copy")).expect("room");
    fuse.report_number(77, 1);
    for number in 0..FILES {
        std::fs::write(home.path(format!("source/{number}")), number.to_string()).expect("room");
    }
    for row in ["new", "again"] {
        let before = fuse.listed();
        let source = home.path("source").display().to_string();
        let words = ["mirror", "--no-preserve=timestamps", "--checksum", &source, &fuse.at("copy")];
        expect(&pump(&words), 0, &[], row);
        let listed = fuse.listed() - before;
        assert!(listed < 10 * FILES, "{row}: {listed} names listed for {FILES}");
    }
}
