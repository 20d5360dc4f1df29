//! A place on the web, as the user names it.
//!
//! Must not know: how it is reached.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use ureq::http::Uri;

use crate::dial::split_zone;

/// Something else follows the host.
const NO_PORT: &str = "has no port behind its host: write ':' and a number from 1 to 65535, or nothing";

/// Whether a port follows the host of a URL, or nothing. Who reads numbers alone takes anything else for nothing,
/// and calls another server.
fn has_true_port(uri: &Uri) -> bool {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let behind_user = authority.rsplit('@').next().unwrap_or_default();
    let behind_host = behind_user.strip_prefix(uri.host().unwrap_or_default()).unwrap_or(behind_user);
    match behind_host.strip_prefix(':') {
        None => behind_host.is_empty(),
        // RFC 3986, section 3.2.3: an empty one is that of the scheme.
        Some("") => true,
        Some(port) => {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
        }
    }
}

/// What a server writes as it is and no URL has: browsers and curl encode it (WHATWG URL, section 1.3).
const NOT_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A URL of http or https, without a user or a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl {
    uri: Uri,
    /// The interface of a link-local address, which no server gets to see (RFC 6874, section 1).
    zone: Option<String>,
}

/// Why a word is no URL that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebError(pub String);

impl fmt::Display for WebUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.zone {
            None => self.uri.fmt(out),
            Some(zone) => {
                let (scheme, address) = (self.uri.scheme_str().unwrap_or_default(), self.host_name());
                let port = self.uri.port().map(|port| format!(":{port}")).unwrap_or_default();
                let path = self.uri.path_and_query().map_or("", |path| path.as_str());
                write!(out, "{scheme}://[{address}%25{zone}]{port}{path}")
            }
        }
    }
}

impl WebUrl {
    /// Whether a word begins as one.
    pub fn is_one(word: &[u8]) -> bool {
        let begins =
            |scheme: &[u8]| word.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
        begins(b"http://") || begins(b"https://")
    }

    /// Reads a URL. Bytes that are no ASCII are percent-encoded, as a URL has none (RFC 3986, section 2).
    ///
    /// A password in it would stand in the list of processes, in histories and logs: it is refused.
    pub fn parse(word: &[u8]) -> Result<WebUrl, WebError> {
        let word = percent_encode(word, &AsciiSet::EMPTY).to_string();
        let error = |words: &str| WebError(format!("'{word}' {words}"));
        let (word, zone) = without_zone(&word);
        let uri: Uri = word.parse().map_err(|why| {
            error(&format!("is no URL ({why}); write a space as %20, and quote it in a shell"))
        })?;
        match uri.authority().map(|authority| authority.as_str()) {
            None | Some("") => Err(error("names no host")),
            Some(authority) if authority.contains('@') => Err(WebError(
                "a URL with a user or a password in it is refused, as others see it: put them into ~/.netrc, or a \
                 header's value into PUMP_HTTP_AUTHORIZATION"
                    .into(),
            )),
            Some(authority) if authority.starts_with(':') => Err(error("names no host")),
            Some(_) if !has_true_port(&uri) => Err(error(NO_PORT)),
            Some(_) => Ok(WebUrl { uri, zone }),
        }
    }

    /// Where a redirect of this one leads (RFC 3986, section 5.2), whatever bytes it has.
    pub(super) fn joined(&self, location: &[u8]) -> Result<WebUrl, WebError> {
        let location = percent_encode(location.trim_ascii(), NOT_IN_URLS).to_string();
        let location = location.split('#').next().unwrap_or_default();
        let scheme = self.uri.scheme_str().unwrap_or("http");
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        let path = |path: &str| {
            let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
            format!("{scheme}://{authority}{}{query}", without_dots(path))
        };
        let url = match location {
            "" => return Ok(self.clone()),
            location if has_scheme(location) && !WebUrl::is_one(location.as_bytes()) => {
                return Err(WebError(format!("'{location}' is no URL of http or https")));
            }
            location if has_scheme(location) => location.to_owned(),
            location if location.starts_with("//") => format!("{scheme}:{location}"),
            location if location.starts_with('/') => path(location),
            location if location.starts_with('?') => path(&format!("{}{location}", self.uri.path())),
            location => {
                let above = self.uri.path().rfind('/').map_or("/", |end| &self.uri.path()[..=end]);
                path(&format!("{above}{location}"))
            }
        };
        let url = WebUrl::parse(without_login(&url).as_bytes())?;
        // Interfaces are this host's: a server knows of none.
        let zone = self.zone.clone().filter(|_| url.host().eq_ignore_ascii_case(self.host()));
        Ok(WebUrl { zone, ..url })
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The address that has a zone, and the zone.
    pub(super) fn zone(&self) -> Option<(&str, &str)> {
        self.zone.as_deref().map(|zone| (self.host_name(), zone))
    }

    fn host_name(&self) -> &str {
        self.host().trim_matches(['[', ']'])
    }

    /// Host, without port.
    pub fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    pub(super) fn is_secret(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// Whether both are at one server: the same scheme, host and port.
    pub(super) fn is_at_same_server(&self, other: &WebUrl) -> bool {
        let port = |url: &WebUrl| url.uri.port_u16().unwrap_or(if url.is_secret() { 443 } else { 80 });
        self.is_secret() == other.is_secret()
            && self.host().eq_ignore_ascii_case(other.host())
            && port(self) == port(other)
    }

    /// The last segment of its path, percent-decoded; nothing if that is no name of a file.
    pub fn file_name(&self) -> Option<OsString> {
        let segment = self.uri.path().rsplit('/').next().unwrap_or_default();
        let name: Vec<u8> = percent_decode_str(segment).collect();
        let is_name =
            !matches!(&name[..], b"" | b"." | b"..") && !name.iter().any(|byte| b"/\0".contains(byte));
        is_name.then(|| OsString::from_vec(name))
    }
}

/// The zone of an address in brackets, and the URL without it.
fn without_zone(url: &str) -> (Cow<'_, str>, Option<String>) {
    let brackets = || {
        let start = url.find("://")? + "://[".len();
        let rest = url.get(start..).filter(|_| url[..start].ends_with('['))?;
        Some((&url[..start], rest.split_once(']')?))
    };
    let Some((before, (host, behind))) = brackets() else { return (url.into(), None) };
    match split_zone(host) {
        (address, Some(zone)) => (format!("{before}{address}]{behind}").into(), Some(zone.into())),
        (_, None) => (url.into(), None),
    }
}

/// RFC 3986, section 3.1: letters, digits and few signs before a colon.
fn has_scheme(location: &str) -> bool {
    let is_scheme = |scheme: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_sign)
    };
    location.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// A login that a server names is not the user's.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// RFC 3986, section 5.2.4.
fn without_dots(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let is_folder = ["/.", "/.."].iter().any(|end| path.ends_with(end));
    let end = if is_folder && !segments.is_empty() { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_leads_where_browsers_go() {
        let from = WebUrl::parse(b"https://host:1/a/b?c").expect("a URL");
        for (location, to) in [
            (&b"http://other/x"[..], "http://other/x"),
            (b"HTTPS://other", "https://other/"),
            (b"//other/x", "https://other/x"),
            (b"/x/y?z#w", "https://host:1/x/y?z"),
            (b"x", "https://host:1/a/x"),
            (b"../x", "https://host:1/x"),
            (b"../../../x", "https://host:1/x"),
            (b"/x/./y/../z/.", "https://host:1/x/z/"),
            (b"/..", "https://host:1/"),
            (b"/x?y=/../z", "https://host:1/x?y=/../z"),
            (b"x:1/y", "file"),
            (b"./x:1", "https://host:1/a/x:1"),
            (b"?x", "https://host:1/a/b?x"),
            (b"", "https://host:1/a/b?c"),
            (b" /a b\t", "https://host:1/a%20b"),
            ("/é".as_bytes(), "https://host:1/%C3%A9"),
            (b"/\xe9{}|%20", "https://host:1/%E9%7B%7D%7C%20"),
            (b"https://user:word@other/x", "https://other/x"),
            (b"https://other/x@y", "https://other/x@y"),
        ] {
            match from.joined(location) {
                Ok(url) => assert_eq!(url.to_string(), to, "{location:?}"),
                Err(_) => assert_eq!("file", to, "{location:?}"),
            }
        }
        for location in
            [&b"file:///etc/passwd"[..], b"ftp://host/x", b"javascript:x", b"http:", b"http:///x", b"//"]
        {
            assert!(from.joined(location).is_err(), "{location:?}");
        }
    }

    #[test]
    fn the_last_segment_of_the_path_is_the_name() {
        for (word, name) in [
            ("http://host/a/b.tar?x=/c#d", Some("b.tar")),
            ("https://host:8443/a%20b", Some("a b")),
            ("HTTP://host/%e2%82%ac", Some("€")),
            ("http://host/€", Some("€")),
            ("http://[::1]:80/x", Some("x")),
            ("http://host", None),
            ("http://host/", None),
            ("http://host/a/", None),
            ("http://host/%2e%2e", None),
            ("http://host/a%2Fb", None),
            ("http://host/a%00b", None),
        ] {
            assert_eq!(
                WebUrl::parse(word.as_bytes()).unwrap().file_name(),
                name.map(OsString::from),
                "{word}"
            );
            assert!(WebUrl::is_one(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn what_is_no_url_says_why() {
        for (word, hint) in [
            ("http://", "URL"),
            ("http:///x", "URL"),
            ("http://:80/x", "no host"),
            ("http://host/a b", "%20"),
            ("http://user:secret@host/x", ".netrc"),
            ("https://user@host/x", "PUMP_HTTP_AUTHORIZATION"),
        ] {
            let WebError(words) = WebUrl::parse(word.as_bytes()).expect_err(word);
            assert!(words.contains(hint) && !words.contains("secret"), "{word}: {words}");
        }
    }

    #[test]
    fn a_port_follows_a_host_or_nothing() {
        for port in ["", ":", ":1", ":080", ":8080", ":65535"] {
            for host in ["host", "127.0.0.1", "[::1]"] {
                let word = format!("http://{host}{port}/x:99999");
                assert!(WebUrl::parse(word.as_bytes()).is_ok(), "{word}");
            }
        }
        for port in [":0", ":65536", ":80800", ":443443", ":8080x", ":x", ":+80", ":80:80", ":-1", ":%38"] {
            for host in ["http://host", "https://127.0.0.1", "http://[::1]"] {
                let word = format!("{host}{port}/x");
                let refused = WebUrl::parse(word.as_bytes());
                assert!(refused.is_err(), "{word}");
            }
        }
        let uri: Uri = "http://user:80@host:80x/".parse().expect("the library takes it");
        assert!(!has_true_port(&uri));
        assert!(has_true_port(&"http://user:x@host:80/".parse().expect("it is one")));
    }

    #[test]
    fn any_bytes_of_a_path_stay_what_they_are() {
        let url = WebUrl::parse(b"http://host/a\xff\xc2\x85").unwrap();
        assert_eq!(url.to_string(), "http://host/a%FF%C2%85");
        assert_eq!(url.file_name(), Some(OsString::from_vec(b"a\xff\xc2\x85".into())));
    }

    #[test]
    fn a_zone_is_this_hosts_and_no_servers() {
        for word in ["http://[fe80::1%25eth0]:80/x?y", "http://[fe80::1%eth0]:80/x?y"] {
            let url = WebUrl::parse(word.as_bytes()).expect(word);
            assert_eq!(url.to_string(), "http://[fe80::1%25eth0]:80/x?y", "{word}");
            assert_eq!((url.host(), url.zone()), ("[fe80::1]", Some(("fe80::1", "eth0"))), "{word}");
            assert_eq!(url.uri().to_string(), "http://[fe80::1]:80/x?y", "{word}");
            for (location, to) in [
                (&b"/z"[..], "http://[fe80::1%25eth0]:80/z"),
                (b"http://[fe80::1]/z", "http://[fe80::1%25eth0]/z"),
                (b"http://[fe80::2%25eth0]/z", "http://[fe80::2]/z"),
                (b"http://host/z", "http://host/z"),
            ] {
                assert_eq!(url.joined(location).expect("a URL").to_string(), to, "{word} {location:?}");
            }
        }
    }

    #[test]
    fn servers_are_told_apart() {
        let url = |word: &str| WebUrl::parse(word.as_bytes()).unwrap();
        for (one, other, same) in [
            ("http://host/a", "http://HOST:80/b", true),
            ("https://host/a", "https://host:443/b", true),
            ("http://host/a", "https://host/a", false),
            ("http://host/a", "http://host:81/a", false),
            ("http://host/a", "http://host.net/a", false),
        ] {
            assert_eq!(url(one).is_at_same_server(&url(other)), same, "{one} {other}");
        }
    }
}
