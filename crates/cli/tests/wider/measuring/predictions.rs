//! Predictions of `pump explain` beside the copy that follows, where parts share something or change: loopback to the same
//! disk, two hosts with a path of 489 MB/s on one machine, a source of which a part is in the page cache.

use serde_json::Value;

use crate::support::serving::Serving;
use crate::support::{Home, make_folder, outcome};
use crate::wider_parts::network::{INTERFACE, Network, Side};
use crate::wider_parts::{program, report, with_content};

/// A machine on which other tests run varies by less than this.
const FACTOR_MAX: f64 = 1.6;
const MIB: usize = 1 << 20;
const SOURCE_BYTES: usize = 400 * MIB;

/// Explained, and predicted about as it was.
fn predicted(what: &str, run: &crate::support::Outcome) -> Value {
    assert_eq!(run.status, 0, "{what}: {run:?}");
    let report = report(run);
    let figure = |name: &str| report[name].as_f64().unwrap_or_else(|| panic!("{what}: {name}: {report}"));
    let (predicted, observed) = (figure("predicted_bytes_per_second"), figure("observed_bytes_per_second"));
    let (low, high) = (figure("predicted_bytes_per_second_low"), figure("predicted_bytes_per_second_high"));
    eprintln!(
        "{what}: predicted {:.0} ({:.0} to {:.0}), observed {:.0} MB/s",
        predicted / 1e6,
        low / 1e6,
        high / 1e6,
        observed / 1e6
    );
    let is_right = observed >= low / FACTOR_MAX && observed <= high * FACTOR_MAX;
    assert!(is_right, "{what}: {report}");
    report
}

#[test]
fn loopback_to_the_same_disk_is_one_chain() {
    let home = with_source();
    make_folder(&home, "served");
    let serving = Serving::start(home.command(&["serve", "served", "--ticket-file", "ticket"]));
    cool(&home);
    let words = ["explain", "--json", "--ticket-file", "ticket", "source", &serving.at("copy")];
    let report = predicted("loopback", &outcome(home.command(&words), b""));
    let parts = report["parts"].as_array().expect("parts");
    assert!(parts.iter().any(|part| part["name"] == "chain"), "{report}");
}

#[test]
fn two_hosts_with_a_path_of_489_megabytes_a_second() {
    let Some(network) = Network::new() else { return };
    let home = with_source();
    make_folder(&home, "served");
    // 489 MB/s is 3.912 Gbit/s.
    let tbf = ["rate", "3912mbit", "burst", "4mb", "latency", "20ms"];
    let words = [&["tc", "qdisc", "replace", "dev", INTERFACE, "root", "tbf"], &tbf[..]].concat();
    let shaped = network.command(Side::Client, &home, &words).output().expect("ip is installed");
    assert!(shaped.status.success(), "{shaped:?}");
    let serving = network.serve(&home, &[]);
    cool(&home);
    let words = ["explain", "--json", "--ticket-file", "ticket", "source", &serving.at("copy")];
    let report = predicted("489 MB/s", &outcome(network.pump(Side::Client, &home, &words), b""));
    let most = report["predicted_bytes_per_second"].as_f64().expect("a figure");
    assert!(most < 489e6 * 1.1, "the path allows no more on {INTERFACE}: {report}");
    assert!(report["parts"].as_array().is_some_and(|parts| parts.iter().any(|part| part["name"] == "local")));
}

/// The later part of the source is in memory. Slices that read the first bytes again and again would find them there, too,
/// and the copy would not.
#[test]
fn a_page_cache_that_is_warm_once() {
    for warm in [0, 30, 60, 100] {
        let home = with_source();
        cool(&home);
        let skipped = format!("skip={}", SOURCE_BYTES / MIB * (100 - warm) / 100);
        if warm > 0 {
            program(&[
                "dd",
                &format!("if={}", source(&home)),
                "of=/dev/null",
                "bs=1M",
                &skipped,
                "status=none",
            ]);
        }
        let words = ["explain", "--json", "source", "copy"];
        predicted(&format!("{warm} % in memory"), &outcome(home.command(&words), b""));
    }
}

fn source(home: &Home) -> String {
    home.path("source").display().to_string()
}

fn with_source() -> Home {
    let home = Home::new();
    with_content(&source(&home), SOURCE_BYTES, 7);
    home
}

/// Nothing of the source is in memory.
fn cool(home: &Home) {
    program(&["sync"]);
    program(&["dd", &format!("if={}", source(home)), "iflag=nocache", "count=0", "status=none"]);
}
