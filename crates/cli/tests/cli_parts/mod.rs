//! What the tests of the command line share. Each test file uses a part of it.
#![allow(dead_code)]

pub mod home;
pub mod schema;
