//! `--mkpath`: a dry run says what the run does, here and on another host, and nothing is made for a copy that is
//! refused.

use std::path::PathBuf;

use crate::support::listing::listing;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, make_folder, make_symlink, noise_file};

fn furnished() -> Home {
    let home = Home::new();
    for folder in ["s", "s/sub", "o", "served"] {
        make_folder(&home, folder);
    }
    for file in ["s/x", "s/sub/y", "o/x", "f"] {
        noise_file(&home, file, 100, 1);
    }
    make_symlink(&home, "nothing", "dangling");
    home
}

fn names(home: &Home) -> Vec<PathBuf> {
    listing(&home.path("")).into_keys().collect()
}

/// Words of a command, its status, and a part of what is said.
const REFUSED: &[(&str, i32, &str)] = &[
    ("copy --mkpath s s/a/b/c", 2, "is the source 's' or lies in it"),
    ("copy --mkpath s s/a/b/", 2, "is the source 's' or lies in it"),
    ("copy --mkpath s/ s/a/b/", 2, "is the source 's/' or lies in it"),
    ("copy --mkpath s/x s s/a/b/", 2, "lies in it"),
    ("copy --mkpath s/x f dangling", 2, "several sources need an existing folder"),
    ("copy --mkpath s/x f o/x", 2, "several sources need an existing folder"),
    ("copy --mkpath missing none/x/y", 1, "open 'missing': No such file or directory"),
    ("copy --mkpath missing none/x/", 1, "open 'missing': No such file or directory"),
    ("copy --mkpath s/x o/x none/a/", 2, "two of the sources would get this name"),
    ("copy --mkpath --inplace s none/a", 2, "--inplace is for single files"),
    ("copy --mkpath s/x dangling/a/y", 1, "No such file or directory"),
    ("copy --mkpath -T s none/../a/b", 1, "No such file or directory"),
];

#[test]
fn nothing_is_made_for_what_is_refused() {
    let home = furnished();
    let before = names(&home);
    for (words, status, said) in REFUSED {
        let mut words: Vec<&str> = words.split(' ').collect();
        expect(&home.pump(&words), *status, &[said], &format!("{words:?}"));
        assert_eq!(names(&home), before, "{words:?}");
        words.insert(1, "-n");
        expect(&home.pump(&words), *status, &[said], &format!("{words:?}"));
        assert_eq!(names(&home), before, "{words:?}");
    }
}

/// Where the others of several sources go there is a folder for them.
#[test]
fn a_missing_source_among_others_keeps_no_folder_from_being_made() {
    let home = furnished();
    let run = home.pump(&["copy", "--mkpath", "s/x", "missing", "new/deep/"]);
    expect(&run, 23, &["open 'missing': No such file or directory"], "one of two");
    assert!(home.path("new/deep/x").exists());
}

/// Flags and sources, the target, and a name that the run makes.
const COPIES: &[(&[&str], &str, &str)] = &[
    (&["s/x"], "a/q/", "a/q/x"),
    (&["s/x"], "b/q/y", "b/q/y"),
    (&["-i", "s"], "c/q/t", "c/q/t/sub/y"),
    (&["-i", "s/x", "s"], "d/q/", "d/q/s/sub/y"),
    (&["s/x", "f"], "e/q", "e/q/f"),
    (&["s/x", "f"], "served", "served/f"),
    (&["s/", "f"], "g/q", "g/q/f"),
    (&["s/x"], "h/q/.", "h/q/x"),
];

#[test]
fn several_sources_go_into_a_folder_that_is_made() {
    let home = furnished();
    for (sources, to, made) in COPIES {
        let (row, before) = (format!("{sources:?} {to}"), names(&home));
        let run = |flags: &[&str]| home.pump(&[&["copy", "--mkpath"], flags, sources, &[*to]].concat());
        expect(&run(&["-n"]), 0, &["dry run: nothing was copied"], &row);
        assert_eq!(names(&home), before, "{row}, dry");
        expect(&run(&[]), 0, &[], &row);
        assert!(home.path(made).exists(), "{row}: {made}");
        expect(&run(&[]), 0, &[], &format!("{row}, again"));
    }
}

#[test]
fn onto_another_host_a_dry_run_says_what_the_run_does() {
    for way in [Way::PushedBySsh, Way::Pushed] {
        let home = furnished();
        let hosts = TwoHosts::new(&home, way);
        for (sources, to, made) in COPIES {
            let run = |flags: &[&str]| hosts.pump(&[&["copy", "--mkpath"], flags].concat(), sources, to);
            let (row, before, made) =
                (format!("{sources:?} {}", hosts.to(to)), names(&home), hosts.target(made));
            expect(&run(&["-n"]), 0, &["dry run: nothing was copied"], &row);
            assert_eq!(names(&home), before, "{row}, dry");
            expect(&run(&[]), 0, &[], &row);
            assert!(home.path(&made).exists(), "{row}: {made}");
        }
    }
}

#[test]
fn a_server_makes_nothing_for_what_it_refuses() {
    let home = furnished();
    make_symlink(&home, "..", "served/out");
    let hosts = TwoHosts::new(&home, Way::Pushed);
    let before = names(&home);
    for (source, path) in [("s/x", "../a/b"), ("s/x", "out/a/b"), ("missing", "a/b/c")] {
        for flags in [&["copy", "--mkpath"][..], &["copy", "--mkpath", "-n"]] {
            let run = hosts.pump(flags, &[source], path);
            assert!(run.status != 0, "{source} {path}: {run:?}");
            assert_eq!(names(&home), before, "{source} {path}");
        }
    }
}
