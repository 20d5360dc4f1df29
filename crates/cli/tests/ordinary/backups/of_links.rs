//! `--backup` where a symbolic link stands in the place of a named target: the link is the backup, as with cp and
//! rsync, and no source loses what it leads through.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use crate::support::{Home, expect, make_fifo, make_folder, make_symlink};

/// `s/esc` to be copied, and a link to these words in its place.
fn home(words: &str) -> Home {
    let home = Home::new();
    for folder in ["s", "l", "out", "out/folder"] {
        make_folder(&home, folder);
    }
    for (name, text) in [("s/esc", "new"), ("out/f", "out"), ("l/inside", "inside")] {
        fs::write(home.path(name), text).expect("room");
    }
    make_fifo(&home.path("out/pipe"));
    make_symlink(&home, words, "l/esc");
    home
}

fn link(home: &Home, name: &str) -> String {
    let to = fs::read_link(home.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    to.display().to_string()
}

#[test]
fn a_link_in_the_place_of_a_named_target_is_the_backup() {
    let words = ["inside", "../out/f", "nothing", "../out/nothing", "../out/pipe", "/dev/null", "esc"];
    for to in words {
        for (flags, backup) in [
            ("--backup", "l/esc~"),
            ("--backup=numbered", "l/esc.~1~"),
            ("--backup --suffix=.orig", "l/esc.orig"),
            ("--backup-dir=../kept", "kept/esc"),
            ("--backup-dir=kept", "l/kept/esc"),
            ("--backup --update=differs", "l/esc~"),
        ] {
            for target in ["l", "l/esc"] {
                let home = home(to);
                let line = format!("copy {flags} s/esc {target}");
                let row = format!("{line}, a link to {to}");
                let words: Vec<&str> = line.split(' ').collect();
                expect(&home.pump(&[&words[..], &["-n"]].concat()), 0, &[], &format!("{row}, dry"));
                assert_eq!(link(&home, "l/esc"), to, "{row}, dry");
                expect(&home.pump(&words), 0, &[], &row);
                assert!(!home.path("l/esc").is_symlink(), "{row}");
                assert_eq!((home.text("l/esc"), link(&home, backup)), ("new".into(), to.into()), "{row}");
                assert_eq!(["out/f", "l/inside"].map(|name| home.text(name)), ["out", "inside"], "{row}");
                assert!(!home.path("out/nothing").exists() && !home.path("l/nothing").exists(), "{row}");
                let pipe = home.path("out/pipe").symlink_metadata().expect("it stays");
                assert!(pipe.file_type().is_fifo(), "{row}");
            }
        }
    }
}

/// A link that is named as the target and leads to a folder is that folder, as ever.
#[test]
fn a_link_to_a_folder_gives_way_below_the_target_alone() {
    let home = home("../out/folder");
    expect(&home.pump(&["copy", "--backup", "s/esc", "l"]), 0, &[], "below the target");
    assert_eq!((home.text("l/esc"), link(&home, "l/esc~")), ("new".into(), "../out/folder".into()));
    let home = self::home("../out/folder");
    expect(&home.pump(&["copy", "--backup", "s/esc", "l/esc"]), 0, &[], "it is the target");
    assert_eq!(home.text("out/folder/esc"), "new");
    assert!(home.path("l/esc").is_symlink());
}

#[test]
fn the_same_in_trees_and_of_several_files() {
    for line in ["copy --backup s/ l", "copy --backup s/esc s/other l", "copy --backup s/esc s/second l"] {
        let home = home("../out/f");
        fs::write(home.path("s/other"), "other").expect("room");
        fs::hard_link(home.path("s/esc"), home.path("s/second")).expect("links");
        make_symlink(&home, "../out/f", "l/second");
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], line);
        assert_eq!((home.text("l/esc"), home.text("out/f")), ("new".into(), "out".into()), "{line}");
        assert_eq!(link(&home, "l/esc~"), "../out/f", "{line}");
        if !line.contains("other") {
            let backups = ["l/second", "l/second~"].map(|name| home.path(name).is_symlink());
            assert_eq!(backups, [false, true], "{line}");
        }
    }
}

#[test]
fn what_programs_have_open_stays_what_it_is() {
    let home = home("/dev/stdout");
    let outcome = home.pump(&["copy", "--backup", "s/esc", "/dev/stdout"]);
    expect(&outcome, 0, &[], "standard output");
    assert!(outcome.out.contains("new"), "{outcome:?}");
    assert!(!std::path::Path::new("/dev/stdout~").exists());
    let null = fs::metadata("/dev/null").expect("it is there");
    expect(&home.pump(&["copy", "--backup", "s/esc", "/dev/null"]), 0, &[], "a device");
    assert_eq!(fs::metadata("/dev/null").expect("it is there").ino(), null.ino());
    // Without --backup the link is followed as ever.
    let home = self::home("../out/f");
    expect(&home.pump(&["copy", "s/esc", "l"]), 0, &[], "no backup");
    assert_eq!((link(&home, "l/esc"), home.text("out/f")), ("../out/f".into(), "new".into()));
}

/// `l/esc` would be another file when the source is read, or the source would be the link's own backup.
#[test]
fn a_link_that_a_source_leads_through_is_not_taken_aside() {
    for (to, line) in [
        ("../out/f", "copy --backup l/esc l/esc"),
        ("../out/f", "copy --backup s/esc by l"),
        ("../out/f", "copy --backup-dir ../kept s/esc by l"),
        ("../out", "copy --backup s/esc l/esc/f l"),
    ] {
        let home = home(to);
        make_symlink(&home, "l/esc", "by");
        for dry in [&["-n"][..], &[]] {
            let words: Vec<&str> = line.split(' ').collect();
            let outcome = home.pump(&[&words[..], dry].concat());
            let said = "source '";
            expect(&outcome, 2, &["l/esc", said], line);
            assert_eq!((link(&home, "l/esc"), home.text("out/f")), (to.into(), "out".into()), "{line}");
            assert!(!home.path("l/esc~").is_symlink() && !home.path("kept").exists(), "{line}");
        }
    }
}

#[test]
fn a_simple_backup_of_the_name_of_another_source_gets_a_number() {
    for (line, names) in [
        // A link among the sources leads to the name of the backup.
        ("copy --backup s/b by t", "t/b t/b~"),
        ("copy --backup --suffix=.old s/b old t", "t/b t/b.old"),
        ("copy --backup-dir ../kept s/b kept_too t", "t/b kept/b"),
        ("copy --backup-dir ../kept --suffix=~ s/b kept/b~ t", "t/b kept/b~"),
        ("copy -a --backup-dir ../kept --suffix=- s/b kept/b- t", "t/b kept/b-"),
    ] {
        let home = Home::new();
        for folder in ["s", "t", "kept"] {
            make_folder(&home, folder);
        }
        for name in ["s/b", "t/b", "t/b~", "t/b.old", "kept/b", "kept/b~"] {
            fs::write(home.path(name), name).expect("room");
        }
        for (to, name) in [("t/b~", "by"), ("t/b.old", "old"), ("kept/b", "kept_too"), ("../s/b", "kept/b-")]
        {
            make_symlink(&home, to, name);
        }
        let before: Vec<String> = names.split(' ').map(|name| home.text(name)).collect();
        for dry in [&["-n"][..], &[]] {
            let words: Vec<&str> = line.split(' ').collect();
            let outcome = home.pump(&[&words[..], dry].concat());
            expect(&outcome, 0, &[], line);
            assert_eq!(home.text(names.split(' ').nth(1).expect("two")), before[1], "{line}");
        }
        assert_eq!(home.text("t/b"), "s/b", "{line}");
        let numbered = line
            .replace("--backup ", "--backup=numbered ")
            .replace("--backup-dir", "--backup=numbered --backup-dir");
        expect(&home.pump(&numbered.split(' ').collect::<Vec<_>>()), 0, &[], &numbered);
        assert_eq!(home.text("t/b"), "s/b", "{numbered}");
        assert_eq!(home.text(names.split(' ').nth(1).expect("two")), before[1], "{numbered}");
    }
}

/// A hard link of a source under the backup's name is one of several names: the source keeps its own.
#[test]
fn a_hard_link_of_a_source_is_no_reason_to_refuse() {
    let home = Home::new();
    for folder in ["s", "t"] {
        make_folder(&home, folder);
    }
    for name in ["s/b", "s/c", "t/b"] {
        fs::write(home.path(name), name).expect("room");
    }
    fs::hard_link(home.path("s/c"), home.path("t/b~")).expect("links");
    expect(&home.pump(&["copy", "--backup", "s/b", "s/c", "t"]), 0, &[], "a hard link");
    let found = ["s/c", "t/b", "t/c"].map(|name| home.text(name));
    assert_eq!(found, ["s/c", "s/b", "s/c"]);
    let kept = ["t/b~", "t/b.~1~"].map(|name| fs::read_to_string(home.path(name)).unwrap_or_default());
    assert!(kept.contains(&"t/b".to_owned()), "{kept:?}");
}

/// The backup of a file in a tree is not known before the walk: it gets a number.
#[test]
fn no_backup_of_a_tree_replaces_a_source_that_was_named() {
    let home = Home::new();
    for folder in ["s", "t", "t/s"] {
        make_folder(&home, folder);
    }
    for name in ["s/b", "t/s/b", "t/s/b~"] {
        fs::write(home.path(name), name).expect("room");
    }
    make_symlink(&home, "t/s/b~", "by");
    expect(&home.pump(&["copy", "--backup", "s", "by", "t"]), 0, &[], "a link leads to a backup");
    let found = ["t/s/b", "t/s/b~", "t/s/b.~1~", "t/by"].map(|name| home.text(name));
    assert_eq!(found, ["s/b", "t/s/b~", "t/s/b", "t/s/b~"]);
}
