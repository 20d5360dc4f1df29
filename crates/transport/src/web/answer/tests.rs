//! Heads of answers, and what they say.

use super::*;
use proptest::prelude::*;
use ureq::http::HeaderValue;

fn headers(lines: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines.split('|').filter_map(|line| line.split_once(':')) {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

fn head(status: u16, headers: &HeaderMap) -> AnswerHead<'_> {
    AnswerHead { status, version: Version::HTTP_11, headers }
}

fn from(at: u64) -> Asked<'static> {
    Asked { at: Some(at), known: None }
}

#[test]
fn a_part_is_the_one_that_was_asked_for() {
    for status in [206, 200] {
        for (told, at, end) in [
            ("bytes 0-9/100", 0, Some(10)),
            ("bytes 90-99/100", 90, Some(100)),
            ("bytes 5-9/*", 5, Some(10)),
            ("Bytes=5-9/100", 5, Some(10)),
            ("bytes 1-9/100", 0, None),
            ("bytes 9-0/100", 9, None),
            ("bytes 0-100/100", 0, None),
            ("bytes 0-18446744073709551615/*", 0, None),
            ("bytes 0-9223372036854775807/*", 0, None),
            ("bytes 0-9/9223372036854775808", 0, None),
            ("bytes 0-9/-1", 0, None),
            ("bytes +0-9/100", 0, None),
            ("bytes 0-9/1 00", 0, None),
            ("bytes */100", 0, None),
            ("bytes0-9/100", 0, None),
            ("items 0-9/100", 0, None),
            ("bytes 0-9/100|content-range:bytes 0-8/100", 0, None),
            ("bytes 0-9/100|content-length:9", 0, None),
            ("bytes 0-9/100|content-length:10", 0, Some(10)),
            ("bytes 0-9/100|content-length:9|transfer-encoding:chunked", 0, Some(10)),
            ("bytes 0-9/100|content-type:multipart/byteranges; boundary=x", 0, None),
            ("", 0, None),
        ] {
            let headers = headers(&format!("content-range:{told}"));
            let part = read(head(status, &headers), from(at)).ok().flatten();
            assert_eq!(part.and_then(|part| part.end), end, "{status} {told}");
        }
    }
    let none = HeaderMap::new();
    assert!(read(head(206, &none), from(0)).is_err(), "which part is not told");
    assert_eq!(read(head(416, &none), from(0)).ok(), Some(None), "no such part");
    let part = headers("content-range:bytes 0-9/100");
    assert!(read(head(200, &part), Asked::default()).is_err(), "a part is not the whole");
    let whole = headers("content-range:bytes 0-99/100");
    assert!(read(head(206, &whole), Asked::default()).is_ok(), "all of it is");
    let unknown = headers("content-range:bytes 0-99/*");
    assert!(read(head(206, &unknown), Asked::default()).is_err(), "more may be behind");
}

#[test]
fn a_body_is_as_long_as_its_head_says_or_refused() {
    for (lines, bytes) in [
        ("", Ok(None)),
        ("content-length:5", Ok(Some(5))),
        ("content-length:0", Ok(Some(0))),
        ("content-length:5|content-length:5", Ok(Some(5))),
        ("content-length:5, 005", Ok(Some(5))),
        ("content-length:9223372036854775807", Ok(Some(BYTES_MAX))),
        ("content-length:5|transfer-encoding:chunked", Ok(None)),
        ("content-length:x|transfer-encoding:Chunked", Ok(None)),
        ("content-length:5|content-length:6", Err(())),
        ("content-length:5, 6", Err(())),
        ("content-length:9223372036854775808", Err(())),
        ("content-length:18446744073709551616", Err(())),
        ("content-length:-1", Err(())),
        ("content-length:+5", Err(())),
        ("content-length:1 0", Err(())),
        ("content-length:0x10", Err(())),
        ("content-length:", Err(())),
        ("content-length:5,", Err(())),
        ("transfer-encoding:gzip, chunked", Err(())),
        ("transfer-encoding:chunked|transfer-encoding:chunked", Err(())),
        ("transfer-encoding:gzip", Err(())),
        ("transfer-encoding:identity", Ok(None)),
        ("transfer-encoding:identity|content-length:5", Ok(Some(5))),
        ("transfer-encoding:identity, gzip", Err(())),
        ("transfer-encoding:", Err(())),
        ("content-encoding:identity|content-length:5", Ok(Some(5))),
        ("content-encoding:|content-length:5", Ok(Some(5))),
        ("content-encoding:aws-chunked|content-length:5", Ok(Some(5))),
        ("content-encoding:UTF-8|content-length:5", Ok(Some(5))),
        ("content-encoding:gzip|content-length:5", Err(())),
        ("content-encoding:identity, br|content-length:5", Err(())),
        ("content-encoding:identity|content-encoding:X-Gzip|content-length:5", Err(())),
    ] {
        let headers = headers(lines);
        let part = read(head(200, &headers), from(0)).map_err(drop);
        let found = part.map(|part| part.expect("all of it").end);
        assert_eq!(found, bytes, "{lines}");
    }
    let headers = headers("content-length:5|transfer-encoding:chunked");
    let old = AnswerHead { version: Version::HTTP_10, ..head(200, &headers) };
    assert!(read(old, from(0)).is_err(), "HTTP/1.0 has no chunks");
}

#[test]
fn what_is_refused_is_named() {
    for (lines, named) in [
        ("content-encoding:gzip", "gzip"),
        ("transfer-encoding:gzip, chunked", "gzip, chunked"),
        ("content-length:9223372036854775808", "9223372036854775808"),
        ("content-range:bytes 0-9/5", "0-9/5"),
    ] {
        match read(head(200, &headers(lines)), from(0)) {
            Err(Failure::Final(fault)) => {
                assert!(fault.words.contains(named) && fault.class == Class::Io, "{fault:?}");
            }
            other => panic!("{lines}: {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn whatever_a_server_says_a_part_begins_where_it_was_asked_and_ends_in_the_file(
        told in prop_oneof![any::<String>(), "bytes [0-9]{1,21}-[0-9]{1,21}/([0-9]{1,21}|\\*)", "[0-9]{1,21}"],
        at in 0..4u64,
        status in prop_oneof![Just(206u16), Just(200), Just(416), any::<u16>()],
    ) {
        let Ok(value) = HeaderValue::from_str(&told) else { return Ok(()) };
        let names = [CONTENT_RANGE, CONTENT_LENGTH, RETRY_AFTER];
        for several in [&names[..], &names[..1], &names[1..]] {
            let headers: HeaderMap = several.iter().map(|name| (name.clone(), value.clone())).collect();
            if let Ok(Some(part)) = read(head(status, &headers), from(at)) {
                prop_assert_eq!(part.at, at);
                prop_assert!(part.end.is_none_or(|end| end <= BYTES_MAX));
                prop_assert!(part.end.zip(part.identity.bytes).is_none_or(|(end, bytes)| end <= bytes));
                prop_assert!(!part.has_ranges || part.end.is_some_and(|end| end > part.at));
            }
        }
    }
}

#[test]
fn another_file_is_told() {
    let whole = headers("etag:\"a\"|content-range:bytes 0-9/100");
    let known = read(head(206, &whole), from(0)).ok().flatten().expect("a part").identity;
    for (status, lines, is_another) in [
        (206, "etag:\"a\"|content-range:bytes 10-19/100", false),
        (206, "etag:\"b\"|content-range:bytes 10-19/100", true),
        (206, "content-range:bytes 10-19/100", true),
        (206, "etag:\"a\"|content-range:bytes 10-19/101", true),
        (200, "etag:\"a\"|content-length:100", true),
        (416, "etag:\"a\"|content-range:bytes */9", true),
    ] {
        let answered = read(head(status, &headers(lines)), Asked { at: Some(10), known: Some(&known) });
        match answered {
            Ok(Some(part)) => assert!(!is_another && part.at == 10, "{lines}"),
            Err(Failure::Another(..)) => assert!(is_another, "{lines}"),
            other => panic!("{lines}: {other:?}"),
        }
    }
}

#[test]
fn refusals_are_of_their_class() {
    for (status, class, passes) in [
        (401, Class::Refused, false),
        (403, Class::Refused, false),
        (404, Class::Missing, false),
        (410, Class::Missing, false),
        (416, Class::Changed, false),
        (429, Class::Lost, true),
        (503, Class::Lost, true),
        (204, Class::Io, false),
        (304, Class::Io, false),
        (418, Class::Io, false),
    ] {
        match read(head(status, &headers("retry-after:7")), Asked::default()) {
            Err(Failure::Final(fault) | Failure::Refused(fault)) => {
                assert_eq!((fault.class, false), (class, passes), "{status}");
            }
            Err(Failure::Passing(fault, after)) => {
                assert_eq!((fault.class, true), (class, passes), "{status}");
                assert_eq!(after, Some(Duration::from_secs(7)));
            }
            other => panic!("{status}: {other:?}"),
        }
    }
}
