//! A limit in words for people: what was waited for, and one thing to try.
//!
//! Must not know: how that is found out, which flags were given.

use super::{LimitedBy, LimitedDetail, Why};
use crate::problem::shown;

/// What limited a move, and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitWords {
    /// The part, as in `the source's disk`.
    pub part: String,
    /// One thing to try, as a sentence.
    pub advice: Option<&'static str>,
}

impl LimitedDetail {
    /// The part that limited; none where no part did, or nothing is known.
    pub fn bottleneck(&self, limit: LimitedBy) -> Option<LimitWords> {
        if self.why == Why::RateLimit || matches!(limit, LimitedBy::Balanced | LimitedBy::Unknown) {
            return None;
        }
        Some(LimitWords { part: self.part(limit), advice: self.advice(limit) })
    }

    fn part(&self, limit: LimitedBy) -> String {
        let at = match self.host.as_str() {
            "sender" => " at the sender",
            "receiver" => " at the receiver",
            _ => "",
        };
        match (limit, self.why) {
            (LimitedBy::Source | LimitedBy::Sink, why) => self.end(limit, why),
            (LimitedBy::Sync, why) if why.is_group_limit() => self.end(limit, why),
            (LimitedBy::Sync, _) => format!("waiting for stable storage{at}"),
            (LimitedBy::Metadata, Why::Listing) => format!("listing folders{at}"),
            (LimitedBy::Metadata, Why::Deleting) => format!("deleting{at}"),
            (LimitedBy::Metadata, _) => format!("names and attributes{at}"),
            (LimitedBy::Cpu, Why::CpuQuota | Why::CgroupLimit) => {
                format!("the CPU quota of the control group{at}")
            }
            (LimitedBy::Cpu, why) => format!("the CPU{at}{}", computing(why)),
            (_, why) => format!("{}{}", network(why), self.setting_words()),
        }
    }

    /// What one end did.
    fn end(&self, limit: LimitedBy, why: Why) -> String {
        let whose = match (self.host.as_str(), limit) {
            ("sender", _) => "the sender's",
            ("receiver", _) => "the receiver's",
            (_, LimitedBy::Source) => "the source's",
            _ => "the target's",
        };
        let host = if ["sender", "receiver"].contains(&self.host.as_str()) {
            format!("{whose} ")
        } else {
            "the ".into()
        };
        match (why, self.stage.as_str()) {
            (Why::SharedDevice, _) => "the disk that holds source and target".into(),
            (Why::PageCache, _) => "reading the source from the page cache".into(),
            (Why::ServerLimit, _) => format!("the {why}"),
            (Why::Pipe, _) if limit == LimitedBy::Source => "the program that writes to the pipe".into(),
            (Why::Pipe, _) => "the program that reads from the pipe".into(),
            (Why::MemoryLimit, _) => {
                format!("the limit of {host}control group for memory{}", self.setting_words())
            }
            (Why::CgroupLimit, _) => {
                let access = if limit == LimitedBy::Source { "reads" } else { "writes" };
                format!("the limit of {host}control group for {access}{}", self.setting_words())
            }
            (Why::Device, "read back") => format!("{whose} disk, which was read back"),
            (Why::Device, _) => format!("{whose} disk"),
            _ if limit == LimitedBy::Source => "reading the source".into(),
            _ => "writing the target".into(),
        }
    }

    /// ` (10.0 MiB/s, /sys/fs/cgroup/a/io.max)`. Another host may have said it.
    fn setting_words(&self) -> String {
        if self.setting.is_empty() { String::new() } else { format!(" ({})", shown(self.setting.as_bytes())) }
    }

    fn advice(&self, limit: LimitedBy) -> Option<&'static str> {
        let local = !matches!(self.host.as_str(), "sender" | "receiver");
        Some(match (limit, self.why) {
            (_, Why::SharedDevice) => "A target on another disk would help.",
            (_, Why::ServerLimit) => "Raise --bwlimit of \"pump serve\" there.",
            (LimitedBy::Source | LimitedBy::Sink | LimitedBy::Sync, why) if why.is_group_limit() => {
                "Raise that limit, or run the copy in another group."
            }
            (LimitedBy::Source | LimitedBy::Sink, Why::Device) if local => {
                "\"pump explain\" with the same places measures what would help."
            }
            (LimitedBy::Network, Why::ReceiveWindow | Why::SendBuffer) => {
                "\"pump doctor\" with the place says which buffers to enlarge."
            }
            (LimitedBy::Network, Why::Loss | Why::CongestionWindow) => {
                "\"pump doctor\" with the place says what the path can do."
            }
            (LimitedBy::Network, Why::RoundTrips) => "Try more requests in flight: --source-depth.",
            (LimitedBy::Cpu, Why::CpuQuota | Why::CgroupLimit) => "A larger quota (cpu.max) would help.",
            (LimitedBy::Cpu, Why::NotScheduled) => "Run it again when the machine is idle.",
            _ => return None,
        })
    }
}

fn computing(why: Why) -> &'static str {
    match why {
        Why::Hashing => ", hashing",
        Why::Copying => ", copying between buffers",
        Why::PostingRequests => ", posting requests",
        Why::Encryption => ", encrypting",
        Why::NotScheduled => ", which other programs used",
        _ => "",
    }
}

fn network(why: Why) -> &'static str {
    match why {
        Why::Outage => "the other host, which was out of reach",
        Why::Peer => "the other host",
        Why::Server => "the server or the path to it",
        Why::ReceiveWindow => "the receiver's TCP window",
        Why::SendBuffer => "the sender's TCP buffer",
        Why::CongestionWindow => "the path (TCP congestion window)",
        Why::Loss => "the path, which lost segments",
        Why::RoundTrips => "round trips",
        _ => "the network",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_words() {
        for limit in LimitedBy::ALL {
            for why in Why::ALL {
                for host in ["local", "sender", "receiver"] {
                    for stage in ["read", "write", "read back", "compute", "network", ""] {
                        let detail =
                            LimitedDetail { host: host.into(), ..LimitedDetail::here(stage, *why, 1, 1) };
                        let Some(found) = detail.bottleneck(*limit) else { continue };
                        assert!(!found.part.is_empty() && !found.part.contains("  "), "{limit:?} {why:?}");
                        let ends = found.advice.is_none_or(|words| words.ends_with('.'));
                        assert!(ends && !found.part.ends_with('.'), "{found:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_part_is_named_where_none_limited() {
        for (limit, why) in [
            (LimitedBy::Balanced, Why::EqualStages),
            (LimitedBy::Unknown, Why::NothingMoved),
            (LimitedBy::Source, Why::RateLimit),
        ] {
            assert_eq!(LimitedDetail::here("read", why, 1, 1).bottleneck(limit), None);
        }
        let part = |host: &str, limit, why| {
            let detail = LimitedDetail { host: host.into(), ..LimitedDetail::here("read", why, 1, 1) };
            (detail.bottleneck(limit).expect("a part").part, detail.words())
        };
        for (host, limit, why, words, long) in [
            ("local", LimitedBy::Source, Why::Device, "the source's disk", None),
            ("local", LimitedBy::Sink, Why::Device, "the target's disk", None),
            ("receiver", LimitedBy::Sink, Why::Device, "the receiver's disk", Some("receiver's disk was")),
            ("local", LimitedBy::Source, Why::PageCache, "reading the source from the page cache", None),
            (
                "sender",
                LimitedBy::Source,
                Why::PageCache,
                "reading the source from the page cache",
                Some("the sender read its page cache for"),
            ),
        ] {
            let got = part(host, limit, why);
            assert_eq!(got.0, words);
            assert_eq!(got.1.is_some(), long.is_some(), "{got:?}");
            assert!(long.is_none_or(|long| got.1.as_ref().is_some_and(|it| it.contains(long))), "{got:?}");
        }
    }

    #[test]
    fn a_setting_is_named_with_its_figure_and_its_file() {
        let part = |host: &str, limit, why| {
            let setting = "10.0 MiB/s, /sys/fs/cgroup/a/io.max\u{1b}".into();
            let detail = LimitedDetail { host: host.into(), setting, ..LimitedDetail::here("", why, 1, 1) };
            detail.bottleneck(limit).expect("a part").part
        };
        let file = "(10.0 MiB/s, /sys/fs/cgroup/a/io.max\\u{1b})";
        for (host, limit, words) in [
            ("local", LimitedBy::Source, "the limit of the control group for reads"),
            ("local", LimitedBy::Sync, "the limit of the control group for writes"),
            ("receiver", LimitedBy::Sink, "the limit of the receiver's control group for writes"),
        ] {
            assert_eq!(part(host, limit, Why::CgroupLimit), format!("{words} {file}"));
        }
        let window = part("receiver", LimitedBy::Network, Why::ReceiveWindow);
        assert_eq!(window, format!("the receiver's TCP window {file}"));
        let server = LimitedDetail::here("send", Why::ServerLimit, 1, 1).bottleneck(LimitedBy::Source);
        let server = server.map(|found| (found.part, found.advice));
        let advice = Some("Raise --bwlimit of \"pump serve\" there.");
        assert_eq!(server, Some(("the rate limit of the server".into(), advice)));
        let pipe = |limit| LimitedDetail::here("", Why::Pipe, 1, 1).bottleneck(limit).map(|found| found.part);
        assert_eq!(pipe(LimitedBy::Sink).as_deref(), Some("the program that reads from the pipe"));
        assert_eq!(pipe(LimitedBy::Source).as_deref(), Some("the program that writes to the pipe"));
    }
}
