//! Mirrors of more names than fit in the memory that a session may have: they are on disk, what is too much is removed,
//! and memory stays within its bound. Where they do not fit on disk either, nothing is removed, which is said.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::running::{BESIDES_BYTES, Running, memory_max_bytes};
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect};
use crate::wider_parts::{Mount, program, pump_command};

/// So many folders of so many names each do not fit in so much memory.
#[derive(Clone, Copy, Debug)]
struct ManyNames {
    folders: usize,
    names: usize,
    memory_bytes: u64,
}

const SHORT: ManyNames = ManyNames { folders: 60, names: 1000, memory_bytes: 8 << 20 };
const LONG: ManyNames = ManyNames { folders: 600, names: 500, memory_bytes: 16 << 20 };
/// Small requests, so that blocks take little of that.
const SMALL: [&str; 3] = ["--connections=1", "--request-size=16KiB", "--depth=4"];

/// Folders of empty files.
fn write_tree(tree: &Path, many: ManyNames) {
    for folder in 0..many.folders {
        let folder = tree.join(format!("folder-{folder}"));
        fs::create_dir_all(&folder).expect("room");
        (0..many.names).for_each(|name| drop(File::create(folder.join(name.to_string())).expect("room")));
    }
}

/// Names that the source does not have, in some folders and in one of their own; and their count with that one.
fn write_too_much(target: &Path) -> usize {
    fs::create_dir_all(target.join("gone/below")).expect("room");
    let old = |name: &str| fs::write(target.join(name), "old").expect("room");
    (0..10).for_each(|at| old(&format!("folder-{}/old", at * 5)));
    ["gone/old", "gone/below/old"].into_iter().for_each(old);
    14
}

fn count(folder: &Path) -> usize {
    let entry = |path: PathBuf| 1 + if path.is_dir() { count(&path) } else { 0 };
    fs::read_dir(folder).expect("a folder").map(|found| entry(found.expect("an entry").path())).sum()
}

/// Whether a process has an open file without a name below a folder.
fn has_unnamed(id: u32, below: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.starts_with(below) && link.to_string_lossy().ends_with(" (deleted)"))
}

/// What a mirror showed while it ran.
struct WatchedMirror {
    outcome: Outcome,
    /// The side that writes had a file without a name.
    wrote: bool,
    memory_bytes: u64,
}

/// Runs a mirror, and watches the side that writes: the server, or the mirror itself.
fn watch(command: Command, server: Option<u32>, below: &Path) -> WatchedMirror {
    let running = Running::start(command);
    let (mut wrote, mut memory_bytes) = (false, 0);
    while !running.has_ended() {
        let id = server.unwrap_or(running.id());
        wrote |= has_unnamed(id, below);
        memory_bytes = memory_bytes.max(memory_max_bytes(id).unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    WatchedMirror { outcome: running.end(), wrote, memory_bytes }
}

#[test]
fn names_that_do_not_fit_in_memory_are_on_disk_and_what_is_too_much_is_removed() {
    mirror_both_ways(SHORT);
}

#[test]
fn many_names_that_do_not_fit_in_memory_are_on_disk() {
    mirror_both_ways(LONG);
}

fn mirror_both_ways(many: ManyNames) {
    let memory_bytes = many.memory_bytes;
    let home = Home::new();
    let [source, copy, temporary] =
        ["served/source", "served/copy", "served/temporary"].map(|name| home.path(name));
    fs::create_dir_all(&temporary).expect("room");
    write_tree(&source, many);
    program(&["cp", "-a", &source.display().to_string(), &copy.display().to_string()]);
    let names = count(&source);
    assert_eq!(names, many.folders * (many.names + 1));
    for way in ["pushed", "pulled"] {
        let mut serve = home.command(&["serve", "served", "--ticket-file", "ticket"]);
        serve.env("TMPDIR", &temporary);
        if way == "pushed" {
            serve.arg(format!("--memory={memory_bytes}B"));
        }
        let serving = Serving::start(serve);
        let (source, target) = (format!("{}/", source.display()), copy.display().to_string());
        let places = match way {
            "pushed" => [source, serving.at("copy")],
            _ => [serving.at("source/"), target],
        };
        let (ticket, memory) =
            (home.path("ticket").display().to_string(), format!("--memory={memory_bytes}B"));
        let mut words =
            [&["mirror", "--ticket-file", &ticket][..], &SMALL, &[&places[0], &places[1]]].concat();
        if way == "pulled" {
            words.push(&memory);
        }
        let too_much = write_too_much(&copy);
        let server = (way == "pushed").then(|| serving.id());
        for dry in [true, false] {
            let row = format!("{way}, dry {dry}");
            let more: &[&str] = if dry { &["-n"] } else { &[] };
            let below = if dry { &temporary } else { &copy };
            let mut command = pump_command(&[&words[..], more, &["--json"]].concat());
            command.env("TMPDIR", &temporary);
            let watched = watch(command, server, below);
            eprintln!("{row}: {} MiB", watched.memory_bytes >> 20);
            expect(&watched.outcome, 0, &[], &row);
            let said = if dry {
                watched.outcome.out.matches("\"how\":\"*deleting").count()
            } else {
                usize::from(watched.outcome.out.contains(&format!("\"deleted\":{too_much},"))) * too_much
            };
            assert_eq!(said, too_much, "{row}");
            assert!(watched.wrote, "{row}: it was to write names");
            assert!(
                watched.memory_bytes <= memory_bytes + BESIDES_BYTES,
                "{row}: {} bytes",
                watched.memory_bytes
            );
            assert_eq!(count(&copy), if dry { names + too_much } else { names }, "{row}");
            assert_eq!(count(&temporary), 0, "{row}: nothing remains");
        }
    }
}

/// Fills a file system to its last byte.
fn fill(folder: &Path) -> PathBuf {
    let path = folder.join("filler");
    let mut filler = File::create(&path).expect("an inode");
    for bytes in [1 << 20, 4096, 1] {
        let part = vec![7; bytes];
        while filler.write_all(&part).and_then(|()| filler.sync_data()).is_ok() {}
    }
    path
}

#[test]
fn names_that_fit_neither_in_memory_nor_on_disk_remove_nothing() {
    let home = Home::new();
    let mount = Mount::ext4(64, &["-N", "70000"]);
    write_tree(&home.path("source"), SHORT);
    let copy = PathBuf::from(mount.at("copy"));
    program(&["cp", "-a", &home.path("source").display().to_string(), &copy.display().to_string()]);
    let too_much = {
        fs::write(copy.join("folder-7/old"), "").expect("room");
        fs::write(copy.join("folder-50/old"), "").expect("room");
        2
    };
    let filler = fill(Path::new(&mount.point()));
    let mut serve = home.command(&["serve", &mount.point(), "--ticket-file", "ticket"]);
    // No other place exists.
    serve.arg(format!("--memory={}B", SHORT.memory_bytes)).env("TMPDIR", mount.at("missing"));
    let serving = Serving::start(serve);
    let (source, ticket) =
        (format!("{}/", home.path("source").display()), home.path("ticket").display().to_string());
    let to = serving.at("copy");
    let words = [&["mirror", "--ticket-file", &ticket][..], &SMALL, &[&source, &to]].concat();
    let parts =
        ["do not all fit in memory", "nothing is removed", "could not be written", "No space left on device"];
    let refused = Running::start(pump_command(&words)).end();
    assert_ne!(refused.status, 0, "{refused:?}");
    expect(&refused, refused.status, &parts, "a full disk");
    let names = SHORT.folders * (SHORT.names + 1);
    assert_eq!(count(&copy), names + too_much, "nothing is removed");
    fs::remove_file(filler).expect("it was made");
    expect(&Running::start(pump_command(&words)).end(), 0, &["2 deleted"], "room again");
    assert_eq!(count(&copy), names);
}
