//! What an answer says: which part of which file comes, or why none.
//!
//! Must not know: connections.

use std::time::Duration;

use datapump_core::problem::Class;
use ureq::http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED, RETRY_AFTER};
use ureq::http::{HeaderMap, HeaderName};

use super::url::WebUrl;
use super::{Failure, WebFault};

/// What tells a file from another, and from itself when it has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) bytes: Option<u64>,
    tag: Option<String>,
    modified: Option<String>,
}

/// Which part comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WebPart {
    pub(super) identity: Identity,
    pub(super) at: u64,
    /// Where it ends, if that was told.
    pub(super) end: Option<u64>,
    /// It is a part, as it was asked for, and not the whole.
    pub(super) has_ranges: bool,
}

/// An answer that is no refusal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WebAnswer {
    Part(WebPart),
    /// The file is empty: it has no part.
    Empty(Identity),
}

impl Identity {
    fn of(headers: &HeaderMap, bytes: Option<u64>) -> Identity {
        Identity { bytes, tag: text(headers, ETAG), modified: text(headers, LAST_MODIFIED) }
    }

    /// Whether the server tells more of it than its length.
    pub(super) fn is_known(&self) -> bool {
        self.tag.is_some() || self.modified.is_some()
    }

    /// RFC 9110 §5.6.7; the older formats are not sent any more.
    pub(super) fn modified_ns(&self) -> Option<i128> {
        let parsed = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(self.modified.as_ref()?);
        parsed.ok().map(jiff::Timestamp::as_nanosecond)
    }

    pub(super) fn number(&self, url: &WebUrl) -> u64 {
        let Identity { bytes, tag, modified } = self;
        let words = format!("{url}\n{bytes:?}\n{tag:?}\n{modified:?}");
        let hash = blake3::hash(words.as_bytes());
        u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"))
    }

    /// Words for what is another now, if something is. A part may come with fewer headers than the whole.
    pub(super) fn differs_from(&self, now: &Identity) -> Option<String> {
        let other = |was: &Option<String>, is: &Option<String>| was.is_some() && is.is_some() && was != is;
        match (self.bytes, now.bytes) {
            (Some(was), Some(is)) if was != is => Some(format!("its length was {was} bytes and is {is}")),
            _ if other(&self.tag, &now.tag) => Some("its ETag is another".into()),
            _ if other(&self.modified, &now.modified) => Some("it was modified".into()),
            _ => None,
        }
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_string())
}

/// What an answer to a request for `at..` says. `known`: which file it was when it was opened.
pub(super) fn read(
    status: u16,
    headers: &HeaderMap,
    at: u64,
    known: Option<&Identity>,
) -> Result<WebAnswer, Failure> {
    let range = || text(headers, CONTENT_RANGE);
    let answered = match status {
        206 => WebAnswer::Part(part(headers, at)?),
        200 => {
            let bytes = text(headers, CONTENT_LENGTH).and_then(|it| it.parse().ok());
            let identity = Identity::of(headers, bytes);
            WebAnswer::Part(WebPart { identity, at: 0, end: bytes, has_ranges: false })
        }
        416 if at == 0 && range().as_deref() == Some("bytes */0") => {
            WebAnswer::Empty(Identity::of(headers, Some(0)))
        }
        _ => return Err(refusal(status, headers)),
    };
    let (WebAnswer::Part(WebPart { identity, .. }) | WebAnswer::Empty(identity)) = &answered;
    match (known.and_then(|known| known.differs_from(identity)), &answered) {
        (Some(words), _) => Err(Failure::Final(changed(&words))),
        (None, WebAnswer::Part(part)) if known.is_some() && part.at != at => Err(Failure::Final(
            WebFault::new(Class::Io, "the server gives no parts of it any more; copy again"),
        )),
        _ => Ok(answered),
    }
}

fn changed(words: &str) -> WebFault {
    WebFault::new(
        Class::Changed,
        format!("changed while it was copied ({words}); copy again when it is quiet"),
    )
}

/// RFC 9110 §14.4: `bytes first-last/length`, the length `*` if the server does not know it.
fn part(headers: &HeaderMap, asked: u64) -> Result<WebPart, Failure> {
    let wrong = |words: String| Failure::Final(WebFault::new(Class::Io, words));
    let told = text(headers, CONTENT_RANGE).unwrap_or_default();
    let parsed = told.strip_prefix("bytes ").and_then(|it| it.split_once('/')).and_then(|(range, length)| {
        let (first, last) = range.trim().split_once('-')?;
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let bytes = match length.trim() {
            "*" => None,
            length => Some(length.parse::<u64>().ok()?),
        };
        let is_right = first <= last && bytes.is_none_or(|bytes| last < bytes);
        is_right.then_some((first, last.checked_add(1)?, bytes))
    });
    match parsed {
        Some((at, end, bytes)) if at == asked => Ok(WebPart {
            identity: Identity::of(headers, bytes),
            at,
            end: Some(end),
            has_ranges: bytes.is_some(),
        }),
        _ => Err(wrong(format!("the server gave another part than byte {asked} on ('{told}')"))),
    }
}

fn refusal(status: u16, headers: &HeaderMap) -> Failure {
    let last = |class, words: &str| {
        Failure::Final(WebFault::new(class, format!("the server said {status}: {words}")))
    };
    let passing = |words: &str| {
        let fault = WebFault::new(Class::Lost, format!("the server said {status}: {words}"));
        let seconds = text(headers, RETRY_AFTER).and_then(|it| it.parse().ok());
        Failure::Passing(fault, seconds.map(Duration::from_secs))
    };
    match status {
        401 | 407 => last(
            Class::Refused,
            "it wants to know who asks; put a login into ~/.netrc or a header's value into PUMP_HTTP_AUTHORIZATION",
        ),
        403 => last(Class::Refused, "not permitted"),
        404 | 410 => last(Class::Missing, "there is no such file"),
        416 => last(Class::Changed, "it has no such part any more; copy again"),
        408 | 425 => passing("it took too long"),
        429 => passing("too many requests"),
        500..=599 => passing("it has a fault of its own, or is overloaded"),
        300..=399 => last(Class::Io, "a redirect to nowhere"),
        _ => last(Class::Io, "it does not give the file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ureq::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_part_is_the_one_that_was_asked_for() {
        for (told, at, end) in [
            ("bytes 0-9/100", 0, Some(10)),
            ("bytes 90-99/100", 90, Some(100)),
            ("bytes 5-9/*", 5, Some(10)),
            ("bytes 1-9/100", 0, None),
            ("bytes 9-0/100", 9, None),
            ("bytes 0-100/100", 0, None),
            ("bytes 0-18446744073709551615/*", 0, None),
            ("bytes */100", 0, None),
            ("items 0-9/100", 0, None),
            ("", 0, None),
        ] {
            let found = read(206, &headers(&[("content-range", told)]), at, None);
            let found = found.ok().map(|answered| match answered {
                WebAnswer::Part(part) => part.end,
                WebAnswer::Empty(_) => panic!("{told}"),
            });
            assert_eq!(found.flatten(), end, "{told}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_a_part_begins_where_it_was_asked_and_ends_in_the_file(
            told in prop_oneof![any::<String>(), "bytes [0-9]{1,21}-[0-9]{1,21}/([0-9]{1,21}|\\*)"],
            at in 0..4u64,
            status in prop_oneof![Just(206u16), Just(200), Just(416), any::<u16>()],
        ) {
            let Ok(value) = HeaderValue::from_str(&told) else { return Ok(()) };
            let pairs = [(CONTENT_RANGE, value.clone()), (CONTENT_LENGTH, value.clone()), (RETRY_AFTER, value)];
            let headers: HeaderMap = pairs.into_iter().collect();
            if let Ok(WebAnswer::Part(part)) = read(status, &headers, at, None) {
                prop_assert_eq!(part.at, at * u64::from(status == 206));
                prop_assert!(part.end.zip(part.identity.bytes).is_none_or(|(end, bytes)| end <= bytes));
                prop_assert!(!part.has_ranges || part.end.is_some_and(|end| end > part.at));
            }
        }
    }

    #[test]
    fn another_file_is_told() {
        let of = |tag: &str, modified: &str, length: u64| {
            let range = format!("bytes 0-9/{length}");
            let all = headers(&[("etag", tag), ("last-modified", modified), ("content-range", &range)]);
            read(206, &all, 0, None).map(|answered| match answered {
                WebAnswer::Part(part) => part.identity,
                WebAnswer::Empty(identity) => identity,
            })
        };
        let known = of("\"a\"", "Sun, 06 Nov 1994 08:49:37 GMT", 100).unwrap();
        assert_eq!(known.modified_ns(), Some(784_111_777_000_000_000));
        assert!(known.is_known() && !Identity::default().is_known());
        for (tag, modified, length, is_same) in [
            ("\"a\"", "Sun, 06 Nov 1994 08:49:37 GMT", 100, true),
            ("\"b\"", "Sun, 06 Nov 1994 08:49:37 GMT", 100, false),
            ("\"a\"", "Sun, 06 Nov 1994 08:49:38 GMT", 100, false),
            ("\"a\"", "Sun, 06 Nov 1994 08:49:37 GMT", 101, false),
        ] {
            let now = of(tag, modified, length).unwrap();
            assert_eq!(known.differs_from(&now).is_none(), is_same, "{tag} {modified} {length}");
            let url = WebUrl::parse(b"http://host/x").unwrap();
            assert_eq!(known.number(&url) == now.number(&url), is_same);
        }
        assert_eq!(known.differs_from(&Identity { bytes: Some(100), ..Identity::default() }), None);
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
            (304, Class::Io, false),
            (418, Class::Io, false),
        ] {
            match read(status, &headers(&[("retry-after", "7")]), 0, None) {
                Err(Failure::Final(fault)) => assert_eq!((fault.class, false), (class, passes), "{status}"),
                Err(Failure::Passing(fault, after)) => {
                    assert_eq!((fault.class, true), (class, passes), "{status}");
                    assert_eq!(after, Some(Duration::from_secs(7)));
                }
                Ok(answered) => panic!("{status}: {answered:?}"),
            }
        }
        let empty = read(416, &headers(&[("content-range", "bytes */0")]), 0, None);
        assert_eq!(empty.ok(), Some(WebAnswer::Empty(Identity { bytes: Some(0), ..Identity::default() })));
    }
}
