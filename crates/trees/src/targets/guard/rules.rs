//! What a command asks that the guard needs to know: which names it deals with, and how.
//!
//! Must not know: what the guard answers.

use datapump_core::selection::Select;

use crate::setup::options::Options;

/// The options and patterns of a command.
#[derive(Clone, Copy)]
pub(crate) struct GuardRules<'job> {
    pub(crate) options: &'job Options,
    pub(crate) select: &'job Select,
}
