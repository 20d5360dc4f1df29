//! The bill of a copy as a table for people.
//!
//! Must not know: how CPU time was measured.

use datapump::{Bill, shown};

/// A heading, a line for each stage, and the sum.
pub fn lines(bill: &Bill) -> Vec<String> {
    let line = |[host, stage, seconds, per_gib, per_request]: [&str; 5]| {
        format!("  {host:<9}{stage:<16}{seconds:>9}{per_gib:>10}{per_request:>12}")
    };
    let figure = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let words = shown(bill.measured_by.as_bytes());
    let mut lines = vec![
        format!("CPU bill: {:.3} s ({words})", bill.cpu_seconds_total),
        line(["host", "stage", "seconds", "s/GiB", "us/request"]),
    ];
    lines.extend(bill.stages.iter().map(|billed| {
        line([
            &billed.host.to_string(),
            billed.stage.name(),
            &figure(Some(billed.cpu_seconds), 3),
            &figure(billed.seconds_per_gib, 4),
            &figure(billed.us_per_request, 2),
        ])
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump::{BillHost, Billed, CpuStage};

    #[test]
    fn a_bill_is_a_table() {
        let line = |host, stage, cpu_seconds, seconds_per_gib, us_per_request| Billed {
            host,
            stage,
            cpu_seconds,
            seconds_per_gib,
            us_per_request,
        };
        let bill = Bill {
            stages: vec![
                line(BillHost::Sender, CpuStage::Read, 0.25, Some(0.125), Some(61.0352)),
                line(BillHost::Receiver, CpuStage::KernelThreads, 12.5, None, None),
            ],
            cpu_seconds_total: 12.75,
            measured_by: "thread \u{1b}[2Jclocks".into(),
        };
        let expected = [
            "CPU bill: 12.750 s (thread \\u{1b}[2Jclocks)",
            "  host     stage             seconds     s/GiB  us/request",
            "  sender   read                0.250    0.1250       61.04",
            "  receiver kernel threads     12.500         -           -",
        ];
        assert_eq!(lines(&bill), expected);
    }
}
