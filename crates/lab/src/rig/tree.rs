//! Trees as sources and targets: made from a seed, walked, compared.
//!
//! Nothing here keeps a list of a tree's files: a command's largest memory as the system counts it begins with that of
//! the program that started it. Must not know: studies, when a tree is made or deleted.

mod compare;
mod layout;
mod make;
mod walk;

pub use compare::{TreeComparison, changed_since};
pub use layout::Layout;
pub use make::make;
pub use walk::{TreeFacts, facts, read_all, read_file};
