//! The rules that decide about a name, and whether two names are the same in content and attributes.
//!
//! Must not know: how a name is found, how it is copied.

pub(crate) mod checked;
pub(crate) mod findings;
pub(crate) mod kept_times;
pub(crate) mod name_flags;
pub(crate) mod update_existing;
pub(crate) mod verify;
