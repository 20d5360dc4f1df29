//! Real file systems: shared blocks, holes, offsets behind 4 GiB, and every engine giving the same bytes on each.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::support::{expect, has_content, noise};
use crate::wider_parts::{Kind, Mount, blocks, leftovers, program, pump, pump_with, report, with_content};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

#[test]
fn blocks_are_shared_where_the_file_system_can() {
    for kind in [Kind::Btrfs, Kind::Xfs] {
        let mount = Mount::new(kind);
        for bytes in [1, 4096, 3_000_001, 20 << 20] {
            let content = with_content(&mount.at("source"), bytes, bytes as u64);
            for (when, sync, got) in [
                ("auto", "end", "always"),
                ("always", "none", "always"),
                ("never", "end", "never"),
                ("never", "none", "never"),
            ] {
                let row = format!("{kind:?} {bytes} bytes, --reflink={when} --sync={sync}");
                let options = [format!("--reflink={when}"), format!("--sync={sync}")];
                let words = ["copy", "--json", &mount.at("source"), &mount.at("target")];
                let run = pump_with(&words, &[&options[0], &options[1]]);
                expect(&run, 0, &[], &row);
                let report = report(&run);
                assert_eq!(
                    (&report["reflink"]["asked"], &report["reflink"]["got"]),
                    (&when.into(), &got.into())
                );
                let moved = if got == "always" { 0 } else { bytes };
                assert_eq!(
                    (&report["bytes"], &report["bytes_moved"]),
                    (&bytes.into(), &moved.into()),
                    "{row}"
                );
                has_content(mount.at("target").as_ref(), &content, &row);
                // Smaller files lie within the metadata of some file systems.
                if bytes >= 4096 {
                    assert_eq!(shares_blocks(&mount.at("target")), got == "always", "{row}");
                }
            }
        }
        assert_eq!(leftovers(&mount.point()), [""; 0]);
    }
}

/// Whether an extent of the file is marked as shared.
fn shares_blocks(path: &str) -> bool {
    program(&["filefrag", "-s", "-v", path]).contains("shared")
}

#[test]
fn a_shared_copy_is_a_copy_all_the_same() {
    let mount = Mount::new(Kind::Btrfs);
    let content = with_content(&mount.at("source"), 3_000_001, 1);
    crate::support::set_mode(mount.at("source").as_ref(), 0o4751);
    crate::support::set_mtime(mount.at("source").as_ref(), 1_234_567_890_123_456_789);
    assert!(crate::support::set_xattr(mount.at("source").as_ref(), "user.colour", b"red"));
    with_content(&mount.at("target"), 5000, 2);
    expect(&pump(&["copy", &mount.at("source"), &mount.at("target")]), 0, &[], "over an old target");
    crate::support::has_attributes_of(mount.at("source").as_ref(), mount.at("target").as_ref(), "shared");
    File::options()
        .write(true)
        .open(mount.at("source"))
        .expect("writable")
        .write_all_at(b"new", 0)
        .expect("room");
    has_content(mount.at("target").as_ref(), &content, "after the source was changed");
}

#[test]
fn blocks_that_cannot_be_shared_are_told() {
    let (one, other) = (Mount::new(Kind::Ext4), Mount::new(Kind::Xfs));
    for (from, to, options) in [
        (&one, &one, &[][..]),
        (&one, &other, &[]),
        (&other, &one, &[]),
        (&other, &other, &["--verify"]),
        (&other, &other, &["--inplace"]),
    ] {
        let row = format!("{:?} to {:?} {options:?}", from.kind, to.kind);
        with_content(&from.at("source"), 3_000_001, 3);
        let old = with_content(&to.at("target"), 5000, 4);
        let run = pump_with(&["copy", "--reflink=always", &from.at("source"), &to.at("target")], options);
        let why = format!("reflink '{}': its blocks cannot be shared", to.at("target"));
        expect(&run, 1, &[&why, "--reflink=always"], &row);
        has_content(to.at("target").as_ref(), &old, &row);
        assert_eq!(leftovers(&to.point()), [""; 0], "{row}");
    }
    let content = with_content(&one.at("source"), 3_000_001, 5);
    let run = pump(&["copy", "--json", &one.at("source"), &one.at("target")]);
    let reflink = &report(&run)["reflink"];
    assert_eq!((&reflink["asked"], &reflink["got"]), (&"auto".into(), &"never".into()), "ext4");
    assert!(reflink["why"].as_str().is_some_and(|why| !why.is_empty()), "ext4: {reflink}");
    has_content(one.at("target").as_ref(), &content, "ext4");
}

#[test]
fn copies_cross_file_systems() {
    let mounts: Vec<Mount> = Kind::ALL.into_iter().map(Mount::new).collect();
    let content = noise(2 * MIB as usize + 777, 6);
    for from in &mounts {
        std::fs::write(from.at("source"), &content).expect("room");
        for to in &mounts {
            for options in [&[][..], &["--sync=none"], &["--verify"]] {
                let row = format!("{:?} to {:?} {options:?}", from.kind, to.kind);
                expect(&pump_with(&["copy", &from.at("source"), &to.at("target")], options), 0, &[], &row);
                has_content(to.at("target").as_ref(), &content, &row);
                assert_eq!(leftovers(&to.point()), [""; 0], "{row}");
            }
        }
    }
}

#[test]
fn every_engine_gives_the_same_bytes() {
    let sizes = [0, 1, 4095, 4096, 4097, 524_287, 524_289, 3_000_001];
    for kind in Kind::ALL {
        let mount = Mount::new(kind);
        for bytes in sizes {
            let content = with_content(&mount.at("source"), bytes, bytes as u64 + 7);
            for engine in ["uring", "threads", "inline"] {
                for direct in ["auto", "always", "never"] {
                    for lanes in ["1", "3"] {
                        let row = format!("{kind:?} {bytes} bytes, {engine}, direct {direct}, {lanes} lanes");
                        let (engine, direct) = (format!("--engine={engine}"), format!("--direct={direct}"));
                        let options = ["--reflink=never", "--request-size=64KiB", "--lanes", lanes];
                        let words = ["copy", &engine, &direct, &mount.at("source"), &mount.at("target")];
                        expect(&pump(&[&words[..], &options].concat()), 0, &[], &row);
                        has_content(mount.at("target").as_ref(), &content, &row);
                    }
                }
            }
        }
        assert_eq!(leftovers(&mount.point()), [""; 0], "{kind:?}");
    }
}

/// Where data lie in a sparse file: start and length of each island, then the file's length.
type Islands = (&'static str, &'static [(u64, u64)], u64);

const PATTERNS: [Islands; 9] = [
    ("one hole", &[], 3 * MIB),
    ("one hole, odd length", &[], 3 * MIB + 1),
    ("data at the start", &[(0, 4096)], 3 * MIB + 5),
    ("data at the end", &[(3 * MIB - 4096, 4096)], 3 * MIB),
    ("odd data at the end", &[(3 * MIB, 1)], 3 * MIB + 1),
    ("data in the middle", &[(MIB + 100, 5000)], 3 * MIB + 100),
    ("a comb", &[(0, 1), (64 * KIB, 1), (128 * KIB, 1), (192 * KIB, 1), (256 * KIB, 1)], 320 * KIB),
    ("larger than a request", &[(MIB, 2 * MIB), (8 * MIB, 3 * MIB + 17)], 16 * MIB),
    ("far apart", &[(0, 100), (70 * MIB, 100), (100 * MIB, 100)], 200 * MIB),
];

fn make_sparse(path: &str, islands: &[(u64, u64)], bytes: u64) {
    let _ = std::fs::remove_file(path);
    let file = File::create(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    for &(at, length) in islands {
        file.write_all_at(&noise(length as usize, at + 1), at).expect("room for an island");
    }
    file.set_len(bytes).expect("a length can be set");
    file.sync_all().expect("a sync");
}

/// The copy holds the islands, and nothing between them: all of it is read, in pieces.
fn same_content(one: &str, other: &str, row: &str) {
    program(&["cmp", one, other]);
    let length = |path: &str| std::fs::metadata(path).expect("the file").len();
    assert_eq!(length(one), length(other), "{row}");
}

#[test]
fn holes_take_no_more_blocks_than_in_the_source() {
    for kind in Kind::ALL {
        let mount = Mount::new(kind);
        for (name, islands, bytes) in PATTERNS {
            make_sparse(&mount.at("source"), islands, bytes);
            for options in [
                &["--reflink=never"][..],
                &["--reflink=never", "--direct=always"],
                &["--reflink=never", "--sync=none", "--direct=never"],
                &["--reflink=never", "--engine=threads", "--lanes=3", "--request-size=64KiB"],
                &["--verify"],
                &[],
            ] {
                let row = format!("{kind:?}: {name} {options:?}");
                let (source, target) = (mount.at("source"), mount.at("target"));
                expect(&pump_with(&["copy", &source, &target], options), 0, &[], &row);
                program(&["sync", "--file-system", &target]);
                same_content(&source, &target, &row);
                let (here, there) = (blocks(&source), blocks(&target));
                assert!(there <= here, "{row}: {there} blocks, the source has {here}");
            }
        }
    }
}

#[test]
fn space_reserved_in_the_source_is_no_reason_to_take_more() {
    for kind in [Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        let mount = Mount::new(kind);
        let (source, target) = (mount.at("source"), mount.at("target"));
        make_sparse(&source, &[(0, 4096), (60 * MIB, 4096)], 64 * MIB);
        program(&["fallocate", "--offset", "16MiB", "--length", "8MiB", &source]);
        program(&["sync", "--file-system", &source]);
        let run = pump(&["copy", "--reflink=never", &source, &target]);
        expect(&run, 0, &[], &format!("{kind:?}"));
        program(&["sync", "--file-system", &target]);
        same_content(&source, &target, &format!("{kind:?}"));
        let (here, there) = (blocks(&source), blocks(&target));
        assert!(there <= here, "{kind:?}: {there} blocks, the source has {here}");
    }
}

/// Read as bytes it would take an hour.
#[test]
fn a_hole_of_15_tib_with_reserved_space_is_copied_as_a_hole() {
    const BYTES: u64 = 15 << 40;
    for kind in Kind::ALL {
        let mount = Mount::new(kind);
        let (source, target, folder) = (mount.at("from/source"), mount.at("target"), mount.at("from"));
        std::fs::create_dir(&folder).expect("a folder");
        make_sparse(&source, &[(1 << 30, 5000)], BYTES);
        program(&["fallocate", "--keep-size", "--offset", "1TiB", "--length", "4MiB", &source]);
        for (from, to, copied) in
            [(&source, &target, target.clone()), (&folder, &target, mount.at("target/source"))]
        {
            let row = format!("{kind:?}: {from}");
            let words = [crate::support::PUMP, "copy", "--reflink=never", from, to];
            program(&[&["timeout", "60"], &words[..]].concat());
            let (here, there) = (blocks(&source), blocks(&copied));
            assert!(there < here, "{row}: {there} blocks, the source has {here}");
            let file = File::open(&copied).expect("the copy");
            let mut island = vec![0; 5000];
            file.read_exact_at(&mut island, 1 << 30).expect("it is long enough");
            assert!(island == noise(5000, (1 << 30) + 1), "{row}: the data");
            assert_eq!(file.metadata().expect("the copy").len(), BYTES, "{row}");
            std::fs::remove_file(&copied).expect("the copy");
        }
    }
}

#[test]
fn holes_are_zeros_wherever_they_go() {
    for kind in Kind::ALL {
        let mount = Mount::new(kind);
        let (source, target) = (mount.at("source"), mount.at("target"));
        for (name, islands, bytes) in PATTERNS.into_iter().filter(|(_, _, bytes)| *bytes <= 16 * MIB) {
            let row = format!("{kind:?}: {name}");
            make_sparse(&source, islands, bytes);
            let content = std::fs::read(&source).expect("readable");
            for old in [bytes as usize / 2, bytes as usize + 5000] {
                with_content(&target, old, 8);
                for options in [&[][..], &["--direct=always"], &["--verify"]] {
                    let run = pump_with(&["copy", "--inplace", &source, &target], options);
                    expect(&run, 0, &[], &row);
                    has_content(target.as_ref(), &content, &format!("{row}, in place {options:?}"));
                }
            }
            make_sparse(&target, &[(2 * MIB, 5000), (20 * MIB, 5000)], 24 * MIB);
            let most = blocks(&source) + blocks(&target);
            expect(&pump(&["copy", "--inplace", &source, &target]), 0, &[], &row);
            has_content(target.as_ref(), &content, &format!("{row}, in place over holes"));
            assert!(blocks(&target) <= most, "{row}: {} blocks, in place over holes", blocks(&target));
            std::fs::write(&target, &content).expect("room");
            let hashes = program_out(&["hash", &source, &target]);
            let roots: Vec<&str> = hashes.lines().filter_map(|line| line.split("  ").next()).collect();
            assert!(roots.len() == 2 && roots[0] == roots[1], "{row}: {hashes}");
            let streamed = std::process::Command::new(crate::support::PUMP)
                .args(["copy", "-q", &source, "-"])
                .output()
                .expect("pump was built");
            assert!(streamed.status.success() && streamed.stdout == content, "{row}: to a stream");
        }
    }
}

fn program_out(words: &[&str]) -> String {
    let run = pump(words);
    expect(&run, 0, &[], &format!("{words:?}"));
    run.out
}

#[test]
fn a_byte_in_the_others_hole_is_a_difference() {
    let mount = Mount::new(Kind::Ext4);
    let (one, other) = (mount.at("one"), mount.at("other"));
    for (islands, status) in
        [(&[(MIB, 10)][..], 0), (&[(MIB, 10), (2 * MIB, 1)], 1), (&[(MIB, 1)], 1), (&[], 1)]
    {
        make_sparse(&one, &[(MIB, 10)], 3 * MIB);
        make_sparse(&other, islands, 3 * MIB);
        for pair in [[&one, &other], [&other, &one]] {
            let run = pump(&["verify", "--content-only", pair[0], pair[1]]);
            assert_eq!(run.status, status, "{islands:?}: {run:?}");
        }
    }
}

#[test]
fn every_byte_is_written_where_holes_are_not_believed() {
    let mount = Mount::new(Kind::Ext4);
    make_sparse(&mount.at("source"), &[(MIB, 4096)], 3 * MIB);
    expect(&pump(&["copy", "--sparse=never", &mount.at("source"), &mount.at("target")]), 0, &[], "");
    same_content(&mount.at("source"), &mount.at("target"), "--sparse=never");
    assert_eq!(blocks(mount.at("target")) * 512, 3 * MIB);
}

#[test]
fn offsets_behind_4_gib_are_whole() {
    for kind in [Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        let mount = Mount::new(kind);
        let edge = 4 * GIB;
        let islands = [
            (0, 4096),
            (2 * GIB - 300_000, 600_000),
            (edge - 300_000, 600_000),
            (edge + GIB, 5000),
            (2 * edge - 100, 200),
        ];
        let (source, target) = (mount.at("source"), mount.at("target"));
        make_sparse(&source, &islands, 2 * edge + 12_345);
        for options in [&[][..], &["--direct=always"], &["--lanes=3", "--request-size=64KiB", "--verify"]] {
            let row = format!("{kind:?} {options:?}");
            let run = pump_with(&["copy", "--reflink=never", &source, &target], options);
            expect(&run, 0, &[], &row);
            let file = File::open(&target).expect("the copy");
            assert_eq!(file.metadata().expect("its length").len(), 2 * edge + 12_345, "{row}");
            for (at, length) in islands {
                let mut found = vec![0; length as usize];
                file.read_exact_at(&mut found, at).expect("within the file");
                assert!(found == noise(length as usize, at + 1), "{row}: the island at {at}");
            }
            assert!(blocks(&target) <= blocks(&source), "{row}");
        }
        let run = pump(&["verify", "--content-only", &source, &target]);
        expect(&run, 0, &[], "verify");
    }
}

/// An overlay is honest only if what is below is, which it does not tell: what it calls a hole is read. It tells no
/// handles either: names of one file are compared.
#[test]
fn what_an_overlay_calls_a_hole_is_read_and_its_links_are_compared() {
    let mount = Mount::new(Kind::Ext4);
    for name in ["lower", "upper", "work", "merged"] {
        std::fs::create_dir(mount.at(name)).expect("room");
    }
    make_sparse(&mount.at("lower/sparse"), &[(MIB, 5000), (40 * MIB, 5000)], 64 * MIB);
    let content = with_content(&mount.at("lower/one"), 100_000, 7);
    for name in ["two", "three"] {
        std::fs::hard_link(mount.at("lower/one"), mount.at(&format!("lower/{name}"))).expect("hard links");
    }
    let folder = |name: &str| format!("{name}dir={}", mount.at(name));
    let folders = [folder("lower"), folder("upper"), folder("work")].join(",");
    let overlay = Overlay(mount.at("merged"));
    program(&["mount", "-t", "overlay", "-o", &folders, "overlay", &overlay.0]);
    expect(&pump(&["copy", "-T", &overlay.0, &mount.at("copy")]), 0, &[], "from the overlay");
    expect(&pump(&["verify", &overlay.0, &mount.at("copy")]), 0, &[], "the same, links too");
    assert!(blocks(mount.at("copy/sparse")) < 1024, "holes stay holes: {}", blocks(mount.at("copy/sparse")));
    for name in ["one", "two", "three"] {
        let path = mount.at(&format!("copy/{name}"));
        has_content(path.as_ref(), &content, name);
        assert_eq!(std::os::unix::fs::MetadataExt::nlink(&std::fs::metadata(&path).expect("it is there")), 3);
    }
    expect(&pump(&["mirror", &overlay.0, &mount.at("copy")]), 0, &["Nothing to do"], "again");
}

/// Unmounted when dropped.
struct Overlay(String);

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").args(["-l", &self.0]).status();
    }
}
