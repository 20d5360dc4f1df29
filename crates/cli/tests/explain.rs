//! `pump explain`, by the real binary: it copies as `pump copy` does, says why it was as fast as it was, and leaves
//! nothing else behind.

mod support;

use serde_json::Value;
use support::schema;
use support::serving::Serving;
use support::{Home, as_ordinary_user, expect, has_content, make_folder, noise_file, set_mode};

/// The report of an explanation, checked against the schema.
fn explained(home: &Home, words: &[&str], status: i32) -> Value {
    let run = home.pump(&[&["explain", "--json"], words].concat());
    expect(&run, status, &[], &format!("{words:?}"));
    schema::checked(&run.out).pop().expect("a report")
}

fn parts(report: &Value) -> Vec<&str> {
    let parts = report["parts"].as_array().expect("parts");
    parts.iter().filter_map(|part| part["name"].as_str()).collect()
}

#[test]
fn a_copy_is_made_and_explained() {
    let home = Home::new();
    let content = noise_file(&home, "source", 5_000_000, 1);
    make_folder(&home, "folder");
    for (words, target, rate) in [
        (&["source", "new"][..], "new", None),
        (&["source", "folder"], "folder/source", None),
        (&["--bwlimit", "50MB/s", "source", "new"], "new", Some("rate_limit")),
    ] {
        let report = explained(&home, words, 0);
        // One device serves both ends where there is a device; else they share the machine.
        let joint = if report["shared_device"] == true { "together" } else { "chain" };
        let names: Vec<&str> = ["pump", "source", "sink", joint].into_iter().chain(rate).collect();
        assert_eq!(parts(&report), names, "{words:?}: {report}");
        has_content(&home.path(target), &content, "the copy");
        for field in ["predicted_bytes_per_second", "observed_bytes_per_second", "observed_ns_per_byte"] {
            assert!(
                report[field].as_f64().is_some_and(|figure| figure > 0.0),
                "{words:?}: {field}: {report}"
            );
        }
        assert!(report["predicted_ns_per_byte"].is_f64(), "{report}");
        is_stored(&report);
        assert!(report["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{report}");
        std::fs::remove_file(home.path(target)).expect("it is there");
    }
    let left: Vec<_> = std::fs::read_dir(home.path("folder")).expect("it is there").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The prediction lies in its interval, was made from rounds, and is what its text says; the digest is that text's.
fn is_stored(report: &Value) {
    let text = report["prediction_text"].as_str().expect("a text");
    assert_eq!(report["prediction_digest"], blake3::hash(text.as_bytes()).to_hex().as_str(), "{text}");
    for name in ["predicted_bytes_per_second", "predicted_ns_per_byte"] {
        let figure = |name: &str| report[name].as_f64().expect("a figure");
        let (low, high) = (figure(&format!("{name}_low")), figure(&format!("{name}_high")));
        assert!((low..=high).contains(&figure(name)), "{name}: {report}");
        let stored = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        let stored: f64 = stored.and_then(|word| word.parse().ok()).expect("a number");
        // The parser of JSON may be off by one in the last digit.
        assert!((stored / figure(name) - 1.0).abs() < 1e-12, "{name}: {report}, {text}");
    }
    let rounds = text.lines().filter(|line| line.starts_with("round ")).count() as u64;
    assert!(report["rounds"] == rounds && rounds >= 3, "{report}");
}

/// What was just written is in the page cache, and no device serves that end.
#[test]
fn a_source_in_the_page_cache_is_called_one() {
    let home = Home::new();
    noise_file(&home, "source", 5_000_000, 1);
    let run = home.pump(&["explain", "source", "new"]);
    expect(
        &run,
        0,
        &["the source alone, from the page cache: ", "the source (from the page cache) "],
        "cached",
    );
    for device in ["the device that serves both ends", "One device serves both ends"] {
        assert!(!format!("{run:?}").contains(device), "{run:?}");
    }
    let report = explained(&home, &["source", "other"], 0);
    assert_eq!(parts(&report), ["pump", "source", "sink", "chain"], "{report}");
    assert_eq!(report["parts"][1]["cached"], true, "{report}");
}

/// Slices of the source alone read what the copy reads: 4 MB of 400.
#[test]
fn holes_are_in_no_speed() {
    let home = Home::new();
    let data = noise_file(&home, "holed", 4_000_000, 1);
    let file = std::fs::File::options().write(true).open(home.path("holed")).expect("it was made");
    file.set_len(400_000_000).expect("a hole");
    let run = home.pump(&["explain", "holed", "new"]);
    expect(&run, 0, &["99 % of the source are holes, which are not read"], "holed");
    let report = explained(&home, &["holed", "other"], 0);
    let (part, rounds) = (&report["parts"][1], report["rounds"].as_u64().expect("rounds"));
    assert_eq!(part["name"], "source", "{report}");
    let moved = part["bytes"].as_u64().expect("bytes");
    assert!((1..=rounds * (data.len() as u64 + 4096)).contains(&moved), "{report}");
}

/// The line before the copy has the digest that the report has after it.
#[test]
fn the_prediction_is_told_before_the_copy_with_its_digest() {
    let home = Home::new();
    noise_file(&home, "source", 3_000_000, 1);
    let run = home.pump(&["explain", "--json", "source", "new"]);
    let report = schema::checked(&run.out).pop().expect("a report");
    let digest = &report["prediction_digest"].as_str().expect("a digest")[..16];
    let line = run.err.lines().find(|line| line.starts_with("pump: predicted: ")).expect("it is printed");
    assert!(line.contains("(90 %: ") && line.ends_with(&format!("(digest {digest})")), "{line}");
}

/// 24 MB in some milliseconds: it is copied again until it is long enough, and nothing of that is left.
#[test]
fn a_copy_that_is_too_short_is_repeated() {
    let home = Home::new();
    let content = noise_file(&home, "source", 24_000_000, 1);
    let report = explained(&home, &["source", "new"], 0);
    has_content(&home.path("new"), &content, "the copy");
    let times = report["copied_times"].as_u64().expect("it is short");
    let all = report["copied_ns"].as_u64().expect("a time");
    let [elapsed, lanes] = ["elapsed_ns", "lanes"].map(|name| report[name].as_u64().expect("a figure"));
    assert!(times > 1 && all > elapsed, "{report}");
    let of_ns = report["limited_detail"]["of_ns"].as_u64().expect("a time");
    assert!(of_ns <= elapsed * lanes, "one report is of one copy: {report}");
    let said = report["explanation"].as_str().expect("words");
    assert!(said.contains(&format!("it was copied {times} times in ")), "{said}");
    let mut names: Vec<_> = std::fs::read_dir(home.path("")).expect("it is there").flatten().collect();
    names.retain(|entry| entry.metadata().is_ok_and(|meta| meta.len() == 24_000_000));
    assert_eq!(names.len(), 2, "the source and the copy: {names:?}");
    make_folder(&home, "folder");
    noise_file(&home, "folder/file", 200_000, 1);
    let report = explained(&home, &["folder", "tree"], 0);
    assert_eq!(
        (&report["copied_times"], &report["not_repeated"]),
        (&1.into(), &"a folder is not repeated".into())
    );
}

#[test]
fn what_cannot_be_measured_alone_is_left_out() {
    let home = Home::new();
    noise_file(&home, "source", 100_000, 1);
    for (words, names) in [
        (["source", "null:"], &["pump", "source"][..]),
        (["null:3MiB", "new"], &["pump", "sink"]),
        (["null:3MiB", "null:"], &["pump"]),
    ] {
        let report = explained(&home, &words, 0);
        assert_eq!(parts(&report)[..names.len()], *names, "{words:?}: {report}");
        assert_eq!(report["predicted_bytes_per_second"].is_null(), names.len() == 1, "{words:?}: {report}");
        assert_eq!(report["error_percent"].is_null(), names.len() == 1, "{words:?}");
    }
}

/// Nothing has no speed: nothing is measured, predicted or advised.
#[test]
fn a_copy_of_nothing_is_said_to_be_one() {
    let home = Home::new();
    std::fs::write(home.path("empty"), b"").expect("room");
    for words in [["empty", "one"], ["null:0B", "other"], ["null:0B", "null:"]] {
        let report = explained(&home, &words, 0);
        assert_eq!(parts(&report), [""; 0], "{words:?}: {report}");
        assert!(report["prediction_text"].is_null(), "{words:?}: {report}");
        assert_eq!(report["unmeasured"][0], "nothing was measured: the copy moves nothing", "{words:?}");
        assert_eq!(report["not_repeated"], "it moved nothing", "{words:?}");
        let said = report["explanation"].as_str().expect("words");
        assert!(said.starts_with("The copy moved no bytes"), "{words:?}: {said}");
        let run = home.pump(&["explain", words[0], words[1]]);
        expect(&run, 0, &["This copy moved no bytes; explain the copy of a file"], "words");
    }
}

#[test]
fn a_folder_is_copied_and_what_is_not_known_of_it_is_said() {
    let home = Home::new();
    make_folder(&home, "folder");
    let content = noise_file(&home, "folder/file", 200_000, 1);
    let report = explained(&home, &["folder", "new"], 0);
    has_content(&home.path("new/file"), &content, "the copy");
    let unmeasured = report["unmeasured"].as_array().expect("a list");
    assert_eq!((parts(&report), unmeasured.len()), (vec!["pump"], 2), "{report}");
    assert!(report["predicted_bytes_per_second"].is_null(), "{report}");
}

#[test]
fn both_ways_between_two_hosts_are_explained() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "source", 3_000_000, 1);
    let serving = Serving::new(&home, &[]);
    let there = serving.at("copy");
    for (words, target) in [
        (["--ticket-file", "ticket", "source", &there], "served/copy"),
        (["--ticket-file", "ticket", &there, "back"], "back"),
    ] {
        let report = explained(&home, &words, 0);
        assert_eq!(parts(&report), ["pump", "source", "network", "sink", "chain"], "{words:?}: {report}");
        assert_eq!(report["unmeasured"].as_array().map(Vec::len), Some(0), "{report}");
        has_content(&home.path(target), &content, "the copy");
    }
    assert_eq!(
        std::fs::read_dir(home.path("served")).expect("it is there").count(),
        1,
        "nothing else is left"
    );
}

#[test]
fn people_get_a_paragraph() {
    let home = Home::new();
    noise_file(&home, "source", 2_000_000, 1);
    let run = home.pump(&["explain", "--bwlimit=400kB", "source", "new"]);
    let said = [
        "The copy ran at ",
        "limited by --bwlimit. Predicted ",
        "Each part alone: the source ",
        "predicted: ",
    ];
    expect(&run, 0, &said, "words");
    assert_eq!(run.out.lines().count(), 1, "one paragraph on standard output: {}", run.out);
    assert!(run.out.ends_with(".\n"), "a line ends: {:?}", run.out);
    assert!(run.err.contains("the pump itself alone: ") && run.err.contains(" ns a request"), "{}", run.err);
    let short = home.pump(&["explain", "-q", "null:1KiB", "new"]);
    expect(&short, 0, &["This copy took ", "too short to tell what limits it"], "quiet");
    assert!(!short.out.contains("baselines"), "{short:?}");
}

#[test]
fn a_copy_that_fails_fails_as_a_copy() {
    let home = Home::new();
    noise_file(&home, "source", 100_000, 1);
    make_folder(&home, "folder");
    for (words, status, said) in [
        (&["no-such-file", "new"][..], 1, "no-such-file"),
        (&["source", "no/such/folder"], 1, "no/such"),
        (&["source", "source"], 2, "same file"),
        (&["source"], 2, "DST"),
        (&["source", "-"], 2, "standard output"),
        (&["folder", "null:"], 2, "folder"),
        (&["source", "pump://127.0.0.1:1/x"], 2, "PUMP_TICKET"),
    ] {
        let run = home.pump(&[&["explain"], words].concat());
        expect(&run, status, &[said], &format!("{words:?}"));
    }
    assert!(!home.path("new").exists());
}

/// Nothing is measured, nothing is written, and the problem and the status are the copy's.
#[test]
fn of_a_copy_that_is_refused_nothing_is_measured() {
    let home = Home::new();
    noise_file(&home, "source", 3_000_000, 1);
    make_folder(&home, "folder");
    for words in [
        &["source", "source"][..],
        &["source", "folder", "new"],
        &["source", "no/such/folder"],
        &["source", "source/below"],
        &["null:", "new"],
        &["folder", "folder/below"],
        &["folder", "null:"],
        &["no-such-file", "new"],
    ] {
        let problems = |verb: &str| {
            let run = home.pump(&[&[verb, "--json"], words].concat());
            let mut events = schema::checked(&run.out);
            let report = events.pop().expect("a report");
            events.retain(|event| event["event"] == "problem");
            (run.status, events, report)
        };
        let (status, copied, _) = problems("copy");
        assert!(status != 0 && !copied.is_empty(), "{words:?}: {copied:?}");
        let (explained_status, told, report) = problems("explain");
        assert_eq!((explained_status, told), (status, copied), "{words:?}");
        assert_eq!(parts(&report), Vec::<&str>::new(), "{words:?}: {report}");
        assert_eq!((&report["explanation"], &report["advice"]), (&"".into(), &"".into()), "{words:?}");
        let run = home.pump(&[&["explain"], words].concat());
        assert_eq!((run.status, &*run.out), (status, ""), "{words:?}");
        assert!(!run.err.contains("alone"), "{words:?}: {}", run.err);
    }
    set_mode(&home.path("source"), 0o600);
    if let Some(run) = as_ordinary_user(&home, &["explain", "source", "new"]) {
        expect(&run, if support::is_root() { 1 } else { 0 }, &[], "not permitted");
        assert_eq!(run.out.is_empty(), support::is_root(), "{run:?}");
        assert_eq!(run.err.contains("alone"), !support::is_root(), "{run:?}");
    }
}

#[test]
fn what_is_asked_for_already_is_no_advice() {
    let home = Home::new();
    noise_file(&home, "source", 2_000_000, 1);
    make_folder(&home, "folder");
    for number in 0..40 {
        noise_file(&home, &format!("folder/{number}"), 2_000, number);
    }
    for (words, flag) in [
        (&["--sync=none", "source", "new"][..], "--sync=none"),
        (&["--direct=always", "source", "second"], "--direct=always"),
        (&["folder", "third"], "--direct=always"),
        (&["--bwlimit", "20MB", "source", "fourth"], "--bwlimit"),
    ] {
        // Not every file system has direct I/O.
        let run = home.pump(&[&["explain", "--json"], words].concat());
        let report = schema::checked(&run.out).pop().expect("a report");
        assert_ne!(report["advice_flag"], flag, "{words:?}: {report}");
        let is_untried = report["advice_flag"].is_string() && report["advice_gain"].is_null();
        let advice = report["advice"].as_str().expect("words");
        assert_eq!(advice.contains("(not tried)"), is_untried, "{words:?}: {report}");
    }
}

#[test]
fn flags_that_would_not_be_heeded_are_refused() {
    let home = Home::new();
    noise_file(&home, "source", 1_000, 1);
    let pid = std::process::id().to_string();
    for (words, said) in [
        (&["--for", "3s", "source", "new"][..], "--for is for a process"),
        (&["--pid", &pid, "--depth", "3", "--sync=none"], "leave --sync and --depth out"),
        (&["--pid", &pid, "--connections", "3"], "leave --connections out"),
        (&["--pid", &pid, "--for", "0s"], "--for 0s"),
        (&["--pid", &pid, "source", "new"], "--pid"),
        (&["-", "-", "folder"], "name '-' once"),
    ] {
        expect(&home.pump(&[&["explain"], words].concat()), 2, &[said], &format!("{words:?}"));
    }
    assert!(!home.path("new").exists());
    // What the environment says is for whatever it is of use to.
    let run = home.pump_with(("PUMP_DEPTH", "3"), &["explain", "--pid", &pid, "--for", "10ms"]);
    expect(&run, 0, &[], "a depth for copies");
}
