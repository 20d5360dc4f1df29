//! Performs what a lane does between blocks: opens sources, lists folders, deals with names. Some of it leads to a
//! small file, whose blocks the same lane moves.
//!
//! Must not know: how blocks are moved, what a lane is.

use std::sync::Arc;

use datapump_core::verdict::Waits;

use crate::file::finish;
use crate::run::plan::Asker;
use crate::run::{Shared, Work};
use crate::tree;
use crate::tree::folder::directory::{Batch, Directory};
use crate::tree::names::batch_cursor::BatchCursor;
pub(crate) use crate::tree::names::entry::Ready;

/// The work of one lane.
pub(crate) struct Worker {
    /// Names that this lane deals with.
    cursor: Option<BatchCursor>,
    /// Pieces of large files come before names.
    moves_pieces: bool,
}

impl Worker {
    pub(crate) fn new(moves_pieces: bool) -> Worker {
        Worker { cursor: None, moves_pieces }
    }

    /// What it asks the plan for.
    pub(crate) fn asker(&self) -> Asker {
        Asker { moves_pieces: self.moves_pieces, has_own: self.cursor.is_some() }
    }

    /// Does a piece of work.
    pub(crate) fn perform(&mut self, shared: &Shared<'_>, waits: &mut Waits, work: Work) -> Option<Ready> {
        match work {
            Work::Item(item) => tree::names::items::open_item(shared, waits, &item),
            Work::Names(group) => tree::names::named::begin(shared, &group),
            Work::List(directory) => {
                charged(shared, &mut waits.listing, || tree::folder::walk::list(shared, &directory));
            }
            Work::Others(directory) => {
                charged(shared, &mut waits.listing, || {
                    tree::rules::verify::extras::others(shared, &directory);
                });
            }
            Work::MakeWay => tree::names::make_way::make_way(shared, waits),
            Work::Finish(task) => finish::finish(shared, waits, task),
            Work::Batch(batch) => return self.take_batch(shared, waits, batch),
        }
        shared.plan.settled();
        None
    }

    fn take_batch(&mut self, shared: &Shared<'_>, waits: &mut Waits, batch: Batch) -> Option<Ready> {
        match BatchCursor::take(batch) {
            Ok(cursor) => {
                debug_assert!(self.cursor.is_none(), "names in hand come before others");
                self.cursor = Some(cursor);
                self.next(shared, waits)
            }
            Err((directory, walks, problem)) => {
                directory.report_own(&shared.ledger, *problem);
                put_down(shared, &directory, walks);
                None
            }
        }
    }

    /// Goes on with this lane's own names.
    pub(crate) fn next(&mut self, shared: &Shared<'_>, waits: &mut Waits) -> Option<Ready> {
        let mut cursor = self.cursor.take()?;
        let ready = cursor.next(shared, waits);
        match cursor.left() {
            0 => put_down(shared, &cursor.directory, cursor.walks),
            _ if shared.is_stopping() => shared.plan.cut(),
            _ => self.cursor = Some(cursor),
        }
        ready
    }
}

/// Charges the time of what it does to a stage.
fn charged(shared: &Shared<'_>, stage: &mut u64, act: impl FnOnce()) {
    let start_ns = shared.settings.platform.clock.now_ns();
    act();
    *stage += shared.settings.platform.clock.now_ns() - start_ns;
}

fn put_down(shared: &Shared<'_>, directory: &Arc<Directory>, walks: bool) {
    if walks {
        shared.trees.walked(&shared.ledger.watch);
    }
    tree::folder::folder_done::release(shared, directory);
    shared.plan.settled();
}
