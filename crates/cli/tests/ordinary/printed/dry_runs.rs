//! A dry run promises what the run does: it is refused for the same, with the same status, and writes nothing.

use std::fs;
use std::path::PathBuf;

use crate::support::listing::listing;
use crate::support::{Home, expect, make_folder, make_symlink, noise_file};

/// A source with a file, a folder and a link, a file, and a target with what a copy deletes or keeps.
fn furnished() -> Home {
    let home = Home::new();
    for folder in ["s", "s/sub", "d", "d/kept"] {
        make_folder(&home, folder);
    }
    for file in ["s/x", "s/sub/y", "f", "d/gone", "d/kept/old"] {
        noise_file(&home, file, 100, 1);
    }
    make_symlink(&home, "x", "s/link");
    home
}

fn names(home: &Home) -> Vec<PathBuf> {
    listing(&home.path("")).into_keys().collect()
}

/// The words with `-n` behind the command.
fn dry(words: &str) -> Vec<&str> {
    let mut words: Vec<&str> = words.split(' ').collect();
    words.insert(1, "-n");
    words
}

/// Words of a command, its status, and a part of what is said.
const REFUSED: &[(&str, i32, &str)] = &[
    ("copy s/ none/m", 1, "open 'none': No such file or directory"),
    ("copy s none/m", 1, "open 'none': No such file or directory"),
    ("copy s f/m", 1, "open 'f': Not a directory"),
    ("copy s/x d/missing/x", 1, "open the folder of 'd/missing/x': No such file or directory"),
    ("copy -i s/x d/missing/x", 1, "open the folder of 'd/missing/x': No such file or directory"),
    ("copy s/x f/y", 1, "open the folder of 'f/y': Not a directory"),
    ("copy -a s/link none/l", 1, "open 'none': No such file or directory"),
    ("copy --relative s/sub/y nod/e", 1, "open 'nod': No such file or directory"),
    ("copy --backup-dir ../s s/ d", 2, "--backup-dir is the source 's/'"),
    ("copy --mkpath s/x f/a/y", 1, "open the folder of 'f/a/y': Not a directory"),
    ("copy --mkpath s/x f/a/", 2, "'f/a/': not a directory; create it"),
    ("copy missing d", 1, "open 'missing': No such file or directory"),
    ("mirror s missing/d", 1, "open 'missing': No such file or directory"),
];

#[test]
fn what_the_run_refuses_is_refused_and_nothing_is_written() {
    let home = furnished();
    let before = names(&home);
    for (words, status, said) in REFUSED {
        expect(&home.pump(&dry(words)), *status, &[said], &format!("{words}, dry"));
        assert_eq!(names(&home), before, "{words}, dry");
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        expect(&run, *status, &[said], words);
        assert_eq!(names(&home), before, "{words}");
    }
}

#[test]
fn folders_that_mkpath_makes_may_be_missing() {
    let home = furnished();
    for (words, made) in [
        ("copy --mkpath s/x a/q/r/", "a/q/r/x"),
        ("copy --mkpath -i s/x b/q/r/", "b/q/r/x"),
        ("copy --mkpath s/x c/q/y", "c/q/y"),
        ("copy --mkpath s/x s/sub/y e/q/", "e/q/y"),
        ("copy --mkpath s g/q/", "g/q/s/sub/y"),
        ("copy --mkpath s/ h/q", "h/q/sub/y"),
        ("mirror --mkpath s i/q", "i/q/sub/y"),
    ] {
        let before = names(&home);
        let said = if words.contains("-i") { ">f+++++++++ x" } else { made };
        expect(&home.pump(&dry(words)), 0, &[said, "dry run: nothing was copied"], &format!("{words}, dry"));
        assert_eq!(names(&home), before, "{words}, dry");
        expect(&home.pump(&words.split(' ').collect::<Vec<_>>()), 0, &[], words);
        assert!(home.path(made).exists(), "{words}");
    }
}

#[test]
fn of_several_sources_those_that_are_there_are_planned() {
    let home = furnished();
    let missing = "open 'missing': No such file or directory";
    for (words, said) in [
        ("copy missing s/x d", &[missing, "'s/x' -> 'd/x'"][..]),
        ("copy missing other d", &[missing, "open 'other': No such file or directory"]),
    ] {
        let before = names(&home);
        expect(&home.pump(&dry(words)), 23, said, &format!("{words}, dry"));
        assert_eq!(names(&home), before, "{words}, dry");
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        expect(&run, 23, &[missing], words);
        assert_eq!(run.err.contains("s/x -> d/x: "), words.contains("s/x"), "what was copied: {run:?}");
    }
}

#[test]
fn an_empty_file_is_planned_with_no_bytes() {
    let home = furnished();
    fs::write(home.path("empty"), "").expect("room");
    expect(&home.pump(&["copy", "-n", "empty", "d"]), 0, &["'empty' -> 'd/empty' (0 bytes; "], "a file");
    expect(
        &home.pump(&["copy", "-n", "/proc/version", "d"]),
        0,
        &["(unknown size; "],
        "made up as it is read",
    );
}

#[test]
fn the_folder_of_backups_is_not_among_what_would_be_deleted() {
    let home = furnished();
    let words = "copy --delete -i --backup-dir kept s/ d";
    let planned = home.pump(&dry(words));
    expect(&planned, 0, &["*deleting   gone"], "dry");
    assert!(!planned.out.contains("*deleting   kept"), "{planned:?}");
    expect(&home.pump(&words.split(' ').collect::<Vec<_>>()), 0, &["*deleting   gone"], "run");
    assert!(home.path("d/kept/old").exists());
}

/// The calls of statx(2) in a dry run over this many files that exist; `None`, with a printed
/// reason, without strace(1).
fn looks_at_names(files: usize) -> Option<usize> {
    let home = Home::new();
    for folder in ["s", "t"] {
        make_folder(&home, folder);
        (0..files).for_each(|number| drop(noise_file(&home, &format!("{folder}/f{number}"), number + 1, 1)));
    }
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-e", "trace=statx", "-o", "calls"]).arg(crate::support::PUMP);
    command.args(["copy", "-n", "s/", "t"]).current_dir(home.path("")).stdin(std::process::Stdio::null());
    match command.output() {
        Ok(ran) if ran.status.success() => Some(home.text("calls").matches("statx(").count()),
        other => {
            eprintln!("not tested: which files are looked at: {other:?}");
            None
        }
    }
}

#[test]
fn a_file_that_would_be_replaced_is_looked_at_once() {
    let Some((few, many)) = looks_at_names(10).zip(looks_at_names(60)) else { return };
    assert_eq!(many - few, 50, "one call a file");
}

/// A folder that the source does not have stays for the backups in it: those that a run makes, too.
#[test]
fn a_folder_that_keeps_backups_is_not_among_what_would_be_deleted() {
    for (flags, backup) in
        [("--backup", "d/gone/x~"), ("--backup --backup-dir gone/old", "d/gone/old/gone/x")]
    {
        let home = furnished();
        fs::remove_file(home.path("d/gone")).expect("a file");
        make_folder(&home, "d/gone");
        make_folder(&home, "d/gone/below");
        for file in ["d/gone/x", "d/gone/below/y"] {
            noise_file(&home, file, 100, 1);
        }
        let words = format!("copy --delete -i --max-delete=5 {flags} s/ d");
        let deleted = |out: &str| {
            let mut lines: Vec<String> =
                out.lines().filter(|line| line.starts_with("*deleting")).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let planned = home.pump(&dry(&words));
        expect(&planned, 0, &["*deleting   gone/x"], &format!("{flags}, dry"));
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        expect(&run, 0, &["*deleting   gone/x"], flags);
        assert_eq!(deleted(&planned.out), deleted(&run.out), "{flags}");
        assert!(home.path(backup).exists(), "{flags}");
    }
}
