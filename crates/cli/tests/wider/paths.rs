//! Long paths made by `pump lab path`, and TCP stacks that are loaded.

pub mod box_path;
pub mod long_path;
mod stacks;
