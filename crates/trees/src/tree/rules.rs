//! The rules that decide about a name, and whether two names are the same in content and attributes.
//!
//! Must not know: how a name is found, how it is copied.

pub(crate) mod checked;
pub(crate) mod compare;
pub(crate) mod extras;
pub(crate) mod left_out;
pub(crate) mod update_existing;
