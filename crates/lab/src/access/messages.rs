//! A pass in words.
//!
//! Must not know: how it was made.

use std::fmt;

use datapump::units::{bytes_words, rate_words, with_commas};
use datapump::{InWords, Latency};

use super::{AccessUse, Accessed};

impl fmt::Display for Accessed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.operation == AccessUse::Read { "read" } else { "wrote" };
        writeln!(
            out,
            "{}: {verb} {} of each of {} pages of {} by {}, {}: {:.3} s, {}",
            self.file,
            bytes_words(self.touched_bytes),
            with_commas(self.pages),
            bytes_words(self.page_bytes),
            self.interface.word(),
            self.pattern.word(),
            self.elapsed_ns as f64 / 1e9,
            rate_words(self.bytes_per_second),
        )?;
        writeln!(
            out,
            "CPU time of a page: {:.2} us in user mode, {:.2} us in the kernel; {:.2} ns/byte",
            self.user_ns_per_page / 1e3,
            self.system_ns_per_page / 1e3,
            self.cpu_ns_per_byte
        )?;
        let ends =
            self.report.latency_ns.map(|ends| [ends.source, ends.sink]).into_iter().flatten().flatten();
        for Latency { p50, p90, p99, p999, max, .. } in ends {
            let [p50, p90, p99, p999, max] = [p50, p90, p99, p999, max].map(|ns| ns as f64 / 1e3);
            writeln!(
                out,
                "a request took {p50:.0} us at the median, {p90:.0} at 90 %, {p99:.0} at 99 %, {p999:.0} at 99.9 %, \
                 {max:.0} at most"
            )?;
        }
        if let Some(cached) = self.cached_before {
            writeln!(out, "{:.0} % of the file was in the page cache before", cached * 100.0)?;
        }
        let faults = self.page_faults;
        writeln!(out, "page faults: {} without a read, {} with one", faults.minor, faults.major)
    }
}
