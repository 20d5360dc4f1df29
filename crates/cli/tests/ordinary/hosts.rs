//! Copies between hosts, over `pump serve`.

mod answers;
mod attributes;
pub mod doctor;
mod flags;
mod handshakes;
mod harm;
mod many_files;
mod own_files;
mod served;
mod shared;
mod silence;
mod stalls;
mod stopped;
mod swaps;
mod traced;
mod unreached;
mod write_only;
