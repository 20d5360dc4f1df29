//! Servers that lie: what they give is the file, or it is refused, and never a part or another form of it.

use std::sync::Arc;

use crate::server::{Answer, Request, WebServer};
use crate::support::{Home, expect, has_content, leftovers, noise};

const BYTES: usize = 3000;

/// What comes of a server that answers like this: the file, or a status with these words.
type Mode = (&'static str, fn(&Request, &[u8]) -> Answer, Result<(), (i32, &'static str)>);

fn tagged(answer: Answer) -> Answer {
    answer.with("ETag", "\"one\"")
}

/// The part that was asked for, with another status or headers of its own.
fn told(request: &Request, content: &[u8], range: &str) -> Answer {
    match request.range() {
        Some(_) => tagged(Answer { status: 206, ..Answer::whole(content) }).with("Content-Range", range),
        None => tagged(Answer::whole(content)),
    }
}

/// All of it, with a length that is told like this.
fn of_length(content: &[u8], length: &str) -> Answer {
    tagged(Answer::whole(content)).with("Content-Length", length).unframed()
}

/// The first `bytes` of what was asked for.
fn shorter(request: &Request, content: &[u8], bytes: usize) -> Answer {
    let Some((first, end)) = request.range() else { return tagged(Answer::whole(content)) };
    let end = end.min(content.len()).min(first + bytes);
    let range = format!("bytes {first}-{}/{}", end - 1, content.len());
    let body = content[first..end].to_vec();
    tagged(Answer { status: 206, body, ..Answer::default() }).with("Content-Range", &range)
}

const MODES: &[Mode] = &[
    ("a part with status 200", |r, all| Answer { status: 200, ..shorter(r, all, 1000) }, Ok(())),
    ("shorter parts", |r, all| shorter(r, all, 1000), Ok(())),
    (
        "a redirect to a port that is none",
        |_, _| Answer::status(302).with("Location", "http://127.0.0.1:8080x/f"),
        Err((1, "no port behind its host")),
    ),
    (
        "a part where all was requested",
        |_, all| tagged(Answer::whole(&all[..10])).with("Content-Range", "bytes 0-9/*"),
        Err((1, "where all was requested")),
    ),
    (
        "another part",
        |r, all| told(r, &all[1..], "bytes 1-2999/3000"),
        Err((1, "from byte 1 on where 0 was requested")),
    ),
    (
        "several parts",
        |r, all| told(r, all, "bytes 0-2999/3000").with("Content-Type", "multipart/byteranges; boundary=x"),
        Err((1, "several parts")),
    ),
    (
        "a part without a place",
        |_, all| Answer { status: 206, ..Answer::whole(all) },
        Err((1, "does not say which")),
    ),
    (
        "a total that is too small",
        |r, all| told(r, all, "bytes 0-2999/1000"),
        Err((1, "'bytes 0-2999/1000'")),
    ),
    (
        "a total that is too large",
        |r, all| match r.range() {
            Some((0, _)) => told(r, all, "bytes 0-2999/5000"),
            _ => tagged(Answer::part(r, all)),
        },
        Ok(()),
    ),
    (
        "a total that no file has",
        |r, all| told(r, all, "bytes 0-2999/9223372036854775808"),
        Err((1, "invalid Content-Range")),
    ),
    ("an unknown total", |r, all| told(r, all, "bytes 0-2999/*"), Ok(())),
    (
        "a range of another length",
        |r, all| told(r, &all[..2999], "bytes 0-2999/3000"),
        Err((1, "not that of the part")),
    ),
    (
        "a range that goes on",
        |r, all| Answer { is_chunked: true, ..told(r, &[all, b"x"].concat(), "bytes 0-2999/3000") },
        Err((1, "more bytes than it announced")),
    ),
    ("416 for each range", |r, all| r.range().map_or(Answer::whole(all), |_| Answer::status(416)), Ok(())),
    (
        "416 as of an empty file",
        |r, all| match r.range() {
            Some(_) => Answer::status(416).with("Content-Range", "bytes */0"),
            None => Answer::whole(all),
        },
        Ok(()),
    ),
    (
        "a length beside chunks",
        |_, all| Answer { is_chunked: true, ..Answer::whole(all).with("Content-Length", "10") },
        Ok(()),
    ),
    ("several lengths of one value", |_, all| of_length(all, "3000, 3000"), Ok(())),
    ("several lengths", |_, all| of_length(all, "3000, 2999"), Err((1, "answer"))),
    (
        "several lengths in lines",
        |_, all| of_length(all, "2999").with("Content-Length", "3000"),
        Err((1, "answer")),
    ),
    ("2^63 bytes", |_, all| of_length(all, "9223372036854775808"), Err((1, "9223372036854775808"))),
    ("2^64 bytes", |_, all| of_length(all, "18446744073709551616"), Err((1, "answer"))),
    ("a length below nothing", |_, all| of_length(all, "-1"), Err((1, "answer"))),
    ("a length with a sign", |_, all| of_length(all, "+3000"), Err((1, "answer"))),
    ("a length with a blank", |_, all| of_length(all, "3 000"), Err((1, "answer"))),
    ("no length", |_, all| Answer::whole(all).unframed(), Ok(())),
    (
        "no length, and a reset",
        |_, all| Answer::whole(&all[..2000]).unframed().reset(),
        Err((10, "connection was lost")),
    ),
    (
        "chunks that end early",
        |_, all| Answer { is_chunked: true, cut_at: Some(2000), ..Answer::whole(all) },
        Err((10, "lost")),
    ),
    ("a length that is too long", |_, all| of_length(all, "3001"), Err((10, "lost"))),
    (
        "another encoding",
        |_, all| Answer::whole(all).with("Content-Encoding", "gzip"),
        Err((1, "encoded (gzip)")),
    ),
    ("no encoding", |_, all| Answer::whole(all).with("Content-Encoding", "identity"), Ok(())),
    ("another transfer", |_, all| Answer::whole(all).with("Transfer-Encoding", "gzip"), Err((1, "(gzip)"))),
    (
        "a wait without an end",
        |_, _| Answer::status(503).with("Retry-After", "18446744073709551615"),
        Err((10, "503")),
    ),
];

#[test]
fn a_server_that_lies_gives_the_file_or_is_refused() {
    let content = Arc::new(noise(BYTES, 7));
    let hash = {
        let home = Home::new();
        std::fs::write(home.path("whole"), &*content).expect("room");
        home.pump(&["hash", "whole"]).out[..64].to_string()
    };
    for &(name, answer, wanted) in MODES {
        let (home, of) = (Home::new(), Arc::clone(&content));
        std::fs::write(home.path("whole"), &*content).expect("room");
        let server = WebServer::new(move |request, _| answer(request, &of));
        let url = server.url("x");
        let (status, words) = wanted.map_or_else(|(status, words)| (status, vec![words]), |()| (0, vec![]));
        let copied = home.pump(&["copy", "--retry-for=1s", &url, "to"]);
        expect(&copied, status, &words, name);
        let (printed, hashed, compared) = (
            home.pump(&["copy", "--retry-for=1s", &url, "-"]),
            home.pump(&["hash", &url]),
            home.pump(&["verify", "--content-only", &url, "whole"]),
        );
        match wanted {
            Ok(()) => {
                has_content(&home.path("to"), &content, name);
                expect(&hashed, 0, &[], name);
                assert!(hashed.out.starts_with(&hash), "{name}: {hashed:?}");
            }
            Err(_) => {
                assert_eq!(home.names(), ["whole"], "{name}");
                assert!(hashed.status != 0 && !hashed.out.contains(&hash), "{name}: {hashed:?}");
            }
        }
        assert_eq!(printed.status, status, "{name}: {}", printed.err);
        assert_eq!(compared.status == 0, wanted.is_ok(), "{name}: {compared:?}");
        assert_eq!(leftovers(&home), [""; 0], "{name}");
    }
}
