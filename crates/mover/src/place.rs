//! A place that a job reads from or writes to, as the user names it.
//!
//! Must not know: whether the place exists, what kind of file it is.

pub mod stripe;
pub mod web;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use datapump_transport::{Host, SshHost, WebError, WebUrl, decoded_zone};

use self::stripe::Stripe;
use self::web::Web;
use crate::units::parse_bytes;

/// What a null source delivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Seeded noise, filled once per slot.
    #[default]
    Noise,
    /// Zeros.
    Zero,
    /// Every block is overwritten before it is handed on, as by a program that makes its data.
    Overwritten,
}

/// One end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A path of this host.
    Path(PathBuf),
    /// Standard input or standard output: `-`.
    Stream,
    /// Nowhere: an endless sink, or a source of `bytes` bytes.
    Null {
        /// Length of the source in bytes; a sink has none.
        bytes: Option<u64>,
        /// What the source delivers.
        fill: Fill,
    },
    /// On another host.
    Remote(Remote),
    /// What a server of HTTP gives; a source only.
    Web(Web),
    /// Files or devices that hold one sequence of bytes in turn, as a descriptor names them.
    Stripe(Stripe),
}

/// A place on another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// How the host is reached.
    pub host: Host,
    /// The path there: below the served folder, or as its shell would take it; empty for that folder itself.
    pub path: PathBuf,
}

/// Why a word does not name a place: a usage error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlaceError(String);

impl Place {
    /// The files of this host that it names: of a stripe its descriptor and all members, as far as that can be read.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Place::Path(path) => vec![path.clone()],
            Place::Stripe(stripe) => stripe.files(),
            Place::Remote(_) | Place::Web(_) | Place::Stream | Place::Null { .. } => Vec::new(),
        }
    }

    /// The name that its copy has in a folder, as far as it is known before it is looked at.
    pub fn name_in_folder(&self) -> Option<OsString> {
        match self {
            Place::Path(path) | Place::Remote(Remote { path, .. }) => {
                path.file_name().map(OsStr::to_os_string)
            }
            Place::Web(web) => web.named(),
            Place::Stripe(_) | Place::Stream | Place::Null { .. } => None,
        }
    }

    /// Reads a place as it stands on a command line. A local path with a colon is written `./a:b`.
    pub fn parse(word: &OsStr) -> Result<Place, PlaceError> {
        let bytes = word.as_bytes();
        match bytes {
            b"" => Err(PlaceError("an empty name is no place".into())),
            b"-" => Ok(Place::Stream),
            b"null:" => Ok(Place::Null { bytes: None, fill: Fill::Noise }),
            _ if bytes.starts_with(b"null:") => parse_null(&word.to_string_lossy()),
            b"stripe:" => {
                Err(PlaceError("stripe: needs the name of its descriptor: stripe:FILE.toml".into()))
            }
            _ if bytes.starts_with(STRIPE) => {
                Ok(Place::Stripe(Stripe::new(OsStr::from_bytes(&bytes[STRIPE.len()..]).into())))
            }
            _ if bytes.starts_with(SCHEME) => parse_served(&bytes[SCHEME.len()..]).map(Place::Remote),
            _ if bytes.starts_with(SSH) => parse_ssh_url(&bytes[SSH.len()..]).map(Place::Remote),
            _ if WebUrl::is_one(bytes) => parse_web(bytes).map(Place::Web),
            _ if scheme(bytes).is_some() => Err(unknown_scheme_error(bytes)),
            _ if is_remote(bytes) => parse_ssh(bytes).map(Place::Remote),
            _ => Ok(Place::Path(PathBuf::from(word))),
        }
    }
}

const SCHEME: &[u8] = b"pump://";
const SSH: &[u8] = b"ssh://";
const STRIPE: &[u8] = b"stripe:";
/// Schemes of other programs for what ssh:// names.
const BY_SSH: [&str; 3] = ["scp", "sftp", "rsync"];

impl Place {
    /// Nowhere.
    pub fn null() -> Place {
        Place::Null { bytes: None, fill: Fill::Noise }
    }

    /// This place as no run has looked at it.
    pub fn unopened(self) -> Place {
        match self {
            Place::Web(web) => Place::Web(web.unopened()),
            place => place,
        }
    }

    /// Whether nobody else is asked for it.
    pub fn is_here(&self) -> bool {
        !matches!(self, Place::Remote(_) | Place::Web(_))
    }

    /// The path on this host.
    pub fn local_path(&self) -> Option<&Path> {
        match self {
            Place::Path(path) => Some(path),
            Place::Remote(_) | Place::Web(_) | Place::Stripe(_) | Place::Stream | Place::Null { .. } => None,
        }
    }

    /// Whether a folder is named as its content, which goes to the target itself.
    pub fn stands_for_content(&self) -> bool {
        self.path().is_some_and(stands_for_content)
    }

    /// The path, here or there.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Place::Path(path) | Place::Remote(Remote { path, .. }) => Some(path),
            Place::Web(web) => web.name(),
            Place::Stripe(_) | Place::Stream | Place::Null { .. } => None,
        }
    }
}

/// Whether a folder is named as its content: with a slash at its end, as for rsync and BSD's cp, or by a dot.
pub fn stands_for_content(path: &Path) -> bool {
    matches!(
        path.as_os_str().as_bytes(),
        b"." | b".." | [.., b'/'] | [.., b'/', b'.'] | [.., b'/', b'.', b'.']
    )
}

/// `host:port/path`: the path is the bytes behind the first slash.
fn parse_served(bytes: &[u8]) -> Result<Remote, PlaceError> {
    let slash = bytes.iter().position(|&byte| byte == b'/').unwrap_or(bytes.len());
    let (address, path) = (&bytes[..slash], bytes.get(slash + 1..).unwrap_or_default());
    let shown = crate::shown(address);
    let address = std::str::from_utf8(address).ok().filter(|address| has_port(address)).ok_or_else(|| {
        PlaceError(format!(
            "'pump://{shown}' has no port: write pump://HOST:PORT/PATH, as `pump serve` prints it"
        ))
    })?;
    Ok(Remote { host: Host::Served(address.into()), path: OsStr::from_bytes(path).into() })
}

fn has_port(address: &str) -> bool {
    let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
    is_plain(address) && port.is_some_and(|(_, port)| is_port(port))
}

/// Names of hosts hold nothing that a terminal would obey.
fn is_plain(host: &str) -> bool {
    host.chars().all(|letter| letter.is_ascii_graphic() || letter.is_alphanumeric())
}

fn parse_web(word: &[u8]) -> Result<Web, PlaceError> {
    let refused = |WebError(words)| PlaceError(crate::shown(words.as_bytes()));
    WebUrl::parse(word).map(Web::new).map_err(refused)
}

/// `[user@]host:path`; the address of a host may stand in brackets.
fn parse_ssh(bytes: &[u8]) -> Result<Remote, PlaceError> {
    let shown = crate::shown(bytes);
    let wrong =
        |why: &str| PlaceError(format!("'{shown}' {why}; a local path with a colon is written ./{shown}"));
    // A bracket behind the first colon belongs to the path.
    let opens = bytes.iter().find(|byte| b":[".contains(byte)) == Some(&b'[');
    let from = bytes.iter().position(|&byte| byte == b']').filter(|_| opens).unwrap_or(0);
    let colon = bytes[from..].iter().position(|&byte| byte == b':').map(|at| at + from);
    let (host, path) = bytes.split_at(colon.ok_or_else(|| wrong("names no host"))?);
    let host = std::str::from_utf8(host).map_err(|_| wrong("names no host"))?;
    let host = without_brackets(host).ok_or_else(|| wrong("names no host"))?;
    if !is_host(&host) {
        return Err(wrong("names no host"));
    }
    let host = SshHost { name: host, port: None };
    Ok(Remote { host: Host::Ssh(host), path: OsStr::from_bytes(&path[1..]).into() })
}

/// What begins with a dash would be an option of ssh, or of what it starts.
fn is_host(host: &str) -> bool {
    let is_option = host.split('@').any(|part| part.is_empty() || part.starts_with('-'));
    !is_option && is_plain(host)
}

/// `[user@]host[:port]/path`, with an address in brackets; a path behind `/~/`, or none, is in the home folder.
fn parse_ssh_url(bytes: &[u8]) -> Result<Remote, PlaceError> {
    let slash = bytes.iter().position(|&byte| byte == b'/').unwrap_or(bytes.len());
    let (address, path) = bytes.split_at(slash);
    let shown = crate::shown(bytes);
    let wrong = || PlaceError(format!("'ssh://{shown}': write ssh://[USER@]HOST[:PORT]/PATH, or /~/PATH"));
    let address = std::str::from_utf8(address).map_err(|_| wrong())?;
    // Colons in brackets are an address's own.
    let colon = address.rfind(':').filter(|&at| !address[at..].contains(']'));
    let (host, port) = match colon {
        Some(at) => (&address[..at], Some(address[at + 1..].parse::<u16>().map_err(|_| wrong())?)),
        None => (address, None),
    };
    let name = without_brackets(host).filter(|host| is_host(host)).ok_or_else(wrong)?;
    if port == Some(0) {
        return Err(wrong());
    }
    let path = path.strip_prefix(b"/~/").unwrap_or(if path == b"/~" { b"" } else { path });
    Ok(Remote { host: Host::Ssh(SshHost { name, port }), path: OsStr::from_bytes(path).into() })
}

/// `user@[address]` as ssh takes it; nothing where brackets stand elsewhere.
fn without_brackets(host: &str) -> Option<String> {
    let host = match (host.find('['), host.strip_suffix(']')) {
        (Some(at), Some(rest)) if at == 0 || host[..at].ends_with('@') => {
            [&host[..at], &*decoded_zone(&rest[at + 1..])].concat()
        }
        _ => host.into(),
    };
    (!host.contains(['[', ']'])).then_some(host)
}

/// `null:SIZE`, perhaps with `,zero` or `,overwritten`.
fn parse_null(word: &str) -> Result<Place, PlaceError> {
    let rest = &word["null:".len()..];
    let (size, fill) = match rest.split_once(',') {
        None => (rest, Fill::Noise),
        Some((size, "zero")) => (size, Fill::Zero),
        Some((size, "overwritten")) => (size, Fill::Overwritten),
        Some(_) => {
            let shown = crate::shown(word.as_bytes());
            return Err(PlaceError(format!(
                "in '{shown}': write null:SIZE, null:SIZE,zero or null:SIZE,overwritten"
            )));
        }
    };
    let refused = |error| PlaceError(crate::shown(format!("in '{word}': {error}").as_bytes()));
    let bytes = parse_bytes(size).map_err(refused)?;
    Ok(Place::Null { bytes: Some(bytes), fill })
}

/// The scheme that a word begins with, as RFC 3986 (3.1) writes it. Without a rule of its own `ftp://h/x` would be asked of
/// a host called `ftp`.
fn scheme(word: &[u8]) -> Option<&str> {
    let at = word.windows(3).position(|three| three == b"://")?;
    let scheme = str::from_utf8(&word[..at]).ok()?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let is_one =
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(is_letter);
    is_one.then_some(scheme)
}

/// The error for a scheme that does not exist, with what to write instead.
fn unknown_scheme_error(word: &[u8]) -> PlaceError {
    let shown = crate::shown(word);
    let (scheme, path) = shown.split_once("://").unwrap_or((&shown, ""));
    PlaceError(match scheme {
        "file" => format!("'{shown}': write the path alone: {path}"),
        _ if BY_SSH.contains(&scheme) => {
            format!("'{shown}': write ssh://[USER@]HOST[:PORT]/PATH, or [USER@]HOST:PATH")
        }
        _ => format!(
            "'{shown}': there is no scheme {scheme}:// (pump://, ssh://, http:// and https:// exist); for a host of that \
             name write {scheme}:/PATH"
        ),
    })
}

/// A colon before the first slash makes a host, as in scp and rsync.
fn is_remote(word: &[u8]) -> bool {
    let first = word.iter().position(|&byte| byte == b':' || byte == b'/');
    first.is_some_and(|at| word[at] == b':')
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Path(path) => out.write_str(&crate::shown(path.as_os_str().as_bytes())),
            Place::Stream => out.write_str("-"),
            Place::Remote(remote) => write!(out, "{remote}"),
            Place::Web(web) => write!(out, "{web}"),
            Place::Stripe(stripe) => write!(out, "{stripe}"),
            Place::Null { bytes: None, .. } => out.write_str("null:"),
            Place::Null { bytes: Some(bytes), fill: Fill::Noise } => write!(out, "null:{bytes}B"),
            Place::Null { bytes: Some(bytes), fill: Fill::Zero } => write!(out, "null:{bytes}B,zero"),
            Place::Null { bytes: Some(bytes), fill: Fill::Overwritten } => {
                write!(out, "null:{bytes}B,overwritten")
            }
        }
    }
}

/// `user@[address]` where the address has colons.
fn in_brackets(host: &str) -> String {
    let at = host.rfind('@').map_or(0, |at| at + 1);
    if host[at..].contains(':') { format!("{}[{}]", &host[..at], &host[at..]) } else { host.into() }
}

impl fmt::Display for Remote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = crate::shown(self.path.as_os_str().as_bytes());
        match &self.host {
            Host::Served(address) => write!(out, "pump://{address}/{path}"),
            Host::Ssh(SshHost { name, port: None }) => write!(out, "{}:{path}", in_brackets(name)),
            Host::Ssh(SshHost { name, port: Some(port) }) => {
                let home = if path.starts_with('/') { "" } else { "/~/" };
                write!(out, "ssh://{}:{port}{home}{path}", in_brackets(name))
            }
            Host::Caller => out.write_str(&path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(word: &str) -> Result<Place, PlaceError> {
        Place::parse(OsStr::new(word))
    }

    #[test]
    fn words_name_places() {
        let null = |bytes, fill| Place::Null { bytes, fill };
        let remote = |host, path: &str| Place::Remote(Remote { host, path: path.into() });
        let ssh_at = |host: &str, port, path| {
            let host = SshHost { name: host.into(), port };
            remote(Host::Ssh(host), path)
        };
        let ssh = |host: &str, path| ssh_at(host, None, path);
        let served = |address: &str, path| remote(Host::Served(address.into()), path);
        for (word, place) in [
            ("a/b", Place::Path("a/b".into())),
            ("-", Place::Stream),
            ("./a:b", Place::Path("./a:b".into())),
            ("/a:b", Place::Path("/a:b".into())),
            ("null:", null(None, Fill::Noise)),
            ("null:10GiB", null(Some(10 << 30), Fill::Noise)),
            ("null:65536B,zero", null(Some(65_536), Fill::Zero)),
            ("null:64KiB,overwritten", null(Some(65_536), Fill::Overwritten)),
            ("host:b", ssh("host", "b")),
            ("user@host:", ssh("user@host", "")),
            ("host:[a]:b", ssh("host", "[a]:b")),
            ("user@[fe80::1]:/b:c", ssh("user@fe80::1", "/b:c")),
            ("ssh://host/b/c", ssh("host", "/b/c")),
            ("ssh://user@host:2222/~/b", ssh_at("user@host", Some(2222), "b")),
            ("ssh://host:22", ssh_at("host", Some(22), "")),
            ("ssh://[::1]:22/~", ssh_at("::1", Some(22), "")),
            ("ssh://user@[fe80::1]/x", ssh("user@fe80::1", "/x")),
            ("./ssh://host", Place::Path("./ssh://host".into())),
            ("stripe:a/b.toml", Place::Stripe(Stripe::new("a/b.toml".into()))),
            ("./stripe:b", Place::Path("./stripe:b".into())),
            ("pump://host:1/x", served("host:1", "x")),
            ("pump://[::1]:65535", served("[::1]:65535", "")),
            ("pump://host:1//%20:y", served("host:1", "/%20:y")),
        ] {
            assert_eq!(parse(word), Ok(place), "{word}");
        }
        for word in [
            "host:b",
            "stripe:/a/b",
            "user@host:",
            "[::1]:/b",
            "ssh://host:2222/b",
            "ssh://user@[::1]:22/~/b",
            "user@[fe80::1%eth0]:b:c",
            "pump://[::1]:65535/x",
        ] {
            assert_eq!(parse(word).map(|place| place.to_string()).as_deref(), Ok(word));
        }
    }

    #[test]
    fn words_that_name_no_place_say_why() {
        for (word, hint) in [
            ("", "empty name"),
            ("null:10G", "write 10GiB"),
            ("null:\t", "in 'null:\\t'"),
            (":b", "names no host"),
            ("-oProxyCommand=x:b", "written ./-oProxyCommand=x:b"),
            ("[-oProxyCommand=x]:b", "names no host"),
            ("user@-oProxyCommand=x:b", "names no host"),
            ("-l@host:b", "names no host"),
            ("@host:b", "names no host"),
            ("user@[::1:b", "names no host"),
            ("a[::1]:b", "names no host"),
            ("[]:b", "names no host"),
            ("stripe:", "stripe:FILE.toml"),
            ("pump://host/x", "no port"),
            ("pump://:1/x", "no port"),
            ("pump://host:0/x", "no port"),
            ("ssh://", "write ssh://[USER@]HOST[:PORT]/PATH"),
            ("ssh://-oProxyCommand=x/b", "write ssh://"),
            ("ssh://host:0/b", "write ssh://"),
            ("scp://user@host:22/b", "write ssh://"),
            ("rsync://host/b", "write ssh://"),
            ("file:///etc/hosts", "write the path alone: /etc/hosts"),
            ("ftp://host/b", "no scheme ftp://"),
            ("s3://bucket/b", "no scheme s3://"),
            ("ssh://host:x/b", "write ssh://"),
            ("ssh://user@/b", "write ssh://"),
            ("http://", "is no URL"),
            ("https://user:secret@host/x", "is refused"),
        ] {
            let error = parse(word).expect_err(word).to_string();
            assert!(error.contains(hint), "{word}: {error}");
        }
    }
}
