//! Trees: how a folder becomes files for the one loop.
//!
//! A tree is work in the plan: list a folder (`walk`), deal with a batch of its names (`entry`). A folder that is met
//! becomes more work; a file becomes a task like any other: small ones are claimed by the lane that opened them, large
//! ones are put up for the lanes that move pieces. What has no bytes (links, pipes, devices: `special`) is made on the
//! spot. A folder is finished (`finish`) when the last thing in it is.
//!
//! Must not know: how blocks are moved, command lines.

pub mod backup;
pub(crate) mod batch;
pub(crate) mod delete;
pub(crate) mod findings;
pub(crate) mod finish;
pub(crate) mod links;
pub(crate) mod moved;
pub(crate) mod names;
pub(crate) mod rules;
pub(crate) mod state;
pub(crate) mod walk;
pub(crate) mod worker;

pub(crate) use state::{NamedFacts, Trees, most_lanes};

use std::ops::Deref;
use std::sync::Arc;

use crate::file::task::Task;
use crate::folder::directory::{Batch, Directory};
use crate::folder::root::Root;
use crate::origin::source_host::SourceHost;
use crate::run::MoverRun;
use crate::run::plan::Plan;
use crate::targets::{Item, NamedGroup};
use datapump_files::disk::{FileKind, Meta};

/// A run of trees, and of files that the user named: what all who work on it share.
pub struct Shared<'run> {
    /// The part below: how files are moved.
    pub run: MoverRun<'run>,
    pub(crate) plan: Plan<Work>,
    pub(crate) trees: Trees,
    /// The host on which remote sources lie.
    pub(crate) remote_host: Option<Arc<dyn SourceHost>>,
}

impl<'run> Deref for Shared<'run> {
    type Target = MoverRun<'run>;

    fn deref(&self) -> &MoverRun<'run> {
        &self.run
    }
}

/// What a lane does between blocks.
#[derive(Debug)]
pub(crate) enum Work {
    /// Opens sources that the user named and that go to one place, one after the other.
    Items(Vec<Item>),
    /// Puts up names that the user gave, of one folder.
    Names(NamedGroup),
    /// Reads names of a folder.
    List(Arc<Directory>),
    /// Deals with names of a folder, one after the other.
    Batch(Batch),
    /// Looks for names that only the other of two trees has.
    Others(Arc<Directory>),
    /// Removes folders that stand where the source has none.
    MakeWay,
    /// A file that is whole, and whose name is free by now, or stays taken.
    Finish(Arc<Task>),
}

impl Shared<'_> {
    /// Nothing is moved of a file that the user named. Where all was known before, there is so much less to do.
    pub(crate) fn skip_named(&self, root: &Root, meta: &Meta) {
        if root.is_named() && !self.settings.has_trees && meta.kind == FileKind::Regular {
            self.ledger.watch.skipped(meta.size_bytes);
        }
    }
}
