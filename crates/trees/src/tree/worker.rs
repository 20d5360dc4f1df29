//! Performs what a lane does between blocks: opens sources, lists folders, deals with names. Some of it leads to a
//! small file, whose blocks the same lane moves.
//!
//! Must not know: how blocks are moved, what a lane is.

mod file_owner;

use std::sync::Arc;
use std::time::Duration;

use datapump_core::verdict::Waits;
use datapump_transport::NetFault;

use crate::file::finish;
use crate::folder::directory::{Batch, Directory};
use crate::run::owner::{Ready, Worker};
use crate::run::plan::{Asker, Claim};
use crate::tree;
use crate::tree::batch::cursor::BatchCursor;
use crate::tree::{Shared, Work};

/// The work of one lane.
pub(crate) struct TreeWorker<'run> {
    shared: &'run Shared<'run>,
    /// Pieces of large files come before names.
    moves_pieces: bool,
    /// What was claimed and is not done.
    claimed: Option<Work>,
    /// Names that this lane deals with.
    cursor: Option<BatchCursor>,
}

impl Worker for TreeWorker<'_> {
    fn claim(&mut self) -> Result<Claim<()>, NetFault> {
        Ok(self.shared.plan.claim(self.asker()).keeping_work(|work| self.claimed = Some(work)))
    }

    /// Does the work that this lane claimed, or goes on with its own names; gives a small file that is to be moved now.
    fn work(&mut self, waits: &mut Waits) -> Option<Ready> {
        let Some(work) = self.claimed.take() else { return self.next_own(waits) };
        let shared = self.shared;
        match work {
            Work::Items(items) => {
                items.iter().for_each(|item| tree::names::items::open_item(shared, waits, item));
            }
            Work::Names(group) => tree::names::named::begin_group(shared, &group),
            Work::List(directory) => {
                charged(shared, &mut waits.listing, || tree::walk::list_next(shared, &directory));
            }
            Work::Others(directory) => {
                charged(shared, &mut waits.listing, || {
                    tree::rules::extras::others(shared, &directory);
                });
            }
            Work::MakeWay => tree::names::make_way::make_way(shared, waits),
            Work::Finish(task) => finish::finish(shared, waits, task),
            Work::Batch(batch) => return self.take_batch(waits, batch),
        }
        shared.plan.settled();
        None
    }

    fn wait(&mut self, _patience: Duration) -> Result<bool, NetFault> {
        self.shared.plan.wait(self.asker());
        Ok(true)
    }
}

impl<'run> TreeWorker<'run> {
    pub(crate) fn new(shared: &'run Shared<'run>, moves_pieces: bool) -> TreeWorker<'run> {
        TreeWorker { shared, moves_pieces, claimed: None, cursor: None }
    }

    fn asker(&self) -> Asker {
        Asker { moves_pieces: self.moves_pieces, has_own: self.cursor.is_some() }
    }

    /// Opens a batch and begins with its names. A folder that cannot be opened is reported.
    fn take_batch(&mut self, waits: &mut Waits, batch: Batch) -> Option<Ready> {
        match BatchCursor::open(batch) {
            Ok(cursor) => {
                debug_assert!(self.cursor.is_none(), "names in hand come before others");
                self.cursor = Some(cursor);
                self.next_own(waits)
            }
            Err((directory, walks, problem)) => {
                directory.report_own(&self.shared.ledger, *problem);
                put_down(self.shared, &directory, walks);
                None
            }
        }
    }

    /// Goes on with this lane's own names.
    fn next_own(&mut self, waits: &mut Waits) -> Option<Ready> {
        // In place: a cursor is some hundred bytes, and every small file comes by here.
        let cursor = self.cursor.as_mut()?;
        let ready = cursor.next(self.shared, waits);
        let (left, is_stopping) = (cursor.left(), self.shared.is_stopping());
        if left > 0 && ready.is_some() && !is_stopping {
            return ready;
        }
        match self.cursor.take() {
            Some(cursor) if left == 0 => put_down(self.shared, &cursor.directory, cursor.walks),
            // There is no memory for its next name now.
            Some(cursor) if !is_stopping => {
                self.shared.plan.add_first([Work::Batch(cursor.into_batch())].into_iter());
                self.shared.plan.settled();
            }
            _ => self.shared.plan.cut(),
        }
        ready
    }
}

/// Charges the time of what it does to a stage.
fn charged(shared: &Shared<'_>, stage: &mut u64, act: impl FnOnce()) {
    let start_ns = shared.settings.platform.clock.charged_ns();
    act();
    *stage += shared.settings.platform.clock.charged_ns() - start_ns;
}

fn put_down(shared: &Shared<'_>, directory: &Arc<Directory>, walks: bool) {
    if walks {
        shared.trees.walked(&shared.ledger.watch);
    }
    tree::batch::folder_done::release(shared, directory);
    shared.plan.settled();
}
