//! Whose attributes the folder has that a copy goes into.

use std::os::unix::fs::MetadataExt;

use crate::support::{Home, expect, make_folder, make_symlink, noise_file, outcome, set_mode};

fn home() -> Home {
    let home = Home::new();
    for (folder, mode) in
        [("from", 0o750), ("from/sub", 0o700), ("to", 0o751), ("open", 0o1777), ("own", 0o711)]
    {
        make_folder(&home, folder);
        set_mode(&home.path(folder), mode);
    }
    noise_file(&home, "from/sub/file", 10, 1);
    home
}

fn mode(home: &Home, name: &str) -> u32 {
    home.path(name).metadata().expect("it is there").mode() & 0o7777
}

fn mtime_ns(home: &Home, name: &str) -> i64 {
    let meta = home.path(name).metadata().expect("it is there");
    meta.mtime() * 1_000_000_000 + meta.mtime_nsec()
}

/// A list of files does not mean the folder that their paths begin in: root could close /tmp so.
#[test]
fn names_of_a_list_leave_the_folder_that_they_go_into_as_it_is() {
    let home = home();
    std::fs::write(home.path("list"), "sub/file\n").expect("room");
    std::fs::write(home.path("with-root"), "./\n").expect("room");
    for words in [&["--files-from=list", "from/"][..], &["--relative", "from/./sub/file"]] {
        for flags in [&[][..], &["--update=differs"], &["-i"]] {
            let (before, had_names) = (mtime_ns(&home, "to"), home.path("to/sub/file").exists());
            let run = home.pump(&[&["copy"], words, flags, &["to"]].concat());
            expect(&run, 0, &[], &format!("{words:?} {flags:?}"));
            assert!(!run.out.contains(" ./"), "{words:?}: {}", run.out);
            assert_eq!((mode(&home, "to"), mode(&home, "to/sub")), (0o751, 0o700), "{words:?} {flags:?}");
            // Only the list of the copy was made in it: its time is that of the names that it had.
            if had_names {
                assert_eq!(mtime_ns(&home, "to"), before, "{words:?}");
            }
        }
        expect(&home.pump(&[&["copy"], words, &["new"]].concat()), 0, &[], "a new folder");
        expect(&home.pump(&["verify", "from/sub", "new/sub"]), 0, &[], "a new folder");
        std::fs::remove_dir_all(home.path("new")).expect("it is there");
    }
    expect(&home.pump(&["copy", "--files-from=with-root", "from/", "to"]), 0, &[], "the root is on the list");
    assert_eq!(mode(&home, "to"), 0o750);
}

#[test]
fn a_folder_of_everybody_and_the_home_folder_keep_their_own() {
    let home = home();
    for (to, kept) in [("open", 0o1777), ("own", 0o711), ("to", 0o750)] {
        for flags in [&[][..], &["--update=differs"], &["-n", "-i"]] {
            let mut command = home.command(&[&["copy"], flags, &["from/", to]].concat());
            command.env("HOME", home.path("own"));
            expect(&outcome(command, b""), 0, &[], to);
        }
        let mut verify = home.command(&["verify", "from", to]);
        verify.env("HOME", home.path("own"));
        expect(&outcome(verify, b""), 0, &[], to);
        assert_eq!(mode(&home, to), kept, "{to}");
        assert!(home.path(to).join("sub/file").is_file(), "{to}");
    }
}

#[test]
fn a_link_at_the_target_is_replaced_by_a_folder_and_what_it_led_to_stays() {
    let home = home();
    make_symlink(&home, "../own", "to/sub");
    noise_file(&home, "own/kept", 10, 2);
    expect(&home.pump(&["copy", "from/", "to"]), 0, &[], "over a link");
    assert!(home.path("to/sub/file").is_file() && home.path("own/kept").is_file());
    assert!(!home.path("own/file").exists());
}
