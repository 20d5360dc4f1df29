//! Identity of a file on the web: its length and its validators (RFC 9110 §8.8).
//!
//! Must not know: parts, requests.

use ureq::http::header::{DATE, ETAG, LAST_MODIFIED};
use ureq::http::{HeaderMap, HeaderName};

use super::date;
use super::url::WebUrl;

/// A server's clock and that of its files may differ by less: only a time that lies further back changes with each
/// change of the file (§8.8.2.2).
const CLOCKS_DIFFER_NS: i128 = 60_000_000_000;

/// What an answer told of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) bytes: Option<u64>,
    tag: Option<String>,
    modified: Option<String>,
    /// Whether the answer is that much younger than the file.
    is_old: bool,
}

impl Identity {
    pub(super) fn of(headers: &HeaderMap, bytes: Option<u64>) -> Identity {
        let [tag, modified, dated] = [ETAG, LAST_MODIFIED, DATE].map(|name| text(headers, &name));
        let ns = |text: &Option<String>| date::parse(text.as_deref()?);
        let is_old = ns(&dated)
            .zip(ns(&modified))
            .is_some_and(|(dated, modified)| dated - modified >= CLOCKS_DIFFER_NS);
        Identity { bytes, tag, modified, is_old }
    }

    /// The strong validator, another for each other content: parts that have the same one may be joined, others never.
    pub(super) fn validator(&self) -> Option<&str> {
        match &self.tag {
            Some(tag) => Some(&**tag).filter(|tag| is_strong(tag)),
            None => self.modified.as_deref().filter(|_| self.is_old),
        }
    }

    pub(super) fn modified_ns(&self) -> Option<i128> {
        date::parse(self.modified.as_ref()?)
    }

    /// A number that is another for another file, and for this one when it has changed.
    pub(super) fn number(&self, url: &WebUrl) -> u64 {
        self.digest(&url.to_string())
    }

    /// A number that is another where anything else is told.
    pub(super) fn digest(&self, place: &str) -> u64 {
        let Identity { bytes, tag, modified, .. } = self;
        let words = format!("{place}\n{bytes:?}\n{tag:?}\n{modified:?}");
        let hash = blake3::hash(words.as_bytes());
        u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"))
    }

    /// Words for what is another now, if something is. What is not told any more is another, but for a time beside the
    /// same ETag: a part may come without.
    pub(super) fn differs_from(&self, now: &Identity) -> Option<String> {
        let is_told = |what: &Option<String>| what.is_some();
        match (self.bytes, now.bytes) {
            (Some(was), Some(is)) if was != is => Some(format!("its length was {was} bytes and is {is}")),
            _ if is_told(&self.tag) && !is_told(&now.tag) => Some("it has no ETag any more".into()),
            _ if is_told(&self.tag) && self.tag != now.tag => Some("its ETag is another".into()),
            _ if self.modified == now.modified => None,
            _ if is_told(&self.tag) && !is_told(&now.modified) => None,
            _ if is_told(&self.modified) && !is_told(&now.modified) => Some("it has no time any more".into()),
            // A time that was not told is no other one.
            _ if is_told(&self.modified) => Some("it was modified".into()),
            _ => None,
        }
    }
}

/// §8.8.3: `"…"`; what begins with `W/`, or has no quotes, promises nothing.
fn is_strong(tag: &str) -> bool {
    let inner = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.is_some_and(|inner| !inner.contains('"') && !inner.contains(char::is_whitespace))
}

/// The value of a header, each byte as a letter (of Latin-1); nothing where several differ.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    let is_one = values.all(|other| other == value);
    is_one.then(|| value.as_bytes().trim_ascii().iter().copied().map(char::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const SOON: &str = "Sun, 06 Nov 1994 08:50:36 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:50:37 GMT";

    fn of(tag: &str, modified: &str, dated: &str) -> Identity {
        let pairs = [(ETAG, tag), (LAST_MODIFIED, modified), (DATE, dated)];
        let told = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let headers = told.map(|(name, value)| (name, value.parse().expect("a value"))).collect();
        Identity::of(&headers, Some(100))
    }

    #[test]
    fn only_strong_validators_join_parts() {
        for (tag, modified, dated, validator) in [
            ("\"a\"", "", "", "\"a\""),
            ("\"\"", "", "", "\"\""),
            ("\"a\"", OLD, LATER, "\"a\""),
            ("W/\"a\"", "", "", ""),
            ("w/\"a\"", "", "", ""),
            ("a", "", "", ""),
            ("\"", "", "", ""),
            ("\"a\" \"b\"", "", "", ""),
            // A time beside an ETag that is weak is not for If-Range (§13.1.5).
            ("W/\"a\"", OLD, LATER, ""),
            ("", OLD, LATER, OLD),
            ("", OLD, SOON, ""),
            ("", OLD, "", ""),
            ("", OLD, "soon", ""),
            ("", "old", LATER, ""),
            ("", "", LATER, ""),
        ] {
            let found = of(tag, modified, dated);
            assert_eq!(found.validator().unwrap_or_default(), validator, "{tag} {modified} {dated}");
        }
        let two = [(ETAG, "\"a\""), (ETAG, "\"b\"")].map(|(name, tag)| (name, tag.parse().expect("a value")));
        let mut headers = HeaderMap::new();
        for (name, value) in two {
            headers.append(name, value);
        }
        assert_eq!(Identity::of(&headers, None).validator(), None, "two ETags are none");
    }

    #[test]
    fn what_differs_or_is_not_told_any_more_is_another_file() {
        let url = WebUrl::parse(b"http://host/x").expect("a URL");
        let known = of("\"a\"", OLD, LATER);
        for (tag, modified, is_same) in [
            ("\"a\"", OLD, true),
            ("\"a\"", "", true),
            ("\"b\"", OLD, false),
            ("W/\"a\"", OLD, false),
            ("", OLD, false),
            ("\"a\"", SOON, false),
        ] {
            let now = of(tag, modified, LATER);
            assert_eq!(known.differs_from(&now).is_none(), is_same, "{tag} {modified}");
            assert_eq!(known.number(&url) == now.number(&url), now == known);
        }
        let longer = Identity { bytes: Some(101), ..known.clone() };
        assert!(known.differs_from(&longer).is_some() && known.number(&url) != longer.number(&url));
        assert_eq!(known.differs_from(&Identity { bytes: None, ..known.clone() }), None);
        let by_time = of("", OLD, LATER);
        assert!(by_time.differs_from(&of("", "", LATER)).is_some(), "it is not told any more");
        assert!(by_time.differs_from(&of("", SOON, LATER)).is_some(), "another time");
        // How old it is now is no change.
        assert_eq!(by_time.differs_from(&of("", OLD, SOON)), None);
        assert_eq!(by_time.number(&url), of("", OLD, SOON).number(&url));
    }
}
