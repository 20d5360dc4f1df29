//! Copies that must not happen, or not as a whole: each with its status, its words, and a target that is left alone.

use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use crate::support;
use crate::support::running::{Running, eventually};
use crate::support::{
    Home, expect, has_content, make_fifo, make_folder, make_symlink, noise_file, only, outcome, set_mode,
};

/// A folder with files `a` and `b`, links of both kinds to `a`, a folder, a socket, a link to nothing.
fn furnished() -> (Home, Vec<u8>, Vec<u8>) {
    let home = Home::new();
    let a = noise_file(&home, "a", 300_000, 1);
    let b = noise_file(&home, "b", 200_000, 2);
    std::fs::hard_link(home.path("a"), home.path("hard")).expect("a hard link");
    make_symlink(&home, "a", "symbolic");
    make_symlink(&home, "symbolic", "twice");
    make_symlink(&home, "nowhere", "dangling");
    make_symlink(&home, "loop", "loop");
    make_folder(&home, "folder");
    make_folder(&home, "folder/b");
    make_symlink(&home, "folder", "to-folder");
    drop(std::os::unix::net::UnixListener::bind(home.path("socket")).expect("a socket"));
    (home, a, b)
}

#[test]
fn a_missing_source_is_told_whatever_the_target_is() {
    let (home, ..) = furnished();
    for words in ["-T missing folder", "missing new/", "missing folder/"] {
        let run = home.pump(&["copy"].into_iter().chain(words.split(' ')).collect::<Vec<_>>());
        expect(&run, 1, &["open 'missing': No such file or directory"], words);
    }
}

/// Operands of `copy`, the exit status, and a part of what is said.
const REFUSED: &[(&str, i32, &str)] = &[
    ("nothing new", 1, "open 'nothing': No such file or directory"),
    ("dangling new", 1, "open 'dangling': No such file or directory"),
    ("loop new", 1, "open 'loop': Too many levels of symbolic links"),
    ("a/below new", 1, "open 'a/below': Not a directory"),
    ("a a", 2, "'a': is the same file as the source 'a'"),
    ("./a a", 2, "is the same file as the source './a'"),
    (
        "a symbolic",
        2,
        "'symbolic': is a symbolic link, and what it leads to is the same file as the source 'a'; choose",
    ),
    (
        "a twice",
        2,
        "'twice': is a symbolic link, and what it leads to is the same file as the source 'a'; choose",
    ),
    (
        "--inplace a symbolic",
        2,
        "and what it leads to is the same file as the source 'a', and would be written into",
    ),
    ("symbolic a", 2, "'a': is what the source 'symbolic' leads to; choose another name"),
    (
        "twice symbolic",
        2,
        "'symbolic': is a symbolic link, and what it leads to is what the source 'twice' leads to; choose",
    ),
    ("symbolic symbolic", 2, "what it leads to is what the source 'symbolic' leads to"),
    ("--inplace a a", 2, "is the same file"),
    ("--inplace a hard", 2, "is the same file"),
    ("a .", 2, "'./a': is the same file"),
    ("-T a folder", 2, "'folder': is a folder, and -T says that it is the name of the copy"),
    ("-T a to-folder", 2, "'to-folder': is a folder, and -T says"),
    ("-T a new/", 2, "'new/': not a directory"),
    ("folder a", 2, "'a': is not a directory, and the source is one"),
    ("folder folder", 2, "'folder/folder': is the source 'folder' or lies in it"),
    ("folder folder/new", 2, "'folder/new': is the source 'folder' or lies in it"),
    ("folder -", 2, "'folder' is a folder; it is copied to a folder, not to '-'"),
    ("a folder b", 2, "several sources need an existing folder"),
    ("folder a b", 2, "several sources need an existing folder"),
    ("--exclude [a folder other", 2, "the pattern '[a'"),
    ("a b new", 2, "'new': several sources need an existing folder as target"),
    ("a b a", 2, "'a': several sources need an existing folder as target"),
    ("a b dangling", 2, "several sources need an existing folder as target"),
    ("a b -", 2, "several sources would become one stream on standard output"),
    ("--inplace b folder", 2, "'folder/b': is a folder; it is not replaced by a file: move it away"),
    ("a new/", 2, "'new/': not a directory; create it, or drop the trailing slash"),
    ("a dangling", 2, "'dangling': is a symbolic link to nothing"),
    ("--inplace a dangling", 2, "'dangling': is a symbolic link to nothing"),
    ("a b/below", 1, "'b/below': Not a directory"),
    ("a new/below", 1, "'new/below': No such file or directory"),
    ("socket new", 1, "'socket': is a socket: it has no content to copy"),
    ("a socket", 2, "'socket': is a socket and cannot be written"),
    ("- folder", 2, "'folder': is a folder, and the source has no name of its own"),
    ("null:1MiB folder", 2, "'folder': is a folder, and the source has no name of its own"),
    ("null: new", 2, "as a source null: needs a size, for example null:10GiB"),
    ("null:10G new", 2, "write 10GiB (powers of 1024) or 10GB (powers of 1000)"),
    ("--verify a null:", 2, "--verify reads the target back"),
    ("--verify a -", 2, "--verify reads the target back"),
    ("--reflink=always a /dev/null", 1, "reflink '/dev/null'"),
];

#[test]
fn refused_before_anything_is_written() {
    let (home, a, b) = furnished();
    let before = home.names();
    for &(words, status, part) in REFUSED {
        let row = format!("copy {words}");
        let ended = home.pump(&row.split(' ').collect::<Vec<_>>());
        expect(&ended, status, &[part], &row);
        assert_eq!(ended.err.lines().count(), 1, "{row}: {ended:?}");
        assert_eq!(home.names(), before, "{row}: nothing is written");
        has_content(&home.path("a"), &a, &row);
        has_content(&home.path("b"), &b, &row);
        assert_eq!(std::fs::read_dir(home.path("folder")).expect("the folder").count(), 1, "{row}");
    }
}

/// The source leads through it, and would lead to nothing.
#[test]
fn a_link_between_source_and_file_is_not_to_be_removed() {
    let (home, ..) = furnished();
    for words in ["twice symbolic", "--inplace twice symbolic"] {
        let run = home.pump(&["copy"].into_iter().chain(words.split(' ')).collect::<Vec<_>>());
        expect(&run, 2, &["is what the source 'twice' leads to", "choose another name for the copy"], words);
        assert!(!run.err.contains("remove"), "{words}: {run:?}");
    }
}

#[test]
fn a_link_that_cannot_be_followed_says_why() {
    let home = Home::new();
    noise_file(&home, "a", 10, 1);
    make_folder(&home, "folder");
    make_symlink(&home, "circle", "circle");
    for source in ["a", "folder"] {
        let words = "open 'circle': Too many levels of symbolic links";
        expect(&home.pump(&["copy", source, "circle"]), 1, &[words], source);
    }
}

#[test]
fn a_name_that_is_too_long() {
    let home = Home::new();
    noise_file(&home, "a", 3_000_000, 1);
    let other = noise_file(&home, "other", 10, 2);
    make_folder(&home, "folder");
    let long = "x".repeat(256);
    let words = "File name too long";
    expect(&home.pump(&["copy", "a", &long]), 1, &[&format!("create '{long}': {words}")], "as target");
    // Known before anything is read or written.
    expect(&home.pump(&["copy", "-n", "a", &long]), 1, &[words], "planned");
    expect(&home.pump(&["copy", "--inplace", "a", &long]), 1, &[words], "in place");
    expect(&home.pump(&["copy", &long, "b"]), 1, &[&format!("open '{long}': {words}")], "as source");
    expect(&home.pump(&["copy", &long, "other", "folder"]), 23, &[words], "one of two");
    has_content(&home.path("folder/other"), &other, "one of two");
    only(&home, &["a", "folder", "other"], "nothing is left");
}

#[test]
fn hostile_names_are_escaped_in_messages() {
    let home = Home::new();
    noise_file(&home, "a", 10, 1);
    for (name, shown) in [
        (&b"new\nline"[..], "new\\nline"),
        (b"esc\x1b[2J\x07", "esc\\u{1b}[2J\\u{7}"),
        (b"bad\xff\xfe", "bad\\xff\\xfe"),
        ("r\u{202e}tl".as_bytes(), "r\\u{202e}tl"),
    ] {
        let name = std::ffi::OsStr::from_bytes(name);
        for words in [["copy".as_ref(), name, "b".as_ref()], ["verify".as_ref(), "a".as_ref(), name]] {
            let ended = home.pump(&words);
            let status = if words[0] == "copy" { 1 } else { 2 };
            expect(&ended, status, &[&format!("open '{shown}': No such file")], shown);
            assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
        }
        std::fs::write(home.path(name), b"other").expect("the file system takes this name");
        expect(&home.pump(&["copy".as_ref(), name, name]), 2, &[shown, "is the same file"], shown);
        let differ = home.pump(&["verify".as_ref(), "--content-only".as_ref(), "a".as_ref(), name]);
        expect(&differ, 1, &[&format!("'{shown}' has 5")], shown);
        std::fs::remove_file(home.path(name)).expect("the file");
    }
}

#[test]
fn some_of_several_sources() {
    let (home, a, b) = furnished();
    make_folder(&home, "into");
    for (words, status, parts) in [
        ("nothing a into", 23, &["open 'nothing': No such file or directory"][..]),
        ("a nothing b into", 23, &["open 'nothing': No such file or directory"]),
        ("a nothing b missing into", 23, &["open 'nothing'", "open 'missing'"]),
        ("a socket into", 0, &["'socket' is a socket"]),
        ("nothing missing into", 23, &["open 'nothing'", "open 'missing'"]),
    ] {
        for flags in ["--lanes=1", "--lanes=3"] {
            let row = format!("copy {flags} {words}");
            expect(&home.pump(&row.split(' ').collect::<Vec<_>>()), status, parts, &row);
            for (name, content) in [("a", &a), ("b", &b)] {
                let copy = home.path("into").join(name);
                let asked = words.split(' ').any(|word| word == name);
                assert_eq!(copy.exists(), asked, "{row}: {name}");
                if asked {
                    has_content(&copy, content, &row);
                    std::fs::remove_file(copy).expect("the copy");
                }
            }
            assert_eq!(std::fs::read_dir(home.path("into")).expect("the folder").count(), 0, "{row}");
        }
    }
}

#[test]
fn what_an_ordinary_user_may_not_do() {
    let home = Home::new();
    let a = noise_file(&home, "a", 100_000, 1);
    noise_file(&home, "secret", 100_000, 2);
    make_folder(&home, "closed");
    make_folder(&home, "open");
    noise_file(&home, "closed/old", 10, 3);
    set_mode(&home.path("a"), 0o644);
    set_mode(&home.path("secret"), 0o000);
    set_mode(&home.path("closed"), 0o555);
    set_mode(&home.path("open"), 0o777);
    make_folder(&home, "shut");
    make_folder(&home, "shut/in");
    set_mode(&home.path("shut"), 0o000);
    for (words, status, part) in [
        ("copy secret open/b", 1, "open 'secret': Permission denied"),
        ("copy secret a open", 23, "open 'secret': Permission denied"),
        ("copy a closed", 1, "create 'closed/a': Permission denied"),
        ("copy a closed/old", 1, "create 'closed/old': Permission denied"),
        ("copy --inplace a closed/new", 1, "create 'closed/new': Permission denied"),
        ("copy a shut/in/", 1, "look at 'shut/in/': Permission denied"),
        ("copy --target-directory shut/in a", 1, "look at 'shut/in': Permission denied"),
        ("copy a secret shut/in", 1, "look at 'shut/in': Permission denied"),
        ("verify secret a", 2, "open 'secret': Permission denied"),
        ("verify a secret", 2, "open 'secret': Permission denied"),
        ("hash secret", 1, "open 'secret': Permission denied"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let Some(ended) = support::as_ordinary_user(&home, &words) else { return };
        expect(&ended, status, &[part], &words.join(" "));
    }
    // Without an owner's rights the copy is kept, and the owner that was lost is said to those who ask.
    for (words, is_asked) in [(&["copy", "a", "open/b"][..], false), (&["copy", "-v", "a", "open/b"], true)] {
        let copied = support::as_ordinary_user(&home, words).expect("as before");
        expect(&copied, 0, &[], "an ordinary copy");
        let is_told = copied.err.contains("owner: not permitted");
        assert_eq!(is_told, is_asked && support::is_root(), "{copied:?}");
    }
    has_content(&home.path("open/b"), &a, "an ordinary copy");
    has_content(&home.path("open/a"), &a, "one of two");
    assert_eq!(std::fs::read_dir(home.path("open")).expect("the folder").count(), 2);
    assert_eq!(std::fs::read_dir(home.path("closed")).expect("the folder").count(), 1);
    for folder in ["closed", "shut"] {
        set_mode(&home.path(folder), 0o755);
    }
}

#[test]
fn an_existing_folder_receives_the_source() {
    let (home, a, _) = furnished();
    let targets = ["folder", "folder/", "to-folder", "to-folder/", "./folder/b/.."];
    for target in targets {
        expect(&home.pump(&["copy", "a", target]), 0, &[], target);
        has_content(&home.path("folder/a"), &a, target);
        std::fs::remove_file(home.path("folder/a")).expect("the copy");
    }
    expect(&home.pump(&["copy", "twice", "folder"]), 0, &[], "a link as source");
    assert!(home.path("folder/twice").symlink_metadata().expect("the copy").is_file());
    has_content(&home.path("folder/twice"), &a, "the file behind the link");
}

#[test]
fn a_target_with_links() {
    let (home, a, b) = furnished();
    // The file behind a link is replaced, and the link stays.
    make_symlink(&home, "folder/real", "outer");
    noise_file(&home, "folder/real", 10, 3);
    expect(&home.pump(&["copy", "a", "outer"]), 0, &[], "through a link");
    assert!(home.path("outer").is_symlink());
    has_content(&home.path("folder/real"), &a, "through a link");
    // A new file takes the name from one of several links, unless it is written in place.
    expect(&home.pump(&["copy", "b", "hard"]), 0, &[], "replaces one name");
    has_content(&home.path("hard"), &b, "replaces one name");
    has_content(&home.path("a"), &a, "replaces one name");
    let inode = home.path("a").metadata().expect("the file").ino();
    std::fs::hard_link(home.path("a"), home.path("again")).expect("a hard link");
    for flags in ["--direct=never", "--engine=threads", "--verify", "--lanes=2"] {
        expect(&home.pump(&["copy", "--inplace", flags, "b", "a"]), 0, &[], flags);
        has_content(&home.path("again"), &b, "a longer old file is cut");
        assert_eq!(home.path("a").metadata().expect("the file").ino(), inode, "{flags}");
        std::fs::write(home.path("a"), &a).expect("room for a file");
    }
    expect(&home.pump(&["copy", "--inplace", "b", "symbolic"]), 0, &[], "in place, through a link");
    has_content(&home.path("again"), &b, "in place, through a link");
    assert!(home.path("symbolic").is_symlink() && support::leftovers(&home).is_empty());
}

#[test]
fn sinks_that_take_no_more() {
    let home = Home::new();
    noise_file(&home, "a", 3_000_000, 1);
    for engine in ["--engine=auto", "--engine=threads", "--engine=inline"] {
        let full = home.pump(&["copy", engine, "a", "/dev/full"]);
        expect(&full, 1, &["write '/dev/full' at byte 0: No space left on device"], engine);
        let mut command = home.command(&["copy", engine, "a", "-"]);
        let device = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let full = command.stdout(device).stderr(Stdio::piped()).output().expect("pump was built");
        let err = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(1), "{engine}: {err}");
        assert!(err.contains("write 'standard output' at byte 0: No space left on device"), "{err}");
        into_closed_pipe(&home, engine);
    }
    only(&home, &["a"], "nothing is left");
}

/// A reader that is gone at once, and one that goes after the first bytes.
fn into_closed_pipe(home: &Home, engine: &str) {
    for read_first in [0, 1000] {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = home.command(&["copy", engine, "a", "-"]);
        command.stdout(writer).stderr(Stdio::piped());
        let mut running = Running::start_as_it_is(command);
        std::io::Read::read_exact(&mut reader, &mut vec![0; read_first]).expect("the first bytes");
        drop(reader);
        let ended = running.end_with_open_input();
        expect(&ended, 1, &["write 'standard output' at byte ", "Broken pipe"], engine);
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    }
}

#[test]
fn a_named_pipe_whose_reader_goes_away() {
    let home = Home::new();
    noise_file(&home, "a", 3_000_000, 1);
    make_fifo(&home.path("fifo"));
    let running = Running::start(home.command(&["copy", "a", "fifo"]));
    let mut reader = std::fs::File::open(home.path("fifo")).expect("the pipe");
    std::io::Read::read_exact(&mut reader, &mut [0; 1000]).expect("the first bytes");
    drop(reader);
    eventually("the end", || running.has_ended());
    expect(&running.end(), 1, &["write 'fifo' at byte ", "Broken pipe"], "FIFO");
    assert!(!home.path("fifo").metadata().expect("the FIFO stays").is_file());
}

#[test]
fn a_foreign_thing_under_the_temporary_name() {
    let home = Home::new();
    let a = noise_file(&home, "a", 3_000_000, 1);
    let old = noise_file(&home, "b", 1000, 2);
    let name = support::running::leave_temporary(&home, "a", "b");
    let temporary = home.path(&name);
    std::fs::remove_file(&temporary).expect("the leftover");
    let precious = noise_file(&home, "precious", 1000, 3);
    make_folder(&home, &name);
    let words = format!("create 'b': {name} is in the way and was not made by pump; remove it");
    expect(&home.pump(&["copy", "a", "b"]), 1, &[&words], "a folder");
    std::fs::remove_dir(&temporary).expect("the folder stays");
    make_symlink(&home, "precious", &name);
    expect(&home.pump(&["copy", "a", "b"]), 1, &[&words], "a link");
    has_content(&home.path("precious"), &precious, "a link is not followed");
    std::fs::remove_file(&temporary).expect("the link stays");
    make_fifo(&temporary);
    expect(&home.pump(&["copy", "a", "b"]), 1, &[&words], "a pipe");
    has_content(&home.path("b"), &old, "the old target is left alone");
    // In place there is no temporary file.
    expect(&home.pump(&["copy", "--inplace", "a", "b"]), 0, &[], "in place");
    has_content(&home.path("b"), &a, "in place");
}

#[test]
fn the_report_is_the_last_line_after_a_failure() {
    let (home, ..) = furnished();
    for (words, status, class) in [
        ("copy --json nothing new", 1, "missing"),
        ("copy --json a a", 2, "usage"),
        ("copy --json a -", 2, "usage"),
        ("copy --json a /dev/full", 1, "no_space"),
        ("copy --json a nothing folder", 23, "missing"),
        ("verify --json --content-only a b", 1, "mismatch"),
    ] {
        let ended = outcome(home.command(&words.split(' ').collect::<Vec<_>>()), b"");
        assert_eq!(ended.status, status, "{words}: {ended:?}");
        let report = ended.report();
        assert_eq!((&report["event"], &report["exit_status"]), (&"report".into(), &status.into()), "{words}");
        assert_eq!(report["problems"][class], 1, "{words}: {report}");
    }
}
