//! What the wider tests share: runs of `pump` and of other programs, mounts that undo themselves, and a file system
//! that fails on demand.
//!
//! Each test file uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod fuse;
pub mod mounts;
pub mod run;

pub use mounts::{Kind, Loop, Mount};
pub use run::{blocks, leftovers, program, pump, pump_command, pump_with, report, with_content};
