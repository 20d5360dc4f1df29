//! Copies that must succeed: every size, engine and shape, odd names, streams, holes, narrow limits; and what `verify`
//! and `hash` say of them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

use crate::support;
use crate::support::running::{Running, eventually};
use crate::support::{
    Home, expect, has_attributes_of, has_content, make_fifo, noise, noise_file, only, outcome,
};

/// A time with all nine digits of its nanoseconds, in 2001.
const MTIME_NS: u64 = 978_307_201_123_456_789;

/// Sizes around those of a sector, a page and a request.
fn sizes(request_bytes: usize) -> Vec<usize> {
    let around = [request_bytes - 1, request_bytes, request_bytes + 1, 7 * request_bytes + 13];
    let mut sizes = [&[0, 1, 511, 512, 4095, 4096, 4097], &around[..]].concat();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Makes a source of each size with attributes of its own and gives the names.
fn sources(home: &Home, request_bytes: usize) -> Vec<(String, Vec<u8>)> {
    let make = |(index, bytes): (usize, usize)| {
        let name = format!("of-{bytes}");
        let content = noise_file(home, &name, bytes, bytes as u64 + 1);
        let path = home.path(&name);
        support::set_xattr(&path, "user.colour", format!("{bytes} green").as_bytes());
        support::set_mtime(&path, MTIME_NS + index as u64);
        support::set_mode(&path, [0o600, 0o444, 0o755, 0o4640][index % 4]);
        (name, content)
    };
    sizes(request_bytes).into_iter().enumerate().map(make).collect()
}

/// Copies all sizes into a folder in every shape that one engine can have.
fn every_shape(engine: &str) {
    let home = Home::new();
    let directs: &[&str] = if support::has_direct(&home) { &["always", "never"] } else { &["never"] };
    for (request_size, request_bytes) in [("1KiB", 1 << 10), ("4KiB", 4 << 10), ("64KiB", 64 << 10)] {
        let sources = sources(&home, request_bytes);
        for direct in directs {
            // Direct I/O needs requests of whole sectors or pages.
            if *direct == "always" && request_bytes < 4096 {
                continue;
            }
            // With --verify bytes go through the loop where else the kernel would copy them.
            for (lanes, more) in [("1", ""), ("1", "--verify"), ("2", ""), ("2", "--verify")] {
                let shape = format!(
                    "copy --engine {engine} --direct {direct} --lanes {lanes} --request-size {request_size} {more}"
                );
                into_a_folder(&home, &sources, &shape);
            }
        }
        sources.iter().for_each(|(name, _)| std::fs::remove_file(home.path(name)).expect("the source"));
    }
}

fn into_a_folder(home: &Home, sources: &[(String, Vec<u8>)], shape: &str) {
    support::make_folder(home, "folder");
    let names = sources.iter().map(|(name, _)| name.as_str());
    let words: Vec<&str> = shape.split_whitespace().chain(names).chain(["folder"]).collect();
    expect(&home.pump(&words), 0, &[" files, "], shape);
    for (name, content) in sources {
        let copy = home.path(format!("folder/{name}"));
        has_content(&copy, content, shape);
        has_attributes_of(&home.path(name), &copy, shape);
    }
    let copies = std::fs::read_dir(home.path("folder")).expect("the folder").count();
    assert_eq!(copies, sources.len(), "{shape}: nothing else is left");
    std::fs::remove_dir_all(home.path("folder")).expect("the folder");
}

#[test]
fn every_size_and_shape_with_uring() {
    every_shape("uring");
}

#[test]
fn every_size_and_shape_with_threads() {
    every_shape("threads");
}

#[test]
fn every_size_and_shape_with_inline() {
    every_shape("inline");
}

#[test]
fn every_size_alone_with_the_sizes_that_the_program_chooses() {
    let home = Home::new();
    for (name, content) in sources(&home, 512 << 10) {
        for flags in
            ["", "--verify", "--sync=none", "--sync=each", "--lanes 2", "--inplace", "--sparse=never"]
        {
            let row = format!("{name} {flags}");
            let words =
                [&["copy"], &flags.split_whitespace().collect::<Vec<_>>()[..], &[&name, "copy"]].concat();
            expect(&home.pump(&words), 0, &[], &row);
            has_content(&home.path("copy"), &content, &row);
            has_attributes_of(&home.path(&name), &home.path("copy"), &row);
            std::fs::remove_file(home.path("copy")).expect("the copy");
        }
    }
    assert!(support::leftovers(&home).is_empty());
}

#[test]
fn a_large_file_and_its_verification() {
    let home = Home::new();
    let content = noise_file(&home, "a", (64 << 20) + 4711, 5);
    expect(&home.pump(&["copy", "--verify", "a", "b"]), 0, &["a -> b: 64.0 MiB in "], "64 MiB");
    has_content(&home.path("b"), &content, "64 MiB");
    expect(&home.pump(&["verify", "a", "b"]), 0, &[], "verify");
    only(&home, &["a", "b"], "64 MiB");
}

#[test]
fn odd_names() {
    let home = Home::new();
    support::make_folder(&home, "folder");
    let long = "x".repeat(255);
    let names: [&[u8]; 10] = [
        b"new\nline",
        b"bell\x07 escape\x1b[2J return\r tab\t",
        b"bad\xff\xfe\x80",
        b"--verify",
        b"-",
        b" ",
        b"...",
        b"a:b",
        "r\u{202e}tl größe".as_bytes(),
        long.as_bytes(),
    ];
    for (seed, name) in names.into_iter().enumerate() {
        let row = String::from_utf8_lossy(name).into_owned();
        let name = std::ffi::OsStr::from_bytes(name);
        let content = noise(5000, seed as u64);
        let source = Path::new(".").join(name);
        std::fs::write(home.path(&source), &content).expect("the file system takes this name");
        let words = [&["copy", "-v", "--"].map(AsRef::as_ref)[..], &[source.as_os_str(), "plain".as_ref()]];
        expect(&home.pump(&words.concat()), 0, &["plain: 5000 bytes"], &row);
        has_content(&home.path("plain"), &content, &row);
        let words = [&["copy", "-v", "--", "plain"].map(AsRef::as_ref)[..], &[source.as_os_str()]];
        expect(&home.pump(&words.concat()), 0, &[], &row);
        has_content(&home.path(&source), &content, &row);
        let words = [&["copy", "-v", "--"].map(AsRef::as_ref)[..], &[source.as_os_str(), "folder".as_ref()]];
        expect(&home.pump(&words.concat()), 0, &[": 5000 bytes"], &row);
        has_content(&home.path("folder").join(name), &content, &row);
    }
    // Behind `--` a name may begin with dashes.
    expect(&home.pump(&["copy", "--", "--verify", "--json"]), 0, &["--verify -> --json: 4.9 KiB in "], "--");
    has_content(&home.path("--json"), &noise(5000, 3), "--");
}

#[test]
fn several_sources_go_into_a_folder_under_their_names() {
    let home = Home::new();
    support::make_folder(&home, "folder");
    support::make_folder(&home, "below");
    let one = noise_file(&home, "one", 100_000, 1);
    let two = noise_file(&home, "below/two", 3_000_000, 2);
    noise_file(&home, "folder/two", 10, 3);
    for folder in ["folder", "folder/", "./folder/."] {
        let copied = home.pump(&["copy", "one", "below/two", "/proc/version", folder]);
        expect(&copied, 0, &[], folder);
        has_content(&home.path("folder/one"), &one, folder);
        has_content(&home.path("folder/two"), &two, folder);
        let version = std::fs::read("/proc/version").expect("/proc");
        has_content(&home.path("folder/version"), &version, folder);
    }
}

#[test]
fn files_that_the_kernel_makes_up_are_copied_whole() {
    let home = Home::new();
    // Of size 0 or of a size that is not theirs, and short: each reads the same twice.
    let names = [
        "/proc/version",
        "/proc/filesystems",
        "/proc/self/limits",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/devices/system/cpu/online",
    ];
    for name in names.into_iter().filter(|name| File::open(name).is_ok()) {
        for flags in ["--engine=auto", "--engine=threads", "--direct=never", "--lanes=2", "--verify"] {
            let row = format!("{name} {flags}");
            expect(&home.pump(&["copy", flags, name, "copy"]), 0, &[], &row);
            has_content(&home.path("copy"), &std::fs::read(name).expect(name), &row);
            for words in [["copy", name], [name, "copy"], [name, name]] {
                let words = [&["verify", "--content-only"][..], &words].concat();
                expect(&home.pump(&words), 0, &[], &words.join(" "));
            }
            let mut longer = std::fs::read(name).expect(name);
            longer.push(b'x');
            std::fs::write(home.path("longer"), longer).expect("room for a file");
            for words in [["longer", name], [name, "longer"]] {
                let words = [&["verify", "--content-only"][..], &words].concat();
                expect(&home.pump(&words), 1, &["'longer'"], &words.join(" "));
            }
        }
    }
    expect(&home.pump(&["copy", "/proc/cpuinfo", "cpus"]), 0, &[], "/proc/cpuinfo");
    let cpus = |path: &Path| std::fs::read_to_string(path).expect("text").matches("processor").count();
    assert_eq!(cpus(&home.path("cpus")), cpus(Path::new("/proc/cpuinfo")));
    let to_pipe = home.pump(&["copy", "/proc/version", "-"]);
    assert_eq!(to_pipe.out, std::fs::read_to_string("/proc/version").expect("text"), "to a pipe");
}

#[test]
fn a_named_pipe_is_read_and_written_as_a_stream() {
    let home = Home::new();
    make_fifo(&home.path("fifo"));
    for bytes in [0, 1, 4097, 3_000_000] {
        let content = noise(bytes, 9);
        let (path, fed) = (home.path("fifo"), content.clone());
        let writer = std::thread::spawn(move || std::fs::write(path, fed));
        expect(&home.pump(&["copy", "fifo", "copy"]), 0, &[], "from a FIFO");
        writer.join().expect("no panic").expect("pump reads all");
        has_content(&home.path("copy"), &content, "from a FIFO");
        let path = home.path("fifo");
        let reader = std::thread::spawn(move || std::fs::read(path));
        expect(&home.pump(&["copy", "copy", "fifo"]), 0, &[], "into a FIFO");
        assert!(reader.join().expect("no panic").expect("pump writes") == content, "into a FIFO");
        only(&home, &["copy", "fifo"], "the FIFO stays");
    }
}

#[test]
fn standard_input_becomes_a_file_and_a_file_standard_output() {
    let home = Home::new();
    let new = File::create(home.path("new")).expect("a file").metadata().expect("its mode").mode();
    for (bytes, flags) in [
        (0, "--engine=auto"),
        (1, "--engine=auto"),
        (511, "--engine=threads"),
        (4096, "--engine=inline"),
        (100_000, "--request-size=4KiB"),
        (524_287, "--direct=always"),
        (3_000_001, "--engine=auto"),
        (3_000_001, "--engine=threads"),
        (3_000_001, "--verify"),
    ] {
        let row = format!("{bytes} bytes {flags}");
        if flags == "--direct=always" && !support::has_direct(&home) {
            continue;
        }
        let content = noise(bytes, 7);
        expect(&outcome(home.command(&["copy", flags, "-", "copy"]), &content), 0, &[], &row);
        has_content(&home.path("copy"), &content, &row);
        let mode = home.path("copy").metadata().expect("the copy").mode();
        assert_eq!(mode, new, "{row}: the mode of any new file");
        if flags == "--verify" {
            continue; // a stream cannot be read back
        }
        let mut command = home.command(&["copy", flags, "copy", "-"]);
        let copied = command.stderr(Stdio::piped()).output().expect("pump was built");
        assert!(copied.status.success() && copied.stdout == content, "{row}: {:?}", copied.status);
    }
    only(&home, &["copy", "new"], "nothing else is left");
}

#[test]
fn from_pipe_to_pipe_data_are_passed_on_as_they_come() {
    let home = Home::new();
    for engine in ["auto", "uring", "threads", "inline"] {
        let mut running = Running::start(home.command(&["copy", "--engine", engine, "-", "-"]));
        let mut expected = String::new();
        for words in ["first", "second\n", "third"] {
            running.send(words.as_bytes());
            expected += words;
            // The input is still open.
            eventually("what was sent comes out", || running.out() == expected);
        }
        let ended = running.end();
        expect(&ended, 0, &["17 B in "], engine);
        assert_eq!(ended.out, expected, "{engine}");
    }
}

#[test]
fn null_places() {
    let home = Home::new();
    noise_file(&home, "a", 100_000, 1);
    for (words, parts) in [
        ("copy -v a null:", &["100,000 bytes, "][..]),
        ("copy -v null:1MiB null:", &["1,048,576 bytes, "]),
        ("copy -v null:1GiB null: --lanes 2", &["1,073,741,824 bytes, "]),
        ("copy -v null:65536B,zero zeros", &["65,536 bytes, "]),
        ("copy -v null:3000001B noise", &["3,000,001 bytes, "]),
        ("copy -v null:0B empty", &["0 bytes, "]),
        ("copy -v a /dev/null", &["100,000 bytes, "]),
        ("verify null:65536B,zero zeros", &[]),
    ] {
        expect(&home.pump(&words.split(' ').collect::<Vec<_>>()), 0, parts, words);
    }
    has_content(&home.path("zeros"), &[0; 65_536], "zeros");
    has_content(&home.path("empty"), &[], "empty");
    let noise = std::fs::read(home.path("noise")).expect("noise");
    assert_eq!(noise.len(), 3_000_001);
    assert!(noise.chunks(4096).all(|page| page.iter().any(|&byte| byte != 0)), "noise is not zeros");
    let null = std::fs::metadata("/dev/null").expect("/dev/null");
    assert!(!null.is_file(), "/dev/null is still a device");
}

/// No more slots are filled than there are blocks; which lane and slot a block has is of no matter.
#[test]
fn noise_is_in_every_block_however_many_slots_there_are() {
    let home = Home::new();
    for (size, words) in [
        ("3000001B", "--depth 32 --request-size 64KiB --lanes 1"),
        ("3000001B", "--depth 32 --request-size 1MiB --lanes 4"),
        ("40MiB", "--depth 16 --request-size 64KiB --lanes 3 --engine threads"),
        ("100B", "--depth 32 --request-size 1MiB"),
        ("9MiB", "--depth 32 --request-size 8MiB --verify"),
    ] {
        let run = format!("copy {words} null:{size} noise");
        expect(&home.pump(&run.split(' ').collect::<Vec<_>>()), 0, &[], &run);
        let noise = std::fs::read(home.path("noise")).expect("noise");
        assert!(noise.chunks(100).all(|part| part.iter().any(|&byte| byte != 0)), "{run}");
    }
}

/// Makes a file with three islands in an ocean of holes, as long as the file system allows.
fn islands(home: &Home, name: &str) -> Vec<(u64, Vec<u8>)> {
    let mut file = File::create(home.path(name)).expect("a file");
    let mut bytes: u64 = 5 << 40;
    while let Err(error) = file.set_len(bytes) {
        eprintln!("a file of {bytes} bytes is too much for this file system: {error}");
        bytes /= 4;
    }
    let at = [1 << 20, bytes / 2 + 3 * 4096, bytes - 10_001];
    let islands = at.into_iter().zip([70_000, 1_300_000, 10_001]);
    let islands: Vec<(u64, Vec<u8>)> = islands.map(|(at, len)| (at, noise(len, at))).collect();
    for (at, island) in &islands {
        file.seek(SeekFrom::Start(*at)).expect("a place in the file");
        file.write_all(island).expect("room for an island");
    }
    islands
}

#[test]
fn a_file_of_holes_stays_one() {
    let home = Home::new();
    let islands = islands(&home, "ocean");
    let source = home.path("ocean").metadata().expect("the source");
    for flags in
        ["--engine=auto", "--verify", "--lanes=2", "--direct=never", "--inplace", "--request-size=1MiB"]
    {
        expect(&home.pump(&["copy", flags, "ocean", "copy"]), 0, &[], flags);
        let mut copy = File::open(home.path("copy")).expect("the copy");
        let meta = copy.metadata().expect("the copy");
        assert_eq!(meta.len(), source.len(), "{flags}");
        assert!(meta.blocks() <= source.blocks(), "{flags}: {} > {} blocks", meta.blocks(), source.blocks());
        for (at, island) in &islands {
            let mut found = vec![0; island.len()];
            copy.seek(SeekFrom::Start(*at)).expect("a place in the file");
            copy.read_exact(&mut found).expect("an island");
            assert!(found == *island, "{flags}: the island at {at}");
        }
        if flags != "--request-size=1MiB" {
            std::fs::remove_file(home.path("copy")).expect("the copy");
        }
    }
    only(&home, &["copy", "ocean"], "nothing else is left");
}

#[test]
fn every_byte_of_a_short_file_of_holes() {
    let home = Home::new();
    for bytes in [1, 4096, 1_000_000, 3_000_001] {
        let file = File::create(home.path("holes")).expect("a file");
        file.set_len(bytes).expect("a hole");
        for flags in ["--sparse=auto", "--sparse=never", "--verify"] {
            expect(&home.pump(&["copy", flags, "holes", "copy"]), 0, &[], flags);
            has_content(&home.path("copy"), &vec![0; bytes as usize], flags);
            expect(&home.pump(&["verify", "holes", "copy"]), 0, &[], flags);
        }
    }
}

#[test]
fn narrow_limits_of_the_system() {
    let home = Home::new();
    support::make_folder(&home, "folder");
    let names: Vec<String> = (0..100).map(|index| format!("file-{index}")).collect();
    names.iter().for_each(|name| drop(noise_file(&home, name, 20_000, 1)));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let large = noise_file(&home, "large", 3_000_001, 2);
    let shells = ["ulimit -n 64", "ulimit -l 0", "ulimit -n 64; ulimit -l 0"];
    for shell in shells {
        for flags in ["--engine=auto", "--engine=uring", "--engine=threads", "--lanes=4", "--depth=8"] {
            let row = format!("{shell} {flags}");
            let copied = outcome(support::after(&home, shell, &["copy", flags, "large", "copy"]), b"");
            expect(&copied, 0, &["large -> copy: 2.9 MiB in "], &row);
            has_content(&home.path("copy"), &large, &row);
            let words = [&["copy", flags], &names[..], &["folder"]].concat();
            expect(&outcome(support::after(&home, shell, &words), b""), 0, &["1.9 MiB in "], &row);
        }
    }
    names.iter().for_each(|name| has_content(&home.path("folder").join(name), &noise(20_000, 1), name));
}

#[test]
fn verify_finds_the_one_byte_that_differs() {
    let home = Home::new();
    let content = noise_file(&home, "a", 1_500_003, 4);
    expect(&home.pump(&["verify", "--content-only", "a", "a"]), 0, &[], "with itself");
    for at in [0, 1, 4095, 4096, 524_287, 524_288, 1_499_999, 1_500_002] {
        let mut other = content.clone();
        other[at] ^= 1;
        std::fs::write(home.path("b"), other).expect("room for a file");
        let flags =
            ["--engine=auto", "--lanes=2", "--request-size=4KiB", "--direct=never", "--engine=inline"];
        for flags in flags {
            let found = home.pump(&["verify", "--content-only", flags, "a", "b"]);
            expect(&found, 1, &[&format!("compare 'b' at byte {at}: differs from 'a'\n")], flags);
            assert_eq!(found.out.lines().count(), 1, "{flags}: {found:?}");
        }
    }
}

#[test]
fn verify_of_streams_lengths_and_trouble() {
    let home = Home::new();
    let content = noise_file(&home, "a", 600_000, 4);
    noise_file(&home, "longer", 600_001, 4);
    noise_file(&home, "shorter", 599_999, 4);
    noise_file(&home, "empty", 0, 4);
    support::make_folder(&home, "folder");
    for (words, status, part) in [
        ("- a", 0, ""),
        ("- longer", 1, "longer"),
        ("- shorter", 1, "compare 'shorter' at byte 599999: ends where 'standard input' goes on"),
        ("- empty", 1, "compare 'empty' at byte 0: ends where 'standard input' goes on"),
        ("a longer", 1, "compare 'a': has 600000 bytes, 'longer' has 600001"),
        ("a shorter", 1, "compare 'a': has 600000 bytes, 'shorter' has 599999"),
        ("a empty", 1, ""),
        ("empty a", 1, ""),
        ("empty empty", 0, ""),
        ("a nothing", 2, "open 'nothing': No such file or directory"),
        ("nothing a", 2, "open 'nothing': No such file or directory"),
        ("folder a", 1, "'folder': is a folder, 'a' is a file"),
    ] {
        let words: Vec<&str> = ["verify", "--content-only"].into_iter().chain(words.split(' ')).collect();
        let input = if words[2] == "-" { &content[..] } else { b"" };
        expect(&outcome(home.command(&words), input), status, &[part], &words.join(" "));
    }
}

/// A place that is read once can be named first alone; nothing is waited for.
#[test]
fn verify_says_what_to_write_where_the_second_place_is_no_file() {
    let home = Home::new();
    noise_file(&home, "a", 3000, 4);
    support::make_folder(&home, "folder");
    support::make_fifo(&home.path("fifo"));
    for (words, part) in [
        ("a -", "the second place must be a file, and '-' is none; write it first: pump verify - a"),
        ("a fifo", "write it first: pump verify fifo a"),
        ("a null:3000B", "write it first: pump verify null:3000B a"),
        ("a stripe:s.toml", "write it first: pump verify stripe:s.toml a"),
        ("fifo -", "one of two places must be a file"),
        ("- fifo", "one of two places must be a file"),
        ("- -", "one of two places must be a file"),
        ("folder -", "'folder' is a folder, which is compared with a folder"),
    ] {
        let words: Vec<&str> = ["verify"].into_iter().chain(words.split(' ')).collect();
        expect(&home.pump(&words), 2, &[part], &words.join(" "));
    }
    // What the message says.
    let mut writing = std::process::Command::new("cp");
    let writer = writing.args(["a", "fifo"]).current_dir(home.path("")).spawn();
    expect(&home.pump(&["verify", "fifo", "a"]), 0, &[], "the pipe first");
    assert!(writer.expect("cp is installed").wait().expect("it ends").success());
}

/// The command that is told can be typed; where it cannot, none is.
#[test]
fn verify_says_what_to_write_as_a_shell_takes_it() {
    let home = Home::new();
    for (name, part) in [
        ("my file", "write it first: pump verify - 'my file'"),
        ("it's", r"write it first: pump verify - 'it'\''s'"),
        ("./-x", "write it first: pump verify - ./-x"),
        ("new\nline", "the second place must be a file, and '-' is none; write it first"),
    ] {
        noise_file(&home, name, 10, 4);
        let run = home.pump(&["verify", name, "-"]);
        expect(&run, 2, &[part], name);
        assert_eq!(run.err.contains("pump verify - "), !name.contains('\n'), "{name}: {run:?}");
    }
    for other in ["-", "null:10B", "stripe:s.toml"] {
        let run = home.pump(&["verify", "missing", other]);
        expect(&run, 2, &["open 'missing': No such file or directory"], other);
        assert!(!run.err.contains("write it first"), "{other}: {run:?}");
    }
}

#[test]
fn verify_of_a_file_and_a_folder_says_that_their_kinds_differ() {
    let home = Home::new();
    noise_file(&home, "a", 4096, 1);
    support::make_folder(&home, "folder");
    expect(&home.pump(&["verify", "a", "folder"]), 1, &["'folder' is a folder"], "kinds");
}

#[test]
fn hashes_are_the_published_ones() {
    let home = Home::new();
    // "abc": the README of the BLAKE3 project. The others: its test_vectors.json, whose input is that of `Home::file`.
    std::fs::write(home.path("abc"), "abc").expect("room for a file");
    let mut rows = vec![("abc", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85")];
    for (bytes, name, root) in [
        (0, "none", "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
        (1, "one", "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
        (1024, "chunk", "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"),
        (1025, "more", "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"),
        (102_400, "long", "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"),
    ] {
        home.file(name, bytes);
        rows.push((name, root));
    }
    for (name, root) in rows {
        for flags in ["--lanes=1", "--lanes=3", "--request-size=1KiB", "--engine=threads", "--engine=inline"]
        {
            let hashed = home.pump(&["hash", flags, name]);
            expect(&hashed, 0, &[], flags);
            assert_eq!(hashed.out, format!("{root}  {name}\n"), "{flags}");
        }
    }
}
