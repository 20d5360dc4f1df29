//! Parts of a file on the web are joined where they are of one state, and else it comes in one stream; an address that
//! a redirect led to is asked for anew; a time is kept in each of its forms.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::server::{Answer, Request, WebServer};
use crate::support::running::{Running, eventually};
use crate::support::told::left;
use crate::support::{Home, Outcome, expect, has_content, leftovers, make_folder};
use crate::web::files::{MODIFIED as OLD, MODIFIED_S as OLD_S, PART_BYTES, content};
use rustix::process::Signal;

const LATER: &str = "Sun, 06 Nov 1994 08:50:37 GMT";

fn is_one_stream(run: &Outcome) -> bool {
    run.err.contains("one stream")
}

/// Headers that an answer has: of which, which number it is.
type Told = fn(usize) -> Vec<(&'static str, String)>;

fn tag(value: &str) -> Vec<(&'static str, String)> {
    vec![("ETag", value.to_string())]
}

#[test]
fn one_content_under_several_names_comes_whole() {
    let content = content(3 * PART_BYTES + 1000);
    let modes: [(&str, Told, bool); 9] = [
        ("one strong ETag", |_| tag("\"one\""), false),
        ("back ends in turns", |count| tag(&format!("\"b{}\"", count % 2)), true),
        ("back ends by chance", |count| tag(&format!("\"b{}\"", (count * 7 + count / 3) % 5)), true),
        ("a back end that comes later", |count| tag(&format!("\"b{}\"", count / 2 % 2)), false),
        ("a weak ETag", |_| tag("W/\"one\""), true),
        ("weak now and then", |count| tag(if count % 2 == 0 { "\"b\"" } else { "W/\"b\"" }), true),
        ("a time that is old", |_| vec![("Last-Modified", OLD.into()), ("Date", LATER.into())], false),
        ("a time that is young", |_| vec![("Last-Modified", OLD.into()), ("Date", OLD.into())], true),
        ("a time without a clock", |_| vec![("Last-Modified", OLD.into())], true),
    ];
    for (name, told, in_one) in modes {
        let (home, of) = (Home::new(), Arc::clone(&content));
        let server = WebServer::new(move |request, count| {
            let mut part = Answer::part(request, &of);
            part.headers.extend(told(count));
            part
        });
        let run = home.pump(&["copy", "--lanes=2", &server.url("x"), "to"]);
        expect(&run, 0, &[], name);
        has_content(&home.path("to"), &content, name);
        assert_eq!(is_one_stream(&run), in_one, "{name}: {}", run.err);
        let asked = server.asked();
        let conditions: Vec<_> = asked.iter().filter_map(|it| it.header("if-range")).collect();
        assert!(conditions.iter().all(|told| !told.starts_with("W/")), "{name}: {conditions:?}");
        assert!(in_one || !conditions.is_empty(), "{name}: parts are joined on a condition");
    }
}

#[test]
fn a_validator_that_vanishes_is_a_change() {
    let content = content(2 * PART_BYTES + 1000);
    for (name, before, behind) in [
        ("no ETag", tag("\"one\""), vec![]),
        ("a weak one", tag("\"one\""), tag("W/\"one\"")),
        ("no time", vec![("Last-Modified", OLD.to_string()), ("Date", LATER.to_string())], vec![]),
    ] {
        let (home, of) = (Home::new(), Arc::clone(&content));
        let server = WebServer::new(move |request, count| {
            let mut part = Answer::part(request, &of);
            part.headers.extend(if count < 2 { before.clone() } else { behind.clone() });
            part
        });
        expect(&home.pump(&["copy", "--lanes=1", &server.url("x"), "to"]), 24, &["changed"], name);
        assert_eq!(home.names(), [""; 0], "{name}");
    }
}

/// An address that a redirect leads to, and that holds for `holds` requests; then it says `expired`.
fn signing(content: &Arc<Vec<u8>>, holds: usize, expired: u16, rate: Arc<AtomicUsize>) -> WebServer {
    let (content, used) = (Arc::clone(content), AtomicUsize::new(0));
    let made = AtomicUsize::new(0);
    WebServer::new(move |request: &Request, _| match request.path.strip_prefix("/signed/") {
        None => {
            used.store(0, Ordering::SeqCst);
            let number = made.fetch_add(1, Ordering::SeqCst) + 1;
            Answer::status(302).with("Location", &format!("/signed/{number}"))
        }
        Some(number) => {
            let is_last = number.parse() == Ok(made.load(Ordering::SeqCst));
            if is_last && used.fetch_add(1, Ordering::SeqCst) < holds {
                let rate = Some(rate.load(Ordering::SeqCst)).filter(|&rate| rate > 0);
                Answer { rate, ..Answer::part(request, &content) }.with("ETag", "\"one\"")
            } else {
                Answer { body: b"expired".to_vec(), ..Answer::status(expired) }
            }
        }
    })
}

#[test]
fn an_address_that_expires_is_asked_for_anew() {
    let content = content(4 * PART_BYTES + 1000);
    for expired in [403, 410, 404, 400, 200] {
        let home = Home::new();
        let server = signing(&content, 2, expired, Arc::default());
        expect(&home.pump(&["copy", "--lanes=1", &server.url("x"), "to"]), 0, &[], &expired.to_string());
        has_content(&home.path("to"), &content, &expired.to_string());
        let first = server.asked().iter().filter(|request| request.path == "/x").count();
        assert!(first > 1, "{expired}: asked {first} times");
    }
}

#[test]
fn a_cut_copy_goes_on_behind_another_signed_address() {
    let (home, content) = (Home::new(), content(3 * PART_BYTES + 777));
    let rate = Arc::new(AtomicUsize::new(20 << 20));
    let server = signing(&content, 100, 403, Arc::clone(&rate));
    let words = ["copy", "--json", "--lanes=1", "--sync=none", &server.url("x"), "to"];
    let running = Running::start(home.command(&words));
    let has_begun = || left(&home.path("")).is_some_and(|left| left.told(false) >= 16 << 20);
    eventually("a part of it", || has_begun() || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 128 + Signal::KILL.as_raw());
    rate.store(0, Ordering::SeqCst);
    let run = home.pump(&words);
    expect(&run, 0, &[], "the second run");
    has_content(&home.path("to"), &content, "the second run");
    let report = run.report();
    assert!(report["bytes_resumed"].as_u64().is_some_and(|bytes| bytes > 0), "{report}");
    assert_eq!(leftovers(&home), [""; 0]);
}

#[test]
fn a_copy_of_one_stream_is_not_gone_on_with() {
    let (home, content) = (Home::new(), content(3 * PART_BYTES));
    let is_first = Arc::new(AtomicBool::new(true));
    let (of, first) = (Arc::clone(&content), Arc::clone(&is_first));
    let server = WebServer::new(move |request, _| {
        let rate = first.load(Ordering::SeqCst).then_some(20 << 20);
        Answer { rate, ..Answer::part(request, &of) }.with("ETag", "W/\"one\"")
    });
    let url = server.url("x");
    let words = ["copy", "--lanes=1", "--sync=none", "--progress=always", &url, "to"];
    let mut running = Running::start(home.command(&words));
    running.await_progress();
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 128 + Signal::KILL.as_raw());
    is_first.store(false, Ordering::SeqCst);
    let run = home.pump(&["copy", "--json", "--lanes=1", "--sync=none", &url, "to"]);
    expect(&run, 0, &[], "the second run");
    has_content(&home.path("to"), &content, "the second run");
    let report = run.report();
    assert_eq!(report["bytes_resumed"], 0, "{report}");
}

#[test]
fn a_time_is_kept_in_each_form_with_and_without_parts() {
    let content = content(1000);
    let home = Home::new();
    make_folder(&home, "to");
    for (form, is_date) in [
        (OLD, true),
        ("Sunday, 06-Nov-94 08:49:37 GMT", true),
        ("Sun Nov  6 08:49:37 1994", true),
        ("Sun, 31 Feb 1994 08:49:37 GMT", false),
        ("0", false),
    ] {
        for ranges in [true, false] {
            let of = Arc::clone(&content);
            let server = WebServer::new(move |request, _| {
                let answer = if ranges { Answer::part(request, &of) } else { Answer::whole(&of) };
                answer.with("ETag", "\"one\"").with("Last-Modified", form)
            });
            let name = format!("to/{form} {ranges}");
            let begun = std::time::SystemTime::now();
            expect(&home.pump(&["copy", &server.url("x"), &name]), 0, &[], &name);
            let meta = home.path(&name).metadata().expect("it is there");
            if is_date {
                assert_eq!(meta.mtime(), OLD_S, "{name}");
            } else {
                let slack = std::time::Duration::from_secs(60);
                assert!(meta.modified().expect("a time") + slack >= begun, "{name}: it is new");
            }
        }
    }
}
