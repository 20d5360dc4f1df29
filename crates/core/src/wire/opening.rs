//! The first line of a far end that was started over ssh: version, address, and the ticket of one session.
//!
//! Login scripts print what they like before it, so the line is looked for behind its first word, not expected first.
//! Fields are separated by spaces: version of the protocol, version of the program, ticket, address or `-`. Later
//! versions may put more behind them.
//!
//! Must not know: processes, what is in a ticket.

use super::VERSION;

/// What the line begins with.
const MAGIC: &str = "pump-far-end: ";
/// What may stand before the line.
pub const NOISE_BYTES_MAX: usize = 64 << 10;
/// Bytes of the longest line.
const LINE_BYTES_MAX: usize = 4 << 10;

/// What the far end says of itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Opening {
    /// The ticket's word.
    pub ticket: String,
    /// `address:port`, where it listens as well.
    pub address: Option<String>,
}

impl std::fmt::Debug for Opening {
    /// Secrets do not get into logs.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Opening(… {:?})", self.address)
    }
}

impl Opening {
    /// The line, said by a program of this version.
    pub fn line(&self, program: &str) -> String {
        let address = self.address.as_deref().unwrap_or("-");
        format!("{MAGIC}{}.{} {program} {} {address}\n", VERSION.0, VERSION.1, self.ticket)
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundOpening {
    /// A far end that speaks our version.
    Opening(Opening),
    /// One of another version: of the protocol, of the program.
    OtherVersion(String, String),
    /// So much came before any line of ours that none is going to.
    Noise,
}

/// Looks for the line in what comes.
#[derive(Debug, Default)]
pub struct Search {
    bytes: Vec<u8>,
    /// Nothing before stands at the beginning of a line of ours.
    from: usize,
}

impl Search {
    /// More bytes came.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What there is to say by now.
    pub fn poll(&mut self) -> Option<FoundOpening> {
        while let Some(at) = find(&self.bytes[self.from..], MAGIC.as_bytes()) {
            let start = self.from + at + MAGIC.len();
            let end = find(&self.bytes[start..], b"\n");
            let found = match end {
                None if self.bytes.len() - start < LINE_BYTES_MAX => break,
                Some(end) if end < LINE_BYTES_MAX => read(&self.bytes[start..start + end]),
                _ => None,
            };
            self.from = start;
            if let Some(found) = found {
                self.bytes.drain(..start + end.unwrap_or(0) + 1);
                return Some(found);
            }
        }
        (self.bytes.len() > NOISE_BYTES_MAX).then_some(FoundOpening::Noise)
    }

    /// What was found nothing in; behind a line that was found, what follows it.
    pub fn rest(&self) -> &[u8] {
        &self.bytes
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn read(line: &[u8]) -> Option<FoundOpening> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = line.trim_end_matches('\r').split(' ');
    let (version, program) = (fields.next()?, fields.next()?);
    let (first, second) = version.split_once('.')?;
    let (first, _): (u16, u16) = (first.parse().ok()?, second.parse().ok()?);
    if first != VERSION.0 {
        let is_plain = program.bytes().all(|byte| byte.is_ascii_graphic());
        return is_plain.then(|| FoundOpening::OtherVersion(version.into(), program.into()));
    }
    let (ticket, address) = (fields.next()?.to_owned(), fields.next()?);
    let address = (address != "-").then(|| address.to_owned());
    Some(FoundOpening::Opening(Opening { ticket, address }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(address: Option<&str>) -> Opening {
        Opening { ticket: "pump1-abc".into(), address: address.map(str::to_owned) }
    }

    #[test]
    fn the_line_is_found_behind_noise_however_it_is_cut() {
        for (noise, address) in [
            ("", None),
            ("Welcome!\n", Some("127.0.0.1:1")),
            ("no end of line", Some("[::1]:65535")),
            ("pump-far-end: is what I echo\npump-far-end: \n", None),
            ("pump-far-end: 1.0", Some("10.0.0.1:9")),
        ] {
            let expected = opening(address);
            let said = format!("{noise}{}rest", expected.line("1.2.3"));
            for piece in [1, 3, 17, said.len()] {
                let (mut search, mut found) = (Search::default(), None);
                for bytes in said.as_bytes().chunks(piece) {
                    search.handle_bytes(bytes);
                    found = found.or_else(|| search.poll());
                }
                assert_eq!(
                    found,
                    Some(FoundOpening::Opening(expected.clone())),
                    "{noise:?} in pieces of {piece}"
                );
                assert_eq!(search.rest(), b"rest");
            }
        }
        assert!(!format!("{:?}", opening(None)).contains("abc"), "the ticket is not shown");
    }

    #[test]
    fn other_versions_and_endless_noise_are_told() {
        for (said, expected) in [
            ("pump-far-end: 2.0 9.9.9\n".to_owned(), Some(("2.0", "9.9.9"))),
            ("pump-far-end: 2.0 \u{1b}[2J x\n".to_owned(), None),
            ("pump-far-end: 2 9.9.9\n".to_owned(), None),
            ("pump-far-end: x\n".to_owned(), None),
        ] {
            let mut search = Search::default();
            search.handle_bytes(said.as_bytes());
            let expected = expected.map(|(one, other)| FoundOpening::OtherVersion(one.into(), other.into()));
            assert_eq!(search.poll(), expected, "{said:?}");
        }
        let mut search = Search::default();
        search.handle_bytes(&vec![b'x'; NOISE_BYTES_MAX]);
        assert_eq!(search.poll(), None);
        search.handle_bytes(b"y");
        assert_eq!(search.poll(), Some(FoundOpening::Noise));
        // A line of ours that never ends is noise, too.
        let mut search = Search::default();
        search.handle_bytes(MAGIC.repeat(NOISE_BYTES_MAX / MAGIC.len() + 1).as_bytes());
        assert_eq!(search.poll(), Some(FoundOpening::Noise));
    }
}
