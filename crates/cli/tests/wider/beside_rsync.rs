//! Copies judged by rsync: attributes, trees, filters, flags by chance.

mod attributes;
mod differential;
mod filters;
mod trees;
