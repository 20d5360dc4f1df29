//! Two trees beside each other: which names are compared, and what differs.
//!
//! Must not know: what becomes of a name that is copied.

pub(crate) mod compare;
pub(crate) mod compare_attributes;
pub(crate) mod extras;
pub(crate) mod twins;
