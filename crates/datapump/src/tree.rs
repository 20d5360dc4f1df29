//! Trees: how a folder becomes files for the one loop.
//!
//! A tree is work in the plan: list a folder (`walk`), deal with a batch of its names (`entry`). A folder that is met
//! becomes more work; a file becomes a task like any other: small ones are claimed by the lane that opened them, large
//! ones are put up for the lanes that move pieces. What has no bytes (links, pipes, devices: `special`) is made on the
//! spot. A folder is finished (`finish`) when the last thing in it is.
//!
//! Must not know: how blocks are moved, command lines.

pub(crate) mod count_ahead;
pub(crate) mod delete;
pub(crate) mod finish;
pub(crate) mod folder;
pub(crate) mod links;
pub(crate) mod list;
pub(crate) mod moved;
pub(crate) mod names;
pub(crate) mod root;
pub(crate) mod rules;
pub(crate) mod state;
pub(crate) mod tree_file;

pub(crate) use state::{Trees, most_lanes};
