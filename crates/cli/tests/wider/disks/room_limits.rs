//! Limits beside a full disk: file systems that compress, inodes, quotas of projects, and how long a file may be.

use std::process::{Command, Stdio};

use crate::support::{Outcome, expect, has_content, outcome};
use crate::wider_parts::mounts::sparse_file;
use crate::wider_parts::{
    Kind, Mount, leftovers, program, pump, pump_command, pump_with, report, with_content,
};

const MIB: usize = 1 << 20;

/// Text that a file system which compresses makes small.
fn text(path: &str, bytes: usize) -> Vec<u8> {
    let content: Vec<u8> = b"0123456789abcdef\n".iter().copied().cycle().take(bytes).collect();
    std::fs::write(path, &content).expect("room");
    content
}

/// Where a file system is to compress, and how that is said.
fn compressing(how: &str) -> Mount {
    let mount = Mount::of(Kind::Btrfs, 256);
    std::fs::create_dir(mount.at("to")).expect("room");
    match how {
        "mount" => drop(program(&["mount", "-o", "remount,compress=zstd", &mount.point()])),
        "property" => drop(program(&["btrfs", "property", "set", &mount.at("to"), "compression", "zstd"])),
        "flag" => drop(program(&["chattr", "+c", &mount.at("to")])),
        how => unreachable!("{how}"),
    }
    mount
}

#[test]
fn what_fits_compressed_is_copied_and_takes_little_room() {
    let elsewhere = Mount::new(Kind::Tmpfs);
    let content = text(&elsewhere.at("source"), 400 * MIB);
    for (how, options) in [
        ("mount", &[][..]),
        ("mount", &["--no-reserve"]),
        ("mount", &["--engine=threads"]),
        ("mount", &["--inplace"]),
        ("property", &[]),
        ("flag", &[]),
    ] {
        let row = format!("{how} {options:?}");
        let mount = compressing(how);
        let (target, free) = (mount.at("to/target"), mount.free_bytes());
        if options.contains(&"--inplace") {
            std::fs::write(&target, "old").expect("room");
            let run = pump_with(&["copy", &elsewhere.at("source"), &target], options);
            expect(&run, 1, &["what it holds would be lost: copy it without --inplace"], &row);
            has_content(target.as_ref(), b"old", &row);
            text(&target, 300 * MIB);
            program(&["sync", "--file-system", &mount.point()]);
        }
        let run = pump_with(&["copy", &elsewhere.at("source"), &target], options);
        expect(&run, 0, &[], &row);
        let is_told =
            run.err.contains("are free; it is copied all the same, since the file system may compress it");
        assert!(is_told, "{row}: {}", run.err);
        has_content(target.as_ref(), &content, &row);
        program(&["sync", "--file-system", &mount.point()]);
        let taken = free - mount.free_bytes();
        assert!(taken < 100 * MIB as u64, "{row}: {taken} bytes");
    }
}

#[test]
fn a_tree_is_compressed_as_any_program_would_have_it() {
    let elsewhere = Mount::new(Kind::Tmpfs);
    std::fs::create_dir(elsewhere.at("tree")).expect("room");
    (0..40).for_each(|file| drop(text(&elsewhere.at(&format!("tree/{file}")), 5 * MIB)));
    let mount = compressing("mount");
    let free = mount.free_bytes();
    expect(&pump(&["copy", &elsewhere.at("tree"), &mount.at("new")]), 0, &[], "tree");
    program(&["sync", "--file-system", &mount.point()]);
    let taken = free - mount.free_bytes();
    assert!(taken < 40 * MIB as u64, "{taken} bytes");
}

/// What compresses nothing refuses as before: by its mount, or for files that are written in place.
#[test]
fn where_nothing_is_compressed_room_is_reserved() {
    for how in ["plain", "written in place"] {
        let mount = Mount::of(Kind::Btrfs, 256);
        let folder = mount.at("to");
        std::fs::create_dir(&folder).expect("room");
        if how == "written in place" {
            program(&["mount", "-o", "remount,compress=zstd", &mount.point()]);
            program(&["chattr", "+C", &folder]);
        }
        let run = pump(&["copy", "--json", "null:400MiB", &format!("{folder}/target")]);
        expect(&run, 1, &["reserve '", "No space left on device", "are needed, "], how);
        assert_eq!(report(&run)["bytes_moved"], 0, "{how}");
        assert_eq!(leftovers(&folder), [""; 0], "{how}");
    }
}

/// Overlays, also those that a container has, compress as the file system below does.
#[test]
fn an_overlay_compresses_as_what_it_is_put_on() {
    for (how, is_compressed) in [("mount", true), ("ext4", false)] {
        let below = if is_compressed { compressing(how) } else { Mount::of(Kind::Ext4, 256) };
        for folder in ["lower", "upper", "work", "merged"] {
            std::fs::create_dir(below.at(folder)).expect("room");
        }
        let [lower, upper, work] = ["lower", "upper", "work"].map(|folder| below.at(folder));
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        program(&["mount", "-t", "overlay", "-o", &options, "overlay", &below.at("merged")]);
        let run = pump(&["copy", "--json", "null:400MiB,zero", &below.at("merged/target")]);
        let bytes_moved = report(&run)["bytes_moved"].clone();
        program(&["umount", &below.at("merged")]);
        let (status, moved) = if is_compressed { (0, 400 * MIB) } else { (1, 0) };
        expect(&run, status, &[], how);
        assert_eq!(bytes_moved, moved, "{how}: {run:?}");
    }
}

/// Runs it where a shell has set a limit of file sizes, in KiB.
fn pump_below(limit_kib: u32, words: &[&str], input: &[u8]) -> Outcome {
    let pump = pump_command(words);
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit -f {limit_kib}; exec \"$0\" \"$@\"")]);
    command.arg(pump.get_program()).args(pump.get_args()).stdin(Stdio::null());
    for (name, _) in pump.get_envs() {
        command.env_remove(name);
    }
    outcome(command, input)
}

#[test]
fn the_limit_of_a_shell_is_named_and_known_before_anything_is_written() {
    let mount = Mount::of(Kind::Ext4, 64);
    with_content(&mount.at("source"), 4 * MIB, 1);
    let old = with_content(&mount.at("target"), 1000, 2);
    let (source, target) = (mount.at("source"), mount.at("target"));
    let limit = "the limit of this process (ulimit -f) is 2097152 bytes (2.0 MiB)";
    for options in [&[][..], &["--no-reserve"], &["--inplace"], &["--sync=none"], &["--sparse=always"]] {
        let row = format!("{options:?}");
        let options = [&["copy", "--json"], options, &[&source, &target]].concat();
        let run = pump_below(2048, &options, b"");
        let words = ["File too large (os error 27)", "the file has 4194304 bytes (4.0 MiB)", limit];
        expect(&run, 1, &words, &row);
        assert_eq!(report(&run)["bytes_moved"], 0, "{row}: {run:?}");
        has_content(target.as_ref(), &old, &row);
        assert_eq!(leftovers(&mount.point()), [""; 0], "{row}");
    }
    let run = pump_below(2048, &["copy", "-", &target], &vec![7; 4 * MIB]);
    expect(&run, 1, &["File too large (os error 27)", limit], "stream");
    // Others of a tree are no longer than that.
    std::fs::create_dir(mount.at("tree")).expect("room");
    program(&["cp", &source, &mount.at("tree/long")]);
    let short = with_content(&mount.at("tree/short"), 100_000, 3);
    let run = pump_below(2048, &["copy", &mount.at("tree"), &mount.at("new")], b"");
    expect(&run, 23, &["/new/long'", limit], "tree");
    has_content(mount.at("new/short").as_ref(), &short, "tree");
}

#[test]
fn the_longest_file_of_a_file_system_is_named_so() {
    let elsewhere = Mount::new(Kind::Xfs);
    sparse_file(&elsewhere.at("source"), 17 << 40);
    let mount = Mount::ext4(64, &["-b", "1024"]);
    for options in [&[][..], &["--no-reserve"]] {
        let run = pump_with(&["copy", &elsewhere.at("source"), &mount.at("target")], options);
        let words =
            ["File too large (os error 27)", "ext4 takes no file of that length; choose another file system"];
        expect(&run, 1, &words, &format!("{options:?}"));
        assert_eq!(leftovers(&mount.point()), [""; 0], "{options:?}");
    }
}

#[test]
fn the_quota_of_a_project_is_named_as_one() {
    let mount = Mount::new(Kind::Xfs);
    let (point, folder) = (mount.point(), mount.at("limited"));
    program(&["umount", &point]);
    let quota = ["-o", "loop,prjquota", &mount.image(), &point];
    if !Command::new("mount").args(quota).status().is_ok_and(|status| status.success()) {
        eprintln!("not shown: the kernel has no quotas of XFS");
        program(&["mount", "-o", "loop", &mount.image(), &point]);
        return;
    }
    std::fs::create_dir(&folder).expect("room");
    program(&["xfs_quota", "-x", "-c", &format!("project -s -p {folder} 42"), &point]);
    program(&["xfs_quota", "-x", "-c", "limit -p bhard=8m 42", &point]);
    let elsewhere = Mount::new(Kind::Tmpfs);
    with_content(&elsewhere.at("source"), 24 * MIB, 4);
    for options in [&[][..], &["--no-reserve"]] {
        let run = pump_with(&["copy", &elsewhere.at("source"), &format!("{folder}/target")], options);
        let words = ["the quota of the project that the folder belongs to is used up", "25165824 bytes"];
        expect(&run, 1, &words, &format!("{options:?}"));
        assert_eq!(leftovers(&folder), [""; 0], "{options:?}");
    }
}

#[test]
fn inodes_that_are_used_up_are_named() {
    let mount = Mount::ext4(64, &["-N", "64"]);
    let filled =
        (0..).take_while(|number| std::fs::File::create(mount.at(&format!("filler-{number}"))).is_ok());
    assert!(filled.count() > 10, "64 inodes were there");
    let elsewhere = Mount::new(Kind::Tmpfs);
    with_content(&elsewhere.at("source"), 100_000, 5);
    std::fs::create_dir(elsewhere.at("tree")).expect("room");
    std::os::unix::fs::symlink("source", elsewhere.at("link")).expect("room");
    for name in ["source", "tree", "link"] {
        let run = pump(&["copy", &elsewhere.at(name), &mount.at("new")]);
        let words = ["No space left on device", "inodes of the file system are used (df -i)"];
        expect(&run, 1, &words, name);
        assert_eq!(leftovers(&mount.point()), [""; 0], "{name}");
    }
}
