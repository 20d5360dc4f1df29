//! A stripe: what is written to its members comes back, whatever its size, and what is no stripe is refused before
//! anything is written.

use crate::support::running::{Running, eventually};
use crate::support::{
    Home, expect, has_content, has_direct, make_fifo, make_folder, make_symlink, noise, noise_file, only,
    outcome, set_mode,
};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;

const KIB: usize = 1 << 10;
/// Sizes around a sector and a request.
const REQUEST: usize = 64 * KIB;
const SIZES: [usize; 8] = [0, 1, 511, 512, REQUEST - 1, REQUEST, REQUEST + 1, 7 * REQUEST + 13];
const LARGE: usize = 100_000_000;

/// A descriptor of these members.
fn descriptor(home: &Home, name: &str, chunk: &str, members: &[&str]) {
    let text = format!("chunk = {chunk:?}\nmembers = {members:?}\n");
    std::fs::write(home.path(name), text).expect("room");
}

/// Bytes of a stripe as they lie on its members, dealt by hand.
fn dealt(content: &[u8], chunk: usize, members: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new(); members];
    content.chunks(chunk).zip((0..members).cycle()).for_each(|(piece, member)| all[member].extend(piece));
    all
}

/// Copies to a stripe and back again.
fn round_trip(bytes: usize, (chunk, kib): (&str, usize), members: &[&str], flags: &[&str]) {
    let home = Home::new();
    let row = format!("{bytes} bytes, chunks of {chunk}, {} members, {flags:?}", members.len());
    let content = noise_file(&home, "source", bytes, bytes as u64 + 1);
    descriptor(&home, "s.toml", chunk, members);
    expect(&home.pump(&[&["copy", "source", "stripe:s.toml"], flags].concat()), 0, &[], &row);
    for (member, held) in members.iter().zip(dealt(&content, kib * KIB, members.len())) {
        has_content(&home.path(member), &held, &row);
    }
    expect(&home.pump(&[&["copy", "stripe:s.toml", "back"], flags].concat()), 0, &[], &row);
    has_content(&home.path("back"), &content, &row);
}

#[test]
fn all_sizes_come_back_from_all_stripes() {
    for bytes in SIZES {
        for members in [&["a"][..], &["a", "b"], &["a", "b", "c"], &["a", "b", "c", "d"]] {
            let chunks = [("4KiB", 4), ("64KiB", 64), ("192KiB", 192)];
            let flags =
                [&[][..], &["--request-size=20KiB", "--direct=never"], &["--engine=inline", "--depth=1"]];
            for (chunk, flags) in chunks.into_iter().zip(flags) {
                round_trip(bytes, chunk, members, flags);
            }
        }
    }
}

#[test]
fn a_long_one_comes_back_through_all_ways() {
    for (bytes, chunk, members, flags) in [
        (LARGE, ("192KiB", 192), &["a", "b", "c"][..], &[][..]),
        (LARGE / 5 + 3, ("64KiB", 64), &["a", "b"], &["--direct=auto", "--sync=none"]),
        (LARGE / 5 + 3, ("1MiB", 1024), &["a", "b", "c", "d"], &["--engine=threads", "--lanes=3"]),
        // Requests that are no part of a chunk end at its edges.
        (LARGE / 5 + 3, ("4084KiB", 4084), &["a", "b"], &["--request-size=1000KiB"]),
    ] {
        round_trip(bytes, chunk, members, flags);
    }
}

/// Past the page cache only the end of the last chunk goes another way.
#[test]
fn direct_requests_leave_no_padding() {
    if !has_direct(&Home::new()) {
        return;
    }
    for bytes in [1, 511, REQUEST - 1, REQUEST + 1, 7 * REQUEST + 13, 40 * REQUEST + 4099] {
        for chunk in [("4KiB", 4), ("64KiB", 64), ("192KiB", 192)] {
            round_trip(bytes, chunk, &["a", "b", "c"], &["--direct=always"]);
        }
    }
}

#[test]
fn it_goes_from_stripe_to_stripe_through_pipes_and_is_hashed_and_compared() {
    let home = Home::new();
    let content = noise_file(&home, "source", 5 * REQUEST + 4099, 3);
    make_folder(&home, "in");
    descriptor(&home, "one.toml", "64KiB", &["a", "b"]);
    // Relative members lie beside the descriptor.
    descriptor(&home, "in/two.toml", "20KiB", &["c", "../d", "e"]);
    expect(&home.pump(&["copy", "source", "stripe:one.toml"]), 0, &[], "to one");
    expect(&home.pump(&["copy", "stripe:one.toml", "stripe:in/two.toml"]), 0, &[], "to another");
    assert!(["in/c", "d", "in/e"].iter().all(|member| home.path(member).exists()), "beside the descriptor");
    let hash = |place: &str| home.pump(&["hash", place]).out.split(' ').next().map(String::from);
    assert_eq!(hash("stripe:in/two.toml"), hash("source"), "hashed");
    expect(&home.pump(&["verify", "stripe:in/two.toml", "source"]), 0, &[], "compared");
    std::fs::write(home.path("other"), &content[..content.len() - 1]).expect("room");
    expect(&home.pump(&["verify", "stripe:in/two.toml", "other"]), 1, &["'other'"], "another file");
    expect(&home.pump(&["verify", "source", "stripe:one.toml"]), 2, &["stripe"], "the other way round");
    let piped = outcome(home.command(&["copy", "-", "stripe:one.toml"]), &content[..REQUEST]);
    expect(&piped, 0, &[], "from a pipe, shorter than what stood there");
    expect(&home.pump(&["copy", "stripe:one.toml", "back"]), 0, &[], "back");
    has_content(&home.path("back"), &content[..REQUEST], "what stood behind is cut off");
    expect(&home.pump(&["copy", "-n", "source", "stripe:new.toml"]), 1, &["new.toml"], "no descriptor");
    descriptor(&home, "new.toml", "64KiB", &["x", "y"]);
    expect(&home.pump(&["copy", "-n", "source", "stripe:new.toml"]), 0, &["stripe:new.toml"], "a dry run");
    assert!(!home.path("x").exists(), "a dry run makes nothing");
}

#[test]
fn what_is_done_is_told_and_a_private_source_stays_so() {
    let home = Home::new();
    noise_file(&home, "source", 3 * REQUEST, 4);
    set_mode(&home.path("source"), 0o600);
    descriptor(&home, "s.toml", "64KiB", &["a", "b"]);
    let words = [
        "2 members, chunks of 64.0 KiB",
        "written where it stands",
        "4 requests of 65536 bytes",
        "starts over",
    ];
    expect(&home.pump(&["copy", "-v", "source", "stripe:s.toml"]), 0, &words, "-v");
    for member in ["a", "b"] {
        let mode = home.path(member).metadata().expect("it was made").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{member}: no more readable than the source");
    }
}

#[test]
fn what_is_no_descriptor_is_refused_and_nothing_is_written() {
    let home = Home::new();
    noise_file(&home, "source", 3 * REQUEST, 5);
    for (text, words) in [
        ("chunk = \"64KiB\"\nmembers = [\"a\"]\nlevel = 5\n", "line 3: unknown field `level`"),
        ("chunk = \"64KiB\"\n", "missing field `members`"),
        ("members = [\"a\"]\n", "missing field `chunk`"),
        ("chunk = 65536\nmembers = [\"a\"]\n", "line 1"),
        ("chunk = \"64KiB\"\nmembers = []\n", "it has no members"),
        ("chunk = \"64KiB\"\nmembers = [\"\"]\n", "empty name"),
        ("chunk = \"64K\"\nmembers = [\"a\"]\n", "write 64KiB"),
        ("chunk = \"2KiB\"\nmembers = [\"a\"]\n", "4 KiB to 64 MiB"),
        ("chunk = \"65MiB\"\nmembers = [\"a\"]\n", "4 KiB to 64 MiB"),
        ("chunk = \"66000B\"\nmembers = [\"a\"]\n", "multiple of 4 KiB"),
        ("chunk = \"64KiB\"\nmembers = [\"a\", \"a\"]\n", "'a' and 'a' are one member"),
        ("chunk = \"64KiB\"\nmembers = [\"a\", \"./a\"]\n", "are one member"),
        ("chunk = \"64KiB\"\nmembers = [\"a\", \"s.toml\"]\n", "names itself as a member"),
        ("not toml", "line 1"),
    ] {
        std::fs::write(home.path("s.toml"), text).expect("room");
        expect(&home.pump(&["copy", "source", "stripe:s.toml"]), 2, &["'s.toml'", words], text);
        only(&home, &["s.toml", "source"], text);
    }
    std::fs::write(home.path("s.toml"), [0xff, 0xfe]).expect("room");
    expect(&home.pump(&["copy", "source", "stripe:s.toml"]), 2, &["is no text"], "no UTF-8");
    expect(&home.pump(&["copy", "source", "stripe:."]), 2, &["is no file"], "a folder");
    expect(&home.pump(&["copy", "source", "stripe:"]), 2, &["stripe:FILE.toml"], "no name");
    expect(&home.pump(&["copy", "source", "stripe:gone.toml"]), 1, &["'gone.toml'"], "a missing one");
}

#[test]
fn members_that_make_no_stripe_are_refused_and_nothing_is_written() {
    let home = Home::new();
    let content = noise_file(&home, "source", 3 * REQUEST, 6);
    make_folder(&home, "folder");
    make_fifo(&home.path("pipe"));
    make_symlink(&home, "nowhere", "dangling");
    make_symlink(&home, "kept", "link");
    noise_file(&home, "kept", 10, 7);
    std::fs::hard_link(home.path("kept"), home.path("twin")).expect("a second name");
    for (members, status, words) in [
        (&["kept", "folder"][..], 2, "'folder': is a folder"),
        (&["kept", "pipe"], 2, "'pipe': has no offsets"),
        (&["kept", "dangling"], 2, "'dangling'"),
        (&["kept", "link"], 2, "'kept' and 'link' are one member"),
        (&["kept", "twin"], 2, "'kept' and 'twin' are one member"),
        (&["kept", "gone/x"], 1, "'gone/x'"),
        (&["new", "source"], 2, "is a part of 'stripe:s.toml'"),
    ] {
        descriptor(&home, "s.toml", "64KiB", members);
        let before = home.names();
        expect(&home.pump(&["copy", "source", "stripe:s.toml"]), status, &[words], &format!("{members:?}"));
        assert_eq!(home.names(), before, "{members:?}");
        has_content(&home.path("kept"), &noise(10, 7), "what stood there");
    }
    has_content(&home.path("source"), &content, "the source");
    let dev_null = ["kept", "/dev/null"];
    descriptor(&home, "s.toml", "64KiB", &dev_null);
    expect(&home.pump(&["copy", "source", "stripe:s.toml"]), 2, &["'/dev/null': has no offsets"], "a device");
}

#[test]
fn members_that_are_no_stripe_together_are_no_source() {
    let home = Home::new();
    noise_file(&home, "a", REQUEST, 1);
    noise_file(&home, "b", REQUEST + 1, 2);
    noise_file(&home, "c", 10, 3);
    descriptor(&home, "twins.toml", "64KiB", &["new", "a", "./a"]);
    let twins = home.pump(&["copy", "c", "stripe:twins.toml"]);
    expect(&twins, 2, &["'a' and './a' are one member"], "one is still to be made");
    for (members, status, words) in [
        (&["a", "b"][..], 2, "'a': has 65536 bytes, and of a stripe of 131073 bytes it would have 65537"),
        (&["c", "a"], 2, "look whether the order of the members"),
        (
            &["a", "gone"],
            1,
            "'gone': No such file or directory (os error 2); it is a member of 's.toml': bring it back",
        ),
    ] {
        descriptor(&home, "s.toml", "64KiB", members);
        for command in [&["copy", "stripe:s.toml", "to"][..], &["hash", "stripe:s.toml"]] {
            expect(&home.pump(command), status, &[words], &format!("{command:?} {members:?}"));
        }
        assert!(!home.path("to").exists(), "{members:?}");
    }
    descriptor(&home, "s.toml", "64KiB", &["a", "c"]);
    expect(
        &home.pump(&["copy", "stripe:s.toml", "a"]),
        2,
        &["'a': is a part of the source"],
        "into its member",
    );
    expect(
        &home.pump(&["copy", "stripe:s.toml", "s.toml"]),
        2,
        &["is a part of the source"],
        "its descriptor",
    );
    descriptor(&home, "t.toml", "64KiB", &["new", "c"]);
    expect(
        &home.pump(&["copy", "stripe:s.toml", "stripe:t.toml"]),
        2,
        &["'c': is a part of the source"],
        "shared",
    );
    assert!(!home.path("new").exists());
}

/// Sizes alone would let all of these pass.
#[test]
fn members_know_their_place() {
    let home = Home::new();
    let content = noise_file(&home, "source", 16 * REQUEST, 1);
    let written = |name: &str, chunk: &str, members: &[&str]| {
        descriptor(&home, name, chunk, members);
        expect(&home.pump(&["copy", "source", &format!("stripe:{name}")]), 0, &[], name);
    };
    written("s.toml", "64KiB", &["a", "b", "c", "d"]);
    written("t.toml", "64KiB", &["e", "f", "g", "h"]);
    for (chunk, members, words) in [
        ("64KiB", &["a", "b", "d", "c"][..], "'d': was written as member 4 of 4"),
        ("64KiB", &["a", "b", "c"], "'a': was written as member 1 of 4"),
        ("128KiB", &["a", "b", "c", "d"], "in chunks of 64.0 KiB, and would be"),
        ("64KiB", &["a"], "of a stripe of 1048576 bytes"),
        ("64KiB", &["a", "b", "c", "h"], "'h': was written for another stripe than the members before it"),
    ] {
        descriptor(&home, "wrong.toml", chunk, members);
        for command in [&["copy", "stripe:wrong.toml", "to"][..], &["hash", "stripe:wrong.toml"]] {
            let row = format!("{command:?} {chunk} {members:?}");
            expect(&home.pump(command), 2, &[words, "correct the descriptor"], &row);
        }
        assert!(!home.path("to").exists(), "{members:?}");
    }
    // Others have no marks, and what is written anew has new ones.
    std::fs::write(home.path("plain"), "").expect("room");
    written("other.toml", "128KiB", &["d", "c", "b", "plain"]);
    expect(&home.pump(&["copy", "stripe:other.toml", "back"]), 0, &[], "another order");
    has_content(&home.path("back"), &content, "another order");
    descriptor(&home, "mixed.toml", "64KiB", &["e", "f", "g", "copied"]);
    std::fs::write(home.path("copied"), std::fs::read(home.path("h")).expect("a member")).expect("room");
    expect(&home.pump(&["copy", "stripe:mixed.toml", "back"]), 0, &[], "a copy without marks");
    has_content(&home.path("back"), &content, "a copy without marks");
}

#[test]
fn what_makes_no_sense_with_a_stripe_is_refused() {
    let home = Home::new();
    noise_file(&home, "source", 10, 1);
    make_folder(&home, "folder");
    descriptor(&home, "s.toml", "64KiB", &["a", "b"]);
    for (words, said) in [
        (&["copy", "folder", "stripe:s.toml"][..], "is a folder; it is copied to a folder"),
        (&["copy", "source", "s.toml", "stripe:s.toml"], "several sources would become one"),
        (&["copy", "--reflink=always", "source", "stripe:s.toml"], "leave --reflink=always out"),
        (&["copy", "--update", "source", "stripe:s.toml"], "leave --update out"),
        (&["copy", "--checksum", "source", "stripe:s.toml"], "leave --checksum out"),
        (&["copy", "--verify", "source", "stripe:s.toml"], "pump verify stripe:FILE.toml SOURCE"),
        (&["copy", "--delete", "source", "stripe:s.toml"], "--delete"),
        (&["mirror", "folder", "stripe:s.toml"], "is not a directory"),
    ] {
        expect(&home.pump(words), 2, &[said], &format!("{words:?}"));
        assert!(!home.path("a").exists() && !home.path("b").exists(), "{words:?}");
    }
    expect(&home.pump(&["copy", "source", "stripe:s.toml"]), 0, &[], "it is one");
    expect(&home.pump(&["copy", "stripe:s.toml", "folder"]), 2, &["no name of its own"], "into a folder");
}

#[test]
fn a_killed_one_is_written_anew_by_the_same_command() {
    let home = Home::new();
    let content = noise_file(&home, "source", 40 << 20, 9);
    descriptor(&home, "s.toml", "64KiB", &["a", "b", "c"]);
    let command = ["copy", "--progress", "--bwlimit=8MiB", "source", "stripe:s.toml"];
    for signal in [Signal::KILL, Signal::INT] {
        let mut run = Running::start(home.command(&command));
        run.await_bytes();
        run.signal(signal);
        let ended = run.end();
        assert_ne!(ended.status, 0, "{signal:?}: {ended:?}");
        expect(&home.pump(&["hash", "stripe:s.toml"]), 2, &["of a stripe of"], "it is not whole");
    }
    eventually("the members are there", || home.path("c").exists());
    expect(&home.pump(&["copy", "source", "stripe:s.toml"]), 0, &[], "again");
    only(&home, &["a", "b", "c", "s.toml", "source"], "nothing is left");
    expect(&home.pump(&["verify", "stripe:s.toml", "source"]), 0, &[], "the same");
    assert_eq!(std::fs::read(home.path("a")).expect("a member"), dealt(&content, REQUEST, 3)[0]);
}

/// Each member is synced before the end; the one whose name was made, with its folder.
#[test]
fn all_members_are_synced() {
    let home = Home::new();
    noise_file(&home, "source", 3 * REQUEST, 2);
    descriptor(&home, "s.toml", "64KiB", &["a", "b", "c"]);
    let Some(calls) = syncs(&home, &["copy", "source", "stripe:s.toml"]) else { return };
    for member in ["/a>", "/b>", "/c>"] {
        assert!(calls.iter().any(|call| call.contains(member)), "{member}: {calls:?}");
    }
    // A member that stands there may have been made by a copy that was cut: its name is synced too.
    let folder = format!("{}>", home.path("").canonicalize().expect("a folder").display());
    let Some(calls) = syncs(&home, &["copy", "source", "stripe:s.toml"]) else { return };
    assert!(calls.iter().any(|call| call.contains(&folder)), "{folder}: {calls:?}");
    let Some(calls) = syncs(&home, &["copy", "--sync=none", "source", "stripe:s.toml"]) else { return };
    assert!(calls.is_empty(), "nobody asked: {calls:?}");
}

/// The calls that sync something, as strace(1) tells them; `None`, with a printed reason, without it.
fn syncs(home: &Home, words: &[&str]) -> Option<Vec<String>> {
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-y", "-e", "trace=fsync,fdatasync,syncfs", "-o", "calls"]).arg(crate::support::PUMP);
    command.args(words).current_dir(home.path("")).stdin(std::process::Stdio::null());
    match command.output() {
        Ok(ran) if ran.status.success() => {
            let calls = std::fs::read_to_string(home.path("calls")).expect("strace wrote it");
            Some(calls.lines().filter(|line| line.contains("sync")).map(String::from).collect())
        }
        other => {
            eprintln!("not tested: which files are synced: {other:?}");
            None
        }
    }
}

/// A report, a log or a series is none of its files, by whatever name, and whether or not that file is there.
#[test]
fn nothing_is_written_over_a_member() {
    for flag in ["--report", "--log-file"] {
        for (row, named) in [
            ("a member to be made", "new"),
            ("the same by its folder", "../here/new"),
            ("a member", "a"),
            ("a link to it", "link"),
            ("a hard link of it", "hard"),
            ("the descriptor", "s.toml"),
        ] {
            let home = Home::new();
            make_folder(&home, "here");
            let path = |name: &str| format!("here/{name}");
            descriptor(&home, "here/s.toml", "4KiB", &["a", "new"]);
            // Nothing is in them that a report would not be written over.
            for file in ["here/a", "here/from", "here/old"] {
                std::fs::write(home.path(file), b"").expect("room");
            }
            descriptor(&home, "here/of_old.toml", "4KiB", &["old"]);
            make_symlink(&home, "a", "here/link");
            std::fs::hard_link(home.path("here/a"), home.path("here/hard")).expect("one file system");
            let line = ["copy", flag, &path(named), "here/from", "stripe:here/s.toml"];
            expect(&home.pump(&line), 2, &["cannot be what is copied"], &format!("{flag} {row}"));
            assert!(!home.path("here/new").exists(), "{flag} {row}: nothing is made");
            has_content(&home.path("here/a"), b"", row);
            let line = ["copy", flag, "here/old", "stripe:here/of_old.toml", "here/to"];
            expect(&home.pump(&line), 2, &["cannot be what is copied"], "a member of a source");
            has_content(&home.path("here/old"), b"", row);
        }
    }
    let home = Home::new();
    descriptor(&home, "s.toml", "4KiB", &["a", "new"]);
    noise_file(&home, "from", 10_000, 1);
    expect(&home.pump(&["copy", "--report", "kept", "from", "stripe:s.toml"]), 0, &[], "beside them");
}
