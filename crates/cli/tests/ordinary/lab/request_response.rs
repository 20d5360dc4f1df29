//! `pump lab request-response`: each answer is timed, sealed or not, one at a time or several, and what cannot be is
//! said.

use serde_json::Value;

use crate::support::serving::Serving;
use crate::support::{Home, expect};

fn request(home: &Home, words: &[&str], place: &str) -> Value {
    let outcome = home.pump(&[&["lab", "request-response", "--json"], words, &[place]].concat());
    assert_eq!(outcome.status, 0, "{outcome:?}");
    serde_json::from_str(outcome.out.lines().next().expect("a line")).expect("JSON")
}

#[test]
fn each_answer_has_its_number_and_time() {
    let home = Home::new();
    let serve = |words: &[&str]| Serving::start(home.command(&[&["serve"], words, &["null:"]].concat()));
    let open = serve(&["--insecure=bare"]);
    let sealed = serve(&["--ticket-file", "ticket"]);
    for (server, way) in [(&open, ["--insecure=bare"].as_slice()), (&sealed, &["--ticket-file", "ticket"])] {
        for (size, depth, idle) in
            [("64", "1", "0s"), ("1000000", "1", "0s"), ("5000", "3", "0s"), ("1", "2", "20ms")]
        {
            let words = ["--answer-size", size, "--depth", depth, "--idle", idle, "--events", "5"];
            let found = request(&home, &[way, &words].concat(), &server.at(""));
            let row = format!("{way:?} {words:?}: {found}");
            let events = found["events"].as_array().expect("events");
            let numbers: Vec<u64> = events.iter().filter_map(|event| event["event"].as_u64()).collect();
            assert_eq!(numbers, [1, 2, 3, 4, 5], "{row}");
            assert!(events.iter().all(|event| event["rounds"].as_u64() >= Some(1)), "{row}");
            assert_eq!(
                found["frame_bytes"].as_u64(),
                size.parse::<u64>().ok().map(|size| size + 56),
                "{row}"
            );
            assert!(
                found["request_bytes"].as_u64() < Some(64),
                "a request takes less than the 64 bytes of the slides: {row}"
            );
            // Two pauses of 20 ms: behind two answers that were requested together.
            let is_paused = idle == "0s" || found["events_per_s"].as_f64() < Some(5.0 / 0.04);
            assert!(is_paused, "{row}");
        }
    }
    let words = home.pump(&["lab", "request-response", "--insecure=bare", "--events", "2", &open.at("")]);
    expect(&words, 0, &["round trips", "closed form of a fresh connection"], "in words");
}

#[test]
fn what_cannot_be_requested_is_said() {
    let home = Home::new();
    for (words, message) in [
        (["--answer-size", "17MiB", "pump://127.0.0.1:9/"], "write 1 to 16MiB"),
        (["--answer-size", "0", "pump://127.0.0.1:9/"], "write 1 to 16MiB"),
        (["--idle", "11m", "pump://127.0.0.1:9/"], "11m"),
        (["--events", "1", "here"], "is no server; write pump://HOST:PORT/"),
    ] {
        let outcome = home.pump(&[&["lab", "request-response", "--insecure=bare"], &words[..]].concat());
        expect(&outcome, 2, &[message], &format!("{words:?}"));
    }
    // A server that wants a ticket.
    let sealed = Serving::start(home.command(&["serve", "--ticket-file", "ticket", "null:"]));
    let open = home.pump(&["lab", "request-response", "--insecure=bare", &sealed.at("")]);
    assert!([5, 10].contains(&open.status), "{open:?}");
}
