//! Copies that leave something alone or remove something: what must never be lost, and what a second run must do.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::typed::pump;
use crate::support::{
    Home, as_ordinary_user, expect, has_content, make_fifo, make_folder, noise_file, set_mode, set_mtime,
    set_xattr, xattr,
};

/// A folder `from` with `one`, and `sub/two`.
fn small(home: &Home) {
    for name in ["from", "from/sub"] {
        make_folder(home, name);
    }
    noise_file(home, "from/one", 3000, 1);
    noise_file(home, "from/sub/two", 5000, 2);
}

#[test]
fn what_is_copied_from_is_never_removed() {
    let home = Home::new();
    make_folder(&home, "home");
    small(&home);
    fs::rename(home.path("from"), home.path("home/backup")).expect("one folder");
    noise_file(&home, "home/mine", 100, 3);
    pump(&home, "copy --delete home/backup/. home", 2, &["--delete would remove 'home/backup/.'"]);
    pump(
        &home,
        "copy --delete --link-dest home/backup home/backup/sub/. home",
        2,
        &["--delete would remove"],
    );
    assert!(home.path("home/mine").exists() && home.path("home/backup/sub/two").exists());
    for name in ["a", "b", "to"] {
        make_folder(&home, name);
        fs::write(home.path(format!("{name}/file")), name).expect("room");
    }
    // What another source is copied to stays.
    fs::write(home.path("to/gone"), "gone").expect("room");
    pump(&home, "copy --delete a b/. to", 0, &[]);
    has_content(&home.path("to/file"), b"b", "that of the second");
    has_content(&home.path("to/a/file"), b"a", "that of the first");
    assert!(!home.path("to/gone").exists());
}

#[test]
fn a_folder_with_a_temporary_name_is_one_like_any_other() {
    let home = Home::new();
    for name in ["from", "from/.pump-0123456789abcdef", "to", "to/.pump-0123456789abcdef"] {
        make_folder(&home, name);
    }
    noise_file(&home, "to/.pump-0123456789abcdef/mine", 100, 1);
    pump(&home, "copy -T --update --delete from to", 0, &[]);
    assert!(!home.path("to/.pump-0123456789abcdef/mine").exists());
    pump(&home, "verify from to", 0, &[]);
}

#[test]
fn what_is_left_alone_is_linked_to_nothing() {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "to");
    let content = noise_file(&home, "from/a", 3000, 1);
    fs::hard_link(home.path("from/a"), home.path("from/b")).expect("links");
    let mine = noise_file(&home, "to/b", 77, 2);
    pump(&home, "copy -T --ignore-existing from to", 0, &[]);
    has_content(&home.path("to/a"), &content, "the missing one is copied");
    has_content(&home.path("to/b"), &mine, "the other stays");
}

#[test]
fn lists_of_names_select_what_they_name() {
    let home = Home::new();
    small(&home);
    fs::write(home.path("empty"), "").expect("room");
    pump(&home, "copy --files-from empty from none", 0, &[]);
    assert_eq!(fs::read_dir(home.path("none")).expect("the root is made").count(), 0);
    pump(&home, "copy -T --delete --files-from empty from none", 2, &["--delete with a list"]);
    fs::write(home.path("list"), "sub/two\n").expect("room");
    pump(&home, "copy --files-from list from two", 0, &[]);
    assert!(home.path("two/sub/two").exists() && !home.path("two/one").exists());
    fs::write(home.path("list"), "one/below\nsub/two\nmissing\n").expect("room");
    pump(&home, "copy --files-from list from three", 23, &["from/one'", "from/missing'"]);
    assert!(home.path("three/sub/two").exists(), "the rest is done");
}

#[test]
fn unchanged_files_are_linked_and_a_dry_run_says_so() {
    let home = Home::new();
    small(&home);
    pump(&home, "copy from monday", 0, &[]);
    noise_file(&home, "from/one", 3000, 9);
    let dry = pump(&home, "copy -n -i --link-dest monday from tuesday", 0, &[]);
    let run = pump(&home, "copy -i -q --lanes 1 --link-dest monday from tuesday", 0, &[]);
    assert_eq!(dry.out, run.out);
    assert!(run.out.contains("hf+++++++++ sub/two") && run.out.contains(">f+++++++++ one"), "{run:?}");
    let inode = |name: &str| fs::metadata(home.path(name)).expect("it is there").ino();
    assert_eq!(inode("monday/sub/two"), inode("tuesday/sub/two"));
    assert_ne!(inode("monday/one"), inode("tuesday/one"));
    pump(&home, "verify from tuesday", 0, &[]);
}

#[test]
fn with_checksum_only_files_of_equal_content_are_linked() {
    let home = Home::new();
    small(&home);
    noise_file(&home, "from/large", 300_000, 5);
    pump(&home, "copy from monday", 0, &[]);
    // Neither size nor time tells.
    for name in ["one", "large"] {
        let path = home.path(format!("monday/{name}"));
        let was = fs::metadata(&path).expect("it was copied");
        noise_file(&home, &format!("monday/{name}"), was.len() as usize, 77);
        set_mtime(&path, was.mtime() as u64 * 1_000_000_000 + was.mtime_nsec() as u64);
    }
    let inode = |name: &str| fs::metadata(home.path(name)).expect("it is there").ino();
    for (flags, target) in [("", "tuesday"), (" --lanes 1", "wednesday")] {
        let dry = pump(&home, &format!("copy -n -i -c --link-dest monday from {target}"), 0, &[]);
        let run = pump(&home, &format!("copy -i -q -c{flags} --link-dest monday from {target}"), 0, &[]);
        let sorted = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(sorted(&dry.out), sorted(&run.out), "{target}");
        assert!(run.out.contains("hf+++++++++ sub/two") && run.out.contains(">f+++++++++ one"), "{run:?}");
        assert_eq!(inode("monday/sub/two"), inode(&format!("{target}/sub/two")));
        pump(&home, &format!("verify from {target}"), 0, &[]);
    }
    // Over what differs at the target, too; what is right there stays.
    fs::remove_file(home.path("tuesday/sub/two")).expect("it is a link");
    noise_file(&home, "tuesday/sub/two", 5000, 3);
    let one = inode("tuesday/one");
    pump(&home, "copy -q -c --link-dest monday from/. tuesday", 0, &[]);
    assert_eq!((inode("tuesday/sub/two"), inode("tuesday/one")), (inode("monday/sub/two"), one));
    pump(&home, "verify from tuesday", 0, &[]);
}

#[test]
fn removing_is_counted_first_and_spares_what_is_excluded() {
    let home = Home::new();
    small(&home);
    pump(&home, "copy from to", 0, &[]);
    for name in ["to/old", "to/old/deep"] {
        make_folder(&home, name);
    }
    noise_file(&home, "to/old/deep/x", 10, 1);
    noise_file(&home, "to/old/kept.log", 10, 1);
    let line = "copy -T --update --delete --exclude *.log --max-delete";
    pump(&home, &format!("{line} 1 from to"), 1, &["more than 1 name would be removed"]);
    assert!(home.path("to/old/deep/x").exists(), "nothing was removed");
    pump(&home, &format!("{line} 2 from to"), 0, &[]);
    assert!(!home.path("to/old/deep").exists() && home.path("to/old/kept.log").exists());
    pump(&home, "copy -T --update --delete from to", 0, &[]);
    pump(&home, "verify from to", 0, &[]);
}

#[test]
fn equal_content_is_left_alone_whatever_its_time() {
    let home = Home::new();
    small(&home);
    pump(&home, "copy from to", 0, &[]);
    let inode = |name: &str| fs::metadata(home.path(name)).expect("it is there").ino();
    let (one, two) = (inode("to/one"), inode("to/sub/two"));
    set_mtime(&home.path("from/one"), 1_000_000_007);
    let modified = fs::metadata(home.path("from/sub/two")).and_then(|meta| meta.modified()).expect("a time");
    noise_file(&home, "from/sub/two", 5000, 3);
    let file = fs::File::options().write(true).open(home.path("from/sub/two")).expect("the file");
    file.set_modified(modified).expect("a time can be set");
    pump(&home, "copy -T --checksum from to", 0, &[]);
    assert_eq!(inode("to/one"), one, "only its time was set");
    assert_ne!(inode("to/sub/two"), two, "it was replaced");
    pump(&home, "verify from to", 0, &[]);
}

#[test]
fn links_of_a_backup_are_found_where_each_source_went() {
    let home = Home::new();
    small(&home);
    make_folder(&home, "more");
    noise_file(&home, "more/three", 700, 3);
    for day in ["monday", "tuesday"] {
        make_folder(&home, day);
    }
    pump(&home, "copy from more monday", 0, &[]);
    pump(&home, "copy --link-dest monday from more tuesday", 0, &[]);
    let inode = |name: &str| fs::metadata(home.path(name)).expect("it is there").ino();
    for name in ["from/one", "from/sub/two", "more/three"] {
        assert_eq!(inode(&format!("monday/{name}")), inode(&format!("tuesday/{name}")), "{name}");
    }
    pump(&home, "copy --link-dest nowhere from wednesday", 2, &["--link-dest 'nowhere'"]);
    assert!(!home.path("wednesday").exists());
}

/// Attributes belong to the file: an older backup must not change with the newer one.
#[test]
fn a_change_of_mode_leaves_older_backups_alone() {
    let home = Home::new();
    small(&home);
    pump(&home, "copy from monday", 0, &[]);
    pump(&home, "copy --link-dest monday from tuesday", 0, &[]);
    set_mode(&home.path("from/one"), 0o600);
    pump(&home, "copy -T --update from tuesday", 0, &[]);
    let mode = |name: &str| fs::metadata(home.path(name)).expect("it is there").mode() & 0o777;
    assert_eq!((mode("tuesday/one"), mode("monday/one")), (0o600, 0o644));
    pump(&home, "verify from tuesday", 0, &[]);
}

#[test]
fn an_attribute_that_the_source_got_later_is_brought_by_an_update() {
    let home = Home::new();
    small(&home);
    pump(&home, "copy from to", 0, &[]);
    let changed = ["one", "sub"].map(|name| set_xattr(&home.path("from").join(name), "user.note", b"new"));
    if changed.contains(&false) {
        return eprintln!("not tested: no extended attributes here");
    }
    let dry = pump(&home, "copy -n -i -T --update from to", 0, &[]);
    let run = pump(&home, "copy -i -q --lanes 1 -T --update from to", 0, &[]);
    assert_eq!(dry.out, run.out);
    assert!(run.out.contains("one"), "{run:?}");
    for name in ["one", "sub"] {
        assert_eq!(xattr(&home.path("to").join(name), "user.note"), Some(b"new".to_vec()), "{name}");
    }
    let again = pump(&home, "copy -i -q --lanes 1 -T --update from to", 0, &[]);
    assert_eq!(again.out, "", "it is right now");
    // A folder that this run makes is no folder that was right before.
    pump(&home, "copy --update --no-preserve=timestamps from new", 0, &[]);
    assert_eq!(xattr(&home.path("new/sub"), "user.note"), Some(b"new".to_vec()));
}

#[test]
fn names_that_are_linked_already_are_no_change() {
    let home = Home::new();
    small(&home);
    fs::hard_link(home.path("from/one"), home.path("from/sub/again")).expect("one file system");
    make_fifo(&home.path("from/pipe"));
    fs::hard_link(home.path("from/pipe"), home.path("from/sub/pipe")).expect("one file system");
    pump(&home, "copy from to", 0, &[]);
    for words in ["copy -n -i -T --update from to", "copy -i -q -T --update from to"] {
        assert_eq!(pump(&home, words, 0, &[]).out, "", "{words}");
    }
    fs::remove_file(home.path("to/sub/pipe")).expect("it is there");
    pump(&home, "copy -T --update from to", 0, &[]);
    pump(&home, "verify from to", 0, &[]);
}

#[test]
fn a_file_of_somebody_named_like_the_list_is_never_taken_for_it() {
    let home = Home::new();
    small(&home);
    make_folder(&home, "to");
    for (words, mode) in [
        ("", 0o600),
        ("x", 0o600),
        ("precious, and longer than the header of any list that there is", 0o600),
        ("x", 0o644),
    ] {
        fs::write(home.path("to/.pump-job"), words).expect("room");
        set_mode(&home.path("to/.pump-job"), mode);
        let (status, parts): (i32, &[&str]) = match mode {
            0o600 if words.is_empty() => (0, &[]),
            0o600 => (1, &["to you"]),
            _ => (0, &["is ignored", "its mode is not 0600"]),
        };
        pump(&home, "copy -T from to", status, parts);
        let left = fs::read(home.path("to/.pump-job")).unwrap_or_default();
        assert_eq!(left, words.as_bytes(), "{words:?}");
    }
}

#[test]
fn a_failed_copy_into_an_old_folder_does_not_keep_others_out() {
    let home = Home::new();
    small(&home);
    make_folder(&home, "to");
    make_folder(&home, "to/one");
    fs::write(home.path("to/one/file"), "in the way").expect("room");
    pump(&home, "copy -T from to", 23, &["to/one'"]);
    make_folder(&home, "more");
    noise_file(&home, "more/three", 700, 3);
    pump(&home, "copy -T more to", 0, &[]);
    // A folder made for the copy keeps its list, so that the same command does not go below it.
    make_folder(&home, "from/closed");
    fs::write(home.path("list"), "one\nmissing\n").expect("room");
    pump(&home, "copy --files-from list from new", 23, &["missing'"]);
    fs::write(home.path("from/missing"), "here").expect("room");
    pump(&home, "copy --files-from list from new", 0, &[]);
    assert!(home.path("new/missing").exists() && !home.path("new/from").exists());
}

#[test]
fn folders_that_only_their_mode_closes_are_opened_up_for_their_owner() {
    let home = Home::new();
    small(&home);
    set_mode(&home.path("from/sub"), 0o555);
    set_mode(&home.path("from"), 0o555);
    make_folder(&home, "open");
    set_mode(&home.path("open"), 0o777);
    let run = |words: &str| as_ordinary_user(&home, &words.split(' ').collect::<Vec<_>>());
    let Some(first) = run("copy from open/to") else { return };
    expect(&first, 0, &[], "the first");
    set_mode(&home.path("from/sub"), 0o755);
    noise_file(&home, "from/sub/new", 900, 4);
    set_mode(&home.path("from/sub"), 0o555);
    for words in ["copy -T from open/to", "copy -T --update from open/to"] {
        expect(&run(words).expect("as before"), 0, &[], words);
        expect(&run("verify from open/to").expect("as before"), 0, &[], words);
        set_mode(&home.path("from/sub"), 0o755);
        noise_file(&home, "from/sub/newer", 900, 5);
        set_mode(&home.path("from/sub"), 0o555);
    }
    set_mode(&home.path("from/sub"), 0o755);
    fs::remove_file(home.path("from/sub/newer")).expect("it is there");
    fs::remove_file(home.path("from/sub/new")).expect("it is there");
    set_mode(&home.path("from/sub"), 0o555);
    expect(&run("copy -T --delete from open/to").expect("as before"), 0, &[], "removes");
    expect(&run("verify from open/to").expect("as before"), 0, &[], "removes");
    ["from", "from/sub", "open/to", "open/to/sub"].iter().for_each(|name| set_mode(&home.path(name), 0o755));
}

#[test]
fn patterns_may_begin_with_a_dash_and_inplace_is_for_files() {
    let home = Home::new();
    small(&home);
    noise_file(&home, "from/-x", 10, 1);
    let run = home.pump(&["copy", "--exclude", "-x", "from", "to"]);
    expect(&run, 0, &[], "a dash");
    assert!(!home.path("to/-x").exists() && home.path("to/one").exists());
    pump(&home, "copy --inplace from other", 2, &["--inplace is for single files"]);
}

/// A user who may write to the folder that is named could else choose what `--delete` empties.
#[test]
fn a_tree_goes_through_no_link_that_was_not_named_as_the_target() {
    let home = Home::new();
    small(&home);
    for name in ["shared", "victim"] {
        make_folder(&home, name);
    }
    fs::write(home.path("victim/mine"), "mine").expect("room");
    std::os::unix::fs::symlink("../victim", home.path("shared/from")).expect("room");
    for words in
        ["copy --delete from shared", "copy --delete from shared/", "copy -n from shared", "copy from shared"]
    {
        pump(&home, words, 2, &["shared/from'", "is a symbolic link"]);
        has_content(&home.path("victim/mine"), b"mine", words);
        assert!(!home.path("victim/one").exists(), "{words}");
    }
    for words in ["copy from/. shared/from", "copy -T from shared/from/", "copy --delete from/. shared/from/"]
    {
        pump(&home, words, 0, &[]);
        assert!(home.path("victim/one").exists(), "{words}: a link that is named is followed");
        assert_eq!(home.path("victim/mine").exists(), !words.contains("--delete"), "{words}");
        fs::remove_file(home.path("victim/one")).expect("it is there");
    }
}
