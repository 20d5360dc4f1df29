//! Paths between two hosts, for measurements without a network: a path in a box that carries packets ([`emulator`]), a
//! relay that delays the bytes of connections ([`Relay`]), and TCP in simulated time ([`congestion`]).
//!
//! Must not know: copies and sessions, studies and rows, command lines.

#![forbid(unsafe_code)]

pub mod congestion;
pub mod emulator;
mod losses;
mod relay;
mod settings_error;

pub use losses::{LossRule, Losses};
pub use relay::{Relay, RelayOptions};
pub use settings_error::SettingsError;
