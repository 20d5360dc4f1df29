//! A file system in user space: what only a close tells is heard, each file and folder is synced, and a file is copied
//! to its end whatever its size tells.

mod parts;

use parts::{support, wider_parts};
use std::fs::File;

use parts::fuse::{Fault, Fuse};
use support::serving::Serving;
use support::{Home, expect, noise};
use wider_parts::{program, pump, pump_command, pump_with, with_content};

const EIO: i32 = 5;
const MIB: usize = 1 << 20;
const SYNCS: [&[&str]; 4] = [&[], &["--sync=each"], &["--sync=none"], &["--verify"]];

/// A folder with files of several sizes, some of them below another folder.
fn tree(home: &Home) -> Vec<(String, Vec<u8>)> {
    std::fs::create_dir_all(home.path("tree/below/deep")).expect("room");
    let folders = ["", "below/", "below/deep/"];
    let files = (0..30).map(|number| {
        let name = format!("{}file{number}", folders[number % 3]);
        let bytes = if number % 10 == 7 { 3 * MIB + number } else { 1000 * number };
        let content =
            with_content(&home.path("tree").join(&name).display().to_string(), bytes, number as u64);
        (name, content)
    });
    files.collect()
}

#[test]
fn a_file_whose_close_fails_is_told_and_gets_no_name() {
    let home = Home::new();
    let files = tree(&home);
    let source = home.path("tree/.").display().to_string();
    for way in SYNCS {
        let fuse = Fuse::new();
        fuse.fail(Some(Fault::Close(4, EIO)));
        let run = pump_with(&["copy", &source, &fuse.at("")], way);
        let row = format!("{way:?}: {run:?}");
        expect(&run, 23, &["close '", "Input/output error (os error 5)"], &row);
        let told = run.err.matches(": close '").count();
        let stand = files.iter().filter(|(name, _)| fuse.content(name).is_some()).count();
        assert!(told > 0 && told + stand == files.len(), "{told} told, {stand} stand: {row}");
        for (name, content) in &files {
            assert!(fuse.content(name).is_none_or(|there| there == *content), "{name} is not whole: {row}");
        }
        fuse.fail(None);
        expect(&pump_with(&["copy", &source, &fuse.at("")], way), 0, &[], "the same command once more");
        for (name, content) in &files {
            assert!(fuse.content(name).as_ref() == Some(content), "{name}: {way:?}");
        }
    }
}

#[test]
fn a_single_file_whose_close_fails_leaves_the_old_target() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    let old = noise(5000, 1);
    for bytes in [1000, 3 * MIB + 1] {
        with_content(&source, bytes, 2);
        for way in SYNCS {
            let (fuse, row) = (Fuse::new(), format!("{bytes} {way:?}"));
            fuse.put("target", &old);
            // The old target's own number is 2, and that of the file by which the file system is probed 3.
            fuse.fail(Some(Fault::Close(4, EIO)));
            let run = pump_with(&["copy", &source, &fuse.at("target")], way);
            expect(&run, 1, &["close '", "Input/output error"], &row);
            assert!(fuse.content("target") == Some(old.clone()), "{row}");
            assert_eq!(fuse.names(), ["target"], "{row}");
        }
        let fuse = Fuse::new();
        fuse.put("target", &old);
        fuse.fail(Some(Fault::Close(2, EIO)));
        let run = pump(&["copy", "--inplace", &source, &fuse.at("target")]);
        expect(&run, 1, &["close '", "Input/output error"], "in place");
    }
}

#[test]
fn standard_output_whose_close_fails_is_told() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    with_content(&source, 100_000, 3);
    let fuse = Fuse::new();
    fuse.put("target", b"");
    fuse.fail(Some(Fault::Close(2, EIO)));
    let mut command = pump_command(&["copy", &source, "-"]);
    command.stdout(File::options().write(true).open(fuse.at("target")).expect("it is there"));
    let ended = command.output().expect("pump was built");
    let err = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{err}");
    assert!(err.contains("close 'standard output': Input/output error"), "{err}");
}

#[test]
fn each_file_and_folder_is_synced_where_no_sync_of_all_reaches() {
    let home = Home::new();
    let files = tree(&home);
    let source = home.path("tree/.").display().to_string();
    let fuse = Fuse::new();
    for round in ["new", "over what stands there"] {
        expect(&pump(&["copy", &source, &fuse.at("copy")]), 0, &[], round);
        assert_eq!(unsynced(&fuse), [""; 0], "{round}");
        touch_all(&source);
    }
    // Files come into a folder that is right already, and a file gets only other attributes.
    with_content(&format!("{source}/below/more"), 2000, 50);
    support::set_mode(&home.path("tree/below/file1"), 0o600);
    expect(&pump(&["copy", "--update", &source, &fuse.at("copy")]), 0, &[], "update");
    assert_eq!(unsynced(&fuse), [""; 0], "update");
    assert_eq!(fuse.content("copy/below/more"), Some(noise(2000, 50)));
    expect(&pump(&["copy", "--sync=none", &source, &fuse.at("other")]), 0, &[], "none");
    assert!(fuse.unsynced().len() >= files.len(), "--sync=none: {:?}", fuse.unsynced());
}

/// The root is touched once more when the list of what was committed goes.
fn unsynced(fuse: &Fuse) -> Vec<String> {
    fuse.unsynced().into_iter().filter(|name| name != "copy").collect()
}

/// Every file has another time than the one that was copied.
fn touch_all(source: &str) {
    program(&["find", source, "-type", "f", "-exec", "touch", "{}", "+"]);
}

/// Sizes that are told, of a file of 3 MiB and a bit.
const TOLD: [u64; 5] = [0, 1, 5000, 1 << 20, 3 << 20];

#[test]
fn a_file_that_tells_too_small_a_size_is_copied_to_its_end() {
    let (fuse, home) = (Fuse::new(), Home::new());
    let content = noise(3 * MIB + 77, 5);
    fuse.put("source", &content);
    let target = home.path("target").display().to_string();
    for told in TOLD {
        fuse.tell_size("source", told);
        for way in [
            &[][..],
            &["--verify"],
            &["--engine=inline", "--direct=never"],
            &["--direct=always"],
            &["--checksum"],
        ] {
            let row = format!("{told} {way:?}");
            if way != ["--checksum"] {
                expect(&pump_with(&["copy", &fuse.at("source"), &target], way), 0, &[], &row);
                support::has_content(target.as_ref(), &content, &row);
            }
            let tree = home.path("tree");
            expect(&pump_with(&["copy", "-T", &fuse.at(""), &tree.display().to_string()], way), 0, &[], &row);
            support::has_content(&tree.join("source"), &content, &row);
            if way != ["--checksum"] {
                std::fs::remove_dir_all(&tree).expect("it is there");
            }
        }
        compare_whole(&fuse, &home.path("tree"), &content);
        // A copy that was cut at the size that is told is found out.
        let cut = home.path("tree/source");
        std::fs::write(&cut, &content[..told as usize]).expect("room");
        let tree = home.path("tree").display().to_string();
        let differ = pump(&["verify", "--content-only", &fuse.at(""), &tree]);
        assert!(differ.status == 1 && differ.out.contains("/tree/source'"), "{told}: {differ:?}");
        expect(&pump(&["copy", "-T", "--checksum", &fuse.at(""), &tree]), 0, &[], "cut before");
        support::has_content(&cut, &content, "cut before");
        std::fs::remove_dir_all(&tree).expect("it is there");
    }
}

/// Whichever of two trees tells too small a size, their contents are compared as they are read.
fn compare_whole(fuse: &Fuse, tree: &std::path::Path, content: &[u8]) {
    let (one, other, copy) = (fuse.at(""), tree.display().to_string(), tree.join("source"));
    for (bytes, status) in [(content.len(), 0), (content.len() + 1, 1), (content.len() - 1, 1)] {
        let mut held = content.to_vec();
        held.resize(bytes, 7);
        std::fs::write(&copy, &held).expect("room");
        for (from, to) in [(&one, &other), (&other, &one)] {
            let run = pump(&["verify", "--content-only", from, to]);
            assert_eq!(run.status, status, "{bytes} {from} {to}: {run:?}");
            assert!(status == 1 || run.out.is_empty(), "{run:?}");
        }
    }
    std::fs::write(&copy, content).expect("room");
}

#[test]
fn a_file_that_tells_too_small_a_size_is_not_cut_between_hosts() {
    let (fuse, home) = (Fuse::new(), Home::new());
    fuse.put("source", &noise(3 * MIB + 77, 5));
    fuse.put("whole", &noise(5000, 6));
    fuse.tell_size("whole", 5000);
    let serving = Serving::start(home.command(&["serve", &fuse.at(""), "--ticket-file", "ticket"]));
    for told in TOLD {
        fuse.tell_size("source", told);
        for (from, to, status) in [("source", "target", 1), ("", "tree", 23)] {
            let run = home.pump(&["copy", "-T", "--ticket-file", "ticket", &serving.at(from), to]);
            let words = format!("holds more than the {told} bytes that its file system tells");
            expect(&run, status, &[&words], &format!("{told} {from}"));
        }
        assert!(!home.path("target").exists() && !home.path("tree/source").exists(), "{told}");
        support::has_content(&home.path("tree/whole"), &noise(5000, 6), "the rest is done");
        std::fs::write(home.path("tree/source"), noise(3 * MIB + 77, 5)).expect("room");
        let run =
            home.pump(&["verify", "--content-only", "--ticket-file", "ticket", &serving.at(""), "tree"]);
        // A size other than 0 says nothing before the file is opened.
        let (status, words) = if told == 0 { (2, "holds more than the 0 bytes") } else { (1, "source'") };
        expect(&run, status, &[], "between hosts");
        assert!(run.out.contains(words) || run.err.contains(words), "{told}: {run:?}");
        std::fs::remove_dir_all(home.path("tree")).expect("it is there");
    }
}
