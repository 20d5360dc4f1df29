//! Everything that a file carries besides its bytes, judged by rsync: a dry run that would change nothing.

use std::os::unix::fs::{MetadataExt, chown};

use crate::support::{Home, expect, set_mode};
use crate::wider_parts::{Kind, Mount, program, pump_with, with_content};

/// Two folders on file systems of this kind; each test writes into the first and copies into the second.
struct Pair {
    one: Mount,
    other: Mount,
}

const KINDS: [Kind; 3] = [Kind::Ext4, Kind::Xfs, Kind::Btrfs];

impl Pair {
    fn new(kind: Kind) -> Pair {
        let pair = Pair { one: Mount::new(kind), other: Mount::new(kind) };
        for mount in [&pair.one, &pair.other] {
            std::fs::create_dir(mount.at("folder")).expect("room");
        }
        pair
    }

    fn source(&self) -> String {
        self.one.at("folder/file")
    }

    fn target(&self) -> String {
        self.other.at("folder/file")
    }

    /// Copies, then asks rsync what differs.
    fn copies_whole(&self, options: &[&str], row: &str) {
        let run = pump_with(&["copy", &self.source(), &self.target()], options);
        expect(&run, 0, &[], row);
        assert!(!run.err.contains("not permitted"), "{row}: {run:?}");
        assert_eq!(difference(&self.source(), &self.target()), "", "{row}");
    }
}

/// What rsync would change to make the target like the source; nothing if they are the same.
fn difference(source: &str, target: &str) -> String {
    program(&["rsync", "-aAXSn", "--itemize-changes", "--checksum", source, target])
}

/// The ways that a copy may take.
const WAYS: [&[&str]; 5] = [
    &[],
    &["--verify"],
    &["--sync=none"],
    &["--engine=threads", "--direct=always"],
    &["--reflink=never", "--lanes=3"],
];

/// Something that a file may carry: what it is called, and how it is given to a file.
type Trait = (&'static str, fn(&str));

const TRAITS: [Trait; 14] = [
    ("nothing", |_| {}),
    ("owner", |path| chown(path, Some(1234), Some(4321)).expect("root")),
    ("no rights", |path| set_mode(path.as_ref(), 0)),
    ("set-uid", |path| set_mode(path.as_ref(), 0o4755)),
    ("owner, set-uid, set-gid, sticky", |path| {
        chown(path, Some(1234), Some(4321)).expect("root");
        set_mode(path.as_ref(), 0o7654);
    }),
    ("user attribute", |path| drop(program(&["setfattr", "-n", "user.colour", "-v", "red", path]))),
    ("trusted attribute", |path| drop(program(&["setfattr", "-n", "trusted.note", "-v", "0x00ff0a", path]))),
    ("many attributes", |path| {
        for number in 0..30 {
            let name = format!("user.attribute-with-a-long-name-{number}");
            program(&["setfattr", "-n", &name, "-v", &"x".repeat(number), path]);
        }
    }),
    ("large attribute", |path| {
        drop(program(&["setfattr", "-n", "user.large", "-v", &"x".repeat(3000), path]));
    }),
    ("capability", |path| drop(program(&["setcap", "cap_net_raw,cap_net_admin+ep", path]))),
    ("capability and owner", |path| {
        chown(path, Some(1234), Some(4321)).expect("root");
        program(&["setcap", "cap_net_raw+ep", path]);
    }),
    ("ACL", |path| drop(program(&["setfacl", "-m", "u:1234:rwx,g:4321:r--,m::rw-", path]))),
    ("ACL, owner and set-gid", |path| {
        chown(path, Some(1234), Some(4321)).expect("root");
        set_mode(path.as_ref(), 0o2640);
        program(&["setfacl", "-m", "u:77:r--", path]);
    }),
    ("old time", |path| drop(program(&["touch", "-d", "1969-07-20 20:17:40.123456789Z", path]))),
];

#[test]
fn rsync_finds_nothing_to_change() {
    for kind in KINDS {
        let pair = Pair::new(kind);
        for bytes in [0, 10, 3_000_001] {
            for (index, (name, give)) in TRAITS.into_iter().enumerate() {
                let _ = std::fs::remove_file(pair.source());
                with_content(&pair.source(), bytes, 1);
                program(&["touch", "-d", "2001-02-03 04:05:06.789012345Z", &pair.source()]);
                give(&pair.source());
                let way = WAYS[index % WAYS.len()];
                pair.copies_whole(way, &format!("{kind:?}, {bytes} bytes, {name}, {way:?}"));
            }
        }
    }
}

#[test]
fn every_way_keeps_everything_at_once() {
    for kind in KINDS {
        let pair = Pair::new(kind);
        with_content(&pair.source(), 3_000_001, 2);
        TRAITS
            .into_iter()
            .filter(|(name, _)| !["no rights", "large attribute"].contains(name))
            .for_each(|(_, give)| give(&pair.source()));
        let before = std::fs::metadata(pair.source()).expect("the source");
        for way in WAYS {
            for old in ["none", "plain", "with attributes"] {
                let row = format!("{kind:?} {way:?}, old target: {old}");
                let _ = std::fs::remove_file(pair.target());
                if old != "none" {
                    with_content(&pair.target(), 5000, 3);
                }
                if old == "with attributes" {
                    program(&["setfattr", "-n", "user.old", "-v", "1", &pair.target()]);
                    program(&["setfacl", "-m", "u:99:rwx", &pair.target()]);
                }
                // Reading sets the time of access; what counts is what it was when the copy began.
                let expected = std::fs::metadata(pair.source()).expect("the source");
                pair.copies_whole(way, &row);
                let found = std::fs::metadata(pair.target()).expect("the copy");
                let mtime = |meta: &std::fs::Metadata| (meta.mtime(), meta.mtime_nsec());
                assert_eq!(mtime(&found), mtime(&before), "{row}: time of change");
                // rsync has read the target by now.
                assert!(found.atime() >= expected.atime(), "{row}: time of access");
            }
        }
    }
}

#[test]
fn what_the_folder_hands_down_is_not_the_copys() {
    for kind in KINDS {
        let pair = Pair::new(kind);
        program(&["setfacl", "-d", "-m", "u:1234:rwx,o::---", &pair.other.at("folder")]);
        for bytes in [0, 10, 3_000_001] {
            let _ = std::fs::remove_file(pair.source());
            with_content(&pair.source(), bytes, 4);
            set_mode(pair.source().as_ref(), 0o660);
            pair.copies_whole(&[], &format!("{kind:?} {bytes} bytes, default ACL of the folder"));
            program(&["setfacl", "-m", "g:77:r--", &pair.source()]);
            pair.copies_whole(&[], &format!("{kind:?} {bytes} bytes, own ACL, default ACL of the folder"));
        }
        program(&["setfacl", "-b", &pair.other.at("folder")]);
        set_mode(pair.other.at("folder").as_ref(), 0o2775);
        chown(pair.other.at("folder"), None, Some(4321)).expect("root");
        pair.copies_whole(&[], &format!("{kind:?}, group of the folder"));
    }
}

#[test]
fn a_target_written_in_place_gets_the_attributes_too() {
    for kind in KINDS {
        let pair = Pair::new(kind);
        with_content(&pair.source(), 3_000_001, 5);
        TRAITS
            .into_iter()
            .filter(|(name, _)| !["no rights", "large attribute"].contains(name))
            .for_each(|(_, give)| give(&pair.source()));
        for old in [0, 10, 5_000_000] {
            let _ = std::fs::remove_file(pair.target());
            with_content(&pair.target(), old, 6);
            pair.copies_whole(&["--inplace"], &format!("{kind:?}, in place over {old} bytes"));
        }
    }
}

#[test]
fn sparse_files_keep_their_attributes_and_their_length() {
    let pair = Pair::new(Kind::Ext4);
    for bytes in [1, 4097, 50 << 20, (50 << 20) + 13] {
        let _ = std::fs::remove_file(pair.source());
        crate::wider_parts::mounts::sparse_file(&pair.source(), bytes);
        TRAITS[11].1(&pair.source());
        TRAITS[13].1(&pair.source());
        for way in WAYS {
            pair.copies_whole(way, &format!("{bytes} bytes of hole, {way:?}"));
        }
    }
}

#[test]
fn a_copy_is_never_more_readable_than_its_source_meanwhile() {
    let home = Home::new();
    let name = |name: &str| home.path(name).display().to_string();
    with_content(&name("a"), 3_000_000, 7);
    set_mode(&home.path("a"), 0o600);
    let (source, target) = (name("a"), name("b"));
    let mut command = crate::wider_parts::pump_command(&["copy", "--bwlimit=20MB", &source, &target]);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("pump was built");
    let mut seen = 0;
    while child.try_wait().expect("the child can be waited for").is_none() {
        for name in crate::wider_parts::leftovers(&name("")) {
            if let Ok(meta) = home.path(name).metadata() {
                seen += 1;
                assert_eq!(meta.mode() & 0o7777, 0o600);
            }
        }
    }
    let ended = child.wait().expect("it has ended");
    assert!(ended.success() && seen > 0, "the temporary file was seen {seen} times, then: {ended}");
}

/// A capability that the source lost, and times that the file system cannot tell.
#[test]
fn a_capability_that_the_source_lost_is_taken_from_the_target() {
    let pair = Pair::new(Kind::Ext4);
    with_content(&pair.source(), 3000, 8);
    program(&["setcap", "cap_net_raw+ep", &pair.source()]);
    pair.copies_whole(&[], "with a capability");
    assert!(program(&["getcap", &pair.target()]).contains("cap_net_raw"), "it was copied");
    program(&["setcap", "-r", &pair.source()]);
    // An old time of attributes at the source says nothing about the target.
    program(&["touch", "-r", &pair.source(), &pair.target()]);
    pair.copies_whole(&["--update"], "without it");
    assert_eq!(program(&["getcap", &pair.target()]), "");
}

#[test]
fn a_time_that_the_target_cannot_tell_is_told() {
    let (one, other) = (Mount::new(Kind::Btrfs), Mount::ext4(64, &["-I", "128"]));
    let (source, target) = (one.at("file"), other.at("file"));
    for (time, is_kept) in [("2500-01-01", false), ("1900-01-01", false), ("2020-02-03", true)] {
        with_content(&source, 3000, 9);
        program(&["touch", "-d", &format!("{time} 04:05:06Z"), &source]);
        let run = pump_with(&["copy", &source, &target], &[]);
        let told = run.err.contains(&format!("'{target}': time of change: this file system cannot keep"));
        let expected = if is_kept { (0, false) } else { (23, true) };
        assert_eq!((run.status, told), expected, "{time}: {run:?}");
    }
}
