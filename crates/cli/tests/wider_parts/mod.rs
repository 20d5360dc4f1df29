//! What the wider tests share: runs of `pump` and of other programs, mounts that undo themselves,
//! and trees of every kind of entry with their judges.
//!
//! Each test file uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod beside;
pub mod dress;
pub mod judge;
pub mod limits;
pub mod long_path;
pub mod mounts;
pub mod network;
pub mod older;
pub mod pair;
pub mod peer;
pub mod random;
pub mod run;
pub mod sshd;
pub mod swapper;
pub mod thin;
pub mod throttle;
pub mod tree;
pub mod truth;
pub mod zoo;

pub use mounts::{Kind, Loop, Mount};
pub use run::{blocks, leftovers, program, pump, pump_command, pump_with, report, with_content};
