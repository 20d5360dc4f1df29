//! What a copy keeps, compares and sets besides content: attributes, owners, modes.

mod closed_folders;
mod compared;
mod given;
mod left;
mod roots;
mod skipped;
