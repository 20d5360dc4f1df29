//! `pump mirror`: a folder becomes the same as another, and nothing that was never meant is removed.

use std::collections::BTreeSet;
use std::fs;

use crate::support;
use crate::support::listing::{listing, stamps};
use crate::support::serving::Serving;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, has_content, make_folder, make_symlink, noise_file, set_mtime};

const FUTURE: u64 = 4_000_000_000_000_000_000;

fn pump(home: &Home, words: &[&str], status: i32, parts: &[&str]) -> support::Outcome {
    let run = home.pump(words);
    expect(&run, status, parts, &words.join(" "));
    run
}

/// A folder with `one` and `sub/two`, and a link.
fn source(home: &Home, name: &str) {
    make_folder(home, name);
    make_folder(home, &format!("{name}/sub"));
    noise_file(home, &format!("{name}/one"), 3000, 1);
    noise_file(home, &format!("{name}/sub/two"), 5000, 2);
    make_symlink(home, "one", &format!("{name}/link"));
}

/// A copy that went its own way: newer files, files that are no more, changed ones.
fn astray(home: &Home, name: &str) {
    for folder in ["sub", "gone/deep"] {
        fs::create_dir_all(home.path(format!("{name}/{folder}"))).expect("a folder");
    }
    noise_file(home, &format!("{name}/one"), 70, 3);
    set_mtime(&home.path(format!("{name}/one")), FUTURE);
    noise_file(home, &format!("{name}/sub/two"), 5000, 4);
    set_mtime(&home.path(format!("{name}/sub/two")), FUTURE);
    noise_file(home, &format!("{name}/gone/deep/file"), 7, 5);
}

/// Each way, with slashes and without, which make no difference.
fn on_each_way(home: &Home, check: impl Fn(&TwoHosts<'_>, [&str; 2])) {
    for way in Way::ALL {
        let hosts = TwoHosts::new(home, way);
        for places in [["from", "to"], ["from/", "to/"]] {
            check(&hosts, places);
        }
    }
}

#[test]
fn a_mirror_is_the_same_as_its_source_whatever_stood_there_and_a_second_run_does_nothing() {
    let home = Home::new();
    on_each_way(&home, |hosts, places| {
        let (from, target) = (&*hosts.source("from"), &*hosts.target("to"));
        for stands in [false, true] {
            let _ = (fs::remove_dir_all(home.path(from)), fs::remove_dir_all(home.path(target)));
            source(&home, from);
            if stands {
                astray(&home, target);
            }
            let row = format!("{:?} {places:?} {stands}", hosts.way);
            let mirror = |flags: &[&str]| {
                let run = hosts.pump(&[&["mirror", "-i"], flags].concat(), &places[..1], places[1]);
                expect(&run, 0, &[], &row);
                run.out
            };
            let planned = mirror(&["-n"]);
            assert_eq!(home.path(target).exists(), stands, "{row}: nothing is made");
            let done = mirror(&[]);
            let in_order = |lines: &str| lines.lines().map(str::to_owned).collect::<BTreeSet<_>>();
            assert_eq!(in_order(&done), in_order(&planned), "{row}");
            assert_eq!(planned.contains("*deleting   gone/deep/file"), stands, "{row}: {planned}");
            support::listing::same(&home.path(from), &home.path(target), &row);
            let before = stamps(&home.path(target));
            assert_eq!(mirror(&[]), "", "{row}: a second run");
            assert_eq!(stamps(&home.path(target)), before, "{row}: nothing was written");
        }
    });
}

#[test]
fn an_empty_source_removes_nothing_unless_it_is_said_how_much() {
    let home = Home::new();
    on_each_way(&home, |hosts, places| {
        let (from, target) = (&*hosts.source("from"), &*hosts.target("to"));
        for folder in [from, target] {
            let _ = fs::remove_dir_all(home.path(folder));
            make_folder(&home, folder);
        }
        let row = format!("{:?} {places:?}", hosts.way);
        let mirror = |flags: &[&str], status, parts: &[&str]| {
            let run = hosts.pump(&[&["mirror"], flags].concat(), &places[..1], places[1]);
            expect(&run, status, parts, &row);
            run
        };
        mirror(&[], 0, &[]);
        astray(&home, target);
        let before = listing(&home.path(target));
        for flags in [&[][..], &["-n"]] {
            let run = mirror(flags, 1, &["is empty, and '", "may not be mounted", "--max-delete"]);
            assert!(!run.err.contains("nothing was removed"), "{row}: said once: {run:?}");
        }
        // An excluded file was never there, on either side.
        noise_file(&home, &format!("{from}/left.tmp"), 3, 1);
        mirror(&["--exclude", "*.tmp"], 1, &["is empty"]);
        assert_eq!(listing(&home.path(target)), before, "{row}: nothing is touched");
        mirror(
            &["--max-delete", "1", "--exclude", "*.tmp"],
            1,
            &["more than 1 name would be removed (--max-"],
        );
        assert!(home.path(format!("{target}/gone/deep/file")).exists(), "{row}: too many");
        fs::remove_file(home.path(format!("{from}/left.tmp"))).expect("it is there");
        noise_file(&home, &format!("{target}/kept.tmp"), 3, 1);
        mirror(&["--max-delete", "100", "--exclude", "*.tmp"], 0, &[]);
        let names: Vec<_> = listing(&home.path(target)).into_keys().collect();
        assert!(names.iter().any(|name| name.ends_with("kept.tmp")), "{row}");
        assert!(!home.path(format!("{target}/sub")).exists(), "{row}: {names:?}");
        mirror(&["--exclude", "*.tmp"], 0, &[]);
    });
}

#[test]
fn a_missing_source_is_no_usage_error_and_removes_nothing() {
    let home = Home::new();
    on_each_way(&home, |hosts, places| {
        let target = &*hosts.target("to");
        let _ = fs::remove_dir_all(home.path(target));
        astray(&home, target);
        let before = listing(&home.path(target));
        let row = format!("{:?} {places:?}", hosts.way);
        expect(&hosts.pump(&["mirror"], &places[..1], places[1]), 1, &["from"], &row);
        assert_eq!(listing(&home.path(target)), before, "{row}");
    });
}

#[test]
fn what_is_no_mirror_is_a_usage_error() {
    let home = Home::new();
    make_folder(&home, "served");
    let serving = Serving::new(&home, &[]);
    source(&home, "from");
    source(&home, "other");
    astray(&home, "to");
    astray(&home, "served/to");
    noise_file(&home, "file", 10, 1);
    noise_file(&home, "served/file", 10, 1);
    make_folder(&home, "from/sub/below");
    fs::write(home.path("names"), "one\n").expect("room");
    let before = listing(&home.path(""));
    let (remote, remote_file) = (serving.at("to"), serving.at("file"));
    for (line, part) in [
        ("from other to", "name one source and its copy"),
        ("from", "required"),
        ("file to", "'file' is not a directory"),
        ("file new", "'file' is not a directory"),
        ("- to", "'-' is not a directory"),
        ("null:1MiB to", "is not a directory"),
        ("from -", "'-' is not a directory"),
        ("from null:", "is not a directory"),
        ("from file", "is not a directory"),
        ("from from", "is the source"),
        ("from from/.", "is the source"),
        ("from from/new", "lies in it"),
        ("from/sub from", "--delete would remove"),
        ("--update from to", "--update=differs"),
        ("-u from to", "--update=differs"),
        ("--update=none from to", "--update=differs"),
        ("--ignore-existing from to", "--ignore-existing"),
        ("--files-from names from to", "--files-from"),
        (&format!("file {remote}"), "is not a directory"),
        (&format!("{remote_file} to"), "is not a directory"),
        (&format!("from {remote_file}"), "is not a directory"),
        (&format!("- {remote}"), "'-' is not a directory"),
    ] {
        let words = ["mirror", "--ticket-file", "ticket"].into_iter().chain(line.split(' '));
        pump(&home, &words.collect::<Vec<_>>(), 2, &[part]);
        assert_eq!(listing(&home.path("")), before, "nothing is written: {line}");
    }
}

#[test]
fn a_source_in_its_copy_is_refused_unless_it_is_excluded() {
    let home = Home::new();
    make_folder(&home, "to");
    make_folder(&home, "to/kept");
    source(&home, "to/kept/from");
    noise_file(&home, "to/gone", 9, 1);
    let before = listing(&home.path("to/kept/from"));
    pump(&home, &["mirror", "to/kept/from", "to"], 2, &["--delete would remove"]);
    pump(&home, &["mirror", "--exclude", "/kept/other", "to/kept/from", "to"], 2, &["--delete would remove"]);
    for pattern in ["/kept", "/kept/from"] {
        noise_file(&home, "to/gone", 9, 1);
        pump(&home, &["mirror", "--exclude", pattern, "to/kept/from", "to"], 0, &[]);
        assert_eq!(listing(&home.path("to/kept/from")), before, "{pattern}");
        assert!(home.path("to/sub/two").exists() && !home.path("to/gone").exists(), "{pattern}");
    }
}

#[test]
fn variables_of_a_copy_make_no_other_thing_of_a_mirror() {
    for (variable, value) in
        [("PUMP_UPDATE", "1"), ("PUMP_IGNORE_EXISTING", "1"), ("PUMP_FILES_FROM", "names")]
    {
        let home = Home::new();
        source(&home, "from");
        astray(&home, "to");
        fs::write(home.path("names"), "one\n").expect("room");
        let run = home.pump_with((variable, value), &["mirror", "-v", "from", "to"]);
        expect(&run, 0, &[&format!("{variable} has no effect here")], variable);
        support::listing::same(&home.path("from"), &home.path("to"), variable);
    }
}

#[test]
fn what_is_selected_for_a_copy_is_selected_for_a_mirror() {
    let home = Home::new();
    source(&home, "from");
    astray(&home, "to");
    let content = noise_file(&home, "to/gone/kept.tmp", 9, 1);
    noise_file(&home, "from/new.tmp", 9, 1);
    pump(
        &home,
        &["mirror", "--update=differs", "--delete", "-T", "--exclude", "*.tmp", "from", "to"],
        0,
        &[],
    );
    has_content(&home.path("to/gone/kept.tmp"), &content, "what is excluded stays");
    assert!(!home.path("to/new.tmp").exists() && !home.path("to/gone/deep").exists());
    source(&home, "--odd");
    let run = pump(&home, &["mirror", "--json", "--", "--odd", "--copy"], 0, &[]);
    assert!(run.out.contains("\"command\":\"mirror\""), "{run:?}");
    support::listing::same(&home.path("--odd"), &home.path("--copy"), "--");
}

/// rsync's `--delete photos bk/` removes nothing beside `bk/photos`.
#[test]
fn a_target_that_holds_the_folders_name_is_not_emptied() {
    let home = Home::new();
    for folder in ["photos", "bk", "bk/photos", "bk/music"] {
        make_folder(&home, folder);
        std::fs::write(home.path(folder).join("file"), folder).expect("room");
    }
    for target in ["bk", "bk/"] {
        for flags in [&["mirror"][..], &["mirror", "-n"]] {
            let run =
                pump(&home, &[flags, &["photos", target]].concat(), 2, &["would remove all else there"]);
            assert!(run.err.contains("pump mirror photos/ bk/photos"), "{run:?}");
            assert!(home.path("bk/music/file").exists(), "{target}");
        }
    }
    pump(&home, &["mirror", "photos/", "bk/photos"], 0, &[]);
    assert!(home.path("bk/music/file").exists());
    pump(&home, &["mirror", "photos/", "bk"], 0, &[]);
    assert!(!home.path("bk/music").exists());
    // Nothing there has its name.
    pump(&home, &["mirror", "photos", "bk"], 0, &[]);
}
