//! Room for the names of a source: memory of a session, and a file for those that do not fit.
//!
//! The file has no name. It lies in the root of the target. A dry run has it in `$TMPDIR`, else in `/var/tmp` (`/tmp` is
//! often memory), as one has whose target makes no files without names: what is open and removed may get a name again
//! on such a file system (NFS, FUSE), and the run would find it.
//!
//! Must not know: what is written, when.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use crate::folder::side::FolderSide;
use crate::problem::{Operation, Problem};
use crate::setup::budget::Charge;
use datapump_files::commit::reserved;
use datapump_files::disk::names;

/// Room for names.
pub(crate) trait RecordRoom: std::fmt::Debug + Send + Sync {
    /// Charges memory, if so much more may be charged besides. `None` where nobody else sent what is kept.
    fn charge(&self, bytes: usize, besides: usize) -> Result<Option<Charge>, Problem>;

    /// A file without a name.
    fn make_file(&self) -> Result<File, Problem>;
}

/// The room of one tree.
#[derive(Debug)]
pub(crate) struct TreeRoom {
    /// The root of the source, to whose session memory is charged.
    pub(crate) source: Arc<FolderSide>,
    /// The root of the target, where something is written.
    pub(crate) target: Option<Arc<FolderSide>>,
}

impl RecordRoom for TreeRoom {
    fn charge(&self, bytes: usize, besides: usize) -> Result<Option<Charge>, Problem> {
        self.source.charge_beside(bytes, besides)
    }

    /// Makes the unnamed file of the records, in the target where that takes one.
    fn make_file(&self) -> Result<File, Problem> {
        let in_target = self.target.as_ref().map(|target| {
            let made = names::make_unnamed(&*target.file()?, 0o600);
            made.map_err(|errno| Problem::system(Operation::Make, &target.path(), errno.0))
        });
        match in_target {
            Some(Ok(file)) => Ok(file),
            Some(Err(problem)) => make_in_temporary_folder().map_err(|_| problem),
            None => make_in_temporary_folder(),
        }
    }
}

/// Makes an unnamed file in `$TMPDIR`, or else in /var/tmp.
fn make_in_temporary_folder() -> Result<File, Problem> {
    let chosen = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
    let path = chosen.map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    let folder = File::open(&path)
        .map_err(|error| Problem::system(Operation::Open, &path, error.raw_os_error().unwrap_or(0)))?;
    reserved::under_new_name(|spare| names::make_spare(&folder, spare))
        .map(|(_, file)| file)
        .map_err(|errno| Problem::system(Operation::Make, &path, errno.0))
}
