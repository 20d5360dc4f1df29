//! A file system that fails: each error is told with file, offset and cause, an old target stays whole, and nothing is
//! left behind.

mod parts;

use parts::fuse::{Fault, Fuse};
use parts::{support, wider_parts};
use support::serving::Serving;
use support::{Home, expect, noise};
use wider_parts::{Kind, Mount, leftovers, pump, pump_with, report, with_content};

const MIB: usize = 1 << 20;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// The ways that requests may take.
const WAYS: [&[&str]; 6] = [
    &[],
    &["--direct=always"],
    &["--direct=never"],
    &["--engine=threads", "--direct=always"],
    &["--engine=inline", "--direct=never", "--sync=none"],
    &["--engine=uring", "--lanes=3", "--request-size=64KiB"],
];

#[test]
fn without_a_fault_it_copies() {
    let (fuse, mount) = (Fuse::new(), Mount::of(Kind::Ext4, 64));
    let content = noise(5 * MIB + 777, 1);
    fuse.put("source", &content);
    for way in WAYS {
        for sizes in [0, 1, 4097, content.len()] {
            fuse.put("source", &content[..sizes]);
            let row = format!("{sizes} {way:?}");
            expect(&pump_with(&["copy", &fuse.at("source"), &mount.at("out")], way), 0, &[], &row);
            expect(&pump_with(&["copy", &mount.at("out"), &fuse.at("back")], way), 0, &[], &row);
            assert!(fuse.content("back").as_deref() == Some(&content[..sizes]), "{row}");
            assert_eq!(fuse.names(), ["back", "source"], "{row}");
        }
    }
}

/// The offset that a message names.
fn offset(err: &str) -> u64 {
    let behind = err.split(" at byte ").nth(1).unwrap_or_else(|| panic!("no offset: {err}"));
    behind.split(':').next().and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("{err}"))
}

#[test]
fn a_read_error_names_the_place() {
    let (fuse, mount) = (Fuse::new(), Mount::of(Kind::Ext4, 64));
    fuse.put("source", &noise(5 * MIB + 777, 2));
    let old = with_content(&mount.at("target"), 50_000, 3);
    for way in WAYS {
        for bad in [0, 3 * MIB as u64, 3 * MIB as u64 + 300_000, 5 * MIB as u64 + 776] {
            let row = format!("byte {bad} {way:?}");
            fuse.fail(Some(Fault::Read(bad, EIO)));
            let run = pump_with(&["copy", "--json", &fuse.at("source"), &mount.at("target")], way);
            let words = format!("read '{}' at byte ", fuse.at("source"));
            expect(&run, 1, &[&words, "Input/output error (os error 5)"], &row);
            let told = offset(&run.err);
            assert!(told <= bad && bad - told < 512 << 10, "{row}: {}", run.err);
            assert_eq!(report(&run)["problems"], serde_json::json!({ "io": 1 }), "{row}");
            support::has_content(mount.at("target").as_ref(), &old, &row);
            assert_eq!(leftovers(&mount.point()), [""; 0], "{row}");
        }
    }
}

/// The folder in its place was removed, and nothing else: the old name of the file may be its only copy.
#[test]
fn a_file_that_cannot_be_read_in_the_place_of_a_folder_keeps_all_else() {
    for way in ["local", "pulled", "pushed"] {
        let (fuse, home) = (Fuse::new(), Home::new());
        let content = noise(70_000, 6);
        fuse.put("moved", &content);
        fuse.fail(Some(Fault::Read(65_536, EIO)));
        let target = home.path("served/target");
        std::fs::create_dir_all(target.join("moved")).expect("room");
        std::fs::write(target.join("moved/in it"), "old").expect("room");
        std::fs::write(target.join("old name"), &content).expect("room");
        let is_served = if way == "pulled" { fuse.at("") } else { home.path("served").display().to_string() };
        let serving = Serving::start(home.command(&["serve", &is_served, "--ticket-file", "ticket"]));
        let ticket = home.path("ticket").display().to_string();
        let (from, to) = match way {
            "local" => (fuse.at(""), target.display().to_string()),
            "pulled" => (serving.at(""), target.display().to_string()),
            _ => (fuse.at(""), serving.at("target")),
        };
        let mirror = || pump(&["mirror", "--ticket-file", &ticket, &from, &to]);
        let said = ["moved'", "Input/output error", "nothing was removed"];
        expect(&mirror(), 23, &said, way);
        assert!(target.join("old name").exists() && target.join("moved/in it").exists(), "{way}");
        fuse.fail(None);
        expect(&mirror(), 0, &[], way);
        support::has_content(&target.join("moved"), &content, way);
        assert!(!target.join("old name").exists(), "{way}");
    }
}

#[test]
fn an_error_of_a_short_file_and_of_the_last_of_several() {
    let (fuse, mount) = (Fuse::new(), Mount::of(Kind::Ext4, 64));
    fuse.put("good", &noise(10_000, 4));
    fuse.put("bad", &noise(70_000, 5));
    fuse.fail(Some(Fault::Read(65_536, EIO)));
    let run = pump(&["copy", &fuse.at("bad"), &mount.at("target")]);
    expect(&run, 1, &["read '", "bad' at byte ", "Input/output error"], "short");
    let run = pump(&["copy", &fuse.at("bad"), &fuse.at("good"), &mount.point()]);
    expect(&run, 23, &["read '", "bad' at byte ", "Input/output error"], "the other file goes on");
    support::has_content(mount.at("good").as_ref(), &noise(10_000, 4), "the other file");
    let run = pump(&["hash", &fuse.at("bad")]);
    expect(&run, 1, &["read '", "bad' at byte ", "Input/output error"], "hash");
    let run = pump(&["verify", "--content-only", &fuse.at("bad"), &fuse.at("good")]);
    assert!([1, 2].contains(&run.status), "{run:?}");
}

#[test]
fn a_write_error_names_the_place() {
    let (fuse, mount) = (Fuse::new(), Mount::of(Kind::Ext4, 64));
    let size = 5 * MIB + 777;
    with_content(&mount.at("source"), size, 6);
    let old = noise(50_000, 7);
    fuse.put("target", &old);
    for way in WAYS {
        for bad in [0, 3 * MIB as u64, 3 * MIB as u64 + 300_000, size as u64 - 1] {
            for (errno, words) in [(EIO, "Input/output error"), (ENOSPC, "No space left on device")] {
                let row = format!("byte {bad} {way:?} {words}");
                fuse.fail(Some(Fault::Write(bad, errno)));
                let run = pump_with(&["copy", &mount.at("source"), &fuse.at("target")], way);
                let place = format!("write '{}' at byte ", fuse.at("target"));
                expect(&run, 1, &[&place, words], &row);
                let told = offset(&run.err);
                assert!(told <= bad && bad - told < 512 << 10, "{row}: {}", run.err);
                if errno == ENOSPC {
                    expect(&run, 1, &["4096000 bytes (3.9 MiB) are free"], &row);
                }
                assert!(fuse.content("target").as_deref() == Some(&old[..]), "{row}: the old target");
                assert_eq!(fuse.names(), ["target"], "{row}");
            }
        }
    }
}

#[test]
fn a_sync_or_a_rename_that_fails_leaves_the_old_target() {
    let (fuse, mount) = (Fuse::new(), Mount::of(Kind::Ext4, 64));
    let content = with_content(&mount.at("source"), 2 * MIB + 1, 8);
    let old = noise(50_000, 9);
    fuse.put("target", &old);
    for (fault, words) in
        [(Fault::Sync(EIO), "sync '"), (Fault::Sync(ENOSPC), "sync '"), (Fault::Rename(EIO), "rename '")]
    {
        for way in [&[][..], &["--verify"], &["--engine=threads"], &["--direct=never"]] {
            let row = format!("{fault:?} {way:?}");
            fuse.fail(Some(fault));
            let run = pump_with(&["copy", &mount.at("source"), &fuse.at("target")], way);
            expect(&run, 1, &[words, &fuse.at("target"), "(os error "], &row);
            assert!(fuse.content("target").as_deref() == Some(&old[..]), "{row}: the old target");
            assert_eq!(fuse.names(), ["target"], "{row}");
        }
    }
    fuse.fail(Some(Fault::Sync(EIO)));
    let run = pump(&["copy", "--sync=none", &mount.at("source"), &fuse.at("target")]);
    expect(&run, 0, &[], "no sync was asked for");
    assert!(fuse.content("target").as_deref() == Some(&content[..]));
}

#[test]
fn what_cannot_be_read_back_is_not_committed() {
    let (fuse, mount) = (Fuse::new(), Mount::of(Kind::Ext4, 64));
    with_content(&mount.at("source"), 2 * MIB, 10);
    let old = noise(50_000, 11);
    fuse.put("target", &old);
    fuse.fail(Some(Fault::Read(MIB as u64, EIO)));
    let run = pump(&["copy", "--verify", &mount.at("source"), &fuse.at("target")]);
    let words = format!("read back '{}' at byte {MIB}: Input/output error", fuse.at("target"));
    expect(&run, 1, &[&words], "read back");
    assert!(fuse.content("target").as_deref() == Some(&old[..]), "the old target");
    assert_eq!(fuse.names(), ["target"]);
}

/// The part that came back damaged, and no other, is written again; from another host, too.
#[test]
fn what_comes_back_damaged_is_written_again() {
    let (fuse, home) = (Fuse::new(), Home::new());
    std::fs::create_dir_all(home.path("served/tree")).expect("room");
    let here = |name: &str| home.path("served").join(name).display().to_string();
    with_content(&here("tree/small"), 50_000, 14);
    let content = with_content(&here("large"), 5 * MIB + 777, 15);
    let serving = Serving::new(&home, &[]);
    let rows = [
        (here("large"), "large", 3 * MIB, 256 << 10),
        (serving.at("large"), "large", 5 * MIB + 776, 777),
        (serving.at("large"), "large", 0, 256 << 10),
        (here("tree/."), "small", 49_999, 50_000),
        (serving.at("tree/."), "small", 40_007, 50_000),
    ];
    for (source, name, byte, again_bytes) in rows {
        let row = format!("{source} byte {byte}");
        fuse.fail(Some(Fault::Flip(byte as u64)));
        let ticket = home.path("ticket").display().to_string();
        let target = if name == "small" { fuse.at("") } else { fuse.at(name) };
        let run = pump(&["copy", "--verify", "--json", "--ticket-file", &ticket, &source, &target]);
        expect(&run, 0, &["was damaged when it was read back, and is written again"], &row);
        assert_eq!(report(&run)["bytes_moved_twice"], again_bytes, "{row}");
        let expected =
            std::fs::read(home.path("served").join(if name == "small" { "tree/small" } else { name }));
        assert!(fuse.content(name) == expected.ok(), "{row}");
    }
    assert!(fuse.content("large") == Some(content));
    assert_eq!(fuse.names(), ["large", "small"]);
}

#[test]
fn a_file_cut_off_under_the_reader_is_told_as_such() {
    let (fuse, mount) = (Fuse::new(), Mount::of(Kind::Ext4, 64));
    let old = with_content(&mount.at("target"), 50_000, 12);
    for way in WAYS {
        for cut in [3 * MIB as u64, 3 * MIB as u64 + 300_000] {
            let row = format!("cut at {cut} {way:?}");
            fuse.put("source", &noise(5 * MIB + 777, 13));
            fuse.fail(Some(Fault::Truncate(cut)));
            let run = pump_with(&["copy", &fuse.at("source"), &mount.at("target")], way);
            let name = fuse.at("source");
            expect(&run, 24, &[&name, "was truncated", "the target was not changed"], &row);
            support::has_content(mount.at("target").as_ref(), &old, &row);
            assert_eq!(leftovers(&mount.point()), [""; 0], "{row}");
        }
    }
}
