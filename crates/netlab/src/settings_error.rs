//! Settings of a path or of a simulation that cannot be meant so.
//!
//! Must not know: which settings there are, how they are written.

use std::fmt;

/// The setting that cannot be meant so, and what to give instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(String);

impl SettingsError {
    /// An error with these words.
    pub fn new(message: impl Into<String>) -> SettingsError {
        SettingsError(message.into())
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}
