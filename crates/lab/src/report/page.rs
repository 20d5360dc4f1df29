//! The elements of a page of HTML: words, tables, scripts, styles, and the facts and values that every one has.
//!
//! Must not know: which studies there are, what was found.

pub(super) mod assets;
pub(super) mod facts;
pub(in crate::report) mod html;
pub(super) mod values;
