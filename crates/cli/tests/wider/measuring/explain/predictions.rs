//! What `pump explain` predicts beside the copy that follows, where parts share something or change: loopback to the same
//! disk, two hosts with a path of 489 MB/s on one machine, a source of which a part is in the page cache.

use serde_json::Value;

use super::{Bench, INTERFACE, MIB};
use crate::support::outcome;
use crate::wider_parts::network::Side;
use crate::wider_parts::{program, report, with_content};

/// A machine on which other tests run varies by less than this.
const FACTOR_MAX: f64 = 1.6;
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
    let bench = Bench::new();
    with_content(&bench.at("source"), SOURCE_BYTES, 7);
    let serving = bench.serve("served");
    bench.cool("source");
    let words = ["explain", "--json", "--ticket-file", "ticket", "source", &serving.at("copy")];
    let report = predicted("loopback", &outcome(bench.here(&words), b""));
    let parts = report["parts"].as_array().expect("parts");
    assert!(parts.iter().any(|part| part["name"] == "chain"), "{report}");
}

#[test]
fn two_hosts_with_a_path_of_489_megabytes_a_second() {
    let bench = Bench::new();
    let Some(network) = &bench.network else { return };
    with_content(&bench.at("source"), SOURCE_BYTES, 7);
    // 489 MB/s is 3.912 Gbit/s.
    let tbf = ["rate", "3912mbit", "burst", "4mb", "latency", "20ms"];
    bench.shape(network, Side::Client, &tbf);
    let serving = network.serve(&bench.home, &[]);
    bench.cool("source");
    let words = ["explain", "--json", "--ticket-file", "ticket", "source", &serving.at("copy")];
    let report = predicted("489 MB/s", &outcome(network.pump(Side::Client, &bench.home, &words), b""));
    let most = report["predicted_bytes_per_second"].as_f64().expect("a figure");
    assert!(most < 489e6 * 1.1, "the path allows no more on {INTERFACE}: {report}");
    assert!(report["parts"].as_array().is_some_and(|parts| parts.iter().any(|part| part["name"] == "near")));
}

/// The later part of the source is in memory. Slices that read the first bytes again and again would find them there, too,
/// and the copy would not.
#[test]
fn a_page_cache_that_is_warm_once() {
    let bench = Bench::new();
    for warm in [0, 30, 60, 100] {
        with_content(&bench.at("source"), SOURCE_BYTES, 7);
        let _ = std::fs::remove_file(bench.at("copy"));
        program(&["sync"]);
        bench.cool("source");
        let skipped = format!("skip={}", SOURCE_BYTES / MIB * (100 - warm) / 100);
        if warm > 0 {
            program(&[
                "dd",
                &format!("if={}", bench.at("source")),
                "of=/dev/null",
                "bs=1M",
                &skipped,
                "status=none",
            ]);
        }
        let words = ["explain", "--json", "source", "copy"];
        predicted(&format!("{warm} % in memory"), &outcome(bench.here(&words), b""));
    }
}

impl Bench {
    /// Nothing of it is in memory.
    fn cool(&self, name: &str) {
        program(&["sync"]);
        program(&["dd", &format!("if={}", self.at(name)), "iflag=nocache", "count=0", "status=none"]);
    }
}
