//! `--backup`, `--backup-dir`, `--suffix`: what is replaced or removed is kept, and no name is missing meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::listing::paths;
use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, make_symlink};

/// A tree, and an older one that a copy of it changes: a file, a link, a file where a folder comes, one too many.
fn home() -> Home {
    let home = Home::new();
    for folder in ["new", "new/sub", "new/turns", "old", "old/sub"] {
        make_folder(&home, folder);
    }
    for (name, content) in [
        ("new/a", "new a"),
        ("new/sub/b", "new b"),
        ("new/turns/c", "c"),
        ("old/a", "a"),
        ("old/sub/b", "b"),
        ("old/turns", "turns"),
        ("old/sub/gone", "gone"),
    ] {
        fs::write(home.path(name), content).expect("room");
    }
    make_symlink(&home, "here", "new/link");
    make_symlink(&home, "there", "old/link");
    home
}

fn found(home: &Home, folder: &str) -> BTreeSet<String> {
    paths(&home.path(folder))
        .into_iter()
        .map(|path| path.display().to_string())
        .filter(|name| !name.is_empty())
        .collect()
}

fn words(line: &str) -> BTreeSet<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

const COPIED: &str = "a link sub sub/b turns turns/c ";

#[test]
fn what_is_replaced_or_removed_is_kept() {
    for (flags, left) in [
        ("--backup", "a~ link~ sub/b~ turns~ sub/gone"),
        ("--backup --delete", "a~ link~ sub/b~ turns~ sub/gone~"),
        ("--backup=numbered --delete", "a.~1~ link.~1~ sub/b.~1~ turns.~1~ sub/gone.~1~"),
        ("--backup=existing --delete", "a~ link~ sub/b~ turns~ sub/gone~"),
        ("--backup --suffix=.orig --delete", "a.orig link.orig sub/b.orig turns.orig sub/gone.orig"),
        (
            "--backup-dir kept/x --delete",
            "kept kept/x kept/x/a kept/x/link kept/x/sub kept/x/sub/b kept/x/sub/gone kept/x/turns",
        ),
        (
            "--backup-dir kept --suffix=- --delete",
            "kept kept/a- kept/link- kept/sub kept/sub/b- kept/sub/gone- kept/turns-",
        ),
        ("--backup=none --delete", ""),
    ] {
        let home = home();
        let line = format!("copy {flags} new/ old");
        let run = || home.pump(&line.split(' ').collect::<Vec<_>>());
        expect(&run(), 0, &[], &line);
        let expected = words(&format!("{COPIED}{left}"));
        assert_eq!(found(&home, "old"), expected, "{line}");
        if left.contains("a~") {
            assert_eq!((home.text("old/a"), home.text("old/a~")), ("new a".into(), "a".into()), "{line}");
        }
        // A backup is never removed by the next run; what is replaced again has one more, or another one.
        let again = format!("copy --update=differs {} new/ old", flags);
        expect(&home.pump(&again.split(' ').collect::<Vec<_>>()), 0, &[], &again);
        assert_eq!(found(&home, "old"), expected, "{again}");
        assert!(home.text("old/a").starts_with("new"), "{line}");
    }
}

/// As the page says.
#[test]
fn backups_go_with_a_later_delete_that_makes_none() {
    for (later, stays) in [
        ("--backup", true),
        ("--backup=existing", true),
        ("--exclude *~", true),
        ("--backup=none", false),
        ("--backup=numbered", false),
        ("--backup --suffix=.orig", false),
        ("--backup-dir kept", false),
        ("-q", false),
    ] {
        let home = home();
        expect(&home.pump(&["copy", "--backup", "--delete", "new/", "old"]), 0, &[], "the first run");
        assert_eq!(home.text("old/sub/gone~"), "gone", "{later}");
        let line = format!("copy --update=differs --delete {later} new/ old");
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], &line);
        assert_eq!(home.path("old/sub/gone~").exists(), stays, "{line}");
    }
    let page = Home::new().pump(&["man", "copy"]).out.replace("\\-", "-");
    assert!(page.contains("other flags for backups, or none, removes them"), "{page}");
}

#[test]
fn a_simple_backup_replaces_the_one_before_it_and_a_numbered_one_does_not() {
    for (flag, backups) in
        [("--backup", &[("a~", "two")][..]), ("--backup=numbered", &[("a.~1~", "one"), ("a.~2~", "two")])]
    {
        let home = Home::new();
        make_folder(&home, "old");
        for text in ["one", "two", "three"] {
            fs::write(home.path("a"), text).expect("room");
            expect(&home.pump(&["copy", flag, "a", "old"]), 0, &[], flag);
        }
        let names = backups.iter().map(|(name, _)| (*name).to_owned());
        let expected: BTreeSet<String> = names.chain(["a".to_owned()]).collect();
        assert_eq!(found(&home, "old"), expected, "{flag}");
        for (name, text) in backups {
            assert_eq!(home.text(format!("old/{name}")), *text, "{flag}");
        }
    }
    let page = Home::new().pump(&["man", "copy"]).out.replace("\\-", "-");
    assert!(page.contains("A simple backup replaces the one before it"), "{page}");
    assert!(page.contains("--backup=numbered keeps all of them"), "{page}");
}

#[test]
fn files_that_are_named_have_backups_too() {
    for (flags, left) in [
        ("--backup", "a~"),
        ("--backup=t", "a.~1~"),
        ("--backup-dir kept", "kept kept/a"),
        ("-n --backup", ""),
    ] {
        let home = home();
        let line = format!("copy {flags} new/a old");
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], &line);
        let before = "a link sub sub/b sub/gone turns ";
        assert_eq!(found(&home, "old"), words(&format!("{before}{left}")), "{line}");
    }
    let home = home();
    let absolute = home.path("kept").display().to_string();
    expect(&home.pump(&["copy", "--backup-dir", &absolute, "new/", "old"]), 0, &[], "an absolute folder");
    assert_eq!(home.text("kept/sub/b"), "b");
    for (line, said) in [
        ("copy --backup --inplace new/a old", "leave out --backup or --inplace"),
        ("copy --backup --suffix= new/a old", "write for example --suffix=.orig"),
        ("copy --backup --suffix=/x new/a old", "--backup-dir names another folder"),
        ("copy --backup=sometimes new/a old", "simple"),
        ("copy --suffix=.orig new/a old", "--suffix names backups; add --backup"),
    ] {
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 2, &[said], line);
    }
    let before = (found(&home, "new"), found(&home, "old"));
    for (folder, status, said) in [
        (".", 2, "--backup-dir is the target itself"),
        ("../old", 2, "--backup-dir is the target itself"),
        ("../new", 2, "--backup-dir is the source 'new/'"),
    ] {
        expect(&home.pump(&["copy", "--backup-dir", folder, "new/", "old"]), status, &[said], folder);
        assert_eq!((found(&home, "new"), found(&home, "old")), before, "{folder}: nothing is written");
    }
    let home = self::home();
    expect(&home.pump(&["copy", "--backup-dir", "../out", "new/a", "old"]), 0, &[], "beside DST");
    assert_eq!(home.text("out/a"), "a");
    fs::write(home.path("file"), "").expect("room");
    expect(
        &home.pump(&["copy", "--backup-dir", "../file", "new/a", "old"]),
        2,
        &["'../file'", "--backup-dir is not a directory"],
        "no folder",
    );
    assert_eq!(home.text("old/a"), "new a", "what has no backup is not replaced");
}

/// Makes a link with these words, or a file.
fn make(home: &Home, is_link: bool, text: &str, name: &str) {
    let _ = fs::remove_file(home.path(name));
    if is_link { make_symlink(home, text, name) } else { fs::write(home.path(name), text).expect("room") }
}

/// The words of a link, or what is in a file.
fn told(home: &Home, name: &str) -> String {
    match fs::read_link(home.path(name)) {
        Ok(words) => words.display().to_string(),
        Err(_) => home.text(name),
    }
}

#[test]
fn links_that_are_named_have_the_backups_of_files() {
    for (flags, backups) in [
        ("--backup", "old/x~"),
        ("--backup --suffix=.orig", "old/x.orig"),
        ("--backup=numbered", "old/x.~1~ old/x.~2~"),
        ("--backup=existing", "old/x~"),
        ("--backup-dir=kept", "old/kept old/kept/x"),
        ("--backup-dir=kept --suffix=-", "old/kept old/kept/x-"),
        ("--backup-dir=kept --backup=numbered", "old/kept old/kept/x.~1~ old/kept/x.~2~"),
        ("--backup-dir=../out/kept", "out out/kept out/kept/x"),
    ] {
        for (is_link, target) in [(true, "old"), (true, "old/x"), (false, "old"), (false, "old/x")] {
            let home = Home::new();
            for folder in ["new", "old"] {
                make_folder(&home, folder);
            }
            // What lies beside the source, and is not copied, is no reason for a number.
            fs::write(home.path("new/x~"), "beside").expect("room");
            let line = format!("copy -a {flags} new/x {target}");
            for text in ["one", "two", "three"] {
                make(&home, is_link, text, "new/x");
                expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], &line);
            }
            let row = format!("{line}, a link: {is_link}");
            let expected = words(&format!("new new/x new/x~ old old/x {backups}"));
            assert_eq!(found(&home, ""), expected, "{row}");
            let last = backups.split(' ').next_back().expect("a backup");
            assert_eq!(["old/x", last].map(|name| told(&home, name)), ["three", "two"], "{row}");
            assert_eq!(home.path(last).is_symlink(), is_link, "{row}");
        }
    }
}

#[test]
fn another_host_keeps_them_too() {
    let home = home();
    make_folder(&home, "served");
    fs::rename(home.path("old"), home.path("served/old")).expect("room");
    let serving = Serving::new(&home, &[]);
    let copy = ["copy", "--ticket-file", "ticket", "--backup", "--delete"];
    expect(&home.pump(&[&copy[..], &["new/", &serving.at("old")]].concat()), 0, &[], "push");
    let expected = words(&format!("{COPIED}a~ link~ sub/b~ turns~ sub/gone~"));
    assert_eq!(found(&home, "served/old"), expected);
    let absolute = home.path("out").display().to_string();
    for folder in [&*absolute, "../out"] {
        let out = ["copy", "--ticket-file", "ticket", "--backup-dir", folder, "new/a", &serving.at("old/a")];
        let run = home.pump(&out);
        assert!(
            run.status != 0 && !home.path("out").exists() && !home.path("served/out").exists(),
            "{folder} is none of the client's: {run:?}"
        );
        expect(&run, 5, &["is refused by pump serve; name a", "the target"], folder);
    }
    make_folder(&home, "out");
    make_symlink(&home, "../../out", "served/old/away");
    let away = ["copy", "--ticket-file", "ticket", "--backup-dir", "away", "new/a", &serving.at("old/a")];
    let run = home.pump(&away);
    let is_said = run.err.contains("name a folder below the target");
    assert!(run.status != 0 && is_said && found(&home, "out").is_empty(), "a link leads out: {run:?}");
    fs::write(home.path("served/old/a"), "newer a").expect("room");
    let pull = ["--exclude", "*~", "--exclude", "away", &serving.at("old/"), "new"];
    expect(&home.pump(&[&copy[..], &pull].concat()), 0, &[], "pull");
    assert_eq!((home.text("new/a"), home.text("new/a~")), ("newer a".into(), "new a".into()));
    // A copy that is pulled has its backups here, in any folder.
    let source = serving.at("old/a");
    fs::write(home.path("served/old/a"), "newest a").expect("room");
    for folder in [&*absolute, "../out"] {
        let pull = ["copy", "--ticket-file", "ticket", "--backup-dir", folder, &source, "new"];
        expect(&home.pump(&pull), 0, &[], folder);
    }
    assert_eq!(home.text("out/a"), "newer a");
    // A free name that the other host's folder has, too.
    make_folder(&home, "third");
    fs::write(home.path("third/a"), "was a").expect("room");
    let source = serving.at("old/");
    let pull = ["--exclude", "away", &*source, "third"];
    expect(&home.pump(&[&copy[..], &pull].concat()), 0, &[], "pull a and a~");
    let third = ["a", "a~", "a.~1~"].map(|name| home.text(format!("third/{name}")));
    assert_eq!(third, ["newest a", "a", "was a"]);
}

#[test]
fn at_no_moment_a_name_is_missing() {
    let home = home();
    let (path, end) = (home.path("old/a"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let looked = scope.spawn(|| {
            let mut looks = 0_u64;
            while !end.load(Ordering::Relaxed) {
                assert!(path.exists(), "the name is there");
                looks += 1;
            }
            looks
        });
        for flags in ["--backup", "--backup=numbered", "--backup-dir=kept"] {
            for _ in 0..20 {
                expect(
                    &home.pump(&["copy", "--sync=none", flags, "new/a", "new/sub/b", "old"]),
                    0,
                    &[],
                    flags,
                );
            }
        }
        end.store(true, Ordering::Relaxed);
        assert!(looked.join().expect("no name was missing") > 0);
    });
}

#[test]
fn nothing_that_the_copy_made_or_copies_is_replaced_by_a_backup() {
    let home = home();
    for (name, content) in [("new/a~", "new a~"), ("old/a~", "a~")] {
        fs::write(home.path(name), content).expect("room");
    }
    expect(&home.pump(&["copy", "--backup", "new/", "old"]), 0, &[], "names that are backups of others");
    for (name, expected) in [("a", "new a"), ("a~", "new a~"), ("a.~1~", "a"), ("a~~", "a~")] {
        assert_eq!(home.text(format!("old/{name}")), expected, "{name}");
    }
    fs::write(home.path("b"), "b").expect("room");
    fs::write(home.path("b~"), "source").expect("room");
    expect(&home.pump(&["copy", "--backup", "b~", "b"]), 0, &[], "the source has the backup's name");
    let found = ["b", "b~", "b.~1~"].map(|name| home.text(name));
    assert_eq!(found, ["source", "source", "b"]);
}

#[test]
fn no_backup_replaces_what_another_source_of_the_command_is_copied_to() {
    let expected = ["new x", "new x~", "was x", "was x~"];
    for is_link in [true, false] {
        for (sources, lanes) in
            [("new/x new/x~", "1"), ("new/x~ new/x", "1"), ("new/x new/x~", "4"), ("new/x~ new/x", "4")]
        {
            let home = Home::new();
            for folder in ["new", "old"] {
                make_folder(&home, folder);
            }
            for name in ["x", "x~"] {
                make(&home, is_link, &format!("new {name}"), &format!("new/{name}"));
                make(&home, is_link, &format!("was {name}"), &format!("old/{name}"));
            }
            let line = format!("copy -a --backup --lanes {lanes} {sources} old");
            expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], &line);
            let left = ["old/x", "old/x~", "old/x.~1~", "old/x~~"].map(|name| told(&home, name));
            assert_eq!(left, expected, "{line}, links: {is_link}");
        }
    }
    for sources in ["new/ x~", "x~ new/"] {
        let home = Home::new();
        for folder in ["new", "old"] {
            make_folder(&home, folder);
        }
        for (name, text) in [("new/x", "new x"), ("x~", "new x~"), ("old/x", "was x"), ("old/x~", "was x~")] {
            fs::write(home.path(name), text).expect("room");
        }
        let line = format!("copy --backup {sources} old");
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], &line);
        // The folder might have had a name for either backup.
        assert_eq!(
            ["old/x", "old/x~", "old/x.~1~", "old/x~.~1~"].map(|name| told(&home, name)),
            expected,
            "{line}"
        );
    }
}

/// Nothing stands under that name when the backup is made. A large file starts first, and a small one is done first.
#[test]
fn no_backup_takes_a_free_name_that_another_source_is_to_get() {
    for (flag, taken, backup) in [
        ("--backup", "x~", "x.~1~"),
        ("--backup=existing", "x~", "x.~1~"),
        ("--backup=numbered", "x.~1~", "x.~2~"),
    ] {
        for (sources, folder, repeats) in [
            ("new/".to_owned(), "new/", 1),
            ("new/".to_owned(), "new/", 9 << 17),
            (format!("new/x new/{taken}"), "new/", 1),
            (format!("new/{taken} new/x"), "new/", 1),
            (format!("new/ {taken}"), "", 1),
            (format!("{taken} new/"), "", 1),
        ] {
            for lanes in ["1", "4"] {
                let home = Home::new();
                for name in ["new", "old"] {
                    make_folder(&home, name);
                }
                let other = "new too ".repeat(repeats);
                fs::write(home.path(format!("{folder}{taken}")), &other).expect("room");
                fs::write(home.path("new/x"), "new x").expect("room");
                fs::write(home.path("old/x"), "was x").expect("room");
                let line = format!("copy {flag} --lanes {lanes} {sources} old");
                expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], &line);
                assert_eq!(found(&home, "old"), words(&format!("x {taken} {backup}")), "{line}");
                assert_eq!(home.text("old/x"), "new x", "{line}");
                assert_eq!(home.text(format!("old/{backup}")), "was x", "{line}");
                assert!(home.text(format!("old/{taken}")) == other, "{line}");
            }
        }
    }
}

#[test]
fn what_lies_beside_and_is_not_copied_is_no_reason_for_a_number() {
    for (flags, source) in
        [("--exclude *~", "new/"), ("--files-from=list", "new/"), ("--relative", "new/./x")]
    {
        let home = Home::new();
        for name in ["new", "old"] {
            make_folder(&home, name);
        }
        for (name, text) in [("list", "x\n"), ("new/x", "new x"), ("new/x~", "beside"), ("old/x", "was x")] {
            fs::write(home.path(name), text).expect("room");
        }
        let line = format!("copy --backup {flags} {source} old");
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], &line);
        assert_eq!(found(&home, "old"), words("x x~"), "{line}");
        assert_eq!(["old/x", "old/x~"].map(|name| home.text(name)), ["new x", "was x"], "{line}");
    }
}

#[test]
fn several_sources_do_not_share_backups() {
    let home = Home::new();
    for folder in ["a", "b", "dst", "dst/a", "dst/b"] {
        make_folder(&home, folder);
        fs::write(home.path(folder).join("x"), folder).expect("room");
    }
    let kept = home.path("kept").display().to_string();
    for folder in ["../kept", &kept] {
        let _ = fs::remove_dir_all(home.path("kept"));
        for name in ["dst/a/x", "dst/b/x"] {
            fs::write(home.path(name), format!("old {name}")).expect("room");
        }
        expect(&home.pump(&["copy", "--backup-dir", folder, "a", "b", "dst"]), 0, &[], folder);
        for name in ["a/x", "b/x"] {
            assert_eq!(home.text(format!("kept/{name}")), format!("old dst/{name}"), "{folder}");
        }
    }
}

#[test]
fn links_among_backups_are_not_followed() {
    let home = home();
    make_folder(&home, "elsewhere");
    fs::write(home.path("elsewhere/b"), "not asked").expect("room");
    make_folder(&home, "kept");
    make_symlink(&home, "../elsewhere", "kept/sub");
    let run = home.pump(&["copy", "--backup-dir", "../kept", "new/", "old"]);
    expect(&run, 0, &[], "a link stands where a folder of backups would");
    assert_eq!((home.text("elsewhere/b"), home.text("kept/sub/b")), ("not asked".into(), "b".into()));
    assert!(home.path("kept/sub.~1~").is_symlink(), "it is a backup like any other");
}

#[test]
fn the_folder_of_backups_is_known_however_it_is_named() {
    for folder in ["./kept", "../old/kept", "kept/"] {
        let home = home();
        for _ in 0..2 {
            expect(&home.pump(&["copy", "--backup-dir", folder, "--delete", "new/", "old"]), 0, &[], folder);
            fs::write(home.path("new/a"), "another").expect("room");
            fs::write(home.path("new/turns/c"), "another").expect("room");
        }
        let expected = words(&format!(
            "{COPIED} kept kept/a kept/link kept/sub kept/sub/b kept/sub/gone kept/turns kept/turns/c kept/turns.~1~"
        ));
        assert_eq!(found(&home, "old"), expected, "{folder}");
        let mode = |name: &str| {
            let found = home.path(name).metadata().expect("it is there");
            std::os::unix::fs::PermissionsExt::mode(&found.permissions())
        };
        assert_eq!(mode("old/kept/sub"), mode("old/sub"), "as the folder that it stands for");
    }
}

#[test]
fn lanes_that_meet_a_file_in_the_way_make_one_folder() {
    for round in 0..5 {
        let home = Home::new();
        for folder in ["new", "new/turns", "old", "old/turns", "kept"] {
            make_folder(&home, folder);
        }
        fs::write(home.path("kept/turns"), "a backup").expect("room");
        let names: Vec<String> = (0..300).map(|number| format!("f{number}")).collect();
        for name in &names {
            fs::write(home.path("old/turns").join(name), name).expect("room");
            fs::write(home.path("new/turns").join(name), "new").expect("room");
        }
        let copy = ["copy", "--lanes", "8", "--sync=none", "--backup-dir", "../kept", "new/", "old"];
        expect(&home.pump(&copy), 0, &[], "eight lanes");
        let mut expected: BTreeSet<String> = names.iter().map(|name| format!("turns/{name}")).collect();
        expected.extend(["turns", "turns.~1~"].map(str::to_owned));
        assert_eq!(found(&home, "kept"), expected, "round {round}");
        assert_eq!(home.text("kept/turns/f7"), "f7");
    }
}
