//! A file system that is not known to tell the truth of holes is not believed: what it calls a hole is read.

mod parts;

use parts::{support, wider_parts};

use parts::fuse::Fuse;
use parts::lies::HoleLie;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use support::serving::Serving;
use support::{Home, expect, has_content, noise};
use wider_parts::{pump, pump_with};

const MIB: usize = 1 << 20;

/// Contents of which nearly all is called a hole.
fn contents() -> Vec<(&'static str, Vec<u8>)> {
    let with = |at: usize, bytes: usize| {
        let mut content = vec![0; 12 * MIB];
        content[at..at + bytes].copy_from_slice(&noise(bytes, at as u64));
        content
    };
    vec![
        ("text", b"forty bytes of text, no more and no less".to_vec()),
        ("noise", noise(3 * MIB, 1)),
        ("one", with(7 * MIB + 12_345, 4096)),
        ("last", with(12 * MIB - 10, 10)),
        ("zeros", vec![0; 12 * MIB]),
    ]
}

fn lying(lie: HoleLie) -> Fuse {
    let fuse = Fuse::new();
    contents().iter().for_each(|(name, content)| fuse.put(name, content));
    fuse.call_holes(lie);
    fuse
}

/// The ways of a copy.
const WAYS: [&[&str]; 6] =
    [&[], &["--sparse=always"], &["--sparse=never"], &["--verify"], &["--checksum"], &["--reflink=never"]];

fn is_equal(folder: &Path, row: &str) {
    for (name, content) in contents() {
        has_content(&folder.join(name), &content, &format!("{row} {name}"));
    }
}

#[test]
fn what_is_called_a_hole_is_read() {
    let home = Home::new();
    let target = home.path("target");
    let path = target.display().to_string();
    for lie in [HoleLie::NoBlocks, HoleLie::FirstMib] {
        let fuse = lying(lie);
        for way in WAYS {
            let row = format!("{lie:?} {way:?}");
            expect(&pump_with(&["copy", "-T", &fuse.at(""), &path], way), 0, &[], &row);
            is_equal(&target, &row);
            // Zeros are a hole again, but for the MiB that is called data.
            if way != ["--sparse=never"] {
                let zeros = std::fs::metadata(target.join("zeros")).expect("it is there");
                assert!(zeros.blocks() <= 2048, "{row}: {} blocks of zeros", zeros.blocks());
            }
            expect(&pump(&["verify", "--content-only", &fuse.at(""), &path]), 0, &[], &row);
            std::fs::remove_dir_all(&target).expect("it is there");
            for (name, content) in contents() {
                let row = format!("{row} {name} alone");
                expect(&pump_with(&["copy", &fuse.at(name), &path], way), 0, &[], &row);
                has_content(&target, &content, &row);
                // Over old content where it stands.
                std::fs::write(&target, vec![9; content.len()]).expect("room");
                expect(&pump(&["copy", "--inplace", &fuse.at(name), &path]), 0, &[], &row);
                has_content(&target, &content, &format!("{row} in place"));
                std::fs::remove_file(&target).expect("it is there");
            }
        }
    }
}

#[test]
fn what_is_called_a_hole_is_read_for_another_host() {
    let home = Home::new();
    std::fs::create_dir(home.path("served")).expect("room");
    for lie in [HoleLie::NoBlocks, HoleLie::FirstMib] {
        let fuse = lying(lie);
        let serving = Serving::start(home.command(&["serve", &fuse.at(""), "--ticket-file", "ticket"]));
        for way in WAYS {
            let row = format!("{lie:?} {way:?} pulled");
            let pulled = ["copy", "-T", "--ticket-file", "ticket", &serving.at(""), "target"];
            expect(&home.pump(&[&pulled[..], way].concat()), 0, &[], &row);
            is_equal(&home.path("target"), &row);
            std::fs::remove_dir_all(home.path("target")).expect("it is there");
        }
        drop(serving);
        let serving = Serving::new(&home, &[]);
        let pushed = ["copy", "-T", "--ticket-file", "ticket", &fuse.at(""), &serving.at("pushed")];
        expect(&home.pump(&pushed), 0, &[], "pushed");
        is_equal(&home.path("served/pushed"), &format!("{lie:?} pushed"));
    }
}

#[test]
fn a_difference_in_what_is_called_a_hole_is_found() {
    let home = Home::new();
    let fuse = lying(HoleLie::NoBlocks);
    for (name, content) in contents() {
        std::fs::create_dir_all(home.path("copy")).expect("room");
        std::fs::write(home.path("copy").join(name), vec![0; content.len()]).expect("room");
    }
    let copy = home.path("copy").display().to_string();
    for (one, other) in [(fuse.at(""), copy.clone()), (copy.clone(), fuse.at(""))] {
        let differ = pump(&["verify", "--content-only", &one, &other]);
        assert_eq!(differ.status, 1, "{differ:?}");
        let named = |name: &str| differ.out.contains(&format!("/{name}'"));
        let all = ["text", "noise", "one", "last", "zeros"].map(named);
        assert_eq!(all, [true, true, true, true, false], "{differ:?}");
    }
}
