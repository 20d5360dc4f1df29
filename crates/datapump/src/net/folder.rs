//! Files and folders of one host for the other: what is open for it, what is said of names, owners and attributes.
//!
//! Must not know: who called whom, how blocks cross the network.

pub(crate) mod convert;
pub(crate) mod far;
pub(crate) mod listing;
pub(crate) mod owners;
pub(crate) mod refusal;
pub(crate) mod shelf;
pub(crate) mod told;
pub(crate) mod weight;
