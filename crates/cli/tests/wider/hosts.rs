//! Two hosts joined by a cable of the suite: limits, owners, addresses, cuts.

pub mod dead_addresses;
mod distance;
mod doctor;
mod earlier;
mod limits;
mod network;
mod owners;
mod soak;
mod zones;
