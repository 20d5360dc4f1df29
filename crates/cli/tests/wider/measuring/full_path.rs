//! A path that two connections fill is given hardly more: while a connection still gathers speed the next one seems to
//! have moved more, and then none does. How many that are depends on the machine, so few tests run beside.

use crate::paths::box_path::BoxPath;
use crate::paths::long_path::report;

/// The queue holds ten round trips of the path, and the bytes are worth sixteen connections.
#[test]
fn a_full_path_is_not_given_many_connections() {
    let Some(path) = BoxPath::lay("full", &["--rtt", "20ms", "--rate", "100Mbit", "--queue", "2500KB"])
    else {
        return;
    };
    for pushes in [true, false] {
        let report = report(&path, pushes, 64, &[]);
        println!("pushes {pushes}: {} lanes, {}", report["lanes"], report["lanes_why"]);
        assert!(report["lanes"].as_u64() <= Some(4), "pushes {pushes}: {report}");
    }
}
