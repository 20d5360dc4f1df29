//! One file on its way: its task, the steps of its life, what goes wrong with it.
//!
//! Must not know: how blocks are moved, how names of trees are found.

pub(crate) mod block_hook;
pub(crate) mod changed;
pub(crate) mod completing;
pub(crate) mod copied;
pub(crate) mod fault;
pub(crate) mod finish;
pub(crate) mod goal;
pub(crate) mod growth;
pub(crate) mod owned;
pub(crate) mod settled;
pub(crate) mod task;
pub(crate) mod verify;
