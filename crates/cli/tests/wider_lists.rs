//! Lists and journals of copies that were cut, on devices that fill, are pulled out and mounted again: what they tell
//! as done is on the disk, or does not count.
#![cfg(feature = "wider")]

mod support;
mod wider_parts;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use support::running::eventually;
use support::{Home, expect, noise, set_mode};
use wider_parts::thin::Thin;
use wider_parts::{program, pump, pump_command, with_content};

const FILE_BYTES: usize = 512 << 10;
const FILES: u64 = 80;

fn source() -> (Home, String) {
    let home = Home::new();
    let folder = home.path("source");
    fs::create_dir(&folder).expect("room");
    for number in 0..FILES {
        fs::write(folder.join(format!("f{number}")), noise(FILE_BYTES, number)).expect("room");
    }
    let path = folder.display().to_string();
    (home, path)
}

/// Files of the source whose copies differ on the disk.
fn wrong(source: &str, target: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(source).expect("it is there").map(|entry| entry.expect("an entry").file_name());
    let differs = |name: &PathBuf| {
        fs::read(PathBuf::from(source).join(name)).ok() != fs::read(PathBuf::from(target).join(name)).ok()
    };
    names.map(PathBuf::from).filter(differs).collect()
}

#[test]
fn after_a_failed_sync_no_file_of_a_tree_counts_that_the_disk_does_not_have() {
    let (_home, source) = source();
    for options in [&[][..], &["--update"], &["--checksum"], &["--ignore-existing"]] {
        let row = format!("{options:?}");
        let mut thin = Thin::new(24 << 20);
        let target = thin.at("new");
        let words = [&["copy", &source, &target], options].concat();
        expect(&pump(&words), 23, &["sync the file system of"], &row);
        thin.make_room();
        expect(&pump(&words), 0, &[], &row);
        thin.mount_again();
        assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new(), "{row}");
        assert!(!PathBuf::from(thin.at("new/.pump-job")).exists(), "{row}");
    }
}

/// What stood there before is neither doubted nor copied again.
#[test]
fn an_update_of_an_old_folder_remembers_that_a_sync_failed() {
    let (_home, source) = source();
    let (all, first_file) = (format!("{source}/."), format!("{source}/f0"));
    for first in [&["--update"][..], &[]] {
        let row = format!("{first:?}, then --update");
        let mut thin = Thin::new(24 << 20);
        let target = thin.at("old");
        fs::create_dir(&target).expect("room");
        expect(&pump(&["copy", &first_file, &target]), 0, &[], &row);
        let inode = || fs::metadata(PathBuf::from(&target).join("f0")).expect("it was copied").ino();
        let before = inode();
        thin.pass_a_tick();
        let words = [&["copy", &all, &target], first].concat();
        expect(&pump(&words), 23, &["sync the file system of"], &row);
        assert_eq!(inode() == before, !first.is_empty(), "{row}");
        thin.make_room();
        expect(&pump(&["copy", "--update", &all, &target]), 0, &[], &row);
        assert_eq!(inode() == before, !first.is_empty(), "{row}");
        thin.mount_again();
        assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new(), "{row}");
        assert!(!PathBuf::from(thin.at("old/.pump-job")).exists(), "{row}");
    }
}

#[test]
fn nothing_is_removed_behind_a_failed_sync() {
    let (_home, source) = source();
    let thin = Thin::new(24 << 20);
    let target = thin.at("old");
    fs::create_dir(&target).expect("room");
    fs::write(thin.at("old/moved-since"), noise(FILE_BYTES, 0)).expect("room");
    let run = pump(&["copy", "--update", "--delete", &format!("{source}/."), &target]);
    expect(&run, 23, &["sync the file system of", "nothing was removed"], "");
    assert!(PathBuf::from(thin.at("old/moved-since")).exists());
}

#[test]
fn a_list_of_another_copy_makes_an_update_doubt_what_is_younger() {
    let (home, source) = source();
    let twin = home.path("twin").display().to_string();
    program(&["cp", "-a", &source, &twin]);
    for (row, second, mode) in [("another source", &twin, 0o755), ("others can write there", &source, 0o2777)]
    {
        let mut thin = Thin::new(24 << 20);
        let target = thin.at("old");
        fs::create_dir(&target).expect("room");
        set_mode(target.as_ref(), mode);
        let copy =
            |from: &str| pump(&["copy", "--update", "--no-preserve=mode", &format!("{from}/."), &target]);
        expect(&copy(&source), 23, &["sync the file system of"], row);
        thin.make_room();
        expect(&copy(second), 0, &["was left by another copy"], row);
        thin.mount_again();
        assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new(), "{row}");
    }
}

#[test]
fn what_of_a_large_file_the_cache_lost_does_not_count() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    let content = with_content(&source, 80 << 20, 1);
    let mut thin = Thin::new(24 << 20);
    let target = thin.at("target");
    let words = ["copy", "-q", "--direct=never", "--bwlimit=15MB", &source, &target];
    let mut child = pump_command(&words).stderr(Stdio::null()).spawn().expect("pump was built");
    // Somebody else is told that the device is full.
    let tell = || {
        thin.sync_all();
        thin.free_bytes() < 1 << 20
    };
    eventually("the device is full", || tell() || child.try_wait().expect("it can be waited for").is_some());
    // Any moment behind that will do.
    std::thread::sleep(Duration::from_millis(500));
    thin.sync_all();
    assert!(child.try_wait().expect("it can be waited for").is_none(), "it ended too soon");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    thin.make_room();
    expect(&pump(&["copy", "--direct=never", &source, &target]), 0, &[], "the same command");
    thin.mount_again();
    assert!(fs::read(&target).expect("it is there") == content, "the file differs on the disk");
}

#[test]
fn marks_of_a_mount_count_for_nothing_in_the_next_one() {
    let home = Home::new();
    let source = home.path("source");
    fs::create_dir(&source).expect("room");
    for number in 0..24 {
        fs::write(source.join(format!("f{number}")), noise(2 << 20, number)).expect("room");
    }
    let source = source.display().to_string();
    let mut thin = Thin::new(300 << 20);
    let target = thin.at("new");
    let words = ["copy", "-q", "--direct=never", &source, &target];
    let slow = [&words[..], &["--bwlimit=20MB"]].concat();
    let mut child = pump_command(&slow).stderr(Stdio::null()).spawn().expect("pump was built");
    let count = || fs::read_dir(&target).map_or(0, |names| names.flatten().count());
    eventually("half of the files", || {
        count() > 12 || child.try_wait().expect("it can be waited for").is_some()
    });
    let _ = child.kill();
    child.wait().expect("it ends");
    thin.pull_out("new/.pump-job");
    expect(&pump(&words), 0, &[], "the same command");
    assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new());
    assert!(!PathBuf::from(thin.at("new/source")).exists(), "it goes on into the same folder");
}

#[test]
fn a_list_is_gone_from_the_disk_before_status_0_is_given() {
    let (_home, source) = source();
    let mut thin = Thin::new(300 << 20);
    let target = thin.at("new");
    expect(&pump(&["copy", &source, &target]), 0, &[], "the copy");
    thin.crash();
    assert!(!PathBuf::from(thin.at("new/.pump-job")).exists(), "the list is back");
    assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new());
}

#[test]
fn a_list_that_another_user_planted_leads_nobody_anywhere() {
    let home = Home::new();
    let folder = home.path("source");
    fs::create_dir_all(folder.join("sub")).expect("room");
    fs::write(folder.join("sub/file"), "content").expect("room");
    let shared = home.path("shared");
    fs::create_dir(&shared).expect("room");
    program(&["chmod", "1777", &shared.display().to_string()]);
    fs::write(shared.join("precious"), "of another user").expect("room");
    let words = ["copy", "--delete", &folder.display().to_string(), &format!("{}/", shared.display())];
    for plant in [plant_list, plant_pipe, plant_link] {
        plant(&folder, &shared);
        let run = pump(&words);
        expect(&run, 0, &[], "the copy");
        assert_eq!(fs::read(shared.join("precious")).expect("it is there"), b"of another user");
        assert!(shared.join("source/sub/file").exists(), "{run:?}");
        fs::remove_dir_all(shared.join("source")).expect("it is ours");
        fs::remove_file(shared.join(".pump-job")).expect("it was planted, and is left");
    }
}

/// What a list of an earlier version held: 48 bytes with the source's device and inode.
fn plant_list(source: &std::path::Path, shared: &std::path::Path) {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(source).expect("it is there");
    let mut bytes = b"pumpjob2".to_vec();
    bytes.extend(meta.dev().to_le_bytes());
    bytes.extend(meta.ino().to_le_bytes());
    bytes.resize(48, 0);
    bytes[40] = 1;
    let list = shared.join(".pump-job");
    fs::write(&list, bytes).expect("room");
    std::os::unix::fs::chown(&list, Some(65_534), Some(65_534)).expect("root may");
    program(&["chmod", "600", &list.display().to_string()]);
}

fn plant_pipe(_: &std::path::Path, shared: &std::path::Path) {
    support::make_fifo(&shared.join(".pump-job"));
}

fn plant_link(source: &std::path::Path, shared: &std::path::Path) {
    std::os::unix::fs::symlink(source.join("sub/file"), shared.join(".pump-job")).expect("room");
}
