//! Servers as they are: informational answers, redirects with raw names, few connections for a client, silence.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::server::{Answer, WebServer};
use crate::support::{Home, expect, has_content, noise, set_mode, set_mtime};

#[test]
fn an_informational_answer_comes_before_the_real_one() {
    let content = noise(3 << 20, 2);
    for before in [
        "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n",
    ] {
        for _ in 0..5 {
            let (home, of) = (Home::new(), content.clone());
            let server = WebServer::new(move |request, _| {
                Answer { before, ..Answer::part(request, &of) }.with("ETag", "\"one\"")
            });
            expect(&home.pump(&["copy", &server.url("x"), "to"]), 0, &[], before);
            has_content(&home.path("to"), &content, before);
        }
    }
}

/// What the server does not tell is not compared: no mode, and without Last-Modified no time.
#[test]
fn a_copy_is_verified_by_what_the_server_tells() {
    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    let content = noise(300_000, 2);
    for (name, time) in [("no time", None), ("a time", Some(OLD))] {
        for has_parts in [true, false] {
            let (home, of) = (Home::new(), content.clone());
            let server = WebServer::new(move |request, _| {
                let answer = if has_parts { Answer::part(request, &of) } else { Answer::whole(&of) };
                let answer = if has_parts { answer.with("ETag", "\"one\"") } else { answer };
                time.into_iter().fold(answer, |answer, time| answer.with("Last-Modified", time))
            });
            let (row, url) = (format!("{name}, parts: {has_parts}"), server.url("x"));
            expect(&home.pump(&["copy", "-q", &url, "to"]), 0, &[], &row);
            set_mode(&home.path("to"), 0o600);
            expect(&home.pump(&["verify", "-q", &url, "to"]), 0, &[], &row);
            expect(&home.pump(&["verify", "-q", "--attributes", &url, "to"]), 0, &[], &row);
            set_mtime(&home.path("to"), 1_000_000_000);
            let differs = time.is_some() && has_parts;
            expect(&home.pump(&["verify", "-q", &url, "to"]), differs.into(), &[], &row);
        }
    }
}

/// Each run opens a URL for itself: what one has opened ends with it.
#[test]
fn the_copy_of_a_url_is_explained() {
    for has_parts in [true, false] {
        let content = noise(3 << 20, 2);
        let (home, of) = (Home::new(), content.clone());
        let server = WebServer::new(move |request, _| {
            if has_parts { Answer::part(request, &of).with("ETag", "\"one\"") } else { Answer::whole(&of) }
        });
        let run = home.pump(&["explain", &server.url("x"), "to"]);
        expect(&run, 0, &["it is on the web, and the copy alone reads it"], "explain");
        has_content(&home.path("to"), &content, "explain");
    }
}

#[test]
fn redirects_are_followed_as_browsers_follow_them() {
    let content = noise(10_000, 2);
    let of = content.clone();
    let server = WebServer::new(move |request, _| {
        let to = |location: &str| Answer::status(302).with("Location", location);
        match request.path.trim_start_matches('/') {
            "space" => to("/the file"),
            "letters" => to("größe?x=|"),
            "login" => to("//user:word@127.0.0.1:1/x"),
            "file" => to("file:///etc/passwd"),
            "circle" => to("/circle"),
            "the%20file" | "gr%C3%B6%C3%9Fe?x=%7C" | "x" => {
                Answer::part(request, &of).with("ETag", "\"one\"")
            }
            count => match count.parse::<u32>().expect("a number") {
                0 => to("./x"),
                count => to(&format!("/{}", count - 1)),
            },
        }
    });
    for path in ["space", "letters", "40"] {
        let home = Home::new();
        expect(&home.pump(&["copy", &server.url(path), "to"]), 0, &[], path);
        has_content(&home.path("to"), &content, path);
    }
    for (path, status, words) in [
        ("file", 1, "'file:///etc/passwd' is no URL of http"),
        ("circle", 1, "more than 50 redirects"),
        ("login", 10, ""),
    ] {
        let run = Home::new().pump(&["copy", "--retry-for=1s", &server.url(path), "to"]);
        expect(&run, status, &[words], path);
        assert!(!run.err.contains("word@"), "{run:?}");
    }
}

/// One connection at a time has an answer; others get this one.
fn narrow(content: Vec<u8>, refusal: Answer) -> WebServer {
    let busy = Mutex::new(Weak::<()>::new());
    WebServer::new(move |request, _| {
        let mut busy = busy.lock().expect("no panic while it is held");
        if busy.strong_count() > 0 {
            return refusal.clone();
        }
        let held = Arc::new(());
        *busy = Arc::downgrade(&held);
        let answer = Answer { held: Some(held), rate: Some(30 << 20), ..Answer::part(request, &content) };
        answer.with("ETag", "\"one\"")
    })
}

#[test]
fn a_server_that_gives_one_connection_gives_the_file() {
    let content = noise(80 << 20, 3);
    for (name, refusal) in [
        ("503", Answer::status(503)),
        ("503 for long", Answer::status(503).with("Retry-After", "120")),
        ("403", Answer::status(403)),
        ("reset", Answer::status(429).unframed()),
    ] {
        let (home, server) = (Home::new(), narrow(content.clone(), refusal));
        let run = home.pump(&["copy", "--lanes=2", "--retry-for=2s", &server.url("x"), "to"]);
        expect(&run, 0, &[], name);
        has_content(&home.path("to"), &content, name);
    }
}

#[test]
fn a_silent_server_is_given_up_when_the_user_says() {
    let content = noise(70 << 20, 3);
    // Bytes that each of the first two bodies has, and whether others have a head.
    for (bytes, has_head) in [(0, false), (0, true), (1 << 20, false), (1 << 20, true)] {
        let (home, of) = (Home::new(), content.clone());
        let server = WebServer::new(move |request, count| {
            if !has_head && (count >= 2 || bytes == 0) {
                std::thread::sleep(Duration::from_secs(600));
            }
            let silent_at = Some(if count < 2 { bytes } else { 0 });
            Answer { silent_at, ..Answer::part(request, &of) }.with("ETag", "\"one\"")
        });
        let begun = Instant::now();
        let words = ["copy", "--peer-timeout=1s", "--retry-for=1s", &server.url("x"), "to"];
        let run = home.pump(&words);
        assert_eq!(run.status, 10, "{bytes} {has_head}: {run:?}");
        // Else it is half a minute for each try.
        assert!(begun.elapsed() < Duration::from_secs(25), "{bytes} {has_head}: {:?}", begun.elapsed());
    }
}
