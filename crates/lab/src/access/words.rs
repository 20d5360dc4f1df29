//! A pass in words.
//!
//! Must not know: how it was made.

use std::fmt;

use datapump::InWords;
use datapump::units::{bytes_words, with_commas};

use super::{AccessUse, Accessed};

impl fmt::Display for Accessed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.operation == AccessUse::Read { "read" } else { "wrote" };
        writeln!(
            out,
            "{}: {verb} {} of each of {} pages of {} by {}, {}: {:.3} s, {}/s",
            self.file,
            bytes_words(self.touched_bytes),
            with_commas(self.pages),
            bytes_words(self.page_bytes),
            self.interface.word(),
            self.pattern.word(),
            self.elapsed_ns as f64 / 1e9,
            bytes_words(self.bytes_per_second as u64),
        )?;
        writeln!(
            out,
            "CPU time of a page: {:.2} us in user mode, {:.2} us in the kernel; {:.2} ns/byte",
            self.user_ns_per_page / 1e3,
            self.system_ns_per_page / 1e3,
            self.cpu_ns_per_byte
        )?;
        if let Some(cached) = self.cached_before {
            writeln!(out, "{:.0} % of the file was in the page cache before", cached * 100.0)?;
        }
        let faults = self.page_faults;
        writeln!(out, "page faults: {} without a read, {} with one", faults.minor, faults.major)
    }
}
