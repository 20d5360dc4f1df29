//! Passes on real files: all interfaces touch the same words, whatever the order.

use datapump::InWords;

use super::*;

const PAGE: u64 = 4096;

fn all<T: InWords>() -> impl Iterator<Item = T> {
    T::ALL.iter().map(|(choice, ..)| *choice)
}

fn asked(file: &Path, touch: Touch, operation: AccessUse) -> AccessArguments {
    AccessArguments {
        file: file.to_path_buf(),
        interface: AccessInterface::Stream,
        pattern: AccessPattern::Sequential,
        touch,
        operation,
        page_bytes: PAGE,
        part: AccessPart::WHOLE,
        pages_max: u64::MAX,
        latencies: false,
        depth: 4,
        sync: Sync::None,
        seed: 7,
        stop: Arc::default(),
    }
}

/// 70 pages and a part of one, so that every order differs, each word with a value of its own.
fn content() -> Vec<u8> {
    (0..(70 * PAGE + 1000) / 8).flat_map(u64::to_le_bytes).collect()
}

const TOUCHES: [Touch; 4] = [Touch::Word, Touch::Part(0.125), Touch::Part(0.75), Touch::Part(1.0)];

#[test]
fn all_interfaces_read_the_same_words_in_every_order() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("room");
    let (path, content) = (folder.path().join("file"), content());
    fs::write(&path, &content).expect("room");
    for touch in TOUCHES {
        let touched = touch.bytes(PAGE) as usize;
        let words = |page: &[u8]| datapump_engine::os::linux::sum_words(&page[..touched.min(page.len())]);
        let expected = content.chunks(PAGE as usize).map(words).fold(0, u64::wrapping_add);
        for interface in all::<AccessInterface>() {
            for pattern in all::<AccessPattern>() {
                let arguments =
                    AccessArguments { interface, pattern, ..asked(&path, touch, AccessUse::Read) };
                let done = access(&arguments).expect("a file");
                let row = format!("{interface:?} {pattern:?} {touch:?}: {:?}", done.problems);
                assert_eq!((done.report.exit_status, done.sum), (0, expected), "{row}");
                assert_eq!((done.pages, done.bytes), (71, content.len() as u64), "{row}");
                assert_eq!(done.report.requests, 71, "{row}");
            }
        }
    }
}

#[test]
fn all_interfaces_write_the_touched_words_and_nothing_else() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("room");
    let (path, content) = (folder.path().join("file"), content());
    for touch in TOUCHES {
        let touched = touch.bytes(PAGE) as usize;
        let mut expected = content.clone();
        for page in expected.chunks_mut(PAGE as usize) {
            let end = touched.min(page.len());
            datapump_engine::os::linux::fill_words(&mut page[..end], value(7));
        }
        for interface in all::<AccessInterface>() {
            for pattern in all::<AccessPattern>() {
                fs::write(&path, &content).expect("room");
                let sync = if pattern == AccessPattern::Random { Sync::End } else { Sync::None };
                let arguments =
                    AccessArguments { interface, pattern, sync, ..asked(&path, touch, AccessUse::Write) };
                let done = access(&arguments).expect("a file");
                let row = format!("{interface:?} {pattern:?} {touch:?}: {:?}", done.problems);
                assert_eq!((done.report.exit_status, done.bytes), (0, content.len() as u64), "{row}");
                assert_eq!(done.report.synced_ns.is_some(), sync == Sync::End, "{row}");
                assert!(fs::read(&path).expect("there") == expected, "{row}");
            }
        }
    }
}

/// The first 35 of 71 pages, and two of the others.
#[test]
fn a_part_of_a_file_is_passed_through_and_the_rest_is_left_alone() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("room");
    let (path, content) = (folder.path().join("file"), content());
    let part = |word: &str| word.parse::<AccessPart>().expect("a part");
    let half = (35 * PAGE) as usize;
    let of_parts = all::<AccessInterface>().filter(|it| *it != AccessInterface::MmapPopulate);
    for interface in of_parts {
        fs::write(&path, &content).expect("room");
        let whole = asked(&path, Touch::Part(1.0), AccessUse::Write);
        let first = AccessArguments { interface, part: part("1/2"), ..whole.clone() };
        let two = AccessArguments { interface, part: part("2/2"), pages_max: 2, ..whole };
        for (arguments, pages) in [(first, 35), (two, 2)] {
            let done = access(&arguments).expect("a file");
            let row = format!("{interface:?} {pages}: {:?}", done.problems);
            assert_eq!(
                (done.report.exit_status, done.report.requests, done.pages),
                (0, pages, pages),
                "{row}"
            );
            assert_eq!((done.bytes, done.report.bytes), (pages * PAGE, pages * PAGE), "{row}");
        }
        let mut expected = content.clone();
        datapump_engine::os::linux::fill_words(&mut expected[..half + 2 * PAGE as usize], value(7));
        assert!(fs::read(&path).expect("there") == expected, "{interface:?}");
    }
}

#[test]
fn requests_are_timed_and_a_mapping_has_none() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("room");
    let path = folder.path().join("file");
    fs::write(&path, content()).expect("room");
    for interface in all::<AccessInterface>() {
        let arguments =
            AccessArguments { interface, latencies: true, ..asked(&path, Touch::Word, AccessUse::Read) };
        match access(&arguments) {
            Ok(done) => {
                let count = done.report.latency_ns.and_then(|ends| ends.source).map(|reads| reads.count);
                assert_eq!(count, Some(71), "{interface:?}");
                assert!(done.to_string().contains("a request took "), "{done}");
            }
            Err(problem) => {
                let words = problem.to_string();
                assert!(words.contains("a mapping has no requests: leave out --latencies"), "{words}");
                assert!(format!("{interface:?}").starts_with("Mmap"), "{words}");
            }
        }
    }
}

#[test]
fn what_cannot_be_meant_so_is_refused() {
    let folder = tempfile::tempdir().expect("room");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty"), b"").expect("room");
    fs::write(at("file"), b"content").expect("room");
    for (path, page_bytes, words) in [
        (at("empty"), PAGE, "is empty: there is no page to touch"),
        (folder.path().to_path_buf(), PAGE, "is a folder; name a regular file"),
        (PathBuf::from("/dev/zero"), PAGE, "is a device, and a pass is made through a regular file"),
        (at("missing"), PAGE, "No such file or directory"),
        (at("file"), 5000, "--page must be a power of two from 4KiB to 1MiB, not 5,000 bytes; give 8KiB"),
        (at("file"), 0, "--page must be a power of two"),
        (at("file"), 2048, "--page must be a power of two from 4KiB to 1MiB, not 2,048 bytes"),
        (at("file"), 2 << 20, "--page must be a power of two from 4KiB to 1MiB, not 2,097,152 bytes"),
    ] {
        let arguments = AccessArguments { page_bytes, ..asked(&path, Touch::Word, AccessUse::Write) };
        let problem = access(&arguments).expect_err("it cannot be meant so").to_string();
        assert!(problem.contains(words), "{}: {problem}", path.display());
    }
    assert_eq!(fs::read(at("file")).expect("there"), b"content", "nothing was written");
}

#[test]
fn a_pass_that_is_stopped_says_so() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("file");
    fs::write(&path, content()).expect("room");
    for interface in all::<AccessInterface>() {
        let arguments = AccessArguments { interface, ..asked(&path, Touch::Word, AccessUse::Read) };
        arguments.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let done = access(&arguments).expect("a file");
        assert_eq!(done.report.exit_status, Status::Interrupted as i32, "{interface:?}");
    }
}
