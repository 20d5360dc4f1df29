//! The traits by which the mover knows whoever gives it files to move: who owns them, says what only it knows of each,
//! and is told what becomes of it.
//!
//! Must not know: trees, names, how a file is moved.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use datapump_core::Extent;
use datapump_core::verdict::Waits;
use datapump_transport::NetFault;

use crate::file::owned::Owned;
use crate::file::task::Task;
use crate::problem::Problem;
use crate::run::MoverRun;
use crate::run::plan::{Claim, FilePlan};
use datapump_files::commit::StagedFile;

/// A small file that is ready to be moved by the lane that opened it.
pub type Ready = (Arc<Task>, Extent);

/// The owner of the files to move. What a file is about to become is asked of it, and what became of it is reported to it.
pub trait FileOwner<'run>: Sync {
    /// What the mover has of the run.
    fn run(&self) -> &MoverRun<'run>;
    /// The files that are left.
    fn plan(&self) -> &dyn FilePlan;
    /// The work of one lane. `moves_pieces`: pieces of large files come before anything else.
    fn worker(&self, moves_pieces: bool) -> Box<dyn Worker + '_>;

    /// Whether a file that is whole can have its name now; if not, it waits, and no lane for it.
    fn lets_in(&self, file: &Arc<Task>) -> Result<bool, Problem>;
    /// Gives a file its name by `publish`, with what precedes that.
    fn put_name(
        &self,
        file: &Task,
        staged: &StagedFile,
        publish: &dyn Fn() -> Result<(), Problem>,
    ) -> Result<(), Problem>;
    /// A file was compared with its source, and is equal.
    fn handle_equal(&self, file: &Task) -> Result<(), Problem>;
    /// A file was compared with its source, and differs: it needs a copy.
    fn handle_differs(&self, file: &Task);
    /// A file is given up for this.
    fn handle_failed(&self, file: &Task, problem: Problem);
    /// A file is copied, and may be of two states of its source.
    fn handle_mixed(&self, file: &Task, problem: Problem);
    /// A file is complete, or was given up.
    fn handle_settled(&self, file: &Task, is_complete: bool);
    /// What a further pass over a file that is given up has of it.
    fn owned_again(&self, file: &Task) -> Owned;
}

impl<'run> Deref for dyn FileOwner<'run> + '_ {
    type Target = MoverRun<'run>;

    fn deref(&self) -> &MoverRun<'run> {
        self.run()
    }
}

/// What a lane does between blocks. Errors: its connection is lost.
pub trait Worker {
    /// What comes next. Work that is claimed stays here, for [`Worker::work`].
    fn claim(&mut self) -> Result<Claim<()>, NetFault>;
    /// Does what was claimed. It may lead to a small file, whose blocks the same lane moves.
    fn work(&mut self, waits: &mut Waits) -> Option<Ready>;
    /// Waits until there may be something to claim, as long as it has patience. False if nothing came.
    fn wait(&mut self, patience: Duration) -> Result<bool, NetFault>;
}
