//! Reads an HTTP answer: which part of which file it holds, or why none.
//!
//! Must not know: connections.

use std::time::Duration;

use datapump_core::problem::{Class, shown};
use ureq::http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING,
};
use ureq::http::{HeaderMap, HeaderName, Version};

use super::identity::Identity;
use super::{Failure, WebFault};

/// No file is longer (its length is a number of 63 bits for the system), and no server tells more in earnest.
const BYTES_MAX: u64 = i64::MAX as u64;

/// Which part comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WebPart {
    pub(super) identity: Identity,
    pub(super) at: u64,
    /// Where it ends, if that was told.
    pub(super) end: Option<u64>,
    /// It is told as a part, and not as the whole.
    pub(super) has_ranges: bool,
}

/// What was requested: from where on, or all; of which file, once it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked<'known> {
    pub(super) at: Option<u64>,
    pub(super) known: Option<&'known Identity>,
}

/// The head of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerHead<'answer> {
    pub(super) status: u16,
    pub(super) version: Version,
    pub(super) headers: &'answer HeaderMap,
}

impl WebPart {
    /// It is all that there is.
    pub(super) fn is_whole(&self) -> bool {
        self.at == 0 && self.end == self.identity.bytes && (self.end.is_some() || !self.has_ranges)
    }
}

/// What an answer says: which part comes, or nothing where there is no such part of a file that is not known yet.
pub(super) fn read(head: AnswerHead<'_>, asked: Asked<'_>) -> Result<Option<WebPart>, Failure> {
    let AnswerHead { status, headers, .. } = head;
    match (status, asked) {
        (200 | 206, _) => {}
        (416, Asked { at: Some(_), known: None }) => return Ok(None),
        (416, Asked { known: Some(_), .. }) => {
            let words = "the server said 416: it has no such part any more; copy again";
            return Err(Failure::Another(0, WebFault::new(Class::Changed, words)));
        }
        _ => return Err(refusal(status, headers)),
    }
    refuse_encoded(headers)?;
    let body_bytes = body_bytes(&head)?;
    let part = match (status, range(headers)?) {
        // A part is one, whichever status it has.
        (_, Some((at, end, bytes))) if body_bytes.is_none_or(|body| body == end - at) => {
            let identity = Identity::of(headers, bytes);
            WebPart { identity, at, end: Some(end), has_ranges: true }
        }
        (_, Some((at, end, _))) => {
            let words = format!("the server's Content-Length is not that of the part from {at} to {end}");
            return Err(wrong(words));
        }
        (206, None) => return Err(wrong("the server sends a part and does not say which")),
        (_, None) => {
            let identity = Identity::of(headers, body_bytes);
            WebPart { identity, at: 0, end: body_bytes, has_ranges: false }
        }
    };
    checked(part, asked).map(Some)
}

/// The part, if it is the one that was requested.
fn checked(part: WebPart, asked: Asked<'_>) -> Result<WebPart, Failure> {
    let another =
        |class, words: String| Failure::Another(part.identity.digest(""), WebFault::new(class, words));
    match (asked.known.and_then(|known| known.differs_from(&part.identity)), asked.at) {
        (Some(words), _) => {
            let words = format!("changed while it was copied ({words}); copy again when it is quiet");
            Err(another(Class::Changed, words))
        }
        (None, None) if !part.is_whole() => Err(wrong("the server sends a part where all was requested")),
        (None, Some(at)) if part.at != at && part.has_ranges => {
            Err(wrong(format!("the server sends a part from byte {} on where {at} was requested", part.at)))
        }
        (None, Some(at)) if part.at != at => {
            let words = "the server gives no parts of it any more; copy again";
            Err(another(Class::Io, words.into()))
        }
        _ => Ok(part),
    }
}

fn wrong(words: impl Into<String>) -> Failure {
    Failure::Final(WebFault::new(Class::Io, words))
}

/// The values of a header that is a list, in all its lines; nothing is empty.
fn values(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let lines = headers.get_all(name).into_iter();
    let values = lines.flat_map(|line| line.as_bytes().split(|&byte| byte == b','));
    values.map(|value| String::from_utf8_lossy(value.trim_ascii()).to_ascii_lowercase()).collect()
}

fn listed(values: &[String]) -> String {
    shown(values.join(", ").as_bytes())
}

/// The copy holds what the file holds: nobody asked for anything else, and its readers do not know.
fn refuse_encoded(headers: &HeaderMap) -> Result<(), Failure> {
    let coded = values(headers, CONTENT_ENCODING);
    // Object stores give back what an upload was framed with, and some servers a character set: bytes are as they are.
    let is_plain = |value: &String| matches!(&value[..], "" | "identity" | "aws-chunked" | "utf-8");
    if coded.iter().all(is_plain) {
        Ok(())
    } else {
        Err(wrong(format!(
            "the server sends it encoded ({}), which was not requested; fetch it with curl --compressed",
            listed(&coded)
        )))
    }
}

/// How many bytes the body has, if its head says so (RFC 9112 §6.3): one that is sent in chunks does not, whatever
/// length stands beside.
fn body_bytes(head: &AnswerHead<'_>) -> Result<Option<u64>, Failure> {
    let coded = values(head.headers, TRANSFER_ENCODING);
    match &coded[..] {
        [] => {}
        [one] if one == "identity" => {}
        [one] if one == "chunked" && head.version != Version::HTTP_10 => return Ok(None),
        _ => {
            let words = format!("the server sends it with an unknown Transfer-Encoding ({})", listed(&coded));
            return Err(wrong(words));
        }
    }
    let told = values(head.headers, CONTENT_LENGTH);
    let mut lengths: Vec<_> = told.iter().map(|told| number(told)).collect();
    lengths.dedup();
    match lengths[..] {
        [] => Ok(None),
        [Some(bytes)] => Ok(Some(bytes)),
        _ => Err(wrong(format!("the server sends an invalid Content-Length ('{}')", listed(&told)))),
    }
}

/// A number of bytes: digits alone, and no more than a file may have.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&bytes| is_number && bytes <= BYTES_MAX)
}

/// RFC 9110 §14.4: `bytes first-last/length`, the length `*` if the server does not know it. First, end and length.
fn range(headers: &HeaderMap) -> Result<Option<(u64, u64, Option<u64>)>, Failure> {
    let kind = values(headers, CONTENT_TYPE);
    if kind.iter().any(|kind| kind.starts_with("multipart/byteranges")) {
        return Err(wrong("the server sends several parts in one answer, where one was requested"));
    }
    let mut told = values(headers, CONTENT_RANGE);
    told.dedup();
    let [told] = &told[..] else {
        let words = || format!("the server sends more than one Content-Range ('{}')", listed(&told));
        return if told.is_empty() { Ok(None) } else { Err(wrong(words())) };
    };
    let parsed = told.strip_prefix("bytes").and_then(|it| it.split_once('/')).and_then(|(range, length)| {
        let (first, last) = range.strip_prefix([' ', '='])?.trim().split_once('-')?;
        let (first, last) = (number(first.trim())?, number(last.trim())?);
        let bytes = match length.trim() {
            "*" => None,
            length => Some(number(length)?),
        };
        let is_right = first <= last && last < bytes.unwrap_or(BYTES_MAX);
        is_right.then_some((first, last + 1, bytes))
    });
    let words = || format!("the server sends an invalid Content-Range ('{}')", shown(told.as_bytes()));
    parsed.map(Some).ok_or_else(|| wrong(words()))
}

fn refusal(status: u16, headers: &HeaderMap) -> Failure {
    let last = |class, words: &str| {
        Failure::Final(WebFault::new(class, format!("the server said {status}: {words}")))
    };
    let passing = |words: &str| {
        let fault = WebFault::new(Class::Lost, format!("the server said {status}: {words}"));
        let seconds = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.trim().parse().ok());
        Failure::Passing(fault, seconds.map(Duration::from_secs))
    };
    let of_this = |words: &str| {
        let class = if status == 403 { Class::Refused } else { Class::Io };
        Failure::Refused(WebFault::new(class, format!("the server said {status}: {words}")))
    };
    match status {
        401 => last(
            Class::Refused,
            "it wants to know who asks; put a login into ~/.netrc or a header's value into PUMP_HTTP_AUTHORIZATION",
        ),
        407 => last(Class::Refused, "the proxy wants a login; put it into the variable that names the proxy"),
        403 => of_this("not permitted"),
        404 | 410 => last(Class::Missing, "there is no such file"),
        416 => last(Class::Changed, "it has no such part any more; copy again"),
        408 | 425 => passing("it took too long"),
        429 => passing("too many requests"),
        500..=599 => passing("it has a fault of its own, or is overloaded"),
        300..=399 => last(Class::Io, "a redirect to nowhere"),
        _ => of_this("it does not give the file"),
    }
}

#[cfg(test)]
mod tests;
