//! Removals: at the target what the source does not have, in the source what was copied.

mod command;
mod home;
mod kept_and_removed;
mod merged;
mod moved;
