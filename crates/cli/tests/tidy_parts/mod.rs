//! The parts of the tidy test: reading a file into code and comments, and the rules.

pub mod circles;
pub mod items;
pub mod rules;
pub mod sentences;
pub mod text;
