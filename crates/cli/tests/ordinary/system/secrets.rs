//! A user who may not read a secret does not get to read it on its way: tickets in files, and content of files that
//! their mode closes.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::support;
use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{
    Home, expect, has_content, make_fifo, make_folder, noise, noise_file, set_mode, set_xattr,
};
use rustix::process::Signal;

const ONLY_MINE: u32 = 0o600;

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().expect("it is there").mode() & 0o777
}

#[test]
fn a_ticket_is_never_written_into_what_stands_there() {
    let home = Home::new();
    make_folder(&home, "served");
    make_folder(&home, "folder");
    make_fifo(&home.path("pipe"));
    std::fs::write(home.path("victim"), "mine").expect("room");
    symlink("victim", home.path("link")).expect("room");
    symlink("nothing", home.path("link-to-nothing")).expect("room");
    std::fs::write(home.path("one"), "two names").expect("room");
    std::fs::hard_link(home.path("one"), home.path("other")).expect("room");
    std::fs::write(home.path("theirs"), "theirs").expect("room");
    // Only root can give a file away.
    let of_another = if support::is_root() {
        ("theirs", "it is a file of another user")
    } else {
        ("link", "it is a symbolic link")
    };
    if support::is_root() {
        std::os::unix::fs::chown(home.path("theirs"), Some(65_534), None).expect("root may");
    }
    for (name, part) in [
        of_another,
        ("pipe", "it is a pipe"),
        ("link", "it is a symbolic link"),
        ("link-to-nothing", "it is a symbolic link"),
        ("one", "several hard links"),
        ("folder", "it is a directory"),
        ("missing/ticket", "No such file or directory"),
    ] {
        let run = home.pump(&["serve", "served", "--ticket-file", name]);
        expect(&run, 1, &["write the ticket to", name, part], name);
        assert!(!run.out.contains("listening"), "{name}: {run:?}");
    }
    has_content(&home.path("victim"), b"mine", "behind a link");
    has_content(&home.path("other"), b"two names", "under another name");
    assert!(!home.path("nothing").exists());
    assert!(home.names().iter().all(|name| !name.starts_with(".pump")), "{:?}", home.names());
}

#[test]
fn a_ticket_that_stands_there_is_replaced_by_a_new_file_of_this_user_alone() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "file", 10, 1);
    // Somebody who may read it has it open already.
    std::fs::write(home.path("ticket"), "of before").expect("room");
    set_mode(&home.path("ticket"), 0o644);
    let mut open = std::fs::File::open(home.path("ticket")).expect("it is there");
    for round in 0..2 {
        let mut serving = Serving::new(&home, &[]);
        assert_eq!(mode(&home.path("ticket")), ONLY_MINE, "round {round}");
        let run = home.pump(&["copy", "--ticket-file", "ticket", "file", &serving.at("copy")]);
        expect(&run, 0, &[], &format!("round {round}"));
        assert!(!run.err.contains("others may read"), "{run:?}");
        has_content(&home.path("served/copy"), &content, "the copy");
        serving.signal("TERM");
        assert_eq!(serving.status(), 0, "round {round}");
    }
    let mut seen = String::new();
    std::io::Read::read_to_string(&mut open, &mut seen).expect("it is open");
    assert_eq!(seen, "of before", "the old file was written into");
}

#[test]
fn a_ticket_is_read_from_a_file_and_a_named_pipe_is_not_waited_for() {
    let home = Home::new();
    make_folder(&home, "served");
    noise_file(&home, "file", 10, 1);
    make_fifo(&home.path("pipe"));
    let serving = Serving::new(&home, &[]);
    let copy = |ticket: &str| home.command(&["copy", "--ticket-file", ticket, "file", &serving.at("copy")]);
    for name in ["pipe", "served"] {
        expect(&support::outcome(copy(name), b""), 2, &[name, "it is no file"], name);
    }
    let word = std::fs::read(home.path("ticket")).expect("it is there");
    expect(&support::outcome(copy("/dev/stdin"), &word), 0, &[], "a pipe that the user's shell made");
    set_mode(&home.path("ticket"), 0o644);
    let words = ["others may read the ticket in 'ticket'", "0644", "chmod 600"];
    expect(&support::outcome(copy("ticket"), b""), 0, &words, "others may read it");
}

const BYTES: usize = 3 << 20;
const BLOCK: usize = 64 << 10;

/// Copies the secret to a name in `to` so slowly that it is seen on its way; then stops, and copies it at once.
fn copied_while_looked_at(home: &Home, flags: &[&str], secret: &[u8], row: &str) {
    let words = [&["copy", "secret", "to/copy"], flags].concat();
    let slow = [&words[..], &["--bwlimit", "64KiB", "--request-size", "64KiB"]].concat();
    let run = Running::start(home.command(&slow));
    let mine = rustix::process::geteuid().as_raw();
    let closed = |found: &[(u32, u32)]| {
        found.iter().for_each(|&(mode, uid)| assert_eq!((mode & 0o077, uid), (0, mine), "{row}: {mode:o}"));
    };
    eventually(&format!("{row}: a part is written"), || {
        assert!(!run.has_ended(), "{row}: it ended before anything was seen");
        // A file that is seen with content was closed before.
        let found = holding(&home.path("to"), &secret[..BLOCK]);
        closed(&found);
        !found.is_empty()
    });
    run.signal(Signal::TERM);
    expect(&run.end(), 20, &[], row);
    closed(&holding(&home.path("to"), &secret[..BLOCK]));
    expect(&home.pump(&words), 0, &[], row);
    has_content(&home.path("to/copy"), secret, row);
    assert_eq!(mode(&home.path("to/copy")), ONLY_MINE, "{row}");
}

#[test]
fn content_of_a_closed_file_is_never_open_to_others_on_its_way() {
    let home = Home::new();
    let (secret, old) = (noise_file(&home, "secret", BYTES, 1), noise(BYTES, 2));
    set_mode(&home.path("secret"), ONLY_MINE);
    for (row, flags, stands) in [
        ("a new name", &[][..], None),
        ("where it stands, a new name", &["--inplace"], None),
        ("over another", &[], Some(0o644)),
        ("where it stands", &["--inplace"], Some(0o644)),
        ("where it stands, closed by another user", &["--inplace"], Some(0o600)),
    ] {
        make_folder(&home, "to");
        if let Some(mode) = stands {
            std::fs::write(home.path("to/copy"), &old).expect("room");
            set_mode(&home.path("to/copy"), mode);
            if support::is_root() && mode == ONLY_MINE {
                std::os::unix::fs::chown(home.path("to/copy"), Some(65_534), Some(65_534)).expect("root may");
            }
        }
        copied_while_looked_at(&home, flags, &secret, row);
        std::fs::remove_dir_all(home.path("to")).expect("it is ours");
    }
}

/// What comes from a pipe has no mode; that which is asked for holds from its first byte.
#[test]
fn what_comes_from_a_pipe_is_closed_from_its_first_byte_if_its_mode_is() {
    let home = Home::new();
    make_folder(&home, "to");
    make_fifo(&home.path("pipe"));
    let secret = noise(BYTES, 1);
    let run =
        Running::start(home.command(&["copy", "--chmod=600", "--request-size=64KiB", "pipe", "to/copy"]));
    let mut pipe = std::fs::File::options().write(true).open(home.path("pipe")).expect("it reads");
    pipe.write_all(&secret).expect("it reads");
    eventually("a part is written", || {
        assert!(!run.has_ended(), "it ended before anything was seen");
        let found = holding(&home.path("to"), &secret[..BLOCK]);
        found.iter().for_each(|&(mode, _)| assert_eq!(mode & 0o077, 0, "{mode:o}"));
        !found.is_empty()
    });
    drop(pipe);
    expect(&run.end(), 0, &[], "a pipe");
    has_content(&home.path("to/copy"), &secret, "a pipe");
    assert_eq!(mode(&home.path("to/copy")), ONLY_MINE);
}

/// Files of a closed folder need no mode of their own to be secret.
#[test]
fn a_folder_that_stands_there_is_closed_before_its_first_file() {
    let home = Home::new();
    let modes = [(0o700, 0o755), (0o711, 0o755), (0o750, 0o775), (0o700, 0o700)];
    for ((source, before), expected) in modes.into_iter().zip([0o700, 0o711, 0o750, 0o700]) {
        for (row, from, to) in [("the root", "from/secret/.", "to/secret"), ("below it", "from/.", "to")] {
            let row = format!("{row}: {source:o} over {before:o}");
            ["from", "from/secret", "to", "to/secret"].iter().for_each(|name| make_folder(&home, name));
            noise_file(&home, "from/secret/file", BYTES, 1);
            let target = home.path("to/secret");
            set_mode(&home.path("from/secret"), source);
            set_mode(&target, before);
            let slow = ["copy", "--bwlimit", "64KiB", "--request-size", "64KiB", from, to];
            let run = Running::start(home.command(&slow));
            eventually(&format!("{row}: it is written to"), || {
                assert!(!run.has_ended(), "{row}: it ended before anything was seen");
                let has_begun = !holding(&target, &[]).is_empty();
                assert!(
                    !has_begun || mode(&target) & 0o055 == expected & 0o055,
                    "{row}: {:o}",
                    mode(&target)
                );
                has_begun
            });
            run.signal(Signal::TERM);
            expect(&run.end(), 20, &[], &row);
            expect(&home.pump(&["copy", from, to]), 0, &[], &row);
            assert_eq!(mode(&target), expected, "{row}");
            ["from", "to"].iter().for_each(|name| std::fs::remove_dir_all(home.path(name)).expect("ours"));
        }
    }
}

/// A folder of this user's that somebody gave that name would be handed on, with the new root's mode.
#[test]
fn what_has_the_temporary_name_of_a_new_root_and_is_not_empty_is_left() {
    /// FNV-1a of `new`.
    const TEMPORARY: &str = ".pump-2138d5192571b731";
    let home = Home::new();
    ["source", TEMPORARY].iter().for_each(|name| make_folder(&home, name));
    std::fs::write(home.path(TEMPORARY).join("key"), "secret").expect("room");
    set_mode(&home.path(TEMPORARY), 0o700);
    expect(&home.pump(&["copy", "source", "new"]), 0, &[], "a folder with something in it");
    assert!(!home.path("new/key").exists(), "it was handed on");
    assert_eq!(mode(&home.path(TEMPORARY)), 0o700);
    has_content(&home.path(TEMPORARY).join("key"), b"secret", "what stood there");
}

/// Modes and owners of the files in a folder that begin with this content.
fn holding(folder: &Path, content: &[u8]) -> Vec<(u32, u32)> {
    let files = std::fs::read_dir(folder).expect("it is there");
    let paths = files.map(|file| file.expect("an entry").path());
    let mut found = Vec::new();
    for path in paths {
        let begins = std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(content));
        if begins && let Ok(meta) = path.symlink_metadata() {
            found.push((meta.mode(), meta.uid()));
        }
    }
    found
}

#[test]
fn a_copy_in_place_that_cannot_begin_leaves_the_mode_as_it_was() {
    let home = Home::new();
    noise_file(&home, "secret", 5_000, 1);
    let old = noise_file(&home, "target", 5_000, 2);
    set_mode(&home.path("secret"), ONLY_MINE);
    set_mode(&home.path("target"), 0o644);
    let run = home.pump(&["copy", "--inplace", "--reflink=always", "secret", "target"]);
    if run.status == 0 {
        return eprintln!("not tested: this file system shares blocks");
    }
    expect(&run, 1, &["reflink"], "blocks cannot be shared");
    has_content(&home.path("target"), &old, "nothing was written");
    assert_eq!(mode(&home.path("target")), 0o644);
    // A user who may read the source may go on to read the target.
    set_mode(&home.path("secret"), 0o644);
    expect(&home.pump(&["copy", "--inplace", "secret", "target"]), 0, &[], "open to all");
    assert_eq!(mode(&home.path("target")), 0o644);
}

/// acl(5): a default list that lets user 1 and the group read.
pub fn default_list() -> Vec<u8> {
    let entry = |tag: u16, permissions: u16, id: u32| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let entries = [(1, 7, u32::MAX), (2, 4, 1), (4, 5, u32::MAX), (16, 5, u32::MAX), (32, 5, u32::MAX)];
    let entries = entries.map(|(tag, permissions, id)| entry(tag, permissions, id));
    [2u32.to_le_bytes().to_vec(), entries.concat()].concat()
}

#[test]
fn what_a_folder_hands_down_opens_no_closed_file() {
    let home = Home::new();
    let secret = noise_file(&home, "secret", BYTES, 1);
    set_mode(&home.path("secret"), ONLY_MINE);
    make_folder(&home, "to");
    if !set_xattr(&home.path("to"), "system.posix_acl_default", &default_list()) {
        return;
    }
    copied_while_looked_at(&home, &[], &secret, "a list that is handed down");
    assert_eq!(support::xattr(&home.path("to/copy"), "system.posix_acl_access"), None);
}
