//! How many bytes a row counts.
//!
//! Must not know: what was run.

use datapump::Report;

/// Those of the source. A run that copies no file passes through a part of it, or over memory: what it reports counts.
pub(super) fn row_bytes(source_bytes: Option<u64>, report: Option<&Report>) -> u64 {
    let passed_bytes =
        report.filter(|report| report.files == 0 && report.bytes > 0).map(|report| report.bytes);
    passed_bytes.or(source_bytes).unwrap_or_else(|| report.map_or(0, |report| report.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_bytes_of_the_source_or_of_a_pass_through_a_part_of_it() {
        let report = |files: u64, bytes: u64| Report { files, bytes, ..Report::default() };
        for (source_bytes, report, bytes) in [
            (Some(100), None, 100),
            (Some(100), Some(report(1, 100)), 100),
            // An update that had nothing to do.
            (Some(100), Some(report(0, 0)), 100),
            (Some(100), Some(report(0, 16)), 16),
            (None, Some(report(1, 70)), 70),
            (None, None, 0),
        ] {
            assert_eq!(row_bytes(source_bytes, report.as_ref()), bytes, "{source_bytes:?} {report:?}");
        }
    }
}
