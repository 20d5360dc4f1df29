//! The binary `pump`.
fn main() {}
