//! A job over a long path that waits for one answer after the other says so, while it runs and at its end.

use std::net::SocketAddr;
use std::time::Duration;

use datapump_netlab::{Relay, RelayOptions};
use serde_json::Value;

use crate::support::serving::Serving;
use crate::support::{Home, expect};

/// 100 ms there and back.
const DELAY: Duration = Duration::from_millis(50);
/// Folders in one another: nothing comes ahead, so that each costs a round trip at least.
const DEPTH: usize = 12;

#[test]
fn waiting_for_answers_is_told() {
    let home = Home::new();
    let deep = ["deeper"; DEPTH].join("/");
    for tree in ["served/tree", "tree"] {
        std::fs::create_dir_all(home.path(format!("{tree}/{deep}"))).expect("room");
        std::fs::write(home.path(format!("{tree}/{deep}/file")), "x").expect("room");
    }
    let serving = Serving::new(&home, &["--listen", "127.0.0.1:0"]);
    let to: SocketAddr = serving.address.parse().expect("an address");
    let relay = RelayOptions { delay: DELAY, jitter: Duration::ZERO, bytes_per_second: None };
    let relay = Relay::start(to, relay, 1).expect("a relay");
    let served = format!("pump://{}/tree", relay.address());
    let copy = ["copy", "-T", "--update=differs", "--read-ahead=never", "--ticket-file", "ticket"];
    for (places, way) in [([&*served, "tree"], "pulled"), (["tree", &*served], "pushed")] {
        let run = home.pump(&[&copy[..], &["--json", "--progress=always"], &places].concat());
        expect(&run, 0, &[], way);
        let events = run.events();
        let met = |event: &&Value| {
            event["event"] == "progress"
                && event["names"].as_u64() > Some(0)
                && event["limited_by"] == "network"
        };
        assert!(events.iter().any(|event| met(&event)), "{way}: names go by: {}", run.out);
        let report = events.last().expect("the report");
        let trips = |of: &str| report["round_trips"][of].as_u64().expect("a count");
        assert!(trips("listing") >= DEPTH as u64 && trips("requests") >= trips("listing"), "{way}: {report}");
        assert_eq!(
            (&report["limited_by"], &report["limited_detail"]["why"]),
            (&"network".into(), &"round trips".into()),
            "{way}: {report}"
        );

        let words = [
            " compared, ",
            " name",
            "Bottleneck: waiting for answers, ",
            " round trips of 10",
            " ms, 1 request under way at a time.",
        ];
        expect(&home.pump(&[&copy[..], &["--progress=always"], &places].concat()), 0, &words, way);
    }
}
