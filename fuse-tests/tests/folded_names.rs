//! Targets whose file system takes two names of the source for one: by case, also of letters that are not ASCII.

mod parts;

use parts::{support, wider_parts};
use std::fs;
use std::path::Path;

use parts::fuse::Fuse;
use support::{Home, Outcome, expect, has_content, noise, set_mode, set_mtime};
use wider_parts::pump;

const TIME_NS: u64 = 1_700_000_000_000_000_000;

/// Makes files with what folders they lie in, all of one time.
fn make(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("room");
        fs::write(&path, content).expect("room");
        set_mtime(&path, TIME_NS);
    }
}

fn mirror(home: &Home, fuse: &Fuse, options: &[&str]) -> Outcome {
    let (from, to) = (home.path("from").display().to_string(), fuse.at("to"));
    pump(&[&["copy", "-T", "--delete"], options, &[&from, &to]].concat())
}

const WAYS: [&[&str]; 4] = [&[], &["--update"], &["--checksum"], &["--update", "--lanes", "1"]];

#[test]
fn a_name_that_only_changed_its_case_is_not_removed() {
    for options in WAYS {
        let (home, fuse) = (Home::new(), Fuse::folding());
        make(&home.path("from"), &[("Фото", "new"), ("Альбом/Лето", "new"), ("README", "new")]);
        let there = [("фото", "old"), ("альбом/лето", "old"), ("readme", "old"), ("лишнее", "old")];
        make(Path::new(&fuse.at("to")), &there);
        for name in ["фото", "альбом/лето", "readme"] {
            set_mtime(Path::new(&fuse.at(&format!("to/{name}"))), 0);
        }
        expect(&mirror(&home, &fuse, options), 0, &[], &format!("{options:?}"));
        for name in ["Фото", "Альбом/Лето", "README"] {
            has_content(Path::new(&fuse.at(&format!("to/{name}"))), b"new", &format!("{options:?} {name}"));
        }
        assert!(!Path::new(&fuse.at("to/лишнее")).exists(), "{options:?}: what is too much is removed");
    }
}

#[test]
fn the_second_of_two_names_that_are_one_is_refused_and_nothing_is_removed() {
    for options in WAYS {
        let (home, fuse) = (Home::new(), Fuse::folding());
        make(&home.path("from"), &[("É", "one"), ("é", "two"), ("sub/A", "one"), ("sub/a", "two")]);
        make(Path::new(&fuse.at("to")), &[("é", "one"), ("sub/too much", "kept"), ("too much", "kept")]);
        let run = mirror(&home, &fuse, options);
        expect(&run, 23, &["takes for the same", "nothing was removed"], &format!("{options:?}"));
        assert_eq!(run.err.matches("takes for the same").count(), 2, "{options:?}: each is told: {run:?}");
        for name in ["to/sub/too much", "to/too much"] {
            has_content(Path::new(&fuse.at(name)), b"kept", &format!("{options:?}"));
        }
    }
}

#[test]
fn two_folders_that_are_one_are_not_merged() {
    for options in WAYS {
        let (home, fuse) = (Home::new(), Fuse::folding());
        make(&home.path("from"), &[("Дом/one", "one"), ("дом/two", "two")]);
        make(Path::new(&fuse.at("to")), &[("дом/one", "one"), ("дом/two", "two"), ("дом/old", "old")]);
        let run = mirror(&home, &fuse, options);
        expect(&run, 23, &["takes for the same", "nothing was removed"], &format!("{options:?}"));
        for (name, content) in [("one", "one"), ("two", "two"), ("old", "old")] {
            let path = fuse.at(&format!("to/дом/{name}"));
            has_content(Path::new(&path), content.as_bytes(), &format!("{options:?}"));
        }
    }
}

#[test]
fn the_second_of_two_sources_whose_names_are_one_is_refused() {
    for stands in [&[][..], &[("é", "old")], &[("É", "old")]] {
        for sources in [["1/É", "2/é"], ["1/Дом", "2/дом"], ["1/Дом", "2/file/дом"]] {
            let (home, fuse) = (Home::new(), Fuse::folding());
            let files = [
                ("1/É", "one"),
                ("2/é", "two"),
                ("1/Дом/one", "one"),
                ("2/дом/two", "two"),
                ("2/file/дом", "two"),
            ];
            make(&home.path("from"), &files);
            let to = fuse.at("to");
            fs::create_dir(&to).expect("room");
            make(Path::new(&to), stands);
            let [one, two] = sources.map(|name| home.path("from").join(name).display().to_string());
            let run = pump(&["copy", &one, &two, &to]);
            let row = format!("{sources:?} {stands:?}: {run:?}");
            assert_eq!(run.status, 23, "{row}");
            let there: Vec<_> =
                fs::read_dir(&to).expect("it is there").flatten().map(|entry| entry.path()).collect();
            let is_replaced = sources[0] == "1/É" && !stands.is_empty();
            assert_eq!(there.len(), stands.len() + usize::from(!is_replaced), "{row}: {there:?}");
            for (name, content) in &files {
                assert_eq!(
                    fs::read_to_string(home.path("from").join(name)).expect("a source"),
                    *content,
                    "{row}"
                );
            }
        }
    }
}

#[test]
fn what_is_too_much_is_removed_below_a_folder_that_is_written_otherwise() {
    for options in WAYS {
        let (home, fuse) = (Home::new(), Fuse::folding());
        make(&home.path("from"), &[("Дом/Сад/one", "one")]);
        make(
            Path::new(&fuse.at("to")),
            &[("дом/сад/one", "old"), ("дом/сад/old", "old"), ("дом/old", "old")],
        );
        expect(&mirror(&home, &fuse, options), 0, &[], &format!("{options:?}"));
        for (name, stands) in [("дом/сад/one", true), ("дом/сад/old", false), ("дом/old", false)]
        {
            assert_eq!(Path::new(&fuse.at(&format!("to/{name}"))).exists(), stands, "{options:?} {name}");
        }
    }
}

#[test]
fn a_name_that_is_that_of_the_list_in_capitals_loses_nothing() {
    for stands in [false, true] {
        for cut in [false, true] {
            let (home, fuse) = (Home::new(), Fuse::folding());
            make(&home.path("from"), &[(".PUMP-JOB", "precious"), ("a", "a"), ("b", "b")]);
            let to = fuse.at("to");
            if stands || cut {
                fs::create_dir(&to).expect("room");
                set_mode(Path::new(&to), 0o700);
            }
            let (from, row) = (home.path("from").display().to_string(), format!("{stands} {cut}"));
            if cut {
                // A list is left where a file cannot be copied.
                fs::create_dir_all(fuse.at("to/a/in the way")).expect("room");
                assert_ne!(pump(&["copy", "-T", "--exclude=.PUMP-JOB", &from, &to]).status, 0, "{row}");
                fs::remove_dir_all(fuse.at("to/a")).expect("it stands there");
            }
            let run = pump(&["copy", "-T", &from, &to]);
            let copied = fs::read(fuse.at("to/.PUMP-JOB")).is_ok_and(|content| content == b"precious");
            assert!(copied || run.status == 23, "{row}: {run:?}");
        }
    }
}

#[test]
fn names_that_are_temporary_ones_in_capitals_are_copied() {
    let (home, fuse) = (Home::new(), Fuse::folding());
    let (large, mut names) = (noise(3_000_001, 1), Vec::new());
    for number in 0..4 {
        let name = format!("large{number}");
        // FNV-1a of the name, as it is for files that take long.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        names.push(format!(".PUMP-{hash:016X}"));
        make(&home.path("from"), &[(&names[number], "precious")]);
        fs::write(home.path("from").join(&name), &large).expect("room");
    }
    for round in 0..2 {
        expect(&pump(&["copy", "-T", &home.path("from").display().to_string(), &fuse.at("to")]), 0, &[], "");
        for (number, name) in names.iter().enumerate() {
            has_content(Path::new(&fuse.at(&format!("to/{name}"))), b"precious", &format!("{round}"));
            has_content(Path::new(&fuse.at(&format!("to/large{number}"))), &large, &format!("{round}"));
        }
    }
}

/// What the files of a folder hold, sorted.
fn contents(folder: &Path) -> Vec<String> {
    let there = fs::read_dir(folder).expect("it is there").flatten();
    let mut contents: Vec<_> = there.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect();
    contents.sort();
    contents
}

/// A backup has no name that the file system takes for one of the source, whichever of the two comes first.
#[test]
fn no_backup_takes_the_place_of_a_copy_whose_name_is_one_with_its_own() {
    const OLD: &str = "what stood there";
    for (name, like, flags) in [
        ("z", "Z~", &["--backup"][..]),
        ("z", "Z~", &["--backup=existing", "--lanes", "1"]),
        ("z", "Z~", &["--backup", "--update"]),
        ("z", "Z.~1~", &["--backup=numbered"]),
        ("z", "Z.Orig", &["--backup", "--suffix=.orig"]),
        ("я", "Я~", &["--backup"]),
        ("dir/z", "dir/Z~", &["--backup"]),
        ("z", "Z~", &["--backup", "--delete"]),
    ] {
        for (stands, is_named, is_extra) in [
            (false, false, false),
            (true, false, false),
            (false, true, false),
            (true, true, false),
            (false, false, true),
        ] {
            let is_deleted = flags.contains(&"--delete");
            if (is_named && (name.contains('/') || is_deleted)) || is_extra != is_deleted {
                continue;
            }
            let row = format!("{name} {like} {flags:?}, stands {stands}, named {is_named}");
            let (home, fuse) = (Home::new(), Fuse::folding());
            let (from, to) = (home.path("from"), fuse.at("to"));
            make(&from, &[(like, "new like a backup")]);
            if !is_extra {
                make(&from, &[(name, "new")]);
            }
            make(Path::new(&to), &[(name, OLD)]);
            set_mtime(&Path::new(&to).join(name), 0);
            if stands {
                make(Path::new(&to), &[(like, "old like a backup")]);
                set_mtime(&Path::new(&to).join(like), 0);
            }
            let whole = format!("{}/", from.display());
            let [one, other] = [name, like].map(|name| from.join(name).display().to_string());
            let sources = if !is_named {
                [&whole, ""]
            } else if stands {
                [&*other, &one]
            } else {
                [&*one, &other]
            };
            let sources = sources.iter().filter(|source| !source.is_empty());
            let target = format!("{to}/");
            let words: Vec<&str> =
                ["copy"].iter().chain(flags).chain(sources).copied().chain([&*target]).collect();
            expect(&pump(&words), 0, &[], &row);
            has_content(&Path::new(&to).join(like), b"new like a backup", &row);
            if !is_extra {
                has_content(&Path::new(&to).join(name), b"new", &row);
            }
            let mut expected = vec!["new like a backup", OLD];
            expected.extend((!is_extra).then_some("new"));
            expected.extend(stands.then_some("old like a backup"));
            expected.sort_unstable();
            let folder = Path::new(&to).join(name);
            assert_eq!(contents(folder.parent().expect("one")), expected, "{row}");
        }
    }
}
