//! The file system below a copy: open folders and names, attributes, the identity of a source, holes, staging and
//! commit, the journal with which a later run resumes.
//!
//! Handles in, handles and typed errors out. A file is written under a temporary name or none ([`commit`]), described
//! in a journal beside it ([`resume`]), gets its attributes ([`attributes`]) and then its name; what a killed run left
//! is recognised ([`commit::temporary`]). Every name is looked up in an open folder ([`disk`]), never by a joined path.
//!
//! Must not know: jobs, plans, trees, lanes, hosts.

#![forbid(unsafe_code)]

pub mod attributes;
pub mod commit;
pub mod devices;
pub mod disk;
pub mod followed;
pub mod holes;
pub mod identity;
pub mod opened_folders;
pub mod resume;
pub mod stream;
pub mod withheld;

use datapump_core::problem;
