//! Copies that were cut and go on: lists, journals, temporary files.

mod large_files;
mod lists;
mod merged;
mod own_list;
mod temporary_names;
mod young_sources;
