//! `--remove-source-files`: what is copied goes from the source, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, SystemTime};

use crate::support::listing::paths;
use crate::support::running::{Running, eventually};
use crate::support::{Home, expect, make_fifo, make_folder, make_symlink, noise_file};

fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "from/sub");
    noise_file(&home, "from/large", 2 << 20, 1);
    for (name, content) in [("from/a", "a"), ("from/sub/b", "b"), ("from/sub/empty", "")] {
        fs::write(home.path(name), content).expect("room");
    }
    fs::hard_link(home.path("from/a"), home.path("from/sub/other")).expect("room");
    make_symlink(&home, "a", "from/link");
    make_symlink(&home, "nowhere", "from/dangling");
    make_fifo(&home.path("from/pipe"));
    home
}

fn found(home: &Home, folder: &str) -> BTreeSet<String> {
    paths(&home.path(folder))
        .iter()
        .map(|path| path.display().to_string())
        .filter(|name| !name.is_empty())
        .collect()
}

fn set(words: &str) -> BTreeSet<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

const ALL: &str = "a dangling large link pipe sub sub/b sub/empty sub/other";

#[test]
fn what_is_copied_goes_and_folders_stay() {
    for flags in
        ["", "--update=differs", "--checksum", "--verify", "--lanes=3", "--sync=each", "--exclude=none"]
    {
        let home = home();
        let words: Vec<&str> =
            ["copy", "--remove-source-files"].into_iter().chain(flags.split_whitespace()).collect();
        expect(&home.pump(&[&words[..], &["from/", "to"]].concat()), 0, &[], flags);
        assert_eq!((found(&home, "from"), found(&home, "to")), (set("sub"), set(ALL)), "{flags}");
        assert_eq!(fs::read(home.path("to/sub/other")).expect("it is there"), b"a", "{flags}");
        // Nothing is left to do; what is there stays.
        expect(&home.pump(&[&words[..], &["from/", "to"]].concat()), 0, &[], flags);
        assert_eq!(found(&home, "to"), set(ALL), "{flags}");
    }
}

#[test]
fn what_stands_there_already_goes_too() {
    let home = home();
    expect(&home.pump(&["copy", "from/", "to"]), 0, &[], "first");
    expect(&home.pump(&["copy", "--update", "--remove-source-files", "from/", "to"]), 0, &[], "second");
    assert_eq!((found(&home, "from"), found(&home, "to")), (set("sub"), set(ALL)));
}

#[test]
fn what_is_not_copied_stays() {
    for (flags, left) in [
        ("--exclude=b --exclude=link", "link sub sub/b"),
        ("--max-size=1MiB", "large sub"),
        ("-n", ALL),
        ("-n -i", ALL),
        ("--files-from=list", "dangling large link pipe sub sub/b sub/empty"),
    ] {
        let home = home();
        fs::write(home.path("list"), "a\nsub/other\n").expect("room");
        let words: Vec<&str> = flags.split(' ').collect();
        let copy = [&["copy", "--remove-source-files"], &words[..], &["from/", "to"]].concat();
        expect(&home.pump(&copy), 0, &[], flags);
        assert_eq!(found(&home, "from"), set(left), "{flags}");
    }
    // Newer at the target.
    let home = home();
    expect(&home.pump(&["copy", "from/", "to"]), 0, &[], "first");
    fs::write(home.path("to/a"), "newer").expect("room");
    let newer = fs::File::options().write(true).open(home.path("to/a")).expect("it is there");
    newer.set_modified(SystemTime::now() + Duration::from_secs(3600)).expect("room");
    expect(&home.pump(&["copy", "--update", "--remove-source-files", "from/", "to"]), 0, &[], "newer");
    assert_eq!(found(&home, "from"), set("a sub sub/other"), "two names of one file");
    assert_eq!(fs::read(home.path("to/a")).expect("it is there"), b"newer");
}

#[test]
fn where_something_failed_nothing_goes() {
    let home = home();
    make_folder(&home, "to");
    make_folder(&home, "to/a");
    fs::write(home.path("to/a/in"), "in the way").expect("room");
    let run = home.pump(&["copy", "--remove-source-files", "from/", "to"]);
    expect(&run, 23, &["nothing was removed from the source"], "a folder in the way");
    assert_eq!(found(&home, "from"), set(ALL));
    fs::remove_file(home.path("to/a/in")).expect("it is there");
    fs::remove_dir(home.path("to/a")).expect("it is there");
    expect(&home.pump(&["copy", "--remove-source-files", "--update", "from/", "to"]), 0, &[], "again");
    assert_eq!((found(&home, "from"), found(&home, "to")), (set("sub"), set(ALL)));
}

/// Of the same size and time again, as cp -p and tar leave it.
#[test]
fn what_is_replaced_while_others_are_copied_stays() {
    let home = home();
    noise_file(&home, "from/zlarge", 8 << 20, 2);
    let time = fs::metadata(home.path("from/a")).and_then(|meta| meta.modified()).expect("it is there");
    let words =
        ["copy", "--remove-source-files", "--lanes=1", "--bwlimit=4MiB", "--progress=always", "from/", "to"];
    let running = Running::start(home.command(&words));
    eventually("the first file is there", || home.path("to/a").exists());
    fs::write(home.path("from/a"), "A").expect("room");
    let changed = fs::File::options().write(true).open(home.path("from/a")).expect("it is there");
    changed.set_modified(time).expect("room");
    let run = running.end();
    assert!(run.status == 24 || run.status == 23, "{run:?}");
    assert_eq!(fs::read(home.path("from/a")).expect("it is there"), b"A");
}

#[test]
fn files_that_are_named_go() {
    let home = home();
    make_folder(&home, "to");
    expect(
        &home.pump(&["copy", "--remove-source-files", "from/a", "from/large", "from/link", "to"]),
        0,
        &[],
        "files",
    );
    assert_eq!(found(&home, "from"), set("dangling link pipe sub sub/b sub/empty sub/other"));
    assert_eq!(found(&home, "to"), set("a large link"));
    expect(&home.pump(&["copy", "--remove-source-files", "from/sub/b", "one"]), 0, &[], "one");
    assert!(!home.path("from/sub/b").exists() && home.path("one").exists());
}

/// As rsync has it. One that is followed stays, and so does what it leads to.
#[test]
fn links_that_are_named_and_kept_go() {
    for (flags, target, made) in [
        ("-a", "to/", "to/dangling"),
        ("--links", "to", "to/dangling"),
        ("-d", "new", "new"),
        ("-a --verify -T", "new", "new"),
    ] {
        let home = home();
        make_folder(&home, "to");
        let words: Vec<&str> =
            ["copy", "--remove-source-files"].into_iter().chain(flags.split(' ')).collect();
        expect(&home.pump(&[&words[..], &["from/dangling", target]].concat()), 0, &[], flags);
        assert_eq!(found(&home, "from"), set("a large link pipe sub sub/b sub/empty sub/other"), "{flags}");
        let content = fs::read_link(home.path(made)).expect("it is copied");
        assert_eq!(content.to_str(), Some("nowhere"), "{flags}");
    }
    // Those that stand there already, beside a file and a pipe.
    let home = home();
    make_folder(&home, "to");
    let named = ["from/a", "from/link", "from/pipe", "to"];
    expect(&home.pump(&[&["copy", "-a"], &named[..]].concat()), 0, &[], "first");
    let again = [&["copy", "-a", "--update", "--remove-source-files"], &named[..]].concat();
    expect(&home.pump(&again), 0, &[], "again");
    assert_eq!(found(&home, "from"), set("dangling large sub sub/b sub/empty sub/other"));
    assert_eq!(found(&home, "to"), set("a link pipe"));
    // What cannot be copied stays, and so does what was only looked at.
    make_folder(&home, "to/dangling");
    fs::write(home.path("to/dangling/in"), "in the way").expect("room");
    let run = home.pump(&["copy", "-a", "--remove-source-files", "from/dangling", "to"]);
    assert!(run.status != 0 && home.path("from/dangling").is_symlink(), "{run:?}");
    let run = home.pump(&["copy", "-a", "-n", "--remove-source-files", "from/dangling", "new"]);
    expect(&run, 0, &["dry run"], "a dry run");
    assert!(home.path("from/dangling").is_symlink() && !home.path("new").is_symlink());
    // The folder's content has the same place.
    let run = home.pump(&["copy", "-a", "--remove-source-files", "from/", "from/dangling", "new/"]);
    expect(&run, 2, &[], "several need a folder");
    make_folder(&home, "new");
    let run = home.pump(&["copy", "-a", "--remove-source-files", "from/", "from/dangling", "new/"]);
    expect(&run, 23, &["two of the sources would get this name", "nothing was removed"], "two of one name");
    assert!(home.path("from/dangling").is_symlink());
}

#[test]
fn what_could_lose_something_is_refused() {
    let home = home();
    for (flag, said) in [
        ("--sync=none", "--sync=none does not wait"),
        ("--no-preserve=timestamps", "--no-preserve leaves them out"),
        ("--ignore-existing", "--ignore-existing never looks"),
        ("-L", "followed links have none"),
        ("--delete", "the next --delete would remove it"),
        ("--update --size-only", "--size-only makes them so"),
        ("--update --modify-window=1h", "--modify-window takes others for them"),
    ] {
        let flags: Vec<&str> = flag.split(' ').collect();
        let run = home.pump(&[&["copy", "--remove-source-files"], &flags[..], &["from/", "to"]].concat());
        expect(&run, 2, &[said], flag);
        assert_eq!(found(&home, "from"), set(ALL), "{flag}");
    }
    make_folder(&home, "other");
    make_folder(&home, "other/from");
    fs::write(home.path("other/from/a"), "other").expect("room");
    make_folder(&home, "into");
    let run = home.pump(&["copy", "--remove-source-files", "other/", "from", "into/"]);
    expect(&run, 23, &["two of the sources would get this name", "nothing was removed"], "two of one name");
    assert_eq!(found(&home, "from"), set(ALL), "two of one name");
    for (from, to, said) in [
        ("from/a", "null:", "makes no file"),
        ("-", "new", "reads no file"),
        ("from/a", "-", "makes no file"),
    ] {
        expect(&home.pump(&["copy", "--remove-source-files", from, to]), 2, &[said], said);
    }
    let run = home.pump(&["copy", "--remove-source-files", "--ssh", "false", "from/", "host:to"]);
    expect(&run, 2, &["for copies on this host alone"], "push");
    assert_eq!(found(&home, "from"), set(ALL));
}
