//! `-L`, `--copy-unsafe-links`, `--safe-links`: what symbolic links of a tree are copied as; `-a`, `-d`, `--links`: as
//! what those that are named are copied.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{CWD, FileType, Mode};

use crate::support::listing::paths;
use crate::support::programs::script;
use crate::support::serving::Serving;
use crate::support::{Home, PUMP, expect, make_fifo, make_folder, make_symlink, noise_file};

/// A tree with links to files and folders inside and outside of it.
fn home() -> Home {
    let home = Home::new();
    for folder in ["out", "out/sub", "tree", "tree/sub", "served"] {
        make_folder(&home, folder);
    }
    noise_file(&home, "out/large", 3 << 20, 1);
    for (name, content) in
        [("out/file", "outside"), ("out/sub/deep", "deep"), ("tree/file", "inside"), ("tree/sub/b", "b")]
    {
        fs::write(home.path(name), content).expect("room");
    }
    make_fifo(&home.path("out/pipe"));
    let absolute = home.path("out/file").display().to_string();
    for (to, name) in [
        ("file", "tree/in"),
        ("../file", "tree/sub/up"),
        ("sub", "tree/folder"),
        ("../out/file", "tree/out"),
        (&*absolute, "tree/absolute"),
        ("../../out", "tree/sub/outside"),
        ("../out/large", "tree/large"),
        ("../out/pipe", "tree/pipe"),
    ] {
        make_symlink(&home, to, name);
    }
    home
}

/// The kinds of what lies below a folder: `f`, `d`, `l`, `p`, each with its path.
pub(crate) fn kinds(home: &Home, folder: &str) -> Vec<String> {
    let kind = |path: &std::path::Path| {
        let kind = fs::symlink_metadata(home.path(folder).join(path)).expect("it is there").file_type();
        let letter = match kind {
            _ if kind.is_symlink() => 'l',
            _ if kind.is_dir() => 'd',
            _ if kind.is_file() => 'f',
            _ => 'p',
        };
        format!("{letter} {}", path.display())
    };
    let mut kinds: Vec<String> = paths(&home.path(folder))
        .iter()
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| kind(path))
        .collect();
    kinds.sort_by_key(|line| line[2..].to_string());
    kinds
}

const KEPT: &[&str] = &[
    "l absolute",
    "f file",
    "l folder",
    "l in",
    "l large",
    "l out",
    "l pipe",
    "d sub",
    "f sub/b",
    "l sub/outside",
    "l sub/up",
];
const FOLLOWED: &[&str] = &[
    "f absolute",
    "f file",
    "d folder",
    "f folder/b",
    "d folder/outside",
    "f folder/outside/file",
    "f folder/outside/large",
    "p folder/outside/pipe",
    "d folder/outside/sub",
    "f folder/outside/sub/deep",
    "f folder/up",
    "f in",
    "f large",
    "f out",
    "p pipe",
    "d sub",
    "f sub/b",
    "d sub/outside",
    "f sub/outside/file",
    "f sub/outside/large",
    "p sub/outside/pipe",
    "d sub/outside/sub",
    "f sub/outside/sub/deep",
    "f sub/up",
];
const UNSAFE_FOLLOWED: &[&str] = &[
    "f absolute",
    "f file",
    "l folder",
    "l in",
    "f large",
    "f out",
    "p pipe",
    "d sub",
    "f sub/b",
    "d sub/outside",
    "f sub/outside/file",
    "f sub/outside/large",
    "p sub/outside/pipe",
    "d sub/outside/sub",
    "f sub/outside/sub/deep",
    "l sub/up",
];
const SAFE: &[&str] = &["f file", "l folder", "l in", "d sub", "f sub/b", "l sub/up"];

#[test]
fn links_are_kept_followed_or_left_out() {
    for (flags, expected) in [
        ("", KEPT),
        ("-L", FOLLOWED),
        ("--dereference", FOLLOWED),
        ("--copy-unsafe-links", UNSAFE_FOLLOWED),
        ("--safe-links", SAFE),
        ("-L --lanes=3 --update=differs", FOLLOWED),
        ("-L --sync=none --engine=inline", FOLLOWED),
    ] {
        let home = home();
        let words: Vec<&str> = ["copy"].into_iter().chain(flags.split_whitespace()).collect();
        let copy = [&words[..], &["tree/", "to"]].concat();
        expect(&home.pump(&copy), 0, &[], flags);
        assert_eq!(kinds(&home, "to"), expected, "{flags}");
        if expected == FOLLOWED {
            for (one, other) in
                [("out/large", "to/large"), ("out/file", "to/absolute"), ("tree/file", "to/sub/up")]
            {
                assert_eq!(fs::read(home.path(one)).unwrap(), fs::read(home.path(other)).unwrap(), "{other}");
                assert_eq!(
                    fs::metadata(home.path(one)).unwrap().mtime(),
                    fs::metadata(home.path(other)).unwrap().mtime(),
                    "{other}"
                );
            }
        }
        // A mirror of it finds nothing to do, and removes nothing of what it followed.
        let mirror = [&words[..], &["--update=differs", "--delete", "-i", "tree/", "to"]].concat();
        let again = home.pump(&mirror);
        expect(&again, 0, &[], flags);
        assert_eq!(
            (again.out.as_str(), kinds(&home, "to")),
            ("", expected.iter().map(ToString::to_string).collect()),
            "{flags}"
        );
    }
}

#[test]
fn links_that_lead_out_by_another_link_are_left_out_too() {
    let home = home();
    make_symlink(&home, ".", "tree/dot");
    make_symlink(&home, "dot/dot/../../out/file", "tree/by-dots");
    expect(&home.pump(&["copy", "--safe-links", "tree/", "to"]), 0, &[], "by dots");
    assert!(home.path("to/dot").is_symlink() && !home.path("to/by-dots").is_symlink());
    // A named link is followed, unless it leads out.
    let run = home.pump(&["copy", "--safe-links", "tree/out", "named"]);
    expect(&run, 2, &["leave out the link, or --safe-links"], "named");
    expect(&home.pump(&["copy", "--safe-links", "tree/in", "named"]), 0, &[], "named");
    expect(
        &home.pump(&["copy", "--safe-links", "-L", "tree/", "none"]),
        2,
        &["leave out --safe-links"],
        "both",
    );
}

#[test]
fn a_followed_link_into_the_copy_is_no_endless_one() {
    let home = home();
    make_folder(&home, "to");
    make_symlink(&home, "../../to/sub", "tree/sub/into");
    let run = home.pump(&["copy", "-L", "tree/", "to"]);
    expect(&run, 23, &["which this copy replaces"], "-L");
    assert!(home.path("to/sub/up").is_file() && !home.path("to/sub/into/into").exists());
}

#[test]
fn between_two_hosts_they_are_the_same() {
    let home = home();
    let serving = Serving::new(&home, &[]);
    let pump = |words: &[&str]| home.pump(&[&["copy", "--ticket-file", "ticket"], words].concat());
    for (flag, expected) in
        [("-q", KEPT), ("-L", FOLLOWED), ("--copy-unsafe-links", UNSAFE_FOLLOWED), ("--safe-links", SAFE)]
    {
        let pushed = serving.at("to");
        expect(&pump(&[flag, "tree/", &pushed]), 0, &[], flag);
        assert_eq!(kinds(&home, "served/to"), expected, "{flag}");
        let again = pump(&[flag, "--update=differs", "--delete", "-i", "tree/", &pushed]);
        expect(&again, 0, &[], flag);
        assert_eq!((again.out.as_str(), kinds(&home, "served/to").len()), ("", expected.len()), "{flag}");
        fs::remove_dir_all(home.path("served/to")).expect("it is there");
        // Over ssh the other host reads as its user does.
        script(home.path("rsh"), "shift; exec sh -c \"$*\"");
        let far = format!("host:{}/", home.path("tree").display());
        let over_ssh = ["--ssh=./rsh", "--remote-bin", PUMP, flag, &far, "back"];
        expect(&home.pump(&[&["copy"], &over_ssh[..]].concat()), 0, &[], flag);
        assert_eq!(kinds(&home, "back"), expected, "{flag}");
        fs::remove_dir_all(home.path("back")).expect("it is there");
    }
    // Of a folder that is served no link leads out.
    expect(&home.pump(&["copy", "tree/", "served/tree"]), 0, &[], "to be pulled");
    expect(&pump(&["--safe-links", &serving.at("tree/"), "back"]), 0, &[], "pull");
    assert_eq!(kinds(&home, "back"), SAFE);
    for flag in ["-L", "--copy-unsafe-links"] {
        let run = pump(&[flag, &serving.at("tree/"), "none"]);
        expect(&run, 5, &["links of a folder that is served are not followed"], flag);
        assert!(!home.path("none").exists());
    }
}

/// Links that are named, a folder and a file; a folder to copy into.
pub(crate) fn home_of_named() -> Home {
    let home = Home::new();
    for folder in ["dir", "dir/v1", "backup", "served"] {
        make_folder(&home, folder);
    }
    fs::write(home.path("dir/v1/file"), "one").expect("room");
    fs::write(home.path("dir/plain"), "plain").expect("room");
    for (to, name) in [("v1", "dir/latest"), ("plain", "dir/alias"), ("nowhere", "dir/dangling")] {
        make_symlink(&home, to, name);
    }
    home
}

const NAMED: [&str; 5] = ["dir/alias", "dir/dangling", "dir/latest", "dir/plain", "dir/v1"];
pub(crate) const NAMED_KEPT: &[&str] = &["l alias", "l dangling", "l latest", "f plain", "d v1", "f v1/file"];

pub(crate) fn words_of(home: &Home, link: &str) -> String {
    fs::read_link(home.path(link)).expect("a link").display().to_string()
}

#[test]
fn links_that_are_named_stay_links_with_the_flags_of_others() {
    for flag in ["-a", "--archive", "-d", "--links", "--no-dereference"] {
        let home = home_of_named();
        let words = [&["copy", flag][..], &NAMED, &["backup/"]].concat();
        expect(&home.pump(&words), 0, &[], flag);
        assert_eq!(kinds(&home, "backup"), NAMED_KEPT, "{flag}");
        assert_eq!(words_of(&home, "backup/latest"), "v1", "{flag}");
        assert_eq!(words_of(&home, "backup/dangling"), "nowhere", "{flag}");
        let words = [&["copy", "--update", "-i", flag][..], &NAMED, &["backup/"]].concat();
        let again = home.pump(&words);
        expect(&again, 0, &["Nothing to do"], flag);
        assert_eq!(again.out, "", "{flag}");
        // Another one takes its place.
        fs::remove_file(home.path("dir/latest")).expect("it is there");
        make_symlink(&home, "v2", "dir/latest");
        expect(&home.pump(&["copy", flag, "dir/latest", "backup"]), 0, &[], flag);
        assert_eq!(words_of(&home, "backup/latest"), "v2", "{flag}");
    }
}

#[test]
fn a_link_that_is_named_gets_a_new_name() {
    let home = home_of_named();
    let run = home.pump(&["copy", "-a", "-i", "dir/latest", "other"]);
    expect(&run, 0, &["other"], "a new name");
    assert!(run.out.contains("-> v1"), "{run:?}");
    assert_eq!(words_of(&home, "other"), "v1");
    let again = home.pump(&["copy", "-a", "--update", "-i", "dir/latest", "other"]);
    assert_eq!((again.status, again.out.as_str()), (0, ""), "{again:?}");
    expect(&again, 0, &["Nothing to do: 1 link up to date."], "again");
    let run = home.pump(&["copy", "-a", "--delete", "dir/v1/", "dir/latest", "backup/"]);
    expect(&run, 0, &[], "--delete");
    assert_eq!(words_of(&home, "backup/latest"), "v1", "what another source is copied to stays");
    let run = home.pump(&["copy", "-a", "dir/latest", "dir/dangling", "backup/"]);
    expect(&run, 0, &["2 links in "], "links alone");
    let run = home.pump(&["copy", "-a", "dir/latest", "backup/"]);
    expect(&run, 0, &["dir/latest -> backup/latest: 1 link in "], "a link alone");
    // A link in its place is replaced, and what that leads to stays.
    expect(&home.pump(&["copy", "-a", "--backup", "dir/dangling", "dir/alias"]), 0, &[], "over a link");
    assert_eq!(words_of(&home, "dir/alias"), "nowhere");
    assert_eq!(words_of(&home, "dir/alias~"), "plain");
    assert!(home.path("dir/plain").is_file());
    expect(&home.pump(&["copy", "-a", "dir/latest", "dir"]), 2, &["is the same file"], "itself");
    // It would lead to itself, and the only content would be gone.
    make_symlink(&home, "plain", "dir/short");
    make_symlink(&home, "backup/far", "far");
    fs::write(home.path("backup/far"), "far").expect("room");
    for (link, target) in [("dir/short", "dir/plain"), ("far", "backup/"), ("far", "backup/far")] {
        expect(&home.pump(&["copy", "-a", link, target]), 2, &["leads to", "leave out -a"], link);
    }
    // Also by another link.
    make_symlink(&home, "short", "dir/shorter");
    make_symlink(&home, "shorter", "dir/shortest");
    for link in ["dir/shorter", "dir/shortest"] {
        expect(&home.pump(&["copy", "-a", link, "dir/short"]), 2, &["leads to"], link);
    }
    assert_eq!(words_of(&home, "dir/short"), "plain");
    assert_eq!(fs::read(home.path("dir/plain")).expect("it stays"), b"plain");
    assert_eq!(fs::read(home.path("backup/far")).expect("it stays"), b"far");
    expect(&home.pump(&["copy", "-a", "dir/short", "/dev/null"]), 2, &["is a device"], "a device");
    expect(&home.pump(&["copy", "-a", "dir/latest", "new/"]), 2, &["not a directory"], "no folder");
    assert!(!home.path("new").is_symlink());
}

/// Named by its folder as by its own name. Of /dev there are dry runs alone.
#[test]
fn a_link_does_not_take_the_place_of_a_device() {
    let home = Home::new();
    make_symlink(&home, "somewhere", "null");
    fs::write(home.path("file"), "file").expect("room");
    for words in [
        &["null", "/dev/null"][..],
        &["null", "/dev"],
        &["null", "/dev/"],
        &["null", "file", "/dev"],
        &["--target-directory", "/dev", "null"],
    ] {
        let run = home.pump(&[&["copy", "-an"][..], words].concat());
        expect(&run, 2, &["/dev/null", "is a device", "leave out -a"], &format!("{words:?}"));
    }
    make_folder(&home, "nodes");
    let (kind, device) = (FileType::CharacterDevice, rustix::fs::makedev(1, 3));
    if let Err(error) = rustix::fs::mknodat(CWD, home.path("nodes/null"), kind, Mode::RUSR, device) {
        return eprintln!("not tested: no device can be made here: {error}");
    }
    for target in ["nodes/null", "nodes", "nodes/"] {
        expect(&home.pump(&["copy", "-a", "null", target]), 2, &["nodes/null", "is a device"], target);
        assert!(!home.path("nodes/null").is_symlink(), "{target}");
    }
}

/// To a file, to a folder and to nothing; alone, and beside a folder, which is walked.
#[test]
fn a_dry_run_says_that_a_link_would_be_made() {
    let home = home_of_named();
    for (name, to) in [("alias", "plain"), ("latest", "v1"), ("dangling", "nowhere")] {
        let source = format!("dir/{name}");
        let line = format!("'{source}' -> 'backup/{name}' (symlink)\n");
        for words in
            [&["-an", &*source][..], &["-dn", &source], &["-an", "dir/v1/", &source], &["-dnu", &source]]
        {
            let run = home.pump(&[&["copy"], words, &["backup/"]].concat());
            expect(&run, 0, &[&line, "dry run: nothing was copied"], &source);
            assert!(!home.path("backup").join(name).is_symlink(), "{words:?}");
        }
        let run = home.pump(&["copy", "-an", &source, "new"]);
        expect(&run, 0, &[&format!("'{source}' -> 'new' (symlink)\n")], &source);
        let run = home.pump(&["copy", "-an", "--json", &source, "new"]);
        let plan: serde_json::Value = run
            .events()
            .into_iter()
            .find(|event: &serde_json::Value| event["event"] == "plan")
            .expect("a plan");
        assert_eq!((&plan["bytes"], &plan["how"]), (&serde_json::Value::Null, &"symlink".into()), "{run:?}");
        // Followed, it is a file of so many bytes, or a folder.
        let followed = home.pump(&["copy", "-n", &source, "new"]);
        assert!(!followed.out.contains("(symlink)"), "to {to}: {followed:?}");
    }
}

/// Dry runs alone: whatever the program makes of them, nothing of this host changes.
#[test]
fn a_link_takes_the_place_of_nothing_that_programs_have_open() {
    let home = home_of_named();
    make_symlink(&home, "plain", "dir/stderr");
    make_symlink(&home, "plain", "dir/fd");
    for (source, target) in [
        ("dir/alias", "/dev/stderr"),
        ("dir/latest", "/dev/stderr"),
        ("dir/dangling", "/dev/stdin"),
        ("dir/stderr", "/dev/"),
        ("dir/fd", "/dev"),
        ("dir/alias", "/dev/fd/2"),
        ("dir/alias", "/proc/self/fd/99"),
        ("dir/alias", "/proc/new"),
    ] {
        let run = home.pump(&["copy", "-an", source, target]);
        expect(&run, 2, &["stands for what programs have open", "leave out -a"], target);
        assert_eq!(run.out, "", "{target}");
    }
    // Elsewhere they are names like any other.
    make_folder(&home, "dev");
    expect(&home.pump(&["copy", "-a", "dir/stderr", "dir/fd", "dev/"]), 0, &[], "another folder");
    expect(&home.pump(&["copy", "-a", "dir/alias", "dev/stderr"]), 0, &[], "another folder");
    assert_eq!(words_of(&home, "dev/stderr"), "plain");
}

#[test]
fn links_that_are_named_are_followed_otherwise() {
    for (flags, source, name) in [
        ("", "dir/latest", "d latest"),
        ("-r", "dir/latest", "d latest"),
        ("-a -L", "dir/latest", "d latest"),
        ("-L -d", "dir/latest", "d latest"),
        ("-a", "dir/latest/", "f file"),
        ("-a -L", "dir/alias", "f alias"),
    ] {
        let home = home_of_named();
        let words: Vec<&str> = ["copy"].into_iter().chain(flags.split_whitespace()).collect();
        expect(&home.pump(&[&words[..], &[source, "backup"]].concat()), 0, &[], flags);
        assert_eq!(kinds(&home, "backup")[0], name, "{flags} {source}");
    }
    let home = home_of_named();
    expect(&home.pump(&["copy", "dir/dangling", "backup"]), 1, &["No such file"], "to nothing");
    let run = home.pump(&["copy", "-a", "dir/alias", "-"]);
    assert_eq!((run.status, run.out.as_str()), (0, "plain"), "{run:?}");
}

#[test]
fn links_that_are_named_are_pushed_as_links() {
    let home = home_of_named();
    let serving = Serving::new(&home, &[]);
    make_folder(&home, "served/to");
    let push = |flags: &[&str], sources: &[&str], target: &str| {
        home.pump(&[&["copy", "--ticket-file", "ticket"], flags, sources, &[&*serving.at(target)]].concat())
    };
    expect(&push(&["-a"], &NAMED, "to"), 0, &[], "push");
    assert_eq!(kinds(&home, "served/to"), NAMED_KEPT);
    assert_eq!(words_of(&home, "served/to/latest"), "v1");
    let again = push(&["-a", "--update", "-i"], &NAMED, "to");
    expect(&again, 0, &["Nothing to do"], "again");
    assert_eq!(again.out, "");
    expect(&push(&["-d"], &["dir/latest"], "other"), 0, &[": 1 link in "], "a new name");
    assert_eq!(words_of(&home, "served/other"), "v1");
    expect(&push(&["-a"], &["dir/latest/"], "content"), 0, &[], "what is in it");
    assert_eq!(kinds(&home, "served/content"), ["f file"]);
    expect(&push(&["-aL"], &["dir/latest"], "followed"), 0, &[], "-L");
    assert_eq!(kinds(&home, "served/followed"), ["f file"]);
    make_symlink(&home, "../far", "dir/out");
    let run = push(&["-a", "--safe-links"], &["dir/out"], "out");
    expect(&run, 2, &["leads out of its folder"], "--safe-links");
    assert!(!home.path("served/out").is_symlink());
    // What stands there is what the link leads to: the other host is this one.
    make_symlink(&home, "../served/far", "dir/far");
    fs::write(home.path("served/far"), "far").expect("room");
    expect(&push(&["-a"], &["dir/far"], ""), 2, &["leads to", "leave out -a"], "what it leads to");
    assert_eq!(fs::read(home.path("served/far")).expect("it stays"), b"far");
}

#[test]
fn a_link_to_nothing_and_a_loop_are_errors_and_the_rest_is_copied() {
    let home = home();
    make_symlink(&home, "nothing", "tree/dangling");
    make_symlink(&home, "..", "tree/sub/loop");
    let run = home.pump(&["copy", "-L", "tree/", "to"]);
    expect(&run, 23, &["is a symbolic link to nothing", "a loop of mounts, or of links"], "-L");
    assert!(home.path("to/sub/up").is_file() && !home.path("to/dangling").exists());
    // What failed keeps everything from being removed.
    fs::write(home.path("to/extra"), "extra").expect("room");
    let run = home.pump(&["copy", "-L", "--update=differs", "--delete", "tree/", "to"]);
    assert!(run.status == 23 && home.path("to/extra").exists(), "{run:?}");
    // Nor is what a link led to before it led to nothing.
    fs::write(home.path("to/dangling"), "of an earlier run").expect("room");
    let run = home.pump(&["copy", "-L", "--update=differs", "--delete", "tree/", "to"]);
    assert!(run.status == 23 && home.path("to/dangling").exists(), "{run:?}");
}

/// Another name of its file is no change of it.
#[test]
fn a_followed_link_to_a_file_of_two_names_is_pushed() {
    let home = home();
    let serving = Serving::new(&home, &[]);
    fs::hard_link(home.path("out/file"), home.path("other")).expect("room");
    let pushed = serving.at("to");
    expect(&home.pump(&["copy", "--ticket-file", "ticket", "-L", "tree/", &pushed]), 0, &[], "-L");
    assert_eq!(kinds(&home, "served/to"), FOLLOWED);
}
