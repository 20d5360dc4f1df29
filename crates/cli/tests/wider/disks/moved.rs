//! `--remove-source-files` and a power cut: what stands there already is on stable storage before its source goes. And
//! a source that shows its target under another device number: nothing goes.

use std::process::Command;

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, PUMP, expect, has_content, noise_file, outcome};
use crate::wider_parts::mounts::{Kind, Mount};
use crate::wider_parts::program;

#[test]
fn a_copy_that_stood_there_is_synced_before_its_source_goes() {
    for flags in [&[][..], &["--sync=each"]] {
        let home = Home::new();
        std::fs::create_dir(home.path("from")).expect("room");
        noise_file(&home, "from/a", 1 << 20, 1);
        expect(&home.pump(&["copy", "--sync=none", "from/", "to"]), 0, &[], "first");
        let words =
            [&["copy", "--update=differs", "--remove-source-files"], flags, &["from/", "to"]].concat();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "trace", "-e", "trace=fsync,fdatasync,syncfs,unlinkat", PUMP]);
        strace.args(&words).current_dir(home.path(""));
        expect(&outcome(strace, b""), 0, &[], "second");
        let trace = std::fs::read_to_string(home.path("trace")).expect("strace writes what it saw");
        let calls: Vec<&str> = trace.lines().collect();
        let gone = calls.iter().position(|call| call.contains("unlinkat") && call.contains("\"a\""));
        let gone = gone.unwrap_or_else(|| panic!("{flags:?}: it goes: {calls:#?}"));
        assert!(calls[..gone].iter().any(|call| call.contains("sync")), "{flags:?}: {calls:#?}");
        assert!(home.path("to/a").exists() && !home.path("from/a").exists(), "{flags:?}");
    }
}

/// Something that is mounted on a folder until this is dropped.
struct View(String);

impl View {
    fn mounted(words: &[&str], point: &str) -> View {
        program(&[words, &[point]].concat());
        View(point.to_owned())
    }

    /// An overlay of two layers.
    fn overlay(disk: &Mount, point: &str) -> View {
        let layers = format!(
            "lowerdir={},upperdir={},workdir={}",
            disk.at("lower"),
            disk.at("upper"),
            disk.at("work")
        );
        View::mounted(&["mount", "-t", "overlay", "overlay", "-o", &layers], point)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        program(&["umount", &self.0]);
    }
}

/// A disk with a folder that has `a` and `sub/b` for each layer of an overlay, and one to mount on.
fn layers() -> Mount {
    let disk = Mount::of(Kind::Ext4, 64);
    for folder in ["lower", "lower/sub", "upper", "upper/sub", "work", "view"] {
        std::fs::create_dir(disk.at(folder)).expect("room");
    }
    for layer in ["lower", "upper"] {
        for (name, text) in [("a", "a"), ("sub/b", "b")] {
            let path = disk.at(&format!("{layer}/{name}"));
            std::fs::write(&path, text).expect("room");
            // Layers of one time: what is no view is equal.
            crate::support::set_mtime(path.as_ref(), 1_000_000_000_000);
        }
    }
    disk
}

#[test]
fn nothing_goes_from_a_source_that_shows_its_target() {
    for (mounts, source, target) in [
        ("overlay", "upper", "view"),
        ("overlay", "view", "upper"),
        ("overlay", "lower", "view"),
        ("bindfs", "upper", "view"),
        ("bindfs", "view", "upper"),
        ("bindfs, read-only", "upper", "view"),
    ] {
        let disk = layers();
        let (upper, view) = (disk.at("upper"), disk.at("view"));
        if source == "lower" {
            std::fs::remove_dir_all(disk.at("upper/sub")).expect("room");
            std::fs::remove_file(disk.at("upper/a")).expect("room");
        }
        let _view = match mounts {
            "overlay" => View::overlay(&disk, &view),
            "bindfs" => View::mounted(&["bindfs", &upper], &view),
            _ => View::mounted(&["bindfs", "-r", &upper], &view),
        };
        for flags in [&["--update"][..], &["--update=differs"], &["--checksum"], &[]] {
            for (from, to, status) in [
                (format!("{}/", disk.at(source)), disk.at(target), 2),
                (disk.at(&format!("{source}/a")), format!("{}/", disk.at(target)), 2),
            ] {
                let words = [&["copy", "--remove-source-files"], flags, &[&*from, &to]].concat();
                let row = format!("{mounts}: {words:?}");
                let said = ["shows the files of the source", "nothing was removed"];
                expect(&Home::new().pump(&words), status, &said, &row);
                for folder in [source, target] {
                    has_content(disk.at(&format!("{folder}/a")).as_ref(), b"a", &row);
                    has_content(disk.at(&format!("{folder}/sub/b")).as_ref(), b"b", &row);
                    let names = std::fs::read_dir(disk.at(folder)).expect("a folder").count();
                    assert_eq!(names, 2, "{row}: no name is left");
                }
            }
        }
    }
}

#[test]
fn nothing_goes_from_a_folder_of_a_source_that_shows_its_target() {
    let (disk, other) = (layers(), Mount::of(Kind::Ext4, 64));
    std::fs::create_dir_all(other.at("from/sub")).expect("room");
    std::fs::write(other.at("from/c"), "c").expect("room");
    let _view = View::mounted(&["bindfs", &disk.at("upper/sub")], &other.at("from/sub"));
    let run = Home::new().pump(&[
        "copy",
        "--update",
        "--remove-source-files",
        &format!("{}/", other.at("from")),
        &disk.at("upper"),
    ]);
    assert!(run.status != 0 && run.err.contains("shows the files of the source"), "{run:?}");
    has_content(disk.at("upper/sub/b").as_ref(), b"b", "it is the only one");
    has_content(disk.at("upper/c").as_ref(), b"c", "it was copied");
}

/// The source's folder is that of the target under another path, on another file system by its number, or on another
/// host by its name.
#[test]
fn a_mirror_removes_nothing_from_a_folder_that_its_source_shows() {
    for mounts in ["bind", "bindfs", "overlay"] {
        for is_pulled in [false, true] {
            let (disk, home) = (layers(), Home::new());
            for name in ["too much", "sub/too much"] {
                std::fs::write(disk.at(&format!("upper/{name}")), "x").expect("room");
            }
            std::fs::create_dir_all(home.path("served/sub")).expect("room");
            std::fs::write(home.path("served/a"), "a").expect("room");
            let (shown, point) = (disk.at("upper/sub"), home.path("served/sub").display().to_string());
            let below = format!("lowerdir={shown}:{}", disk.at("lower/sub"));
            let _view = match mounts {
                "bind" => View::mounted(&["mount", "--bind", &shown], &point),
                "bindfs" => View::mounted(&["bindfs", &shown], &point),
                _ => View::mounted(&["mount", "-t", "overlay", "overlay", "-o", &below], &point),
            };
            let serving = Serving::new(&home, &[]);
            let (from, to) = (if is_pulled { serving.at("") } else { "served/".into() }, disk.at("upper"));
            let ticket = if is_pulled { &["--ticket-file", "ticket"][..] } else { &[] };
            let excluding = &["mirror", "--exclude=too much", "--delete-excluded"];
            let words = [excluding, ticket, &[&*from, &*to]].concat();
            let run = home.pump(&words);
            let row = format!("{mounts} {is_pulled}: {run:?}");
            assert!(run.status == 23 && run.err.contains("is copied from"), "{row}");
            assert!(!std::path::Path::new(&disk.at("upper/too much")).exists(), "{row}");
            has_content(disk.at("upper/sub/too much").as_ref(), b"x", &row);
            has_content(disk.at("upper/sub/b").as_ref(), b"b", &row);
        }
    }
}

/// The folders of the copies keep the times of their sources, although names were made in them to find out.
#[test]
fn what_lies_on_another_file_system_goes_and_the_times_of_folders_stay() {
    let (disk, other) = (layers(), Mount::of(Kind::Ext4, 64));
    for to in [other.at("new"), other.at("")] {
        let from = format!("{}/", disk.at("upper"));
        std::fs::write(disk.at("upper/a"), "a").expect("room");
        std::fs::write(disk.at("upper/sub/b"), "b").expect("room");
        let sub = std::fs::File::open(disk.at("upper/sub")).expect("a folder");
        sub.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000)).expect("its own");
        expect(&Home::new().pump(&["copy", "--remove-source-files", &from, &to]), 0, &[], &to);
        assert!(!std::path::Path::new(&disk.at("upper/sub/b")).exists(), "{to}");
        let made = std::fs::metadata(format!("{to}/sub")).expect("a folder").modified().expect("a time");
        let seconds = made.duration_since(std::time::UNIX_EPOCH).expect("behind it").as_secs();
        assert_eq!(seconds, 1000, "{to}");
    }
}

/// A name that goes changes the time of attributes of the file's other names. What changes them besides is looked at: what
/// was written stays under the last one, and under all of them where this run does not see each.
#[test]
fn a_further_name_that_was_written_to_since_the_first_one_went_stays() {
    for (names, outside, stay) in [(2, false, 1), (3, false, 1), (2, true, 1), (3, true, 2)] {
        writes_between(names, outside, stay);
    }
}

fn writes_between(names: usize, outside: bool, stay: usize) {
    let row = format!("{names} names, one more outside: {outside}");
    let home = Home::new();
    std::fs::create_dir(home.path("from")).expect("room");
    let write = |name: &str, text: &str| {
        let path = home.path(name);
        let mut open = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        std::io::Write::write_all(open.as_mut().expect("room"), text.as_bytes()).expect("room");
        crate::support::set_mtime(&path, 1_000_000_000_000);
    };
    write("from/a", "OLD");
    let others = ["from/b", "from/c"].iter().take(names - 1).chain(outside.then_some(&"outside"));
    others
        .for_each(|name| std::fs::hard_link(home.path("from/a"), home.path(name)).expect("one file system"));
    // The first name goes, and the run stands still for two seconds.
    let mut strace = Command::new("strace");
    strace.args([
        "-f",
        "-qq",
        "-o",
        "trace",
        "-e",
        "trace=unlinkat",
        "-e",
        "inject=unlinkat:delay_exit=2000000",
    ]);
    strace.args([PUMP, "copy", "--sync=end", "--remove-source-files", "-T", "from", "to"]);
    let running = Running::start({
        strace.current_dir(home.path(""));
        strace
    });
    let left = || {
        let names = std::fs::read_dir(home.path("from")).expect("a folder").flatten();
        names
            .map(|entry| entry.file_name().into_string().expect("text"))
            .filter(|name| name.len() == 1)
            .collect::<Vec<_>>()
    };
    eventually("one name is gone", || left().len() == names - 1);
    write(&format!("from/{}", left()[0]), "NEW");
    let ended = running.end();
    expect(&ended, 24, &["stays in the source"], &row);
    assert_eq!(left().len(), stay, "{row}");
    left().iter().for_each(|name| has_content(&home.path(format!("from/{name}")), b"NEW", &row));
}

/// Each further name was read: of a backup pool, all that it holds, once for each name.
#[test]
fn a_file_of_many_names_is_read_once_before_they_go() {
    const NAMES: usize = 8;
    let home = Home::new();
    std::fs::create_dir(home.path("from")).expect("room");
    noise_file(&home, "from/name0", 100_000, 1);
    for number in 1..NAMES {
        let name = home.path(format!("from/name{number}"));
        std::fs::hard_link(home.path("from/name0"), name).expect("one file system");
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "trace", "-e", "trace=openat,unlinkat", PUMP]);
    strace.args(["copy", "--remove-source-files", "-T", "from", "to"]).current_dir(home.path(""));
    expect(&outcome(strace, b""), 0, &[], "many names");
    assert_eq!(std::fs::read_dir(home.path("from")).expect("a folder").count(), 0);
    let trace = std::fs::read_to_string(home.path("trace")).expect("strace writes what it saw");
    let calls = trace.lines().skip_while(|call| !(call.contains("unlinkat") && call.contains("\"name")));
    let opened: Vec<&str> = calls
        .filter(|call| call.contains("openat") && call.contains("\"name") && !call.contains("O_PATH"))
        .collect();
    assert!(opened.len() <= 2, "source and copy, once: {opened:#?}");
}
