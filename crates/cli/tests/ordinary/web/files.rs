//! A file on the web as a source: in parts or in one stream, cut and resumed, another than before, refused.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::server::{Answer, Request, WebServer};
use crate::support::running::{Running, eventually};
use crate::support::told::left;
use crate::support::{Home, Outcome, expect, has_content, leftovers, make_folder, noise, set_mtime};
use rustix::process::Signal;
use serde_json::Value;

const TAG: &str = "\"one\"";
pub const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
pub const MODIFIED_S: i64 = 784_111_777;
/// Parts are of 32 MiB.
pub const PART_BYTES: usize = 32 << 20;

/// As a server of files answers.
fn known(answer: Answer) -> Answer {
    answer.with("ETag", TAG).with("Last-Modified", MODIFIED)
}

fn file_server(content: &Arc<Vec<u8>>) -> WebServer {
    let content = Arc::clone(content);
    WebServer::new(move |request, _| known(Answer::part(request, &content)))
}

pub fn content(bytes: usize) -> Arc<Vec<u8>> {
    Arc::new(noise(bytes, 7))
}

fn report(run: &Outcome) -> Value {
    run.report()
}

#[test]
fn a_file_comes_in_parts_with_its_name_and_its_time() {
    let (home, content) = (Home::new(), content(2 * PART_BYTES + 12_345));
    make_folder(&home, "to");
    let server = file_server(&content);
    expect(&home.pump(&["copy", &server.url("a/b%20c.bin?x=/y#z"), "to"]), 0, &[], "parts");
    has_content(&home.path("to/b c.bin"), &content, "parts");
    assert_eq!(home.path("to/b c.bin").metadata().expect("it is there").mtime(), MODIFIED_S);
    let asked = server.asked();
    let mut starts: Vec<usize> = asked.iter().filter_map(|it| it.range()).map(|(first, _)| first).collect();
    starts.sort_unstable();
    // The last looks whether it is still the file that it was.
    assert_eq!(starts, [0, 0, PART_BYTES, 2 * PART_BYTES], "{asked:?}");
    assert!(asked.iter().all(|it| it.method == "GET" && it.header("accept-encoding") == Some("identity")));
    expect(&home.pump(&["copy", &server.url("x"), "-"]), 0, &[], "to a pipe");
    expect(&home.pump(&["verify", &server.url("x"), "to/b c.bin"]), 0, &[], "compared");
    expect(
        &home.pump(&["copy", "--update", &server.url("b%20c.bin"), "to"]),
        0,
        &["Nothing to do: 1 file up to date."],
        "nothing to do",
    );
    expect(&home.pump(&["copy", "-n", &server.url("b"), "new"]), 0, &["new"], "a dry run");
    assert!(!home.path("new").exists());
}

#[test]
fn small_and_empty_files_come_beside_others() {
    let (home, content) = (Home::new(), content(1000));
    make_folder(&home, "to");
    let (small, empty) = (file_server(&content), file_server(&Arc::default()));
    expect(&home.pump(&["copy", &small.url("small"), &empty.url("empty"), "to"]), 0, &[], "two");
    has_content(&home.path("to/small"), &content, "small");
    has_content(&home.path("to/empty"), &[], "empty");
    assert_eq!(home.path("to/empty").metadata().expect("it is there").mtime(), MODIFIED_S);
}

#[test]
fn what_is_cut_is_requested_again_from_there() {
    let (home, content) = (Home::new(), content(PART_BYTES + (5 << 20)));
    let of = Arc::clone(&content);
    let server = WebServer::new(move |request, before| {
        let part = known(Answer::part(request, &of));
        match before % 3 {
            _ if before > 12 => part,
            0 => Answer { cut_at: Some(3 << 20 | 77), ..part },
            1 => Answer::status(503).with("Retry-After", "0"),
            _ => Answer { cut_at: Some(0), ..part },
        }
    });
    expect(&home.pump(&["copy", "--lanes=2", &server.url("x"), "to"]), 0, &[], "cut");
    has_content(&home.path("to"), &content, "cut");
}

#[test]
fn refusals_have_their_status_and_leave_nothing() {
    for (status, exit, words) in [
        (401, 5, ".netrc"),
        (403, 5, "not permitted"),
        (404, 1, "no such file"),
        (410, 1, "no such file"),
        (416, 24, "no such part"),
        (429, 10, "too many requests"),
        (503, 10, "gave up after 1 s"),
        (418, 1, "does not give the file"),
    ] {
        let home = Home::new();
        make_folder(&home, "to");
        let server = WebServer::new(move |_, _| Answer::status(status));
        let run = home.pump(&["copy", "--retry-for=1s", &server.url("x"), "to"]);
        expect(&run, exit, &[words, &server.url("x"), &status.to_string()], &format!("{status}"));
        assert_eq!(std::fs::read_dir(home.path("to")).expect("it stands").count(), 0, "{status}");
    }
    let home = Home::new();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let run = home.pump(&["copy", &format!("http://{nobody}/x"), "to"]);
    expect(&run, 10, &["connection refused"], "nobody listens");
}

/// Answers as of another file from the `count`th request on.
fn changing(content: &Arc<Vec<u8>>, count: usize, other: Answer) -> WebServer {
    let content = Arc::clone(content);
    WebServer::new(move |request, before| {
        if before < count {
            known(Answer::part(request, &content))
        } else {
            Answer {
                headers: [Answer::part(request, &content).headers, other.headers.clone()].concat(),
                ..Answer::part(request, &content)
            }
        }
    })
}

#[test]
fn another_file_is_never_mixed_with_the_first() {
    let content = content(2 * PART_BYTES + 1000);
    for count in [2, 3] {
        for (name, value) in [("ETag", "\"two\""), ("Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT")] {
            let home = Home::new();
            std::fs::write(home.path("to"), "before").expect("room");
            let server = changing(&content, count, Answer::default().with(name, value));
            let run = home.pump(&["copy", "--lanes=1", &server.url("x"), "to"]);
            expect(&run, 24, &["changed"], &format!("{name} from request {count} on"));
            has_content(&home.path("to"), b"before", name);
            assert_eq!(leftovers(&home), [""; 0], "{name}");
        }
    }
    let (home, of) = (Home::new(), Arc::clone(&content));
    let server = WebServer::new(move |request, before| {
        known(Answer::part(request, &of[..of.len() - usize::from(before > 1)]))
    });
    expect(&home.pump(&["copy", "--lanes=1", &server.url("x"), "to"]), 24, &["length"], "shorter");
    assert_eq!(home.names(), [""; 0]);
    let (home, of) = (Home::new(), Arc::clone(&content));
    let server = WebServer::new(move |request, before| match before {
        0 | 1 => known(Answer::part(request, &of)),
        _ => known(Answer::status(416)),
    });
    expect(&home.pump(&["copy", "--lanes=1", &server.url("x"), "to"]), 24, &["416"], "no part any more");
}

#[test]
fn what_has_no_parts_comes_in_one_stream() {
    let content = content(3 << 20 | 5);
    for row in ["no ranges", "no identity", "no length"] {
        let (home, of) = (Home::new(), Arc::clone(&content));
        let server = WebServer::new(move |request, _| match row {
            "no ranges" => known(Answer::whole(&of)),
            "no identity" => Answer::part(request, &of),
            _ => Answer { is_chunked: true, ..Answer::whole(&of) },
        });
        let run = home.pump(&["copy", &server.url("x"), "to"]);
        let said: &[&str] = if row == "no identity" { &[] } else { &["one stream"] };
        expect(&run, 0, said, row);
        has_content(&home.path("to"), &content, row);
        let (home, of) = (Home::new(), Arc::clone(&content));
        let server = WebServer::new(move |_, _| {
            let is_chunked = row == "no length";
            Answer { is_chunked, cut_at: Some(2 << 20), ..Answer::whole(&of) }
        });
        expect(&home.pump(&["copy", &server.url("x"), "to"]), 10, &["starts over"], row);
        assert_eq!(home.names(), [""; 0], "{row}");
    }
}

#[test]
fn the_same_command_goes_on_with_what_a_killed_one_left() {
    let content = content(3 * PART_BYTES + 777);
    for is_same in [true, false] {
        let (home, of) = (Home::new(), Arc::clone(&content));
        let is_first = Arc::new(AtomicBool::new(true));
        let first = Arc::clone(&is_first);
        let server = WebServer::new(move |request, _| {
            let is_first = first.load(Ordering::Relaxed);
            let part = Answer { rate: is_first.then_some(20 << 20), ..Answer::part(request, &of) };
            part.with("ETag", if is_same || is_first { TAG } else { "\"two\"" })
        });
        let words = ["copy", "--json", "--lanes=1", "--sync=none", &server.url("x"), "to"];
        let running = Running::start(home.command(&words));
        let has_begun = || left(&home.path("")).is_some_and(|left| left.told(false) >= 16 << 20);
        eventually("a part of it", || has_begun() || running.has_ended());
        running.signal(Signal::KILL);
        assert_eq!(running.end().status, 128 + Signal::KILL.as_raw());
        is_first.store(false, Ordering::Relaxed);
        let run = home.pump(&words);
        expect(&run, 0, &[], "the second run");
        has_content(&home.path("to"), &content, "the second run");
        let resumed = report(&run)["bytes_resumed"].as_u64().expect("a number");
        assert_eq!(resumed > 0, is_same, "{resumed}");
        assert_eq!(leftovers(&home), [""; 0]);
    }
}

#[test]
fn a_login_is_for_the_host_that_was_named_alone() {
    let content = content(1000);
    let login = |request: &Request| request.header("authorization").map(str::to_string);
    let of = Arc::clone(&content);
    let other = WebServer::new(move |request, _| known(Answer::part(request, &of)));
    let away = other.url("elsewhere/name");
    let of = Arc::clone(&content);
    let first = WebServer::new(move |request, _| match &request.path[..] {
        "/away" => Answer::status(302).with("Location", &away),
        "/here" => Answer::status(307).with("Location", "/kept"),
        _ if request.header("authorization") != Some("Basic dXNlcjpwYXNz") => Answer::status(401),
        _ => known(Answer::part(request, &of)),
    });
    let home = Home::new();
    make_folder(&home, "to");
    std::fs::write(home.path("netrc"), "machine 127.0.0.1 login user password pass").expect("room");
    for (path, name) in [("plain", "plain"), ("here", "kept"), ("away", "name")] {
        for (variable, value) in [
            ("PUMP_HTTP_AUTHORIZATION", "Basic dXNlcjpwYXNz"),
            ("NETRC", home.path("netrc").to_str().expect("text")),
        ] {
            let run = home.pump_with((variable, value), &["copy", &first.url(path), "to"]);
            expect(&run, 0, &[], &format!("{path} by {variable}"));
            has_content(&home.path("to").join(name), &content, path);
        }
    }
    assert!(other.asked().iter().all(|request| login(request).is_none()));
    let secret = format!("http://user:pass@127.0.0.1:{}/plain", first.port());
    let run = home.pump(&["copy", &secret, "to"]);
    expect(&run, 2, &[".netrc"], "a password in the URL");
    assert!(!run.err.contains("user:pass"), "{run:?}");
}

/// A size and a time decide, whether the server gives parts or not.
#[test]
fn what_stands_there_is_updated_by_size_and_time() {
    let content = content(1000);
    for gives_parts in [true, false] {
        let (home, of) = (Home::new(), Arc::clone(&content));
        let server = WebServer::new(move |request, _| {
            if gives_parts {
                known(Answer::part(request, &of))
            } else {
                Answer::whole(&of).with("Last-Modified", MODIFIED)
            }
        });
        let url = server.url("x");
        let own = noise(1000, 8);
        let stands = |bytes: usize, modified_s: i64| {
            std::fs::write(home.path("to"), &own[..bytes]).expect("room");
            set_mtime(&home.path("to"), modified_s as u64 * 1_000_000_000);
        };
        let (same_s, newer_s, older_s) = (MODIFIED_S, MODIFIED_S + 9, MODIFIED_S - 9);
        for (flags, bytes, modified_s, is_kept) in [
            (&["-u"][..], 10, newer_s, true),
            (&["-u"], 1000, same_s, true),
            (&["-u"], 1000, older_s, false),
            (&["--update=differs"], 1000, same_s, true),
            (&["--update=differs"], 999, newer_s, false),
            (&["--max-size=999B"], 10, older_s, true),
            (&["--min-size=1001B"], 10, older_s, true),
            (&["--max-size=1000B"], 10, older_s, false),
            (&["--ignore-existing"], 10, older_s, true),
            (&["-c"], 1000, newer_s, false),
        ] {
            stands(bytes, modified_s);
            let row = format!("{flags:?}, {bytes} bytes of {modified_s}, parts {gives_parts}");
            expect(&home.pump(&[&["copy"], flags, &[&*url, "to"]].concat()), 0, &[], &row);
            has_content(&home.path("to"), if is_kept { &own[..bytes] } else { &content }, &row);
        }
        expect(&home.pump(&["copy", "-u", &url, "to"]), 0, &["Nothing to do"], "the second run");
    }
}

#[test]
fn a_silent_server_does_not_keep_who_is_interrupted() {
    let (home, content) = (Home::new(), content(3 << 20));
    let of = Arc::clone(&content);
    let server = WebServer::new(move |request, _| Answer {
        silent_at: Some(1 << 20),
        ..known(Answer::part(request, &of))
    });
    let mut running = Running::start(home.command(&["copy", "--progress=always", &server.url("x"), "to"]));
    running.await_progress();
    running.signal(Signal::INT);
    expect(&running.end(), 20, &[], "interrupted");
    assert_eq!(home.names(), [""; 0]);
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    let home = Home::new();
    make_folder(&home, "to");
    std::fs::write(home.path("file"), "x").expect("room");
    let server = file_server(&content(10));
    for (source, target, words) in [
        (server.url(""), "to".to_string(), "no name of its own"),
        (server.url("%2e%2e"), "to".into(), "no name of its own"),
        (server.url(".pump-job"), "to".into(), "no name of its own"),
        ("file".into(), server.url("x"), "never written"),
        ("http://".into(), "to".into(), "no URL"),
        ("https://host/a b".into(), "to".into(), "%20"),
        ("http://127.0.0.1:8080x/f".into(), "to".into(), "no port behind its host"),
        ("http://127.0.0.1:80800/f".into(), "to".into(), "no port behind its host"),
    ] {
        expect(&home.pump(&["copy", &source, &target]), 2, &[words], &format!("{source} {target}"));
    }
    assert_eq!(std::fs::read_dir(home.path("to")).expect("it stands").count(), 0);
    let run = home.pump(&["copy", &server.url("x"), "localhost:x"]);
    expect(&run, 2, &["copy it here first"], "to another host");
    expect(&home.pump(&["copy", &server.url(""), "named"]), 0, &[], "with a name it needs none");
    has_content(&home.path("named"), &content(10), "with a name");
}
