//! `--backup-dir`: where it may not lie, which is said before anything is written, and what its folders are like.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::listing::paths;
use crate::support::serving::Serving;
use crate::support::{Home, as_ordinary_user, expect, is_root, make_folder, make_symlink, set_mode};

/// Two sources, and a target that has older names of theirs.
fn home() -> Home {
    let home = Home::new();
    for folder in ["one", "one/sub", "two", "two/sub", "old", "old/one", "old/two", "out"] {
        make_folder(&home, folder);
    }
    for name in ["one/a", "one/sub/b", "two/c", "file", "old/one/a", "old/two/c", "old/file", "old/a"] {
        fs::write(home.path(name), name).expect("room");
    }
    make_symlink(&home, "two", "by");
    home
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o7777
}

/// Refused, dry or not, and nothing is written.
fn refused(home: &Home, line: &str, said: &[&str]) {
    let before = paths(&home.path(""));
    let contents = || ["old/one/a", "old/two/c", "old/file", "old/a"].map(|name| home.text(name));
    let kept = contents();
    for dry in [&["-n"][..], &[]] {
        let words: Vec<&str> = line.split(' ').collect();
        expect(&home.pump(&[&words[..], dry].concat()), 2, said, &format!("{line} {dry:?}"));
        assert_eq!(paths(&home.path("")), before, "{line} {dry:?}");
        assert_eq!(contents(), kept, "{line} {dry:?}");
    }
}

#[test]
fn a_source_is_no_folder_of_backups() {
    for (line, source) in [
        ("copy --backup-dir ../two one two old", "two"),
        ("copy --backup-dir ../by file two old", "two"),
        ("copy --backup-dir ../none/../one one old", "one"),
        ("mirror --backup-dir ../one one/ old", "one/"),
    ] {
        refused(&home(), line, &["--backup-dir is the source", source, "name a folder outside"]);
    }
}

/// No backup takes a name in it that the copy may still read.
#[test]
fn a_folder_of_backups_in_a_source_is_left_out_where_it_is_met() {
    for line in ["copy --backup-dir ../two/sub one/ two old", "copy --backup-dir ../by/sub two one/ old"] {
        let home = home();
        fs::write(home.path("two/sub/a"), "source").expect("room");
        for run in ["the first run", "the second run"] {
            let row = format!("{line}: {run}");
            let said = ["two/sub': is the folder of backups; it is left out"];
            expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 23, &said, &row);
            assert_eq!(["old/a", "old/two/c"].map(|name| home.text(name)), ["one/a", "two/c"], "{row}");
            assert_eq!(home.text("two/sub/a"), "source", "{row}");
            assert_eq!(home.text("two/sub/a.~1~"), "old/a", "{row}");
        }
    }
}

/// A name that is missing is taken back by `..`, as with rsync.
#[test]
fn a_folder_of_backups_is_named_by_way_of_what_is_missing() {
    for folder in ["zz/../kept", "./zz/y/../../kept", "two/../kept/./"] {
        let home = home();
        for round in ["one", "two"] {
            fs::write(home.path("one/a"), round).expect("room");
            let copy = ["copy", "--backup=numbered", "--backup-dir", folder, "one/", "old"];
            expect(&home.pump(&copy), 0, &[], round);
        }
        assert_eq!(home.text("old/kept/a.~2~"), "one", "{folder}");
        assert!(!home.path("old/zz").exists(), "{folder}");
    }
    refused(&home(), "mirror --backup-dir kept/.. one/ old", &["--backup-dir is the target itself"]);
}

/// What would be copied to where the backups lie is left out there.
#[test]
fn a_name_of_the_source_where_the_backups_lie_is_left_out() {
    for line in ["copy --backup-dir sub one/ old", "copy --backup-dir two/sub one two old"] {
        let home = home();
        fs::write(home.path("two/sub/b"), "source").expect("room");
        for run in ["the first run", "the second run"] {
            let row = format!("{line}: {run}");
            let said = ["sub': is the folder of backups", "of the source is left out"];
            expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 23, &said, &row);
        }
        let kept = if line.contains("two/") { "old/two/sub/one/a" } else { "old/sub/a" };
        let before = if line.contains("two/") { "old/one/a" } else { "old/a" };
        assert_eq!(home.text(kept), before, "{line}");
    }
}

/// What the rules leave out is not copied, whatever is put there.
#[test]
fn a_folder_of_backups_that_is_excluded_may_lie_in_the_source() {
    for line in [
        "copy --backup-dir ../one/kept --exclude=/kept one/ old",
        "copy --backup-dir ../one/kept/deep --exclude=/kept one/ old",
        "copy --backup-dir sub --exclude=/sub one/ old",
        "copy --backup-dir sub/deep --exclude=sub/ one/ old",
    ] {
        let home = home();
        for _ in 0..2 {
            expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], line);
            assert!(!home.path("old/kept").exists(), "{line}");
        }
        assert_eq!(home.text("old/a"), "one/a", "{line}");
    }
}

#[test]
fn the_target_itself_is_no_folder_of_backups_and_the_words_say_what_to_write() {
    for (line, said) in [
        ("copy --backup-dir . --suffix .bak one/ old", "write --backup for backups beside"),
        ("copy --backup-dir . --suffix .bak one two old", "write --backup for backups beside"),
        ("copy --backup-dir . --suffix .bak file old", "write --backup for backups beside"),
        ("copy --backup-dir ./ file old", "write --backup for backups beside"),
        ("copy --backup-dir ../old one/ old", "--backup-dir is the target itself"),
        ("copy --backup-dir one one old", "--backup-dir is the target itself"),
        ("mirror --backup-dir d one d", "--backup-dir is the target itself"),
        ("copy --backup-dir ./d one d", "--backup-dir is the target itself"),
        ("copy --backup-dir two two out", "--backup-dir is the target itself"),
        ("copy --backup-dir two file two out", "--backup-dir is the target itself"),
        ("copy --backup-dir c one/a two/c out", "--backup-dir is the target itself"),
        ("copy --backup-dir two one two out", "--backup-dir is the target itself"),
        ("copy --backup-dir two one two old", "--backup-dir is the target itself"),
    ] {
        refused(&home(), line, &[said]);
    }
}

#[test]
fn what_is_no_folder_is_refused_before_anything_is_written() {
    for line in ["copy --backup-dir ../file one/ old", "copy --backup-dir ../file/x file old"] {
        refused(&home(), line, &["--backup-dir is not a directory"]);
    }
    let home = home();
    make_symlink(&home, "nowhere", "gone");
    refused(&home, "copy --backup-dir ../gone file old", &["--backup-dir is a symbolic link to nothing"]);
}

/// The server's working folder has a file of the name that is missing in the folder that it serves.
#[test]
fn folders_that_will_be_made_are_those_of_the_served_folder() {
    for target in ["new/deep/", "new/deep/file"] {
        let home = home();
        fs::write(home.path("new"), "x").expect("room");
        make_folder(&home, "served");
        let serving = Serving::new(&home, &[]);
        let to = serving.at(target);
        let copy = ["copy", "--ticket-file", "ticket", "--mkpath", "--backup-dir", "old", "file", &to];
        expect(&home.pump(&copy), 0, &[], target);
        assert_eq!(home.text("served/new/deep/file"), "file", "{target}");
    }
}

#[test]
fn another_file_system_is_refused_before_anything_is_written() {
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    let home = home();
    let device = |path: &Path| path.metadata().expect("it is there").dev();
    if device(other.path()) == device(&home.path("")) {
        return;
    }
    for kept in [other.path().to_path_buf(), other.path().join("new/er")] {
        let kept = kept.display();
        for rest in ["one/ old", "one two old", "file old", "file old/file", "one new", "file new"] {
            let said = ["is not on the file system of the target", "name a folder on that one"];
            refused(&home, &format!("copy --backup-dir {kept} {rest}"), &said);
        }
        let line = format!("copy -n --mkpath --backup-dir {kept} file new/er/");
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 2, &["not on the file system"], &line);
    }
    assert_eq!(fs::read_dir(other.path()).expect("it is there").count(), 0);
}

#[test]
fn folders_of_backups_are_like_those_that_they_stand_for() {
    for (flags, kept, line) in [
        ("", "kept", "copy --backup-dir ../kept new/ old"),
        ("", "kept", "copy --backup-dir ../kept --delete new/ old"),
        ("", "old/kept", "copy --backup-dir kept --delete new/ old"),
        ("--sync=none ", "kept", "copy --backup-dir ../kept new/ old"),
    ] {
        let home = Home::new();
        for folder in ["new", "new/sub", "new/sub/deep", "old", "old/sub", "old/sub/deep", "old/gone"] {
            make_folder(&home, folder);
        }
        for name in ["a", "sub/b", "sub/deep/c"] {
            fs::write(home.path(format!("new/{name}")), "new").expect("room");
            fs::write(home.path(format!("old/{name}")), name).expect("room");
        }
        fs::write(home.path("old/gone/d"), "d").expect("room");
        let modes = [("old", 0o751), ("old/sub", 0o500), ("old/sub/deep", 0o1770), ("old/gone", 0o705)];
        for (folder, mode) in modes.into_iter().rev() {
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            fs::File::open(home.path(folder)).and_then(|open| open.set_modified(then)).expect("it is ours");
            set_mode(&home.path(folder), mode);
        }
        let row = format!("{line} {flags}");
        let row = row.trim_end();
        expect(&home.pump(&row.split(' ').collect::<Vec<_>>()), 0, &[], row);
        for (folder, expected) in modes {
            if folder.ends_with("gone") && !line.contains("--delete") {
                continue;
            }
            let backup = home.path(format!("{kept}{}", folder.trim_start_matches("old")));
            assert_eq!(mode(&backup), expected, "{row}: {}", backup.display());
            assert_eq!(backup.metadata().expect("it is there").mtime(), 1_000_000_000, "{row}: {folder}");
        }
        // More backups go into a folder that is closed, and it is closed again.
        fs::write(home.path("new/sub/b"), "newer").expect("room");
        let again = row.replace("copy", "copy --backup=numbered");
        expect(&home.pump(&again.split(' ').collect::<Vec<_>>()), 0, &[], &again);
        assert_eq!(home.text(format!("{kept}/sub/b.~1~")), "new", "{again}");
        assert_eq!(mode(&home.path(format!("{kept}/sub"))), 0o500, "{again}");
        if kept != "kept" {
            continue;
        }
        // What was copied back is as it was, folders too.
        expect(&home.pump(&["copy", "kept/", "old"]), 0, &[], "back");
        for (folder, expected) in &modes[..3] {
            assert_eq!(mode(&home.path(folder)), *expected, "{row}: {folder} again");
        }
        assert_eq!(["a", "sub/b"].map(|name| home.text(format!("old/{name}"))), ["a", "sub/b"], "{row}");
    }
}

#[test]
fn a_folder_for_backups_of_named_files_is_like_the_target() {
    let home = home();
    set_mode(&home.path("old"), 0o2711);
    expect(&home.pump(&["copy", "--backup-dir", "../kept/er", "file", "old"]), 0, &[], "a file");
    assert_eq!((mode(&home.path("kept/er")), home.text("kept/er/file")), (0o2711, "old/file".into()));
    // A folder that stands there keeps what it has.
    set_mode(&home.path("out"), 0o700);
    fs::write(home.path("file"), "another").expect("room");
    expect(&home.pump(&["copy", "--backup-dir", "../out", "file", "one", "old"]), 0, &[], "it stood there");
    assert_eq!((mode(&home.path("out")), home.text("out/file")), (0o700, "file".into()));
    assert_eq!(mode(&home.path("out/one")), mode(&home.path("old/one")));
}

/// Where a mode closes a folder to its owner, backups go into it all the same.
#[test]
fn an_ordinary_user_fills_folders_of_backups_that_are_closed() {
    const NOBODY: u32 = 65_534;
    let home = Home::new();
    for folder in ["new", "new/sub", "old", "old/sub"] {
        make_folder(&home, folder);
    }
    for round in ["one", "two", "three"] {
        for name in ["new/sub/b", "new/sub/c"] {
            fs::write(home.path(name), format!("{round}{name}")).expect("room");
        }
        if round == "one" {
            fs::write(home.path("old/sub/b"), "b").expect("room");
            fs::write(home.path("old/sub/c"), "c").expect("room");
            set_mode(&home.path("old/sub"), 0o555);
            set_mode(&home.path("new/sub"), 0o555);
            let all = paths(&home.path("")).into_iter().map(|path| home.path(path));
            all.filter(|_| is_root())
                .for_each(|path| chown(path, Some(NOBODY), Some(NOBODY)).expect("root may"));
        }
        let copy = ["copy", "--backup=numbered", "--backup-dir", "../kept", "new/", "old"];
        let Some(outcome) = as_ordinary_user(&home, &copy) else { return };
        expect(&outcome, 0, &[], round);
        assert_eq!(mode(&home.path("kept/sub")), 0o555, "{round}");
    }
    let found = paths(&home.path("kept"));
    assert_eq!(found.iter().filter(|path| path.starts_with("sub")).count(), 7, "{found:?}");
}

/// `--delete` leaves it alone wherever it lies in the target, and what it removes has a backup there.
#[test]
fn delete_spares_the_folder_of_backups_and_every_name_of_a_file_has_its_backup() {
    for kept in ["kept", "deep/er/kept"] {
        let home = home();
        fs::write(home.path("old/x"), "x").expect("room");
        fs::hard_link(home.path("old/x"), home.path("old/y")).expect("links");
        fs::hard_link(home.path("old/x"), home.path("old/two/z")).expect("links");
        for (round, copied) in ["one/", "one/"].into_iter().enumerate() {
            let copy = ["copy", "--delete", "--backup-dir", kept, copied, "old"];
            expect(&home.pump(&copy), 0, &[], &format!("{kept}, round {round}"));
            let names = ["x", "y", "two/z", "one/a", "file"];
            let found = names.map(|name| home.text(format!("old/{kept}/{name}")));
            assert_eq!(found, ["x", "x", "x", "old/one/a", "old/file"], "{kept}, round {round}");
        }
    }
    for (flag, backups) in [
        ("--backup", ["x~", "y~"]),
        ("--backup=numbered", ["x.~1~", "y.~1~"]),
        ("--backup=existing", ["x~", "y~"]),
    ] {
        let home = home();
        for name in ["old/x", "old/x~"] {
            fs::write(home.path(name), name).expect("room");
        }
        fs::hard_link(home.path("old/x"), home.path("old/y")).expect("links");
        fs::hard_link(home.path("old/x"), home.path("old/z~")).expect("links");
        expect(&home.pump(&["copy", "--delete", flag, "one/", "old"]), 0, &[], flag);
        let found = backups.map(|name| home.text(format!("old/{name}")));
        assert_eq!(found, ["old/x", "old/x"], "{flag}");
        assert!(fs::metadata(home.path("old/x")).is_err() && fs::metadata(home.path("old/y")).is_err());
    }
}

/// A link of the source that took the name of the folder of backups would lead them into what it leads to.
#[test]
fn no_name_of_the_source_takes_the_place_of_the_folder_of_backups() {
    for (existing, flags) in
        [(false, &["copy"][..]), (true, &["copy"]), (false, &["copy", "-n"]), (true, &["copy", "-n"])]
    {
        let home = Home::new();
        make_folder(&home, "to");
        for folder in 0..8 {
            for side in ["from", "to"] {
                fs::create_dir_all(home.path(format!("{side}/y{folder}/y"))).expect("room");
                fs::write(home.path(format!("{side}/y{folder}/y/f")), format!("of {side}")).expect("room");
            }
        }
        if existing {
            make_folder(&home, "to/a");
        }
        make_symlink(&home, "../from", "from/a");
        let run = home.pump(
            &[flags, &["--update=differs", "--checksum", "--backup", "--backup-dir=a", "from/", "to"]]
                .concat(),
        );
        assert!(
            run.status == 23 && run.err.contains("is where the folder of backups is"),
            "{flags:?}: {run:?}"
        );
        for folder in 0..8 {
            let content = |name: String| fs::read_to_string(home.path(name)).ok();
            let old = if flags.contains(&"-n") {
                format!("to/y{folder}/y/f")
            } else {
                format!("to/a/y{folder}/y/f")
            };
            assert_eq!(content(format!("from/y{folder}/y/f")).as_deref(), Some("of from"), "{flags:?}");
            assert_eq!(content(old).as_deref(), Some("of to"), "{flags:?}");
        }
    }
}

/// A link that leads to the folder of backups is on the way to it: what replaced it would lead the next tree elsewhere.
#[test]
fn no_name_of_the_source_replaces_a_link_to_the_folder_of_backups() {
    for sources in [&["one/", "two/"][..], &["two/", "one/"], &["one/"]] {
        let home = Home::new();
        for name in ["to", "kept", "one", "two"] {
            make_folder(&home, name);
        }
        for side in ["one", "two", "to"] {
            for folder in 0..8 {
                let name = if side == "to" { "one" } else { side };
                fs::create_dir_all(home.path(format!("{side}/{name}{folder}"))).expect("room");
                fs::write(home.path(format!("{side}/{name}{folder}/f")), format!("of {side}")).expect("room");
            }
        }
        make_symlink(&home, "../kept", "to/a");
        make_symlink(&home, "../one", "one/a");
        let flags = &["copy", "--checksum", "--update=differs", "--backup", "--backup-dir=a"][..];
        let run = home.pump(&[flags, sources, &["to"]].concat());
        assert!(run.status == 23 && run.err.contains("is where the folder of backups is"), "{run:?}");
        for folder in 0..8 {
            let content = |name: &str| fs::read_to_string(home.path(format!("{name}/one{folder}/f"))).ok();
            assert_eq!(content("one").as_deref(), Some("of one"), "{sources:?}");
            assert_eq!(content("kept").as_deref(), Some("of to"), "{sources:?}");
        }
    }
}
