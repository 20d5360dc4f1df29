//! Copies that leave something alone or remove something: what must never be lost, and what a second run must do.

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;

use support::{Home, expect, has_content, make_folder, noise_file, set_mtime};

/// A folder `from` with `one`, and `sub/two`.
fn small(home: &Home) {
    for name in ["from", "from/sub"] {
        make_folder(home, name);
    }
    noise_file(home, "from/one", 3000, 1);
    noise_file(home, "from/sub/two", 5000, 2);
}

fn pump(home: &Home, line: &str, status: i32, parts: &[&str]) -> support::Outcome {
    let run = home.pump(&line.split(' ').collect::<Vec<_>>());
    expect(&run, status, parts, line);
    run
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
    pump(&home, "copy --delete a b/. to", 2, &["copy them one by one"]);
    has_content(&home.path("to/file"), b"to", "nothing is written");
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
    fs::remove_file(home.path("to/a")).expect("it is there");
    set_mtime(&home.path("to/b"), 4_000_000_000_000_000_000);
    pump(&home, "copy -T --update from to", 0, &[]);
    has_content(&home.path("to/a"), &content, "the missing one is copied");
    has_content(&home.path("to/b"), &mine, "the newer one stays");
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
    pump(&home, &format!("{line} 1 from to"), 1, &["more than 1 names would be removed"]);
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
fn names_of_temporary_files_are_left_out() {
    let home = Home::new();
    small(&home);
    noise_file(&home, "from/.pump-0123456789abcdef", 10, 1);
    pump(&home, "copy from to", 0, &["has the name of a temporary file"]);
    assert!(!home.path("to/.pump-0123456789abcdef").exists() && home.path("to/one").exists());
}
