//! Files and folders of one host for the other: what is open for it, what is said of names, owners and attributes.
//!
//! Must not know: who called whom, how blocks cross the network.

pub(crate) mod convert;
pub(crate) mod event_codec;
pub(crate) mod given_file;
pub(crate) mod handle_place;
pub(crate) mod handle_table;
pub(crate) mod listing;
pub(crate) mod owners;
pub(crate) mod remote_host;
pub(crate) mod shared_reads;
pub(crate) mod weight;
