//! Trees and bad luck: no room, no inodes, coarse times, thousands of links, few open files, targets of little use.

use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::listing::{leftovers_below, paths, stamps};
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, as_ordinary_user, expect, has_content, noise, outcome, set_mode};
use crate::wider_parts::dress::set_times;
use crate::wider_parts::judge::{same_tree, same_tree_apart_from_owners, whatever_is_there_is_whole};
use crate::wider_parts::mounts::Bind;
use crate::wider_parts::tree::{make_tree, make_tree_for};
use crate::wider_parts::{Mount, long_path, program, pump_command, pump_with};

const MIB: usize = 1 << 20;
const NOBODY: u32 = 65_534;

fn copy(source: &Path, target: impl AsRef<Path>, options: &[&str]) -> Outcome {
    let places = [source, target.as_ref()].map(|path| path.display().to_string());
    pump_with(&["copy", &places[0], &places[1]], options)
}

/// A folder of files of this size in folders of ten.
fn make_files(folder: &Path, count: usize, bytes: usize) {
    std::fs::create_dir(folder).expect("room");
    for number in 0..count {
        let below = folder.join(format!("folder-{}", number / 10));
        if number % 10 == 0 {
            std::fs::create_dir(&below).expect("room");
        }
        let path = below.join(format!("file-{number}"));
        std::fs::write(&path, noise(bytes, number as u64)).expect("room");
        set_times(&path, 1_000_000_000 + number as i64, 123_456_789);
    }
}

/// Nothing but the list by which the same command goes on.
fn only_the_job_is_left(target: &Path, row: &str) {
    let left: Vec<String> = leftovers_below(target).into_iter().filter(|name| name != ".pump-job").collect();
    assert!(left.is_empty(), "{row}: {left:?}");
}

#[test]
fn a_path_longer_than_any_path_is_copied() {
    let home = Home::new();
    let (source, target) = (home.path("source"), home.path("copy"));
    std::fs::create_dir(&source).expect("room");
    long_path::make(&source);
    for lanes in ["--lanes=1", "--lanes=3"] {
        expect(&copy(&source, &target, &[lanes]), 0, &[], lanes);
        long_path::same(&source, &target, lanes);
        std::fs::remove_dir_all(&target).expect("it is there");
    }
}

#[test]
fn what_may_not_be_read_does_not_stop_the_rest() {
    let home = Home::new();
    let source = home.path("source");
    make_tree_for(NOBODY, &source, 11, 2000);
    // In the middle of what is walked, and in a folder of many.
    std::fs::create_dir_all(source.join("many/closed/inside")).expect("room");
    set_mode(&source.join("many/closed"), 0o700);
    set_mode(&source.join("many/entry-000100"), 0);
    std::os::unix::fs::chown(source.join("many/entry-000100"), Some(0), Some(0)).expect("root");
    set_mode(&source.join("many"), 0o755);
    crate::support::make_folder(&home, "into");
    set_mode(&home.path("into"), 0o777);
    let run = as_ordinary_user(&home, &["copy", "source", "into/copy"]).expect("root can become nobody");
    expect(&run, 23, &["many/closed'", "many/entry-000100'", "Permission denied"], "unreadable");
    let copy = home.path("into/copy");
    let failed = |path: &Path| path.starts_with("many/closed") || path == Path::new("many/entry-000100");
    for path in paths(&source).into_iter().filter(|path| !failed(path)) {
        assert!(copy.join(&path).symlink_metadata().is_ok(), "{path:?} is missing");
    }
    assert!(!copy.join("many/entry-000100").exists(), "nothing under the name of what failed");
    only_the_job_is_left(&copy, "unreadable");
}

#[test]
fn refused_before_anything_is_written() {
    let home = Home::new();
    let source = home.path("source");
    make_tree(&source, 12, 500);
    let file = home.path("file");
    std::fs::write(&file, "mine").expect("room");
    let before = stamps(&home.path(""));
    for (target, options) in [
        (source.clone(), &[][..]),
        (source.join("many"), &[]),
        (source.join("deep/level000/level001/new"), &[]),
        (source.join("many"), &["-T"]),
        (file.clone(), &[]),
        (file.clone(), &["-T"]),
    ] {
        expect(&copy(&source, &target, options), 2, &[], &format!("{target:?} {options:?}"));
        assert!(before == stamps(&home.path("")), "{target:?} {options:?}: something was written");
    }
}

#[test]
fn on_a_full_disk_whatever_is_there_is_whole() {
    let home = Home::new();
    let source = home.path("source");
    make_files(&source, 300, 300_000);
    std::fs::write(source.join("large"), noise(20 * MIB, 5)).expect("room");
    for options in
        [&[][..], &["--lanes=1"], &["--lanes=7", "--direct=always"], &["--sync=none"], &["--sync=each"]]
    {
        let row = format!("{options:?}");
        let mount = Mount::ext4(64, &[]);
        let target = PathBuf::from(mount.at("copy"));
        let run = copy(&source, &target, options);
        assert!([1, 23].contains(&run.status), "{row}: {run:?}");
        expect(&run, run.status, &["No space left on device"], &row);
        let whole = whatever_is_there_is_whole(&source, &target, &row);
        assert!(whole >= 20, "{row}: {whole} files before the disk was full");
        only_the_job_is_left(&target, &row);
        // With what is there as a beginning, and room, the rest follows.
        std::fs::remove_file(source.join("large")).expect("it is there");
        for number in 0..20 {
            std::fs::remove_dir_all(source.join(format!("folder-{number}"))).expect("it is there");
            let _ = std::fs::remove_dir_all(target.join(format!("folder-{number}")));
        }
        let _ = std::fs::remove_file(target.join("large"));
        expect(&copy(&source, &target, &["-T"]), 0, &[], &format!("{row}, with room"));
        same_tree(&source, &target, &row);
        std::fs::remove_dir_all(&source).expect("it is there");
        make_files(&source, 300, 300_000);
        std::fs::write(source.join("large"), noise(20 * MIB, 5)).expect("room");
    }
}

#[test]
fn without_inodes_whatever_is_there_is_whole() {
    let home = Home::new();
    let source = home.path("source");
    make_files(&source, 2000, 1000);
    for options in [&[][..], &["--lanes=7"], &["--sync=each"]] {
        let row = format!("{options:?}");
        let mount = Mount::ext4(128, &["-N", "600"]);
        let target = PathBuf::from(mount.at("copy"));
        let run = copy(&source, &target, options);
        assert!([1, 23].contains(&run.status), "{row}: {run:?}");
        expect(&run, run.status, &["No space left on device"], &row);
        let whole = whatever_is_there_is_whole(&source, &target, &row);
        assert!(whole >= 200, "{row}: {whole} files before there were no inodes");
        only_the_job_is_left(&target, &row);
    }
}

#[test]
fn coarse_times_settle() {
    let home = Home::new();
    let source = home.path("source");
    make_files(&source, 500, 3000);
    symlink("nowhere", source.join("link")).expect("room");
    set_times(&source.join("link"), -5, 999_999_999);
    std::fs::write(source.join("old"), "before 1970").expect("room");
    set_times(&source.join("old"), -1_000_000_000, 999_999_999);
    set_times(&source, 1_100_000_000, 500_000_001);
    let mount = Mount::ext4(128, &["-I", "128"]);
    let target = PathBuf::from(mount.at("copy"));
    expect(&copy(&source, &target, &[]), 0, &[], "first");
    let coarse = target.join("old").metadata().expect("it was copied");
    assert_eq!(
        (coarse.mtime(), coarse.mtime_nsec()),
        (-1_000_000_000, 0),
        "this file system has whole seconds"
    );
    let before = stamps(&target);
    for options in [&["-T", "--update"][..], &["-T", "--update", "--lanes=7"]] {
        expect(&copy(&source, &target, options), 0, &[], "again");
        let after = stamps(&target);
        let touched: Vec<_> =
            after.iter().filter(|(path, stamp)| before.get(*path) != Some(*stamp)).collect();
        assert!(touched.is_empty(), "{options:?}: {} touched: {:?}", touched.len(), touched.first());
    }
    // And back: what the coarse side has is all there is.
    let back = home.path("back");
    expect(&copy(&target, &back, &[]), 0, &[], "back");
    same_tree(&target, &back, "back");
}

#[test]
fn ten_thousand_links_to_one_file() {
    let home = Home::new();
    let source = home.path("source");
    std::fs::create_dir(&source).expect("room");
    std::fs::write(source.join("file"), noise(300_000, 1)).expect("room");
    for number in 0..10_000 {
        let folder = source.join(format!("folder-{}", number % 20));
        if number < 20 {
            std::fs::create_dir(&folder).expect("room");
        }
        std::fs::hard_link(source.join("file"), folder.join(format!("link-{number}"))).expect("a link");
    }
    for lanes in ["--lanes=1", "--lanes=2", "--lanes=7", "--lanes=64"] {
        let target = home.path("copy");
        expect(&copy(&source, &target, &[lanes]), 0, &[], lanes);
        let copied = target.join("file").metadata().expect("the copy");
        assert_eq!(copied.nlink(), 10_001, "{lanes}");
        same_tree(&source, &target, lanes);
        std::fs::remove_dir_all(&target).expect("it is there");
    }
}

#[test]
fn links_split_over_sources_are_links_in_the_copy() {
    let home = Home::new();
    let folders = ["one", "other", "third"].map(|name| home.path(name));
    folders.iter().for_each(|folder| std::fs::create_dir(folder).expect("room"));
    for number in 0..300 {
        let file = folders[number % 3].join(format!("file-{number}"));
        std::fs::write(&file, noise(number * 37, number as u64)).expect("room");
        std::fs::hard_link(&file, folders[(number + 1) % 3].join(format!("link-{number}"))).expect("a link");
    }
    for lanes in ["--lanes=1", "--lanes=7"] {
        let into = home.path("into");
        std::fs::create_dir(&into).expect("room");
        let places = [&folders[0], &folders[1], &folders[2], &into].map(|path| path.display().to_string());
        let words: Vec<&str> = ["copy", lanes].into_iter().chain(places.iter().map(String::as_str)).collect();
        expect(&pump_with(&words, &[]), 0, &[], lanes);
        let inode = |folder: &PathBuf, name: String| {
            let name = into.join(folder.file_name().expect("it has a name")).join(name);
            name.metadata().unwrap_or_else(|error| panic!("{name:?}: {error}")).ino()
        };
        for number in 0..300 {
            let file = inode(&folders[number % 3], format!("file-{number}"));
            let link = inode(&folders[(number + 1) % 3], format!("link-{number}"));
            assert_eq!(file, link, "{lanes}: {number}");
        }
        std::fs::remove_dir_all(&into).expect("it is there");
    }
}

#[test]
fn sixty_four_open_files_are_enough() {
    let home = Home::new();
    let (source, target) = (home.path("source"), home.path("copy"));
    make_tree(&source, 13, 2500);
    for lanes in ["--lanes=1", "--lanes=2", "--lanes=7"] {
        let places = [&source, &target].map(|path| path.display().to_string());
        let mut command = Command::new("prlimit");
        command.args(["--nofile=64:64", crate::support::PUMP, "copy", lanes, &places[0], &places[1]]);
        expect(&outcome(command, b""), 0, &[], lanes);
        same_tree(&source, &target, lanes);
        std::fs::remove_dir_all(&target).expect("it is there");
    }
}

#[test]
fn two_pumps_onto_one_target_do_not_mix() {
    let home = Home::new();
    let (source, target) = (home.path("source"), home.path("copy"));
    make_tree(&source, 14, 2000);
    for _ in 0..5 {
        let places = [&source, &target].map(|path| path.display().to_string());
        let start = || {
            let mut command = pump_command(&["copy", "-T", &places[0], &places[1]]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pump was built")
        };
        let mut both = [start(), start()];
        for child in &mut both {
            let status = child.wait().expect("it ends").code().expect("it ends by itself");
            assert!([0, 1, 23].contains(&status), "{status}");
        }
        whatever_is_there_is_whole(&source, &target, "two pumps");
        expect(&copy(&source, &target, &["-T"]), 0, &[], "a third");
        same_tree(&source, &target, "a third");
        std::fs::remove_dir_all(&target).expect("it is there");
    }
}

/// A file system in memory mounted on a folder, until dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn on(folder: PathBuf) -> Mounted {
        program(&["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", &folder.display().to_string()]);
        Mounted(folder)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        program(&["umount", &self.0.display().to_string()]);
    }
}

#[test]
fn what_is_mounted_is_not_removed() {
    let home = Home::new();
    let (source, target) = (home.path("source"), home.path("copy"));
    for folder in [&source, &target, &source.join("mount"), &target.join("mount"), &target.join("only here")]
    {
        std::fs::create_dir(folder).expect("room");
    }
    std::fs::write(target.join("mount/mine"), "mine").expect("room");
    std::fs::write(source.join("file"), "new").expect("room");
    let _there = Mounted::on(target.join("only here"));
    std::fs::write(target.join("only here/mine"), "mine").expect("room");
    {
        let _in_source = Mounted::on(source.join("mount"));
        expect(&copy(&source, &target, &["-T", "-x", "--delete"]), 0, &["it is a mount point"], "-x");
        assert!(target.join("mount/mine").exists(), "what was left out of the copy is left alone");
        let new = home.path("new");
        expect(&copy(&source, &new, &["-x"]), 0, &[], "-x to a new folder");
        assert!(new.join("mount").is_dir(), "the folder is there, without what is mounted on it");
    }
    expect(&copy(&source, &target, &["-T", "--delete"]), 0, &["it is a mount point"], "without -x");
    assert!(!target.join("mount/mine").exists(), "nothing is mounted any more");
    has_content(&target.join("only here/mine"), b"mine", "mounted in the target alone");
}

/// As a system backs itself up to a disk that is mounted in it.
#[test]
fn a_target_on_another_file_system_in_the_source_is_no_part_of_it() {
    let home = Home::new();
    let (source, disk) = (home.path("source"), home.path("source/mnt/disk"));
    std::fs::create_dir_all(&disk).expect("room");
    std::fs::write(source.join("file"), "new").expect("room");
    let _disk = Mounted::on(disk.clone());
    for target in [disk.clone(), disk.join("new")] {
        let row = target.display().to_string();
        expect(&copy(&source, &target, &["-T"]), 2, &["or lies in it"], &row);
        for run in ["the first run", "the second run"] {
            expect(&copy(&source, &target, &["-T", "-x"]), 0, &[], &format!("{row}: {run}"));
            has_content(&target.join("file"), b"new", &row);
            assert_eq!(paths(&target.join("mnt/disk")).len(), 1, "{row}: the folder alone");
        }
    }
}

#[test]
fn names_that_cannot_be_replaced_leave_nothing_behind() {
    let home = Home::new();
    let (source, target) = (home.path("source"), home.path("copy"));
    for folder in [&source, &target] {
        std::fs::create_dir(folder).expect("room");
        std::fs::write(folder.join("file"), folder.display().to_string()).expect("room");
        std::fs::write(folder.join("linked"), folder.display().to_string()).expect("room");
    }
    std::fs::hard_link(source.join("linked"), source.join("again")).expect("one file system");
    std::fs::write(target.join("again"), "old").expect("room");
    let names = ["file", "again"].map(|name| target.join(name).display().to_string());
    program(&["chattr", "+i", &names[0], &names[1]]);
    let run = copy(&source, &target, &["-T"]);
    program(&["chattr", "-i", &names[0], &names[1]]);
    expect(&run, 23, &["file'"], "immutable");
    assert_eq!(leftovers_below(&target), [""; 0]);
    expect(&copy(&source, &target, &["-T"]), 0, &[], "again");
    same_tree(&source, &target, "again");
}

#[test]
fn a_umask_that_closes_everything_closes_nothing_to_us() {
    let home = Home::new();
    let source = home.path("source");
    make_files(&source, 50, 1000);
    std::fs::create_dir(home.path("open")).expect("room");
    set_mode(&home.path("open"), 0o777);
    // Root may do anything; a user may not look into a folder that is closed to everybody.
    expect(&as_ordinary_user(&home, &["--version"]).expect("root"), 0, &[], "the program can be reached");
    let words = ["-c", "umask 777; exec ./.program copy source open/copy"];
    let mut command = Command::new("sh");
    command.args(words).current_dir(home.path("")).uid(NOBODY).gid(NOBODY);
    expect(&outcome(command, b""), 0, &[], "umask 777");
    same_tree_apart_from_owners(&source, &home.path("open/copy"), "umask 777");
}

#[test]
fn a_mirror_does_not_remove_its_source_that_a_mount_shows_elsewhere() {
    for (place, flag) in [("s/x", "-v"), ("s/x", "-n"), ("s/y/x", "-v")] {
        let home = Home::new();
        for folder in [place, "m"] {
            std::fs::create_dir_all(home.path(folder)).expect("room");
        }
        std::fs::write(home.path(place).join("f"), "F").expect("room");
        std::fs::write(home.path(place).join("big"), "BIGBIGBIG").expect("room");
        let bound = [place, "m"].map(|name| home.path(name).display().to_string());
        let _bind = Bind::new(&bound[0], &bound[1]);
        let run = home.pump(&["mirror", flag, "--max-size", "5B", "m", "s"]);
        let row = format!("{place} {flag}");
        expect(&run, 23, &["is copied from", "exclude it, or move it away"], &row);
        has_content(&home.path(place).join("big"), b"BIGBIGBIG", &row);
        // A pattern spares it.
        let run = home.pump(&["mirror", "--exclude=x", "--max-size", "5B", "m", "s"]);
        expect(&run, 0, &[], &row);
        has_content(&home.path(place).join("big"), b"BIGBIGBIG", &row);
    }
}

/// A folder of both sides that shows another folder of the source: what it has not itself is no name that is too much.
#[test]
fn a_mirror_removes_nothing_from_another_folder_of_its_source() {
    for (way, flag) in [
        ("local", "-v"),
        ("local", "-n"),
        ("pushed", "-v"),
        ("pulled", "-v"),
        ("pulled", "--delete-excluded"),
    ] {
        let home = Home::new();
        for folder in ["served/s/a/deep", "served/s/b/deep", "served/t/b", "served/t/c"] {
            std::fs::create_dir_all(home.path(folder)).expect("room");
        }
        for file in ["s/a/f", "s/a/deep/f", "s/b/h", "t/c/old"] {
            std::fs::write(home.path("served").join(file), "precious").expect("room");
        }
        std::fs::create_dir(home.path("served/s/c")).expect("room");
        let bound = ["served/s/a", "served/t/b"].map(|name| home.path(name).display().to_string());
        let _bind = Bind::new(&bound[0], &bound[1]);
        let serving = Serving::new(&home, &[]);
        let (from, to) = match way {
            "local" => ("served/s/".to_string(), "served/t".to_string()),
            "pushed" => ("served/s/".to_string(), serving.at("t")),
            _ => (serving.at("s/"), "served/t".to_string()),
        };
        let run = home.pump(&["mirror", flag, "--ticket-file", "ticket", &from, &to]);
        let row = format!("{way} {flag}");
        assert!(run.status == 23 && run.err.contains("is copied from"), "{row}: {run:?}");
        for file in ["s/a/f", "s/a/deep/f"] {
            has_content(&home.path("served").join(file), b"precious", &row);
        }
    }
}

/// A folder of the target alone, which a mount shows in the source under another name.
#[test]
fn a_mirror_does_not_remove_a_folder_that_a_mount_shows_in_its_source() {
    for (name_of_file, flag) in
        [("f", "-v"), ("f", "-n"), ("f", "-x"), ("f", "--max-size=5B"), ("only", "-v")]
    {
        let home = Home::new();
        for folder in ["s/shown", "t/only/deep"] {
            std::fs::create_dir_all(home.path(folder)).expect("room");
        }
        for file in ["t/only/f", "t/only/deep/f"] {
            std::fs::write(home.path(file), "precious").expect("room");
        }
        std::fs::write(home.path("s").join(name_of_file), "F").expect("room");
        let bound = ["t/only", "s/shown"].map(|name| home.path(name).display().to_string());
        let _bind = Bind::new(&bound[0], &bound[1]);
        let run = home.pump(&["mirror", flag, "s/", "t"]);
        let row = format!("{name_of_file} {flag}");
        expect(&run, 23, &["'t/only': is copied from"], &row);
        for file in ["t/only/f", "s/shown/deep/f"] {
            has_content(&home.path(file), b"precious", &row);
        }
    }
}

#[test]
fn a_source_that_a_mount_shows_in_the_target_is_not_written_to() {
    for flag in ["-a", "-n", "--lanes=3"] {
        let home = Home::new();
        for folder in ["s", "dst/m", "a/m"] {
            std::fs::create_dir_all(home.path(folder)).expect("room");
        }
        std::fs::write(home.path("s/f"), "F").expect("room");
        std::fs::write(home.path("a/m/f"), "X").expect("room");
        let bound = ["s", "dst/m"].map(|name| home.path(name).display().to_string());
        let _bind = Bind::new(&bound[0], &bound[1]);
        let run = home.pump(&["copy", flag, "a/", "s", "dst"]);
        expect(&run, 23, &["'dst/m'", "is a folder that is copied from", "unmount it"], flag);
        has_content(&home.path("s/f"), b"F", flag);
    }
}
