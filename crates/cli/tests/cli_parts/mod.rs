//! What the tests of the command line share.

pub mod home;
pub mod schema;
