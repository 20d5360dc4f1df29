//! What becomes of a name: in trees, of arguments, where another kind or another age stands at the target.

mod deep_trees;
mod mkpath;
mod named_files;
mod special_arguments;
mod trees;
mod type_changes;
mod update_modes;
