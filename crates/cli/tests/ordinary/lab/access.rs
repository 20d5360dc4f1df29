//! `pump lab access` on real files: what a pass tells, that it touches what was asked and nothing else, and what cannot
//! be meant so.

use std::fs;

use crate::support::schema;
use crate::support::{Home, expect, noise};

const INTERFACES: [&str; 6] = ["stream", "mmap", "mmap-populate", "mmap-advise", "ring", "ring-cached"];

#[test]
fn a_pass_tells_what_it_did_and_what_it_cost() {
    let home = Home::new();
    fs::write(home.path("file"), noise(300_000, 1)).expect("room");
    let mut sums = Vec::new();
    for interface in INTERFACES {
        let words =
            ["lab", "access", "file", "--json", "--pattern=random", "--touch=1/4", "--interface", interface];
        let run = home.pump(&words);
        // Not every file system has direct I/O.
        if interface == "ring" && run.status != 0 {
            println!("not tested: ring: {}", run.err);
            continue;
        }
        expect(&run, 0, &[], interface);
        let events = schema::checked(&run.out);
        let [access, report] = &events[..] else { panic!("two events: {}", run.out) };
        assert_eq!((&access["event"], &report["event"]), (&"access".into(), &"report".into()), "{interface}");
        assert_eq!(access["interface"], interface);
        assert_eq!(
            (access["page_bytes"].as_u64(), access["touched_bytes"].as_u64()),
            (Some(8192), Some(2048))
        );
        assert_eq!(
            (access["pages"].as_u64(), access["bytes"].as_u64()),
            (Some(37), Some(300_000)),
            "{interface}"
        );
        assert_eq!(
            (report["bytes"].as_u64(), report["requests"].as_u64()),
            (Some(300_000), Some(37)),
            "{interface}"
        );
        assert_eq!(report["exit_status"], 0, "{interface}");
        sums.push(access["sum"].as_u64().expect("a number"));
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "all read the same words: {sums:?}");
}

#[test]
fn a_pass_in_words_and_one_that_writes() {
    let home = Home::new();
    for interface in ["stream", "mmap", "ring-cached"] {
        let content = noise(100_000, 2);
        fs::write(home.path("file"), &content).expect("room");
        let words = ["lab", "access", "file", "--operation=write", "--touch=word", "--interface", interface];
        let run = home.pump(&words);
        let told = format!("wrote 8 B of each of 13 pages of 8.0 KiB by {interface}, sequential");
        assert!(run.status == 0 && run.out.contains(&told), "{run:?}");
        let after = fs::read(home.path("file")).expect("there");
        let is_touched = |at: usize| at % 8192 < 8;
        let changed = (0..content.len()).filter(|&at| content[at] != after[at]);
        assert_eq!(after.len(), content.len(), "{interface}");
        let changed: Vec<usize> = changed.collect();
        assert!(!changed.is_empty() && changed.into_iter().all(is_touched), "{interface}");
    }
}

#[test]
fn what_cannot_be_meant_so_is_refused_before_anything_is_written() {
    let home = Home::new();
    fs::write(home.path("empty"), b"").expect("room");
    fs::write(home.path("file"), b"content").expect("room");
    fs::create_dir(home.path("folder")).expect("room");
    fs::write(home.path("pages"), [0; 65536]).expect("room");
    for (words, status, told) in [
        (&["empty"][..], 2, "access 'empty': is empty: there is no page to touch"),
        (&["folder"], 2, "access 'folder': is a folder; name a regular file"),
        (&["/dev/null"], 2, "access '/dev/null': is a device, and a pass is made through a regular file"),
        (&["missing"], 1, "open 'missing': No such file or directory"),
        (
            &["file", "--page", "12KiB"],
            2,
            "--page must be a power of two from 4KiB to 1MiB, not 12,288 bytes",
        ),
        (&["file", "--page", "2MiB"], 2, "--page must be a power of two from 4KiB to 1MiB"),
        (
            &["file", "--part", "2/4"],
            2,
            "access 'file': has 1 pages, which are not 4 parts; give a smaller --page",
        ),
        (
            &["file", "--part", "5/4"],
            2,
            "'5/4' is no part of a file; write its number and how many there are",
        ),
        (&["file", "--pages", "0"], 2, "--pages"),
        (
            &["pages", "--pages", "1", "--interface", "mmap-populate"],
            2,
            "mmap-populate brings in the whole file: leave out --part and --pages, or take mmap",
        ),
        (
            &["file", "--latencies", "--interface", "mmap"],
            2,
            "a mapping has no requests: leave out --latencies",
        ),
        (&["file", "--touch", "0"], 2, "0 of a page cannot be touched; write more than 0 and at most 1"),
        (&["file", "--touch", "1.5"], 2, "1.5 of a page cannot be touched; write more than 0 and at most 1"),
        (&["file", "--touch", "all"], 2, "'all' is no part of a page; write word, 1/8, 0.5 or 1"),
        (&["file", "--interface", "pipe"], 2, "mmap-populate"),
    ] {
        let run = home.pump(&[&["lab", "access", "--operation=write"], words].concat());
        expect(&run, status, &[told], &format!("{words:?}"));
    }
    assert_eq!(fs::read(home.path("file")).expect("there"), b"content");
}

#[test]
fn curves_need_rows_with_an_interface() {
    let home = Home::new();
    fs::write(home.path("rows.jsonl"), "").expect("room");
    let run = home.pump(&["lab", "fit", "--model", "touch", "rows.jsonl"]);
    assert!(run.status != 0 && run.err.contains("rows.jsonl"), "{run:?}");
}
