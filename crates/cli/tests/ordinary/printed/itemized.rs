//! What `-i` prints: the letters and the order of rsync, and in a dry run the lines of the run.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, make_fifo, make_folder, make_symlink, set_mode, set_xattr};

/// Gives a name a time long ago. Nothing is opened: it may be a pipe.
fn touch(home: &Home, name: &str) {
    let touched = Command::new("touch").args(["-d", "@1000000000"]).arg(home.path(name)).status();
    assert!(touched.is_ok_and(|status| status.success()), "{name}");
}

fn pump(home: &Home, line: &str) -> String {
    let run = home.pump(&line.split(' ').collect::<Vec<_>>());
    expect(&run, 0, &[], line);
    run.out
}

/// Two trees that are the same, then each name of the first another way different.
fn different(home: &Home) -> bool {
    for name in ["a", "a/sub", "a/sub/deep"] {
        make_folder(home, name);
    }
    for name in ["a/sub/mode", "a/size", "a/xattr", "a/same"] {
        fs::write(home.path(name), "content").expect("room");
    }
    for (one, other) in [("a/sub/mode", "a/sub/more"), ("a/sub/mode", "a/sub/deep/third")] {
        fs::hard_link(home.path(one), home.path(other)).expect("links");
    }
    make_symlink(home, "size", "a/link");
    make_symlink(home, "size", "a/old");
    make_fifo(&home.path("a/pipe"));
    pump(home, "copy -q -T a b");
    set_mode(&home.path("a/sub/mode"), 0o600);
    fs::remove_file(home.path("b/sub/more")).expect("it is there");
    fs::remove_file(home.path("a/link")).expect("it is there");
    make_symlink(home, "time", "a/link");
    fs::write(home.path("a/size"), "more content").expect("room");
    make_symlink(home, "x", "a/new");
    for name in ["a/pipe", "a/sub/deep", "a/sub"] {
        touch(home, name);
    }
    set_xattr(&home.path("a/xattr"), "user.of_file", b"1")
        && set_xattr(&home.path("a/sub"), "user.of_folder", b"1")
}

#[test]
fn a_dry_run_prints_the_lines_of_the_run_as_rsync_does() {
    let home = Home::new();
    if !different(&home) {
        return eprintln!("skipped: no extended attributes here");
    }
    let dry = pump(&home, "copy -T --update -n -i a b");
    let run = pump(&home, "copy -T --update -i -q --lanes 1 a b");
    assert_eq!(dry, run);
    let expected = [
        ".d..t...... ./",
        "cLc.t...... link -> time",
        "cL+++++++++ new -> x",
        ".S..t...... pipe",
        ">f.st...... size",
        ".f........x xattr",
        ".d..t.....x sub/",
        ".f...p..... sub/mode",
        "hf+++++++++ sub/more => sub/mode",
        ".d..t...... sub/deep/",
    ];
    // Times of what was just made may be equal by chance.
    let lines: Vec<&str> = dry.lines().collect();
    let of_chance = |line: &&str| line.ends_with("link -> time");
    assert_eq!(
        lines.iter().filter(|line| !of_chance(line)).collect::<Vec<_>>(),
        expected.iter().filter(|line| !of_chance(line)).collect::<Vec<_>>()
    );
    assert!(lines.iter().any(|line| line.starts_with("cLc.")), "{lines:?}");
    assert_eq!(pump(&home, "copy -T --update -i -q a b"), "", "nothing is left to do");
}

#[test]
fn the_letters_tell_only_what_is_kept_and_how_it_was_compared() {
    let home = Home::new();
    for name in ["a", "b"] {
        make_folder(&home, name);
        fs::write(home.path(name).join("file"), name).expect("room");
        fs::write(home.path(name).join("same"), "x").expect("room");
        for path in [format!("{name}/file"), format!("{name}/same"), name.to_owned()] {
            touch(&home, &path);
        }
    }
    set_mode(&home.path("b/file"), 0o600);
    for (flags, expected) in [
        ("--checksum", ">fc..p..... file\n"),
        ("--checksum --no-preserve=mode", ">fc........ file\n"),
        ("--update", ".f...p..... file\n"),
        ("--update --no-preserve=mode", ""),
    ] {
        assert_eq!(pump(&home, &format!("copy -T -n -i {flags} a b")), expected, "{flags}");
    }
}

#[test]
fn a_dry_run_tells_the_further_names_of_a_file_that_would_be_copied_anew() {
    let home = Home::new();
    make_folder(&home, "a");
    fs::write(home.path("a/first"), "content").expect("room");
    fs::hard_link(home.path("a/first"), home.path("a/second")).expect("links");
    pump(&home, "copy -q -T a b");
    fs::write(home.path("a/first"), "more content").expect("room");
    for flags in ["", " --update", " --checksum"] {
        let dry = pump(&home, &format!("copy -T -n -i{flags} a b"));
        assert!(dry.contains("second => first"), "{flags}: {dry}");
        assert_eq!(dry, pump(&home, &format!("copy -T -q -i --lanes 1{flags} a b")), "{flags}");
        touch(&home, "a/first");
        fs::write(home.path("a/first"), format!("content{flags}")).expect("room");
    }
}

#[test]
fn folders_come_in_order_behind_the_files_beside_them() {
    let home = Home::new();
    for name in ["a", "a/d", "a/d/e", "a/z", "a/c"] {
        make_folder(&home, name);
    }
    for number in 0..200 {
        fs::write(home.path(format!("a/d/{number:03}")), "").expect("room");
    }
    for name in ["a/y", "a/b", "a/d/e/f", "a/z/f", "a/c/f"] {
        fs::write(home.path(name), "").expect("room");
    }
    let dry = pump(&home, "copy -n -i a new");
    let paths: Vec<&str> = dry.lines().map(|line| &line[12..]).collect();
    assert_eq!(paths[..7], ["./", "b", "y", "c/", "c/f", "d/", "d/000"]);
    assert_eq!(paths[paths.len() - 5..], ["d/199", "d/e/", "d/e/f", "z/", "z/f"]);
    let run = pump(&home, "copy -i -q a new");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&dry), sorted(&run), "several lanes print the same lines, each when it is done");
}

/// Folders, a file and a link; a target, in which one of the folders stands already.
fn several() -> Home {
    let home = Home::new();
    for name in ["a", "a/sub", "b", "out", "out/a", "served", "served/out", "served/out/a"] {
        make_folder(&home, name);
    }
    for name in ["a/f", "a/sub/g", "b/h", "one", "out/a/gone"] {
        fs::write(home.path(name), name).expect("room");
    }
    fs::hard_link(home.path("a/f"), home.path("a/sub/more")).expect("links");
    make_symlink(&home, "one", "link");
    touch(&home, "a");
    home
}

/// What `rsync -aiH` prints of the same commands. `a new` is rsync's `a/ new`.
#[test]
fn paths_begin_in_the_target_as_with_rsync() {
    let below = |folder: &str| {
        [
            format!(">f+++++++++ {folder}f"),
            format!("cd+++++++++ {folder}sub/"),
            format!(">f+++++++++ {folder}sub/g"),
            format!("hf+++++++++ {folder}sub/more => {folder}f"),
        ]
    };
    let b = ["cd+++++++++ b/", ">f+++++++++ b/h"];
    for (line, folder, more) in [
        ("copy -i a b out", "a/", &[".d..t...... a/", b[0], b[1]][..]),
        ("copy -i --delete a b out/", "a/", &["*deleting   a/gone", ".d..t...... a/", b[0], b[1]]),
        ("copy -i a/ b out", "", &[".d..t...... ./", b[0], b[1]]),
        (
            "copy -a -i a one link out",
            "a/",
            &[".d..t...... a/", ">f+++++++++ one", "cL+++++++++ link -> one"],
        ),
        ("copy -i a out", "a/", &[".d..t...... a/"]),
        ("copy -i ./a ./out", "a/", &[".d..t...... a/"]),
        ("copy -i a/ out", "", &[".d..t...... ./"]),
        ("copy -i a new", "", &["cd+++++++++ ./"]),
    ] {
        let home = several();
        let expected: BTreeSet<String> =
            more.iter().map(|line| (*line).to_owned()).chain(below(folder)).collect();
        for run in [format!("{line} -n"), format!("{line} -q --lanes 1")] {
            let lines: BTreeSet<String> = pump(&home, &run).lines().map(str::to_owned).collect();
            assert_eq!(lines, expected, "{run}");
        }
    }
    let home = several();
    assert_eq!(
        pump(&home, "copy -a -i link other"),
        "cL+++++++++ link -> one\n",
        "its own name, as of a file"
    );
}

#[test]
fn paths_begin_in_the_target_between_two_hosts_too() {
    let home = several();
    for (way, sources) in [(Way::Pushed, ["a", "b"]), (Way::Pulled, ["out/a", "out/b"])] {
        let run = TwoHosts::new(&home, way).pump(&["copy", "-i"], &sources, "out");
        let lines = [".d..t...... a/", "cd+++++++++ a/sub/", ">f+++++++++ a/sub/g", "cd+++++++++ b/"];
        expect(&run, 0, &lines, &format!("{way:?}"));
    }
}
