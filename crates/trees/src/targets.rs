//! The targets of a copy: cp's rules for the target, settled before anything is opened for writing.
//!
//! An existing folder receives the source under its own name; a symbolic link as target means the file it points to;
//! several sources need a folder.
//!
//! Must not know: how files are copied.

mod argument;
pub(crate) mod guard;
mod hosts;
mod item;
pub(crate) mod items;
pub(crate) mod name_claims;
mod nesting;
mod resolve;
pub(crate) mod stripe_refusals;
pub(crate) mod target_names;

pub(crate) use hosts::Hosts;
pub use item::{Item, NULL_WANTS_SIZE};
pub(crate) use item::{Target, UNSAFE_LINK, change_of};
pub(crate) use items::named_groups::{
    NamedGroup, NamedItem, NamedWork, group_items as named_groups, is_name_in_folder,
};
pub(crate) use items::{called_as_backups, check_target_folder, reported_targets, resolve_items};
