//! Lines on standard error.
//!
//! Must not know: what they say.

use std::io::Write;

/// A line on standard error. Nobody can be told if that is closed.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "pump lab: {line}");
}
