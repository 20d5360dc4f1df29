//! Files that are written beside a copy: reports, logs, series.
//!
//! Must not know: what is printed.

pub(crate) mod log_file;
pub(crate) mod own_file;
pub(crate) mod report_file;
