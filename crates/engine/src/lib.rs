//! Performs requests: one request type, aligned slots, and the engines that complete requests.
//!
//! Must not know: names of files, jobs, plans, hashes, the network protocol, why a request is made.
//!
//! A lane owns one [`Engine`], which owns its [`Arena`]. It posts an [`Op`] under a token of its own choosing and gets
//! the token back in a [`Completion`], in any order, exactly once. All `unsafe` code of Datapump lives in this crate.
//!
//! | engine | performs | where |
//! |---|---|---|
//! | [`Uring`] | queued, many requests a system call | Linux |
//! | [`Threads`] | queued, one blocked thread for each request in flight | anywhere |
//! | [`Inline`] | at once, one by one, in the caller's thread | anywhere |
//! | [`Sim`] | seeded and on a virtual clock, or paced on the real one | tests and the lab |
//!
//! How the first two wait for a completion is their owner's choice: [`Wait`]. What receives and sends over a connection
//! is a [`Link`]: an engine that has one request in flight at a time, by plain calls or in a simulated net.

mod arena;
mod engine;
mod errno;
mod handle;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
pub mod meter;
mod op;
pub mod os;
pub mod sim;
mod slot;
mod stage;

pub use arena::{ALIGNMENT_BYTES, Arena};
pub use engine::inline::Inline;
pub use engine::peaks::Peaks;
pub use engine::threads::Threads;
#[cfg(target_os = "linux")]
pub use engine::uring::Uring;
pub use engine::wait::{WAIT_MAX, Wait};
pub use engine::{Engine, EngineKind};
pub use errno::{Errno, Refused};
pub use handle::Handle;
#[cfg(target_os = "linux")]
pub use link::{Link, SimLink, SimNet, Socket, Until, go_on_meanwhile};
pub use op::{Completion, Op, TransferFlags, TransferPlace};
pub use sim::Sim;
pub use slot::{Slot, Span};
pub use stage::{CpuStage, METERED, METERED_MAX, Spent};
