//! `pump copy --tune`, by the real binary: it searches, says what it tried, remembers it, and copies.

use crate::support::schema;
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, make_folder, noise_file};
use serde_json::Value;

/// The event of the search, checked against the schema.
fn tuned(home: &Home, words: &[&str]) -> Value {
    let state = home.path("state").to_string_lossy().into_owned();
    let run = home.pump_with(("PUMP_STATE_DIR", &state), &[&["copy", "--json"], words].concat());
    expect(&run, 0, &[], &format!("{words:?}"));
    let mut events = schema::checked(&run.out);
    let at =
        events.iter().position(|event| event["event"] == "tuned").unwrap_or_else(|| panic!("{}", run.out));
    events.swap_remove(at)
}

#[test]
fn what_is_found_is_told_and_remembered() {
    let home = Home::new();
    let content = noise_file(&home, "source", 20_000_000, 1);
    let first = tuned(&home, &["--tune", "source", "new"]);
    assert!(
        first["remembered"].is_null() && first["tried"].as_array().is_some_and(|it| !it.is_empty()),
        "{first}"
    );
    has_content(&home.path("new"), &content, "the copy");
    // Where the disk has a name.
    if home.path("state/tuned.jsonl").exists() {
        let second = tuned(&home, &["--tune", "source", "new"]);
        assert!(second["remembered"].is_string(), "{second}");
        assert_eq!(second["chosen"], first["chosen"]);
        assert!(tuned(&home, &["--tune=again", "source", "new"])["remembered"].is_null());
        what_was_found_is_for_files_that_are_there(&home);
    }
    let small = tuned(&home, &["--tune", "--memory", "2MiB", "source", "new"]);
    let number = |name: &str| small["chosen"][name].as_u64().expect("a number");
    let memory = number("lanes") * (number("source_depth") + number("sink_depth")) * number("request_bytes");
    assert!(memory <= 2 << 20, "{small}");
    assert_eq!(std::fs::read_dir(home.path("")).expect("it is there").count(), 3, "source, copy, state");
}

/// In a home where something was found.
fn what_was_found_is_for_files_that_are_there(home: &Home) {
    let state = home.path("state").to_string_lossy().into_owned();
    let run =
        |words: &[&str]| home.pump_with(("PUMP_STATE_DIR", &state), &[&["copy", "--tune"], words].concat());
    make_folder(home, "folder");
    noise_file(home, "folder/file", 100_000, 2);
    for (words, status) in [(&["folder", "other"][..], 0), (&["no-such-file", "new"], 1)] {
        let run = run(words);
        expect(&run, status, &["cannot tune"], &format!("{words:?}"));
        assert!(!run.err.contains("tuned before"), "{words:?}: {}", run.err);
    }
    assert!(home.path("other/file").exists() && !home.path("other/folder").exists(), "copied once");
    // What others wrote into the file is neither used nor shown as it stands.
    let path = home.path("state/tuned.jsonl");
    let good = std::fs::read_to_string(&path).expect("it was written");
    let last = good.lines().last().expect("a line");
    let hostile = last.replace("\"time\":\"", "\"time\":\"\\u001b[31m");
    for (what, line, said) in [
        ("no lanes", last.replacen("\"lanes\":", "\"lanes\":0", 1), "damaged, and left out"),
        ("a colour", hostile, "\\u{1b}[31m"),
    ] {
        std::fs::write(&path, format!("{good}{line}\n")).expect("room");
        expect(&run(&["source", "new"]), 0, &["tuned before", said], what);
    }
    ["folder", "other"]
        .iter()
        .for_each(|name| std::fs::remove_dir_all(home.path(name)).expect("it is there"));
}

#[test]
fn a_copy_to_another_host_is_tuned() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "source", 9_000_000, 1);
    let serving = Serving::new(&home, &[]);
    let found = tuned(&home, &["--tune", "--ticket-file", "ticket", "source", &serving.at("copy")]);
    assert!(found["chosen"]["lanes"].as_u64().is_some_and(|lanes| lanes >= 1), "{found}");
    has_content(&home.path("served/copy"), &content, "the copy");
}

#[test]
fn what_cannot_be_tuned_is_copied_all_the_same() {
    let home = Home::new();
    noise_file(&home, "source", 100, 1);
    make_folder(&home, "folder");
    for (words, status, said) in [
        (&["--tune", "-R", "source", "new"][..], 2, "-R"),
        (&["--tune", "folder", "other"], 0, "cannot tune"),
        (&["--tune", "source", "/dev/null"], 0, "cannot tune"),
        (&["--tune", "no-such-file", "new"], 1, "no-such-file"),
        (&["--tune", "--memory", "1KiB", "source", "new"], 2, "256KiB or more"),
        (&["--tune=often", "source", "new"], 2, "never, once, again"),
    ] {
        let run = home.pump(&[&["copy"], words].concat());
        expect(&run, status, &[said], &format!("{words:?}"));
    }
}
