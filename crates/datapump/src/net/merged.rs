//! The verdict over two hosts: the report of the side that writes, and what the side that reads says of its waits.
//!
//! To the writing side everything behind its connection is the source. The reading side tells how long it waited for
//! its disk and how long for the network to take its bytes; what is neither was its own computing.
//!
//! Must not know: how the two were told.

use datapump_core::wire::session::Given;

use crate::report::{LimitedBy, LimitedDetail, Report};

/// A part that takes less of the time than this does not bound the move.
const NOTABLE: f64 = 0.25;

/// The report as the caller sees it.
pub(crate) fn merged(mut report: Report, given: &Given) -> Report {
    let (limited_by, host, stage, why) = match report.limited_by {
        LimitedBy::Source => cause(&report, given),
        LimitedBy::Network => return report,
        other => (other, "receiver", report.limited_detail.stage.clone(), report.limited_detail.why.clone()),
    };
    report.limited_by = limited_by;
    report.limited_detail = LimitedDetail { host: host.into(), stage, why };
    report
}

/// What stands behind a wait for the other host.
fn cause(report: &Report, given: &Given) -> (LimitedBy, &'static str, String, String) {
    let share = |ns: Option<u64>| ns.unwrap_or(0) as f64 / report.waits_ns.source.max(1) as f64;
    let (disk, network) = (share(given.source_wait_ns), share(given.network_wait_ns));
    match () {
        () if disk >= NOTABLE && disk >= network => {
            (LimitedBy::Source, "sender", "read".into(), "device".into())
        }
        // The receiver waits for bytes while the sender waits to be rid of them: what lies between is slow.
        () if network >= NOTABLE => (LimitedBy::Network, "sender", "send".into(), "send buffer".into()),
        () => (LimitedBy::Cpu, "sender", "send".into(), "encryption".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Waits;

    #[test]
    fn a_wait_for_the_other_host_is_charged_to_what_stands_behind_it() {
        let waits_ns = Waits { source: 1000, ..Waits::default() };
        let report = |limited_by| Report { limited_by, waits_ns, ..Report::default() };
        let given = |disk, network| Given {
            source_wait_ns: Some(disk),
            network_wait_ns: Some(network),
            ..Given::default()
        };
        for (limited_by, given, expected, host) in [
            (LimitedBy::Source, given(900, 50), LimitedBy::Source, "sender"),
            (LimitedBy::Source, given(50, 900), LimitedBy::Network, "sender"),
            (LimitedBy::Source, given(100, 100), LimitedBy::Cpu, "sender"),
            (LimitedBy::Sink, given(0, 900), LimitedBy::Sink, "receiver"),
        ] {
            let merged = merged(report(limited_by), &given);
            assert_eq!((merged.limited_by, merged.limited_detail.host.as_str()), (expected, host));
        }
    }
}
