//! Attributes that a target cannot take, or that are not to be kept: the content is there, and what was lost is named.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::PathBuf;

use crate::support::running::{Running, eventually};
use crate::support::{expect, set_mode};
use crate::wider_parts::{Kind, Mount, program, pump, pump_command, pump_with, with_content};
use rustix::process::Signal;

fn mode(path: &str) -> u32 {
    fs::metadata(path).expect("it was copied").mode() & 0o7777
}

/// What stands there, its mode, owner and group.
fn state(path: &str) -> (u32, u32, u32) {
    let meta = fs::metadata(path).expect("it was copied");
    (mode(path), meta.uid(), meta.gid())
}

/// A folder with a file, in a file system of this kind.
fn tree(kind: Kind) -> Mount {
    let mount = Mount::new(kind);
    fs::create_dir_all(mount.at("tree/folder")).expect("room");
    with_content(&mount.at("tree/folder/file"), 10_000, 1);
    mount
}

/// The same content in both, and nothing else.
fn is_copied(source: &Mount, target: &str, row: &str) {
    program(&["diff", "-r", &source.at("tree"), target]);
    assert!(!PathBuf::from(target).join(".pump-job").exists(), "{row}");
}

#[test]
fn attributes_that_do_not_fit_cost_no_content() {
    let (source, target) = (tree(Kind::Xfs), Mount::new(Kind::Ext4));
    for name in ["tree/folder/file", "tree/folder"] {
        program(&["setfattr", "-n", "user.large", "-v", &"x".repeat(8000), &source.at(name)]);
    }
    set_mode(source.at("tree/folder").as_ref(), 0o755);
    let (tree, file) = (source.at("tree"), source.at("tree/folder/file"));
    for ways in [&[][..], &["--sync=none"], &["--update"]] {
        let copy = target.at(&format!("copy{}", ways.concat()));
        let run = pump_with(&["copy", "-T", &tree, &copy], ways);
        let why = "are free, but the attributes of one file have its inode and one block";
        let parts = ["set the attributes of", "user.large", "No space left", why, "folder/file"];
        expect(&run, 23, &parts, &copy);
        is_copied(&source, &copy, &copy);
        assert_eq!(mode(&format!("{copy}/folder")), 0o755);
    }
    expect(&pump(&["copy", &file, &target.at("file")]), 23, &["user.large"], "one file");
    assert_eq!(fs::read(&file).ok(), fs::read(target.at("file")).ok());
    expect(&pump(&["copy", "--no-preserve=xattr", &file, &target.at("other")]), 0, &[], "not asked for");
}

/// A time beyond what the target's inodes can tell: told, and the second run compares and copies nothing.
#[test]
fn a_time_that_is_clamped_is_copied_once() {
    let (source, target) = (Mount::new(Kind::Btrfs), Mount::ext4(64, &["-I", "128"]));
    fs::create_dir_all(source.at("tree/folder")).expect("room");
    with_content(&source.at("tree/folder/file"), 3_000_000, 3);
    with_content(&source.at("tree/ok"), 10, 4);
    program(&["touch", "-d", "2500-01-01", &source.at("tree/folder/file")]);
    program(&["ln", "-s", "ok", &source.at("tree/link")]);
    program(&["touch", "-h", "-d", "2500-01-01", &source.at("tree/link")]);
    let (from, to) = (source.at("tree"), target.at("copy"));
    let told = "time of change: this file system cannot keep 16725225600 s since 1970";
    for row in ["first", "second"] {
        fs::write(target.at("copy/too-much"), "").ok();
        let run = pump(&["mirror", "--json", &from, &to]);
        expect(&run, 23, &[told, "2 names lost it"], row);
        assert_eq!(run.err.lines().filter(|line| line.contains(told)).count(), 1, "{row}: {}", run.err);
        let copied = run.out.lines().filter(|line| line.contains(r#""event":"file""#)).count();
        assert_eq!(copied, if row == "first" { 2 } else { 0 }, "{row}: {}", run.out);
        is_copied(&source, &to, row);
    }
    // A change of the content that leaves size and told time as they are.
    with_content(&source.at("tree/folder/file"), 3_000_000, 5);
    program(&["touch", "-d", "2501-01-01", &source.at("tree/folder/file")]);
    expect(&pump(&["copy", "-u", "-T", &from, &to]), 23, &["time of change"], "changed");
    is_copied(&source, &to, "changed");
}

/// The status of a run that goes on is that of all that it stands for.
#[test]
fn what_a_cut_run_lost_is_told_by_the_run_that_goes_on() {
    let (source, target) = (tree(Kind::Xfs), Mount::new(Kind::Ext4));
    // Such files are put on the list at once.
    with_content(&source.at("tree/folder/file"), 12 << 20, 1);
    with_content(&source.at("tree/other"), 12 << 20, 2);
    for name in ["tree/folder/file", "tree/other"] {
        program(&["setfattr", "-n", "user.large", "-v", &"x".repeat(8000), &source.at(name)]);
    }
    let words = ["copy", "-v", "-T", &source.at("tree"), &target.at("copy")];
    let running = Running::start(pump_command(&[&words[..], &["--lanes=1", "--bwlimit=4MiB"]].concat()));
    let exists = |name: &&str| PathBuf::from(target.at(name)).exists();
    let has_one = || ["copy/folder/file", "copy/other"].iter().any(exists);
    eventually("one of two files, and what it lost", || has_one() && running.err().contains("user.large"));
    running.signal(Signal::KILL);
    let run = running.end();
    assert!(run.status == 137 && run.err.contains("user.large"), "{run:?}");
    assert!(PathBuf::from(target.at("copy/.pump-job")).exists(), "it is to be gone on with");
    expect(&pump(&words), 23, &["user.large", "copy/folder/file", "copy/other"], "the run that goes on");
    is_copied(&source, &target.at("copy"), "the run that goes on");
}

/// What the system refuses of an attribute is no reason to keep what the source does not have any more.
#[test]
fn a_copy_that_lost_an_attribute_is_a_copy_for_deletions_too() {
    let (source, target) = (tree(Kind::Xfs), Mount::new(Kind::Ext4));
    program(&["setfattr", "-n", "user.large", "-v", &"x".repeat(8000), &source.at("tree/folder/file")]);
    fs::create_dir(target.at("copy")).expect("room");
    fs::write(target.at("copy/old"), "old").expect("room");
    let run = pump(&["copy", "--delete", &format!("{}/.", source.at("tree")), &target.at("copy")]);
    expect(&run, 23, &["user.large"], "with --delete");
    is_copied(&source, &target.at("copy"), "with --delete");
}

#[test]
fn an_access_control_list_that_the_target_cannot_hold_lets_nobody_else_in() {
    let (source, target) = (tree(Kind::Ext4), Mount::new(Kind::Ramfs));
    let file = source.at("tree/folder/file");
    set_mode(file.as_ref(), 0o600);
    program(&["setfacl", "-m", "u:1234:rwx,g::---", &file]);
    assert_eq!(mode(&file), 0o670, "the mask stands for the group");
    let run = pump(&["copy", "-T", &source.at("tree"), &target.at("copy")]);
    expect(&run, 23, &["posix_acl_access: Operation not supported"], "tree");
    assert_eq!(mode(&target.at("copy/folder/file")), 0o600);
    expect(&pump(&["copy", &file, &target.at("one")]), 23, &["posix_acl_access"], "one file");
    assert_eq!(mode(&target.at("one")), 0o600);
    for words in ["--no-preserve=acl", "--no-preserve=mode,xattr"] {
        let copy = target.at(words);
        expect(&pump(&["copy", words, &file, &copy]), 0, &[], words);
        assert_eq!(mode(&copy), if words.contains("acl") { 0o600 } else { 0o644 }, "{words}");
    }
}

/// The shell is the judge: what is not kept is as if the content alone had been written there. (`cp --no-preserve=mode`
/// does the same, but for what a folder hands down.)
#[test]
fn what_is_not_kept_is_left_alone() {
    let mount = tree(Kind::Ext4);
    let (tree, file) = (mount.at("tree"), mount.at("tree/folder/file"));
    [&tree, &mount.at("tree/folder")].iter().for_each(|path| set_mode(path.as_ref(), 0o700));
    set_mode(file.as_ref(), 0o751);
    chown(&file, Some(1234), Some(4321)).expect("root");
    let prepare = |place: &str| {
        fs::create_dir(place).expect("room");
        match place.rsplit('/').next().expect("a name") {
            "handed-down" => drop(program(&["setfacl", "-d", "-m", "u:1234:rwx,g::r-x,o::---", place])),
            "handed-down-short" => drop(program(&["setfacl", "-d", "-m", "u::rwx,g::rwx,o::---", place])),
            "of-group" => {
                chown(place, None, Some(77)).expect("root");
                set_mode(place.as_ref(), 0o2775);
            }
            _ => {}
        }
        fs::write(format!("{place}/old"), "old").expect("room");
        chown(format!("{place}/old"), Some(65534), Some(65534)).expect("root");
        set_mode(format!("{place}/old").as_ref(), 0o600);
        program(&["setfacl", "-m", "u:99:r--", &format!("{place}/old")]);
        program(&["setfattr", "-n", "user.old", "-v", "1", &format!("{place}/old")]);
    };
    for name in ["plain", "handed-down", "handed-down-short", "of-group"] {
        for by in ["shell", "pump"] {
            fs::create_dir_all(mount.at(by)).expect("room");
            let place = mount.at(&format!("{by}/{name}"));
            prepare(&place);
            match by {
                "shell" => {
                    let script = "cd $2 && mkdir -p new/folder && tee new/folder/file file old < $1";
                    drop(program(&["sh", "-c", &format!("{script} > /dev/null"), "sh", &file, &place]));
                }
                _ => [(&tree, "new"), (&file, "file"), (&file, "old")].iter().for_each(|(source, name)| {
                    let target = format!("{place}/{name}");
                    let what = "--no-preserve=mode,ownership,timestamps,xattr";
                    expect(&pump(&["copy", what, source, &target]), 0, &[], &target);
                }),
            }
        }
        for path in ["new", "new/folder", "new/folder/file", "file", "old"] {
            let of = |by: &str| {
                let path = mount.at(&format!("{by}/{name}/{path}"));
                let list = program(&["getfacl", "--omit-header", "--absolute-names", "--numeric", &path]);
                (
                    state(&path),
                    list,
                    program(&["getfattr", "-d", "--absolute-names", &path]).contains("user.old"),
                )
            };
            assert_eq!(of("pump"), of("shell"), "{name}: {path}");
        }
    }
}
