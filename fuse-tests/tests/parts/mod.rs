//! What the tests share: a file system that fails on demand, and what the wider tests of pump have.
//!
//! Each test file uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod counting;
pub mod failing_calls;
pub mod fault;
pub mod fuse;
pub mod lies;
pub mod mounted;
pub mod object_store;
pub mod refusing;
pub mod slow_calls;
pub mod store_rules;
#[path = "../../../crates/cli/tests/support/mod.rs"]
pub mod support;
#[path = "../../../crates/cli/tests/wider_parts/mod.rs"]
pub mod wider_parts;
