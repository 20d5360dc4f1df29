//! What becomes of one name of a tree: the third machine, beside the pump and the life of a file.
//!
//! [`NameMachine::poll`] answers with a fact that it needs or with an action. The caller finds the fact, or performs the
//! action and says what came of it, and polls again until an action ends the name. A fact is asked for when a rule needs
//! it, and once. The rules stand in one ordered table (`table`); the first that decides wins. A dry run asks the same
//! machine and prints its actions.
//!
//! Must not know: paths, patterns, how facts are found, how actions are performed, words of messages.

mod action;
pub(crate) mod entry;
mod facts;
mod machine;
mod options;
pub mod selection;
mod table;
mod times;
mod unverified;
pub mod wildcard;

pub use action::{Awaited, LeaveReason, NameAction, RefuseReason, SkipReason};
pub use facts::{Content, FolderInPlace, Form, KnownFacts, LinkPlace, NameFact, Ours, PartialFile, Recorded};
pub use machine::{NameMachine, NameStep};
pub use options::{NameOptions, NamePurpose, Update};
pub use table::{RuleTurn, TableRule, rules};
pub use times::{coarse_grain_ns, is_same_time};
pub use unverified::Unverified;

#[cfg(test)]
mod tests;
