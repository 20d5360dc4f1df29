//! One file on its way: its task, the steps of its life, what goes wrong with it.
//!
//! Must not know: how blocks are moved, how names of trees are found.

pub mod block_hook;
pub mod changed;
pub mod completing;
pub mod copied;
pub mod fault;
pub mod finish;
pub mod goal;
pub mod growth;
pub mod owned;
pub mod settled;
pub mod task;
pub mod verify;
