//! `--uncached` and `--dsync`: the bytes arrive in every shape, nothing of them stays in memory, and where there is no
//! uncached I/O the error says so.

use std::fs::File;
use std::path::Path;

use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect, has_content, make_folder, noise_file, only};

const BYTES: usize = (8 << 20) + 13;

fn pump(home: &Home, line: &str) -> Outcome {
    home.pump(&line.split_whitespace().collect::<Vec<&str>>())
}

/// How much of a file lies in the page cache, 0 to 1; `None` where the kernel does not tell.
fn cached(path: &Path) -> Option<f64> {
    let file = File::open(path).expect("it is there");
    datapump_engine::os::linux::cached_fraction(&file, BYTES as u64)
}

/// A folder that is on a disk, or this prints why not.
fn has_uncached(home: &Home) -> bool {
    noise_file(home, "probe", 4096, 1);
    let outcome = pump(home, "copy --uncached probe probed");
    let _ = std::fs::remove_file(home.path("probe"));
    let _ = std::fs::remove_file(home.path("probed"));
    if outcome.status != 0 {
        eprintln!("not tested: uncached I/O: {}", outcome.err);
    }
    outcome.status == 0
}

#[test]
fn nothing_stays_in_the_cache_and_every_byte_arrives() {
    let home = Home::new();
    if !has_uncached(&home) {
        return;
    }
    let content = noise_file(&home, "source", BYTES, 7);
    for engine in ["inline", "threads", "uring"] {
        for more in ["", "--verify", "--inplace", "--dsync", "--lanes 2", "--request-size 4KiB --depth 8"] {
            let row = format!("copy -q --uncached --engine {engine} {more} source copy");
            expect(&pump(&home, &row), 0, &[], &row);
            // Pages that were still being written when their request ended stay: few.
            let part = cached(&home.path("copy"));
            assert!(part.is_none_or(|part| part < 0.5), "{row}: {part:?}");
            has_content(&home.path("copy"), &content, &row);
            // Pages that the test has read would stay.
            std::fs::remove_file(home.path("copy")).expect("it is there");
        }
    }
}

/// The side that reads is another host: small files go through the cache there.
#[test]
fn nothing_stays_in_the_cache_of_the_other_host() {
    let home = Home::new();
    if !has_uncached(&home) {
        return;
    }
    make_folder(&home, "served");
    let content = noise_file(&home, "served/source", 500_000, 7);
    let serving = Serving::start(home.command(&["serve", "served", "--ticket-file", "ticket"]));
    let row = format!("copy -q --uncached --ticket-file ticket {} copy", serving.at("source"));
    let file = File::open(home.path("served/source")).expect("it is there");
    file.sync_all().expect("a disk");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("advice");
    expect(&pump(&home, &row), 0, &[], &row);
    let part = datapump_engine::os::linux::cached_fraction(&file, 500_000);
    assert!(part.is_none_or(|part| part < 0.5), "{part:?}");
    has_content(&home.path("copy"), &content, &row);
}

#[test]
fn where_there_is_none_the_error_says_what_to_do() {
    let home = Home::new();
    noise_file(&home, "source", 100_000, 7);
    if !Path::new("/dev/shm").is_dir() {
        return eprintln!("not tested: no tmpfs at /dev/shm");
    }
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let row = format!("copy --uncached source {}/copy", memory.path().display());
    expect(&pump(&home, &row), 1, &["no uncached I/O; leave out --uncached"], &row);
    assert_eq!(std::fs::read_dir(memory.path()).expect("it is there").count(), 0, "{row}");
}

#[test]
fn it_goes_with_no_direct_io() {
    let home = Home::new();
    noise_file(&home, "source", 10, 7);
    let row = "copy --uncached --direct=always source copy";
    expect(&pump(&home, row), 2, &["leave out --uncached or --direct=always"], row);
    only(&home, &["source"], row);
}

#[test]
fn direct_requests_of_no_whole_page_name_the_nearest_size() {
    let home = Home::new();
    noise_file(&home, "source", 100_000, 7);
    for (asked, nearest) in [("5KiB", "4096B"), ("7KiB", "8192B"), ("1KiB", "4096B")] {
        let row = format!("copy --direct=always --request-size={asked} source copy");
        let hint = format!("--request-size={nearest} is the nearest");
        expect(&pump(&home, &row), 2, &[&hint], &row);
    }
    only(&home, &["source"], "refused");
}
