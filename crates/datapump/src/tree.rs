//! Trees: how a folder becomes files for the one loop.
//!
//! A tree is work in the plan: list a folder (`walk`), deal with a batch of its names (`entry`). A folder that is met
//! becomes more work; a file becomes a task like any other: small ones are claimed by the lane that opened them, large
//! ones are put up for the lanes that move pieces. What has no bytes (links, pipes, devices: `special`) is made on the
//! spot. A folder is finished (`finish`) when the last thing in it is.
//!
//! Must not know: how blocks are moved, command lines.

mod alive;
pub(crate) mod branch;
pub(crate) mod checked;
pub(crate) mod checkpoint;
mod claims;
pub(crate) mod compare;
pub(crate) mod compare_attributes;
mod content;
pub(crate) mod decide;
pub(crate) mod delete;
pub(crate) mod doubt;
pub(crate) mod doubts;
pub(crate) mod entry;
mod entry_argument;
mod filter;
pub(crate) mod findings;
pub(crate) mod finish;
mod folded;
pub(crate) mod folder_done;
pub(crate) mod hand;
pub(crate) mod header;
pub(crate) mod items;
pub(crate) mod journal;
pub(crate) mod leaf;
pub(crate) mod left_out;
pub(crate) mod linking;
pub(crate) mod links;
pub(crate) mod list;
mod list_clock;
pub(crate) mod list_file;
pub(crate) mod make_way;
pub(crate) mod open_root;
pub(crate) mod origin;
mod paths;
pub(crate) mod plant;
mod right;
pub(crate) mod root;
pub(crate) mod select;
pub(crate) mod side;
pub(crate) mod special;
pub(crate) mod state;
mod sweep;
mod twins;
mod unsettled;
pub(crate) mod visited;
mod waiting;
pub(crate) mod walk;

pub(crate) use state::{Trees, most_lanes, usual_lanes};
