//! `--sparse=always`: zeros become holes, on every way, and every byte is what it was.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, has_direct, make_folder, noise, outcome, schema};

const PAGE: usize = 4096;

/// Data here and there between zeros, also inside of pages and of requests, and an end that is a hole.
fn content() -> Vec<u8> {
    let mut bytes = vec![0; (3 << 20) + 1234];
    for (at, len) in
        [(0, 1), (PAGE - 1, 2), (5 * PAGE, PAGE), (100_000, 10), (1 << 20, 70_000), (2_500_000, 1)]
    {
        bytes[at..at + len]
            .copy_from_slice(&noise(len, at as u64 + 1).iter().map(|byte| byte | 1).collect::<Vec<u8>>());
    }
    bytes
}

/// Pages that hold something, and a few for what file systems allocate besides.
const ALLOCATED_MAX_BYTES: u64 = (2 + 1 + 1 + 19 + 1 + 8) * PAGE as u64;

fn is_sparse(path: &Path, row: &str) {
    let meta = fs::metadata(path).expect(row);
    assert!(
        meta.blocks() * 512 <= ALLOCATED_MAX_BYTES,
        "{row}: {} of {} bytes",
        meta.blocks() * 512,
        meta.size()
    );
}

#[test]
fn zeros_become_holes_on_every_way() {
    let home = Home::new();
    let bytes = content();
    make_folder(&home, "from");
    make_folder(&home, "served");
    fs::write(home.path("from/full"), &bytes).expect("room");
    let serving = Serving::new(&home, &[]);
    let pushed = serving.at("full");
    let mut ways = vec![
        "from/full to",
        "--direct=never from/full to",
        "--engine=inline from/full to",
        "--engine=threads --request-size=1KiB from/full to",
        "--request-size=12KiB --depth=3 from/full to",
        "--request-size=16MiB from/full to",
        "--sync=none from/full to",
        "--verify from/full to",
        "--uncached from/full to",
        "--no-resume --lanes=4 from/full to",
    ];
    ways.extend(has_direct(&home).then_some("--direct=always from/full to"));
    for way in ways {
        let words: Vec<&str> =
            ["copy", "--json", "--sparse=always"].into_iter().chain(way.split(' ')).collect();
        let run = home.pump(&words);
        expect(&run, 0, &[], way);
        has_content(&home.path("to"), &bytes, way);
        is_sparse(&home.path("to"), way);
        // A block that is cut for its zeros is no partial return.
        let events = schema::checked(&run.out);
        assert_eq!(events[events.len() - 1]["partial_returns"], 0, "{way}");
        fs::remove_file(home.path("to")).expect("it is there");
    }
    expect(&home.pump(&["copy", "--sparse=always", "from/", "tree"]), 0, &[], "tree");
    has_content(&home.path("tree/full"), &bytes, "tree");
    is_sparse(&home.path("tree/full"), "tree");
    let push = ["copy", "--ticket-file", "ticket", "--sparse=always", "from/full", &pushed];
    expect(&home.pump(&push), 0, &[], "push");
    has_content(&home.path("served/full"), &bytes, "push");
    is_sparse(&home.path("served/full"), "push");
    let pull = ["copy", "--ticket-file", "ticket", "--sparse=always", &pushed, "pulled"];
    expect(&home.pump(&pull), 0, &[], "pull");
    has_content(&home.path("pulled"), &bytes, "pull");
    is_sparse(&home.path("pulled"), "pull");
    let stream = outcome(home.command(&["copy", "--sparse=always", "-", "stream"]), &bytes);
    expect(&stream, 0, &[], "stream");
    has_content(&home.path("stream"), &bytes, "stream");
    is_sparse(&home.path("stream"), "stream");
}

#[test]
fn a_file_of_zeros_alone_takes_no_room() {
    let home = Home::new();
    for bytes in [1, PAGE, 100_000, 2 << 20] {
        fs::write(home.path("from"), vec![0; bytes]).expect("room");
        expect(&home.pump(&["copy", "--sparse=always", "from", "to"]), 0, &[], "zeros");
        has_content(&home.path("to"), &vec![0; bytes], "zeros");
        assert_eq!(fs::metadata(home.path("to")).expect("it is there").blocks(), 0, "{bytes}");
    }
}

#[test]
fn what_makes_no_holes_is_refused() {
    let home = Home::new();
    fs::write(home.path("from"), [0; PAGE]).expect("room");
    for flags in ["--inplace", "--reflink=always"] {
        let run = home.pump(&["copy", "--sparse=always", flags, "from", "to"]);
        expect(&run, 2, &["--sparse=always makes holes in a new file"], flags);
        assert!(!home.path("to").exists(), "{flags}");
    }
}
