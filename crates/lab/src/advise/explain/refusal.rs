//! Checks whether a copy would be refused: then nothing is measured, and the copy itself says why.
//!
//! Only what is certain counts: what is overlooked here is told by the copy all the same, after its parts were
//! measured. Must not know: how parts are measured, what is told.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use datapump::{Place, Status};
use datapump_engine::os::linux::KernelCall;
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};
use rustix::io::Errno;

use super::ends::{BLOCK_BYTES, CopyEnds, End};
use super::timer::limited;
use super::{Case, MoveUse, Mover};

/// A plan that takes longer is that of a large tree, which is not refused any more.
const TIME: Duration = Duration::from_secs(3);

/// Facts about a copy before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Foreseen {
    /// It would end before its first byte.
    pub(super) is_refused: bool,
    /// Bytes of it, if its plan knows them.
    pub(super) bytes: Option<u64>,
}

/// Looks at both ends, and plans the copy.
pub(super) fn foresee(case: &Case, ends: &CopyEnds, mover: Mover<'_>) -> Foreseen {
    if is_closed(case, ends) || has_no_room(case, ends) {
        return Foreseen { is_refused: true, bytes: None };
    }
    planned(case, ends, mover)
}

/// As `pump copy -n` has it. Some files of several that cannot be copied are no reason to refuse the others.
fn planned(case: &Case, ends: &CopyEnds, mover: Mover<'_>) -> Foreseen {
    // To ask the other host, the pipe would be opened, and the program that writes into it would see it closed again.
    if ends.source == End::Once && ends.is_remote() {
        return Foreseen::default();
    }
    let options = case.options.clone().with(|it| {
        it.dry_run = true;
        // Each with its bytes.
        it.reporting.changes = true;
    });
    let job = case.job().options(options);
    let report = limited(TIME, &case.stop, |stop| mover(job.stop(stop), MoveUse::Part)).report;
    let goes_on = [Status::Done, Status::Interrupted, Status::Partial, Status::Changed];
    let is_refused = !goes_on.iter().any(|status| *status as i32 == report.exit_status);
    let is_whole = report.exit_status == Status::Done as i32 && report.bytes > 0;
    Foreseen { is_refused, bytes: is_whole.then_some(report.bytes) }
}

/// The source may not be read, or nothing may be put where the target is to be.
fn is_closed(case: &Case, ends: &CopyEnds) -> bool {
    let unreadable = match (ends.source, &case.sources[..]) {
        (End::File(_) | End::Empty, [Place::Path(source)]) => is_denied(source, Access::READ_OK),
        _ => false,
    };
    let unwritable = match (&case.target, ends.sink) {
        (Place::Path(target), End::File(_) | End::Folder) => match receiver(target, ends.source) {
            Some(folder) => !folder.is_dir() || is_denied(&folder, Access::WRITE_OK | Access::EXEC_OK),
            None => false,
        },
        _ => false,
    };
    unreadable || unwritable
}

/// The folder in which a name is made; none where a tree may go into what stands there.
fn receiver(target: &Path, source: End) -> Option<std::path::PathBuf> {
    // Links are followed, and the file they lead to is replaced where it stands.
    let real = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
    match (real.is_dir(), source) {
        (true, End::Folder) => None,
        (true, _) => Some(real),
        (false, _) => {
            let parent = real.parent().filter(|parent| !parent.as_os_str().is_empty());
            Some(parent.unwrap_or(Path::new(".")).to_path_buf())
        }
    }
}

fn is_denied(path: &Path, access: Access) -> bool {
    match accessat(CWD, path, access, AtFlags::EACCESS) {
        // A sandbox that refuses the call says nothing of the path.
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
            !KernelCall::Faccessat2.is_refused_by(datapump_engine::Errno(errno.raw_os_error()))
        }
        _ => false,
    }
}

/// What the source occupies is more than the target's file system has, for root too.
fn has_no_room(case: &Case, ends: &CopyEnds) -> bool {
    let (Place::Path(target), [Place::Path(source)]) = (&case.target, &case.sources[..]) else {
        return false;
    };
    let (End::File(bytes), End::File(_) | End::Folder) = (ends.source, ends.sink) else { return false };
    let occupied = std::fs::metadata(source).map_or(0, |meta| meta.blocks().saturating_mul(BLOCK_BYTES));
    let room = receiver(target, ends.source).and_then(|folder| statvfs(&folder).ok());
    room.is_some_and(|room| bytes.min(occupied) > room.f_bfree.saturating_mul(room.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::explain::MoveOutcome;
    use datapump::{Job, Options, Report};
    use std::path::PathBuf;

    fn is_refused_of(source: &str, target: PathBuf, exit_status: Status) -> bool {
        let sources = vec![Place::Path(source.into())];
        let case = Case {
            sources,
            target: Place::Path(target),
            options: Options::default(),
            stop: Default::default(),
        };
        let mover = |job: Job, is_for: MoveUse| {
            assert!(job.asked().dry_run && is_for == MoveUse::Part, "nothing is written");
            MoveOutcome {
                report: Report { exit_status: exit_status as i32, ..Report::default() },
                problem: None,
            }
        };
        foresee(&case, &CopyEnds::from_case(&case), &mover).is_refused
    }

    #[test]
    fn what_would_be_refused_is_known_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, target) = (folder.path().join("source"), folder.path().join("target"));
        std::fs::write(&source, b"12345").expect("room");
        let source = source.to_str().expect("a name");
        for (what, source, target, status, expected) in [
            ("all is well", source, target.clone(), Status::Done, false),
            ("into a folder", source, folder.path().into(), Status::Done, false),
            ("one of several", source, target.clone(), Status::Partial, false),
            ("the user stopped it", source, target.clone(), Status::Interrupted, false),
            ("asked wrongly", source, target.clone(), Status::Usage, true),
            ("nobody is there", source, target.clone(), Status::Lost, true),
            ("no folder for it", source, target.join("deep/er"), Status::Done, true),
            ("a file for a folder", source, PathBuf::from(source).join("x"), Status::Done, true),
            ("a pipe of the system", "/dev/null", target, Status::Done, false),
        ] {
            assert_eq!(is_refused_of(source, target, status), expected, "{what}");
        }
    }
}
