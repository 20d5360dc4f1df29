//! A client with a ticket that lets it only write learns nothing of what is there, and copies as ever.

use std::fs;

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::told::left;
use crate::support::{Home, expect, has_content, make_folder, noise, noise_file, set_mtime};
use rustix::process::Signal;

/// A served folder in which a copy of `file`, another file and a folder stand.
fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "served");
    make_folder(&home, "served/folder");
    make_folder(&home, "source");
    for name in ["source/same", "served/folder/same", "source/differs"] {
        noise_file(&home, name, 10_000, 1);
        set_mtime(&home.path(name), 1_000_000_000_000_000_000);
    }
    noise_file(&home, "served/folder/differs", 500, 2);
    noise_file(&home, "served/folder/secret", 500, 3);
    home
}

/// All that stands in the served folder.
fn state(home: &Home) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(home.path("served/folder"))
        .expect("it is there")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.display().to_string(), fs::read(path).expect("a file")))
        .collect();
    found.sort();
    found
}

#[test]
fn what_compares_or_lists_is_refused_before_anything_is_written() {
    let home = home();
    let serving = Serving::new(&home, &["--write-only"]);
    let before = state(&home);
    let (folder, file) = (serving.at("folder"), serving.at("folder/differs"));
    for flags in [
        &["-n"][..],
        &["-n", "-i"],
        &["-n", "--delete"],
        &["-u"],
        &["--update=older"],
        &["--update=differs"],
        &["--update=none"],
        &["--update=differs", "--size-only"],
        &["-c"],
        &["--ignore-existing"],
        &["--existing"],
        &["--delete"],
        &["--delete", "--delete-excluded", "--exclude=x"],
        &["-i"],
    ] {
        for (source, target) in [("source/", &folder), ("source/differs", &file)] {
            let is_of_folders = flags.iter().any(|flag| flag.starts_with("--delete"));
            if is_of_folders && source != "source/" {
                continue;
            }
            let run = home.pump(&[&["copy", "--ticket-file", "ticket"], flags, &[source, target]].concat());
            let row = format!("{flags:?} {source}");
            expect(
                &run,
                5,
                &["may only be written to, and reports nothing of what exists there: drop"],
                &row,
            );
            assert!(run.out.is_empty() && !run.err.contains("secret"), "{row}: {run:?}");
            assert_eq!(state(&home), before, "{row}");
        }
    }
    let mirror = home.pump(&["mirror", "--ticket-file", "ticket", "source/", &folder]);
    expect(&mirror, 5, &["what exists there: use pump copy, which removes nothing"], "mirror");
    for run in [
        home.pump(&["copy", "--ticket-file", "ticket", &folder, "pulled"]),
        home.pump(&["verify", "--ticket-file", "ticket", "source", &folder]),
        home.pump(&["verify", "--ticket-file", "ticket", &folder, "source"]),
    ] {
        assert!(run.status == 5 || run.status == 2, "{run:?}");
        assert!(run.err.contains("may only be written to"), "{run:?}");
    }
    assert_eq!(state(&home), before);
}

/// The counts of a report that a client could compare with another.
fn counts(out: &str) -> Vec<(String, u64)> {
    let last = out.lines().last().expect("a report");
    let report: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let names = [
        "files",
        "bytes",
        "skipped",
        "deleted",
        "files_unchanged",
        "files_newer",
        "files_existing",
        "links",
        "links_unchanged",
        "adjusted",
        "folders_made",
        "hard_links",
        "specials",
        "backups",
    ];
    names.iter().map(|name| ((*name).to_owned(), report[*name].as_u64().unwrap_or(0))).collect()
}

#[test]
fn a_copy_tells_the_same_whatever_stands_there() {
    let home = home();
    make_folder(&home, "source/below");
    std::os::unix::fs::symlink("same", home.path("source/link")).expect("links");
    let serving = Serving::new(&home, &["--write-only"]);
    for flags in [&[][..], &["-v"], &["--backup"]] {
        let command = [&["copy", "--json", "--ticket-file", "ticket"], flags].concat();
        let mut told = Vec::new();
        // A backup is never the copy itself: something else has to stand there.
        if flags.contains(&"--backup") {
            std::fs::write(home.path("served/folder/differs"), noise(9_000, 9)).expect("room");
        }
        for (source, target) in [("source/", "folder/"), ("source/", "folder/")] {
            let run = home.pump(&[&command[..], &[source, &serving.at(target)]].concat());
            expect(&run, 0, &[], target);
            let changes = run.out.lines().filter(|line| line.contains(r#""event":"change""#)).count();
            assert_eq!(changes, 0, "{flags:?}: {}", run.out);
            assert!(!run.out.contains("not changed") && !run.err.contains("not changed"), "{run:?}");
            told.push(counts(&run.out));
        }
        assert_eq!(told[0], told[1], "{flags:?}: new, and over what stands there");
        assert!(told[0].iter().any(|(name, count)| name == "files" && *count == 2), "{told:?}");
    }
    has_content(&home.path("served/folder/differs"), &noise(10_000, 1), "written over");
    has_content(&home.path("served/folder/secret"), &noise(500, 3), "left");
    assert!(home.path("served/folder/differs~").exists(), "the backup is made");
}

#[test]
fn a_cut_copy_goes_on_with_what_it_wrote() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "large", 100 << 20, 5);
    let serving = Serving::new(&home, &["--write-only"]);
    let target = serving.at("large");
    let command = ["copy", "--json", "--ticket-file", "ticket", "large", &target];
    let slow = [&command[..1], &["--bwlimit=40MB"], &command[1..]].concat();
    let cut = Running::start(home.command(&slow));
    let has_begun = || left(&home.path("served")).is_some_and(|left| left.told(false) >= 8 << 20);
    eventually("a part of it", || has_begun() || cut.has_ended());
    cut.signal(Signal::INT);
    assert_eq!(cut.end().status, 20);
    let run = home.pump(&command);
    expect(&run, 0, &[], "the same command again");
    let last = run.report();
    assert!(last["bytes_resumed"].as_u64().is_some_and(|bytes| bytes > 0), "{last}");
    has_content(&home.path("served/large"), &content, "whole");
}

/// What runs of two targets tell must be the same, but for the targets' names; nothing is left of either.
fn tell_the_same(home: &Home, serving: &Serving, (flags, source): (&[&str], &str), targets: [&str; 2]) {
    let told = targets.map(|target| {
        let place = serving.at(target);
        let run = home.pump(&[&["copy", "--ticket-file", "ticket"], flags, &[source, &place]].concat());
        assert_ne!(run.status, 0, "{flags:?} {target}: {run:?}");
        assert!(run.err.contains("does not tell why"), "{flags:?} {target}: {run:?}");
        (run.status, (run.out + &run.err).replace(target.trim_end_matches('/'), "NAME"))
    });
    assert_eq!(told[0], told[1], "{flags:?} {targets:?}");
}

#[test]
fn what_stands_on_the_way_to_a_target_is_not_told() {
    let home = Home::new();
    ["served", "served/closed", "tree"].into_iter().for_each(|name| make_folder(&home, name));
    for name in ["file", "tree/below", "served/stands", "served/closed/inner"] {
        noise_file(&home, name, 500, 1);
    }
    let links = [("inside", "stands"), ("outside", "/etc"), ("circle", "circle"), ("broken", "nothing")];
    for (name, to) in links {
        std::os::unix::fs::symlink(to, home.path(format!("served/{name}"))).expect("links");
    }
    let serving = Serving::new(&home, &["--write-only"]);
    let before = names(&home);
    for name in ["stands", "inside", "outside", "circle", "broken", "closed/inner"] {
        for (flags, source, end) in [
            (&[][..], "file", "/x"),
            (&[], "file", "/x/y"),
            (&[], "file", "/"),
            (&[], "tree", "/x"),
            (&[], "tree/", "/x"),
            (&["--backup"], "file", "/x"),
            (&["--backup-dir=old"], "file", "/x"),
        ] {
            tell_the_same(
                &home,
                &serving,
                (flags, source),
                [&format!("{name}{end}"), &format!("nothing{end}")],
            );
        }
        // A folder that is missing would be made.
        let other = if name == "stands" { "circle/x" } else { "stands/x" };
        tell_the_same(&home, &serving, (&["--mkpath"], "file"), [&format!("{name}/x"), other]);
    }
    // In the place of a target.
    for name in ["inside", "outside", "circle", "broken"] {
        tell_the_same(&home, &serving, (&[], "file"), [name, "inside"]);
    }
    assert_eq!(names(&home), before);
}

#[test]
fn what_stands_in_the_way_of_a_name_of_a_tree_is_not_told() {
    let home = Home::new();
    for name in ["served", "served/to", "served/to/b", "tree", "tree/a", "tree/b"] {
        make_folder(&home, name);
    }
    for name in ["served/to/a", "served/to/b/full", "tree/a/x"] {
        noise_file(&home, name, 500, 1);
    }
    fs::remove_dir(home.path("tree/b")).expect("it is empty");
    noise_file(&home, "tree/b", 500, 1);
    let serving = Serving::new(&home, &["--write-only"]);
    let copied = |source: &str| home.pump(&["copy", "--ticket-file", "ticket", source, &serving.at("to/")]);
    expect(&copied("tree/b"), 5, &["does not tell why"], "all that was asked for");
    let run = copied("tree/");
    expect(&run, 23, &[], "one of several names");
    assert!(run.err.contains("does not tell why"), "a file for a folder that is full: {run:?}");
    assert!(!run.err.contains("os error") && !run.err.contains("folder"), "{run:?}");
}

/// All names below the served folder.
fn names(home: &Home) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(home.path("served"))
        .expect("it is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
