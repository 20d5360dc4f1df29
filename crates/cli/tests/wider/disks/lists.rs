//! Lists and journals of copies that were cut, on devices that fill, are pulled out and mounted again: what they tell
//! as done is on the disk, or does not count.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::support::running::eventually;
use crate::support::{Home, expect, noise, set_mode, set_mtime};
use crate::wider_parts::mounts::{Kind, Mount};
use crate::wider_parts::thin::Thin;
use crate::wider_parts::{program, pump, pump_command, with_content};

const FILE_BYTES: usize = 512 << 10;
const FILES: u64 = 80;

fn source() -> (Home, String) {
    source_in("source")
}

fn source_in(name: &str) -> (Home, String) {
    let home = Home::new();
    let folder = home.path(name);
    fs::create_dir_all(&folder).expect("room");
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
    for (row, second, mode, words) in [
        ("another source", &twin, 0o755, "was left by another copy"),
        ("others can write there", &source, 0o2777, "no list of what was done can be kept"),
    ] {
        let mut thin = Thin::new(24 << 20);
        let target = thin.at("old");
        fs::create_dir(&target).expect("room");
        set_mode(target.as_ref(), mode);
        let copy =
            |from: &str| pump(&["copy", "--update", "--no-preserve=mode", &format!("{from}/."), &target]);
        expect(&copy(&source), 23, &["sync the file system of"], row);
        thin.make_room();
        expect(&copy(second), 0, &[words], row);
        thin.mount_again();
        assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new(), "{row}");
    }
}

/// A run of fewer names puts right what it deals with, and the list stays for one of all.
#[test]
fn a_run_of_fewer_names_leaves_the_list_of_a_failed_sync() {
    let (home, source) = source();
    fs::write(home.path("names"), "f1\nf2\n").expect("room");
    let names = home.path("names").display().to_string();
    for fewer in [
        &["--exclude", "f*"][..],
        &["--include", "f1*", "--exclude", "*"],
        &["--files-from", &names],
        &["-x"],
    ] {
        for update in [&[][..], &["--update"]] {
            let row = format!("{fewer:?} {update:?}");
            let mut thin = Thin::new(24 << 20);
            let target = thin.at("new");
            expect(&pump(&["copy", &source, &target]), 23, &["sync the file system of"], &row);
            thin.make_room();
            let all = format!("{source}/.");
            let run = pump(&[&["copy", &all, &target], fewer, update].concat());
            expect(&run, 0, &[], &row);
            expect(&pump(&["copy", "--update", &all, &target]), 0, &[], &row);
            thin.mount_again();
            assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new(), "{row}");
            assert!(!PathBuf::from(thin.at("new/.pump-job")).exists(), "{row}");
            assert!(run.err.contains(".pump-job' stays"), "{row}: {run:?}");
        }
    }
}

/// A mount of the source is away, a folder was moved: the list stays until it is back, or given up.
#[test]
fn the_list_stays_while_the_source_lacks_what_a_failed_sync_left() {
    let (home, below) = source_in("source/sub");
    let (all, aside) = (home.path("source").display().to_string() + "/.", home.path("aside"));
    fs::write(home.path("source/top"), noise(FILE_BYTES, 0)).expect("room");
    for (row, update, given_up) in
        [("copy", &[][..], false), ("update", &["--update"], false), ("mirror", &["--delete"], true)]
    {
        let mut thin = Thin::new(24 << 20);
        let (target, list) = (thin.at("new"), PathBuf::from(thin.at("new/.pump-job")));
        expect(&pump(&["copy", &all, &target]), 23, &["sync the file system of"], row);
        thin.make_room();
        fs::rename(&below, &aside).expect("one file system");
        let run = pump(&[&["copy", &all, &target], update].concat());
        fs::rename(&aside, &below).expect("one file system");
        expect(&run, 0, if given_up { &[] } else { &[".pump-job' stays", "new/sub/f"] }, row);
        assert_eq!(list.exists(), !given_up, "{row}");
        expect(&pump(&["copy", "--update", &all, &target]), 0, &[], row);
        thin.mount_again();
        assert_eq!(wrong(&below, &thin.at("new/sub")), Vec::<PathBuf>::new(), "{row}");
        assert!(!list.exists(), "{row}");
    }
}

/// The copy of one name is replaced, and the other has changed with that, too.
#[test]
fn the_list_stays_for_a_name_that_was_one_with_another() {
    let (home, below) = source_in("source/sub");
    let (all, aside) = (home.path("source").display().to_string() + "/.", home.path("aside"));
    for number in 0..FILES {
        let name = format!("f{number}");
        fs::hard_link(PathBuf::from(&below).join(&name), home.path("source").join(&name)).expect("room");
    }
    let mut thin = Thin::new(24 << 20);
    let (target, list) = (thin.at("new"), PathBuf::from(thin.at("new/.pump-job")));
    expect(&pump(&["copy", &all, &target]), 23, &["sync the file system of"], "");
    thin.make_room();
    fs::rename(&below, &aside).expect("one file system");
    expect(
        &pump(&["copy", &all, &target]),
        0,
        &[".pump-job' stays", "new/sub/f"],
        "the other names are away",
    );
    fs::rename(&aside, &below).expect("one file system");
    expect(&pump(&["copy", "--update", "--no-preserve=links", &all, &target]), 0, &[], "they are back");
    thin.mount_again();
    assert_eq!(wrong(&below, &thin.at("new/sub")), Vec::<PathBuf>::new());
    assert!(!list.exists());
}

/// Older files come to lie in the source: what the target has is newer, and may not be on the disk.
#[test]
fn the_list_stays_while_what_a_failed_sync_left_is_newer() {
    let (_home, source) = source();
    let (mut thin, all) = (Thin::new(24 << 20), format!("{source}/."));
    let (target, list) = (thin.at("new"), PathBuf::from(thin.at("new/.pump-job")));
    let age = |seconds| {
        (0..FILES).for_each(|number| set_mtime(&PathBuf::from(&source).join(format!("f{number}")), seconds));
    };
    age(1_000_000_007);
    expect(&pump(&["copy", &all, &target]), 23, &["sync the file system of"], "");
    thin.make_room();
    age(1_000_000_000);
    expect(&pump(&["copy", "--update", &all, &target]), 0, &[".pump-job' stays"], "older");
    assert!(list.exists());
    age(1_000_000_007);
    expect(&pump(&["copy", "--update", &all, &target]), 0, &[], "as it was");
    thin.mount_again();
    assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new());
    assert!(!list.exists());
}

/// No list would tell that its sync failed: the other copy takes its own away when it is done.
#[test]
fn a_copy_that_can_keep_no_list_names_no_file_that_the_disk_does_not_have() {
    let (_home, source) = source();
    let other = Home::new();
    fs::create_dir(other.path("other")).expect("room");
    (0..5).for_each(|number| {
        fs::write(other.path(format!("other/o{number}")), noise(FILE_BYTES, number)).expect("room");
    });
    let (all, others) = (format!("{source}/."), other.path("other").display().to_string() + "/.");
    let mut thin = Thin::new(24 << 20);
    let target = thin.at("old");
    fs::create_dir(&target).expect("room");
    let mut child = pump_command(&["copy", "--bwlimit=1MB", &others, &target])
        .stderr(Stdio::null())
        .spawn()
        .expect("pump was built");
    eventually("it has begun", || PathBuf::from(thin.at("old/o0")).exists());
    let _ = child.kill();
    child.wait().expect("it ends");
    assert!(PathBuf::from(thin.at("old/.pump-job")).exists());
    // What the list tells needs room, too.
    program(&["sync", "--file-system", &target]);
    expect(&pump(&["copy", "--update", &all, &target]), 23, &["each file is synced alone"], "no list");
    thin.make_room();
    expect(&pump(&["copy", &others, &target]), 0, &[], "the other");
    expect(&pump(&["copy", "--update", &all, &target]), 0, &[], "again");
    thin.mount_again();
    assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new());
}

#[test]
fn no_name_is_linked_to_a_file_that_the_disk_does_not_have() {
    let (home, source) = source_in("source/sub");
    let above = home.path("source").display().to_string();
    for (failed, other, then, words) in [
        (&above, "", &above, "T/.pump-job' was left"),
        (&above, "/sub", &source, "T/.pump-job' was left"),
        (&source, "", &above, "T/sub/.pump-job' was left"),
    ] {
        let row = format!("{failed} {other} {then}");
        let mut thin = Thin::new(24 << 20);
        fs::create_dir(thin.at("T")).expect("room");
        let target = if failed == then || !other.is_empty() { thin.at("T") } else { thin.at("T/sub") };
        expect(&pump(&["copy", "-T", failed, &target]), 23, &["sync the file system of"], &row);
        thin.make_room();
        let link_dest = format!("--link-dest={}{other}", thin.at("T"));
        let run = pump(&["copy", &link_dest, then, &thin.at("next")]);
        expect(&run, 0, &[], &row);
        thin.mount_again();
        let next = if *then == above { thin.at("next/sub") } else { thin.at("next") };
        assert_eq!(wrong(&source, &next), Vec::<PathBuf>::new(), "{row}");
        expect(&run, 0, &[words], &row);
    }
}

#[test]
fn nothing_in_an_old_folder_is_kept_that_the_disk_does_not_have() {
    let (_home, source) = source();
    let all = format!("{source}/.");
    for options in [&["--ignore-existing"][..], &["--update", "--no-preserve=timestamps"]] {
        let row = format!("{options:?}");
        let mut thin = Thin::new(24 << 20);
        let target = thin.at("old");
        fs::create_dir(&target).expect("room");
        let words = [&["copy", &all, &target], options].concat();
        expect(&pump(&words), 23, &["sync the file system of"], &row);
        thin.make_room();
        // Somebody's own work is not taken for a part of the copy.
        fs::write(thin.at("old/f0"), "changed since").expect("room");
        expect(&pump(&words), 0, &[], &row);
        assert_eq!(fs::read(thin.at("old/f0")).expect("it is there"), b"changed since", "{row}");
        thin.mount_again();
        assert_eq!(wrong(&source, &target), [PathBuf::from("f0")], "{row}");
    }
}

#[test]
fn a_copy_of_a_folder_above_or_below_doubts_what_a_failed_sync_left() {
    let (home, source) = source_in("source/sub");
    let above = home.path("source").display().to_string();
    for option in ["--update", "--checksum", "--ignore-existing"] {
        for (failed, into, then, target) in [(&above, "T", &source, "T/sub"), (&source, "T/sub", &above, "T")]
        {
            let row = format!("{option}: {into}, then {target}");
            let mut thin = Thin::new(24 << 20);
            fs::create_dir_all(thin.at(into)).expect("room");
            expect(&pump(&["copy", "-T", failed, &thin.at(into)]), 23, &["sync the file system of"], &row);
            thin.make_room();
            let run = pump(&["copy", "-T", option, then, &thin.at(target)]);
            expect(&run, 0, &[], &row);
            thin.mount_again();
            assert_eq!(wrong(&source, &thin.at("T/sub")), Vec::<PathBuf>::new(), "{row}");
            // The list is that of the other copy, which may have left more.
            assert!(PathBuf::from(thin.at(into)).join(".pump-job").exists(), "{row}");
            expect(&run, 0, &[".pump-job' was left by another copy"], &row);
        }
    }
}

#[test]
fn what_of_a_large_file_the_cache_lost_does_not_count() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    let content = with_content(&source, 80 << 20, 1);
    let mut thin = Thin::new(24 << 20);
    let target = thin.at("target");
    // Seven seconds are left when the device is full: syncs take long where others write, too.
    let words = ["copy", "-q", "--direct=never", "--bwlimit=8MB", &source, &target];
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

/// A file that a list leaves out for its age is on the disk, whatever --sync says.
#[test]
fn what_a_run_without_syncs_resumed_is_on_the_disk() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    let content = with_content(&source, 100 << 20, 1);
    let mut thin = Thin::new(300 << 20);
    let target = thin.at("target");
    // A copy by the kernel has no journal to resume from.
    let words = ["copy", "--json", "--sync=none", "--reflink=never", "--direct=never", &source, &target];
    let slow = [&words[..], &["--bwlimit=30MB"]].concat();
    let mut child = pump_command(&slow).stdout(Stdio::null()).spawn().expect("pump was built");
    std::thread::sleep(Duration::from_millis(1700));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let run = pump(&words);
    expect(&run, 0, &[], "the same command");
    let moved = run.report()["bytes_moved"].as_u64().expect("a number");
    assert!(moved < content.len() as u64, "it goes on: {run:?}");
    // Names are on the disk by then, and content is not that nobody synced.
    std::thread::sleep(Duration::from_secs(7));
    thin.crash();
    assert!(fs::read(&target).expect("it has its name") == content, "the file differs on the disk");
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

/// Kills a slow copy when half of its files are there.
fn cut(words: &[&str], target: &str) {
    let slow = [words, &["--bwlimit=20MB", "--lanes=1"]].concat();
    let mut child = pump_command(&slow).stderr(Stdio::null()).spawn().expect("pump was built");
    let count = || fs::read_dir(target).map_or(0, |names| names.flatten().count());
    eventually("half of the files", || {
        count() > FILES as usize / 2 || child.try_wait().expect("it can be waited for").is_some()
    });
    let _ = child.kill();
    assert!(!child.wait().expect("it ends").success(), "it was killed");
}

/// ntfs-3g, as it is mounted by default, lets everybody write everywhere, whatever chmod says.
#[test]
fn where_all_files_are_open_to_all_a_list_leads_nowhere_and_goes_with_the_copy() {
    let (_home, source) = source();
    let (mount, content) = (Mount::of(Kind::Ntfs, 256), format!("{source}/."));
    let (target, list) = (mount.at("new"), PathBuf::from(mount.at("new/.pump-job")));
    let words = ["copy", "--sync=none", "--no-preserve=mode,ownership", &source, &target];
    let open = ["no list of what was done can be kept", "the next one copies all of it again"];
    expect(&pump(&words), 0, &open, "the whole copy");
    assert!(!list.exists(), "behind the whole copy");
    fs::remove_dir_all(&target).expect("it is ours");
    cut(&words, &target);
    expect(&pump(&words), 0, &["is ignored"], "the same command");
    assert!(!PathBuf::from(mount.at("new/source/.pump-job")).exists());
    assert_eq!(wrong(&source, &mount.at("new/source")), Vec::<PathBuf>::new(), "as cp has it");
    // FUSE keeps the names of files that are open, and the kernel closes those of a program that ended a while later.
    eventually("nothing is open", || fs::remove_dir_all(mount.at("new/source")).is_ok());
    expect(
        &pump(&["copy", "--no-preserve=mode,ownership", &content, &target]),
        0,
        &open,
        "into the same folder",
    );
    assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new());
    assert!(!list.exists());
    // NTFS keeps times in units of 100 ns. What was removed while it was open has a name for a moment.
    let nightly = ["mirror", "-i", "--no-preserve=mode,ownership", &content, &target];
    expect(&pump(&nightly), 0, &["80 up to date"], "a mirror");
    let again = pump(&nightly);
    expect(&again, 0, &["80 files up to date"], "a mirror once more");
    let is_item = |line: &&str| line.starts_with(['>', '.']);
    assert_eq!(again.out.lines().chain(again.err.lines()).find(is_item), None, "it has nothing to do");
    let quiet = pump(&[&nightly[..], &["-q"]].concat());
    assert_eq!((quiet.status, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""), "no news is no mail");
}

#[test]
fn where_one_mode_for_all_files_keeps_others_out_the_same_command_goes_on() {
    let (_home, source) = source();
    let mount = Mount::of(Kind::NtfsClosed, 256);
    let target = mount.at("new");
    let words = ["copy", "--sync=none", "--no-preserve=mode,ownership", &source, &target];
    cut(&words, &target);
    let run = pump(&[&words[..], &["--json"]].concat());
    expect(&run, 0, &[], "the same command");
    assert!(!run.err.contains("warning"), "{run:?}");
    assert!(!PathBuf::from(mount.at("new/source")).exists(), "it goes on into the same folder");
    assert_eq!(wrong(&source, &target), Vec::<PathBuf>::new());
    assert!(!PathBuf::from(mount.at("new/.pump-job")).exists());
    // Behind the list's removal: FUSE had kept it under another name for as long as it was open.
    let time = |folder: &str| {
        let folder = fs::metadata(folder).expect("it exists");
        (folder.mtime(), folder.mtime_nsec() / 100)
    };
    assert_eq!(time(&target), time(&source));
}

#[test]
fn a_new_folder_is_made_where_all_files_belong_to_another_user() {
    let (_home, source) = source();
    let mount = Mount::of(Kind::NtfsOfOther, 256);
    let words = ["no list of what was done can be kept: all files of this mount belong to another user"];
    expect(&pump(&["copy", "--no-preserve=mode,ownership", &source, &mount.at("new")]), 0, &words, "");
    assert_eq!(wrong(&source, &mount.at("new")), Vec::<PathBuf>::new());
    assert_eq!(
        fs::read_dir(mount.at("new")).expect("it was made").count(),
        FILES as usize,
        "no list is left"
    );
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
    crate::support::make_fifo(&shared.join(".pump-job"));
}

fn plant_link(source: &std::path::Path, shared: &std::path::Path) {
    std::os::unix::fs::symlink(source.join("sub/file"), shared.join(".pump-job")).expect("room");
}
