//! No room, no permission, no second file: full disks, quotas, read-only mounts, immutable files, bind mounts. An old
//! target stays whole, and nothing is left behind.

use std::path::{Path, PathBuf};

use crate::support::{Home, Outcome, expect, has_content, listing, outcome};
use crate::wider_parts::mounts::{Bind, Chattr};
use crate::wider_parts::{Kind, Mount, leftovers, program, pump, pump_command, pump_with, with_content};

const MIB: usize = 1 << 20;

/// A small file system with an old target, and `room` bytes free.
fn nearly_full(kind: Kind, room: u64) -> (Mount, Vec<u8>) {
    let mount = Mount::of(kind, if kind == Kind::Ext4 { 64 } else { 512 });
    let old = with_content(&mount.at("target"), 100_000, 1);
    let free = mount.free_bytes();
    program(&["fallocate", "--length", &(free - room).to_string(), &mount.at("ballast")]);
    program(&["sync", "--file-system", &mount.point()]);
    (mount, old)
}

fn old_target_is_whole(mount: &Mount, old: &[u8], row: &str) {
    has_content(mount.at("target").as_ref(), old, row);
    assert_eq!(leftovers(&mount.point()), [""; 0], "{row}");
}

/// The number in front of these words.
fn number_before(text: &str, words: &str) -> u64 {
    let before = text.split(words).next().expect("text before the words").trim_end();
    let digits = before.rsplit(' ').next().expect("a word");
    digits.parse().unwrap_or_else(|_| panic!("no number before {words:?}: {text}"))
}

#[test]
fn a_full_disk_is_known_before_anything_is_written() {
    let elsewhere = Mount::new(Kind::Tmpfs);
    with_content(&elsewhere.at("source"), 24 * MIB, 2);
    for kind in [Kind::Ext4, Kind::Xfs] {
        for options in [&[][..], &["--direct=always"], &["--engine=inline", "--direct=never"], &["--verify"]]
        {
            let row = format!("{kind:?} {options:?}");
            let (mount, old) = nearly_full(kind, 8 << 20);
            let free = mount.free_bytes();
            let (source, target) = (elsewhere.at("source"), mount.at("target"));
            let run = pump_with(&["copy", "--json", &source, &target], options);
            let name = format!("reserve '{target}' at byte 0: No space left on device (os error 28)");
            expect(&run, 1, &[&name, "25165824 bytes (24.0 MiB) are needed, "], &row);
            let told = number_before(&run.err, "bytes (").max(number_before_free(&run));
            assert!(told <= 24 * MIB as u64, "{row}: {}", run.err);
            assert!(number_before_free(&run).abs_diff(free) <= 1 << 20, "{row}: {free} free: {}", run.err);
            assert_eq!(crate::wider_parts::report(&run)["bytes_moved"], 0, "{row}: nothing was written");
            old_target_is_whole(&mount, &old, &row);
        }
    }
}

#[test]
fn a_full_disk_leaves_what_is_written_in_place_as_it_was() {
    let elsewhere = Mount::new(Kind::Tmpfs);
    with_content(&elsewhere.at("source"), 24 * MIB, 2);
    let sparse = std::fs::File::options().write(true).open(elsewhere.at("source")).expect("it was made");
    for (kind, source_bytes) in [(Kind::Ext4, 24 * MIB), (Kind::Xfs, 24 * MIB), (Kind::Ext4, 40 * MIB)] {
        sparse.set_len(source_bytes as u64).expect("a hole at its end");
        let (mount, old) = nearly_full(kind, 8 << 20);
        let free = mount.free_bytes();
        let run = pump(&["copy", "--inplace", &elsewhere.at("source"), &mount.at("target")]);
        expect(&run, 1, &["No space left on device"], &format!("{kind:?}"));
        old_target_is_whole(&mount, &old, &format!("{kind:?}"));
        program(&["sync", "--file-system", &mount.point()]);
        assert!(mount.free_bytes().abs_diff(free) <= 1 << 20, "{kind:?}: {free} were free");
    }
}

/// The number of bytes that the message says are free.
fn number_before_free(run: &Outcome) -> u64 {
    let behind = run.err.split("are needed, ").nth(1).unwrap_or_else(|| panic!("what is free: {}", run.err));
    number_before(behind, "bytes (")
}

#[test]
fn a_stream_that_does_not_fit_says_where_it_stopped() {
    for kind in [Kind::Ext4, Kind::Tmpfs] {
        for options in [&[][..], &["--direct=always"], &["--engine=threads"], &["--inplace"]] {
            let row = format!("{kind:?} {options:?}");
            let (mount, old) = nearly_full(kind, 8 << 20);
            let target = mount.at("target");
            let mut producer = std::process::Command::new("head");
            producer.args(["-c", "20M", "/dev/zero"]).stdout(std::process::Stdio::piped());
            let mut producer = producer.spawn().expect("head is installed");
            let mut command = pump_command(&[&["copy", "-", &target], options].concat());
            command.stdin(producer.stdout.take().expect("a pipe"));
            let run = outcome(command, b"");
            producer.wait().expect("head ends");
            let words = format!("write '{target}' at byte ");
            expect(&run, 1, &[&words, "No space left on device (os error 28)", "free"], &row);
            assert!(!run.err.contains(&u64::MAX.to_string()), "{row}: nobody knows the length: {}", run.err);
            assert_eq!(leftovers(&mount.point()), [""; 0], "{row}");
            if !options.contains(&"--inplace") {
                old_target_is_whole(&mount, &old, &row);
            }
        }
    }
}

#[test]
fn a_null_source_and_several_files_meet_a_full_disk() {
    let (mount, old) = nearly_full(Kind::Ext4, 8 << 20);
    let run = pump(&["copy", "null:24MiB", &mount.at("target")]);
    expect(&run, 1, &["reserve", "No space left on device", "25165824 bytes (24.0 MiB) are needed"], "null");
    old_target_is_whole(&mount, &old, "null");

    let elsewhere = Mount::new(Kind::Tmpfs);
    with_content(&elsewhere.at("large"), 24 * MIB, 3);
    let small = with_content(&elsewhere.at("small"), MIB, 4);
    let run = pump(&["copy", &elsewhere.at("large"), &elsewhere.at("small"), &mount.point()]);
    expect(&run, 23, &["large", "No space left on device"], "the other file goes on");
    has_content(mount.at("small").as_ref(), &small, "the other file");
    assert!(!std::path::Path::new(&mount.at("large")).exists());
    old_target_is_whole(&mount, &old, "several");
}

#[test]
fn a_quota_is_told_as_such() {
    let mount = Mount::new(Kind::Btrfs);
    let folder = mount.at("limited");
    program(&["btrfs", "quota", "enable", &mount.point()]);
    program(&["btrfs", "subvolume", "create", &folder]);
    program(&["btrfs", "qgroup", "limit", "16M", &folder]);
    let elsewhere = Mount::new(Kind::Tmpfs);
    with_content(&elsewhere.at("source"), 48 * MIB, 5);
    let target = mount.at("limited/target");
    let old = with_content(&target, 100_000, 6);
    program(&["sync", "--file-system", &mount.point()]);
    let told = format!("'{target}' at byte ");
    for options in [&[][..], &["--direct=always"], &["--sync=none"]] {
        let run = pump_with(&["copy", "--json", &elsewhere.at("source"), &target], options);
        expect(&run, 1, &[&told, "Disk quota exceeded (os error 122)"], &format!("{options:?}"));
        assert_eq!(crate::wider_parts::report(&run)["problems"]["no_space"], 1, "{options:?}: {run:?}");
        has_content(target.as_ref(), &old, &format!("{options:?}"));
        assert_eq!(leftovers(&folder), [""; 0], "{options:?}");
    }
}

#[test]
fn read_only_mounts_are_read_and_not_written() {
    for kind in [Kind::Ext4, Kind::Btrfs, Kind::Tmpfs] {
        let row = format!("{kind:?}");
        let mount = Mount::new(kind);
        let elsewhere = Mount::new(Kind::Tmpfs);
        let content = with_content(&elsewhere.at("content"), 3 * MIB + 7, 7);
        // By other programs: a file that this one opened for writing may still be open in a process that another test
        // just forked, and a mount with such a file is busy.
        program(&["cp", &elsewhere.at("content"), &mount.at("source")]);
        program(&["truncate", "--size", "5M", &mount.at("hole")]);
        program(&["mkdir", &mount.at("tree")]);
        mount.make_read_only();
        for target in ["new", "source"] {
            let source = elsewhere.at("in");
            with_content(&source, MIB, 8);
            let target = mount.at(target);
            let run = pump(&["copy", &source, &target]);
            let words = format!("create '{target}': Read-only file system (os error 30)");
            expect(&run, 1, &[&words], &row);
        }
        has_content(mount.at("source").as_ref(), &content, &row);
        std::fs::create_dir(elsewhere.at("tree")).expect("room");
        with_content(&elsewhere.at("tree/new"), 1000, 9);
        let run = pump(&["mirror", &format!("{}/", elsewhere.at("tree")), &mount.at("tree")]);
        expect(&run, 23, &["Read-only file system (os error 30); mount it writable"], &row);
        assert!(!run.err.contains("no list is kept") && !run.err.contains("--no-preserve"), "{row}: {run:?}");
        assert_eq!(run.err.matches("Read-only").count(), 1, "{row}: {run:?}");
        for name in ["source", "hole"] {
            expect(&pump(&["copy", &mount.at(name), &elsewhere.at("out")]), 0, &[], &format!("{row} {name}"));
            let expected = std::fs::read(mount.at(name)).expect("readable");
            has_content(elsewhere.at("out").as_ref(), &expected, &row);
        }
    }
}

#[test]
fn immutable_files_are_read_and_not_replaced() {
    let mount = Mount::of(Kind::Ext4, 64);
    let content = with_content(&mount.at("source"), 2 * MIB, 9);
    let old = with_content(&mount.at("target"), 1000, 10);
    let target = mount.at("target");
    for letter in ['i', 'a'] {
        let _immutable = Chattr::new(&target, letter);
        for options in [&[][..], &["--inplace"], &["--verify"]] {
            let run = pump_with(&["copy", &mount.at("source"), &target], options);
            let row = format!("+{letter} {options:?}");
            expect(&run, 1, &[&format!("'{target}': Operation not permitted (os error 1)")], &row);
            old_target_is_whole(&mount, &old, &row);
        }
    }
    {
        let _immutable = Chattr::new(&mount.at("source"), 'i');
        expect(&pump(&["copy", &mount.at("source"), &mount.at("copy")]), 0, &[], "immutable source");
        has_content(mount.at("copy").as_ref(), &content, "immutable source");
    }
    let _immutable = Chattr::new(&mount.point(), 'i');
    let run = pump(&["copy", &mount.at("source"), &mount.at("new")]);
    expect(&run, 1, &["create '", "/new': Operation not permitted (os error 1)"], "immutable folder");
}

#[test]
fn the_same_file_is_known_through_bind_mounts() {
    let mount = Mount::of(Kind::Ext4, 64);
    let content = with_content(&mount.at("a"), 100_000, 11);
    std::fs::write(mount.at("b"), "").expect("room");
    std::fs::create_dir(mount.at("folder")).expect("room");
    let _file = Bind::new(&mount.at("a"), &mount.at("b"));
    let _folder = Bind::new(&mount.point(), &mount.at("folder"));
    for (from, to) in [("a", "b"), ("b", "a"), ("a", "folder/a"), ("folder/a", "a"), ("a", "folder")] {
        for options in [&[][..], &["--inplace"]] {
            let row = format!("{from} to {to} {options:?}");
            let run = pump_with(&["copy", &mount.at(from), &mount.at(to)], options);
            expect(&run, 2, &["is the same file as the source"], &row);
            has_content(mount.at("a").as_ref(), &content, &row);
            assert_eq!(leftovers(&mount.point()), [""; 0], "{row}");
        }
    }
}

#[test]
fn a_mount_point_is_not_replaced_but_written_in_place() {
    let mount = Mount::of(Kind::Ext4, 64);
    let old = with_content(&mount.at("a"), 100_000, 12);
    std::fs::write(mount.at("b"), "").expect("room");
    let source = with_content(&mount.at("source"), 2 * MIB, 13);
    let _file = Bind::new(&mount.at("a"), &mount.at("b"));
    let target = mount.at("b");
    let run = pump(&["copy", &mount.at("source"), &target]);
    expect(
        &run,
        1,
        &[&format!("create '{target}': Device or resource busy (os error 16)"), "--inplace"],
        "replaced",
    );
    has_content(target.as_ref(), &old, "replaced");
    assert_eq!(leftovers(&mount.point()), [""; 0]);
    expect(&pump(&["copy", "--inplace", &mount.at("source"), &target]), 0, &[], "in place");
    has_content(mount.at("a").as_ref(), &source, "in place");
}

/// Names that a folder holds, the bytes of its files, and its empty folders.
fn holds(folder: &Path) -> (usize, u64, usize) {
    let names = listing::paths(folder);
    let metas = names.iter().map(|path| folder.join(path).symlink_metadata().expect("it stands there"));
    let bytes = metas.filter(std::fs::Metadata::is_file).map(|meta| meta.len()).sum();
    let is_empty =
        |path: &PathBuf| std::fs::read_dir(folder.join(path)).is_ok_and(|mut names| names.next().is_none());
    let empty = names.iter().filter(|path| is_empty(path)).count();
    (names.len(), bytes, empty)
}

#[test]
fn a_tree_that_fills_the_disk_stops_with_one_line_that_counts_what_is_missing() {
    let home = Home::new();
    let source = home.path("tree");
    for folder in 0..8 {
        std::fs::create_dir_all(source.join(format!("{folder}/below"))).expect("room");
        for file in 0..10 {
            let name =
                if file % 2 == 0 { format!("{folder}/{file}") } else { format!("{folder}/below/{file}") };
            with_content(&source.join(name).display().to_string(), 400_000 + folder, file);
        }
    }
    std::fs::create_dir(source.join("empty")).expect("room");
    let shown = source.display().to_string();
    for options in [&[][..], &["--lanes=1"], &["--update", "-T"], &["--sync=each"]] {
        let row = format!("{options:?}");
        let (mount, _) = nearly_full(Kind::Ext4, 8 << 20);
        let target = mount.at("new");
        let words = [&["copy", "--json"], options, &[&shown, &target]].concat();
        let run = pump(&words);
        expect(&run, 23, &["No space left on device", "nothing more was started"], &row);
        assert_eq!(run.err.matches("No space left").count(), 1, "{row}: {run:?}");
        let ((all, all_bytes, _), (names, bytes, empty)) = (holds(&source), holds(Path::new(&target)));
        // The list is a file, too.
        let list = std::fs::metadata(mount.at("new/.pump-job")).expect("the same command goes on").len();
        let (missing, missing_bytes) = (all + 1 - names, all_bytes + list - bytes);
        expect(&run, 23, &[&format!(": {missing} names with {missing_bytes} bytes (")], &row);
        assert_eq!(crate::wider_parts::report(&run)["problems"]["no_space"], missing, "{row}: {run:?}");
        assert!(empty <= 1, "{row}: {empty} empty folders, and the source has one");
        std::fs::remove_file(mount.at("ballast")).expect("it stands there");
        expect(&pump(&words), 0, &[], &row);
        listing::same(&source, Path::new(&target), &row);
    }
}

/// A reservation that is refused has taken nothing.
#[test]
fn a_file_that_does_not_fit_keeps_none_away_that_does() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("tree/below")).expect("room");
    for name in ["0", "below/0"] {
        with_content(&home.path("tree").join(name).display().to_string(), 20 << 20, 1);
    }
    for number in 1..40 {
        let name = format!("tree/{}{number}", if number % 2 == 0 { "below/" } else { "" });
        with_content(&home.path(&name).display().to_string(), 1000, number);
    }
    let (mount, _) = nearly_full(Kind::Ext4, 8 << 20);
    let copy = ["copy", &home.path("tree").display().to_string(), &mount.at("new")];
    let missing = ": 2 names with 41943040 bytes (40.0 MiB) are missing";
    expect(&pump(&copy), 23, &["other files as large were not started", missing], "two do not fit");
    std::fs::remove_file(mount.at("ballast")).expect("it exists");
    expect(&pump(&copy), 0, &["2 files"], "the rest");
    listing::same(&home.path("tree"), Path::new(&mount.at("new")), "the rest");
}

/// Takes all inodes but so many.
fn leave_inodes(mount: &Mount, left: u32) {
    let filler = |number: u32| mount.at(&format!("filler-{number}"));
    let made = (0..).take_while(|number| std::fs::File::create(filler(*number)).is_ok()).count();
    assert!(made > left as usize, "{made} inodes were there");
    (0..left).for_each(|number| std::fs::remove_file(filler(number)).expect("it was made"));
}

/// Folders of the tree have the inodes, and the list has one or comes too late for it.
#[test]
fn a_tree_without_room_for_its_folders_counts_what_lies_in_them() {
    let home = Home::new();
    let source = home.path("tree");
    for folder in 0..4 {
        std::fs::create_dir_all(source.join(format!("{folder}/below"))).expect("room");
        with_content(&source.join(format!("{folder}/below/file")).display().to_string(), 100_000, folder);
    }
    let shown = format!("{}/", source.display());
    for (left, options) in [(2, &[][..]), (2, &["--lanes=1"]), (3, &[]), (3, &["--update"])] {
        let row = format!("{left} inodes, {options:?}");
        let mount = Mount::ext4(64, &["-N", "64"]);
        std::fs::create_dir(mount.at("new")).expect("room");
        leave_inodes(&mount, left);
        let run = pump(&[&["copy", "--json"], options, &[&shown, &mount.at("new")]].concat());
        expect(&run, 23, &["No space left on device", ": 12 names with 400000 bytes ("], &row);
        assert_eq!(run.err.matches("No space left").count(), 1, "{row}: {run:?}");
        assert_eq!(crate::wider_parts::report(&run)["problems"]["no_space"], 12, "{row}: {run:?}");
        assert_eq!(listing::paths(Path::new(&mount.at("new"))).len(), 1, "{row}: the folder alone");
    }
}

/// The folders stand, and the list is started with the first file: neither has room.
#[test]
fn a_list_without_room_is_not_told_beside_the_files_that_have_none() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("tree/below")).expect("room");
    for file in 0..4 {
        with_content(&home.path(format!("tree/below/{file}")).display().to_string(), 100_000, file);
    }
    let shown = format!("{}/", home.path("tree").display());
    let mount = Mount::ext4(64, &["-N", "64"]);
    std::fs::create_dir_all(mount.at("new/below")).expect("room");
    leave_inodes(&mount, 0);
    let copy = ["copy", "--json", "--update", &shown, &mount.at("new")];
    let run = pump(&copy);
    expect(&run, 23, &["create '", ": 4 names with 400000 bytes ("], "no inode");
    assert_eq!(
        (run.err.matches("No space left").count(), run.err.contains("no list")),
        (1, false),
        "{run:?}"
    );
    assert_eq!(crate::wider_parts::report(&run)["problems"]["no_space"], 4, "{run:?}");
    // With one inode it is the file, since those that have no list are synced alone.
    std::fs::remove_file(mount.at("filler-0")).expect("it was made");
    expect(&pump(&copy), 23, &[": 4 names with 400000 bytes ("], "the list has the inode");
}

/// The root has the last inode, or the list has it and no block: nobody knows what is missing, and nothing stays.
#[test]
fn a_tree_that_cannot_be_started_counts_nothing_and_leaves_nothing() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("tree")).expect("room");
    with_content(&home.path("tree/file").display().to_string(), 100_000, 1);
    let source = home.path("tree").display().to_string();
    for left in [0, 1] {
        let mount = Mount::ext4(64, &["-N", "64"]);
        leave_inodes(&mount, left);
        let run = pump(&["copy", &source, &mount.at("new")]);
        expect(&run, 1, &["nothing more was started; make room"], &format!("{left} inodes"));
        assert!(!run.err.contains("missing"), "{run:?}");
        assert_eq!(leftovers(&mount.point()), [""; 0], "{run:?}");
    }
}
