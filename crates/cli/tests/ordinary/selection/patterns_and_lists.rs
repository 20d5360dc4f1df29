//! The selection of names: by patterns, by lists of names, by flags that are typed twice.

use std::collections::BTreeSet;
use std::fs;

use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::typed::{make, pump};
use crate::support::{Home, expect, make_folder};

/// All that lies in a folder, in order.
fn tree(home: &Home, name: &str) -> Vec<String> {
    let (mut all, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(home.path(name).join(&folder)) else { continue };
        for entry in entries {
            let entry = entry.expect("it is there");
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.file_type().expect("it is there").is_dir() {
                folders.push(format!("{path}/"));
            }
            all.push(path);
        }
    }
    all.sort();
    all
}

#[test]
fn an_excluded_name_is_excluded_as_an_argument_too() {
    let home = Home::new();
    make(&home, &["a.o", "a.c", "dir/in", "dir/dir/below"]);
    make_folder(&home, "to");
    pump(&home, "copy --exclude *.o --exclude dir a.o a.c dir to", 0, &[]);
    assert_eq!(tree(&home, "to"), ["a.c"]);
    pump(&home, "copy --exclude *.o a.o new", 0, &[]);
    assert!(!home.path("new").exists(), "nothing is left to copy");
    pump(&home, "copy --include a.o --exclude *.o a.o to", 0, &[]);
    assert!(home.path("to/a.o").exists(), "the first pattern that matches decides");
}

#[test]
fn a_folder_whose_content_is_copied_is_not_excluded_by_its_name() {
    let home = Home::new();
    make(&home, &["dir/in", "dir/dir/below"]);
    for (line, to) in [
        ("copy --exclude dir dir one", "one"),
        ("copy --exclude dir -T dir two", "two"),
        ("copy --exclude dir dir/. three", "three"),
    ] {
        pump(&home, line, 0, &[]);
        assert_eq!(tree(&home, to), ["in"], "{line}");
    }
    make_folder(&home, "to");
    pump(&home, "copy --exclude /dir dir/ to", 0, &[]);
    assert_eq!(tree(&home, "to"), ["in"], "a slash at the front means what lies in the folder");
}

#[test]
fn names_of_a_list_are_not_hidden_by_an_exclude_of_their_folders() {
    let home = Home::new();
    make(&home, &["from/d/f", "from/d/o", "from/d/e/f", "from/top"]);
    for (number, (list, exclude, expected)) in [
        ("d/f\n", "d", &["d", "d/f"][..]),
        ("d/f\n", "/d/", &["d", "d/f"]),
        ("d/e/f\n", "d/*", &["d", "d/e", "d/e/f"]),
        ("d/e/f\n", "e", &["d", "d/e", "d/e/f"]),
        ("d/f\nd/o\n", "f", &["d", "d/o"]),
        ("d/f\ntop\n", "d/*", &["top"]),
        ("d/e/f\n", "/d/***", &[]),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(home.path("list"), list).expect("room");
        let to = format!("to{number}");
        pump(&home, &format!("copy --files-from list --exclude {exclude} from {to}"), 0, &[]);
        assert_eq!(tree(&home, &to), expected, "{list:?} without {exclude}");
    }
}

#[test]
fn a_folder_of_a_list_with_a_slash_comes_with_what_lies_in_it() {
    let home = Home::new();
    make(&home, &["from/d/f", "from/d/o", "from/d/e/g/h", "from/top"]);
    for (number, (list, flags, status, expected)) in [
        ("d\n", "-q", 0, &["d"][..]),
        ("d/\n", "-q", 0, &["d", "d/e", "d/f", "d/o"]),
        ("d/.\n", "-q", 0, &["d", "d/e", "d/f", "d/o"]),
        ("d/\nd/e/g/h\n", "-q", 0, &["d", "d/e", "d/e/g", "d/e/g/h", "d/f", "d/o"]),
        ("d/\n", "--exclude=o", 0, &["d", "d/e", "d/f"]),
        ("d/e/\n", "--exclude=e", 0, &[]),
        ("./\n", "-q", 0, &["d", "top"]),
        ("d/\nd/missing\n", "--exclude=.pump-job", 23, &["d", "d/e", "d/f", "d/o"]),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(home.path("list"), list).expect("room");
        let to = format!("to{number}");
        pump(&home, &format!("copy --files-from list {flags} from {to}"), status, &[]);
        let made: Vec<String> = tree(&home, &to).into_iter().filter(|name| name != ".pump-job").collect();
        assert_eq!(made, expected, "{list:?} {flags}");
    }
}

#[test]
fn of_a_repeated_flag_the_last_one_counts() {
    let home = Home::new();
    make(&home, &["a"]);
    let run = pump(&home, "copy -q -q --sparse=wrong --sparse=never a b", 2, &["wrong"]);
    assert!(run.out.is_empty());
    pump(&home, "copy -q -q --verify --verify --depth 3 --depth 4 --sync=none --sync=end a b", 0, &[]);
    pump(&home, "verify --content-only --content-only a b", 0, &[]);
    let run = pump(&home, "copy --json --request-size 64KiB --request-size 3 a c", 2, &[]);
    assert!(!home.path("c").exists(), "{run:?}");
}

#[test]
fn rules_hide_names_of_the_source_and_protect_names_of_the_target() {
    let home = Home::new();
    make(&home, &["from/a.c", "from/a.o", "from/sub/b.o", "from/sub/b.c"]);
    fs::write(home.path("rules"), "# what is built\n- *.o\n+ *.c\n").expect("room");
    for (filters, copied, left) in [
        (&["- *.o"][..], "a.c sub sub/b.c", "a.c a.o old.o sub sub/b.c"),
        (&["H *.o"], "a.c sub sub/b.c", "a.c sub sub/b.c"),
        (&["P *.o"], "a.c a.o sub sub/b.c sub/b.o", "a.c a.o old.o sub sub/b.c sub/b.o"),
        (&["+ a.o", "- *.o"], "a.c a.o sub sub/b.c", "a.c a.o old.o sub sub/b.c"),
        (&["R old.o", "- *.o"], "a.c sub sub/b.c", "a.c a.o sub sub/b.c"),
        (&["- *.c", "!", "- *.o"], "a.c sub sub/b.c", "a.c a.o old.o sub sub/b.c"),
        (&[". rules"], "a.c sub sub/b.c", "a.c a.o old.o sub sub/b.c"),
        (&["merge rules"], "a.c sub sub/b.c", "a.c a.o old.o sub sub/b.c"),
        (&["exclude,s *.o"], "a.c sub sub/b.c", "a.c sub sub/b.c"),
    ] {
        let rules: Vec<&str> = filters.iter().flat_map(|rule| ["--filter", rule]).collect();
        let copy = |more: &[&str], to: &str| {
            expect(
                &home.pump(&[&["copy"], &rules[..], more, &["from/", to]].concat()),
                0,
                &[],
                &rules.join(" "),
            );
            tree(&home, to)
        };
        assert_eq!(copy(&[], "new"), copied.split(' ').collect::<Vec<_>>(), "{filters:?}");
        make(&home, &["old/a.o", "old/old.o", "old/old.c"]);
        assert_eq!(copy(&["--delete"], "old"), left.split(' ').collect::<Vec<_>>(), "{filters:?}");
        for folder in ["new", "old"] {
            fs::remove_dir_all(home.path(folder)).expect("it is there");
        }
    }
    // A protected file stays where all that is excluded goes.
    make(&home, &["old/keep.o", "old/old.o"]);
    let rules = ["copy", "--filter=P keep.o", "--filter=- *.o", "--delete-excluded", "from/", "old"];
    expect(&home.pump(&rules), 0, &[], "delete-excluded");
    assert_eq!(tree(&home, "old"), ["a.c", "keep.o", "sub", "sub/b.c"]);
    // A protected folder keeps what is in it, though the source has that folder, too.
    make(&home, &["held/sub/mine", "held/gone"]);
    expect(&home.pump(&["copy", "--delete", "--filter=P sub/", "from/", "held"]), 0, &[], "a folder");
    assert_eq!(tree(&home, "held"), ["a.c", "a.o", "sub", "sub/b.c", "sub/b.o", "sub/mine"]);
    for (rule, said) in [
        ("*.o", "write for example '- *.tmp'"),
        (": .rules", "rules are not read from folders"),
        (". missing", "read 'missing'"),
    ] {
        expect(&home.pump(&["copy", "--filter", rule, "from/", "none"]), 2, &[said], rule);
        assert!(!home.path("none").exists(), "{rule}");
    }
}

/// A hidden name is removed from the target: it must not be the source.
#[test]
fn no_rule_makes_the_source_go() {
    let home = Home::new();
    make(&home, &["t/keep/src/a", "t/old/b"]);
    let run = home.pump(&["copy", "--delete", "--filter", "H keep", "t/keep/src/", "t"]);
    expect(&run, 2, &["--delete would remove 't/keep/src/'"], "hidden");
    let run = home.pump(&["copy", "--delete", "--filter", "P keep", "--filter", "P old", "t/keep/src/", "t"]);
    expect(&run, 0, &[], "protected");
    assert!(home.path("t/keep/src/a").exists() && home.path("t/old/b").exists());
}

/// What never was has not vanished, on whichever host.
#[test]
fn a_missing_name_of_a_list_is_an_error_on_one_host_and_between_two() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, to) = (hosts.source("from"), hosts.target("to"));
        make(&home, &[&format!("{from}/d/f"), &format!("{from}/top")]);
        fs::write(home.path("list"), "d/f\nd/missing\ntop\nmissing\ngone/below\n").expect("room");
        for words in [&["copy", "--files-from", "list"][..], &["copy", "-n", "--files-from", "list"]] {
            let _ = fs::remove_dir_all(home.path(&to));
            let parts = ["/d/missing'", "/missing'", "/gone'"];
            expect(&hosts.pump(words, &["from"], "to"), 23, &parts, &format!("{way:?} {words:?}"));
        }
        make_folder(&home, &to);
        let named = ["from/./top", "from/./d/missing"];
        let run = hosts.pump(&["copy", "--relative"], &named, "to");
        expect(&run, 23, &["d/missing'"], &format!("{way:?} --relative"));
    }
}

/// A name below a folder that is copied whole, or that `--existing` leaves out, is looked at like any other of the list.
#[test]
fn a_missing_name_is_an_error_where_its_folder_is_copied_whole_or_not_at_all() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, to) = (hosts.source("from"), hosts.target("to"));
        make(&home, &[&format!("{from}/s/a"), &format!("{from}/s/d/f")]);
        fs::write(home.path("list"), "s/d/f\ns/d/missing\n").expect("room");
        for dry in [&[][..], &["-n"]] {
            let relative = [&["copy", "--relative"][..], dry].concat();
            let existing = [&["copy", "--relative", "--existing"][..], dry].concat();
            let listed = [&["copy", "--existing", "--files-from", "list"][..], dry].concat();
            for (words, named, missing, is_copied) in [
                (&relative, &["from/./s/", "from/./s/missing"][..], "s/missing'", true),
                (&relative, &["from/./s/d", "from/./s/d/no/missing"], "s/d/no'", true),
                (&existing, &["from/./s/a", "from/./s/missing"], "s/missing'", false),
                (&listed, &["from"], "s/d/missing'", false),
            ] {
                let _ = fs::remove_dir_all(home.path(&to));
                make_folder(&home, &to);
                let run = hosts.pump(words, named, "to");
                expect(&run, 23, &[missing, "No such file"], &format!("{way:?} {words:?} {named:?}"));
                let is_there = home.path(format!("{to}/s/d/f")).exists();
                assert_eq!(is_there, is_copied && dry.is_empty(), "{way:?} {words:?} {named:?}");
            }
        }
    }
}

/// A file in the place of a folder is left, and nothing below that is copied.
#[test]
fn a_missing_name_is_an_error_where_a_file_is_left_in_the_place_of_its_folder() {
    let home = Home::new();
    fs::write(home.path("list"), "s/d/f\ns/d/missing\n").expect("room");
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, to) = (hosts.source("from"), hosts.target("to"));
        make(&home, &[&format!("{from}/s/d/f"), &format!("{to}/s")]);
        for dry in [&[][..], &["-n"]] {
            let words = [&["copy", "-T", "--ignore-existing", "--files-from", "list"][..], dry].concat();
            let run = hosts.pump(&words, &["from"], "to");
            expect(&run, 23, &["s/d/missing'", "No such file"], &format!("{way:?} {dry:?}"));
            assert!(home.path(format!("{to}/s")).is_file(), "{way:?}");
        }
    }
}

/// A pattern for folders hides those of the source, and protects those of the target: a file of that name is neither.
#[test]
fn a_file_in_the_place_of_an_excluded_folder_is_removed() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, to) = (hosts.source("from"), hosts.target("to"));
        for (flags, remaining) in [
            (&["--exclude", "c/"][..], &["d", "d/c", "f"][..]),
            (&["--exclude", "/c/"], &["d", "d/c", "d/c/in", "f"]),
            (&["--exclude", "c"], &["c", "d", "d/c", "f"]),
            (&["--exclude", "c/", "--filter", "P c"], &["c", "d", "d/c", "f"]),
            (&["--exclude", "c/", "--delete-excluded"], &["d", "f"]),
        ] {
            let _ = (fs::remove_dir_all(home.path(&from)), fs::remove_dir_all(home.path(&to)));
            let paths = ["from/c/in", "from/f", "from/d/c/in"].map(|path| hosts.source(path));
            make(&home, &paths.each_ref().map(String::as_str));
            make(&home, &[&format!("{to}/c"), &format!("{to}/f")]);
            make_folder(&home, &format!("{to}/d"));
            make_folder(&home, &format!("{to}/d/c"));
            let words = [&["copy", "--delete"], flags].concat();
            let dry = [&words[..], &["-n"]].concat();
            let row = format!("{way:?} {flags:?}");
            let planned = hosts.pump(&[&dry[..], &["-i"]].concat(), &["from/"], "to");
            let run = hosts.pump(&[&words[..], &["-i"]].concat(), &["from/"], "to");
            expect(&run, 0, &[], &row);
            let lines = |out: &str| out.lines().map(str::to_owned).collect::<BTreeSet<_>>();
            assert_eq!((planned.status, lines(&planned.out)), (0, lines(&run.out)), "{row}");
            assert_eq!(tree(&home, &to), remaining, "{row}");
        }
    }
}
