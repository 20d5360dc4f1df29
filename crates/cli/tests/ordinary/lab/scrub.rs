//! `pump lab scrub` on real files: an injected fault is reported with its place and kind, clean files are status 0, and
//! bad input is refused.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::support::schema;
use crate::support::{Home, Outcome, as_ordinary_user, expect, make_fifo, noise, set_mode};
use serde_json::{Value, json};

const SIZE: &str = "4MiB";
const FILE_BYTES: u64 = 512 << 10;
const PAGE: u64 = 4096;

fn scrub(home: &Home, words: &[&str]) -> Outcome {
    home.pump(&[&["lab", "scrub", "disk", "--size", SIZE, "--seed", "77"], words].concat())
}

/// A folder that was written so many times.
fn written(generations: u64) -> Home {
    let home = Home::new();
    for generation in 1..=generations {
        let run = scrub(&home, &["--write", "--json"]);
        expect(&run, 0, &[], "written");
        let event = &schema::checked(&run.out)[0];
        assert_eq!((&event["generation"], &event["faults"]), (&generation.into(), &json!([])), "{event}");
    }
    home
}

fn open(home: &Home, file: u32) -> File {
    let path = home.path(format!("disk/scrub-{file}.bin"));
    File::options().read(true).write(true).open(path).expect("the file is there")
}

fn read(file: &File, at: u64, bytes: u64) -> Vec<u8> {
    let mut content = vec![0; bytes as usize];
    file.read_exact_at(&mut content, at).expect("the file is so long");
    content
}

fn write(file: &File, at: u64, bytes: &[u8]) {
    file.write_all_at(bytes, at).expect("room");
}

fn name(number: u32) -> String {
    format!("scrub-{number}.bin")
}

fn fault(number: u32, offset: u64, length: u64, kind: &str) -> Value {
    json!({ "file": name(number), "offset": offset, "length": length, "kind": kind })
}

/// The event about the folder, with the status that belongs to it.
fn told(home: &Home) -> Value {
    let run = scrub(home, &["--json"]);
    let events = schema::checked(&run.out);
    let faults = events[0]["faults"].as_array().unwrap_or_else(|| panic!("no list: {run:?}"));
    assert_eq!(run.status, i32::from(!faults.is_empty()), "{run:?}");
    assert_eq!(events[1]["exit_status"], run.status);
    events[0].clone()
}

#[test]
fn clean_files_are_status_0_and_what_checking_costs_is_told() {
    let home = written(1);
    let sizes: Vec<u64> = (0..8).map(|file| open(&home, file).metadata().expect("a file").len()).collect();
    assert_eq!(sizes, [FILE_BYTES; 8], "they add up to --size");
    let event = told(&home);
    assert_eq!((&event["faults"], &event["bytes"]), (&json!([]), &(8 * FILE_BYTES).into()), "{event}");
    let cost = |field: &str| event[field].as_f64().expect("a number");
    assert!(cost("hash_ns_per_byte") > 0.0 && cost("hash_ns_per_byte") <= cost("cpu_ns_per_byte"), "{event}");
    let people = scrub(&home, &[]);
    expect(&people, 0, &["no faults in 8,192 sectors", "checking cost ", "the page cache was told"], "words");
    let inode = || open(&home, 0).metadata().expect("a file").ino();
    let first = inode();
    expect(&scrub(&home, &["--write"]), 0, &["generation 2"], "again");
    assert_eq!(inode(), first, "in place: a write that is lost leaves what was there");
    assert_eq!(told(&home)["generation"], 2);
}

#[test]
fn each_kind_of_fault_is_told_with_its_place() {
    let home = written(1);
    let earlier = read(&open(&home, 5), 3 * PAGE, PAGE);
    expect(&scrub(&home, &["--write"]), 0, &["generation 2"], "again");
    let bit = read(&open(&home, 0), 123_457, 1);
    write(&open(&home, 0), 123_457, &[bit[0] ^ 16]);
    write(&open(&home, 1), 100 * 512, &noise(1024, 3));
    let (one, other) = (read(&open(&home, 2), 7 * PAGE, PAGE), read(&open(&home, 3), 9 * PAGE, PAGE));
    write(&open(&home, 2), 7 * PAGE, &other);
    write(&open(&home, 3), 9 * PAGE, &one);
    write(&open(&home, 4), 5 * PAGE, &[0; PAGE as usize]);
    write(&open(&home, 5), 3 * PAGE, &earlier);
    open(&home, 6).set_len(FILE_BYTES - 1000).expect("it can be cut");
    write(&open(&home, 6), 0, &[0; 512]);
    write(&open(&home, 1), FILE_BYTES, b"junk");
    fs::remove_file(home.path("disk/scrub-7.bin")).expect("it is there");
    let with = |mut fault: Value, more: &[(&str, Value)]| {
        more.iter().for_each(|(field, value)| fault[*field] = value.clone());
        fault
    };
    let from = |number: u32, offset: u64| {
        [("generation", json!(2)), ("from", json!({ "file": name(number), "offset": offset }))]
    };
    let expected = json!([
        with(fault(0, 123_457, 1, "bit"), &[("bits", json!(1))]),
        fault(1, 100 * 512, 1024, "sector"),
        fault(1, FILE_BYTES, 4, "trailing"),
        with(fault(2, 7 * PAGE, PAGE, "swapped"), &from(3, 9 * PAGE)),
        with(fault(3, 9 * PAGE, PAGE, "swapped"), &from(2, 7 * PAGE)),
        fault(4, 5 * PAGE, PAGE, "zeroed"),
        with(fault(5, 3 * PAGE, PAGE, "stale"), &[("generation", json!(1))]),
        fault(6, 0, 512, "zeroed"),
        fault(6, FILE_BYTES - 1000, 1000, "truncated"),
        fault(7, 0, FILE_BYTES, "missing"),
    ]);
    assert_eq!(told(&home)["faults"], expected);
    let people = scrub(&home, &[]);
    let words = "scrub-2.bin, bytes 28672..32768: swapped (from scrub-3.bin, byte 36864) (generation 2)";
    expect(&people, 1, &["10 faults in 8,192 sectors:", words], "words");
    // Writing again makes them whole.
    expect(&scrub(&home, &["--write"]), 0, &["generation 3"], "mended");
    assert_eq!(told(&home)["faults"], json!([]));
}

#[test]
fn a_hole_is_zeros_and_a_file_that_cannot_be_read_is_unread() {
    let home = written(1);
    let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(open(&home, 2), punch, 2 * PAGE, 4 * PAGE) {
        Ok(()) => {
            let faults = &told(&home)["faults"];
            assert_eq!(faults, &json!([fault(2, 2 * PAGE, 4 * PAGE, "zeroed")]));
        }
        Err(error) => eprintln!("not tested: holes: {error}"),
    }
    set_mode(&home.path("disk"), 0o755);
    set_mode(&home.path("disk/scrub-3.bin"), 0);
    let words = ["lab", "scrub", "disk", "--size", SIZE, "--seed", "77", "--json"];
    // As the owner, too, unless that is root.
    let Some(run) = as_ordinary_user(&home, &words) else { return };
    let events = schema::checked(&run.out);
    let done = events.iter().find(|event| event["event"] == "scrub").expect("the faults");
    let unread = fault(3, 0, FILE_BYTES, "unread");
    assert!(done["faults"].as_array().expect("a list").contains(&unread), "{done}");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("scrub-3.bin") && run.err.contains("Permission denied"), "{run:?}");
}

#[test]
fn another_seed_or_size_than_that_of_the_writing_is_guessed() {
    let home = written(1);
    for (words, said) in [
        (["--seed", "78"], "no sector is of seed 78: were the files written with another?"),
        (["--size", "8MiB"], "were they written with another --size?"),
        (["--size", "2MiB"], "were they written with another --size?"),
    ] {
        expect(&scrub(&home, &words), 1, &[said], said);
    }
}

#[test]
fn what_cannot_be_meant_so_is_refused_and_nothing_is_written() {
    let home = written(1);
    for folder in ["empty", "taken", "named", "pipe"] {
        fs::create_dir(home.path(folder)).expect("room");
    }
    fs::write(home.path("taken/letter"), "dear").expect("room");
    fs::write(home.path("named/scrub-3.bin"), noise(9000, 1)).expect("room");
    make_fifo(&home.path("pipe/scrub-0.bin"));
    for (folder, words, status, part) in [
        (
            "empty",
            &["--size", "5000B", "--write"][..],
            2,
            "no multiple of a sector (512 bytes): write 4608B or 5120B",
        ),
        ("empty", &["--size", "512B", "--write"], 2, "the least is 4KiB"),
        ("empty", &["--size", "48M", "--write"], 2, "write 48MiB"),
        ("empty", &["--size", "900PiB", "--write"], 1, "are free; make room, or give a smaller --size"),
        ("empty", &["--size", "4MiB"], 1, "holds no files of a scrub; --write makes them"),
        (
            "taken",
            &["--size", "4MiB", "--write"],
            2,
            "taken/letter': stands in the folder and is not of a scrub",
        ),
        ("named", &["--size", "4MiB", "--write"], 2, "named/scrub-3.bin': was not written by a scrub"),
        ("pipe", &["--size", "4MiB", "--write"], 2, "pipe/scrub-0.bin': is no regular file"),
        ("pipe", &["--size", "4MiB"], 2, "is no regular file"),
        ("disk/scrub-0.bin", &["--size", "4MiB"], 2, "is not a directory; name one for the files"),
        ("nowhere", &["--size", "4MiB"], 1, "open 'nowhere'"),
        ("no/where", &["--size", "4MiB", "--write"], 1, "make 'no/where'"),
    ] {
        let run = home.pump(&[&["lab", "scrub", folder, "--json"], words].concat());
        assert_eq!(run.status, status, "{folder} {words:?}: {run:?}");
        assert!(run.err.contains(part), "{folder} {words:?}: no {part:?} in: {}", run.err);
        assert_eq!(schema::checked(&run.out).last().expect("a report")["exit_status"], status, "{words:?}");
    }
    let names = |folder: &str| fs::read_dir(home.path(folder)).expect("a folder").count();
    assert_eq!([names("empty"), names("taken"), names("named"), names("pipe")], [0, 1, 1, 1]);
    assert_eq!(fs::read(home.path("named/scrub-3.bin")).expect("as it was"), noise(9000, 1));
    assert_eq!(told(&home)["faults"], json!([]), "as it was");
}
