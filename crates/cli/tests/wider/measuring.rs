//! Tests that compare what pump says of the machine with what the machine does: few run at once.

mod bill;
mod explain;
mod full_path;
mod path_samples;
mod pid;
mod predictions;
mod soaker;
mod waits;
