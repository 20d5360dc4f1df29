//! Tests that compare what pump says of the machine with what the machine does: few run at once.

mod bill;
mod explain;
mod pid;
mod soaker;
mod waits;
