//! Names that are of one kind in the source and of another at the target: what gives way, what waits, what stays.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::support::listing::{listing, same};
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, after, expect, make_fifo, make_folder, make_symlink, noise_file, outcome};

const KINDS: [&str; 5] = ["file", "large", "link", "pipe", "hard"];

/// Makes each name of one folder of every kind, where the other has a folder; and the reverse.
fn two_trees(home: &Home, source: &str, target: &str) {
    for tree in [source, target] {
        make_folder(home, tree);
        make_folder(home, &format!("{tree}/sub"));
    }
    for (one, other) in [(source, target), (target, source)] {
        let of = if one == source { "" } else { "sub/" };
        for kind in KINDS {
            make_one(home, kind, &format!("{one}/{of}{kind}"));
            make_folder(home, &format!("{other}/{of}{kind}"));
            noise_file(home, &format!("{other}/{of}{kind}/in it"), 10, 2);
        }
    }
    noise_file(home, &format!("{target}/extra"), 10, 3);
}

fn make_one(home: &Home, kind: &str, name: &str) {
    match kind {
        "file" => drop(noise_file(home, name, 5000, 1)),
        "large" => drop(noise_file(home, name, 9 << 20, 4)),
        "link" => make_symlink(home, "file", name),
        "pipe" => make_fifo(&home.path(name)),
        _ => fs::hard_link(home.path(name).with_file_name("file"), home.path(name)).expect("links"),
    }
}

/// The lines of a run. Which name of a file is copied and which is linked to it is the lanes' race, and each is right.
fn lines(out: &str) -> BTreeSet<&str> {
    let either = |line| match line {
        ">f+++++++++ hard" => ">f+++++++++ file",
        "hf+++++++++ file => hard" => "hf+++++++++ hard => file",
        line => line,
    };
    out.lines().map(either).collect()
}

#[test]
fn with_delete_a_name_becomes_what_it_is_in_the_source() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, target) = (&*hosts.source("from"), &*hosts.target("to"));
        for flags in
            [&["--delete"][..], &["--delete", "--update"], &["--delete", "--checksum", "--lanes", "1"]]
        {
            let _ = (fs::remove_dir_all(home.path(from)), fs::remove_dir_all(home.path(target)));
            two_trees(&home, from, target);
            let row = format!("{way:?} {flags:?}");
            let words = [&["copy", "-T", "-i"], flags].concat();
            let dry = hosts.pump(&[&words[..], &["-n"]].concat(), &["from"], "to");
            expect(&dry, 0, &["*deleting   file/in it", "*deleting   extra"], &row);
            let run = hosts.pump(&words, &["from"], "to");
            expect(&run, 0, &[], &row);
            assert_eq!(lines(&run.out), lines(&dry.out), "{row}");
            same(&home.path(from), &home.path(target), &row);
            assert!(!home.path(target).join(".pump-job").exists(), "{row}");
        }
    }
}

#[test]
fn without_delete_a_folder_that_is_not_empty_stays_and_the_rest_is_copied() {
    let home = Home::new();
    two_trees(&home, "from", "to");
    let words = KINDS.map(|kind| format!("'to/{kind}': is a folder that is not empty"));
    let parts: Vec<&str> = words.iter().map(String::as_str).chain(["--delete removes it"]).collect();
    for dry in [&["-n"][..], &[]] {
        expect(&home.pump(&[&["copy", "-T", "from", "to"], dry].concat()), 23, &parts, "not empty");
    }
    let copied = |path: &Path| {
        let name = path.components().next().map(|part| part.as_os_str().to_owned()).unwrap_or_default();
        !KINDS.iter().any(|kind| name == *kind) && name != "extra" && !path.as_os_str().is_empty()
    };
    let of = |tree: &str| -> Vec<_> {
        listing(&home.path(tree)).into_iter().filter(|(path, _)| copied(path)).collect()
    };
    assert_eq!(of("from"), of("to"), "what is no folder gave way to folders");
    for kind in KINDS {
        assert!(home.path(format!("to/{kind}/in it")).exists(), "{kind}");
        fs::remove_file(home.path(format!("to/{kind}/in it"))).expect("it stands there");
    }
    let dry = home.pump(&["copy", "-T", "-n", "from", "to"]);
    expect(&dry, 0, &[], "a dry run over empty folders");
    fs::remove_file(home.path("to/extra")).expect("it stays");
    expect(&home.pump(&["copy", "-T", "from", "to"]), 0, &[], "an empty folder gives way");
    same(&home.path("from"), &home.path("to"), "whole");
}

/// --delete is refused for a source that is no folder, for a list, and where one target lies in another; of other trees
/// it removes nothing here.
#[test]
fn a_folder_in_the_place_of_what_is_named_is_to_be_moved_away() {
    for line in [
        "copy -a link to",
        "copy -a -n link to",
        "copy -a link file to",
        "copy -a -n link file to",
        "copy from/ file to",
        "copy pipe file to",
        "copy --files-from=list from/ to",
        "copy --remove-source-files from/ to",
        "copy -a --delete from link to",
    ] {
        let home = Home::new();
        for name in ["from", "to", "to/from", "to/link", "to/pipe"] {
            make_folder(&home, name);
        }
        for name in ["to/link/in it", "to/pipe/in it", "to/from/extra", "file"] {
            noise_file(&home, name, 10, 1);
        }
        for name in ["link", "from/link"] {
            make_symlink(&home, "file", name);
        }
        make_fifo(&home.path("pipe"));
        fs::write(home.path("list"), "link\n").expect("room");
        let run = home.pump(&line.split(' ').collect::<Vec<_>>());
        let said = "is a folder that is not empty, and the source is none; move the folder away";
        assert!(run.status != 0 && run.err.contains(said), "{line}: {run:?}");
        assert!(!run.err.contains("--delete removes it"), "{line}: {run:?}");
        for name in ["to/link/in it", "to/pipe/in it", "to/from/extra"] {
            assert!(home.path(name).exists(), "{line}: {name}");
        }
    }
}

/// As in a tree: an empty folder goes, and what a folder holds stays.
#[test]
fn a_file_that_is_named_replaces_an_empty_folder_and_no_other() {
    for flags in ["-v", "-n", "-a", "--backup", "--update=differs", "--delete"] {
        for sources in [&["file"][..], &["file", "from"], &["from", "file"]] {
            let home = Home::new();
            for name in ["from", "to", "to/file", "to/from"] {
                make_folder(&home, name);
            }
            noise_file(&home, "file", 10, 1);
            let line = [&["copy", flags], sources, &["to"]].concat();
            let row = format!("{line:?}");
            if flags == "--delete" && sources.len() == 1 {
                continue;
            }
            noise_file(&home, "to/file/in it", 10, 1);
            let run = home.pump(&line);
            let said = "'to/file': is a folder that is not empty, and the source is none";
            assert!(run.err.contains(said) && [1, 23].contains(&run.status), "{row}: {run:?}");
            assert!(home.path("to/file/in it").exists(), "{row}");
            fs::remove_file(home.path("to/file/in it")).expect("it stayed");
            expect(&home.pump(&line), 0, &[], &row);
            assert_eq!(home.path("to/file").is_file(), flags != "-n", "{row}");
        }
    }
}

#[test]
fn a_file_of_another_host_replaces_an_empty_folder_and_no_other() {
    for way in Way::ALL {
        let home = Home::new();
        let hosts = TwoHosts::new(&home, way);
        make_folder(&home, &hosts.target("to"));
        make_folder(&home, &hosts.target("to/f"));
        noise_file(&home, &hosts.target("to/f/in it"), 10, 1);
        ["f", "g"].iter().for_each(|name| drop(noise_file(&home, &hosts.source(name), 10, 2)));
        let run = hosts.pump(&["copy"], &["f", "g"], "to/");
        assert!(run.status == 23 && run.err.contains("is a folder that is not empty"), "{way:?}: {run:?}");
        assert!(home.path(hosts.target("to/g")).is_file(), "{way:?}");
        fs::remove_file(home.path(hosts.target("to/f/in it"))).expect("it stayed");
        expect(&hosts.pump(&["copy"], &["f", "g"], "to/"), 0, &[], &format!("{way:?}"));
        assert!(home.path(hosts.target("to/f")).is_file(), "{way:?}");
    }
}

#[test]
fn a_dry_run_of_a_named_link_ends_as_the_run_does() {
    let home = Home::new();
    for name in ["v1", "to", "to/latest"] {
        make_folder(&home, name);
    }
    make_symlink(&home, "v1", "latest");
    noise_file(&home, "to/latest/in it", 10, 1);
    for flags in ["-an", "-a"] {
        let run = home.pump(&["copy", flags, "latest", "to"]);
        expect(&run, 1, &["to/latest", "is a folder that is not empty", "move the folder away"], flags);
        assert!(!run.out.contains("(symlink)") && home.path("to/latest/in it").exists(), "{flags}: {run:?}");
    }
    fs::remove_file(home.path("to/latest/in it")).expect("it stays");
    expect(&home.pump(&["copy", "-an", "latest", "to"]), 0, &["'to/latest' (symlink)"], "an empty folder");
    assert!(home.path("to/latest").is_dir() && !home.path("to/latest").is_symlink(), "a dry run");
    expect(&home.pump(&["copy", "-a", "latest", "to"]), 0, &[], "an empty folder");
    assert!(home.path("to/latest").is_symlink());
}

#[test]
fn what_stands_there_stays_whatever_it_is_with_ignore_existing() {
    let home = Home::new();
    two_trees(&home, "from", "to");
    let before: Vec<PathBuf> = listing(&home.path("to")).into_keys().collect();
    expect(&home.pump(&["copy", "-T", "--ignore-existing", "from", "to"]), 0, &[], "left alone");
    assert_eq!(listing(&home.path("to")).into_keys().collect::<Vec<_>>(), before);
    let run = home.pump(&["copy", "-T", "--ignore-existing", "--delete", "from", "to"]);
    expect(&run, 0, &[], "the extra file alone goes");
    let left: Vec<PathBuf> = before.into_iter().filter(|path| path != Path::new("extra")).collect();
    assert_eq!(listing(&home.path("to")).into_keys().collect::<Vec<_>>(), left);
}

#[test]
fn every_kind_that_stays_with_ignore_existing_is_printed_and_links_are_counted() {
    let home = Home::new();
    ["s", "into"].iter().for_each(|folder| make_folder(&home, folder));
    noise_file(&home, "s/f", 10, 1);
    make_symlink(&home, "f", "s/l");
    make_fifo(&home.path("s/p"));
    for words in [&["-T", "s", "into"][..], &["-d", "s/f", "s/l", "s/p", "into"]] {
        let copy = |flags: &[&str]| home.pump(&[&["copy", "-v"], flags, words].concat());
        expect(&copy(&[]), 0, &[], "copied");
        let stays = ["'into/f': not changed: ", "'into/l': not changed: ", "'into/p': not changed: "];
        expect(&copy(&["--ignore-existing"]), 0, &stays, &format!("{words:?}"));
    }
}

/// A file that is not copied may be what is too much, under a new name.
#[test]
fn where_a_folder_in_the_way_holds_what_is_excluded_nothing_is_removed() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, target) = (&*hosts.source("from"), &*hosts.target("to"));
        for words in [
            &["mirror"][..],
            &["mirror", "-n"],
            &["mirror", "--backup-dir=older"],
            &["copy", "-T", "--delete"],
        ] {
            let _ = (fs::remove_dir_all(home.path(from)), fs::remove_dir_all(home.path(target)));
            for folder in [from, target, &format!("{target}/a"), &format!("{target}/b")] {
                make_folder(&home, folder);
            }
            for name in ["a", "b"] {
                noise_file(&home, &format!("{from}/{name}"), 10, 1);
            }
            let stays = ["a/kept", "a/too", "b/too", "old name"].map(|name| format!("{target}/{name}"));
            stays.iter().for_each(|name| drop(noise_file(&home, name, 10, 1)));
            let run = hosts.pump(&[words, &["--exclude", "kept"]].concat(), &["from"], "to");
            let row = format!("{words:?} {way:?}: {run:?}");
            assert!([5, 23].contains(&run.status), "{row}");
            for said in [
                "is a folder from which not all could be removed",
                "is a folder, and the source is none: it stays because not everything else was copied",
                "nothing was removed",
            ] {
                assert!(run.err.contains(said), "{said}: {row}");
            }
            assert!(!run.out.contains("*deleting"), "{row}");
            assert!(stays.iter().all(|name| home.path(name).exists()), "{row}");
        }
    }
}

/// The names that wait are copied before all else that is too much is removed, which may be their old names.
#[test]
fn a_folder_in_the_way_is_removed_by_itself_before_all_else() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, target) = (&*hosts.source("from"), &*hosts.target("to"));
        for (flags, status) in [
            (&["-n"][..], 0),
            (&[], 0),
            (&["--lanes", "1", "--sync=each"], 0),
            (&["--backup-dir", "older"], 0),
            // The backup would stay in the folder.
            (&["--backup"], 23),
            (&["--max-delete", "4"], 0),
            (&["--max-delete", "3"], 1),
            (&["--max-delete", "3", "-n"], 1),
        ] {
            let _ = (fs::remove_dir_all(home.path(from)), fs::remove_dir_all(home.path(target)));
            for folder in [from, target, &format!("{target}/new"), &format!("{target}/new/deep")] {
                make_folder(&home, folder);
            }
            noise_file(&home, &format!("{from}/new"), 5000, 1);
            noise_file(&home, &format!("{target}/new/deep/in it"), 10, 2);
            noise_file(&home, &format!("{target}/old name"), 5000, 1);
            let run = hosts.pump(&[&["mirror", "-i"], flags].concat(), &["from"], "to");
            let row = format!("{flags:?} {way:?}: {run:?}");
            let is_refused = status > 0;
            assert!(run.status == status || (is_refused && run.status == 5), "{row}");
            let line = |letters: &str| run.out.lines().position(|line| line.starts_with(letters));
            let lines = ["*deleting   new/deep/in it", ">f", "*deleting   old name"].map(line);
            assert!(if is_refused { lines == [None; 3] } else { lines.iter().all(Option::is_some) }, "{row}");
            assert!(lines.is_sorted(), "{row}");
            let removed = run.out.lines().filter(|line| line.starts_with("*deleting")).count();
            assert_eq!(removed, if is_refused { 0 } else { 4 }, "{row}");
            let is_done = !is_refused && !flags.contains(&"-n");
            assert_eq!(home.path(target).join("new").is_file(), is_done, "{row}");
            assert_eq!(home.path(target).join("old name").exists(), !is_done, "{row}");
        }
    }
}

#[test]
fn no_folder_gives_way_if_something_was_not_copied_or_too_much_would_go() {
    let home = Home::new();
    two_trees(&home, "from", "to");
    let before = listing(&home.path("to/file"));
    let run = home.pump(&["copy", "-T", "--delete", "--max-delete", "3", "from", "to"]);
    expect(&run, 1, &["more than 3 names would be removed", "'to/file'"], "too much");
    assert_eq!(listing(&home.path("to/file")), before);
    assert!(home.path("to/extra").exists());
    // A name that no copy may have in its root.
    noise_file(&home, "from/.pump-job", 10, 1);
    let run = home.pump(&["copy", "-T", "--delete", "from", "to"]);
    expect(&run, 23, &["nothing was removed"], "not all was copied");
    assert_eq!(listing(&home.path("to/file")), before);
    assert!(home.path("to/extra").exists());
}

/// Names with the form of temporary ones wait until all else in their folder is done, and names in whose place a folder
/// stands until all else is. Neither waits for the other.
#[test]
fn names_that_wait_do_not_wait_for_each_other() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, target) = (&*hosts.source("from"), &*hosts.target("to"));
        for (words, status) in [
            (&["copy", "-T", "--delete"][..], 0),
            (&["mirror"], 0),
            (&["mirror", "--lanes", "1"], 0),
            (&["mirror", "-n"], 0),
            (&["copy", "-T"], 23),
        ] {
            let _ = (fs::remove_dir_all(home.path(from)), fs::remove_dir_all(home.path(target)));
            for folder in
                ["", "/.pump-0123456789abcdef", "/.pump-0123456789abcdef/.pump-0123456789abcde0", "/sub"]
            {
                make_folder(&home, &format!("{from}{folder}"));
            }
            for folder in ["", "/file", "/.pump-00000000000000aa", "/sub", "/sub/file"] {
                make_folder(&home, &format!("{target}{folder}"));
            }
            for name in [
                ".pump-0123456789abcdef/file",
                ".pump-0123456789abcdef/.pump-0123456789abcde0/file",
                ".pump-00000000000000aa",
                "file",
                "sub/file",
                "sub/.pump-00000000000000bb",
            ] {
                noise_file(&home, &format!("{from}/{name}"), 5000, 1);
            }
            for name in ["file/in it", ".pump-00000000000000aa/in it", "sub/file/in it"] {
                noise_file(&home, &format!("{target}/{name}"), 10, 2);
            }
            let (end, line) = (hosts.pump(words, &["from"], "to"), format!("{words:?} {way:?}"));
            let is_right = if status == 0 { end.status == 0 } else { matches!(end.status, 5 | 23) };
            assert!(is_right, "{line}: {end:?}");
            match words {
                ["mirror", "-n"] => assert!(home.path(target).join("file/in it").exists(), "{line}"),
                ["copy", "-T"] => {
                    let made = home.path(target).join(".pump-0123456789abcdef/.pump-0123456789abcde0/file");
                    assert!(
                        made.exists() && home.path(target).join("sub/.pump-00000000000000bb").exists(),
                        "{line}"
                    );
                }
                _ => same(&home.path(from), &home.path(target), &line),
            }
        }
    }
}

/// No folder is emptied before the file that takes its place is whole: also of one that has several names, of more than may
/// wait open at a time, and beside a folder of `--link-dest`.
#[test]
fn a_file_that_cannot_be_written_leaves_the_folder_in_its_place() {
    let names_of = |files: u64| {
        let names = (0..files).map(|number| format!("file{number}"));
        names.chain(["hard".into(), "large".into(), "large hard".into()])
    };
    for (files, limits, flags) in [
        (1, "true", &[][..]),
        (3, "true", &["--link-dest", "older"]),
        (60, "true", &[]),
        (70, "true", &["--lanes", "1"]),
        (7, "ulimit -n 64", &["--lanes", "1"]),
        (7, "ulimit -n 64", &[]),
    ] {
        let home = Home::new();
        ["from", "to", "older"].iter().for_each(|folder| make_folder(&home, folder));
        for number in 0..files {
            noise_file(&home, &format!("from/file{number}"), 5000, number);
        }
        noise_file(&home, "from/large", 9 << 20, 1);
        for name in ["hard", "large hard"] {
            let of = if name == "hard" { "file0" } else { "large" };
            fs::hard_link(home.path(format!("from/{of}")), home.path(format!("from/{name}"))).expect("links");
        }
        for name in names_of(files) {
            make_folder(&home, &format!("to/{name}"));
            noise_file(&home, &format!("to/{name}/in it"), 10, 2);
        }
        let row = format!("{files} {limits} {flags:?}");
        expect(&home.pump(&["copy", "-T", "--max-size=9000B", "from", "older"]), 0, &[], &row);
        let words = [&["mirror", "-v"], flags, &["from/", "to"]].concat();
        let run = outcome(after(&home, &format!("{limits}; ulimit -f 1000"), &words), b"");
        expect(&run, 23, &["to/large"], &row);
        // Of more than may wait at a time some are whole before the failure.
        let has_rounds = files == 70 || limits != "true";
        for name in names_of(files) {
            let is_left = home.path(format!("to/{name}/in it")).exists();
            let is_copied =
                has_rounds && fs::read(home.path(format!("to/{name}"))).is_ok_and(|it| it.len() == 5000);
            assert!(is_left || is_copied, "{row}: {name}: {run:?}");
        }
        let run = outcome(after(&home, limits, &words), b"");
        expect(&run, 0, &[], &row);
        assert!(!run.err.contains("temporary file"), "{run:?}");
        same(&home.path("from"), &home.path("to"), &row);
        let inode = |name: &str| fs::metadata(home.path(name)).expect("it was copied").ino();
        assert_eq!(inode("to/large"), inode("to/large hard"), "{row}");
        if flags.contains(&"older") {
            assert_eq!([inode("to/file1"), inode("to/hard")], [inode("older/file1"), inode("older/hard")]);
        }
    }
}

/// Whatever takes its place: nothing is deleted for it.
#[test]
fn an_empty_folder_gives_way_at_once() {
    for flags in [&[][..], &["--lanes=1"], &["--lanes=1", "--link-dest=older"]] {
        let home = Home::new();
        for folder in ["from", "to", "older"] {
            make_folder(&home, folder);
        }
        for kind in KINDS {
            make_one(&home, kind, &format!("from/{kind}"));
            make_folder(&home, &format!("to/{kind}"));
        }
        expect(&home.pump(&["copy", "from/", "older"]), 0, &[], "older");
        let words = [&["copy", "-i", "--delete", "--max-delete=0"][..], flags, &["from/", "to"]].concat();
        let planned = home.pump(&[&words[..1], &["-n"], &words[1..]].concat());
        let run = home.pump(&words);
        for (row, run) in [("dry", &planned), ("run", &run)] {
            expect(run, 0, &[], &format!("{flags:?} {row}"));
            assert!(!run.out.contains("*deleting"), "{flags:?} {row}: {run:?}");
        }
        // Of several lanes the first that comes copies an inode's content; the others' names are links.
        if flags.contains(&"--lanes=1") {
            assert_eq!(lines(&planned.out), lines(&run.out), "{flags:?}");
        }
        same(&home.path("from"), &home.path("to"), &format!("{flags:?}"));
    }
}
