//! Block devices: read and written by explicit flag only, whole, and never a byte beyond what was copied.

use std::path::Path;

use crate::support::{Home, expect, has_content, noise, outcome};
use crate::wider_parts::{Loop, program, pump, pump_command, pump_with, report, with_content};

const MIB: usize = 1 << 20;

fn path(home: &Home, name: &str) -> String {
    home.path(name).display().to_string()
}

#[test]
fn a_device_needs_the_flag() {
    let home = Home::new();
    let content = noise(MIB, 1);
    let device = Loop::new(&content);
    let file = path(&home, "file");
    with_content(&file, MIB, 2);
    for (from, to) in [(&device.device, &file), (&file, &device.device)] {
        let run = pump(&["copy", from, to]);
        expect(&run, 2, &["is a block device; say --devices", &device.device], "no flag");
    }
    let mut command = pump_command(&["copy", "-", &device.device]);
    command.stdin(std::fs::File::open(&file).expect("the file"));
    expect(&outcome(command, b""), 2, &["is a block device; say --devices"], "a stream, no flag");
    has_content(Path::new(&file), &noise(MIB, 2), "the file");
    assert!(device.content() == content, "the device");
}

#[test]
fn a_device_is_read_whole() {
    let home = Home::new();
    let target = path(&home, "copy");
    for bytes in [512, 4096, 9 * 512, MIB, 5 * MIB + 512, 5 * MIB + 2560] {
        let content = noise(bytes, bytes as u64);
        let device = Loop::new(&content);
        for options in [
            &[][..],
            &["--direct=always"],
            &["--direct=never"],
            &["--engine=threads", "--lanes=3"],
            &["--verify"],
        ] {
            let row = format!("{bytes} bytes {options:?}");
            let run = pump_with(&["copy", "--json", "--devices", &device.device, &target], options);
            expect(&run, 0, &[], &row);
            assert_eq!(report(&run)["bytes"], bytes, "{row}");
            has_content(Path::new(&target), &content, &row);
        }
        let run = pump(&["copy", "--devices", &device.device, "-"]);
        assert_eq!(
            (run.status, run.out),
            (0, String::from_utf8_lossy(&content).into_owned()),
            "{bytes} to a stream"
        );
    }
}

#[test]
fn nothing_behind_the_copy_is_touched() {
    let home = Home::new();
    let source = path(&home, "file");
    let old = noise(8 * MIB, 3);
    let device = Loop::new(&old);
    for bytes in
        [0, 1, 511, 512, 513, 4095, 4097, 300_001, 524_288, 524_289, 5 * MIB + 1000, 8 * MIB - 1, 8 * MIB]
    {
        let content = with_content(&source, bytes, bytes as u64 + 1);
        for options in [
            &[][..],
            &["--direct=always"],
            &["--direct=never"],
            &["--engine=threads", "--direct=always", "--lanes=3"],
            &["--engine=inline", "--direct=always", "--request-size=64KiB"],
        ] {
            let row = format!("{bytes} bytes {options:?}");
            std::fs::write(&device.device, &old).expect("the device can be written");
            let run = pump_with(&["copy", "--json", "--devices", &source, &device.device], options);
            expect(&run, 0, &[], &row);
            assert_eq!(report(&run)["bytes"], bytes, "{row}");
            let found = device.content();
            assert!(found[..bytes] == content, "{row}: what was copied");
            assert!(found[bytes..] == old[bytes..], "{row}: what is behind it");
        }
    }
}

#[test]
fn a_sparse_file_is_written_with_its_zeros() {
    let home = Home::new();
    let source = path(&home, "file");
    crate::wider_parts::mounts::sparse_file(&source, 6 * MIB as u64);
    let island = noise(5000, 4);
    let file = std::fs::File::options().write(true).open(&source).expect("the file");
    std::os::unix::fs::FileExt::write_all_at(&file, &island, 3 * MIB as u64 + 100).expect("room");
    let expected = std::fs::read(&source).expect("the file");
    for options in [&[][..], &["--direct=never"], &["--lanes=3", "--request-size=64KiB"]] {
        let device = Loop::new(&noise(8 * MIB, 5));
        let run = pump_with(&["copy", "--devices", &source, &device.device], options);
        expect(&run, 0, &[], &format!("{options:?}"));
        assert!(device.content()[..6 * MIB] == expected, "{options:?}: holes are zeros on a device too");
    }
}

#[test]
fn a_device_that_is_too_small_is_refused_before_it_is_written() {
    let home = Home::new();
    let source = path(&home, "file");
    with_content(&source, 2 * MIB + 1, 6);
    let old = noise(2 * MIB, 7);
    let device = Loop::new(&old);
    let run = pump(&["copy", "--devices", &source, &device.device]);
    let words = "2097153 bytes (2.0 MiB) are needed, 2097152 bytes (2.0 MiB) are free";
    expect(&run, 1, &[&format!("reserve '{}'", device.device), words], "a file");
    let run = pump(&["copy", "--devices", "null:3MiB", &device.device]);
    expect(&run, 1, &["reserve '", "3145728 bytes (3.0 MiB) are needed"], "null");
    assert!(device.content() == old, "nothing was written");

    let mut command = pump_command(&["copy", "--devices", "-", &device.device]);
    command.stdin(std::fs::File::open(&source).expect("the file"));
    let run = outcome(command, b"");
    // Standard input is a file here, but it is read as a stream: its length is found out by reading.
    let words = format!("write '{}' at byte 2097152: No space left on device", device.device);
    expect(&run, 1, &[&words], "a stream");
}

#[test]
fn a_device_that_is_mounted_is_not_written_to() {
    let home = Home::new();
    let (source, point) = (path(&home, "file"), path(&home, "mnt"));
    with_content(&source, 100_000, 1);
    std::fs::create_dir(&point).expect("room");
    let device = Loop::new(&vec![0; 64 * MIB]);
    program(&["mkfs.ext4", "-q", &device.device]);
    let before = device.content();
    program(&["mount", "-o", "ro,noload", &device.device, &point]);
    let run = pump(&["copy", "--devices", &source, &device.device]);
    program(&["umount", &point]);
    expect(&run, 1, &["open '/dev/loop", "it is mounted, or used otherwise; unmount it first"], "");
    assert!(device.content() == before, "nothing was written");
    expect(&pump(&["copy", "--devices", &source, &device.device]), 0, &[], "unmounted");
}

#[test]
fn devices_are_copied_to_devices_and_not_to_themselves() {
    let home = Home::new();
    let content = noise(3 * MIB, 8);
    let (one, other) = (Loop::new(&content), Loop::new(&noise(4 * MIB, 9)));
    expect(&pump(&["copy", "--devices", &one.device, &other.device]), 0, &[], "a device to a device");
    assert!(
        other.content()[..3 * MIB] == content && other.content()[3 * MIB..] == noise(4 * MIB, 9)[3 * MIB..]
    );
    let alias = path(&home, "alias");
    let numbers = program(&["stat", "--format=%Hr %Lr", &one.device]);
    let (major, minor) = numbers.trim().split_once(' ').expect("two numbers");
    program(&["mknod", &alias, "b", major, minor]);
    for (from, to) in [(&one.device, &alias), (&alias, &one.device), (&one.device, &one.device)] {
        let run = pump(&["copy", "--devices", from, to]);
        expect(&run, 2, &["is the same file as the source"], &format!("{from} to {to}"));
    }
    assert!(one.content() == content);
    let link = path(&home, "link");
    std::os::unix::fs::symlink(&other.device, &link).expect("a link");
    expect(&pump(&["copy", "--devices", &one.device, &link]), 0, &[], "through a link");
    assert!(other.content()[..3 * MIB] == content);
}

#[test]
fn a_read_only_device_is_told() {
    let home = Home::new();
    let source = path(&home, "file");
    with_content(&source, MIB, 10);
    let old = noise(2 * MIB, 11);
    let device = Loop::new(&old);
    program(&["blockdev", "--setro", &device.device]);
    let run = pump(&["copy", "--devices", &source, &device.device]);
    assert_eq!(run.status, 1, "{run:?}");
    expect(&run, 1, &[&device.device, "(os error "], "read-only");
    assert!(device.content() == old);
}

#[test]
fn a_stripe_of_devices_needs_the_flag_and_devices_of_one_size() {
    let home = Home::new();
    let source = path(&home, "file");
    let content = with_content(&source, 5 * MIB + 13, 8);
    let (one, other, longer) =
        (Loop::new(&noise(8 * MIB, 9)), Loop::new(&noise(8 * MIB, 10)), Loop::new(&noise(9 * MIB, 11)));
    let stripe = |members: [&str; 2]| {
        let text = format!("chunk = \"64KiB\"\nmembers = {members:?}\n");
        std::fs::write(home.path("s.toml"), text).expect("room");
        format!("stripe:{}", path(&home, "s.toml"))
    };
    let place = stripe([&one.device, &other.device]);
    expect(
        &pump(&["copy", &source, &place]),
        2,
        &["is a block device; say --devices", &one.device],
        "no flag",
    );
    for options in [&[][..], &["--direct=always"], &["--direct=never"]] {
        let row = format!("{options:?}");
        expect(&pump_with(&["copy", "--devices", &source, &place], options), 0, &[], &row);
        let back = path(&home, "back");
        expect(&pump_with(&["copy", "--devices", &place, &back], options), 0, &[], &row);
        let back = std::fs::read(&back).expect("the copy");
        assert_eq!(back.len(), 16 * MIB, "{row}: devices are read whole");
        assert!(back[..content.len()] == content, "{row}");
    }
    let large = path(&home, "large");
    with_content(&large, 16 * MIB + 1, 12);
    expect(&pump(&["copy", "--devices", &large, &place]), 1, &["are needed", &one.device], "no room");
    let place = stripe([&one.device, &longer.device]);
    let run = pump(&["copy", "--devices", &place, &path(&home, "to")]);
    expect(&run, 2, &["are devices of one size", &longer.device], "other sizes");
    let place = stripe([&one.device, "new"]);
    expect(&pump(&["copy", "--devices", &source, &place]), 2, &["files and devices"], "both kinds");
    assert!(!home.path("new").exists());
}
