//! `pump serve` and `pump copy` to and from it, by the real binary over loopback.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support;
use crate::support::schema;
use crate::support::serving::Serving;
use crate::support::small_tree::small_tree;
use crate::support::{Home, expect, has_content, make_folder, noise_file};

fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "served");
    home
}

#[test]
fn nothing_of_what_stood_there_is_left_in_the_holes_of_a_copy() {
    let home = home();
    let serving = Serving::new(&home, &[]);
    let mut content = vec![0; 3 << 20];
    content[1 << 20..][..4].copy_from_slice(b"DATA");
    let sparse = std::fs::File::create(home.path("served/from")).expect("room");
    sparse.set_len(3 << 20).expect("room");
    std::os::unix::fs::FileExt::write_at(&sparse, b"DATA", 1 << 20).expect("room");
    for flag in ["-q", "--verify", "--sparse=never"] {
        for old_mib in [2, 3, 4] {
            for words in [["served/from", &serving.at("to")], [&serving.at("from"), "served/to"]] {
                noise_file(&home, "served/to", old_mib << 20, 1);
                let words = [&["copy", "--ticket-file=ticket", "--inplace", flag][..], &words].concat();
                let row = format!("{words:?} {old_mib} MiB");
                expect(&home.pump(&words), 0, &[], &row);
                has_content(&home.path("served/to"), &content, &row);
            }
        }
    }
}

#[test]
fn folders_and_files_go_there_and_back() {
    let home = home();
    small_tree(&home, "tree");
    let content = noise_file(&home, "large", 3_000_001, 1);
    let mut serving = Serving::new(&home, &[]);
    let mode = std::fs::metadata(home.path("ticket")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else may read the ticket");
    let at = |path: &str| serving.at(path);
    for (source, target) in [
        ("tree".to_owned(), at("copy")),
        ("large".to_owned(), at("")),
        (at("copy"), "back".to_owned()),
        (at("large"), "back/large".to_owned()),
    ] {
        let run = home.pump(&["copy", "-v", "--ticket-file", "ticket", &source, &target]);
        expect(&run, 0, &["s of CPU", " -> "], &format!("{source} to {target}"));
        assert!(!run.err.contains("/proc/self"), "what it is called on the other host: {}", run.err);
    }
    has_content(&home.path("back/large"), &content, "the large one");
    std::fs::remove_file(home.path("back/large")).expect("it is there");
    support::small_tree::set_time(&home.path("back"), 1_000_000_004, 987_654_321);
    expect(&home.pump(&["verify", "tree", "served/copy"]), 0, &[], "there");
    expect(&home.pump(&["verify", "tree", "back"]), 0, &[], "and back");
    // Files that are right are left alone, and --json tells what was done.
    let run = home.pump(&["copy", "--json", "-uT", "--ticket-file", "ticket", "tree", &at("copy")]);
    expect(&run, 0, &[], "an update");
    let report = run.report();
    assert_eq!((report["event"].as_str(), report["files"].as_u64()), (Some("report"), Some(0)), "{run:?}");
    serving.signal("TERM");
    assert_eq!(serving.status(), 0);
}

#[test]
fn without_a_ticket_nothing_is_said_and_it_is_never_shown() {
    let home = home();
    noise_file(&home, "file", 10, 1);
    let serving = Serving::new(&home, &[]);
    let target = serving.at("x");
    expect(&home.pump(&["copy", "file", &target]), 2, &["PUMP_TICKET", "--ticket-file"], "none");
    expect(&home.pump(&["copy", "--ticket-file", "missing", "file", &target]), 2, &["missing"], "no file");
    let word = std::fs::read_to_string(home.path("ticket")).expect("it is there");
    let wrong = format!("{}0", word.trim());
    let run = home.pump_with(("PUMP_TICKET", &wrong), &["copy", "file", &target]);
    expect(&run, 2, &["in PUMP_TICKET", "no ticket"], "one letter more");
    assert!(!run.err.contains(&word[10..40]), "{run:?}");
    let run = home.pump_with(("PUMP_TICKET", word.trim()), &["copy", "file", &target]);
    expect(&run, 0, &[], "the right one");
    assert!(!format!("{run:?}").contains(&word[10..40]));
}

#[test]
fn rates_and_sockets_are_as_asked_or_refused_at_once() {
    let home = home();
    noise_file(&home, "file", 1_000_000, 1);
    let serving =
        Serving::new(&home, &["--bwlimit", "100MiB", "--congestion", "reno", "--max-sessions", "1"]);
    let target = format!("pump://{}/x", serving.address);
    let copy = ["copy", "--json", "--ticket-file", "ticket", "file", &target];
    let run = home.pump(&[&copy[..], &["--bwlimit", "50MB", "--congestion", "reno"]].concat());
    expect(&run, 0, &[], "what every kernel has");
    let report = schema::checked(&run.out).pop().expect("a report");
    assert!(report["network"]["connections"].as_u64() > Some(0), "{report}");
    assert!(report["cpu_far"]["user_ns"].is_u64() && report["limited_detail"]["of_ns"].is_u64(), "{report}");
    for (flag, value, part) in [
        ("--congestion", "no-such-one", "available: "),
        ("--socket-buffer", "1GiB", "sysctl -w net.core."),
        ("--socket-buffer", "1KiB", "64KiB to 1GiB"),
        ("--bwlimit", "4bit", "rate limit of 0"),
    ] {
        let refused = format!("{target}-refused");
        let run = home.pump(&["copy", "--ticket-file", "ticket", flag, value, "file", &refused]);
        expect(&run, 2, &[part], &format!("{flag} {value}"));
        let run = home.pump(&["serve", "served", "--ticket-file", "other", flag, value]);
        expect(&run, 2, &[part], &format!("serve {flag} {value}"));
    }
    assert!(!home.path("served/x-refused").exists());
}

/// A client that set no limit, or a higher one, gets no advice about its own.
#[test]
fn a_limit_of_the_server_is_named_as_the_servers() {
    let home = home();
    noise_file(&home, "served/from", 4_000_000, 1);
    let serving = Serving::new(&home, &["--bwlimit", "2MB"]);
    let (there, to) = (serving.at("from"), serving.at("to"));
    for (flags, from, to, said) in [
        (&[][..], "served/from", &*to, "Bottleneck: the rate limit of the server, "),
        (&[], &there, "back", "Bottleneck: the rate limit of the server, "),
        (&["--bwlimit=40MB"], "served/from", &to, "Raise --bwlimit of \"pump serve\" there."),
        (&["--bwlimit=3MB"], "served/from", &to, "Raise --bwlimit of \"pump serve\" there."),
        (&["--bwlimit=3MB"], &there, "back", "Raise --bwlimit of \"pump serve\" there."),
        (&["--bwlimit=1MB"], "served/from", &to, "Throttled by --bwlimit."),
        (&["--bwlimit=1MB"], &there, "back", "Throttled by --bwlimit."),
    ] {
        let copy = [&["copy", "--ticket-file", "ticket"], flags, &[from, to]].concat();
        expect(&home.pump(&copy), 0, &[said], &format!("{copy:?}"));
    }
}

#[test]
fn a_server_for_one_session_ends_with_it() {
    let home = home();
    noise_file(&home, "file", 10, 1);
    let mut serving = Serving::new(&home, &["--once", "--write-only"]);
    let target = serving.at("x");
    expect(&home.pump(&["copy", "--ticket-file", "ticket", "file", &target]), 0, &[], "the one");
    assert_eq!(serving.status(), 0);
    let run = home.pump(&["copy", "--retry-for", "0s", "--ticket-file", "ticket", "file", &target]);
    expect(&run, 10, &["onnection refused"], "nobody is there");
}

/// Nobody can begin a session any more, and whoever waits for its end would wait for ever.
#[test]
fn a_server_for_one_session_ends_when_its_ticket_expires_unused() {
    let home = home();
    let run = home.pump(&["serve", "--once", "--expires", "100ms", "served"]);
    expect(&run, 1, &["the ticket has expired and was not used"], "nobody called");
    // Used in time: that is the one session.
    let mut serving = Serving::new(&home, &["--once", "--expires", "60s"]);
    noise_file(&home, "file", 10, 1);
    expect(&home.pump(&["copy", "--ticket-file", "ticket", "file", &serving.at("x")]), 0, &[], "in time");
    assert_eq!(serving.status(), 0);
}

/// A caller that is too late learns why.
#[test]
fn a_server_says_that_its_ticket_has_expired_and_refuses_with_the_reason() {
    let home = home();
    noise_file(&home, "file", 10, 1);
    let mut command = home.command(&["serve", "--expires", "100ms", "served", "--ticket-file", "ticket"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pump was built");
    let err = child.stderr.take().expect("a pipe");
    let serving = Serving::of(child);
    let lines = std::io::BufRead::lines(std::io::BufReader::new(err)).map(|line| line.expect("text"));
    let words = "the ticket has expired: sessions that began go on";
    assert!({ lines }.any(|line| line.contains(words)), "a line says so");
    let run = home.pump(&["copy", "--ticket-file", "ticket", "file", &serving.at("x")]);
    expect(&run, 5, &["the ticket has expired"], "too late");
}

/// As on one host: before the walk has met all, a percentage is shown of all that there is and is wanted.
#[test]
fn what_a_server_has_is_counted_ahead() {
    let home = home();
    for number in 0..3000 {
        let folder = format!("served/tree/{}", number / 100);
        std::fs::create_dir_all(home.path(&folder)).expect("room");
        std::fs::write(home.path(format!("{folder}/{number}")), [7; 1000]).expect("room");
    }
    let serving = Serving::new(&home, &[]);
    let all = ["copy", "--json", "--bwlimit=700kB", "--ticket-file", "ticket"];
    for (rules, files) in
        [(["--progress=always", "--exclude=/0"], Some(2900)), (["--progress=never", "--exclude=/0"], None)]
    {
        let target = format!("copy of {}", rules[0]);
        let places = [serving.at("tree/"), target];
        let run = home.pump(&[&all[..], &rules, &places.each_ref().map(String::as_str)].concat());
        expect(&run, 0, &[], "pulled");
        let is_early = |event: &serde_json::Value| {
            let of = |name: &str| event[name].as_u64();
            of("files") < Some(2000) && !event["percent"].is_null() && of("files_total") == files
        };
        assert_eq!(run.events().iter().any(is_early), files.is_some(), "{rules:?}: {}", run.out);
    }
}

#[test]
fn places_that_cannot_be_reached_are_usage_errors() {
    let home = home();
    noise_file(&home, "file", 10, 1);
    std::fs::write(home.path("t"), format!("pump1-{}\n", "0".repeat(128))).expect("room");
    for (source, target, part) in [
        ("pump://a:1/x", "pump://b:1/x", "both places are on other hosts"),
        ("-", "pump://127.0.0.1:1/x", ""),
    ] {
        let run = home.pump(&["copy", "--retry-for", "0s", "--ticket-file", "t", source, target]);
        assert_ne!(run.status, 0, "{run:?}");
        assert!(run.err.contains(part) && !run.err.contains("panicked"), "{run:?}");
    }
}

#[test]
fn pipes_lead_to_another_host_and_back() {
    let home = home();
    let content = noise_file(&home, "file", 2_500_001, 3);
    let serving = Serving::new(&home, &[]);
    let at = |path: &str| serving.at(path);
    let mut sending = home.command(&["copy", "--ticket-file", "ticket", "-", &at("sent")]);
    let sent = sending.stdin(std::fs::File::open(home.path("file")).expect("it is there")).status();
    assert_eq!(sent.expect("pump was built").code(), Some(0));
    has_content(&home.path("served/sent"), &content, "from standard input");
    let mut fetching = home.command(&["copy", "-q", "--ticket-file", "ticket", &at("sent"), "-"]);
    let fetched = fetching.stderr(Stdio::piped()).output().expect("pump was built");
    assert_eq!((fetched.status.code(), fetched.stderr.len()), (Some(0), 0));
    assert!(fetched.stdout == content, "to standard output");
    // What has no name needs one there.
    let run = home.pump(&["copy", "--ticket-file", "ticket", "-", &at("")]);
    expect(&run, 2, &["has no name of its own"], "a stream into a folder");
}

#[test]
fn the_lab_measures_the_way_without_disks() {
    let home = home();
    for words in [&[][..], &["--insecure"], &["--insecure=unhashed"], &["--insecure=bare"]] {
        let mut all = vec!["serve", "null:3MiB", "--ticket-file", "ticket"];
        all.extend(words);
        let serving = Serving::start(home.command(&all));
        let at = serving.at("");
        for places in [["null:5MiB", &at], [&at, "null:"]] {
            let mut copy = vec!["copy", "--ticket-file", "ticket"];
            copy.extend(words);
            copy.extend(places);
            expect(&home.pump(&copy), 0, &["MiB in "], &format!("{copy:?}"));
        }
    }
}

/// Statement S12: a receive returns what has come, which is less than a block that the socket cannot hold.
#[test]
fn the_kernel_or_the_pump_puts_blocks_together() {
    let home = home();
    let serving = Serving::start(home.command(&["serve", "null:64MiB", "--insecure=bare"]));
    let at = serving.at("");
    let mean_part_bytes = |who: &str| {
        let tuned = ["--request-size=8MiB", "--socket-buffer=128KiB", "--assemble", who];
        let words = [&["copy", "--json", "--insecure=bare", &at, "null:"][..], &tuned].concat();
        let run = home.pump(&words);
        expect(&run, 0, &[], who);
        let report = schema::checked(&run.out).pop().expect("a report");
        report["network"]["mean_part_bytes"].as_u64().expect("a number")
    };
    let (kernel, pump) = (mean_part_bytes("kernel"), mean_part_bytes("pump"));
    assert!(pump < 4 << 20 && 2 * pump < kernel, "kernel {kernel}, pump {pump}");
}

#[test]
fn what_lies_on_another_host_is_compared_from_here() {
    let home = home();
    small_tree(&home, "tree");
    noise_file(&home, "large", 3_000_001, 1);
    let serving = Serving::new(&home, &[]);
    let at = |path: &str| format!("pump://{}/{path}", serving.address);
    for (source, target) in [("tree", "copy"), ("large", "file")] {
        let run = home.pump(&["copy", "-q", "--ticket-file", "ticket", source, &at(target)]);
        expect(&run, 0, &[], source);
        for places in [[source, &at(target)], [&at(target), source]] {
            let mut verify = vec!["verify", "--ticket-file", "ticket"];
            verify.extend(places);
            expect(&home.pump(&verify), 0, &[], &format!("{places:?}"));
        }
    }
    let mut content = std::fs::read(home.path("large")).expect("it is there");
    content[2_000_000] ^= 1;
    std::fs::write(home.path("large"), content).expect("room");
    let run = home.pump(&["verify", "--content-only", "--ticket-file", "ticket", "large", &at("file")]);
    expect(&run, 1, &[], "one byte differs");
    assert!(run.out.contains("at byte 2000000"), "{run:?}");
    std::fs::remove_file(home.path("tree/link")).expect("it is there");
    let run = home.pump(&["verify", "--ticket-file", "ticket", "tree", &at("copy")]);
    expect(&run, 1, &[], "a name is missing");
    let run = home.pump(&["verify", "--ticket-file", "ticket", "tree", &at("nothing")]);
    expect(&run, 2, &["No such file"], "nothing is there");
    for places in [["-", &at("file")], [&at("file"), "-"]] {
        let run = home.pump(&[&["verify", "--ticket-file", "ticket"], &places[..]].concat());
        expect(&run, 2, &["then compare '-' with the copy"], &format!("{places:?}"));
    }
}

#[test]
fn a_list_that_is_too_long_for_another_host_is_a_usage_error() {
    let home = home();
    small_tree(&home, "tree");
    let names: String = (0..100_000).map(|number| format!("sub/name-{number}\n")).collect();
    std::fs::write(home.path("list"), names).expect("room");
    let serving = Serving::new(&home, &[]);
    let target = serving.at("copy");
    let run = home.pump(&["copy", "--ticket-file", "ticket", "--files-from", "list", "tree", &target]);
    expect(&run, 2, &["too long to be sent", "copy in parts"], "a long list");
}

#[test]
fn a_path_with_dots_below_a_served_folder_is_served() {
    let home = Home::new();
    make_folder(&home, "served");
    make_folder(&home, "served/below");
    home.file("served/a", 10);
    let serving = Serving::new(&home, &[]);
    for path in ["./a", "below/../a", ".//a", "./below/./../a"] {
        let at = serving.at(path);
        let back = home.pump(&["copy", "--ticket-file", "ticket", &at, "back"]);
        expect(&back, 0, &[], path);
        let words = ["copy", "--ticket-file", "ticket", "back", &at];
        expect(&home.pump(&words), 0, &[], path);
        expect(&home.pump(&["verify", "--ticket-file", "ticket", &at, "back"]), 0, &[], path);
    }
    let out = home.pump(&["copy", "--ticket-file", "ticket", &serving.at("below/../../ticket"), "out"]);
    expect(&out, 5, &["leads out of the served folder"], "above it");
}
