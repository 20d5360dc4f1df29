//! `pump lab trend ROWS...`: what each change of build or kernel did to a study, by the rows of its sessions.

use crate::support::schema;
use crate::support::{Home, expect};
use serde_json::Value;

/// Three sessions of each build; each takes a tenth longer than the one before, and one session some per mille more
/// than another.
fn rows(home: &Home, builds: &[&str], sessions: u64) -> String {
    let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/cpu.jsonl");
    let text = std::fs::read_to_string(bench).expect("kept rows");
    let first: Value = serde_json::from_str(text.lines().next().expect("a row")).expect("JSON");
    let mut lines = String::new();
    for (at, build) in (0..).zip(builds) {
        for session in 0..sessions {
            for repeat in 0..2 {
                let mut row = first.clone();
                row["build"] = (*build).into();
                row["session"] = format!("{build}-{session}").into();
                row["time"] = format!("2026-05-{:02}T10:00:00.000Z", 1 + at * 3 + session).into();
                row["repeat"] = repeat.into();
                row["elapsed_ns"] = (1_000_000 * (100 + 10 * at) + 100_000 * session).into();
                lines += &format!("{row}\n");
            }
        }
    }
    let name = format!("{}-{sessions}.jsonl", builds.join("-"));
    std::fs::write(home.path(&name), lines).expect("room");
    name
}

#[test]
fn each_build_is_judged_beside_the_one_before_it() {
    let home = Home::new();
    let name = rows(&home, &["b1", "b2", "b3"], 3);
    let run = home.pump(&["lab", "trend", &name]);
    expect(
        &run,
        0,
        &["cpu, elapsed: each build and kernel", "B b2 on ", "B b3 on ", "slower"],
        "three builds",
    );
    let json = home.pump(&["lab", "trend", "--json", &name]);
    let event = &schema::checked(&json.out)[0];
    assert_eq!((json.status, &event["event"], &event["study"]), (0, &"trend".into(), &"cpu".into()));
    let changes = event["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 2, "{event}");
    for change in changes {
        let overall = &change["comparison"]["overall"];
        assert_eq!(
            (&overall["verdict"], &change["build_changed"]),
            (&"slower".into(), &true.into()),
            "{change}"
        );
    }
}

#[test]
fn without_a_change_that_can_be_judged_the_status_is_1() {
    let home = Home::new();
    let (one, few) = (rows(&home, &["b1"], 3), rows(&home, &["b1", "b2"], 2));
    expect(
        &home.pump(&["lab", "trend", &one]),
        1,
        &["nothing could be judged: all rows are of one build"],
        "one",
    );
    let hints = ["nothing could be judged: not interleaved; one session differs from the next by 0.1 % here"];
    expect(&home.pump(&["lab", "trend", &few]), 1, &hints, "two sessions of each");
    expect(&home.pump(&["lab", "trend", "nothing"]), 1, &["nothing"], "no file");
    let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers-local-file-warm.jsonl");
    expect(
        &home.pump(&["lab", "trend", &one, bench]),
        2,
        &["several studies: cpu, peers-local-file-warm"],
        "two studies",
    );
}
