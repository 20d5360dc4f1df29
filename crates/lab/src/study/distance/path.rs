//! The step `new_path` as it is written, and the path it stands for in a cell.
//!
//! Must not know: how a path is laid.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use datapump::units::{parse_bytes, parse_rate};
use datapump_netlab::LossRule;
use datapump_netlab::emulator::{BoxEnd, BoxSettings, LinkSettings};
use serde::{Deserialize, Serialize};

use super::parse_time;
use crate::study::{Level, fill};

/// A field that is not to limit, delay or lose anything.
pub const NONE: &str = "none";
const MTU: u16 = 1500;

/// The fields of a step `new_path`: each a value or a factor in braces. `none` is the same as a field that is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PathTemplate {
    /// `box`, `loopback`, or `host:NAME`, a host that ssh reaches; the other fields are those of a box.
    pub path: Level,
    /// Most bytes per second in each direction.
    pub rate: Option<Level>,
    /// Round-trip time without a queue.
    pub rtt: Option<Level>,
    /// The loss: a probability, or `1/50` for one in so many.
    pub loss: Option<Level>,
    /// The packet of this number is lost.
    pub drop_at: Option<Level>,
    /// What the queue before the path holds. Absent: what the path itself holds in a round trip.
    pub queue: Option<Level>,
    /// The largest packet.
    pub mtu: Option<Level>,
}

/// Over what the programs of a run talk.
#[derive(Clone, Debug, PartialEq)]
pub enum PathKind {
    /// This host's own loopback.
    Loopback,
    /// From this host to one that ssh reaches by this name.
    Hosts(String),
    /// A path in a box. Its namespaces have no names yet.
    Box(Box<BoxSettings>),
}

/// The key, and what is wrong with its value.
type WrongField = (&'static str, String);

impl PathTemplate {
    /// Fills the names in and reads the fields.
    ///
    /// Errors: the key and what is wrong with its value.
    pub fn filled(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<PathKind, WrongField> {
        let word = |key: &'static str, level: &Level| {
            fill(&level.to_string(), value).map_err(|name| (key, format!("{{{name}}} is no factor")))
        };
        let mut words = Vec::new();
        for (key, level) in self.limits() {
            let word = word(key, level)?;
            if word != NONE {
                words.push((key, word));
            }
        }
        let path = word("path", &self.path)?;
        if let Some(name) = path.strip_prefix("host:") {
            return self.to_a_host(name, &words);
        }
        let in_a_box = in_a_box(&words)?;
        match path.as_str() {
            "box" => Ok(PathKind::Box(Box::new(in_a_box))),
            "loopback" => Ok(PathKind::Loopback),
            other => Err(("path", format!("'{other}' is no path; write box, loopback or host:NAME"))),
        }
    }

    /// A row must not say that a real path had a rate or a time that nobody gave it.
    fn to_a_host(&self, name: &str, words: &[(&'static str, String)]) -> Result<PathKind, WrongField> {
        let is_factor =
            |key: &str| self.limits().any(|(name, level)| name == key && level.to_string().contains('{'));
        match words.iter().find(|(key, _)| is_factor(key)) {
            Some((key, _)) => Err((key, format!("a path to a real host is as it is: --set {key}=none"))),
            None => Ok(PathKind::Hosts(host(name)?)),
        }
    }

    fn limits(&self) -> impl Iterator<Item = (&'static str, &Level)> {
        let fields = [
            ("rate", &self.rate),
            ("rtt", &self.rtt),
            ("loss", &self.loss),
            ("drop_at", &self.drop_at),
            ("queue", &self.queue),
            ("mtu", &self.mtu),
        ];
        fields.into_iter().filter_map(|(key, field)| Some((key, field.as_ref()?)))
    }
}

/// A name that is one word of a shell and no option.
fn host(name: &str) -> Result<String, WrongField> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(plain) {
        return Err(("path", format!("'{name}' is no host; write host:NAME, as ssh knows it")));
    }
    Ok(name.to_owned())
}

fn in_a_box(words: &[(&'static str, String)]) -> Result<BoxSettings, WrongField> {
    let rate = read(words, "rate", parse_rate)?;
    let rtt = read(words, "rtt", parse_time)?.unwrap_or_default();
    let mut link = LinkSettings::plain(rate, rtt);
    link.loss = read(words, "loss", LossRule::from_str)?.unwrap_or(LossRule::None);
    link.drop_at = read(words, "drop_at", |word| number(word, 1))?;
    link.queue_bytes = read(words, "queue", parse_bytes)?.unwrap_or(link.queue_bytes);
    let mtu = read(words, "mtu", |word| number(word, 68))?.unwrap_or(MTU);
    let end = |last| BoxEnd {
        space: String::new(),
        address: IpAddr::V4(Ipv4Addr::new(10, 89, 0, last)),
        prefix: 24,
    };
    let settings = BoxSettings { left: end(1), right: end(2), mtu, link };
    settings.link.check().map_err(|wrong| ("path", wrong.to_string()))?;
    Ok(settings)
}

fn read<T>(
    words: &[(&'static str, String)],
    key: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, WrongField> {
    let word = words.iter().find(|(name, _)| *name == key);
    word.map(|(_, word)| parse(word)).transpose().map_err(|wrong| (key, wrong))
}

fn number<T: FromStr + PartialOrd + From<u8>>(word: &str, least: u8) -> Result<T, String> {
    let number = word.parse::<T>().ok().filter(|number| *number >= T::from(least));
    number.ok_or_else(|| format!("'{word}' is no such number; write {least} or more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(change: impl Fn(&mut PathTemplate)) -> Result<PathKind, WrongField> {
        let mut template = PathTemplate {
            path: "box".into(),
            rate: Some("{rate}".into()),
            rtt: Some("60ms".into()),
            ..PathTemplate::default()
        };
        change(&mut template);
        template.filled(&|name| (name == "rate").then(|| "50Mbit".to_string()))
    }

    fn link(change: impl Fn(&mut PathTemplate)) -> LinkSettings {
        match filled(change).expect("in order") {
            PathKind::Box(settings) => settings.link,
            PathKind::Loopback | PathKind::Hosts(_) => panic!("a box"),
        }
    }

    #[test]
    fn a_queue_holds_what_the_path_does_unless_it_is_given() {
        let plain = link(|_| ());
        assert_eq!((plain.rate_bytes_per_s, plain.delay_ns), (Some(6_250_000.0), 30_000_000));
        assert_eq!((plain.queue_bytes, plain.loss), (375_000, LossRule::None));
        let other = link(|it| (it.queue, it.loss) = (Some("32KiB".into()), Some("1/1000".into())));
        assert_eq!((other.queue_bytes, other.loss), (32 << 10, LossRule::Every(1000)));
        let none = link(|it| (it.rtt, it.loss) = (Some("none".into()), Some("none".into())));
        assert_eq!((none.delay_ns, none.loss), (0, LossRule::None));
    }

    #[test]
    fn loopback_is_as_it_is() {
        assert_eq!(filled(|it| it.path = "loopback".into()), Ok(PathKind::Loopback));
        filled(|it| (it.path, it.rtt) = ("loopback".into(), Some("far".into()))).expect_err("no time");
        let host = |name: &'static str| filled(|it| (it.path, it.rate) = (name.into(), None));
        assert_eq!(host("host:me@there"), Ok(PathKind::Hosts("me@there".into())));
        for wrong in ["host:", "host:-oProxyCommand=x", "host:a b", "host:a'b", "hosts"] {
            host(wrong).expect_err(wrong);
        }
        let (key, message) = filled(|it| it.path = "host:there".into()).expect_err("a rate");
        assert!(key == "rate" && message.contains("--set rate=none"), "{message}");
    }

    #[test]
    fn a_wrong_field_is_named_with_what_to_write() {
        for (change, key, hint) in [
            (
                (|it| it.path = "moon".into()) as fn(&mut PathTemplate),
                "path",
                "write box, loopback or host:NAME",
            ),
            (|it| it.rtt = Some("1m".into()), "rtt", "'1m' is more than 10 s"),
            (|it| it.loss = Some("often".into()), "loss", "write for example 1e-5"),
            (|it| it.drop_at = Some("0".into()), "drop_at", "write 1 or more"),
            (|it| it.mtu = Some("9".into()), "mtu", "write 68 or more"),
            (|it| it.rate = Some("1bit".into()), "path", "a rate must be from"),
            (|it| it.rate = Some("{speed}".into()), "rate", "{speed} is no factor"),
        ] {
            let (at, message) = filled(change).expect_err("wrong");
            assert!(at == key && message.contains(hint), "{key}: {at}: {message}");
        }
    }
}
